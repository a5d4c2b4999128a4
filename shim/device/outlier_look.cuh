/*
 * outlier_look.cuh - how the blocks of the outlier kernel read their part of an input and add up
 * what they have seen, in shared memory.
 */
#ifndef DEVICE_OUTLIER_LOOK_CUH
#define DEVICE_OUTLIER_LOOK_CUH

#include "device/outlier_stat.h"
#include "device/raw.cuh"

enum { WARPS = OUTLIER_THREADS / 32, UNROLL = OUTLIER_PIECE / 16 / 32, AT_ONCE = 2 };

/* ---- reading ---- */

/* Element `i` of a unit, its upper bits zero. */
static __device__ __forceinline__ uint64_t element(const uint4 &raw, uint32_t size, uint32_t i)
{
    uint32_t byte = i * size;
    uint64_t half = byte < 8 ? (uint64_t)raw.y << 32 | raw.x : (uint64_t)raw.w << 32 | raw.z;
    return half >> byte % 8 * 8 & ~(uint64_t)0 >> (64 - size * 8);
}

/* Of a unit; sizes are powers of two. */
static __device__ __forceinline__ uint32_t unit_elements(const outlier_input &input)
{
    return input.aligned ? 16u >> (__ffs(input.size) - 1) : 1;
}

/* Where a piece lies. */
struct piece_place {
    uint64_t address;
    uint32_t units, column;
};

/* 64-bit divisions take a hundred instructions; most numbers fit 32 bits. */
static __device__ __forceinline__ uint32_t remainder_of(uint64_t number, uint32_t by)
{
    if (number < by)
        return (uint32_t)number;
    return number >> 32 ? (uint32_t)(number % by) : (uint32_t)number % by;
}

/* No units where the sample has no such piece. */
static __device__ piece_place place_piece(const outlier_input &input, uint64_t seed, uint32_t k)
{
    piece_place at = {};
    if (k >= input.sampled)
        return at;
    uint32_t shift = __ffs(input.aligned ? 16 : input.size) - 1;
    uint32_t part = (uint32_t)outlier_pick(input.pieces, input.sampled, seed, k), row = 0;
    if (input.rows > 1) {
        row = part / input.pieces_per_row;
        part -= row * input.pieces_per_row;
    }
    uint64_t first = (uint64_t)part * OUTLIER_PIECE >> shift;
    uint64_t rest = (input.row_bytes >> shift) - first;
    at.address = input.address + row * input.pitch + (uint64_t)part * OUTLIER_PIECE;
    at.units = rest < OUTLIER_PIECE >> shift ? (uint32_t)rest : OUTLIER_PIECE >> shift;
    at.column = remainder_of(first, input.period);
    return at;
}

/* ---- what a thread has seen of a float input ---- */

template <int DTYPE> static __device__ float decode_part(const uint32_t (&word)[4], int i)
{
    float value;
    switch (DTYPE) {
    case DTYPE_F32:
        return outlier_float(word[i]);
    case DTYPE_BF16:
        return outlier_float(i & 1 ? word[i / 2] & 0xffff0000u : word[i / 2] << 16);
    default:
        asm("cvt.f32.f16 %0, %1;"
            : "=f"(value)
            : "h"((uint16_t)(i & 1 ? word[i / 2] >> 16 : word[i / 2])));
        return value;
    }
}

