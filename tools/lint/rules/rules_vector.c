/* rules_vector.c - the alignment of vector accesses. */
#include <string.h>
#include "tools/lint/rules/rules.h"

/* A power of two up to 16, derived from constants; pointers are aligned to 16. */
enum { MOST = 16, MOST_DEPTH = 24, MOST_STEPS = 2000 };

struct division {
    const struct flow *flow;
    uint32_t phi[MOST_DEPTH]; /* that are under way: a round of a loop adds to what it had */
    unsigned phis;
    int steps;
};

static unsigned divides(struct division *d, uint32_t value, int depth);

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned of_number(uint64_t bits)
{
    return bits % MOST == 0 ? MOST : (unsigned)(bits & (~bits + 1));
}

static unsigned of_arg(struct division *d, uint32_t value, uint32_t n, int depth)
{
    return divides(d, flow_arg(d->flow, value, n), depth + 1);
}

/* The least of all that the value may be. */
static unsigned of_choice(struct division *d, uint32_t value, uint32_t args, int depth)
{
    unsigned out = MOST;
    for (unsigned i = 0; i < d->phis; i++) {
        if (d->phi[i] == value)
            return MOST;
    }
    if (d->phis == MOST_DEPTH)
        return 1;
    d->phi[d->phis++] = value;
    for (uint32_t a = 0; a < args; a++)
        out = least(out, of_arg(d, value, a, depth));
    d->phis--;
    return out;
}

static unsigned shifted(unsigned by, uint64_t bits)
{
    return bits >= 4 || by << bits > MOST ? MOST : by << bits;
}

/* Of a shared array without a size the launch aligns the beginning. */
static unsigned of_variable(const struct flow_value *v)
{
    const struct ptx_variable *variable = v->operand->variable;
    unsigned align = of_number(variable->align ? variable->align : MOST);
    bool open = variable->space == PTX_SHARED && variable->bytes == 0;
    return least(open ? MOST : align, of_number((uint64_t)v->operand->offset));
}

static unsigned of_instruction(struct division *d, uint32_t value, int depth)
{
    const struct flow *flow = d->flow;
    uint64_t bits;
    if (flow_is(flow, value, "add") || flow_is(flow, value, "sub") || flow_is(flow, value, "or"))
        return least(of_arg(d, value, 0, depth), of_arg(d, value, 1, depth));
    if (flow_is(flow, value, "mul"))
        return least(of_arg(d, value, 0, depth) * of_arg(d, value, 1, depth), MOST);
    if (flow_is(flow, value, "mad"))
        return least(least(of_arg(d, value, 0, depth) * of_arg(d, value, 1, depth), MOST),
                     of_arg(d, value, 2, depth));
    if (flow_is(flow, value, "shl") && flow_constant(flow, flow_arg(flow, value, 1), &bits))
        return shifted(of_arg(d, value, 0, depth), bits);
    if (flow_is(flow, value, "and")) {
        unsigned x = of_arg(d, value, 0, depth), y = of_arg(d, value, 1, depth);
        return x > y ? x : y;
    }
    if (flow_is(flow, value, "selp"))
        return of_choice(d, value, 2, depth);
    if (flow_is(flow, value, "cvt") || flow_is(flow, value, "mov") || flow_is(flow, value, "cvta"))
        return of_arg(d, value, 0, depth);
    bool pointer = flow_base(flow, value).kind != FLOW_BASE_UNKNOWN;
    return pointer ? MOST : 1;
}

static unsigned divides(struct division *d, uint32_t value, int depth)
{
    const struct flow_value *v = &d->flow->value[value];
    uint64_t bits;
    if (depth > MOST_DEPTH || ++d->steps > MOST_STEPS)
        return 1;
    if (flow_constant(d->flow, value, &bits))
        return of_number(bits);
    if (v->kind == FLOW_ADDRESS && v->operand->variable)
        return of_variable(v);
    if (v->kind == FLOW_PHI || v->kind == FLOW_MERGE)
        return of_choice(d, value, v->kind == FLOW_MERGE ? 2 : v->args, depth);
    return v->kind == FLOW_RESULT ? of_instruction(d, value, depth) : 1;
}

void rule_vector_alignment(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    struct lint_access a;
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        const struct ptx_instruction *i = &flow->function->instructions[at];
        if (i->vector < 2 || !lint_access(flow, at, &a) ||
            (a.space != PTX_GLOBAL && a.space != PTX_SHARED))
            continue;
        struct division d = {.flow = flow};
        unsigned needs = least(a.bytes, MOST), has = divides(&d, a.address, 0),
                 offset = of_number((uint64_t)a.offset);
        if (has >= needs && offset < needs)
            lint_add_as(k, a.base.kind == FLOW_BASE_VARIABLE ? LINT_WARNING : LINT_NOTE, at,
                        "%s needs %u bytes of alignment, and its constant offset of %lld moves an "
                        "aligned address",
                        i->text, needs, (long long)a.offset);
        else if (has < needs)
            lint_add(k, at, "%s needs %u bytes of alignment, its address is surely aligned to %u",
                     i->text, needs, least(has, offset));
    }
}
