/*
 * digest.cuh - a hash of an array in a snapshot, to compare the bytes that two launches read or
 * wrote. Gaps between rows do not count.
 */
#ifndef DEVICE_DIGEST_CUH
#define DEVICE_DIGEST_CUH

#include "device/digest_abi.h"
#include "device/raw.cuh"

/* The finaliser of SplitMix64 (Steele, Lea and Flood 2014). */
static __device__ uint64_t digest_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Elements [first, last): one division for each dim, then an odometer. */
static __device__ uint64_t digest_run(const digest_call &call, uint64_t first, uint64_t last)
{
    uint64_t at[8], offset = 0, rest = first, sum = 0;
#pragma unroll 1
    for (int k = (int)call.ndim - 1; k >= 0; k--) {
        at[k] = rest % call.dim[k];
        rest /= call.dim[k];
        offset += at[k] * call.stride[k];
    }
#pragma unroll 1
    for (uint64_t i = first; i < last; i++) {
        uint64_t bits = load_raw(call.base + offset * call.element, call.element);
        sum += digest_mix(bits + call.seed + digest_mix(i));
#pragma unroll 1
        for (int k = (int)call.ndim - 1; k >= 0; k--) {
            offset += call.stride[k];
            if (++at[k] < call.dim[k])
                break;
            offset -= at[k] * call.stride[k];
            at[k] = 0;
        }
    }
    return sum;
}

static __device__ uint64_t digest_clock()
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

static __device__ void digest_begins(const digest_call &call)
{
    if (threadIdx.x == 0)
        atomicMax((unsigned long long *)&call.sums->not_started,
                  (unsigned long long)~digest_clock());
}

/* All threads of a warp. */
static __device__ void digest_ends(const digest_call &call, uint64_t sum)
{
#pragma unroll
    for (int lane = 16; lane; lane /= 2)
        sum += __shfl_xor_sync(0xffffffffu, (unsigned long long)sum, lane);
    if (threadIdx.x % 32 == 0)
        atomicAdd((unsigned long long *)call.sum, (unsigned long long)sum);
    if (threadIdx.x == 0)
        atomicMax((unsigned long long *)&call.sums->ended, (unsigned long long)digest_clock());
}

extern "C" __global__ void __launch_bounds__(DIGEST_THREADS)
    cuvet_digest(const __grid_constant__ digest_call call)
{
    uint64_t thread = (uint64_t)blockIdx.x * DIGEST_THREADS + threadIdx.x, sum = 0;
    uint64_t step = (uint64_t)gridDim.x * DIGEST_THREADS * DIGEST_RUN;
    digest_begins(call);
#pragma unroll 1
    for (uint64_t i = call.first + thread * DIGEST_RUN; i < call.end; i += step)
        sum += digest_run(call, i, i + DIGEST_RUN < call.end ? i + DIGEST_RUN : call.end);
    digest_ends(call, sum);
}

/* A block an item. */
extern "C" __global__ void __launch_bounds__(DIGEST_THREADS)
    cuvet_digest_items(const __grid_constant__ digest_items_call items)
{
    digest_call call = items.one;
    uint64_t sum = 0;
    call.base += blockIdx.x * items.total / items.items * items.stride;
    call.sum += blockIdx.x;
    digest_begins(call);
#pragma unroll 1
    for (uint64_t i = threadIdx.x * DIGEST_RUN; i < call.end; i += DIGEST_THREADS * DIGEST_RUN)
        sum += digest_run(call, i, i + DIGEST_RUN < call.end ? i + DIGEST_RUN : call.end);
    digest_ends(call, sum);
}

#endif
