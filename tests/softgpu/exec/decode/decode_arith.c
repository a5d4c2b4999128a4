/* decode_arith.c - instructions that compute from registers into registers. */
#include "exec/decode/decode.h"

/*
 * The type of each source that is not the instruction's own: t its first type, s its last, u 32
 * bits, w twice as wide as t, p a predicate.
 */
static const struct {
    const char *opcode, *sources;
} source_types[] = {
    {"shl", "tu"},   {"shr", "tu"},   {"shf", "uuu"}, {"prmt", "uuu"}, {"lop3", "tttup"},
    {"bfe", "tuu"},  {"bfi", "ttuu"}, {"fns", "uuu"}, {"selp", "ttp"}, {"slct", "tts"},
    {"setp", "ttp"}, {"set", "ssp"},  {"cvt", "sss"}, {"szext", "tu"}, {"bmsk", "uu"},
    {"dp4a", "uuu"}, {"dp2a", "uuu"},
};

static char source_letter(const struct decoder *d, unsigned i)
{
    if (has(d, "wide") && i == 2)
        return 'w';
    for (unsigned k = 0; k < sizeof source_types / sizeof *source_types; k++) {
        const char *letters = source_types[k].sources;
        if (strcmp(source_types[k].opcode, d->ins->opcode) == 0)
            return i < strlen(letters) ? letters[i] : 't';
    }
    return 't';
}

static enum ptx_type source_type(const struct decoder *d, unsigned i)
{
    const struct ptx_instruction *ins = d->ins;
    enum ptx_type own = ins->type_count ? ins->types[0] : PTX_NO_TYPE;
    switch (source_letter(d, i)) {
    case 's':
        return last_type(d);
    case 'u':
        return PTX_U32;
    case 'p':
        return PTX_PRED;
    case 'w':
        return ptx_type_bits(own) == 16 ? PTX_B32 : PTX_B64;
    default:
        return own;
    }
}

static bool writes_carry(const struct ptx_instruction *ins)
{
    return ptx_has_modifier(ins, "cc");
}

static enum status sources(struct decoder *d, ref s[LANE_SOURCES],
                           unsigned widths[LANE_SOURCES + 1])
{
    const struct ptx_instruction *ins = d->ins;
    if (ins->operand_count < 2 || ins->operand_count > LANE_SOURCES + 1)
        return refuse(d, "%u operands", ins->operand_count);
    for (unsigned i = 0; i < LANE_SOURCES; i++)
        s[i] = REF_NONE;
    for (unsigned i = 1; i < ins->operand_count; i++) {
        unsigned bytes;
        TRY(source(d, ins->operands + i, source_type(d, i - 1), s + i - 1, &bytes));
        widths[i] = bytes * 8;
    }
    return STATUS_OK;
}

enum status decode_arithmetic(struct decoder *d)
{
    const struct ptx_instruction *ins = d->ins;
    unsigned widths[LANE_SOURCES + 1] = {0}, bytes;
    ref s[LANE_SOURCES], to, q;
    TRY(sources(d, s, widths));
    TRY(destinations(d, ins->operands, &to, &bytes, &q));
    if (to == REF_NONE) /* "_|p" of lop3: what would have been written */
        bytes = lane_width(ins, 0) / 8;
    widths[0] = bytes * 8;
    struct error why = {{0}};
    lane_fn *lane = lane_find(ins, widths, &why);
    if (!lane)
        return refuse(d, "%s", why.text[0] ? why.text : "not known");
    struct op *op = emit(d, op_lane);
    if (!op)
        return no_memory(d);
    op->lane = lane;
    memcpy(op->s, s, sizeof s);
    op->d = to;
    op->q = q;
    op->width = (uint8_t)bytes;
    op->carry = writes_carry(ins);
    return STATUS_OK;
}

