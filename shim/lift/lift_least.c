/*
 * lift_least.c - where the accesses of an array begin, for the blocks from `first_block` on. What
 * is too small costs bytes of a snapshot; where nothing is known it is 0. Parameters count as not
 * negative.
 */
#include <string.h>
#include "lift/lift_parts.h"

enum { DEEP = 16, LONG = 300 };

struct least {
    struct lift *lift;
    unsigned deep;
};

static const char *least_operand(struct least *l, const struct ptx_operand *operand);

static bool is_zero(const char *text)
{
    return strcmp(text, "0") == 0;
}

static const char *keep_least(const char *text)
{
    return text && strlen(text) <= LONG ? text : "0";
}

static const char *least_sum(struct least *l, const char *x, const char *y)
{
    if (is_zero(x) || is_zero(y))
        return is_zero(x) ? y : x;
    return keep_least(arena_format(&l->lift->arena, "(%s + %s)", x, y));
}

static const char *least_product(struct least *l, const char *x, const char *y)
{
    if (is_zero(x) || is_zero(y))
        return "0";
    return keep_least(arena_format(&l->lift->arena, "(%s * %s)", x, y));
}

static bool least_constant(const struct ptx_operand *o, int64_t *out)
{
    *out = (int64_t)o->bits;
    return o->kind == PTX_IMMEDIATE &&
           (o->immediate_type == PTX_S64 || o->immediate_type == PTX_U64);
}

/* (x op c), c a constant of 1 to 2^40. */
static const char *by_constant(struct least *l, const char *x, const char *op, int64_t c)
{
    bool known = c > 0 && c <= (int64_t)1 << 40 && !is_zero(x);
    return known ? keep_least(arena_format(&l->lift->arena, "(%s %s %lld)", x, op, (long long)c))
                 : "0";
}

static const char *least_parameter(struct least *l, const struct ptx_instruction *ins, unsigned reg)
{
    const struct ptx_operand *memory = &ins->operands[1];
    const struct ptx_operand *at = memory->count ? &memory->items[0] : NULL;
    bool plain = ins->space == PTX_PARAM && at && at->kind == PTX_ADDRESS_OF &&
                 !at->variable->array && !memory->offset && !at->offset &&
                 at->variable->bytes * 8 == ptx_type_bits(ins->types[0]);
    for (unsigned i = 0; i < l->lift->views; i++)
        plain &= !(l->lift->reg[reg].roots >> l->lift->view[i].param & 1);
    return plain ? keep_least(arena_format(&l->lift->arena, "p%u", at->variable->index)) : "0";
}

static const char *least_multiplied(struct least *l, const struct ptx_instruction *ins)
{
    const struct ptx_operand *o = ins->operands;
    int64_t factor;
    if (ptx_has_modifier(ins, "hi"))
        return "0";
    if (least_constant(&o[2], &factor))
        return by_constant(l, least_operand(l, &o[1]), "*", factor);
    return least_product(l, least_operand(l, &o[1]), least_operand(l, &o[2]));
}

static const char *least_shifted(struct least *l, const struct ptx_instruction *ins)
{
    int64_t by;
    if (!least_constant(&ins->operands[2], &by) || by < 0 || by > 40)
        return "0";
    return by_constant(l, least_operand(l, &ins->operands[1]), ins->opcode[2] == 'l' ? "*" : "/",
                       (int64_t)1 << by);
}

/* Either of the two is a bound of (x | y). */
static const char *joined(struct least *l, const struct ptx_instruction *ins)
{
    const char *x = least_operand(l, &ins->operands[1]);
    return is_zero(x) ? least_operand(l, &ins->operands[2]) : x;
}

/* Of a quotient whose divisor is the same for all blocks. */
static const char *least_quotient(struct least *l, const struct ptx_instruction *ins)
{
    const char *by = lift_exact(l->lift, &ins->operands[2], NULL);
    const char *x = by ? least_operand(l, &ins->operands[1]) : "0";
    return is_zero(x) ? "0" : keep_least(arena_format(&l->lift->arena, "(%s / max(1, %s))", x, by));
}

/* Of a window of one block: what that block has. */
static const char *least_of_block(struct least *l, const struct ptx_instruction *ins)
{
    const char *text =
        l->lift->single ? lift_exact(l->lift, &ins->operands[0], "first_block") : NULL;
    return text && strstr(text, "first_block") ? keep_least(text) : "0";
}

static const char *least_defined(struct least *l, const struct ptx_instruction *ins, unsigned reg)
{
    const struct ptx_operand *o = ins->operands;
    const char *op = ins->opcode;
    if (!lift_whole_numbers(ins))
        return "0";
    if (strcmp(op, "div") == 0)
        return least_quotient(l, ins);
    if (strcmp(op, "sub") == 0)
        return least_of_block(l, ins);
    if (strcmp(op, "ld") == 0)
        return least_parameter(l, ins, reg);
    if (strcmp(op, "mov") == 0 || strcmp(op, "cvt") == 0 || strcmp(op, "cvta") == 0)
        return o[0].kind == PTX_REGISTER ? least_operand(l, &o[1]) : "0";
    if (strcmp(op, "add") == 0)
        return least_sum(l, least_operand(l, &o[1]), least_operand(l, &o[2]));
    if (strcmp(op, "mul") == 0)
        return least_multiplied(l, ins);
    if (strcmp(op, "mad") == 0)
        return least_sum(l, least_multiplied(l, ins), least_operand(l, &o[3]));
    if (strcmp(op, "shl") == 0 || strcmp(op, "shr") == 0)
        return least_shifted(l, ins);
    return strcmp(op, "or") == 0 ? joined(l, ins) : "0";
}

static const char *least_operand(struct least *l, const struct ptx_operand *operand)
{
    int64_t value;
    if (least_constant(operand, &value))
        return value < 0 ? arena_format(&l->lift->arena, "(0 - %lld)", (long long)-value)
                         : arena_format(&l->lift->arena, "%lld", (long long)value);
    if (operand->kind == PTX_SPECIAL)
        return strcmp(operand->name, "%ctaid.x") == 0 ? "first_block" : "0";
    if (operand->kind != PTX_REGISTER || l->deep == DEEP)
        return "0";
    int def = l->lift->reg[operand->reg].def;
    if (def < 0)
        return "0";
    l->deep++;
    const char *text = least_defined(l, &l->lift->kernel->instructions[def], operand->reg);
    l->deep--;
    return keep_least(text);
}

const char *lift_first(struct lift *lift, unsigned array)
{
    const char *all = NULL;
    if (lift->view[array].dims && !lift_map_has_lines(lift, array))
        return "0";
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        struct least l = {.lift = lift};
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        if (lift->step[i].array != (int)array)
            continue;
        const bool bulk = lift_is_bulk(lift->step[i].class_);
        if (lift->step[i].made >= 0)
            return "0";
        const struct ptx_operand *memory =
            &ins->operands[lift->step[i].class_ == CLASS_STORE ? 0 : 1];
        const char *one = least_operand(&l, bulk ? lift_map_line(ins) : &memory->items[0]);
        if (memory->offset < 0 || !strstr(one, "first_block"))
            return "0";
        if (!all)
            all = one;
        else if (strcmp(all, one) != 0 && !strstr(all, one))
            all = keep_least(arena_format(&lift->arena, "min(%s, %s)", all, one));
    }
    if (all && lift->view[array].dims)
        return keep_least(lift_map_first(lift, array, all));
    return all ? all : "0";
}
