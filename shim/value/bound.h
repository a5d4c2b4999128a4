/*
 * bound.h - one launch's arguments as the views that a reference needs: arrays, subset, call.
 *
 * A plain value, which binding.h makes. Addresses are the program's; the snapshot replaces them by
 * its own.
 */
#ifndef VALUE_BOUND_H
#define VALUE_BOUND_H

#include <stdbool.h>
#include <stdint.h>
#include "device/snapshot_abi.h"
#include "refs/abi/ref_abi.h"
#include "value/kernel_spec.h"
#include "value/subset.h"

/*
 * Rows of an array that another array names: only these are copied, one for each element of
 * `ids`, and numbered by these. Row i starts i / page * stride[0] + i % page * stride[1] elements
 * behind the array's address, and is `runs` runs of `run` elements, `run_stride` elements apart.
 *
 * Or the elements of `ids` are the addresses of the rows (`listed`): then ids is the list, an array
 * of u64 without a formal, whose address the listed array has, too; page, stride and limit are
 * unused, and the rows' addresses exist on the GPU alone.
 */
struct bound_rows {
    int by; /* 1 + index of ids in binding.array; 0: all are copied */
    bool listed;
    int64_t page, stride[2];       /* page 1: stride[1] is 0 */
    int64_t runs, run_stride, run; /* elements */
    int64_t limit;                 /* rows from here on lie outside the array's memory */
    uint64_t reach; /* bytes from the first row's start to its end; of listed rows that may end with
                       their memory those that there are at least */
    bool kept;      /* the indices are not numbered anew */
};

/* One array argument of this launch that is copied. Of one with touched rows dims, strides and
 * bytes are those of its dense copy. */
struct bound_array {
    const char *name; /* owned by the signature */
    enum role role;
    enum dtype dtype;
    enum dtype blocks; /* the format of these bytes (dtype u8), or NONE */
    uint64_t address;  /* device address of element 0 */
    int ndim;          /* adjacent dims that lie densely are folded: 1 dim means contiguous */
    int64_t dim[8];    /* elements, outermost first */
    int64_t stride[8]; /* elements */
    uint64_t bytes;    /* of the span from address to the end of the last element */
    struct bound_rows rows;
    int axis;      /* dim whose chosen items alone are copied, see subset.h; -1: all are */
    int guard;     /* 1 + the cache of which these rows are to stay as they are, see state/guard.h;
                      0: none */
    int64_t first; /* row of that cache that the first one is */
};

/* Slots of a plan's expressions, see plan.h. */
enum {
    BINDING_SLOTS = 64,
    BINDING_NUMBERS = 8,
    BINDING_NARROWS = 4,
    BINDING_PICKS = 2,
    BOUND_DIMS = 8
};

/* A drawn value: the check covers that one alone. */
struct bound_pick {
    const char *name;     /* owned by the plan */
    int64_t value, count; /* of 0 to below count */
};

/* A named dim of which only the first items are judged: how many hold anything the kernel read from
 * memory. */
struct bound_narrow {
    const char *dim;    /* owned by the plan */
    int64_t valid, all; /* items of the launch */
};

/* Which array stands behind a tensor of the ref_call. */
struct binding {
    int arrays;
    struct bound_array array[SPEC_MAX_ARRAYS];
    int8_t tensor_array[REF_MAX_TENSORS]; /* index into array, or -1: formal not bound */
    int tensors;
    /* The signature's dims of a tensor whose formal has another number of them; 0: the same. */
    uint8_t own_ndim[REF_MAX_TENSORS];
    int64_t own_dim[REF_MAX_TENSORS][BOUND_DIMS];
    struct ref_call call; /* tensors (all but in/got/bytes and strides, which the snapshot fills
                             in from the packing it chose), scalars, sizes, tolerances, group */
    struct subset subset; /* the items that `call` is about; array[] describes the whole launch */
    unsigned picks;
    struct bound_pick pick[BINDING_PICKS];
    /* What the collector fills in when the copies are there, see binding_read. */
    unsigned values;                     /* elements of memory that something depends on ... */
    int8_t value_array[SNAPSHOT_VALUES]; /* ... and the arrays that they are; -1: absent */
    int64_t slot[BINDING_SLOTS];         /* of the launch's expressions, where values > 0 */
    double number[BINDING_NUMBERS];      /* what its real expressions read besides */
    int narrows;
    struct bound_narrow narrow[BINDING_NARROWS];
};

/* Whether some items of the array are copied and others not. */
static inline bool binding_gathers(const struct binding *binding, int array)
{
    return binding->subset.dim && binding->array[array].axis >= 0;
}

/* The array whose elements name the rows that are touched, or -1: all are. */
static inline int bound_ids(const struct bound_array *array)
{
    return array->rows.by - 1;
}

/* Bytes of the program's memory from the array's address on that are known to be the array's. */
static inline uint64_t bound_reach(const struct bound_array *array)
{
    return array->rows.listed ? 0 : array->rows.by ? array->rows.reach : array->bytes;
}

/* Whether two arrays are known to share memory. */
static inline bool bound_overlap(const struct bound_array *a, const struct bound_array *b)
{
    return bound_reach(a) && bound_reach(b) && a->address < b->address + bound_reach(b) &&
           b->address < a->address + bound_reach(a);
}

/* Whether the array is a list of addresses, and no data of the kernel's. */
static inline bool binding_is_list(const struct binding *binding, int array)
{
    for (int i = 0; i < binding->arrays; i++) {
        if (binding->array[i].rows.listed && bound_ids(&binding->array[i]) == array)
            return true;
    }
    return false;
}

/* Elements of the array's dim in the check. */
static inline int64_t binding_seen(const struct binding *binding, int array, int dim)
{
    const struct bound_array *of = &binding->array[array];
    return binding_gathers(binding, array) && dim == of->axis ? binding->subset.count
                                                              : of->dim[dim];
}

/* Whether the contract declares a rounding point. */
static inline bool binding_has_points(const struct ref_call *call)
{
    for (int i = 0; i < REF_MAX_POINTS; i++) {
        if (call->point[i] != DTYPE_NONE)
            return true;
    }
    return false;
}

#endif
