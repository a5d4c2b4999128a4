/* case.c - choices become a launch: variables, grid, parameters, and where arrays lie. */
#include "tools/fuzz/case/case.h"

#include <stdio.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "text/json_out.h"
#include "tools/fuzz/case/element.h"
#include "tools/fuzz/case/dense.h"
#include "tools/fuzz/case/lists.h"
#include "tools/fuzz/case/random.h"
#include "bind/binding_work.h"
#include "plan/plan.h"

enum { GUARD_MOST = 64 << 10 };
#define INT_LIMIT ((int64_t)1 << 62)

/* ---- numbers ---- */

static enum status evaluate(const struct expr *expr, const int64_t *slot, const char *what,
                            int64_t *out, struct error *err)
{
    if (expr_eval(expr, slot, out))
        return STATUS_OK;
    expr_explain(expr, slot, err);
    error_prefix(err, "%s", what);
    return STATUS_INVALID;
}

/* Variables that follow from others; the others keep their values. */
static enum status follow(const struct fuzz_rule *rule, struct fuzz_choices *choices,
                          struct error *err)
{
    for (unsigned i = 0; i < rule->variables; i++) {
        const struct fuzz_variable *v = &rule->variable[i];
        int64_t *value = &choices->value[v->slot], dense;
        if (v->kind == FUZZ_RANGE || v->kind == FUZZ_LIST)
            continue;
        if (!v->low) {
            *value = rule->constant[v->slot];
            continue;
        }
        enum status status = evaluate(v->low, choices->value, v->name, &dense, err);
        if (status)
            return status;
        /* A stride keeps what it has beyond the dense one. */
        *value = v->kind == FUZZ_STRIDE && *value > dense ? *value : dense;
    }
    return STATUS_OK;
}

static enum status shape_of(const struct expr *const expr[3], const char *what, int64_t *slot,
                            uint32_t out[3], struct error *err)
{
    for (int i = 0; i < 3; i++) {
        int64_t value = 1;
        enum status status = expr[i] ? evaluate(expr[i], slot, what, &value, err) : STATUS_OK;
        if (status)
            return status;
        if (value < 1 || value > INT32_MAX)
            return error_set(err, STATUS_INVALID, "dim %d of the %s is %lld", i, what,
                             (long long)value);
        out[i] = (uint32_t)value;
    }
    return STATUS_OK;
}

static enum status launch_of(struct fuzz_case *c, struct error *err)
{
    const struct fuzz_rule *rule = c->rule;
    int64_t *slot = c->choices.value, shared = 0;
    enum status status = shape_of(rule->block, "block", slot, c->block, err);
    for (int i = 0; i < 3; i++)
        slot[FUZZ_SLOT_BLOCK + i] = c->block[i];
    if (!status)
        status = shape_of(rule->grid, "grid", slot, c->grid, err);
    for (int i = 0; i < 3; i++)
        slot[FUZZ_SLOT_GRID + i] = c->grid[i];
    memset(c->cluster, 0, sizeof c->cluster);
    if (!status && rule->cluster[0])
        status = shape_of(rule->cluster, "cluster", slot, c->cluster, err);
    if (!status && rule->shared)
        status = evaluate(rule->shared, slot, "shared", &shared, err);
    if (!status && (shared < 0 || shared > 1 << 20))
        status = error_set(err, STATUS_INVALID, "shared is %lld bytes", (long long)shared);
    c->shared = (uint32_t)shared;
    uint32_t shape[6];
    memcpy(shape, c->grid, sizeof c->grid);
    memcpy(shape + 3, c->block, sizeof c->block);
    if (!status && !launch_can_run(shape))
        status =
            error_set(err, STATUS_INVALID,
                      "no device runs a grid of %ux%ux%u and a block of "
                      "%ux%ux%u",
                      c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2]);
    return status;
}

/* ---- parameters ---- */

static uint8_t *parameter(struct fuzz_case *c, const struct signature_item *item)
{
    return c->params + c->layout.param[item->param].offset + item->offset;
}

/* Whether an integer parameter of that type can hold the value. */
static bool fits(enum dtype dtype, int64_t value)
{
    unsigned bits = 8 * dtype_bytes(dtype);
    if (dtype == DTYPE_BOOL)
        return value == 0 || value == 1;
    if (dtype >= DTYPE_U8)
        return value >= 0 && (bits == 64 || value >> bits == 0);
    return bits == 64 || value >> (bits - 1) == 0 || value >> (bits - 1) == -1;
}

