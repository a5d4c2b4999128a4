/*
 * ref_codes.h - f8, integers of 8 bits and ggml's blocks as tests make and read them: whole blocks
 * at a time, group by group, where refs/dialect/ref_blocks.h takes one element out of a block.
 *
 * Plain C, for test_catalogue.c, test_quant.c, tests/scenario/catalogue and
 * tests/gpu/reference/ref_parity.cu.
 */
#ifndef TESTS_REF_CODES_H
#define TESTS_REF_CODES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "refs/abi/ref_abi.h"

static inline bool code_is_byte(int dtype)
{
    return dtype == DTYPE_I8 || dtype == DTYPE_U8 || dtype == DTYPE_F8E4M3 || dtype == DTYPE_F8E5M2;
}

static inline bool code_is_block(int dtype)
{
    return dtype >= DTYPE_Q4_0 && dtype <= DTYPE_LAST_BLOCK;
}

/* ------------------------------------------------------------------------------- bytes */

/* What a byte of f8 means: OCP's 8-bit formats. e4m3 has one NaN of each sign and no infinity. */
static inline double f8_value(int dtype, int byte)
{
    int fraction_bits = dtype == DTYPE_F8E4M3 ? 3 : 2, bias = dtype == DTYPE_F8E4M3 ? 7 : 15;
    int magnitude = byte & 127, exponent = magnitude >> fraction_bits;
    int fraction = magnitude & ((1 << fraction_bits) - 1);
    double value = exponent ? ldexp(1 + ldexp(fraction, -fraction_bits), exponent - bias)
                            : ldexp(fraction, 1 - bias - fraction_bits);
    if (dtype == DTYPE_F8E4M3 && magnitude == 127)
        return NAN;
    if (dtype == DTYPE_F8E5M2 && exponent == 31)
        value = fraction ? NAN : INFINITY;
    return byte & 128 ? -value : value;
}

/* The nearest byte, the even one of two; what is beyond the largest becomes that. */
static inline int f8_byte(int dtype, double value)
{
    int most = dtype == DTYPE_F8E4M3 ? 126 : 123, best = 0, sign = signbit(value) ? 128 : 0;
    if (value != value)
        return 127;
    for (int byte = 1; byte <= most; byte++) {
        double here = fabs(f8_value(dtype, byte) - fabs(value));
        double there = fabs(f8_value(dtype, best) - fabs(value));
        if (here < there || (here == there && byte % 2 == 0) || fabs(value) > 1e300)
            best = byte;
    }
    return best | sign;
}

static inline int code_byte(int dtype, double value)
{
    double low = dtype == DTYPE_I8 ? -128 : 0, high = dtype == DTYPE_I8 ? 127 : 255;
    if (dtype == DTYPE_F8E4M3 || dtype == DTYPE_F8E5M2)
        return f8_byte(dtype, value);
    value = value != value ? 0 : value < low ? low : value > high ? high : nearbyint(value);
    return (int)value & 255;
}

static inline double code_value(int dtype, int byte)
{
    return dtype == DTYPE_I8 ? (signed char)byte : dtype == DTYPE_U8 ? byte : f8_value(dtype, byte);
}

/* ------------------------------------------------------------------------------ blocks */

/* Faults that decoders of blocks have. */
enum block_fault {
    BLOCK_RIGHT,
    BLOCK_NIBBLES,   /* low and high nibble change places */
    BLOCK_NEIGHBOUR, /* the scale of the next group */
    BLOCK_BOUNDARY,  /* the last element of a group has the next group's scale */
    BLOCK_NO_LOW,    /* the minimum, or the offset, is left out */
    BLOCK_UNSIGNED,  /* signed codes are read as unsigned */
    BLOCK_NO_HIGH,   /* the fifth and sixth bits are left out */
    BLOCK_FAULTS
};

static inline int block_elements(int dtype)
{
    return dtype < DTYPE_Q4_K ? 32 : 256;
}

