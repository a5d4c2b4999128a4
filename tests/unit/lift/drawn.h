/* drawn.h - numbers for kernels whose outputs are rounded ones, behind lift_bench.h. */
#ifndef TESTS_UNIT_LIFT_DRAWN_H
#define TESTS_UNIT_LIFT_DRAWN_H

#include "lift_bench.h"

#define ARRAY(n, size)                                                                             \
    {                                                                                              \
        (uint64_t)(n) * (size), 0                                                                  \
    }
#define VALUE(bits)                                                                                \
    {                                                                                              \
        0, bits                                                                                    \
    }

static inline uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static inline uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

/* From -1 to 1; among them zeros of both signs, numbers that become subnormal ones of 8 bits, and,
 * where they are wanted, huge ones, infinities and NaNs. */
static bool odd;
static inline float drawn(uint32_t *state)
{
    const float unit = (float)draw(state) / 8388608.0f - 1.0f;
    switch (draw(state) % 16) {
    case 0:
        return 0.0f;
    case 1:
        return -0.0f;
    case 2:
        return unit * 0x1p-8f;
    case 3:
        return unit * 0x1p-15f;
    case 4:
        return odd ? unit * 1e6f : unit;
    case 5:
        return odd && draw(state) % 4 == 0 ? __builtin_inff() : unit;
    case 6:
        return odd && draw(state) % 4 == 0 ? __builtin_nanf("") : unit;
    default:
        return unit;
    }
}

static inline void fill_f32(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((float *)array)[i] = drawn(&state);
}

#endif
