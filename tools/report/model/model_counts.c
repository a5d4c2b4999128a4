/* model_counts.c - counters of a kernel and of a process, at their end or so far. */
#include "tools/report/model/model_counts.h"

#include <math.h>
#include <string.h>
#include "tools/report/model/fields.h"

enum status model_add_fields(json_t *object, const char *const names[], uint64_t *into[],
                             struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; !status && names[i]; i++) {
        uint64_t count = 0;
        status = field_count(object, names[i], &count, err);
        *into[i] += count;
    }
    return status;
}

static enum status add_verdicts(json_t *line, uint64_t verdict[VERDICT_COUNT], struct error *err)
{
    enum status status = STATUS_OK;
    for (int v = 0; !status && v < VERDICT_COUNT; v++) {
        uint64_t count = 0;
        status = field_count(line, verdict_text((enum verdict)v), &count, err);
        verdict[v] += count;
    }
    return status;
}

/* *others: launches unchecked for reasons that this version does not have. */
static enum status add_reasons(json_t *line, uint64_t skip[SKIP_COUNT], uint64_t *others,
                               struct error *err)
{
    json_t *reasons;
    const char *name;
    json_t *value;
    enum status status = field_object(line, "reasons", &reasons, err);
    if (status || !reasons)
        return status;
    json_object_foreach(reasons, name, value)
    {
        uint64_t count = 0;
        enum skip known = SKIP_NONE + 1;
        status = field_count(reasons, name, &count, err);
        if (status)
            return status;
        while (known < SKIP_COUNT && strcmp(skip_text(known), name) != 0)
            known++;
        *(known < SKIP_COUNT ? &skip[known] : others) += count;
    }
    return STATUS_OK;
}

static enum status add_ratios(json_t *line, struct model_counts *counts, struct error *err)
{
    json_t *ratios;
    enum status status = field_array(line, "ratios", &ratios, err);
    for (size_t i = 0; !status && ratios && i < COUNTERS_RATIOS; i++) {
        int64_t count;
        if (!field_element(ratios, i, &count) || count < 0)
            return error_set(err, STATUS_INVALID, "'ratios' is no array of %d counts",
                             COUNTERS_RATIOS);
        counts->ratios[i] += (uint64_t)count;
    }
    return status;
}

/* ---- kernels ---- */

static enum status read_kernel_counts(json_t *line, struct model_counts *counts, struct error *err)
{
    static const char *const names[] = {"launches",        "elements",      "violations",
                                        "spread_launches", "lean_launches", NULL};
    uint64_t *into[] = {&counts->launches, &counts->elements, &counts->violations,
                        &counts->spread_launches, &counts->lean_launches};
    enum status status = model_add_fields(line, names, into, err);
    if (!status)
        status = add_verdicts(line, counts->verdict, err);
    if (!status)
        status = add_reasons(line, counts->skip, &counts->other_skips, err);
    if (!status)
        status = add_ratios(line, counts, err);
    return status ? status : field_real(line, "max_ratio", &counts->max_ratio, err);
}

static void add_counts(struct model_counts *into, const struct model_counts *from)
{
    uint64_t *to[] = {&into->launches,   &into->other_skips,     &into->elements,
                      &into->violations, &into->spread_launches, &into->lean_launches};
    const uint64_t add[] = {from->launches,   from->other_skips,     from->elements,
                            from->violations, from->spread_launches, from->lean_launches};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        *to[i] += add[i];
    for (int i = 0; i < VERDICT_COUNT; i++)
        into->verdict[i] += from->verdict[i];
    for (int i = 0; i < SKIP_COUNT; i++)
        into->skip[i] += from->skip[i];
    for (int i = 0; i < COUNTERS_RATIOS; i++)
        into->ratios[i] += from->ratios[i];
    if (from->max_ratio > into->max_ratio || isnan(from->max_ratio))
        into->max_ratio = from->max_ratio;
}

