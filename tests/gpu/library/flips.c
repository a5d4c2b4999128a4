/*
 * flips.c - `flips [SIDE TRIALS [f32]]`: in products of SIDE x SIDE matrices one bit of one element
 * is flipped (flipping.c), TRIALS times for each bit position, and again with no bit flipped. Under
 * cuvet it prints, for each position, in how many of the products that were checked the flip was
 * found; ends with 1 where a product without one is a finding.
 */
#include "flips.h"

#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuvet.h"

#pragma weak cuvet_counters
#pragma weak cuvet_flush

int cublasCreate_v2(void **handle);
int cublasGemmEx(void *handle, int transa, int transb, int m, int n, int k, const void *alpha,
                 const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                 const void *beta, void *c, int c_type, int ldc, int compute, int algorithm);

enum { R_32F = 0, R_16F = 2, R_16BF = 14, COMPUTE_32F = 68, TOGETHER = 4, WAIT_MS = 20000 };

static const struct kind {
    const char *name;
    int in, out, bits;
} kinds[] = {{"f32, of f32", R_32F, R_32F, 32},
             {"bf16, of bf16", R_16BF, R_16BF, 16},
             {"f16, of f16", R_16F, R_16F, 16},
             {"f32, of bf16", R_16BF, R_32F, 32}};

static struct {
    void *handle;
    CUdeviceptr a, b, c;
    int side, trials;
    uint64_t seed;
} job;

static void check(int status, const char *what)
{
    if (status) {
        fprintf(stderr, "%s: %d\n", what, status);
        exit(3);
    }
}
#define CHECK(call) check((int)(call), #call)

static uint32_t draw(void)
{
    job.seed = job.seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(job.seed >> 33);
}

/* The bits of a number of that type, of mean 0 and variance 1, with f16's range. */
static uint32_t number(int type)
{
    float sum = 0;
    uint32_t bits;
    for (int i = 0; i < 12; i++)
        sum += (float)draw() * 0x1p-31f;
    sum -= 6;
    memcpy(&bits, &sum, sizeof bits);
    if (type == R_32F)
        return bits;
    if (type == R_16BF)
        return bits >> 16;
    int exponent = (int)(bits >> 23 & 255) - 127 + 15; /* the small ones are zero */
    return (bits >> 16 & 0x8000) |
           (exponent > 0 ? (uint32_t)exponent << 10 | (bits >> 13 & 0x3ff) : 0);
}

static size_t bytes_of(int type)
{
    return type == R_32F ? 4 : 2;
}

static void upload(CUdeviceptr to, int type)
{
    size_t count = (size_t)job.side * (size_t)job.side;
    uint8_t *host = malloc(count * 4);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = number(type);
        memcpy(host + i * bytes_of(type), &bits, bytes_of(type));
    }
    CHECK(cuMemcpyHtoD(to, host, count * bytes_of(type)));
    free(host);
}

static void multiply(const struct kind *kind)
{
    const float alpha = 1, beta = 0;
    int n = job.side;
    CHECK(cublasGemmEx(job.handle, 0, 0, n, n, n, &alpha, (void *)(uintptr_t)job.a, kind->in, n,
                       (void *)(uintptr_t)job.b, kind->in, n, &beta, (void *)(uintptr_t)job.c,
                       kind->out, n, COMPUTE_32F, -1));
}

/* How many of the launches so far were judged, and how many of them as findings. */
static void count(uint64_t *judged, uint64_t *found)
{
    struct cuvet_counters counters = {.size = sizeof counters};
    *judged = *found = 0;
    if (!cuvet_counters || !cuvet_flush || cuvet_flush(WAIT_MS) || cuvet_counters(&counters))
        return;
    *judged = counters.match + counters.mismatch + counters.inconclusive;
    *found = counters.mismatch;
}

/* Bit -1: none is flipped. Returns how many findings there were. */
static uint64_t try_bit(const struct kind *kind, int bit)
{
    uint64_t judged, found, judged_before, found_before, out = bytes_of(kind->out);
    uint64_t count_of = (uint64_t)job.side * (uint64_t)job.side;
    count(&judged_before, &found_before);
    for (int i = 0; i < job.trials; i++) {
        uint64_t byte = draw() % count_of * out, word = byte / 4 * 4;
        flips_set(word, bit < 0 ? 0 : 1u << ((byte - word) * 8 + (unsigned)bit));
        multiply(kind);
        if (i % TOGETHER == TOGETHER - 1)
            count(&judged, &found);
    }
    count(&judged, &found);
    if (judged)
        printf("measured: %s, bit %2d: %llu of %llu found\n", kind->name, bit,
               (unsigned long long)(found - found_before),
               (unsigned long long)(judged - judged_before));
    return found - found_before;
}

static uint64_t try_kind(const struct kind *kind)
{
    upload(job.a, kind->in);
    upload(job.b, kind->in);
    uint64_t wrong = try_bit(kind, -1);
    for (int bit = kind->bits - 1; bit >= 0; bit--)
        try_bit(kind, bit);
    return wrong;
}

int main(int argc, char **argv)
{
    CUcontext context;
    uint64_t wrong = 0;
    job.side = argc > 1 ? atoi(argv[1]) : 1024;
    job.trials = argc > 2 ? atoi(argv[2]) : 32;
    job.seed = 1;
    size_t kinds_wanted = argc > 3 ? 1 : sizeof kinds / sizeof *kinds;
    size_t bytes = (size_t)job.side * (size_t)job.side * 4;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemAlloc(&job.a, bytes));
    CHECK(cuMemAlloc(&job.b, bytes));
    CHECK(cuMemAlloc(&job.c, bytes));
    CHECK(cublasCreate_v2(&job.handle));
    for (size_t i = 0; i < kinds_wanted; i++)
        wrong += try_kind(&kinds[i]);
    CHECK(cuCtxSynchronize());
    puts("done");
    return wrong ? 1 : 0;
}
