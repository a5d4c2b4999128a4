/* plan_flow.c - the key `flow` of an entry: at which stages of a chain of kernels its arrays are.
 */
#include <string.h>

#include "plan/plan_builder.h"
#include "plan/registry_keys.h"

/* A stage, or a list of them. */
static enum status read_stages(struct plan_builder *b, const struct yaml_node *node,
                               const char *key, struct plan_flow *out)
{
    bool list = node->kind == YAML_KIND_SEQUENCE;
    size_t count = list ? node->count : 1;
    enum status status = STATUS_OK;
    if (count < 1 || count > PLAN_STAGES)
        return yaml_error(b->err, node, "flow: '%s' has %zu stages; expected 1 to %d", key, count,
                          PLAN_STAGES);
    for (size_t i = 0; !status && i < count; i++)
        status = yaml_text(list ? node->item[i] : node, key, &out->stage[i], b->err);
    out->stages = (unsigned)count;
    return status;
}

static enum status read_flow(struct plan_builder *b, const struct yaml_node *node,
                             struct plan_flow *out)
{
    const struct yaml_node *from = yaml_get(node, "from"), *after = yaml_get(node, "after");
    const struct yaml_node *to = yaml_get(node, "to");
    enum status status = yaml_expect(node, "flow", YAML_KIND_MAPPING, b->err);
    if (!status)
        status = keys_check(node, KEYS_FLOW, b->err);
    if (!status && !from && !after && !to)
        status = yaml_error(b->err, node, "flow: no stage; expected from, after or to");
    if (!status && from && after)
        status = yaml_error(b->err, after, "flow: 'after' beside 'from'");
    if (!status && (from || after))
        status = read_stages(b, from ? from : after, from ? "from" : "after", out);
    out->same = from != NULL;
    return !status && to ? yaml_text(to, "to", &out->to, b->err) : status;
}

/* The address is one that the launch has as a parameter. Of an array with touched rows the stage
 * alone is compared: not all of it is copied. */
static enum status check_flow_array(struct plan_builder *b, const struct yaml_node *key,
                                    const struct plan_flow *flow)
{
    const struct plan_array *array = &b->plan->array[flow->array];
    const char *name = array->item->name;
    if (array->index)
        return yaml_error(b->err, key,
                          "flow: '%.60s' is one of several arrays, of which a check draws one",
                          name);
    if (flow->same && array->item->role == ROLE_WRITE)
        return yaml_error(b->err, key, "flow: 'from' of '%.60s', which is written alone", name);
    return STATUS_OK;
}

enum status plan_flow(struct plan_builder *b, const struct yaml_node *node,
                      struct plan_state *state)
{
    enum status status = yaml_expect(node, "flow", YAML_KIND_MAPPING, b->err);
    if (!status && (node->count < 1 || node->count > PLAN_FLOWS))
        status = yaml_error(b->err, node, "'flow' has %zu arrays; expected 1 to %d", node->count,
                            PLAN_FLOWS);
    for (size_t i = 0; !status && i < node->count; i++) {
        const struct yaml_node *key = node->key[i];
        struct plan_flow *flow = &state->flow[i];
        status = plan_find_array(b, key, "flow", key->text, &flow->array);
        if (!status)
            status = read_flow(b, node->item[i], flow);
        if (!status)
            status = check_flow_array(b, key, flow);
        state->flows = (unsigned)i + 1;
    }
    return status;
}
