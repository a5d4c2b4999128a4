#include "tools/discover/trial/rerun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 4096, GUARD = 64 << 10 };

struct rerun {
    struct worker *worker;
    const struct seen_kernel *kernel;
    const struct seen_sample *sample;
    struct worker_kernel found;
    const struct seen_kernel *loaded;    /* whose image the worker has */
    bool placed;                         /* the sample's regions have arrays */
    bool read_all;                       /* all regions were read back once */
    uint64_t address[SEEN_POINTERS];     /* of each region, in the worker */
    bool lists[SEEN_POINTERS];           /* it holds addresses of the program */
    bool dirty[SEEN_POINTERS];           /* launches change it */
    const uint8_t *there[SEEN_POINTERS]; /* what the array holds; NULL: not known */
};

enum status rerun_open(struct rerun **out, enum worker_device device, int timeout_ms,
                       struct error *err)
{
    const struct worker_settings settings = {.device = device, .timeout_ms = timeout_ms};
    struct rerun *rerun = calloc(1, sizeof *rerun);
    *out = NULL;
    if (!rerun)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    enum status status = worker_start(&rerun->worker, &settings, err);
    if (status) {
        free(rerun);
        return status;
    }
    *out = rerun;
    return STATUS_OK;
}

void rerun_close(struct rerun *rerun)
{
    if (rerun)
        worker_end(rerun->worker);
    free(rerun);
}

/* ---- addresses ---- */

/* The same place in the other memory. False: the word leads into no region. */
static bool translate(const struct rerun *rerun, uint64_t word, bool back, uint64_t *other)
{
    for (size_t i = 0; i < rerun->sample->regions; i++) {
        const struct seen_region *region = &rerun->sample->region[i];
        uint64_t from = back ? rerun->address[i] : region->address;
        *other = (back ? region->address : rerun->address[i]) + (word - from);
        if (word - from < region->bytes)
            return true;
    }
    return false;
}

/* Aligned words that lead into a region; returns whether there is one. `bytes` may be NULL. */
static bool patch(const struct rerun *rerun, const uint8_t *from, uint64_t count, bool back,
                  uint8_t *bytes)
{
    bool some = false;
    for (uint64_t at = 0; at + 8 <= count; at += 8) {
        uint64_t word, other;
        memcpy(&word, from + at, sizeof word);
        if (!translate(rerun, word, back, &other))
            continue;
        some = true;
        if (bytes)
            memcpy(bytes + at, &other, sizeof other);
    }
    return some;
}

/* ---- placing ---- */

static void drop_places(struct rerun *rerun)
{
    rerun->placed = false;
    memset(rerun->there, 0, sizeof rerun->there);
}

enum status rerun_take(struct rerun *rerun, const struct seen_kernel *kernel,
                       const struct seen_sample *sample, struct error *err)
{
    rerun->kernel = kernel;
    rerun->sample = sample;
    rerun->read_all = false;
    drop_places(rerun);
    if (!sample->regions)
        return error_set(err, STATUS_UNSUPPORTED, "its memory was not recorded");
    if (!kernel->image)
        return error_set(err, STATUS_UNSUPPORTED, "the image of the kernel was not recorded");
    for (size_t i = 0; i < sample->regions; i++) {
        const struct seen_region *region = &sample->region[i];
        rerun->dirty[i] = region->before != region->after;
        rerun->lists[i] = patch(rerun, region->before, region->bytes, false, NULL);
    }
    return STATUS_OK;
}

static enum status load(struct rerun *rerun, struct error *err)
{
    uint32_t module;
    if (worker_lost(rerun->worker)) {
        enum status status = worker_restart(rerun->worker, err);
        if (status)
            return status;
        rerun->loaded = NULL;
        drop_places(rerun);
    }
    if (rerun->loaded == rerun->kernel)
        return STATUS_OK;
    const char *symbol = rerun->kernel->names.mangled;
    enum status status =
        worker_load(rerun->worker, rerun->kernel->image, rerun->kernel->image_bytes, &module, err);
    if (!status)
        status = worker_kernel(rerun->worker, module, symbol, &rerun->found, err);
    if (!status && rerun->found.param_bytes != rerun->sample->params_bytes)
        status = error_set(err, STATUS_UNSUPPORTED,
                           "the image's kernel has %u bytes of parameters, the launch has %zu",
                           rerun->found.param_bytes, rerun->sample->params_bytes);
    rerun->loaded = status ? NULL : rerun->kernel;
    return status;
}

