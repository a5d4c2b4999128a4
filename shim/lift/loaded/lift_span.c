/*
 * lift_span.c - which bytes of shared memory an access may reach: its address is a place in an
 * array, and a number between two bounds.
 *
 * Bounds hold for every thread of a block and at any time, so only registers that one instruction
 * writes have some. A branch that all threads come past bounds a number as well.
 */
#include <string.h>
#include "lift/lift_parts.h"

enum { SPAN_STEPS = 400, SPAN_DEEP = 24, MOST_THREADS = 1024 };

/* A number of 32 bits, or an address in an array. */
struct amount {
    const struct ptx_variable *base;
    int64_t least, most;
    int64_t bits; /* those that the number may have */
};

struct spans {
    const struct lift *lift;
    unsigned at; /* the access */
    unsigned steps, deep;
    bool others; /* the number may be another thread's, which need not come there */
};

static bool read_amount(struct spans *s, const struct ptx_operand *o, struct amount *out);

/* All ones, from the highest that a number up to `most` may have. */
static int64_t ones(int64_t most)
{
    return most > 0 ? (int64_t)((uint64_t)-1 >> __builtin_clzll((uint64_t)most)) : 0;
}

static struct amount amount_between(const struct ptx_variable *base, int64_t least, int64_t most)
{
    return (struct amount){base, least, most, ones(most)};
}

static bool is_plain_number(const struct amount *a)
{
    return !a->base && a->least >= 0;
}

static bool add_amounts(const struct amount *a, const struct amount *b, struct amount *out)
{
    *out = amount_between(a->base ? a->base : b->base, a->least + b->least, a->most + b->most);
    return !a->base || !b->base;
}

static bool multiply_amounts(const struct amount *a, const struct amount *b, struct amount *out)
{
    *out = amount_between(NULL, a->least * b->least, a->most * b->most);
    return is_plain_number(a) && is_plain_number(b);
}

/* Of `and` one known number is enough. */
static bool mask_amounts(struct spans *s, const struct ptx_instruction *ins, struct amount *out)
{
    const struct amount all = amount_between(NULL, 0, UINT32_MAX);
    const bool both = *ins->opcode == 'a';
    struct amount a, b;
    bool first = read_amount(s, &ins->operands[1], &a) && is_plain_number(&a);
    bool second = read_amount(s, &ins->operands[2], &b) && is_plain_number(&b);
    a = first ? a : all;
    b = second ? b : all;
    int64_t bits = both ? a.bits & b.bits : a.bits | b.bits;
    *out = (struct amount){NULL, 0, bits, bits};
    return both ? first || second : first && second;
}

/* By a constant. */
static bool shift_amount(struct spans *s, const struct ptx_instruction *ins, struct amount *out)
{
    const struct ptx_operand *by = &ins->operands[2];
    struct amount a;
    if (!read_amount(s, &ins->operands[1], &a) || !is_plain_number(&a) ||
        by->kind != PTX_IMMEDIATE || by->bits > 31)
        return false;
    bool left = ins->opcode[2] == 'l', sign = ins->types[0] == PTX_S32 && a.most > INT32_MAX;
    *out = left
               ? (struct amount){NULL, a.least << by->bits, a.most << by->bits, a.bits << by->bits}
               : (struct amount){NULL, a.least >> by->bits, a.most >> by->bits, a.bits >> by->bits};
    return left || !sign;
}

/* The same number, maybe another thread's. */
static bool copy_amount(struct spans *s, const struct ptx_instruction *ins, struct amount *out)
{
    const bool others = s->others, shuffle = strcmp(ins->opcode, "shfl") == 0;
    const bool sign = ins->type_count > 1 && ins->types[1] == PTX_S32;
    const unsigned bits = ptx_type_bits(ins->types[0]);
    if (ins->operands[0].kind != PTX_REGISTER)
        return false;
    s->others |= shuffle;
    bool known = read_amount(s, &ins->operands[1], out);
    s->others = others;
    return known && (bits >= 32 || (!out->base && out->most >> bits == 0)) &&
           (!sign || out->most <= INT32_MAX);
}

static bool combine_amounts(struct spans *s, const struct ptx_instruction *ins, struct amount *out)
{
    const bool mad = strcmp(ins->opcode, "mad") == 0, add = strcmp(ins->opcode, "add") == 0;
    struct amount a, b, c = amount_between(NULL, 0, 0), product;
    if (ptx_has_modifier(ins, "hi") || !read_amount(s, &ins->operands[1], &a) ||
        !read_amount(s, &ins->operands[2], &b))
        return false;
    if (add)
        return add_amounts(&a, &b, out);
    return multiply_amounts(&a, &b, &product) && (!mad || read_amount(s, &ins->operands[3], &c)) &&
           add_amounts(&product, &c, out);
}

static bool written_amount(struct spans *s, const struct ptx_instruction *ins, struct amount *out)
{
    static const struct {
        const char *opcode;
        bool (*read)(struct spans *, const struct ptx_instruction *, struct amount *);
    } rows[] = {{"mov", copy_amount},     {"cvt", copy_amount},     {"cvta", copy_amount},
                {"shfl", copy_amount},    {"add", combine_amounts}, {"mul", combine_amounts},
                {"mad", combine_amounts}, {"and", mask_amounts},    {"or", mask_amounts},
                {"xor", mask_amounts},    {"shl", shift_amount},    {"shr", shift_amount}};
    if (!lift_whole_numbers(ins) || ins->operand_count < 2)
        return false;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].opcode, ins->opcode) == 0)
            return rows[i].read(s, ins, out);
    }
    return false;
}

/* ---- branches ---- */

