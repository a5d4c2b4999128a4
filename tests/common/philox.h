/*
 * philox.h - the words that cuRAND's Philox4x32-10 gives a thread, computed plainly from the paper
 * (Salmon et al. 2011), and the uniform numbers that cuRAND makes of them. For test_random.c,
 * test_catalogue.c and tests/scenario/torch_random.
 */
#ifndef TESTS_PHILOX_H
#define TESTS_PHILOX_H

#include <stdint.h>

#ifdef __CUDACC__
#define PHILOX_FN static __device__ inline
#else
#define PHILOX_FN static inline
#endif

PHILOX_FN void philox_block(uint32_t c[4], uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; round++) {
        uint64_t even = (uint64_t)c[0] * 0xD2511F53, odd = (uint64_t)c[2] * 0xCD9E8D57;
        uint32_t next[4] = {(uint32_t)(odd >> 32) ^ c[1] ^ k0, (uint32_t)odd,
                            (uint32_t)(even >> 32) ^ c[3] ^ k1, (uint32_t)even};
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
}

/* Word `at` of the sequence of a thread. */
PHILOX_FN uint32_t philox_word(uint64_t seed, uint64_t thread, uint64_t at)
{
    uint64_t block = at / 4;
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)thread,
                     (uint32_t)(thread >> 32)};
    philox_block(c, (uint32_t)seed, (uint32_t)(seed >> 32));
    return c[at % 4];
}

/* In (0, 1], rounded to f32. */
PHILOX_FN double philox_single(uint32_t word)
{
    float word_f32 = (float)word;
    return (double)(word_f32 * 0x1p-32f + 0x1p-33f);
}

/* The same of 53 bits. */
PHILOX_FN double philox_double(uint32_t low, uint32_t high)
{
    uint64_t bits = low ^ (uint64_t)high << 21;
    return (double)bits * 0x1p-53 + 0x1p-54;
}

#endif
