/*
 * lift_rounded.c - which registers hold numbers that the kernel has rounded to 8 bits or to whole
 * numbers: from the conversions on, through all that keeps their order or moves whole bytes.
 */
#include <string.h>
#include "lift/lift_parts.h"

struct rounded {
    struct lift *lift;
    uint8_t all;  /* enum lift_rounded of the sources together */
    bool unknown; /* one of them is made of numbers, and has no ends */
    bool mixed;   /* one of them is ROUNDED_MIXED */
    bool shared;  /* shared memory holds numbers that are mixed, or whole f32 */
    bool late;    /* what has no ends by now gets none */
    bool changed;
};

static const struct {
    unsigned bytes;
    bool whole, is_signed;
} rounded_info[] = {[ROUNDED_E4M3] = {1, false, false}, [ROUNDED_E5M2] = {1, false, false},
                    [ROUNDED_I8] = {1, true, true},     [ROUNDED_I16] = {2, true, true},
                    [ROUNDED_I32] = {4, true, true},    [ROUNDED_U8] = {1, true, false},
                    [ROUNDED_U16] = {2, true, false},   [ROUNDED_U32] = {4, true, false},
                    [ROUNDED_F32] = {4, false, false},  [ROUNDED_MIXED] = {4, false, false}};

unsigned lift_rounded_bytes(uint8_t rounded)
{
    return rounded_info[rounded].bytes;
}

/* Integers of so many bytes. */
static uint8_t integers(bool is_signed, unsigned bytes)
{
    return (uint8_t)((is_signed ? ROUNDED_I8 : ROUNDED_U8) + (bytes > 2 ? 2 : bytes - 1));
}

/* Integers of several sizes are those of the least. */
static uint8_t join(uint8_t a, uint8_t b)
{
    if (!a || a == b)
        return b;
    if (!b)
        return a;
    if (!rounded_info[a].whole || !rounded_info[b].whole)
        return ROUNDED_MIXED;
    return rounded_info[b].bytes < rounded_info[a].bytes ? b : a;
}

/* A register of f32 has ends as numbers, another as bytes. */
static bool may_hold(const struct lift *lift, unsigned reg, uint8_t rounded)
{
    const unsigned bits = ptx_type_bits(lift->kernel->registers[reg].type);
    const enum lift_kind kind = lift->reg[reg].kind;
    if (rounded == ROUNDED_MIXED)
        return true;
    return rounded == ROUNDED_F32 ? kind == KIND_F32 : !kind && (bits == 16 || bits == 32);
}

static void take_rounded(void *user, unsigned reg)
{
    struct rounded *r = user;
    const struct lift_register *from = &r->lift->reg[reg];
    bool number = r->lift->kernel->registers[reg].type != PTX_PRED;
    r->all = join(r->all, from->rounded);
    r->mixed |= from->rounded == ROUNDED_MIXED;
    r->unknown |= number && from->derived && !from->rounded;
}

static void give_rounded(void *user, unsigned reg)
{
    struct rounded *r = user;
    uint8_t *there = &r->lift->reg[reg].rounded;
    uint8_t now = join(*there, r->all);
    if (r->lift->kernel->registers[reg].type == PTX_PRED)
        return;
    if (now && !may_hold(r->lift, reg, now))
        now = *there ? ROUNDED_MIXED : ROUNDED_NONE;
    if (now && r->unknown && r->late)
        now = ROUNDED_MIXED;
    r->changed |= now != *there;
    *there = now;
}

/* Notes stores of numbers with shadows to shared memory, which then holds no ends of them. */
static void note_mixed(void *user, unsigned reg)
{
    struct rounded *r = user;
    const struct lift_register *from = &r->lift->reg[reg];
    const bool mixed = from->kind && from->rounded;
    r->changed |= mixed && !r->shared;
    r->shared |= mixed;
}

static void give_mixed(void *user, unsigned reg)
{
    struct rounded *r = user;
    struct lift_register *to = &r->lift->reg[reg];
    r->changed |= to->kind && to->rounded != ROUNDED_MIXED;
    to->rounded = to->kind ? ROUNDED_MIXED : to->rounded;
}

/* ---- instructions ---- */

static bool is_signed_type(enum ptx_type type)
{
    return type >= PTX_S8 && type <= PTX_S64;
}