static enum status decode_pack(struct decoder *d, const struct ptx_operand *parts, bool unpack)
{
    const struct ptx_operand *other = d->ins->operands + (unpack ? 1 : 0);
    struct pack *pack = own(d, sizeof *pack);
    ref at;
    unsigned bytes;
    if (!pack)
        return no_memory(d);
    if (unpack)
        TRY(source(d, other, last_type(d), &at, &bytes));
    else
        TRY(destination(d, other, &at, &bytes));
    unsigned all = ptx_type_bits(last_type(d)) / 8;
    if (!parts->count || parts->count > VECTOR_MAX || all % parts->count || bytes != all)
        return refuse(d, "%u parts of a value of %u bits", parts->count, bytes * 8);
    pack->count = parts->count;
    pack->bytes = all / parts->count;
    enum ptx_type type = pack->bytes == 1   ? PTX_B8
                         : pack->bytes == 2 ? PTX_B16
                         : pack->bytes == 4 ? PTX_B32
                                            : PTX_B64;
    for (unsigned i = 0; i < parts->count; i++) {
        unsigned part;
        if (unpack)
            TRY(destination(d, parts->items + i, pack->parts + i, &part));
        else
            TRY(source(d, parts->items + i, type, pack->parts + i, &part));
        if (pack->parts[i] != REF_NONE && part < pack->bytes)
            return refuse(d, "a part of %u bits in a register of %u", pack->bytes * 8, part * 8);
        pack->part_width[i] = (uint8_t)part;
    }
    struct op *op = emit(d, unpack ? op_unpack : op_pack);
    if (!op)
        return no_memory(d);
    op->more = pack;
    op->d = unpack ? REF_NONE : at;
    op->s[0] = unpack ? at : REF_NONE;
    op->width = op->source = (uint8_t)bytes;
    return STATUS_OK;
}

/* d = source + addend, of any widths. */
static enum status move_plus(struct decoder *d, const struct ptx_operand *from, enum ptx_type type,
                             uint64_t addend)
{
    ref at, to;
    unsigned from_bytes, bytes;
    TRY(source(d, from, type, &at, &from_bytes));
    TRY(destination(d, d->ins->operands, &to, &bytes));
    if (!from_bytes || !bytes)
        return refuse(d, "a predicate where a number was expected");
    struct op *op = emit(d, from_bytes == bytes && !addend ? op_move_bits : op_add_imm);
    if (!op)
        return no_memory(d);
    op->d = to;
    op->s[0] = at;
    op->width = (uint8_t)bytes;
    op->source = (uint8_t)from_bytes;
    op->imm = addend;
    return STATUS_OK;
}

enum status decode_mov(struct decoder *d)
{
    const struct ptx_instruction *ins = d->ins;
    TRY(want_operands(d, 2, 2));
    const struct ptx_operand *to = ins->operands, *from = ins->operands + 1;
    if (to->kind == PTX_VECTOR)
        return decode_pack(d, to, true);
    if (from->kind == PTX_VECTOR)
        return decode_pack(d, from, false);
    enum ptx_type type = last_type(d);
    if (type == PTX_PRED)
        return decode_arithmetic(d);
    return move_plus(d, from, type, 0);
}

static const uint64_t bases[] = {
    [PTX_GENERIC] = 0,
    [PTX_CONST] = 0,
    [PTX_GLOBAL] = 0,
    [PTX_LOCAL] = EXEC_LOCAL_BASE,
    [PTX_PARAM] = EXEC_PARAM_BASE,
    [PTX_SHARED] = EXEC_SHARED_BASE,
};

enum status decode_cvta(struct decoder *d)
{
    TRY(want_operands(d, 2, 2));
    uint64_t base = bases[d->ins->space];
    return move_plus(d, d->ins->operands + 1, last_type(d), has(d, "to") ? 0 - base : base);
}

/* A cluster is one block here, so an address of the block's own shared memory stays what it is. */
enum status decode_mapa(struct decoder *d)
{
    TRY(want_operands(d, 3, 3));
    return move_plus(d, d->ins->operands + 1, last_type(d), 0);
}

/* getctarank of the only block, createpolicy of a cache that is not there. */
enum status decode_zero(struct decoder *d)
{
    static const struct ptx_operand zero = {.kind = PTX_IMMEDIATE, .immediate_type = PTX_S64};
    return move_plus(d, &zero, last_type(d), 0);
}

enum status decode_isspacep(struct decoder *d)
{
    static const uint8_t modes[] = {
        [PTX_GENERIC] = IN_GLOBAL, [PTX_CONST] = 0xff,     [PTX_GLOBAL] = IN_GLOBAL,
        [PTX_LOCAL] = IN_LOCAL,    [PTX_PARAM] = IN_PARAM, [PTX_SHARED] = IN_SHARED,
    };
    ref at, to;
    unsigned from_bytes, bytes;
    TRY(want_operands(d, 2, 2));
    TRY(source(d, d->ins->operands + 1, PTX_B64, &at, &from_bytes));
    TRY(destination(d, d->ins->operands, &to, &bytes));
    if (bytes || !from_bytes)
        return refuse(d, "the result is no predicate");
    struct op *op = emit(d, op_isspacep);
    if (!op)
        return no_memory(d);
    op->d = to;
    op->s[0] = at;
    op->source = (uint8_t)from_bytes;
    op->mode = modes[d->ins->space];
    return STATUS_OK;
}
