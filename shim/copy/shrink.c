#include "copy/shrink.h"

#include <string.h>
#include "lang/dtype.h"

enum {
    FEWEST = 4,         /* units of items: a few blocks */
    FEWEST_GROUPS = 1,  /* where items have entries of another dim: they are few, and large */
    INDEX_SCRATCH = 20, /* bytes, at most: touch_scratch */
    VIEW_DIMS = REF_MAX_DIMS + 2
};

/* A tensor as its memory is: shares of the linked dim apart, blocks as bytes. */
struct view {
    int ndim, axis;
    int64_t dim[VIEW_DIMS], stride[VIEW_DIMS];
};

/* An array seen along the dim: `outer` times, `outer_stride` elements apart, the items, `stride`
 * apart, each of them `run` elements in a row. */
struct lie {
    int64_t outer, outer_stride, stride, run;
};

/* One promised dim of this launch. */
struct candidate {
    const struct formal_each *each;
    int64_t total, unit;
    int64_t share;            /* entries of the linked dim that an item has ... */
    bool common;              /* ... or there is but one, for all items */
    uint64_t fixed, per_item; /* bytes of the snapshot */
    int8_t axis[REF_MAX_TENSORS];
    bool linked[REF_MAX_TENSORS];                                  /* the axis is that dim */
    enum { UNSEEN, WHOLE, GATHERED, LISTED } how[SPEC_MAX_ARRAYS]; /* LISTED: some addresses */
    struct lie lie[SPEC_MAX_ARRAYS];
};

/* Adds an outer dim; false where a struct lie cannot describe the result. Dims come with ascending
 * strides. */
static bool put_dimension(struct lie *lie, int64_t span, int64_t dim, int64_t stride)
{
    if (stride < lie->stride) {
        if (stride != lie->run)
            return false;
        lie->run *= dim;
        return lie->run <= lie->stride;
    }
    if (lie->outer == 1) {
        lie->outer = dim;
        lie->outer_stride = stride;
        return stride >= span + lie->run;
    }
    if (stride != lie->outer * lie->outer_stride)
        return false;
    lie->outer *= dim;
    return true;
}

/* False where the axis is the one of which blocks are made. */
static bool axis_view(const struct ref_tensor *tensor, const struct bound_array *array, int axis,
                      int64_t share, struct view *out)
{
    *out = (struct view){.ndim = tensor->ndim, .axis = axis};
    for (int i = 0; i < tensor->ndim; i++) {
        out->dim[i] = tensor->dim[i];
        out->stride[i] = tensor->stride[i];
    }
    if (array->blocks != DTYPE_NONE) {
        if (axis == tensor->ndim - 1)
            return false;
        out->dim[tensor->ndim - 1] /= dtype_block(array->blocks);
        out->dim[out->ndim] = dtype_bytes(array->blocks);
        out->stride[out->ndim++] = 1;
    }
    out->dim[out->ndim] = share;
    out->stride[out->ndim++] = tensor->stride[axis];
    out->dim[axis] /= share;
    out->stride[axis] *= share;
    return true;
}

static bool lie_along(const struct view *view, struct lie *lie)
{
    unsigned done = 1u << view->axis;
    int64_t stride = view->stride[view->axis], span = (view->dim[view->axis] - 1) * stride;
    *lie = (struct lie){.outer = 1, .stride = stride, .run = 1};
    for (;;) {
        int next = -1;
        for (int i = 0; i < view->ndim; i++) {
            bool counts = view->dim[i] > 1 && view->stride[i] > 0 && !(done >> i & 1);
            if (counts && (next < 0 || view->stride[i] < view->stride[next]))
                next = i;
        }
        if (next < 0)
            return true;
        done |= 1u << next;
        if (!put_dimension(lie, span, view->dim[next], view->stride[next]))
            return false;
    }
}

static bool same_lie(const struct lie *a, const struct lie *b)
{
    return a->outer == b->outer && a->stride == b->stride && a->run == b->run &&
           (a->outer == 1 || a->outer_stride == b->outer_stride);
}

