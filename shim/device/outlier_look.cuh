/*
 * outlier_look.cuh - how the blocks of the outlier kernel read their part of an input and add up
 * what they have seen, in shared memory.
 */
#ifndef DEVICE_OUTLIER_LOOK_CUH
#define DEVICE_OUTLIER_LOOK_CUH

#include "device/outlier_stat.h"
#include "device/raw.cuh"

enum { WARPS = OUTLIER_THREADS / 32, UNROLL = OUTLIER_PIECE / 16 / 32 };

/* A barrier of the threads that read, without the clerk (outlier.cu). */
static __device__ __forceinline__ void join_readers()
{
    asm volatile("bar.sync 1, %0;" ::"r"((int)OUTLIER_THREADS) : "memory");
}

/* The reading threads wait for the clerk, too, which has written its results and goes on. */
static __device__ __forceinline__ void join_clerk()
{
    asm volatile("bar.sync 2, %0;" ::"r"((int)OUTLIER_THREADS + (int)OUTLIER_CLERKS) : "memory");
}

static __device__ __forceinline__ void arrive_clerk()
{
    asm volatile("bar.arrive 2, %0;" ::"r"((int)OUTLIER_THREADS + (int)OUTLIER_CLERKS) : "memory");
}

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

template <int DTYPE>
static __device__ __forceinline__ float decode_part(const uint32_t *word, int i)
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

