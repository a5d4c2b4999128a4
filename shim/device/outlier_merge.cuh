/*
 * outlier_merge.cuh - merges the results of a probe's blocks in the block that judges, without a
 * fence: each block writes its lines (outlier_abi.h), and the judge waits for them.
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

/* The number of a block among those of the input; the judge's may be none of them. */
static __device__ __forceinline__ uint32_t own_index(const outlier_input &input)
{
    return blockIdx.x - input.first_block;
}

/* The lines of an index input's block that hold its bins. */
template <class Slot>
static __device__ __forceinline__ auto id_lines(const outlier_input &input, Slot *slot,
                                                uint32_t index)
{
    return slot->line[input.first_line + input.blocks + index * (OUTLIER_ID_LINES - 1)];
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

/* What has been added up of one word: by the kind of word, the others are not used. */
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

/* One warp: this block's first line, a word a lane, without its tag. Choices instead of branches,
 * as the lanes would take all of them. */
static __device__ uint64_t make_line(const block_sums &block, bool integer, uint32_t began)
{
    uint32_t word = threadIdx.x % 32, summed = min(word, LINE_BEGAN - 1);
    bool has_bins = word >= LINE_BINS && word < LINE_END && !integer;
    uint64_t bins = pack_bins(block, has_bins ? word - LINE_BINS : 0);
    line_sum all = {};
#pragma unroll
    for (int w = 0; w < WARPS; w++)
        add_part(&all, block.warp[summed][w], 0);
    uint32_t value = word == LINE_BEGAN ? began : main_part(all, word);
    return has_bins ? bins : word <= LINE_BEGAN ? value : 0;
}

/* A block that does not judge. All threads; `line` is the first warp's. */
static __device__ void give_lines(const outlier_input &input, outlier_slot *slot,
                                  const block_sums &block, uint64_t line, uint64_t tag)
{
    uint32_t word = threadIdx.x, own = own_index(input);
    volatile uint64_t *to = slot->line[input.first_line + own];
    if (word < LINE_END)
        to[word] = line | tag;
    to = id_lines(input, slot, own);
    if (input.integer && word < ID_WORDS)
        to[word] = pack_bins(block, word) | tag;
}

/*
 * A word of each of COUNT blocks, STRIDE words apart, loaded together. Choices instead of branches:
 * a block's turn would take longer by itself than its word takes to come.
 */
template <int COUNT, int STRIDE> struct awaited {
    const volatile uint64_t *at;
    uint64_t there[COUNT];

    /* `wanted`: of which blocks, a bit each. `others`: what the others' words are taken for. */
    __device__ __forceinline__ void load(const volatile uint64_t *from, uint32_t wanted,
                                        uint64_t others)
    {
        at = from;
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            there[i] = others;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            if (wanted >> i & 1)
                there[i] = at[i * STRIDE];
        }
    }

    /* `others` must have the tag. */
    __device__ __forceinline__ void wait(uint64_t tag)
    {
        for (;;) {
            uint32_t other = 0; /* bits of any word that are not the tag's */
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                other |= (uint32_t)((there[i] ^ tag) >> 32);
            if (has_come((uint64_t)other << 32, 0))
                return;
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                if (!has_come(there[i], tag))
                    there[i] = at[i * STRIDE];
            }
        }
    }
};

/* Of the blocks `first`, `first` + `step`, ... but for the judge: a bit each. */
static __device__ __forceinline__ uint32_t wanted_blocks(const outlier_input &input, uint32_t first,
                                                         uint32_t step)
{
    uint32_t own = own_index(input);
    uint32_t count = input.blocks > first ? (input.blocks - first + step - 1) / step : 0;
    uint32_t judge = own < input.blocks && own % step == first ? 1u << own / step : 0;
    return ((1u << count) - 1) & ~judge;
}

typedef awaited<OUTLIER_LINES / WARPS, WARPS * OUTLIER_LINE> awaited_lines;

/* A lane's word of the first lines of the blocks warp, warp + WARPS, ... `began`: of the judge. */
static __device__ __forceinline__ void load_lines(awaited_lines *lines,
                                                     const outlier_input &input,
                                                     const outlier_slot *slot, uint64_t tag,
                                                     uint32_t began)
{
    uint32_t word = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t wanted = word < LINE_END ? wanted_blocks(input, warp, WARPS) : 0;
    lines->load(&slot->line[input.first_line + warp][word], wanted,
               tag | (word == LINE_BEGAN ? began : 0));
}

