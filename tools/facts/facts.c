#include "tools/facts/facts.h"

#include <stdlib.h>
#include <string.h>
#include "tools/ptx/ptx.h"

enum { PASSES = 3 };

/* What is known of a register; parameters count from 1. */
struct known {
    uint16_t base;    /* an address that is computed from this parameter */
    uint16_t element; /* a value that was loaded from behind it, or the scalar itself */
    enum dtype dtype; /* of what the instruction that wrote it computes */
};

struct walk {
    const struct ptx_function *function;
    struct known *known; /* by register */
    const struct facts_place *place;
    struct param_fact *param; /* by place */
    unsigned params;          /* places */
};

static enum dtype dtype_of(enum ptx_type type)
{
    switch (type) {
    case PTX_F16:
    case PTX_F16X2:
        return DTYPE_F16;
    case PTX_BF16:
    case PTX_BF16X2:
        return DTYPE_BF16;
    case PTX_F32:
        return DTYPE_F32;
    case PTX_F64:
        return DTYPE_F64;
    case PTX_S8:
        return DTYPE_I8;
    case PTX_S16:
        return DTYPE_I16;
    case PTX_S32:
    case PTX_U32:
        return DTYPE_I32;
    case PTX_S64:
    case PTX_U64:
        return DTYPE_I64;
    case PTX_U8:
        return DTYPE_U8;
    default:
        return DTYPE_NONE;
    }
}

static bool is_real(enum dtype dtype)
{
    return dtype >= DTYPE_F64 && dtype <= DTYPE_BF16;
}

/* A real type takes precedence over an integer one: bits are moved by integer instructions, too. */
static void note(struct walk *walk, unsigned param, enum dtype dtype)
{
    if (!param || param > walk->params || dtype == DTYPE_NONE)
        return;
    struct param_fact *one = &walk->param[param - 1];
    if (one->dtype == DTYPE_NONE || (is_real(dtype) && !is_real(one->dtype)))
        one->dtype = dtype;
}

/* An access to what lies behind the parameter, of one element or of a vector of them. */
static void note_access(struct walk *walk, unsigned param, enum ptx_type type,
                        const struct ptx_operand *value)
{
    struct param_fact *one = &walk->param[param - 1];
    unsigned bytes = ptx_type_bits(type) / 8;
    unsigned all = bytes * (value->kind == PTX_VECTOR ? value->count : 1);
    one->most = all > one->most ? all : one->most;
    if (bytes && (!one->least || bytes < one->least))
        one->least = bytes;
    note(walk, param, dtype_of(type));
}

static struct known *known_of(struct walk *walk, const struct ptx_operand *operand)
{
    return operand->kind == PTX_REGISTER ? &walk->known[operand->reg] : NULL;
}

/* Calls `visit` for the register, or for each of a vector. */
static void each_register(struct walk *walk, const struct ptx_operand *operand,
                          void (*visit)(struct walk *walk, struct known *known, const void *user),
                          const void *user)
{
    struct known *known = known_of(walk, operand);
    if (known)
        visit(walk, known, user);
    for (unsigned i = 0; i < operand->count && operand->kind == PTX_VECTOR; i++)
        each_register(walk, &operand->items[i], visit, user);
}

static void set_known(struct walk *walk, struct known *known, const void *user)
{
    const struct known *from = user;
    (void)walk;
    if (from->base)
        known->base = from->base;
    if (from->element)
        known->element = from->element;
    if (from->dtype != DTYPE_NONE)
        known->dtype = from->dtype;
}

/* The parameter that a memory operand's address is computed from; 0: none. */
static unsigned base_of(struct walk *walk, const struct ptx_operand *operand)
{
    if (operand->kind != PTX_MEMORY || !operand->count)
        return 0;
    const struct known *known = known_of(walk, &operand->items[0]);
    return known ? known->base : 0;
}

