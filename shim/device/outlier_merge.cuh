/*
 * outlier_merge.cuh - how what the blocks of a look found comes together in the block that judges,
 * without a fence: each block writes its lines (outlier_abi.h), and the judge waits for them.
 *
 * The judge is the block that began last, so all others are running when it waits, whatever else
 * the GPU does, and none of them waits for it before its lines are written.
 */
#ifndef DEVICE_OUTLIER_MERGE_CUH
#define DEVICE_OUTLIER_MERGE_CUH

#include <stddef.h>
#include "device/outlier_look.cuh"

enum {
    LINE_HALF = (64 - OUTLIER_TAG_BITS) / 2,
    ID_WORDS = OUTLIER_ID_BINS / 2,
    ID_BLOCKS = OUTLIER_ID_PIECES / OUTLIER_BLOCK_PIECES,
};

static __device__ uint64_t line_tag(uint64_t sequence)
{
    return sequence << (64 - OUTLIER_TAG_BITS);
}

static __device__ bool has_come(uint64_t word, uint64_t tag)
{
    return (word ^ tag) >> (64 - OUTLIER_TAG_BITS) == 0;
}

/* The first line of a block of the input. */
static __device__ uint32_t first_line(const outlier_input &input, uint32_t block)
{
    uint32_t index = block - input.first_block;
    return input.first_line + (input.integer ? index * OUTLIER_ID_LINES : index);
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

/* What has been added up of one word: as each kind of word wants it, the others are not used. */
struct line_sum {
    float sum;
    uint32_t most, count, upper; /* upper: of two counts in a word, the second */
};

static __device__ __forceinline__ void add_part(line_sum *all, uint32_t value, uint32_t upper)
{
    all->sum += outlier_float(value);
    all->most = max(all->most, value);
    all->count += value;
    all->upper += upper;
}

static __device__ __forceinline__ uint32_t main_part(const line_sum &all, uint32_t word)
{
    uint32_t value = is_largest_word(word) ? all.most : all.count;
    return is_float_word(word) ? outlier_bits(all.sum) : value;
}

static __device__ uint64_t pack_bins(const block_sums &block, uint32_t pair)
{
    return (uint64_t)block.bin[2 * pair + 1] << LINE_HALF | block.bin[2 * pair];
}

/* One warp: this block's first line, a word a lane, without its tag. */
static __device__ uint64_t make_line(const block_sums &block, bool integer, uint32_t began)
{
    uint32_t word = threadIdx.x % 32;
    line_sum all = {};
    if (word == LINE_BEGAN)
        return began;
    if (word >= LINE_BINS)
        return integer || word >= LINE_END ? 0 : pack_bins(block, word - LINE_BINS);
#pragma unroll
    for (int w = 0; w < WARPS; w++)
        add_part(&all, block.warp[word][w], 0);
    return main_part(all, word);
}

/* A block that does not judge. All threads; `line` is the first warp's. */
static __device__ void give_lines(const outlier_input &input, outlier_slot *slot,
                                  const block_sums &block, uint64_t line, uint64_t tag)
{
    volatile uint64_t *to = slot->line[first_line(input, blockIdx.x)];
    uint32_t word = threadIdx.x;
    if (word < LINE_END)
        to[word] = line | tag;
    if (input.integer && word < ID_WORDS)
        to[OUTLIER_LINE + word] = pack_bins(block, word) | tag;
}

/* A lane's word of the first lines of the blocks warp, warp + WARPS, ... of the input, but for the
 * judge's own. `began`: of the judge; how long before it a block began counts, 2^31 more. */
static __device__ __forceinline__ void wait_for_lines(line_sum *all, const outlier_input &input,
                                                      const outlier_slot *slot, uint64_t tag,
                                                      uint32_t began)
{
    enum { BATCH = OUTLIER_LINES / WARPS };
    uint32_t word = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t mask = word >= LINE_BINS ? (1u << LINE_HALF) - 1 : ~0u;
    uint32_t sign = word == LINE_BEGAN ? ~0u : 1, from = word == LINE_BEGAN ? began + 0x80000000u : 0;
    uint32_t own = blockIdx.x - input.first_block, step = input.integer ? OUTLIER_ID_LINES : 1;
    const volatile uint64_t *line = &slot->line[input.first_line + warp * step][word];
    uint64_t there[BATCH];
    if (word >= LINE_END)
        return;
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        if (warp + i * WARPS < input.blocks)
            there[i] = line[i * WARPS * step * OUTLIER_LINE];
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        if (warp + i * WARPS >= input.blocks)
            break;
        if (warp + i * WARPS == own)
            continue;
        while (!has_come(there[i], tag))
            there[i] = line[i * WARPS * step * OUTLIER_LINE];
        uint64_t payload = there[i] & ~(uint64_t)0 >> OUTLIER_TAG_BITS;
        add_part(all, ((uint32_t)payload & mask) * sign + from, (uint32_t)(payload >> LINE_HALF));
    }
}

