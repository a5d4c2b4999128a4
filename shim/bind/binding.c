/*
 * binding.c - runs a plan for one launch.
 *
 * binding_make is the whole: numbers (binding_number.c: parameters into slots, lets), arrays with
 * their formals (dims, strides and the span of bytes, all checked against overflow; an array's dims
 * adapted to the rank that the reference declares, binding_shape.c), named sizes, reals, rounding.
 * Each array has two shapes: `geometry`, which describes only the bytes that a copy needs, and the
 * dims that a formal has. A block format is copied as bytes: an array of it is one of vectors of
 * bytes, a block each, until it is bound to a formal.
 *
 * This is the program's thread: fixed arrays, no call that could block, messages only on failure.
 */
#include "bind/binding_work.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum skip binding_refuse(struct evaluation *e, enum skip skip, const char *format, ...)
{
    if (!e->why)
        return skip;
    char sentence[sizeof e->why->text];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    error_set(e->why, STATUS_INVALID, "%s", sentence);
    return skip;
}

/* ---- arrays ---- */

/* Moves the address to the first item by its dims; a negative one lies in front of it. */
static enum skip start_at(struct evaluation *e, const struct plan_array *array,
                          const struct shape *shape, uint64_t *address)
{
    const char *name = array->item->name;
    int64_t element = dtype_bytes(binding_copied_as(array->item).dtype), items, sum = 0;
    for (unsigned i = 0; i < array->item->ndim; i++) {
        const struct expr *from = array->dim[i].from;
        enum skip skip = from ? binding_evaluate(e, from, name, &items) : SKIP_NONE;
        if (skip)
            return skip;
        if (from && (__builtin_mul_overflow(items, shape->stride[i], &items) ||
                     __builtin_add_overflow(sum, items, &sum) || sum > SPAN_LIMIT / element ||
                     sum < -SPAN_LIMIT / element))
            return binding_too_large(e, name);
    }
    *address += (uint64_t)(sum * element);
    return SKIP_NONE;
}

static enum skip bind_array(struct evaluation *e, const struct plan_array *array, int8_t *index)
{
    bool absent = false;
    uint64_t address = 0;
    *index = -1;
    enum skip skip = binding_address(e, array, &absent, &address);
    if (skip || absent)
        return skip;
    int64_t rows = 0;
    int8_t ids = -1;
    if (array->rows >= 0)
        skip = binding_rows(e, array, &rows, &ids);
    else if (array->list)
        skip = binding_list(e, array, address, &ids);
    if (skip)
        return skip;
    struct shape *shape = &e->shape[e->out->arrays];
    struct bound_array *bound = &e->out->array[e->out->arrays];
    struct type type = binding_copied_as(array->item), written = array->item->type;
    skip = binding_shape(e, array, address, rows, shape);
    if (skip)
        return skip;
    skip = start_at(e, array, shape, &address);
    if (skip)
        return skip;
    struct shape copied = *shape;
    binding_open_lanes(&copied, type.lanes);
    if (!dtype_block(written.dtype))
        *shape = copied;
    bound->name = array->item->name;
    bound->role = array->item->role;
    bound->dtype = type.dtype;
    bound->blocks = dtype_block(written.dtype) ? written.dtype : DTYPE_NONE;
    bound->address = address;
    bound->axis = -1;
    bound->guard = 0;
    bound->rows.by = ids + 1;
    bound->rows.listed = array->list != NULL;
    bound->rows.kept = false;
    skip = ids >= 0 ? binding_touch(e, array, &copied, shape, bound)
                    : binding_geometry(e, array->item, &copied, bound);
    if (skip)
        return skip;
    *index = (int8_t)e->out->arrays++;
    return SKIP_NONE;
}

/* ---- formals ---- */

/* Folds two neighbours among the outermost dims into one; false where memory does not allow it. */
static bool fold_outer(struct shape *shape)
{
    int gone =
        0; /* the dim that disappears: one of 1 if there is, else the outermost into the next */
    if (shape->dim[0] != 1 && shape->ndim > 1) {
        if (shape->dim[1] == 1)
            gone = 1;
        else if (shape->stride[0] != shape->dim[1] * shape->stride[1])
            return false;
        else if (__builtin_mul_overflow(shape->dim[0], shape->dim[1], &shape->dim[1]))
            return false; /* broadcast dims have no memory that would bound them */
    } else if (shape->dim[0] != 1) {
        return false;
    }
    shape->ndim--;
    for (int i = gone; i < shape->ndim; i++) {
        shape->dim[i] = shape->dim[i + 1];
        shape->stride[i] = shape->stride[i + 1];
    }
    return true;
}

