/*
 * lift_float.c - the rules of arithmetic: for each operation what becomes of values and bounds, as
 * PTX text.
 *
 * A rule names the value and the bound of the result $v, $e; of the operands $a, $A and so on; the
 * unit roundoff $u, the flush-to-zero allowance $t, and what it needs for itself $0, $1.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lift/lift_parts.h"

/* min.xorsign.abs and max.xorsign.abs: of magnitudes, with the sign of a product. */
#define OF_MAGNITUDES(op)                                                                          \
    "abs.f64 $0, $a;abs.f64 $1, $b;" op ".f64 $0, $0, $1;copysign.f64 $1, $a, 0d3FF0000000000000;" \
    "mul.rn.f64 $0, $0, $1;copysign.f64 $1, $b, 0d3FF0000000000000;mul.rn.f64 $v, $0, $1;"         \
    "max.f64 $e, $A, $B;"
/* Of an infinite result no bound is needed: infinity times 0 would make one that is no number. */
#define ROUNDED "abs.f64 $2, $v;fma.rn.f64 $0, $2, $u, $t;"
#define BOUNDED                                                                                    \
    "setp.lt.f64 %cq0, $2, 0d7FF0000000000000;selp.f64 $e, $e, 0d0000000000000000, %cq0;"

static const struct rule {
    const char *opcode;
    const char *text;
    const char *function; /* or one of lift.cu, of so many operands */
    double scale;         /* its roundoff, in units of the format's */
} float_rules[] = {
    {"add", "add.rn.f64 $v, $a, $b;" ROUNDED "add.rn.f64 $e, $A, $B;add.rn.f64 $e, $e, $0;" BOUNDED,
     NULL, 1},
    {"sub", "sub.rn.f64 $v, $a, $b;" ROUNDED "add.rn.f64 $e, $A, $B;add.rn.f64 $e, $e, $0;" BOUNDED,
     NULL, 1},
    {"mul",
     "mul.rn.f64 $v, $a, $b;" ROUNDED "abs.f64 $1, $a;fma.rn.f64 $0, $1, $B, $0;abs.f64 $1, $b;"
     "add.rn.f64 $1, $1, $B;fma.rn.f64 $e, $1, $A, $0;" BOUNDED,
     NULL, 1},
    {"fma",
     "fma.rn.f64 $v, $a, $b, $c;" ROUNDED "abs.f64 $1, $a;fma.rn.f64 $0, $1, $B, $0;abs.f64 $1, "
     "$b;add.rn.f64 $1, $1, $B;fma.rn.f64 $0, $1, $A, $0;add.rn.f64 $e, $0, $C;" BOUNDED,
     NULL, 1},
    {"neg", "neg.f64 $v, $a;mov.f64 $e, $A;", NULL, 1},
    {"abs", "abs.f64 $v, $a;mov.f64 $e, $A;", NULL, 1},
    {"max.xorsign", OF_MAGNITUDES("max"), NULL, 1},
    {"min.xorsign", OF_MAGNITUDES("min"), NULL, 1},
    {"max", "max.f64 $v, $a, $b;max.f64 $e, $A, $B;", NULL, 1},
    {"min", "min.f64 $v, $a, $b;max.f64 $e, $A, $B;", NULL, 1},
    {"cvt",
     "mov.f64 $v, $a;abs.f64 $2, $v;min.f64 $0, $2, $t;fma.rn.f64 $0, $2, $u, $0;"
     "add.rn.f64 $e, $A, $0;" BOUNDED,
     NULL, 1},
    {"div", NULL, "div", 1},
    {"rcp", NULL, "rcp", 1},
    {"sqrt", NULL, "sqrt", 1},
    {"rsqrt", NULL, "rsqrt", 4},
    {"ex2", NULL, "ex2", 4},
    {"lg2", NULL, "lg2", 4},
    {"sin", NULL, "sin", 1},
    {"cos", NULL, "cos", 1},
    {"tanh", NULL, "tanh", 16384},
};

enum { SIGNIFICANT = 22 /* a constant of 2^22 and more is there to round */ };

static bool is_rule_of(const struct rule *rule, const struct ptx_instruction *ins)
{
    size_t length = strlen(ins->opcode);
    return strncmp(rule->opcode, ins->opcode, length) == 0 &&
           strcmp(rule->opcode + length, ptx_has_modifier(ins, "xorsign") ? ".xorsign" : "") == 0;
}