/* The parameter whose memory is loaded; NULL: none. */
static const struct ptx_variable *param_of(const struct ptx_function *function,
                                           const struct ptx_operand *operand)
{
    const struct ptx_operand *item =
        operand->kind == PTX_MEMORY && operand->count ? &operand->items[0] : operand;
    const struct ptx_variable *variable =
        item->kind == PTX_ADDRESS_OF && item->variable ? item->variable : NULL;
    bool own = variable && variable->space == PTX_PARAM &&
               variable->index < function->param_count &&
               variable == &function->params[variable->index];
    return own ? variable : NULL;
}

/* The place, from 1, that has the byte; 0: none. */
static unsigned place_at(const struct walk *walk, unsigned param, int64_t offset)
{
    for (unsigned i = 0; i < walk->params; i++) {
        const struct facts_place *place = &walk->place[i];
        if (place->param == param && (uint64_t)offset - place->offset < place->bytes)
            return i + 1;
    }
    return 0;
}

static void load_place(struct walk *walk, const struct ptx_operand *to, unsigned place,
                       enum dtype dtype)
{
    bool address = place && walk->place[place - 1].address;
    const struct known from = {
        .base = (uint16_t)(address ? place : 0), .element = (uint16_t)place, .dtype = dtype};
    if (place && !address && is_real(dtype))
        note(walk, place, dtype);
    each_register(walk, to, set_known, &from);
}

/* Elements of a vector lie one behind the other. */
static void load_param(struct walk *walk, const struct ptx_instruction *in, unsigned param)
{
    const struct ptx_operand *to = &in->operands[0];
    unsigned bytes = ptx_type_bits(in->types[0]) / 8;
    bool vector = to->kind == PTX_VECTOR;
    for (unsigned i = 0; i < (vector ? to->count : 1); i++)
        load_place(walk, vector ? &to->items[i] : to,
                   place_at(walk, param, in->operands[1].offset + i * bytes),
                   dtype_of(in->types[0]));
}

static void walk_load(struct walk *walk, const struct ptx_instruction *in)
{
    struct known from = {.dtype = dtype_of(in->types[0])};
    const struct ptx_variable *variable = param_of(walk->function, &in->operands[1]);
    unsigned param = base_of(walk, &in->operands[1]);
    if (variable) {
        load_param(walk, in, variable->index);
        return;
    }
    if (param) {
        walk->param[param - 1].reads = true;
        from.element = (uint16_t)param;
        note_access(walk, param, in->types[0], &in->operands[0]);
    }
    each_register(walk, &in->operands[0], set_known, &from);
}

static void note_stored(struct walk *walk, struct known *known, const void *user)
{
    const unsigned *param = user;
    note(walk, *param, known->dtype);
    if (known->element && known->element <= walk->params)
        note(walk, *param, walk->param[known->element - 1].dtype);
}

static void walk_store(struct walk *walk, const struct ptx_instruction *in)
{
    unsigned param = base_of(walk, &in->operands[0]);
    if (!param)
        return;
    walk->param[param - 1].writes = true;
    note_access(walk, param, in->types[0], &in->operands[1]);
    each_register(walk, &in->operands[1], note_stored, &param);
}

static void walk_atomic(struct walk *walk, const struct ptx_instruction *in)
{
    bool returns = strcmp(in->opcode, "atom") == 0;
    unsigned param = base_of(walk, &in->operands[returns ? 1 : 0]);
    if (!param)
        return;
    walk->param[param - 1].adds = true;
    note_access(walk, param, in->types[0], &in->operands[0]);
}

static void note_used(struct walk *walk, struct known *known, const void *user)
{
    const enum dtype *dtype = user;
    if (!known->element || known->base)
        return;
    const struct param_fact *param = &walk->param[known->element - 1];
    if (is_real(*dtype) || param->dtype == DTYPE_NONE)
        note(walk, known->element, *dtype);
}

static bool is_any(const char *word, const char *const *words)
{
    for (; *words; words++) {
        if (!strcmp(word, *words))
            return true;
    }
    return false;
}

