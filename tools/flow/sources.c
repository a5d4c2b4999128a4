/* sources.c - what each value is computed from, and which values differ between threads. */
#include "tools/flow/flow_parts.h"

#include <string.h>

struct special {
    const char *name; /* or what it begins with, before a '.' */
    uint32_t source;
    bool divergent;
};

static const struct special specials[] = {
    {"%tid.x", FLOW_TID, true},
    {"%tid.y", FLOW_TID << 1, true},
    {"%tid.z", FLOW_TID << 2, true},
    {"%ctaid.x", FLOW_CTAID, false},
    {"%ctaid.y", FLOW_CTAID << 1, false},
    {"%ctaid.z", FLOW_CTAID << 2, false},
    {"%clusterid.x", FLOW_CTAID, false},
    {"%clusterid.y", FLOW_CTAID << 1, false},
    {"%clusterid.z", FLOW_CTAID << 2, false},
    {"%nctaid.x", FLOW_NCTAID, false},
    {"%nctaid.y", FLOW_NCTAID << 1, false},
    {"%nctaid.z", FLOW_NCTAID << 2, false},
    {"%ntid.x", FLOW_NTID, false},
    {"%ntid.y", FLOW_NTID, false},
    {"%ntid.z", FLOW_NTID, false},
    {"%laneid", FLOW_LANE, true},
    {"%warpid", FLOW_LANE, true},
    {"%lanemask_eq", FLOW_LANE, true},
    {"%lanemask_le", FLOW_LANE, true},
    {"%lanemask_lt", FLOW_LANE, true},
    {"%lanemask_ge", FLOW_LANE, true},
    {"%lanemask_gt", FLOW_LANE, true},
    {"%clock", FLOW_OTHER, true},
    {"%clock64", FLOW_OTHER, true},
    {"%globaltimer", FLOW_OTHER, true},
};

static void special_source(struct flow_value *value)
{
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        if (strcmp(value->operand->name, specials[i].name) == 0) {
            value->sources = specials[i].source;
            value->divergent = specials[i].divergent;
        }
    }
}

const struct ptx_variable *flow_param_of(const struct flow *flow, uint32_t value, int64_t *offset)
{
    const struct ptx_function *f = flow->function;
    const struct ptx_instruction *i = flow_instruction(flow, value);
    if (!i || flow->value[value].kind != FLOW_RESULT || strcmp(i->opcode, "ld") != 0 ||
        i->space != PTX_PARAM || i->operand_count < 2 || i->operands[1].kind != PTX_MEMORY)
        return NULL;
    const struct ptx_operand *from = &i->operands[1].items[0];
    if (from->kind != PTX_ADDRESS_OF || from->variable < f->params ||
        from->variable >= f->params + f->param_count)
        return NULL;
    *offset = i->operands[1].offset;
    return from->variable;
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++) {
        if (strcmp(word, *words) == 0)
            return true;
    }
    return false;
}

/* What a load reads, by its space; of a generic address by its variable. */
static uint32_t load_source(const struct flow *flow, uint32_t value,
                            const struct ptx_instruction *i)
{
    switch (i->space) {
    case PTX_SHARED:
        return FLOW_SHARED;
    case PTX_LOCAL:
        return FLOW_LOCAL;
    case PTX_CONST:
        return FLOW_CONST;
    case PTX_PARAM:
        return FLOW_OTHER;
    case PTX_GENERIC: {
        const struct flow_value *base = &flow->value[flow_arg(flow, value, 0)];
        if (base->kind == FLOW_ADDRESS && base->operand->variable)
            return base->operand->variable->space == PTX_SHARED ? FLOW_SHARED : FLOW_GLOBAL;
        return FLOW_GLOBAL;
    }
    default:
        return FLOW_GLOBAL;
    }
}

static void result_source(const struct flow *flow, uint32_t value)
{
    static const char *const reads[] = {"ldu", "tex", "tld4", "suld", "multimem", NULL};
    static const char *const others[] = {"call",       "mbarrier", "tcgen05", "elect",
                                         "activemask", "match",    NULL};
    struct flow_value *v = &flow->value[value];
    const struct ptx_instruction *i = flow_instruction(flow, value);
    int64_t offset;
    const struct ptx_variable *param = flow_param_of(flow, value, &offset);
    if (param) {
        unsigned bit = param->index < FLOW_PARAMS ? param->index : FLOW_PARAMS - 1;
        v->params[bit / 64] |= (uint64_t)1 << bit % 64;
    } else if (strcmp(i->opcode, "ld") == 0) {
        v->sources = load_source(flow, value, i);
        v->divergent = v->sources == FLOW_LOCAL;
    } else if (is_one_of(i->opcode, reads)) {
        v->sources = FLOW_GLOBAL;
    } else if (strcmp(i->opcode, "atom") == 0) {
        v->sources = FLOW_ATOMIC | (i->space == PTX_SHARED ? FLOW_SHARED : FLOW_GLOBAL);
        v->divergent = true;
    } else if (is_one_of(i->opcode, others)) {
        v->sources = FLOW_OTHER;
        v->divergent = true;
    }
}