enum status model_read_kernel(struct model *model, struct model_kernel *kernel, json_t *line,
                              bool interim, struct error *err)
{
    struct model_counts counts = {0};
    enum status status = read_kernel_counts(line, &counts, err);
    if (interim) {
        kernel->interim = counts;
        kernel->interim_epoch = model->epoch;
        return status;
    }
    kernel->epoch = kernel->interim_epoch = 0; /* the totals count what was found before */
    add_counts(&kernel->counts, &counts);
    return status;
}

/* ---- processes ---- */

static enum status read_cost(struct model_process *process, json_t *line, struct error *err)
{
    static const char *const parts[] = {"threads", "copies", "references", "looks"};
    json_t *cost;
    double overlap = 0;
    process->cost = process->elapsed = 0;
    enum status status = field_object(line, "cost", &cost, err);
    if (status || !cost)
        return status;
    for (size_t i = 0; !status && i < sizeof parts / sizeof *parts; i++) {
        double seconds = 0;
        status = field_real(cost, parts[i], &seconds, err);
        process->cost += seconds;
    }
    if (!status)
        status = field_real(cost, "overlap", &overlap, err);
    process->cost -= overlap;
    return status ? status : field_real(cost, "elapsed", &process->elapsed, err);
}

/* Of the process that is being read. */
static enum status read_process_counts(struct model *model, json_t *line, struct error *err)
{
    struct model_process *process = model->open;
    struct model_counts *counts = &model->interim;
    *counts = (struct model_counts){0};
    enum status status = field_count(line, "seen", &process->seen, err);
    if (!status)
        status = add_verdicts(line, counts->verdict, err);
    if (!status)
        status = add_reasons(line, counts->skip, &counts->other_skips, err);
    return status ? status : read_cost(process, line, err);
}

/* What was read of the process becomes a part of the sums. */
static void add_process(struct model *model)
{
    struct model_process *process = model->open;
    const struct model_counts *counts = &model->interim;
    for (int v = 0; v < VERDICT_COUNT; v++) {
        process->verdict[v] = counts->verdict[v];
        model->verdict[v] += counts->verdict[v];
    }
    for (int i = 0; i < SKIP_COUNT; i++)
        model->skip[i] += counts->skip[i];
    model->other_skips += counts->other_skips;
    model->seen += process->seen;
    model->lost_lines += process->lost_lines;
    model->unbalanced += process->ended && !process->balanced;
}

enum status model_read_process(struct model *model, json_t *line, bool interim, struct error *err)
{
    struct model_process *process = model->open;
    if (process->ended)
        return STATUS_OK;
    enum status status = read_process_counts(model, line, err);
    if (status || interim) {
        process->interim_ms = process->last_ms;
        return status;
    }
    process->ended = process->balanced = true;
    status = field_count(line, "lost_lines", &process->lost_lines, err);
    if (!status)
        status = field_bool(line, "balanced", &process->balanced, err);
    add_process(model);
    return status;
}

/* Launches that were found behind the last counts so far. */
static void count_found(struct model *model, struct model_kernel *kernel, enum verdict verdict,
                        uint64_t found)
{
    uint64_t known = kernel->interim_epoch == model->epoch ? kernel->interim.verdict[verdict] : 0;
    uint64_t more = kernel->epoch == model->epoch && found > known ? found - known : 0;
    kernel->counts.verdict[verdict] += more;
    kernel->counts.launches += more;
    model->interim.verdict[verdict] += more;
}

void model_count_open(struct model *model)
{
    for (uint32_t i = 0; i <= model->kernels; i++) {
        struct model_kernel *kernel = i < model->kernels ? model->kernel[i] : &model->other;
        count_found(model, kernel, VERDICT_MISMATCH, kernel->open_mismatch);
        count_found(model, kernel, VERDICT_INCONCLUSIVE, kernel->open_inconclusive);
        if (kernel->interim_epoch == model->epoch)
            add_counts(&kernel->counts, &kernel->interim);
    }
    add_process(model);
}
