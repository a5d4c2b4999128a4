#include "tools/lift/exact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "lang/dtype.h"
#include "tools/lift/shadow.h"
#include "tools/lift/stage.h"

/* ---- what is compared ---- */

static bool is_output(const struct bundle_array *array)
{
    return role_writes(array->role) && array->role != ROLE_WS;
}

/* The output of the other launch: of that name, else the one at that place among the outputs. */
static const struct bundle_array *partner(const struct bundle *bundle, const char *name, int place)
{
    for (int i = 0; i < bundle->arrays; i++)
        if (is_output(&bundle->array[i]) && !strcmp(bundle->array[i].name, name))
            return &bundle->array[i];
    for (int i = 0, at = 0; i < bundle->arrays; i++)
        if (is_output(&bundle->array[i]) && at++ == place)
            return &bundle->array[i];
    return NULL;
}

/* Inputs of one name hold the same numbers. */
static enum status same_input(const struct scene *a, const struct scene *b, int i, int k,
                              struct error *err)
{
    const struct bundle_array *x = &a->bundle->array[i], *y = &b->bundle->array[k];
    const size_t bytes = (size_t)x->elements * dtype_bytes(x->dtype);
    if (x->elements != y->elements || x->dtype != y->dtype)
        return error_set(err, STATUS_INVALID, "the input %s is another one in the second launch",
                         x->name);
    uint8_t *first = scene_gather(a, i, NULL), *second = scene_gather(b, k, NULL);
    const bool same = first && second && !memcmp(first, second, bytes);
    free(first);
    free(second);
    return same ? STATUS_OK
                : error_set(err, STATUS_INVALID,
                            "the input %s holds other numbers in the second launch: the exact mode "
                            "compares launches on the same inputs",
                            x->name);
}

static enum status same_inputs(const struct scene *a, const struct scene *b, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < a->bundle->arrays && !status && a->bundle != b->bundle; i++)
        for (int k = 0; k < b->bundle->arrays && !status; k++)
            if (role_reads(a->bundle->array[i].role) && role_reads(b->bundle->array[k].role) &&
                !strcmp(a->bundle->array[i].name, b->bundle->array[k].name))
                status = same_input(a, b, i, k, err);
    return status;
}

/* ---- outputs ---- */

static void value_at(struct stage *stage, struct shadow *shadow, const struct bundle_array *array,
                     int64_t index, struct value *out)
{
    const int64_t offset = bundle_offset(stage->scene->bundle, array, index);
    const uint8_t *host = stage_at(stage, array->address + (uint64_t)offset);
    uint64_t raw = 0;
    memset(out, 0, sizeof(*out));
    if (!host)
        return;
    const enum format format = format_of_dtype(array->dtype);
    memcpy(&raw, host, dtype_bytes(array->dtype));
    if (format)
        shadow_at(shadow, host, format, out);
    else /* indices and counts: what the kernel decided */
        out->got = (double)(out->a.residue = raw);
}

static enum status compare(struct stage *stage[2], struct shadow shadow[2],
                           const struct bundle_array *array, struct exact_report *report,
                           struct error *err)
{
    struct exact_output *out = &report->output[report->outputs];
    const struct bundle_array *other =
        partner(stage[1]->scene->bundle, array->name, report->outputs);
    if (!other || other->elements != array->elements)
        return error_set(
            err, STATUS_INVALID, "the output %s has %lld elements, and in the second launch %lld",
            array->name, (long long)array->elements, other ? (long long)other->elements : 0);
    *out = (struct exact_output){
        .name = array->name, .other = other->name, .elements = array->elements, .first = -1};
    report->outputs++;
    for (int64_t i = 0; i < array->elements; i++) {
        struct value a, b;
        value_at(stage[0], &shadow[0], array, i, &a);
        value_at(stage[1], &shadow[1], other, i, &b);
        if (a.a.residue == b.a.residue)
            continue;
        if (!out->different++) {
            out->first = i;
            out->got[0] = a.got;
            out->got[1] = b.got;
        }
    }
    return STATUS_OK;
}

/* ---- the launches ---- */

static enum status run(struct stage *stage, struct shadow *shadow, unsigned seconds,
                       struct exact_report *report, struct error *err)
{
    struct exec_fault fault = {0};
    enum status status = stage_set(stage, err);
    if (!status)
        status = shadow_attach(shadow, stage->kernel, err);
    if (status)
        return status;
    const enum exec_outcome outcome = stage_run(stage, shadow, seconds, &fault);
    report->instructions += fault.steps * 32;
    if (outcome != EXEC_DONE && !*report->stopped)
        snprintf(report->stopped, sizeof(report->stopped), "%s", fault.text);
    return STATUS_OK;
}

enum status exact_compare(struct stage *stage[2], unsigned seconds, struct exact_report *report,
                          struct error *err)
{
    struct shadow shadow[2] = {{.algebra = &algebra_residue}, {.algebra = &algebra_residue}};
    const struct bundle *bundle = stage[0]->scene->bundle;
    const int64_t begin = clock_ns();
    memset(report, 0, sizeof(*report));
    enum status status = same_inputs(stage[0]->scene, stage[1]->scene, err);
    for (int i = 0; i < 2 && !status; i++)
        status = run(stage[i], &shadow[i], seconds, report, err);
    report->seconds = (double)(clock_ns() - begin) * 1e-9;
    for (int i = 0; i < bundle->arrays && !status && !*report->stopped; i++)
        if (is_output(&bundle->array[i]))
            status = compare(stage, shadow, &bundle->array[i], report, err);
    shadow_release(&shadow[0]);
    shadow_release(&shadow[1]);
    return status;
}
