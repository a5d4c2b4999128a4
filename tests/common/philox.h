/*
 * philox.h - the words that cuRAND's Philox4x32-10 gives a thread, computed plainly from the paper
 * (Salmon et al. 2011), and the uniform numbers that cuRAND makes of them; and the zeros and ones
 * of FlashAttention's dropout. For test_random.c, test_catalogue.c and tests/scenario/torch_random.
 */
#ifndef TESTS_PHILOX_H
#define TESTS_PHILOX_H

#include <stdint.h>

#ifdef __CUDACC__
#define PHILOX_FN static __device__ inline
#else
#define PHILOX_FN static inline
#endif

PHILOX_FN void philox_rounds(uint32_t c[4], uint32_t k0, uint32_t k1, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        uint64_t even = (uint64_t)c[0] * 0xD2511F53, odd = (uint64_t)c[2] * 0xCD9E8D57;
        uint32_t next[4] = {(uint32_t)(odd >> 32) ^ c[1] ^ k0, (uint32_t)odd,
                            (uint32_t)(even >> 32) ^ c[3] ^ k1, (uint32_t)even};
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
}

PHILOX_FN void philox_block(uint32_t c[4], uint32_t k0, uint32_t k1)
{
    philox_rounds(c, k0, k1, 10);
}

/* Whether dropout keeps query i and key j of a head. A warp holds tiles of 16 x 32 scores: byte b
 * of a lane stands for one of its 16, which lie as the results of four products of 16 x 8 do. */
PHILOX_FN int philox_keeps(uint64_t seed, uint64_t offset, int64_t head, int64_t i, int64_t j,
                           int keep)
{
    for (int lane = 0; lane < 32; lane++)
        for (int b = 0; b < 16; b++) {
            int row = lane / 4 + (b & 2 ? 8 : 0), column = b / 4 * 8 + lane % 4 * 2 + (b & 1);
            if (row != i % 16 || column != j % 32)
                continue;
            uint64_t at = offset + (uint64_t)head * 32 + (uint64_t)lane;
            uint32_t c[4] = {(uint32_t)at, (uint32_t)(at >> 32), (uint32_t)(i / 16),
                             (uint32_t)(j / 32)};
            philox_rounds(c, (uint32_t)seed, (uint32_t)(seed >> 32), 7);
            return (int)(c[b / 4] >> 8 * (b % 4) & 255) <= keep;
        }
    return 0;
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