static enum status put_numbers(struct fuzz_case *c, struct error *err)
{
    const struct fuzz_rule *rule = c->rule;
    for (unsigned i = 0; i < rule->variables; i++) {
        const struct fuzz_variable *v = &rule->variable[i];
        int64_t value = c->choices.value[v->slot];
        if (!v->into || v->into->index)
            continue;
        if (!fits(v->into->type.dtype, value))
            return error_set(err, STATUS_INVALID, "%s is %lld, which no %s holds", v->name,
                             (long long)value, dtype_text(v->into->type.dtype));
        memcpy(parameter(c, v->into), &value, dtype_bytes(v->into->type.dtype));
    }
    for (unsigned i = 0; i < rule->reals; i++)
        fuzz_encode(rule->real[i].into->type.dtype, parameter(c, rule->real[i].into),
                    c->choices.real[i]);
    return STATUS_OK;
}

void fuzz_case_place(struct fuzz_case *c, uint64_t base, struct launch *launch)
{
    for (unsigned i = 0; i < c->rule->arrays; i++) {
        const struct fuzz_extent *array = &c->array[i];
        const struct signature_item *item = c->rule->array[i].item;
        for (unsigned n = 0; item && n < fuzz_lists_addresses(c, item); n++) {
            uint64_t address = array->there ? base + array->at + fuzz_lists_at(array, n) : 0;
            memcpy(parameter(c, item) + n * item->index_stride, &address, sizeof address);
        }
    }
    *launch = (struct launch){.symbol = "fuzz",
                              .shared_bytes = c->shared,
                              .packed = c->params,
                              .packed_bytes = c->param_bytes};
    memcpy(launch->grid, c->grid, sizeof c->grid);
    memcpy(launch->block, c->block, sizeof c->block);
}

/* ---- arrays ---- */

static enum status shape_array(struct evaluation *e, struct fuzz_case *c, unsigned i)
{
    const struct plan_array *array = &e->plan->array[i];
    struct fuzz_extent *out = &c->array[array->item->number];
    struct bound_array bound;
    struct shape shape;
    bool absent;
    uint64_t address;
    *out = (struct fuzz_extent){.item = c->rule->array[array->item->number].item,
                                .dtype = array->item->type.dtype};
    if (out->item->index) {
        out->there = !c->choices.recipe[array->item->number].absent;
        fuzz_lists_shape(c, out);
        return STATUS_OK;
    }
    enum skip skip = binding_address(e, array, &absent, &address);
    out->there = !skip && !absent;
    if (!out->there)
        return skip ? STATUS_INVALID : STATUS_OK;
    skip = binding_shape(e, array, address, 0, &shape);
    if (skip)
        return STATUS_INVALID;
    struct shape copied = shape;
    binding_open_lanes(&copied, binding_copied_as(array->item).lanes);
    if (!dtype_block(out->dtype))
        shape = copied;
    skip = binding_geometry(e, array->item, &copied, &bound);
    out->ndim = shape.ndim;
    out->count = 1;
    out->bytes = bound.bytes;
    for (int d = 0; !skip && d < shape.ndim; d++) {
        out->dim[d] = shape.dim[d];
        out->stride[d] = shape.stride[d];
        out->count *= shape.dim[d];
    }
    return skip ? STATUS_INVALID : STATUS_OK;
}

static enum status integers_of(struct fuzz_case *c, struct error *err)
{
    const int64_t *slot = c->choices.value;
    for (unsigned i = 0; i < c->rule->arrays; i++) {
        const struct fuzz_array *rule = &c->rule->array[i];
        struct fuzz_extent *array = &c->array[i];
        if (!array->there || !rule->below)
            continue;
        enum status status = evaluate(rule->below, slot, "below", &array->below, err);
        if (!status && rule->from)
            status = evaluate(rule->from, slot, "from", &array->from, err);
        array->also = array->from;
        if (!status && rule->also)
            status = evaluate(rule->also, slot, "also", &array->also, err);
        if (status)
            return status;
        if (array->below <= array->from || array->from < -INT_LIMIT || array->below > INT_LIMIT)
            return error_set(err, STATUS_INVALID, "'%s' holds integers from %lld to below %lld",
                             rule->item->name, (long long)array->from, (long long)array->below);
    }
    return STATUS_OK;
}

