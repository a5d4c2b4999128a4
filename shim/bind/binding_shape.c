/*
 * binding_shape.c - the dims and strides of a launch's arrays, and which memory they are.
 */
#include "bind/binding_work.h"

#include "bind/extent.h"

enum skip binding_too_large(struct evaluation *e, const char *name)
{
    return binding_refuse(e, SKIP_SHAPE, "'%s' would span more than 2^48 bytes", name);
}

static enum skip evaluate_stride(struct evaluation *e, const struct plan_array *array,
                                 const struct plan_dim *dim, int64_t dense, int64_t *out)
{
    const struct signature_item *item = array->item;
    struct type type = binding_copied_as(item);
    int64_t element = dtype_bytes(type.dtype), lanes = type.lanes, stride = dense;
    if (dim->stride) {
        enum skip skip = binding_evaluate(e, dim->stride, item->name, &stride);
        if (skip)
            return skip;
        if (stride < 0)
            return binding_refuse(e, SKIP_SHAPE, "'%s': stride %s is %lld", item->name,
                                  expr_text(dim->stride), (long long)stride);
        if (dim->stride_bytes && stride % element != 0)
            return binding_refuse(e, SKIP_SHAPE,
                                  "'%s': stride %s is %lld bytes, no multiple of %lld", item->name,
                                  expr_text(dim->stride), (long long)stride, (long long)element);
        if (dim->stride_bytes)
            stride /= element;
        else if (__builtin_mul_overflow(stride, lanes, &stride))
            return binding_too_large(e, item->name);
    }
    *out = stride;
    return stride > SPAN_LIMIT ? binding_too_large(e, item->name) : SKIP_NONE;
}

enum skip binding_extent(struct evaluation *e, const struct plan_array *array,
                         const struct plan_dim *dim, int64_t *out)
{
    const char *name = array->item->name;
    enum skip skip = binding_evaluate(e, dim->extent, name, out);
    if (skip)
        return skip;
    if (*out < 0)
        return binding_refuse(e, SKIP_SHAPE, "'%s': extent %s is %lld", name,
                              expr_text(dim->extent), (long long)*out);
    if (*out == 0)
        return binding_refuse(e, SKIP_EMPTY, "'%s': extent %s is 0", name, expr_text(dim->extent));
    return *out > SPAN_LIMIT ? binding_too_large(e, name) : SKIP_NONE;
}

/* Columns become blocks of them. */
static enum skip count_blocks(struct evaluation *e, const struct signature_item *item,
                              int64_t *columns)
{
    int64_t block = dtype_block(item->type.dtype);
    if (block && *columns % block != 0)
        return binding_refuse(
            e, SKIP_SHAPE, "'%s' has %lld columns, no whole blocks of %s, which have %lld",
            item->name, (long long)*columns, dtype_text(item->type.dtype), (long long)block);
    *columns /= block ? block : 1;
    return SKIP_NONE;
}

void binding_open_lanes(struct shape *shape, int64_t lanes)
{
    int last = shape->ndim - 1;
    if (lanes > 1 && shape->stride[last] == lanes) {
        shape->dim[last] *= lanes;
        shape->stride[last] = 1;
    } else if (lanes > 1) {
        shape->dim[shape->ndim] = lanes;
        shape->stride[shape->ndim++] = 1;
    }
}

bool binding_last(const struct shape *shape, int64_t limit, int64_t *out)
{
    int64_t last = 0;
    for (int i = 0; i < shape->ndim; i++) {
        int64_t reach;
        if (__builtin_mul_overflow(shape->dim[i] - 1, shape->stride[i], &reach) ||
            __builtin_add_overflow(last, reach, &last) || last >= limit)
            return false;
    }
    *out = last;
    return true;
}

/* [*]: rows as far as the memory that holds the array goes. The other dims are known. */
static enum skip count_outer(struct evaluation *e, const struct plan_array *array, uint64_t address,
                             struct shape *shape)
{
    const char *name = array->item->name;
    int64_t element = dtype_bytes(binding_copied_as(array->item).dtype), last;
    struct shape row = *shape;
    uint64_t room;
    row.dim[0] = 1;
    if (extent_room(address, &room, e->why)) {
        if (e->why)
            error_prefix(e->why, "argument '%s'", name);
        return SKIP_EXTENT;
    }
    if (!binding_last(&row, SPAN_LIMIT / element, &last))
        return binding_too_large(e, name);
    int64_t left =
        (int64_t)(room / (uint64_t)element) - last - binding_copied_as(array->item).lanes;
    if (left < 0)
        return binding_refuse(e, SKIP_EXTENT,
                              "argument '%s': no row of it fits the %llu bytes that "
                              "are left of its allocation",
                              name, (unsigned long long)room);
    if (shape->stride[0] == 0)
        return binding_refuse(e, SKIP_SHAPE, "'%s': [*] needs a stride other than 0", name);
    shape->dim[0] = left / shape->stride[0] + 1;
    return SKIP_NONE;
}

