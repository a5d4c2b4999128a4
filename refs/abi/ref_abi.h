/*
 * ref_abi.h - what a reference is given and what it answers.
 *
 * The one contract between the references (refs/) and those who run them: the shim on the GPU,
 * the offline tools and unit tests on the host. Plain data, the same bytes for C, C++ and CUDA.
 * Bump REF_ABI whenever a struct here changes: library and fatbin are built together, but
 * compiled references may outlive a build.
 */
#ifndef REFS_REF_ABI_H
#define REFS_REF_ABI_H

#ifdef __CUDACC_RTC__
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef unsigned char uint8_t;
#else
#include <stdint.h>
#endif

#define REF_ABI 8

enum {
    REF_MAX_TENSORS = 12,
    REF_MAX_DIMS = 4,
    REF_MAX_SCALARS = 8,
    REF_MAX_SIZES = 16,
    REF_MAX_POINTS = 4,
    REF_POINT_MAY = 0x80,  /* beside the dtype of a point: it may be rounded there, or not */
    REF_THREADS = 256,     /* threads in a block of every reference kernel */
    REF_MAX_BLOCKS = 2048, /* blocks of one launch */
    REF_BATCH = 16,        /* calls of one launch at most */
};

/*
 * Element types. The last ones are ggml's block formats: a block of 32 elements (K formats: 256) is
 * some bytes of codes and scales, and can only be read (ref_blocks.h).
 */
enum dtype {
    DTYPE_NONE,
    DTYPE_F64,
    DTYPE_F32,
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_F8E4M3,
    DTYPE_F8E5M2,
    DTYPE_I8,
    DTYPE_I16,
    DTYPE_I32,
    DTYPE_I64,
    DTYPE_U8,
    DTYPE_U16,
    DTYPE_U32,
    DTYPE_U64,
    DTYPE_BOOL,
    DTYPE_Q4_0,
    DTYPE_Q4_1,
    DTYPE_Q5_0,
    DTYPE_Q5_1,
    DTYPE_Q8_0,
    DTYPE_Q8_1,
    DTYPE_IQ4_NL, /* the last with 32 elements */
    DTYPE_Q4_K,
    DTYPE_Q5_K,
    DTYPE_Q6_K,
    DTYPE_Q2_K,
    DTYPE_Q3_K,
    DTYPE_IQ4_XS,
    DTYPE_COUNT,
    DTYPE_LAST_BLOCK = DTYPE_IQ4_XS
};

/* How an output element is judged. */
enum tolerance_rule {
    RULE_BOUND,   /* the propagated error bound of the formula, see ref.h */
    RULE_CLOSE,   /* |got - y| <= atol + rtol * |y| */
    RULE_BITWISE, /* got == y rounded to the output's dtype, to nearest even; any NaN equals any NaN
                   */
    RULE_STOCHASTIC, /* as RULE_BOUND, but y may be rounded to either neighbour */
};

/* What an output holds in rows that are masked as a whole, where a formula divides 0 by 0. */
enum masked_rows {
    MASKED_NAN, /* what the formula gives */
    MASKED_ZERO,
    MASKED_ANY, /* NaN or 0 */
};

/*
 * One array of a reference: a view into a snapshot (GPU: device memory; host: memory).
 * Strides count elements and may be zero or negative-free only (>= 0). Of a block format dims count
 * elements too, but strides count bytes, the last one from a block to the next. `bytes` is the
 * length of what lies behind `in` and `got` from their base: every access is held against it, and
 * one that does not fit is refused, reads 0 and is counted in ref_verdict.refused. Memory goes on
 * for 32 bytes behind them at least: whole packs may be read there, and are not used.
 */
struct ref_tensor {
    const void *in; /* values before the launch; NULL: not given, every read yields `absent` */
    const void
        *got; /* values after the launch, for outputs; NULL: not given, nothing is compared */
    int64_t bytes;
    int64_t dim[REF_MAX_DIMS];
    int64_t stride[REF_MAX_DIMS];
    double absent;     /* the default of an optional input */
    double rtol, atol; /* RULE_CLOSE; of RULE_BOUND rtol is what a sum may lose besides its bound,
                        * as a share of |y| */
    uint8_t dtype;     /* enum dtype */
    uint8_t ndim;
    uint8_t rule;        /* enum tolerance_rule, for outputs */
    uint8_t accumulates; /* role acc: the expected value is `in` + the reference's value */
    uint32_t id;         /* the array's index in the signature, echoed in verdicts */
};

/* How a subject has exp, tanh and their like in f32, and how it divides. */
enum ref_functions {
    REF_FUNCTIONS_LIBM,  /* as the math library, within a few ulp */
    REF_FUNCTIONS_APPROX /* by the GPU's approximate instructions: nvcc --use_fast_math */
};

