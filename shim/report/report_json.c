#include "report/report_json.h"

#include <stdio.h>
#include "refs/abi/ref_list.h"
#include "lang/formals.h"
#include "report/contracts.h"
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

/* Rows that another array names, and where row i of the memory lies (struct bound_rows). */
static void put_report_rows(struct json_out *json, const struct binding *binding,
                            const struct bound_array *array)
{
    const struct bound_rows *rows = &array->rows;

    json_put_string(json, "rows_by", binding->array[bound_ids(array)].name);
    json_put_bool(json, "rows_listed", rows->listed);
    put_int64s(json, "rows_stride", rows->stride, 2);
    json_put_int(json, "rows_page", rows->page);
    json_put_int(json, "rows_runs", rows->runs);
    json_put_int(json, "rows_run", rows->run);
    json_put_int(json, "rows_run_stride", rows->run_stride);
}

static void put_report_arrays(struct json_out *json, const struct binding *binding)
{
    json_put_array(json, "arrays");
    for (int i = 0; binding && i < binding->arrays; i++) {
        const struct bound_array *array = &binding->array[i];
        char address[32];

        if (array->guard)
            continue;
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
            put_report_rows(json, binding, array);
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

/* The items of the launch in the check, where not all. */
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

/* Dims whose number of valid items was read from memory: the others were not judged. */
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

/* The drawn picks: the part of the launch that was checked. */
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

/* The result of the projection of the whole product, where there was one. */
static void put_json_projection(struct json_out *json, const struct projection_report *projection)
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
        if (projection->columns > 0)
            json_put_int(json, "columns_each", projection->columns);
    }
    json_end(json);
}

static void put_numbers(struct json_out *json, const struct ref_verdict *numbers,
                        const struct check_report *report)
{
    const struct ref_builtin *reference = report->spec->reference;

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
    json_put_uint(json, "of", place_elements(report->binding));
    if (reference && (reference->uses & REF_REPEATS))
        json_put_bool(json, "repeated", true);
    json_end(json);
}

static void put_json_element(struct json_out *json, const char *key, const struct place *place,
                             const double values[3])
{
    json_put_object(json, key);
    json_put_string(json, "array", place->array);
    put_int64s(json, "index", place->index, place->ndim);
    if (place->formal_ndim != place->ndim)
        put_int64s(json, "formal_index", place->formal_index, place->formal_ndim);
    json_put_double(json, "got", values[0]);
    json_put_double(json, "reference", values[1]);
    json_put_double(json, "bound", values[2]);
    json_end(json);
}

static void put_json_notes(struct json_out *json, unsigned notes)
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

/* The rule between launches that this one breaks. */
static void put_state(struct json_out *json, const struct state_report *state)
{
    if (!state->rule)
        return;
    json_put_object(json, "state");
    json_put_string(json, "rule", state->rule);
    json_put_string(json, "sentence", state->sentence);
    json_end(json);
}

/* Nothing for a launch outside of graphs. */
static void put_graph(struct json_out *json, const struct graph_place *place)
{
    if (!place->graph)
        return;
    json_put_object(json, "graph");
    json_put_uint(json, "graph", place->graph);
    json_put_uint(json, "node", place->node);
    json_put_uint(json, "replay", place->replay);
    json_end(json);
}

static void put_parity(struct json_out *json, const struct parity_report *parity)
{
    char text[PARITY_TEXT];
    parity_text(parity, text);
    json_put_object(json, "parity");
    json_put_string(json, "contract", parity->contract->name);
    json_put_uint(json, "items", parity->items);
    json_put_uint(json, "met", parity->met);
    json_put_uint(json, "differ", parity->differ);
    json_put_int(json, "item", parity->item);
    json_put_string(json, "other_kernel", parity->other->symbol);
    json_put_uint(json, "other_launch", parity->other_launch);
    json_put_int(json, "other_item", parity->other_item);
    report_json_dim3(json, "other_grid", parity->other_how.grid);
    report_json_dim3(json, "other_block", parity->other_how.block);
    json_put_uint(json, "other_shared_bytes", parity->other_how.shared_bytes);
    json_put_uint(json, "function", parity->how.function);
    json_put_uint(json, "other_function", parity->other_how.function);
    json_put_string(json, "sentence", text);
    json_end(json);
}

