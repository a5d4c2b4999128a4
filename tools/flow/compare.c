/* compare.c - whether values are the same, and how large they may be. */
#include "tools/flow/flow_parts.h"

#include <string.h>

enum { SAME_DEPTH = 12, SAME_STEPS = 400, MOST_DEPTH = 16 };

struct compare {
    const struct flow *flow;
    int steps;
};

static bool same_leaf(const struct flow_value *a, const struct flow_value *b)
{
    if (a->kind == FLOW_CONSTANT)
        return a->bits == b->bits;
    if (a->kind == FLOW_SPECIAL)
        return strcmp(a->operand->name, b->operand->name) == 0;
    return a->kind == FLOW_ADDRESS && a->operand->variable == b->operand->variable &&
           a->operand->offset == b->operand->offset;
}

/* Whether an instruction gives the same result whenever its arguments are the same. */
static bool is_pure(const struct ptx_instruction *i)
{
    static const char *const words[] = {"add", "sub", "mul",  "mad",  "shl",  "shr",  "and",
                                        "or",  "xor", "not",  "cvt",  "mov",  "neg",  "cvta",
                                        "fma", "min", "max",  "selp", "abs",  "div",  "rem",
                                        "bfe", "bfi", "setp", "shf",  "prmt", "mul24"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        if (strcmp(i->opcode, words[w]) == 0)
            return true;
    }
    return strcmp(i->opcode, "ld") == 0 && i->space == PTX_PARAM;
}

static uint32_t through_mov(const struct flow *flow, uint32_t value)
{
    for (int i = 0; i < SAME_DEPTH && flow_is(flow, value, "mov") && flow->value[value].args == 1;
         i++)
        value = flow_arg(flow, value, 0);
    return value;
}

static uint64_t most(const struct flow *flow, uint32_t value, int depth);

/* What the lowest bits of a value are surely zeros of: 2^n, where n of them are. */
static uint64_t low_zeros(const struct flow *flow, uint32_t value)
{
    uint64_t constant;
    bool fixed = flow->value[value].kind == FLOW_RESULT && flow->value[value].args > 1 &&
                 flow_constant(flow, flow_arg(flow, value, 1), &constant);
    if (fixed && flow_is(flow, value, "shl") && constant < 63)
        return (uint64_t)1 << constant;
    return fixed && constant && flow_is(flow, value, "mul") &&
                   !ptx_has_modifier(flow_instruction(flow, value), "hi")
               ? constant & -constant
               : 1;
}

/* Whether an instruction is a sum: also or, of numbers that have no bit in common. */
static bool is_sum(const struct flow *flow, uint32_t value)
{
    const struct ptx_instruction *i = flow_instruction(flow, value);
    if (strcmp(i->opcode, "add") == 0)
        return !i->modifier_count && ptx_type_bits(i->types[0]) >= 32 && i->types[0] < PTX_F16;
    return strcmp(i->opcode, "or") == 0 &&
           most(flow, flow_arg(flow, value, 1), 0) < low_zeros(flow, flow_arg(flow, value, 0));
}

/* Whether both instructions compute alike. */
static bool same_work(const struct flow *flow, uint32_t a, uint32_t b)
{
    const struct ptx_instruction *i = flow_instruction(flow, a), *k = flow_instruction(flow, b);
    if (strcmp(i->text, k->text) == 0)
        return is_pure(i);
    return ptx_type_bits(i->types[0]) == ptx_type_bits(k->types[0]) && is_sum(flow, a) &&
           is_sum(flow, b);
}

