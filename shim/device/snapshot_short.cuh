/*
 * snapshot_short.cuh - the copy of a few pieces into room that the host has taken: what most checks
 * of a subset come to. Each block derives from the parameters alone what it moves and whither, and
 * the kernel ends as soon as memory can have it.
 */
#ifndef DEVICE_SNAPSHOT_SHORT_CUH
#define DEVICE_SNAPSHOT_SHORT_CUH

#include "device/snapshot_copy.cuh"

/* In the ticket: a block that had no room, above the count of blocks. */
enum { SHORT_REFUSED = 1 << 16 };

/* One thread. Mostly an earlier kernel has read the tail: reading the host's takes a round trip
 * over the bus. */
static __device__ bool has_room(const snapshot_call_short &call)
{
    if (!call.needs)
        return true;
    volatile uint64_t *seen = &call.reserve->tail_seen;
    uint64_t tail = *seen;
    if (tail < call.needs) {
        tail = *(volatile uint64_t *)call.reserve->tail;
        *seen = tail; /* another block's may be newer: then it is read once more */
    }
    return tail >= call.needs;
}

/* Whether it had room. Where that is a question the loads start before the answer is there. */
static __device__ bool copy_short(const snapshot_call_short &call, const snapshot_piece &piece,
                                  const bool *room)
{
    const bool inner = piece.bytes == SNAPSHOT_CHUNK && piece.source % SNAPSHOT_UNIT == 0;
    const uint4 *from = (const uint4 *)piece.source + threadIdx.x;
    const uint64_t target = call.header.base + piece.target;
    uint4 value[SNAPSHOT_UNROLL];
    if (inner) {
#pragma unroll
        for (int i = 0; i < SNAPSHOT_UNROLL; i++)
            value[i] = from[i * SNAPSHOT_THREADS];
    }
    if (call.needs) {
        __syncthreads();
        if (!*room)
            return false;
    }
    if (inner) {
#pragma unroll
        for (int i = 0; i < SNAPSHOT_UNROLL; i++)
            ((uint4 *)target)[threadIdx.x + i * SNAPSHOT_THREADS] = value[i];
    } else {
        const uint64_t units =
            (piece.source % SNAPSHOT_UNIT + piece.bytes + SNAPSHOT_UNIT - 1) / SNAPSHOT_UNIT;
        copy_row(piece.source, target, piece.bytes, 0, units, threadIdx.x, SNAPSHOT_THREADS);
    }
    return true;
}

/* One thread of each block of the copy before a launch. What it wrote is there when the launch's
 * kernel begins, and so it has nothing to fence. */
static __device__ void leave_short(const snapshot_call_short &call, bool copied, uint64_t started)
{
    let_next_come();
    if (!copied)
        atomicAdd(call.header.ticket, SHORT_REFUSED);
    if (blockIdx.x == 0)
        *(volatile uint64_t *)&call.header.place->busy = global_timer() - started;
}

/* One thread of each block, when the block has copied or has not; the last one seals. `earlier`: of
 * the copy before the launch. */
static __device__ void end_short(const snapshot_call_short &call, bool copied, uint64_t started,
                                 uint64_t earlier)
{
    const snapshot_header &header = call.header;
    volatile snapshot_seal *seal = header.seal;
    let_next_come();
    asm volatile("fence.acq_rel.gpu;" ::: "memory"); /* what the block has written is there before the ticket, and so the seal */
    const uint32_t before = atomicAdd(header.ticket, copied ? 1 : 1 + SHORT_REFUSED);
    if (blockIdx.x == 0)
        seal->started = seal_word(header.sequence, started);
    if (before % SHORT_REFUSED != gridDim.x - 1)
        return;
    *header.ticket = 0;
    const bool refused = before >= SHORT_REFUSED || !copied;
    seal->begin = seal_word(header.sequence, 0);
    seal->end = seal_word(header.sequence, !refused);
    write_seal(header, refused ? 0 : header.base, earlier);
}

static __device__ void run_short(const snapshot_call_short &call)
{
    __shared__ bool room;
    uint64_t started = 0, earlier = 0;
    if (threadIdx.x == 0) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(call.header.ticket));
        room = has_room(call);
    }
    wait_for_stream();
    if (threadIdx.x == 0) {
        started = global_timer();
        earlier = earlier_busy(call.header);
    }
    const bool copied = copy_short(call, call.piece[blockIdx.x], &room);
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    if (call.header.seals)
        end_short(call, copied, started, earlier);
    else
        leave_short(call, copied, started);
}

#endif
