/* base.c - what an address counts from: a pointer parameter or a variable. */
#include "tools/flow/flow_parts.h"

#include <string.h>

enum { MOST_DEPTH = 48, MOST_STEPS = 2000 };

/* How sure it is that a parameter is a pointer. */
enum sureness { UNSURE, SURE };
struct found {
    struct flow_base base;
    enum sureness sure;
};
struct search {
    const struct flow *flow;
    int steps;
};

static struct found find(struct search *s, uint32_t value, int depth);

/* The better one of two addends. */
static struct found choose(struct found a, struct found b)
{
    if (b.base.kind == FLOW_BASE_UNKNOWN)
        return a;
    if (a.base.kind == FLOW_BASE_UNKNOWN || b.sure > a.sure)
        return b;
    if (a.sure > b.sure)
        return a;
    bool same = a.base.kind == b.base.kind && a.base.param == b.base.param &&
                a.base.field == b.base.field && a.base.variable == b.base.variable;
    return same ? a : (struct found){.base = {.kind = FLOW_BASE_UNKNOWN}};
}

static struct found of_param(const struct flow *flow, const struct ptx_variable *param,
                             int64_t field, uint32_t value)
{
    struct found out = {.base = {FLOW_BASE_PARAM, param->index, field, param}};
    const struct flow_value *v = &flow->value[value];
    const struct ptx_instruction *i = flow_instruction(flow, value);
    for (uint32_t u = 0; u < v->users; u++)
        out.sure = flow_is(flow, flow->user[v->user + u], "cvta") ? SURE : out.sure;
    if (i->type_count && ptx_type_bits(i->types[0]) < 64)
        out.base.kind = FLOW_BASE_UNKNOWN;
    return out;
}

static struct found of_phi(struct search *s, uint32_t value, int depth)
{
    const struct flow_value *v = &s->flow->value[value];
    struct found out = {.base = {.kind = FLOW_BASE_UNKNOWN}};
    uint32_t args = v->kind == FLOW_MERGE ? 2 : v->args;
    for (uint32_t a = 0; a < args; a++) {
        struct found one = find(s, s->flow->arg[v->arg + a], depth + 1);
        bool known = out.base.kind != FLOW_BASE_UNKNOWN && one.base.kind != FLOW_BASE_UNKNOWN;
        out = choose(out, one);
        if (known && out.base.kind == FLOW_BASE_UNKNOWN)
            break; /* two pointers: a third one does not decide */
    }
    return out;
}

static struct found of_instruction(struct search *s, uint32_t value, int depth)
{
    static const char *const sums[] = {"add",  "sub", "or",   "mad", "mov",
                                       "cvta", "cvt", "selp", "mapa"};
    const struct flow *flow = s->flow;
    const struct ptx_instruction *i = flow_instruction(flow, value);
    struct found out = {.base = {.kind = FLOW_BASE_UNKNOWN}};
    bool known = false;
    for (size_t w = 0; w < sizeof sums / sizeof *sums; w++)
        known |= strcmp(i->opcode, sums[w]) == 0;
    const struct flow_value *v = &flow->value[value];
    uint32_t first = i->opcode[0] == 'm' && i->opcode[1] == 'a' && i->opcode[2] == 'd' ? 2 : 0;
    uint32_t last = strcmp(i->opcode, "selp") == 0 ? 2 : v->args;
    for (uint32_t a = first; known && a < last && a < v->args; a++)
        out = choose(out, find(s, flow->arg[v->arg + a], depth + 1));
    if (strcmp(i->opcode, "cvta") == 0 && out.base.kind != FLOW_BASE_UNKNOWN)
        out.sure = SURE;
    return out;
}

static struct found find(struct search *s, uint32_t value, int depth)
{
    const struct flow_value *v = &s->flow->value[value];
    struct found out = {.base = {.kind = FLOW_BASE_UNKNOWN}};
    int64_t offset;
    if (depth > MOST_DEPTH || ++s->steps > MOST_STEPS)
        return out;
    if (v->kind == FLOW_ADDRESS && v->operand->variable) {
        out.base = (struct flow_base){FLOW_BASE_VARIABLE, 0, 0, v->operand->variable};
        out.sure = SURE;
        return out;
    }
    const struct ptx_variable *param = flow_param_of(s->flow, value, &offset);
    if (param)
        return of_param(s->flow, param, offset, value);
    if (v->kind == FLOW_PHI || v->kind == FLOW_MERGE)
        return of_phi(s, value, depth);
    return v->kind == FLOW_RESULT ? of_instruction(s, value, depth) : out;
}

struct flow_base flow_base(const struct flow *flow, uint32_t address)
{
    struct search s = {.flow = flow};
    return find(&s, address, 0).base;
}
