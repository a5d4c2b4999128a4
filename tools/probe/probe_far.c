/*
 * probe_far.c - the same rows, so far apart that the last one lies beyond 2^31 elements, and then
 * beyond 2^32: an offset that is computed in 32 bits, with a sign or without one, shows.
 *
 * Which parameter is the stride of which array is found out with rows that lie 64 elements further
 * apart: with both changed the launch must give the first result and leave alone what lies between
 * the rows, and with the parameter alone it must not.
 */
#include <string.h>
#include "lang/dtype.h"
#include "tools/probe/probe_work.h"

enum { TRIALS = 24, APART = 64, ROWS_MOST = 1 << 16 };
/* Large negative numbers in every format; each region has its own, so that a copy shows. */
enum { FILL = 0xd4, FILLS = 8 };
static const int64_t far_elements[2] = {(int64_t)1 << 31, (int64_t)1 << 32};

/* The rows of an array; rows 0: none, or not all of them are there. */
struct far_shape {
    int64_t rows, stride; /* in elements */
    int64_t size;         /* of an element */
    int region;
};

struct far {
    struct probe *probe;
    struct far_shape shape[BUNDLE_ARRAYS];
    bool moves[BUNDLE_ARRAYS]; /* arrays whose rows are moved */
    unsigned param;
    int64_t unit; /* of the parameter's number: 1: elements; else bytes of an element */
    int trials;
    bool any, held; /* a stride was found; a far launch was run */
};

static struct far_shape shape_of(const struct scene *scene, int array)
{
    const struct bundle *bundle = scene->bundle;
    const struct bundle_array *of = &bundle->array[array];
    uint64_t offset;
    for (int t = 0; t < bundle->tensors; t++) {
        const struct bundle_tensor *tensor = &bundle->tensor[t];
        if (tensor->array != array || tensor->ndim == 0 || tensor->dim[0] < 2 ||
            tensor->dim[0] > ROWS_MOST || of->by_rows || of->axis >= 0 ||
            of->elements % tensor->dim[0] || tensor->stride[0] < of->elements / tensor->dim[0])
            continue;
        int region = scene_region_of(scene, of->address, &offset);
        if (region >= 0 && offset == 0)
            return (struct far_shape){tensor->dim[0], tensor->stride[0],
                                      (int64_t)dtype_bytes(of->dtype), region};
    }
    return (struct far_shape){0};
}

/* Whether the arrays of each region that moves all move, by one pitch. */
static bool whole_regions(const struct far *far)
{
    const struct bundle *bundle = far->probe->scene->bundle;
    uint64_t offset;
    for (int i = 0; i < bundle->arrays; i++) {
        const struct far_shape *shape = &far->shape[i];
        for (int k = 0; far->moves[i] && k < bundle->arrays; k++) {
            const struct far_shape *other = &far->shape[k];
            if (scene_region_of(far->probe->scene, bundle->array[k].address, &offset) !=
                shape->region)
                continue;
            if (!far->moves[k] || other->stride * other->size != shape->stride * shape->size)
                return false;
        }
    }
    return true;
}

/* How a launch with the stride as the parameter's number lays the arrays. */
enum far_rows {
    FAR_STAY,   /* as in the program */
    FAR_FILLED, /* at that stride, with a poison between the rows */
    FAR_SPARSE  /* ... with nothing there */
};

static enum status far_run(const struct far *far, int64_t stride, enum far_rows rows,
                           struct probe_outputs *out, struct scene_run *raw, struct error *err)
{
    const struct scene *scene = far->probe->scene;
    struct scene_spread spread[SCENE_REGIONS] = {{0}};
    uint8_t params[BUNDLE_PARAMS];
    struct scene_change change = {.params = params, .spread = rows == FAR_STAY ? NULL : spread};
    memcpy(params, scene->bundle->params, sizeof(params));
    probe_set_number(far->probe, far->param, stride * far->unit, params);
    for (int i = 0; i < scene->bundle->arrays; i++) {
        const struct far_shape *shape = &far->shape[i];
        uint8_t fill = (uint8_t)(FILL + shape->region % FILLS);
        if (far->moves[i])
            spread[shape->region] =
                (struct scene_spread){.pitch = (uint64_t)(shape->stride * shape->size),
                                      .far = (uint64_t)(stride * shape->size),
                                      .fill = rows == FAR_FILLED ? fill : 0};
    }
    return probe_run(far->probe, &change, out, raw, err);
}

