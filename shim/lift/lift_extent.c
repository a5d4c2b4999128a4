/*
 * lift_extent.c - how far the accesses of an array reach, as an expression of the registry's
 * language over the launch's grid, block and integer parameters.
 *
 * It is the largest value that the address may take: each register is as large as its parts make
 * it, unless a guard bounds it. Parameters count as not negative. What is too large costs bytes of
 * a snapshot; what is too small makes the lifted kernel refuse an access. NULL is "unknown".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lift/lift_parts.h"

enum { DEEP = 24, LONG = 600, NESTED = 20, LITTLE = 1023 /* threads of a block, less one */ };

struct bound {
    struct lift *lift;
    const struct lift_limit *limit;
    unsigned limits;
    unsigned deep;
    bool whole;      /* all blocks count */
    unsigned before; /* what is written from here on does not count yet; 0: everything does */
};

static const char *most(struct bound *b, const struct ptx_operand *operand);

static const char *keep_extent(const char *text)
{
    int nested = 0, most_nested = 0;
    for (const char *c = text; c && *c; c++) {
        nested += (*c == '(') - (*c == ')');
        most_nested = nested > most_nested ? nested : most_nested;
    }
    return text && strlen(text) <= LONG && most_nested <= NESTED ? text : NULL;
}

static const char *format_binary(struct bound *b, const char *format, const char *x, const char *y)
{
    return x && y ? keep_extent(arena_format(&b->lift->arena, format, x, y)) : NULL;
}

static const char *bound_sum(struct bound *b, const char *x, const char *y)
{
    if (x && strcmp(x, "0") == 0)
        return y;
    if (y && strcmp(y, "0") == 0)
        return x;
    return format_binary(b, "(%s + %s)", x, y);
}

static const char *bound_product(struct bound *b, const char *x, const char *y)
{
    if (x && strcmp(x, "1") == 0)
        return y;
    if (y && strcmp(y, "1") == 0)
        return x;
    return format_binary(b, "(%s * %s)", x, y);
}

static const char *number(struct bound *b, int64_t value)
{
    return value < 0 ? arena_format(&b->lift->arena, "(0 - %lld)", (long long)-value)
                     : arena_format(&b->lift->arena, "%lld", (long long)value);
}

static bool extent_constant(const struct ptx_operand *o, int64_t *out)
{
    *out = (int64_t)o->bits;
    return o->kind == PTX_IMMEDIATE &&
           (o->immediate_type == PTX_S64 || o->immediate_type == PTX_U64);
}

/* %tid.x and the like: the largest that a launch can have. */
static const char *special(struct bound *b, const char *name)
{
    static const struct {
        const char *name, *most;
    } rows[] = {{"%ctaid.x", "(grid.x - 1)"},
                {"%ctaid.y", "(grid.y - 1)"},
                {"%ctaid.z", "(grid.z - 1)"},
                {"%nctaid.x", "grid.x"},
                {"%nctaid.y", "grid.y"},
                {"%nctaid.z", "grid.z"},
                {"%tid.x", "(block.x - 1)"},
                {"%tid.y", "(block.y - 1)"},
                {"%tid.z", "(block.z - 1)"},
                {"%ntid.x", "block.x"},
                {"%ntid.y", "block.y"},
                {"%ntid.z", "block.z"},
                {"%laneid", "31"},
                {"%warpid", "31"}};
    if (!b->whole && strcmp(name, "%ctaid.x") == 0)
        return "last_block";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].most;
    }
    return NULL;
}

/* ld.param of an integer; the pointer itself is where offsets begin. */
static const char *bound_parameter(struct bound *b, const struct ptx_instruction *ins, unsigned reg)
{
    const struct ptx_operand *memory = &ins->operands[1];
    const struct ptx_operand *at = memory->count ? &memory->items[0] : NULL;
    if (ins->space != PTX_PARAM || !at || at->kind != PTX_ADDRESS_OF || at->variable->array ||
        memory->offset || at->offset)
        return NULL;
    uint64_t roots = b->lift->reg[reg].roots;
    for (unsigned i = 0; i < b->lift->views; i++) {
        if (roots >> b->lift->view[i].param & 1)
            return "0";
    }
    unsigned bits = ptx_type_bits(ins->types[0]);
    if (at->variable->vector > 1 || bits != at->variable->bytes * 8)
        return NULL;
    return arena_format(&b->lift->arena, "p%u", at->variable->index);
}

