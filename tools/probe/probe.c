#include "tools/probe/probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/dtype.h"
#include "tools/probe/probe_work.h"
#include "tools/progress.h"

enum { SKEW = 16, POISONS = 3 };

/* Values that no kernel writes everywhere: large numbers of opposite sign in every format, and NaN,
 * which no factor of zero cancels. */
static const uint8_t poisons[POISONS] = {PROBE_POISON, 0xd5, 0xff};

static const char *const names[PROBE_CHECKS] = {
    [PROBE_ENDS] = "ends",
    [PROBE_STEADY] = "steady",
    [PROBE_NOISE] = "noise",
    [PROBE_WRITES] = "writes",
    [PROBE_READS] = "reads",
    [PROBE_OUTSIDE] = "outside",
    [PROBE_INPUTS] = "inputs",
    [PROBE_ALIGN] = "alignment",
    [PROBE_FAR] = "far",
    [PROBE_STATE] = "state",
    [PROBE_SCALE] = "scale",
    [PROBE_PERMUTE] = "permute",
    [PROBE_NEIGHBOURS] = "neighbours",
    [PROBE_SPLIT] = "split",
};

const char *probe_name(enum probe_check check)
{
    return names[check];
}

bool probe_check_of(const char *name, size_t length, enum probe_check *out)
{
    for (int i = 0; i < PROBE_CHECKS; i++) {
        *out = (enum probe_check)i;
        if (strlen(names[i]) == length && !strncmp(names[i], name, length))
            return true;
    }
    return false;
}

/* ---- results ---- */

static void probe_set(struct probe *probe, enum probe_check check, enum probe_outcome outcome,
                      const char *format, va_list list)
{
    struct probe_result *result = &probe->report->result[check];
    if (result->outcome == PROBE_FINDING)
        return;
    result->outcome = outcome;
    vsnprintf(result->sentence, sizeof(result->sentence), format, list);
}

void probe_good(struct probe *probe, enum probe_check check)
{
    struct probe_result *result = &probe->report->result[check];
    if (result->outcome == PROBE_SKIPPED)
        *result = (struct probe_result){.outcome = PROBE_GOOD};
}

void probe_find(struct probe *probe, enum probe_check check, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    probe_set(probe, check, PROBE_FINDING, format, list);
    va_end(list);
}

void probe_skip(struct probe *probe, enum probe_check check, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    probe_set(probe, check, PROBE_SKIPPED, format, list);
    va_end(list);
}

/* ---- runs ---- */

void probe_release(struct probe_outputs *outputs)
{
    for (int i = 0; i < BUNDLE_ARRAYS; i++)
        free(outputs->dense[i]);
    memset(outputs, 0, sizeof(*outputs));
}

enum status probe_run(struct probe *probe, const struct scene_change *change,
                      struct probe_outputs *out, struct scene_run *raw, struct error *err)
{
    const struct bundle *bundle = probe->scene->bundle;
    struct scene_run run;
    memset(out, 0, sizeof(*out));
    progress("%s, %d runs", names[probe->now], probe->report->runs);
    enum status status = scene_run(probe->scene, change, &run, err);
    probe->report->runs++;
    out->result = run.result;
    for (int i = 0; !status && run.result.outcome == WORKER_RAN && i < bundle->arrays; i++) {
        if (!role_writes(bundle->array[i].role))
            continue;
        out->dense[i] = scene_gather(probe->scene, i, run.after);
        if (!out->dense[i])
            status = error_set(err, STATUS_NO_MEMORY, "no memory for %s", bundle->array[i].name);
    }
    if (status)
        probe_release(out);
    if (raw && !status)
        *raw = run;
    else
        scene_run_release(&run);
    return status;
}

