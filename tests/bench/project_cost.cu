/*
 * project_cost.cu - projections of whole products against reading their three arrays once.
 *
 *   project_cost SNAPSHOT.fatbin
 *
 * One JSON line for each shape, bf16, or bf16 of f8e4m3 with scales of blocks: microseconds of both
 * kernels together, of each, and of a kernel that reads the same bytes; medians, arrays out of
 * cache where they do not fit it. The values are such that a b is known without computing it, so
 * that the projection's result is checked: that c is right, and which rows are not once a tile of
 * it is cleared.
 */
#include <cmath>
#include <cstring>
#include <cuda.h>
#include <cuda_bf16.h>
#include "device/project_abi.h"
#include "measure.cuh"
#include "read_once.cuh"

enum { REPEAT = 15, TILE = 64 };

struct shape {
    const char *layout; /* of a and b: n as in c = a b, t transposed */
    int64_t m, n, k;
    bool f8; /* a and b, with a scale for 128 numbers of a row and for 128 x 128 numbers */
};

static const shape shapes[] = {{"nn", 512, 512, 512},      {"nt", 2048, 2048, 2048},
                               {"nn", 4096, 4096, 4096},   {"nt", 4096, 4096, 4096},
                               {"tn", 4096, 4096, 4096},   {"nt", 4096, 14336, 4096},
                               {"nt", 4096, 4096, 14336},  {"nt", 16, 4096, 4096},
                               {"nt", 2048, 151936, 2048}, {"nt", 4096, 4096, 4096, true}};

static CUfunction factors, rows;
static cudaStream_t stream;
static uint32_t *ticket;

/* Element (i, j) is sign(i + j) 2^-3: a sum of k of their products is k 2^-6 or minus that. */
static __global__ void fill(__nv_bfloat16 *x, int64_t d0, int64_t d1, float size)
{
    for (int64_t at = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; at < d0 * d1;
         at += (int64_t)gridDim.x * blockDim.x)
        x[at] = __float2bfloat16((at / d1 + at % d1) % 2 ? -size : size);
}

static __global__ void clear_tile(__nv_bfloat16 *c, int64_t n)
{
    c[(int64_t)(blockIdx.x + TILE) * n + threadIdx.x] = __float2bfloat16(0);
}

static __nv_bfloat16 *matrix(int64_t d0, int64_t d1, float size)
{
    __nv_bfloat16 *x;
    CHECK(cudaMalloc(&x, d0 * d1 * 2));
    fill<<<1024, 256, 0, stream>>>(x, d0, d1, size);
    return x;
}

/* The same in f8e4m3, whose 0.125 is 0x20. */
static __global__ void fill_f8(uint8_t *x, int64_t d0, int64_t d1)
{
    for (int64_t at = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; at < d0 * d1;
         at += (int64_t)gridDim.x * blockDim.x)
        x[at] = (at / d1 + at % d1) % 2 ? 0xa0 : 0x20;
}

static const void *factor(int64_t d0, int64_t d1, bool f8)
{
    uint8_t *x;
    if (!f8)
        return matrix(d0, d1, 0.125f);
    CHECK(cudaMalloc(&x, d0 * d1));
    fill_f8<<<1024, 256, 0, stream>>>(x, d0, d1);
    return x;
}

static __global__ void fill_scales(float *x, int64_t count)
{
    for (int64_t at = threadIdx.x; at < count; at += blockDim.x)
        x[at] = 1;
}

static ref_scales scales(int64_t d0, int64_t d1, uint32_t rows, uint32_t cols)
{
    float *x;
    int64_t high = d0 / rows, wide = d1 / cols;
    CHECK(cudaMalloc(&x, high * wide * sizeof *x));
    fill_scales<<<1, 1024, 0, stream>>>(x, high * wide);
    return {x, {wide, 1}, rows, cols};
}

/* The same geometry as shim/extra/project.c makes. */
static project_pass deal(int64_t batch, int64_t values, int64_t over, int64_t step)
{
    project_pass pass = {PROJECT_TILE, over <= step || values == 1, 0, 0};
    while (pass.tile > (pass.along ? 1u : 16u) &&
           batch * ((values + pass.tile - 1) / pass.tile) < 256)
        pass.tile /= 2;
    pass.blocks = (uint32_t)(batch * ((values + pass.tile - 1) / pass.tile));
    return pass;
}

