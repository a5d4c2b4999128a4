/*
 * snapshot_copy.cuh - copying the arrays of one launch into the arena: what the snapshot kernels
 * and the outlier kernels share.
 */
#ifndef DEVICE_SNAPSHOT_COPY_CUH
#define DEVICE_SNAPSHOT_COPY_CUH

#include "device/early.cuh"
#include "device/snapshot_abi.h"

/* What is not inline here is not the usual way of a copy: between the program's kernels the GPU has
 * our code in none of its caches, and fetches what comes in one line sooner. What such a function
 * needs of the parameters it is given by value. */

/* A unit of a row that does not lie inside as a whole: its valid bytes alone. */
static __device__ __noinline__ void copy_edge(uint64_t source, uint64_t target, uint64_t bytes,
                                              uint64_t unit, uint32_t skew)
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
static __device__ __noinline__ void copy_row(uint64_t source, uint64_t target, uint64_t bytes,
                                             uint64_t first, uint64_t last, uint32_t thread,
                                             uint32_t threads)
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

/* The array's number of the chosen item `index`. */
static __device__ uint64_t select_item(const snapshot_select &select, uint32_t index)
{
    const uint32_t length = select.length < UINT32_MAX ? (uint32_t)select.length : UINT32_MAX;
    uint32_t block = index / length, last = select.blocks - 1;
    block = block < last ? block : last;
    return (uint64_t)select.start[block] * select.unit + (index - block * select.length);
}

static __device__ row_place place_row(const snapshot_select &select, const snapshot_segment &rows,
                                      uint64_t row)
{
    if (!rows.chosen)
        return {rows.source + row * rows.source_pitch, rows.target + row * rows.target_pitch,
                rows.row_bytes};
    uint32_t outer = (uint32_t)row / rows.chosen, index = (uint32_t)row % rows.chosen;
    bool is_last = rows.by_block && index == select.blocks - 1;
    uint64_t to = rows.by_block ? index * select.length : index;
    uint64_t from =
        rows.by_block ? (uint64_t)select.start[index] * select.unit : select_item(select, index);
    return {rows.source + outer * rows.outer_source + from * rows.source_pitch,
            rows.target + outer * rows.outer_target + to * rows.target_pitch,
            is_last ? rows.last_bytes : rows.row_bytes};
}

