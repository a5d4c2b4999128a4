/*
 * outlier.cu - looks at the designated inputs of a launch, in stream order, and copies the launch's
 * arrays where they are unusual.
 *
 * One kernel for both: an ordinary launch costs one short kernel. Its blocks read a bounded
 * sample, each input once; the one that began last judges, and the others wait for its word, which
 * takes about a microsecond. None of them is needed: whoever has waited too long leaves, and the
 * chunks of a copy are taken one by one by those that stayed. So the kernel ends whatever else the
 * GPU runs, however few of its blocks run at once.
 *
 * The time of a look is that of its round trips to memory, one after another. There are three: the
 * sample; the lines of the other blocks, on their way to the judge; and the decision, beside which
 * the seal and what was learnt are written. All else is under way at the same time as these: who
 * judges (a counter, asked first), the signature's entry, its lock, what follows from it alone.
 * A look of one block has no lines to wait for; one of several at an index input has two more
 * round trips, where their histograms are added up in global memory and fenced.
 */
#include <stddef.h>
#include "device/outlier_batch.cuh"
#include "device/outlier_merge.cuh"
#include "device/snapshot_copy.cuh"

/* Where the benchmark takes the time; nothing here. */
#ifndef OUTLIER_PHASE
#define OUTLIER_PHASE(number)
#endif

enum { PATIENCE_NS = 100000 };

/* ---- the block that judges ---- */

/* Shared by its threads, by input. */
struct judgement {
    bool judges;                   /* this block */
    bool locked[OUTLIER_INPUTS];   /* by this launch, which lets it learn */
    int32_t ahead[OUTLIER_INPUTS]; /* outlier_renew's */
    outlier_entry entry[OUTLIER_INPUTS];
    outlier_ready ready[OUTLIER_INPUTS];
    outlier_sums sums[OUTLIER_INPUTS];
    outlier_finding finding[OUTLIER_INPUTS];
};

/* A signature that two streams launch at once learns from one of the two. The entry is fetched
 * while it is being locked: at worst one launch is forgotten. One warp. */
static __device__ void fetch_entry(const outlier_input &input, outlier_entry *entry, bool *locked)
{
    enum { WORDS = sizeof(outlier_entry) / 4, TURNS = (WORDS + 31) / 32 };
    uint32_t lane = threadIdx.x % 32, there[TURNS];
    if (lane == 0)
        *locked = atomicCAS(&input.entry->lock, 0, 1) == 0;
#pragma unroll
    for (uint32_t i = 0; i < TURNS; i++) {
        if (lane + 32 * i < WORDS)
            there[i] = __ldcg((const uint32_t *)input.entry + lane + 32 * i);
    }
#pragma unroll
    for (uint32_t i = 0; i < TURNS; i++) {
        if (lane + 32 * i < WORDS)
            ((uint32_t *)entry)[lane + 32 * i] = there[i];
    }
}

/* While the sample is on its way, the first warp learns whether this block judges, and then gets
 * ready. `ticket` is lane 0's. */
template <class Call>
static __device__ void get_ready(const Call &call, uint32_t ticket, judgement *all)
{
    bool judges = __shfl_sync(~0u, ticket, 0) == gridDim.x - 1;
    if (threadIdx.x == 0)
        all->judges = judges;
    if (!judges)
        return;
#pragma unroll 1
    for (uint32_t i = 0; i < call.outlier.inputs; i++)
        fetch_entry(call.input[i], &all->entry[i], &all->locked[i]);
    __syncwarp();
#pragma unroll 1
    for (uint32_t i = 0; i < call.outlier.inputs; i++) {
        all->ahead[i] = outlier_renew(&all->entry[i], call.outlier.epoch);
        outlier_make_ready(&all->entry[i], call.input[i].group, &all->ready[i]);
    }
    __syncwarp();
}

static __device__ void store_entry(outlier_entry *to, const outlier_entry &from)
{
    for (uint32_t i = threadIdx.x % 32; i < sizeof(from) / 4; i += 32) {
        if (i != offsetof(outlier_entry, lock) / 4)
            ((uint32_t *)to)[i] = ((const uint32_t *)&from)[i];
    }
}

/* Behind the decision. Without a fence before the lock opens, a launch in another stream may see
 * some words as they were before: each is a value that the statistic had. That would not do where
 * the entry has begun a new epoch. The first warp. */
template <class Call> static __device__ void learn(const Call &call, judgement *all)
{
#pragma unroll 1
    for (uint32_t i = 0; i < call.outlier.inputs; i++) {
        const outlier_input &input = call.input[i];
        if (!all->locked[i])
            continue;
        if (all->ahead[i] >= 0) {
            outlier_learn(&all->entry[i], &all->ready[i], &all->sums[i], input.integer, input.group,
                          all->finding[i]);
            __syncwarp();
            store_entry(input.entry, all->entry[i]);
        }
        if (all->ahead[i] > 0)
            __threadfence();
        __syncwarp();
        if (threadIdx.x == 0)
            *(volatile uint32_t *)&input.entry->lock = 0;
    }
}

