/*
 * snapshot_copy.cuh - copying the arrays of one launch into the arena: what the snapshot kernels
 * and the outlier kernels share.
 */
#ifndef DEVICE_SNAPSHOT_COPY_CUH
#define DEVICE_SNAPSHOT_COPY_CUH

#include "device/early.cuh"
#include "device/snapshot_abi.h"

/* One unit at `offset` of a row: as a vector when it lies inside, else its valid bytes alone. */
static __device__ void copy_edge(uint64_t source, uint64_t target, uint64_t bytes, uint64_t unit,
                                 uint32_t skew)
{
    /* Units are counted from the aligned address below the row, so they are aligned on both sides.
     */
#pragma unroll 1
    for (uint32_t i = 0; i < SNAPSHOT_UNIT; i++) {
        uint64_t at = unit * SNAPSHOT_UNIT + i;
        if (at >= skew && at - skew < bytes)
            *(uint8_t *)(target + (at - skew)) = *(const uint8_t *)(source + (at - skew));
    }
}

/* Units [first, last) of one row, shared by `threads` threads; edges byte by byte. Several loads of
 * a thread are under way at once. */
static __device__ void copy_row(uint64_t source, uint64_t target, uint64_t bytes, uint64_t first,
                                uint64_t last, uint32_t thread, uint32_t threads)
{
    const uint32_t skew = (uint32_t)(source % SNAPSHOT_UNIT);
    const uint4 *from = (const uint4 *)(source - skew);
    uint4 *to = (uint4 *)(target - skew);
    const uint64_t whole_first = skew ? 1 : 0, whole_last = (skew + bytes) / SNAPSHOT_UNIT;
    uint4 value[SNAPSHOT_UNROLL];

#pragma unroll 1
    for (uint64_t unit = first + thread; unit < last; unit += SNAPSHOT_UNROLL * threads) {
#pragma unroll
        for (uint32_t i = 0; i < SNAPSHOT_UNROLL; i++) {
            uint64_t at = unit + i * threads;
            if (at < last && at >= whole_first && at < whole_last)
                value[i] = from[at];
        }
#pragma unroll
        for (uint32_t i = 0; i < SNAPSHOT_UNROLL; i++) {
            uint64_t at = unit + i * threads;
            if (at < last && at >= whole_first && at < whole_last)
                to[at] = value[i];
            else if (at < last)
                copy_edge(source, target, bytes, at, skew);
        }
    }
}

/* Where a row lies. */
struct row_place {
    uint64_t source, target; /* the target is an offset in the snapshot */
    uint64_t bytes;
};

/* Segments of both kinds begin alike. */
static __device__ const snapshot_segment &rows_of(const snapshot_segment &segment)
{
    return segment;
}

static __device__ const snapshot_segment &rows_of(const snapshot_gather &segment)
{
    return segment.rows;
}

/* The array's number of the chosen item `index`. */
static __device__ uint64_t select_item(const snapshot_select &select, uint64_t index)
{
    uint64_t block = index / select.length, last = select.blocks - 1;
    block = block < last ? block : last;
    return (uint64_t)select.start[block] * select.unit + (index - block * select.length);
}

template <class Call>
static __device__ row_place place_row(const Call &, const snapshot_segment &segment, uint64_t row)
{
    return {segment.source + row * segment.source_pitch,
            segment.target + row * segment.target_pitch, segment.row_bytes};
}

template <class Call>
static __device__ row_place place_row(const Call &call, const snapshot_gather &gather, uint64_t row)
{
    const snapshot_select &select = call.select;
    const snapshot_segment &rows = gather.rows;
    if (!gather.chosen)
        return place_row(call, rows, row);
    uint64_t outer = row / gather.chosen;
    uint32_t index = (uint32_t)(row % gather.chosen);
    bool is_last = gather.by_block && index == select.blocks - 1;
    uint64_t to = gather.by_block ? index * select.length : index;
    uint64_t from = select_item(select, to);
    return {rows.source + outer * gather.outer_source + from * rows.source_pitch,
            rows.target + outer * gather.outer_target + to * rows.target_pitch,
            is_last ? gather.last_bytes : rows.row_bytes};
}

/* Short rows: a warp takes a row at a time. */
template <class Call, class Segment>
static __device__ void copy_rows(const Call &call, const Segment &segment, uint64_t base,
                                 uint64_t first_row, uint64_t last_row)
{
    const uint32_t warps = SNAPSHOT_THREADS / 32;
    for (uint64_t row = first_row + threadIdx.x / 32; row < last_row; row += warps) {
        row_place at = place_row(call, segment, row);
        uint64_t units = (at.source % SNAPSHOT_UNIT + at.bytes + SNAPSHOT_UNIT - 1) / SNAPSHOT_UNIT;
        copy_row(at.source, base + at.target, at.bytes, 0, units, threadIdx.x % 32, 32);
    }
}

