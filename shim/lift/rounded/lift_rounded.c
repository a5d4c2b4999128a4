/*
 * lift_rounded.c - which registers hold numbers of 8 bits that the kernel has rounded: from the
 * conversions on, through all that moves whole bytes.
 */
#include <string.h>
#include "lift/lift_parts.h"

struct rounded {
    struct lift *lift;
    uint8_t all;  /* enum lift_rounded of the sources together */
    bool unknown; /* one of them is made of numbers, and is none of 8 bits */
    bool changed;
};

static uint8_t join(uint8_t a, uint8_t b)
{
    return !a || a == b ? b : !b ? a : ROUNDED_MIXED;
}

static bool holds_bytes(const struct lift *lift, unsigned reg)
{
    const unsigned bits = ptx_type_bits(lift->kernel->registers[reg].type);
    return bits == 16 || bits == 32;
}

static void take_rounded(void *user, unsigned reg)
{
    struct rounded *r = user;
    const struct lift_register *from = &r->lift->reg[reg];
    bool number = r->lift->kernel->registers[reg].type != PTX_PRED;
    r->all = join(r->all, from->rounded);
    r->unknown |= number && from->derived && !from->rounded;
}

static void give_rounded(void *user, unsigned reg)
{
    struct rounded *r = user;
    uint8_t *there = &r->lift->reg[reg].rounded;
    uint8_t now = holds_bytes(r->lift, reg) ? join(*there, r->all) : ROUNDED_NONE;
    if (now && r->lift->reg[reg].kind)
        now = *there ? ROUNDED_MIXED : ROUNDED_NONE;
    if (now && r->unknown)
        now = ROUNDED_MIXED;
    r->changed |= now != *there;
    *there = now;
}

/* ---- instructions ---- */

uint8_t lift_rounds_small(const struct ptx_instruction *ins)
{
    if (strcmp(ins->opcode, "cvt") != 0 || ins->type_count < 2)
        return ROUNDED_NONE;
    return ins->types[0] == PTX_E4M3X2   ? ROUNDED_E4M3
           : ins->types[0] == PTX_E5M2X2 ? ROUNDED_E5M2
                                         : ROUNDED_NONE;
}

static bool is_immediate(const struct ptx_operand *o)
{
    return o->kind == PTX_IMMEDIATE && o->immediate_type != PTX_F32 && o->immediate_type != PTX_F64;
}

static bool of_whole_bytes(const struct ptx_operand *o)
{
    return is_immediate(o) && o->bits % 8 == 0;
}

static bool masks_whole_bytes(const struct ptx_operand *o, unsigned bits)
{
    bool whole = is_immediate(o);
    for (unsigned at = 0; at < bits; at += 8)
        whole &= (o->bits >> at & 255) == 0 || (o->bits >> at & 255) == 255;
    return whole;
}

static bool is_signed(enum ptx_type type)
{
    return type >= PTX_S8 && type <= PTX_S64;
}

static bool is_bits(enum ptx_type type)
{
    return (type >= PTX_B8 && type <= PTX_B64) || (type >= PTX_U8 && type <= PTX_U64);
}

/* Whether each byte of the result is a byte of a source or of a constant. */
static bool moves_bytes(const struct ptx_instruction *ins)
{
    const struct ptx_operand *o = ins->operands;
    const char *op = ins->opcode;
    const unsigned count = ins->operand_count;
    if (strcmp(op, "prmt") == 0)
        return !ins->modifier_count;
    if (strcmp(op, "or") == 0)
        return true;
    if (strcmp(op, "and") == 0)
        return count == 3 && masks_whole_bytes(&o[2], ptx_type_bits(ins->types[0]));
    if (strcmp(op, "shl") == 0 || strcmp(op, "shr") == 0)
        return count == 3 && of_whole_bytes(&o[2]) && !is_signed(ins->types[0]);
    if (strcmp(op, "bfe") == 0)
        return count == 4 && of_whole_bytes(&o[2]) && of_whole_bytes(&o[3]) &&
               !is_signed(ins->types[0]);
    if (strcmp(op, "bfi") == 0)
        return count == 5 && of_whole_bytes(&o[3]) && of_whole_bytes(&o[4]);
    return strcmp(op, "cvt") == 0 && ins->type_count == 2 && !ins->modifier_count &&
           is_bits(ins->types[0]) && is_bits(ins->types[1]);
}

bool lift_moves_bytes(const struct lift *lift, unsigned at)
{
    const enum lift_class class_ = lift->step[at].class_;
    return class_ == CLASS_MOVE || class_ == CLASS_SHUFFLE ||
           (class_ == CLASS_OTHER && moves_bytes(&lift->kernel->instructions[at]));
}

/* ---- the flow ---- */

static void spread_rounded(struct rounded *r, unsigned at)
{
    const struct ptx_instruction *ins = &r->lift->kernel->instructions[at];
    const bool load = r->lift->step[at].class_ == CLASS_LOAD;
    r->unknown = false;
    r->all = load && ins->space == PTX_SHARED ? lift_rounded_stored(r->lift, at, 0)
                                              : lift_rounds_small(ins);
    if (!load && !r->all) {
        lift_each_source(ins, take_rounded, r);
        if (!lift_moves_bytes(r->lift, at)) {
            r->unknown |= r->all != ROUNDED_NONE;
            r->all = ROUNDED_NONE;
        }
    }
    lift_each_result(ins, give_rounded, r);
}

void lift_find_rounded(struct lift *lift)
{
    struct rounded r = {.lift = lift};
    do {
        r.changed = false;
        for (unsigned i = 0; i < lift->kernel->instruction_count; i++)
            spread_rounded(&r, i);
    } while (r.changed);
}

bool lift_has_ends(const struct lift *lift, unsigned reg)
{
    const unsigned rounded = lift->reg[reg].rounded;
    return rounded != ROUNDED_NONE && rounded != ROUNDED_MIXED;
}
