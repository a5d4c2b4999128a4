/* decode_wgmma.c - wgmma. */
#include <stdlib.h>
#include "exec/decode/decode.h"

/* Columns and depth, of ".m64n128k16"; false where there is no such shape. */
static bool shape_of(const struct decoder *d, unsigned *columns, unsigned *depth)
{
    for (unsigned i = 0; i < d->ins->modifier_count; i++) {
        const char *text = d->ins->modifiers[i];
        char *end;
        if (strncmp(text, "m64n", 4) != 0)
            continue;
        *columns = (unsigned)strtoul(text + 4, &end, 10);
        if (*end != 'k')
            return false;
        *depth = (unsigned)strtoul(end + 1, &end, 10);
        return !*end && *columns >= 8 && *columns <= WGMMA_COLUMNS && *columns % 8 == 0;
    }
    return false;
}

static enum status types(struct decoder *d, struct wgmma *g)
{
    const enum ptx_type *types = d->ins->types;
    struct mma *m = &g->mma;
    const bool typed = d->ins->type_count == 3;
    const unsigned a_bytes = typed ? mma_kind_of(types[1], &m->a_kind) : 0;
    const unsigned b_bytes = typed ? mma_kind_of(types[2], &m->b_kind) : 0;
    if (!a_bytes || a_bytes != b_bytes || !shape_of(d, &g->columns, &m->depth) ||
        m->depth * a_bytes != 32)
        return refuse(d, "a shape or types that are not supported here");
    const bool integers = m->a_kind >= MMA_S8;
    m->each = 4 / a_bytes;
    m->tall = MMA_ROWS / 8;
    m->a_count = 4;
    m->half = types[0] == PTX_F16;
    m->saturates = has(d, "satfinite");
    const bool sums = integers ? types[0] == PTX_S32
                               : types[0] == PTX_F32 ||
                                     (m->half && m->a_kind != MMA_BF16 && m->a_kind != MMA_TF32);
    const bool few = !integers || g->columns <= 32 || g->columns % 16 == 0;
    if (!sums || !few || integers != (m->b_kind >= MMA_S8) || (m->saturates && !integers) ||
        (a_bytes > 1 && m->a_kind != m->b_kind))
        return refuse(d, "types that do not go together");
    return STATUS_OK;
}

static enum status constant_operand(struct decoder *d, const struct ptx_operand *o, int64_t low,
                                    bool *is_low)
{
    const int64_t value = (int64_t)o->bits;
    if (o->kind != PTX_IMMEDIATE || (value != low && value != 1))
        return refuse(d, "an operand that is neither %d nor 1", (int)low);
    *is_low = value == low;
    return STATUS_OK;
}

/* scale-d {, imm-scale-a, imm-scale-b {, imm-trans-a}, imm-trans-b} */
static enum status scales(struct decoder *d, struct wgmma *g)
{
    const struct ptx_operand *o = d->ins->operands + 3;
    const unsigned given = d->ins->operand_count - 3;
    const bool integers = g->mma.a_kind >= MMA_S8, halves = g->mma.each == 2;
    const unsigned wanted = integers ? 1 : halves ? 4 + g->a_memory : 3;
    bool straight;
    unsigned bytes;
    if (given != wanted)
        return refuse(d, "%u operands after the matrices, expected %u", given, wanted);
    struct ptx_operand positive = *o;
    positive.negated = false;
    g->flip = o->negated ? ALL_LANES : 0;
    TRY(source(d, &positive, PTX_PRED, &g->scale, &bytes));
    if (bytes)
        return refuse(d, "a scale of d that is no predicate");
    if (integers)
        return STATUS_OK;
    TRY(constant_operand(d, o + 1, -1, &g->negative_a));
    TRY(constant_operand(d, o + 2, -1, &g->negative_b));
    if (halves && g->a_memory) {
        TRY(constant_operand(d, o + 3, 0, &straight));
        g->transposed_a = !straight;
    }
    if (halves) {
        TRY(constant_operand(d, o + given - 1, 0, &straight));
        g->transposed_b = !straight;
    }
    return STATUS_OK;
}

static enum status descriptor(struct decoder *d, const struct ptx_operand *o, ref *at)
{
    unsigned bytes;
    TRY(source(d, o, PTX_B64, at, &bytes));
    return bytes == 8 ? STATUS_OK : refuse(d, "a descriptor of %u bits, expected 64", bytes * 8);
}

static enum status decode_product(struct decoder *d)
{
    const struct ptx_operand *o = d->ins->operands;
    struct wgmma *g = own(d, sizeof *g);
    if (!g)
        return no_memory(d);
    TRY(want_operands(d, 4, 8));
    TRY(types(d, g));
    TRY(fragment(d, o, wgmma_registers(g), false, g->d));
    for (unsigned i = 0; i < wgmma_registers(g); i++)
        if (g->d[i] == REF_NONE)
            return refuse(d, "a sum without a register");
    g->a_memory = o[1].kind != PTX_VECTOR;
    TRY(g->a_memory ? descriptor(d, o + 1, &g->a) : fragment(d, o + 1, 4, true, g->mma.a));
    TRY(descriptor(d, o + 2, &g->b));
    TRY(scales(d, g));
    struct op *op = emit(d, op_wgmma);
    if (!op)
        return no_memory(d);
    op->more = g;
    op->splits = op->whole = true;
    return STATUS_OK;
}

enum status decode_wgmma(struct decoder *d)
{
    static const char *const done[] = {"fence", "commit_group", "wait_group"};
    if (has(d, "mma_async"))
        return decode_product(d);
    return which(d, done, 3) >= 0 ? decode_nothing(d) : refuse(d, "not supported here");
}
