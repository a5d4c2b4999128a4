#include "plan/outlier_choice.h"

#include <string.h>
#include "text/nearest.h"
#include "plan/registry_keys.h"

static const char *const detectors[] = {"off", "fingerprint", "centroid"};
enum { DETECTORS = sizeof(detectors) / sizeof(detectors[0]) };

const char *outlier_detector_text(int detector)
{
    return detectors[detector];
}

static enum status read_detector(const struct yaml_node *node, int *detector, struct error *err)
{
    const char *name;
    enum status status = yaml_text(node, "detector", &name, err);
    if (status)
        return status;
    struct nearest nearest = {.word = name};
    for (int i = 0; i < DETECTORS; i++) {
        nearest_offer(&nearest, detectors[i]);
        if (!strcmp(name, detectors[i])) {
            *detector = i;
            return STATUS_OK;
        }
    }
    char question[96];
    return yaml_error(err, node,
                      "unknown detector '%.60s'; expected off, fingerprint or centroid%s", name,
                      nearest_text(&nearest, question, sizeof(question)));
}

/* A number strictly between the two. */
static enum status read_between(const struct yaml_node *mapping, const char *key, double low,
                                double high, double *out, struct error *err)
{
    const struct yaml_node *node = yaml_get(mapping, key);
    if (!node)
        return STATUS_OK;
    enum status status = yaml_real(node, key, low, high, out, err);
    if (!status && (*out <= low || *out >= high))
        status = yaml_error(err, node, "'%s' is '%s'; expected a number between %g and %g", key,
                            node->text, low, high);
    return status;
}

static enum status read_outlier_numbers(const struct yaml_node *node, struct outlier_spec *spec,
                                        struct error *err)
{
    const struct yaml_node *most = yaml_get(node, "max_distances");
    enum status status = read_between(node, "false_alarm", 0, 0.5, &spec->false_alarm, err);
    if (!status && spec->false_alarm < 1e-6)
        status = yaml_error(err, yaml_get(node, "false_alarm"),
                            "'false_alarm' is '%s'; expected at least 1e-6",
                            yaml_get(node, "false_alarm")->text);
    if (!status)
        status = read_between(node, "percentile", 0, 1, &spec->percentile, err);
    if (!status)
        status = read_between(node, "alpha", 0, 1, &spec->alpha, err);
    if (!status)
        status = read_between(node, "threshold", 0, 1e6, &spec->threshold, err);
    if (!status && most)
        status = yaml_integer(most, "max_distances", 1, 1 << 20, &spec->max_distances, err);
    return status;
}

enum status outlier_choice_read(const struct yaml_node *node, struct outlier_choice *choice,
                                struct error *err)
{
    struct outlier_spec *spec = &choice->spec;
    *choice = (struct outlier_choice){.spec = {.detector = -1,
                                               .false_alarm = 1e-3,
                                               .percentile = 0.95,
                                               .alpha = 1e-2,
                                               .threshold = 0.8,
                                               .max_distances = 10000}};
    if (!node)
        return STATUS_OK;
    if (node->kind == YAML_KIND_SCALAR)
        return read_detector(node, &spec->detector, err);
    enum status status = yaml_expect(node, "outlier", YAML_KIND_MAPPING, err);
    if (!status)
        status = keys_check(node, KEYS_OUTLIER, err);
    if (!status && yaml_get(node, "detector"))
        status = read_detector(yaml_get(node, "detector"), &spec->detector, err);
    choice->inputs = yaml_get(node, "inputs");
    return status ? status : read_outlier_numbers(node, spec, err);
}

/* The gate does not decode block formats, which are mostly weights and constant. Of an array with
 * touched rows the rows are unknown to it, of a listed one the addresses. */
static bool array_is_read(const struct plan_array *array)
{
    enum role role = array->item->role;
    return array->bound && array->rows < 0 && !array->list &&
           !dtype_block(array->item->type.dtype) &&
           (role == ROLE_READ || role == ROLE_INOUT || role == ROLE_ACC);
}

static enum status add_input(const struct yaml_node *node, const struct binding_plan *plan,
                             struct outlier_spec *out, struct error *err)
{
    const char *name;
    enum status status = yaml_text(node, "inputs", &name, err);
    if (status)
        return status;
    if (out->inputs == OUTLIER_SPEC_INPUTS)
        return yaml_error(err, node, "more than %d inputs", OUTLIER_SPEC_INPUTS);
    const struct signature_item *item = signature_find(plan->signature, name);
    if (item && dtype_block(item->type.dtype))
        return yaml_error(err, node, "'%.60s' is in blocks of %s, which the gate cannot read", name,
                          dtype_text(item->type.dtype));
    struct nearest nearest = {.word = name};
    for (unsigned i = 0; i < plan->arrays; i++) {
        const struct plan_array *array = &plan->array[i];
        if (array->item == item && array->rows >= 0)
            return yaml_error(err, node,
                              "'%.60s' has touched rows, [@...]: the gate cannot find out which",
                              name);
        if (array->item == item && array->list)
            return yaml_error(err, node,
                              "'%.60s' lies behind addresses in device memory, [&n]: the gate does "
                              "not follow them",
                              name);
        if (array_is_read(array)) {
            nearest_offer(&nearest, array->item->name);
            if (!strcmp(array->item->name, name)) {
                out->input[out->inputs++] = array->item->name;
                return STATUS_OK;
            }
        }
    }
    char question[96];
    return yaml_error(err, node,
                      "'%.60s' is no array that the kernel reads and the reference gets%s", name,
                      nearest_text(&nearest, question, sizeof(question)));
}

/* The default array: the one that identifies a launch best. */
static void add_default(const struct binding_plan *plan, struct outlier_spec *out)
{
    const struct plan_array *best = NULL;
    for (unsigned i = 0; i < plan->arrays; i++) {
        const struct plan_array *array = &plan->array[i];
        if (!array_is_read(array))
            continue;
        if (array->item->role == ROLE_READ && array->item->ndim >= 2) {
            best = array;
            break;
        }
        best = best ? best : array;
    }
    if (best)
        out->input[out->inputs++] = best->item->name;
}

enum status outlier_choice_resolve(const struct outlier_choice *choice,
                                   const struct binding_plan *plan, struct outlier_spec *out,
                                   struct error *err)
{
    const struct yaml_node *inputs = choice->inputs;
    enum status status = STATUS_OK;
    *out = choice->spec;
    if (!inputs) {
        add_default(plan, out);
        return STATUS_OK;
    }
    if (inputs->kind != YAML_KIND_SEQUENCE)
        return add_input(inputs, plan, out, err);
    for (size_t i = 0; !status && i < inputs->count; i++)
        status = add_input(inputs->item[i], plan, out, err);
    if (!status && out->inputs > 1 && out->detector == OUTLIER_SPEC_CENTROID)
        status = yaml_error(err, inputs, "the centroid detector probes one input");
    return status;
}