/* `rows` of the arrays of which only some are touched, by number. */
static enum status rows_of(struct fuzz_case *c, int64_t rows[SPEC_MAX_ARRAYS], struct error *err)
{
    for (unsigned i = 0; i < c->rule->arrays; i++) {
        const struct expr *expr = c->rule->array[i].rows;
        rows[i] = 0;
        enum status status =
            expr ? evaluate(expr, c->choices.value, "rows", &rows[i], err) : STATUS_OK;
        if (status)
            return status;
        if (expr && (rows[i] < 1 || rows[i] > INT32_MAX))
            return error_set(err, STATUS_INVALID, "'%s' has %lld rows",
                             c->rule->array[i].item->name, (long long)rows[i]);
    }
    return STATUS_OK;
}

/* By the signature's plan, with addresses that differ for each array. */
static enum status shape_by(struct fuzz_case *c, const struct binding_plan *plan, struct error *err)
{
    static _Thread_local struct binding scratch;
    struct launch launch;
    struct evaluation e = {
        .plan = plan, .launch = &launch, .out = &scratch, .why = err, .slot = scratch.slot};
    scratch.arrays = 0;
    scratch.picks = 0;
    for (unsigned i = 0; i < c->rule->arrays; i++) {
        c->array[i].there = !c->choices.recipe[i].absent;
        c->array[i].at = (uint64_t)(i + 1) << 48;
        c->array[i].stride[0] = 0;
    }
    fuzz_case_place(c, 0, &launch);
    enum skip skip = binding_numbers(&e);
    if (skip)
        return error_set(err, STATUS_INVALID, "%s", skip == SKIP_WHEN ? "'when' is 0" : "numbers");
    for (unsigned i = 0; i < plan->arrays; i++) {
        enum status status = shape_array(&e, c, i);
        if (status)
            return error_set(err, status, "'%s' has no such shape", plan->array[i].item->name);
    }
    return STATUS_OK;
}

static enum status shape_arrays(struct fuzz_case *c, struct error *err)
{
    struct arena arena = {0};
    int64_t rows[SPEC_MAX_ARRAYS];
    const struct binding_plan *plan = c->rule->plan;
    enum status status = rows_of(c, rows, err);
    if (!status && (c->rule->sparse || c->rule->parts))
        status = fuzz_dense_plan(c->rule, NULL, rows, &c->layout, &arena, &plan, err);
    if (!status)
        status = shape_by(c, plan, err);
    for (unsigned i = 0; i < c->rule->arrays; i++)
        c->array[i].rows = rows[i];
    arena_release(&arena);
    return status ? status : integers_of(c, err);
}

/* Whether an array that is written can lie where another is read. */
static bool may_alias(const struct fuzz_extent *a, const struct fuzz_extent *b)
{
    return a->there && b->there && a->dtype == b->dtype && a->bytes == b->bytes &&
           a->ndim == b->ndim && memcmp(a->dim, b->dim, sizeof a->dim) == 0 &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0;
}

static uint64_t guard_of(const struct fuzz_extent *array)
{
    uint64_t more = array->bytes < GUARD_MOST ? array->bytes : GUARD_MOST;
    return (FUZZ_GUARD + more + FUZZ_ALIGN - 1) / FUZZ_ALIGN * FUZZ_ALIGN;
}

static enum status lay_out(struct fuzz_case *c, int64_t elements, struct error *err)
{
    uint64_t at = 0;
    int64_t all = 0;
    for (unsigned i = 0; i < c->rule->arrays; i++) {
        struct fuzz_extent *array = &c->array[i];
        int64_t share = dtype_block(array->dtype) ? dtype_block(array->dtype) : 1;
        int64_t units = array->there ? (int64_t)array->bytes / dtype_bytes(array->dtype) : 0;
        int64_t span = units * share;
        if (span > elements - all)
            return error_set(err, STATUS_FULL, "'%s' would be element number %lld of %lld",
                             c->rule->array[i].item->name, (long long)(all + span),
                             (long long)elements);
        all += span;
        if (!array->there)
            continue;
        at += guard_of(array);
        array->at = at + c->choices.recipe[i].skew;
        at = (array->at + array->bytes + FUZZ_ALIGN - 1) / FUZZ_ALIGN * FUZZ_ALIGN;
        at += guard_of(array);
    }
    c->pool_bytes = at;
    for (unsigned i = 0; i < c->rule->arrays; i++) {
        int alias = c->rule->array[i].alias;
        struct fuzz_recipe *recipe = &c->choices.recipe[i];
        recipe->aliased =
            recipe->aliased && alias >= 0 && may_alias(&c->array[i], &c->array[alias]);
        if (recipe->aliased)
            c->array[i].at = c->array[alias].at;
    }
    return STATUS_OK;
}

