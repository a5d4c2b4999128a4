/*
 * lift_guard.c - what is known of registers where an instruction runs: its own guard holds, and the
 * branches around it were not taken.
 */
#include <string.h>
#include "lift/lift_parts.h"

struct guards {
    const struct lift *lift;
    struct lift_limit *out;
    unsigned count;
};

static void add_limit(struct guards *g, const struct ptx_operand *reg,
                      const struct ptx_operand *below, bool equal)
{
    if (g->count == LIFT_LIMITS || reg->kind != PTX_REGISTER)
        return;
    g->out[g->count++] = (struct lift_limit){reg->reg, below, equal};
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
        add_limit(g, first ? &o[1] : &o[2], first ? &o[2] : &o[1], equal);
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

unsigned lift_limits(const struct lift *lift, unsigned at, struct lift_limit *out)
{
    const struct ptx_instruction *all = lift->kernel->instructions;
    struct guards g = {.lift = lift, .out = out};
    if (all[at].guarded)
        predicate(&g, all[at].guard, !all[at].guard_negated, 0);
    for (unsigned i = 0; i < at; i++) {
        if (lift->step[i].class_ == CLASS_BRANCH && all[i].guarded &&
            all[i].operands[0].target > at && encloses(lift, i, at))
            predicate(&g, all[i].guard, all[i].guard_negated, 0);
    }
    return g.count;
}
