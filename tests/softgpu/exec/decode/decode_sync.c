/* decode_sync.c - barriers, and what lanes of a warp do together. */
#include "exec/decode/decode.h"

/* What every instruction of sync.c needs; `member` is the operand with the mask, NULL without. */
static enum status emit_sync(struct decoder *d, enum sync_kind kind,
                             const struct ptx_operand *member, struct op **made)
{
    struct sync *sync = own(d, sizeof *sync);
    ref at = REF_NONE;
    unsigned bytes = 4;
    if (!sync)
        return no_memory(d);
    sync->kind = kind;
    if (member)
        TRY(source(d, member, PTX_B32, &at, &bytes));
    if (bytes != 4)
        return refuse(d, "a member mask of %u bits", bytes * 8);
    struct op *op = emit(d, member ? op_sync : op_exchange);
    if (!op)
        return no_memory(d);
    op->splits = member != NULL;
    op->more = sync;
    op->s[3] = at;
    *made = op;
    return STATUS_OK;
}

static enum status word_source(struct decoder *d, const struct ptx_operand *o, ref *at)
{
    unsigned bytes;
    TRY(source(d, o, PTX_B32, at, &bytes));
    return bytes == 4 ? STATUS_OK : refuse(d, "an operand of %u bits, expected 32", bytes * 8);
}

enum status decode_shfl(struct decoder *d)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    const struct ptx_operand *o = d->ins->operands;
    const bool sync = has(d, "sync");
    int mode = which(d, modes, 4);
    ref a, b, c, to, q;
    unsigned bytes;
    TRY(want_operands(d, sync ? 5 : 4, sync ? 5 : 4));
    if (mode < 0)
        return refuse(d, "expected .up, .down, .bfly or .idx");
    TRY(word_source(d, o + 1, &a));
    TRY(word_source(d, o + 2, &b));
    TRY(word_source(d, o + 3, &c));
    TRY(destinations(d, o, &to, &bytes, &q));
    struct op *op = NULL;
    TRY(emit_sync(d, SYNC_SHFL, sync ? o + 4 : NULL, &op));
    op->d = to;
    op->q = q;
    op->width = (uint8_t)bytes;
    op->source = 4;
    op->mode = (uint8_t)mode;
    op->s[0] = a;
    op->s[1] = b;
    op->s[2] = c;
    return STATUS_OK;
}

enum status decode_vote(struct decoder *d)
{
    static const char *const modes[] = {"all", "any", "uni", "ballot"};
    const struct ptx_operand *o = d->ins->operands;
    const bool sync = has(d, "sync");
    int mode = which(d, modes, 4);
    struct ptx_operand positive;
    ref p, to;
    unsigned bytes, none;
    TRY(want_operands(d, sync ? 3 : 2, sync ? 3 : 2));
    if (mode < 0)
        return refuse(d, "expected .all, .any, .uni or .ballot");
    positive = o[1];
    positive.negated = false;
    TRY(source(d, &positive, PTX_PRED, &p, &none));
    TRY(destination(d, o, &to, &bytes));
    if (none || (mode == VOTE_BALLOT) != (bytes != 0))
        return refuse(d, "operands of the wrong type");
    struct op *op = NULL;
    TRY(emit_sync(d, SYNC_VOTE, sync ? o + 2 : NULL, &op));
    ((struct sync *)op->more)->flip = o[1].negated ? ALL_LANES : 0;
    op->d = bytes ? to : REF_NONE;
    op->q = bytes ? REF_NONE : to;
    op->width = (uint8_t)bytes;
    op->mode = (uint8_t)mode;
    op->s[0] = p;
    return STATUS_OK;
}

enum status decode_match(struct decoder *d)
{
    const struct ptx_operand *o = d->ins->operands;
    ref a, to, q;
    unsigned a_bytes, bytes;
    struct op *op = NULL;
    TRY(want_operands(d, 3, 3));
    if (!has(d, "sync") || has(d, "any") == has(d, "all"))
        return refuse(d, "expected .any.sync or .all.sync");
    TRY(source(d, o + 1, last_type(d), &a, &a_bytes));
    TRY(destinations(d, o, &to, &bytes, &q));
    TRY(emit_sync(d, SYNC_MATCH, o + 2, &op));
    op->d = to;
    op->q = q;
    op->width = (uint8_t)bytes;
    op->source = (uint8_t)a_bytes;
    op->mode = has(d, "any") ? MATCH_ANY : MATCH_ALL;
    op->s[0] = a;
    return STATUS_OK;
}

