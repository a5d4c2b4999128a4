/* model_read.c - one line of a journal after the other goes into the model. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "report/journal.h"
#include "tools/report/model/fields.h"
#include "tools/report/model/model.h"
#include "tools/report/model/model_counts.h"

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no memory for the report");
}

/* A copy of a member that is a text; *out stays as it is where there is none. */
static enum status copy_text(json_t *line, const char *key, char **out, struct error *err)
{
    const char *text = NULL;
    enum status status = field_text(line, key, &text, err);
    if (status || !text || (*out && strcmp(*out, text) == 0))
        return status;
    free(*out);
    *out = strdup(text);
    return *out ? STATUS_OK : no_memory(err);
}

/* ---- kernels ---- */

static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash % MODEL_KERNELS;
}

static struct model_kernel *add_kernel(struct model *model, const char *symbol)
{
    struct model_kernel *kernel = calloc(1, sizeof *kernel);
    uint32_t hash = hash_of(symbol);
    if (!kernel || !(kernel->symbol = strdup(symbol))) {
        free(kernel);
        return NULL;
    }
    kernel->next = model->hash[hash];
    model->hash[hash] = kernel;
    return model->kernel[model->kernels++] = kernel;
}

/* The row of the line's kernel; where there is no room for one, that of all others. */
static enum status find_kernel(struct model *model, json_t *line, struct model_kernel **out,
                               struct error *err)
{
    const char *symbol = NULL;
    struct model_kernel *kernel;
    enum status status = field_text(line, "kernel", &symbol, err);
    if (status)
        return status;
    if (!symbol)
        return error_set(err, STATUS_INVALID, "expected a member 'kernel'");
    for (kernel = model->hash[hash_of(symbol)]; kernel && strcmp(kernel->symbol, symbol) != 0;)
        kernel = kernel->next;
    if (!kernel && model->kernels == MODEL_KERNELS)
        kernel = &model->other;
    else if (!kernel && !(kernel = add_kernel(model, symbol)))
        return no_memory(err);
    *out = kernel;
    if (kernel == &model->other)
        return STATUS_OK;
    status = copy_text(line, "label", &kernel->label, err);
    if (!status)
        status = copy_text(line, "reference", &kernel->reference, err);
    return status ? status : copy_text(line, "where", &kernel->where, err);
}

/* ---- processes ---- */

static enum status read_time(json_t *line, int64_t *out, struct error *err)
{
    const char *text = NULL;
    enum status status = field_text(line, "time", &text, err);
    return status ? status : lines_time(text, out, err);
}

static void close_process(struct model *model)
{
    if (model->open && !model->open->ended) {
        model->unended++;
        model_count_open(model);
    }
    model->open = NULL;
}

static enum status open_process(struct model *model, json_t *line, int64_t ms, struct error *err)
{
    close_process(model);
    struct model_process *process = &model->spare;
    if (model->processes < MODEL_PROCESSES) {
        process = calloc(1, sizeof *process);
        if (!process)
            return no_memory(err);
        model->process[model->processes++] = process;
    } else {
        free(process->host);
        free(process->run);
        free(process->program);
        free(process->file);
        *process = (struct model_process){0};
    }
    model->all_processes++;
    model->epoch++;
    model->open = process;
    model->interim = (struct model_counts){0};
    process->rank = -1;
    process->begin_ms = process->last_ms = ms;
    enum status status = field_int(line, "pid", &process->pid, err);
    if (!status)
        status = field_int(line, "rank", &process->rank, err);
    if (!status)
        status = copy_text(line, "host", &process->host, err);
    if (!status)
        status = copy_text(line, "run", &process->run, err);
    if (!status)
        status = copy_text(line, "program", &process->program, err);
    process->file = strdup(model->file);
    return status;
}

/* ---- events ---- */

