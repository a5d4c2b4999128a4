/* decode_mbarrier.c - mbarrier, and copies that arrive at one. */
#include "exec/decode/decode.h"

/* An op upon the barrier that operand `address` names; `value` is NULL where one arrival is meant.
 */
static enum status emit_mbarrier(struct decoder *d, enum mbarrier_verb verb, unsigned address,
                                 const struct ptx_operand *value, struct op **made)
{
    struct mbarrier *m = own(d, sizeof *m);
    const bool token = verb == MBARRIER_TOKEN;
    unsigned bytes = 4;
    ref at;
    if (!m)
        return no_memory(d);
    m->verb = verb;
    m->access.bytes = 8;
    m->access.count = 1;
    m->access.acquire = m->access.release = true;
    TRY(memory_operand(d, d->ins->operands + address, d->ins->space, &m->access));
    if (value)
        TRY(source(d, value, token ? PTX_B64 : PTX_U32, &at, &bytes));
    else
        TRY(constant(d, 4, 1, 0, &at));
    if (bytes != (token ? 8 : 4))
        return refuse(d, "an operand of %u bits, expected %d", bytes * 8, token ? 64 : 32);
    struct op *op = emit(d, op_mbarrier);
    if (!op)
        return no_memory(d);
    op->more = m;
    op->d = REF_NONE;
    op->s[0] = at;
    op->source = (uint8_t)bytes;
    *made = op;
    return STATUS_OK;
}

/* {token,} [barrier] {, count} */
static enum status decode_arrival(struct decoder *d, enum mbarrier_verb verb)
{
    const struct ptx_operand *o = d->ins->operands;
    const bool expects = has(d, "expect_tx");
    ref to;
    unsigned bytes;
    struct op *op = NULL;
    TRY(want_operands(d, expects ? 3 : 2, 3));
    TRY(destination(d, o, &to, &bytes));
    if (to != REF_NONE && bytes != 8)
        return refuse(d, "a token of %u bits, expected 64", bytes * 8);
    TRY(emit_mbarrier(d, verb, 1, d->ins->operand_count == 3 ? o + 2 : NULL, &op));
    ((struct mbarrier *)op->more)->expects = expects;
    op->d = to;
    op->width = 8;
    return STATUS_OK;
}

/* p, [barrier], token or parity {, hint} */
static enum status decode_wait(struct decoder *d)
{
    const struct ptx_operand *o = d->ins->operands;
    ref to;
    unsigned bytes;
    struct op *op = NULL;
    TRY(want_operands(d, 3, 4));
    TRY(destination(d, o, &to, &bytes));
    if (bytes)
        return refuse(d, "the result is no predicate");
    TRY(emit_mbarrier(d, has(d, "parity") ? MBARRIER_PARITY : MBARRIER_TOKEN, 1, o + 2, &op));
    op->d = to;
    return STATUS_OK;
}

static enum status decode_pending(struct decoder *d)
{
    ref at, to;
    unsigned from_bytes, bytes;
    TRY(want_operands(d, 2, 2));
    TRY(source(d, d->ins->operands + 1, PTX_B64, &at, &from_bytes));
    TRY(destination(d, d->ins->operands, &to, &bytes));
    if (from_bytes != 8 || bytes != 4)
        return refuse(d, "expected a count of 32 bits and a token of 64");
    struct op *op = emit(d, op_mbarrier_pending);
    if (!op)
        return no_memory(d);
    op->d = to;
    op->s[0] = at;
    op->width = (uint8_t)bytes;
    op->source = (uint8_t)from_bytes;
    return STATUS_OK;
}

enum status decode_mbarrier(struct decoder *d)
{
    static const char *const names[] = {"init",        "inval",         "arrive",
                                        "arrive_drop", "complete_tx",   "test_wait",
                                        "try_wait",    "pending_count", "expect_tx"};
    static const enum mbarrier_verb verbs[] = {MBARRIER_INIT, MBARRIER_INVAL, MBARRIER_ARRIVE,
                                               MBARRIER_DROP, MBARRIER_COMPLETE_TX};
    struct op *op = NULL;
    int name = which(d, names, 9);
    switch (name) {
    case 0:
    case 4:
        TRY(want_operands(d, 2, 2));
        return emit_mbarrier(d, verbs[name], 0, d->ins->operands + 1, &op);
    case 1:
        TRY(want_operands(d, 1, 1));
        return emit_mbarrier(d, MBARRIER_INVAL, 0, NULL, &op);
    case 2:
    case 3:
        return decode_arrival(d, verbs[name]);
    case 5:
    case 6:
        return decode_wait(d);
    case 7:
        return decode_pending(d);
    case 8:
        TRY(want_operands(d, 2, 2));
        return emit_mbarrier(d, MBARRIER_EXPECT_TX, 0, d->ins->operands + 1, &op);
    default:
        return refuse(d, "not supported here");
    }
}

/* Without .noinc the barrier counts one more arrival before this one: nothing changes. */
enum status decode_copies_arrive(struct decoder *d)
{
    struct op *op = NULL;
    TRY(want_operands(d, 1, 1));
    return has(d, "noinc") ? emit_mbarrier(d, MBARRIER_ARRIVE, 0, NULL, &op) : decode_nothing(d);
}