/* bfe.u32 d, a, position, length. */
static const char *extracted(struct bound *b, const struct ptx_instruction *ins)
{
    int64_t length;
    bool plain = ins->types[0] == PTX_U32 || ins->types[0] == PTX_U64;
    if (!plain || !extent_constant(&ins->operands[3], &length) || length < 0 || length > 31)
        return NULL;
    return number(b, ((int64_t)1 << length) - 1);
}

/* Shifts and products by constants; of other shifts nothing is known. */
static const char *bound_shifted(struct bound *b, const struct ptx_instruction *ins)
{
    const struct ptx_operand *o = ins->operands;
    int64_t by;
    if (!extent_constant(&o[2], &by) || by < 0 || by > 40)
        return NULL;
    const char *factor = number(b, (int64_t)1 << by);
    const char *base = most(b, &o[1]);
    return ins->opcode[2] == 'l' ? bound_product(b, base, factor)
                                 : format_binary(b, "(%s / %s)", base, factor);
}

/* Of (x & mask): below both. What the grid bounds may be far below, as in the place of a block. */
static const char *masked_by(struct bound *b, const struct ptx_operand *x, int64_t mask)
{
    const char *below = mask > LITTLE ? most(b, x) : NULL;
    bool placed = below && (strstr(below, "grid.") || strstr(below, "_block"));
    const char *both =
        placed ? format_binary(b, "min(%s, %s)", below, number(b, mask)) : number(b, mask);
    return both ? both : number(b, mask);
}

static const char *masked(struct bound *b, const struct ptx_instruction *ins)
{
    int64_t mask;
    for (unsigned i = 1; i < 3; i++) {
        if (extent_constant(&ins->operands[i], &mask) && mask >= 0)
            return masked_by(b, &ins->operands[3 - i], mask);
    }
    for (unsigned i = 1; i < 3; i++) { /* of (x & -8) */
        if (extent_constant(&ins->operands[i], &mask))
            return most(b, &ins->operands[3 - i]);
    }
    return most(b, &ins->operands[1]);
}

/* The upper half of a product: a division by a constant. Of one of 64 bits the factor's own upper
 * half counts, rounded up. */
static const char *bound_upper(struct bound *b, const struct ptx_instruction *ins)
{
    const enum ptx_type type = ins->types[0];
    const unsigned bits = ptx_type_bits(type);
    int64_t factor;
    if (!extent_constant(&ins->operands[2], &factor) || bits < 16)
        return NULL;
    const uint64_t sign = (uint64_t)1 << (bits - 1);
    uint64_t plain = (uint64_t)factor & (sign | (sign - 1));
    if ((type == PTX_S16 || type == PTX_S32 || type == PTX_S64) && (plain & sign))
        return "0";
    if (bits == 64)
        plain = (plain >> 32) + 1;
    return format_binary(b, bits == 16 ? "(%s * %s / 65536)" : "(%s * %s / 4294967296)",
                         most(b, &ins->operands[1]), number(b, (int64_t)plain));
}

static const char *bound_multiplied(struct bound *b, const struct ptx_instruction *ins)
{
    const struct ptx_operand *o = ins->operands;
    int64_t factor;
    if (ptx_has_modifier(ins, "hi"))
        return bound_upper(b, ins);
    const char *base = most(b, &o[1]);
    if (extent_constant(&o[2], &factor) && factor < 0)
        return "0";
    return bound_product(b, base, most(b, &o[2]));
}