static inline int block_bytes(int dtype)
{
    static const int bytes[] = {18, 20, 22, 24, 34, 36, 18, 144, 176, 210, 84, 110, 136};
    return bytes[dtype - DTYPE_Q4_0];
}

static inline double block_half(const uint8_t *at)
{
    int bits = at[0] | at[1] << 8, exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits & 0x8000 ? -value : value;
}

/* Writes a positive number of f16 between 2^-6 and 2^-5, by ten random bits. */
static inline void block_put_half(uint8_t *at, unsigned random)
{
    unsigned bits = 9u << 10 | (random & 1023);
    at[0] = (uint8_t)bits;
    at[1] = (uint8_t)(bits >> 8);
}

/* Makes a block of random bytes (`bytes` of them are there already) one with ordinary scales. */
static inline void block_settle(int dtype, uint8_t *block)
{
    unsigned random = block[2] | (unsigned)block[3] << 8;
    if (dtype == DTYPE_Q6_K || dtype == DTYPE_Q3_K) {
        block_put_half(block + (dtype == DTYPE_Q6_K ? 208 : 108), random);
        return;
    }
    if (dtype == DTYPE_Q2_K) {
        block_put_half(block + 80, random);
        block_put_half(block + 82, random >> 6 ^ block[5]);
        return;
    }
    block_put_half(block, random);
    if (dtype == DTYPE_Q4_1 || dtype == DTYPE_Q5_1 || dtype == DTYPE_Q8_1 || dtype == DTYPE_Q4_K ||
        dtype == DTYPE_Q5_K)
        block_put_half(block + 2, random >> 6 ^ block[5]);
    if (dtype == DTYPE_Q8_1) { /* s is about d times the sum of the codes, but not quite */
        double sum = 0.01;
        for (int i = 0; i < 32; i++)
            sum += block_half(block) * (int8_t)block[4 + i];
        int exponent;
        double fraction = frexp(fabs(sum), &exponent);
        unsigned bits = (unsigned)(exponent + 14) << 10 | ((unsigned)(fraction * 2048) & 1023);
        if (fabs(sum) < 0x1p-13)
            bits = 0;
        block[2] = (uint8_t)bits;
        block[3] = (uint8_t)(bits >> 8 | (sum < 0 ? 0x80 : 0));
    }
}

/* A decoded block: value = step + low; share: what a sum over x takes from each element. */
struct block_values {
    double step[256], low[256], share[256];
};

static inline void block_decode_small(int dtype, const uint8_t *block, int fault,
                                      struct block_values *out)
{
    double d = block_half(block), m = block_half(block + 2), low = 0;
    const uint8_t *codes = block + (dtype == DTYPE_Q4_0   ? 2
                                    : dtype == DTYPE_Q4_1 ? 4
                                    : dtype == DTYPE_Q5_0 ? 6
                                                          : 8);
    if (dtype == DTYPE_Q4_0 || dtype == DTYPE_Q5_0)
        low = dtype == DTYPE_Q4_0 ? -8 * d : -16 * d;
    else if (dtype == DTYPE_Q4_1 || dtype == DTYPE_Q5_1)
        low = m;
    uint32_t fifth = 0;
    if (dtype == DTYPE_Q5_0 || dtype == DTYPE_Q5_1)
        memcpy(&fifth, codes - 4, 4);
    for (int i = 0; i < 16; i++) {
        int first = codes[i] & 15, second = codes[i] >> 4;
        if (fault == BLOCK_NIBBLES) {
            first = codes[i] >> 4;
            second = codes[i] & 15;
        }
        if (fault != BLOCK_NO_HIGH) {
            first += (int)(fifth >> i & 1) * 16;
            second += (int)(fifth >> (i + 16) & 1) * 16;
        }
        out->step[i] = d * first;
        out->step[i + 16] = d * second;
    }
    for (int i = 0; i < 32; i++)
        out->low[i] = fault == BLOCK_NO_LOW ? 0 : low;
}

