#include "tools/replay/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lang/dtype.h"
#include "tools/progress.h"

enum { MOST_DISTINCT = 1024 };

/* Two values that no kernel writes everywhere: large numbers of opposite sign in every format. */
static const uint8_t poisons[2] = {0x6d, 0xed};

/* Of each output, which elements the launch never writes: one byte an element, NULL: not known. */
struct unwritten {
    bool tried;
    uint8_t *kept[BUNDLE_ARRAYS];
};

static void count_differing(const struct bundle_array *array, int64_t element, const uint8_t *was,
                            const uint8_t *is, struct replay_output *out)
{
    double off = fabs(dtype_load(array->dtype, is) - dtype_load(array->dtype, was));
    if (!out->differing++)
        out->first = element;
    if (off > out->max_abs)
        out->max_abs = off;
}

/* Compares an array's dense elements with those of the bundle. `kept`: one byte an element, not 0
 * for those that the launch never writes; NULL: not known. */
static void replay_compare(const struct bundle_array *array, const uint8_t *dense,
                           const uint8_t *kept, struct replay_output *out)
{
    size_t size = dtype_bytes(array->dtype);
    *out = (struct replay_output){.name = array->name, .first = -1, .first_unwritten = -1};
    for (int p = 0; p < BUNDLE_PARTS; p++) {
        const struct bundle_part *part = &array->part[BUNDLE_AFTER][p];
        for (int64_t i = 0; i < part->count; i++) {
            const uint8_t *was = part->bytes + (size_t)i * size;
            const uint8_t *is = dense + (size_t)(part->first + i) * size;
            out->compared++;
            if (!memcmp(was, is, size))
                continue;
            if (!kept || !kept[part->first + i])
                count_differing(array, part->first + i, was, is, out);
            else if (!out->unwritten++)
                out->first_unwritten = part->first + i;
        }
    }
}

/* FNV-1a over the elements, to count results. */
static uint64_t hash(uint64_t state, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        state = (state ^ bytes[i]) * 0x100000001b3;
    return state;
}

/* ---- elements that are never written ---- */

/* Marks the elements that still hold the run's poison; keeps marks that the first run has set where
 * `again`. */
static void mark_kept(const struct scene *scene, const struct scene_run *run, uint8_t poison,
                      bool again, struct unwritten *out)
{
    for (int i = 0; i < scene->bundle->arrays; i++) {
        const struct bundle_array *array = &scene->bundle->array[i];
        size_t size = dtype_bytes(array->dtype);
        if (!scene_poisons(scene->bundle, array))
            continue;
        uint8_t *dense = scene_gather(scene, i, run->after);
        if (!again)
            out->kept[i] = calloc((size_t)array->elements + 1, 1);
        for (int64_t e = 0; dense && out->kept[i] && e < array->elements; e++) {
            bool holds = scene_holds(dense + (size_t)e * size, size, poison);
            out->kept[i][e] = holds && (!again || out->kept[i][e]);
        }
        free(dense);
    }
}

/* Puts what the program's memory held into the run's elements that are never written. */
static void put_program_bytes(struct scene *scene, const struct scene_run *run,
                              const struct unwritten *unwritten)
{
    for (int i = 0; i < scene->bundle->arrays; i++) {
        const struct bundle_array *array = &scene->bundle->array[i];
        const uint8_t *kept = unwritten->kept[i];
        size_t size = dtype_bytes(array->dtype);
        uint8_t *dense = kept ? scene_gather(scene, i, run->after) : NULL;
        for (int p = 0; dense && p < BUNDLE_PARTS; p++) {
            const struct bundle_part *part = &array->part[BUNDLE_AFTER][p];
            for (int64_t e = 0; e < part->count; e++) {
                size_t at = (size_t)(part->first + e);
                if (kept[at])
                    memcpy(dense + at * size, part->bytes + (size_t)e * size, size);
            }
        }
        if (dense)
            scene_scatter(scene, i, dense, run->after);
        free(dense);
    }
}

static void forget_kept(struct unwritten *out)
{
    for (int i = 0; i < BUNDLE_ARRAYS; i++) {
        free(out->kept[i]);
        out->kept[i] = NULL;
    }
}

/* Launches twice over outputs that hold another poison each time. Nothing is known where a launch
 * does not end. */