static const char *divided(struct bound *b, const struct ptx_instruction *ins)
{
    int64_t by;
    const struct ptx_operand *o = ins->operands;
    bool rest = ins->opcode[0] == 'r';
    if (rest)
        return format_binary(b, "(%s - %s)", most(b, &o[2]), "1");
    if (extent_constant(&o[2], &by) && by > 0)
        return format_binary(b, "(%s / %s)", most(b, &o[1]), number(b, by));
    return most(b, &o[1]);
}

static const char *bound_defined(struct bound *b, const struct ptx_instruction *ins, unsigned reg)
{
    const struct ptx_operand *o = ins->operands;
    const char *op = ins->opcode;
    if (!lift_whole_numbers(ins))
        return NULL;
    if (strcmp(op, "ld") == 0)
        return bound_parameter(b, ins, reg);
    if (strcmp(op, "mov") == 0 || strcmp(op, "cvt") == 0 || strcmp(op, "cvta") == 0)
        return o[0].kind == PTX_REGISTER ? most(b, &o[1]) : NULL;
    if (strcmp(op, "add") == 0 || strcmp(op, "or") == 0 || strcmp(op, "xor") == 0)
        return bound_sum(b, most(b, &o[1]), most(b, &o[2]));
    if (strcmp(op, "sub") == 0)
        return most(b, &o[1]);
    if (strcmp(op, "mul") == 0)
        return bound_multiplied(b, ins);
    if (strcmp(op, "mad") == 0 && !ptx_has_modifier(ins, "hi"))
        return bound_sum(b, bound_multiplied(b, ins), most(b, &o[3]));
    if (strcmp(op, "and") == 0)
        return masked(b, ins);
    if (strcmp(op, "shl") == 0 || strcmp(op, "shr") == 0)
        return bound_shifted(b, ins);
    if (strcmp(op, "bfe") == 0)
        return extracted(b, ins);
    if (strcmp(op, "div") == 0 || strcmp(op, "rem") == 0)
        return divided(b, ins);
    if (strcmp(op, "min") == 0 || strcmp(op, "max") == 0)
        return format_binary(b, op[1] == 'i' ? "min(%s, %s)" : "max(%s, %s)", most(b, &o[1]),
                             most(b, &o[2]));
    if (strcmp(op, "selp") == 0)
        return format_binary(b, "max(%s, %s)", most(b, &o[1]), most(b, &o[2]));
    return NULL;
}

/* The largest of what instructions write to the register, an increment aside; NULL: unknown. */
static const char *most_written(struct bound *b, unsigned reg, unsigned before, unsigned increment)
{
    const char *all = NULL;
    for (unsigned i = 0; i < before; i++) {
        const struct ptx_instruction *ins = &b->lift->kernel->instructions[i];
        if (i == increment || !lift_writes(ins, reg))
            continue;
        const char *one = bound_defined(b, ins, reg);
        if (!one)
            return NULL;
        all = all && strcmp(all, one) != 0 ? format_binary(b, "max(%s, %s)", all, one) : one;
    }
    return keep_extent(all);
}

/* What a loop counts up: the start, and as many steps as the loop takes at most. */
static const char *most_counted(struct bound *b, unsigned reg)
{
    struct lift_loop loop;
    int64_t value;
    unsigned outer = b->before;
    if (!lift_find_loop(b->lift, reg, &loop))
        return NULL;
    bool known = (extent_constant(loop.limit_step, &value) && value > 0) ||
                 loop.limit_step->kind == PTX_SPECIAL;
    if (loop.limit_step->kind == PTX_REGISTER) {
        int def = b->lift->reg[loop.limit_step->reg].def;
        const struct ptx_instruction *all = b->lift->kernel->instructions;
        known = def >= 0 && strcmp(all[def].opcode, "mov") == 0 &&
                all[def].operands[1].kind == PTX_SPECIAL;
    }
    b->before = loop.head;
    const char *start = most_written(b, reg, loop.head, loop.increment);
    b->before = outer;
    const char *trips =
        known ? format_binary(b, "(%s / %s + 1)", most(b, loop.limit), most(b, loop.limit_step))
              : NULL;
    return bound_sum(b, start, bound_product(b, most(b, loop.step), trips));
}

