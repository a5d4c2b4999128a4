/*
 * outlier.cu - looks at the designated inputs of a launch, in stream order, and copies the launch's
 * arrays where they are unusual.
 *
 * One kernel for both: an ordinary launch costs one short kernel. Its blocks read a bounded
 * sample, each input once; the last one to finish judges, and the others wait for its word, which
 * takes about a microsecond. None of them is needed: whoever has waited too long leaves, and the
 * chunks of a copy are taken one by one by those that stayed. So the kernel ends whatever else the
 * GPU runs, however few of its blocks run at once.
 */
#include "device/outlier_look.cuh"
#include "device/snapshot_copy.cuh"

enum { PATIENCE_NS = 100000 };

/* ---- the last block ---- */

/* Between shared and global memory, in words; global memory past the L1 cache. */
static __device__ void fetch_words(void *shared, const void *global, uint32_t bytes)
{
    for (uint32_t i = threadIdx.x; i < bytes / 4; i += OUTLIER_THREADS)
        ((uint32_t *)shared)[i] = __ldcg((const uint32_t *)global + i);
}

static __device__ void store_words(void *global, const void *shared, uint32_t bytes)
{
    for (uint32_t i = threadIdx.x; i < bytes / 4; i += OUTLIER_THREADS)
        ((uint32_t *)global)[i] = shared ? ((const uint32_t *)shared)[i] : 0;
}

/* A signature that two streams launch at once learns from one of the two. The entry is fetched
 * while it is being locked: at worst one launch is forgotten. It stays locked until `publish`. */
static __device__ bool judge_input(const outlier_input &input, outlier_sums *global,
                                   outlier_finding *out)
{
    __shared__ outlier_sums sums;
    __shared__ outlier_entry entry;
    __shared__ bool learns;
    if (threadIdx.x == 0)
        learns = atomicCAS(&input.entry->lock, 0, 1) == 0;
    fetch_words(&sums, global, sizeof(sums));
    fetch_words(&entry, input.entry, sizeof(entry));
    __syncthreads();
    if (threadIdx.x < 32) {
        outlier_finding finding = outlier_judge(&entry, &sums, input.integer, input.group, learns);
        if (threadIdx.x == 0) {
            *out = finding;
            entry.lock = 1;
        }
    }
    __syncthreads();
    store_words(global, NULL, sizeof(sums));
    if (learns)
        store_words(input.entry, &entry, sizeof(entry));
    return learns;
}

/* Hands the distances of the good rows to the collector, one behind the other. */
static __device__ void judge_batch(const outlier_header &outlier, outlier_finding *out)
{
    __shared__ float sum[WARPS];
    __shared__ uint32_t rows[WARPS], bad_rows[WARPS];
    const outlier_batch &batch = outlier.batch;
    uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, before = 0;
    uint32_t batches = *(volatile uint32_t *)&batch.centroid->batches;
    bool is_row = threadIdx.x < batch.rows;
    bool bad = is_row && __ldcg(&outlier.slot->bad[threadIdx.x]) != 0;
    float distance = is_row ? sqrtf(__ldcg(&outlier.slot->distance[threadIdx.x])) : 0;
    bool good = is_row && !bad && batches;
    uint32_t good_lanes = __ballot_sync(~0u, good), bad_lanes = __ballot_sync(~0u, bad);
    float total = warp_sum(good ? distance : 0);
    if (lane == 0) {
        sum[warp] = total;
        rows[warp] = __popc(good_lanes);
        bad_rows[warp] = __popc(bad_lanes);
    }
    __syncthreads();
    for (uint32_t w = 0; w < warp; w++)
        before += rows[w];
    if (good)
        outlier.answer->distance[before + __popc(good_lanes & ((1u << lane) - 1))] = distance;
    outlier.slot->distance[threadIdx.x] = 0;
    outlier.slot->bad[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        uint32_t count = 0, spoilt = 0;
        for (int w = 0; w < WARPS; w++) {
            count += rows[w];
            spoilt += bad_rows[w];
            total = w ? total + sum[w] : sum[0];
        }
        outlier.answer->rows = count;
        *out = outlier_centroid_judge(batches, count ? total / (float)count : 0, spoilt,
                                      *(const volatile float *)batch.quantile, batch.threshold);
        batch.centroid->batches = batches + 1;
    }
    __syncthreads();
}

/* What the last block found; shared by its threads. */
struct judgement {
    bool called;
    bool locked[OUTLIER_INPUTS]; /* entries that are to be unlocked */
    outlier_finding finding;     /* of the input under way */
};

