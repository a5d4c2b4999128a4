/* values.c - questions that several rules have about values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lint/kernel.h"

bool lint_is_float(enum ptx_type type)
{
    return type == PTX_F32 || type == PTX_F64 || type == PTX_F16 || type == PTX_BF16 ||
           type == PTX_F16X2 || type == PTX_BF16X2 || type == PTX_F32X2;
}

enum ptx_type lint_type(const struct flow *flow, uint32_t value)
{
    const struct ptx_instruction *i = flow_instruction(flow, value);
    return i && i->type_count ? i->types[0] : PTX_NO_TYPE;
}

static double small_float(unsigned bits, int exponent_bits, int mantissa_bits)
{
    int exponent = (int)(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    double mantissa = (double)(bits & ((1u << mantissa_bits) - 1)) / (1 << mantissa_bits);
    double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
    int bias = (1 << (exponent_bits - 1)) - 1;
    if (exponent == (1 << exponent_bits) - 1)
        return mantissa > 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1 + mantissa, exponent - bias) : ldexp(mantissa, 1 - bias));
}

static double f32_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float out;
    memcpy(&out, &low, sizeof out);
    return (double)out;
}

static double f64_of(uint64_t bits)
{
    double out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

/* The operand of a constant, for its written type. */
static const struct flow_value *constant_of(const struct flow *flow, uint32_t value)
{
    for (int step = 0; step < 64; step++) {
        if (flow->value[value].kind == FLOW_CONSTANT)
            return &flow->value[value];
        if (!flow_is(flow, value, "mov") || flow->value[value].args != 1)
            return NULL;
        value = flow_arg(flow, value, 0);
    }
    return NULL;
}

bool lint_number(const struct flow *flow, uint32_t value, enum ptx_type type, double *out)
{
    const struct flow_value *constant = constant_of(flow, value);
    if (!constant)
        return false;
    enum ptx_type written = constant->operand->immediate_type;
    if (written == PTX_F32)
        *out = f32_of(constant->bits);
    else if (written == PTX_F64)
        *out = f64_of(constant->bits);
    else if (type == PTX_F64)
        *out = f64_of(constant->bits);
    else if (type == PTX_F16 || type == PTX_F16X2)
        *out = small_float((unsigned)constant->bits & 0xffff, 5, 10);
    else if (type == PTX_BF16 || type == PTX_BF16X2)
        *out = small_float((unsigned)constant->bits & 0xffff, 8, 7);
    else
        *out = f32_of(constant->bits);
    return true;
}

bool lint_upper_half(const struct flow *flow, uint32_t value, enum ptx_type type, double *out)
{
    const struct flow_value *constant = constant_of(flow, value);
    if (!constant || (type != PTX_F16X2 && type != PTX_BF16X2))
        return false;
    unsigned high = (unsigned)(constant->bits >> 16) & 0xffff;
    *out = type == PTX_F16X2 ? small_float(high, 5, 10) : small_float(high, 8, 7);
    return true;
}

bool lint_is_narrow(const struct flow *flow, uint32_t value)
{
    const struct flow_value *v = &flow->value[value];
    const struct ptx_instruction *i = flow_instruction(flow, value);
    if (v->kind != FLOW_RESULT && v->kind != FLOW_PHI && v->kind != FLOW_MERGE)
        return false;
    unsigned bits = v->reg == FLOW_NONE ? 0 : ptx_type_bits(flow->function->registers[v->reg].type);
    if (bits == 16 || bits == 8)
        return true;
    if (v->kind != FLOW_RESULT || !i->type_count)
        return false;
    return i->types[0] == PTX_F16X2 || i->types[0] == PTX_BF16X2 || i->types[0] == PTX_F16 ||
           i->types[0] == PTX_BF16;
}

bool lint_is_sum(const struct flow *flow, uint32_t value)
{
    static const char *const words[] = {"add", "sub", "fma", "mad"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        if (flow->value[value].kind == FLOW_RESULT && flow_is(flow, value, words[w]))
            return lint_is_float(lint_type(flow, value));
    }
    return false;
}

bool lint_passes(const struct flow *flow, uint32_t value)
{
    const struct flow_value *v = &flow->value[value];
    return v->kind == FLOW_PHI || v->kind == FLOW_MERGE || flow_is(flow, value, "mov") ||
           flow_is(flow, value, "shfl") || flow_is(flow, value, "selp");
}

/* -- walks -- */

enum { MOST_VISITS = 4096, SEEN = 2 * MOST_VISITS };

/* What a walk has met: a list, and a table of its members by hash. */
struct met {
    uint32_t list[MOST_VISITS], count;
    uint32_t table[SEEN]; /* 1 + value */
};

static void meet(struct met *met, uint32_t value)
{
    uint32_t slot = value * 2654435761u % SEEN;
    for (; met->table[slot]; slot = (slot + 1) % SEEN) {
        if (met->table[slot] == value + 1)
            return;
    }
    if (met->count == MOST_VISITS)
        return;
    met->table[slot] = value + 1;
    met->list[met->count++] = value;
}

