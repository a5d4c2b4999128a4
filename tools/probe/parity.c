#include "tools/probe/parity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lang/dtype.h"
#include "lang/formals.h"

enum { RUNS_MOST = 256, VIEW_DIMS = REF_MAX_DIMS + 1 };

/* One tensor of a launch over the dense elements of its array, an item at a time. */
struct view {
    int array, ndim;
    int64_t dim[VIEW_DIMS], stride[VIEW_DIMS], step; /* step: from an item to the next; 0: shared */
    int64_t elements;                                /* of an item */
    enum dtype dtype;                                /* of an element; blocks are bytes */
    unsigned bytes;
};

struct parity {
    struct scene *scene[2]; /* the bundle's launch, the other */
    const struct parity_settings *settings;
    struct parity_outcome *out;
    struct formals formals;
    const struct formal_each *each; /* NULL: whole launches */
    int64_t items[2], share;
    struct view view[2][REF_MAX_TENSORS];
    uint8_t *after[BUNDLE_ARRAYS]; /* dense, of the bundle's launch */
};

/* ---- what is compared with what ---- */

static bool promised(const struct formal_each *each, const struct bundle *bundle)
{
    return each->by < 0 && (each->given < 0 || bundle->tensor[each->given].array >= 0);
}

static enum status find_item(struct parity *p, struct error *err)
{
    const struct bundle *bundle = p->scene[0]->bundle;
    const char *name = p->settings->item;
    for (int i = 0; i < p->formals.eaches && !p->each; i++) {
        const struct formal_each *each = &p->formals.each[i];
        if (promised(each, bundle) && (!name || !strcmp(name, p->formals.size_name[each->size])))
            p->each = each;
    }
    if (name && !p->each)
        return error_set(err, STATUS_INVALID, "the reference %s promises no independent '%s'",
                         bundle->reference, name);
    p->out->item = p->each ? p->formals.size_name[p->each->size] : NULL;
    for (int s = 0; s < 2; s++)
        p->items[s] = p->each ? p->scene[s]->bundle->call.size[p->each->size] : 1;
    if (p->settings->items)
        p->items[1] = p->settings->items;
    p->share = 1;
    if (p->each && p->each->with >= 0 && p->items[0] > 0 && !p->each->like)
        p->share = bundle->call.size[p->each->with] / p->items[0];
    p->out->items = p->items[0];
    p->out->at_once = p->items[1];
    return p->items[0] > 0 && p->items[1] > 0 && p->share > 0
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "a launch without items cannot be compared");
}

/* Both are calls of one reference with the same numbers. */
static enum status check_calls(const struct parity *p, struct error *err)
{
    const struct bundle *a = p->scene[0]->bundle, *b = p->scene[1]->bundle;
    if (strcmp(a->reference, b->reference) != 0 || strcmp(a->formals, b->formals) != 0)
        return error_set(err, STATUS_INVALID,
                         "one launch is a call of the reference %s, the other of %s; expected the "
                         "same",
                         a->reference, b->reference);
    for (int i = 0; i < p->formals.scalars; i++) {
        if (a->call.scalar[i] != b->call.scalar[i])
            return error_set(err, STATUS_INVALID,
                             "real number %d of the reference is %g in one launch and %g in the "
                             "other; expected equal ones",
                             i + 1, a->call.scalar[i], b->call.scalar[i]);
    }
    for (int i = 0; i < p->formals.sizes; i++) {
        bool free = p->each && (i == p->each->size || i == p->each->with);
        if (!free && a->call.size[i] != b->call.size[i])
            return error_set(err, STATUS_INVALID,
                             "%s is %lld in one launch and %lld in the other; expected equal ones",
                             p->formals.size_name[i], (long long)a->call.size[i],
                             (long long)b->call.size[i]);
    }
    return STATUS_OK;
}

