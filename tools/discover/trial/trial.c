#include "tools/discover/trial/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bind/binding.h"
#include "registry/registry.h"
#include "system/files.h"
#include "tools/discover/trial/gathered.h"

enum { TRIAL_LAUNCHES = 4, TIMEOUT_MS = 5000 };

struct uploaded {
    const struct seen_sample *sample;
    uint64_t before[SEEN_POINTERS], after[SEEN_POINTERS]; /* of each region, in the worker */
};

struct trial {
    struct worker *worker;
    const struct seen_kernel *kernel;
    struct uploaded launch[TRIAL_LAUNCHES];
    unsigned launches;
    char folder[64], path[96];
    struct trial_result *result; /* of the trial at hand */
};

enum status trial_open(struct trial **out, enum worker_device device, struct error *err)
{
    const struct worker_settings settings = {.device = device, .timeout_ms = TIMEOUT_MS};
    const char *temporary = getenv("TMPDIR");
    struct trial *trial = calloc(1, sizeof *trial);
    *out = NULL;
    if (!trial)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    bool usable = temporary && *temporary == '/' && strlen(temporary) < 32;
    snprintf(trial->folder, sizeof trial->folder, "%s/cuvet-try-XXXXXX",
             usable ? temporary : "/tmp");
    enum status status = STATUS_OK;
    if (!mkdtemp(trial->folder))
        status = error_set(err, STATUS_IO, "no temporary folder %s", trial->folder);
    else
        status = worker_start(&trial->worker, &settings, err);
    snprintf(trial->path, sizeof trial->path, "%s/entry.yaml", trial->folder);
    *out = trial;
    if (!status)
        return STATUS_OK;
    trial_close(trial);
    *out = NULL;
    return status;
}

void trial_close(struct trial *trial)
{
    if (!trial)
        return;
    worker_end(trial->worker);
    files_remove_folder(trial->folder);
    free(trial);
}

/* ---- memory ---- */

static bool upload(struct trial *trial, const uint8_t *bytes, uint64_t count, uint64_t *address)
{
    const struct worker_array array = {.bytes = count};
    return !worker_allocate(trial->worker, &array, address, NULL) &&
           !worker_write(trial->worker, *address, bytes, (size_t)count, NULL);
}

static bool upload_sample(struct trial *trial, struct uploaded *launch)
{
    const struct seen_sample *sample = launch->sample;
    for (size_t i = 0; i < sample->regions; i++) {
        const struct seen_region *region = &sample->region[i];
        if (!upload(trial, region->before, region->bytes, &launch->before[i]))
            return false;
        launch->after[i] = launch->before[i];
        if (region->after != region->before &&
            !upload(trial, region->after, region->bytes, &launch->after[i]))
            return false;
    }
    return true;
}

unsigned trial_take(struct trial *trial, const struct seen_kernel *kernel)
{
    if (worker_lost(trial->worker) && worker_restart(trial->worker, NULL))
        return 0;
    worker_free_all(trial->worker, NULL);
    trial->kernel = kernel;
    trial->launches = 0;
    for (unsigned i = 0; i < kernel->samples && trial->launches < TRIAL_LAUNCHES; i++) {
        struct uploaded *launch = &trial->launch[trial->launches];
        launch->sample = kernel->sample[i];
        if (launch->sample->regions && upload_sample(trial, launch))
            trial->launches++;
    }
    return trial->launches;
}

/* ---- one launch ---- */

/* Where an array's memory lies in the worker. False: not all of it was recorded. */
static bool find_view(const struct uploaded *launch, const struct bound_array *array,
                      struct worker_view *view)
{
    for (size_t i = 0; i < launch->sample->regions; i++) {
        const struct seen_region *region = &launch->sample->region[i];
        uint64_t at = array->address - region->address;
        if (at >= region->bytes || bound_reach(array) > region->bytes - at)
            continue;
        *view = (struct worker_view){launch->before[i] + at, launch->after[i] + at};
        return true;
    }
    return false;
}

