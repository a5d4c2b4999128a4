/*
 * lift_level.c - which registers all threads of a block have alike, or all of the launch, and which
 * loads are settled: what they read is as good as a parameter.
 *
 * A register's level is the largest of what it is made of. Where a branch goes otherwise in some
 * threads of a block, what is written on the way is theirs.
 */
#include <string.h>
#include "lift/lift_parts.h"

struct levels {
    struct lift *lift;
    uint8_t level;
    bool changed;
};

static void gather_level(void *user, unsigned reg)
{
    struct levels *l = user;
    if (l->lift->reg[reg].level > l->level)
        l->level = l->lift->reg[reg].level;
}

static void give_level(void *user, unsigned reg)
{
    struct levels *l = user;
    uint8_t *there = &l->lift->reg[reg].level;
    l->changed |= l->level > *there;
    *there = l->level > *there ? l->level : *there;
}

/* The level of the special registers in an operand, such as %tid; the highest of several. */
static uint8_t level_of_special(const struct ptx_operand *o)
{
    uint8_t level = LEVEL_LAUNCH;
    if (o->kind == PTX_SPECIAL)
        level = strncmp(o->name, "%ctaid", 6) == 0    ? LEVEL_BLOCK
                : strncmp(o->name, "%ntid", 5) == 0   ? LEVEL_LAUNCH
                : strncmp(o->name, "%nctaid", 7) == 0 ? LEVEL_LAUNCH
                                                      : LEVEL_THREAD;
    for (unsigned i = 0; i < o->count; i++) {
        const uint8_t one = level_of_special(&o->items[i]);
        level = one > level ? one : level;
    }
    return level;
}

/* Whether what an instruction gives follows from its operands alone. So does what a lifted kernel
 * reads from global memory, of which it has one copy. */
static bool is_plain(const struct lift *lift, unsigned at)
{
    static const char *const plain[] = {"mov", "cvt", "cvta", "add", "sub",  "mul",  "mad",
                                        "div", "rem", "min",  "max", "shl",  "shr",  "and",
                                        "or",  "xor", "not",  "neg", "setp", "selp", "bfe"};
    const struct ptx_instruction *ins = &lift->kernel->instructions[at];
    if (strcmp(ins->opcode, "ld") == 0)
        return ins->space == PTX_PARAM ||
               (ins->space == PTX_GLOBAL && lift->step[at].class_ == CLASS_LOAD);
    for (unsigned i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (strcmp(ins->opcode, plain[i]) == 0)
            return true;
    }
    return false;
}

static uint8_t level_at(struct lift *lift, unsigned at)
{
    const struct ptx_instruction *ins = &lift->kernel->instructions[at];
    struct levels l = {.lift = lift, .level = is_plain(lift, at) ? LEVEL_LAUNCH : LEVEL_THREAD};
    lift_each_source(ins, gather_level, &l);
    if (ins->guarded)
        gather_level(&l, ins->guard);
    for (unsigned i = 1; i < ins->operand_count; i++) {
        const uint8_t one = level_of_special(&ins->operands[i]);
        l.level = one > l.level ? one : l.level;
    }
    return l.level;
}

/* Whether a branch leads out of the instructions from `head` to the branch back to it, or another
 * one into them: where threads leave them, or come to them, is not known then. */
static bool crosses_loop(const struct lift *lift, unsigned head, unsigned back)
{
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        if (lift->step[i].class_ != CLASS_BRANCH)
            continue;
        const unsigned target = lift->kernel->instructions[i].operands[0].target;
        if ((i >= head && i <= back) != (target >= head && target <= back))
            return true;
    }
    return false;
}

/* The instructions that threads pass over, or repeat, where a branch goes otherwise in some of a
 * block; all of them where that is not known. */
static void find_apart(const struct lift *lift, unsigned branch, unsigned *first, unsigned *end)
{
    const unsigned target = lift->kernel->instructions[branch].operands[0].target;
    *first = target <= branch ? target : branch + 1;
    *end = target <= branch ? branch : target;
    bool all = target <= branch && crosses_loop(lift, target, branch);
    for (unsigned i = branch + 1; i < target; i++)
        all |= lift->step[i].target || lift->step[i].class_ == CLASS_BRANCH;
    if (all) {
        *first = 0;
        *end = lift->kernel->instruction_count;
    }
}

static void spread_branch_level(struct levels *l, unsigned at)
{
    const struct ptx_instruction *ins = &l->lift->kernel->instructions[at];
    unsigned first, end;
    if (l->lift->step[at].class_ != CLASS_BRANCH || !ins->guarded ||
        l->lift->reg[ins->guard].level != LEVEL_THREAD)
        return;
    find_apart(l->lift, at, &first, &end);
    l->level = LEVEL_THREAD;
    for (unsigned i = first; i < end; i++)
        lift_each_result(&l->lift->kernel->instructions[i], give_level, l);
}

void lift_find_levels(struct lift *lift)
{
    struct levels l = {.lift = lift};
    do {
        l.changed = false;
        for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
            l.level = level_at(lift, i);
            lift_each_result(&lift->kernel->instructions[i], give_level, &l);
            spread_branch_level(&l, i);
        }
    } while (l.changed);
}

void lift_find_settled(struct lift *lift)
{
    for (unsigned i = 0; lift->tables && i < lift->kernel->instruction_count; i++) {
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        struct lift_step *step = &lift->step[i];
        struct levels l = {.lift = lift};
        lift_each_result(ins, gather_level, &l);
        step->settled = step->class_ == CLASS_LOAD && ins->space == PTX_GLOBAL &&
                        step->array >= 0 && !(lift->written >> step->array & 1) &&
                        l.level == LEVEL_LAUNCH;
    }
}
