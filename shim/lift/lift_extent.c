/*
 * lift_extent.c - how far the accesses of an array reach, as an expression of the registry's
 * language over the launch's grid, block and integer parameters.
 *
 * It is the largest value that the address may take: each register is as large as its parts make
 * it, unless a guard bounds it. Parameters count as not negative. What is too large costs bytes of
 * a snapshot; what is too small makes the lifted kernel refuse an access. NULL is "unknown".
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lift/lift_parts.h"

enum { STEPS = 8000 /* of one bound, at most */, ALL_STEPS = 100000 /* of one kernel */ };
enum { DEEP = 64, LONG = 600, NESTED = 20, LITTLE = 1023 /* threads of a block, less one */ };

struct bound {
    struct lift *lift;
    const struct lift_limit *limit;
    unsigned limits;
    unsigned deep;
    bool whole;            /* all blocks count */
    unsigned before;       /* what is written from here on does not count yet; 0: everything does */
    const unsigned *index; /* a register that counts as the name INDEX; NULL: none does */
};

/* No text of the registry's language has it. */
#define INDEX "#index"

typedef const struct lift_sum *sum;

static sum most(struct bound *b, const struct ptx_operand *operand);

static const char *keep_extent(const char *text)
{
    int nested = 0, most_nested = 0;
    for (const char *c = text; c && *c; c++) {
        nested += (*c == '(') - (*c == ')');
        most_nested = nested > most_nested ? nested : most_nested;
    }
    return text && strlen(text) <= LONG && most_nested <= NESTED ? text : NULL;
}

static sum number(struct bound *b, int64_t value)
{
    return lift_sum_number(b->lift, value);
}

static sum add(struct bound *b, sum x, sum y)
{
    return lift_sum_add(b->lift, x, y);
}

static sum multiply(struct bound *b, sum x, sum y)
{
    return lift_sum_multiply(b->lift, x, y);
}

/* A name for an expression over two sums. */
static sum name_binary(struct bound *b, const char *format, sum x, sum y)
{
    const char *one = lift_sum_text(b->lift, x), *other = lift_sum_text(b->lift, y);
    return one && other
               ? lift_sum_name(b->lift,
                               keep_extent(arena_format(&b->lift->arena, format, one, other)))
               : NULL;
}

/* The smaller of both, or the larger; `format` is its name where that is not known. */
static sum choose(struct bound *b, bool least, const char *format, sum x, sum y)
{
    if (!x || !y)
        return NULL;
    if (lift_sum_at_most(x, y))
        return least ? x : y;
    return lift_sum_at_most(y, x) ? least ? y : x : name_binary(b, format, x, y);
}

static sum smaller(struct bound *b, sum x, sum y)
{
    return choose(b, true, "min(%s, %s)", x, y);
}

static sum larger(struct bound *b, sum x, sum y)
{
    return choose(b, false, "max(%s, %s)", x, y);
}

static sum quotient(struct bound *b, sum x, int64_t by)
{
    int64_t value;
    if (by == 1)
        return x;
    return lift_sum_is_number(x, &value) ? number(b, value / by)
                                         : name_binary(b, "((%s) / %s)", x, number(b, by));
}

static bool extent_constant(const struct ptx_operand *o, int64_t *out)
{
    *out = (int64_t)o->bits;
    return o->kind == PTX_IMMEDIATE &&
           (o->immediate_type == PTX_S64 || o->immediate_type == PTX_U64);
}

/* %tid.x and the like: the largest that a launch can have. */
static sum special(struct bound *b, const char *name)
{
    static const struct {
        const char *name, *most;
        int more;
    } rows[] = {{"%ctaid.x", "grid.x", -1}, {"%ctaid.y", "grid.y", -1}, {"%ctaid.z", "grid.z", -1},
                {"%nctaid.x", "grid.x", 0}, {"%nctaid.y", "grid.y", 0}, {"%nctaid.z", "grid.z", 0},
                {"%tid.x", "block.x", -1},  {"%tid.y", "block.y", -1},  {"%tid.z", "block.z", -1},
                {"%ntid.x", "block.x", 0},  {"%ntid.y", "block.y", 0},  {"%ntid.z", "block.z", 0}};
    if (!b->whole && strcmp(name, "%ctaid.x") == 0)
        return lift_sum_name(b->lift, "last_block");
    if (strcmp(name, "%laneid") == 0 || strcmp(name, "%warpid") == 0)
        return number(b, 31);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return add(b, lift_sum_name(b->lift, rows[i].most), number(b, rows[i].more));
    }
    return NULL;
}