/* Where a chunk of a row lies: units [first, last), counted from the row's aligned address. */
struct chunk_place {
    row_place row;
    uint64_t first, last, units;
    uint32_t skew;
};

template <class Call, class Segment>
static __device__ chunk_place place_chunk(const Call &call, const Segment &segment, uint64_t chunk)
{
    chunk_place at;
    uint32_t per_row = rows_of(segment).chunks_per_row;
    uint64_t row = per_row > 1 ? chunk / per_row : chunk;
    uint64_t part = per_row > 1 ? chunk % per_row : 0;
    at.row = place_row(call, segment, row);
    at.skew = (uint32_t)(at.row.source % SNAPSHOT_UNIT);
    at.units = (at.skew + at.row.bytes + SNAPSHOT_UNIT - 1) / SNAPSHOT_UNIT;
    at.first = part * (SNAPSHOT_CHUNK / SNAPSHOT_UNIT);
    at.last = at.first + SNAPSHOT_CHUNK / SNAPSHOT_UNIT;
    return at;
}

/* Whether the chunk is whole and inside its row: the usual case. */
static __device__ bool is_inner(const snapshot_segment &segment, const chunk_place &at)
{
    return segment.rows_per_chunk == 1 && (at.first > 0 || !at.skew) &&
           at.last * SNAPSHOT_UNIT <= at.skew + at.row.bytes;
}

template <class Call, class Segment>
static __device__ void copy_chunk(const Call &call, const Segment &segment, uint64_t base,
                                  uint64_t chunk, const chunk_place &at)
{
    const snapshot_segment &rows = rows_of(segment);
    if (rows.rows_per_chunk > 1) {
        uint64_t first = chunk * rows.rows_per_chunk;
        uint64_t last = first + rows.rows_per_chunk;
        copy_rows(call, segment, base, first, last < rows.rows ? last : rows.rows);
        return;
    }
    copy_row(at.row.source, base + at.row.target, at.row.bytes, at.first,
             at.last < at.units ? at.last : at.units, threadIdx.x, SNAPSHOT_THREADS);
}

static __device__ uint64_t global_timer()
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* The arena as it was at some time, all from one line of memory. */
struct arena_seen {
    uint64_t bytes, head, tail;
};

static __device__ arena_seen look_at(const snapshot_arena *arena)
{
    const volatile uint64_t *head = &arena->head, *tail = &arena->tail_seen;
    return {arena->bytes, *head, *tail};
}

/* Takes room of the arena: a ring of ever growing offsets, in which no snapshot wraps around. Gives
 * the place's part of snapshot_place.found, 0 where there is none. */
static __device__ uint64_t take_room(const snapshot_header &header, arena_seen seen)
{
    snapshot_arena *arena = header.arena;
    for (;;) {
        uint64_t start = seen.head, at = start % seen.bytes;
        if (at + header.bytes > seen.bytes)
            start += seen.bytes - at;
        uint64_t end = start + header.bytes;
        if (end - seen.tail > seen.bytes) { /* far away: only looked at when needed */
            seen.tail = *(volatile uint64_t *)arena->tail;
            *(volatile uint64_t *)&arena->tail_seen = seen.tail;
        }
        /* An arena that is all free takes any snapshot, wherever its head stands. */
        bool room = end - seen.tail <= seen.bytes || seen.head == seen.tail;
        uint64_t there =
            room ? atomicCAS((unsigned long long *)&arena->head, seen.head, end) : seen.head;
        if (there == seen.head) {
            header.place->begin = room ? seen.head : 0;
            header.place->end = room ? end : 0;
            return room ? start % seen.bytes / SNAPSHOT_ALIGN + 1 : 0;
        }
        seen.head = there;
    }
}

static __device__ void tell_place(const snapshot_header &header, uint64_t place)
{
    *(volatile uint64_t *)&header.place->found = header.sequence << PLACE_BITS | place;
}

/* The snapshot's address, from what was found; 0: there is no room. */
static __device__ uint64_t base_of(const snapshot_header &header, uint64_t found)
{
    uint64_t place = found & (((uint64_t)1 << PLACE_BITS) - 1);
    return place ? header.base + (place - 1) * SNAPSHOT_ALIGN : 0;
}