/* Whether the dim is that of the addresses, not folded with another. */
static bool is_of_list(const struct bound_array *array, const struct ref_tensor *tensor, int axis)
{
    return array->rows.listed && tensor->dim[axis] == array->dim[0] &&
           tensor->stride[axis] == array->stride[0];
}

/* A listed array: some of its addresses are chosen, and what lies behind them copied whole. */
static bool lie_of_array(struct candidate *c, const struct binding *binding, int index, int how)
{
    int list = bound_ids(&binding->array[index]);
    bool agrees = c->how[index] == UNSEEN || (int)c->how[index] == how;
    c->how[index] = how;
    if (how == LISTED) {
        c->how[list] = GATHERED;
        c->lie[list] = (struct lie){.outer = 1, .stride = 1, .run = 1};
    }
    return agrees;
}

/* The axis along which the formal has items, or entries of them; -1: it has none. */
static int take_axis(struct candidate *c, const struct formal *formal)
{
    int axis = formals_each_axis(formal, c->each);
    bool linked = axis >= 0 && formal->dim[axis].size == c->each->with;
    if (linked && c->common)
        axis = -1;
    c->axis[formal->slot] = (int8_t)axis;
    c->linked[formal->slot] = linked;
    return axis;
}

/* How the array behind one formal is copied; false where this formal and another one that is bound
 * to the same array disagree, or where it cannot be done. */
static bool lie_of_formal(struct candidate *c, const struct binding *binding,
                          const struct formals *formals, const struct formal *formal)
{
    int array = binding->tensor_array[formal->slot], axis = take_axis(c, formal);
    const struct ref_tensor *tensor = &binding->call.tensor[formal->slot];
    int64_t share = c->linked[formal->slot] ? c->share : 1;
    if (array < 0)
        return true;
    bool by_rows = c->each->by >= 0 && formals_touch(formals, formal, c->each->by);
    if (by_rows && bound_ids(&binding->array[array]) < 0)
        return false; /* the promise does not hold */
    if (formal->kind != FORMAL_IN && axis < 0 && !by_rows)
        return false;
    if (axis >= 0 && share == 1 && is_of_list(&binding->array[array], tensor, axis))
        return lie_of_array(c, binding, array, LISTED);
    if (bound_ids(&binding->array[array]) >= 0 && axis >= 0)
        return false; /* touched rows are gathered whole */
    if (binding->array[array].rows.listed)
        return lie_of_array(c, binding, array, WHOLE);
    struct lie lie = {0};
    struct view view;
    bool gathered = axis >= 0 && tensor->stride[axis] > 0; /* a broadcast dim has one item */
    if (gathered &&
        !(axis_view(tensor, &binding->array[array], axis, share, &view) && lie_along(&view, &lie)))
        return false;
    int how = gathered ? GATHERED : WHOLE;
    bool agrees = c->how[array] == UNSEEN ||
                  ((int)c->how[array] == how && (!gathered || same_lie(&lie, &c->lie[array])));
    c->how[array] = how;
    c->lie[array] = lie;
    return agrees;
}

/* Items after which addresses repeat modulo a unit of the copy kernel: a power of two. */
static int64_t unit_of(int64_t stride_bytes)
{
    int64_t unit = 1;
    while (stride_bytes * unit % SNAPSHOT_UNIT)
        unit *= 2;
    return unit;
}

/* What an array of which rows are touched adds: a row and some scratch for each of its indices. */
static void weigh_rows(struct candidate *c, const struct bound_array *array, uint64_t copies)
{
    const struct lie *lie = &c->lie[bound_ids(array)];
    uint64_t row = copies * (uint64_t)array->dim[1] * dtype_bytes(array->dtype) + INDEX_SCRATCH;
    if (c->how[bound_ids(array)] == GATHERED)
        c->per_item += row * (uint64_t)(lie->outer * lie->run);
    else
        c->fixed += row * (uint64_t)array->dim[0];
}