/* ld.param of an integer; the pointer itself is where offsets begin. */
static sum bound_parameter(struct bound *b, const struct ptx_instruction *ins, unsigned reg)
{
    const struct ptx_operand *memory = &ins->operands[1];
    const struct ptx_operand *at = memory->count ? &memory->items[0] : NULL;
    if (ins->space != PTX_PARAM || !at || at->kind != PTX_ADDRESS_OF || at->variable->array ||
        memory->offset || at->offset)
        return NULL;
    uint64_t roots = b->lift->reg[reg].roots;
    for (unsigned i = 0; i < b->lift->views; i++) {
        if (roots >> b->lift->view[i].param & 1)
            return number(b, 0);
    }
    unsigned bits = ptx_type_bits(ins->types[0]);
    if (at->variable->vector > 1 || bits != at->variable->bytes * 8)
        return NULL;
    return lift_sum_name(b->lift, arena_format(&b->lift->arena, "p%u", at->variable->index));
}

/* bfe.u32 d, a, position, length. */
static sum extracted(struct bound *b, const struct ptx_instruction *ins)
{
    int64_t length;
    bool plain = ins->types[0] == PTX_U32 || ins->types[0] == PTX_U64;
    if (!plain || !extent_constant(&ins->operands[3], &length) || length < 0 || length > 31)
        return NULL;
    return number(b, ((int64_t)1 << length) - 1);
}

/* A shift that leaves the sign alone gives 0. */
static bool leaves_sign(const struct ptx_instruction *ins, int64_t by)
{
    const enum ptx_type type = ins->types[0];
    return ins->opcode[2] == 'r' && (type == PTX_S16 || type == PTX_S32 || type == PTX_S64) &&
           by == (int64_t)ptx_type_bits(type) - 1;
}

/* Shifts and products by constants; of other shifts nothing is known. */
static sum bound_shifted(struct bound *b, const struct ptx_instruction *ins)
{
    const struct ptx_operand *o = ins->operands;
    int64_t by;
    if (!extent_constant(&o[2], &by) || by < 0)
        return NULL;
    if (leaves_sign(ins, by))
        return number(b, 0);
    if (by > 40)
        return NULL;
    sum base = most(b, &o[1]);
    return ins->opcode[2] == 'l' ? multiply(b, base, number(b, (int64_t)1 << by))
                                 : quotient(b, base, (int64_t)1 << by);
}

/* Of (x & mask): below both. What the grid bounds may be far below, as in the place of a block. */
static sum masked_by(struct bound *b, const struct ptx_operand *x, int64_t mask)
{
    sum below = mask > LITTLE ? most(b, x) : NULL;
    const char *text = lift_sum_text(b->lift, below);
    bool placed = text && (strstr(text, "grid.") || strstr(text, "_block"));
    sum both = placed ? smaller(b, below, number(b, mask)) : NULL;
    return both ? both : number(b, mask);
}

static sum masked(struct bound *b, const struct ptx_instruction *ins)
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
static sum bound_upper(struct bound *b, const struct ptx_instruction *ins)
{
    const enum ptx_type type = ins->types[0];
    const unsigned bits = ptx_type_bits(type);
    int64_t factor;
    if (!extent_constant(&ins->operands[2], &factor) || bits < 16)
        return NULL;
    const uint64_t sign = (uint64_t)1 << (bits - 1);
    uint64_t plain = (uint64_t)factor & (sign | (sign - 1));
    if ((type == PTX_S16 || type == PTX_S32 || type == PTX_S64) && (plain & sign))
        return number(b, 0);
    if (bits == 64)
        plain = (plain >> 32) + 1;
    return quotient(b, multiply(b, most(b, &ins->operands[1]), number(b, (int64_t)plain)),
                    bits == 16 ? 65536 : 4294967296);
}

static sum bound_multiplied(struct bound *b, const struct ptx_instruction *ins)
{
    const struct ptx_operand *o = ins->operands;
    int64_t factor;
    if (ptx_has_modifier(ins, "hi"))
        return bound_upper(b, ins);
    if (extent_constant(&o[2], &factor) && factor < 0)
        return number(b, 0);
    return multiply(b, most(b, &o[1]), most(b, &o[2]));
}

/* Of x / y, y being the same for all blocks. */
static sum divided_exactly(struct bound *b, const struct ptx_operand *x,
                           const struct ptx_operand *y)
{
    const char *by = lift_exact(b->lift, y, NULL);
    const char *all = by ? lift_sum_text(b->lift, most(b, x)) : NULL;
    return all ? lift_sum_name(b->lift, keep_extent(arena_format(&b->lift->arena,
                                                                 "((%s) / max(1, %s))", all, by)))
               : NULL;
}