/* A finding, or an inconclusive launch: counted until the totals come. */
static enum status count_open(struct model *model, json_t *line, bool finding,
                              struct model_kernel **out, struct error *err)
{
    uint64_t occurrence = 0;
    enum status status = find_kernel(model, line, out, err);
    if (!status)
        status = field_count(line, "occurrence", &occurrence, err);
    if (status)
        return status;
    struct model_kernel *kernel = *out;
    if (kernel->epoch != model->epoch) {
        kernel->epoch = model->epoch;
        kernel->open_mismatch = kernel->open_inconclusive = kernel->open_findings = 0;
    }
    uint64_t *count = finding ? &kernel->open_mismatch : &kernel->open_inconclusive;
    if (occurrence > *count)
        *count = occurrence;
    return STATUS_OK;
}

static enum status read_element(json_t *line, const char *key, struct model_element *out,
                                struct error *err)
{
    json_t *element, *index;
    const char *array = "?";
    enum status status = field_object(line, key, &element, err);
    if (status || !element)
        return status;
    status = field_text(element, "array", &array, err);
    if (!status)
        status = field_array(element, "index", &index, err);
    if (status)
        return status;
    int length = snprintf(out->place, sizeof out->place, "%s", array);
    for (size_t i = 0; index && i < json_array_size(index); i++) {
        int64_t at = 0;
        if (!field_element(index, i, &at))
            return error_set(err, STATUS_INVALID, "'index' is no array of whole numbers");
        if (length < (int)sizeof out->place)
            length += snprintf(out->place + length, sizeof out->place - (size_t)length, "[%lld]",
                               (long long)at);
    }
    status = field_real(element, "got", &out->got, err);
    if (!status)
        status = field_real(element, "reference", &out->reference, err);
    return status ? status : field_real(element, "bound", &out->bound, err);
}

/* Where the bundle is: the journal's path, or beside the journal, where a job's folder was copied
 * from another machine. */
static enum status find_bundle(const struct model *model, json_t *line,
                               struct model_finding *finding, struct error *err)
{
    const char *bundle = NULL;
    char beside[PATH_MAX];
    enum status status = field_text(line, "bundle", &bundle, err);
    if (status || !bundle)
        return status;
    const char *name = strrchr(bundle, '/'), *slash = strrchr(model->file, '/');
    int folder = slash ? (int)(slash - model->file) : 1;
    int length = snprintf(beside, sizeof beside, "%.*s/%s", folder, slash ? model->file : ".",
                          name ? name + 1 : bundle);
    if (access(bundle, R_OK) == 0)
        finding->bundle_found = true;
    else if (length < (int)sizeof beside && access(beside, R_OK) == 0)
        finding->bundle_found = true, bundle = beside;
    finding->bundle = strdup(bundle);
    return finding->bundle ? STATUS_OK : no_memory(err);
}

/* A contract of `parity` or `state` that the launch breaks. */
static enum status read_why(json_t *line, char **why, struct error *err)
{
    static const char *const keys[] = {"parity", "state"};
    enum status status = STATUS_OK;
    for (int i = 0; i < 2 && !status && !*why; i++) {
        json_t *contract = NULL;
        status = field_object(line, keys[i], &contract, err);
        if (!status && contract)
            status = copy_text(contract, "sentence", why, err);
    }
    return status;
}

/* A case of `cuvet fuzz`. An element is named only where one is wrong. */
static enum status read_case(json_t *line, struct model_finding *finding, struct error *err)
{
    static const char *const keys[] = {"outcome", "seed", "config", "image", "sentence"};
    char **into[] = {&finding->outcome, &finding->seed, &finding->config, &finding->image,
                     &finding->why};
    json_t *drawn = NULL;
    enum status status = field_object(line, "case", &drawn, err);
    for (size_t i = 0; drawn && !status && i < sizeof keys / sizeof *keys; i++)
        status = copy_text(drawn, keys[i], into[i], err);
    if (drawn && !finding->violations)
        finding->worst.place[0] = finding->first.place[0] = '\0';
    return status;
}