/* The elements of a 16-byte unit of a format that has a fast path. */
template <int DTYPE> struct unit_values {
    enum { COUNT = DTYPE == DTYPE_F32 ? 4 : 8 };
    float value[COUNT];

    __device__ __forceinline__ explicit unit_values(const uint4 &raw)
    {
        const uint32_t word[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            value[i] = decode_part<DTYPE>(word, i);
    }
};

/* Which of them goes into the histogram in a lane's turn: the first of a word
 * (outlier_binned_element). */
template <int DTYPE>
static __device__ __forceinline__ float binned_value(const uint4 &raw, int turn)
{
    static_assert(UNROLL == 4, "as many turns as words");
    const uint32_t word[1] = {turn == 0 ? raw.x : turn == 1 ? raw.y : turn == 2 ? raw.z : raw.w};
    return decode_part<DTYPE>(word, 0);
}

/* A unit of any format, which may hold anything. Not inlined: it is long, and would be so in each
 * of its places. The unit comes by value, so that no caller's units have to lie in memory. */
static __device__ __noinline__ void take_any(outlier_tally *tally, uint32_t *bins, int dtype,
                                             uint32_t size, uint32_t count, uint4 raw,
                                             uint32_t unit, uint32_t signs, float tiny)
{
    float value[16];
#pragma unroll 1
    for (uint32_t i = 0; i < count; i++)
        value[i] = outlier_decode(dtype, element(raw, size, i));
    outlier_take(tally, value, (int)count, signs, tiny);
    int bin = outlier_bin(value[outlier_binned_element(unit, count)]);
    if (bin >= 0)
        atomicAdd(&bins[bin], 1);
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

/* What the warps of a block found, as the words of a line, and the bins of all of them. */
struct block_sums {
    uint32_t warp[LINE_BEGAN][WARPS + 1]; /* one more: no two lanes of a reader share a bank */
    uint32_t bin[OUTLIER_ID_BINS];        /* floats: OUTLIER_BINS, and NO_BIN */
};

/* Where elements are counted that no bin of a float input is for. */
enum { NO_BIN = OUTLIER_BINS };
static_assert((int)NO_BIN < (int)OUTLIER_ID_BINS, "behind those of floats");

/* What a thread carries through the pieces of its warp. */
struct float_look {
    outlier_tally tally;
    float square, hottest, tiny;
    uint32_t elements;
};

static __device__ __forceinline__ void keep_warp(block_sums *block, const float_look &look)
{
    const outlier_tally &tally = look.tally;
    const outlier_odd &odd = tally.odd;
    uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    uint32_t classes = 0, small = 0; /* NaNs and Infs; all and zeros: a count in each half */
    float far = 0, most = outlier_most(fmaxf(tally.most, odd.most)),
          sketch = warp_sums(tally.sketch);
    if (__any_sync(~0u, tally.small.all))
        small = outlier_count(tally.small.all << 16 | tally.small.zeros);
    if (__any_sync(~0u, odd.far != 0 || odd.nans + odd.infs)) {
        classes = outlier_count(odd.nans << 16 | odd.infs);
        far = outlier_total((float)(odd.far * 0x1p-160));
    }
    if (lane % 8 == 0)
        block->warp[LINE_SKETCH + lane / 8][warp] = outlier_bits(sketch);
    if (lane)
        return;
    block->warp[LINE_SQUARE][warp] = outlier_bits(look.square);
    block->warp[LINE_FAR][warp] = outlier_bits(far);
    block->warp[LINE_COUNT][warp] = look.elements;
    block->warp[LINE_COUNT + 1][warp] = classes >> 16;
    block->warp[LINE_COUNT + 2][warp] = classes & 0xffff;
    block->warp[LINE_COUNT + 3][warp] = small & 0xffff;
    block->warp[LINE_COUNT + 4][warp] = (small >> 16) - (small & 0xffff);
    block->warp[LINE_MOST][warp] = outlier_bits(most);
    block->warp[LINE_MOST + 1][warp] = outlier_bits(look.hottest);
}

static __device__ void end_piece(float_look *look, uint32_t elements)
{
    float sum = outlier_total(look->tally.square);
    look->tally.square = 0;
    look->square += sum;
    look->elements += elements;
    look->hottest = fmaxf(look->hottest, elements ? __fdividef(sum, (float)elements) : 0);
}

/* ---- the pieces of a warp ---- */

/* Units of one piece that each lane holds: `lane`, `lane` + 32, ...; zeros where it has none. */
struct held_units {
    uint4 raw[UNROLL];
};

/* One of them. Choices, because what is indexed by a variable lies in memory. */
static __device__ __forceinline__ uint4 held_unit(const held_units &held, int i)
{
    return i == 0 ? held.raw[0] : i == 1 ? held.raw[1] : i == 2 ? held.raw[2] : held.raw[3];
}

/* A warp's piece. Where the input is aligned it is held, with the signs of its units. */
struct held_piece {
    uint32_t k;
    piece_place at;
    held_units held;
    uint32_t signs;
};

/* outlier_signs of a lane's units, two bits each: an aligned unit has two elements at least. */
static __device__ __forceinline__ uint32_t lane_signs(const outlier_input &input,
                                                      const piece_place &at)
{
    uint32_t period = input.period, step = remainder_of(32, period), signs = 0;
    uint32_t column = at.column + remainder_of(threadIdx.x % 32, period);
#pragma unroll
    for (int i = 0; i < UNROLL; i++, column += step) {
        column -= column >= period ? period : 0;
        signs |= outlier_signs(column, 2) << 2 * i;
    }
    return signs;
}

static __device__ __forceinline__ uint32_t signs_of_unit(uint32_t signs, int i)
{
    return signs >> 2 * i & 3;
}

/* Past the caches for what a kernel only reads: the kernel in front may be writing when this one
 * is already there. */
static __device__ __forceinline__ void hold(held_piece *piece, const outlier_input &input)
{
    uint32_t lane = threadIdx.x % 32;
    const uint4 *from = (const uint4 *)piece->at.address + lane;
    if (!input.aligned)
        return;
#pragma unroll
    for (int i = 0; i < UNROLL; i++)
        piece->held.raw[i] = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < UNROLL; i++) {
        if (lane + 32 * i < piece->at.units)
            piece->held.raw[i] = __ldcg(from + 32 * i);
    }
    piece->signs = lane_signs(input, piece->at); /* while that is under way */
}

/* Where the first piece of a warp is; reads nothing. */
static __device__ __forceinline__ void place_first(held_piece *piece, const outlier_input &input,
                                                   uint64_t seed)
{
    piece->k = (blockIdx.x - input.first_block) * WARPS + threadIdx.x / 32;
    piece->at = place_piece(input, seed, piece->k);
}

/* Calls `take` for each piece of the warp, from the one held on. SINGLE: there are no others, as
 * where a launch has one input and a block for each piece. */
static_assert(OUTLIER_PIECES <= OUTLIER_LINES * WARPS &&
                  OUTLIER_ID_PIECES <= OUTLIER_LINES / OUTLIER_ID_LINES * WARPS,
              "a warp for each piece of one input");
template <bool SINGLE, class Take>
static __device__ __forceinline__ void each_piece(held_piece *piece, const outlier_input &input,
                                                  uint64_t seed, Take take)
{
#pragma unroll 1
    for (;;) {
        take(*piece);
        piece->k += input.blocks * WARPS;
        if (SINGLE || piece->k >= input.sampled)
            return;
        piece->at = place_piece(input, seed, piece->k);
        hold(piece, input);
    }
}

/* Calls `take` for each unit of an aligned piece that a lane holds, with its number (but for the
 * lane) and its signs. */
template <class Take>
static __device__ __forceinline__ void each_held(const held_piece &piece, Take take)
{
    uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < UNROLL; i++) {
        if (lane + 32 * i < piece.at.units)
            take(piece.held.raw[i], 32 * i, signs_of_unit(piece.signs, i));
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
            raw[i] =
                from + 32 * i < at.units ? load_raw(at.address + (from + 32 * i) * size, size) : 0;
#pragma unroll 1
        for (int i = 0; i < UNROLL && from + 32 * i < at.units; i++)
            take(make_uint4((uint32_t)raw[i], (uint32_t)(raw[i] >> 32), 0, 0), from - lane + 32 * i,
                 outlier_signs((at.column + from + 32 * i) % input.period, 1));
    }
}

