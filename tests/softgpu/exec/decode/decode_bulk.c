/* decode_bulk.c - cp.async.bulk and tensormap. */
#include "exec/decode/decode.h"

/* The kind is in the spaces: the first is the instruction's, the second a modifier. */
static enum status kind_of(struct decoder *d, struct bulk_copy *c)
{
    const bool arrives = has(d, "mbarrier::complete_tx::bytes");
    if (d->ins->space == PTX_SHARED && has(d, "global"))
        c->kind = BULK_LOAD;
    else if (d->ins->space == PTX_GLOBAL && has(d, "shared::cta"))
        c->kind = BULK_STORE;
    else if (d->ins->space == PTX_SHARED && has(d, "shared::cta") && !has(d, "tensor"))
        c->kind = BULK_SHARED;
    else
        return refuse(d, "spaces that are not supported here");
    if (arrives == (c->kind == BULK_STORE) || has(d, "bulk_group") == arrives)
        return refuse(d, "not supported here");
    return STATUS_OK;
}

static enum status word(struct decoder *d, const struct ptx_operand *o, ref *at)
{
    unsigned bytes;
    TRY(source(d, o, PTX_B32, at, &bytes));
    return bytes == 4 ? STATUS_OK : refuse(d, "an operand of %u bits, expected 32", bytes * 8);
}

/* [map, {coordinates}] */
static enum status tensor_operand(struct decoder *d, const struct ptx_operand *o,
                                  struct bulk_copy *c)
{
    static const char *const names[] = {"1d", "2d", "3d", "4d", "5d"};
    const int dims = which(d, names, EXEC_TENSOR_DIMS);
    const struct ptx_operand *list = o->kind == PTX_MEMORY && o->count == 2 ? o->items + 1 : NULL;
    c->dims = (unsigned)dims + 1;
    if (dims < 0 || !list || list->kind != PTX_VECTOR || list->count != c->dims)
        return refuse(d, "expected a map and as many coordinates as dimensions");
    for (unsigned i = 0; i < c->dims; i++)
        TRY(word(d, list->items + i, c->coordinate + i));
    return memory_operand(d, o, PTX_GENERIC, &c->other);
}

static enum status copy_operands(struct decoder *d, struct bulk_copy *c)
{
    const struct ptx_operand *o = d->ins->operands;
    const bool stores = c->kind == BULK_STORE;
    const unsigned sizes = c->tensor ? 0 : 1, barriers = stores ? 0 : 1;
    const unsigned count = 2 + sizes + barriers;
    c->bytes = REF_NONE;
    TRY(want_operands(d, count, has(d, "L2::cache_hint") ? count + 1 : count));
    TRY(memory_operand(d, o + (stores ? 1 : 0), PTX_SHARED, &c->shared));
    if (c->tensor)
        TRY(tensor_operand(d, o + (stores ? 0 : 1), c));
    else
        TRY(memory_operand(d, o + (stores ? 0 : 1),
                           c->kind == BULK_SHARED ? PTX_SHARED : PTX_GLOBAL, &c->other));
    if (!c->tensor)
        TRY(word(d, o + 2, &c->bytes));
    return stores ? STATUS_OK : memory_operand(d, o + count - 1, PTX_SHARED, &c->barrier);
}

enum status decode_bulk(struct decoder *d)
{
    struct bulk_copy *c = own(d, sizeof *c);
    if (!c)
        return no_memory(d);
    if (has(d, "prefetch"))
        return decode_nothing(d);
    c->tensor = has(d, "tensor");
    TRY(kind_of(d, c));
    TRY(copy_operands(d, c));
    struct op *op = emit(d, op_bulk_copy);
    if (!op)
        return no_memory(d);
    op->more = c;
    return STATUS_OK;
}

/* ---- tensormap ---- */

/* `dims`: the field has so many elements, which an operand counts; 0 where it is one number. */
static const struct field {
    const char *name;
    enum tensor_field field;
    unsigned dims, bytes;
} fields[] = {
    {"global_address", FIELD_ADDRESS, 0, 8},
    {"rank", FIELD_LAST, 0, 4},
    {"box_dim", FIELD_BOX, EXEC_TENSOR_DIMS, 4},
    {"global_dim", FIELD_SIZE, EXEC_TENSOR_DIMS, 4},
    {"global_stride", FIELD_STRIDE, EXEC_TENSOR_DIMS - 1, 8},
    {"element_stride", FIELD_STEP, EXEC_TENSOR_DIMS, 4},
    {"elemtype", FIELD_TYPE, 0, 4},
    {"interleave_layout", FIELD_INTERLEAVE, 0, 4},
    {"swizzle_mode", FIELD_SWIZZLE, 0, 4},
    {"fill_mode", FIELD_FILL, 0, 4},
};

static enum status replace(struct decoder *d, const struct field *field)
{
    const struct ptx_operand *o = d->ins->operands;
    struct access *a = own(d, sizeof *a);
    const unsigned count = 2 + (field->dims > 0);
    unsigned bytes;
    ref value;
    if (!a)
        return no_memory(d);
    TRY(want_operands(d, count, count));
    if (field->dims && (o[1].kind != PTX_IMMEDIATE || o[1].bits >= field->dims))
        return refuse(d, "a dimension that a map has not");
    a->bytes = EXEC_TENSOR_MAP_BYTES;
    a->count = 1;
    TRY(memory_operand(d, o, d->ins->space, a));
    TRY(source(d, o + count - 1, field->bytes == 8 ? PTX_B64 : PTX_B32, &value, &bytes));
    if (bytes != field->bytes)
        return refuse(d, "a value of %u bits, expected %u", bytes * 8, field->bytes * 8);
    struct op *op = emit(d, op_tensor_field);
    if (!op)
        return no_memory(d);
    op->more = a;
    op->s[0] = value;
    op->source = (uint8_t)bytes;
    op->mode = (uint8_t)field->field;
    op->imm = field->dims ? o[1].bits : 0;
    return STATUS_OK;
}

/* [global], [shared], 128 */
static enum status copy_map(struct decoder *d)
{
    const struct ptx_operand *o = d->ins->operands;
    struct async_copy *c = own(d, sizeof *c);
    if (!c)
        return no_memory(d);
    TRY(want_operands(d, 3, 3));
    if (o[2].kind != PTX_IMMEDIATE || o[2].bits != EXEC_TENSOR_MAP_BYTES ||
        d->ins->space != PTX_GLOBAL || !has(d, "shared::cta"))
        return refuse(d, "expected 128 bytes from shared to global memory");
    TRY(memory_operand(d, o, PTX_GLOBAL, &c->to));
    TRY(memory_operand(d, o + 1, PTX_SHARED, &c->from));
    struct op *op = emit(d, op_tensor_copy);
    if (!op)
        return no_memory(d);
    op->more = c;
    return STATUS_OK;
}

enum status decode_tensormap(struct decoder *d)
{
    if (has(d, "cp_fenceproxy"))
        return copy_map(d);
    for (unsigned i = 0; has(d, "replace") && i < sizeof fields / sizeof *fields; i++)
        if (has(d, fields[i].name))
            return replace(d, fields + i);
    return refuse(d, "not supported here");
}