static project_call describe(const shape &s)
{
    project_call call;
    memset(&call, 0, sizeof call);
    ref_product &p = call.product;
    bool ta = s.layout[0] == 't', tb = s.layout[1] == 't';
    const uint32_t dtype = s.f8 ? DTYPE_F8E4M3 : DTYPE_BF16;
    p.a = {factor(ta ? s.k : s.m, ta ? s.m : s.k, s.f8), {0, ta ? 1 : s.k, ta ? s.m : 1}, dtype};
    p.b = {factor(tb ? s.n : s.k, tb ? s.k : s.n, s.f8), {0, tb ? 1 : s.n, tb ? s.k : 1}, dtype};
    if (s.f8) {
        p.a_scales = scales(s.m, s.k, 1, 128);
        p.b_scales = scales(s.k, s.n, 128, 128);
    }
    p.c = {matrix(s.m, s.n, s.k / 64.0f), {0, s.n, 1}, DTYPE_BF16};
    p.alpha = 1;
    p.m = s.m;
    p.n = project_part(s.n);
    p.batch = s.n / p.n;
    p.b.stride[0] = p.n * p.b.stride[2];
    p.c.stride[0] = p.n;
    p.k = s.k;
    p.seed = 7;
    p.half_ulp = 0x1p-8;
    p.least = p.absolute = 0x1p-126;
    p.largest = 0x1.fep127;
    p.of_sum = 8 * sqrt((double)s.k) * 0x1p-24;
    p.odds = 7.8;
    call.factors = deal(p.batch, s.k, p.b.stride[2], p.b.stride[1]);
    call.outputs = deal(p.batch, s.m, p.c.stride[2], p.c.stride[1]);
    call.rows = deal(p.batch, s.m, p.a.stride[2], p.a.stride[1]);
    size_t bytes = PROJECT_ANSWER + 2 * p.batch * (s.m + s.k) * sizeof(double);
    void *base;
    CHECK(cudaMalloc(&base, bytes));
    call.header.base = (uint64_t)base;
    call.header.ticket = ticket;
    return call;
}

static void launch(CUfunction function, project_call &call, uint32_t blocks)
{
    void *params[] = {&call};
    CHECK(cuLaunchKernel(function, blocks, 1, 1, PROJECT_THREADS, 1, 1, 0, stream, params, NULL));
}

static ref_product_answer answer_of(project_call &call)
{
    ref_product_answer answer;
    launch(factors, call, call.factors.blocks + call.outputs.blocks);
    launch(rows, call, call.rows.blocks);
    CHECK(cudaMemcpyAsync(&answer, (void *)call.header.base, sizeof answer, cudaMemcpyDeviceToHost,
                          stream));
    CHECK(cudaStreamSynchronize(stream));
    return answer;
}

/* Out of cache. */
template <typename Run> static double cold_us(Run run)
{
    return median_us(
        stream, REPEAT, [] { clear_cache(stream); }, run);
}

static void read(const ref_matrix &x, int64_t elements)
{
    const int bytes = x.dtype == DTYPE_BF16 ? 2 : 1;
    read_once<<<1024, 256, 0, stream>>>((const uint4 *)x.data, (size_t)(elements * bytes / 16));
}

static void measure(const shape &s)
{
    project_call call = describe(s);
    const ref_product &p = call.product;
    ref_product_answer right = answer_of(call);
    double first =
        cold_us([&] { launch(factors, call, call.factors.blocks + call.outputs.blocks); });
    double second = cold_us([&] { launch(rows, call, call.rows.blocks); });
    double both = cold_us([&] {
        launch(factors, call, call.factors.blocks + call.outputs.blocks);
        launch(rows, call, call.rows.blocks);
    });
    double once = cold_us([&] {
        read(p.a, s.m * s.k);
        read(p.b, s.k * s.n);
        read(p.c, s.m * s.n);
    });
    bool tall = s.m >= 2 * TILE;
    if (tall)
        clear_tile<<<TILE, TILE, 0, stream>>>((__nv_bfloat16 *)p.c.data, s.n);
    ref_product_answer wrong = answer_of(call);
    bool found = !tall || (wrong.violations > 0 && wrong.first >= TILE && wrong.last < 2 * TILE);
    printf("{\"layout\": \"%s%s\", \"m\": %lld, \"n\": %lld, \"k\": %lld, \"bytes\": %lld, "
           "\"project_us\": %.2f, \"factors_us\": %.2f, \"rows_us\": %.2f, \"read_us\": %.2f, "
           "\"quiet\": %s, \"found\": %s}\n",
           s.layout, s.f8 ? " f8" : "", (long long)s.m, (long long)s.n, (long long)s.k,
           (long long)((s.f8 ? 1 : 2) * (s.m * s.k + s.k * s.n) + 2 * s.m * s.n), both, first,
           second, once,
           right.violations == 0 && right.left == 0 && right.done == (uint64_t)(p.batch * s.m)
               ? "true"
               : "false",
           found ? "true" : "false");
    for (const void *memory : {p.a.data, p.b.data, p.c.data, (const void *)p.a_scales.data,
                               (const void *)p.b_scales.data, (const void *)call.header.base})
        CHECK(cudaFree((void *)memory));
}

int main(int argc, char **argv)
{
    CUmodule module;
    if (argc != 2) {
        fprintf(stderr, "usage: project_cost SNAPSHOT.fatbin\n");
        return 2;
    }
    CHECK(cudaFree(NULL));
    CHECK(cuModuleLoad(&module, argv[1]));
    CHECK(cuModuleGetFunction(&factors, module, "cuvet_project_factors"));
    CHECK(cuModuleGetFunction(&rows, module, "cuvet_project_rows"));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&ticket, 256));
    CHECK(cudaMemset(ticket, 0, 256));
    CHECK(cudaDeviceSynchronize());
    for (const shape &s : shapes)
        measure(s);
    return 0;
}