static enum status keep_finding(struct model *model, json_t *line, struct model_finding *finding,
                                struct error *err)
{
    static const char *const names[] = {"elements", "violations", "of", NULL};
    uint64_t *into[] = {&finding->elements, &finding->violations, &finding->of};
    json_t *numbers = NULL;
    enum status status = field_count(line, "launch", &finding->launch, err);
    if (!status)
        status = field_dim3(line, "grid", finding->grid, err);
    if (!status)
        status = field_dim3(line, "block", finding->block, err);
    if (!status)
        status = field_object(line, "numbers", &numbers, err);
    if (!status && numbers)
        status = model_add_fields(numbers, names, into, err);
    if (!status && numbers)
        status = field_real(numbers, "max_ratio", &finding->max_ratio, err);
    if (!status)
        status = read_element(line, "worst", &finding->worst, err);
    if (!status)
        status = read_element(line, "first", &finding->first, err);
    if (!status)
        status = copy_text(line, "gate", &finding->gate, err);
    if (!status)
        status = read_why(line, &finding->why, err);
    if (!status)
        status = read_case(line, finding, err);
    return status ? status : find_bundle(model, line, finding, err);
}

static enum status read_finding(struct model *model, json_t *line, int64_t ms, struct error *err)
{
    struct model_kernel *kernel;
    enum status status = count_open(model, line, true, &kernel, err);
    if (status)
        return status;
    model->all_findings++;
    timeline_add(&model->timeline, VERDICT_MISMATCH, ms, 1);
    if (model->findings == MODEL_FINDINGS || kernel->findings >= MODEL_PER_KERNEL ||
        kernel->open_findings >= MODEL_PER_PROCESS)
        return STATUS_OK;
    struct model_finding *finding = &model->finding[model->findings++];
    kernel->findings++;
    kernel->open_findings++;
    finding->kernel = kernel;
    finding->process = model->processes ? model->processes - 1 : 0;
    finding->time_ms = ms;
    status = keep_finding(model, line, finding, err);
    if (finding->max_ratio > kernel->counts.max_ratio) /* the process may leave no totals */
        kernel->counts.max_ratio = finding->max_ratio;
    return status;
}

static enum status read_inconclusive(struct model *model, json_t *line, int64_t ms,
                                     struct error *err)
{
    struct model_kernel *kernel;
    timeline_add(&model->timeline, VERDICT_INCONCLUSIVE, ms, 1);
    return count_open(model, line, false, &kernel, err);
}

static enum status add_sentence(struct model *model, struct model_sentence *list, uint32_t *count,
                                uint32_t most, const char *text, struct error *err)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(list[i].text, text) == 0) {
            list[i].count++;
            return STATUS_OK;
        }
    }
    if (*count == most) {
        model->other_sentences++;
        return STATUS_OK;
    }
    list[*count] = (struct model_sentence){strdup(text), 1};
    if (!list[*count].text)
        return no_memory(err);
    ++*count;
    return STATUS_OK;
}

static enum status read_warning(struct model *model, json_t *line, struct error *err)
{
    const char *text = NULL;
    enum status status = field_text(line, "sentence", &text, err);
    if (status || !text)
        return status;
    return add_sentence(model, model->warning, &model->warnings, MODEL_WARNINGS, text, err);
}

static enum status read_launch_error(struct model *model, json_t *line, struct error *err)
{
    const char *symbol = "?", *name = "?";
    char text[512];
    if (json_object_get(line, "count")) /* the sum at the end, of what was written already */
        return STATUS_OK;
    enum status status = field_text(line, "kernel", &symbol, err);
    if (!status)
        status = field_text(line, "error", &name, err);
    if (status)
        return status;
    snprintf(text, sizeof text, "%.400s: %.80s", symbol, name);
    return add_sentence(model, model->launch_error, &model->launch_errors, MODEL_ERRORS, text, err);
}

