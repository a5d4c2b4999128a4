/* decode_memory.c - loads, stores, atomics and copies. */
#include "exec/decode/decode.h"

static bool is_signed(enum ptx_type type)
{
    return type == PTX_S8 || type == PTX_S16 || type == PTX_S32 || type == PTX_S64;
}

static bool is_strong(const struct decoder *d)
{
    static const char *const names[] = {"volatile", "relaxed", "acquire", "release", "mmio"};
    return which(d, names, sizeof names / sizeof *names) >= 0;
}

/* One register, or the registers of a vector, all of one width. Immediates are allowed in a store.
 */
static enum status registers(struct decoder *d, const struct ptx_operand *o, enum ptx_type type,
                             bool read, struct access *a)
{
    const struct ptx_operand *items = o->kind == PTX_VECTOR ? o->items : o;
    unsigned count = o->kind == PTX_VECTOR ? o->count : 1;
    if (count > VECTOR_MAX || count != d->ins->vector)
        return refuse(d, "%u registers for a vector of %u", count, d->ins->vector);
    a->width = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned bytes;
        if (read)
            TRY(destination(d, items + i, a->regs + i, &bytes));
        else
            TRY(source(d, items + i, type, a->regs + i, &bytes));
        if (a->regs[i] == REF_NONE)
            continue;
        if (bytes < a->bytes || (a->width && a->width != bytes) ||
            (a->bytes == 16) != (bytes == 16))
            return refuse(d, "a register of %u bits for a value of %u", bytes * 8, a->bytes * 8);
        a->width = bytes;
    }
    if (!a->width)
        a->width = register_bytes(type);
    return STATUS_OK;
}

static enum status new_access(struct decoder *d, unsigned address_operand, enum ptx_type type,
                              struct access *a)
{
    unsigned bits = ptx_type_bits(type);
    if (type == PTX_PRED || bits < 8)
        return refuse(d, "a type that memory does not hold");
    a->bytes = bits / 8;
    a->count = d->ins->vector ? d->ins->vector : 1;
    a->is_signed = is_signed(type) && bits < 64;
    a->acquire = a->release = is_strong(d);
    a->spins = a->acquire;
    return memory_operand(d, d->ins->operands + address_operand, d->ins->space, a);
}

static enum status load_or_store(struct decoder *d, bool load)
{
    struct access *a = own(d, sizeof *a);
    if (!a)
        return no_memory(d);
    TRY(want_operands(d, 2, 3)); /* the third is a cache policy */
    TRY(new_access(d, load ? 1 : 0, last_type(d), a));
    TRY(registers(d, d->ins->operands + (load ? 0 : 1), last_type(d), load, a));
    struct op *op = emit(d, load ? op_ld : op_st);
    if (!op)
        return no_memory(d);
    op->more = a;
    return STATUS_OK;
}

enum status decode_ld(struct decoder *d)
{
    return load_or_store(d, true);
}

enum status decode_st(struct decoder *d)
{
    return load_or_store(d, false);
}

static const char *const atomic_names[] = {
    [ATOMIC_ADD] = "add",   [ATOMIC_MIN] = "min", [ATOMIC_MAX] = "max", [ATOMIC_INC] = "inc",
    [ATOMIC_DEC] = "dec",   [ATOMIC_AND] = "and", [ATOMIC_OR] = "or",   [ATOMIC_XOR] = "xor",
    [ATOMIC_EXCH] = "exch", [ATOMIC_CAS] = "cas",
};

/* Which kinds of numbers an operation takes: a bit for each enum number. */
enum { INTEGERS = 1 << NUMBER_U | 1 << NUMBER_S, ANY_NUMBER = 0xff };
static const uint8_t atomic_numbers[] = {
    [ATOMIC_ADD] = ANY_NUMBER,
    [ATOMIC_MIN] = ANY_NUMBER & ~(1 << NUMBER_F64),
    [ATOMIC_MAX] = ANY_NUMBER & ~(1 << NUMBER_F64),
    [ATOMIC_INC] = INTEGERS,
    [ATOMIC_DEC] = INTEGERS,
    [ATOMIC_AND] = INTEGERS,
    [ATOMIC_OR] = INTEGERS,
    [ATOMIC_XOR] = INTEGERS,
    [ATOMIC_EXCH] = ANY_NUMBER,
    [ATOMIC_CAS] = INTEGERS,
};

static enum number number_of(enum ptx_type type)
{
    switch (type) {
    case PTX_F64:
        return NUMBER_F64;
    case PTX_F32:
        return NUMBER_F32;
    case PTX_F16:
    case PTX_F16X2:
        return NUMBER_F16;
    case PTX_BF16:
    case PTX_BF16X2:
        return NUMBER_BF16;
    case PTX_S32:
    case PTX_S64:
        return NUMBER_S;
    default:
        return NUMBER_U;
    }
}