static bool is_unsigned_type(enum ptx_type type)
{
    return type >= PTX_U8 && type <= PTX_U64;
}

static bool rounds_to_whole(const struct ptx_instruction *ins)
{
    static const char *const words[] = {"rni", "rzi", "rmi", "rpi"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (ptx_has_modifier(ins, words[i]))
            return true;
    }
    return false;
}

uint8_t lift_rounds_to(const struct ptx_instruction *ins)
{
    if (strcmp(ins->opcode, "cvt") != 0 || ins->type_count < 2)
        return ROUNDED_NONE;
    const enum ptx_type to = ins->types[0];
    if (to == PTX_E4M3X2 || to == PTX_E5M2X2)
        return to == PTX_E4M3X2 ? ROUNDED_E4M3 : ROUNDED_E5M2;
    if (ins->types[1] != PTX_F32 || !rounds_to_whole(ins))
        return ROUNDED_NONE;
    if (to == PTX_F32)
        return ROUNDED_F32;
    const bool integer = is_signed_type(to) || is_unsigned_type(to);
    return integer && ptx_type_bits(to) <= 32 ? integers(is_signed_type(to), ptx_type_bits(to) / 8)
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
        return count == 3 && of_whole_bytes(&o[2]) && !is_signed_type(ins->types[0]);
    if (strcmp(op, "bfe") == 0)
        return count == 4 && of_whole_bytes(&o[2]) && of_whole_bytes(&o[3]) &&
               !is_signed_type(ins->types[0]);
    if (strcmp(op, "bfi") == 0)
        return count == 5 && of_whole_bytes(&o[3]) && of_whole_bytes(&o[4]);
    return strcmp(op, "cvt") == 0 && ins->type_count == 2 && !ins->modifier_count &&
           is_unsigned_type(ins->types[0]) && is_unsigned_type(ins->types[1]);
}

/* Whether a larger whole number gives a larger result, or for what is subtracted a smaller one. */
static bool keeps_order(const struct ptx_instruction *ins)
{
    const bool cvt = strcmp(ins->opcode, "cvt") == 0;
    const bool sum = strcmp(ins->opcode, "add") == 0 || strcmp(ins->opcode, "sub") == 0;
    const bool choice = strcmp(ins->opcode, "min") == 0 || strcmp(ins->opcode, "max") == 0;
    for (unsigned i = 0; i < ins->type_count; i++) {
        const enum ptx_type type = ins->types[i];
        if (!is_signed_type(type) && !is_unsigned_type(type) && type != PTX_F32)
            return false;
    }
    if (cvt)
        return ins->type_count == 2 && (ins->types[0] != PTX_F32 || rounds_to_whole(ins));
    return (sum || choice) && ins->operand_count == 3 && ins->type_count == 1 &&
           !ptx_has_modifier(ins, "xorsign");
}

bool lift_moves_ends(const struct lift *lift, unsigned at, uint8_t rounded)
{
    const struct ptx_instruction *ins = &lift->kernel->instructions[at];
    const enum lift_class class_ = lift->step[at].class_;
    const bool order = rounded == ROUNDED_F32 || rounded_info[rounded].whole;
    if (class_ == CLASS_MOVE || class_ == CLASS_SHUFFLE)
        return true;
    if (class_ != CLASS_OTHER && class_ != CLASS_FLOAT)
        return false;
    return (order && keeps_order(ins)) || (rounded != ROUNDED_F32 && moves_bytes(ins));
}

/* Bytes of the integers in a result, where the instruction takes larger ones apart. */
static unsigned taken_apart(const struct ptx_instruction *ins)
{
    const struct ptx_operand *o = ins->operands;
    const unsigned last = ins->operand_count - 1;
    if (strcmp(ins->opcode, "prmt") == 0)
        return 1;
    if (strcmp(ins->opcode, "and") == 0)
        return o[2].bits == 0xffff ? 2 : 1;
    if (strcmp(ins->opcode, "bfe") == 0 || strcmp(ins->opcode, "bfi") == 0)
        return o[last].bits % 16 ? 1 : o[last].bits % 32 ? 2 : 4;
    if (strcmp(ins->opcode, "shl") == 0 || strcmp(ins->opcode, "shr") == 0)
        return o[last].bits % 16 ? 1 : 2;
    if (strcmp(ins->opcode, "cvt") == 0)
        return ptx_type_bits(ins->types[0]) / 8;
    return 4;
}