/* Of a register that several instructions write. */
static const char *most_of_several(struct bound *b, unsigned reg)
{
    if (b->deep >= DEEP / 2)
        return NULL;
    b->deep += DEEP / 8;
    const char *text = b->before ? most_written(b, reg, b->before, b->before) : NULL;
    if (!text)
        text = most_counted(b, reg);
    b->deep -= DEEP / 8;
    return keep_extent(text);
}

static const char *most_defined(struct bound *b, unsigned reg)
{
    int def = b->lift->reg[reg].def;
    if (def == -2)
        return most_of_several(b, reg);
    if (def < 0 || b->deep >= DEEP)
        return NULL;
    b->deep++;
    const char *text = bound_defined(b, &b->lift->kernel->instructions[def], reg);
    b->deep--;
    return keep_extent(text);
}

/* Of a window of blocks what they reach may be less than what a guard allows. */
static const char *lower_extent(struct bound *b, const char *below, unsigned reg)
{
    const char *reached = b->whole ? NULL : most_defined(b, reg);
    if (!reached || !strstr(reached, "last_block"))
        return below;
    const char *both = format_binary(b, "min(%s, %s)", below, reached);
    return both ? both : below;
}

static const char *most_register(struct bound *b, unsigned reg)
{
    for (unsigned i = 0; i < b->limits; i++) {
        if (b->limit[i].reg != reg)
            continue;
        struct bound free = {.lift = b->lift, .deep = b->deep, .whole = b->whole};
        const char *below = most(&free, b->limit[i].below);
        if (below && !b->limit[i].equal)
            below = format_binary(b, "(%s - %s)", below, "1");
        if (below)
            return lower_extent(b, below, reg);
    }
    return most_defined(b, reg);
}

static const char *most(struct bound *b, const struct ptx_operand *operand)
{
    int64_t value;
    if (extent_constant(operand, &value))
        return number(b, value);
    if (operand->kind == PTX_SPECIAL)
        return special(b, operand->name);
    return operand->kind == PTX_REGISTER ? most_register(b, operand->reg) : NULL;
}

/* ---- an array ---- */

/* Bytes from the array's start to the end of what the access reaches. It lies at a multiple of its
 * own size, and so does the array. */
static const char *access_reach(struct lift *lift, unsigned at, bool whole)
{
    const struct ptx_instruction *ins = &lift->kernel->instructions[at];
    bool store = lift->step[at].class_ == CLASS_STORE, copy = lift->step[at].class_ == CLASS_ASYNC;
    const struct ptx_operand *memory = &ins->operands[store ? 0 : 1];
    struct lift_limit limit[LIFT_LIMITS];
    struct bound b = {.lift = lift, .limit = limit, .whole = whole};
    b.limits = lift_limits(lift, at, limit);
    int64_t bytes = 0;
    if (copy && !extent_constant(&ins->operands[2], &bytes))
        return NULL;
    if (!copy)
        bytes = (int64_t)(ptx_type_bits(ins->types[0]) / 8 * ins->vector);
    const char *offset = bound_sum(&b, most(&b, &memory->items[0]), number(&b, memory->offset));
    if (!offset || !bytes)
        return NULL;
    return keep_extent(arena_format(&lift->arena, "(%s / %lld + 1) * %lld", offset,
                                    (long long)bytes, (long long)bytes));
}

const char *lift_extent(struct lift *lift, unsigned array, bool whole)
{
    const char *all = NULL;
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        if (lift->step[i].array != (int)array)
            continue;
        const char *one = access_reach(lift, i, whole);
        if (!one)
            return NULL;
        if (!all)
            all = one;
        else if (!strstr(all, one))
            all = keep_extent(arena_format(&lift->arena, "max(%s, %s)", all, one));
        if (!all)
            return NULL;
    }
    return all;
}
