#include "tools/discover/ptx_facts.h"

#include <stdlib.h>
#include <string.h>
#include "lang/dtype.h"
#include "tools/discover/ptx_text.h"
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
    struct ptx_param *param;
    unsigned params;
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

/* A real type takes precedence over an integer one: bits are moved by integer instructions, too. */
static void note(struct walk *walk, unsigned param, enum dtype dtype)
{
    if (!param || param > walk->params || dtype == DTYPE_NONE)
        return;
    struct ptx_param *one = &walk->param[param - 1];
    if (one->dtype == DTYPE_NONE || (dtype_is_real(dtype) && !dtype_is_real(one->dtype)))
        one->dtype = dtype;
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

static unsigned param_of(const struct walk *walk, const struct ptx_operand *operand)
{
    const struct ptx_operand *item =
        operand->kind == PTX_MEMORY && operand->count ? &operand->items[0] : operand;
    const struct ptx_variable *variable =
        item->kind == PTX_ADDRESS_OF && item->variable ? item->variable : NULL;
    bool own = variable && variable->space == PTX_PARAM && variable->index < walk->params &&
               variable == &walk->function->params[variable->index];
    return own ? variable->index + 1 : 0;
}

static void walk_load(struct walk *walk, const struct ptx_instruction *in)
{
    struct known from = {0};
    unsigned param = param_of(walk, &in->operands[1]);
    from.dtype = dtype_of(in->types[0]);
    if (param) {
        bool wide = walk->function->params[param - 1].bytes == 8;
        from.base = (uint16_t)(wide ? param : 0);
        from.element = (uint16_t)param;
        if (!wide && dtype_is_real(from.dtype))
            note(walk, param, from.dtype);
    } else if ((param = base_of(walk, &in->operands[1]))) {
        walk->param[param - 1].reads = true;
        from.element = (uint16_t)param;
        note(walk, param, from.dtype);
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
    note(walk, param, dtype_of(in->types[0]));
    each_register(walk, &in->operands[1], note_stored, &param);
}

static void walk_atomic(struct walk *walk, const struct ptx_instruction *in)
{
    bool returns = strcmp(in->opcode, "atom") == 0;
    unsigned param = base_of(walk, &in->operands[returns ? 1 : 0]);
    if (!param)
        return;
    walk->param[param - 1].adds = true;
    note(walk, param, dtype_of(in->types[0]));
}

static void note_used(struct walk *walk, struct known *known, const void *user)
{
    const enum dtype *dtype = user;
    if (!known->element || known->base)
        return;
    const struct ptx_param *param = &walk->param[known->element - 1];
    if (dtype_is_real(*dtype) || param->dtype == DTYPE_NONE)
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

/* Everything else: operands after the first are read, by the instruction's type. */
static void walk_other(struct walk *walk, const struct ptx_instruction *in)
{
    static const char *const moves[] = {"mov", "cvta", "add",  "sub",  "mad", "selp",
                                        "shl", "or",   "prmt", "shfl", NULL};
    bool cvt = strcmp(in->opcode, "cvt") == 0 && in->type_count > 1;
    enum dtype use = dtype_of(in->types[cvt ? 1 : 0]);
    struct known to = {.dtype = in->type_count ? dtype_of(in->types[0]) : DTYPE_NONE};
    bool moves_value = !strcmp(in->opcode, "mov") || !strcmp(in->opcode, "prmt") ||
                       !strcmp(in->opcode, "shl") || !strcmp(in->opcode, "selp");
    for (unsigned i = 1; i < in->operand_count; i++) {
        const struct known *from = known_of(walk, &in->operands[i]);
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

static bool read_function(struct ptx_module *module, const char *symbol,
                          struct ptx_param out[LAYOUT_MAX], unsigned *params)
{
    struct error err = {{0}};
    struct ptx_function *function = ptx_find_function(module, symbol);
    if (!function || !function->has_body || ptx_read_body(module, function, &err))
        return false;
    unsigned count = function->param_count < LAYOUT_MAX ? function->param_count : LAYOUT_MAX;
    struct walk walk = {.function = function, .param = out, .params = count};
    walk.known = calloc(function->register_count + 1, sizeof *walk.known);
    for (unsigned i = 0; walk.known && i <= function->register_count; i++)
        walk.known[i].dtype = DTYPE_NONE;
    for (int pass = 0; walk.known && pass < PASSES; pass++)
        walk_body(&walk);
    free(walk.known);
    *params = count;
    return true;
}

bool ptx_facts_read(const struct seen_kernel *kernel, struct ptx_param out[LAYOUT_MAX],
                    unsigned *params)
{
    struct error err = {{0}};
    struct ptx_module *module = NULL;
    char *text = ptx_text_of(kernel);
    bool found = false;
    for (unsigned i = 0; i < LAYOUT_MAX; i++)
        out[i] = (struct ptx_param){.dtype = DTYPE_NONE};
    if (text && !ptx_read(text, strlen(text), "image", &module, &err)) {
        found = read_function(module, kernel->names.mangled, out, params);
        ptx_free(module);
    }
    free(text);
    return found;
}