template <class Call> static __device__ void judge(const Call &call, judgement *all)
{
    outlier_answer *answer = call.outlier.answer;
    if (threadIdx.x == 0)
        all->called = false;
#pragma unroll 1
    for (uint32_t i = 0; i < call.outlier.inputs; i++) {
        bool locked = false;
        if (call.outlier.detector == OUTLIER_CENTROID)
            judge_batch(call.outlier, &all->finding);
        else
            locked = judge_input(call.input[i], &call.outlier.slot->sums[i], &all->finding);
        if (threadIdx.x == 0) {
            all->locked[i] = locked;
            if (all->finding.called && !all->called) {
                all->called = true;
                answer->input = i;
                answer->feature = all->finding.feature;
                answer->score = all->finding.score;
                answer->threshold = all->finding.threshold;
                answer->rows = call.outlier.detector == OUTLIER_CENTROID ? answer->rows : 0;
            }
        }
        __syncthreads();
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
static __device__ void seal_ordinary(const snapshot_header &header, const outlier_header &outlier)
{
    const uint64_t most = ((uint64_t)1 << SEAL_TIME_BITS) - 1;
    uint64_t busy = stop_clock(header, true);
    if (outlier.detector == OUTLIER_CENTROID)
        __threadfence_system();
    *(volatile uint64_t *)&header.seal->ordinary =
        header.sequence << SEAL_TIME_BITS | (busy < most ? busy : most);
}

static __device__ bool find_room(const snapshot_header &header, bool called)
{
    snapshot_place *place = header.place;
    if (!called)
        return false;
    if (!take_room(header.arena, header.bytes, place)) {
        place->begin = place->end = place->base = 0;
        return false;
    }
    place->claimed = header.sequence;
    __threadfence();
    *(volatile uint64_t *)&place->found = header.sequence;
    return true;
}

/* Thread 0 of the last block: room for the snapshot where it is wanted, and the word to the other
 * blocks. What is not copied is sealed here. True when there is something to copy. */
template <class Call> static __device__ bool publish(const Call &call, const judgement &all)
{
    const snapshot_header &header = call.header;
    outlier_slot *slot = call.outlier.slot;
    bool room = find_room(header, all.called);
    slot->ticket = 0;
    slot->done = 0;
    *(volatile uint64_t *)&slot->next = header.sequence << OUTLIER_CHUNK_BITS;
    __threadfence(); /* of the entries, too, which the whole block has stored */
    *(volatile uint64_t *)&slot->decision = header.sequence * 2 + room;
    for (uint32_t i = 0; i < call.outlier.inputs; i++) {
        if (all.locked[i])
            *(volatile uint32_t *)&call.input[i].entry->lock = 0;
    }
    if (!all.called)
        seal_ordinary(header, call.outlier);
    else if (!room)
        seal_copies(header, 0, true);
    else if (!call.outlier.chunks)
        seal_copies(header, header.place->base, call.outlier.seals);
    return room && call.outlier.chunks;
}

/* ---- all blocks ---- */

static __device__ bool arrive(outlier_slot *slot)
{
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&slot->ticket, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

/* The last block's word; false, too, when it takes too long: then others copy. */
static __device__ bool wait_for_word(const outlier_slot *slot, uint64_t sequence)
{
    __shared__ bool called;
    if (threadIdx.x == 0) {
        const volatile uint64_t *decision = &slot->decision;
        uint64_t began = global_timer();
        while (*decision / 2 != sequence && global_timer() - began < PATIENCE_NS)
            __nanosleep(40);
        called = *decision == sequence * 2 + 1;
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

/* The last block's part: judges and says so. True when there is something to copy. */
template <class Call> static __device__ bool decide(const Call &call)
{
    __shared__ judgement all;
    __shared__ bool copies;
    judge(call, &all);
    if (threadIdx.x == 0)
        copies = publish(call, all);
    __syncthreads();
    return copies;
}

template <class Call> static __device__ void run(const Call &call)
{
    outlier_slot *slot = call.outlier.slot;
    uint32_t i = 0;
    start_clock(call.header);
    while (i + 1 < call.outlier.inputs && blockIdx.x >= call.input[i + 1].first_block)
        i++;
    if (call.outlier.detector == OUTLIER_CENTROID)
        look_at_batch(call.outlier, call.input[i]);
    else
        look_at_input(call.input[i], call.outlier.seed, &slot->sums[i]);
    if (arrive(slot) ? decide(call) : wait_for_word(slot, call.header.sequence))
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