/* The vector comes as .v2 or .v4; the packed types are two numbers in one element. */
static enum status atomic_kind(struct decoder *d, struct atomic_access *x)
{
    enum ptx_type type = last_type(d);
    int op = which(d, atomic_names, sizeof atomic_names / sizeof *atomic_names);
    if (op < 0)
        return refuse(d, "an atomic operation that is not known");
    x->op = (enum atomic)op;
    x->number = number_of(type);
    unsigned bits = ptx_type_bits(type);
    bool packed = type == PTX_F16X2 || type == PTX_BF16X2;
    x->part = packed ? 2 : bits / 8;
    bool swaps = op == ATOMIC_CAS || op == ATOMIC_EXCH;
    bool fits = bits == 32 || bits == 64 || (bits == 16 && x->number > NUMBER_F32) ||
                ((bits == 16 || bits == 128) && swaps);
    if (!fits || !(atomic_numbers[op] >> x->number & 1))
        return refuse(d, "not an atomic operation on .%s", ptx_type_name(type));
    return STATUS_OK;
}

static enum status atomic_results(struct decoder *d, struct atomic_access *x, bool returns)
{
    struct access results = {.bytes = x->access.bytes};
    if (returns)
        TRY(registers(d, d->ins->operands, last_type(d), true, &results));
    x->d_width = results.width;
    for (unsigned i = 0; i < VECTOR_MAX; i++)
        x->d[i] = returns && i < x->access.count ? results.regs[i] : REF_NONE;
    return STATUS_OK;
}

static enum status decode_atomic(struct decoder *d, bool returns)
{
    struct atomic_access *x = own(d, sizeof *x);
    const unsigned address = returns ? 1 : 0;
    if (!x)
        return no_memory(d);
    TRY(atomic_kind(d, x));
    const bool cas = x->op == ATOMIC_CAS;
    TRY(want_operands(d, address + 2 + cas, address + 3 + cas)); /* and a cache policy */
    TRY(new_access(d, address, last_type(d), &x->access));
    if (x->access.memory == IN_FRAME || x->access.memory == IN_PARAM)
        return refuse(d, "an atomic operation on a parameter");
    TRY(registers(d, d->ins->operands + address + 1, last_type(d), false, &x->access));
    TRY(atomic_results(d, x, returns));
    x->swap = REF_NONE;
    if (cas)
        TRY(source(d, d->ins->operands + address + 2, last_type(d), &x->swap, &x->swap_width));
    if (cas && x->access.bytes == 16 && x->swap_width != 16)
        return refuse(d, "a register of %u bits for a value of 128", x->swap_width * 8);
    struct op *op = emit(d, op_atomic);
    if (!op)
        return no_memory(d);
    op->more = x;
    return STATUS_OK;
}

enum status decode_atom(struct decoder *d)
{
    return decode_atomic(d, true);
}

enum status decode_red(struct decoder *d)
{
    return decode_atomic(d, false);
}

static bool is_predicate(const struct decoder *d, const struct ptx_operand *o)
{
    return o->kind == PTX_REGISTER && d->fn->registers[o->reg].type == PTX_PRED;
}

static enum status copy_operands(struct decoder *d, struct async_copy *c)
{
    const struct ptx_operand *o = d->ins->operands;
    if (o[2].kind != PTX_IMMEDIATE)
        return refuse(d, "a size that is no constant");
    c->bytes = (unsigned)o[2].bits;
    if (c->bytes != 4 && c->bytes != 8 && c->bytes != 16)
        return refuse(d, "a copy of %u bytes", c->bytes);
    c->to.bytes = c->from.bytes = c->bytes;
    c->source_bytes = c->ignore = REF_NONE;
    TRY(memory_operand(d, o, PTX_SHARED, &c->to));
    TRY(memory_operand(d, o + 1, PTX_GLOBAL, &c->from));
    if (d->ins->operand_count < 4)
        return STATUS_OK;
    if (is_predicate(d, o + 3)) {
        c->ignore = d->register_at[o[3].reg];
        c->flip = o[3].negated ? ALL_LANES : 0;
        return STATUS_OK;
    }
    bool policy = o[3].kind == PTX_REGISTER && has(d, "L2::cache_hint") &&
                  ptx_type_bits(d->fn->registers[o[3].reg].type) == 64;
    return policy ? STATUS_OK : source(d, o + 3, PTX_U32, &c->source_bytes, &c->source_width);
}

enum status decode_cp(struct decoder *d)
{
    static const char *const done[] = {"commit_group", "wait_group", "wait_all"};
    if (!has(d, "async") || (has(d, "tensor") && !has(d, "bulk")))
        return refuse(d, "not supported here");
    if (has(d, "mbarrier"))
        return decode_copies_arrive(d);
    if (which(d, done, 3) >= 0)
        return decode_nothing(d);
    if (has(d, "bulk"))
        return decode_bulk(d);
    struct async_copy *c = own(d, sizeof *c);
    if (!c)
        return no_memory(d);
    TRY(want_operands(d, 3, 5));
    TRY(copy_operands(d, c));
    struct op *op = emit(d, op_copy_async);
    if (!op)
        return no_memory(d);
    op->more = c;
    return STATUS_OK;
}
