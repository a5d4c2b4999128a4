/* fused_move.c - operations that move elements: each gives the place of its operand. */
#include <stdlib.h>
#include <string.h>
#include "tools/xla/fused_value.h"

const char *fused_broadcast(struct fused_writer *w, const struct hlo_op *op,
                            const struct fused_place *place)
{
    const struct hlo_op *from = fused_operand(w, op, 0);
    struct fused_place there = {.linear = NULL};
    int64_t dims[HLO_RANK];
    int count = hlo_numbers(op, "dimensions", dims, HLO_RANK);
    if (!from || from->parts != 1 || count < 0 || (unsigned)count != from->shape[0].rank)
        return fused_refuse(w, "an operand of %s", op->name);
    for (int d = 0; d < count; d++)
        if (dims[d] < (int64_t)op->shape[0].rank)
            there.index[d] = fused_index(w, place, &op->shape[0], (unsigned)dims[d]);
    return fused_value(w, from, there);
}

const char *fused_transpose(struct fused_writer *w, const struct hlo_op *op,
                            const struct fused_place *place)
{
    const struct hlo_op *from = fused_operand(w, op, 0);
    struct fused_place there = {.linear = NULL};
    int64_t dims[HLO_RANK];
    int count = hlo_numbers(op, "dimensions", dims, HLO_RANK);
    if (!from || from->parts != 1 || (unsigned)count != op->shape[0].rank)
        return fused_refuse(w, "an operand of %s", op->name);
    for (int d = 0; d < count; d++)
        if (dims[d] < count)
            there.index[dims[d]] = fused_index(w, place, &op->shape[0], (unsigned)d);
    return fused_value(w, from, there);
}

static bool row_major(const struct hlo_shape *shape)
{
    int64_t stride = 1;
    for (unsigned d = shape->rank; d-- > 0; stride *= shape->dim[d])
        if (shape->dim[d] > 1 && shape->stride[d] != stride)
            return false;
    return true;
}

/* A bitcast keeps the order of bytes; so does a reshape of arrays in row-major order. */
const char *fused_reshape(struct fused_writer *w, const struct hlo_op *op,
                          const struct fused_place *place)
{
    const struct hlo_op *from = fused_operand(w, op, 0);
    if (!from || from->parts != 1 || from->shape[0].count != op->shape[0].count ||
        from->shape[0].dtype != op->shape[0].dtype)
        return fused_refuse(w, "%s of bits", op->opcode);
    if (strcmp(op->opcode, "reshape") == 0 &&
        !(row_major(&from->shape[0]) && row_major(&op->shape[0])))
        return fused_refuse(w, "%s of other layouts", op->opcode);
    return fused_value(w, from,
                       (struct fused_place){.linear = fused_linear(w, place, &op->shape[0])});
}

const char *fused_slice(struct fused_writer *w, const struct hlo_op *op,
                        const struct fused_place *place)
{
    const struct hlo_op *from = fused_operand(w, op, 0);
    const char *at = strstr(op->attributes, "slice={");
    struct fused_place there = {.linear = NULL};
    for (unsigned d = 0; from && at && d < op->shape[0].rank; d++) {
        at = strchr(at, '[');
        long long first = at ? strtoll(at + 1, NULL, 10) : 0, step = 1;
        const char *end = at ? strchr(at, ']') : NULL, *colon = end ? strchr(at, ':') : NULL;
        colon = colon && colon < end ? strchr(colon + 1, ':') : NULL;
        if (colon && colon < end)
            step = strtoll(colon + 1, NULL, 10);
        const char *index = fused_index(w, place, &op->shape[0], d);
        there.index[d] =
            first || step != 1 ? TEXT(w, "(%s * %lld + %lld)", index, step, first) : index;
        at = end;
    }
    return from && at ? fused_value(w, from, there) : fused_refuse(w, "%s", op->opcode);
}

