/* operand.c - operands of PTX as places in a frame or among a function's constants. */
#include <stdlib.h>
#include "exec/decode/decode.h"

unsigned register_bytes(enum ptx_type type)
{
    unsigned bits = ptx_type_bits(type);
    return type == PTX_PRED ? 0 : bits <= 16 ? 2 : bits / 8;
}

bool has(const struct decoder *d, const char *modifier)
{
    return ptx_has_modifier(d->ins, modifier);
}

int which(const struct decoder *d, const char *const *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (has(d, names[i]))
            return (int)i;
    return -1;
}

enum status want_operands(struct decoder *d, unsigned low, unsigned high)
{
    unsigned n = d->ins->operand_count;
    if (n < low || n > high)
        return refuse(d, "%u operands where %u to %u were expected", n, low, high);
    return STATUS_OK;
}

enum ptx_type last_type(const struct decoder *d)
{
    return d->ins->type_count ? d->ins->types[d->ins->type_count - 1] : PTX_NO_TYPE;
}

enum status temporary(struct decoder *d, unsigned bytes, ref *at)
{
    *at = (ref)d->temporaries;
    d->temporaries += bytes ? (size_t)bytes * LANES : 64;
    if (d->temporaries > d->temporaries_end)
        d->temporaries_end = d->temporaries;
    return STATUS_OK;
}

static enum status constant_room(struct decoder *d, size_t more)
{
    struct code *code = d->code;
    if (d->constant_count == d->constant_room) {
        unsigned room = d->constant_room ? d->constant_room * 2 : 64;
        struct constant *grown = realloc(d->constants, room * sizeof *grown);
        if (!grown)
            return no_memory(d);
        d->constants = grown;
        d->constant_room = room;
    }
    if (code->constant_bytes + more > d->constant_room_bytes) {
        size_t room = d->constant_room_bytes ? d->constant_room_bytes * 2 : 16384;
        uint8_t *grown = aligned_alloc(64, room);
        if (!grown)
            return no_memory(d);
        if (code->constant_bytes)
            memcpy(grown, code->constants, code->constant_bytes);
        free(code->constants);
        code->constants = grown;
        d->constant_room_bytes = room;
    }
    return STATUS_OK;
}

static void fill(uint8_t *to, unsigned bytes, uint64_t low, uint64_t high)
{
    if (!bytes) {
        memset(to, low ? 0xff : 0, 64);
        return;
    }
    for (unsigned i = 0; i < LANES; i++) {
        memcpy(to + (size_t)i * bytes, &low, bytes < 8 ? bytes : 8);
        if (bytes == 16)
            memcpy(to + (size_t)i * bytes + 8, &high, 8);
    }
}

enum status constant(struct decoder *d, unsigned bytes, uint64_t low, uint64_t high, ref *at)
{
    const unsigned bits = bytes * 8;
    if (!bits)
        low = low != 0;
    else if (bits < 64)
        low &= ((uint64_t)1 << bits) - 1;
    for (unsigned i = d->constant_count; i-- > 0;) {
        const struct constant *c = d->constants + i;
        if (c->low == low && c->high == high && c->bytes == bytes) {
            *at = c->at;
            return STATUS_OK;
        }
    }
    const size_t size = bytes ? (size_t)bytes * LANES : 64;
    TRY(constant_room(d, size));
    *at = (ref)d->code->constant_bytes | REF_CONSTANT;
    d->constants[d->constant_count++] = (struct constant){bytes, low, high, *at};
    fill(d->code->constants + d->code->constant_bytes, bytes, low, high);
    d->code->constant_bytes += size;
    return STATUS_OK;
}

static uint64_t f64_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

static uint64_t f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

/* A decimal fraction stands for a number of the type that is wanted. */
static enum status immediate(struct decoder *d, const struct ptx_operand *o, enum ptx_type type,
                             ref *at)
{
    uint64_t bits = o->bits;
    double wide;
    float narrow;
    memcpy(&wide, &o->bits, 8);
    memcpy(&narrow, &o->bits, 4);
    if (o->immediate_type == PTX_F64 && type == PTX_F32)
        bits = f32_bits((float)wide);
    else if (o->immediate_type == PTX_F32 && type == PTX_F64)
        bits = f64_bits((double)narrow);
    return constant(d, register_bytes(type), bits,
                    o->immediate_type == PTX_S64 && (int64_t)bits < 0 ? UINT64_MAX : 0, at);
}

