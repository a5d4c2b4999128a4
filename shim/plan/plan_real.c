/*
 * plan_real.c - real expressions behind real formals: "1 - s", "2 * lr[0]".
 *
 * Names of integers have the slots that integer expressions give them. Real parameters and elements
 * of memory, which those cannot use, are numbers of the plan, with slots behind all others.
 */
#include "plan/plan_builder.h"

#include "text/nearest.h"

static int add_number(struct plan_builder *b, const struct signature_item *item, int element)
{
    struct binding_plan *plan = b->plan;
    for (unsigned i = 0; i < plan->numbers; i++) {
        if (plan->number[i].item == item && plan->number[i].element == element)
            return PLAN_SLOTS + (int)i;
    }
    if (plan->numbers == PLAN_NUMBERS) {
        error_set(b->err, STATUS_INVALID, "more than %d real numbers in expressions", PLAN_NUMBERS);
        return -1;
    }
    struct plan_number *number = &plan->number[plan->numbers];
    *number = (struct plan_number){.item = item, .element = element};
    if (item) {
        number->start = plan_start(b, item);
        if (plan_index(b, item, &number->index))
            return -1;
    }
    return PLAN_SLOTS + (int)plan->numbers++;
}

static int unknown_number(struct plan_builder *b, const char *name)
{
    struct nearest nearest = {.word = name};
    char question[96];
    for (unsigned i = 0; i < b->plan->signature->items; i++) {
        const struct signature_item *item = &b->plan->signature->item[i];
        if (!item->array)
            nearest_offer(&nearest, item->name);
    }
    error_set(
        b->err, STATUS_INVALID,
        "unknown name '%s'; expected a scalar parameter, a 'let' or an element such as x[0]%s",
        name, nearest_text(&nearest, question, sizeof question));
    return -1;
}

static int find_number(void *user, const char *name, const char *index, struct error *err)
{
    struct plan_builder *b = user;
    if (index) {
        int element = plan_value(b, name, index, true);
        return element < 0 ? -1 : add_number(b, NULL, element);
    }
    const struct signature_item *item = signature_find(b->plan->signature, name);
    if (item && !item->array && dtype_is_real(item->type.dtype))
        return add_number(b, item, -1);
    if (item && item->array) {
        error_set(b->err, STATUS_INVALID, "'%s' is an array; an element of it is '%s[0]'", name,
                  name);
        return -1;
    }
    struct error refused = {{0}}, *own = b->err;
    struct expr_names integers = plan_names(b);
    b->err = &refused; /* its sentence about an unknown name is one about sizes */
    int slot = integers.find(integers.user, name, NULL, err);
    b->err = own;
    if (slot < 0 && !item && !plan_has_value(b, name))
        return unknown_number(b, name);
    if (slot < 0)
        error_set(own, STATUS_INVALID, "%s", refused.text);
    return slot;
}

struct real_use {
    struct plan_builder *b;
    unsigned reads;
};

static void use_number(void *user, int slot)
{
    struct real_use *use = user;
    if (slot < PLAN_SLOTS) {
        use->b->used[slot] = true;
        return;
    }
    const struct plan_number *number = &use->b->plan->number[slot - PLAN_SLOTS];
    if (!number->item)
        use->reads |= 1u << number->element;
    plan_use(use->b, number->index);
}

enum status plan_real(struct plan_builder *b, const struct yaml_node *node, const char *formal,
                      const char *text, struct plan_real *out)
{
    struct expr_names names = {find_number, b};
    struct real_use use = {b, 0};
    b->may_read = true;
    enum status status = expr_compile_real(&out->expr, b->arena, text, &names, b->err);
    b->may_read = false;
    if (status) {
        error_prefix(b->err, "formal '%s'", formal);
        return plan_at(b, node, status);
    }
    expr_slots(out->expr, use_number, &use);
    out->reads = use.reads;
    return STATUS_OK;
}
