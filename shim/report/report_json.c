#include "report/report_json.h"

#include <stdio.h>
#include "refs/ref_list.h"
#include "report/place.h"
#include "lang/dtype.h"

void report_json_dim3(struct json_out *json, const char *key, const uint32_t value[3])
{
    json_put_array(json, key);
    for (int i = 0; i < 3; i++)
        json_uint(json, value[i]);
    json_end(json);
}

static void put_int64s(struct json_out *json, const char *key, const int64_t *values, int count)
{
    json_put_array(json, key);
    for (int i = 0; i < count; i++)
        json_int(json, values[i]);
    json_end(json);
}

static void put_arrays(struct json_out *json, const struct binding *binding)
{
    json_put_array(json, "arrays");
    for (int i = 0; binding && i < binding->arrays; i++) {
        const struct bound_array *array = &binding->array[i];
        char address[32];

        snprintf(address, sizeof address, "0x%llx", (unsigned long long)array->address);
        json_begin_object(json);
        json_put_string(json, "name", array->name);
        json_put_string(json, "role", place_role_text(array->role));
        json_put_string(json, "dtype", dtype_text(array->dtype));
        if (array->blocks != DTYPE_NONE)
            json_put_string(json, "blocks", dtype_text(array->blocks));
        put_int64s(json, "shape", array->dim, array->ndim);
        put_int64s(json, "stride", array->stride, array->ndim);
        json_put_string(json, "address", address);
        json_put_uint(json, "bytes", array->bytes);
        if (bound_ids(array) >= 0)
            json_put_string(json, "rows_by", binding->array[bound_ids(array)].name);
        if (binding_gathers(binding, i))
            json_put_int(json, "subset_axis", array->axis);
        json_end(json);
    }
    json_end(json);
}

/* Why the outlier gate called the launch. */
static void put_outlier(struct json_out *json, const struct outlier_call_report *outlier)
{
    if (!outlier->input)
        return;
    json_put_object(json, "outlier");
    json_put_string(json, "input", outlier->input);
    json_put_string(json, "statistic", outlier->statistic);
    json_put_double(json, outlier->sigmas ? "sigmas" : "score", outlier->score);
    json_put_double(json, "threshold", outlier->threshold);
    json_end(json);
}