const char *fused_concatenate(struct fused_writer *w, const struct hlo_op *op,
                              const struct fused_place *place)
{
    int64_t dim = 0, end = op->shape[0].count;
    const char *out = NULL;
    if (hlo_numbers(op, "dimensions", &dim, 1) != 1 || dim >= (int64_t)op->shape[0].rank)
        return fused_refuse(w, "%s", op->opcode);
    end = op->shape[0].dim[dim];
    const char *index = fused_index(w, place, &op->shape[0], (unsigned)dim);
    for (unsigned i = op->operands; i-- > 0;) {
        const struct hlo_op *from = fused_operand(w, op, i);
        struct fused_place there = {.linear = NULL};
        if (!from || from->parts != 1)
            return fused_refuse(w, "an operand of %s", op->name);
        long long size = from->shape[0].dim[dim], begin = end - size;
        for (unsigned d = 0; d < op->shape[0].rank; d++)
            there.index[d] = fused_index(w, place, &op->shape[0], d);
        there.index[dim] = TEXT(w, "(%s < %lld ? 0 : %s < %lld ? %s - %lld : %lld)", index, begin,
                                index, (long long)end, index, begin, size - 1);
        const char *value = fused_value(w, from, there);
        if (!value)
            return NULL;
        out = out ? TEXT(w, "where(NUMBER(%s < %lld) > 0.5, %s, %s)", index, (long long)end, value,
                         out)
                  : value;
        end = begin;
    }
    w->places = true;
    return out;
}

/* Edges alone; what lies between elements is refused. */
const char *fused_pad(struct fused_writer *w, const struct hlo_op *op,
                      const struct fused_place *place)
{
    const struct hlo_op *from = fused_operand(w, op, 0), *with = fused_operand(w, op, 1);
    const char *at = hlo_word(op, "padding", w->arena), *inside = NULL;
    struct fused_place there = {.linear = NULL};
    for (unsigned d = 0; from && with && at && d < op->shape[0].rank; d++) {
        char *end;
        long long low = strtoll(at, &end, 10), n = from->shape[0].dim[d];
        strtoll(*end == '_' ? end + 1 : end, &end, 10);
        if (*end == '_' || low < 0 || low > op->shape[0].dim[d])
            return fused_refuse(w, "%s between elements", op->opcode);
        const char *index = fused_index(w, place, &op->shape[0], d);
        there.index[d] = index;
        if (n != op->shape[0].dim[d]) {
            const char *test = TEXT(w, "%s >= %lld && %s < %lld", index, low, index, low + n);
            inside = inside ? TEXT(w, "%s && %s", inside, test) : test;
            there.index[d] = TEXT(w, "(%s ? %s - %lld : 0)", test, index, low);
        }
        at = end + (*end == 'x');
    }
    const char *value =
        from && with && at ? fused_value(w, from, there) : fused_refuse(w, "%s", op->opcode);
    const char *edge = value ? fused_value(w, with, (struct fused_place){.linear = "0"}) : NULL;
    w->places = true;
    if (!edge || !inside)
        return edge ? value : NULL;
    return TEXT(w, "where(NUMBER(%s) > 0.5, %s, %s)", inside, value, edge);
}

const char *fused_iota(struct fused_writer *w, const struct hlo_op *op,
                       const struct fused_place *place)
{
    const char *dim = hlo_word(op, "iota_dimension", w->arena);
    unsigned d = dim ? (unsigned)strtoul(dim, NULL, 10) : HLO_RANK;
    w->places = true;
    return d < op->shape[0].rank ? TEXT(w, "NUMBER(%s)", fused_index(w, place, &op->shape[0], d))
                                 : fused_refuse(w, "%s", op->opcode);
}

const char *fused_parameter(struct fused_writer *w, const struct hlo_op *op,
                            const struct fused_place *place)
{
    unsigned number = (unsigned)strtoul(op->inside, NULL, 10);
    const char *at = fused_linear(w, place, &op->shape[0]);
    if (!at || number >= FUSED_ARRAYS)
        return NULL;
    bool here = strcmp(at, "i") == 0 && op->shape[0].count == w->n;
    if (w->used[number] != FUSED_ELSEWHERE)
        w->used[number] = here ? FUSED_HERE : FUSED_ELSEWHERE;
    return TEXT(w, "p%u(%s, %s)", number, at, w->column);
}
