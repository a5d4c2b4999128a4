/*
 * plan_when.c - the key `when` of an entry: an expression guards the whole entry, a mapping guards
 * arrays, a list has several of these.
 *
 * A guard may protect lets that fail without it, so the lets that it needs itself come first and
 * the others are evaluated behind it.
 */
#include <string.h>

#include "text/nearest.h"
#include "plan/plan_builder.h"

static enum status guard_entry(struct plan_builder *b, const struct yaml_node *node)
{
    const char *text;
    if (b->plan->guard)
        return yaml_error(b->err, node,
                          "when: a second guard of the entry; expected one, such as (a) && (b)");
    enum status status = yaml_text(node, "when", &text, b->err);
    return status ? status : plan_expr(b, node, "when", "entry", text, &b->plan->guard);
}

static enum status guard_array(struct plan_builder *b, const struct yaml_node *key,
                               const struct yaml_node *value)
{
    const char *name = key->text, *text;
    const struct signature_item *item = signature_find(b->plan->signature, name);
    if (!item || !item->array) {
        struct nearest nearest = {.word = name};
        char question[96];
        for (unsigned i = 0; i < b->plan->arrays; i++)
            nearest_offer(&nearest, b->plan->array[i].item->name);
        return yaml_error(b->err, key, "when: no array is called '%.60s'%s", name,
                          nearest_text(&nearest, question, sizeof question));
    }
    enum status status = yaml_text(value, name, &text, b->err);
    return status ? status
                  : plan_expr(b, value, "when", name, text, &b->plan->array[item->number].when);
}

static enum status read_guards(struct plan_builder *b, const struct yaml_node *node)
{
    enum status status = STATUS_OK;
    if (node->kind == YAML_KIND_SCALAR)
        return guard_entry(b, node);
    if (node->kind == YAML_KIND_SEQUENCE)
        return yaml_error(b->err, node, "when: a list within a list");
    for (size_t i = 0; !status && i < node->count; i++)
        status = guard_array(b, node->key[i], node->item[i]);
    return status;
}

enum status plan_when(struct plan_builder *b)
{
    const struct yaml_node *node = b->source->when;
    enum status status = STATUS_OK;
    if (!node || node->kind != YAML_KIND_SEQUENCE)
        return node ? read_guards(b, node) : STATUS_OK;
    for (size_t i = 0; !status && i < node->count; i++)
        status = read_guards(b, node->item[i]);
    return status;
}

void plan_order_guard(struct plan_builder *b)
{
    struct binding_plan *plan = b->plan;
    struct plan_let sorted[PLAN_LETS];
    bool used[PLAN_SLOTS];
    unsigned count = 0;
    if (!plan->guard)
        return;
    memcpy(used, b->used, sizeof used);
    memset(b->used, 0, sizeof b->used);
    plan_use(b, plan->guard);
    for (unsigned i = plan->lets; i-- > 0;)
        if (b->used[plan->let[i].slot])
            plan_use(b, plan->let[i].expr);
    for (int behind = 0; behind < 2; behind++) {
        for (unsigned i = 0; i < plan->lets; i++)
            if (!b->used[plan->let[i].slot] == behind)
                sorted[count++] = plan->let[i];
        if (!behind)
            plan->guard_lets = count;
    }
    memcpy(plan->let, sorted, count * sizeof *sorted);
    for (unsigned i = 0; i < PLAN_SLOTS; i++)
        b->used[i] = b->used[i] || used[i];
}
