/*
 * project.cuh - a pass of a projection on the GPU: PROJECT_THREADS threads add up for a few values
 * at a time, in an order that does not depend on the grid, so that the same launch gives the same
 * answer again.
 */
#ifndef DEVICE_PROJECT_CUH
#define DEVICE_PROJECT_CUH

#include "device/project_abi.h"
#include "device/snapshot_copy.cuh"
#include "refs/abi/ref_project.h"

/* Sums of the block's threads, one value's after another's. */
struct project_sums {
    double x[PROJECT_THREADS], y[PROJECT_THREADS];
};

template <class Pass>
static __device__ void project_put(const Pass &pass, const project_sums &sums, uint32_t tile,
                                   int64_t s, int64_t first)
{
    const uint32_t per = PROJECT_THREADS / tile, lane = threadIdx.x % 32;
    for (uint32_t value = threadIdx.x / 32; value < tile; value += PROJECT_THREADS / 32) {
        ref_pair sum = {0, 0};
        for (uint32_t i = lane; i < per; i += 32) {
            sum.x += sums.x[value * per + i];
            sum.y += sums.y[value * per + i];
        }
        for (int step = 16; step; step /= 2) {
            sum.x += __shfl_xor_sync(~0u, sum.x, step);
            sum.y += __shfl_xor_sync(~0u, sum.y, step);
        }
        if (lane == 0 && first + value < pass.kept())
            pass.put(s, first + value, sum);
    }
}

/* Block number `block` of the pass. All threads of the block. */
template <class Pass>
static __device__ void project_tile(const Pass &pass, const project_pass &how, uint32_t block,
                                    project_sums &sums)
{
    const uint32_t per = PROJECT_THREADS / how.tile;
    const uint32_t value = how.along ? threadIdx.x / per : threadIdx.x % how.tile;
    const uint32_t from = how.along ? threadIdx.x % per : threadIdx.x / how.tile;
    const int64_t tiles = (pass.kept() + how.tile - 1) / how.tile;
    const int64_t s = block / tiles, first = block % tiles * how.tile, over = pass.over();
    ref_pair sum = {0, 0};
    if (first + value < pass.kept()) {
#pragma unroll 4
        for (int64_t i = from; i < over; i += per)
            pass.add(s, first + value, i, sum);
    }
    sums.x[value * per + from] = sum.x;
    sums.y[value * per + from] = sum.y;
    __syncthreads();
    project_put(pass, sums, how.tile, s, first);
}

static __device__ ref_product_answer *project_answer(const project_call &call, uint64_t base)
{
    return (ref_product_answer *)(base + call.offset);
}

/* The signs of all columns, for all threads of the block. */
static __device__ void project_signs(const ref_product &p, uint32_t *signs)
{
    for (uint32_t word = threadIdx.x; word < (p.n + 31) / 32; word += PROJECT_THREADS)
        signs[word] = ref_signs(p.seed, word);
    __syncthreads();
}

static __device__ ref_vectors project_vectors(const project_call &call, uint64_t base)
{
    return ref_vectors_at(call.product, (double *)(base + call.offset + PROJECT_ANSWER));
}

/* c r, before the launch. */
static __device__ void project_before(const project_call &call, uint64_t base)
{
    __shared__ uint32_t signs[REF_PRODUCT_COLUMNS / 32];
    __shared__ project_sums sums;
    const ref_product &p = call.product;
    ref_vectors vectors = project_vectors(call, base);
    project_signs(p, signs);
    ref_pass_for<ref_before>(
        p.c, false, ref_pass_of(p, vectors, signs, nullptr),
        [&](const auto &pass) { project_tile(pass, call.outputs, blockIdx.x, sums); });
}

/* b r, or c r. */
static __device__ void project_factors(const project_call &call, uint64_t base)
{
    __shared__ uint32_t signs[REF_PRODUCT_COLUMNS / 32];
    __shared__ project_sums sums;
    const ref_product &p = call.product;
    ref_vectors vectors = project_vectors(call, base);
    ref_pass<DTYPE_NONE> with = ref_pass_of(p, vectors, signs, nullptr);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        ref_product_clear(project_answer(call, base));
    project_signs(p, signs);
    if (blockIdx.x < call.factors.blocks)
        ref_pass_for<ref_factors>(p.b, p.b_scales.data, with, [&](const auto &pass) {
            project_tile(pass, call.factors, blockIdx.x, sums);
        });
    else
        ref_pass_for<ref_outputs>(p.c, false, with, [&](const auto &pass) {
            project_tile(pass, call.outputs, blockIdx.x - call.factors.blocks, sums);
        });
}

/* a (b r), held against c r. */
static __device__ void project_rows(const project_call &call, uint64_t base)
{
    __shared__ project_sums sums;
    const ref_product &p = call.product;
    ref_vectors vectors = project_vectors(call, base);
    ref_pass<DTYPE_NONE> with = ref_pass_of(p, vectors, nullptr, project_answer(call, base));
    ref_pass_for<ref_rows>(p.a, p.a_scales.data, with, [&](const auto &pass) {
        project_tile(pass, call.rows, blockIdx.x, sums);
    });
}

#endif