static enum trial_answer judge(struct trial *trial, const struct uploaded *launch,
                               const struct kernel_spec *spec, struct binding *binding)
{
    struct worker_view view[SPEC_MAX_ARRAYS];
    struct gathered gathered;
    struct ref_verdict numbers = {0};
    struct error err = {{0}};
    enum verdict verdict = VERDICT_INCONCLUSIVE;
    for (int i = 0; i < binding->arrays; i++) {
        if (bound_ids(&binding->array[i]) < 0 && !find_view(launch, &binding->array[i], &view[i]))
            return TRIAL_BEYOND;
    }
    enum status status =
        gathered_make(&gathered, trial->worker, launch->sample, binding, view, &err);
    if (!status)
        status = worker_judge(trial->worker, spec->reference, binding, view, WORKER_ORACLE_DEVICE,
                              &numbers, &verdict, &err);
    gathered_release(&gathered);
    if (status) {
        snprintf(trial->result->sentence, sizeof trial->result->sentence, "%s", err.text);
        return TRIAL_UNFIT;
    }
    if (verdict == VERDICT_INCONCLUSIVE)
        return TRIAL_UNFIT;
    if (verdict != VERDICT_MATCH || numbers.refused || !numbers.checked)
        return TRIAL_DIFFERS;
    if (numbers.max_ratio > trial->result->max_ratio)
        trial->result->max_ratio = numbers.max_ratio;
    return TRIAL_MATCH;
}

static enum trial_answer try_launch(struct trial *trial, struct registry *registry,
                                    const struct uploaded *launch)
{
    const struct seen_sample *sample = launch->sample;
    struct trial_result *result = trial->result;
    static struct binding binding;
    struct error err = {{0}};
    enum skip skip = SKIP_NONE;
    const struct kernel_spec *spec =
        registry_resolve(registry, trial->kernel->names.mangled, &sample->layout, &skip, &err);
    struct launch call = {.symbol = trial->kernel->names.mangled,
                          .shared_bytes = sample->shared,
                          .packed = sample->params,
                          .packed_bytes = sample->params_bytes};
    memcpy(call.grid, sample->grid, sizeof call.grid);
    memcpy(call.block, sample->block, sizeof call.block);
    gathered_answer(sample);
    if (spec)
        skip = binding_make(spec, &call, &binding, &err);
    if (!spec || skip || binding.values) {
        snprintf(result->sentence, sizeof result->sentence, "%s", err.text);
        return TRIAL_UNFIT;
    }
    return judge(trial, launch, spec, &binding);
}

/* ---- an entry ---- */

static void complain(void *user, const char *sentence)
{
    struct trial_result *result = user;
    snprintf(result->sentence, sizeof result->sentence, "%s", sentence);
}

static bool write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    bool whole = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && whole;
}

/* All launches are tried until one differs: those that cannot be judged do not count. */
static void try_launches(struct trial *trial, struct registry *registry)
{
    struct trial_result *result = trial->result;
    enum trial_answer other = TRIAL_UNFIT;
    for (unsigned i = 0; i < trial->launches; i++) {
        enum trial_answer answer = try_launch(trial, registry, &trial->launch[i]);
        if (worker_lost(trial->worker)) {
            result->answer = TRIAL_LOST;
            return;
        }
        if (answer == TRIAL_DIFFERS) {
            result->answer = TRIAL_DIFFERS;
            return;
        }
        result->launches += answer == TRIAL_MATCH;
        other = answer == TRIAL_MATCH ? other : answer;
    }
    result->answer = result->launches ? TRIAL_MATCH : other;
}

void trial_run(struct trial *trial, const char *text, struct trial_result *out)
{
    const struct registry_source source = {.files = trial->path};
    struct registry *registry = NULL;
    *out = (struct trial_result){.answer = TRIAL_UNFIT};
    trial->result = out;
    if (worker_lost(trial->worker) && !trial_take(trial, trial->kernel))
        return;
    if (!write_text(trial->path, text))
        return;
    if (!registry_load(&registry, &source, complain, out))
        try_launches(trial, registry);
    registry_destroy(registry);
}
