/* decode_tensor.c - mma, ldmatrix and stmatrix. */
#include "exec/decode.h"

unsigned mma_kind_of(enum ptx_type type, enum mma_kind *kind)
{
    static const struct {
        enum ptx_type type;
        enum mma_kind kind;
        unsigned bytes;
    } kinds[] = {
        {PTX_F16, MMA_F16, 2},   {PTX_BF16, MMA_BF16, 2}, {PTX_TF32, MMA_TF32, 4},
        {PTX_E4M3, MMA_E4M3, 1}, {PTX_E5M2, MMA_E5M2, 1}, {PTX_S8, MMA_S8, 1},
        {PTX_U8, MMA_U8, 1},
    };
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == type) {
            *kind = kinds[i].kind;
            return kinds[i].bytes;
        }
    return 0;
}

enum status fragment(struct decoder *d, const struct ptx_operand *o, unsigned count, bool reads,
                     ref *at)
{
    const struct ptx_operand *items = o->kind == PTX_VECTOR ? o->items : o;
    const unsigned given = o->kind == PTX_VECTOR ? o->count : 1;
    if (given != count)
        return refuse(d, "%u registers of a fragment of %u", given, count);
    for (unsigned i = 0; i < count; i++) {
        unsigned bytes;
        if (reads)
            TRY(source(d, items + i, PTX_B32, at + i, &bytes));
        else
            TRY(destination(d, items + i, at + i, &bytes));
        if (at[i] != REF_NONE && bytes != 4)
            return refuse(d, "a register of %u bits in a fragment, expected 32", bytes * 8);
    }
    return STATUS_OK;
}

/* Types are those of d, a, b and c. */
static enum status mma_types(struct decoder *d, struct mma *m)
{
    static const char *const shapes[] = {"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"};
    const enum ptx_type *types = d->ins->types;
    const int shape = which(d, shapes, 4);
    const bool typed = d->ins->type_count == 4;
    const unsigned a_bytes = typed ? mma_kind_of(types[1], &m->a_kind) : 0;
    const unsigned b_bytes = typed ? mma_kind_of(types[2], &m->b_kind) : 0;
    if (!a_bytes || a_bytes != b_bytes || shape < 0 || !has(d, "row") || !has(d, "col") ||
        types[0] != types[3])
        return refuse(d, "a shape or types that are not supported here");
    const bool integers = m->a_kind >= MMA_S8;
    m->depth = 4u << shape;
    m->each = 4 / a_bytes;
    m->half = types[0] == PTX_F16;
    m->saturates = has(d, "satfinite");
    const bool fits = m->depth == 4 * m->each || m->depth == 8 * m->each;
    const bool sums = integers ? types[0] == PTX_S32
                               : types[0] == PTX_F32 ||
                                     (m->half && m->a_kind != MMA_BF16 && m->a_kind != MMA_TF32);
    if (!fits || !sums || integers != (m->b_kind >= MMA_S8) ||
        (a_bytes > 1 && m->a_kind != m->b_kind))
        return refuse(d, "types that do not go together");
    return STATUS_OK;
}

enum status decode_mma(struct decoder *d)
{
    const struct ptx_operand *o = d->ins->operands;
    struct mma *m = own(d, sizeof *m);
    if (!m)
        return no_memory(d);
    TRY(want_operands(d, 4, 4));
    TRY(mma_types(d, m));
    const unsigned steps = m->depth / (4 * m->each), sums = m->half ? 2 : 4;
    TRY(fragment(d, o, sums, false, m->d));
    TRY(fragment(d, o + 1, 2 * steps, true, m->a));
    TRY(fragment(d, o + 2, steps, true, m->b));
    TRY(fragment(d, o + 3, sums, true, m->c));
    struct op *op = emit(d, op_mma);
    if (!op)
        return no_memory(d);
    op->more = m;
    op->splits = true;
    return STATUS_OK;
}

static enum status decode_matrices(struct decoder *d, bool load)
{
    static const char *const counts[] = {"x1", "x2", "x4"};
    const struct ptx_operand *o = d->ins->operands;
    struct matrix_access *x = own(d, sizeof *x);
    const int count = which(d, counts, 3);
    if (!x)
        return no_memory(d);
    TRY(want_operands(d, 2, 2));
    if (count < 0 || !has(d, "m8n8") || last_type(d) != PTX_B16)
        return refuse(d, "expected matrices of .m8n8, one, two or four, of .b16");
    x->transposed = has(d, "trans");
    x->access.bytes = 16;
    x->access.count = 1;
    TRY(memory_operand(d, o + (load ? 1 : 0), d->ins->space, &x->access));
    x->access.count = 1u << count;
    x->access.width = 4;
    TRY(fragment(d, o + (load ? 0 : 1), x->access.count, !load, x->access.regs));
    struct op *op = emit(d, load ? op_ldmatrix : op_stmatrix);
    if (!op)
        return no_memory(d);
    op->more = x;
    op->splits = true;
    return STATUS_OK;
}

enum status decode_ldmatrix(struct decoder *d)
{
    return decode_matrices(d, true);
}

enum status decode_stmatrix(struct decoder *d)
{
    return decode_matrices(d, false);
}
