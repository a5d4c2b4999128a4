/*
 * lift_loaded.c - what depends on memory. A store whose place does may be one of several to that
 * place, of which the snapshot has the last: such kernels are refused. A loop that memory ends
 * might have no end where an access is refused and gives 0: it is left then.
 */
#include <string.h>
#include "lift/lift_parts.h"

struct loaded {
    struct lift *lift;
    bool any, changed;
};

static void gather_loaded(void *user, unsigned reg)
{
    struct loaded *l = user;
    l->any |= l->lift->reg[reg].loaded;
}

static void give_loaded(void *user, unsigned reg)
{
    struct loaded *l = user;
    l->changed |= l->any && !l->lift->reg[reg].loaded;
    l->lift->reg[reg].loaded |= l->any;
}

static void spread_loaded(struct lift *lift)
{
    struct loaded l = {.lift = lift};
    do {
        l.changed = false;
        for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
            const struct ptx_instruction *ins = &lift->kernel->instructions[i];
            enum lift_class class_ = lift->step[i].class_;
            l.any = class_ == CLASS_LOAD || class_ == CLASS_PRODUCT;
            lift_each_source(ins, gather_loaded, &l);
            if (ins->guarded)
                l.any |= lift->reg[ins->guard].loaded;
            lift_each_result(ins, give_loaded, &l);
        }
    } while (l.changed);
}

/* Whether a barrier counts threads: those that have ended are missing from it. */
static bool counts_threads(const struct ptx_instruction *ins)
{
    bool barrier = strcmp(ins->opcode, "bar") == 0 || strcmp(ins->opcode, "barrier") == 0;
    return barrier && !ptx_has_modifier(ins, "warp") && !ptx_has_modifier(ins, "red") &&
           ins->operand_count > 1;
}

static const struct ptx_instruction *find_counting(const struct lift *lift)
{
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        if (counts_threads(&lift->kernel->instructions[i]))
            return &lift->kernel->instructions[i];
    }
    return NULL;
}

enum lift_refusal lift_find_loaded(struct lift *lift, struct error *err)
{
    const struct ptx_instruction *counting = find_counting(lift);
    spread_loaded(lift);
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        struct loaded l = {.lift = lift};
        if (lift->step[i].class_ == CLASS_STORE && lift->step[i].array >= 0)
            lift_each_register(&ins->operands[0], gather_loaded, &l);
        if (l.any)
            return lift_refuse(lift, ins, LIFT_SCATTER, err);
        bool back = lift->step[i].class_ == CLASS_BRANCH && ins->operands[0].target <= i;
        /* Without a guard the loop is left from its middle: anything may decide that. */
        lift->step[i].leaves = back && (!ins->guarded || lift->reg[ins->guard].loaded);
        if (lift->step[i].leaves && counting)
            return lift_refuse(lift, counting, LIFT_WAITS, err);
    }
    return LIFT_OK;
}
