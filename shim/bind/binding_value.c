/*
 * binding_value.c - numbers that a launch reads from memory (plan_value.c): copied with its arrays
 * as arrays of one element, and put into the reference's call when the copies are there.
 */
#include "bind/binding_work.h"

#include <string.h>

_Static_assert((int)BINDING_SLOTS == (int)PLAN_SLOTS, "one slot each");
_Static_assert(REF_MAX_TENSORS + PLAN_LISTED + PLAN_VALUES <= SPEC_MAX_ARRAYS,
               "room for all of them");

/* Beyond this a size is a mistake, and arithmetic with it might overflow. */
enum { SIZE_BITS = 40 };

/* ---- at the launch ---- */

static enum skip bind_value(struct evaluation *e, const struct plan_value *value, int8_t *index)
{
    const struct plan_array *array = &e->plan->array[value->array];
    uint64_t address = 0;
    int64_t at, bytes = dtype_bytes(array->item->type.dtype);
    bool absent = false;
    *index = -1;
    enum skip skip = binding_address(e, array, &absent, &address);
    if (skip || absent)
        return skip;
    skip = binding_evaluate(e, value->index, value->name, &at);
    if (skip)
        return skip;
    if (at < 0 || at > SPAN_LIMIT / bytes)
        return binding_refuse(e, SKIP_SHAPE, "'%s': the index is %lld", value->name, (long long)at);
    address += (uint64_t)(at * bytes);
    if (address % (uint64_t)bytes)
        return binding_refuse(e, SKIP_SHAPE, "'%s' lies at 0x%llx, which is not aligned to %s",
                              value->name, (unsigned long long)address,
                              dtype_text(array->item->type.dtype));
    *index = (int8_t)e->out->arrays;
    e->out->array[e->out->arrays++] = (struct bound_array){
        .name = value->name,
        .role = array->item->role,
        .dtype = array->item->type.dtype,
        .address = address,
        .ndim = 1,
        .dim = {1},
        .stride = {1},
        .bytes = (uint64_t)bytes,
        .axis = -1,
    };
    return SKIP_NONE;
}

enum skip binding_add_values(struct evaluation *e)
{
    enum skip skip = SKIP_NONE;
    e->out->values = e->plan->values;
    for (unsigned i = 0; !skip && i < e->plan->values; i++)
        skip = bind_value(e, &e->plan->value[i], &e->out->value_array[i]);
    return skip;
}

/* ---- when the copies are there ---- */

struct reading {
    struct evaluation e;
    const uint64_t *raw;
    unsigned absent; /* a bit for each value */
};

static enum skip read_bound_values(struct reading *r)
{
    const struct binding_plan *plan = r->e.plan;
    enum skip skip = SKIP_NONE;
    for (unsigned i = 0; !skip && i < plan->values; i++) {
        const struct plan_value *value = &plan->value[i];
        int index = r->e.out->value_array[i];
        if (index < 0)
            r->absent |= 1u << i;
        else if (value->slot >= 0)
            skip = binding_integer(&r->e, value->name, r->e.out->array[index].dtype, r->raw[i],
                                   &r->e.slot[value->slot]);
    }
    return skip;
}

/* A real formal may be left to its default, a dim to its arrays. */
static enum skip absent(struct reading *r, unsigned reads, const char *formal)
{
    const struct binding_plan *plan = r->e.plan;
    unsigned first = (unsigned)__builtin_ctz(reads & r->absent);
    return binding_refuse(
        &r->e, SKIP_NULL_POINTER, "'%s' is absent, and the reference needs '%s' for '%s'",
        plan->array[plan->value[first].array].item->name, plan->value[first].name, formal);
}

static const char *scalar_name(const struct formals *formals, int slot)
{
    for (int i = 0; i < formals->count; i++) {
        if (formals->formal[i].kind == FORMAL_REAL && formals->formal[i].slot == slot)
            return formals->formal[i].name;
    }
    return "?";
}

/* A number of any type, which is there. */
static double read_bound_element(const struct reading *r, int value)
{
    return dtype_load(r->e.out->array[r->e.out->value_array[value]].dtype, &r->raw[value]);
}

/* Those that real expressions read. */
static void read_elements(struct reading *r)
{
    const struct binding_plan *plan = r->e.plan;
    for (unsigned i = 0; i < plan->numbers; i++) {
        int value = plan->number[i].element;
        if (!plan->number[i].item && !(r->absent & 1u << value))
            r->e.out->number[i] = read_bound_element(r, value);
    }
}