/* The answer about one launch, or of one block of it (partial). All counts are of elements. */
struct ref_verdict {
    uint64_t checked;
    uint64_t violations;     /* |got - y| over the bound, or another class */
    uint64_t class_mismatch; /* those of them where finite / +Inf / -Inf / NaN disagree */
    uint64_t wide;           /* more than half an ulp off, and the bound decides nothing: it is not
                                finite, or over 0.1 |y| and an ulp */
    uint64_t refused;        /* accesses outside a tensor's bytes */
    uint64_t first_index;    /* smallest linear index of a violation in first_tensor */
    uint64_t worst_index;    /* linear index (over the tensor's dims, row major) of the worst; none
                                (REF_NO_INDEX) where that is right and was not judged slowly */
    double max_abs;          /* max |got - y| over finite pairs; of those within half an ulp, a
                                special kernel for f16 or bf16 takes every eighth */
    double max_rel;          /* of the same: max |got - y| / |y|, y != 0 */
    double max_ratio;        /* max |got - y| / bound of elements more than half an ulp off; Inf for
                                a class mismatch */
    double worst_got, worst_ref, worst_bound;
    double first_got, first_ref, first_bound;
    uint64_t measured;     /* of how many the two sums are: finite pairs whose own error bound is
                              at most an ulp; beyond that a few would outweigh all others */
    double sum_square;     /* sum of ((got - y) / ulp)^2: R = 12 * mean */
    double sum_signed;     /* sum of (got - y) / ulp: signed bias */
    uint32_t first_tensor; /* ref_tensor.id */
    uint32_t worst_tensor;
    uint64_t busy;     /* nanoseconds that the call's blocks took, on the GPU; calls of one launch
                          run beside each other, so their times overlap */
    uint64_t sequence; /* host copy only: written last; equals ref_call.sequence when done */
};

/*
 * One run of a reference over one snapshot.
 *
 * Pieces: a big check runs as `pieces` launches; launch number `piece` covers the work items
 * [items * piece / pieces, items * (piece + 1) / pieces). Verdicts of pieces are merged on the
 * host with ref_verdict_merge (ref_merge.h).
 *
 * Store mode (store != NULL): nothing is compared; values of the tensor whose id is store_tensor
 * and whose linear index lies in [store_first, store_first + store_count) go to
 * store[index - store_first] as f64, unrounded. Elements that the reference does not visit
 * (a sampled subset) are left as they are.
 *
 * Answer on the GPU: each of the call's blocks writes an element of partial[0 .. blocks - 1], a
 * verdict or, in the same room, less (ref_answer.h); the last one to finish (by `ticket`, which it
 * resets to 0) merges them into *answer (pinned host memory), writes answer->sequence after a
 * system-scope fence. On the host the answer is written directly. Calls of one launch share none of
 * the three.
 */
struct ref_call {
    struct ref_tensor tensor[REF_MAX_TENSORS]; /* in the order of the array formals */
    double scalar[REF_MAX_SCALARS];            /* in the order of the real formals */
    int64_t size[REF_MAX_SIZES]; /* named dims in order of appearance, then int formals */
    uint64_t seed;               /* of a sampled subset */
    uint64_t sequence;
    double *store;
    int64_t store_first, store_count;
    struct ref_verdict *partial;
    struct ref_verdict *answer;
    uint32_t *ticket;
    double lambda;         /* of the sum bound lambda * sqrt(n) * u * S; default 8 */
    double unit_roundoff;  /* of the declared accumulator: 2^-24 f32, 2^-53 f64, ... */
    double input_roundoff; /* declared rounding of inputs (tf32: 2^-10), 0 for none */
    double underflow;      /* smallest normal of the accumulator: the flush-to-zero allowance */
    double inner_roundoff; /* declared rounding of a MIX's weights (bf16: 2^-8), 0 for none */
    double inner_least;    /* and what it may be off near zero: half the least number's size */
    double chain_roundoff; /* of sums that tensor cores truncate at every step (ref_chain), 0 for
                              none; REF_WIDE alone reads it */
    int64_t chain;         /* after so many terms they go on in the accumulator; 0: never */
    int64_t part, whole;   /* of the dim that is checked in part: items that the call has, and that
                              the launch has; zeros: the call has them all */
    int64_t launch_blocks; /* of the subject's launch; 0: not known */
    uint32_t launch_warps; /* in each of them */
    uint32_t lanes;        /* that share a row, as declared; 0: ref_depth.h */
    int32_t piece, pieces;
    uint32_t store_tensor;
    uint32_t group;                /* lanes that share a row: 32 or REF_THREADS; 1 on the host */
    uint8_t point[REF_MAX_POINTS]; /* by the order of the point formals: the dtype that the subject
                                      rounds to there, DTYPE_NONE for none, or REF_POINT_MAY */
    uint32_t masked_rows;          /* enum masked_rows */
    uint32_t functions;            /* enum ref_functions */
    uint32_t first_block, blocks;  /* of the launch, those that work on this call; GPU only */
};

/*
 * What a kernel is given, by value, as its only parameter: calls of one reference that run beside
 * each other. The launch has as many blocks as its calls together; ref_batch_add (ref_batch.h)
 * deals them out. Calls are independent of each other.
 *
 * The GPU takes in parameters before a kernel begins, and room for all calls among them would delay
 * each launch by 3 to 5 us. So a single call is a parameter, and several are in device memory.
 */
struct ref_batch {
    uint32_t calls, blocks;      /* of the launch */
    uint32_t first[REF_BATCH];   /* first_block of each call: in one place, since all blocks read */
    const struct ref_call *call; /* device memory; NULL: there is one call, `own` */
    struct ref_call own;
};

#endif
