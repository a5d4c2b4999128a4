/*
 * lift_exact.c - registers that are the same for all threads of a block, as expressions over the
 * block's place and the launch's parameters: the tile that a block works on. All values on the way
 * are assumed not to be negative.
 */
#include <string.h>
#include "lift/lift_parts.h"

enum { EXACT_DEEP = 32, EXACT_LONG = 500 };

struct exact {
    struct lift *lift;
    const char *block; /* the name of its place along x; NULL: it has none */
    unsigned deep;
};

static const char *exact_operand(struct exact *e, const struct ptx_operand *o);

static const char *keep_exact(const char *text)
{
    return text && strlen(text) <= EXACT_LONG ? text : NULL;
}

static const char *exact_binary(struct exact *e, const char *format, const struct ptx_operand *a,
                                const struct ptx_operand *b)
{
    const char *x = exact_operand(e, a), *y = x ? exact_operand(e, b) : NULL;
    return y ? keep_exact(arena_format(&e->lift->arena, format, x, y)) : NULL;
}

static bool constant_of(const struct ptx_operand *o, int64_t *out)
{
    *out = (int64_t)o->bits;
    return o->kind == PTX_IMMEDIATE;
}

static const struct ptx_instruction *definition(const struct lift *lift,
                                                const struct ptx_operand *o)
{
    int def = o->kind == PTX_REGISTER ? lift->reg[o->reg].def : -1;
    return def < 0 ? NULL : &lift->kernel->instructions[def];
}

static bool same_register(const struct ptx_operand *a, const struct ptx_operand *b)
{
    return a->kind == PTX_REGISTER && b->kind == PTX_REGISTER && a->reg == b->reg;
}

bool lift_is_remainder(const struct lift *lift, const struct ptx_instruction *ins,
                       const struct ptx_operand **by)
{
    const struct ptx_operand *x = &ins->operands[1];
    const struct ptx_instruction *product =
        strcmp(ins->opcode, "sub") == 0 ? definition(lift, &ins->operands[2]) : NULL;
    if (!product || strcmp(product->opcode, "mul") != 0 || !ptx_has_modifier(product, "lo"))
        return false;
    for (unsigned i = 1; i < 3; i++) {
        const struct ptx_instruction *quotient = definition(lift, &product->operands[i]);
        *by = &product->operands[3 - i];
        if (quotient && strcmp(quotient->opcode, "div") == 0 && lift_whole_numbers(quotient) &&
            same_register(&quotient->operands[1], x) && same_register(&quotient->operands[2], *by))
            return true;
    }
    return false;
}

static const char *exact_shifted(struct exact *e, const struct ptx_instruction *ins)
{
    int64_t by;
    if (!constant_of(&ins->operands[2], &by) || by < 0 || by > 40)
        return NULL;
    const bool is_signed =
        ptx_has_modifier(ins, "s32") || ins->types[0] == PTX_S32 || ins->types[0] == PTX_S64;
    if (ins->opcode[2] == 'r' && is_signed && by + 1 == (int64_t)ptx_type_bits(ins->types[0]))
        return "0"; /* the sign */
    const char *x = exact_operand(e, &ins->operands[1]);
    if (!x || strcmp(x, "0") == 0)
        return x;
    return keep_exact(arena_format(&e->lift->arena, "(%s %c %lld)", x,
                                   ins->opcode[2] == 'l' ? '*' : '/', (long long)1 << by));
}

static const char *exact_parameter(struct exact *e, const struct ptx_instruction *ins)
{
    const struct ptx_operand *memory = &ins->operands[1];
    const struct ptx_operand *at = memory->count ? &memory->items[0] : NULL;
    bool plain = ins->space == PTX_PARAM && at && at->kind == PTX_ADDRESS_OF &&
                 !at->variable->array && !memory->offset && !at->offset &&
                 at->variable->vector <= 1 &&
                 at->variable->bytes * 8 == ptx_type_bits(ins->types[0]);
    for (unsigned i = 0; plain && i < e->lift->views; i++)
        plain = e->lift->view[i].param != at->variable->index;
    return plain ? arena_format(&e->lift->arena, "p%u", at->variable->index) : NULL;
}

static const char *exact_sum(struct exact *e, const struct ptx_operand *a,
                             const struct ptx_operand *b)
{
    const char *x = exact_operand(e, a), *y = x ? exact_operand(e, b) : NULL;
    int64_t value;
    if (!y)
        return NULL;
    if (strcmp(x, "0") == 0 || strcmp(y, "0") == 0)
        return strcmp(x, "0") == 0 ? y : x;
    if (constant_of(b, &value) && value < 0)
        return keep_exact(arena_format(&e->lift->arena, "(%s - %lld)", x, (long long)-value));
    return keep_exact(arena_format(&e->lift->arena, "(%s + %s)", x, y));
}

static const char *exact_defined(struct exact *e, const struct ptx_instruction *ins)
{
    static const struct {
        const char *opcode, *format;
    } binary[] = {{"sub", "(%s - %s)"},  {"mul", "(%s * %s)"},   {"div", "(%s / %s)"},
                  {"rem", "(%s %% %s)"}, {"min", "min(%s, %s)"}, {"max", "max(%s, %s)"}};
    const struct ptx_operand *o = ins->operands, *by;
    if (!lift_whole_numbers(ins) || ptx_has_modifier(ins, "hi"))
        return NULL;
    if (strcmp(ins->opcode, "ld") == 0)
        return exact_parameter(e, ins);
    if (strcmp(ins->opcode, "mov") == 0 || strcmp(ins->opcode, "cvt") == 0)
        return o[0].kind == PTX_REGISTER ? exact_operand(e, &o[1]) : NULL;
    if (strcmp(ins->opcode, "add") == 0)
        return exact_sum(e, &o[1], &o[2]);
    if (strcmp(ins->opcode, "shl") == 0 || strcmp(ins->opcode, "shr") == 0)
        return exact_shifted(e, ins);
    if (lift_is_remainder(e->lift, ins, &by))
        return exact_binary(e, "(%s %% %s)", &o[1], by);
    for (unsigned i = 0; i < sizeof binary / sizeof *binary; i++) {
        if (strcmp(ins->opcode, binary[i].opcode) == 0)
            return exact_binary(e, binary[i].format, &o[1], &o[2]);
    }
    return NULL;
}

static const char *exact_operand(struct exact *e, const struct ptx_operand *o)
{
    int64_t value;
    if (constant_of(o, &value))
        return value < 0 ? arena_format(&e->lift->arena, "(0 - %lld)", (long long)-value)
                         : arena_format(&e->lift->arena, "%lld", (long long)value);
    if (o->kind == PTX_SPECIAL)
        return strcmp(o->name, "%ctaid.x") == 0    ? e->block
               : strcmp(o->name, "%nctaid.x") == 0 ? "grid.x"
                                                   : NULL;
    const struct ptx_instruction *ins = definition(e->lift, o);
    if (!ins || e->deep == EXACT_DEEP)
        return NULL;
    e->deep++;
    const char *text = exact_defined(e, ins);
    e->deep--;
    return text;
}

const char *lift_exact(struct lift *lift, const struct ptx_operand *o, const char *block)
{
    struct exact e = {.lift = lift, .block = block};
    return exact_operand(&e, o);
}