enum status decode_redux(struct decoder *d)
{
    static const char *const names[] = {"add", "min", "max", "and", "or", "xor"};
    static const uint8_t modes[] = {REDUX_ADD, REDUX_MIN_U, REDUX_MAX_U,
                                    REDUX_AND, REDUX_OR,    REDUX_XOR};
    const struct ptx_operand *o = d->ins->operands;
    int name = which(d, names, 6);
    ref a, to;
    unsigned bytes;
    struct op *op = NULL;
    TRY(want_operands(d, 3, 3));
    if (name < 0 || last_type(d) == PTX_F32)
        return refuse(d, "not supported here");
    TRY(word_source(d, o + 1, &a));
    TRY(destination(d, o, &to, &bytes));
    TRY(emit_sync(d, SYNC_REDUX, o + 2, &op));
    op->d = to;
    op->width = (uint8_t)bytes;
    op->source = 4;
    op->mode = modes[name];
    if (last_type(d) == PTX_S32 && (name == 1 || name == 2))
        op->mode = name == 1 ? REDUX_MIN_S : REDUX_MAX_S;
    op->s[0] = a;
    return STATUS_OK;
}

enum status decode_elect(struct decoder *d)
{
    const struct ptx_operand *o = d->ins->operands;
    ref to, q;
    unsigned bytes;
    struct op *op = NULL;
    TRY(want_operands(d, 2, 2));
    TRY(destinations(d, o, &to, &bytes, &q));
    TRY(emit_sync(d, SYNC_ELECT, o + 1, &op));
    op->d = to;
    op->q = q;
    op->width = (uint8_t)bytes;
    return STATUS_OK;
}

enum status decode_activemask(struct decoder *d)
{
    ref to;
    unsigned bytes;
    TRY(want_operands(d, 1, 1));
    TRY(destination(d, d->ins->operands, &to, &bytes));
    struct op *op = emit(d, op_activemask);
    if (!op)
        return no_memory(d);
    op->d = to;
    op->width = (uint8_t)bytes;
    return STATUS_OK;
}

static enum status decode_cluster_bar(struct decoder *d)
{
    const bool arrive = has(d, "arrive");
    if (arrive == has(d, "wait"))
        return refuse(d, "expected .arrive or .wait");
    struct op *op = emit(d, arrive ? op_cluster_arrive : op_cluster_wait);
    if (!op)
        return no_memory(d);
    op->splits = true;
    return STATUS_OK;
}

static enum status decode_warp_bar(struct decoder *d)
{
    struct op *op = NULL;
    TRY(want_operands(d, 1, 1));
    return emit_sync(d, SYNC_WARP, d->ins->operands, &op);
}

/* bar.red: d, a, {b,} p. The others: a {, b}. */
static enum status bar_operands(struct decoder *d, bool reduces, struct op *to)
{
    const struct ptx_operand *o = d->ins->operands;
    unsigned n = d->ins->operand_count, bytes;
    TRY(want_operands(d, reduces ? 3 : 1, reduces ? 4 : 2));
    to->d = to->s[1] = to->s[2] = REF_NONE;
    if (reduces) {
        struct ptx_operand positive = o[n - 1];
        positive.negated = false;
        to->imm = o[n - 1].negated ? ALL_LANES : 0;
        TRY(source(d, &positive, PTX_PRED, to->s + 2, &bytes));
        TRY(destination(d, o, &to->d, &bytes));
        to->width = (uint8_t)bytes;
        o++;
        n -= 2;
    }
    TRY(source(d, o, PTX_U32, to->s, &bytes));
    to->source = (uint8_t)bytes;
    return n == 2 ? word_source(d, o + 1, to->s + 1) : STATUS_OK;
}

enum status decode_bar(struct decoder *d)
{
    static const char *const names[] = {"sync", "arrive", "and", "or", "popc"};
    if (has(d, "cluster"))
        return decode_cluster_bar(d);
    if (has(d, "warp"))
        return decode_warp_bar(d);
    int mode = which(d, names, 5);
    struct op made = {0};
    if (mode < 0)
        return refuse(d, "expected .sync, .arrive or .red");
    TRY(bar_operands(d, mode >= BAR_AND, &made));
    if (mode == BAR_ARRIVE && made.s[1] == REF_NONE)
        return refuse(d, "a thread count was expected");
    if (mode >= BAR_AND && (mode == BAR_POPC) != (made.width != 0))
        return refuse(d, "a result of the wrong type");
    struct op *op = emit(d, op_barrier);
    if (!op)
        return no_memory(d);
    memcpy(op->s, made.s, 3 * sizeof *op->s);
    op->d = made.d;
    op->imm = made.imm;
    op->width = made.width;
    op->source = made.source;
    op->mode = (uint8_t)mode;
    op->splits = true;
    return STATUS_OK;
}