/* Short rows: a warp takes a row at a time. */
static __device__ void copy_rows(const snapshot_select &select, const snapshot_segment &segment,
                                 uint64_t base, uint64_t first_row, uint64_t last_row)
{
    const uint32_t warps = SNAPSHOT_THREADS / 32;
    for (uint64_t row = first_row + threadIdx.x / 32; row < last_row; row += warps) {
        row_place at = place_row(select, segment, row);
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

static __device__ chunk_place place_chunk(const snapshot_select &select,
                                          const snapshot_segment &segment, uint32_t chunk)
{
    chunk_place at;
    uint32_t per_row = segment.chunks_per_row;
    uint32_t row = chunk / per_row, part = chunk % per_row;
    at.row = place_row(select, segment, row);
    at.skew = (uint32_t)(at.row.source % SNAPSHOT_UNIT);
    at.units = (at.skew + at.row.bytes + SNAPSHOT_UNIT - 1) / SNAPSHOT_UNIT;
    at.first = (uint64_t)part * (SNAPSHOT_CHUNK / SNAPSHOT_UNIT);
    at.last = at.first + SNAPSHOT_CHUNK / SNAPSHOT_UNIT;
    return at;
}

/* Whether the chunk is whole and inside its row: the usual case. */
static __device__ bool is_inner(const snapshot_segment &segment, const chunk_place &at)
{
    return segment.rows_per_chunk == 1 && (at.first > 0 || !at.skew) &&
           at.last * SNAPSHOT_UNIT <= at.skew + at.row.bytes;
}

static __device__ void copy_chunk(const snapshot_select &select, const snapshot_segment &segment,
                                  uint64_t base, uint32_t chunk)
{
    if (segment.rows_per_chunk > 1) {
        uint64_t first = (uint64_t)chunk * segment.rows_per_chunk;
        uint64_t last = first + segment.rows_per_chunk;
        copy_rows(select, segment, base, first, last < segment.rows ? last : segment.rows);
        return;
    }
    const chunk_place at = place_chunk(select, segment, chunk);
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
    uint64_t bytes, lap, head, tail;
};

static __device__ arena_seen read_arena(const snapshot_arena *arena)
{
    const volatile uint64_t *head = &arena->head, *tail = &arena->tail_seen;
    return {arena->bytes, arena->lap, *head, *tail};
}

static __device__ uint64_t seal_word(uint64_t sequence, uint64_t value)
{
    return sequence << SEAL_BITS | (value & (((uint64_t)1 << SEAL_BITS) - 1));
}

/* State of one thread of a block, and `base` for the others. */
struct block_notes {
    uint64_t base;       /* of the snapshot, or 0 */
    uint64_t earlier;    /* earlier_busy */
    uint64_t started;    /* %globaltimer; of the first block */
    uint64_t begin, end; /* of the room that this block has taken ... */
    bool took_room;      /* ... if it is the one that has */
};

static __device__ block_notes *shared_notes()
{
    __shared__ block_notes notes;
    return &notes;
}

/* A request for room in the arena. */
struct room_request {
    snapshot_place *place;
    snapshot_arena *arena;
    uint64_t sequence, bytes;
};

/* Writes a block's results for the host after its ticket: a fence before that would wait for these
 * words, too, and the program's stream for the fence. */
static __device__ void write_room(snapshot_seal *to, uint64_t sequence)
{
    const block_notes &notes = *shared_notes();
    volatile snapshot_seal *seal = to;
    seal->begin = seal_word(sequence, notes.begin / SNAPSHOT_ALIGN);
    seal->end = seal_word(sequence, notes.end / SNAPSHOT_ALIGN);
}

/* Takes room of the arena: a ring of ever growing offsets, in which no snapshot wraps around, nor
 * lies in the part of a lap behind the arena's end. Notes what it took, and gives the place's part
 * of snapshot_place.found, 0 where there is none. */
static __device__ uint64_t take_room(const room_request &asked, arena_seen seen)
{
    snapshot_arena *arena = asked.arena;
    for (;;) {
        uint64_t start = seen.head, at = start & (seen.lap - 1);
        if (at + asked.bytes > seen.bytes)
            start += seen.lap - at;
        uint64_t end = start + asked.bytes;
        if (end - seen.tail > seen.lap) { /* in host memory: read only when needed */
            seen.tail = *(volatile uint64_t *)arena->tail;
            *(volatile uint64_t *)&arena->tail_seen = seen.tail;
        }
        /* An arena that is all free takes any snapshot, wherever its head stands. */
        bool room = end - seen.tail <= seen.lap || seen.head == seen.tail;
        uint64_t there =
            room ? atomicCAS((unsigned long long *)&arena->head, seen.head, end) : seen.head;
        if (there == seen.head) {
            block_notes *notes = shared_notes();
            notes->begin = room ? seen.head : 0;
            notes->end = room ? end : 0;
            notes->took_room = true;
            return room ? (start & (seen.lap - 1)) / SNAPSHOT_ALIGN + 1 : 0;
        }
        seen.head = there;
    }
}

/* Publishes the place to the other blocks and returns it. */
static __device__ uint64_t publish_place(const room_request &asked, uint64_t room)
{
    uint64_t found = asked.sequence << PLACE_BITS | room;
    *(volatile uint64_t *)&asked.place->found = found;
    return found;
}

/* The snapshot's address, from what was found; 0: there is no room. */
static __device__ uint64_t base_of(const snapshot_header &header, uint64_t found)
{
    uint64_t place = found & (((uint64_t)1 << PLACE_BITS) - 1);
    return place ? header.base + (place - 1) * SNAPSHOT_ALIGN : 0;
}

/* One thread of each block: where this sequence's snapshot lies. The first one takes the place,
 * without waiting for any other; its load of the arena's state is under way while it finds out that
 * it is the first. Returns snapshot_place.found. */
static __device__ __noinline__ uint64_t find_place(room_request asked)
{
    arena_seen seen = read_arena(asked.arena);
    uint64_t found =
        atomicMax((unsigned long long *)&asked.place->claimed, (unsigned long long)asked.sequence);
    if (found < asked.sequence)
        return publish_place(asked, take_room(asked, seen));
    const uint64_t wanted = asked.sequence << PLACE_BITS >> PLACE_BITS;
    do
        found = *(const volatile uint64_t *)&asked.place->found;
    while (found >> PLACE_BITS != wanted);
    return found;
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

static __device__ __noinline__ void seal_value(volatile uint64_t *to, uint64_t base, uint64_t value)
{
    *to = load_value(base + (value >> 4), value & 15);
    __threadfence_system();
}

/* ---- the clock: kernels of a stream run one after another, so its words are this launch's ---- */

/* One thread of the first block. */
static __device__ void start_clock(const snapshot_header &header)
{
    shared_notes()->started = global_timer();
    if (!header.seals && header.place)
        *(volatile uint64_t *)&header.place->started = shared_notes()->started;
}

/* What the kernels in front took. */
static __device__ uint64_t earlier_busy(const snapshot_header &header)
{
    return header.place ? *(volatile uint64_t *)&header.place->busy : 0;
}

/* One thread, when all that the kernel copies is there, of one that does not seal. */
static __device__ void stop_clock(const snapshot_header &header, uint64_t earlier)
{
    volatile snapshot_place *place = header.place;
    if (place)
        place->busy = earlier + (global_timer() - place->started);
}

/* One thread of each block, when its copies are there and visible to others. */
static __device__ void write_notes(const snapshot_header &header)
{
    if (shared_notes()->took_room)
        write_room(header.seal, header.sequence);
    if (header.seals && blockIdx.x == 0)
        *(volatile uint64_t *)&header.seal->started =
            seal_word(header.sequence, shared_notes()->started);
}

/* One thread, when all copies are there. They need no system-wide fence: their readers run on this
 * GPU, where the blocks' own fences have put them. */
static __device__ void write_seal(const snapshot_header &header, uint64_t base, uint64_t earlier)
{
    volatile snapshot_seal *seal = header.seal;
    if (base && header.values) {
        __threadfence(); /* this block reads what others have copied */
#pragma unroll 1
        for (uint32_t i = 0; i < header.values; i++)
            seal_value(&seal->value[i], base, header.value[i]);
    }
    if (earlier)
        *(volatile uint64_t *)&header.place->busy = 0;
    seal->stopped = seal_word(header.sequence, global_timer() + earlier);
    seal->sequence = header.sequence;
}

/* ---- all threads of a block ---- */

/* One thread, before the others come to share_place. */
static __device__ void prepare_place(const snapshot_header &header)
{
    if (header.place)
        shared_notes()->base = base_of(
            header, find_place({header.place, header.arena, header.sequence, header.bytes}));
}

/* The place for all threads, 0 when there is no room; no wait at all where the host has chosen it.
 */
static __device__ uint64_t share_place(const snapshot_header &header)
{
    if (!header.place)
        return header.base;
    __syncthreads();
    return shared_notes()->base;
}

/* What a block copies: a chunk of a segment; `segment` as many as there are: nothing. An inner
 * chunk begins at `from` and goes to `to`, an offset in the snapshot. */
struct piece {
    uint32_t segment, chunk;
    bool inner;
    uint64_t from, to;
};

/* Chunks are counted over all segments. From the parameters alone, which takes as long as a read of
 * memory where no cache has them: while the kernel in front still ends. */
template <class Call> static __device__ piece find_piece(const Call &call, uint32_t number)
{
    piece mine = {};
    while (mine.segment + 1 < call.header.segments &&
           number >= call.segment[mine.segment + 1].first_chunk)
        mine.segment++;
    if (mine.segment >= call.header.segments)
        return mine;
    const snapshot_segment &segment = call.segment[mine.segment];
    mine.chunk = number - (uint32_t)segment.first_chunk;
    const chunk_place at = place_chunk(call.select, segment, mine.chunk);
    mine.inner = is_inner(segment, at);
    mine.from = at.row.source - at.skew + at.first * SNAPSHOT_UNIT;
    mine.to = at.row.target - at.skew + at.first * SNAPSHOT_UNIT;
    return mine;
}

/* All loads of a thread start before the place is known and before its first store. */
static __device__ uint64_t copy_inner(const snapshot_header &header, const piece &mine)
{
    const uint4 *from = (const uint4 *)mine.from + threadIdx.x;
    uint4 value[SNAPSHOT_UNROLL];
#pragma unroll
    for (int i = 0; i < SNAPSHOT_UNROLL; i++)
        value[i] = from[i * SNAPSHOT_THREADS];
    uint64_t base = share_place(header);
    uint4 *to = (uint4 *)(base + mine.to) + threadIdx.x;
    if (base) {
#pragma unroll
        for (int i = 0; i < SNAPSHOT_UNROLL; i++)
            to[i * SNAPSHOT_THREADS] = value[i];
    }
    return base;
}

/* Copies it; returns the snapshot's place, 0 where there is no room. */
template <class Call> static __device__ uint64_t copy_piece(const Call &call, const piece &mine)
{
    if (mine.inner)
        return copy_inner(call.header, mine);
    uint64_t base = share_place(call.header);
    if (base && mine.segment < call.header.segments) /* else the seal alone */
        copy_chunk(call.select, call.segment[mine.segment], base, mine.chunk);
    return base;
}

#endif