/* Which items of the launch the check saw, where not all. */
static void put_subset(struct json_out *json, const struct binding *binding)
{
    const struct subset *subset = binding ? &binding->subset : NULL;

    if (!subset || !subset->dim)
        return;
    json_put_object(json, "subset");
    json_put_string(json, "dim", subset->dim);
    if (subset->with) {
        json_put_string(json, "with", subset->with);
        json_put_int(json, "share", subset->share);
    }
    json_put_int(json, "checked", subset->judged);
    json_put_int(json, "of", subset->total);
    json_put_array(json, "blocks");
    for (uint32_t i = 0; i < subset->select.blocks; i++) {
        int64_t block[2];

        subset_block(subset, i, &block[0], &block[1]);
        json_begin_array(json);
        json_int(json, block[0]);
        json_int(json, block[1]);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

/* Dims of which memory said how many items are valid: the others were not judged. */
static void put_narrows(struct json_out *json, const struct binding *binding)
{
    if (!binding || !binding->narrows)
        return;
    json_put_object(json, "valid");
    for (int i = 0; i < binding->narrows; i++) {
        int64_t pair[2] = {binding->narrow[i].valid, binding->narrow[i].all};

        put_int64s(json, binding->narrow[i].dim, pair, 2);
    }
    json_end(json);
}

/* What was drawn: of all the launch did, the check saw that. */
static void put_picks(struct json_out *json, const struct binding *binding)
{
    if (!binding || !binding->picks)
        return;
    json_put_object(json, "picked");
    for (unsigned i = 0; i < binding->picks; i++) {
        int64_t pair[2] = {binding->pick[i].value, binding->pick[i].count};

        put_int64s(json, binding->pick[i].name, pair, 2);
    }
    json_end(json);
}

/* What the projection of the whole product said, where there was one. */
static void put_projection(struct json_out *json, const struct projection_report *projection)
{
    if (!projection->array)
        return;
    json_put_object(json, "projection");
    json_put_string(json, "array", projection->array);
    json_put_uint(json, "rows", projection->rows);
    json_put_uint(json, "left", projection->left);
    json_put_uint(json, "violations", projection->violations);
    if (projection->violations > 0) {
        json_put_int(json, "first", projection->first);
        json_put_int(json, "last", projection->last);
        json_put_int(json, "worst", projection->worst);
        json_put_double(json, "ratio", projection->ratio);
        if (projection->of > 0)
            json_put_int(json, "rows_each", projection->of);
    }
    json_end(json);
}

static void put_numbers(struct json_out *json, const struct ref_verdict *numbers)
{
    json_put_object(json, "numbers");
    json_put_uint(json, "elements", numbers->checked);
    json_put_uint(json, "violations", numbers->violations);
    json_put_uint(json, "class_mismatch", numbers->class_mismatch);
    json_put_uint(json, "wide", numbers->wide);
    json_put_uint(json, "refused", numbers->refused);
    json_put_double(json, "max_abs", numbers->max_abs);
    json_put_double(json, "max_rel", numbers->max_rel);
    json_put_double(json, "max_ratio", numbers->max_ratio);
    json_put_uint(json, "measured", numbers->measured);
    json_put_double(json, "square_ratio", verdict_square_ratio(numbers));
    json_put_double(json, "mean_signed", verdict_mean_signed(numbers));
    json_put_double(json, "bias", verdict_bias(numbers));
    json_end(json);
}

static void put_element(struct json_out *json, const char *key, const struct place *place,
                        const double values[3])
{
    json_put_object(json, key);
    json_put_string(json, "array", place->array);
    put_int64s(json, "index", place->index, place->ndim);
    json_put_double(json, "got", values[0]);
    json_put_double(json, "reference", values[1]);
    json_put_double(json, "bound", values[2]);
    json_end(json);
}

static void put_notes(struct json_out *json, unsigned notes)
{
    if (!notes)
        return;
    json_put_array(json, "notes");
    if (notes & NOTE_SPREAD)
        json_string_n(json, "spread", 6);
    if (notes & NOTE_LEAN)
        json_string_n(json, "lean", 4);
    json_end(json);
}

void report_json_check(struct json_out *json, const struct check_report *report)
{
    const struct kernel_spec *spec = report->spec;
    const struct ref_verdict *n = &report->numbers;
    struct place place;

    json_put_string(json, "kernel", spec->symbol);
    json_put_string(json, "label", place_kernel(spec));
    json_put_string(json, "reference", spec->reference ? spec->reference->name : NULL);
    json_put_string(json, "where", spec->where);
    json_put_string(json, "verdict", verdict_text(report->verdict));
    put_notes(json, report->notes);
    if (report->differs)
        json_put_uint(json, "differs_from_launch", report->earlier);
    json_put_string(json, "gate", report->gate);
    put_outlier(json, &report->outlier);
    put_projection(json, &report->projection);
    json_put_uint(json, "launch", report->launch);
    json_put_int(json, "device", report->device);
    report_json_dim3(json, "grid", report->grid);
    report_json_dim3(json, "block", report->block);
    json_put_uint(json, "shared_bytes", report->shared_bytes);
    put_subset(json, report->binding);
    put_picks(json, report->binding);
    put_narrows(json, report->binding);
    put_arrays(json, report->binding);
    put_numbers(json, n);
    if (place_of(report->binding, n->worst_tensor, n->worst_index, &place))
        put_element(json, "worst", &place,
                    (const double[]){n->worst_got, n->worst_ref, n->worst_bound});
    if (place_of(report->binding, n->first_tensor, n->first_index, &place))
        put_element(json, "first", &place,
                    (const double[]){n->first_got, n->first_ref, n->first_bound});
}
