/* decode_tensor.c - mma, ldmatrix and stmatrix. */
#include <string.h>
#include "exec/decode/decode.h"

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

/* The first and the second of .row and .col. */
static bool layouts(const struct ptx_instruction *ins, bool across[2])
{
    unsigned count = 0;
    for (unsigned i = 0; i < ins->modifier_count; i++) {
        const bool column = !strcmp(ins->modifiers[i], "col");
        if (!column && strcmp(ins->modifiers[i], "row") != 0)
            continue;
        if (count == 2)
            return false;
        across[count++] = column;
    }
    across[1] = !across[1];
    return count == 2;
}

/* The shape; false where there is none of that size for numbers of so many bytes. */
static bool mma_shape(struct decoder *d, struct mma *m, unsigned bytes)
{
    static const struct {
        const char *name;
        unsigned tall, depth;
    } shapes[] = {{"m16n8k4", 2, 4},   {"m16n8k8", 2, 8}, {"m16n8k16", 2, 16},
                  {"m16n8k32", 2, 32}, {"m8n8k4", 1, 4},  {"m8n8k16", 1, 16}};
    unsigned i = 0;
    while (i < sizeof shapes / sizeof *shapes && !has(d, shapes[i].name))
        i++;
    if (i == sizeof shapes / sizeof *shapes || !bytes)
        return false;
    m->tall = shapes[i].tall;
    m->depth = shapes[i].depth;
    m->each = 4 / bytes;
    m->quads = m->tall == 1 && m->depth == 4;
    m->b_count = m->quads ? 2 : m->depth / (4 * m->each);
    m->a_count = m->quads ? 2 : m->b_count * m->tall;
    m->sums = m->quads ? 8 : 2 * m->tall;
    if (m->quads)
        return m->a_kind == MMA_F16;
    if (m->tall == 1 && m->a_kind < MMA_S8)
        return false;
    return m->b_count == 1 || (m->b_count == 2 && m->tall == 2);
}

/* Types are those of d, a, b and c. */
static enum status mma_types(struct decoder *d, struct mma *m)
{
    const enum ptx_type *types = d->ins->types;
    const bool typed = d->ins->type_count == 4;
    const unsigned a_bytes = typed ? mma_kind_of(types[1], &m->a_kind) : 0;
    const unsigned b_bytes = typed ? mma_kind_of(types[2], &m->b_kind) : 0;
    bool across[2];
    if (!a_bytes || a_bytes != b_bytes || !mma_shape(d, m, a_bytes) || !layouts(d->ins, across) ||
        types[0] != types[3])
        return refuse(d, "a shape or types that are not supported here");
    m->a_across = across[0];
    m->b_across = across[1];
    if (!m->quads && (across[0] || across[1]))
        return refuse(d, "expected .row.col");
    const bool integers = m->a_kind >= MMA_S8;
    m->half = types[0] == PTX_F16;
    m->saturates = has(d, "satfinite");
    const bool sums = integers ? types[0] == PTX_S32
                               : types[0] == PTX_F32 ||
                                     (m->half && m->a_kind != MMA_BF16 && m->a_kind != MMA_TF32);
    if (!sums || integers != (m->b_kind >= MMA_S8) || (a_bytes > 1 && m->a_kind != m->b_kind))
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
    const unsigned sums = mma_sum_registers(m);
    TRY(fragment(d, o, sums, false, m->d));
    TRY(fragment(d, o + 1, m->a_count, true, m->a));
    TRY(fragment(d, o + 2, m->b_count, true, m->b));
    TRY(fragment(d, o + 3, sums, true, m->c));
    struct op *op = emit(d, op_mma);
    if (!op)
        return no_memory(d);
    op->more = m;
    op->splits = op->whole = true;
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
    op->splits = op->whole = true;
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