static enum status find_unwritten(struct scene *scene, struct unwritten *out, struct error *err)
{
    enum status status = STATUS_OK;
    bool ended = true;
    out->tried = true;
    for (int i = 0; i < 2 && !status && ended; i++) {
        const struct scene_change change = {.poisons = true, .poison = poisons[i]};
        struct scene_run run;
        status = scene_run(scene, &change, &run, err);
        ended = !status && run.result.outcome == WORKER_RAN;
        if (ended)
            mark_kept(scene, &run, poisons[i], i > 0, out);
        if (!status)
            scene_run_release(&run);
    }
    if (!ended)
        forget_kept(out);
    return status;
}

/* ---- runs ---- */

/* Compares the outputs; returns the hash of all. */
static enum status replay_outputs(const struct scene *scene, const struct scene_run *run,
                                  const struct unwritten *unwritten, struct replay_output *output,
                                  int *outputs, uint64_t *result, struct error *err)
{
    *outputs = 0;
    *result = 0xcbf29ce484222325;
    for (int i = 0; i < scene->bundle->arrays; i++) {
        const struct bundle_array *array = &scene->bundle->array[i];
        if (!role_writes(array->role))
            continue;
        uint8_t *dense = scene_gather(scene, i, run->after);
        if (!dense)
            return error_set(err, STATUS_NO_MEMORY, "no memory for %s", array->name);
        replay_compare(array, dense, unwritten->kept[i], &output[(*outputs)++]);
        *result = hash(*result, dense, (size_t)array->elements * dtype_bytes(array->dtype));
        free(dense);
    }
    return STATUS_OK;
}

static uint64_t differing_of(const struct replay_output *output, int outputs)
{
    uint64_t differing = 0;
    for (int i = 0; i < outputs; i++)
        differing += output[i].differing;
    return differing;
}

/* Compares the outputs; on the first difference finds the elements that are never written, which
 * then hold the program's bytes. */
static enum status compare(struct scene *scene, const struct scene_run *run,
                           struct unwritten *unwritten, struct replay_output *output, int *outputs,
                           uint64_t *result, struct error *err)
{
    enum status status = replay_outputs(scene, run, unwritten, output, outputs, result, err);
    if (!status && differing_of(output, *outputs) && !unwritten->tried) {
        status = find_unwritten(scene, unwritten, err);
        if (!status)
            status = replay_outputs(scene, run, unwritten, output, outputs, result, err);
    }
    if (!status)
        put_program_bytes(scene, run, unwritten);
    return status;
}

static void count_changed(const struct scene *scene, const struct scene_run *run,
                          struct replay_report *out)
{
    for (int i = 0; i < scene->regions; i++) {
        struct scene_changed changed = scene_changed(scene, run, i);
        out->outside += run->guard[i].changed + (scene->around ? changed.gaps : 0);
        out->inputs += changed.inputs;
    }
}

/* One run into the report; `seen` holds the hashes of different results. */
static enum status replay_once(struct scene *scene, const struct replay_settings *settings,
                               struct replay_report *out, uint64_t *seen,
                               struct unwritten *unwritten, struct error *err)
{
    const struct scene_change change = {
        .seed = settings->seed ? settings->seed + (uint64_t)out->runs : 0,
        .one_sm = settings->one_sm,
        .sm = settings->sm};
    struct replay_output output[BUNDLE_ARRAYS];
    struct scene_run run;
    uint64_t result = 0;
    int outputs = 0, at = 0;
    enum status status = scene_run(scene, &change, &run, err);
    if (status)
        return status;
    if (run.result.outcome != WORKER_RAN) {
        out->stopped = run.result;
        return STATUS_OK;
    }
    if (!out->runs || run.result.held < out->held)
        out->held = run.result.held;
    out->freed = out->freed || run.result.freed;
    status = compare(scene, &run, unwritten, output, &outputs, &result, err);
    while (at < out->distinct && seen[at] != result)
        at++;
    if (at == out->distinct && at < MOST_DISTINCT)
        seen[out->distinct++] = result;
    if (!out->runs)
        count_changed(scene, &run, out);
    out->same += !status && differing_of(output, outputs) == 0;
    if (!status && out->runs++ == 0) {
        memcpy(out->output, output, sizeof(output));
        out->outputs = outputs;
        out->judged =
            *scene->bundle->reference && !scene_judge(scene, &run, settings->oracle, &out->numbers,
                                                      &out->verdict, &out->why_not);
    }
    scene_run_release(&run);
    return status;
}

