/*
 * outlier_merge.cuh - how what the blocks of a look found comes together in the block that judges,
 * without a fence: each block writes one line (outlier_abi.h), and the judge waits for the lines.
 *
 * The judge is the block that began last, so all others are running when it waits, whatever else
 * the GPU does, and none of them waits for it before its line is written.
 */
#ifndef DEVICE_OUTLIER_MERGE_CUH
#define DEVICE_OUTLIER_MERGE_CUH

#include <stddef.h>
#include "device/outlier_look.cuh"

static __device__ uint64_t line_tag(uint64_t sequence)
{
    return sequence << (64 - OUTLIER_TAG_BITS);
}

/* Words that are added up as floats; words of which the largest counts; the others are counts. */
static __device__ bool is_float_word(uint32_t word)
{
    return word < LINE_COUNT;
}

static __device__ bool is_largest_word(uint32_t word)
{
    return word >= LINE_MOST && word <= LINE_BEGAN;
}

static __device__ uint64_t pack_bins(const block_sums &block, uint32_t pair)
{
    const uint32_t half = (64 - OUTLIER_TAG_BITS) / 2;
    return (uint64_t)block.bin[2 * pair + 1] << half | block.bin[2 * pair];
}

/* One warp: this block's line, a word a lane, without its tag. */
static __device__ uint64_t make_line(const block_sums &block, bool integer, uint32_t began)
{
    uint32_t word = threadIdx.x % 32, count = 0, most = 0;
    float sum = 0;
    if (word == LINE_BEGAN)
        return began;
    if (integer || word >= LINE_END)
        return 0;
    if (word >= LINE_BINS)
        return pack_bins(block, word - LINE_BINS);
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        uint32_t part = block.warp[word][w];
        sum += is_float_word(word) ? outlier_float(part) : 0;
        count += part;
        most = part > most ? part : most;
    }
    return is_float_word(word) ? outlier_bits(sum) : is_largest_word(word) ? most : count;
}

/* What a warp of the judge has added up of one word, over its part of the lines. */
struct line_sum {
    double sum;
    uint32_t count, upper; /* the largest; or the sum of the lower, and of the upper half */
};

/* `began`: of the judge. How long before it a block began counts, 2^31 more than it is. */
static __device__ void take_word(line_sum *all, uint32_t word, uint64_t payload, uint32_t began)
{
    const uint32_t half = (64 - OUTLIER_TAG_BITS) / 2, mask = (1u << half) - 1;
    uint32_t value = (uint32_t)payload;
    if (word == LINE_BEGAN)
        value = 0x80000000u + (began - value);
    all->sum += is_float_word(word) ? (double)outlier_float(value) : 0;
    if (is_largest_word(word))
        all->count = value > all->count ? value : all->count;
    else
        all->count += word >= LINE_BINS ? value & mask : value;
    all->upper += (uint32_t)(payload >> half) & mask;
}

/* A lane's word of the lines first, first + WARPS, ... of `blocks`, but for the judge's own. */
static __device__ void wait_for_lines(line_sum *all, const outlier_slot *slot, uint32_t first,
                                      uint32_t end, uint64_t tag, uint32_t began)
{
    enum { BATCH = OUTLIER_BLOCKS / WARPS };
    uint32_t word = threadIdx.x % 32;
    uint64_t there[BATCH];
    if (word >= LINE_END)
        return;
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        uint32_t block = first + i * WARPS;
        if (block < end && block != blockIdx.x)
            there[i] = *(const volatile uint64_t *)&slot->line[block][word];
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        uint32_t block = first + i * WARPS;
        if (block >= end || block == blockIdx.x)
            continue;
        while ((there[i] ^ tag) >> (64 - OUTLIER_TAG_BITS))
            there[i] = *(const volatile uint64_t *)&slot->line[block][word];
        take_word(all, word, there[i] << OUTLIER_TAG_BITS >> OUTLIER_TAG_BITS, began);
    }
}

/* What several blocks saw of an index input lies in global memory, complete before their lines.
 * It is cleared for the slot's next look. All threads. */