static void take_part(struct walk *walk, struct known *known, const void *user)
{
    struct known *whole = (struct known *)(uintptr_t)user;
    (void)walk;
    if (!whole->element)
        whole->element = known->element;
    if (known->dtype == DTYPE_F16 || known->dtype == DTYPE_BF16)
        whole->dtype = known->dtype;
}

/* Numbers of 16 bits become a register of 32, which holds what they do. One beside a zero is an f32
 * made of a bf16, and nothing is known of that. */
static void pair_up(struct walk *walk, const struct ptx_operand *parts, struct known *whole)
{
    for (unsigned i = 0; i < parts->count; i++) {
        if (parts->items[i].kind != PTX_REGISTER)
            return;
    }
    each_register(walk, parts, take_part, whole);
}

/* Everything else: operands after the first are read, by the instruction's type. */
static void walk_other(struct walk *walk, const struct ptx_instruction *in)
{
    static const char *const moves[] = {"mov", "cvta", "add",  "sub",  "mad", "selp",
                                        "shl", "or",   "prmt", "shfl", NULL};
    bool cvt = strcmp(in->opcode, "cvt") == 0 && in->type_count > 1;
    enum dtype use = dtype_of(in->types[cvt ? 1 : 0]);
    struct known to = {.dtype = in->type_count ? dtype_of(in->types[0]) : DTYPE_NONE};
    bool moves_value = !strcmp(in->opcode, "mov") || !strcmp(in->opcode, "selp");
    for (unsigned i = 1; i < in->operand_count; i++) {
        const struct known *from = known_of(walk, &in->operands[i]);
        if (moves_value && in->operands[i].kind == PTX_VECTOR)
            pair_up(walk, &in->operands[i], &to);
        if (use != DTYPE_NONE)
            each_register(walk, &in->operands[i], note_used, &use);
        if (from && from->base && !to.base && is_any(in->opcode, moves))
            to.base = from->base;
        if (from && moves_value && !to.element)
            to.element = from->element;
        if (from && moves_value && to.dtype == DTYPE_NONE)
            to.dtype = from->dtype;
    }
    if (in->operand_count)
        each_register(walk, &in->operands[0], set_known, &to);
}

static void walk_body(struct walk *walk)
{
    static const char *const atomics[] = {"atom", "red", NULL};
    for (unsigned i = 0; i < walk->function->instruction_count; i++) {
        const struct ptx_instruction *in = &walk->function->instructions[i];
        bool memory = in->space == PTX_GLOBAL || in->space == PTX_GENERIC;
        if (in->operand_count < 2)
            continue;
        if (!strcmp(in->opcode, "ld") || !strcmp(in->opcode, "ldu"))
            walk_load(walk, in);
        else if (!strcmp(in->opcode, "st") && memory)
            walk_store(walk, in);
        else if (is_any(in->opcode, atomics) && memory)
            walk_atomic(walk, in);
        else if (strcmp(in->opcode, "st") != 0)
            walk_other(walk, in);
    }
}

/* Of a real type. Elements that are read in smaller pieces are of another: f8 that passes through
 * f16, blocks of codes with a scale of f16. */
static unsigned bytes_of(enum dtype dtype)
{
    return dtype == DTYPE_F64 ? 8 : dtype == DTYPE_F32 ? 4 : is_real(dtype) ? 2 : 0;
}

static bool facts_of_places(const struct ptx_function *function, const struct facts_place *place,
                            unsigned places, struct param_fact *out)
{
    struct walk walk = {.function = function, .place = place, .param = out, .params = places};
    walk.known = calloc(function->register_count + 1, sizeof *walk.known);
    if (!walk.known)
        return false;
    for (int pass = 0; pass < PASSES; pass++)
        walk_body(&walk);
    free(walk.known);
    for (unsigned i = 0; i < places; i++) {
        if (out[i].least && out[i].least < bytes_of(out[i].dtype))
            out[i].dtype = DTYPE_NONE;
    }
    return true;
}

