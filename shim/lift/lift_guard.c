/*
 * lift_guard.c - what is known of registers where an instruction runs: its own guard holds, and the
 * branches around it were not taken. And registers that a loop counts up: r = r + step, once in a
 * loop that goes on while another such register is below a limit.
 */
#include <string.h>
#include "lift/lift_parts.h"

struct guards {
    const struct lift *lift;
    struct lift_limit *out;
    unsigned count;
};

enum { PARTS_DEEP = 3 };

/* The instruction of whole numbers that alone defines a register, by its opcode; NULL: another. */
static const struct ptx_instruction *defined_by(const struct lift *lift,
                                                const struct ptx_operand *o, const char *opcode)
{
    int def = o->kind == PTX_REGISTER ? lift->reg[o->reg].def : -1;
    const struct ptx_instruction *ins = def < 0 ? NULL : &lift->kernel->instructions[def];
    return ins && lift_whole_numbers(ins) && strcmp(ins->opcode, opcode) == 0 ? ins : NULL;
}

const struct ptx_instruction *lift_conversion(const struct lift *lift, const struct ptx_operand *o)
{
    const struct ptx_instruction *ins = defined_by(lift, o, "cvt");
    if (!ins || ins->operands[1].kind != PTX_REGISTER)
        return NULL;
    const enum ptx_type held = lift->kernel->registers[ins->operands[1].reg].type;
    return ptx_type_bits(held) <= ptx_type_bits(ins->types[1]) ? ins : NULL;
}

/* A conversion that leaves a whole number as it is: to as many bits or more, or back to those that
 * it was made of. NULL: `o` is the result of another instruction. */
static const struct ptx_instruction *converted(const struct lift *lift, const struct ptx_operand *o)
{
    const struct ptx_instruction *ins = lift_conversion(lift, o);
    if (!ins || ptx_type_bits(ins->types[1]) <= ptx_type_bits(ins->types[0]))
        return ins;
    const struct ptx_instruction *wide = lift_conversion(lift, &ins->operands[1]);
    return wide && ptx_type_bits(wide->types[1]) <= ptx_type_bits(ins->types[0]) ? ins : NULL;
}

/* The limit of a sum holds for its parts as well, none of which is negative, and that of a
 * converted number for the number; r < c - d is r + d < c. */
static void add_limit(struct guards *g, const struct ptx_operand *reg,
                      const struct ptx_operand *below, bool equal, unsigned deep)
{
    if (g->count == LIFT_LIMITS || reg->kind != PTX_REGISTER || deep > PARTS_DEEP)
        return;
    const struct ptx_instruction *rest = defined_by(g->lift, below, "sub");
    if (rest) {
        add_limit(g, reg, &rest->operands[1], equal, deep + 1);
        add_limit(g, &rest->operands[2], &rest->operands[1], equal, deep + 1);
        return;
    }
    g->out[g->count++] = (struct lift_limit){reg->reg, below, equal};
    const struct ptx_instruction *made = converted(g->lift, reg);
    if (made)
        add_limit(g, &made->operands[1], below, equal, deep);
    const struct ptx_instruction *parts = defined_by(g->lift, reg, "or");
    if (!parts)
        parts = defined_by(g->lift, reg, "add");
    for (unsigned i = 1; parts && i < 3; i++) {
        const struct ptx_operand *other = &parts->operands[3 - i];
        bool negative = other->kind == PTX_IMMEDIATE && (int64_t)other->bits < 0;
        if (!negative)
            add_limit(g, &parts->operands[i], below, equal, deep + 1);
    }
}

