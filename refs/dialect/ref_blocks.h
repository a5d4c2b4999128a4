/*
 * ref_blocks.h - ggml's block formats: one element of a block as a number.
 *
 * A block is a run of elements along the last axis: 32 of them, of the K formats 256. An element is
 * its code times a scale, and for most formats something more, the same for the whole group that
 * shares the scale: value = step + low. Kernels often multiply the two apart, so references may
 * too.
 *
 *   format  bytes  in memory                                       step            low
 *   q4_0    18     f16 d, 16 x 2 codes                             d q             -8 d
 *   q4_1    20     f16 d, f16 m, 16 x 2 codes                      d q             m
 *   q5_0    22     f16 d, u32 fifth bits, 16 x 2 codes             d q             -16 d
 *   q5_1    24     f16 d, f16 m, u32 fifth bits, 16 x 2 codes      d q             m
 *   q8_0    34     f16 d, 32 i8                                    d q             0
 *   q8_1    36     f16 d, f16 s, 32 i8                             d q             0
 *   q4_K    144    f16 d, f16 n, 12 bytes of scales, 128 x 2       d a q           -n b
 *   q5_K    176    the same, 32 bytes of fifth bits, 128 x 2       d a q           -n b
 *   q6_K    210    128 x 2 low codes, 64 x 4 high bits, 16 i8 a,   d a (q - 32)    0
 *                  f16 d
 *   q2_K    84     16 x (4 bits a, 4 bits b), 64 x 4 codes,        d a q           -n b
 *                  f16 d, f16 n
 *   q3_K    110    32 bytes of third bits, 64 x 4 codes, 12 bytes  d (a - 32)      0
 *                  of scales, f16 d                                (q - 4)
 *   iq4_nl  18     f16 d, 16 x 2 codes                             d level(q)      0
 *   iq4_xs  136    f16 d, 2 bytes of high bits of scales, 4 of     d (a - 32)      0
 *                  low ones, 128 x 2 codes                         level(q)
 *
 * q is unsigned but in the 8-bit formats; a and b, of 6 bits unless the table has others, belong
 * to 32 elements, those of q6_K, q2_K and q3_K to 16. s is the sum of the 32 numbers that a q8_1
 * block was made of, before their rounding. (ggml-common.h and ggml-quants.c of ggml.) All products
 * are numbers of f32.
 *
 * Bytes are read one by one: blocks have no alignment, and elements are seldom read twice.
 */
#ifndef REFS_REF_BLOCKS_H
#define REFS_REF_BLOCKS_H

#include "ref_dtype.h"

/* Which part of an element is read. Of what is in no block, the value is the step and the scale,
 * its code is 1 and low is 0. */
enum ref_part {
    REF_VALUE,
    REF_STEP,
    REF_LOW,
    REF_SHARE,  /* q8_1: its part of s, s / 32; of other formats the value */
    REF_FACTOR, /* what its code is multiplied by, and the code: step = scale code */
    REF_CODE,
};

/* Elements of a block; 0 for a dtype that is no block format. */
REF_FN int ref_block_elements(int dtype)
{
    return dtype < DTYPE_Q4_0 || dtype > DTYPE_LAST_BLOCK ? 0 : dtype < DTYPE_Q4_K ? 32 : 256;
}

REF_FN int ref_block_bytes(int dtype)
{
    switch (dtype) {
    case DTYPE_Q4_0:
    case DTYPE_IQ4_NL:
        return 18;
    case DTYPE_Q4_1:
        return 20;
    case DTYPE_Q5_0:
        return 22;
    case DTYPE_Q5_1:
        return 24;
    case DTYPE_Q8_0:
        return 34;
    case DTYPE_Q8_1:
        return 36;
    case DTYPE_Q4_K:
        return 144;
    case DTYPE_Q5_K:
        return 176;
    case DTYPE_Q6_K:
        return 210;
    case DTYPE_Q2_K:
        return 84;
    case DTYPE_Q3_K:
        return 110;
    case DTYPE_IQ4_XS:
        return 136;
    default:
        return 0;
    }
}

struct ref_code {
    double scale;
    int code;
    double low;
};

REF_FN double ref_block_half(const unsigned char *at)
{
    return ref_half_to_double((uint32_t)at[0] | (uint32_t)at[1] << 8);
}

/* Code i of 2 * half: low nibbles come first, then the high ones. */
REF_FN int ref_nibble(const unsigned char *codes, int i, int half)
{
    return i < half ? codes[i] & 15 : codes[i - half] >> 4;
}

/* What a code of iq4_nl and iq4_xs stands for. */
REF_FN int ref_level(int code)
{
    const signed char levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                    1,    13,   25,  38,  53,  69,  89,  113};
    return levels[code];
}