static sum divided(struct bound *b, const struct ptx_instruction *ins)
{
    int64_t by;
    const struct ptx_operand *o = ins->operands;
    if (ins->opcode[0] == 'r')
        return add(b, most(b, &o[2]), number(b, -1));
    if (extent_constant(&o[2], &by))
        return by > 0 ? quotient(b, most(b, &o[1]), by) : most(b, &o[1]);
    sum all = divided_exactly(b, &o[1], &o[2]);
    return all ? all : most(b, &o[1]);
}

/* Of a window of one block: what that block has. */
static sum most_of_block(struct bound *b, const struct ptx_instruction *ins)
{
    const char *text =
        b->whole || !b->lift->single ? NULL : lift_exact(b->lift, &ins->operands[0], "last_block");
    return text && strstr(text, "last_block") ? lift_sum_name(b->lift, text) : NULL;
}

static sum subtracted(struct bound *b, const struct ptx_instruction *ins)
{
    const struct ptx_operand *by;
    sum exact = most_of_block(b, ins);
    if (exact || !lift_is_remainder(b->lift, ins, &by))
        return exact ? exact : most(b, &ins->operands[1]);
    sum below = add(b, most(b, by), number(b, -1)), all = most(b, &ins->operands[1]);
    return below && all ? smaller(b, below, all) : below ? below : all;
}

/* What selp takes where its predicate holds, or does not: the predicate may bound it. */
static sum most_selected(struct bound *b, const struct ptx_instruction *ins, bool holds)
{
    struct lift_limit limit[2 * LIFT_LIMITS];
    struct bound inner = *b;
    if (ins->operands[3].kind != PTX_REGISTER)
        return NULL;
    unsigned count = lift_limits_if(b->lift, ins->operands[3].reg, holds, limit);
    for (unsigned i = 0; i < b->limits && count < 2 * LIFT_LIMITS; i++)
        limit[count++] = b->limit[i];
    inner.limit = limit;
    inner.limits = count;
    return most(&inner, &ins->operands[holds ? 1 : 2]);
}

static sum bound_defined(struct bound *b, const struct ptx_instruction *ins, unsigned reg)
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
        return add(b, most(b, &o[1]), most(b, &o[2]));
    if (strcmp(op, "sub") == 0)
        return subtracted(b, ins);
    if (strcmp(op, "mul") == 0)
        return bound_multiplied(b, ins);
    if (strcmp(op, "mad") == 0 && !ptx_has_modifier(ins, "hi"))
        return add(b, bound_multiplied(b, ins), most(b, &o[3]));
    if (strcmp(op, "and") == 0)
        return masked(b, ins);
    if (strcmp(op, "shl") == 0 || strcmp(op, "shr") == 0)
        return bound_shifted(b, ins);
    if (strcmp(op, "bfe") == 0)
        return extracted(b, ins);
    if (strcmp(op, "div") == 0 || strcmp(op, "rem") == 0)
        return divided(b, ins);
    if (strcmp(op, "min") == 0)
        return smaller(b, most(b, &o[1]), most(b, &o[2]));
    if (strcmp(op, "max") == 0)
        return larger(b, most(b, &o[1]), most(b, &o[2]));
    if (strcmp(op, "selp") == 0)
        return larger(b, most_selected(b, ins, true), most_selected(b, ins, false));
    return NULL;
}

/* The largest of what instructions write to the register, an increment aside; NULL: unknown. */
static sum most_written(struct bound *b, unsigned reg, unsigned before, unsigned increment)
{
    sum all = NULL;
    for (unsigned i = 0; i < before; i++) {
        const struct ptx_instruction *ins = &b->lift->kernel->instructions[i];
        if (i == increment || !lift_writes(ins, reg))
            continue;
        sum one = bound_defined(b, ins, reg);
        all = all ? larger(b, all, one) : one;
        if (!all)
            return NULL;
    }
    return all;
}

/* The largest that a register has in front of a loop that increments it. */
static sum most_at_start(struct bound *b, unsigned reg, const struct lift_loop *loop)
{
    const struct ptx_operand *step;
    const int increment = lift_find_increment(b->lift, reg, &step);
    const unsigned outer = b->before;
    b->before = loop->head;
    sum start = increment < 0 ? NULL : most_written(b, reg, loop->head, (unsigned)increment);
    b->before = outer;
    return start;
}

/* Turns of a loop that counts down to 0. */
static sum turns_down(struct bound *b, const struct lift_loop *loop, int64_t step)
{
    return add(b, quotient(b, most_at_start(b, loop->counter, loop), -step), number(b, 1));
}