static enum skip adapt_rank(struct evaluation *e, const struct formal *formal, const char *name,
                            bool is_touched, struct shape *shape)
{
    int before = shape->ndim;
    if (is_touched && before > formal->ndim)
        return binding_refuse(e, SKIP_SHAPE,
                              "'%s' has %d dims, formal '%s' takes %d; of touched rows none folds",
                              name, before, formal->name, formal->ndim);
    while (shape->ndim > formal->ndim) {
        if (!fold_outer(shape))
            return binding_refuse(
                e, SKIP_SHAPE,
                "'%s' has %d dims, formal '%s' takes %d, and the strides of the outer "
                "dims do not nest",
                name, before, formal->name, formal->ndim);
    }
    int extra = formal->ndim - shape->ndim;
    if (extra == 0)
        return SKIP_NONE;
    for (int i = formal->ndim - 1; i >= 0; i--) {
        shape->dim[i] = i >= extra ? shape->dim[i - extra] : 1;
        shape->stride[i] = i >= extra ? shape->stride[i - extra] : 0;
    }
    shape->ndim = formal->ndim;
    return SKIP_NONE;
}

static enum skip unify(struct evaluation *e, int size, int64_t value, const char *from)
{
    int64_t *known = &e->out->call.size[size];
    if (!e->size_from[size]) {
        e->size_from[size] = from;
        *known = value;
        return SKIP_NONE;
    }
    if (*known == value)
        return SKIP_NONE;
    return binding_refuse(e, SKIP_SHAPE, "%s is %lld by '%s' and %lld by '%s'",
                          e->plan->formals->size_name[size], (long long)*known, e->size_from[size],
                          (long long)value, from);
}

static void fill_tensor(struct evaluation *e, const struct formal *formal,
                        const struct shape *shape)
{
    const struct plan_tensor *plan = &e->plan->tensor[formal->slot];
    const struct signature_item *item = e->plan->array[plan->array].item;
    struct ref_tensor *tensor = &e->out->call.tensor[formal->slot];
    for (int i = 0; i < shape->ndim; i++) {
        tensor->dim[i] = shape->dim[i];
        tensor->stride[i] = shape->stride[i];
    }
    tensor->dtype = (uint8_t)item->type.dtype;
    tensor->id = item->number;
    if (formal->kind == FORMAL_IN)
        return;
    tensor->rule = (uint8_t)plan->tolerance.rule;
    tensor->rtol = plan->tolerance.rtol;
    tensor->atol = plan->tolerance.atol;
    tensor->accumulates = item->role == ROLE_ACC;
}

/* Where blocks were the last dim, the formal's is their elements. */
static enum skip open_blocks(struct evaluation *e, const struct formal *formal,
                             const struct bound_array *array, struct shape *shape)
{
    if (array->blocks == DTYPE_NONE)
        return SKIP_NONE;
    if (shape->ndim == 0)
        return binding_refuse(e, SKIP_SHAPE, "'%s' is a block of %s, formal '%s' takes one element",
                              array->name, dtype_text(array->blocks), formal->name);
    int64_t *last = &shape->dim[shape->ndim - 1];
    return __builtin_mul_overflow(*last, (int64_t)dtype_block(array->blocks), last)
               ? binding_too_large(e, array->name)
               : SKIP_NONE;
}

/* What reports name elements by, where adapt_rank will change the dims. */
static void keep_own_dims(struct binding *out, const struct formal *formal,
                          const struct shape *shape)
{
    if (shape->ndim == formal->ndim)
        return;
    out->own_ndim[formal->slot] = (uint8_t)shape->ndim;
    memcpy(out->own_dim[formal->slot], shape->dim, sizeof shape->dim);
}

