/*
 * binding_number.c - the numbers of a launch: its parameters and the fields of structs in them,
 * lets, what is drawn for a check, addresses.
 */
#include "bind/binding_work.h"

#include <string.h>
#include "bind/earlier.h"

enum skip binding_evaluate(struct evaluation *e, const struct expr *expr, const char *what,
                           int64_t *out)
{
    if (expr_eval(expr, e->slot, out))
        return SKIP_NONE;
    expr_explain(expr, e->slot, e->why);
    if (e->why)
        error_prefix(e->why, "%s", what);
    return SKIP_SHAPE;
}

static double slot_value(const void *user, int slot)
{
    const struct evaluation *e = user;
    return slot < PLAN_SLOTS ? (double)e->slot[slot] : e->out->number[slot - PLAN_SLOTS];
}

enum skip binding_evaluate_real(struct evaluation *e, const struct expr *expr, double *out)
{
    if (expr_eval_real(expr, slot_value, e, out))
        return SKIP_NONE;
    expr_explain_real(expr, slot_value, e, e->why);
    return SKIP_SHAPE;
}

enum skip binding_integer(struct evaluation *e, const char *name, enum dtype dtype, uint64_t raw,
                          int64_t *out)
{
    bool is_signed = dtype >= DTYPE_I8 && dtype <= DTYPE_I64;
    if (!is_signed && raw > INT64_MAX)
        return binding_refuse(e, SKIP_SHAPE, "'%s' is %llu, too large for an expression", name,
                              (unsigned long long)raw);
    unsigned unused = 64 - 8 * dtype_bytes(dtype);
    *out = is_signed ? (int64_t)(raw << unused) >> unused : (int64_t)raw;
    return SKIP_NONE;
}

/* The bytes of a parameter, or of the field of one that lies at an index. */
static enum skip read_bytes(struct evaluation *e, const struct signature_item *item, uint32_t start,
                            const struct expr *index, unsigned bytes, void *out)
{
    int64_t at = 0, offset;
    enum skip skip = index ? binding_evaluate(e, index, item->name, &at) : SKIP_NONE;
    if (skip)
        return skip;
    const struct signature *list = e->plan->signature;
    const struct launch *launch = e->launch;
    uint32_t size = (item->earlier ? list->earlier : list)->param[item->param].size;
    if (item->earlier) {
        start = launch->earlier->kernel->layout.param[item->param].offset;
        launch = &launch->earlier->launch;
    }
    if (index && (at < 0 || __builtin_mul_overflow(at, (int64_t)item->index_stride, &offset) ||
                  offset > (int64_t)size - bytes - item->offset))
        return binding_refuse(e, SKIP_SHAPE,
                              "'%s': number %lld of it lies outside its struct of %u bytes",
                              item->name, (long long)at, size);
    offset = item->offset + (index ? at * item->index_stride : 0);
    if (launch_read(launch, item->param, start, (size_t)offset, bytes, out))
        return SKIP_NONE;
    return binding_refuse(e, SKIP_LAYOUT, "the launch does not carry the parameter '%s'",
                          item->name);
}

static enum skip load_integer(struct evaluation *e, const struct signature_item *item,
                              uint32_t start, const struct expr *index, int64_t *out)
{
    uint64_t raw = 0;
    enum skip skip = read_bytes(e, item, start, index, dtype_bytes(item->type.dtype), &raw);
    return skip ? skip : binding_integer(e, item->name, item->type.dtype, raw, out);
}

/* A number below `count`, the same for the same launch of the same seed. */
static int64_t draw_number(uint64_t seed, unsigned number, int64_t count)
{
    uint64_t bits = seed + (number + 1) * 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return (int64_t)((unsigned __int128)(bits ^ bits >> 31) * (uint64_t)count >> 64);
}

static enum skip pick(struct evaluation *e, const struct plan_let *let, int64_t *out)
{
    int64_t count;
    enum skip skip = binding_evaluate(e, let->expr, let->name, &count);
    if (skip)
        return skip;
    if (count < 1)
        return binding_refuse(e, SKIP_EMPTY, "pick '%s' is one of %lld", let->name,
                              (long long)count);
    *out = draw_number(e->launch->seed, e->out->picks, count);
    e->out->pick[e->out->picks++] = (struct bound_pick){let->name, *out, count};
    return SKIP_NONE;
}