/* How long before the judge a block began counts, 2^31 more. */
static __device__ __forceinline__ void add_lines(line_sum *all, awaited_lines *lines, uint64_t tag,
                                                 uint32_t began)
{
    uint32_t word = threadIdx.x % 32;
    uint32_t mask = word >= LINE_BINS ? (1u << LINE_HALF) - 1 : ~0u;
    uint32_t sign = word == LINE_BEGAN ? ~0u : 1,
             from = word == LINE_BEGAN ? began + 0x80000000u : 0;
    lines->wait(tag);
#pragma unroll
    for (uint64_t there : lines->there) {
        uint64_t payload = there & ~(uint64_t)0 >> OUTLIER_TAG_BITS;
        add_part(all, ((uint32_t)payload & mask) * sign + from, (uint32_t)(payload >> LINE_HALF));
    }
}

enum { ID_PARTS = OUTLIER_THREADS / ID_WORDS };
static_assert(ID_PARTS == 2, "two threads to a word");
typedef awaited<ID_BLOCKS / ID_PARTS, ID_PARTS *(OUTLIER_ID_LINES - 1) * OUTLIER_LINE> awaited_ids;

/* The bins of an index input: a thread takes two, of every other block. */
static __device__ __forceinline__ void load_ids(awaited_ids *ids, const outlier_input &input,
                                                   const outlier_slot *slot, uint64_t tag)
{
    uint32_t word = threadIdx.x % ID_WORDS, part = threadIdx.x / ID_WORDS;
    ids->load(&id_lines(input, slot, part)[word], wanted_blocks(input, part, ID_PARTS), tag);
}

/* `sums` is complete behind the next barrier. */
static __device__ __forceinline__ void add_ids(awaited_ids *ids, const outlier_input &input,
                                               const block_sums &block, uint64_t tag,
                                               outlier_sums *sums)
{
    uint32_t word = threadIdx.x % ID_WORDS, part = threadIdx.x / ID_WORDS, own = own_index(input);
    bool adds_own = own < input.blocks && part == 0;
    uint32_t even = adds_own ? block.bin[2 * word] : 0,
             odd = adds_own ? block.bin[2 * word + 1] : 0;
    ids->wait(tag);
#pragma unroll
    for (uint64_t there : ids->there) {
        even += (uint32_t)there & ((1u << LINE_HALF) - 1);
        odd += (uint32_t)(there >> LINE_HALF) & ((1u << LINE_HALF) - 1);
    }
    if (part) {
        sums->bin[2 * word] = even;
        sums->bin[2 * word + 1] = odd;
    }
    join_readers();
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
    bool alone = gridDim.x == 1;
    line_sum part = {};
    awaited_lines lines;
    awaited_ids ids;
    if (!alone)
        load_lines(&lines, input, slot, tag, began);
    if (input.integer)
        load_ids(&ids, input, slot, tag);
    if (own_index(input) < input.blocks && warp == 0) {
        bool bins = word >= LINE_BINS;
        uint32_t value = word == LINE_BEGAN ? 0x80000000u : (uint32_t)line;
        add_part(&part, bins ? value & ((1u << LINE_HALF) - 1) : value,
                 (uint32_t)(line >> LINE_HALF));
    }
    if (!alone)
        add_lines(&part, &lines, tag, began);
    all->main[warp][word] = main_part(part, word);
    all->upper[warp][word] = part.upper;
    if (input.integer)
        add_ids(&ids, input, block, tag, sums);
}

/* One warp: all parts of a line's word, as what outlier_stat.h judges. How long before the judge
 * the first block of the input began, in ns, for all lanes. */
static __device__ __forceinline__ uint32_t add_up(const gathered &all, bool integer,
                                                  outlier_sums *sums)
{
    static_assert(offsetof(outlier_sums, hottest) == 4 * (LINE_MOST + 1),
                  "but for its last words, a line is as the sums are");
    uint32_t word = threadIdx.x % 32;
    line_sum total = {};
#pragma unroll
    for (int w = 0; w < WARPS; w++)
        add_part(&total, all.main[w][word], all.upper[w][word]);
    uint32_t value = main_part(total, word);
    if (word < LINE_BEGAN)
        ((uint32_t *)sums)[word] = value;
    if (word >= LINE_BINS && word < LINE_END && !integer) {
        sums->bin[2 * (word - LINE_BINS)] = value;
        sums->bin[2 * (word - LINE_BINS) + 1] = total.upper;
    }
    __syncwarp();
    return __shfl_sync(~0u, value, LINE_BEGAN) - 0x80000000u;
}

#endif