static bool same(struct compare *c, uint32_t a, uint32_t b, int depth)
{
    const struct flow *flow = c->flow;
    a = through_mov(flow, a);
    b = through_mov(flow, b);
    if (a == b)
        return true;
    const struct flow_value *x = &flow->value[a], *y = &flow->value[b];
    if (x->kind != y->kind || depth > SAME_DEPTH || ++c->steps > SAME_STEPS)
        return false;
    if (x->kind != FLOW_RESULT)
        return same_leaf(x, y);
    if (x->args != y->args || !same_work(flow, a, b) ||
        a - flow->result[x->at] != b - flow->result[y->at])
        return false;
    int64_t at = 0, bt = 0;
    if (flow_param_of(flow, a, &at) != flow_param_of(flow, b, &bt) || at != bt)
        return false;
    for (uint32_t n = 0; n < x->args; n++) {
        if (!same(c, flow_arg(flow, a, n), flow_arg(flow, b, n), depth + 1))
            return false;
    }
    return true;
}

bool flow_same(const struct flow *flow, uint32_t a, uint32_t b)
{
    struct compare c = {.flow = flow};
    return same(&c, a, b, 0);
}

/* -- sizes -- */

static uint64_t most_special(const struct flow *flow, const char *name)
{
    const struct ptx_function *f = flow->function;
    bool tid = strncmp(name, "%tid.", 5) == 0, ntid = strncmp(name, "%ntid.", 6) == 0;
    if (strcmp(name, "%laneid") == 0)
        return 31;
    if (!tid && !ntid)
        return UINT32_MAX;
    int axis = name[strlen(name) - 1] - 'x';
    if (axis < 0 || axis > 2) /* no register of PTX */
        return UINT32_MAX;
    unsigned most = f->reqntid[axis]   ? f->reqntid[axis]
                    : f->maxntid[axis] ? f->maxntid[axis]
                                       : 1024;
    return most - (tid && most ? 1 : 0);
}

static uint64_t fill_bits(uint64_t value)
{
    for (int shift = 1; shift < 64; shift *= 2)
        value |= value >> shift;
    return value;
}

static uint64_t most_result(const struct flow *flow, uint32_t value, int depth)
{
    const struct ptx_instruction *i = flow_instruction(flow, value);
    const uint64_t none = UINT32_MAX;
    uint64_t a = most(flow, flow_arg(flow, value, 0), depth + 1), constant;
    uint64_t b = flow->value[value].args > 1 ? most(flow, flow_arg(flow, value, 1), depth + 1) : 0;
    bool fixed = flow_constant(flow, flow_arg(flow, value, 1), &constant) && constant < none;
    const char *word = i->opcode;
    uint64_t out = none;
    if (strcmp(word, "and") == 0)
        out = a < b ? a : b;
    else if (strcmp(word, "mov") == 0 || strcmp(word, "cvt") == 0)
        out = flow->value[value].args == 1 ? a : none;
    else if (strcmp(word, "shr") == 0 && fixed && a < none)
        out = a >> (constant & 63);
    else if (strcmp(word, "shl") == 0 && fixed && a < none)
        out = a << (constant & 31);
    else if (strcmp(word, "mul") == 0 && fixed && a < none)
        out = a * constant;
    else if (strcmp(word, "add") == 0 && a < none && b < none)
        out = a + b;
    else if ((strcmp(word, "or") == 0 || strcmp(word, "xor") == 0) && a < none && b < none)
        out = fill_bits(a | b);
    else if (strcmp(word, "selp") == 0)
        out = a > b ? a : b;
    else if (strcmp(word, "min") == 0 && (i->types[0] == PTX_U32 || i->types[0] == PTX_U64))
        out = a < b ? a : b;
    else if ((strcmp(word, "rem") == 0 || strcmp(word, "min") == 0) && fixed)
        out = constant;
    return out < none ? out : none;
}

static uint64_t most(const struct flow *flow, uint32_t value, int depth)
{
    const struct flow_value *v = &flow->value[value];
    if (depth > MOST_DEPTH)
        return UINT32_MAX;
    if (v->kind == FLOW_CONSTANT)
        return v->bits < UINT32_MAX ? v->bits : UINT32_MAX;
    if (v->kind == FLOW_SPECIAL)
        return most_special(flow, v->operand->name);
    return v->kind == FLOW_RESULT ? most_result(flow, value, depth) : UINT32_MAX;
}

uint64_t flow_most(const struct flow *flow, uint32_t value)
{
    return most(flow, value, 0);
}