static enum skip read_real(struct reading *r, int slot)
{
    const struct plan_real *real = &r->e.plan->real[slot];
    double *out = &r->e.out->call.scalar[slot];
    if (real->reads & r->absent)
        return real->optional ? SKIP_NONE
                              : absent(r, real->reads, scalar_name(r->e.plan->formals, slot));
    if (real->element >= 0) {
        *out = read_bound_element(r, real->element);
        return SKIP_NONE;
    }
    return binding_evaluate_real(&r->e, real->expr, out);
}

/* How many of the items that were copied are among the first `valid` of the launch: chosen items
 * ascend. */
static int64_t judged_items(const struct subset *subset, int64_t valid)
{
    int64_t low = 0, high = subset->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (subset_item(subset, middle) < valid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Reduces the dim in every tensor that has it; the strides stay. */
static void lower_size(struct binding *binding, const struct formals *formals, int size,
                       int64_t count)
{
    binding->call.size[size] = count;
    for (int i = 0; i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];
        for (int d = 0; formal_is_array(formal) && d < formal->ndim; d++) {
            if (formal->dim[d].size == size)
                binding->call.tensor[formal->slot].dim[d] = count;
        }
    }
}

static enum skip narrow_size(struct reading *r, const struct plan_size *size, int64_t valid)
{
    struct binding *binding = r->e.out;
    const char *dim = r->e.plan->formals->size_name[size->size];
    const struct subset *subset = &binding->subset;
    bool in_part = subset->dim == dim, by_share = subset->dim && subset->with;
    int64_t all = in_part ? subset->total : binding->call.size[size->size];
    if (by_share && subset->with == dim)
        all = subset->total * subset->share;
    if (valid < 0 || valid > all)
        return binding_refuse(&r->e, SKIP_SHAPE, "%s is %lld by '%s' in memory; expected 0 to %lld",
                              dim, (long long)valid, size->source, (long long)all);
    if (by_share && (in_part || subset->with == dim) && valid != all)
        return binding_refuse(&r->e, SKIP_SHAPE,
                              "%s is %lld of %lld by '%s' in memory, and the check copies some %s "
                              "with their %s: only of all are those known",
                              dim, (long long)valid, (long long)all, size->source, subset->dim,
                              subset->with);
    int64_t count = in_part ? judged_items(subset, valid) : valid;
    if (count == 0)
        return binding_refuse(&r->e, SKIP_EMPTY, "%s is %lld by '%s' in memory%s", dim,
                              (long long)valid, size->source,
                              valid ? ", and none of the items that were chosen is among them"
                                    : ": there is nothing to check");
    if (valid == all)
        return SKIP_NONE;
    if (in_part)
        binding->subset.judged = count;
    binding->narrow[binding->narrows++] = (struct bound_narrow){dim, valid, all};
    lower_size(binding, r->e.plan->formals, size->size, count);
    return SKIP_NONE;
}

static enum skip read_size(struct reading *r, const struct plan_size *size)
{
    const char *name = r->e.plan->formals->size_name[size->size];
    int64_t value;
    if (size->reads & r->absent && size->is_dim)
        return SKIP_NONE;
    if (size->reads & r->absent && !size->optional)
        return absent(r, size->reads, name);
    if (size->reads & r->absent) {
        r->e.out->call.size[size->size] = size->value;
        return SKIP_NONE;
    }
    enum skip skip = binding_evaluate(&r->e, size->expr, size->source, &value);
    if (skip)
        return skip;
    if (size->is_dim)
        return narrow_size(r, size, value);
    if (value >> SIZE_BITS != 0 && value >> SIZE_BITS != -1)
        return binding_refuse(&r->e, SKIP_SHAPE, "%s is %lld by '%s' in memory, out of all bounds",
                              name, (long long)value, size->source);
    r->e.out->call.size[size->size] = value;
    return SKIP_NONE;
}

enum skip binding_read(const struct kernel_spec *spec, const uint64_t *raw, struct binding *binding,
                       struct error *why)
{
    const struct binding_plan *plan = spec->plan;
    struct reading r = {.raw = raw};
    r.e.plan = plan;
    r.e.out = binding;
    r.e.why = why;
    r.e.slot = binding->slot;
    enum skip skip = read_bound_values(&r);
    if (!skip)
        read_elements(&r);
    for (int i = 0; !skip && i < plan->formals->scalars; i++) {
        if (plan->real[i].reads)
            skip = read_real(&r, i);
    }
    for (unsigned i = 0; !skip && i < plan->sizes; i++) {
        if (plan->size[i].reads)
            skip = read_size(&r, &plan->size[i]);
    }
    if (!skip)
        binding_set_bound(plan, binding);
    return skip;
}