void lint_backward(const struct lint_kernel *k, uint32_t value, lint_visit_fn visit, void *user)
{
    struct met *met = calloc(1, sizeof *met);
    if (!met)
        return;
    meet(met, value);
    for (uint32_t i = 0; i < met->count; i++) {
        uint32_t from = met->list[i];
        if (!visit(user, from))
            continue;
        for (uint32_t a = 0, n = flow_data(k->flow, from); a < n; a++)
            meet(met, flow_arg(k->flow, from, a));
    }
    free(met);
}

/* Whether `user` takes the value as data. */
static bool takes(const struct flow *flow, uint32_t user, uint32_t value)
{
    for (uint32_t a = 0, n = flow_data(flow, user); a < n; a++) {
        if (flow_arg(flow, user, a) == value)
            return true;
    }
    return flow->value[user].kind == FLOW_EFFECT;
}

void lint_forward(const struct lint_kernel *k, uint32_t value, lint_visit_fn visit, void *user)
{
    struct met *met = calloc(1, sizeof *met);
    if (!met)
        return;
    meet(met, value);
    for (uint32_t i = 0; i < met->count; i++) {
        if (i > 0 && !visit(user, met->list[i]))
            continue;
        const struct flow_value *v = &k->flow->value[met->list[i]];
        for (uint32_t u = 0; u < v->users; u++) {
            uint32_t to = k->flow->user[v->user + u];
            if (takes(k->flow, to, met->list[i]))
                meet(met, to);
        }
    }
    free(met);
}

/* -- signs -- */

struct signs {
    const struct lint_kernel *k;
    bool negative;
};

/* The shared memory of a kernel holds what it stores there. */
static void check_shared(struct signs *s)
{
    const struct flow *flow = s->k->flow;
    for (uint32_t at = 0; at < flow->function->instruction_count && !s->negative; at++) {
        const struct ptx_instruction *i = &flow->function->instructions[at];
        uint32_t v = flow->result[at];
        if (strcmp(i->opcode, "st") != 0 || i->space != PTX_SHARED)
            continue;
        for (uint32_t a = 1; a < flow->value[v].args && !s->negative; a++) {
            double number;
            uint32_t data = flow_arg(flow, v, a);
            bool loaded = flow_is(flow, data, "ld");
            s->negative = loaded || !(lint_passes(flow, data) || lint_fold(flow, data) ||
                                      flow_is(flow, data, "abs") ||
                                      (lint_number(flow, data, PTX_F32, &number) && number >= 0));
        }
    }
}

static bool is_square(const struct flow *flow, uint32_t value)
{
    bool product = flow_is(flow, value, "mul") || flow_is(flow, value, "fma");
    return product && flow_same(flow, flow_arg(flow, value, 0), flow_arg(flow, value, 1));
}

static bool clears_sign(const struct flow *flow, uint32_t value)
{
    uint64_t mask;
    return flow_is(flow, value, "and") && flow_constant(flow, flow_arg(flow, value, 1), &mask) &&
           ((uint32_t)mask == 0x7fffffff || (uint32_t)mask == 0x7fff7fff || mask == 0x7fff);
}

/* max(x, -x) */
static bool is_magnitude(const struct flow *flow, uint32_t value)
{
    for (uint32_t a = 0; a < 2; a++) {
        uint32_t one = flow_arg(flow, value, a), other = flow_arg(flow, value, 1 - a);
        if (flow_is(flow, one, "neg") && flow_same(flow, flow_arg(flow, one, 0), other))
            return true;
    }
    return false;
}

/* |x| times a factor, which is taken for a positive one. */
static bool is_scaled_magnitude(const struct flow *flow, uint32_t value)
{
    for (uint32_t a = 0; a < 2; a++) {
        uint32_t arg = flow_arg(flow, value, a);
        if (flow_is(flow, arg, "abs") || clears_sign(flow, arg))
            return true;
    }
    return false;
}

static bool visit_sign(void *user, uint32_t value)
{
    struct signs *s = user;
    const struct flow *flow = s->k->flow;
    double number;
    if (s->negative)
        return false;
    if (flow->value[value].kind == FLOW_CONSTANT) {
        s->negative = !lint_number(flow, value, PTX_F32, &number) || number < 0;
        return false;
    }
    if (flow_is(flow, value, "abs") || flow_is(flow, value, "ex2") ||
        flow_is(flow, value, "sqrt") || is_square(flow, value) || clears_sign(flow, value))
        return false;
    if (lint_fold(flow, value) == LINT_MAX && is_magnitude(flow, value))
        return false;
    if (flow_is(flow, value, "mul") && is_scaled_magnitude(flow, value))
        return false;
    if (lint_passes(flow, value) || lint_fold(flow, value) || flow_is(flow, value, "cvt"))
        return true;
    if (flow_is(flow, value, "ld") && flow_instruction(flow, value)->space == PTX_SHARED)
        check_shared(s);
    else
        s->negative = true;
    return false;
}

