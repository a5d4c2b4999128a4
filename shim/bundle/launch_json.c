#include "bundle/launch_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "refs/abi/ref_list.h"
#include "report/report_json.h"
#include "lang/dtype.h"
#include "lang/signature.h"

static void put_parameters(struct json_out *json, const struct bundle_source *source)
{
    const struct param_layout *layout = source->layout;
    unsigned count = layout ? layout->count : 0;

    json_put_array(json, "parameters");
    for (unsigned i = 0; i < count && i < LAYOUT_MAX; i++) {
        uint64_t end = (uint64_t)layout->param[i].offset + layout->param[i].size;

        json_begin_object(json);
        json_put_uint(json, "offset", layout->param[i].offset);
        json_put_uint(json, "size", layout->param[i].size);
        json_key(json, "hex");
        if (source->params && end <= source->params_bytes)
            json_hex(json, (const uint8_t *)source->params + layout->param[i].offset,
                     layout->param[i].size);
        else
            json_text(json, NULL);
        json_end(json);
    }
    json_end(json);
    if (count > LAYOUT_MAX)
        json_put_uint(json, "parameters_left_out", count - LAYOUT_MAX);
}

static void put_call_tensor(struct json_out *json, const struct binding *binding, int index)
{
    static const char *const rules[] = {[RULE_BOUND] = "bound",
                                        [RULE_CLOSE] = "close",
                                        [RULE_BITWISE] = "bitwise",
                                        [RULE_STOCHASTIC] = "stochastic"};
    const struct ref_tensor *tensor = &binding->call.tensor[index];
    int array = binding->tensor_array[index];
    bool bound = array >= 0 && array < binding->arrays;

    json_begin_object(json);
    json_put_string(json, "array", bound ? binding->array[array].name : NULL);
    json_put_string(json, "dtype", dtype_text((enum dtype)tensor->dtype));
    json_put_array(json, "shape");
    for (int d = 0; d < tensor->ndim && d < REF_MAX_DIMS; d++)
        json_int(json, tensor->dim[d]);
    json_end(json);
    json_put_array(json, "stride");
    for (int d = 0; d < tensor->ndim && d < REF_MAX_DIMS; d++)
        json_int(json, tensor->stride[d]);
    json_end(json);
    json_put_string(json, "rule",
                    tensor->rule <= RULE_STOCHASTIC ? rules[tensor->rule] : "unknown");
    json_put_double(json, "rtol", tensor->rtol);
    json_put_double(json, "atol", tensor->atol);
    json_put_double(json, "absent", tensor->absent);
    json_put_bool(json, "accumulates", tensor->accumulates);
    json_put_uint(json, "id", tensor->id);
    json_end(json);
}

/* Dtypes of the rounding points, in the order of the formals: "bf16", "bf16?", "none". */
static void put_points(struct json_out *json, const struct ref_call *call)
{
    json_put_array(json, "points");
    for (int i = 0; i < REF_MAX_POINTS; i++) {
        char text[32];

        snprintf(text, sizeof text, "%s%s", dtype_text(call->point[i] & ~REF_POINT_MAY),
                 call->point[i] & REF_POINT_MAY ? "?" : "");
        json_string_n(json, text, strlen(text));
    }
    json_end(json);
}

