/*
 * outlier.cu - probes the designated inputs of a launch, in stream order, and copies the launch's
 * arrays where they are unusual.
 *
 * One kernel for both: an ordinary launch costs one short kernel. Its blocks read a bounded sample,
 * each input once; the one that began last judges, and the others wait for its decision, which
 * takes about a microsecond. None of them is needed: a block that has waited too long leaves, and
 * the chunks of a copy are taken one by one by those that stayed. So the kernel ends whatever else
 * the GPU runs, however few of its blocks run at once.
 *
 * The time of a probe is that of its round trips to memory, one after another, and of what one warp
 * computes between them, each instruction of which waits for the one before. There are three trips:
 * the sample; the lines of the other blocks, on their way to the judge; and the decision, beside
 * which the seal and the new statistics are written. All else is under way at the same time as
 * these: which block judges (a counter, read first), the signature's entry, its lock, what follows
 * from it alone. A probe of one block has no lines to wait for.
 */
#include <stddef.h>
#include "device/early.cuh"
#include "device/outlier_batch.cuh"
#include "device/outlier_merge.cuh"
#include "device/snapshot_copy.cuh"

/* Where the benchmark takes the time; nothing here. */
#ifndef OUTLIER_PHASE
#define OUTLIER_PHASE(number)
#endif

enum { PATIENCE_NS = 100000 };

/* ---- the statistics of a signature ---- */

/* What the judge makes of them, by input. */
struct judgement {
    bool judges;                   /* this block */
    uint32_t began;                /* the lower word of %globaltimer */
    int32_t ahead[OUTLIER_INPUTS]; /* outlier_renew's */
    outlier_entry entry[OUTLIER_INPUTS];
    outlier_ready ready[OUTLIER_INPUTS];
    gathered lines[OUTLIER_INPUTS];
    outlier_sums sums[OUTLIER_INPUTS];
    outlier_finding finding[OUTLIER_INPUTS];
    uint32_t earlier[OUTLIER_INPUTS]; /* add_up's */
};

/* In a kernel that is made for one input its place is a compile-time constant. */
template <class Call> constexpr bool has_one_input = sizeof(Call::input) == sizeof(outlier_input);

template <class Call> static __device__ __forceinline__ uint32_t inputs_of(const Call &call)
{
    return has_one_input<Call> ? 1 : call.outlier.inputs;
}

/* Warp i judges input i. */
template <class Call> static __device__ __forceinline__ uint32_t input_of_warp(const Call &)
{
    return has_one_input<Call> ? 0 : threadIdx.x / 32;
}

enum { ENTRY_WORDS = sizeof(outlier_entry) / 4, ENTRY_TURNS = (ENTRY_WORDS + 31) / 32 };

/* One warp. */
static __device__ __forceinline__ void fetch_entry(const outlier_input &input, outlier_entry *entry)
{
    uint32_t lane = threadIdx.x % 32, there[ENTRY_TURNS];
#pragma unroll
    for (uint32_t i = 0; i < ENTRY_TURNS; i++) {
        if (lane + 32 * i < ENTRY_WORDS)
            there[i] = __ldcg((const uint32_t *)input.entry + lane + 32 * i);
    }
#pragma unroll
    for (uint32_t i = 0; i < ENTRY_TURNS; i++) {
        if (lane + 32 * i < ENTRY_WORDS)
            ((uint32_t *)entry)[lane + 32 * i] = there[i];
    }
}

/* Of two streams that launch a signature at once only one updates its statistics: the one that
 * finds the version which it fetched. One thread; returns another version where it may not
 * update. */
static __device__ __forceinline__ uint32_t lock_entry(const outlier_input &input, uint32_t version)
{
    return version % 2 ? version - 1 : atomicCAS(&input.entry->version, version, version + 1);
}

/*
 * The clerk: a warp that has no part of the sample. While the others read it finds out whether this
 * block judges, the one that began last, and fetches the entries. The clerk of each block does so,
 * though one alone will need them.
 */