/* Without the whole array there is nothing to walk over. */
static enum status view_of_side(const struct parity *p, int s, const struct formal *formal,
                                struct view *view, struct error *err)
{
    const struct bundle *bundle = p->scene[s]->bundle;
    const struct bundle_tensor *tensor = &bundle->tensor[formal->slot];
    int axis = p->each ? formals_each_axis(formal, p->each) : -1;
    bool linked = axis >= 0 && formal->dim[axis].size == p->each->with;
    *view = (struct view){.array = tensor->array, .ndim = tensor->ndim, .elements = 1};
    if (tensor->array < 0)
        return STATUS_OK;
    const struct bundle_array *array = &bundle->array[tensor->array];
    enum dtype dtype = (enum dtype)bundle->call.tensor[formal->slot].dtype;
    bool coded = dtype_block(dtype) > 0;
    if (array->by_rows || bundle->blocks || (coded && axis == tensor->ndim - 1))
        return error_set(err, STATUS_UNSUPPORTED, "the bundle holds %s in parts", array->name);
    view->dtype = coded ? DTYPE_U8 : dtype;
    view->bytes = coded ? 1 : dtype_bytes(dtype);
    for (int d = 0; d < tensor->ndim; d++) {
        view->dim[d] = d == axis ? (linked ? p->share : 1) : tensor->dim[d];
        view->stride[d] = scene_dense_stride(array, tensor->stride[d]);
    }
    if (axis >= 0)
        view->step = view->stride[axis] * view->dim[axis];
    if (coded) {
        view->dim[tensor->ndim - 1] /= dtype_block(dtype);
        view->dim[view->ndim] = dtype_bytes(dtype);
        view->stride[view->ndim++] = 1;
    }
    for (int d = 0; d < view->ndim; d++)
        view->elements *= view->dim[d];
    return STATUS_OK;
}

static int64_t offset_of(const struct view *view, int64_t item, int64_t element)
{
    int64_t offset = item * view->step;
    for (int d = view->ndim - 1; d >= 0; d--) {
        offset += element % view->dim[d] * view->stride[d];
        element /= view->dim[d];
    }
    return offset;
}

/* Whether all items of the launch lie in what the bundle holds. */
static bool lies_inside(const struct parity *p, int s, const struct view *view)
{
    if (view->array < 0 || view->elements == 0)
        return true;
    int64_t last = offset_of(view, view->step ? p->items[s] - 1 : 0, view->elements - 1);
    return last >= 0 && last < p->scene[s]->bundle->array[view->array].elements;
}

static enum status make_views(struct parity *p, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < p->formals.count && !status; i++) {
        const struct formal *formal = &p->formals.formal[i];
        if (!formal_is_array(formal))
            continue;
        struct view *a = &p->view[0][formal->slot], *b = &p->view[1][formal->slot];
        status = view_of_side(p, 0, formal, a, err);
        if (!status)
            status = view_of_side(p, 1, formal, b, err);
        bool same = (a->array < 0) == (b->array < 0) && a->elements == b->elements &&
                    (a->array < 0 || a->dtype == b->dtype);
        if (!status && !same)
            status = error_set(err, STATUS_INVALID,
                               "%s has another type or shape in the other launch", formal->name);
        if (!status && !(lies_inside(p, 0, a) && lies_inside(p, 1, b)))
            status = error_set(err, STATUS_INVALID,
                               "%s does not hold as many items as the launch has", formal->name);
    }
    return status;
}

/* ---- runs ---- */

/* Items [from, from + ...) of the bundle's launch become those of the other, again from the first
 * behind the last. */
static enum status fill(struct parity *p, int64_t from, struct error *err)
{
    for (int t = 0; t < p->scene[0]->bundle->tensors; t++) {
        const struct view *a = &p->view[0][t], *b = &p->view[1][t];
        if (a->array < 0 || !role_reads(p->scene[0]->bundle->array[a->array].role))
            continue;
        uint8_t *in = scene_gather(p->scene[0], a->array, NULL);
        uint8_t *to = scene_gather(p->scene[1], b->array, NULL);
        int64_t items = b->step ? p->items[1] : 1;
        for (int64_t i = 0; in && to && i < items; i++) {
            for (int64_t e = 0; e < a->elements; e++)
                memcpy(to + offset_of(b, i, e) * b->bytes,
                       in + offset_of(a, a->step ? (from + i) % p->items[0] : 0, e) * a->bytes,
                       a->bytes);
        }
        if (in && to)
            scene_scatter(p->scene[1], b->array, to, NULL);
        bool good = in && to;
        free(in);
        free(to);
        if (!good)
            return error_set(err, STATUS_NO_MEMORY, "no memory for the inputs");
    }
    return STATUS_OK;
}

static bool is_near(const struct parity_settings *settings, double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) ||
           fabs(a - b) <= settings->atol + settings->rtol * fmax(fabs(a), fabs(b));
}

