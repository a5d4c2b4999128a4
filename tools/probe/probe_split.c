/*
 * probe_split.c - a part of the batch gives the bits of these rows in the whole batch.
 *
 * Which numbers of the launch are the size of the batch is found out: with them made smaller, the
 * launch must write the first rows as the whole launch does, and nothing of the others. Where the
 * reference does not declare its rows independent, three launches on reordered inputs must show it.
 */
#include <stdlib.h>
#include <string.h>
#include "lang/dtype.h"
#include "lang/formals.h"
#include "tools/probe/probe_work.h"

enum { TRIALS = 24, NONE = -1, EQUAL = -2 /* all parameters that hold the number of rows */ };

struct split {
    struct probe *probe;
    int64_t rows, least; /* least: rows that cannot be parted, because one block has them */
    int dim, param;      /* of the grid, of the parameters; NONE, EQUAL */
    struct probe_outputs whole;
    uint8_t *before[BUNDLE_ARRAYS]; /* dense, of the poisoned outputs */
};

/* ---- a launch of fewer rows ---- */

static int64_t divisor(int64_t a, int64_t b)
{
    return b ? divisor(b, a % b) : a;
}

/* The launch of `count` rows. */
static void split_change(const struct split *split, int64_t count, struct scene_change *change,
                         uint8_t *params, uint32_t *grid)
{
    const struct probe *probe = split->probe;
    const struct bundle *bundle = probe->scene->bundle;
    memcpy(params, bundle->params, sizeof(bundle->params));
    memcpy(grid, bundle->grid, sizeof(bundle->grid));
    if (split->dim >= 0)
        grid[split->dim] = (uint32_t)(grid[split->dim] * count / split->rows);
    for (unsigned p = 0; p < probe->scene->found.layout.count && p < LAYOUT_MAX; p++) {
        int64_t number = probe_number(probe, p);
        if ((int)p == split->param || (split->param == EQUAL && number == split->rows))
            probe_set_number(probe, p, number / split->rows * count, params);
    }
    change->params = params;
    change->grid = grid;
}

static enum status split_run(const struct split *split, int64_t count, struct scene_change change,
                             struct probe_outputs *out, struct error *err)
{
    uint8_t params[BUNDLE_PARAMS];
    uint32_t grid[3];
    split_change(split, count, &change, params, grid);
    return probe_run(split->probe, &change, out, NULL, err);
}

/* ---- which numbers are the size of the batch ---- */

/* What outputs hold before a poisoned run, and what the whole launch makes of it. */
static enum status split_begin(struct split *split, struct error *err)
{
    const struct scene_change change = {.poisons = true, .poison = PROBE_POISON};
    const struct bundle *bundle = split->probe->scene->bundle;
    for (int i = 0; i < bundle->arrays; i++) {
        const struct bundle_array *array = &bundle->array[i];
        if (!split->probe->first.dense[i])
            continue;
        split->before[i] = scene_gather(split->probe->scene, i, NULL);
        if (!split->before[i])
            return error_set(err, STATUS_NO_MEMORY, "no memory for %s", array->name);
        if (scene_poisons(bundle, array))
            memset(split->before[i], PROBE_POISON,
                   (size_t)array->elements * dtype_bytes(array->dtype));
    }
    return probe_run(split->probe, &change, &split->whole, NULL, err);
}

/* Whether the launch has written the first rows as the whole one, and no others. */
static bool writes_rows(const struct split *split, const struct probe_outputs *part, int64_t count)
{
    const struct bundle *bundle = split->probe->scene->bundle;
    for (int i = 0; i < bundle->arrays; i++) {
        const struct bundle_array *array = &bundle->array[i];
        size_t size = dtype_bytes(array->dtype);
        int64_t first = array->elements / split->rows * count;
        for (int64_t e = 0; split->before[i] && e < array->elements; e++) {
            size_t at = (size_t)e * size;
            bool written = memcmp(part->dense[i] + at, split->before[i] + at, size) != 0;
            bool by_whole = memcmp(split->whole.dense[i] + at, split->before[i] + at, size) != 0;
            if (written != (e < first && by_whole) && !split->probe->unsteady[i][e])
                return false;
        }
    }
    return true;
}