template <class Call>
static __device__ __forceinline__ void find_judge(const Call &call, judgement *all)
{
    uint32_t lane = threadIdx.x % 32, ticket = 0;
    if (lane == 0 && gridDim.x > 1)
        ticket = atomicInc(&call.outlier.slot->ticket, gridDim.x - 1);
    if (lane == 0)
        all->began = (uint32_t)global_timer();
#pragma unroll 1
    for (uint32_t i = 0; i < inputs_of(call); i++)
        fetch_entry(call.input[i], &all->entry[i]);
    if (lane == 0)
        all->judges = ticket == gridDim.x - 1;
    __syncwarp();
}

/* The judge's clerk, as long as the others read and wait for lines: what follows from the entries
 * alone. Lane i gets lock_entry's result for input i, which it does not wait for until the
 * update. */
template <class Call>
static __device__ __forceinline__ uint32_t get_ready(const Call &call, judgement *all)
{
    uint32_t lane = threadIdx.x % 32, inputs = inputs_of(call), seen = 0;
    if (lane < inputs)
        seen = lock_entry(call.input[inputs > 1 ? lane : 0], all->entry[lane].version);
#pragma unroll 1
    for (uint32_t i = 0; i < inputs; i++) {
        int32_t ahead = outlier_renew(&all->entry[i], call.outlier.epoch);
        outlier_make_ready(&all->entry[i], call.input[i].group, &all->ready[i]);
        if (lane == 0)
            all->ahead[i] = ahead;
    }
    return seen;
}

static __device__ void store_entry(outlier_entry *to, const outlier_entry &from)
{
#pragma unroll
    for (uint32_t i = 0; i < ENTRY_TURNS; i++) {
        uint32_t word = threadIdx.x % 32 + 32 * i;
        if (word < ENTRY_WORDS && word != offsetof(outlier_entry, version) / 4)
            ((uint32_t *)to)[word] = ((const uint32_t *)&from)[word];
    }
}

/* The clerk, beside the decision. Without a fence before the version is written, a launch in
 * another stream may see some words as they were before: each is a value that the statistic had.
 * That would not do where the entry has begun a new epoch. */
template <class Call> static __device__ void update(const Call &call, judgement *all, uint32_t seen)
{
#pragma unroll 1
    for (uint32_t i = 0; i < inputs_of(call); i++) {
        const outlier_input &input = call.input[i];
        outlier_entry *entry = &all->entry[i];
        if (__shfl_sync(~0u, seen, i) != entry->version)
            continue;
        if (all->ahead[i] >= 0) {
            outlier_update(entry, &all->ready[i], input.integer, all->finding[i]);
            __syncwarp();
            store_entry(input.entry, *entry);
        }
        if (all->ahead[i] > 0)
            __threadfence();
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            *(volatile uint32_t *)&input.entry->version = entry->version + 2;
    }
}

/* ---- the block that judges ---- */

/* One thread, when all is copied. The finding is in place before the seal. */
static __device__ void end_copies(const snapshot_header &header, uint64_t base, bool seals)
{
    const uint64_t earlier = earlier_busy(header);
    if (!seals) {
        stop_clock(header, earlier);
        return;
    }
    __threadfence_system();
    *(volatile uint64_t *)&header.seal->started =
        seal_word(header.sequence, *(volatile uint64_t *)&header.place->started);
    write_seal(header, base, earlier);
}

/* Without a fence: this word holds all of the result. */
static __device__ void seal_ordinary(const snapshot_header &header, uint32_t age)
{
    const uint32_t most = (1u << SEAL_TIME_BITS) - 1;
    *(volatile uint64_t *)&header.seal->ordinary =
        header.sequence << SEAL_TIME_BITS | (age < most ? age : most);
}

/* A selected launch: takes room for its snapshot, and publishes its place to the blocks that copy
 * it. */