static __device__ void seal_copies(const snapshot_header &header, uint64_t base, bool seals)
{
    uint64_t busy = stop_clock(header, seals);
    __threadfence_system();
    if (seals)
        write_seal(header, base, busy);
}

/* One word; what the centroid detector hands over is in place before it. */
static __device__ void seal_ordinary(const snapshot_header &header, const outlier_header &outlier,
                                     uint32_t age)
{
    const uint32_t most = (1u << SEAL_TIME_BITS) - 1;
    if (outlier.detector == OUTLIER_CENTROID)
        __threadfence_system();
    *(volatile uint64_t *)&header.seal->ordinary =
        header.sequence << SEAL_TIME_BITS | (age < most ? age : most);
}

/* A launch that is called: room for its snapshot, and what those who copy it start from. */
static __device__ bool open_copy(const snapshot_header &header, outlier_slot *slot, uint32_t age)
{
    snapshot_place *place = header.place;
    bool room = take_room(header.arena, header.bytes, place);
    if (!room)
        place->begin = place->end = place->base = 0;
    *(volatile uint64_t *)&place->started = global_timer() - age;
    place->claimed = header.sequence;
    slot->done = 0;
    *(volatile uint64_t *)&slot->next = header.sequence << OUTLIER_CHUNK_BITS;
    __threadfence();
    *(volatile uint64_t *)&place->found = header.sequence;
    __threadfence();
    return room;
}

/* One thread: room for the snapshot where it is wanted, and the word to the other blocks. What is
 * not copied is sealed here. `age`: how long the look has taken. True when there is something to
 * copy. */
template <class Call> static __device__ bool publish(const Call &call, bool called, uint32_t age)
{
    const snapshot_header &header = call.header;
    outlier_slot *slot = call.outlier.slot;
    bool room = called && open_copy(header, slot, age);
    *(volatile uint64_t *)&slot->decision = header.sequence * 2 + room;
    if (!called)
        seal_ordinary(header, call.outlier, age);
    else if (!room)
        seal_copies(header, 0, true);
    else if (!call.outlier.chunks)
        seal_copies(header, header.place->base, call.outlier.seals);
    return room && call.outlier.chunks;
}

static __device__ void answer_with(outlier_answer *answer, uint32_t input,
                                   const outlier_finding &finding)
{
    answer->input = input;
    answer->feature = finding.feature;
    answer->score = finding.score;
    answer->threshold = finding.threshold;
}

/* All threads of the judge; `line` is its own. True when there is something to copy. */
template <class Call>
static __device__ bool judge(const Call &call, judgement *all, const block_sums &block,
                             uint64_t line, uint32_t began)
{
    __shared__ bool copies;
    outlier_answer *answer = call.outlier.answer;
    uint64_t tag = line_tag(call.header.sequence);
    bool called = false;
    uint32_t earlier = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < call.outlier.inputs; i++) {
        const outlier_input &input = call.input[i];
        uint32_t before = merge(input, call.outlier.slot, &call.outlier.slot->sums[i], block, line,
                                began, tag, &all->sums[i]);
        OUTLIER_PHASE(2);
        if (threadIdx.x < 32) {
            outlier_finding finding =
                outlier_find(&all->entry[i], &all->ready[i], &all->sums[i], input.integer);
            finding.called &= all->ahead[i] >= 0;
            all->finding[i] = finding;
            if (threadIdx.x == 0 && finding.called && !called) {
                answer_with(answer, i, finding);
                answer->rows = 0;
            }
            called |= finding.called;
            earlier = before > earlier && before < 0x80000000u ? before : earlier;
        }
        if (i + 1 < call.outlier.inputs)
            __syncthreads(); /* `merge` uses its shared memory again */
    }
    OUTLIER_PHASE(3);
    if (threadIdx.x == 0)
        copies = publish(call, called, (uint32_t)global_timer() - began + earlier);
    __syncwarp();
    if (threadIdx.x < 32)
        learn(call, all);
    __syncthreads();
    OUTLIER_PHASE(4);
    return copies;
}

/* ---- all blocks ---- */

/* The judge's word; false, too, when it takes too long: then others copy. */
static __device__ bool wait_for_word(const outlier_slot *slot, uint64_t sequence)
{
    __shared__ bool called;
    if (threadIdx.x == 0) {
        const volatile uint64_t *decision = &slot->decision;
        uint64_t began = global_timer();
        uint64_t seen;
        while ((seen = *decision) / 2 < sequence && global_timer() - began < PATIENCE_NS)
            __nanosleep(40);
        called = seen == sequence * 2 + 1;
        if (called)
            __threadfence();
    }
    __syncthreads();
    return called;
}

