#include "bundle/excerpt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "report/place.h"
#include "lang/dtype.h"

/* A shape as rows: of `rows`, each of the dims behind `lead` - 1. */
struct rows {
    int64_t count;
    uint64_t elements; /* of one row */
    int ndim;
    int64_t dim[8]; /* from the row dimension on; dim[0] is count */
};

/* Rows [from, to). */
struct window {
    int64_t from, to;
};

static struct rows rows_of(const struct ref_tensor *tensor)
{
    struct rows rows = {.count = 1, .elements = 1};
    int lead = 0;

    while (lead + 1 < tensor->ndim && tensor->dim[lead] == 1)
        lead++;
    for (int d = lead; d < tensor->ndim; d++) {
        rows.dim[rows.ndim++] = tensor->dim[d];
        if (d > lead)
            rows.elements *= (uint64_t)tensor->dim[d];
    }
    if (rows.ndim > 0)
        rows.count = rows.dim[0];
    return rows;
}

/* The reference's view of a planned tensor: it has the dims that arrays may have folded. */
static const struct ref_tensor *excerpt_view(const struct tensor_plan *tensor,
                                             const struct binding *binding)
{
    uint64_t element = dtype_bytes(tensor->dtype);

    for (int t = 0; t < binding->tensors && t < REF_MAX_TENSORS; t++) {
        const struct ref_tensor *view = &binding->call.tensor[t];
        struct rows rows = rows_of(view);

        if (tensor->side == TENSOR_REFERENCE ? t != tensor->index
                                             : binding->tensor_array[t] != tensor->index)
            continue;
        if ((uint64_t)rows.count * rows.elements * element == tensor->bytes)
            return view;
    }
    return NULL;
}

static const struct ref_tensor *by_id(const struct binding *binding, uint32_t id)
{
    for (int t = 0; t < binding->tensors && t < REF_MAX_TENSORS; t++) {
        if (binding->tensor_array[t] >= 0 && binding->call.tensor[t].id == id)
            return &binding->call.tensor[t];
    }
    return NULL;
}

/* The output with the violations and the rows where the first and the worst stand. */
struct spot {
    const char *name;
    int64_t rows;
    int64_t at[2];
};

static bool find_spot(struct spot *spot, const struct check_report *report)
{
    const struct ref_verdict *n = &report->numbers;
    const struct ref_tensor *tensor = by_id(report->binding, n->worst_tensor);
    struct place place;
    struct rows rows;

    if (!tensor || !place_of(report->binding, n->worst_tensor, n->worst_index, &place))
        return false;
    rows = rows_of(tensor);
    spot->name = place.array;
    spot->rows = rows.count;
    spot->at[0] = spot->at[1] = (int64_t)(n->worst_index / rows.elements);
    /* The first violation may be in another output: the worst alone counts then. */
    if (n->first_tensor == n->worst_tensor &&
        place_of(report->binding, n->first_tensor, n->first_index, &place))
        spot->at[0] = (int64_t)(n->first_index / rows.elements);
    return true;
}

