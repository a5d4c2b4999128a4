/*
 * touch.cuh - rows by index: copying those that are named, and numbering them anew; and rows by
 * address, which are copied alone.
 */
#ifndef DEVICE_TOUCH_CUH
#define DEVICE_TOUCH_CUH

#include "device/snapshot_copy.cuh"
#include "device/touch_abi.h"

enum : uint32_t { TOUCH_PIECE = ~0u };
enum : uint32_t { TOUCH_EMPTY = ~0u, TOUCH_NONE = ~0u, TOUCH_OUTSIDE = ~0u - 1 };

static __device__ int64_t load_id(uint64_t ids, uint64_t at, uint32_t bytes)
{
    return bytes == 4 ? ((const int32_t *)ids)[at] : ((const int64_t *)ids)[at];
}

/* ---- copying ---- */

/* Element t of the indices, in the program's memory. */
static __device__ int64_t program_id(const snapshot_call_rows &call, const snapshot_touch &touch,
                                     uint32_t t)
{
    uint64_t at = 0;
#pragma unroll
    for (int d = SNAPSHOT_IDS_DIMS - 1; d >= 0; d--) {
        if (touch.dim[d] == 1)
            continue;
        uint64_t item = t % touch.dim[d];
        t /= touch.dim[d];
        if (d == touch.axis)
            item = select_item(call.select, (uint32_t)item);
        at += item * touch.stride[d];
    }
    return load_id(touch.ids, at, touch.id_bytes);
}

/* Where row t of the copy comes from; 0: from nowhere. */
static __device__ uint64_t find_row(const snapshot_call_rows &call, const snapshot_touch &touch,
                                    uint32_t t)
{
    int64_t id = program_id(call, touch, t);
    if (id < 0 || (uint64_t)id >= touch.limit)
        return 0;
    if (touch.page == 1)
        return touch.source + (uint64_t)id * touch.pitch[0];
    return touch.source + (uint64_t)id / touch.page * touch.pitch[0] +
           (uint64_t)id % touch.page * touch.pitch[1];
}

/* Where the row at an address lies, and the end of its range; 0, and a note for the seal, where it
 * must not be followed. */
static __device__ uint64_t follow(const snapshot_call_rows &call, uint64_t align, uint64_t bytes,
                                  uint64_t address, uint64_t *end)
{
    bool aligned = address && address % align == 0;
#pragma unroll 1
    for (uint32_t i = 0; aligned && i < call.ranges; i++) {
        const snapshot_range &range = call.range[i];
        *end = range.end;
        if (address >= range.begin && address < range.end && range.end - address >= bytes)
            return address;
    }
    const snapshot_header &header = call.header;
    *(volatile uint64_t *)&header.seal->missed = seal_word(header.sequence, 1);
    __threadfence_system();
    return 0;
}

/* Rows by index or address. Words of one row follow each other, so what was found last is kept. */
struct touched_rows {
    const snapshot_call_rows &call;
    uint32_t last;
    uint64_t place, end; /* no byte is copied from there on */
    __device__ uint64_t find(const snapshot_touch &touch, uint32_t t)
    {
        if (t == last)
            return place;
        last = t;
        end = ~(uint64_t)0;
        return place = touch.align ? follow(call, touch.align, touch.limit,
                                            (uint64_t)program_id(call, touch, t), &end)
                                   : find_row(call, touch, t);
    }
};

/* A row by address may begin at any element, so a word of several may lie anyhow. */
template <class Word> static __device__ void move_word(Word *to, uint64_t from, uint64_t end)
{
    if (from % sizeof(Word) == 0 && from + sizeof(Word) <= end) {
        *to = *(const Word *)from;
        return;
    }
#pragma unroll 1
    for (uint32_t i = 0; i < sizeof(Word) && from + i < end; i++)
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
}

/* The words of one chunk of the dense copy, wherever they come from. */
template <class Word>
static __device__ void copy_words(touched_rows rows, const snapshot_touch &touch, uint64_t base,
                                  uint64_t chunk)
{
    const uint32_t row_bytes = touch.runs * touch.run;
    const uint64_t begin = chunk * SNAPSHOT_CHUNK, left = touch.rows * row_bytes - begin;
    const uint32_t bytes = left < SNAPSHOT_CHUNK ? (uint32_t)left : SNAPSHOT_CHUNK;
    const uint32_t first = (uint32_t)(begin / row_bytes), ahead = (uint32_t)(begin % row_bytes);
    Word *to = (Word *)(base + touch.target + begin);

#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < bytes / sizeof(Word); i += SNAPSHOT_THREADS) {
        uint32_t at = ahead + i * (uint32_t)sizeof(Word), inside = at % row_bytes;
        uint64_t row = rows.find(touch, first + at / row_bytes);
        if (row)
            move_word(&to[i], row + inside / touch.run * touch.run_pitch + inside % touch.run,
                      rows.end);
    }
}

