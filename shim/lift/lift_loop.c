/*
 * lift_loop.c - registers that a loop counts up: r = r + step, once in a loop that goes on while
 * another such register is below a limit.
 */
#include <string.h>
#include "lift/lift_parts.h"

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

/* @p bra HEAD, where p is set by setp.lt counter, limit. */
static bool read_loop_limit(const struct lift *lift, const struct ptx_instruction *back,
                            struct lift_loop *out)
{
    int def = back->guarded && !back->guard_negated ? lift->reg[back->guard].def : -1;
    if (def < 0)
        return false;
    const struct ptx_instruction *ins = &lift->kernel->instructions[def];
    bool below = ptx_has_modifier(ins, "lt") || ptx_has_modifier(ins, "lo") ||
                 ptx_has_modifier(ins, "le") || ptx_has_modifier(ins, "ne");
    if (strcmp(ins->opcode, "setp") != 0 || ins->operand_count != 3 || !below ||
        ins->operands[1].kind != PTX_REGISTER)
        return false;
    out->limit = &ins->operands[2];
    return lift_find_increment(lift, ins->operands[1].reg, &out->limit_step) >= 0;
}

bool lift_find_loop(const struct lift *lift, unsigned reg, struct lift_loop *out)
{
    int at = lift_find_increment(lift, reg, &out->step);
    int back = at < 0 ? -1 : lift_find_back(lift, (unsigned)at, &out->head);
    out->increment = (unsigned)at;
    return back >= 0 && read_loop_limit(lift, &lift->kernel->instructions[back], out);
}
