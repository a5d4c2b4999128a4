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

/* Whether threads come to the phi on different ways: one of its predecessors runs by a branch that
 * threads take differently, and that does not decide whether the phi's block runs at all. */
static bool is_join(const struct flow *flow, uint32_t block)
{
    const struct flow_block *b = &flow->block[block];
    for (uint32_t p = 0; p < b->preds; p++) {
        uint32_t from = flow->edge[b->pred + p];
        const struct flow_block *before = &flow->block[from];
        for (uint32_t c = 0; c <= before->controls; c++) {
            uint32_t branch = c < before->controls ? flow->control[before->control + c] : from;
            uint32_t condition = flow_condition(flow, branch);
            bool decides = false;
            for (uint32_t k = 0; k < b->controls; k++)
                decides |= flow->control[b->control + k] == branch;
            if (condition != FLOW_NONE && flow->value[condition].divergent && !decides)
                return true;
        }
    }
    return false;
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
            flow_is(flow, value, "vote") || flow_is(flow, value, "redux"));
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
        divergent = is_join(flow, v->at);
    if (divergent && !v->divergent && !is_uniform(flow, value)) {
        v->divergent = true;
        changed = true;
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
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t v = 0; v < flow->values; v++)
            changed |= update(flow, v);
    }
    return STATUS_OK;
}