static enum skip bind_formal(struct evaluation *e, const struct formal *formal)
{
    int8_t index = e->out->tensor_array[formal->slot];
    struct ref_tensor *tensor = &e->out->call.tensor[formal->slot];
    tensor->ndim = (uint8_t)formal->ndim;
    tensor->absent = formal->fallback;
    tensor->id = UINT32_MAX;
    if (index < 0 && formal->optional)
        return SKIP_NONE;
    if (index < 0) {
        const struct plan_array *array = &e->plan->array[e->plan->tensor[formal->slot].array];
        return binding_refuse(e, SKIP_NULL_POINTER,
                              "'%s' is absent, and the reference needs it for '%s'",
                              array->item->name, formal->name);
    }
    struct shape shape = e->shape[index];
    const char *name = e->out->array[index].name;
    bool is_touched = bound_ids(&e->out->array[index]) >= 0 && !e->out->array[index].rows.listed;
    keep_own_dims(e->out, formal, &shape);
    enum skip skip = adapt_rank(e, formal, name, is_touched, &shape);
    if (!skip)
        skip = open_blocks(e, formal, &e->out->array[index], &shape);
    for (int i = 0; !skip && i < formal->ndim; i++) {
        const struct formal_dim *dim = &formal->dim[i];
        if (dim->size >= 0)
            skip = unify(e, dim->size, shape.dim[i], name);
        else if (dim->literal != shape.dim[i])
            skip = binding_refuse(e, SKIP_SHAPE, "dim %d of '%s' is %lld; formal '%s' takes %lld",
                                  i, name, (long long)shape.dim[i], formal->name,
                                  (long long)dim->literal);
    }
    if (!skip)
        fill_tensor(e, formal, &shape);
    return skip;
}

/* Those with touched rows, or those without. */
static enum skip add_arrays(struct evaluation *e, bool touched)
{
    const struct formals *formals = e->plan->formals;
    enum skip skip = SKIP_NONE;
    for (int i = 0; i < formals->tensors; i++) {
        int array = e->plan->tensor[i].array;
        if (array < 0 || (e->plan->array[array].rows >= 0) != touched)
            continue;
        for (int j = 0; j < i && array >= 0; j++) { /* in and out of an inout argument share it */
            if (e->plan->tensor[j].array == array) {
                e->out->tensor_array[i] = e->out->tensor_array[j];
                array = -1;
            }
        }
        if (array >= 0)
            skip = bind_array(e, &e->plan->array[array], &e->out->tensor_array[i]);
        if (skip)
            return skip;
    }
    return SKIP_NONE;
}

static enum skip bind_arrays(struct evaluation *e)
{
    const struct formals *formals = e->plan->formals;
    memset(e->out->tensor_array, -1, sizeof e->out->tensor_array);
    enum skip skip = add_arrays(e, false);
    if (!skip && e->plan->touched)
        skip = add_arrays(e, true);
    if (!skip && (e->plan->touched || e->plan->listed))
        skip = binding_touched(e);
    if (!skip && e->plan->values)
        skip = binding_add_values(e);
    e->out->tensors = formals->tensors;
    for (int i = 0; !skip && i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];
        if (formal_is_array(formal))
            skip = bind_formal(e, formal);
    }
    return skip;
}

static enum skip bind_sizes(struct evaluation *e)
{
    for (unsigned i = 0; i < e->plan->sizes; i++) {
        const struct plan_size *size = &e->plan->size[i];
        int64_t value = size->value;
        if (size->reads)
            continue;
        enum skip skip =
            size->expr ? binding_evaluate(e, size->expr, size->source, &value) : SKIP_NONE;
        if (!skip)
            skip = unify(e, size->size, value, size->source);
        if (skip)
            return skip;
    }
    return SKIP_NONE;
}

/* Elements of all outputs: they share the false-alarm rate of a launch. */
static double lambda_of(const struct binding_plan *plan, const struct binding *binding)
{
    double sum = 0;
    for (int i = 0; i < plan->formals->count; i++) {
        const struct formal *formal = &plan->formals->formal[i];
        const struct ref_tensor *tensor = &binding->call.tensor[formal->slot];
        double elements = 1;
        if (!formal_is_array(formal) || formal->kind == FORMAL_IN ||
            binding->tensor_array[formal->slot] < 0)
            continue;
        for (int j = 0; j < tensor->ndim; j++)
            elements *= (double)tensor->dim[j];
        sum += elements;
    }
    return tolerance_lambda(&plan->tolerance, sum);
}

