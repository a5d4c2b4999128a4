#include "tools/lift/lift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "lang/dtype.h"

/* ---- outputs ---- */

/* What an element may be off: the bound, and its rounding to the output's type. */
static double allowed_error(const struct lift_output *out, const struct value *value)
{
    const double got = fabs(value->got), y = fabs(value->a.real);
    const double larger = isfinite(got) && got > y ? got : y;
    return value->b.real * (1 + 0x1p-20) + number_half_ulp(out->format, larger) + 0x1p-126;
}

static bool is_outside(const struct lift_output *out, const struct value *value, double allowed)
{
    const double got = value->got, y = value->a.real;
    if (got != got || y != y)
        return (got != got) != (y != y) && isfinite(value->b.real);
    if (isinf(got) && isfinite(y)) /* rounds to infinity, as it must */
        return fabs(y) + allowed < number_most(out->format) && isfinite(value->b.real);
    return got != y && fabs(got - y) > allowed;
}

static void judge(struct lift_report *report, struct lift_output *out, uint64_t *blamed,
                  int64_t index, const struct value *value)
{
    const double allowed = allowed_error(out, value);
    const double error = fabs(value->got - value->a.real);
    const bool outside = is_outside(out, value, allowed);
    const double ratio = error == 0 ? 0 : error / allowed;
    out->judged++;
    out->wide += value->b.real > fabs(value->a.real) / 16 && value->b.real > 0x1p-126;
    if (outside && value->origin && value->origin <= report->shadow.ops)
        blamed[value->origin - 1]++;
    out->outside += outside;
    out->lost += !outside && !isfinite(value->got) && !isfinite(value->a.real);
    /* The first that is outside takes the place of all that are not; a NaN is the worst. */
    const bool first = out->judged == 1 || (outside && out->outside == 1);
    const bool worse = ratio > out->worst_ratio || (outside && ratio != ratio);
    if (!first && !(worse && (outside || !out->outside)))
        return;
    out->worst_ratio = ratio;
    out->worst = (struct lift_element){index,         value->got, value->a.real,
                                       value->b.real, allowed,    value->origin};
}

static void judge_output(struct lift_report *report, struct stage *stage,
                         const struct bundle_array *array, uint64_t *blamed)
{
    struct lift_output *out = &report->output[report->outputs++];
    *out = (struct lift_output){
        .name = array->name, .format = format_of_dtype(array->dtype), .elements = array->elements};
    for (int64_t i = 0; i < array->elements; i++) {
        const int64_t offset = bundle_offset(stage->scene->bundle, array, i);
        const uint8_t *host = stage_at(stage, array->address + (uint64_t)offset);
        struct value value;
        if (host && shadow_at(&report->shadow, host, out->format, &value))
            judge(report, out, blamed, i, &value);
    }
}

static int by_elements(const void *a, const void *b)
{
    const struct lift_line *x = a, *y = b;
    return x->elements != y->elements ? (x->elements < y->elements ? 1 : -1)
                                      : (x->origin > y->origin) - (x->origin < y->origin);
}

static enum status judge_outputs(struct lift_report *report, struct stage *stage, struct error *err)
{
    const struct bundle *bundle = stage->scene->bundle;
    uint64_t *blamed = calloc(report->shadow.ops + 1, sizeof(*blamed));
    report->line = calloc(report->shadow.ops + 1, sizeof(*report->line));
    if (!blamed || !report->line) {
        free(blamed);
        return error_set(err, STATUS_NO_MEMORY, "no memory to judge a launch");
    }
    for (int i = 0; i < bundle->arrays; i++)
        if (role_writes(bundle->array[i].role) && format_of_dtype(bundle->array[i].dtype))
            judge_output(report, stage, &bundle->array[i], blamed);
    for (size_t i = 0; i < report->shadow.ops; i++)
        if (blamed[i])
            report->line[report->lines++] = (struct lift_line){(uint32_t)i + 1, (int64_t)blamed[i]};
    qsort(report->line, report->lines, sizeof(*report->line), by_elements);
    free(blamed);
    return STATUS_OK;
}

/* ---- what is declared ---- */

/* References whose formula goes on from an output as it was stored (.after() in refs/), and the
 * place of its tensor. */