struct probe_count probe_differ(const struct probe *probe, const struct probe_outputs *a,
                                const struct probe_outputs *b)
{
    struct probe_count count = {.array = -1, .first = -1};
    for (int i = 0; i < probe->scene->bundle->arrays; i++) {
        const struct bundle_array *array = &probe->scene->bundle->array[i];
        size_t size = dtype_bytes(array->dtype);
        if (!a->dense[i] || !b->dense[i])
            continue;
        for (int64_t e = 0; e < array->elements; e++) {
            size_t at = (size_t)e * size;
            if (!memcmp(a->dense[i] + at, b->dense[i] + at, size) ||
                (probe->unsteady[i] && probe->unsteady[i][e]))
                continue;
            if (!count.elements++) {
                count.array = i;
                count.first = e;
            }
        }
    }
    return count;
}

const char *probe_array(const struct probe *probe, int array)
{
    return array < 0 ? "" : probe->scene->bundle->array[array].name;
}

int64_t probe_number(const struct probe *probe, unsigned param)
{
    const struct scene *scene = probe->scene;
    uint32_t at = scene->found.layout.param[param].offset;
    uint32_t size = scene->found.layout.param[param].size;
    uint64_t value = 0, offset;
    if ((size != 4 && size != 8) || at + size > scene->bundle->params_bytes)
        return 0;
    memcpy(&value, scene->bundle->params + at, size);
    return value <= INT64_MAX && scene_region_of(scene, value, &offset) < 0 ? (int64_t)value : 0;
}

void probe_set_number(const struct probe *probe, unsigned param, int64_t value, uint8_t *params)
{
    const struct param_layout *layout = &probe->scene->found.layout;
    memcpy(params + layout->param[param].offset, &value, layout->param[param].size);
}

/* ---- steady ---- */

/* Marks elements that differ; whether there are any. */
static bool probe_mark(struct probe *probe, const struct probe_outputs *again)
{
    bool any = false;
    for (int i = 0; i < probe->scene->bundle->arrays; i++) {
        const struct bundle_array *array = &probe->scene->bundle->array[i];
        size_t size = dtype_bytes(array->dtype);
        for (int64_t e = 0; probe->first.dense[i] && e < array->elements; e++) {
            if (!memcmp(probe->first.dense[i] + (size_t)e * size,
                        again->dense[i] + (size_t)e * size, size))
                continue;
            probe->unsteady[i][e] = 1;
            any = true;
        }
    }
    return any;
}

static struct probe_count probe_marked(const struct probe *probe)
{
    struct probe_count count = {.array = -1};
    for (int i = 0; i < probe->scene->bundle->arrays; i++) {
        for (int64_t e = 0; e < probe->scene->bundle->array[i].elements; e++) {
            if (!probe->unsteady[i][e])
                continue;
            if (!count.elements++) {
                count.array = i;
                count.first = e;
            }
        }
    }
    return count;
}

static enum status probe_steady(struct probe *probe, struct error *err)
{
    enum status status = STATUS_OK;
    int differing = 0;
    probe->now = PROBE_STEADY;
    for (int i = 1; i < probe->settings->times && !status; i++) {
        const struct scene_change change = {.seed = (uint64_t)i};
        struct probe_outputs again;
        status = probe_run(probe, &change, &again, NULL, err);
        if (status)
            break;
        if (again.result.outcome == WORKER_RAN)
            differing += probe_mark(probe, &again);
        else
            probe_find(probe, PROBE_ENDS, "run %d did not end: %s", i + 1, again.result.sentence);
        probe_release(&again);
    }
    struct probe_count count = probe_marked(probe);
    if (differing)
        probe_find(
            probe, PROBE_STEADY,
            "%llu elements differ from the first run, in %d of %d runs; the first is element "
            "%lld of %s",
            (unsigned long long)count.elements, differing, probe->settings->times - 1,
            (long long)count.first, probe_array(probe, count.array));
    probe_good(probe, PROBE_STEADY);
    return status;
}

/* ---- schedule noise ---- */