/* Turns of a loop at most; NULL: unknown. */
static sum most_turns(struct bound *b, const struct lift_loop *loop)
{
    int64_t value, end = 1;
    const bool constant = extent_constant(loop->limit, &end);
    if (extent_constant(loop->limit_step, &value) && value < 0)
        return constant && end == 0 ? turns_down(b, loop, value) : NULL;
    if (constant && end <= 0)
        return NULL;
    bool known = (extent_constant(loop->limit_step, &value) && value > 0) ||
                 loop->limit_step->kind == PTX_SPECIAL;
    if (loop->limit_step->kind == PTX_REGISTER) {
        int def = b->lift->reg[loop->limit_step->reg].def;
        const struct ptx_instruction *all = b->lift->kernel->instructions;
        known = def >= 0 && strcmp(all[def].opcode, "mov") == 0 &&
                all[def].operands[1].kind == PTX_SPECIAL;
    }
    sum limit = known ? most(b, loop->limit) : NULL,
        step = known ? most(b, loop->limit_step) : NULL;
    if (!limit || !step)
        return NULL;
    return add(b,
               lift_sum_is_number(step, &value) && value > 0
                   ? quotient(b, limit, value)
                   : name_binary(b, "((%s) / (%s))", limit, step),
               number(b, 1));
}

/* Whether another instruction than the increment writes a register in the loop or behind it. */
static bool is_written_behind(const struct bound *b, unsigned reg, const struct lift_loop *loop)
{
    bool any = false;
    for (unsigned i = loop->head; i < b->lift->kernel->instruction_count; i++)
        any |= i != loop->increment && lift_writes(&b->lift->kernel->instructions[i], reg);
    return any;
}

/* What a loop counts: the start, and upwards as many steps as the loop takes at most. */
static sum most_counted(struct bound *b, unsigned reg)
{
    struct lift_loop loop;
    if (!lift_find_loop(b->lift, reg, &loop) || is_written_behind(b, reg, &loop))
        return NULL;
    sum start = most_at_start(b, reg, &loop);
    int64_t first;
    if (extent_constant(loop.step, &first) && first < 0) /* it only gets smaller */
        return start;
    if (loop.below && loop.counter == reg && lift_sum_is_number(start, &first) && first <= 0)
        return add(b, most(b, loop.limit), number(b, -1));
    return start ? add(b, start, multiply(b, most(b, loop.step), most_turns(b, &loop))) : NULL;
}

/* Of a register that several instructions write. */
static sum most_of_several(struct bound *b, unsigned reg)
{
    const struct ptx_operand *step;
    if (b->deep >= DEEP / 2)
        return NULL;
    b->deep += DEEP / 8;
    sum found = b->before ? most_written(b, reg, b->before, b->before) : NULL;
    if (!found)
        found = most_counted(b, reg);
    if (!found && lift_find_increment(b->lift, reg, &step) == -1)
        found = most_written(b, reg, b->lift->kernel->instruction_count, UINT_MAX);
    b->deep -= DEEP / 8;
    return found;
}

static sum most_defined(struct bound *b, unsigned reg)
{
    int def = b->lift->reg[reg].def;
    if (def == -2)
        return most_of_several(b, reg);
    if (def < 0 || b->deep >= DEEP)
        return NULL;
    b->deep++;
    sum found = bound_defined(b, &b->lift->kernel->instructions[def], reg);
    b->deep--;
    return found;
}

/* Of a window of blocks what they reach may be less than what a guard allows. */
static sum lower_extent(struct bound *b, sum below, unsigned reg)
{
    struct bound free = *b;
    sum reached = b->whole ? NULL : most_defined(b, reg);
    const char *text = lift_sum_text(b->lift, reached);
    if (!b->whole && !(text && strstr(text, "last_block"))) {
        free.limits = 0; /* a limit of one of its parts hides which block it belongs to */
        reached = most_defined(&free, reg);
        text = lift_sum_text(b->lift, reached);
    }
    sum both = text && strstr(text, "last_block") ? smaller(b, below, reached) : NULL;
    return both ? both : below;
}

/* Whether a register is b->index, or is converted from it. */
static bool is_index(const struct bound *b, const struct ptx_operand *o)
{
    for (unsigned i = 0; b->index && o->reg != *b->index; i++) {
        const struct ptx_instruction *ins = i < DEEP ? lift_conversion(b->lift, o) : NULL;
        if (!ins)
            return false;
        o = &ins->operands[1];
    }
    return b->index != NULL;
}