static __device__ bool open_copy(const snapshot_header &header, outlier_slot *slot, uint32_t age)
{
    const room_request asked = {header.place, header.arena, header.sequence, header.bytes};
    snapshot_place *place = header.place;
    uint64_t room = take_room(asked, read_arena(header.arena));
    write_room(header.seal, header.sequence);
    *(volatile uint64_t *)&place->started = global_timer() - age;
    place->claimed = header.sequence;
    slot->done = 0;
    *(volatile uint64_t *)&slot->next = header.sequence << OUTLIER_CHUNK_BITS;
    __threadfence();
    publish_place(asked, room);
    __threadfence();
    return room != 0;
}

static __device__ void publish_decision(outlier_slot *slot, uint64_t sequence, bool copies)
{
    *(volatile uint64_t *)&slot->decision = sequence * 2 + copies;
}

/* publish of a selected launch. What is not copied is sealed here. Not inlined, so that it does not
 * stand between the finding and the decision on an ordinary launch. */
static __device__ __noinline__ bool publish_selected(const snapshot_header &header,
                                                     const outlier_header &outlier, uint32_t began)
{
    bool room = open_copy(header, outlier.slot, (uint32_t)global_timer() - began);
    publish_decision(outlier.slot, header.sequence, room);
    if (!room)
        end_copies(header, 0, true);
    else if (!outlier.chunks)
        end_copies(header, base_of(header, header.place->found), header.seals);
    return room && outlier.chunks;
}

/* One thread: publishes the decision to the other blocks, and takes room for the snapshot of a
 * selected launch. `began`: start of the probe, the lower word of %globaltimer. True when there is
 * something to copy. */
template <class Call> static __device__ bool publish(const Call &call, bool called, uint32_t began)
{
    if (OUTLIER_RARE(called))
        return publish_selected(call.header, call.outlier, began);
    publish_decision(call.outlier.slot, call.header.sequence, false);
    seal_ordinary(call.header, (uint32_t)global_timer() - began);
    return false;
}

static __device__ void answer_with(outlier_answer *answer, uint32_t input,
                                   const outlier_finding &finding)
{
    answer->input = input;
    answer->feature = finding.feature;
    answer->score = finding.score;
    answer->threshold = finding.threshold;
}

/* One thread: the findings of all inputs together. */
template <class Call> static __device__ bool conclude(const Call &call, const judgement &all)
{
    uint32_t earlier = 0;
    bool called = false;
#pragma unroll 1
    for (uint32_t i = 0; i < inputs_of(call); i++) {
        const outlier_finding &finding = all.finding[i];
        if (OUTLIER_RARE(finding.called && !called)) {
            answer_with(call.outlier.answer, i, finding);
            call.outlier.answer->rows = 0;
        }
        called |= finding.called;
        if (all.earlier[i] < 0x80000000u)
            earlier = max(earlier, all.earlier[i]);
    }
    return publish(call, called, all.began - earlier);
}

/* A warp of an input, from its lines to the finding. */
template <class Call>
static __device__ __forceinline__ void find(const Call &call, judgement *all, uint32_t i)
{
    bool integer = call.input[i].integer;
    uint32_t earlier = add_up(all->lines[i], integer, &all->sums[i]);
    outlier_finding finding = outlier_find(&all->entry[i], &all->ready[i], &all->sums[i], integer);
    if (threadIdx.x % 32 == 0) {
        finding.called &= all->ahead[i] >= 0;
        all->finding[i] = finding;
        all->earlier[i] = earlier;
    }
    __syncwarp();
}

/* All threads of the judge; `line` is its own, `seen` the clerk's. True when there is something to
 * copy. */
