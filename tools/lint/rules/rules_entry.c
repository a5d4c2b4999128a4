/* rules_entry.c - the kernel compared with its registry entry. */
#include <math.h>
#include <string.h>
#include "plan/plan.h"
#include "refs/abi/ref_list.h"
#include "tools/lint/rules/rules.h"

void rule_entry_layout(struct lint_kernel *k)
{
    if (k->misfit)
        lint_add(k, FLOW_NONE, "%s", k->misfit);
}

/* -- which parameters the kernel reads -- */

static bool reads_param(const struct flow *flow, unsigned index, uint32_t from, uint32_t size)
{
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        const struct ptx_instruction *i = &flow->function->instructions[at];
        for (unsigned o = 0; o < i->operand_count; o++) {
            const struct ptx_operand *operand = &i->operands[o];
            bool memory = operand->kind == PTX_MEMORY && operand->count > 0;
            const struct ptx_operand *base = memory ? &operand->items[0] : operand;
            if (base->kind != PTX_ADDRESS_OF || base->variable != &flow->function->params[index])
                continue;
            if (!memory) /* its address is taken: anything may be read */
                return true;
            int64_t begin = operand->offset;
            unsigned bits = i->type_count ? ptx_type_bits(i->types[0]) : 64;
            if (begin < (int64_t)from + size && begin + bits / 8 * i->vector > (int64_t)from)
                return true;
        }
    }
    return false;
}

static bool reads_item(const struct lint_kernel *k, const struct signature_item *item)
{
    unsigned bits = item->array ? 64 : 8 * (unsigned)dtype_bytes(item->type.dtype);
    if (item->param >= k->flow->function->param_count || item->earlier || item->index)
        return true;
    return reads_param(k->flow, item->param, item->offset, bits / 8 ? bits / 8 : 1);
}

/* -- which the entry gives a meaning -- */

struct slots {
    uint64_t used;
};

static void use_slot(void *user, int slot)
{
    struct slots *s = user;
    if (slot >= 0 && slot < PLAN_SLOTS)
        s->used |= (uint64_t)1 << slot;
}

/* A let that is used uses what it is made of. */
static void close_slots(const struct binding_plan *plan, struct slots *s)
{
    for (unsigned i = plan->lets; i-- > 0;) {
        const struct plan_let *let = &plan->let[i];
        if (let->expr && let->slot >= 0 && s->used >> let->slot & 1)
            expr_slots(let->expr, use_slot, s);
    }
}

/* Distances of rows, and numbers that formals take: what a kernel cannot do without. Sizes are not
 * among them, since a grid may cover them. */
static struct slots needed_slots(const struct binding_plan *plan)
{
    struct slots s = {0};
    for (unsigned a = 0; a < plan->arrays; a++) {
        const struct plan_array *array = &plan->array[a];
        for (unsigned d = 0; array->bound && d < array->item->ndim; d++) {
            if (array->dim[d].stride)
                expr_slots(array->dim[d].stride, use_slot, &s);
        }
    }
    for (unsigned i = 0; i < plan->sizes; i++) {
        if (plan->size[i].expr && !plan->size[i].is_dim)
            expr_slots(plan->size[i].expr, use_slot, &s);
    }
    close_slots(plan, &s);
    return s;
}

static struct slots all_slots(const struct binding_plan *plan)
{
    struct slots s = needed_slots(plan);
    for (unsigned a = 0; a < plan->arrays; a++) {
        for (unsigned d = 0; d < plan->array[a].item->ndim; d++) {
            if (plan->array[a].dim[d].extent)
                expr_slots(plan->array[a].dim[d].extent, use_slot, &s);
        }
    }
    for (unsigned i = 0; i < plan->sizes; i++) {
        if (plan->size[i].expr)
            expr_slots(plan->size[i].expr, use_slot, &s);
    }
    close_slots(plan, &s);
    return s;
}

static void check_item(struct lint_kernel *k, const struct signature_item *item, const char *what)
{
    if (!reads_item(k, item))
        lint_add(k, FLOW_NONE, "the kernel never reads parameter %u, %s %s", item->param, what,
                 item->name);
}