/* The formats with 32 elements: where their codes are follows from what stands before them. */
REF_FN ref_code ref_decode_small(int dtype, const unsigned char *block, int i)
{
    double d = ref_block_half(block), m = ref_block_half(block + 2);
    bool has_m = dtype == DTYPE_Q4_1 || dtype == DTYPE_Q5_1, five = dtype == DTYPE_Q5_0;
    if (dtype == DTYPE_Q8_0 || dtype == DTYPE_Q8_1)
        return {d, (signed char)block[(dtype == DTYPE_Q8_0 ? 2 : 4) + i], 0};
    const unsigned char *high = block + (has_m ? 4 : 2);
    if (dtype == DTYPE_IQ4_NL)
        return {d, ref_level(ref_nibble(high, i, 16)), 0};
    int bits = five || dtype == DTYPE_Q5_1 ? 4 : 0;
    int q = ref_nibble(high + bits, i, 16);
    if (bits)
        q += (high[i / 8] >> i % 8 & 1) << 4;
    return {d, q, has_m ? m : d * (five ? -16 : -8)};
}

/* The scale a (which 0) or b (which 4) of group g of q4_K and q5_K: 6 bits, the first four of each
 * whole, the others a nibble and the two bits that the first ones left over. */
REF_FN int ref_packed_scale(const unsigned char *scales, int g, int which)
{
    if (g < 4)
        return scales[g + which] & 63;
    int nibble = which ? scales[g + 4] >> 4 : scales[g + 4] & 15;
    return nibble | (scales[g - 4 + which] >> 6) << 4;
}

/* Code i of 256 with 2 bits: each of two halves has four in a byte, 32 bytes apart in place. */
REF_FN int ref_quarter(const unsigned char *codes, int i)
{
    return codes[i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3;
}

/* The formats with less than 4 bits, or with levels, for an element. */
REF_FN ref_code ref_decode_low(int dtype, const unsigned char *block, int i)
{
    int g = i / 16;
    if (dtype == DTYPE_Q2_K)
        return {ref_block_half(block + 80) * (block[g] & 15), ref_quarter(block + 16, i),
                -ref_block_half(block + 82) * (block[g] >> 4)};
    if (dtype == DTYPE_Q3_K) {
        const unsigned char *scales = block + 96;
        int a = (scales[g % 8] >> g / 8 * 4 & 15) | (scales[8 + g % 4] >> g / 4 * 2 & 3) << 4;
        int q = ref_quarter(block + 32, i) - (block[i % 32] >> i / 32 & 1 ? 0 : 4);
        return {ref_block_half(block + 108) * (a - 32), q, 0};
    }
    g = i / 32;
    int a = (block[4 + g / 2] >> g % 2 * 4 & 15) | (block[2 + g / 4] >> g % 4 * 2 & 3) << 4;
    return {ref_block_half(block) * (a - 32), ref_level(ref_nibble(block + 8 + g * 16, i % 32, 16)),
            0};
}

REF_FN ref_code ref_decode_large(int dtype, const unsigned char *block, int i)
{
    if (dtype > DTYPE_Q6_K)
        return ref_decode_low(dtype, block, i);
    if (dtype == DTYPE_Q6_K) {
        const unsigned char *low = block + i / 128 * 64, *high = block + 128 + i / 128 * 32;
        int quarter = i / 32 % 4;
        int q = low[i % 64] >> (quarter < 2 ? 0 : 4) & 15;
        q |= (high[i % 32] >> 2 * quarter & 3) << 4;
        return {ref_block_half(block + 208) * (signed char)block[192 + i / 16], q - 32, 0};
    }
    const unsigned char *scales = block + 4, *codes = block + (dtype == DTYPE_Q5_K ? 48 : 16);
    int q = ref_nibble(codes + i / 64 * 32, i % 64, 32), g = i / 32;
    if (dtype == DTYPE_Q5_K)
        q += (block[16 + i % 32] >> g & 1) << 4;
    return {ref_block_half(block) * ref_packed_scale(scales, g, 0), q,
            -ref_block_half(block + 2) * ref_packed_scale(scales, g, 4)};
}

/* Element i of a block. */
REF_FN double ref_decode_block(int dtype, const unsigned char *block, int i, int part)
{
    if (part == REF_SHARE && dtype == DTYPE_Q8_1)
        return ref_block_half(block + 2) / 32;
    ref_code x =
        dtype < DTYPE_Q4_K ? ref_decode_small(dtype, block, i) : ref_decode_large(dtype, block, i);
    if (part == REF_FACTOR || part == REF_CODE)
        return part == REF_FACTOR ? x.scale : x.code;
    double step = x.scale * x.code;
    return part == REF_STEP ? step : part == REF_LOW ? x.low : step + x.low;
}

#endif