static const struct ptx_variable *within(const struct ptx_variable *list, unsigned count,
                                         const struct ptx_variable *v)
{
    return v >= list && v < list + count ? v : NULL;
}

static enum status locate_param(struct decoder *d, const struct ptx_variable *v,
                                enum memory *memory, uint64_t *address, ref *at)
{
    const struct ptx_function *fn = d->fn;
    *address = 0;
    *memory = IN_FRAME;
    if (within(fn->params, fn->param_count, v)) {
        size_t i = (size_t)(v - fn->params);
        if (fn->is_entry) {
            *memory = IN_PARAM;
            *address = d->program->kernel->params[i].offset;
            return STATUS_OK;
        }
        *at = d->code->params[i].at;
        return STATUS_OK;
    }
    if (within(fn->results, fn->result_count, v)) {
        *at = d->code->results[v - fn->results].at;
        return STATUS_OK;
    }
    if (!within(fn->variables, fn->variable_count, v))
        return refuse(d, "%s is no parameter of this function", v->name);
    *at = d->variable_at[v - fn->variables];
    return STATUS_OK;
}

enum status locate(struct decoder *d, const struct ptx_variable *v, enum memory *memory,
                   uint64_t *address, ref *at)
{
    const struct ptx_function *fn = d->fn;
    *at = REF_NONE;
    if (v->space == PTX_PARAM)
        return locate_param(d, v, memory, address, at);
    if (v->space == PTX_SHARED) {
        const uint64_t *offset = shared_offset(d->program, v);
        if (!offset)
            return refuse(d, "the shared variable %s has no place", v->name);
        *memory = IN_SHARED;
        *address = *offset;
        return STATUS_OK;
    }
    if (v->space == PTX_LOCAL && within(fn->variables, fn->variable_count, v)) {
        *memory = IN_LOCAL;
        *address = d->variable_at[v - fn->variables];
        return STATUS_OK;
    }
    const struct place *place = find_place(d->program->module, v);
    if (!place || !place->known)
        return refuse(d, "nothing defines the variable %s", v->name);
    *memory = IN_GLOBAL;
    *address = place->address;
    return STATUS_OK;
}

static enum status address_of(struct decoder *d, const struct ptx_operand *o, enum ptx_type type,
                              ref *at, unsigned *bytes)
{
    enum memory memory = IN_GLOBAL;
    uint64_t address = 0;
    *bytes = ptx_type_bits(type) > 32 || type == PTX_NO_TYPE ? 8 : 4;
    TRY(locate(d, o->variable, &memory, &address, at));
    address += (uint64_t)o->offset;
    if (memory == IN_FRAME)
        return refuse(d, "the address of the parameter %s of a call", o->variable->name);
    if (memory != IN_LOCAL)
        return constant(d, *bytes, address, 0, at);
    TRY(temporary(d, *bytes, at));
    struct op *op = emit_hidden(d, op_local_address);
    if (!op)
        return no_memory(d);
    op->d = *at;
    op->width = (uint8_t)*bytes;
    op->imm = address;
    return STATUS_OK;
}

static enum status special(struct decoder *d, const char *name, ref *at, unsigned *bytes)
{
    int id = find_special(name);
    if (id < 0)
        return refuse(d, "the special register %s is not known here", name);
    *bytes = special_width((unsigned)id);
    TRY(temporary(d, *bytes, at));
    struct op *op = emit_hidden(d, op_special);
    if (!op)
        return no_memory(d);
    op->d = *at;
    op->width = (uint8_t)*bytes;
    op->imm = (uint64_t)id;
    if (special_yields((unsigned)id))
        d->frame_end = d->temporaries; /* other lanes may run before what it holds is used */
    return STATUS_OK;
}