static bool controls(const struct flow *flow, uint32_t branch, uint32_t block)
{
    const struct flow_block *b = &flow->block[block];
    for (uint32_t c = 0; c < b->controls; c++) {
        if (flow->control[b->control + c] == branch)
            return true;
    }
    return false;
}

/* Whether both are copies of one value, of one constant or of one special register, or computed
 * alike from the same. */
static bool is_same(const struct flow *flow, uint32_t a, uint32_t b)
{
    for (int step = 0; step < 8 && flow_is(flow, a, "mov") && flow->value[a].args == 1; step++)
        a = flow_arg(flow, a, 0);
    for (int step = 0; step < 8 && flow_is(flow, b, "mov") && flow->value[b].args == 1; step++)
        b = flow_arg(flow, b, 0);
    const struct flow_value *x = &flow->value[a], *y = &flow->value[b];
    if (x->kind == FLOW_SPECIAL && y->kind == FLOW_SPECIAL)
        return strcmp(x->operand->name, y->operand->name) == 0;
    return a == b || (x->kind == FLOW_CONSTANT && y->kind == FLOW_CONSTANT && x->bits == y->bits) ||
           (x->kind == FLOW_RESULT && y->kind == FLOW_RESULT && flow_same(flow, a, b));
}

/* Whether the ways to the phi that the branch decides about, its own among them, bring different
 * values. */
static bool brings_different(const struct flow *flow, uint32_t phi, uint32_t branch)
{
    const struct flow_value *v = &flow->value[phi];
    const struct flow_block *b = &flow->block[v->at];
    uint32_t first = FLOW_NONE;
    for (uint32_t p = 0; p < b->preds && p < v->args; p++) {
        uint32_t from = flow->edge[b->pred + p], value = flow->arg[v->arg + p];
        if (from != branch && !controls(flow, branch, from))
            continue;
        if (first != FLOW_NONE && !is_same(flow, value, first))
            return true;
        first = value;
    }
    return false;
}

/* Whether threads come to the phi on different ways with different values: one of its predecessors
 * runs by a branch that threads take differently, and that does not decide whether the phi's block
 * runs at all. */
static bool is_join(const struct flow *flow, uint32_t phi)
{
    uint32_t block = flow->value[phi].at;
    const struct flow_block *b = &flow->block[block];
    for (uint32_t p = 0; p < b->preds; p++) {
        uint32_t from = flow->edge[b->pred + p];
        const struct flow_block *before = &flow->block[from];
        for (uint32_t c = 0; c <= before->controls; c++) {
            uint32_t branch = c < before->controls ? flow->control[before->control + c] : from;
            uint32_t condition = flow_condition(flow, branch);
            if (condition != FLOW_NONE && flow->value[condition].divergent &&
                !controls(flow, branch, block) && brings_different(flow, phi, branch))
                return true;
        }
    }
    return false;
}

/* -- the part of a value that differs between threads -- */

enum { MOST_PHIS = 4, MOST_PARTS = 64 };

struct part {
    const struct flow *flow;
    uint32_t phi[MOST_PHIS]; /* whose part is being looked for */
    unsigned phis;
    int steps;
};

static uint32_t part_of(struct part *p, uint32_t value);

/* A counter's part is that of its beginning, where each round adds what all threads have. */
static uint32_t part_of_phi(struct part *p, uint32_t phi)
{
    const struct flow_value *v = &p->flow->value[phi];
    uint32_t part = FLOW_NONE;
    for (unsigned i = 0; i < p->phis; i++) {
        if (p->phi[i] == phi)
            return FLOW_NONE;
    }
    if (p->phis == MOST_PHIS || is_join(p->flow, phi))
        return phi;
    p->phi[p->phis++] = phi;
    for (uint32_t a = 0; a < v->args && part != phi; a++) {
        uint32_t one = part_of(p, p->flow->arg[v->arg + a]);
        if (one != FLOW_NONE)
            part = part == FLOW_NONE || is_same(p->flow, part, one) ? one : phi;
    }
    p->phis--;
    return part;
}

/* What is left of a sum without the addends that all threads have: of n + tid, tid. 0 where nothing
 * differs; FLOW_NONE: that of a phi which is being looked for. */
static uint32_t part_of(struct part *p, uint32_t value)
{
    const struct flow *flow = p->flow;
    const struct flow_value *v = &flow->value[value];
    bool mad = flow_is(flow, value, "mad");
    if (!v->divergent)
        return 0;
    if (++p->steps > MOST_PARTS)
        return value;
    if (v->kind == FLOW_PHI)
        return part_of_phi(p, value);
    if (flow_is(flow, value, "mov") && v->args == 1)
        return part_of(p, flow_arg(flow, value, 0));
    if (!mad && !flow_is(flow, value, "add"))
        return value;
    uint32_t addend = FLOW_NONE, divergent = 0;
    for (uint32_t a = 0; a < v->args; a++) {
        uint32_t arg = flow_arg(flow, value, a);
        if (!flow->value[arg].divergent)
            continue;
        divergent++;
        addend = !mad || a == 2 ? arg : FLOW_NONE;
    }
    return divergent == 1 && addend != FLOW_NONE ? part_of(p, addend) : value;
}