/* Whether a thread that goes on at `from` may come to the access. */
static bool comes_from(const struct spans *s, unsigned from, unsigned end)
{
    struct arena arena = {0};
    bool *seen = arena_alloc(&arena, s->lift->kernel->instruction_count + 1);
    if (seen) {
        seen[from] = true;
        lift_reach_before(s->lift, seen, end);
    }
    bool comes = !seen || seen[s->at];
    arena_release(&arena);
    return comes;
}

/* The least value of a register at the access by a branch that only smaller ones take, or others:
 * those that do not take it all come past it, and no others come to the access. */
static int64_t least_past(const struct spans *s, unsigned branch, unsigned reg)
{
    const struct ptx_instruction *all = s->lift->kernel->instructions, *ins = &all[branch];
    const int def = ins->guarded ? s->lift->reg[ins->guard].def : -1;
    const struct ptx_instruction *test = def < 0 ? NULL : &all[def];
    if (!test || test->guarded || strcmp(test->opcode, "setp") != 0 || test->operand_count != 3 ||
        test->operands[1].kind != PTX_REGISTER || test->operands[1].reg != reg ||
        test->operands[2].kind != PTX_IMMEDIATE || test->types[0] != PTX_U32)
        return 0;
    const bool below = ptx_has_modifier(test, "lt"), from = ptx_has_modifier(test, "ge");
    const bool taken = below != ins->guard_negated;
    const unsigned smaller = taken ? ins->operands[0].target : branch + 1;
    bool bounds = (below || from) && test->modifier_count == 1 && !comes_from(s, 0, branch) &&
                  !comes_from(s, smaller, s->at);
    return bounds ? (int64_t)test->operands[2].bits : 0;
}

static int64_t least_by_branches(const struct spans *s, unsigned reg)
{
    int64_t least = 0;
    for (unsigned i = 0; i < s->lift->kernel->instruction_count; i++) {
        int64_t one = s->lift->step[i].class_ == CLASS_BRANCH ? least_past(s, i, reg) : 0;
        least = one > least ? one : least;
    }
    return least;
}

/* ---- operands ---- */

/* Threads of a block along a dim at most: .maxntid bounds all of them together. */
static int64_t threads_along(const struct lift *lift, unsigned dim)
{
    const unsigned *own = lift->kernel->reqntid, *most = lift->kernel->maxntid;
    if (own[0])
        return own[dim] ? own[dim] : 1;
    return most[0] ? (int64_t)most[0] * (most[1] ? most[1] : 1) * (most[2] ? most[2] : 1)
                   : MOST_THREADS;
}

static bool special_amount(const struct lift *lift, const char *name, struct amount *out)
{
    const bool tid = strncmp(name, "%tid.", 5) == 0;
    *out = amount_between(NULL, 0, tid ? threads_along(lift, (unsigned)(name[5] - 'x')) - 1 : 31);
    return tid || strcmp(name, "%laneid") == 0;
}

static bool register_amount(struct spans *s, unsigned reg, struct amount *out)
{
    const int def = s->lift->reg[reg].def;
    const struct ptx_instruction *ins = def < 0 ? NULL : &s->lift->kernel->instructions[def];
    if (!ins || ins->guarded || s->deep == SPAN_DEEP || ++s->steps > SPAN_STEPS)
        return false;
    s->deep++;
    bool known = written_amount(s, ins, out) && out->least >= 0 && out->most <= UINT32_MAX;
    s->deep--;
    int64_t least = known && !out->base && !s->others ? least_by_branches(s, reg) : 0;
    if (known && least > out->least && least <= out->most)
        out->least = least;
    return known;
}

static bool read_amount(struct spans *s, const struct ptx_operand *o, struct amount *out)
{
    const bool whole = o->immediate_type == PTX_S64 || o->immediate_type == PTX_U64;
    switch (o->kind) {
    case PTX_REGISTER:
        return !o->name && register_amount(s, o->reg, out);
    case PTX_IMMEDIATE:
        *out = (struct amount){NULL, (int64_t)o->bits, (int64_t)o->bits, (int64_t)o->bits};
        return whole && out->most >= INT32_MIN && out->most <= UINT32_MAX;
    case PTX_ADDRESS_OF:
        *out = amount_between(o->variable, o->offset, o->offset);
        return o->variable->space == PTX_SHARED;
    case PTX_SPECIAL:
        return special_amount(s->lift, o->name, out);
    default:
        return false;
    }
}

/* ---- accesses ---- */

/* The address of an access in shared memory; NULL: its place is not read. `bytes`: of one thread.
 */
static const struct ptx_operand *span_address(const struct lift *lift, unsigned at, int64_t *bytes)
{
    const struct ptx_instruction *ins = &lift->kernel->instructions[at];
    const enum lift_class class_ = lift->step[at].class_;
    if (class_ == CLASS_BULK_LOAD)
        return NULL;
    *bytes = class_ == CLASS_ASYNC   ? (int64_t)ins->operands[2].bits
             : ins->opcode[2] == 'm' ? 16 /* a row of a matrix */
                                     : (int64_t)(ptx_type_bits(ins->types[0]) / 8 * ins->vector);
    return &ins->operands[class_ == CLASS_LOAD];
}

struct lift_span lift_span_of(const struct lift *lift, unsigned at)
{
    struct spans s = {.lift = lift, .at = at};
    int64_t bytes = 0;
    const struct ptx_operand *memory = span_address(lift, at, &bytes);
    struct amount a;
    if (!memory || memory->kind != PTX_MEMORY || !read_amount(&s, &memory->items[0], &a))
        return (struct lift_span){NULL, 0, 0, false};
    return (struct lift_span){a.base, a.least + memory->offset, a.most + memory->offset + bytes,
                              a.least == a.most};
}