static enum status register_source(struct decoder *d, const struct ptx_operand *o, ref *at,
                                   unsigned *bytes)
{
    *at = d->register_at[o->reg];
    *bytes = register_bytes(d->fn->registers[o->reg].type);
    if (!o->negated)
        return STATUS_OK;
    ref positive = *at;
    TRY(temporary(d, 0, at));
    struct op *op = emit_hidden(d, op_not_pred);
    if (!op)
        return no_memory(d);
    op->d = *at;
    op->s[0] = positive;
    return STATUS_OK;
}

enum status source(struct decoder *d, const struct ptx_operand *o, enum ptx_type type, ref *at,
                   unsigned *bytes)
{
    switch (o->kind) {
    case PTX_REGISTER:
        return register_source(d, o, at, bytes);
    case PTX_IMMEDIATE:
        *bytes = register_bytes(type);
        return immediate(d, o, type, at);
    case PTX_SPECIAL:
        return special(d, o->name, at, bytes);
    case PTX_ADDRESS_OF:
        return address_of(d, o, type, at, bytes);
    case PTX_FUNCTION: {
        const struct ptx_function *fn = ptx_find_function(d->program->module->ptx, o->name);
        *bytes = 8;
        if (!fn)
            return refuse(d, "there is no function %s", o->name);
        return constant(d, 8, function_address(d->program->module, fn), 0, at);
    }
    default:
        return refuse(d, "an operand of a kind that has no place here");
    }
}

enum status destination(struct decoder *d, const struct ptx_operand *o, ref *at, unsigned *bytes)
{
    *at = REF_NONE;
    *bytes = 0;
    if (o->kind == PTX_SINK)
        return STATUS_OK;
    if (o->kind != PTX_REGISTER)
        return refuse(d, "a result that is no register");
    *at = d->register_at[o->reg];
    *bytes = register_bytes(d->fn->registers[o->reg].type);
    return STATUS_OK;
}

enum status destinations(struct decoder *d, const struct ptx_operand *o, ref *at, unsigned *bytes,
                         ref *q)
{
    unsigned none;
    *q = REF_NONE;
    if (o->kind != PTX_PAIR)
        return destination(d, o, at, bytes);
    TRY(destination(d, o->items, at, bytes));
    TRY(destination(d, o->items + 1, q, &none));
    return none ? refuse(d, "a second result that is no predicate") : STATUS_OK;
}

static enum memory memory_of(enum ptx_space space)
{
    switch (space) {
    case PTX_GENERIC:
        return IN_GENERIC;
    case PTX_SHARED:
        return IN_SHARED;
    case PTX_LOCAL:
        return IN_LOCAL;
    case PTX_PARAM:
        return IN_PARAM;
    default:
        return IN_GLOBAL;
    }
}

static enum status variable_operand(struct decoder *d, const struct ptx_operand *base,
                                    struct access *a)
{
    uint64_t address;
    TRY(locate(d, base->variable, &a->memory, &address, &a->frame));
    if (a->memory != IN_LOCAL) {
        a->offset += base->offset + (int64_t)address;
        return STATUS_OK;
    }
    return address_of(d, base, PTX_B64, &a->address, &a->address_width);
}

enum status memory_operand(struct decoder *d, const struct ptx_operand *o, enum ptx_space space,
                           struct access *a)
{
    if (o->kind != PTX_MEMORY || o->count < 1)
        return refuse(d, "an operand that is no address");
    const struct ptx_operand *base = o->items;
    a->memory = memory_of(space);
    a->offset = o->offset;
    a->address = a->frame = REF_NONE;
    a->address_width = 0;
    if (base->kind == PTX_IMMEDIATE) {
        a->offset += (int64_t)base->bits;
        return STATUS_OK;
    }
    if (base->kind == PTX_ADDRESS_OF) {
        a->offset = o->offset;
        return variable_operand(d, base, a);
    }
    if (base->kind != PTX_REGISTER)
        return refuse(d, "an address that is neither a register nor a variable");
    if (a->memory == IN_PARAM && !d->fn->is_entry)
        return refuse(d, "an address in a register for the parameters of a function");
    TRY(source(d, base, PTX_B64, &a->address, &a->address_width));
    return a->address_width == 4 || a->address_width == 8
               ? STATUS_OK
               : refuse(d, "an address of %u bits", a->address_width * 8);
}