template <class Call>
static __device__ bool judge(const Call &call, judgement *all, const block_sums &block,
                             uint64_t line, uint32_t seen)
{
    __shared__ bool copies;
    bool looks = threadIdx.x < OUTLIER_THREADS;
#pragma unroll 1
    for (uint32_t i = 0; looks && i < inputs_of(call); i++)
        gather(call.input[i], call.outlier.slot, block, line, all->began,
               line_tag(call.header.sequence), &all->lines[i], &all->sums[i]);
    __syncthreads();
    OUTLIER_PHASE(2);
    if (threadIdx.x / 32 < inputs_of(call))
        find(call, all, input_of_warp(call));
    __syncthreads();
    OUTLIER_PHASE(3);
    if (threadIdx.x == 0)
        copies = conclude(call, *all);
    OUTLIER_PHASE(4);
    if (!looks)
        update(call, all, seen);
    __syncthreads();
    OUTLIER_PHASE(5);
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
    if (threadIdx.x == 0)
        shared_notes()->base =
            base_of(call.header, *(volatile uint64_t *)&call.header.place->found);
    for (;;) {
        if (threadIdx.x == 0)
            chunk = next_chunk(slot, call.header.sequence, call.outlier.chunks);
        __syncthreads();
        uint64_t mine = chunk;
        if (mine >= call.outlier.chunks)
            return;
        uint64_t base = copy_piece(call, find_piece(call, (uint32_t)mine));
        __syncthreads();
        if (threadIdx.x)
            continue;
        __threadfence();
        if (atomicAdd(&slot->done, 1) == call.outlier.chunks - 1)
            end_copies(call.header, base, call.header.seals);
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

/* The centroid detector: the block that reads last judges. True: copy. */
template <class Call> static __device__ bool run_batch(const Call &call)
{
    __shared__ outlier_finding finding;
    __shared__ bool copies;
    wait_for_stream();
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *(volatile uint64_t *)&call.header.place->started = global_timer();
    probe_batch(call.outlier, call.input[0]);
    if (!arrive(call.outlier.slot))
        return wait_for_word(call.outlier.slot, call.header.sequence);
    judge_batch(call.outlier, &finding);
    if (threadIdx.x == 0) {
        uint64_t started = *(volatile uint64_t *)&call.header.place->started;
        if (finding.called)
            answer_with(call.outlier.answer, 0, finding);
        __threadfence_system(); /* the distances are in place before the seal is written */
        copies = publish(call, finding.called, (uint32_t)started);
    }
    __syncthreads();
    return copies;
}

/* The fingerprint. True: copy. */
template <class Call> static __device__ bool run_probe(const Call &call)
{
    __shared__ block_sums block;
    __shared__ judgement all;
    uint32_t i = 0, seen = 0;
    uint64_t line = 0;
    while (i + 1 < inputs_of(call) && blockIdx.x >= call.input[i + 1].first_block)
        i++;
    const outlier_input &input = call.input[i];
    if (threadIdx.x < OUTLIER_THREADS) {
        held_piece piece;
        place_first(&piece, input, call.outlier.seed);
        clear_block(&block);
        join_readers();
        wait_for_stream();
        OUTLIER_PHASE(0);
        hold(&piece, input);
        probe_input<has_one_input<Call>>(&piece, input, call.outlier.seed, &block);
        join_clerk();
    } else {
        wait_for_stream();
        find_judge(call, &all);
        arrive_clerk();
        if (all.judges)
            seen = get_ready(call, &all);
    }
    OUTLIER_PHASE(1);
    if (threadIdx.x < 32)
        line = make_line(block, input.integer, all.began);
    if (all.judges)
        return judge(call, &all, block, line, seen);
    give_lines(input, call.outlier.slot, block, line, line_tag(call.header.sequence));
    return wait_for_word(call.outlier.slot, call.header.sequence);
}

/* True: copy. */
template <class Call> static __device__ __forceinline__ bool run(const Call &call)
{
    bool copies = call.outlier.detector == OUTLIER_CENTROID ? run_batch(call) : run_probe(call);
    return copies && threadIdx.x < OUTLIER_THREADS;
}

extern "C" __global__ void __launch_bounds__(OUTLIER_THREADS + OUTLIER_CLERKS, 2)
    cuvet_outlier(const __grid_constant__ outlier_call call)
{
    if (run(call))
        copy_chunks(call);
}

/* The same for one input and few segments. */
extern "C" __global__ void __launch_bounds__(OUTLIER_THREADS + OUTLIER_CLERKS, 2)
    cuvet_outlier_few(const __grid_constant__ outlier_call_few call)
{
    if (run(call))
        copy_chunks(call);
}