bool lint_not_negative(const struct lint_kernel *k, uint32_t value)
{
    struct signs s = {.k = k};
    lint_backward(k, value, visit_sign, &s);
    return !s.negative;
}

/* -- folds -- */

static bool compares(const struct flow *flow, uint32_t predicate, uint32_t a, uint32_t b,
                     bool *larger, int depth);

/* x > y || z, by branches: the comparison decides which way leads to the phi. */
static bool phi_compares(const struct flow *flow, uint32_t phi, uint32_t a, uint32_t b,
                         bool *larger, int depth)
{
    const struct flow_block *block = &flow->block[flow->value[phi].at];
    for (uint32_t p = 0; p < block->preds; p++) {
        uint32_t condition = flow_condition(flow, flow->edge[block->pred + p]);
        if (condition != FLOW_NONE && compares(flow, condition, a, b, larger, depth + 1))
            return true;
    }
    return false;
}

/* Whether a comparison of a and b, and not of others, decides `predicate`; `larger`: it is true
 * where a is larger. */
static bool compares(const struct flow *flow, uint32_t predicate, uint32_t a, uint32_t b,
                     bool *larger, int depth)
{
    if (depth > 3)
        return false;
    if (flow_is(flow, predicate, "or") || flow_is(flow, predicate, "and"))
        return compares(flow, flow_arg(flow, predicate, 0), a, b, larger, depth + 1) ||
               compares(flow, flow_arg(flow, predicate, 1), a, b, larger, depth + 1);
    if (flow->value[predicate].kind == FLOW_PHI)
        return phi_compares(flow, predicate, a, b, larger, depth);
    if (!flow_is(flow, predicate, "setp") || !lint_is_float(lint_type(flow, predicate)))
        return false;
    const struct ptx_instruction *i = flow_instruction(flow, predicate);
    const char *word = i->modifier_count ? i->modifiers[0] : "";
    uint32_t x = flow_arg(flow, predicate, 0), y = flow_arg(flow, predicate, 1);
    bool same = flow_same(flow, x, a) && flow_same(flow, y, b);
    bool turned = flow_same(flow, x, b) && flow_same(flow, y, a);
    if ((!same && !turned) || (word[0] != 'g' && word[0] != 'l'))
        return false;
    *larger = (word[0] == 'g') == same;
    return true;
}

enum lint_fold lint_fold(const struct flow *flow, uint32_t value)
{
    bool larger;
    if (flow->value[value].kind != FLOW_RESULT)
        return LINT_NO_FOLD;
    if (flow_is(flow, value, "max") || flow_is(flow, value, "min")) {
        if (!lint_is_float(lint_type(flow, value)))
            return LINT_NO_FOLD;
        return flow_is(flow, value, "max") ? LINT_MAX : LINT_MIN;
    }
    if (flow_is(flow, value, "selp") &&
        compares(flow, flow_arg(flow, value, 2), flow_arg(flow, value, 0), flow_arg(flow, value, 1),
                 &larger, 0))
        return larger ? LINT_MAX : LINT_MIN;
    return LINT_NO_FOLD;
}

/* -- memory -- */

static bool set_space(struct lint_access *out, const struct ptx_instruction *i)
{
    out->space = i->space;
    if (out->space == PTX_GENERIC && out->base.kind == FLOW_BASE_VARIABLE)
        out->space = out->base.variable->space;
    if (out->space == PTX_GENERIC && out->base.kind == FLOW_BASE_PARAM)
        out->space = PTX_GLOBAL;
    return out->space != PTX_PARAM;
}

bool lint_access(const struct flow *flow, uint32_t at, struct lint_access *out)
{
    static const char *const words[] = {"ld", "st", "atom", "red", "ldu", NULL};
    const struct ptx_instruction *i = &flow->function->instructions[at];
    unsigned word = 0;
    while (words[word] && strcmp(words[word], i->opcode) != 0)
        word++;
    if (!words[word])
        return false;
    *out = (struct lint_access){.value = flow->result[at], .at = at};
    out->reads = word != 1;
    out->writes = word != 0 && word != 4;
    out->atomic = word == 2 || word == 3;
    out->weak = !out->atomic && !ptx_has_modifier(i, "volatile") &&
                !ptx_has_modifier(i, "relaxed") && !ptx_has_modifier(i, "acquire") &&
                !ptx_has_modifier(i, "release") && !ptx_has_modifier(i, "mmio");
    out->bytes = (i->type_count ? ptx_type_bits(i->types[0]) : 0) / 8 * i->vector;
    for (unsigned o = 0; o < i->operand_count; o++) {
        if (i->operands[o].kind != PTX_MEMORY)
            continue;
        out->offset = i->operands[o].offset;
        out->address = flow_arg(flow, out->value, 0);
        out->base = flow_base(flow, out->address);
        return set_space(out, i);
    }
    return false;
}

bool lint_stores_global(const struct flow *flow, uint32_t at, struct lint_access *out)
{
    return lint_access(flow, at, out) && out->writes && out->space == PTX_GLOBAL;
}
