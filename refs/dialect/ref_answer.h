/*
 * ref_answer.h - adding up the answer: a thread's figures, a block's, the call's.
 *
 * The threads' hot figures become the block's verdict, and the last block of a call to finish makes
 * the call's answer of those of all blocks. Where a thread of the block has judged slowly, all have
 * a verdict each, and these become the block's.
 */
#ifndef REFS_REF_ANSWER_H
#define REFS_REF_ANSWER_H

#include "ref_judge.h"

/*
 * The figures where no element was judged slowly, as nearly always: a thread's, a block's or the
 * call's. A launch checks less than 2^32 elements, or is cut into pieces.
 */
template <class E> struct ref_tally {
    E sum_square, sum_signed, max_abs, max_rel, max_ratio;
    uint32_t checked, measured, wide, refused;
    uint32_t slow; /* not 0: there is a verdict, with all figures */
};

template <class E> REF_FN ref_tally<E> ref_tally_of(const ref_hot<E> &hot)
{
    return {hot.sum_square,
            hot.sum_signed,
            hot.max_abs,
            hot.max_rel,
            hot.max_ratio,
            hot.checked,
            hot.checked - hot.unmeasured,
            hot.wide,
            hot.refused,
            hot.slow};
}

template <class E> REF_FN void ref_tally_add(ref_tally<E> &a, const ref_tally<E> &b)
{
    a.sum_square += b.sum_square;
    a.sum_signed += b.sum_signed;
    a.max_abs = ref_more(a.max_abs, b.max_abs);
    a.max_rel = ref_more(a.max_rel, b.max_rel);
    a.max_ratio = ref_more(a.max_ratio, b.max_ratio);
    a.checked += b.checked;
    a.measured += b.measured;
    a.wide += b.wide;
    a.refused += b.refused;
    a.slow |= b.slow;
}

/* A tally goes into a verdict. */
template <class E> REF_FN void ref_settle(ref_verdict *cold, const ref_tally<E> &tally)
{
    cold->checked += tally.checked;
    cold->refused += tally.refused;
    cold->wide += tally.wide;
    cold->measured += tally.measured;
    cold->sum_square += (double)tally.sum_square;
    cold->sum_signed += (double)tally.sum_signed;
    cold->max_abs = ref_more(cold->max_abs, (double)tally.max_abs);
    cold->max_rel = ref_more(cold->max_rel, (double)tally.max_rel);
    /* The hot path keeps the ratio alone: which element it was matters for violations, and those
     * are judged slowly. */
    if ((double)tally.max_ratio > cold->max_ratio) {
        cold->max_ratio = (double)tally.max_ratio;
        cold->worst_index = REF_NO_INDEX;
    }
}

#ifdef __CUDACC__

/* The warp's sums and maxima, for every lane. Several at once take the time of one: most of that is
 * waiting for a shuffle. */
template <class... T> REF_FN void ref_warp_add(T &...x)
{
    REF_ROLLED
    for (int step = 16; step; step >>= 1)
        ((x += __shfl_xor_sync(0xffffffffu, x, step)), ...);
}

template <class... T> REF_FN void ref_warp_max(T &...x)
{
    REF_ROLLED
    for (int step = 16; step; step >>= 1)
        ((x = ref_more(x, __shfl_xor_sync(0xffffffffu, x, step))), ...);
}

/* ref_verdict_merge, once in the code and not wherever it is used. */
REF_SLOW void ref_merge_slowly(ref_verdict *a, const ref_verdict *b)
{
    ref_verdict_merge(a, b);
}