void rule_param_unread(struct lint_kernel *k)
{
    const struct binding_plan *plan = k->plan;
    if (!plan || plan->signature->params > k->flow->function->param_count)
        return;
    struct slots s = needed_slots(plan);
    for (unsigned a = 0; a < plan->arrays; a++) {
        if (plan->array[a].bound)
            check_item(k, plan->array[a].item, "the array");
    }
    for (unsigned i = 0; i < plan->loads; i++) {
        if (plan->load[i].slot >= 0 && s.used >> plan->load[i].slot & 1)
            check_item(k, plan->load[i].item, "the number");
    }
    for (unsigned i = 0; i < REF_MAX_SCALARS; i++) {
        if (plan->real[i].item)
            check_item(k, plan->real[i].item, "the number");
    }
    for (unsigned i = 0; i < plan->numbers; i++) {
        if (plan->number[i].item)
            check_item(k, plan->number[i].item, "the number");
    }
}

/* -- what it writes and reads -- */

static const struct signature_item *item_of(const struct binding_plan *plan, unsigned param)
{
    const struct signature_item *found = NULL;
    for (unsigned a = 0; a < plan->arrays; a++) {
        const struct signature_item *item = plan->array[a].item;
        if (item->param != param || item->earlier)
            continue;
        if (found)
            return NULL; /* several fields of a struct */
        found = item;
    }
    return found;
}

void rule_const_written(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    struct lint_access a;
    if (!k->plan)
        return;
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        if (!lint_access(flow, at, &a) || !a.writes || a.base.kind != FLOW_BASE_PARAM)
            continue;
        const struct signature_item *item = item_of(k->plan, a.base.param);
        if (item && item->role == ROLE_READ && !signature_listed(item))
            lint_add(k, at, "writes to %s, which the entry declares const", item->name);
    }
}

/* Whether any global address or condition of the kernel depends on the source. */
static bool depends_on(const struct flow *flow, uint32_t source)
{
    struct lint_access a;
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        if (lint_access(flow, at, &a) && (flow->value[a.address].sources & source))
            return true;
        const char *word = flow->function->instructions[at].opcode;
        uint32_t v = flow->result[at];
        for (uint32_t n = 0;
             (strcmp(word, "cp") == 0 || strcmp(word, "call") == 0) && n < flow->value[v].args;
             n++) {
            if (flow->value[flow_arg(flow, v, n)].sources & source)
                return true;
        }
    }
    return false;
}

static bool has_special(const struct flow *flow, const char *name)
{
    for (uint32_t v = 0; v < flow->values; v++) {
        if (flow->value[v].kind == FLOW_SPECIAL && strcmp(flow->value[v].operand->name, name) == 0)
            return true;
    }
    return false;
}

/* -- arrays that have a row for each block -- */

struct batched {
    const struct lint_kernel *k;
    const struct signature_item *item;
    uint32_t source; /* enum flow_source: the axis */
    uint32_t first;  /* access; FLOW_NONE: none was seen */
    bool depends;    /* on the axis, or on what is not known */
};

/* Elements of the array for so many blocks on the axis, with all other sizes equal; 0: not known.
 */
static int64_t elements_of(const struct binding_plan *plan, const struct plan_array *array,
                           unsigned axis, int64_t blocks)
{
    enum { OTHER_SIZE = 5040 }; /* many numbers divide it */
    int64_t slot[PLAN_SLOTS], all = 1, one;
    for (unsigned i = 0; i < PLAN_SLOTS; i++)
        slot[i] = plan->constant[i] ? plan->constant[i] : OTHER_SIZE;
    slot[SLOT_GRID + axis] = blocks;
    for (unsigned i = 0; i < plan->lets; i++) {
        const struct plan_let *let = &plan->let[i];
        if (let->expr && !let->pick && let->slot >= 0 && let->slot < PLAN_SLOTS &&
            expr_eval(let->expr, slot, &one))
            slot[let->slot] = one;
    }
    for (unsigned d = 0; d < array->item->ndim; d++) {
        const struct expr *extent = array->dim[d].extent;
        if (extent && (!expr_eval(extent, slot, &one) || __builtin_mul_overflow(all, one, &all)))
            return 0;
    }
    return all;
}

/* Whether each block on the axis has elements of its own. */
static bool is_batched(const struct binding_plan *plan, const struct plan_array *array,
                       unsigned axis)
{
    int64_t few = elements_of(plan, array, axis, 2);
    return few > 0 && elements_of(plan, array, axis, 4) == 2 * few;
}

static bool visit_axis(void *user, uint32_t branch, uint32_t condition)
{
    struct batched *b = user;
    (void)branch;
    b->depends |= (b->k->flow->value[condition].sources & b->source) != 0;
    return !b->depends;
}

