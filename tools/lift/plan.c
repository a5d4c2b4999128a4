/* plan.c - what each instruction does to the numbers it meets. */
#include "tools/lift/parts.h"

#include <string.h>

/* ---- words of instructions ---- */

static bool is(const struct ptx_instruction *ins, const char *opcode)
{
    return strcmp(ins->opcode, opcode) == 0;
}

static enum ptx_type result_type(const struct ptx_instruction *ins)
{
    return ins->type_count ? ins->types[0] : PTX_NO_TYPE;
}

static enum ptx_type source_type(const struct ptx_instruction *ins)
{
    return ins->type_count ? ins->types[ins->type_count - 1] : PTX_NO_TYPE;
}

static bool has(const struct ptx_instruction *ins, const char *modifier)
{
    return ptx_has_modifier(ins, modifier);
}

/* In bytes; 0 for a predicate. */
static unsigned bytes_of(enum ptx_type type)
{
    const unsigned bits = ptx_type_bits(type);
    return type == PTX_PRED ? 0 : bits <= 16 ? 2 : bits / 8;
}

/* Of the register or constant behind an operand. */
static unsigned operand_width(const struct code *code, const struct ptx_operand *o,
                              enum ptx_type type)
{
    return bytes_of(o->kind == PTX_REGISTER ? code->ptx->registers[o->reg].type : type);
}

static void read_widths(struct plan *plan, const struct code *code, const struct op *op)
{
    const struct ptx_instruction *ins = op->instruction;
    for (unsigned i = 0; i < PLAN_SOURCES && i + 1 < ins->operand_count; i++) {
        plan->width[i] = (uint8_t)operand_width(code, ins->operands + i + 1, source_type(ins));
        plan->sources = op->s[i] == REF_NONE ? plan->sources : i + 1;
    }
    plan->d_width = op->width;
}

/* ---- arithmetic ---- */

static const struct {
    const char *opcode;
    enum calc calc;
} calcs[] = {
    {"add", CALC_ADD},     {"sub", CALC_SUB},   {"mul", CALC_MUL},           {"fma", CALC_FMA},
    {"mad", CALC_FMA},     {"div", CALC_DIV},   {"rcp", CALC_RCP},           {"sqrt", CALC_SQRT},
    {"rsqrt", CALC_RSQRT}, {"ex2", CALC_EX2},   {"lg2", CALC_LG2},           {"sin", CALC_SIN},
    {"cos", CALC_COS},     {"tanh", CALC_TANH}, {"min", CALC_MIN},           {"max", CALC_MAX},
    {"neg", CALC_NEG},     {"abs", CALC_ABS},   {"copysign", CALC_COPYSIGN},
};

static void plan_flags(struct plan *plan, const struct ptx_instruction *ins)
{
    static const char *const approximate[] = {"approx", "full"};
    for (unsigned i = 0; i < 2; i++)
        plan->flags |= has(ins, approximate[i]) ? PLAN_APPROXIMATE : 0u;
    plan->flags |= has(ins, "sat") ? PLAN_SATURATES : 0u;
    plan->flags |= has(ins, "relu") ? PLAN_RELU : 0u;
}

static bool plan_arithmetic(struct plan *plan, const struct op *op)
{
    const struct ptx_instruction *ins = op->instruction;
    unsigned parts;
    plan->to = format_of_type(result_type(ins), &parts);
    plan->from = format_of_type(source_type(ins), &plan->parts);
    if (!plan->to || !plan->from || parts != plan->parts || ins->type_count > 2)
        return false;
    for (unsigned i = 0; i < sizeof calcs / sizeof *calcs; i++) {
        if (!is(ins, calcs[i].opcode))
            continue;
        plan->calc = calcs[i].calc;
        plan_flags(plan, ins);
        plan->watch = watch_calc;
        return true;
    }
    return false;
}

/* ---- conversions ---- */

static bool rounds_to_integer(const struct ptx_instruction *ins)
{
    static const char *const modes[] = {"rni", "rzi", "rmi", "rpi"};
    for (unsigned i = 0; i < 4; i++)
        if (has(ins, modes[i]))
            return true;
    return false;
}