/* The small elements of a lane's units. In each half of a word (f32: in all of it) the part in
 * question carries into the sign's place where it is not 0. */
template <int DTYPE>
static __device__ __forceinline__ void count_small(outlier_small *small, const held_piece &piece)
{
    const bool wide = DTYPE == DTYPE_F32;
    const uint32_t magnitudes = wide ? 0x7fffffffu : 0x7fff7fffu, ones = wide ? 1 : 0x10001u;
    const uint32_t exponents = wide ? 0x7f800000u : DTYPE == DTYPE_BF16 ? 0x7f807f80u : 0x7c007c00u;
    uint32_t count = 0, normal = 0, other = 0; /* the latter: which are not 0; two counts each */
#pragma unroll
    for (int i = 0; i < UNROLL; i++) {
        const uint4 &raw = piece.held.raw[i];
        count += threadIdx.x % 32 + 32 * i < piece.at.units ? unit_values<DTYPE>::COUNT : 0;
#pragma unroll
        for (uint32_t word : {raw.x, raw.y, raw.z, raw.w}) {
            normal += ((word & exponents) + magnitudes) >> (wide ? 31 : 15) & ones;
            other += ((word & magnitudes) + magnitudes) >> (wide ? 31 : 15) & ones;
        }
    }
    small->all += count - (normal & 0xffff) - (normal >> 16);
    small->zeros += count - (other & 0xffff) - (other >> 16);
}

/* A piece with odd elements, one by one, but for its bins. */
template <int DTYPE>
static __device__ __forceinline__ void take_odd(float_look *look, const held_piece &piece)
{
#pragma unroll 1
    for (int i = 0; i < UNROLL && threadIdx.x % 32 + 32 * i < piece.at.units; i++) {
        const unit_values<DTYPE> unit(held_unit(piece.held, i));
        outlier_take(&look->tally, unit.value, unit.COUNT, signs_of_unit(piece.signs, i),
                     look->tiny);
    }
}

/* A lane's units of a piece, and only then the question what was rare in any of them: a sum with
 * odd elements is not kept. Where there is no unit its zeros add nothing, if only they are not
 * taken for small. */
template <int DTYPE>
static __device__ __forceinline__ void take_piece(float_look *look, const held_piece &piece,
                                                  uint32_t *bins)
{
    enum { COUNT = unit_values<DTYPE>::COUNT };
    outlier_tally sum = look->tally;
    bool odd = false, small = false;
#pragma unroll
    for (int i = 0; i < UNROLL; i++) {
        const uint4 raw = held_unit(piece.held, i);
        outlier_unit unit = outlier_unit_of(unit_values<DTYPE>(raw).value, COUNT);
        odd |= outlier_has_odd(&unit);
        small |= threadIdx.x % 32 + 32 * i < piece.at.units && outlier_has_small(&unit, look->tiny);
        outlier_add(&sum, &unit, signs_of_unit(piece.signs, i));
        int bin = outlier_bin(binned_value<DTYPE>(raw, i)); /* none of zeros, NaN and Inf */
        atomicAdd(&bins[bin < 0 ? NO_BIN : bin], 1);
    }
    if (OUTLIER_RARE(odd)) {
        take_odd<DTYPE>(look, piece);
        return;
    }
    if (OUTLIER_RARE(small))
        count_small<DTYPE>(&sum.small, piece);
    look->tally = sum;
}

