#include "tools/replay/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lang/dtype.h"

enum { MOST_DISTINCT = 1024 };

void replay_compare(const struct bundle_array *array, const uint8_t *dense,
                    struct replay_output *out)
{
    size_t size = dtype_bytes(array->dtype);
    *out = (struct replay_output){.name = array->name, .first = -1};
    for (int p = 0; p < BUNDLE_PARTS; p++) {
        const struct bundle_part *part = &array->part[BUNDLE_AFTER][p];
        for (int64_t i = 0; i < part->count; i++) {
            const uint8_t *was = part->bytes + (size_t)i * size;
            const uint8_t *is = dense + (size_t)(part->first + i) * size;
            out->compared++;
            if (!memcmp(was, is, size))
                continue;
            double off = fabs(dtype_load(array->dtype, is) - dtype_load(array->dtype, was));
            if (!out->differing++)
                out->first = part->first + i;
            if (off > out->max_abs)
                out->max_abs = off;
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

/* Compares the outputs; returns the hash of all. */
static enum status replay_outputs(const struct scene *scene, const struct scene_run *run,
                                  struct replay_output *output, int *outputs, uint64_t *result,
                                  struct error *err)
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
        replay_compare(array, dense, &output[(*outputs)++]);
        *result = hash(*result, dense, (size_t)array->elements * dtype_bytes(array->dtype));
        free(dense);
    }
    return STATUS_OK;
}

/* One run into the report; `seen` holds the hashes of different results. */
static enum status replay_once(struct scene *scene, const struct replay_settings *settings,
                               struct replay_report *out, uint64_t *seen, struct error *err)
{
    const struct scene_change change = {
        .seed = settings->seed ? settings->seed + (uint64_t)out->runs : 0,
        .one_sm = settings->one_sm,
        .sm = settings->sm};
    struct replay_output output[BUNDLE_ARRAYS];
    struct scene_run run;
    uint64_t result = 0, differing = 0;
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
    status = replay_outputs(scene, &run, output, &outputs, &result, err);
    for (int i = 0; i < outputs; i++)
        differing += output[i].differing;
    while (at < out->distinct && seen[at] != result)
        at++;
    if (at == out->distinct && at < MOST_DISTINCT)
        seen[out->distinct++] = result;
    for (int i = 0; i < scene->regions && !out->runs; i++)
        out->outside += run.guard[i].changed;
    out->same += !status && differing == 0;
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

enum status replay_bundle(struct scene *scene, const struct replay_settings *settings,
                          struct replay_report *out, struct error *err)
{
    uint64_t *seen = calloc(MOST_DISTINCT, sizeof(*seen));
    enum status status = STATUS_OK;
    memset(out, 0, sizeof(*out));
    if (settings->stored || !seen) {
        free(seen);
        return settings->stored ? replay_stored(scene, settings, out, err)
                                : error_set(err, STATUS_NO_MEMORY, "no memory for results");
    }
    if (settings->one_sm)
        status = replay_before(scene, err);
    for (int i = 0; i < settings->times && !status && out->stopped.outcome == WORKER_RAN; i++)
        status = replay_once(scene, settings, out, seen, err);
    free(seen);
    return status;
}

bool replay_reproduced(const struct replay_report *report)
{
    return report->runs > 0 && report->same == report->runs &&
           report->stopped.outcome == WORKER_RAN;
}

bool replay_landed(const struct replay_report *report, const struct worker_about *about)
{
    return report->runs > 0 && !report->freed &&
           report->held + 1 == (uint32_t)about->multiprocessors;
}