/* A comparison that holds, or that does not. */
static void add_comparison(struct guards *g, const struct ptx_instruction *ins, bool holds)
{
    static const struct {
        const char *word;
        signed char less; /* 1: the first is less; -1: the second is; 0: they are equal */
        bool equal;
    } rows[] = {{"lt", 1, false}, {"le", 1, true}, {"gt", -1, false}, {"ge", -1, true},
                {"lo", 1, false}, {"ls", 1, true}, {"hi", -1, false}, {"hs", -1, true}};
    const struct ptx_operand *o = ins->operands;
    if (lift_operand_kind(ins, 1))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!ptx_has_modifier(ins, rows[i].word))
            continue;
        bool first = (rows[i].less > 0) == holds, equal = rows[i].equal == holds;
        add_limit(g, first ? &o[1] : &o[2], first ? &o[2] : &o[1], equal, 0);
    }
}

static void predicate(struct guards *g, unsigned reg, bool holds, unsigned deep)
{
    int def = g->lift->reg[reg].def;
    if (def < 0 || deep > 8)
        return;
    const struct ptx_instruction *ins = &g->lift->kernel->instructions[def];
    const struct ptx_operand *o = ins->operands;
    if (strcmp(ins->opcode, "setp") == 0 && o[0].kind == PTX_REGISTER && ins->operand_count == 3)
        add_comparison(g, ins, holds);
    if (strcmp(ins->opcode, "not") == 0 && o[1].kind == PTX_REGISTER)
        predicate(g, o[1].reg, !holds, deep + 1);
    bool both = strcmp(ins->opcode, holds ? "and" : "or") == 0;
    for (unsigned i = 1; both && i < ins->operand_count; i++) {
        if (o[i].kind == PTX_REGISTER)
            predicate(g, o[i].reg, holds, deep + 1);
    }
}

unsigned lift_limits_if(const struct lift *lift, unsigned reg, bool holds, struct lift_limit *out)
{
    struct guards g = {.lift = lift, .out = out};
    predicate(&g, reg, holds, 0);
    return g.count;
}

/* Whether all that may run between the branch and `at` came past the branch: nothing jumps in. */
static bool encloses(const struct lift *lift, unsigned branch, unsigned at)
{
    const struct ptx_function *kernel = lift->kernel;
    for (unsigned i = 0; i < kernel->instruction_count; i++) {
        if (lift->step[i].class_ != CLASS_BRANCH)
            continue;
        unsigned target = kernel->instructions[i].operands[0].target;
        bool inside = i > branch && i < kernel->instructions[branch].operands[0].target;
        if (target > branch && target <= at && !inside)
            return false;
    }
    return true;
}

/* A copy of no bytes reads nothing: of selp(bytes, 0, p) p holds. */
static void add_copy_size(struct guards *g, const struct ptx_operand *size, unsigned deep)
{
    const struct ptx_instruction *ins = defined_by(g->lift, size, "selp");
    if (!ins || deep > PARTS_DEEP || ins->operands[3].kind != PTX_REGISTER ||
        ins->operands[2].kind != PTX_IMMEDIATE || ins->operands[2].bits)
        return;
    predicate(g, ins->operands[3].reg, true, 0);
    add_copy_size(g, &ins->operands[1], deep + 1);
}

unsigned lift_limits(const struct lift *lift, unsigned at, struct lift_limit *out)
{
    const struct ptx_instruction *all = lift->kernel->instructions;
    struct guards g = {.lift = lift, .out = out};
    if (all[at].guarded)
        predicate(&g, all[at].guard, !all[at].guard_negated, 0);
    if (lift->step[at].class_ == CLASS_ASYNC && all[at].operand_count > 3)
        add_copy_size(&g, &all[at].operands[3], 0);
    for (unsigned i = 0; i < at; i++) {
        if (lift->step[i].class_ == CLASS_BRANCH && all[i].guarded &&
            all[i].operands[0].target > at && encloses(lift, i, at))
            predicate(&g, all[i].guard, all[i].guard_negated, 0);
    }
    return g.count;
}

/* ---- loops ---- */

struct writes {
    unsigned reg;
    bool found;
};

static void note_register(void *user, unsigned reg)
{
    struct writes *w = user;
    w->found |= w->reg == reg;
}

bool lift_writes(const struct ptx_instruction *ins, unsigned reg)
{
    struct writes w = {reg, false};
    lift_each_result(ins, note_register, &w);
    return w.found;
}