static inline void block_decode_bytes(int dtype, const uint8_t *block, int fault,
                                      struct block_values *out)
{
    const uint8_t *codes = block + (dtype == DTYPE_Q8_0 ? 2 : 4);
    for (int i = 0; i < 32; i++) {
        int q = fault == BLOCK_UNSIGNED ? codes[i] : (int8_t)codes[i];
        out->step[i] = block_half(block) * q;
        out->low[i] = 0;
    }
}

/* All eight scales and minima of q4_K and q5_K. */
static inline void block_scales(const uint8_t *packed, int scale[8], int minimum[8])
{
    for (int g = 0; g < 4; g++) {
        scale[g] = packed[g] & 63;
        minimum[g] = packed[g + 4] & 63;
        scale[g + 4] = (packed[g + 8] & 15) + (packed[g] >> 6) * 16;
        minimum[g + 4] = (packed[g + 8] >> 4) + (packed[g + 4] >> 6) * 16;
    }
}

static inline void block_decode_k(int dtype, const uint8_t *block, int fault,
                                  struct block_values *out)
{
    double d = block_half(block), n = block_half(block + 2);
    const uint8_t *high = block + 16, *codes = dtype == DTYPE_Q5_K ? block + 48 : block + 16;
    int scale[8], minimum[8];
    block_scales(block + 4, scale, minimum);
    for (int g = 0; g < 8; g++) {
        for (int i = 0; i < 32; i++) {
            int nibble = (g + (fault == BLOCK_NIBBLES)) % 2;
            int q = nibble ? codes[g / 2 * 32 + i] >> 4 : codes[g / 2 * 32 + i] & 15;
            if (dtype == DTYPE_Q5_K && fault != BLOCK_NO_HIGH)
                q += (high[i] >> g & 1) * 16;
            int off = fault == BLOCK_NEIGHBOUR || (fault == BLOCK_BOUNDARY && i == 31);
            out->step[g * 32 + i] = d * scale[(g + off) % 8] * q;
            out->low[g * 32 + i] = fault == BLOCK_NO_LOW ? 0 : -n * minimum[(g + off) % 8];
        }
    }
}

static inline void block_decode_q6_K(const uint8_t *block, int fault, struct block_values *out)
{
    const int8_t *scale = (const int8_t *)block + 192;
    for (int half = 0; half < 2; half++) {
        const uint8_t *low = block + 64 * half, *high = block + 128 + 32 * half;
        for (int i = 0; i < 32; i++) {
            int q[4] = {low[i] & 15, low[i + 32] & 15, low[i] >> 4, low[i + 32] >> 4};
            for (int k = 0; k < 4; k++) {
                int nibble = fault == BLOCK_NIBBLES ? q[(k + 2) % 4] : q[k];
                int at = 128 * half + 32 * k + i, group = at / 16;
                int code = nibble + (fault == BLOCK_NO_HIGH ? 0 : (high[i] >> 2 * k & 3) * 16);
                code -= fault == BLOCK_NO_LOW ? -32 : 32; /* its sign, here */
                group += fault == BLOCK_NEIGHBOUR || (fault == BLOCK_BOUNDARY && at % 16 == 15);
                double a = fault == BLOCK_UNSIGNED ? (uint8_t)scale[group % 16] : scale[group % 16];
                out->step[at] = block_half(block + 208) * a * code;
                out->low[at] = 0;
            }
        }
    }
}