/* No sentence: the entry excludes such launches. */
static enum skip pass_guard(struct evaluation *e)
{
    int64_t condition;
    enum skip skip = binding_evaluate(e, e->plan->guard, "when", &condition);
    return skip ? skip : condition ? SKIP_NONE : SKIP_WHEN;
}

enum skip binding_numbers(struct evaluation *e)
{
    const struct binding_plan *plan = e->plan;
    memcpy(e->slot, plan->constant, sizeof plan->constant);
    for (int i = 0; i < 3; i++) {
        e->slot[SLOT_GRID + i] = e->launch->grid[i];
        e->slot[SLOT_BLOCK + i] = e->launch->block[i];
    }
    for (int i = 0; i < SLOT_FREE; i++) {
        const struct launch *earlier = plan->after_slot[i] ? &e->launch->earlier->launch : NULL;
        if (earlier)
            e->slot[plan->after_slot[i] - 1] =
                i < SLOT_BLOCK ? earlier->grid[i] : earlier->block[i - SLOT_BLOCK];
    }
    enum skip skip = SKIP_NONE;
    for (unsigned i = 0; !skip && i < plan->loads; i++) {
        const struct plan_load *load = &plan->load[i];
        if (load->guard >= 0 && e->slot[plan->load[load->guard].slot] <= load->item->above)
            e->slot[load->slot] = 0;
        else
            skip = load_integer(e, load->item, load->start, NULL, &e->slot[load->slot]);
    }
    for (unsigned i = 0; !skip && i < plan->lets + 1; i++) {
        if (plan->guard && i == plan->guard_lets)
            skip = pass_guard(e);
        if (skip || i == plan->lets)
            break;
        const struct plan_let *let = &plan->let[i];
        int64_t *out = &e->slot[let->slot];
        if (let->item)
            skip = load_integer(e, let->item, let->start, let->expr, out);
        else
            skip = let->pick ? pick(e, let, out) : binding_evaluate(e, let->expr, let->name, out);
    }
    return skip;
}

enum skip binding_address(struct evaluation *e, const struct plan_array *array, bool *absent,
                          uint64_t *address)
{
    const struct signature_item *item = array->item;
    *absent = false;
    if (array->when) {
        int64_t condition;
        enum skip skip = binding_evaluate(e, array->when, item->name, &condition);
        *absent = condition == 0;
        if (skip || *absent)
            return skip;
    }
    enum skip skip = read_bytes(e, item, array->start, array->index, sizeof *address, address);
    if (skip)
        return skip;
    *absent = *address == 0;
    if (*absent && !item->nullable)
        return binding_refuse(e, SKIP_NULL_POINTER, "'%s' is null; the signature has no '%s?'",
                              item->name, item->name);
    return SKIP_NONE;
}

/* A real parameter, as it stands. */
static enum skip read_number(struct evaluation *e, const struct signature_item *item,
                             uint32_t start, const struct expr *index, double *out)
{
    uint8_t raw[8];
    enum dtype dtype = item->type.dtype;
    enum skip skip = read_bytes(e, item, start, index, dtype_bytes(dtype), raw);
    if (!skip)
        *out = dtype_load(dtype, raw);
    return skip;
}

enum skip binding_reals(struct evaluation *e)
{
    enum skip skip = SKIP_NONE;
    for (unsigned i = 0; !skip && i < e->plan->numbers; i++) {
        const struct plan_number *number = &e->plan->number[i];
        if (number->item)
            skip = read_number(e, number->item, number->start, number->index, &e->out->number[i]);
    }
    for (int i = 0; !skip && i < e->plan->formals->scalars; i++) {
        const struct plan_real *real = &e->plan->real[i];
        double *out = &e->out->call.scalar[i];
        *out = real->value;
        if (real->reads)
            continue;
        if (real->item)
            skip = read_number(e, real->item, real->start, real->index, out);
        else if (real->expr)
            skip = binding_evaluate_real(e, real->expr, out);
    }
    return skip;
}