static int64_t half(const struct split *split)
{
    return split->rows / 2 / split->least * split->least;
}

/* Whether the grid's dim and the parameter, changed together, make a launch of fewer rows. */
static enum status split_try(struct split *split, bool *fits, struct error *err)
{
    const struct scene_change change = {.poisons = true, .poison = PROBE_POISON};
    struct probe_outputs part;
    int64_t blocks = split->dim < 0 ? 0 : split->probe->scene->bundle->grid[split->dim];
    *fits = false;
    split->least = blocks ? split->rows / divisor(split->rows, blocks) : 1;
    if (half(split) == 0)
        return STATUS_OK;
    enum status status = split_run(split, half(split), change, &part, err);
    *fits = !status && part.result.outcome == WORKER_RAN && writes_rows(split, &part, half(split));
    probe_release(&part);
    return status;
}

/* Whether a parameter may be a number of rows, or of elements in them. */
static bool is_multiple(const struct split *split, int param)
{
    int64_t number = param >= 0 ? probe_number(split->probe, (unsigned)param) : 0;
    return param < 0 || (number > 0 && number % split->rows == 0);
}

static enum status split_find(struct split *split, bool *found, struct error *err)
{
    const struct scene *scene = split->probe->scene;
    int params =
        (int)scene->found.layout.count < LAYOUT_MAX ? (int)scene->found.layout.count : LAYOUT_MAX;
    enum status status = STATUS_OK;
    int trials = 0;
    *found = false;
    for (int param = EQUAL; param < params; param++) {
        if (!is_multiple(split, param))
            continue;
        for (int dim = NONE; dim < 3 && !status && trials < TRIALS; dim++) {
            if ((dim >= 0 && scene->bundle->grid[dim] < 2) || (dim == NONE && param == NONE))
                continue;
            split->dim = dim;
            split->param = param;
            trials++;
            status = split_try(split, found, err);
            if (*found)
                return STATUS_OK;
        }
    }
    return status;
}

/* ---- the relation ---- */

/* Row `from` of each input becomes the first one. */
static enum status turn_rows(struct probe *probe, int64_t rows, int64_t from, struct error *err)
{
    for (int i = 0; i < probe->scene->bundle->arrays; i++) {
        const struct bundle_array *array = &probe->scene->bundle->array[i];
        size_t row = (size_t)(array->elements / rows) * dtype_bytes(array->dtype);
        size_t all = row * (size_t)rows, cut = row * (size_t)from;
        if (probe_input_rows(probe, i) != rows)
            continue;
        uint8_t *dense = scene_gather(probe->scene, i, NULL), *turned = malloc(all + 1);
        if (dense && turned) {
            memcpy(turned, dense + cut, all - cut);
            memcpy(turned + all - cut, dense, cut);
            scene_scatter(probe->scene, i, turned, NULL);
        }
        bool good = dense && turned;
        free(dense);
        free(turned);
        if (!good)
            return error_set(err, STATUS_NO_MEMORY, "no memory for %s", array->name);
    }
    return STATUS_OK;
}

/* Elements of `count` rows that are not those of rows [from, ...) of the whole. */
static struct probe_count part_differs(const struct split *split, const struct probe_outputs *whole,
                                       const struct probe_outputs *part, int64_t from, int64_t rows)
{
    const struct bundle *bundle = split->probe->scene->bundle;
    struct probe_count count = {.array = -1};
    for (int i = 0; i < bundle->arrays; i++) {
        size_t size = dtype_bytes(bundle->array[i].dtype);
        int64_t each = bundle->array[i].elements / split->rows;
        for (int64_t e = 0; part->dense[i] && e < rows * each; e++) {
            int64_t at = from * each + e;
            if (split->probe->unsteady[i][at] || !memcmp(part->dense[i] + (size_t)e * size,
                                                         whole->dense[i] + (size_t)at * size, size))
                continue;
            if (!count.elements++) {
                count.array = i;
                count.first = at;
            }
        }
    }
    return count;
}