/* One dim as it is written; `whole` is what the dense stride around it is made of. */
static enum skip make_dim(struct evaluation *e, const struct plan_array *array, int i, int64_t rows,
                          struct shape *shape, int64_t *whole)
{
    const struct plan_dim *dim = &array->dim[i];
    enum signature_dim_kind kind = array->item->dim[i].kind;
    *whole = rows;
    if (dim->extent) {
        enum skip skip = binding_extent(e, array, dim, whole);
        if (skip)
            return skip;
    }
    shape->dim[i] = kind == DIM_PAGES ? rows : kind == DIM_PLACE ? 1 : *whole;
    return i == shape->ndim - 1 && kind == DIM_SIZE ? count_blocks(e, array->item, &shape->dim[i])
                                                    : SKIP_NONE;
}

/* Dims from the innermost outwards, because dense strides come from what lies inside. */
enum skip binding_shape(struct evaluation *e, const struct plan_array *array, uint64_t address,
                        int64_t rows, struct shape *shape)
{
    int64_t dense = binding_copied_as(array->item).lanes, whole;
    shape->ndim = (int)array->item->ndim;
    for (int i = shape->ndim - 1; i >= 0; i--) {
        enum skip skip = make_dim(e, array, i, rows, shape, &whole);
        if (!skip)
            skip = evaluate_stride(e, array, &array->dim[i], dense, &shape->stride[i]);
        if (!skip && array->item->dim[i].kind == DIM_REST)
            skip = count_outer(e, array, address, shape);
        if (skip)
            return skip;
        whole = array->item->dim[i].kind == DIM_PLACE ? whole : shape->dim[i];
        if (__builtin_mul_overflow(whole, shape->stride[i], &dense))
            return binding_too_large(e, array->item->name);
    }
    return SKIP_NONE;
}

static void put_dim(struct bound_array *array, int64_t dim, int64_t stride)
{
    array->dim[array->ndim] = dim;
    array->stride[array->ndim++] = stride;
}

/* Sorts by stride, outermost first: which elements an array has does not depend on the order of
 * its dims, and a transposed matrix is as contiguous as it was. Dims of 1 and broadcast dims
 * (stride 0) add no element. */
void binding_sorted(const struct shape *shape, struct shape *out)
{
    out->ndim = 0;
    for (int i = 0; i < shape->ndim; i++) {
        if (shape->dim[i] == 1 || shape->stride[i] == 0)
            continue;
        int at = out->ndim++;
        for (; at > 0 && out->stride[at - 1] < shape->stride[i]; at--) {
            out->dim[at] = out->dim[at - 1];
            out->stride[at] = out->stride[at - 1];
        }
        out->dim[at] = shape->dim[i];
        out->stride[at] = shape->stride[i];
    }
}

/* True when two index tuples of sorted dims may name the same element (sliding windows). */
bool binding_overlaps(const struct shape *sorted)
{
    int64_t inside = 0;
    for (int i = sorted->ndim - 1; i >= 0; i--) {
        if (sorted->stride[i] <= inside)
            return true;
        inside += (sorted->dim[i] - 1) * sorted->stride[i];
    }
    return false;
}

enum skip binding_geometry(struct evaluation *e, const struct signature_item *item,
                           const struct shape *shape, struct bound_array *array)
{
    struct shape sorted;
    int64_t element = dtype_bytes(binding_copied_as(item).dtype), last;
    if (!binding_last(shape, SPAN_LIMIT / element, &last))
        return binding_too_large(e, item->name);
    array->bytes = (uint64_t)((last + 1) * element);
    array->ndim = 0;
    binding_sorted(shape, &sorted);
    bool broadcast = false;
    for (int i = 0; i < shape->ndim; i++)
        broadcast |= shape->dim[i] > 1 && shape->stride[i] == 0;
    bool folded = binding_overlaps(&sorted);
    if ((folded || broadcast) && item->role != ROLE_READ)
        return binding_refuse(e, SKIP_SHAPE,
                              "'%s' is written, but its strides let elements overlap", item->name);
    if (folded) { /* reads may: the copy takes the whole span once */
        put_dim(array, last + 1, 1);
        return SKIP_NONE;
    }
    for (int i = 0; i < sorted.ndim; i++) {
        int64_t dim = sorted.dim[i];
        while (i + 1 < sorted.ndim && sorted.stride[i] == sorted.dim[i + 1] * sorted.stride[i + 1])
            dim *= sorted.dim[++i];
        put_dim(array, dim, sorted.stride[i]);
    }
    if (array->ndim == 0 || array->stride[array->ndim - 1] != 1)
        put_dim(array, 1, 1);
    return SKIP_NONE;
}