/* The first violation of the warp's: a lane that has it writes it. */
REF_FN void ref_warp_first(const ref_verdict *mine, ref_verdict *out)
{
    const unsigned all = 0xffffffffu;
    unsigned long long index = mine->first_index;
    uint32_t tensor = mine->first_tensor;
    REF_ROLLED
    for (int step = 16; step; step >>= 1) {
        unsigned long long other = __shfl_xor_sync(all, index, step);
        uint32_t its = __shfl_xor_sync(all, tensor, step);
        bool before = index == REF_NO_INDEX || its < tensor || (its == tensor && other < index);
        if (other != REF_NO_INDEX && before) {
            index = other;
            tensor = its;
        }
    }
    unsigned holders =
        __ballot_sync(all, mine->first_index == index && mine->first_tensor == tensor);
    if (index != REF_NO_INDEX && threadIdx.x % 32 == (unsigned)__ffs((int)holders) - 1) {
        out->first_index = index;
        out->first_tensor = tensor;
        out->first_got = mine->first_got;
        out->first_ref = mine->first_ref;
        out->first_bound = mine->first_bound;
    }
}

/* The worst element of the warp's, whose ratio is known: a lane that has it writes it. */
REF_FN void ref_warp_worst(const ref_verdict *mine, double ratio, ref_verdict *out)
{
    unsigned holders =
        __ballot_sync(0xffffffffu, mine->worst_index != REF_NO_INDEX && mine->max_ratio == ratio);
    if (holders && threadIdx.x % 32 == (unsigned)__ffs((int)holders) - 1) {
        out->worst_index = mine->worst_index;
        out->worst_tensor = mine->worst_tensor;
        out->worst_got = mine->worst_got;
        out->worst_ref = mine->worst_ref;
        out->worst_bound = mine->worst_bound;
    }
}

/* The warp's verdict in *out: sums and maxima by shuffles. */
REF_FN void ref_warp_merge(const ref_verdict *mine, ref_verdict *out)
{
    unsigned long long checked = mine->checked, measured = mine->measured, wide = mine->wide;
    unsigned long long violations = mine->violations, other = mine->class_mismatch;
    unsigned long long refused = mine->refused;
    double square = mine->sum_square, bias = mine->sum_signed;
    double max_abs = mine->max_abs, max_rel = mine->max_rel, ratio = mine->max_ratio;
    ref_warp_add(checked, measured, wide, violations, other, refused, square, bias);
    ref_warp_max(max_abs, max_rel, ratio);
    if (threadIdx.x % 32 == 0) {
        ref_verdict_clear(out);
        out->checked = checked;
        out->measured = measured;
        out->wide = wide;
        out->violations = violations;
        out->class_mismatch = other;
        out->refused = refused;
        out->sum_square = square;
        out->sum_signed = bias;
        out->max_abs = max_abs;
        out->max_rel = max_rel;
        out->max_ratio = ratio;
    }
    __syncwarp();
    ref_warp_worst(mine, ratio, out);
    ref_warp_first(mine, out);
}

/* All threads' verdicts, which are used up, into *total in shared memory. */
REF_SLOW void ref_block_merge(ref_verdict *mine, ref_verdict *total)
{
    __shared__ ref_verdict warp[REF_THREADS / 32];
    __syncthreads();
    ref_warp_merge(mine, &warp[threadIdx.x / 32]);
    __syncthreads();
    if (threadIdx.x >= 32)
        return;
    ref_verdict_clear(mine);
    ref_warp_merge(threadIdx.x < REF_THREADS / 32 ? &warp[threadIdx.x] : mine, total);
    __syncwarp();
}

/*
 * All threads' tallies, for every thread: over the lanes of a warp, then over the warps. As one
 * loop: what is done once in a launch takes as long as its code takes to come from memory.
 */