static __device__ void copy_touched(const touched_rows &rows, const snapshot_touch &touch,
                                    uint64_t base, uint64_t chunk)
{
    switch (touch.unit) {
    case SNAPSHOT_UNIT:
        copy_words<uint4>(rows, touch, base, chunk);
        return;
    case 8:
        copy_words<uint64_t>(rows, touch, base, chunk);
        return;
    case 4:
        copy_words<uint32_t>(rows, touch, base, chunk);
        return;
    case 2:
        copy_words<uint16_t>(rows, touch, base, chunk);
        return;
    default:
        copy_words<uint8_t>(rows, touch, base, chunk);
    }
}

/* As for others: the chunks of the segments, then those of touched rows. */
static __device__ piece find_piece(const snapshot_call_rows &call, uint32_t number)
{
    if (number < call.touch[0].first_chunk)
        return find_piece<snapshot_call_rows>(call, number);
    piece mine = {};
    mine.segment = TOUCH_PIECE;
    mine.chunk = number;
    return mine;
}

static __device__ void copy_piece(const snapshot_call_rows &call, const piece &mine)
{
    const uint32_t number = mine.chunk;
    if (mine.segment != TOUCH_PIECE) {
        copy_piece<snapshot_call_rows>(call, mine);
        return;
    }
    uint32_t index = 0;
    while (index + 1 < call.touches && number >= call.touch[index + 1].first_chunk)
        index++;
    const snapshot_touch &touch = call.touch[index];
    uint64_t base = share_place(call.header);
    if (base)
        copy_touched({call, ~0u, 0, 0}, touch, base, number - touch.first_chunk);
}

/* ---- numbering ---- */

static __device__ uint64_t copied_at(const touch_call &call, uint32_t t)
{
    uint64_t at = 0;
#pragma unroll
    for (int d = SNAPSHOT_IDS_DIMS - 1; d >= 0; d--) {
        at += (uint64_t)(t % call.dim[d]) * call.stride[d];
        t /= call.dim[d];
    }
    return at;
}

static __device__ int64_t copied_id(const touch_call &call, uint32_t t)
{
    return load_id(call.ids, copied_at(call, t), call.id_bytes);
}

/* The index's place in the table, which is entered there: open addressing. An entry that holds
 * another element with the same index takes the smaller of the two. */
static __device__ uint32_t enter_id(const touch_call &call, uint32_t t, int64_t id)
{
    uint32_t at = (uint32_t)((uint64_t)id * 0x9e3779b97f4a7c15ull >> 32);
    for (;; at++) {
        at &= call.slots - 1;
        uint32_t other = atomicCAS(&call.table[at], TOUCH_EMPTY, t);
        if (other == TOUCH_EMPTY)
            return at;
        if (copied_id(call, other) != id)
            continue;
        atomicMin(&call.table[at], t);
        return at;
    }
}

/* A thread an element. */
static __device__ void find_touched(const touch_call &call)
{
    uint32_t t = blockIdx.x * TOUCH_THREADS + threadIdx.x;
    if (t >= call.count)
        return;
    int64_t id = copied_id(call, t);
    call.place[t] = id < 0                       ? TOUCH_NONE
                    : (uint64_t)id >= call.limit ? TOUCH_OUTSIDE
                                                 : enter_id(call, t, id);
}

template <class Word> static __device__ void clear_words(uint64_t address, uint64_t bytes)
{
    for (uint64_t i = threadIdx.x % 32; i < bytes / sizeof(Word); i += 32)
        ((Word *)address)[i] = Word();
}

/* A warp an element. */
static __device__ void number_touched(const touch_call &call)
{
    uint32_t t = blockIdx.x * (TOUCH_THREADS / 32) + threadIdx.x / 32;
    if (t >= call.count)
        return;
    uint32_t place = call.place[t];
    int64_t number = place == TOUCH_NONE      ? -1
                     : place == TOUCH_OUTSIDE ? (int64_t)call.count
                                              : (int64_t)call.table[place];
    uint64_t at = copied_at(call, t);
    if (threadIdx.x % 32 == 0 && call.id_bytes == 4)
        ((int32_t *)call.ids)[at] = (int32_t)number;
    else if (threadIdx.x % 32 == 0)
        ((int64_t *)call.ids)[at] = number;
    for (uint32_t i = 0; i < call.copies && number != t; i++) {
        uint64_t bytes = call.copy[i].row_bytes, row = call.copy[i].rows + t * bytes;
        if (bytes % SNAPSHOT_UNIT == 0)
            clear_words<uint4>(row, bytes);
        else
            clear_words<uint8_t>(row, bytes);
    }
}

#endif
