/*
 * outlier_look.cuh - how the blocks of the outlier kernel read their part of the inputs and add up
 * what they have seen, in the sums of the launch's slot.
 */
#ifndef DEVICE_OUTLIER_LOOK_CUH
#define DEVICE_OUTLIER_LOOK_CUH

#include "device/outlier_stat.h"

enum { WARPS = OUTLIER_THREADS / 32 };

/* ---- reading ---- */

static __device__ uint64_t load_raw(uint64_t address, uint32_t size)
{
    switch (size) {
    case 8:
        return *(const uint64_t *)address;
    case 4:
        return *(const uint32_t *)address;
    case 2:
        return *(const uint16_t *)address;
    default:
        return *(const uint8_t *)address;
    }
}

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
static __device__ void take_unit(outlier_tally *tally, uint32_t *bins, const uint4 &raw,
                                 uint32_t column, float tiny)
{
    constexpr int COUNT = DTYPE == DTYPE_F32 ? 4 : 8;
    const uint32_t word[4] = {raw.x, raw.y, raw.z, raw.w};
    float value[COUNT], one = 0;
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        value[i] = decode_part<DTYPE>(word, i);
        one = threadIdx.x % COUNT == i ? value[i] : one;
    }
    outlier_take(tally, value, COUNT, column, tiny);
    int bin = outlier_bin(one);
    if (bin >= 0)
        atomicAdd(&bins[bin], 1);
}

/* The same for any format. */
static __device__ void take_any(outlier_tally *tally, uint32_t *bins, const outlier_input &input,
                                uint64_t address, uint32_t column, float tiny)
{
    float value[16];
    uint32_t count = input.aligned ? 16 / input.size : 1;
    for (uint32_t i = 0; i < count; i++)
        value[i] = outlier_decode(input.dtype, load_raw(address + i * input.size, input.size));
    outlier_take(tally, value, (int)count, column, tiny);
    int bin = outlier_bin(value[threadIdx.x % count]);
    if (bin >= 0)
        atomicAdd(&bins[bin], 1);
}

/* Where a piece lies: units (16 bytes; not aligned: elements) [first, last) of a row. */
struct piece_place {
    uint64_t row, first;
    uint32_t units, column;
};

static __device__ piece_place place_piece(const outlier_input &input, uint64_t seed, uint32_t k)
{
    piece_place at;
    uint32_t unit = input.aligned ? 16 : input.size;
    uint64_t piece = outlier_pick(input.pieces, input.sampled, seed, k), row = 0, part = piece;
    if (input.rows > 1) {
        row = piece / input.pieces_per_row;
        part = piece % input.pieces_per_row;
    }
    uint64_t all = input.row_bytes / unit;
    at.row = input.address + row * input.pitch;
    at.first = part * (OUTLIER_PIECE / unit);
    at.units =
        (uint32_t)(all - at.first < OUTLIER_PIECE / unit ? all - at.first : OUTLIER_PIECE / unit);
    at.column = (uint32_t)(at.first % input.period);
    return at;
}

template <int DTYPE>
static __device__ void take_piece(outlier_tally *tally, uint32_t *bins, const outlier_input &input,
                                  const piece_place &at, float tiny)
{
    constexpr int UNROLL = OUTLIER_PIECE / 16 / 32;
    const uint4 *from = (const uint4 *)at.row + at.first;
    uint32_t lane = threadIdx.x % 32;
    uint4 raw[UNROLL];
#pragma unroll
    for (int i = 0; i < UNROLL; i++) {
        if (lane + 32 * i < at.units)
            raw[i] = from[lane + 32 * i];
    }
#pragma unroll
    for (int i = 0; i < UNROLL; i++) {
        if (lane + 32 * i < at.units)
            take_unit<DTYPE>(tally, bins, raw[i], (at.column + lane + 32 * i) % input.period, tiny);
    }
}

static __device__ void take_piece_any(outlier_tally *tally, uint32_t *bins,
                                      const outlier_input &input, const piece_place &at, float tiny)
{
    uint32_t unit = input.aligned ? 16 : input.size;
#pragma unroll 1
    for (uint32_t i = threadIdx.x % 32; i < at.units; i += 32)
        take_any(tally, bins, input, at.row + (at.first + i) * unit, (at.column + i) % input.period,
                 tiny);
}