enum status fuzz_case_make(struct fuzz_case *out, const struct fuzz_rule *rule,
                           const struct param_layout *layout, const struct fuzz_choices *choices,
                           int64_t elements, struct error *err)
{
    out->rule = rule;
    out->choices = *choices;
    out->layout = *layout;
    out->param_bytes = 0;
    for (unsigned i = 0; i < layout->count && i < LAYOUT_MAX; i++)
        out->param_bytes = layout->param[i].offset + layout->param[i].size;
    if (layout->count > LAYOUT_MAX || out->param_bytes > FUZZ_PARAM_BYTES)
        return error_set(err, STATUS_UNSUPPORTED,
                         "the kernel's parameters take %u bytes; at most "
                         "%d are supported",
                         out->param_bytes, FUZZ_PARAM_BYTES);
    memset(out->params, 0, out->param_bytes);
    enum status status = follow(rule, &out->choices, err);
    if (!status)
        status = fuzz_lists_make(out, err);
    if (!status)
        status = launch_of(out, err);
    if (!status)
        status = put_numbers(out, err);
    if (!status)
        status = shape_arrays(out, err);
    return status ? status : lay_out(out, elements, err);
}

/* ---- as a text and as a number ---- */

static void describe_shape(struct textbuf *text, const char *name, const uint32_t shape[3])
{
    textbuf_printf(text, " %s=%u", name, shape[0]);
    for (int i = 1; i < 3 && (shape[1] > 1 || shape[2] > 1); i++)
        textbuf_printf(text, "x%u", shape[i]);
}

void fuzz_case_describe(const struct fuzz_case *c, struct textbuf *text)
{
    const struct fuzz_rule *rule = c->rule;
    for (unsigned i = 0; i < rule->variables; i++) {
        const struct fuzz_variable *v = &rule->variable[i];
        if (!v->let && (v->into || v->kind != FUZZ_VALUE))
            textbuf_printf(text, "%s%s=%lld", text->length ? " " : "", v->name,
                           (long long)c->choices.value[v->slot]);
    }
    for (unsigned i = 0; i < rule->reals; i++) {
        char number[32];
        json_format_double(number, c->choices.real[i]);
        textbuf_printf(text, " %s=%s", rule->real[i].into->name, number);
    }
    for (unsigned i = 0; i < rule->arrays; i++) {
        const struct fuzz_recipe *recipe = &c->choices.recipe[i];
        if (!rule->array[i].item)
            continue;
        textbuf_printf(text, " %s=", rule->array[i].item->name);
        if (!c->array[i].there)
            textbuf_printf(text, "null");
        else if (recipe->aliased)
            textbuf_printf(text, "%s", rule->array[rule->array[i].alias].item->name);
        else
            textbuf_printf(text, "%s",
                           role_reads(rule->array[i].item->role) ? fuzz_dist_text(recipe->dist)
                                                                 : "poison");
        if (c->array[i].there && recipe->dist == FUZZ_scaled)
            textbuf_printf(text, "(2^%d)", recipe->scale);
        if (c->array[i].there && recipe->dist == FUZZ_integers)
            textbuf_printf(text, "(%d)", 3 << recipe->scale >> 2);
        if (c->array[i].there && recipe->skew)
            textbuf_printf(text, "@%u", recipe->skew);
    }
    describe_shape(text, "grid", c->grid);
    describe_shape(text, "block", c->block);
    if (c->shared)
        textbuf_printf(text, " shared=%u", c->shared);
}

uint64_t fuzz_case_hash(const struct fuzz_case *c, const uint8_t *pool)
{
    static _Thread_local struct fuzz_case copy;
    struct launch launch;
    XXH64_state_t state;
    copy = *c;
    fuzz_case_place(&copy, 0, &launch); /* offsets in place of addresses */
    XXH64_reset(&state, 0);
    XXH64_update(&state, c->grid, sizeof c->grid);
    XXH64_update(&state, c->block, sizeof c->block);
    XXH64_update(&state, c->cluster, sizeof c->cluster);
    XXH64_update(&state, &c->shared, sizeof c->shared);
    XXH64_update(&state, copy.params, copy.param_bytes);
    XXH64_update(&state, pool, (size_t)c->pool_bytes);
    return XXH64_digest(&state);
}
