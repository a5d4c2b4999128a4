/* fault.c - one sentence about why a launch ended, and where. */
#include <stdio.h>
#include "exec/run/state.h"

static const char *meaning(enum exec_outcome outcome)
{
    switch (outcome) {
    case EXEC_ILLEGAL_ADDRESS:
        return "illegal address";
    case EXEC_MISALIGNED:
        return "misaligned address";
    case EXEC_ILLEGAL_INSTRUCTION:
        return "illegal instruction";
    case EXEC_TRAP:
        return "trap";
    case EXEC_ASSERT:
        return "assertion failed";
    case EXEC_STACK_OVERFLOW:
        return "stack overflow";
    default:
        return "stopped";
    }
}

enum step fault_at(struct warp *w, uint32_t mask, enum exec_outcome outcome, uint64_t address,
                   const char *what)
{
    struct launch *l = w->launch;
    struct exec_fault *fault = l->fault;
    unsigned lane = first_lane(mask ? mask : w->active);
    const struct code *code = w->f->frame->code;
    const struct op *op = code->ops + (w->f->pc < code->count ? w->f->pc : code->count);
    const struct ptx_instruction *ins = op->instruction;
    fault->outcome = outcome;
    fault->address = address;
    for (unsigned i = 0; i < 3; i++) {
        fault->block[i] = w->block->index[i];
        fault->thread[i] = w->tid[i][lane];
    }
    const char *inside = code->ptx == l->kernel->ptx ? "" : code->ptx->name;
    snprintf(fault->text, sizeof fault->text,
             "%.80s%s%.60s: %s (PTX line %u): %s 0x%llx%s%s, block (%u,%u,%u), thread (%u,%u,%u)",
             l->kernel->ptx->name, *inside ? " in " : "", inside, ins ? ins->text : "end",
             ins ? ins->line : code->ptx->line, meaning(outcome), (unsigned long long)address,
             what ? ", " : "", what ? what : "", fault->block[0], fault->block[1], fault->block[2],
             fault->thread[0], fault->thread[1], fault->thread[2]);
    return STEP_FAULT;
}
