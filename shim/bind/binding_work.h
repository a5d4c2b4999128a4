/* binding_work.h - a launch's binding in the making, shared by binding.c (numbers, formals),
 * binding_shape.c (dims, strides, what lies where) and binding_touch.c (touched rows). */
#ifndef BIND_BINDING_WORK_H
#define BIND_BINDING_WORK_H

#include "bind/binding.h"
#include "plan/plan.h"

#define SPAN_LIMIT ((int64_t)1 << 48) /* bytes; no GPU has that many */

enum { SHAPE_DIMS = BOUND_DIMS };

struct shape {
    int ndim;
    /* In elements; of a block format the last dim is in blocks, and strides are in bytes. */
    int64_t dim[SHAPE_DIMS], stride[SHAPE_DIMS];
};

struct evaluation {
    const struct binding_plan *plan;
    const struct launch *launch;
    struct binding *out;
    struct error *why;
    int64_t *slot;                        /* out->slot */
    struct shape shape[SPEC_MAX_ARRAYS];  /* of out->array, vectors opened, before any folding */
    const char *size_from[REF_MAX_SIZES]; /* the array that set the size; NULL: not set */
};

/* Writes the sentence and returns the reason. */
enum skip binding_refuse(struct evaluation *e, enum skip skip, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

enum skip binding_evaluate(struct evaluation *e, const struct expr *expr, const char *what,
                           int64_t *out);

/* The same of a real expression, once its numbers are there. */
enum skip binding_evaluate_real(struct evaluation *e, const struct expr *expr, double *out);

/* All that expressions read: parameters, lets, picks. Then the real formals, but for those that
 * wait for memory. */
enum skip binding_numbers(struct evaluation *e);
enum skip binding_reals(struct evaluation *e);

/* Whether the array takes part in this launch, and its address. */
enum skip binding_address(struct evaluation *e, const struct plan_array *array, bool *absent,
                          uint64_t *address);

/* An integer of that type from its bits, zero beyond its bytes. */
enum skip binding_integer(struct evaluation *e, const char *name, enum dtype dtype, uint64_t raw,
                          int64_t *out);

/* What of the bound depends on sizes: ref_call.lambda, by the number of outputs, and what a product
 * may lose besides, by its terms. */
void binding_set_bound(const struct binding_plan *plan, struct binding *binding);

/* binding_value.c: adds the elements of memory that the plan reads to the launch's arrays. */
enum skip binding_add_values(struct evaluation *e);

enum skip binding_too_large(struct evaluation *e, const char *name);

/* What an array is copied as: blocks as vectors of bytes. */
static inline struct type binding_copied_as(const struct signature_item *item)
{
    enum dtype dtype = item->type.dtype;
    return dtype_block(dtype) ? (struct type){DTYPE_U8, dtype_bytes(dtype)} : item->type;
}

/* The array's dims and strides for this launch, vectors and blocks counted as one. Of touched rows
 * the first dim is how many there are, `rows`, and a place in a page is one. */
enum skip binding_shape(struct evaluation *e, const struct plan_array *array, uint64_t address,
                        int64_t rows, struct shape *shape);

/* Lanes of a vector melt into the last dim where it is dense, else they are a dim of their own. */
void binding_open_lanes(struct shape *shape, int64_t lanes);

/* Fills the array's folded dims, innermost stride 1, and its span. */
enum skip binding_geometry(struct evaluation *e, const struct signature_item *item,
                           const struct shape *shape, struct bound_array *array);

/* Index of the last element, from the first. False when it is beyond the limit. */
bool binding_last(const struct shape *shape, int64_t limit, int64_t *out);

/* The dims by stride, outermost first; and whether two index tuples of such may name one element.
 */
void binding_sorted(const struct shape *shape, struct shape *out);
bool binding_overlaps(const struct shape *sorted);

/* How many rows the array of indices names; 0 and a reason where it cannot. */
enum skip binding_rows(struct evaluation *e, const struct plan_array *array, int64_t *rows,
                       int8_t *ids);

/* Adds the list of a listed array's addresses, which lies at `address`. */
enum skip binding_list(struct evaluation *e, const struct plan_array *array, uint64_t address,
                       int8_t *ids);

/* How many items the dim has: 1 or more. */
enum skip binding_extent(struct evaluation *e, const struct plan_array *array,
                         const struct plan_dim *dim, int64_t *out);

/* The geometry of an array with touched rows: in the program's memory, and, densely, in the
 * snapshot, whose strides go into `shape`. `copied` is the shape with its lanes opened. */
enum skip binding_touch(struct evaluation *e, const struct plan_array *array,
                        const struct shape *copied, struct shape *shape, struct bound_array *bound);

/* Once all arrays are there. */
enum skip binding_touched(struct evaluation *e);

#endif