static enum status place(struct rerun *rerun, struct error *err)
{
    enum status status = rerun->placed ? STATUS_OK : worker_free_all(rerun->worker, err);
    for (size_t i = 0; i < rerun->sample->regions && !status && !rerun->placed; i++) {
        const struct seen_region *region = &rerun->sample->region[i];
        const struct worker_array array = {.bytes = region->bytes,
                                           .align = ALIGN,
                                           .skew = region->address % ALIGN,
                                           .guard = GUARD};
        status = worker_allocate(rerun->worker, &array, &rerun->address[i], err);
    }
    rerun->placed = !status;
    return status;
}

static enum status put(struct rerun *rerun, size_t number, const uint8_t *held, struct error *err)
{
    uint64_t bytes = rerun->sample->region[number].bytes, to = rerun->address[number];
    if (rerun->there[number] == held)
        return STATUS_OK;
    rerun->there[number] = held;
    if (!rerun->lists[number])
        return worker_write(rerun->worker, to, held, bytes, err);
    uint8_t *copy = malloc(bytes);
    if (!copy)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a copy of an array");
    memcpy(copy, held, bytes);
    patch(rerun, held, bytes, false, copy);
    enum status status = worker_write(rerun->worker, to, copy, bytes, err);
    free(copy);
    return status;
}

/* ---- a run ---- */

static enum status start(struct rerun *rerun, struct rerun_run *out, struct error *err)
{
    const struct seen_sample *sample = rerun->sample;
    struct worker_result result;
    uint8_t *params = malloc(sample->params_bytes + 1);
    if (!params)
        return error_set(err, STATUS_NO_MEMORY, "no memory for parameters");
    memcpy(params, sample->params, sample->params_bytes);
    patch(rerun, sample->params, sample->params_bytes, false, params);
    struct worker_launch launch = {.kernel = rerun->found.id,
                                   .shared_bytes = sample->shared,
                                   .cooperative = sample->cooperative,
                                   .params = params,
                                   .param_bytes = (uint32_t)sample->params_bytes};
    memcpy(launch.grid, sample->grid, sizeof launch.grid);
    memcpy(launch.block, sample->block, sizeof launch.block);
    memcpy(launch.cluster, sample->cluster, sizeof launch.cluster);
    enum status status = worker_launch(rerun->worker, &launch, &result, err);
    free(params);
    if (status)
        return status;
    out->outcome = result.outcome;
    out->ms = result.ms;
    snprintf(out->sentence, sizeof out->sentence, "%s", result.sentence);
    return STATUS_OK;
}

/* What a launch left in a region that launches change, or that was given another content. */
static enum status collect(struct rerun *rerun, size_t number, bool other, struct rerun_run *out,
                           struct error *err)
{
    uint64_t bytes = rerun->sample->region[number].bytes;
    struct worker_guard guard;
    out->after[number] = out->held[number];
    if (!rerun->dirty[number] && !other)
        return STATUS_OK;
    uint8_t *after = out->owned[number] = malloc(bytes);
    if (!after)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a copy of an array");
    enum status status =
        worker_read(rerun->worker, rerun->address[number], after, (size_t)bytes, err);
    if (!status)
        status = worker_guards(rerun->worker, rerun->address[number], &guard, err);
    if (status)
        return status;
    out->outside += guard.changed;
    if (rerun->lists[number])
        patch(rerun, after, bytes, true, after);
    out->after[number] = after;
    if (memcmp(after, out->held[number], (size_t)bytes) == 0)
        return STATUS_OK;
    rerun->there[number] = NULL;
    rerun->dirty[number] = true;
    return STATUS_OK;
}

enum status rerun_launch(struct rerun *rerun, int number, const uint8_t *held,
                         struct rerun_run *out, struct error *err)
{
    const struct seen_sample *sample = rerun->sample;
    *out = (struct rerun_run){.outcome = WORKER_REFUSED};
    enum status status = load(rerun, err);
    if (!status)
        status = place(rerun, err);
    for (size_t i = 0; i < sample->regions && !status; i++) {
        out->held[i] = (int)i == number ? held : sample->region[i].before;
        status = put(rerun, i, out->held[i], err);
    }
    if (!status)
        status = start(rerun, out, err);
    for (size_t i = 0; i < sample->regions && !status && out->outcome == WORKER_RAN; i++)
        status = collect(rerun, i, (int)i == number || !rerun->read_all, out, err);
    if (!status && out->outcome == WORKER_RAN)
        rerun->read_all = true;
    if (number >= 0)
        rerun->there[number] = NULL; /* the caller's memory may change */
    if (status)
        rerun_release(out);
    return status;
}

void rerun_release(struct rerun_run *run)
{
    for (int i = 0; i < SEEN_POINTERS; i++)
        free(run->owned[i]);
    *run = (struct rerun_run){0};
}
