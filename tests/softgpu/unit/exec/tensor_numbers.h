/*
 * tensor_numbers.h - numbers for matrices that are exact in each type that tensor cores take, and
 * their bits. Included by the tests of those instructions.
 */
#ifndef SOFTGPU_TENSOR_NUMBERS_H
#define SOFTGPU_TENSOR_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static uint64_t state_of_draws;

/* Small integers and halves: exact in every type, and so are their sums. */
static inline double draw(bool integers)
{
    state_of_draws = state_of_draws * 6364136223846793005u + 1442695040888963407u;
    const int small = (int)(state_of_draws >> 60) - 8;
    return integers ? small : small / 2.0;
}

static inline uint32_t bits32(double x)
{
    const float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}

static inline uint32_t f16_bits(double x)
{
    const _Float16 h = (_Float16)x;
    uint16_t bits;
    memcpy(&bits, &h, 2);
    return bits;
}

static inline uint32_t bf16_bits(double x)
{
    return bits32(x) >> 16;
}

static inline uint32_t s8_bits(double x)
{
    return (uint8_t)(int8_t)x;
}

static inline uint32_t e5m2_bits(double x)
{
    return f16_bits(x) >> 8;
}

/* -4 to 3.5 in steps of a half: 4 bits of exponent with bias 7, 3 of fraction. */
static inline uint32_t e4m3_bits(double x)
{
    uint32_t sign = x < 0 ? 0x80 : 0, exponent = 7;
    double size = x < 0 ? -x : x;
    if (size == 0)
        return 0;
    for (; size >= 2; size /= 2)
        exponent++;
    for (; size < 1; size *= 2)
        exponent--;
    return sign | exponent << 3 | (uint32_t)((size - 1) * 8);
}

#endif