/* Thread 0: the next chunk of this sequence, or `chunks` when all are taken. */
static __device__ uint64_t next_chunk(outlier_slot *slot, uint64_t sequence, uint64_t chunks)
{
    unsigned long long *next = (unsigned long long *)&slot->next;
    unsigned long long seen = *(volatile unsigned long long *)next;
    for (;;) {
        uint64_t chunk = seen & (((uint64_t)1 << OUTLIER_CHUNK_BITS) - 1);
        if (seen >> OUTLIER_CHUNK_BITS != sequence || chunk >= chunks)
            return chunks;
        unsigned long long there = atomicCAS(next, seen, seen + 1);
        if (there == seen)
            return chunk;
        seen = there;
    }
}

template <class Call> static __device__ void copy_chunks(const Call &call)
{
    __shared__ uint64_t chunk;
    outlier_slot *slot = call.outlier.slot;
    for (;;) {
        if (threadIdx.x == 0)
            chunk = next_chunk(slot, call.header.sequence, call.outlier.chunks);
        __syncthreads();
        uint64_t mine = chunk;
        if (mine >= call.outlier.chunks)
            return;
        uint64_t base = copy_one(call, mine);
        __syncthreads();
        if (threadIdx.x)
            continue;
        __threadfence();
        if (atomicAdd(&slot->done, 1) == call.outlier.chunks - 1)
            seal_copies(call.header, base, call.outlier.seals);
    }
}

/* The first `arrive` of all blocks but one give false. All threads; what they wrote before is
 * visible to the last. */
static __device__ bool arrive(outlier_slot *slot)
{
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(&slot->ticket, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

/* The centroid detector: the last block to have looked judges. True: copy. */
template <class Call> static __device__ bool run_batch(const Call &call)
{
    __shared__ outlier_finding finding;
    __shared__ bool copies;
    start_clock(call.header);
    look_at_batch(call.outlier, call.input[0]);
    if (!arrive(call.outlier.slot))
        return wait_for_word(call.outlier.slot, call.header.sequence);
    judge_batch(call.outlier, &finding);
    if (threadIdx.x == 0) {
        uint64_t started = *(volatile uint64_t *)&call.header.place->started;
        if (finding.called)
            answer_with(call.outlier.answer, 0, finding);
        copies = publish(call, finding.called, (uint32_t)(global_timer() - started));
    }
    __syncthreads();
    return copies;
}

/* The fingerprint. True: copy. */
template <class Call> static __device__ bool run_look(const Call &call)
{
    __shared__ block_sums block;
    __shared__ judgement all;
    outlier_slot *slot = call.outlier.slot;
    uint32_t ticket = 0, i = 0, began = (uint32_t)global_timer();
    uint64_t line = 0;
    held_pieces pieces;
    OUTLIER_PHASE(0);
    if (threadIdx.x == 0)
        ticket = atomicInc(&slot->ticket, gridDim.x - 1);
    while (i + 1 < call.outlier.inputs && blockIdx.x >= call.input[i + 1].first_block)
        i++;
    const outlier_input &input = call.input[i];
    hold_first(&pieces, input, call.outlier.seed);
    clear_block(&block);
    __syncthreads();
    if (threadIdx.x < 32)
        get_ready(call, ticket, &all);
    look_at_input(&pieces, input, call.outlier.seed, &block);
    __syncthreads();
    OUTLIER_PHASE(1);
    if (!all.judges && input.integer)
        give_ids(block, &slot->sums[i]);
    if (threadIdx.x < 32)
        line = make_line(block, input.integer, began);
    if (all.judges)
        return judge(call, &all, block, line, began);
    if (threadIdx.x < LINE_END)
        *(volatile uint64_t *)&slot->line[blockIdx.x][threadIdx.x] =
            line | line_tag(call.header.sequence);
    return wait_for_word(slot, call.header.sequence);
}

template <class Call> static __device__ void run(const Call &call)
{
    if (call.outlier.detector == OUTLIER_CENTROID ? run_batch(call) : run_look(call))
        copy_chunks(call);
}

extern "C" __global__ void __launch_bounds__(OUTLIER_THREADS, 2)
    cuvet_outlier(const __grid_constant__ outlier_call call)
{
    run(call);
}

/* The same for one input and few segments. */
extern "C" __global__ void __launch_bounds__(OUTLIER_THREADS, 2)
    cuvet_outlier_few(const __grid_constant__ outlier_call_few call)
{
    run(call);
}

/* Which copies a part of the items. */
extern "C" __global__ void __launch_bounds__(OUTLIER_THREADS, 2)
    cuvet_outlier_subset(const __grid_constant__ outlier_call_subset call)
{
    run(call);
}
