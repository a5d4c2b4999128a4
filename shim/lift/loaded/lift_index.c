/*
 * lift_index.c - stores whose place comes from memory: the register that has the number which names
 * the place, and the array that it was loaded from.
 */
#include <string.h>
#include "lift/lift_parts.h"

enum { INDEX_DEEP = 24 };

struct sources {
    const struct lift *lift;
    unsigned count, reg; /* of those that come from memory, and the last of them */
};

static void note_loaded_source(void *user, unsigned reg)
{
    struct sources *s = user;
    if (!s->lift->reg[reg].loaded || (s->count && s->reg == reg))
        return;
    s->count++;
    s->reg = reg;
}

/* Whether the results of an instruction differ where its sources do, as places of elements do. */
static bool passes_index(const struct ptx_instruction *ins)
{
    static const char *const passing[] = {"add", "sub", "mul", "mad", "shl", "cvt", "or", "mov"};
    for (unsigned i = 0; i < sizeof passing / sizeof *passing; i++) {
        if (strcmp(ins->opcode, passing[i]) == 0)
            return lift_whole_numbers(ins) && !ptx_has_modifier(ins, "hi");
    }
    return false;
}

/* r = r + step, the step not from memory. */
static bool increments(const struct lift *lift, const struct ptx_instruction *ins, unsigned reg)
{
    const struct ptx_operand *step = NULL;
    bool own = false;
    for (unsigned i = 1; strcmp(ins->opcode, "add") == 0 && i < ins->operand_count; i++) {
        if (ins->operands[i].kind == PTX_REGISTER && ins->operands[i].reg == reg)
            own = true;
        else
            step = &ins->operands[i];
    }
    return own && step && (step->kind != PTX_REGISTER || !lift->reg[step->reg].loaded);
}

/* The only instruction that writes the register, constants aside, and increments where these do not
 * count; -1: none, or several. */
static int only_writer(const struct lift *lift, unsigned reg, bool increments_count)
{
    int found = -1;
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        bool constant = strcmp(ins->opcode, "mov") == 0 && ins->operand_count == 2 &&
                        ins->operands[1].kind == PTX_IMMEDIATE;
        if (constant || !lift_writes(ins, reg) || (!increments_count && increments(lift, ins, reg)))
            continue;
        if (found >= 0)
            return -1;
        found = (int)i;
    }
    return found;
}

/* Whether a load gives the register all of an element that an array of indices has at a place which
 * memory does not decide on. */
static bool loads_index(const struct lift *lift, unsigned at, unsigned reg)
{
    const struct ptx_instruction *ins = &lift->kernel->instructions[at];
    const int array = lift->step[at].array;
    struct sources place = {.lift = lift};
    if (array < 0 || only_writer(lift, reg, true) != (int)at)
        return false;
    lift_each_register(&ins->operands[1], note_loaded_source, &place);
    const enum dtype dtype = lift->view[array].dtype;
    const unsigned bits = ptx_type_bits(ins->types[0]);
    return !place.count &&
           ((dtype == DTYPE_I32 && bits == 32) || (dtype == DTYPE_I64 && bits == 64));
}

struct lift_index lift_find_index(const struct lift *lift, const struct ptx_operand *place)
{
    const struct lift_index none = {-1, -1};
    struct sources s = {.lift = lift};
    lift_each_register(place, note_loaded_source, &s);
    for (unsigned deep = 0; s.count == 1 && deep < INDEX_DEEP; deep++) {
        const int at = only_writer(lift, s.reg, false);
        if (at < 0)
            return none;
        const struct ptx_instruction *ins = &lift->kernel->instructions[at];
        if (lift->step[at].class_ == CLASS_LOAD && ins->space == PTX_GLOBAL)
            return loads_index(lift, (unsigned)at, s.reg)
                       ? (struct lift_index){(int)s.reg, lift->step[at].array}
                       : none;
        if (!passes_index(ins))
            return none;
        s.count = 0;
        lift_each_source(ins, note_loaded_source, &s);
    }
    return none;
}

bool lift_is_index(const struct lift *lift, unsigned array)
{
    bool any = false;
    for (unsigned i = 0; i < lift->views; i++)
        any |= lift->view[i].scattered && lift->view[i].index == (int)array;
    return any;
}
