/*
 * program.c - `program FATBIN [wrong]`: heads that are normed and turned, both kinds of pairs, into
 * an array and into rows of a cache.
 */
#include "common/program.h"

#include <string.h>

enum { COLS = 64, TURNED = 48, HEADS = 3, TOKENS = 5, PLACES = 9 };

struct three {
    unsigned x, y, z;
};

static CUdeviceptr uploaded(const void *host, size_t bytes)
{
    CUdeviceptr array;
    CHECK(cuMemAlloc(&array, bytes));
    CHECK(cuMemcpyHtoD(array, host, bytes));
    return array;
}

int main(int argc, char **argv)
{
    const int places[TOKENS] = {0, 1, 2, 40, 41};
    const long long rows[TOKENS] = {7, 0, 3, 8, 4};
    start(argc, argv);
    CUdeviceptr x = upload(TOKENS * HEADS * COLS, 1), w = upload(COLS, 2), none = 0;
    CUdeviceptr y = upload(TOKENS * HEADS * COLS, 3), cache = upload(PLACES * HEADS * COLS / 2, 4);
    CUdeviceptr position = uploaded(places, sizeof places), slots = uploaded(rows, sizeof rows);
    long long row = COLS, plane = HEADS * COLS, all = TOKENS * plane, zero = 0;
    long long wrong = strcmp(word(0), "wrong") == 0;
    struct three cols3 = {0, 0, COLS}, one = {0, 0, 1};
    float eps = 1e-6f, scale = 1, extrapolate = 0, length = 1.25f, ramp[2] = {0, 0}, base = 0.75f;
    int cols = COLS, turned = TURNED;
    for (int i = 0; i < 4; i++) {
        const char *names[] = {"_Z21rms_norm_mul_rope_f32ILi256ELb0EfEvPKfPT1_ixxxxxxfS1_"
                               "xxx5uint3S4_S4_S4_iPKifff14rope_"
                               "corr_dimsfS1_PKxib",
                               "_Z21rms_norm_mul_rope_f32ILi256ELb0E6__halfEvPKfPT1_ixxxxxxfS2_"
                               "xxx5uint3S5_S5_S5_iPKifff14"
                               "rope_corr_dimsfS2_PKxib"};
        bool neox = i % 2, cached = i / 2;
        int to_rows = cached ? HEADS * COLS : 0;
        void *params[] = {&x,      cached ? &cache : &y,
                          &cols,   &row,
                          &plane,  &all,
                          &row,    &plane,
                          &all,    &eps,
                          &w,      &wrong,
                          &zero,   &zero,
                          &cols3,  &one,
                          &one,    &one,
                          &turned, &position,
                          &scale,  &extrapolate,
                          &length, ramp,
                          &base,   &none,
                          &slots,  &to_rows,
                          &neox};
        CHECK(cuLaunchKernel(kernel(names[cached]), HEADS, TOKENS, 1, 1, 1, 1, 0, NULL, params,
                             NULL));
    }
    print_sum("y", y, TOKENS * HEADS * COLS * sizeof(float));
    print_sum("cache", cache, PLACES * HEADS * COLS * 2);
    finish();
    return 0;
}