static __device__ void fetch_ids(outlier_sums *sums, outlier_sums *global)
{
    uint32_t i = threadIdx.x;
    __threadfence();
    sums->bin[i] += __ldcg(&global->bin[i]);
    global->bin[i] = 0;
    if (i == 0) {
        uint64_t high = __ldcg(&global->high), low = __ldcg(&global->low);
        sums->high = high > sums->high ? high : sums->high;
        sums->low = low > sums->low ? low : sums->low;
        sums->count += __ldcg(&global->count);
        global->high = global->low = 0;
        global->count = 0;
    }
    __threadfence();
}

static __device__ void own_ids(const block_sums &block, bool own, outlier_sums *sums)
{
    sums->bin[threadIdx.x] = own ? block.bin[threadIdx.x] : 0;
    if (threadIdx.x == 0) {
        sums->high = own ? block.high : 0;
        sums->low = own ? block.low : 0;
        sums->count = own ? block.count : 0;
    }
}

/* A block that does not judge: into global memory. All threads. */
static __device__ void give_ids(const block_sums &block, outlier_sums *global)
{
    uint32_t i = threadIdx.x;
    if (block.bin[i])
        atomicAdd(&global->bin[i], block.bin[i]);
    if (i == 0) {
        atomicMax((unsigned long long *)&global->high, block.high);
        atomicMax((unsigned long long *)&global->low, block.low);
        atomicAdd(&global->count, block.count);
    }
    __syncthreads();
    if (i < 32)
        __threadfence();
}

/* The first warp: all parts of a line's word, as what outlier_stat.h judges. */
static __device__ void spread_line(const line_sum &all, outlier_sums *sums)
{
    static_assert(offsetof(outlier_sums, hottest) - offsetof(outlier_sums, count) ==
                      4 * (LINE_MOST + 1 - LINE_COUNT),
                  "counts and largest values of a line in a row");
    uint32_t word = threadIdx.x % 32;
    double far = __shfl_sync(~0u, all.sum, LINE_FAR);
    if (word == LINE_SQUARE)
        sums->square = all.sum + far * 0x1p160;
    else if (word >= LINE_SKETCH && word < LINE_COUNT)
        sums->sketch[word - LINE_SKETCH] = all.sum;
    else if (word >= LINE_COUNT && word < LINE_BEGAN)
        ((uint32_t *)sums)[offsetof(outlier_sums, count) / 4 + word - LINE_COUNT] = all.count;
    else if (word >= LINE_BINS && word < LINE_END) {
        sums->bin[2 * (word - LINE_BINS)] = all.count;
        sums->bin[2 * (word - LINE_BINS) + 1] = all.upper;
    }
}

static __device__ void add_part(line_sum *all, uint32_t word, const line_sum &part)
{
    all->sum += part.sum;
    all->upper += part.upper;
    if (is_largest_word(word))
        all->count = part.count > all->count ? part.count : all->count;
    else
        all->count += part.count;
}

/*
 * All threads of the judge: `sums` for its first warp, from the lines of one input; `line` is the
 * judge's own, a word a lane of the first warp. How long before the judge the first block of the
 * input began, in ns, for the first warp's lanes.
 */
static __device__ uint32_t merge(const outlier_input &input, outlier_slot *slot,
                                 outlier_sums *global, const block_sums &block, uint64_t line,
                                 uint32_t began, uint64_t tag, outlier_sums *sums)
{
    __shared__ line_sum part[WARPS][32];
    uint32_t word = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t end = input.first_block + input.blocks;
    bool own = blockIdx.x >= input.first_block && blockIdx.x < end;
    line_sum all = {};
    wait_for_lines(&all, slot, input.first_block + warp, end, tag, began);
    if (own && warp == 0)
        take_word(&all, word, line, began);
    part[warp][word] = all;
    __syncthreads();
    if (input.integer) {
        own_ids(block, own, sums);
        if (input.blocks > own)
            fetch_ids(sums, global);
        __syncthreads();
    }
    if (warp)
        return 0;
#pragma unroll
    for (int w = 1; w < WARPS; w++)
        add_part(&all, word, part[w][word]);
    if (!input.integer)
        spread_line(all, sums);
    __syncwarp();
    return __shfl_sync(~0u, all.count, LINE_BEGAN) - 0x80000000u;
}

#endif