/* A comparison of two values that differ between threads by the same amount: t + tid < n + tid. */
static bool compares_alike(const struct flow *flow, uint32_t value)
{
    struct part x = {.flow = flow}, y = {.flow = flow};
    if (!flow_is(flow, value, "setp") || flow->value[value].args < 2)
        return false;
    uint32_t a = part_of(&x, flow_arg(flow, value, 0)), b = part_of(&y, flow_arg(flow, value, 1));
    return a != 0 && a != FLOW_NONE && b != FLOW_NONE && is_same(flow, a, b);
}

/* The lane numbers' bits over which a butterfly of shuffles has folded the value: 16 8 4 2 1 where
 * each lane has all of the warp. */
static uint32_t folded_lanes(const struct flow *flow, uint32_t value)
{
    static const char *const folds[] = {"add", "or", "and", "xor", "max", "min", "mul", NULL};
    uint32_t lanes = 0;
    for (int stage = 0; stage < 8; stage++) {
        uint32_t shuffled = FLOW_NONE, other = FLOW_NONE;
        const struct ptx_instruction *i = flow_instruction(flow, value);
        if (!i || flow->value[value].kind != FLOW_RESULT || !is_one_of(i->opcode, folds))
            break;
        for (uint32_t a = 0; a < 2 && shuffled == FLOW_NONE; a++) {
            uint32_t arg = flow_arg(flow, value, a);
            other = flow_arg(flow, value, 1 - a);
            if (flow_is(flow, arg, "shfl") && flow_arg(flow, arg, 0) == other)
                shuffled = arg;
        }
        uint64_t mask;
        if (shuffled == FLOW_NONE || !ptx_has_modifier(flow_instruction(flow, shuffled), "bfly") ||
            !flow_constant(flow, flow_arg(flow, shuffled, 1), &mask))
            break;
        lanes |= (uint32_t)mask;
        value = other;
    }
    return lanes;
}

static bool add_sources(struct flow_value *v, const struct flow_value *from)
{
    struct flow_value old = *v;
    v->sources |= from->sources;
    v->params[0] |= from->params[0];
    v->params[1] |= from->params[1];
    return old.sources != v->sources || old.params[0] != v->params[0] ||
           old.params[1] != v->params[1];
}

/* A value that is the same in all threads of a block, or at least of a warp, whatever its arguments
 * are. */
static bool is_uniform(const struct flow *flow, uint32_t value)
{
    return flow->value[value].kind == FLOW_RESULT &&
           (flow_is(flow, value, "bar") || flow_is(flow, value, "barrier") ||
            flow_is(flow, value, "vote") || flow_is(flow, value, "redux") ||
            folded_lanes(flow, value) == 31);
}

static bool update(const struct flow *flow, uint32_t value)
{
    struct flow_value *v = &flow->value[value];
    bool changed = false, divergent = v->divergent;
    int64_t offset;
    if (flow_param_of(flow, value, &offset))
        return false;
    for (uint32_t a = 0; a < v->args; a++) {
        const struct flow_value *from = &flow->value[flow->arg[v->arg + a]];
        changed |= add_sources(v, from);
        divergent |= from->divergent;
    }
    if (v->kind == FLOW_PHI && !divergent)
        divergent = is_join(flow, value);
    if (divergent && !v->divergent && !is_uniform(flow, value) && !flow_is(flow, value, "setp")) {
        v->divergent = true;
        changed = true;
    }
    return changed;
}

/* Sources, and what differs between threads but for comparisons. */
static void propagate(struct flow *flow)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t v = 0; v < flow->values; v++)
            changed |= update(flow, v);
    }
}

/* Comparisons come after their operands, since one is decided by both. */
static bool mark_comparisons(struct flow *flow)
{
    bool changed = false;
    for (uint32_t v = 0; v < flow->values; v++) {
        struct flow_value *value = &flow->value[v];
        bool divergent = false;
        if (value->divergent || !flow_is(flow, v, "setp"))
            continue;
        for (uint32_t a = 0; a < value->args; a++)
            divergent |= flow->value[flow->arg[value->arg + a]].divergent;
        if (divergent && !compares_alike(flow, v)) {
            value->divergent = true;
            changed = true;
        }
    }
    return changed;
}

enum status flow_sources(struct flow *flow, struct error *err)
{
    (void)err;
    for (uint32_t v = 0; v < flow->values; v++) {
        if (flow->value[v].kind == FLOW_SPECIAL)
            special_source(&flow->value[v]);
        else if (flow->value[v].kind == FLOW_RESULT)
            result_source(flow, v);
    }
    do
        propagate(flow);
    while (mark_comparisons(flow));
    return STATUS_OK;
}
