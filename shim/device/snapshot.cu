/*
 * snapshot.cu - copies the arrays of one launch into the arena, in stream order, in one
 * kernel however many arrays there are.
 *
 * A wide grid of short blocks: on an H200 that reaches cuMemcpyDtoDAsync's bandwidth, where
 * a persistent grid loses a tenth (make bench, "copy").
 */
#include "device/digest.cuh"
#include "device/project.cuh"
#include "device/snapshot_copy.cuh"
#include "device/touch.cuh"

static __device__ void finish(const snapshot_header &header, uint64_t base)
{
    __syncthreads();
    if (threadIdx.x)
        return;
    __threadfence();
    if (atomicAdd(header.ticket, 1) != gridDim.x - 1)
        return;
    *header.ticket = 0;
    __threadfence(); /* what all blocks have written is behind the seal's own fence */
    uint64_t busy = stop_clock(header, header.seal != NULL);
    if (header.seal)
        write_seal(header, base, busy);
}

/* Where a snapshot waits for the outlier gate's word, on a launch that it has not called: nothing
 * is to be done, and the gate has sealed it. */
static __device__ bool wanted(const snapshot_header &header)
{
    return !header.when || *(const volatile uint64_t *)header.when == header.sequence * 2 + 1;
}

template <class Call> static __device__ void copy(const Call &call)
{
    wait_for_stream();
    if (!wanted(call.header))
        return;
    start_clock(call.header);
    finish(call.header, copy_one(call, blockIdx.x));
}

extern "C" __global__ void __launch_bounds__(SNAPSHOT_THREADS, 5)
    cuvet_snapshot(const __grid_constant__ snapshot_call call)
{
    copy(call);
}

/* The same for a few segments: less for the driver to carry with each launch. */
extern "C" __global__ void __launch_bounds__(SNAPSHOT_THREADS, 5)
    cuvet_snapshot_few(const __grid_constant__ snapshot_call_few call)
{
    copy(call);
}

/* For a part of the items: those that are chosen are gathered. */
extern "C" __global__ void __launch_bounds__(SNAPSHOT_THREADS, 5)
    cuvet_snapshot_subset(const __grid_constant__ snapshot_call_subset call)
{
    copy(call);
}

extern "C" __global__ void __launch_bounds__(SNAPSHOT_THREADS, 5)
    cuvet_snapshot_subset_few(const __grid_constant__ snapshot_call_subset_few call)
{
    copy(call);
}

/* With rows that other arrays name. */
extern "C" __global__ void __launch_bounds__(SNAPSHOT_THREADS, 5)
    cuvet_snapshot_touch(const __grid_constant__ snapshot_call_touch call)
{
    copy(call);
}

/* In the program's stream between the launch and the copies, the first of them before the launch: a
 * whole product, projected. */
template <void (*Pass)(const project_call &, uint64_t)>
static __device__ void project(const project_call &call)
{
    wait_for_stream();
    start_clock(call.header);
    uint64_t base = share_place(call.header);
    if (base)
        Pass(call, base);
    finish(call.header, base);
}

extern "C" __global__ void __launch_bounds__(PROJECT_THREADS)
    cuvet_project_before(const __grid_constant__ project_call call)
{
    project<project_before>(call);
}

extern "C" __global__ void __launch_bounds__(PROJECT_THREADS)
    cuvet_project_factors(const __grid_constant__ project_call call)
{
    project<project_factors>(call);
}

extern "C" __global__ void __launch_bounds__(PROJECT_THREADS)
    cuvet_project_rows(const __grid_constant__ project_call call)
{
    project<project_rows>(call);
}

/* On the side stream, once the copies are there. */
extern "C" __global__ void __launch_bounds__(TOUCH_THREADS)
    cuvet_touch_find(const __grid_constant__ touch_call call)
{
    find_touched(call);
}

extern "C" __global__ void __launch_bounds__(TOUCH_THREADS)
    cuvet_touch_number(const __grid_constant__ touch_call call)
{
    number_touched(call);
}
