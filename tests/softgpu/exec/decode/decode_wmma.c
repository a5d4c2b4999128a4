/* decode_wmma.c - wmma.load, wmma.mma and wmma.store. */
#include <string.h>
#include "exec/decode/decode.h"

/* Rows of a, columns of b, and what both have. */
struct wmma_shape {
    const char *name;
    unsigned m, n, k;
};

static const struct wmma_shape *shape_of(const struct decoder *d)
{
    static const struct wmma_shape shapes[] = {{"m16n16k16", 16, 16, 16},
                                               {"m32n8k16", 32, 8, 16},
                                               {"m8n32k16", 8, 32, 16},
                                               {"m16n16k8", 16, 16, 8}};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (has(d, shapes[i].name))
            return shapes + i;
    return NULL;
}

/* The first or second of .row and .col: whether it is .col. */
static bool is_column(const struct decoder *d, unsigned which_one)
{
    for (unsigned i = 0; i < d->ins->modifier_count; i++) {
        const bool column = !strcmp(d->ins->modifiers[i], "col");
        if ((column || !strcmp(d->ins->modifiers[i], "row")) && which_one-- == 0)
            return column;
    }
    return false;
}

/* a or b, of numbers that tensor cores take. */
static bool factor(const struct wmma_shape *s, bool is_a, enum ptx_type type,
                   struct wmma_fragment *f)
{
    enum mma_kind kind;
    const unsigned bytes = mma_kind_of(type, &kind);
    if (!bytes || kind == MMA_E4M3 || kind == MMA_E5M2 || (kind == MMA_TF32) != (s->k == 8))
        return false;
    f->lines = is_a ? s->m : s->n;
    f->length = s->k;
    f->bytes = bytes;
    f->numbers = kind == MMA_F16 ? 16 : f->lines * f->length / LANES;
    return true;
}

/* c or d. */
static bool sum(const struct wmma_shape *s, enum ptx_type type, struct wmma_fragment *f)
{
    if (type != PTX_F16 && type != PTX_F32 && type != PTX_S32)
        return false;
    *f = (struct wmma_fragment){
        .lines = s->m, .length = s->n, .bytes = type == PTX_F16 ? 2 : 4, .numbers = 8};
    return true;
}

static enum status decode_access(struct decoder *d, bool load)
{
    static const char *const matrices[] = {"a", "b", "c", "d"};
    const struct ptx_operand *o = d->ins->operands;
    const struct wmma_shape *shape = shape_of(d);
    const int which_one = which(d, matrices, 4);
    struct wmma_access *x = own(d, sizeof *x);
    unsigned bytes;
    if (!x)
        return no_memory(d);
    TRY(want_operands(d, 2, 3));
    const bool known = shape && which_one >= 0 &&
                       (which_one < 2 ? factor(shape, which_one == 0, last_type(d), &x->fragment)
                                      : sum(shape, last_type(d), &x->fragment));
    if (!known || load == (which_one == 3))
        return refuse(d, "a shape or a type that is not supported here");
    x->turned = is_column(d, 0) != (which_one == 1);
    x->access.bytes = x->fragment.bytes;
    x->access.count = 1;
    TRY(memory_operand(d, o + (load ? 1 : 0), d->ins->space, &x->access));
    TRY(fragment(d, o + (load ? 0 : 1), wmma_registers(&x->fragment), !load, x->regs));
    if (d->ins->operand_count == 3)
        TRY(source(d, o + 2, PTX_U32, &x->stride, &bytes));
    else
        TRY(constant(d, 4, x->turned ? x->fragment.lines : x->fragment.length, 0, &x->stride));
    struct op *op = emit(d, load ? op_wmma_load : op_wmma_store);
    if (!op)
        return no_memory(d);
    op->more = x;
    op->splits = op->whole = true;
    return STATUS_OK;
}

/* Types are those of d and c where a and b are of f16, else those of d, a, b and c. */
static enum status wmma_types(struct decoder *d, struct wmma *g)
{
    const struct wmma_shape *shape = shape_of(d);
    const enum ptx_type *types = d->ins->types;
    const bool all = d->ins->type_count == 4;
    const enum ptx_type a = all ? types[1] : PTX_F16, b = all ? types[2] : PTX_F16;
    const enum ptx_type c = d->ins->type_count ? types[d->ins->type_count - 1] : PTX_NO_TYPE;
    if (!shape || (!all && d->ins->type_count != 2) || a != b || !factor(shape, true, a, &g->a) ||
        !factor(shape, false, b, &g->b) || !sum(shape, c, &g->c) || !sum(shape, types[0], &g->d))
        return refuse(d, "a shape or types that are not supported here");
    mma_kind_of(a, &g->mma.a_kind);
    g->mma.half = types[0] == PTX_F16;
    g->mma.saturates = has(d, "satfinite");
    g->mma.depth = shape->k;
    const bool integers = g->mma.a_kind >= MMA_S8;
    const bool halves = types[0] == PTX_F16 || c == PTX_F16;
    if (integers != (types[0] == PTX_S32) || integers != (c == PTX_S32) ||
        (halves && a != PTX_F16) || (g->mma.half && c != PTX_F16))
        return refuse(d, "types that do not go together");
    return STATUS_OK;
}

static enum status decode_product(struct decoder *d)
{
    const struct ptx_operand *o = d->ins->operands;
    struct wmma *g = own(d, sizeof *g);
    if (!g)
        return no_memory(d);
    TRY(want_operands(d, 4, 4));
    TRY(wmma_types(d, g));
    TRY(fragment(d, o, wmma_registers(&g->d), false, g->regs[0]));
    TRY(fragment(d, o + 1, wmma_registers(&g->a), true, g->regs[1]));
    TRY(fragment(d, o + 2, wmma_registers(&g->b), true, g->regs[2]));
    TRY(fragment(d, o + 3, wmma_registers(&g->c), true, g->regs[3]));
    struct op *op = emit(d, op_wmma_mma);
    if (!op)
        return no_memory(d);
    op->more = g;
    op->splits = op->whole = true;
    return STATUS_OK;
}

enum status decode_wmma(struct decoder *d)
{
    static const char *const verbs[] = {"load", "store", "mma"};
    switch (which(d, verbs, 3)) {
    case 0:
        return decode_access(d, true);
    case 1:
        return decode_access(d, false);
    case 2:
        return decode_product(d);
    default:
        return refuse(d, "expected .load, .store or .mma");
    }
}
