/*
 * lift_constant.c - copies of a register that holds a constant there become copies of the constant.
 * A compiler takes the register of a zero for a sum later on, whose format the copies have not.
 */
#include <string.h>
#include "lift/lift_parts.h"

/* A register that instruction `at` gives a constant, and `others` something else. */
struct constant {
    bool known;
    unsigned at, others;
    bool *reach; /* a flag for each instruction: what others wrote may be there */
};

struct constants {
    struct lift *lift;
    struct constant *of; /* by register */
    unsigned at;         /* the instruction at hand */
};

static bool is_constant(const struct ptx_instruction *ins)
{
    const struct ptx_operand *value = &ins->operands[1];
    bool whole = value->immediate_type == PTX_S64 || value->immediate_type == PTX_U64;
    return strcmp(ins->opcode, "mov") == 0 && !ins->guarded && ins->operand_count == 2 &&
           ins->operands[0].kind == PTX_REGISTER && value->kind == PTX_IMMEDIATE &&
           (whole || value->bits == 0) && ptx_type_bits(ins->types[0]) <= 32;
}

static void note_definition(void *user, unsigned reg)
{
    struct constants *c = user;
    struct constant *of = &c->of[reg];
    bool first = is_constant(&c->lift->kernel->instructions[c->at]) && !of->known;
    if (!first) {
        of->others++;
        return;
    }
    of->known = true;
    of->at = c->at;
}

/* Where the register may hold what another instruction than `of->at` has written. */
static bool *reach_of_others(struct lift *lift, const struct constant *of, unsigned reg)
{
    unsigned count = lift->kernel->instruction_count;
    bool *seen = arena_alloc(&lift->arena, count + 1);
    for (unsigned i = 0; seen && i < count; i++) {
        if (i != of->at && lift_writes(&lift->kernel->instructions[i], reg))
            seen[i + 1] = true;
    }
    if (seen)
        lift_reach_before(lift, seen, of->at);
    return seen;
}

/* The constant that the operand is in the instruction at hand; NULL: it is none. */
static const struct ptx_operand *constant_there(struct constants *c, const struct ptx_operand *o)
{
    struct constant *of = o->kind == PTX_REGISTER ? &c->of[o->reg] : NULL;
    if (!of || !of->known)
        return NULL;
    if (of->others && !of->reach)
        of->reach = reach_of_others(c->lift, of, o->reg);
    bool only = !of->others || (of->reach && !of->reach[c->at]);
    return only ? &c->lift->kernel->instructions[of->at].operands[1] : NULL;
}

/* Operands `first` to `end` - 1 of `count`, with constants in them; the same where none is. */
static const struct ptx_operand *replaced(struct constants *c, const struct ptx_operand *from,
                                          unsigned first, unsigned end, unsigned count)
{
    struct ptx_operand *to = NULL;
    for (unsigned i = first; i < end; i++) {
        const struct ptx_operand *constant = constant_there(c, &from[i]);
        if (!constant)
            continue;
        if (!to) {
            to = arena_alloc(&c->lift->arena, count * sizeof *to);
            if (!to)
                return from;
            memcpy(to, from, count * sizeof *to);
        }
        to[i] = (struct ptx_operand){
            .kind = PTX_IMMEDIATE, .immediate_type = PTX_S64, .bits = constant->bits};
    }
    return to ? to : from;
}

/* What st writes: one operand, or a vector of them. */
static const struct ptx_operand *replaced_value(struct constants *c, const struct ptx_operand *all,
                                                unsigned count)
{
    const struct ptx_operand *items = replaced(c, all[1].items, 0, all[1].count, all[1].count);
    if (all[1].kind != PTX_VECTOR || items == all[1].items)
        return replaced(c, all, 1, 2, count);
    struct ptx_operand *to = arena_alloc(&c->lift->arena, count * sizeof *to);
    if (!to)
        return all;
    memcpy(to, all, count * sizeof *to);
    to[1].items = items;
    return to;
}

static void replace_constants(struct constants *c, struct ptx_instruction *ins)
{
    const char *op = ins->opcode;
    bool bits = ins->type_count > 0 && ptx_type_bits(ins->types[0]) <= 32 &&
                !(ins->types[0] >= PTX_F16 && ins->types[0] <= PTX_E5M2X2);
    if (!bits)
        return;
    if (strcmp(op, "mov") == 0 && ins->operand_count == 2)
        ins->operands = replaced(c, ins->operands, 1, 2, 2);
    else if (strcmp(op, "selp") == 0 && ins->operand_count == 4)
        ins->operands = replaced(c, ins->operands, 1, 3, 4);
    else if (strcmp(op, "st") == 0 && ins->operand_count == 2)
        ins->operands = replaced_value(c, ins->operands, 2);
}

enum lift_refusal lift_put_constants(struct lift *lift)
{
    struct ptx_function *kernel = lift->kernel;
    unsigned count = kernel->instruction_count;
    struct constants c = {.lift = lift};
    struct ptx_instruction *own = arena_alloc(&lift->arena, (count + 1) * sizeof *own);
    c.of = arena_alloc(&lift->arena, (kernel->register_count + 1) * sizeof *c.of);
    if (!own || !c.of)
        return LIFT_OTHER;
    for (c.at = 0; c.at < count; c.at++)
        lift_each_result(&kernel->instructions[c.at], note_definition, &c);
    memcpy(own, kernel->instructions, count * sizeof *own);
    for (c.at = 0; c.at < count; c.at++)
        replace_constants(&c, &own[c.at]);
    kernel->instructions = own;
    return LIFT_OK;
}