static int smallest_first(const void *left, const void *right)
{
    const struct tensor_plan *a = left, *b = right;

    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* Keeps what fits in *plan, moves the others to *excerpts, and returns the room for those. */
static uint64_t split_budget(struct tensors_plan *plan, struct excerpts *excerpts, uint64_t limit)
{
    uint64_t left = limit;
    int count = plan->count, kept = 0;

    qsort(plan->tensor, (size_t)count, sizeof plan->tensor[0], smallest_first);
    while (kept < count && plan->tensor[kept].bytes <= left / (uint64_t)(count - kept))
        left -= plan->tensor[kept++].bytes;
    for (int i = kept; i < count; i++)
        excerpts->tensor[excerpts->count++] = (struct excerpt){.whole = plan->tensor[i]};
    plan->count = kept;
    plan->bytes = limit - left;
    return left;
}

static uint64_t row_bytes(const struct excerpt *excerpt, const struct binding *binding)
{
    return rows_of(excerpt_view(&excerpt->whole, binding)).elements *
           dtype_bytes(excerpt->whole.dtype);
}

/* Whether an excerpt of its rows is useful; else writes why not. */
static bool may_be_cut(struct excerpt *excerpt, const struct check_report *report,
                       const struct spot *spot)
{
    const struct ref_tensor *view = excerpt_view(&excerpt->whole, report->binding);

    if (spot && view && rows_of(view).count == spot->rows)
        return true;
    if (spot && view)
        snprintf(excerpt->why, sizeof excerpt->why,
                 "%" PRIu64 " bytes do not fit, and its rows are not those of %.64s",
                 excerpt->whole.bytes, spot->name);
    else
        snprintf(excerpt->why, sizeof excerpt->why,
                 "%" PRIu64 " bytes do not fit, and its rows are not known", excerpt->whole.bytes);
    return false;
}

/* How many rows of all that are cut fit into `room`; those with the largest rows are taken out
 * until one does. 0: none is cut. */
static int64_t rows_that_fit(struct excerpts *excerpts, bool *cut, const struct binding *binding,
                             uint64_t room)
{
    for (;;) {
        uint64_t sum = 0, largest = 0;
        int which = -1;

        for (int i = 0; i < excerpts->count; i++) {
            uint64_t bytes = cut[i] ? row_bytes(&excerpts->tensor[i], binding) : 0;

            sum += bytes;
            if (bytes > largest) {
                largest = bytes;
                which = i;
            }
        }
        if (which < 0)
            return 0;
        if (sum <= room)
            return (int64_t)(room / sum);
        cut[which] = false;
        snprintf(excerpts->tensor[which].why, sizeof excerpts->tensor[which].why,
                 "a row of %" PRIu64 " bytes does not fit", largest);
    }
}

/* `count` rows with `at` in the middle, as far as there are such. */
static struct window around(int64_t at, int64_t count, int64_t rows)
{
    struct window window = {.from = at - count / 2};

    if (window.from > rows - count)
        window.from = rows - count;
    if (window.from < 0)
        window.from = 0;
    window.to = window.from + count < rows ? window.from + count : rows;
    return window;
}

/* One window or two, of `most` rows together. */
static int choose_windows(struct window out[2], const struct spot *spot, int64_t most)
{
    struct window first, worst;

    if (spot->at[0] == spot->at[1] || most < 2) {
        out[0] = around(spot->at[1], most, spot->rows);
        return 1;
    }
    first = around(spot->at[0], most / 2, spot->rows);
    worst = around(spot->at[1], most / 2, spot->rows);
    if (first.from > worst.to || worst.from > first.to) {
        out[0] = first;
        out[1] = worst;
        return 2;
    }
    out[0].from = first.from < worst.from ? first.from : worst.from;
    out[0].to = first.to > worst.to ? first.to : worst.to;
    return 1;
}

static void add_excerpt_part(struct tensors_plan *plan, struct excerpt *excerpt,
                             const struct binding *binding, const struct window *window)
{
    struct rows rows = rows_of(excerpt_view(&excerpt->whole, binding));
    uint64_t bytes = row_bytes(excerpt, binding);
    struct tensor_plan *part = &plan->tensor[plan->count++];

    *part = excerpt->whole;
    snprintf(part->name, sizeof part->name, "%.80s[%" PRId64 ":%" PRId64 "]", excerpt->whole.name,
             window->from, window->to);
    part->ndim = rows.ndim;
    memcpy(part->dim, rows.dim, sizeof part->dim);
    part->dim[0] = window->to - window->from;
    part->from = (uint64_t)window->from * bytes;
    part->bytes = (uint64_t)part->dim[0] * bytes;
    plan->bytes += part->bytes;
    memcpy(excerpt->part[excerpt->parts++], part->name, sizeof part->name);
}

void excerpt_fit(struct tensors_plan *plan, struct excerpts *excerpts,
                 const struct check_report *report, uint64_t limit)
{
    struct window window[2];
    bool cut[TENSORS_WHOLE] = {false};
    struct spot spot, *found;
    int windows;
    int64_t most;
    uint64_t room;

    excerpts->count = 0;
    if (plan->bytes <= limit)
        return;
    room = split_budget(plan, excerpts, limit);
    found = find_spot(&spot, report) ? &spot : NULL;
    for (int i = 0; i < excerpts->count; i++)
        cut[i] = may_be_cut(&excerpts->tensor[i], report, found);
    most = rows_that_fit(excerpts, cut, report->binding, room);
    if (most == 0)
        return;
    windows = choose_windows(window, &spot, most < spot.rows ? most : spot.rows);
    for (int i = 0; i < excerpts->count; i++) {
        for (int w = 0; w < windows && cut[i]; w++)
            add_excerpt_part(plan, &excerpts->tensor[i], report->binding, &window[w]);
    }
    safetensors_sort(plan);
}

void excerpt_json(struct json_out *json, const struct excerpts *excerpts)
{
    if (excerpts->count == 0)
        return;
    json_put_array(json, "excerpts");
    for (int i = 0; i < excerpts->count; i++) {
        const struct excerpt *excerpt = &excerpts->tensor[i];

        json_begin_object(json);
        json_put_string(json, "tensor", excerpt->whole.name);
        json_put_array(json, "shape");
        for (int d = 0; d < excerpt->whole.ndim; d++)
            json_int(json, excerpt->whole.dim[d]);
        json_end(json);
        json_put_uint(json, "bytes", excerpt->whole.bytes);
        if (excerpt->parts == 0)
            json_put_string(json, "left_out", excerpt->why);
        else
            json_put_array(json, "stored");
        for (int p = 0; p < excerpt->parts; p++)
            json_text(json, excerpt->part[p]);
        if (excerpt->parts > 0)
            json_end(json);
        json_end(json);
    }
    json_end(json);
}
