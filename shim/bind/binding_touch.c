/*
 * binding_touch.c - arrays of which a kernel touches only the rows that another array names, by
 * index or address.
 *
 * Their copy is dense, a row for each index, so their dims and strides are settled here for good.
 * The number of rows in the program's memory need not be declared: the end of the memory bounds an
 * index.
 */
#include <string.h>
#include "bind/binding_work.h"
#include "bind/extent.h"

enum {
    MOST_ROWS = 1 << 30,   /* u32 numbers them, and a table of twice as many slots */
    MOST_LISTED = 1 << 16, /* a wrong address is searched for in the list */
};

enum skip binding_rows(struct evaluation *e, const struct plan_array *array, int64_t *rows,
                       int8_t *ids)
{
    const char *name = array->item->name;
    for (int i = 0; i < e->plan->formals->tensors; i++) {
        if (e->plan->tensor[i].array == array->rows)
            *ids = e->out->tensor_array[i];
    }
    if (*ids < 0)
        return binding_refuse(e, SKIP_NULL_POINTER, "'%s' is absent, and names rows of '%s'",
                              array->item->rows, name);
    const struct bound_array *by = &e->out->array[*ids];
    if (by->ndim > SNAPSHOT_IDS_DIMS)
        return binding_refuse(e, SKIP_SHAPE, "'%s' is too scattered to name rows: %d strides",
                              by->name, by->ndim);
    *rows = 1;
    for (int i = 0; i < by->ndim; i++)
        *rows *= by->dim[i]; /* elements of one array: no overflow */
    return *rows > MOST_ROWS ? binding_refuse(e, SKIP_TOO_LARGE, "'%s' names %lld rows of '%s'",
                                              by->name, (long long)*rows, name)
                             : SKIP_NONE;
}

enum skip binding_list(struct evaluation *e, const struct plan_array *array, uint64_t address,
                       int8_t *ids)
{
    const char *name = array->item->name;
    int64_t count;
    enum skip skip = binding_extent(e, array, &array->dim[0], &count);
    if (skip)
        return skip;
    if (count > MOST_LISTED)
        return binding_refuse(e, SKIP_TOO_LARGE, "'%s' lists %lld addresses, more than %d", name,
                              (long long)count, MOST_LISTED);
    if (address % sizeof(uint64_t))
        return binding_refuse(e, SKIP_SHAPE,
                              "'%s' lists addresses at 0x%llx, which is not aligned to them", name,
                              (unsigned long long)address);
    *ids = (int8_t)e->out->arrays;
    e->out->array[e->out->arrays++] = (struct bound_array){
        .name = array->list,
        .role = ROLE_READ,
        .dtype = DTYPE_U64,
        .address = address,
        .ndim = 1,
        .dim = {count},
        .stride = {1},
        .bytes = (uint64_t)count * sizeof(uint64_t),
        .axis = -1,
    };
    return SKIP_NONE;
}

/* The dims of one row, without the page's. */
static void inside_row(const struct plan_array *array, const struct shape *copied,
                       struct shape *row, int64_t *place_stride)
{
    *place_stride = 0;
    row->ndim = 0;
    for (int i = 1; i < copied->ndim; i++) {
        if (i < (int)array->item->ndim && array->item->dim[i].kind == DIM_PLACE) {
            *place_stride = copied->stride[i];
            continue;
        }
        row->dim[row->ndim] = copied->dim[i];
        row->stride[row->ndim++] = copied->stride[i];
    }
}

/* Strides of the dense copy: a dim steps over all that lies closer together than it does. */
static void pack_touched(const struct plan_array *array, const struct shape *copied,
                         const struct shape *sorted, int64_t row, struct shape *shape)
{
    for (int i = 0; i < shape->ndim; i++) {
        int64_t dense = 1;
        for (int j = 0; j < sorted->ndim; j++)
            dense *= sorted->stride[j] < copied->stride[i] ? sorted->dim[j] : 1;
        bool is_row =
            i == 0 || (i < (int)array->item->ndim && array->item->dim[i].kind == DIM_PLACE);
        shape->stride[i] = is_row ? row : copied->stride[i] == 0 ? 0 : dense;
    }
    /* Blocks are counted one by one, and lie densely. */
    if (dtype_block(array->item->type.dtype) && shape->ndim > 1)
        shape->stride[shape->ndim - 1] = binding_copied_as(array->item).lanes;
}

/* Folds the row's dims into runs. False where it is more scattered than that. */
static bool make_runs(const struct shape *sorted, struct bound_rows *rows)
{
    int last = sorted->ndim - 1;
    rows->runs = rows->run = 1;
    rows->run_stride = 0;
    for (; last >= 0 && sorted->stride[last] == rows->run; last--)
        rows->run *= sorted->dim[last];
    for (; last >= 0; last--) {
        if (rows->runs > 1 && sorted->stride[last] != rows->runs * rows->run_stride)
            return false;
        if (rows->runs == 1)
            rows->run_stride = sorted->stride[last];
        rows->runs *= sorted->dim[last];
    }
    return true;
}