/* What the array adds to the snapshot. */
static void weigh(struct candidate *c, const struct bound_array *array, int index,
                  const struct placement *placement)
{
    const struct lie *lie = &c->lie[index];
    bool twice = placement->before != NOT_COPIED && placement->after != NOT_COPIED;
    uint64_t copies = twice ? 2 : 1;
    int64_t size = (int64_t)dtype_bytes(array->dtype);
    if (bound_ids(array) >= 0) {
        weigh_rows(c, array, copies);
        return;
    }
    if (c->how[index] != GATHERED) {
        c->fixed += copies * placement->bytes;
        return;
    }
    int64_t unit = unit_of(lie->stride * size);
    c->unit = unit > c->unit ? unit : c->unit;
    c->per_item +=
        copies * (uint64_t)lie->outer * snapshot_item_pitch(lie->run * size, lie->stride * size);
}

/* Sets the entries of the linked dim that an item has; false where the promise does not cover so
 * many. */
static bool link_dims(struct candidate *c, const struct binding *binding)
{
    const struct formal_each *each = c->each;
    int64_t entries = each->with >= 0 ? binding->call.size[each->with] : 0;
    c->share = 1;
    c->common = each->like && entries <= 1; /* none: no array has it in this launch */
    if (each->with < 0 || c->common)
        return true;
    if (each->like)
        return entries == c->total;
    c->share = entries / c->total;
    return c->share > 0 && entries % c->total == 0;
}

static bool has_groups(const struct candidate *c)
{
    return c->each->with >= 0 && !c->each->like;
}

static int64_t fewest_of(const struct candidate *c)
{
    return (has_groups(c) ? FEWEST_GROUPS : FEWEST) * c->unit;
}

/* Whether fewer items can be chosen than there are, and it is worth while. */
static bool has_enough(const struct candidate *c)
{
    return has_groups(c) ? c->total / c->unit > FEWEST_GROUPS : c->total > fewest_of(c) + c->unit;
}

/* Fills in what the dim would mean for this launch; false where it is of no use. */
static bool consider_size(struct candidate *c, const struct binding *binding,
                          const struct formals *formals, const struct formal_each *each,
                          const struct snapshot_plan *whole)
{
    c->each = each;
    c->total = binding->call.size[each->size];
    c->unit = 1;
    c->fixed = c->per_item = 0;
    memset(c->how, 0, sizeof c->how);
    memset(c->axis, -1, sizeof c->axis);
    if (each->given >= 0 && binding->tensor_array[each->given] < 0)
        return false;
    if (!link_dims(c, binding))
        return false;
    for (int i = 0; i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];
        if (formal_is_array(formal) && !lie_of_formal(c, binding, formals, formal))
            return false;
    }
    for (int i = 0; i < binding->arrays; i++)
        weigh(c, &binding->array[i], i, &whole->placement[i]);
    return c->per_item > 0 && has_enough(c);
}

/* Items for the aim, whether or not they are few enough. */
static int64_t items_for(const struct candidate *c, uint64_t aim)
{
    uint64_t room = aim > c->fixed && aim - c->fixed > aim / 4 ? aim - c->fixed : aim / 4;
    uint64_t count = room / c->per_item, least = (uint64_t)fewest_of(c);
    return (int64_t)(count > least ? count : least);
}

static uint64_t candidate_bytes(const struct candidate *c, int64_t items)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(c->per_item, (uint64_t)items, &bytes) ||
        __builtin_add_overflow(bytes, c->fixed, &bytes))
        return UINT64_MAX;
    return bytes;
}

/* The array's dims become [outer][items][run], so that the items are a dim of their own. */
static void unfold(struct bound_array *array, const struct lie *lie, int64_t total)
{
    int ndim = 0;
    if (lie->outer > 1) {
        array->dim[ndim] = lie->outer;
        array->stride[ndim++] = lie->outer_stride;
    }
    array->axis = ndim;
    array->dim[ndim] = total;
    array->stride[ndim++] = lie->stride;
    if (lie->stride > 1) {
        array->dim[ndim] = lie->run;
        array->stride[ndim++] = 1;
    }
    array->ndim = ndim;
}