static const struct rule *rule_of(const struct ptx_instruction *ins)
{
    size_t i = 0, last = sizeof float_rules / sizeof *float_rules -
                         1; /* lift_class.c lets no other through */
    while (i < last && !is_rule_of(&float_rules[i], ins))
        i++;
    return &float_rules[i];
}

static uint64_t bits_of(double value)
{
    union {
        double value;
        uint64_t bits;
    } as = {value};
    return as.bits;
}

/* Rounding towards zero or one of the infinities may be off by a whole unit. */
static bool is_directed(const struct ptx_instruction *ins)
{
    static const char *const words[] = {"rz", "rm", "rp"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (ptx_has_modifier(ins, words[i]))
            return true;
    }
    return false;
}

/* Of a correct kernel's step. The rounding of an accumulator counts as one to f32, and so does that
 * of an output, which the comparison allows for; a number that is only widened is not rounded. */
static double roundoff(const struct lift_writer *w, const struct rule *rule)
{
    static const double units[] = {
        [KIND_F32] = 0x1p-24, [KIND_F16] = 0x1p-11, [KIND_BF16] = 0x1p-8};
    enum lift_kind to = lift_lane_kind(lift_operand_kind(w->ins, 0));
    enum lift_kind from = lift_lane_kind(lift_operand_kind(w->ins, 1));
    bool approximate = ptx_has_modifier(w->ins, "approx") || ptx_has_modifier(w->ins, "full");
    if (*rule->opcode == 'c' && rule->text && (to == from || to == KIND_F32))
        return 0;
    double unit = w->step->strict ? 0x1p-24 : units[to];
    double scale = rule->scale < 4 && approximate ? 4 : rule->scale;
    if (to != KIND_F32 && scale > 8)
        scale = 8;
    return unit * scale * (is_directed(w->ins) ? 2 : 1);
}

/* What is flushed or rounded to zero, half a step below the least normal number; none where nothing
 * is rounded. */
static double least_magnitude(const struct lift_writer *w, const struct rule *rule)
{
    if (roundoff(w, rule) == 0)
        return 0;
    bool half = lift_lane_kind(lift_operand_kind(w->ins, 0)) == KIND_F16;
    return half && !w->step->strict ? 0x1p-25 : 0x1p-126;
}

/* One instruction of a rule. */
static void put_part(struct lift_writer *w, const char *part, size_t length, unsigned lane)
{
    char line[256];
    size_t used = 0;
    for (size_t i = 0; i < length && used + 32 < sizeof line; i++) {
        if (part[i] != '$') {
            line[used++] = part[i];
            continue;
        }
        char c = part[++i];
        int n = 0;
        if (c == 'v')
            n = snprintf(line + used, 32, "%%cd%u", lane);
        else if (c == 'e')
            n = snprintf(line + used, 32, "%%ct%u", 6 + lane);
        else if (c >= 'a' && c <= 'c')
            n = snprintf(line + used, 32, "%%cv%d", c - 'a');
        else if (c >= 'A' && c <= 'C')
            n = snprintf(line + used, 32, "%%ce%d", c - 'A');
        else if (c == 'u' || c == 't')
            n = snprintf(line + used, 32, "0d%016" PRIX64,
                         bits_of(c == 't' ? least_magnitude(w, rule_of(w->ins))
                                          : roundoff(w, rule_of(w->ins))));
        else
            n = snprintf(line + used, 32, "%%ct%c", c);
        used += (size_t)n;
    }
    lift_put(w, "%.*s;", (int)used, line);
}

static void put_rule(struct lift_writer *w, const char *text, unsigned lane)
{
    for (const char *end; (end = strchr(text, ';')); text = end + 1)
        put_part(w, text, (size_t)(end - text), lane);
}

