/*
 * plan_let.c - names whose values are worked out at a launch: lets, numbers that are drawn for each
 * check (picks), and fields of a struct that lie at an index (elements of an array in it).
 *
 * They may name each other in any order. Each has its slot before its expression is compiled; when
 * all are known they are sorted, and cycles found.
 */
#include "plan/plan_builder.h"

#include <string.h>

static enum status add_slots(struct plan_builder *b, const struct yaml_node *node, bool picks)
{
    const char *what = picks ? "pick" : "let";
    enum status status = yaml_expect(node, what, YAML_KIND_MAPPING, b->err);
    if (status)
        return status;
    if (node->count > (picks ? PLAN_PICKS : PLAN_LETS - PLAN_PICKS))
        return yaml_error(b->err, node, picks ? "more than 2 picks" : "more than 32 lets");
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_node *key = node->key[i];
        const char *name = key->text;
        bool taken = signature_find(b->plan->signature, name) || plan_has_value(b, name);
        if (taken || strncmp(name, "grid.", 5) == 0 || strncmp(name, "block.", 6) == 0)
            return yaml_error(b->err, key, "%s '%s': the name is taken", what, name);
        int slot = plan_slot(b, name);
        if (slot < 0)
            return plan_at(b, key, STATUS_INVALID);
        b->plan->let[b->plan->lets++] =
            (struct plan_let){.name = name, .slot = slot, .pick = picks};
    }
    return STATUS_OK;
}

struct dependency {
    const struct binding_plan *plan;
    unsigned placed;
    bool ready;
};

static void needs_slot(void *user, int slot)
{
    struct dependency *d = user;
    for (unsigned i = d->placed; i < d->plan->lets; i++) {
        if (d->plan->let[i].slot == slot)
            d->ready = false;
    }
}

/* Moves lets whose needs are placed to the front until all are, or none moves: a cycle. */
enum status plan_sort_lets(struct plan_builder *b)
{
    const struct yaml_node *node = b->source->let ? b->source->let : b->source->signature;
    struct binding_plan *plan = b->plan;
    for (unsigned placed = 0; placed < plan->lets; placed++) {
        unsigned next = placed;
        for (; next < plan->lets; next++) {
            struct dependency d = {plan, placed, true};
            expr_slots(plan->let[next].expr, needs_slot, &d);
            if (d.ready)
                break;
        }
        if (next == plan->lets)
            return yaml_error(b->err, node, "let '%s' depends on itself", plan->let[placed].name);
        struct plan_let let = plan->let[next];
        plan->let[next] = plan->let[placed];
        plan->let[placed] = let;
    }
    return STATUS_OK;
}

/* Compiles what stands behind the names of one mapping: plan->let[first ..]. */
static enum status compile_let(struct plan_builder *b, const struct yaml_node *node, unsigned first)
{
    enum status status = STATUS_OK;
    for (unsigned i = 0; !status && node && i < node->count; i++) {
        struct plan_let *let = &b->plan->let[first + i];
        const char *text;
        status = yaml_text(node->item[i], let->name, &text, b->err);
        if (!status)
            status = plan_expr(b, node->item[i], let->pick ? "pick" : "let", let->name, text,
                               &let->expr);
        int64_t count;
        if (!status && let->pick && expr_constant(let->expr, &count) && count < 1)
            status =
                yaml_error(b->err, node->item[i], "pick '%s' is one of %lld; expected at least one",
                           let->name, (long long)count);
    }
    return status;
}

enum status plan_lets(struct plan_builder *b)
{
    const struct yaml_node *lets = b->source->let, *picks = b->source->pick;
    enum status status = lets ? add_slots(b, lets, false) : STATUS_OK;
    unsigned first = b->plan->lets;
    if (!status && picks)
        status = add_slots(b, picks, true);
    b->plan->picks = b->plan->lets - first;
    if (!status)
        status = compile_let(b, lets, 0);
    return status ? status : compile_let(b, picks, first);
}

enum status plan_index(struct plan_builder *b, const struct signature_item *item,
                       const struct expr **out)
{
    return item->index ? plan_expr(b, b->source->signature, "signature: field", item->name,
                                   item->index, out)
                       : STATUS_OK;
}

int plan_field(struct plan_builder *b, const struct signature_item *item)
{
    unsigned number = b->plan->lets;
    if (number == PLAN_LETS) {
        error_set(b->err, STATUS_INVALID, "more than 32 lets, picks and fields at an index");
        return -1;
    }
    int slot = plan_slot(b, item->name);
    if (slot < 0)
        return -1;
    b->plan->let[b->plan->lets++] = (struct plan_let){
        .name = item->name, .slot = slot, .item = item, .start = plan_start(b, item)};
    struct plan_let *let = &b->plan->let[number];
    struct expr_names names = plan_names(b);
    bool earlier = b->earlier;
    b->earlier = item->earlier;
    enum status status = expr_compile(&let->expr, b->arena, item->index, &names, b->err);
    b->earlier = earlier;
    return status ? -1 : slot;
}