/* A phi takes the way that a branch on the axis chose. */
static bool visit_chosen(void *user, uint32_t value)
{
    struct batched *b = user;
    const struct flow *flow = b->k->flow;
    const struct flow_value *v = &flow->value[value];
    const struct flow_block *block = &flow->block[v->at];
    for (uint32_t p = 0; v->kind == FLOW_PHI && p < block->preds; p++) {
        uint32_t from = flow->edge[block->pred + p], own = flow_condition(flow, from);
        if (own != FLOW_NONE)
            visit_axis(b, from, own);
        flow_each_condition(flow, from, visit_axis, b);
    }
    return !b->depends;
}

static void see_address(struct batched *b, uint32_t at, uint32_t address,
                        const struct flow_base *base)
{
    const uint32_t hidden = FLOW_SHARED | FLOW_LOCAL | FLOW_ATOMIC | FLOW_OTHER;
    const struct flow *flow = b->k->flow;
    b->depends |= base->kind == FLOW_BASE_UNKNOWN;
    if (base->kind != FLOW_BASE_PARAM || base->param != b->item->param ||
        base->field != b->item->offset)
        return;
    b->first = b->first == FLOW_NONE ? at : b->first;
    b->depends |= (flow->value[address].sources & (b->source | hidden)) != 0;
    if (flow->guard[at] != FLOW_NONE)
        visit_axis(b, 0, flow->guard[at]);
    flow_each_condition(flow, flow->block_of[at], visit_axis, b);
    if (!b->depends)
        lint_backward(b->k, address, visit_chosen, b);
}

/* Accesses of the array, also by copies; a function that gets it may do anything. */
static void see_instruction(struct batched *b, uint32_t at)
{
    const struct flow *flow = b->k->flow;
    const char *word = flow->function->instructions[at].opcode;
    uint32_t v = flow->result[at];
    struct lint_access a;
    if (lint_access(flow, at, &a)) {
        if (a.space == PTX_GLOBAL || a.space == PTX_GENERIC)
            see_address(b, at, a.address, &a.base);
        return;
    }
    b->depends |= strcmp(word, "call") == 0;
    for (uint32_t n = 0; strcmp(word, "cp") == 0 && n < flow->value[v].args; n++) {
        const struct flow_base base = flow_base(flow, flow_arg(flow, v, n));
        if (base.kind == FLOW_BASE_PARAM)
            see_address(b, at, flow_arg(flow, v, n), &base);
    }
}

static void check_arrays(struct lint_kernel *k, unsigned axis, const char *name)
{
    for (unsigned i = 0; i < k->plan->arrays; i++) {
        const struct plan_array *array = &k->plan->array[i];
        struct batched b = {k, array->item, (uint32_t)FLOW_CTAID << axis, FLOW_NONE, false};
        if (!array->bound || array->item->earlier || array->index || array->list ||
            !is_batched(k->plan, array, axis))
            continue;
        for (uint32_t at = 0; at < k->flow->function->instruction_count && !b.depends; at++)
            see_instruction(&b, at);
        if (!b.depends && b.first != FLOW_NONE)
            lint_add(k, b.first,
                     "the entry counts %s on grid.%c, and no address in it depends on %s",
                     array->item->name, 'x' + (int)axis, name);
    }
}

void rule_batch_unused(struct lint_kernel *k)
{
    static const char *const names[] = {"%ctaid.x", "%ctaid.y", "%ctaid.z"};
    static const char *const counts[] = {"%nctaid.x", "%nctaid.y", "%nctaid.z"};
    const struct lint_launch *launch = k->report->settings.launch;
    struct slots s = {0};
    if (k->plan)
        s = all_slots(k->plan);
    for (unsigned axis = 0; axis < 3; axis++) {
        bool used = depends_on(k->flow, (uint32_t)FLOW_CTAID << axis);
        bool declared = s.used >> (SLOT_GRID + axis) & 1;
        if (used && declared)
            check_arrays(k, axis, names[axis]);
        else if (!used && declared)
            lint_add(k, FLOW_NONE,
                     "the entry counts on grid.%c, and no address of the kernel depends on %s",
                     'x' + (int)axis, names[axis]);
        else if (!used && axis > 0 && has_special(k->flow, counts[axis]) &&
                 !has_special(k->flow, names[axis]))
            lint_add(k, FLOW_NONE, "the kernel reads %s and never %s", counts[axis], names[axis]);
        else if (!used && axis > 0 && launch && launch->grid[axis] > 1 &&
                 !has_special(k->flow, names[axis]))
            lint_add(k, FLOW_NONE, "a launch has grid.%c = %u, and the kernel never reads %s",
                     'x' + (int)axis, launch->grid[axis], names[axis]);
    }
}