/* The launch beside busy blocks; the interpreter holds some blocks and warps back. */
static enum status probe_noise(struct probe *probe, struct error *err)
{
    bool gpu = !strcmp(worker_about(probe->scene->worker)->kind, "gpu");
    const char *how = gpu ? "beside busy blocks" : "with some blocks and warps held back";
    enum status status = STATUS_OK;
    probe->now = PROBE_NOISE;
    for (int i = 1; (i < probe->settings->times || i == 1) && !status; i++) {
        const struct scene_change change = {.seed = (uint64_t)i, .noise = (uint32_t)i};
        struct probe_outputs noisy;
        status = probe_run(probe, &change, &noisy, NULL, err);
        if (status)
            break;
        struct probe_count count = probe_differ(probe, &probe->first, &noisy);
        if (noisy.result.outcome == WORKER_REFUSED) {
            probe_skip(probe, PROBE_NOISE, "%s", noisy.result.sentence);
            return STATUS_OK;
        }
        if (noisy.result.outcome != WORKER_RAN)
            probe_find(probe, PROBE_NOISE, "%s: %s", how, noisy.result.sentence);
        else if (count.elements)
            probe_find(probe, PROBE_NOISE,
                       "%s %llu elements differ; the first is element %lld of %s", how,
                       (unsigned long long)count.elements, (long long)count.first,
                       probe_array(probe, count.array));
        probe_release(&noisy);
    }
    probe_good(probe, PROBE_NOISE);
    return status;
}

/* ---- what is written ---- */

/* Whether the element holds the poison of each run. */
static bool probe_kept(const struct probe_outputs out[POISONS], int array, size_t at, size_t size)
{
    for (int i = 0; i < POISONS; i++)
        if (!scene_holds(out[i].dense[array] + at, size, poisons[i]))
            return false;
    return true;
}

static bool probe_follows(const struct probe_outputs out[POISONS], int array, size_t at,
                          size_t size)
{
    for (int i = 1; i < POISONS; i++)
        if (memcmp(out[0].dense[array] + at, out[i].dense[array] + at, size))
            return true;
    return false;
}

/* Elements that still hold all poisons were never written; others that differ follow what memory
 * held before. */
static void probe_poisons(struct probe *probe, const struct probe_outputs out[POISONS])
{
    struct probe_count never = {.array = -1}, follow = {.array = -1};
    for (int i = 0; i < probe->scene->bundle->arrays; i++) {
        const struct bundle_array *array = &probe->scene->bundle->array[i];
        size_t size = dtype_bytes(array->dtype);
        for (int64_t e = 0; out[0].dense[i] && e < array->elements; e++) {
            size_t at = (size_t)e * size;
            bool untouched = array->role == ROLE_WRITE && probe_kept(out, i, at, size);
            struct probe_count *count = untouched ? &never : &follow;
            if (!untouched && (!probe_follows(out, i, at, size) || probe->unsteady[i][e]))
                continue;
            if (!count->elements++) {
                count->array = i;
                count->first = e;
            }
        }
    }
    if (never.elements)
        probe_find(probe, PROBE_WRITES,
                   "%llu elements are never written; the first is element %lld of %s",
                   (unsigned long long)never.elements, (long long)never.first,
                   probe_array(probe, never.array));
    if (follow.elements)
        probe_find(probe, PROBE_READS,
                   "%llu elements depend on what outputs or workspaces held before the launch; the "
                   "first is element %lld of %s",
                   (unsigned long long)follow.elements, (long long)follow.first,
                   probe_array(probe, follow.array));
    probe_good(probe, PROBE_WRITES);
    probe_good(probe, PROBE_READS);
}

/* The array of a region, for messages. */
static const char *probe_region(const struct probe *probe, int region)
{
    uint64_t offset;
    for (int i = 0; i < probe->scene->bundle->arrays; i++) {
        if (scene_region_of(probe->scene, probe->scene->bundle->array[i].address, &offset) ==
            region)
            return probe->scene->bundle->array[i].name;
    }
    return "an argument that the entry does not declare";
}