static sum most_register(struct bound *b, const struct ptx_operand *o)
{
    const unsigned reg = o->reg;
    if (is_index(b, o))
        return lift_sum_name(b->lift, INDEX);
    for (unsigned i = 0; i < b->limits; i++) {
        if (b->limit[i].reg != reg)
            continue;
        struct bound free = {
            .lift = b->lift, .deep = b->deep, .whole = b->whole, .index = b->index};
        sum below = most(&free, b->limit[i].below);
        if (!b->limit[i].equal)
            below = add(b, below, number(b, -1));
        if (below)
            return lower_extent(b, below, reg);
    }
    return most_defined(b, reg);
}

static sum most(struct bound *b, const struct ptx_operand *operand)
{
    int64_t value;
    if (++b->lift->steps > b->lift->most_steps)
        return NULL;
    if (extent_constant(operand, &value))
        return number(b, value);
    if (operand->kind == PTX_SPECIAL)
        return special(b, operand->name);
    return operand->kind == PTX_REGISTER ? most_register(b, operand) : NULL;
}

/* ---- an array ---- */

/* The offset of an access's first byte, at the most. */
struct reach {
    sum offset;
    int64_t bytes; /* the access lies at a multiple of its own size, and so does the array */
};

/* The last byte of the tensor that a map describes. */
static sum reach_of_made(struct bound *b, const struct lift_made *made)
{
    sum all = add(b, most(b, made->address), number(b, -1));
    all = add(b, all, multiply(b, most(b, made->size[0]), number(b, made->element)));
    for (unsigned i = 1; i < made->rank; i++)
        all = add(b, all,
                  multiply(b, add(b, most(b, made->size[i]), number(b, -1)),
                           most(b, made->stride[i - 1])));
    return all;
}

static struct reach find_reach(struct lift *lift, unsigned at, bool whole, const unsigned *index)
{
    const struct ptx_instruction *ins = &lift->kernel->instructions[at];
    bool store = lift->step[at].class_ == CLASS_STORE, copy = lift->step[at].class_ == CLASS_ASYNC;
    const struct ptx_operand *memory = &ins->operands[store ? 0 : 1];
    struct lift_limit limit[LIFT_LIMITS];
    struct bound b = {.lift = lift, .limit = limit, .whole = whole, .index = index};
    b.limits = lift_limits(lift, at, limit);
    lift->most_steps = lift->steps + STEPS < ALL_STEPS ? lift->steps + STEPS : ALL_STEPS;
    if (lift->step[at].made >= 0)
        return (struct reach){reach_of_made(&b, &lift->made[lift->step[at].made]), 1};
    if (lift_is_bulk(lift->step[at].class_))
        return (struct reach){most(&b, lift_map_line(ins)), 1};
    int64_t bytes = (int64_t)(ptx_type_bits(ins->types[0]) / 8 * ins->vector);
    if (copy && !extent_constant(&ins->operands[2], &bytes))
        bytes = 0;
    return (struct reach){add(&b, most(&b, &memory->items[0]), number(&b, memory->offset)), bytes};
}

/* Where one of both holds for the other, as between the turns of a loop that was unrolled, it is
 * that; else what covers both. */
static bool join_reach(struct lift *lift, struct reach *all, const struct reach *one)
{
    if (!one->offset || !one->bytes)
        return false;
    if (!all->offset)
        all->offset = one->offset;
    all->bytes = one->bytes > all->bytes ? one->bytes : all->bytes;
    if (!lift_sum_at_most(one->offset, all->offset))
        all->offset = lift_sum_cover(lift, all->offset, one->offset);
    return all->offset != NULL;
}

const char *lift_extent(struct lift *lift, unsigned array, bool whole)
{
    struct reach all = {NULL, 0};
    const bool map = lift->view[array].dims;
    if (map && (whole || !lift_map_has_lines(lift, array)))
        return lift_map_reach(lift, array);
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        if (lift->step[i].array != (int)array)
            continue;
        struct reach one = find_reach(lift, i, whole, NULL);
        if (!join_reach(lift, &all, &one))
            return NULL;
    }
    const char *offset = lift_sum_text(lift, all.offset);
    if (map)
        return offset ? keep_extent(lift_map_end(lift, array, offset)) : NULL;
    return offset ? keep_extent(arena_format(&lift->arena, "((%s) / %lld + 1) * %lld", offset,
                                             (long long)all.bytes, (long long)all.bytes))
                  : NULL;
}

bool lift_row_reach(struct lift *lift, unsigned at, unsigned index, const struct lift_sum **pitch,
                    const struct lift_sum **rest, int64_t *bytes)
{
    const struct reach one = find_reach(lift, at, true, &index);
    *bytes = one.bytes;
    return one.bytes && lift_sum_split(lift, one.offset, INDEX, pitch, rest);
}