/* Of `cuvet fuzz`. */
static void put_case(struct json_out *json, const struct case_report *drawn)
{
    char seed[24];

    if (!drawn->outcome)
        return;
    snprintf(seed, sizeof seed, "0x%016llx", (unsigned long long)drawn->seed);
    json_put_object(json, "case");
    json_put_string(json, "outcome", drawn->outcome);
    json_put_string(json, "sentence", drawn->sentence);
    json_put_string(json, "seed", seed);
    json_put_string(json, "config", drawn->config);
    json_put_string(json, "image", drawn->image);
    json_end(json);
}

/* Of CUVET_PROFILE=sdc. */
static void put_hardware(struct json_out *json, const struct hardware_report *hardware)
{
    if (!hardware->enabled)
        return;
    json_put_object(json, "hardware");
    json_put_bool(json, "suspected", hardware->suspected);
    if (hardware->again)
        json_put_bool(json, "reference_repeats", hardware->repeats);
    json_put_uint(json, "matches_before", hardware->matches);
    json_put_uint(json, "mismatches_before", hardware->mismatches);
    if (hardware->uuid[0])
        json_put_string(json, "uuid", hardware->uuid);
    if (hardware->clock)
        json_put_uint(json, "clock_mhz", hardware->clock);
    if (hardware->celsius >= 0)
        json_put_int(json, "celsius", hardware->celsius);
    if (hardware->ecc >= 0)
        json_put_int(json, "uncorrected_errors", hardware->ecc);
    json_end(json);
}

/* The rank is that of the array's own dims; without a list of these that of the formal. */
static void put_bound_formal(struct json_out *json, const struct binding *binding,
                             const struct formal *formal)
{
    const struct ref_tensor *tensor = &binding->call.tensor[formal->slot];
    const uint8_t own = binding->own_ndim[formal->slot];

    json_begin_object(json);
    json_put_string(json, "formal", formal->name);
    json_put_string(json, "array", binding->array[binding->tensor_array[formal->slot]].name);
    put_int64s(json, "shape", own ? binding->own_dim[formal->slot] : tensor->dim,
               own ? own : tensor->ndim);
    put_int64s(json, "formal_shape", tensor->dim, tensor->ndim);
    json_end(json);
}

void report_json_dims(struct json_out *json, const struct check_report *report)
{
    const struct kernel_spec *spec = report->spec;
    const struct binding *binding = report->binding;
    struct formals formals = {0};
    struct error err;

    json_put_string(json, "kernel", spec->symbol);
    json_put_string(json, "label", place_kernel(spec));
    json_put_string(json, "reference", spec->reference ? spec->reference->name : NULL);
    json_put_uint(json, "launch", report->launch);
    if (!spec->reference || formals_parse(&formals, spec->reference->formals, &err))
        return;
    json_put_object(json, "dims");
    for (int i = 0; i < formals.sizes; i++) {
        if (!formals_find(&formals, formals.size_name[i]))
            json_put_int(json, formals.size_name[i], binding->call.size[i]);
    }
    json_end(json);
    json_put_array(json, "formals");
    for (int i = 0; i < formals.count; i++) {
        const struct formal *formal = &formals.formal[i];

        if (formal_is_array(formal) && binding->tensor_array[formal->slot] >= 0)
            put_bound_formal(json, binding, formal);
    }
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
    put_json_notes(json, report->notes);
    if (report->differs)
        json_put_uint(json, "differs_from_launch", report->earlier);
    if (report->parity.differ)
        put_parity(json, &report->parity);
    put_state(json, &report->state);
    put_case(json, &report->drawn);
    json_put_string(json, "gate", report->gate);
    put_outlier(json, &report->outlier);
    put_json_projection(json, &report->projection);
    put_hardware(json, &report->hardware);
    json_put_uint(json, "launch", report->launch);
    put_graph(json, &report->place);
    if (report->range && *report->range)
        json_put_string(json, "range", report->range);
    json_put_int(json, "device", report->device);
    report_json_dim3(json, "grid", report->grid);
    report_json_dim3(json, "block", report->block);
    json_put_uint(json, "shared_bytes", report->shared_bytes);
    put_subset(json, report->binding);
    put_picks(json, report->binding);
    put_narrows(json, report->binding);
    put_report_arrays(json, report->binding);
    put_numbers(json, n, report);
    if (place_of(report->binding, n->worst_tensor, n->worst_index, &place))
        put_json_element(json, "worst", &place,
                         (const double[]){n->worst_got, n->worst_ref, n->worst_bound});
    if (place_of(report->binding, n->first_tensor, n->first_index, &place))
        put_json_element(json, "first", &place,
                         (const double[]){n->first_got, n->first_ref, n->first_bound});
}
