/*
 * extents.c - a store at base + (block number * width + thread number) * size, and what it reaches.
 *
 * The largest index is exact: all conditions on the way are comparisons of the index with a
 * constant or of the thread's number with a parameter. With any other condition the store is
 * LINT_EXTENT_UNKNOWN.
 */
#include "tools/lint/extents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/fuzz/case/case.h"

enum { CASES = 24 };

/* -- the address -- */

struct linear {
    uint32_t index; /* a value */
    unsigned axis;  /* of the grid */
    int64_t width;  /* threads from one block to the next; 0: those of a block */
    int64_t size;   /* bytes from one index to the next */
};

static uint32_t through(const struct flow *flow, uint32_t value)
{
    enum { MOST = 8 };
    for (int i = 0; i < MOST && (flow_is(flow, value, "mov") || flow_is(flow, value, "cvt")) &&
                    flow->value[value].args == 1;
         i++)
        value = flow_arg(flow, value, 0);
    return value;
}

/* The axis of %ctaid.x and the like, or -1. */
static int axis_of(const struct flow *flow, uint32_t value, const char *name)
{
    const struct flow_value *v = &flow->value[through(flow, value)];
    size_t length = strlen(name);
    if (v->kind != FLOW_SPECIAL || strncmp(v->operand->name, name, length) != 0)
        return -1;
    int axis = v->operand->name[length] - 'x';
    return axis >= 0 && axis < 3 ? axis : -1;
}

/* A factor that is constant: mul by it, or shl. */
static bool scaled(const struct flow *flow, uint32_t value, uint32_t *what, int64_t *factor)
{
    uint64_t bits;
    bool shift = flow_is(flow, value, "shl");
    if ((!shift && !flow_is(flow, value, "mul")) ||
        !flow_constant(flow, flow_arg(flow, value, 1), &bits) || bits > (shift ? 16 : 1 << 16))
        return false;
    *what = through(flow, flow_arg(flow, value, 0));
    *factor = shift ? (int64_t)1 << bits : (int64_t)bits;
    return *factor > 0;
}

static bool take_block(const struct flow *flow, uint32_t a, uint32_t b, struct linear *out)
{
    uint64_t bits;
    int axis = axis_of(flow, a, "%ctaid.");
    if (axis < 0)
        return false;
    out->axis = (unsigned)axis;
    out->width = 0;
    if (axis_of(flow, b, "%ntid.") == axis)
        return true;
    out->width = flow_constant(flow, b, &bits) && bits < 1 << 16 ? (int64_t)bits : 0;
    return out->width > 0;
}

/* Block number * threads of a block, as a product. */
static bool is_first_thread(const struct flow *flow, uint32_t value, struct linear *out)
{
    uint32_t what;
    value = through(flow, value);
    if (scaled(flow, value, &what, &out->width) && axis_of(flow, what, "%ctaid.") >= 0) {
        out->axis = (unsigned)axis_of(flow, what, "%ctaid.");
        return true;
    }
    uint32_t a = flow_arg(flow, value, 0), b = flow_arg(flow, value, 1);
    return flow_is(flow, value, "mul") &&
           (take_block(flow, a, b, out) || take_block(flow, b, a, out));
}

/* Whether the value is the thread's number along an axis of the grid. */
static bool is_thread(const struct flow *flow, uint32_t value, struct linear *out)
{
    uint32_t a = flow_arg(flow, value, 0), b = flow_arg(flow, value, 1);
    out->index = value;
    if (flow_is(flow, value, "mad"))
        return (take_block(flow, a, b, out) || take_block(flow, b, a, out)) &&
               axis_of(flow, flow_arg(flow, value, 2), "%tid.") == (int)out->axis;
    for (uint32_t n = 0; n < 2 && (flow_is(flow, value, "add") || flow_is(flow, value, "or"));
         n++) {
        uint32_t block = flow_arg(flow, value, n), thread = flow_arg(flow, value, 1 - n);
        if (is_first_thread(flow, block, out) && axis_of(flow, thread, "%tid.") == (int)out->axis)
            return true;
    }
    return false;
}

static bool is_linear(const struct flow *flow, const struct lint_access *store, struct linear *out)
{
    uint32_t address = through(flow, store->address), index;
    if (!flow_is(flow, address, "add") || store->offset || store->base.kind != FLOW_BASE_PARAM)
        return false;
    for (uint32_t n = 0; n < 2; n++) {
        if (scaled(flow, through(flow, flow_arg(flow, address, n)), &index, &out->size) &&
            is_thread(flow, index, out))
            return true;
    }
    return false;
}

/* -- the conditions -- */

enum { HIDDEN = FLOW_GLOBAL | FLOW_SHARED | FLOW_LOCAL | FLOW_ATOMIC | FLOW_OTHER | FLOW_CONST };

struct guards {
    const struct flow *flow;
    const struct linear *linear;
    bool unknown;
    int64_t below;                     /* the index is, by a constant */
    const struct ptx_variable *thread; /* the thread's number lies below this parameter, or NULL */
};