static void probe_guards(struct probe *probe, const struct scene_run *run)
{
    for (int i = 0; i < probe->scene->regions; i++) {
        const struct worker_guard *guard = &run->guard[i];
        bool before = guard->first < 0;
        int64_t far =
            before ? -guard->first : guard->first - (int64_t)probe->scene->region[i].bytes + 1;
        if (guard->changed)
            probe_find(probe, PROBE_OUTSIDE,
                       "%llu bytes are written outside %s; the first is byte %lld %s",
                       (unsigned long long)guard->changed, probe_region(probe, i), (long long)far,
                       before ? "before it" : "behind its end");
    }
}

/* Bytes of inputs, and of the gaps between rows, that the launch changed. */
static void probe_untouched(struct probe *probe, const struct scene_run *run)
{
    for (int i = 0; i < probe->scene->regions; i++) {
        struct scene_changed changed = scene_changed(probe->scene, run, i);
        if (changed.inputs)
            probe_find(probe, PROBE_INPUTS, "%llu bytes of the input %s are changed",
                       (unsigned long long)changed.inputs, probe_region(probe, i));
        if (changed.gaps)
            probe_find(probe, PROBE_OUTSIDE, "%llu bytes between the rows of %s are written",
                       (unsigned long long)changed.gaps, probe_region(probe, i));
    }
}

static enum status probe_memory(struct probe *probe, struct error *err)
{
    struct probe_outputs out[POISONS] = {0};
    struct scene_run run = {0};
    enum status status = STATUS_OK;
    bool ran = true;
    probe->now = PROBE_WRITES;
    for (int i = 0; i < POISONS && !status && ran; i++) {
        const struct scene_change change = {.poisons = true, .poison = poisons[i]};
        status = probe_run(probe, &change, &out[i], &run, err);
        ran = !status && run.result.outcome == WORKER_RAN;
        if (!status && !ran)
            probe_find(probe, PROBE_READS, "with other bytes in outputs and workspaces: %s",
                       run.result.sentence);
        if (ran) {
            probe_guards(probe, &run);
            probe_untouched(probe, &run);
        }
        scene_run_release(&run);
    }
    if (ran)
        probe_poisons(probe, out);
    probe_good(probe, PROBE_OUTSIDE);
    probe_good(probe, PROBE_INPUTS);
    for (int i = 0; i < POISONS; i++)
        probe_release(&out[i]);
    return status;
}

static enum status probe_alignment(struct probe *probe, struct error *err)
{
    const struct scene_change change = {.skew = SKEW};
    struct probe_outputs moved;
    probe->now = PROBE_ALIGN;
    enum status status = probe_run(probe, &change, &moved, NULL, err);
    if (status)
        return status;
    struct probe_count count = probe_differ(probe, &probe->first, &moved);
    if (moved.result.outcome != WORKER_RAN)
        probe_find(probe, PROBE_ALIGN, "with every array 16 bytes further: %s",
                   moved.result.sentence);
    else if (count.elements)
        probe_find(probe, PROBE_ALIGN,
                   "with every array 16 bytes further %llu elements differ; the first is element "
                   "%lld of %s",
                   (unsigned long long)count.elements, (long long)count.first,
                   probe_array(probe, count.array));
    probe_good(probe, PROBE_ALIGN);
    probe_release(&moved);
    return STATUS_OK;
}