/* Both parts over the inputs of `seed`, against the whole; the first that differs. */
static enum status split_pair(struct split *split, uint64_t seed, struct probe_count *out,
                              struct error *err)
{
    const struct scene_change none = {0};
    const int64_t from[3] = {0, half(split), split->rows};
    struct probe_outputs whole = {0};
    enum status status = probe_refill(split->probe, seed, err);
    *out = (struct probe_count){.array = -1};
    if (!status)
        status = probe_run(split->probe, &none, &whole, NULL, err);
    bool ran = !status && whole.result.outcome == WORKER_RAN;
    for (int i = 0; i < 2 && ran && !status && !out->elements; i++) {
        struct probe_outputs part = {0};
        int64_t rows = from[i + 1] - from[i];
        status = turn_rows(split->probe, split->rows, from[i], err);
        if (!status)
            status = split_run(split, rows, none, &part, err);
        ran = !status && part.result.outcome == WORKER_RAN;
        if (ran)
            *out = part_differs(split, &whole, &part, from[i], rows);
        probe_release(&part);
    }
    if (!ran)
        out->elements = UINT64_MAX;
    probe_release(&whole);
    return status;
}

static enum status split_hold(struct split *split, struct error *err)
{
    struct probe *probe = split->probe;
    struct probe_count count = {0};
    enum status status = STATUS_OK;
    bool declared = probe_rows_declared(probe, PROBE_SPLIT);
    if (!declared && probe->settings->declared) {
        probe_skip(probe, PROBE_SPLIT, "the reference does not declare rows as independent");
        return STATUS_OK;
    }
    for (uint64_t seed = 1; seed <= PROBE_LEARNT && !declared && !status && !count.elements; seed++)
        status = split_pair(split, seed, &count, err);
    if (status || count.elements) {
        probe_skip(probe, PROBE_SPLIT, "no launches show that a part of the batch gives its rows");
        return status;
    }
    status = split_pair(split, 0, &count, err);
    if (count.elements && count.elements != UINT64_MAX)
        probe_find(probe, PROBE_SPLIT,
                   "with %lld and %lld of the %lld rows, one part after the other, %llu elements "
                   "are not those of the whole batch; the first is element %lld of %s",
                   (long long)half(split), (long long)(split->rows - half(split)),
                   (long long)split->rows, (unsigned long long)count.elements,
                   (long long)count.first, probe_array(probe, count.array));
    else if (count.elements)
        probe_skip(probe, PROBE_SPLIT, "a part of the batch does not run to its end");
    else
        probe_good(probe, PROBE_SPLIT);
    return status;
}

/* Whether another size of the reference is the same number: a parameter that holds it may be
 * either. */
static bool is_ambiguous(const struct bundle *bundle, int64_t rows)
{
    struct formals formals;
    struct error err;
    int same = 0;
    if (!*bundle->formals || formals_parse(&formals, bundle->formals, &err))
        return false;
    for (int i = 0; i < formals.sizes; i++)
        same += bundle->call.size[i] == rows;
    return same > 1;
}

enum status probe_split(struct probe *probe, struct error *err)
{
    struct split split = {.probe = probe, .rows = probe_rows(probe), .least = 1};
    bool found = false;
    probe->now = PROBE_SPLIT;
    if (split.rows < 2) {
        probe_skip(probe, PROBE_SPLIT, "rows of inputs and outputs do not go together");
        return STATUS_OK;
    }
    if (is_ambiguous(probe->scene->bundle, split.rows)) {
        probe_skip(probe, PROBE_SPLIT, "another size is the number of rows, too");
        return STATUS_OK;
    }
    enum status status = split_begin(&split, err);
    if (!status && split.whole.result.outcome == WORKER_RAN)
        status = split_find(&split, &found, err);
    if (!status && found)
        status = split_hold(&split, err);
    else
        probe_skip(probe, PROBE_SPLIT, "no number of the launch is that of the rows");
    probe_release(&split.whole);
    for (int i = 0; i < BUNDLE_ARRAYS; i++)
        free(split.before[i]);
    return status ? status : probe_refill(probe, 0, err);
}