/* What a moved number is. */
static uint8_t moved(const struct ptx_instruction *ins, uint8_t rounded)
{
    if (strcmp(ins->opcode, "cvt") == 0 && lift_rounds_to(ins))
        return lift_rounds_to(ins);
    if (!rounded_info[rounded].whole)
        return rounded;
    const unsigned bytes = taken_apart(ins), own = rounded_info[rounded].bytes;
    return integers(rounded_info[rounded].is_signed, bytes < own ? bytes : own);
}

/* ---- the flow ---- */

/* A number that is rounded to a whole one and then calculated with has no ends: it may be off by a
 * whole step where the value lies between two. So have f32 that are made of integers or of bits. */
static bool is_stepped(const struct rounded *r, const struct ptx_instruction *ins)
{
    const unsigned at = (unsigned)(ins - r->lift->kernel->instructions);
    const bool number = ins->operand_count && ins->operands[0].kind == PTX_REGISTER &&
                        r->lift->reg[ins->operands[0].reg].kind;
    const bool bits = r->lift->step[at].class_ == CLASS_OTHER;
    const bool arithmetic = bits || r->lift->step[at].class_ == CLASS_FLOAT;
    const bool steps = r->mixed || r->all == ROUNDED_F32 || rounded_info[r->all].whole;
    if (r->lift->step[at].class_ == CLASS_PRODUCT)
        return steps;
    if (!number || !arithmetic || (strcmp(ins->opcode, "copysign") == 0 && !steps))
        return false;
    return steps || (bits && r->unknown && r->late) || lift_rounds_on_purpose(ins);
}

static void spread_from_sources(struct rounded *r, unsigned at)
{
    const struct ptx_instruction *ins = &r->lift->kernel->instructions[at];
    const uint8_t to = lift_rounds_to(ins);
    const bool small = to == ROUNDED_E4M3 || to == ROUNDED_E5M2;
    lift_each_source(ins, take_rounded, r);
    if (small || (to && !r->all)) { /* from numbers, which have no ends */
        r->all = to;
        r->unknown = false;
    } else if (r->all && lift_moves_ends(r->lift, at, r->all)) {
        r->all = moved(ins, r->all);
    } else if (is_stepped(r, ins)) {
        r->all = ROUNDED_MIXED;
    } else {
        r->unknown |= r->all != ROUNDED_NONE;
        r->all = ROUNDED_NONE;
    }
}

static void spread_rounded(struct rounded *r, unsigned at)
{
    const struct ptx_instruction *ins = &r->lift->kernel->instructions[at];
    const enum lift_class class_ = r->lift->step[at].class_;
    const bool shared = ins->space == PTX_SHARED;
    r->all = ROUNDED_NONE;
    r->unknown = r->mixed = false;
    if (class_ == CLASS_LOAD && shared)
        r->all = lift_rounded_stored(r->lift, at, 0);
    else if (class_ != CLASS_LOAD)
        spread_from_sources(r, at);
    lift_each_result(ins, give_rounded, r);
    if (class_ == CLASS_LOAD && shared && r->shared)
        lift_each_result(ins, give_mixed, r);
    if (class_ == CLASS_STORE && shared)
        lift_each_register(&ins->operands[1], note_mixed, r);
}

void lift_find_rounded(struct lift *lift)
{
    struct rounded r = {.lift = lift};
    for (unsigned round = 0; round < 2; round++) {
        r.late = round;
        do {
            r.changed = false;
            for (unsigned i = 0; i < lift->kernel->instruction_count; i++)
                spread_rounded(&r, i);
        } while (r.changed);
    }
}

bool lift_has_ends(const struct lift *lift, unsigned reg)
{
    const unsigned rounded = lift->reg[reg].rounded;
    return rounded != ROUNDED_NONE && rounded != ROUNDED_MIXED;
}

uint8_t lift_rounded_part(uint8_t rounded, unsigned bytes)
{
    const bool larger = rounded_info[rounded].whole && rounded_info[rounded].bytes > bytes;
    return larger ? integers(rounded_info[rounded].is_signed, bytes) : rounded;
}

bool lift_keeps_ends(const struct lift *lift, unsigned reg)
{
    return lift_has_ends(lift, reg) && lift->reg[reg].rounded != ROUNDED_F32;
}