/* A kernel that keeps something from one launch to the next, in a variable of its module. */
static enum status probe_state(struct probe *probe, struct error *err)
{
    const struct scene_change change = {0};
    struct probe_outputs out[2] = {0};
    enum status status = probe_refill(probe, 1, err);
    probe->now = PROBE_STATE;
    for (int i = 0; i < 2 && !status; i++) {
        status = probe_run(probe, &change, &out[i], NULL, err);
        if (!status)
            status = probe_refill(probe, 0, err);
    }
    struct probe_count count = probe_differ(probe, &probe->first, &out[1]);
    if (!status && out[1].result.outcome == WORKER_RAN && count.elements)
        probe_find(probe, PROBE_STATE,
                   "after a launch on other inputs %llu elements differ; the first is element %lld "
                   "of %s",
                   (unsigned long long)count.elements, (long long)count.first,
                   probe_array(probe, count.array));
    probe_good(probe, PROBE_STATE);
    probe_release(&out[0]);
    probe_release(&out[1]);
    return status;
}

/* ---- all ---- */

static enum status probe_begin(struct probe *probe, struct error *err)
{
    const struct scene_change change = {0};
    const struct bundle *bundle = probe->scene->bundle;
    enum status status = probe_run(probe, &change, &probe->first, NULL, err);
    for (int i = 0; i < bundle->arrays && !status; i++) {
        probe->unsteady[i] = calloc(1, (size_t)bundle->array[i].elements + 1);
        if (!probe->unsteady[i])
            status = error_set(err, STATUS_NO_MEMORY, "no memory for %s", bundle->array[i].name);
    }
    if (!status && probe->first.result.outcome != WORKER_RAN)
        probe_find(probe, PROBE_ENDS, "%s", probe->first.result.sentence);
    return status;
}

enum {
    EVERY = PROBE_ALL, /* the other checks leave out the elements that it marks */
    MEMORY = PROBE_BIT(PROBE_WRITES) | PROBE_BIT(PROBE_READS) | PROBE_BIT(PROBE_OUTSIDE) |
             PROBE_BIT(PROBE_INPUTS)
};

/* Each runs where one of its checks is wanted. */
static const struct {
    enum status (*run)(struct probe *probe, struct error *err);
    unsigned checks;
} steps[] = {
    {probe_steady, EVERY},
    {probe_noise, PROBE_BIT(PROBE_NOISE)},
    {probe_memory, MEMORY},
    {probe_alignment, PROBE_BIT(PROBE_ALIGN)},
    {probe_far, PROBE_BIT(PROBE_FAR)},
    {probe_state, PROBE_BIT(PROBE_STATE)},
    {probe_scale, PROBE_BIT(PROBE_SCALE)},
    {probe_permute, PROBE_BIT(PROBE_PERMUTE)},
    {probe_neighbours, PROBE_BIT(PROBE_NEIGHBOURS)},
    {probe_split, PROBE_BIT(PROBE_SPLIT)},
};

/* A step may have found something for a check that is not wanted. */
static void drop_unwanted(struct probe_report *report, unsigned checks)
{
    for (int i = PROBE_STEADY; i < PROBE_CHECKS; i++) {
        if (!(checks & PROBE_BIT(i)))
            report->result[i] =
                (struct probe_result){.outcome = PROBE_SKIPPED, .sentence = "not wanted"};
    }
}

enum status probe_bundle(struct scene *scene, const struct probe_settings *settings,
                         struct probe_report *out, struct error *err)
{
    struct probe probe = {.scene = scene, .settings = settings, .report = out};
    memset(out, 0, sizeof(*out));
    for (enum probe_check check = PROBE_STEADY; check < PROBE_CHECKS; check++)
        probe_skip(&probe, check, "the launch does not end");
    enum status status = probe_begin(&probe, err);
    bool ran = !status && probe.first.result.outcome == WORKER_RAN;
    for (size_t i = 0; ran && !status && i < sizeof(steps) / sizeof(*steps); i++) {
        if (settings->checks & steps[i].checks)
            status = steps[i].run(&probe, err);
    }
    if (ran)
        probe_good(&probe, PROBE_ENDS);
    drop_unwanted(out, settings->checks);
    probe_release(&probe.first);
    for (int i = 0; i < BUNDLE_ARRAYS; i++)
        free(probe.unsteady[i]);
    return status;
}