/* Thread 0: where this sequence's snapshot lies. The first block to ask finds the place, which it
 * does without waiting for any other; what it needs to know of the arena is under way while it
 * learns that it is the first. 0 when there is no room. */
static __device__ uint64_t find_place(const snapshot_header &header)
{
    snapshot_place *place = header.place;
    arena_seen seen = look_at(header.arena);
    uint64_t found = atomicMax((unsigned long long *)&place->claimed, header.sequence);
    if (found < header.sequence) {
        found = take_room(header, seen);
        tell_place(header, found);
        return base_of(header, found);
    }
    const uint64_t wanted = header.sequence << PLACE_BITS >> PLACE_BITS;
    do
        found = *(const volatile uint64_t *)&place->found;
    while (found >> PLACE_BITS != wanted);
    return base_of(header, found);
}

/* The bits of an element that the copies have put there, by whichever block. */
static __device__ uint64_t load_value(uint64_t address, uint32_t bytes)
{
    switch (bytes) {
    case 8:
        return *(const volatile uint64_t *)address;
    case 4:
        return *(const volatile uint32_t *)address;
    case 2:
        return *(const volatile uint16_t *)address;
    case 1:
        return *(const volatile uint8_t *)address;
    default:
        return 0;
    }
}

static __device__ void write_seal(const snapshot_header &header, uint64_t base, uint64_t busy)
{
    volatile snapshot_seal *seal = header.seal;
    seal->begin = header.place ? *(volatile uint64_t *)&header.place->begin : 0;
    seal->end = header.place ? *(volatile uint64_t *)&header.place->end : 0;
    seal->base = base;
    seal->busy = busy;
    for (uint32_t i = 0; base && i < header.values; i++)
        seal->value[i] = load_value(base + (header.value[i] >> 4), header.value[i] & 15);
    __threadfence_system();
    seal->sequence = header.sequence;
}

/* The first block's clock starts the copy, the last one's ends it: kernels of a stream run one
 * after another, so both words belong to this launch alone. */
static __device__ void start_clock(const snapshot_header &header)
{
    if (header.place && blockIdx.x == 0 && threadIdx.x == 0)
        *(volatile uint64_t *)&header.place->started = global_timer();
}

/* What the copies of this snapshot took so far; counted from 0 again behind the sealing one. */
static __device__ uint64_t stop_clock(const snapshot_header &header, bool seals)
{
    if (!header.place)
        return 0;
    volatile uint64_t *busy = &header.place->busy;
    uint64_t sum = *busy + (global_timer() - *(volatile uint64_t *)&header.place->started);
    *busy = seals ? 0 : sum;
    return sum;
}

/* The place for all threads; no wait at all where the host has chosen it. */
static __device__ uint64_t share_place(const snapshot_header &header)
{
    __shared__ uint64_t base;
    if (!header.place)
        return header.base;
    if (threadIdx.x == 0)
        base = find_place(header);
    __syncthreads();
    return base;
}

/* All loads of a thread start before the place is known and before its first store. */
static __device__ uint64_t copy_inner(const snapshot_header &header, const chunk_place &at)
{
    const uint4 *from = (const uint4 *)(at.row.source - at.skew) + at.first + threadIdx.x;
    uint4 value[SNAPSHOT_UNROLL];
#pragma unroll
    for (int i = 0; i < SNAPSHOT_UNROLL; i++)
        value[i] = from[i * SNAPSHOT_THREADS];
    uint64_t base = share_place(header);
    uint4 *to = (uint4 *)(base + at.row.target - at.skew) + at.first + threadIdx.x;
    if (base) {
#pragma unroll
        for (int i = 0; i < SNAPSHOT_UNROLL; i++)
            to[i * SNAPSHOT_THREADS] = value[i];
    }
    return base;
}

/* Copies a chunk, counted over all segments; returns the snapshot's place, 0 where there is no
 * room. All threads of the block. */
template <class Call> static __device__ uint64_t copy_one(const Call &call, uint64_t number)
{
    uint32_t index = 0;
    while (index + 1 < call.header.segments &&
           number >= rows_of(call.segment[index + 1]).first_chunk)
        index++;
    if (index >= call.header.segments)
        return share_place(call.header); /* nothing to copy: the seal alone */
    const auto &segment = call.segment[index];
    uint64_t chunk = number - rows_of(segment).first_chunk;
    chunk_place at = place_chunk(call, segment, chunk);
    if (is_inner(rows_of(segment), at))
        return copy_inner(call.header, at);
    uint64_t base = share_place(call.header);
    if (base)
        copy_chunk(call, segment, base, chunk, at);
    return base;
}

#endif