/* One item of both launches. */
static void compare_item(const struct parity *p, int t, const uint8_t *other, int64_t item,
                         int64_t other_item, struct parity_output *out)
{
    const struct view *a = &p->view[0][t], *b = &p->view[1][t];
    bool bits = p->settings->rtol == 0 && p->settings->atol == 0, differs = false;
    for (int64_t e = 0; e < a->elements; e++) {
        const uint8_t *x = p->after[a->array] + offset_of(a, item, e) * a->bytes;
        const uint8_t *y = other + offset_of(b, other_item, e) * b->bytes;
        if (!memcmp(x, y, a->bytes))
            continue;
        double u = dtype_load(a->dtype, x), v = dtype_load(b->dtype, y);
        if (fabs(u - v) > out->max_abs)
            out->max_abs = fabs(u - v);
        if (!bits && is_near(p->settings, u, v))
            continue;
        if (!out->elements++) {
            out->item = item;
            out->element = e;
            out->got = u;
            out->other = v;
        }
        differs = true;
    }
    out->items++;
    out->differing += differs;
}

static enum status compare(struct parity *p, const struct scene_run *run, int64_t from,
                           struct error *err)
{
    int64_t count = p->items[0] - from < p->items[1] ? p->items[0] - from : p->items[1];
    int number = 0;
    for (int t = 0; t < p->scene[0]->bundle->tensors; t++) {
        const struct view *a = &p->view[0][t], *b = &p->view[1][t];
        if (a->array < 0 || formals_array(&p->formals, t)->kind == FORMAL_IN)
            continue;
        struct parity_output *out = &p->out->output[number++];
        out->name = p->scene[0]->bundle->array[a->array].name;
        uint8_t *other = scene_gather(p->scene[1], b->array, run->after);
        if (!other)
            return error_set(err, STATUS_NO_MEMORY, "no memory for the outputs");
        for (int64_t i = 0; i < count; i++)
            compare_item(p, t, other, from + i, i, out);
        free(other);
    }
    p->out->outputs = number;
    return STATUS_OK;
}

static bool ended(struct parity *p, const struct scene_run *run, bool other)
{
    if (run->result.outcome == WORKER_RAN)
        return true;
    p->out->stopped = run->result;
    p->out->other_stopped = other;
    return false;
}

static enum status run_first(struct parity *p, bool *ran, struct error *err)
{
    const struct scene_change none = {0};
    struct scene_run run;
    enum status status = scene_run(p->scene[0], &none, &run, err);
    *ran = !status && ended(p, &run, false);
    for (int i = 0; *ran && !status && i < p->scene[0]->bundle->arrays; i++) {
        p->after[i] = scene_gather(p->scene[0], i, run.after);
        if (!p->after[i])
            status = error_set(err, STATUS_NO_MEMORY, "no memory for the outputs");
    }
    scene_run_release(&run);
    return status;
}

static enum status run_others(struct parity *p, struct error *err)
{
    const struct scene_change change = {.grid = p->settings->grid};
    enum status status = STATUS_OK;
    bool ran = true;
    for (int64_t from = 0; from < p->items[0] && !status && ran; from += p->items[1]) {
        struct scene_run run = {0};
        if (p->out->runs == RUNS_MOST)
            break; /* the first items stand for the rest */
        status = fill(p, from, err);
        if (!status)
            status = scene_run(p->scene[1], &change, &run, err);
        p->out->runs += !status;
        ran = !status && ended(p, &run, true);
        if (ran)
            status = compare(p, &run, from, err);
        scene_run_release(&run);
    }
    return status;
}

enum status parity_run(struct scene *scene, struct scene *other,
                       const struct parity_settings *settings, struct parity_outcome *out,
                       struct error *err)
{
    struct parity p = {.scene = {scene, other}, .settings = settings, .out = out};
    bool ran = false;
    memset(out, 0, sizeof(*out));
    if (!*scene->bundle->formals)
        return error_set(err, STATUS_UNSUPPORTED,
                         "the bundle does not hold the reference's formals");
    enum status status = formals_parse(&p.formals, scene->bundle->formals, err);
    if (!status)
        status = find_item(&p, err);
    if (!status)
        status = check_calls(&p, err);
    if (!status)
        status = make_views(&p, err);
    if (!status)
        status = run_first(&p, &ran, err);
    if (!status && ran)
        status = run_others(&p, err);
    for (int i = 0; i < BUNDLE_ARRAYS; i++)
        free(p.after[i]);
    return status;
}

bool parity_agrees(const struct parity_outcome *outcome)
{
    for (int i = 0; i < outcome->outputs; i++) {
        if (outcome->output[i].differing)
            return false;
    }
    return outcome->stopped.outcome == WORKER_RAN && outcome->outputs > 0;
}