/* Aligned, in a format that has a fast path. */
template <int DTYPE, bool SINGLE>
static __device__ __forceinline__ void probe_floats(held_piece *piece, const outlier_input &input,
                                                      uint64_t seed, block_sums *block)
{
    float_look look = {};
    look.tiny = outlier_tiny(DTYPE);
    each_piece<SINGLE>(piece, input, seed, [&](const held_piece &now) {
        take_piece<DTYPE>(&look, now, block->bin);
        end_piece(&look, now.at.units * unit_values<DTYPE>::COUNT);
    });
    keep_warp(block, look);
}

static __device__ __forceinline__ void probe_any(held_piece *piece, const outlier_input &input,
                                                   uint64_t seed, block_sums *block)
{
    float_look look = {};
    look.tiny = outlier_tiny(input.dtype);
    each_piece<false>(piece, input, seed, [&](const held_piece &now) {
        auto take = [&](uint4 raw, uint32_t unit, uint32_t signs) {
            take_any(&look.tally, block->bin, input.dtype, input.size, unit_elements(input), raw,
                     unit, signs, look.tiny);
        };
        if (input.aligned)
            each_held(now, take);
        else
            each_element(input, now.at, take);
        end_piece(&look, now.at.units * unit_elements(input));
    });
    keep_warp(block, look);
}

/* ---- index inputs ---- */

struct id_look {
    uint32_t high, low; /* outlier_rank, that of the lowest inverted */
    uint32_t count;
};

static __device__ __forceinline__ void take_id(id_look *look, uint32_t *bins, int64_t value)
{
    uint32_t rank = outlier_rank(value);
    look->high = max(rank, look->high);
    look->low = max(~rank, look->low);
    look->count++;
    atomicAdd(&bins[outlier_id_bin(value)], 1);
}

/* In the words that float inputs have for their largest and hottest. */
static __device__ __forceinline__ void keep_ids(block_sums *block, const id_look &look)
{
    uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    uint32_t high = outlier_most_bits(look.high), low = outlier_most_bits(look.low);
    uint32_t count = outlier_count(look.count);
    if (lane < LINE_BEGAN)
        block->warp[lane][warp] = lane == LINE_COUNT      ? count
                                  : lane == LINE_MOST     ? high
                                  : lane == LINE_MOST + 1 ? low
                                                          : 0;
}

/* The usual type, aligned: extremes in 32 bits. */
template <bool SINGLE>
static __device__ __forceinline__ void probe_i32(held_piece *piece, const outlier_input &input,
                                                   uint64_t seed, block_sums *block)
{
    int32_t high = INT32_MIN, low = INT32_MAX;
    uint32_t count = 0;
    each_piece<SINGLE>(piece, input, seed, [&](const held_piece &now) {
        each_held(now, [&](const uint4 &raw, uint32_t, uint32_t) {
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

static __device__ __forceinline__ void
probe_any_ids(held_piece *piece, const outlier_input &input, uint64_t seed, block_sums *block)
{
    id_look look = {};
    each_piece<false>(piece, input, seed, [&](const held_piece &now) {
        auto take = [&](const uint4 &raw, uint32_t, uint32_t) {
#pragma unroll 1
            for (uint32_t j = 0; j < unit_elements(input); j++)
                take_id(&look, block->bin,
                        outlier_integer(input.dtype, element(raw, input.size, j)));
        };
        if (input.aligned)
            each_held(now, take);
        else
            each_element(input, now.at, take);
    });
    keep_ids(block, look);
}

/* All threads, from the pieces that they hold on; `block` is clear before. Ends with the warps'
 * parts in shared memory, not yet synchronised. SINGLE: see each_piece; for the usual formats. */
template <bool SINGLE>
static __device__ __forceinline__ void probe_input(held_piece *piece, const outlier_input &input,
                                                     uint64_t seed, block_sums *block)
{
    if (input.integer && input.aligned && input.dtype == DTYPE_I32)
        probe_i32<SINGLE>(piece, input, seed, block);
    else if (input.integer)
        probe_any_ids(piece, input, seed, block);
    else if (input.aligned && input.dtype == DTYPE_BF16)
        probe_floats<DTYPE_BF16, SINGLE>(piece, input, seed, block);
    else if (input.aligned && input.dtype == DTYPE_F16)
        probe_floats<DTYPE_F16, SINGLE>(piece, input, seed, block);
    else if (input.aligned && input.dtype == DTYPE_F32)
        probe_floats<DTYPE_F32, SINGLE>(piece, input, seed, block);
    else
        probe_any(piece, input, seed, block);
}

static __device__ void clear_block(block_sums *block)
{
    block->bin[threadIdx.x] = 0;
}

#endif