static enum status replay_stored(struct scene *scene, const struct replay_settings *settings,
                                 struct replay_report *out, struct error *err)
{
    struct scene_run run;
    enum status status = scene_stored(scene, &run, err);
    if (status)
        return status;
    out->judged =
        *scene->bundle->reference &&
        !scene_judge(scene, &run, settings->oracle, &out->numbers, &out->verdict, &out->why_not);
    scene_run_release(&run);
    return STATUS_OK;
}

/* A run on the whole GPU: what the driver sets up at a kernel's first launch may wait for the
 * blocks that run then. Its result, and whether it ends, does not matter. */
static enum status replay_before(struct scene *scene, struct error *err)
{
    const struct scene_change none = {0};
    struct scene_run run;
    enum status status = scene_run(scene, &none, &run, err);
    scene_run_release(&run);
    return status;
}

/* What is known of a launch that did not end. */
static void name_ending(const struct bundle *bundle, struct replay_report *out)
{
    static const char *const words[] = {[WORKER_FAULTED] = "fault: ", [WORKER_HUNG] = "hang: "};
    if (out->stopped.outcome != WORKER_FAULTED && out->stopped.outcome != WORKER_HUNG)
        return;
    const char *word = words[out->stopped.outcome];
    out->same_ending = strncmp(bundle->drawn, word, strlen(word)) == 0;
    if (!out->runs && *bundle->reference)
        error_set(&out->why_not, STATUS_UNSUPPORTED, "the launch did not end");
}

/* All runs of the settings. */
static enum status replay_runs(struct scene *scene, const struct replay_settings *settings,
                               struct replay_report *out, struct error *err)
{
    uint64_t *seen = calloc(MOST_DISTINCT, sizeof(*seen));
    struct unwritten unwritten = {0};
    enum status status = STATUS_OK;
    memset(out, 0, sizeof(*out));
    if (!seen)
        return error_set(err, STATUS_NO_MEMORY, "no memory for results");
    if (settings->one_sm)
        status = replay_before(scene, err);
    for (int i = 0; i < settings->times && !status && out->stopped.outcome == WORKER_RAN; i++) {
        progress("run %d of %d", i + 1, settings->times);
        status = replay_once(scene, settings, out, seen, &unwritten, err);
    }
    if (!status)
        name_ending(scene->bundle, out);
    out->values = scene->written;
    out->absent = scene->absent;
    out->absent_name = scene->absent_name;
    forget_kept(&unwritten);
    free(seen);
    return status;
}

/* The same with what module variables hold at first: the program may have changed them between the
 * launch and the report. The result is taken where it is the program's. */
static enum status replay_initial(struct scene *scene, const struct replay_settings *settings,
                                  struct replay_report *out, struct error *err)
{
    struct replay_report *again = malloc(sizeof(*again));
    if (!again)
        return error_set(err, STATUS_NO_MEMORY, "no memory for results");
    scene->initial = true;
    enum status status = replay_runs(scene, settings, again, err);
    scene->initial = again->initial = !status && replay_reproduced(again);
    if (scene->initial)
        *out = *again;
    free(again);
    return status;
}

enum status replay_bundle(struct scene *scene, const struct replay_settings *settings,
                          struct replay_report *out, struct error *err)
{
    if (settings->stored) {
        memset(out, 0, sizeof(*out));
        return replay_stored(scene, settings, out, err);
    }
    enum status status = replay_runs(scene, settings, out, err);
    bool tries = !status && scene->written && !replay_reproduced(out) &&
                 out->stopped.outcome != WORKER_REFUSED && !scene->image_file;
    return tries ? replay_initial(scene, settings, out, err) : status;
}

bool replay_reproduced(const struct replay_report *report)
{
    return report->same_ending || (report->runs > 0 && report->same == report->runs &&
                                   report->stopped.outcome == WORKER_RAN);
}

bool replay_landed(const struct replay_report *report, const struct worker_about *about)
{
    return report->runs > 0 && !report->freed &&
           report->held + 1 == (uint32_t)about->multiprocessors;
}