static const struct {
    const char *reference;
    int tensor;
} goes_on[] = {{"add_rmsnorm", 3}, {"add_layernorm", 4}};

static void declare_stored(struct lift_settings *lift, const struct bundle *bundle)
{
    for (size_t i = 0; i < sizeof goes_on / sizeof *goes_on; i++) {
        const int tensor = goes_on[i].tensor;
        if (strcmp(goes_on[i].reference, bundle->reference) != 0 || tensor >= bundle->tensors ||
            bundle->tensor[tensor].array < 0 || lift->stored_count == SHADOW_STORED)
            continue;
        lift->stored[lift->stored_count++] = bundle->array[bundle->tensor[tensor].array].name;
    }
}

void lift_declare(struct lift_settings *lift, const struct bundle *bundle)
{
    if (!(lift->unit > 0))
        lift->unit = bundle->call.unit_roundoff > 0 && bundle->call.unit_roundoff < 1
                         ? bundle->call.unit_roundoff
                         : 0x1p-24;
    lift->input = bundle->call.input_roundoff;
    declare_stored(lift, bundle);
    for (int i = 0; i < REF_MAX_POINTS; i++)
        lift->rounds[format_of_dtype((enum dtype)(bundle->call.point[i] & ~REF_POINT_MAY))]++;
    if (bundle->call.inner_roundoff > 0)
        lift->rounds[bundle->call.inner_roundoff > 0x1p-10 ? FORMAT_BF16 : FORMAT_F16]++;
}

/* ---- the launch ---- */

static void find_stored(struct shadow *shadow, const struct stage *stage,
                        const struct lift_settings *settings)
{
    const struct bundle *bundle = stage->scene->bundle;
    for (unsigned i = 0; i < settings->stored_count; i++)
        for (int k = 0; k < bundle->arrays; k++) {
            const struct bundle_array *array = &bundle->array[k];
            if (!strcmp(array->name, settings->stored[i]) && role_writes(array->role))
                shadow->stored[shadow->stored_count++] =
                    (struct stored){stage_at(stage, array->address), array->bytes};
        }
}

/* Of a list of blocks no others run. */
static enum status leave_out(struct stage *stage, const struct lift_settings *settings,
                             const uint8_t *chosen, uint64_t count, struct error *err)
{
    if (!settings->ranges)
        return STATUS_OK;
    stage->blocks = lift_numbers(chosen, lift_grid(stage->scene->bundle), count);
    stage->block_count = count;
    return stage->blocks ? STATUS_OK
                         : error_set(err, STATUS_NO_MEMORY, "no memory for a list of blocks");
}

enum status lift_launch(struct stage *stage, const struct lift_settings *settings,
                        struct lift_report *report, struct error *err)
{
    struct exec_fault fault;
    memset(report, 0, sizeof(*report));
    report->blocks = lift_grid(stage->scene->bundle);
    uint8_t *chosen = NULL;
    enum status status = lift_choose(stage, settings, &chosen, &report->followed, err);
    if (status)
        return status;
    report->shadow = (struct shadow){.algebra = &algebra_real,
                                     .unit = settings->unit,
                                     .input = settings->input,
                                     .tiny = 0x1p-126,
                                     .chosen = chosen};
    memcpy(report->shadow.rounds, settings->rounds, sizeof(settings->rounds));
    status = leave_out(stage, settings, chosen, report->followed, err);
    if (!status)
        status = stage_set(stage, err);
    if (!status)
        find_stored(&report->shadow, stage, settings);
    if (!status)
        status = shadow_attach(&report->shadow, stage->kernel, err);
    if (!status) {
        const int64_t begin = clock_ns();
        report->outcome = stage_run(stage, &report->shadow, settings->seconds, &fault);
        report->seconds = (double)(clock_ns() - begin) * 1e-9;
        report->instructions = fault.steps * 32;
        report->short_of_memory = report->shadow.map.full;
        memcpy(report->sentence, fault.text, sizeof(report->sentence));
        status = judge_outputs(report, stage, err);
    }
    free(chosen);
    free(stage->blocks);
    stage->blocks = NULL;
    report->shadow.chosen = NULL;
    return status;
}

void lift_release(struct lift_report *report)
{
    shadow_release(&report->shadow);
    free(report->line);
    report->line = NULL;
}
