/* random_values.h - seeded numbers for unit tests: the same in every run that sets random_state. */
#ifndef TESTS_UNIT_RANDOM_VALUES_H
#define TESTS_UNIT_RANDOM_VALUES_H

#include <math.h>
#include <stdint.h>

static uint64_t random_state;

/* In 0 .. 1: SplitMix64 (Steele, Lea and Flood 2014). */
static inline double uniform(void)
{
    random_state += 0x9e3779b97f4a7c15;
    uint64_t z = random_state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Of mean 0 and variance 1 (Box and Muller 1958). */
static inline double normal(void)
{
    return sqrt(-2 * log(uniform() + 1e-300)) * cos(6.283185307179586 * uniform());
}

#endif