/* A 16-byte unit of a format that has a fast path. */
template <int DTYPE>
static __device__ __forceinline__ void take_unit(outlier_tally *tally, uint32_t *bins,
                                                 const uint4 &raw, uint32_t unit, uint32_t column,
                                                 float tiny)
{
    constexpr int COUNT = DTYPE == DTYPE_F32 ? 4 : 8;
    const uint32_t word[4] = {raw.x, raw.y, raw.z, raw.w};
    float value[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        value[i] = decode_part<DTYPE>(word, i);
    outlier_take(tally, value, COUNT, column, tiny);
    int bin = outlier_bin(value[outlier_binned_element(unit, COUNT)]);
    if (bin >= 0)
        atomicAdd(&bins[bin], 1);
}

/* The same for any format. Not inlined: it is long, and would be so in each of its places. */
static __device__ __noinline__ void take_any(outlier_tally *tally, uint32_t *bins, const outlier_input &input,
                                const uint4 &raw, uint32_t unit, uint32_t column, float tiny)
{
    float value[16];
    uint32_t count = unit_elements(input);
#pragma unroll 1
    for (uint32_t i = 0; i < count; i++)
        value[i] = outlier_decode(input.dtype, element(raw, input.size, i));
    outlier_take(tally, value, (int)count, column, tiny);
    int bin = outlier_bin(value[outlier_binned_element(unit, count)]);
    if (bin >= 0)
        atomicAdd(&bins[bin], 1);
}

template <class T> static __device__ T warp_sum(T value)
{
    for (int step = 16; step; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    return value;
}

/* The sum of value[i] over the warp, for lanes with lane / 8 == i: the lanes halve what each of
 * them carries, so that four sums take little more than one. */
static __device__ float warp_sums(const float (&value)[4])
{
    static_assert(OUTLIER_SKETCH == 4, "four sums");
    bool upper = threadIdx.x & 16, odd = threadIdx.x & 8;
    float a = upper ? value[2] : value[0], b = upper ? value[3] : value[1];
    a += __shfl_xor_sync(~0u, upper ? value[0] : value[2], 16);
    b += __shfl_xor_sync(~0u, upper ? value[1] : value[3], 16);
    float sum = (odd ? b : a) + __shfl_xor_sync(~0u, odd ? a : b, 8);
    for (int step = 4; step; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    return sum;
}

/* What the warps of a block found, as the words of a line; sums of all of them where it counts. */
struct block_sums {
    uint32_t warp[LINE_BEGAN][WARPS];
    unsigned long long high, low;
    uint32_t count;
    uint32_t bin[OUTLIER_ID_BINS];
};

/* What a thread carries through the pieces of its warp. */
struct float_look {
    outlier_tally tally;
    float square, hottest, tiny;
    uint32_t elements;
};

static __device__ void keep_warp(block_sums *block, const float_look &look)
{
    const outlier_tally &tally = look.tally;
    uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    uint32_t odd = 0, small = warp_sum(tally.small << 16 | tally.zeros);
    float far = 0, most = outlier_most(tally.most), sketch = warp_sums(tally.sketch);
    if (__any_sync(~0u, tally.far != 0 || tally.nans + tally.infs)) {
        odd = warp_sum(tally.nans << 16 | tally.infs);
        far = warp_sum((float)(tally.far * 0x1p-160));
    }
    if (lane % 8 == 0)
        block->warp[LINE_SKETCH + lane / 8][warp] = outlier_bits(sketch);
    if (lane)
        return;
    block->warp[LINE_SQUARE][warp] = outlier_bits(look.square);
    block->warp[LINE_FAR][warp] = outlier_bits(far);
    block->warp[LINE_COUNT][warp] = look.elements;
    block->warp[LINE_COUNT + 1][warp] = odd >> 16;
    block->warp[LINE_COUNT + 2][warp] = odd & 0xffff;
    block->warp[LINE_COUNT + 3][warp] = small & 0xffff;
    block->warp[LINE_COUNT + 4][warp] = (small >> 16) - (small & 0xffff);
    block->warp[LINE_MOST][warp] = outlier_bits(most);
    block->warp[LINE_MOST + 1][warp] = outlier_bits(look.hottest);
}

static __device__ void end_piece(float_look *look, uint32_t elements)
{
    float sum = warp_sum(look->tally.square);
    look->tally.square = 0;
    look->square += sum;
    look->elements += elements;
    look->hottest = fmaxf(look->hottest, elements ? sum / (float)elements : 0);
}

/* ---- the pieces of a warp ---- */

/* Units of one piece that each lane holds: `lane`, `lane` + 32, ... */
struct held_units {
    uint4 raw[UNROLL];
};

/* AT_ONCE pieces of a warp, and which comes first. They are held where the input is aligned. */
struct held_pieces {
    uint32_t k;
    piece_place at[AT_ONCE];
    held_units held[AT_ONCE];
};

static __device__ __forceinline__ void hold(held_pieces *pieces, const outlier_input &input,
                                            uint64_t seed, uint32_t k)
{
    uint32_t lane = threadIdx.x % 32;
    pieces->k = k;
#pragma unroll
    for (int p = 0; p < AT_ONCE; p++)
        pieces->at[p] = place_piece(input, seed, k + p * input.blocks * WARPS);
    if (!input.aligned)
        return;
#pragma unroll
    for (int p = 0; p < AT_ONCE; p++) {
        const uint4 *from = (const uint4 *)pieces->at[p].address + lane;
#pragma unroll
        for (int i = 0; i < UNROLL; i++) {
            if (lane + 32 * i < pieces->at[p].units)
                pieces->held[p].raw[i] = __ldg(from + 32 * i);
        }
    }
}

/* The first pieces of a warp. */
static __device__ __forceinline__ void hold_first(held_pieces *pieces, const outlier_input &input,
                                                  uint64_t seed)
{
    hold(pieces, input, seed, (blockIdx.x - input.first_block) * WARPS + threadIdx.x / 32);
}

/* Calls `take` for each piece of the warp, from the first ones on. */
template <class Take>
static __device__ __forceinline__ void each_piece(held_pieces *pieces, const outlier_input &input,
                                                  uint64_t seed, Take take)
{
#pragma unroll 1
    for (;;) {
#pragma unroll
        for (int p = 0; p < AT_ONCE; p++)
            take(pieces->at[p], pieces->held[p]);
        uint32_t next = pieces->k + AT_ONCE * input.blocks * WARPS;
        if (next >= input.sampled)
            return;
        hold(pieces, input, seed, next);
    }
}

/* Calls `take` for each unit of an aligned piece that a lane holds, with its number (but for the
 * lane) and its column. */
template <class Take>
static __device__ __forceinline__ void each_held(const outlier_input &input, const piece_place &at,
                                                 const held_units &held, Take take)
{
    uint32_t lane = threadIdx.x % 32, step = remainder_of(32, input.period);
    uint32_t column = at.column + remainder_of(lane, input.period);
    column -= column >= input.period ? input.period : 0;
#pragma unroll
    for (int i = 0; i < UNROLL; i++) {
        if (lane + 32 * i < at.units)
            take(held.raw[i], 32 * i, column);
        column += step;
        column -= column >= input.period ? input.period : 0;
    }
}

/* The same for single elements of a piece that is not aligned. */
template <class Take>
static __device__ __forceinline__ void each_element(const outlier_input &input,
                                                    const piece_place &at, Take take)
{
    const uint32_t lane = threadIdx.x % 32, size = input.size;
#pragma unroll 1
    for (uint32_t from = lane; from < at.units; from += UNROLL * 32) {
        uint64_t raw[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++)
            raw[i] = from + 32 * i < at.units ? load_raw(at.address + (from + 32 * i) * size, size)
                                              : 0;
#pragma unroll 1
        for (int i = 0; i < UNROLL && from + 32 * i < at.units; i++)
            take(make_uint4((uint32_t)raw[i], (uint32_t)(raw[i] >> 32), 0, 0), from - lane + 32 * i,
                 (at.column + from + 32 * i) % input.period);
    }
}

/* Aligned, in a format that has a fast path. */
template <int DTYPE>
static __device__ __forceinline__ void look_at_floats(held_pieces *pieces,
                                                      const outlier_input &input, uint64_t seed,
                                                      block_sums *block)
{
    float_look look = {};
    look.tiny = outlier_tiny(DTYPE);
    each_piece(pieces, input, seed, [&](const piece_place &at, const held_units &held) {
        each_held(input, at, held, [&](const uint4 &raw, uint32_t unit, uint32_t column) {
            take_unit<DTYPE>(&look.tally, block->bin, raw, unit, column, look.tiny);
        });
        end_piece(&look, at.units * (DTYPE == DTYPE_F32 ? 4 : 8));
    });
    keep_warp(block, look);
}

static __device__ __forceinline__ void look_at_any(held_pieces *pieces, const outlier_input &input,
                                                   uint64_t seed, block_sums *block)
{
    float_look look = {};
    look.tiny = outlier_tiny(input.dtype);
    each_piece(pieces, input, seed, [&](const piece_place &at, const held_units &held) {
        auto take = [&](const uint4 &raw, uint32_t unit, uint32_t column) {
            take_any(&look.tally, block->bin, input, raw, unit, column, look.tiny);
        };
        if (input.aligned)
            each_held(input, at, held, take);
        else
            each_element(input, at, take);
        end_piece(&look, at.units * unit_elements(input));
    });
    keep_warp(block, look);
}

/* ---- index inputs ---- */

struct id_look {
    uint64_t high, low;
    uint32_t count;
};

static __device__ __forceinline__ void take_id(id_look *look, uint32_t *bins, int64_t value)
{
    uint64_t rank = outlier_rank(value);
    look->high = rank > look->high ? rank : look->high;
    look->low = ~rank > look->low ? ~rank : look->low;
    look->count++;
    atomicAdd(&bins[outlier_id_bin(value)], 1);
}

static __device__ void keep_ids(block_sums *block, id_look look)
{
    for (int step = 16; step; step /= 2) {
        uint64_t high = __shfl_xor_sync(~0u, look.high, step);
        uint64_t low = __shfl_xor_sync(~0u, look.low, step);
        look.high = high > look.high ? high : look.high;
        look.low = low > look.low ? low : look.low;
    }
    look.count = warp_sum(look.count);
    if (threadIdx.x % 32 == 0 && look.count) {
        atomicMax(&block->high, look.high);
        atomicMax(&block->low, look.low);
        atomicAdd(&block->count, look.count);
    }
}

/* The usual type, aligned: extremes in 32 bits. */
static __device__ __forceinline__ void look_at_i32(held_pieces *pieces, const outlier_input &input,
                                                   uint64_t seed, block_sums *block)
{
    int32_t high = INT32_MIN, low = INT32_MAX;
    uint32_t count = 0;
    each_piece(pieces, input, seed, [&](const piece_place &at, const held_units &held) {
        each_held(input, at, held, [&](const uint4 &raw, uint32_t, uint32_t) {
            const int32_t value[] = {(int32_t)raw.x, (int32_t)raw.y, (int32_t)raw.z,
                                     (int32_t)raw.w};
#pragma unroll
            for (int j = 0; j < 4; j++) {
                high = max(high, value[j]);
                low = min(low, value[j]);
                atomicAdd(&block->bin[outlier_small_id_bin(value[j])], 1);
            }
            count += 4;
        });
    });
    keep_ids(block, count ? id_look{outlier_rank(high), ~outlier_rank(low), count} : id_look{});
}

static __device__ __forceinline__ void look_at_any_ids(held_pieces *pieces,
                                                       const outlier_input &input, uint64_t seed,
                                                       block_sums *block)
{
    id_look look = {};
    each_piece(pieces, input, seed, [&](const piece_place &at, const held_units &held) {
        auto take = [&](const uint4 &raw, uint32_t, uint32_t) {
#pragma unroll 1
            for (uint32_t j = 0; j < unit_elements(input); j++)
                take_id(&look, block->bin,
                        outlier_integer(input.dtype, element(raw, input.size, j)));
        };
        if (input.aligned)
            each_held(input, at, held, take);
        else
            each_element(input, at, take);
    });
    keep_ids(block, look);
}

/* All threads, from their first pieces on; `block` is clear before. Ends with the warps' parts in
 * shared memory, not yet synchronised. */
static __device__ __forceinline__ void look_at_input(held_pieces *pieces,
                                                     const outlier_input &input, uint64_t seed,
                                                     block_sums *block)
{
    if (input.integer && input.aligned && input.dtype == DTYPE_I32)
        look_at_i32(pieces, input, seed, block);
    else if (input.integer)
        look_at_any_ids(pieces, input, seed, block);
    else if (input.aligned && input.dtype == DTYPE_BF16)
        look_at_floats<DTYPE_BF16>(pieces, input, seed, block);
    else if (input.aligned && input.dtype == DTYPE_F16)
        look_at_floats<DTYPE_F16>(pieces, input, seed, block);
    else if (input.aligned && input.dtype == DTYPE_F32)
        look_at_floats<DTYPE_F32>(pieces, input, seed, block);
    else
        look_at_any(pieces, input, seed, block);
}

static __device__ void clear_block(block_sums *block)
{
    block->bin[threadIdx.x] = 0;
    if (threadIdx.x)
        return;
    block->high = block->low = 0;
    block->count = 0;
}

#endif
