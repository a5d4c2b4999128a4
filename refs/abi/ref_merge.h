/* ref_merge.h - fold one verdict into another: blocks on the GPU, pieces on the host. */
#ifndef REFS_REF_MERGE_H
#define REFS_REF_MERGE_H

#include "ref_abi.h"

#ifdef __CUDACC__
#define REF_SHARED_FN static inline __host__ __device__
#else
#define REF_SHARED_FN static inline
#endif

#define REF_NO_INDEX (~(uint64_t)0)

/* The verdict of nothing checked. */
REF_SHARED_FN void ref_verdict_clear(struct ref_verdict *v)
{
    struct ref_verdict zero = {};
    zero.first_index = REF_NO_INDEX;
    zero.worst_index = REF_NO_INDEX;
    *v = zero;
}

/* Adds b to a. The first violation is the one of the smaller (tensor id, index); the worst has an
 * index where it was judged element by element, as every violation is. */
REF_SHARED_FN void ref_verdict_merge(struct ref_verdict *a, const struct ref_verdict *b)
{
    a->checked += b->checked;
    a->violations += b->violations;
    a->class_mismatch += b->class_mismatch;
    a->wide += b->wide;
    a->refused += b->refused;
    a->busy += b->busy;
    a->measured += b->measured;
    a->sum_square += b->sum_square;
    a->sum_signed += b->sum_signed;
    if (b->max_abs > a->max_abs)
        a->max_abs = b->max_abs;
    if (b->max_rel > a->max_rel)
        a->max_rel = b->max_rel;
    if (b->first_index != REF_NO_INDEX &&
        (a->first_index == REF_NO_INDEX || b->first_tensor < a->first_tensor ||
         (b->first_tensor == a->first_tensor && b->first_index < a->first_index))) {
        a->first_index = b->first_index;
        a->first_tensor = b->first_tensor;
        a->first_got = b->first_got;
        a->first_ref = b->first_ref;
        a->first_bound = b->first_bound;
    }
    if (b->max_ratio > a->max_ratio ||
        (b->max_ratio == a->max_ratio && a->worst_index == REF_NO_INDEX)) {
        a->max_ratio = b->max_ratio;
        a->worst_index = b->worst_index;
        a->worst_tensor = b->worst_tensor;
        a->worst_got = b->worst_got;
        a->worst_ref = b->worst_ref;
        a->worst_bound = b->worst_bound;
    }
}

#endif
