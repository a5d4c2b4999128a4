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

/* One thread, while the kernel in front still ends: all that needs nothing of the program's memory.
 * The ticket is read when all else is done, and would otherwise cost a round trip to memory. */
static __device__ void clerk_ahead(const snapshot_header &header)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(header.ticket));
    shared_notes()->took_room = false;
    if (!header.when)
        prepare_place(header);
}

/* ... and when it has ended. */
static __device__ void clerk_begin(const snapshot_header &header)
{
    if (header.when)
        prepare_place(header);
    if (blockIdx.x == 0)
        start_clock(header);
    shared_notes()->earlier = earlier_busy(header);
}

/* Where a snapshot waits for the outlier gate's word, on a launch that it has not called: nothing
 * is to be done, and the gate has sealed it. */
static __device__ bool wanted(const snapshot_header &header)
{
    return !header.when || *(const volatile uint64_t *)header.when == header.sequence * 2 + 1;
}

/* All threads, when they have copied. */
static __device__ void finish(const snapshot_header &header, bool is_clerk)
{
    const block_notes &notes = *shared_notes();
    __syncthreads();
    if (!is_clerk)
        return;
    let_next_come();
    __threadfence(); /* what the block has written is there before the ticket, and so the seal */
    const bool last = atomicInc(header.ticket, gridDim.x - 1) == gridDim.x - 1;
    write_notes(header);
    if (!last)
        return;
    if (header.seals)
        write_seal(header, header.place ? notes.base : header.base, notes.earlier);
    else
        stop_clock(header, notes.earlier);
}

template <class Call> static __device__ void copy(const snapshot_header &header, const Call &call)
{
    const bool copies = threadIdx.x < SNAPSHOT_THREADS, is_clerk = threadIdx.x == SNAPSHOT_THREADS;
    piece mine = {};
    if (is_clerk)
        clerk_ahead(header);
    else if (copies)
        mine = find_piece(call, blockIdx.x);
    wait_for_stream();
    if (!wanted(header))
        return;
    if (is_clerk)
        clerk_begin(header);
    if (copies)
        copy_piece(call, mine);
    else
        share_place(header);
    finish(header, is_clerk);
}

extern "C" __global__ void __launch_bounds__(SNAPSHOT_THREADS + SNAPSHOT_CLERKS, 4)
    cuvet_snapshot(const __grid_constant__ snapshot_call call)
{
    copy(call.header, call);
}

/* The same for a few segments: less for the driver to carry with each launch. */
extern "C" __global__ void __launch_bounds__(SNAPSHOT_THREADS + SNAPSHOT_CLERKS, 4)
    cuvet_snapshot_few(const __grid_constant__ snapshot_call_few call)
{
    copy(call.header, call);
}

/* With rows by index or by address. */
extern "C" __global__ void __launch_bounds__(SNAPSHOT_THREADS + SNAPSHOT_CLERKS, 4)
    cuvet_snapshot_rows(const __grid_constant__ snapshot_call_rows call)
{
    copy(call.header, call);
}

/* In the program's stream between the launch and the copies, the first of them before the launch: a
 * whole product, projected. */
template <void (*Pass)(const project_call &, uint64_t)>
static __device__ void project(const project_call &call)
{
    const bool is_clerk = threadIdx.x == 0;
    if (is_clerk)
        clerk_ahead(call.header);
    wait_for_stream();
    if (is_clerk)
        clerk_begin(call.header);
    uint64_t base = share_place(call.header);
    if (base)
        Pass(call, base);
    finish(call.header, is_clerk);
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
