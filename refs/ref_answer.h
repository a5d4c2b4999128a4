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

/* A thread's hot figures go into its verdict. */
template <class E> REF_FN void ref_settle(ref_verdict *cold, const ref_hot<E> &hot)
{
    cold->checked += hot.checked;
    cold->refused += hot.refused;
    cold->wide += hot.wide;
    cold->measured += hot.checked - hot.unmeasured;
    cold->sum_square += (double)hot.sum_square;
    cold->sum_signed += (double)hot.sum_signed;
    cold->max_abs = ref_more(cold->max_abs, (double)hot.max_abs);
    cold->max_rel = ref_more(cold->max_rel, (double)hot.max_rel);
    /* The hot path keeps the ratio alone: which element it was matters for violations, and those
     * are judged slowly. */
    if ((double)hot.max_ratio > cold->max_ratio) {
        cold->max_ratio = (double)hot.max_ratio;
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
 * What there is to say where no element was judged slowly, as nearly always: a thread's, a block's
 * or the call's. It stays in registers, where a ref_verdict is in local memory.
 */
struct ref_tally {
    unsigned long long checked, measured, wide, refused;
    double sum_square, sum_signed, max_abs, max_rel, max_ratio;
};

template <class E> REF_FN ref_tally ref_hot_tally(const ref_hot<E> &hot)
{
    return {hot.checked,         hot.checked - hot.unmeasured, hot.wide,
            hot.refused,         (double)hot.sum_square,       (double)hot.sum_signed,
            (double)hot.max_abs, (double)hot.max_rel,          (double)hot.max_ratio};
}

REF_FN void ref_tally_add(ref_tally *a, const ref_tally &b)
{
    a->checked += b.checked;
    a->measured += b.measured;
    a->wide += b.wide;
    a->refused += b.refused;
    a->sum_square += b.sum_square;
    a->sum_signed += b.sum_signed;
    a->max_abs = ref_more(a->max_abs, b.max_abs);
    a->max_rel = ref_more(a->max_rel, b.max_rel);
    a->max_ratio = ref_more(a->max_ratio, b.max_ratio);
}

/* That of a block's verdict; `odd` becomes true where that is not all of it. */
REF_FN ref_tally ref_tally_of(const ref_verdict &v, bool *odd)
{
    *odd |= v.worst_index != REF_NO_INDEX || v.violations > 0;
    return {v.checked,    v.measured, v.wide,    v.refused,  v.sum_square,
            v.sum_signed, v.max_abs,  v.max_rel, v.max_ratio};
}

/* Over 2 * step lanes. */
REF_FN void ref_warp_tally(ref_tally *t, int step)
{
    REF_ROLLED
    for (; step; step >>= 1) {
        ref_tally other;
        other.checked = __shfl_xor_sync(0xffffffffu, t->checked, step);
        other.measured = __shfl_xor_sync(0xffffffffu, t->measured, step);
        other.wide = __shfl_xor_sync(0xffffffffu, t->wide, step);
        other.refused = __shfl_xor_sync(0xffffffffu, t->refused, step);
        other.sum_square = __shfl_xor_sync(0xffffffffu, t->sum_square, step);
        other.sum_signed = __shfl_xor_sync(0xffffffffu, t->sum_signed, step);
        other.max_abs = __shfl_xor_sync(0xffffffffu, t->max_abs, step);
        other.max_rel = __shfl_xor_sync(0xffffffffu, t->max_rel, step);
        other.max_ratio = __shfl_xor_sync(0xffffffffu, t->max_ratio, step);
        ref_tally_add(t, other);
    }
}

/* All threads' tallies into *total in shared memory. */
REF_FN void ref_block_tally(ref_tally t, ref_verdict *total)
{
    __shared__ ref_tally warp[REF_THREADS / 32];
    ref_warp_tally(&t, 16);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        warp[threadIdx.x / 32] = t;
    __syncthreads();
    if (threadIdx.x >= 32)
        return;
    t = warp[threadIdx.x % (REF_THREADS / 32)];
    ref_warp_tally(&t, REF_THREADS / 64);
    if (threadIdx.x == 0) {
        ref_verdict_clear(total);
        total->checked = t.checked;
        total->measured = t.measured;
        total->wide = t.wide;
        total->refused = t.refused;
        total->sum_square = t.sum_square;
        total->sum_signed = t.sum_signed;
        total->max_abs = t.max_abs;
        total->max_rel = t.max_rel;
        total->max_ratio = t.max_ratio;
    }
    __syncwarp();
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

/* Whether this block is the last of its call's to have left its verdict. */
REF_FN bool ref_leave(const ref_call *call, const ref_verdict *total)
{
    __shared__ bool last;
    if (threadIdx.x < 32)
        ref_copy_verdict(&call->partial[blockIdx.x - call->first_block], total, REF_VERDICT_WORDS);
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(call->ticket, call->blocks - 1) == call->blocks - 1;
    }
    __syncthreads();
    if (last)
        __threadfence();
    return last;
}

/* The call's answer, of which `mine` is this thread's share: verdicts that have more than a tally.
 * It is used up: a thread's local memory is reserved for every thread that the GPU can hold, so
 * there is only this one verdict. */
REF_SLOW void ref_merge_partials(const ref_call *call, ref_verdict *mine, ref_verdict *total)
{
    ref_verdict_clear(mine);
    REF_ROLLED
    for (unsigned i = threadIdx.x; i < call->blocks; i += REF_THREADS)
        ref_merge_slowly(mine, &call->partial[i]);
    ref_block_merge(mine, total);
}

/*
 * Block answers, then by the last block the whole answer. One round adds up tallies of threads, the
 * other those of blocks. `slow`: a thread of the block judged slowly, and *mine is all that each
 * has.
 */
REF_SLOW void ref_finish(const ref_call *call, ref_verdict *mine, const ref_tally *own, bool slow)
{
    __shared__ ref_verdict total;
    ref_tally tally = *own;
    REF_ROLLED
    for (bool whole = false;; whole = true) {
        if (!slow)
            ref_block_tally(tally, &total);
        else if (!whole)
            ref_block_merge(mine, &total);
        else
            ref_merge_partials(call, mine, &total);
        if (whole)
            break;
        if (!ref_leave(call, &total))
            return;
        bool odd = false;
        tally = {};
        REF_ROLLED
        for (unsigned i = threadIdx.x; i < call->blocks; i += REF_THREADS)
            ref_tally_add(&tally, ref_tally_of(call->partial[i], &odd));
        slow = __syncthreads_or(odd);
    }
    if (threadIdx.x == 0)
        total.busy = ref_global_timer() - *ref_started();
    if (threadIdx.x < 32)
        ref_publish(call, &total);
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
    const ref_tally tally = ref_hot_tally(hot);
    bool slow = __syncthreads_or(hot.slow > 0);
    if (slow) {
        if (!hot.slow)
            ref_verdict_clear(cold);
        ref_settle(cold, hot);
    }
    ref_finish(call, cold, &tally, slow);
#else
    if (!hot.slow)
        ref_verdict_clear(cold);
    ref_settle(cold, hot);
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