static bool is_signed(enum ptx_type type)
{
    return type == PTX_S8 || type == PTX_S16 || type == PTX_S32 || type == PTX_S64;
}

/* The bytes of the source, up to those of the narrower type; the others hold zeros or a sign. */
static void map_bytes(struct plan *plan, unsigned bytes)
{
    memset(plan->map, MAP_OTHER, sizeof(plan->map));
    for (unsigned b = 0; b < bytes && b < PLAN_BYTES; b++)
        plan->map[b] = (int8_t)b;
    plan->watch = watch_move;
}

static void plan_cvt(struct plan *plan, const struct op *op)
{
    const struct ptx_instruction *ins = op->instruction;
    const unsigned to_bits = ptx_type_bits(result_type(ins));
    const unsigned from_bits = ptx_type_bits(source_type(ins));
    unsigned from_parts;
    plan->to = format_of_type(result_type(ins), &plan->parts);
    plan->from = format_of_type(source_type(ins), &from_parts);
    plan_flags(plan, ins);
    plan->calc = plan->from ? CALC_CVT : CALC_FROM_INT;
    plan->watch = watch_void;
    if (!plan->to && !plan->from) {
        map_bytes(plan, (to_bits < from_bits ? to_bits : from_bits) / 8);
        return;
    }
    if (!plan->to || ins->operand_count > 3)
        return;
    if (plan->parts == 2 && from_parts == 1)
        plan->flags |= PLAN_PAIR;
    else if (plan->parts != from_parts)
        return;
    if (is_signed(source_type(ins)))
        plan->flags |= PLAN_SIGNED;
    if (plan->from && rounds_to_integer(ins))
        plan->calc = CALC_ROUND;
    plan->watch = watch_calc;
}

/* ---- moves ---- */

/* The value of source `i` where it is one constant. */
static bool constant_source(const struct code *code, const struct op *op, unsigned i,
                            unsigned width, uint64_t *value)
{
    if (op->s[i] == REF_NONE || !(op->s[i] & REF_CONSTANT))
        return false;
    *value = register_raw(code->constants + (op->s[i] & ~REF_CONSTANT), width, 0, 0, width);
    return true;
}

static void plan_shift(struct plan *plan, const struct code *code, const struct op *op, bool left)
{
    uint64_t by;
    plan->watch = watch_void;
    if (!constant_source(code, op, 1, 4, &by) || by % 8 || by >= op->width * 8u)
        return;
    const int bytes = (int)by / 8;
    for (int b = 0; b < (int)op->width && b < PLAN_BYTES; b++) {
        int from = left ? b - bytes : b + bytes;
        plan->map[b] = (int8_t)(from < 0 || from >= (int)op->width ? MAP_ZERO : from);
    }
    plan->sources = 1;
    plan->watch = watch_move;
}

static void plan_prmt(struct plan *plan, const struct code *code, const struct op *op)
{
    uint64_t selector;
    plan->watch = watch_void;
    if (op->instruction->modifier_count || !constant_source(code, op, 2, 4, &selector))
        return;
    for (unsigned b = 0; b < 4; b++) {
        unsigned from = selector >> (4 * b) & 15;
        plan->map[b] = (int8_t)(from >= 8 ? MAP_OTHER : (int)from + (from >= 4 ? 12 : 0));
    }
    plan->sources = 2;
    plan->watch = watch_move;
}

static void plan_integer(struct plan *plan, const struct code *code, const struct op *op)
{
    static const char *const similar[] = {"and", "or", "xor", "lop3", "add", "sub"};
    const struct ptx_instruction *ins = op->instruction;
    plan->watch = watch_void;
    if (is(ins, "shl") || is(ins, "shr"))
        plan_shift(plan, code, op, is(ins, "shl"));
    else if (is(ins, "prmt"))
        plan_prmt(plan, code, op);
    else if (is(ins, "selp"))
        plan->watch = watch_select;
    for (unsigned i = 0; i < sizeof similar / sizeof *similar; i++)
        if (is(ins, similar[i]) && (op->width == 2 || op->width == 4))
            plan->watch = watch_similar;
}