/* Whether the launch gives the first result, and leaves alone what lies between the rows. */
static enum status far_same(const struct far *far, int64_t stride, enum far_rows rows, bool *same,
                            struct error *err)
{
    struct probe_outputs out;
    struct scene_run run = {0};
    enum status status = far_run(far, stride, rows, &out, &run, err);
    *same = !status && out.result.outcome == WORKER_RAN && run.gaps == 0 &&
            probe_differ(far->probe, &far->probe->first, &out).elements == 0;
    scene_run_release(&run);
    probe_release(&out);
    return status;
}

/* The stride of the arrays that move, and their fewest rows. */
static void far_moved(const struct far *far, int64_t *stride, int64_t *rows, int64_t *width)
{
    const struct bundle *bundle = far->probe->scene->bundle;
    *rows = 0;
    for (int i = 0; i < bundle->arrays; i++) {
        if (!far->moves[i] || (*rows && far->shape[i].rows >= *rows))
            continue;
        *rows = far->shape[i].rows;
        *stride = far->shape[i].stride;
        *width = bundle->array[i].elements / *rows;
    }
}

/* The stride with which the last row of each array ends beyond so many elements; 0: the parameter
 * cannot hold it. */
static int64_t far_stride(const struct far *far, int64_t elements)
{
    int64_t rows, stride = 0, width = 0;
    far_moved(far, &stride, &rows, &width);
    bool narrow = far->probe->scene->found.layout.param[far->param].size == 4;
    int64_t wanted = (elements + rows - 2) / (rows - 1), most = INT32_MAX / far->unit;
    int64_t steps = wanted > stride ? (wanted - stride + APART - 1) / APART : 1;
    if (narrow && stride + steps * APART > most)
        steps = (most - stride) / APART;
    int64_t found = stride + steps * APART;
    return steps > 0 && (rows - 1) * found + width > elements ? found : 0;
}

static uint64_t far_bytes(const struct far *far, int64_t stride)
{
    uint64_t bytes = 0;
    for (int i = 0; i < far->probe->scene->bundle->arrays; i++) {
        const struct far_shape *shape = &far->shape[i];
        if (far->moves[i])
            bytes += (uint64_t)(shape->rows * stride * shape->size);
    }
    return bytes;
}

static const char *first_moved(const struct far *far)
{
    int i = 0;
    while (!far->moves[i])
        i++;
    return far->probe->scene->bundle->array[i].name;
}

/* The last rows beyond so many elements. */
static enum status far_hold(struct far *far, int64_t elements, struct error *err)
{
    struct probe *probe = far->probe;
    const struct worker_about *about = worker_about(probe->scene->worker);
    int64_t stride = far_stride(far, elements);
    struct probe_outputs out;
    if (!stride) {
        probe_skip(probe, PROBE_FAR, "the stride of %s has too few bits, or %s too few rows",
                   first_moved(far), first_moved(far));
        return STATUS_OK;
    }
    bool sparse = strcmp(about->kind, "gpu") != 0;
    enum status status = STATUS_FULL;
    if (sparse || far_bytes(far, stride) < about->memory / 10 * 9)
        status = far_run(far, stride, FAR_SPARSE, &out, NULL, err);
    if (status == STATUS_FULL) {
        probe_skip(probe, PROBE_FAR, "%s has no room for rows %lld elements apart, %llu MiB",
                   about->name, (long long)stride,
                   (unsigned long long)(far_bytes(far, stride) >> 20));
        return STATUS_OK;
    }
    if (status)
        return status;
    far->held = true;
    struct probe_count count = probe_differ(probe, &probe->first, &out);
    if (out.result.outcome != WORKER_RAN)
        probe_find(probe, PROBE_FAR, "with the rows of %s %lld elements apart: %s",
                   first_moved(far), (long long)stride, out.result.sentence);
    else if (count.elements)
        probe_find(probe, PROBE_FAR,
                   "with the rows of %s %lld elements apart %llu elements differ; the first is "
                   "element %lld of %s",
                   first_moved(far), (long long)stride, (unsigned long long)count.elements,
                   (long long)count.first, probe_array(probe, count.array));
    probe_release(&out);
    return STATUS_OK;
}