template <class E> REF_FN ref_tally<E> ref_block_tally(ref_tally<E> t)
{
    enum { WARPS = REF_THREADS / 32, STEPS = 8 };
    static_assert(WARPS == 8, "five steps and three");
    __shared__ ref_tally<E> warp[WARPS];
    REF_ROLLED
    for (int i = 0; i < STEPS; i++) {
        if (i == 5) {
            __syncthreads();
            if (threadIdx.x % 32 == 0)
                warp[threadIdx.x / 32] = t;
            __syncthreads();
            t = warp[threadIdx.x % WARPS];
        }
        const int step = (i < 5 ? 16 : 128) >> i;
        ref_tally<E> other;
        other.sum_square = __shfl_xor_sync(0xffffffffu, t.sum_square, step);
        other.sum_signed = __shfl_xor_sync(0xffffffffu, t.sum_signed, step);
        other.max_abs = __shfl_xor_sync(0xffffffffu, t.max_abs, step);
        other.max_rel = __shfl_xor_sync(0xffffffffu, t.max_rel, step);
        other.max_ratio = __shfl_xor_sync(0xffffffffu, t.max_ratio, step);
        other.checked = __shfl_xor_sync(0xffffffffu, t.checked, step);
        other.measured = __shfl_xor_sync(0xffffffffu, t.measured, step);
        other.wide = __shfl_xor_sync(0xffffffffu, t.wide, step);
        other.refused = __shfl_xor_sync(0xffffffffu, t.refused, step);
        other.slow = __shfl_xor_sync(0xffffffffu, t.slow, step);
        ref_tally_add(t, other);
    }
    return t;
}

REF_FN unsigned long long ref_global_timer()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* When thread 0 of this block started. All blocks are resident at once and run to the end, so
 * the last one's time is the call's. Kept in shared memory: registers are dear. */
REF_FN unsigned long long *ref_started()
{
    __shared__ unsigned long long started;
    return &started;
}

REF_FN void ref_start_clock()
{
    if (threadIdx.x == 0)
        *ref_started() = ref_global_timer();
}

enum { REF_VERDICT_WORDS = sizeof(ref_verdict) / 8 };

/* Its first words, by one warp. */
REF_FN void ref_copy_verdict(ref_verdict *to, const ref_verdict *from, int words)
{
    static_assert(sizeof(ref_verdict) % 8 == 0 && REF_VERDICT_WORDS <= 32, "a word for each lane");
    __syncwarp();
    if ((int)threadIdx.x % 32 < words)
        ((volatile unsigned long long *)to)[threadIdx.x % 32] =
            ((const unsigned long long *)from)[threadIdx.x % 32];
    __syncwarp();
}

/* All of the answer but its last word, the sequence, which the host waits for; then that. */
REF_FN void ref_publish(const ref_call *call, const ref_verdict *total)
{
    ref_copy_verdict(call->answer, total, REF_VERDICT_WORDS - 1);
    if (threadIdx.x == 0) {
        __threadfence_system();
        *(volatile unsigned long long *)&call->answer->sequence = call->sequence;
    }
}

/*
 * What a block leaves behind, in its element of partial: its verdict where it has judged slowly,
 * else its tally at the beginning. The last word, which is `sequence` in the answer, marks which.
 */
template <class E> REF_FN const ref_tally<E> *ref_as_tally(const ref_verdict *left)
{
    static_assert(sizeof(ref_tally<E>) < sizeof(ref_verdict) - 8, "it ends before the last word");
    return (const ref_tally<E> *)left;
}

template <class E> REF_FN void ref_leave_tally(ref_verdict *left, const ref_tally<E> &tally)
{
    if (threadIdx.x == 0) {
        *(ref_tally<E> *)left = tally;
        left->sequence = 0;
    }
}

REF_FN void ref_leave_verdict(ref_verdict *left, ref_verdict *total)
{
    if (threadIdx.x == 0)
        total->sequence = 1;
    if (threadIdx.x < 32)
        ref_copy_verdict(left, total, REF_VERDICT_WORDS);
}

/* Whether this block, having left its part, is the last of its call's. */
REF_FN bool ref_is_last(const ref_call *call)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(call->ticket, call->blocks - 1) == call->blocks - 1;
    }
    __syncthreads();
    if (last)
        __threadfence();
    return last;
}

/* What block i has left, as a tally; nothing where there is no such block. */
template <class E> REF_FN ref_tally<E> ref_tally_of_block(const ref_call *call, unsigned i)
{
    ref_tally<E> t = {};
    if (i < call->blocks) {
        t = *ref_as_tally<E>(&call->partial[i]);
        t.slow = (uint32_t)call->partial[i].sequence;
    }
    return t;
}