/* Rows that may be written must not lie in each other, whichever indices come. */
static bool rows_overlap(const struct shape *row, const struct bound_rows *rows)
{
    struct shape all = *row, sorted;
    all.dim[all.ndim] = 2;
    all.stride[all.ndim++] = rows->stride[0];
    if (rows->page > 1) {
        all.dim[all.ndim] = rows->page;
        all.stride[all.ndim++] = rows->stride[1];
    }
    binding_sorted(&all, &sorted);
    int broadcast = 0;
    for (int i = 0; i < all.ndim; i++)
        broadcast += all.dim[i] > 1 && all.stride[i] == 0;
    return broadcast || binding_overlaps(&sorted);
}

/* Indices that the array's memory has room for. */
static enum skip find_limit(struct evaluation *e, struct bound_array *bound)
{
    struct bound_rows *rows = &bound->rows;
    uint64_t bytes;
    if (extent_room(bound->address, &bytes, e->why)) {
        if (e->why)
            error_prefix(e->why, "argument '%s'", bound->name);
        return SKIP_EXTENT;
    }
    if (bytes < rows->reach)
        return binding_refuse(
            e, SKIP_EXTENT,
            "argument '%s': no row of it fits the %llu bytes that are left of its "
            "allocation",
            bound->name, (unsigned long long)bytes);
    /* In elements. Places of a page that does not fit as a whole do not count but for the first. */
    int64_t left = (int64_t)((bytes - rows->reach) / dtype_bytes(bound->dtype));
    int64_t places = (rows->page - 1) * rows->stride[1];
    if (left < places)
        rows->limit = left / rows->stride[1] + 1;
    else if (__builtin_mul_overflow((left - places) / rows->stride[0] + 1, rows->page,
                                    &rows->limit))
        rows->limit = INT64_MAX;
    return SKIP_NONE;
}

static enum skip find_page(struct evaluation *e, const struct plan_array *array,
                           struct bound_rows *rows)
{
    rows->page = 1;
    if (array->item->dim[0].kind != DIM_PAGES)
        return SKIP_NONE;
    return binding_evaluate(e, array->dim[0].extent, array->item->name, &rows->page);
}

enum skip binding_touch(struct evaluation *e, const struct plan_array *array,
                        const struct shape *copied, struct shape *shape, struct bound_array *bound)
{
    struct bound_rows *rows = &bound->rows;
    struct shape row, sorted;
    int64_t element = dtype_bytes(bound->dtype), limit = SPAN_LIMIT / element, last, all;
    enum skip skip = find_page(e, array, rows);
    if (skip)
        return skip;
    inside_row(array, copied, &row, &rows->stride[1]);
    if (!binding_last(&row, limit, &last) || rows->page > INT32_MAX ||
        rows->page * rows->stride[1] > limit)
        return binding_too_large(e, bound->name);
    rows->reach = (uint64_t)((last + 1) * element);
    rows->limit = 0;
    rows->stride[0] = rows->listed ? last + 1 : copied->stride[0];
    binding_sorted(&row, &sorted);
    if (rows->stride[0] == 0 || binding_overlaps(&sorted) || !make_runs(&sorted, rows))
        return binding_refuse(
            e, SKIP_SHAPE, "'%s': %s must be one run of elements, or several at one stride",
            bound->name, rows->listed ? "what an address leads to" : "a touched row");
    if (bound->role != ROLE_READ && rows_overlap(&row, rows))
        return binding_refuse(e, SKIP_SHAPE, "'%s' is written, but its strides let rows overlap",
                              bound->name);
    int64_t elements = rows->runs * rows->run;
    if (__builtin_mul_overflow(elements, copied->dim[0], &all) || all > limit ||
        elements * element > INT32_MAX)
        return binding_too_large(e, bound->name);
    pack_touched(array, copied, &sorted, elements, shape);
    bound->ndim = 2;
    bound->dim[0] = copied->dim[0];
    bound->dim[1] = bound->stride[0] = elements;
    bound->stride[1] = 1;
    bound->bytes = (uint64_t)(copied->dim[0] * elements * element);
    return rows->listed ? SKIP_NONE : find_limit(e, bound);
}

/* What one array of indices names it names in all arrays that have it, and it must still do so when
 * the launch is over. */
enum skip binding_touched(struct evaluation *e)
{
    struct binding *out = e->out;
    for (int i = 0; i < out->arrays; i++) {
        struct bound_rows *rows = &out->array[i].rows;
        if (!rows->by)
            continue;
        const struct bound_array *ids = &out->array[bound_ids(&out->array[i])];
        for (int j = 0; j < out->arrays; j++) {
            const struct bound_array *other = &out->array[j];
            if (other->rows.by == rows->by && other->rows.limit < rows->limit)
                rows->limit = other->rows.limit;
            if (role_writes(other->role) && bound_overlap(ids, other))
                return binding_refuse(e, SKIP_SHAPE,
                                      "'%s' names rows of '%s', and '%s' writes over it", ids->name,
                                      out->array[i].name, other->name);
        }
    }
    return SKIP_NONE;
}