/* An element of memory that the entry gives to a formal: the kernel has to read that memory. */
void rule_position_source(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    struct lint_access a;
    for (unsigned i = 0; k->plan && i < k->plan->values; i++) {
        const struct plan_value *value = &k->plan->value[i];
        const struct signature_item *item = k->plan->array[value->array].item;
        bool loads = false;
        if (item->earlier || item->offset || item->index)
            continue;
        for (uint32_t at = 0; at < flow->function->instruction_count && !loads; at++)
            loads = lint_access(flow, at, &a) && a.reads &&
                    (flow_has_param(&flow->value[a.address], item->param) ||
                     a.base.kind == FLOW_BASE_UNKNOWN);
        if (!loads)
            lint_add(k, FLOW_NONE,
                     "the entry takes %s from memory, which the kernel never reads there",
                     value->name);
    }
}

/* -- constants -- */

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 4e-7 * fabs(b);
}

/* The forms in which compilers and authors write a factor c. */
static bool is_form_of(double number, double c)
{
    const double log2e = 1.4426950408889634;
    double size = fabs(number), want = fabs(c);
    return is_near(size, want) || is_near(size, 1 / want) || is_near(size, want * log2e) ||
           is_near(size, 2 * want) || is_near(size, 2 * want * log2e) || is_near(size, want / 2) ||
           is_near(size, fabs(1 - c)) || is_near(size, fabs(1 + c));
}

static bool has_constant(const struct flow *flow, double c)
{
    for (uint32_t v = 0; v < flow->values; v++) {
        double number;
        if (flow->value[v].kind != FLOW_CONSTANT)
            continue;
        if (lint_number(flow, v, PTX_F32, &number) && is_form_of(number, c))
            return true;
        if (lint_number(flow, v, PTX_F64, &number) && is_form_of(number, c))
            return true;
    }
    return false;
}

/* Constants of references' formulas, and what a kernel may have in their place: another constant
 * that one is merged with, or 0. */
static const struct {
    const char *reference;
    double constant, other;
} formula[] = {
    {"gelu", M_SQRT1_2, 0},
    {"geglu", M_SQRT1_2, 0},
    {"geglu_tanh", 0.044715, 0.0356774081},
    {"bias_gelu", M_SQRT1_2, 0},
    {"linear_gelu", M_SQRT1_2, 0},
    {"gelu_backward", M_SQRT1_2, 0},
    {"gelu_tanh", 0.044715, 0.0356774081},
    {"bias_gelu_tanh", 0.044715, 0.0356774081},
    {"linear_gelu_tanh", 0.044715, 0.0356774081},
    {"gelu_tanh_backward", 0.044715, 0.0356774081},
    {"gelu_tanh_backward", 0.134145, 0.1070322244}, /* 3 * 0.044715 */
};

static void find_formula(struct lint_kernel *k)
{
    for (size_t i = 0; k->spec->reference && i < sizeof formula / sizeof *formula; i++) {
        const double c = formula[i].constant, other = formula[i].other;
        if (strcmp(k->spec->reference->name, formula[i].reference) != 0 ||
            has_constant(k->flow, c) || (other != 0 && has_constant(k->flow, other)))
            continue;
        lint_add(k, FLOW_NONE, "the formula of %s has %g, which no instruction of the kernel has",
                 formula[i].reference, c);
    }
}

void rule_constant_absent(struct lint_kernel *k)
{
    const struct binding_plan *plan = k->plan;
    if (!plan || !plan->formals)
        return;
    find_formula(k);
    for (unsigned f = 0, real = 0; f < (unsigned)plan->formals->count; f++) {
        const struct formal *formal = &plan->formals->formal[f];
        if (formal->kind != FORMAL_REAL)
            continue;
        const struct plan_real *r = &plan->real[real++];
        bool constant = !r->item && r->element < 0 && !r->expr;
        if (!constant || r->value == 0 || fabs(r->value) == 1 || has_constant(k->flow, r->value))
            continue;
        lint_add(k, FLOW_NONE, "the entry declares %s = %g, which no instruction of the kernel has",
                 formal->name, r->value);
    }
}