/* The bins of an index input: a thread takes two, of every other block. `sums` is
 * complete behind the next barrier. */
static __device__ void wait_for_ids(const outlier_input &input, const outlier_slot *slot,
                                    const block_sums &block, uint64_t tag, outlier_sums *sums)
{
    enum { BATCH = ID_BLOCKS / 2, PARTS = OUTLIER_THREADS / ID_WORDS };
    static_assert(PARTS == 2, "two threads to a word");
    uint32_t word = threadIdx.x % ID_WORDS, part = threadIdx.x / ID_WORDS;
    uint32_t own = blockIdx.x - input.first_block;
    bool adds_own = own < input.blocks && own % PARTS == part;
    uint32_t even = adds_own ? block.bin[2 * word] : 0, odd = adds_own ? block.bin[2 * word + 1] : 0;
    const volatile uint64_t *line =
        &slot->line[input.first_line + part * OUTLIER_ID_LINES + 1][word];
    uint64_t there[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        if (part + i * PARTS < input.blocks)
            there[i] = line[i * PARTS * OUTLIER_ID_LINES * OUTLIER_LINE];
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        if (part + i * PARTS >= input.blocks)
            break;
        if (part + i * PARTS == own)
            continue;
        while (!has_come(there[i], tag))
            there[i] = line[i * PARTS * OUTLIER_ID_LINES * OUTLIER_LINE];
        even += (uint32_t)there[i] & ((1u << LINE_HALF) - 1);
        odd += (uint32_t)(there[i] >> LINE_HALF) & ((1u << LINE_HALF) - 1);
    }
    if (part) {
        sums->bin[2 * word] = even;
        sums->bin[2 * word + 1] = odd;
    }
    join_lookers();
    if (!part) {
        sums->bin[2 * word] += even;
        sums->bin[2 * word + 1] += odd;
    }
}

/* What the warps of the judge have added up of the words of one input's lines. */
struct gathered {
    uint32_t main[WARPS][32], upper[WARPS][32];
};

/* All threads of the judge but the clerk; `line` is its own, a word a lane of the first warp.
 * Complete behind the next barrier. */
static __device__ void gather(const outlier_input &input, const outlier_slot *slot,
                              const block_sums &block, uint64_t line, uint32_t began, uint64_t tag,
                              gathered *all, outlier_sums *sums)
{
    uint32_t word = threadIdx.x % 32, warp = threadIdx.x / 32;
    line_sum part = {};
    if (blockIdx.x - input.first_block < input.blocks && warp == 0) {
        bool bins = word >= LINE_BINS;
        uint32_t value = word == LINE_BEGAN ? 0x80000000u : (uint32_t)line;
        add_part(&part, bins ? value & ((1u << LINE_HALF) - 1) : value,
                 (uint32_t)(line >> LINE_HALF));
    }
    wait_for_lines(&part, input, slot, tag, began);
    all->main[warp][word] = main_part(part, word);
    all->upper[warp][word] = part.upper;
    if (input.integer)
        wait_for_ids(input, slot, block, tag, sums);
}

/* One warp: all parts of a line's word, as what outlier_stat.h judges. How long before the judge
 * the first block of the input began, in ns, for all lanes. */
static __device__ __forceinline__ uint32_t add_up(const gathered &all, bool integer,
                                                  outlier_sums *sums)
{
    static_assert(offsetof(outlier_sums, hottest) - offsetof(outlier_sums, count) ==
                      4 * (LINE_MOST + 1 - LINE_COUNT),
                  "counts and largest values of a line in a row");
    uint32_t word = threadIdx.x % 32;
    line_sum total = {};
#pragma unroll
    for (int w = 0; w < WARPS; w++)
        add_part(&total, all.main[w][word], all.upper[w][word]);
    uint32_t value = main_part(total, word);
    float far = outlier_float(__shfl_sync(~0u, value, LINE_FAR));
    if (word == LINE_SQUARE)
        sums->square = (double)outlier_float(value) + (double)far * 0x1p160;
    else if (word >= LINE_SKETCH && word < LINE_COUNT)
        sums->sketch[word - LINE_SKETCH] = outlier_float(value);
    else if (word >= LINE_COUNT && word < LINE_BEGAN)
        ((uint32_t *)sums)[offsetof(outlier_sums, count) / 4 + word - LINE_COUNT] = value;
    else if (word >= LINE_BINS && word < LINE_END && !integer) {
        sums->bin[2 * (word - LINE_BINS)] = value;
        sums->bin[2 * (word - LINE_BINS) + 1] = total.upper;
    }
    __syncwarp();
    return __shfl_sync(~0u, value, LINE_BEGAN) - 0x80000000u;
}

#endif