/* The call's answer, of which `mine` is this thread's share: parts that have more than a tally.
 * It is used up: a thread's local memory is reserved for every thread that the GPU can hold, so
 * there is only this one verdict. */
template <class E>
REF_SLOW void ref_merge_partials(const ref_call *call, ref_verdict *mine, ref_verdict *total)
{
    ref_verdict_clear(mine);
    REF_ROLLED
    for (unsigned i = threadIdx.x; i < call->blocks; i += REF_THREADS)
        if (call->partial[i].sequence)
            ref_merge_slowly(mine, &call->partial[i]);
        else
            ref_settle(mine, *ref_as_tally<E>(&call->partial[i]));
    ref_block_merge(mine, total);
}

REF_FN void ref_publish_all(const ref_call *call, ref_verdict *total)
{
    if (threadIdx.x == 0)
        total->busy = ref_global_timer() - *ref_started();
    if (threadIdx.x < 32)
        ref_publish(call, total);
}

/* Where a block has a verdict: this one (not `left`: it has still to leave it) or another. */
template <class E>
REF_SLOW void ref_finish_slowly(const ref_call *call, ref_verdict *mine, const ref_tally<E> *own,
                                bool left)
{
    __shared__ ref_verdict total;
    if (!left) {
        if (!own->slow)
            ref_verdict_clear(mine);
        ref_settle(mine, *own);
        ref_block_merge(mine, &total);
        ref_leave_verdict(&call->partial[blockIdx.x - call->first_block], &total);
        if (!ref_is_last(call))
            return;
    }
    ref_merge_partials<E>(call, mine, &total);
    ref_publish_all(call, &total);
}

/* A block's tally, then by the last block the whole answer: one round adds up the threads', the
 * other those of blocks. */
template <class E>
REF_SLOW void ref_finish(const ref_call *call, ref_verdict *mine, const ref_tally<E> *own)
{
    __shared__ ref_verdict total;
    ref_tally<E> t = *own;
    REF_ROLLED
    for (bool left = false;; left = true) {
        t = ref_block_tally(t);
        if (t.slow)
            return ref_finish_slowly(call, mine, own, left);
        if (left)
            break;
        ref_leave_tally(&call->partial[blockIdx.x - call->first_block], t);
        if (!ref_is_last(call))
            return;
        /* Both are read at once: two blocks to a multiprocessor are hardly ever more. */
        t = ref_tally_of_block<E>(call, threadIdx.x);
        ref_tally_add(t, ref_tally_of_block<E>(call, threadIdx.x + REF_THREADS));
        REF_ROLLED
        for (unsigned i = threadIdx.x + 2 * REF_THREADS; i < call->blocks; i += REF_THREADS)
            ref_tally_add(t, ref_tally_of_block<E>(call, i));
    }
    if (threadIdx.x == 0) {
        ref_verdict_clear(&total);
        ref_settle(&total, t);
    }
    ref_publish_all(call, &total);
}

#else

static inline void ref_start_clock()
{
}

#endif

/* A thread's first deeds. */
template <class E> REF_FN void ref_begin()
{
    ref_start_clock();
    ref_start_peaks<E>();
}

/* And its last. */
template <class E>
REF_FN void ref_close(const ref_call *call, ref_verdict *cold, const ref_hot<E> &hot)
{
#ifdef __CUDACC__
    const ref_tally<E> tally = ref_tally_of(hot);
    ref_finish(call, cold, &tally);
#else
    if (!hot.slow)
        ref_verdict_clear(cold);
    ref_settle(cold, ref_tally_of(hot));
    *call->answer = *cold;
    call->answer->sequence = call->sequence;
#endif
}

/* The first and the last with bounds in f64, once in the code. */
REF_SLOW void ref_begin_wide(ref_hot<double> *hot)
{
    ref_begin<double>();
    ref_hot_clear(*hot);
}

REF_SLOW void ref_close_wide(const ref_call *call, ref_verdict *cold, const ref_hot<double> *hot)
{
    ref_close(call, cold, *hot);
}

#endif