int lift_find_increment(const struct lift *lift, unsigned reg, const struct ptx_operand **step)
{
    int at = -1;
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        const struct ptx_operand *o = ins->operands;
        if (strcmp(ins->opcode, "add") != 0 || o[0].kind != PTX_REGISTER || o[0].reg != reg)
            continue;
        bool first = o[1].kind == PTX_REGISTER && o[1].reg == reg;
        bool second = o[2].kind == PTX_REGISTER && o[2].reg == reg;
        if (first == second)
            continue;
        *step = first ? &o[2] : &o[1];
        at = at == -1 ? (int)i : -2;
    }
    return at;
}

int lift_find_back(const struct lift *lift, unsigned at, unsigned *head)
{
    for (unsigned i = at; i < lift->kernel->instruction_count; i++) {
        if (lift->step[i].class_ != CLASS_BRANCH)
            continue;
        *head = lift->kernel->instructions[i].operands[0].target;
        if (*head <= at)
            return (int)i;
    }
    return -1;
}

/* The counter, which is operand `at` of setp or is converted to it, and the limit that it is
 * compared to. */
static bool read_counter(const struct lift *lift, const struct ptx_instruction *ins, unsigned at,
                         const char *const *words, struct lift_loop *out)
{
    const struct ptx_operand *o = &ins->operands[at];
    bool below = false;
    for (unsigned i = 0; words[i]; i++)
        below |= ptx_has_modifier(ins, words[i]);
    const struct ptx_instruction *made = lift_conversion(lift, o);
    o = made ? &made->operands[1] : o;
    out->limit = &ins->operands[3 - at];
    out->counter = o->kind == PTX_REGISTER ? o->reg : 0;
    return below && o->kind == PTX_REGISTER &&
           lift_find_increment(lift, o->reg, &out->limit_step) >= 0;
}

/* @p bra HEAD, where p is set by setp.lt counter, limit, or setp.gt limit, counter. */
static bool read_loop_limit(const struct lift *lift, const struct ptx_instruction *back,
                            struct lift_loop *out)
{
    static const char *const first[] = {"lt", "lo", "le", "ne", NULL};
    static const char *const second[] = {"gt", "hi", "ge", "ne", NULL};
    int def = back->guarded && !back->guard_negated ? lift->reg[back->guard].def : -1;
    if (def < 0)
        return false;
    const struct ptx_instruction *ins = &lift->kernel->instructions[def];
    return strcmp(ins->opcode, "setp") == 0 && ins->operand_count == 3 &&
           (read_counter(lift, ins, 1, first, out) || read_counter(lift, ins, 2, second, out));
}

/* A loop whose end is laid out in front of its body: the branch behind the increment goes forward,
 * and nothing comes to it otherwise. So elsewhere the counter is below the limit. */
static bool read_front_end(const struct lift *lift, struct lift_loop *out)
{
    unsigned at = out->increment + 1;
    while (at < lift->kernel->instruction_count && !lift->step[at].target &&
           lift->step[at].class_ != CLASS_BRANCH)
        at++;
    if (at == lift->kernel->instruction_count || lift->step[at].target)
        return false;
    const struct ptx_instruction *branch = &lift->kernel->instructions[at];
    if (!read_loop_limit(lift, branch, out))
        return false;
    const struct ptx_instruction *ins = &lift->kernel->instructions[lift->reg[branch->guard].def];
    out->head = out->increment;
    out->below = !ptx_has_modifier(ins, "le") && !ptx_has_modifier(ins, "ge");
    return true;
}

bool lift_find_loop(const struct lift *lift, unsigned reg, struct lift_loop *out)
{
    int at = lift_find_increment(lift, reg, &out->step);
    int back = at < 0 ? -1 : lift_find_back(lift, (unsigned)at, &out->head);
    out->increment = (unsigned)at;
    out->below = false;
    return back >= 0 && (read_loop_limit(lift, &lift->kernel->instructions[back], out) ||
                         read_front_end(lift, out));
}