bool facts_of(const struct ptx_function *function, struct param_fact *out, unsigned most,
              unsigned *params)
{
    unsigned count = function->param_count < most ? function->param_count : most;
    struct facts_place *place = calloc(count + 1, sizeof *place);
    memset(out, 0, most * sizeof *out);
    for (unsigned i = 0; place && i < count; i++) {
        uint32_t bytes = (uint32_t)function->params[i].bytes;
        place[i] = (struct facts_place){.param = i, .bytes = bytes, .address = bytes == 8};
    }
    bool whole = place && facts_of_places(function, place, count, out);
    free(place);
    *params = count;
    return whole;
}

/* The kernel with its body; NULL: the text has none. The module is to be freed in any case. */
static struct ptx_function *read_kernel(const char *ptx, size_t bytes, const char *symbol,
                                        struct ptx_module **module)
{
    struct error err = {{0}};
    *module = NULL;
    if (ptx_read(ptx, bytes, symbol, module, &err))
        return NULL;
    struct ptx_function *function = ptx_find_function(*module, symbol);
    bool found = function && function->has_body && !ptx_read_body(*module, function, &err);
    return found ? function : NULL;
}

bool facts_read(const char *ptx, size_t bytes, const char *symbol, struct param_fact *out,
                unsigned most, unsigned *params)
{
    struct ptx_module *module;
    memset(out, 0, most * sizeof *out);
    struct ptx_function *function = read_kernel(ptx, bytes, symbol, &module);
    bool found = function && facts_of(function, out, most, params);
    ptx_free(module);
    return found;
}

bool facts_read_places(const char *ptx, size_t bytes, const char *symbol,
                       const struct facts_place *place, unsigned places, struct param_fact *out,
                       unsigned *params)
{
    struct ptx_module *module;
    memset(out, 0, places * sizeof *out);
    struct ptx_function *function = read_kernel(ptx, bytes, symbol, &module);
    bool found = function && facts_of_places(function, place, places, out);
    *params = function ? function->param_count : 0;
    ptx_free(module);
    return found;
}

unsigned facts_fields(const char *ptx, size_t bytes, const char *symbol, struct facts_place *out,
                      unsigned most)
{
    struct ptx_module *module;
    unsigned count = 0;
    struct ptx_function *function = read_kernel(ptx, bytes, symbol, &module);
    for (unsigned i = 0; function && i < function->instruction_count; i++) {
        const struct ptx_instruction *in = &function->instructions[i];
        bool loads = !strcmp(in->opcode, "ld") && in->operand_count > 1;
        const struct ptx_variable *variable = loads ? param_of(function, &in->operands[1]) : NULL;
        unsigned size = loads ? ptx_type_bits(in->types[0]) / 8 : 0;
        unsigned elements = loads && in->operands[0].kind == PTX_VECTOR ? in->operands[0].count : 1;
        for (unsigned k = 0; variable && variable->bytes > 8 && k < elements && count < most; k++)
            out[count++] =
                (struct facts_place){.param = variable->index,
                                     .offset = (uint32_t)in->operands[1].offset + k * size,
                                     .bytes = size};
    }
    ptx_free(module);
    return count;
}

static void fill(struct param_layout *layout, const struct param_fact *fact, unsigned params)
{
    for (unsigned i = 0; i < params && params <= layout->count; i++) {
        const bool pointer = fact[i].reads || fact[i].writes || fact[i].adds;
        layout->param[i].dtype = pointer ? (uint32_t)fact[i].dtype : DTYPE_NONE;
    }
}

void facts_layout(const char *ptx, size_t bytes, const char *symbol, struct param_layout *layout)
{
    struct param_fact fact[LAYOUT_MAX];
    unsigned params = 0;
    if (strncmp(symbol, "_Z", 2) != 0 && facts_read(ptx, bytes, symbol, fact, LAYOUT_MAX, &params))
        fill(layout, fact, params);
}

void facts_layout_of(const struct ptx_function *function, struct param_layout *layout)
{
    struct param_fact fact[LAYOUT_MAX];
    unsigned params = 0;
    if (strncmp(function->name, "_Z", 2) != 0 && facts_of(function, fact, LAYOUT_MAX, &params))
        fill(layout, fact, params);
}