/* "rowsum, line 42 of its PTX (sum.py:7): note: ... [accumulator-narrow]". */
static enum status read_lint(struct model *model, json_t *line, struct error *err)
{
    enum { LABEL, RULE, SEVERITY, SENTENCE, SOURCE, TEXTS };
    static const char *const key[TEXTS] = {"label", "rule", "severity", "sentence", "source"};
    const char *is[TEXTS] = {"?", "?", "note", "", NULL};
    uint64_t at = 0, source_line = 0;
    char text[1024], place[256] = "";
    enum status status = STATUS_OK;
    for (int i = 0; i < TEXTS && !status; i++)
        status = field_text(line, key[i], &is[i], err);
    if (!status)
        status = field_count(line, "line", &at, err);
    if (!status)
        status = field_count(line, "source_line", &source_line, err);
    if (status)
        return status;
    if (is[SOURCE] && source_line)
        snprintf(place, sizeof place, " (%.200s:%" PRIu64 ")", is[SOURCE], source_line);
    snprintf(text, sizeof text, "%.300s, line %" PRIu64 " of its PTX%s: %.16s: %.300s [%.40s]",
             is[LABEL], at, place, is[SEVERITY], is[SENTENCE], is[RULE]);
    return add_sentence(model, model->lint, &model->lints, MODEL_LINT, text, err);
}

/* Of a kernel, or of the process; `interim`: so far. */
static enum status read_counts(struct model *model, json_t *line, const char *event,
                               struct error *err)
{
    bool interim = strcmp(event, "interim") == 0;
    struct model_kernel *kernel;
    if (strcmp(event, "end") == 0 || !json_object_get(line, "kernel"))
        return model_read_process(model, line, interim, err);
    enum status status = find_kernel(model, line, &kernel, err);
    return status ? status : model_read_kernel(model, kernel, line, interim, err);
}

static enum status read_event(struct model *model, json_t *line, const char *event, int64_t ms,
                              struct error *err)
{
    struct model_kernel *kernel;
    if (strcmp(event, "start") == 0)
        return open_process(model, line, ms, err);
    if (strcmp(event, "warning") == 0)
        return read_warning(model, line, err);
    if (!model->open)
        return error_set(err, STATUS_INVALID, "expected a line of the event 'start' before '%.32s'",
                         event);
    model->open->last_ms = ms;
    if (strcmp(event, "finding") == 0)
        return read_finding(model, line, ms, err);
    if (strcmp(event, "inconclusive") == 0)
        return read_inconclusive(model, line, ms, err);
    if (strcmp(event, "totals") == 0 || strcmp(event, "end") == 0 || strcmp(event, "interim") == 0)
        return read_counts(model, line, event, err);
    if (strcmp(event, "kernel") == 0)
        return find_kernel(model, line, &kernel, err);
    if (strcmp(event, "launch_error") == 0)
        return read_launch_error(model, line, err);
    if (strcmp(event, "lint") == 0)
        return read_lint(model, line, err);
    return STATUS_OK; /* of a newer cuvet, or without a number that counts here */
}

static enum status read_line(void *user, json_t *line, uint64_t number, struct error *err)
{
    struct model *model = user;
    const char *event = NULL;
    int64_t ms = 0;
    (void)number;
    enum status status = field_text(line, "event", &event, err);
    if (!status && !event)
        status = error_set(err, STATUS_INVALID, "expected a member 'event'");
    if (!status)
        status = read_time(line, &ms, err);
    model->lines++;
    return status ? status : read_event(model, line, event, ms, err);
}

static void begin(struct model *model, const char *path)
{
    model->file = path;
    model->files++;
}

enum status model_read(struct model *model, const char *path, struct error *err)
{
    begin(model, path);
    enum status status = lines_read(path, JOURNAL_VERSION, read_line, model, &model->cut, err);
    close_process(model);
    return status;
}

enum status model_read_stream(struct model *model, FILE *file, const char *path, struct error *err)
{
    begin(model, path);
    enum status status =
        lines_read_stream(file, path, JOURNAL_VERSION, read_line, model, &model->cut, err);
    close_process(model);
    return status;
}