static void put_float_call(struct lift_writer *w, const struct rule *rule, unsigned lane)
{
    unsigned numbers = *rule->opcode == 'd' ? 2 : 1;
    lift_put_plain(w, "{");
    lift_put_plain(w, ".param .b64 cuvet_u;");
    lift_put_plain(w, ".param .align 8 .b8 cuvet_result[16];");
    for (unsigned i = 0; i < numbers; i++) {
        lift_put_plain(w, ".param .b64 cuvet_v%u;", i);
        lift_put_plain(w, ".param .b64 cuvet_e%u;", i);
        lift_put_plain(w, "st.param.f64 [cuvet_v%u], %%cv%u;", i, i);
        lift_put_plain(w, "st.param.f64 [cuvet_e%u], %%ce%u;", i, i);
    }
    lift_put_plain(w, "mov.f64 %%ct0, 0d%016" PRIX64 ";", bits_of(roundoff(w, rule)));
    lift_put_plain(w, "st.param.f64 [cuvet_u], %%ct0;");
    lift_put_plain(w, "call (cuvet_result), cuvet_lift_%s, (cuvet_v0, cuvet_e0%s, cuvet_u);",
                   rule->function, numbers == 2 ? ", cuvet_v1, cuvet_e1" : "");
    lift_put_plain(w, "ld.param.f64 %%cd%u, [cuvet_result];", lane);
    lift_put_plain(w, "ld.param.f64 %%ct%u, [cuvet_result+8];", 6 + lane);
    lift_put_plain(w, "}");
}

/* A clamp to [0, 1], or to what is not negative, moves a number no further from the right one. */
static void put_clamps(struct lift_writer *w, unsigned lane)
{
    bool unit = ptx_has_modifier(w->ins, "sat");
    if (unit || ptx_has_modifier(w->ins, "relu"))
        lift_put(w, "max.f64 %%cd%u, %%cd%u, 0d0000000000000000;", lane, lane);
    if (unit)
        lift_put(w, "min.f64 %%cd%u, %%cd%u, 0d3FF0000000000000;", lane, lane);
}

/* max.NaN gives a NaN where one operand is one. */
static void put_nan(struct lift_writer *w, unsigned lane)
{
    if (!ptx_has_modifier(w->ins, "NaN"))
        return;
    lift_put_plain(w, "setp.nan.f64 %%cq0, %%cv0, %%cv1;");
    lift_put(w, "selp.f64 %%cd%u, 0d7FF8000000000000, %%cd%u, %%cq0;", lane, lane);
}

bool lift_rounds_on_purpose(const struct ptx_instruction *ins)
{
    if (lift_operand_kind(ins, 0) != KIND_F32 || *ins->opcode == 'm' || *ins->opcode == 'c')
        return false;
    for (unsigned i = 1; i < ins->operand_count; i++) {
        const struct ptx_operand *o = &ins->operands[i];
        unsigned exponent = (unsigned)(o->bits >> 23 & 255);
        if (o->kind == PTX_IMMEDIATE && exponent >= 127 + SIGNIFICANT && exponent < 127 + 25)
            return true;
    }
    return false;
}

/* cvt.rn.bf16x2.f32 d, high, low. */
static bool converts_two(const struct ptx_instruction *ins)
{
    return *ins->opcode == 'c' && ins->operand_count == 3;
}

static void put_lane(struct lift_writer *w, const struct rule *rule, unsigned lane)
{
    const struct ptx_instruction *ins = w->ins;
    if (converts_two(ins)) {
        lift_put_source(w, &ins->operands[lane ? 1 : 2], lift_operand_kind(ins, 1), 0, 0);
    } else {
        for (unsigned i = 1; i < ins->operand_count; i++)
            lift_put_source(w, &ins->operands[i], lift_operand_kind(ins, i), lane, i - 1);
    }
    if (rule->text)
        put_rule(w, rule->text, lane);
    else
        put_float_call(w, rule, lane);
    put_nan(w, lane);
    put_clamps(w, lane);
}

void lift_write_float(struct lift_writer *w)
{
    const struct ptx_operand *to = &w->ins->operands[0];
    const struct rule *rule = rule_of(w->ins);
    unsigned lanes = lift_lanes(lift_operand_kind(w->ins, 0));
    if (to->kind != PTX_REGISTER || lift_rounds_on_purpose(w->ins)) {
        lift_put_instruction(w);
        if (to->kind == PTX_REGISTER)
            lift_put_exact(w, to->reg);
        return;
    }
    for (unsigned lane = 0; lane < lanes; lane++)
        put_lane(w, rule, lane);
    lift_put_instruction(w);
    for (unsigned lane = 0; lane < lanes; lane++) {
        char v[24], e[24];
        lift_shadow_name(v, 'v', to->reg, lane);
        lift_shadow_name(e, 'e', to->reg, lane);
        lift_put(w, "mov.f64 %s, %%cd%u;", v, lane);
        lift_put(w, "mov.f64 %s, %%ct%u;", e, 6 + lane);
    }
}

