/*
 * ref_answer.h - adding up the answer: a thread's figures, a block's, the call's.
 *
 * A thread's hot figures go into its verdict, the verdicts of a block's threads into one, and the
 * last block of a call to finish makes the call's answer of those of all blocks.
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

/* What one lane alone can tell: counts that are seldom other than 0, and the first violation.
 * The rest of its verdict has been merged and is taken out. */
REF_FN void ref_merge_rare(ref_verdict *mine, ref_verdict *out)
{
    mine->checked = 0;
    mine->measured = 0;
    mine->sum_square = mine->sum_signed = 0;
    mine->max_abs = mine->max_rel = mine->max_ratio = 0;
    mine->worst_index = REF_NO_INDEX;
    ref_merge_slowly(out, mine);
}

/* The warp's verdict in *out: sums and maxima by shuffles, the worst by a lane that has it. */
REF_FN void ref_warp_merge(ref_verdict *mine, ref_verdict *out)
{
    const unsigned all = 0xffffffffu;
    unsigned lane = threadIdx.x & 31;
    unsigned long long checked = mine->checked, measured = mine->measured;
    double square = mine->sum_square, bias = mine->sum_signed;
    double max_abs = mine->max_abs, max_rel = mine->max_rel, ratio = mine->max_ratio;
    ref_warp_add(checked, measured, square, bias);
    ref_warp_max(max_abs, max_rel, ratio);
    unsigned holders =
        __ballot_sync(all, mine->worst_index != REF_NO_INDEX && mine->max_ratio == ratio);
    bool rare = mine->violations | mine->class_mismatch | mine->wide | mine->refused;
    unsigned turns = __ballot_sync(all, rare);
    if (lane == 0) {
        ref_verdict_clear(out);
        out->checked = checked;
        out->measured = measured;
        out->sum_square = square;
        out->sum_signed = bias;
        out->max_abs = max_abs;
        out->max_rel = max_rel;
        out->max_ratio = ratio;
    }
    __syncwarp();
    if (holders && lane == (unsigned)__ffs((int)holders) - 1) {
        out->worst_index = mine->worst_index;
        out->worst_tensor = mine->worst_tensor;
        out->worst_got = mine->worst_got;
        out->worst_ref = mine->worst_ref;
        out->worst_bound = mine->worst_bound;
    }
    REF_ROLLED
    for (; turns; turns &= turns - 1) {
        __syncwarp();
        if (lane == (unsigned)__ffs((int)turns) - 1)
            ref_merge_rare(mine, out);
    }
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

/* Block answers, then by the last block the whole answer. `mine` is used up: a thread's local
 * memory is reserved for every thread that the GPU can hold, so there is only this one verdict. */
REF_SLOW void ref_finish(const ref_call *call, ref_verdict *mine)
{
    __shared__ ref_verdict total;
    __shared__ bool last;
    ref_block_merge(mine, &total);
    if (threadIdx.x < 32)
        ref_copy_verdict(&call->partial[blockIdx.x - call->first_block], &total, REF_VERDICT_WORDS);
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(call->ticket, call->blocks - 1) == call->blocks - 1;
    }
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    if (threadIdx.x < call->blocks)
        *mine = call->partial[threadIdx.x]; /* all of its words at once */
    else
        ref_verdict_clear(mine);
    REF_ROLLED
    for (unsigned i = threadIdx.x + REF_THREADS; i < call->blocks; i += REF_THREADS)
        ref_merge_slowly(mine, &call->partial[i]);
    ref_block_merge(mine, &total);
    if (threadIdx.x == 0)
        total.busy = ref_global_timer() - *ref_started();
    if (threadIdx.x < 32)
        ref_publish(call, &total);
}

#else

static inline void ref_start_clock()
{
}

static inline void ref_finish(const ref_call *call, ref_verdict *mine)
{
    *call->answer = *mine;
    call->answer->sequence = call->sequence;
}

#endif

/* A thread's first deeds. */
template <class E> REF_FN void ref_begin(ref_verdict *cold)
{
    ref_start_clock();
    ref_start_peaks<E>();
    ref_verdict_clear(cold);
}

/* The first and the last with bounds in f64, once in the code. */
REF_SLOW void ref_begin_wide(ref_verdict *cold, ref_hot<double> *hot)
{
    ref_begin<double>(cold);
    ref_hot_clear(*hot);
}

REF_SLOW void ref_end_wide(const ref_call *call, ref_verdict *cold, const ref_hot<double> *hot)
{
    ref_settle(cold, *hot);
    ref_finish(call, cold);
}

#endif