void launch_json_call(struct json_out *json, const struct check_report *report)
{
    const struct ref_call *call = &report->binding->call;
    const struct ref_builtin *reference = report->spec->reference;
    char seed[24];

    json_put_object(json, "call");
    json_put_string(json, "formals", reference ? reference->formals : NULL);
    if (report->spec->relations)
        json_put_string(json, "relations", report->spec->relations);
    json_put_double(json, "lambda", call->lambda);
    json_put_double(json, "unit_roundoff", call->unit_roundoff);
    json_put_double(json, "input_roundoff", call->input_roundoff);
    json_put_double(json, "underflow", call->underflow);
    put_points(json, call);
    json_put_double(json, "inner_roundoff", call->inner_roundoff);
    json_put_double(json, "inner_least", call->inner_least);
    json_put_string(json, "functions", call->functions == REF_FUNCTIONS_APPROX ? "approx" : "libm");
    json_put_double(json, "chain_roundoff", call->chain_roundoff);
    json_put_int(json, "chain", call->chain);
    json_put_uint(json, "lanes", call->lanes);
    snprintf(seed, sizeof seed, "0x%llx", (unsigned long long)call->seed);
    json_put_string(json, "seed", seed);
    json_put_uint(json, "masked_rows", call->masked_rows);
    json_put_int(json, "part", call->part);
    json_put_int(json, "whole", call->whole);
    json_put_int(json, "launch_blocks", call->launch_blocks);
    json_put_uint(json, "launch_warps", call->launch_warps);
    json_put_array(json, "scalars");
    for (int i = 0; i < REF_MAX_SCALARS; i++)
        json_double(json, call->scalar[i]);
    json_end(json);
    json_put_array(json, "sizes");
    for (int i = 0; i < REF_MAX_SIZES; i++)
        json_int(json, call->size[i]);
    json_end(json);
    json_put_array(json, "tensors");
    for (int i = 0; i < report->binding->tensors; i++)
        put_call_tensor(json, report->binding, i);
    json_end(json);
    json_end(json);
}

/* The name of the scratch array whose pointer stands there; NULL: none. */
static const char *workspace_at(const struct kernel_spec *spec, const struct param_layout *layout,
                                uint32_t offset)
{
    const struct signature *signature = spec->signature;

    for (unsigned i = 0; layout && signature && i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];

        if (item->array && item->role == ROLE_WS && item->param < layout->count &&
            item->param < LAYOUT_MAX && layout->param[item->param].offset + item->offset == offset)
            return item->name;
    }
    return NULL;
}

static void put_launch_pointers(struct json_out *json, const struct check_report *report,
                                const struct bundle_source *source)
{
    json_put_array(json, "pointers");
    for (size_t i = 0; i < source->pointers; i++) {
        const struct param_pointer *pointer = &source->pointer[i];
        const char *workspace = workspace_at(report->spec, source->layout, pointer->offset);
        char address[32], base[32];

        snprintf(address, sizeof address, "0x%llx", (unsigned long long)pointer->address);
        snprintf(base, sizeof base, "0x%llx", (unsigned long long)pointer->base);
        json_begin_object(json);
        json_put_uint(json, "offset", pointer->offset);
        json_put_string(json, "address", address);
        json_put_string(json, "base", base);
        json_put_uint(json, "bytes", pointer->bytes);
        if (workspace)
            json_put_string(json, "workspace", workspace);
        json_end(json);
    }
    json_end(json);
}

static void put_surroundings(struct json_out *json, const struct bundle_source *source)
{
    char address[24];
    if (!source->around)
        return;
    snprintf(address, sizeof address, "0x%" PRIx64, source->around_address);
    json_put_object(json, "surroundings");
    json_put_string(json, "address", address);
    json_put_uint(json, "bytes", source->around_bytes);
    json_end(json);
}

void launch_json_source(struct json_out *json, const struct check_report *report,
                        const struct bundle_source *source)
{
    if (report->cluster[0])
        report_json_dim3(json, "cluster", report->cluster);
    if (report->cooperative)
        json_put_bool(json, "cooperative", true);
    json_put_object(json, "machine");
    json_put_int(json, "sm", source->machine.sm);
    json_put_int(json, "driver", source->machine.driver);
    json_put_int(json, "multiprocessors", source->machine.multiprocessors);
    json_end(json);
    put_parameters(json, source);
    put_launch_pointers(json, report, source);
    put_surroundings(json, source);
}

const char *launch_json_image(const void *image, size_t bytes)
{
    static const uint8_t elf[4] = {0x7f, 'E', 'L', 'F'}, fatbin[4] = {0x50, 0xed, 0x55, 0xba};

    if (bytes >= 4 && !memcmp(image, elf, sizeof elf))
        return "module.cubin";
    return bytes >= 4 && !memcmp(image, fatbin, sizeof fatbin) ? "module.fatbin" : "module.ptx";
}