/* ---- copies ---- */

static void put_copy(struct lift_writer *w, unsigned to, unsigned to_lane,
                     const struct ptx_operand *from, enum lift_kind kind, unsigned lane)
{
    char v[24], e[24];
    lift_put_source(w, from, kind, lane, 0);
    lift_shadow_name(v, 'v', to, to_lane);
    lift_shadow_name(e, 'e', to, to_lane);
    lift_put(w, "mov.f64 %s, %%cv0;", v);
    lift_put(w, "mov.f64 %s, %%ce0;", e);
}

static bool shadowed(const struct lift_writer *w, const struct ptx_operand *o)
{
    return o->kind == PTX_REGISTER && w->lift->reg[o->reg].shadow;
}

static void write_pack(struct lift_writer *w)
{
    const struct ptx_operand *to = &w->ins->operands[0], *parts = &w->ins->operands[1];
    bool single = shadowed(w, to) && w->lift->reg[to->reg].kind == KIND_F32;
    if (single && !lift_widens(parts)) { /* put together of its bits */
        lift_write_kept(w);
        return;
    }
    if (single) {
        put_copy(w, to->reg, 0, &parts->items[1], KIND_BF16, 0);
    } else if (shadowed(w, to) && parts->count == 2) {
        enum lift_kind lane = lift_lane_kind(w->lift->reg[to->reg].kind);
        for (unsigned i = 0; i < 2; i++)
            put_copy(w, to->reg, i, &parts->items[i], lane, 0);
    }
    lift_put_instruction(w);
}

/* The instruction comes first: a part may be derived from what it writes. */
static void write_unpack(struct lift_writer *w)
{
    const struct ptx_operand *parts = &w->ins->operands[0], *from = &w->ins->operands[1];
    lift_put_instruction(w);
    for (unsigned i = 0; i < parts->count; i++) {
        if (!shadowed(w, &parts->items[i]))
            continue;
        unsigned reg = parts->items[i].reg;
        if (shadowed(w, from))
            put_copy(w, reg, 0, from, w->lift->reg[from->reg].kind, i);
        else
            lift_put_exact(w, reg);
    }
}

static void write_choice(struct lift_writer *w)
{
    const struct ptx_operand *o = w->ins->operands;
    enum lift_kind kind = w->lift->reg[o[0].reg].kind;
    char v[24], e[24];
    for (unsigned lane = 0; lane < lift_lanes(kind); lane++) {
        lift_put_source(w, &o[1], kind, lane, 0);
        lift_put_source(w, &o[2], kind, lane, 1);
        lift_put(w, "selp.f64 %%cd%u, %%cv0, %%cv1, %%r%u;", lane, o[3].reg);
        lift_put(w, "selp.f64 %%ct%u, %%ce0, %%ce1, %%r%u;", 6 + lane, o[3].reg);
    }
    lift_put_instruction(w);
    for (unsigned lane = 0; lane < lift_lanes(kind); lane++) {
        lift_shadow_name(v, 'v', o[0].reg, lane);
        lift_shadow_name(e, 'e', o[0].reg, lane);
        lift_put(w, "mov.f64 %s, %%cd%u;", v, lane);
        lift_put(w, "mov.f64 %s, %%ct%u;", e, 6 + lane);
    }
}

void lift_write_move(struct lift_writer *w)
{
    const struct ptx_operand *o = w->ins->operands;
    if (lift_is_unpack(w->ins)) {
        write_unpack(w);
    } else if (!shadowed(w, &o[0])) {
        lift_put_instruction(w);
    } else if (lift_is_pack(w->ins)) {
        write_pack(w);
    } else if (*w->ins->opcode == 's') {
        write_choice(w);
    } else {
        enum lift_kind kind = w->lift->reg[o[0].reg].kind;
        for (unsigned lane = 0; lane < lift_lanes(kind); lane++)
            put_copy(w, o[0].reg, lane, &o[1], kind, lane);
        lift_put_instruction(w);
    }
}