/* ---- adding up ---- */

/* What the warps of a block found. */
struct block_sums {
    double square[WARPS], sketch[WARPS][OUTLIER_SKETCH];
    uint32_t count[WARPS][5];
    float most[WARPS], hottest[WARPS];
    uint32_t bin[OUTLIER_ID_BINS];
};

template <class T> static __device__ T warp_sum(T value)
{
    for (int step = 16; step; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    return value;
}

static __device__ void add_bins(const block_sums &block, outlier_sums *sums, uint32_t bins)
{
    for (uint32_t i = threadIdx.x; i < bins; i += OUTLIER_THREADS) {
        if (block.bin[i])
            atomicAdd(&sums->bin[i], block.bin[i]);
    }
}

/* Each of the first threads adds up one number over the warps. */
static __device__ void add_block(const block_sums &block, outlier_sums *sums)
{
    uint32_t i = threadIdx.x;
    uint32_t *const count[] = {&sums->count, &sums->nans, &sums->infs, &sums->zeros,
                               &sums->subnormals};
    if (i <= OUTLIER_SKETCH) {
        double sum = 0;
        for (int w = 0; w < WARPS; w++)
            sum += i == 0 ? block.square[w] : block.sketch[w][i - 1];
        if (sum != 0)
            atomicAdd(i == 0 ? &sums->square : &sums->sketch[i - 1], sum);
    } else if (i >= 32 && i < 37) {
        uint32_t sum = 0;
        for (int w = 0; w < WARPS; w++)
            sum += block.count[w][i - 32];
        if (sum)
            atomicAdd(count[i - 32], sum);
    } else if (i == 64 || i == 65) {
        float most = 0;
        for (int w = 0; w < WARPS; w++)
            most = fmaxf(most, i == 64 ? block.most[w] : block.hottest[w]);
        atomicMax(i == 64 ? &sums->most : &sums->hottest, outlier_bits(most));
    }
}

static __device__ void keep_warp(block_sums *block, const outlier_tally &tally, double square,
                                 float hottest)
{
    uint32_t warp = threadIdx.x / 32;
    const uint32_t count[] = {tally.count, tally.nans, tally.infs, tally.zeros,
                              tally.small - tally.zeros};
    double far = __any_sync(~0u, tally.far != 0) ? warp_sum(tally.far) : 0;
    float most = outlier_most(tally.most);
    for (int i = 0; i < OUTLIER_SKETCH; i++) {
        float sum = warp_sum(tally.sketch[i]);
        if (threadIdx.x % 32 == 0)
            block->sketch[warp][i] = sum;
    }
    for (int i = 0; i < 5; i++) {
        uint32_t sum = warp_sum(count[i]);
        if (threadIdx.x % 32 == 0)
            block->count[warp][i] = sum;
    }
    if (threadIdx.x % 32 == 0) {
        block->square[warp] = square + far;
        block->most[warp] = most;
        block->hottest[warp] = hottest;
    }
}

static __device__ void look_at_floats(const outlier_input &input, uint64_t seed, block_sums *block)
{
    outlier_tally tally = {};
    float tiny = outlier_tiny(input.dtype), hottest = 0;
    double square = 0;
    uint32_t first = (blockIdx.x - input.first_block) * WARPS + threadIdx.x / 32;
#pragma unroll 1
    for (uint32_t k = first; k < input.sampled; k += input.blocks * WARPS) {
        piece_place at = place_piece(input, seed, k);
        uint32_t elements = at.units * (input.aligned ? 16 / input.size : 1);
        tally.square = 0;
        if (input.aligned && input.dtype == DTYPE_BF16)
            take_piece<DTYPE_BF16>(&tally, block->bin, input, at, tiny);
        else if (input.aligned && input.dtype == DTYPE_F16)
            take_piece<DTYPE_F16>(&tally, block->bin, input, at, tiny);
        else if (input.aligned && input.dtype == DTYPE_F32)
            take_piece<DTYPE_F32>(&tally, block->bin, input, at, tiny);
        else
            take_piece_any(&tally, block->bin, input, at, tiny);
        float sum = warp_sum(tally.square);
        square += sum;
        hottest = fmaxf(hottest, sum / (float)elements);
    }
    keep_warp(block, tally, square, hottest);
}

static __device__ void look_at_ids(const outlier_input &input, uint64_t seed, block_sums *block,
                                   outlier_sums *sums)
{
    uint64_t high = 0, low = 0;
    uint32_t count = 0, unit = input.aligned ? 16 : input.size;
    uint32_t first = (blockIdx.x - input.first_block) * WARPS + threadIdx.x / 32;
#pragma unroll 1
    for (uint32_t k = first; k < input.sampled; k += input.blocks * WARPS) {
        piece_place at = place_piece(input, seed, k);
        uint64_t from = at.row + at.first * unit;
        uint32_t elements = at.units * unit / input.size;
#pragma unroll 1
        for (uint32_t i = threadIdx.x % 32; i < elements; i += 32) {
            int64_t value =
                outlier_integer(input.dtype, load_raw(from + i * input.size, input.size));
            uint64_t rank = outlier_rank(value);
            high = rank > high ? rank : high;
            low = ~rank > low ? ~rank : low;
            count++;
            atomicAdd(&block->bin[outlier_id_bin(value)], 1);
        }
    }
    count = warp_sum(count);
    for (int step = 16; step; step /= 2) {
        uint64_t other_high = __shfl_xor_sync(~0u, high, step);
        uint64_t other_low = __shfl_xor_sync(~0u, low, step);
        high = other_high > high ? other_high : high;
        low = other_low > low ? other_low : low;
    }
    if (threadIdx.x % 32 == 0 && count) {
        atomicAdd(&sums->count, count);
        atomicMax((unsigned long long *)&sums->high, high);
        atomicMax((unsigned long long *)&sums->low, low);
    }
}

static __device__ void look_at_input(const outlier_input &input, uint64_t seed, outlier_sums *sums)
{
    __shared__ block_sums block;
    for (uint32_t i = threadIdx.x; i < OUTLIER_ID_BINS; i += OUTLIER_THREADS)
        block.bin[i] = 0;
    __syncthreads();
    if (input.integer)
        look_at_ids(input, seed, &block, sums);
    else
        look_at_floats(input, seed, &block);
    __syncthreads();
    if (!input.integer)
        add_block(block, sums);
    add_bins(block, sums, input.integer ? OUTLIER_ID_BINS : OUTLIER_BINS);
}

/* A thread has one column and goes down the rows; the centre before this batch is what distances
 * are from. */
static __device__ void look_at_batch(const outlier_header &outlier, const outlier_input &input)
{
    __shared__ float distance[OUTLIER_ROWS];
    __shared__ uint32_t bad[OUTLIER_ROWS];
    const outlier_batch &batch = outlier.batch;
    uint32_t column = blockIdx.x * OUTLIER_THREADS + threadIdx.x;
    uint32_t batches = *(volatile uint32_t *)&batch.centroid->batches;
    bool mine = column < batch.columns;
    float centre = mine ? batch.centroid->center[column] : 0, sum = 0, finite = 0;
    distance[threadIdx.x] = 0;
    bad[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 4
    for (uint32_t k = 0; k < batch.rows; k++) {
        uint64_t row = outlier_pick(batch.all_rows, batch.rows, outlier.seed, k);
        uint64_t at = input.address + row * batch.pitch + (uint64_t)column * input.size;
        float value =
            mine ? outlier_any(input.dtype, input.integer, load_raw(at, input.size)) : centre;
        bool good = fabsf(value) <= 3.402823466e38f;
        float step = good && mine && batches ? value - centre : 0;
        sum += good && mine ? value : 0;
        finite += good && mine;
        float square = warp_sum(step * step);
        uint32_t spoilt = __popc(__ballot_sync(~0u, !good));
        if (threadIdx.x % 32 == 0) {
            atomicAdd(&distance[k], square);
            if (spoilt)
                atomicAdd(&bad[k], spoilt);
        }
    }
    __syncthreads();
    if (mine && finite > 0)
        batch.centroid->center[column] = outlier_centre(centre, sum / finite, batches, batch.alpha);
    if (threadIdx.x < batch.rows) {
        atomicAdd(&outlier.slot->distance[threadIdx.x], distance[threadIdx.x]);
        if (bad[threadIdx.x])
            atomicAdd(&outlier.slot->bad[threadIdx.x], bad[threadIdx.x]);
    }
}

#endif