/* The second launch adds to the first: that it cannot be made is no reason to skip the check. */
static enum status far_hold_all(struct far *far, struct error *err)
{
    enum status status = far_hold(far, far_elements[0], err);
    bool good = far->probe->report->result[PROBE_FAR].outcome == PROBE_SKIPPED && far->held;
    return status || !good ? status : far_hold(far, far_elements[1], err);
}

/* Whether the parameter is the stride of the arrays that move; if so, the far launches. */
static enum status far_try(struct far *far, bool *fits, struct error *err)
{
    int64_t stride = 0, rows, width;
    bool same = false, alone = true;
    *fits = false;
    far_moved(far, &stride, &rows, &width);
    if (!rows || far->trials == TRIALS || !whole_regions(far))
        return STATUS_OK;
    far->trials++;
    enum status status = far_same(far, stride + APART, FAR_FILLED, &same, err);
    if (!status && same)
        status = far_same(far, stride + APART, FAR_STAY, &alone, err);
    *fits = !status && same && !alone;
    far->any = far->any || *fits;
    return *fits ? far_hold_all(far, err) : status;
}

/* Picks the array whose stride is the number, in elements or in bytes; for the number of arrays all
 * such arrays. How many there are. */
static int far_choose(struct far *far, int64_t number, int array, bool bytes)
{
    const int arrays = far->probe->scene->bundle->arrays;
    int moved = 0;
    far->unit = 1;
    for (int k = 0; k < arrays; k++) {
        const struct far_shape *shape = &far->shape[k];
        int64_t scale = bytes ? shape->size : 1;
        far->moves[k] = (array == k || array == arrays) && shape->rows && (!bytes || scale > 1) &&
                        number == shape->stride * scale;
        moved += far->moves[k];
        if (far->moves[k])
            far->unit = scale;
    }
    return moved;
}

/* The parameter as the stride of each array by itself, and then of all that have this stride. */
static enum status far_param(struct far *far, int64_t number, struct error *err)
{
    const int arrays = far->probe->scene->bundle->arrays;
    enum status status = STATUS_OK;
    bool fits = false;
    for (int i = 0; i <= arrays && !status && !fits; i++) {
        for (int unit = 0; unit < 2 && !status && !fits; unit++) {
            int moved = far_choose(far, number, i, unit);
            if (moved > (i == arrays ? 1 : 0))
                status = far_try(far, &fits, err);
        }
    }
    return status;
}

enum status probe_far(struct probe *probe, struct error *err)
{
    const struct scene *scene = probe->scene;
    struct far far = {.probe = probe};
    enum status status = STATUS_OK;
    probe->now = PROBE_FAR;
    for (int i = 0; i < scene->bundle->arrays && !scene->bundle->blocks; i++)
        far.shape[i] = shape_of(scene, i);
    probe_skip(probe, PROBE_FAR, "no parameter is the stride of an array's rows");
    for (unsigned p = 0; p < scene->found.layout.count && p < LAYOUT_MAX && !status; p++) {
        int64_t number = probe_number(probe, p);
        far.param = p;
        if (number > 0)
            status = far_param(&far, number, err);
    }
    if (far.held)
        probe_good(probe, PROBE_FAR);
    return status;
}