/* As many rows are touched as indices are left. */
static void apply_rows(const struct candidate *c, struct binding *binding,
                       const struct formals *formals)
{
    int64_t rows[SPEC_MAX_ARRAYS];
    for (int i = 0; i < binding->arrays; i++) {
        struct bound_array *array = &binding->array[i];
        const struct lie *lie = bound_ids(array) >= 0 ? &c->lie[bound_ids(array)] : NULL;
        rows[i] = array->dim[0];
        if (!lie || c->how[bound_ids(array)] != GATHERED)
            continue;
        array->dim[0] = lie->outer * lie->run * binding->subset.count;
        array->bytes = (uint64_t)(array->dim[0] * array->dim[1]) * dtype_bytes(array->dtype);
    }
    for (int i = 0; i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];
        int array = formal_is_array(formal) ? binding->tensor_array[formal->slot] : -1;
        struct ref_tensor *tensor = &binding->call.tensor[formal->slot];
        if (array < 0 || bound_ids(&binding->array[array]) < 0)
            continue;
        /* The first dims: rows, or one of pages and places, the other of which is 1. */
        for (int d = 0; d < 2 && d < formal->ndim; d++) {
            int size = formal->dim[d].size;
            if (size < 0 || tensor->dim[d] != rows[array] || (d && tensor->dim[0] != 1))
                continue;
            tensor->dim[d] = binding->call.size[size] = binding->array[array].dim[0];
            break;
        }
    }
}

static bool apply_shrink(const struct candidate *c, struct binding *binding,
                         const struct formals *formals, int64_t items, uint64_t seed)
{
    struct subset *subset = &binding->subset;
    if (!subset_draw(subset, c->total, items, c->unit, seed))
        return false;
    const struct formal_each *each = c->each;
    bool linked = each->with >= 0 && !c->common;
    subset->dim = formals->size_name[each->size];
    subset->with = linked ? formals->size_name[each->with] : NULL;
    subset->share = c->share;
    memcpy(subset->axis, c->axis, sizeof subset->axis);
    memcpy(subset->linked, c->linked, sizeof subset->linked);
    for (int i = 0; i < binding->arrays; i++) {
        if (c->how[i] == GATHERED)
            unfold(&binding->array[i], &c->lie[i], c->total);
    }
    binding->call.size[each->size] = subset->count;
    binding->call.part = subset->count;
    binding->call.whole = subset->total;
    if (linked)
        binding->call.size[each->with] = subset->count * c->share;
    apply_rows(c, binding, formals);
    for (int i = 0; i < binding->tensors; i++) {
        if (c->axis[i] >= 0)
            binding->call.tensor[i].dim[c->axis[i]] = subset->count * (c->linked[i] ? c->share : 1);
    }
    return true;
}

bool shrink_binding(struct binding *binding, const struct formals *formals,
                    const struct snapshot_plan *whole, const struct shrink_limits *limits,
                    uint64_t seed)
{
    struct candidate candidate[2]; /* the best so far, and the one under examination */
    int best = -1, at = 0;
    uint64_t least = limits->most;
    for (int i = 0; i < formals->eaches && least > limits->aim; i++) {
        if (!consider_size(&candidate[at], binding, formals, &formals->each[i], whole))
            continue;
        uint64_t bytes = candidate_bytes(&candidate[at], items_for(&candidate[at], limits->aim));
        if (bytes >= least)
            continue;
        least = bytes;
        best = at;
        at = 1 - at;
    }
    return best >= 0 && apply_shrink(&candidate[best], binding, formals,
                                     items_for(&candidate[best], limits->aim), seed);
}

void shrink_explain(const struct binding *binding, const struct formals *formals, struct error *why)
{
    for (int i = 0; i < formals->eaches; i++) {
        struct candidate c = {.each = &formals->each[i]};
        const int64_t *size = binding->call.size;
        c.total = size[c.each->size];
        if (link_dims(&c, binding))
            continue;
        error_prefix(why,
                     c.each->like ? "%lld %s are neither one nor %lld %s"
                                  : "%lld %s are no multiple of %lld %s",
                     (long long)size[c.each->with], formals->size_name[c.each->with],
                     (long long)c.total, formals->size_name[c.each->size]);
        return;
    }
}