/* index < 1024, tid < n: with `next` more where the comparison is one of <= */
static void take_limit(struct guards *g, uint32_t value, uint32_t limit, int64_t next)
{
    const struct flow *flow = g->flow;
    uint64_t bits;
    int64_t offset;
    const struct ptx_variable *param = flow_param_of(flow, through(flow, limit), &offset);
    if (flow_same(flow, through(flow, value), g->linear->index) &&
        flow_constant(flow, limit, &bits) && bits < INT32_MAX) {
        int64_t below = (int64_t)bits + next;
        g->below = below < g->below ? below : g->below;
    } else if (axis_of(flow, value, "%tid.") == (int)g->linear->axis && param && !offset && !next) {
        g->thread = param;
    } else {
        g->unknown = true;
    }
}

static void take_guard(struct guards *g, uint32_t condition, int depth)
{
    enum { MOST_JOINED = 4 };
    const struct flow *flow = g->flow;
    const struct ptx_instruction *i = flow_instruction(flow, condition);
    const char *word = i && i->modifier_count ? i->modifiers[0] : "";
    bool joined = flow_is(flow, condition, "or") || flow_is(flow, condition, "and");
    if (joined && depth < MOST_JOINED) {
        take_guard(g, flow_arg(flow, condition, 0), depth + 1);
        take_guard(g, flow_arg(flow, condition, 1), depth + 1);
    } else if (!flow_is(flow, condition, "setp") || (flow->value[condition].sources & HIDDEN)) {
        g->unknown = true;
    } else if (strcmp(word, "lt") == 0 || strcmp(word, "ge") == 0 || strcmp(word, "lo") == 0 ||
               strcmp(word, "hs") == 0) {
        take_limit(g, flow_arg(flow, condition, 0), flow_arg(flow, condition, 1), 0);
    } else if (strcmp(word, "gt") == 0 || strcmp(word, "le") == 0 || strcmp(word, "hi") == 0 ||
               strcmp(word, "ls") == 0) {
        take_limit(g, flow_arg(flow, condition, 0), flow_arg(flow, condition, 1), 1);
    } else {
        g->unknown = true;
    }
}

static bool visit_guard(void *user, uint32_t branch, uint32_t condition)
{
    struct guards *g = user;
    (void)branch;
    take_guard(g, condition, 0);
    return !g->unknown;
}

/* -- the entry's cases -- */

static void make_cases(struct lint_extents *e)
{
    const struct fuzz_rule *rule;
    struct error err = {0};
    e->made = true;
    if (!e->k->plan || !e->k->bench.fuzz ||
        fuzz_rule_make(&rule, &e->arena, &e->k->bench, NULL, &err))
        return;
    e->cases = malloc(CASES * sizeof *e->cases);
    for (uint64_t n = 0; e->cases && n < CASES; n++) {
        if (!fuzz_case_draw(&e->cases[e->count], rule, &e->k->layout, fuzz_case_seed(1, n), &err))
            e->count++;
    }
}

static const struct fuzz_extent *array_at(const struct fuzz_case *c, const struct flow_base *base)
{
    for (unsigned i = 0; i < c->rule->arrays; i++) {
        const struct fuzz_extent *array = &c->array[i];
        if (array->there && array->item && !array->item->index &&
            array->item->param == base->param && array->item->offset == base->field)
            return array;
    }
    return NULL;
}

/* Threads of a block that store. */
static int64_t storing(const struct fuzz_case *c, const struct guards *g)
{
    int64_t threads = c->block[g->linear->axis], most = 0;
    if (!g->thread)
        return threads;
    unsigned at = g->thread->index, bytes = c->layout.param[at].size;
    memcpy(&most, c->params + c->layout.param[at].offset, bytes < 4 ? bytes : 4);
    return most < threads ? most : threads;
}

static bool passes(const struct fuzz_case *c, const struct guards *g,
                   const struct lint_access *store, char *text, size_t room)
{
    const struct linear *l = g->linear;
    const struct fuzz_extent *array = array_at(c, &store->base);
    int64_t width = l->width ? l->width : c->block[l->axis], threads = storing(c, g);
    int64_t count = ((int64_t)c->grid[l->axis] - 1) * width + threads;
    count = count < g->below ? count : g->below;
    if (!array || !array->bytes || threads <= 0 || count <= 0 ||
        (uint64_t)((count - 1) * l->size + store->bytes) <= array->bytes)
        return false;
    snprintf(
        text, room,
        "with grid %u and block %u, a case of the entry, the store reaches index %lld of '%s', "
        "which has %lld elements",
        c->grid[l->axis], c->block[l->axis], (long long)count - 1, array->item->name,
        (long long)array->count);
    return true;
}

enum lint_extent lint_extent_of(struct lint_extents *e, const struct lint_access *store, char *text,
                                size_t room)
{
    const struct flow *flow = e->k->flow;
    struct linear linear = {0};
    struct guards g = {.flow = flow, .linear = &linear, .below = INT64_MAX};
    if (!is_linear(flow, store, &linear))
        return LINT_EXTENT_UNKNOWN;
    if (flow->guard[store->at] != FLOW_NONE)
        take_guard(&g, flow->guard[store->at], 0);
    flow_each_condition(flow, flow->block_of[store->at], visit_guard, &g);
    if (g.unknown)
        return LINT_EXTENT_UNKNOWN;
    if (!e->made)
        make_cases(e);
    for (unsigned i = 0; i < e->count; i++) {
        if (passes(&e->cases[i], &g, store, text, room))
            return LINT_EXTENT_PASSED;
    }
    return e->count ? LINT_EXTENT_UNKNOWN : LINT_EXTENT_OPEN;
}

void lint_extents_free(struct lint_extents *e)
{
    free(e->cases);
    arena_release(&e->arena);
}