/* Four codes of 2 bits lie in a byte; groups of 16 have a scale, in q2_K with a minimum. */
static inline void block_decode_pairs(int dtype, const uint8_t *block, int fault,
                                      struct block_values *out)
{
    const uint8_t *codes = block + (dtype == DTYPE_Q2_K ? 16 : 32), *packed = block + 96;
    for (int at = 0; at < 256; at++) {
        int quarter = at % 128 / 32, place = at / 128 * 32 + at % 32;
        int q = codes[place] >> 2 * (fault == BLOCK_NIBBLES ? (quarter + 2) % 4 : quarter) & 3;
        int off = fault == BLOCK_NEIGHBOUR || (fault == BLOCK_BOUNDARY && at % 16 == 15);
        int g = (at / 16 + off) % 16;
        if (dtype == DTYPE_Q2_K) {
            out->step[at] = block_half(block + 80) * (block[g] % 16) * q;
            out->low[at] = fault == BLOCK_NO_LOW ? 0 : -block_half(block + 82) * (block[g] / 16);
            continue;
        }
        int low = g < 8 ? packed[g] % 16 : packed[g - 8] / 16, third = block[at % 32] >> at / 32;
        int scale = low + (packed[8 + g % 4] >> 2 * (g / 4)) % 4 * 16 - 32;
        q += fault == BLOCK_NO_HIGH || third % 2 ? 0 : -4;
        q += fault == BLOCK_NO_LOW ? 4 : 0;
        out->step[at] = block_half(block + 108) * scale * q;
        out->low[at] = 0;
    }
}

/* Codes that are numbers of a table. */
static inline void block_decode_levels(int dtype, const uint8_t *block, int fault,
                                       struct block_values *out)
{
    static const int levels[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113};
    const bool wide = dtype == DTYPE_IQ4_XS;
    const uint8_t *codes = block + (wide ? 8 : 2);
    for (int g = 0; g < (wide ? 8 : 1); g++) {
        for (int i = 0; i < 32; i++) {
            int off = fault == BLOCK_NEIGHBOUR || (fault == BLOCK_BOUNDARY && i == 31);
            int s = (g + off) % 8, high = block[2] | block[3] << 8;
            int scale = (s % 2 ? block[4 + s / 2] / 16 : block[4 + s / 2] % 16) +
                        (fault == BLOCK_NO_HIGH ? 0 : (high >> 2 * s) % 4 * 16);
            int byte = codes[16 * g + i % 16], second = (i >= 16) ^ (fault == BLOCK_NIBBLES);
            int level = levels[second ? byte / 16 : byte % 16];
            scale -= fault == BLOCK_NO_LOW ? 0 : 32;
            out->step[32 * g + i] = block_half(block) * (wide ? scale : 1) * level;
            out->low[32 * g + i] = 0;
        }
    }
}

static inline void block_decode(int dtype, const uint8_t *block, int fault,
                                struct block_values *out)
{
    if (dtype == DTYPE_Q6_K)
        block_decode_q6_K(block, fault, out);
    else if (dtype == DTYPE_Q2_K || dtype == DTYPE_Q3_K)
        block_decode_pairs(dtype, block, fault, out);
    else if (dtype == DTYPE_IQ4_NL || dtype == DTYPE_IQ4_XS)
        block_decode_levels(dtype, block, fault, out);
    else if (dtype >= DTYPE_Q4_K)
        block_decode_k(dtype, block, fault, out);
    else if (dtype == DTYPE_Q8_0 || dtype == DTYPE_Q8_1)
        block_decode_bytes(dtype, block, fault, out);
    else
        block_decode_small(dtype, block, fault, out);
    for (int i = 0; i < block_elements(dtype); i++)
        out->share[i] =
            dtype == DTYPE_Q8_1 ? block_half(block + 2) / 32 : out->step[i] + out->low[i];
}

/* Whether a decoder of this format can have the fault. */
static inline bool block_can_fail(int dtype, int fault)
{
    bool k = dtype >= DTYPE_Q4_K, bytes = dtype == DTYPE_Q8_0 || dtype == DTYPE_Q8_1;
    switch (fault) {
    case BLOCK_NIBBLES:
        return !bytes;
    case BLOCK_NO_LOW:
        return !bytes && dtype != DTYPE_IQ4_NL;
    case BLOCK_NEIGHBOUR:
    case BLOCK_BOUNDARY:
        return k;
    case BLOCK_UNSIGNED:
        return bytes || dtype == DTYPE_Q6_K;
    case BLOCK_NO_HIGH:
        return dtype == DTYPE_Q5_0 || dtype == DTYPE_Q5_1 ||
               (dtype >= DTYPE_Q5_K && dtype != DTYPE_Q2_K);
    default:
        return false;
    }
}

#endif