static void plan_lane(struct plan *plan, const struct code *code, const struct op *op)
{
    const struct ptx_instruction *ins = op->instruction;
    read_widths(plan, code, op);
    if (is(ins, "cvt"))
        plan_cvt(plan, op);
    else if (is(ins, "mov"))
        map_bytes(plan, op->width);
    else if (is(ins, "selp") || !plan_arithmetic(plan, op))
        plan_integer(plan, code, op);
    if (!op->width)
        plan->watch = NULL; /* a predicate */
}

static void plan_pack(struct plan *plan, const struct op *op)
{
    const struct pack *pack = op->more;
    memset(plan->map, MAP_OTHER, sizeof(plan->map));
    for (unsigned i = 0; i < pack->count && pack->count <= 8; i++)
        for (unsigned b = 0; b < pack->bytes; b++)
            plan->map[i * pack->bytes + b] = (int8_t)(16 * i + b);
    plan->watch = watch_move;
    plan->d_width = op->width;
}

static void measure_runs(struct plan *plan)
{
    for (int b = (int)plan->d_width - 1; b >= 0 && plan->d_width <= PLAN_BYTES; b--) {
        bool on = b + 1 < (int)plan->d_width && plan->map[b] >= 0 &&
                  plan->map[b + 1] == plan->map[b] + 1 && plan->map[b + 1] % 16;
        plan->run[b] = (int8_t)(plan->map[b] < 0 ? 0 : on ? 1 + plan->run[b + 1] : 1);
    }
}

/* ---- by the interpreter's function ---- */

static void plan_move(struct plan *plan, const struct op *op)
{
    plan->d_width = op->width;
    plan->width[0] = op->width;
    plan->sources = 1;
    map_bytes(plan, op->width);
}

static void plan_void(struct plan *plan, const struct op *op)
{
    plan->d_width = op->width;
    plan->watch = watch_void;
}

/* A kernel's parameters hold no number that was computed. */
static void plan_load(struct plan *plan, const struct op *op)
{
    const struct access *a = op->more;
    plan->watch = a->memory == IN_PARAM ? NULL : watch_load;
}

static void plan_shuffle(struct plan *plan, const struct op *op)
{
    const struct sync *sync = op->more;
    plan->d_width = op->width;
    plan->width[0] = op->source;
    plan->sources = 1;
    plan->watch = sync->kind == SYNC_SHFL ? watch_shuffle : watch_void;
}

void plan_op(struct plan *plan, const struct code *code, const struct op *op)
{
    if (op->fn == op_lane) {
        plan_lane(plan, code, op);
    } else if (op->fn == op_pack) {
        plan_pack(plan, op);
    } else if (op->fn == op_unpack) {
        plan->watch = watch_move;
    } else if (op->fn == op_move_bits) {
        plan_move(plan, op);
    } else if (op->fn == op_ld) {
        plan_load(plan, op);
    } else if (op->fn == op_st) {
        plan->watch = watch_store;
    } else if (op->fn == op_atomic) {
        plan->watch = watch_atomic;
    } else if (op->fn == op_copy_async) {
        plan->watch = watch_copy;
    } else if (op->fn == op_bulk_copy) {
        plan->watch = watch_bulk;
    } else if (op->fn == op_sync || op->fn == op_exchange) {
        plan_shuffle(plan, op);
    } else if (op->fn == op_mma) {
        plan->calc = CALC_FMA;
        plan->watch = watch_mma;
        plan->more = op->more;
    } else if (op->fn == op_wgmma) {
        plan->calc = CALC_FMA;
        plan->watch = watch_wgmma;
    } else if (op->fn == op_wmma_mma) {
        plan->calc = CALC_FMA;
        plan->watch = watch_wmma;
    } else if (op->fn == op_wmma_load) {
        plan->watch = watch_wmma_load;
    } else if (op->fn == op_wmma_store) {
        plan->watch = watch_wmma_store;
    } else if (op->fn == op_ldmatrix) {
        plan->watch = watch_matrix_load;
    } else if (op->fn == op_stmatrix) {
        plan->watch = watch_matrix_store;
    } else if (op->fn == op_call) {
        plan->watch = watch_call;
    } else if (op->fn == op_ret) {
        plan->watch = watch_return;
    } else if (op->d != REF_NONE && op->width) {
        plan_void(plan, op);
    }
    measure_runs(plan);
}
