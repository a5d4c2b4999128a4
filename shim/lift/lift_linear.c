/*
 * lift_linear.c - addresses as sums of registers times constants, and whether a loop that stores to
 * an array comes back to what it has stored.
 *
 * Index arithmetic is taken not to wrap around, as an address that does is of no use to a kernel.
 */
#include <string.h>
#include "lift/lift_parts.h"

enum { TERMS = 8, DEEP = 32 };

struct form {
    int64_t constant;
    unsigned count;
    struct {
        unsigned reg;
        int64_t times;
    } term[TERMS];
};

/* ---- forms ---- */

static bool add_term(struct form *form, unsigned reg, int64_t times)
{
    unsigned i = 0;
    while (i < form->count && form->term[i].reg != reg)
        i++;
    if (i == TERMS)
        return false;
    if (i == form->count) {
        form->term[i].reg = reg;
        form->term[form->count++].times = 0;
    }
    form->term[i].times += times;
    if (!form->term[i].times)
        form->term[i] = form->term[--form->count];
    return true;
}

bool lift_whole_numbers(const struct ptx_instruction *ins)
{
    for (unsigned i = 0; i < ins->type_count; i++) {
        if (ins->types[i] >= PTX_F16 && ins->types[i] <= PTX_E5M2X2)
            return false;
    }
    return ins->type_count > 0;
}

static bool add_operand(const struct lift *lift, struct form *form, const struct ptx_operand *o,
                        int64_t times, unsigned depth);

/* a * b * times, where one of both is a constant. */
static bool add_product(const struct lift *lift, struct form *form, const struct ptx_operand *a,
                        const struct ptx_operand *b, int64_t times, unsigned depth)
{
    if (b->kind == PTX_IMMEDIATE)
        return add_operand(lift, form, a, times * (int64_t)b->bits, depth);
    return a->kind == PTX_IMMEDIATE && add_operand(lift, form, b, times * (int64_t)a->bits, depth);
}

/* What the instruction gives, times a number; false: it is no such sum. */
static bool add_instruction(const struct lift *lift, struct form *form,
                            const struct ptx_instruction *ins, int64_t times, unsigned depth)
{
    const struct ptx_operand *o = ins->operands;
    const char *op = ins->opcode;
    if (!lift_whole_numbers(ins) || ins->guarded || o[0].kind != PTX_REGISTER)
        return false;
    if (strcmp(op, "mov") == 0 || strcmp(op, "cvt") == 0)
        return o[1].kind != PTX_VECTOR && add_operand(lift, form, &o[1], times, depth);
    if (strcmp(op, "add") == 0 || strcmp(op, "sub") == 0)
        return add_operand(lift, form, &o[1], times, depth) &&
               add_operand(lift, form, &o[2], *op == 's' ? -times : times, depth);
    if (strcmp(op, "shl") == 0)
        return o[2].kind == PTX_IMMEDIATE && o[2].bits < 32 &&
               add_operand(lift, form, &o[1], times * (1 << o[2].bits), depth);
    if (ptx_has_modifier(ins, "hi") || times > INT32_MAX || times < INT32_MIN)
        return false;
    if (strcmp(op, "mul") == 0)
        return add_product(lift, form, &o[1], &o[2], times, depth);
    return strcmp(op, "mad") == 0 && add_product(lift, form, &o[1], &o[2], times, depth) &&
           add_operand(lift, form, &o[3], times, depth);
}

static bool add_operand(const struct lift *lift, struct form *form, const struct ptx_operand *o,
                        int64_t times, unsigned depth)
{
    if (o->kind == PTX_IMMEDIATE)
        form->constant += times * (int64_t)o->bits;
    if (o->kind != PTX_REGISTER)
        return o->kind == PTX_IMMEDIATE;
    int def = lift->reg[o->reg].def;
    struct form was = *form;
    if (def >= 0 && depth < DEEP &&
        add_instruction(lift, form, &lift->kernel->instructions[def], times, depth + 1))
        return true;
    *form = was;
    return add_term(form, o->reg, times);
}

static bool read_linear_address(const struct lift *lift, unsigned at, struct form *out,
                                int64_t *bytes)
{
    const struct ptx_instruction *ins = &lift->kernel->instructions[at];
    bool async = lift->step[at].class_ == CLASS_ASYNC;
    const struct ptx_operand *memory = &ins->operands[lift->step[at].class_ != CLASS_STORE];
    *out = (struct form){.constant = memory->offset};
    *bytes =
        async ? (int64_t)ins->operands[2].bits : ptx_type_bits(ins->types[0]) / 8 * ins->vector;
    return add_operand(lift, out, &memory->items[0], 1, 0);
}

/* ---- loops ---- */

struct stretch {
    unsigned head, back;
};

/* How far a term moves in a turn of the loop; false: not by a constant. */
static bool find_pace(const struct lift *lift, const struct stretch *loop, unsigned reg,
                      int64_t *out)
{
    const struct ptx_operand *step = NULL;
    int increment = lift_find_increment(lift, reg, &step);
    unsigned writes = 0;
    *out = 0;
    for (unsigned i = loop->head; i <= loop->back; i++)
        writes += lift_writes(&lift->kernel->instructions[i], reg);
    if (!writes)
        return true;
    bool here = increment >= (int)loop->head && increment <= (int)loop->back;
    if (writes > 1 || !here || step->kind != PTX_IMMEDIATE ||
        lift->kernel->instructions[increment].guarded)
        return false;
    *out = (int64_t)step->bits;
    return true;
}

static bool same_terms(const struct form *a, const struct form *b)
{
    for (unsigned i = 0; i < a->count; i++) {
        unsigned k = 0;
        while (k < b->count && b->term[k].reg != a->term[i].reg)
            k++;
        if (k == b->count || b->term[k].times != a->term[i].times)
            return false;
    }
    return a->count == b->count;
}

/* Whether the load can come behind the store by another way than the loop's next turns. */
static bool comes_otherwise(struct lift *lift, const struct stretch *loop, unsigned load)
{
    unsigned count = lift->kernel->instruction_count;
    bool *seen = arena_alloc(&lift->arena, count + 1);
    if (!seen)
        return true;
    seen[loop->back + 1] = true;
    for (unsigned i = loop->head; i <= loop->back; i++) {
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        bool leaves =
            lift->step[i].class_ == CLASS_BRANCH &&
            (ins->operands[0].target < loop->head || ins->operands[0].target > loop->back);
        if (leaves)
            seen[ins->operands[0].target] = true;
    }
    lift_reach(lift, seen);
    return seen[load];
}

bool lift_moves_on(struct lift *lift, unsigned store, unsigned load)
{
    struct form to, from;
    struct stretch loop, other;
    int64_t to_bytes, from_bytes, pace = 0;
    int back = lift_find_back(lift, store, &loop.head);
    if (back < 0 || lift_find_back(lift, load, &other.head) != back || load > store ||
        !read_linear_address(lift, store, &to, &to_bytes) ||
        !read_linear_address(lift, load, &from, &from_bytes) || !same_terms(&to, &from))
        return false;
    loop.back = (unsigned)back;
    for (unsigned i = 0; i < to.count; i++) {
        int64_t one;
        if (!find_pace(lift, &loop, to.term[i].reg, &one))
            return false;
        pace += one * to.term[i].times;
    }
    bool up = pace > 0 && from.constant + pace >= to.constant + to_bytes;
    bool down = pace < 0 && from.constant + pace + from_bytes <= to.constant;
    return (up || down) && !comes_otherwise(lift, &loop, load);
}
