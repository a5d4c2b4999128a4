/*
 * lift_abi.h - what a lifted kernel is given beside the parameters of the kernel that it is made
 * of, and where its threads add up what they find. The same bytes for C and CUDA.
 */
#ifndef LIFT_LIFT_ABI_H
#define LIFT_LIFT_ABI_H

#include "refs/abi/ref_abi.h"

/* One array: the program's memory from `base` on lies in the snapshot at `in` (before the launch)
 * and at `got` (after it). 0: it does not; then every access is refused. `id`: its ref_tensor.id,
 * by which verdicts name it. Of an array of rows (lift_view.rows) `bytes` are those of one row,
 * which lie one behind the other in the snapshot; in the program's memory `pitch` bytes apart,
 * fewer than `rows` of them. Where it is copied as a whole, `pitch` is 0 and `rows` LIFT_WHOLE. */
#define LIFT_WHOLE UINT64_MAX
struct lift_array {
    uint64_t base, in, got, bytes, id;
    uint64_t pitch, rows;
};

/* How an element is written, as the kernel has it in a register. */
enum lift_format {
    LIFT_F32,
    LIFT_F16,
    LIFT_BF16,
    LIFT_E4M3,
    LIFT_E5M2,
    LIFT_I8,
    LIFT_I16,
    LIFT_I32,
    LIFT_U8,
    LIFT_U16,
    LIFT_U32
};

enum { LIFT_PLACES = 64 };

/* A violation. `key` is written last. */
struct lift_place {
    uint64_t key;
    uint64_t tensor, index; /* a place in lift_call.array, an element */
    double got, ref, bound;
};

/* A number: its value, and a bound on the error that a correct kernel may have made in it. In the
 * shadows of shared memory a bound of LIFT_ENDS means bytes of rounded numbers: the bits of
 * the value are the bytes at both ends of what a correct kernel may have there, the lower end's
 * first. Any other bound below zero: no shadow is there. */
struct lift_number {
    double v, e;
};
enum { LIFT_ENDS = -2 };

/*
 * A product of matrices, as one thread has it: two rows of a, and for mma two columns of b, whose
 * numbers a thread's registers or shared memory hold. In local memory. Numbers of 8 bits have no
 * error, and are twice as many.
 */
enum { LIFT_DEPTH = 16, LIFT_DEPTH8 = 2 * LIFT_DEPTH };
enum lift_product_flags {
    LIFT_A_ACROSS = 1,
    LIFT_B_ACROSS = 2,
    LIFT_A_MINUS = 4,
    LIFT_B_MINUS = 8,
    LIFT_CUTS = 16,  /* sums keep 14 bits */
    LIFT_HALVES = 32 /* in two steps */
};
struct lift_product {
    uint64_t cells;            /* where the shadows of shared memory begin; 0: it has none */
    uint32_t shared;           /* the address in shared memory that the first of them belongs to */
    uint32_t cell;             /* bytes of shared memory that have one shadow */
    uint32_t format, format_b; /* enum lift_format; LIFT_F32: tf32 */
    uint32_t depth;
    uint32_t flags;
    uint32_t exact, reserved[3];  /* whether no number of a has an error */
    struct lift_number before[2]; /* of LIFT_CUTS: what the sums of both rows are added to */
    union {
        struct lift_number own[8]; /* numbers of a fragment, as the thread's registers have them */
        uint32_t word[4];          /* of numbers of 8 bits: the registers */
    };
    union {
        struct lift_number a[2][LIFT_DEPTH];
        double a8[2][LIFT_DEPTH8];
    };
    union {
        struct lift_number b[2][LIFT_DEPTH];
        double b8[2][LIFT_DEPTH8];
    };
};

/* A tensor map as a lifted kernel has it, in the place of the driver's, whose bytes are not public.
 * `bytes`: from the address to the end of the last element. */
enum { LIFT_MAP_DIMS = 5 };
struct lift_map {
    uint64_t address, bytes;
    uint64_t stride[LIFT_MAP_DIMS - 1]; /* in bytes, of the dims from the second on */
    uint32_t size[LIFT_MAP_DIMS], box[LIFT_MAP_DIMS];
    uint32_t rank, element; /* bytes of an element */
    uint32_t swizzle;       /* 0 to 3: rows of 2^swizzle chunks of 16 bytes, which are exchanged */
    uint32_t reserved[7];
};

/* A bulk copy as one thread has it, in local memory. The threads of a warp that come to it together
 * make the copies of all of them. */
struct lift_bulk {
    uint64_t map;                  /* a generic address */
    uint64_t array;                /* struct lift_array */
    uint64_t cells;                /* as in struct lift_product */
    uint32_t shared, cell;         /* the same */
    uint32_t at;                   /* of the box in shared memory */
    uint32_t mine;                 /* whether there is a copy of this thread */
    int32_t corner[LIFT_MAP_DIMS]; /* of the box in the tensor */
    uint32_t index;                /* the array's place in lift_call.array */
    uint32_t table;                /* of an array behind addresses: its table's; else 0 */
    uint32_t format, bytes;        /* of an element that has a shadow; others have `bytes` */
    uint32_t judged;               /* whether elements without a shadow are compared */
    uint32_t sent, mask, refused;  /* filled in: bytes of the box, threads, refused units */
};

/* Shadows of shared memory that find no room in it lie in device memory, in a place for each block
 * that runs at the time. These stand in front of the places, zeros at first. */
enum { LIFT_SLOTS = 256 };
struct lift_slot {
    uint32_t taken, ended; /* by a block; threads of it that have ended */
};

/* Sums over all threads; zeros at first, so everything is counted upwards. The answer has `reached`
 * as `measured`, for nothing is measured. */
struct lift_figures {
    uint64_t checked, violations, class_mismatch, wide, refused;
    uint64_t max_abs, max_rel, max_ratio; /* bits of f64, which are ordered as the numbers are */
    uint64_t worst;   /* (bits of the ratio in f32) << 32 | ~(low bits of the index) */
    uint64_t first;   /* ~(tensor << 48 | index), the largest; 0: none */
    uint64_t began;   /* ~(nanoseconds of the first thread) */
    uint64_t reached; /* bytes behind an address of a table, at most */
    uint64_t done;    /* threads */
    struct lift_place worst_place[LIFT_PLACES], first_place[LIFT_PLACES];
};

/* What store mode finds of one element, with `extremes`. */
enum { LIFT_LEAST, LIFT_MOST, LIFT_INDEX, LIFT_EXTREMES };

/* In device memory, 8-byte fields alone: the kernel's text names them by their offsets. */
struct lift_call {
    struct lift_array array[REF_MAX_TENSORS];
    uint64_t shared_bytes; /* of the launch, in whole units of 16 */
    uint64_t first_block;  /* along x */
    uint64_t blocks;       /* of the program's launch, along x */
    uint64_t threads;      /* that run */
    struct lift_figures *figures;
    struct ref_verdict *answer;
    uint64_t sequence;
    double *store; /* as in ref_call */
    int64_t store_first, store_count;
    int64_t store_tensor; /* lift_array.id */
    /* 1: `store` has LIFT_EXTREMES, NaNs at first, which become the least and the largest number
     * that is stored to element `store_first`, and the index that named its place. */
    uint64_t extremes;
    struct lift_slot *slots; /* LIFT_SLOTS, and the places behind them; NULL: they lie in shared */
    uint64_t slot_bytes;     /* of all places */
};

#endif