static void set_product_loss(const struct binding_plan *plan, struct ref_call *call)
{
    const struct formals *formals = plan->formals;
    const struct formal_product *product = &formals->product;
    const struct formal_sums *sums = &formals->sums;
    if (!formals->has_product && !sums->dims)
        return;
    const bool whole = formals->has_product;
    struct ref_tensor *out = &call->tensor[whole ? product->out : sums->out];
    double terms = whole ? (double)call->size[product->sum] : 1;
    for (int i = 0; i < sums->dims; i++)
        terms *= (double)call->size[sums->size[i]];
    if (out->rule == RULE_BOUND)
        out->rtol = tolerance_product_loss(
            &plan->tolerance, (enum dtype)call->tensor[whole ? product->a : sums->a].dtype,
            (enum dtype)call->tensor[whole ? product->b : sums->b].dtype, terms);
}

void binding_set_bound(const struct binding_plan *plan, struct binding *binding)
{
    binding->call.lambda = lambda_of(plan, binding);
    set_product_loss(plan, &binding->call);
}

/* What ref_depth.h derives the lanes of a sum from. Atomics add to an array one after the other,
 * whatever the grid, so with one that is added to the grid is left out. */
static void set_lanes(struct ref_call *call, const struct launch *launch, uint32_t declared,
                      int tensors)
{
    const uint32_t *grid = launch->grid, *block = launch->block;
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    bool adds = false;
    for (int i = 0; i < tensors; i++)
        adds = adds || call->tensor[i].accumulates;
    call->lanes = declared;
    call->launch_blocks = adds ? 0 : (int64_t)blocks;
    call->launch_warps = (uint32_t)(threads / 32);
}

/* Shapes of absent tensors follow from their neighbours; everything else is the same each time. */
static void finish_call(struct evaluation *e)
{
    struct ref_call *call = &e->out->call;
    const struct formals *formals = e->plan->formals;
    const struct tolerance *tolerance = &e->plan->tolerance;
    for (int i = 0; i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];
        if (!formal_is_array(formal) || e->out->tensor_array[formal->slot] >= 0)
            continue;
        for (int j = 0; j < formal->ndim; j++) {
            int size = formal->dim[j].size;
            call->tensor[formal->slot].dim[j] =
                size >= 0 ? call->size[size] : formal->dim[j].literal;
        }
    }
    binding_set_bound(e->plan, e->out);
    call->unit_roundoff = tolerance_roundoff(tolerance->accumulate);
    call->input_roundoff = tolerance->input_roundoff;
    call->underflow = tolerance_underflow(tolerance->accumulate);
    call->inner_roundoff = tolerance->inner.roundoff;
    call->inner_least = tolerance->inner.least;
    call->chain_roundoff = tolerance->chain.roundoff;
    call->chain = tolerance->chain.terms;
    call->pieces = 1;
    set_lanes(call, e->launch, tolerance->lanes, e->out->tensors);
    call->masked_rows = tolerance->masked_rows;
    call->functions = tolerance->functions;
    memcpy(call->point, e->plan->point, sizeof call->point);
}

enum skip binding_make(const struct kernel_spec *spec, const struct launch *launch,
                       struct binding *out, struct error *why)
{
    struct evaluation e;
    e.plan = spec->plan;
    e.launch = launch;
    e.out = out;
    e.why = why;
    e.slot = out->slot;
    memset(e.size_from, 0, sizeof e.size_from);
    memset(&out->call, 0, sizeof out->call);
    memset(out->own_ndim, 0, sizeof out->own_ndim);
    out->arrays = 0;
    out->tensors = 0;
    out->subset.dim = NULL;
    out->values = out->picks = 0;
    out->narrows = 0;
    enum skip skip = binding_numbers(&e);
    if (!skip)
        skip = bind_arrays(&e);
    if (!skip)
        skip = bind_sizes(&e);
    if (!skip)
        skip = binding_reals(&e);
    if (!skip)
        finish_call(&e);
    return skip;
}
