#include <string.h>
#include "lift/lift_parts.h"

static const struct class_row {
    const char *opcode;
    enum lift_class class_;
    enum lift_refusal refusal;
} class_rows[] = {
    {"mma", CLASS_PRODUCT, LIFT_OK},
    {"wmma", 0, LIFT_MATRIX},
    {"wgmma", CLASS_PRODUCT, LIFT_OK},
    {"tcgen05", 0, LIFT_MATRIX},
    {"ldmatrix", CLASS_LOAD, LIFT_OK},
    {"stmatrix", CLASS_STORE, LIFT_OK},
    {"movmatrix", 0, LIFT_MATRIX},
    {"mbarrier", CLASS_OTHER, LIFT_OK},
    {"tensormap", CLASS_MAP, LIFT_OK},
    {"mapa", 0, LIFT_BULK},
    {"atom", 0, LIFT_ATOMIC},
    {"red", 0, LIFT_ATOMIC},
    {"call", CLASS_FAIL, LIFT_CALL},
    {"trap", CLASS_FAIL, LIFT_OK},
    {"bra", CLASS_BRANCH, LIFT_OK},
    {"ret", CLASS_END, LIFT_OK},
    {"exit", CLASS_END, LIFT_OK},
    {"ld", CLASS_LOAD, LIFT_OK},
    {"st", CLASS_STORE, LIFT_OK},
    {"cp", CLASS_ASYNC, LIFT_OK},
    {"shfl", CLASS_SHUFFLE, LIFT_OK},
    {"mov", CLASS_MOVE, LIFT_OK},
    {"selp", CLASS_MOVE, LIFT_OK},
    {"prefetch", CLASS_DROP, LIFT_OK},
    {"prefetchu", CLASS_DROP, LIFT_OK},
    {"createpolicy", CLASS_DROP, LIFT_OK},
    {"griddepcontrol", CLASS_DROP, LIFT_OK},
    {"pmevent", CLASS_DROP, LIFT_OK},
    {"setmaxnreg", CLASS_DROP, LIFT_OK},
    {"discard", CLASS_DROP, LIFT_OK},
    {"applypriority", CLASS_DROP, LIFT_OK},
};

/* Arithmetic on floating-point numbers has a rule for each of these. */
static const char floats[] = " add sub mul fma neg abs min max div rcp sqrt rsqrt sin cos ex2 lg2 "
                             "tanh cvt ";

/* Kept as they are: what they compute is no number of its own. */
static const char kept_instructions[] =
    " add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind fns brev bfe bfi "
    "szext "
    "dp4a dp2a addc subc madc and or xor not cnot lop3 shf shl shr set setp slct prmt cvt cvta "
    "bar barrier membar fence vote match activemask elect redux nanosleep isspacep copysign testp ";

static bool word_listed(const char *list, const char *word)
{
    char padded[40] = " ";
    size_t length = strlen(word);
    if (length + 3 > sizeof padded)
        return false;
    memcpy(padded + 1, word, length);
    padded[length + 1] = ' ';
    padded[length + 2] = '\0';
    return strstr(list, padded) != NULL;
}

enum lift_kind lift_kind_of_type(enum ptx_type type)
{
    switch (type) {
    case PTX_F32:
        return KIND_F32;
    case PTX_F16:
        return KIND_F16;
    case PTX_BF16:
        return KIND_BF16;
    case PTX_F16X2:
        return KIND_F16X2;
    case PTX_BF16X2:
        return KIND_BF16X2;
    default:
        return KIND_NONE;
    }
}

unsigned lift_lanes(enum lift_kind kind)
{
    return kind == KIND_F16X2 || kind == KIND_BF16X2 ? 2 : 1;
}

enum lift_kind lift_lane_kind(enum lift_kind kind)
{
    return kind == KIND_F16X2 ? KIND_F16 : kind == KIND_BF16X2 ? KIND_BF16 : kind;
}

unsigned lift_kind_bytes(enum lift_kind kind)
{
    return kind == KIND_F16 || kind == KIND_BF16 ? 2 : 4;
}

enum lift_kind lift_operand_kind(const struct ptx_instruction *ins, unsigned i)
{
    bool converts = strcmp(ins->opcode, "cvt") == 0 && ins->type_count > 1;
    return lift_kind_of_type(ins->types[converts && i > 0 ? 1 : 0]);
}

bool lift_is_pack(const struct ptx_instruction *ins)
{
    return ins->operand_count == 2 && ins->operands[0].kind == PTX_REGISTER &&
           ins->operands[1].kind == PTX_VECTOR;
}

bool lift_widens(const struct ptx_operand *parts)
{
    return parts->kind == PTX_VECTOR && parts->count == 2 &&
           parts->items[0].kind == PTX_IMMEDIATE && parts->items[0].bits == 0 &&
           parts->items[1].kind == PTX_REGISTER;
}

bool lift_is_widening(const struct lift *lift, const struct ptx_instruction *ins)
{
    return lift_is_pack(ins) && lift_widens(&ins->operands[1]) &&
           lift->reg[ins->operands[0].reg].kind == KIND_F32;
}

bool lift_is_unpack(const struct ptx_instruction *ins)
{
    return ins->operand_count == 2 && ins->operands[0].kind == PTX_VECTOR &&
           ins->operands[1].kind == PTX_REGISTER;
}

bool lift_rounds_narrow(const struct ptx_instruction *ins)
{
    enum lift_kind kind = lift_lane_kind(lift_operand_kind(ins, 0));
    static const char exact[] = " neg abs min max ";
    return (kind == KIND_F16 || kind == KIND_BF16) && !word_listed(exact, ins->opcode);
}

static bool small(enum ptx_type type)
{
    return type >= PTX_E4M3 && type <= PTX_E5M2X2;
}

/* Formats without a rule. */
static bool foreign(enum ptx_type type)
{
    return type == PTX_F32X2 || type == PTX_TF32 || small(type);
}

/* A number of 8 bits counts as bits: what is rounded to it is not compared, what is made of it is
 * exact. */
static bool converts_small(const struct ptx_instruction *ins)
{
    return strcmp(ins->opcode, "cvt") == 0 && ins->type_count == 2 &&
           ((small(ins->types[0]) && lift_kind_of_type(ins->types[1])) ||
            (small(ins->types[1]) && lift_kind_of_type(ins->types[0])));
}

static bool foreign_types(const struct ptx_instruction *ins)
{
    for (unsigned i = 0; i < ins->type_count; i++) {
        if (foreign(ins->types[i]))
            return true;
    }
    return false;
}

/* Conversions between a floating-point number and an integer give a new number; of those between
 * two formats, the ones that round to whole numbers do. */
static bool converts_exactly(const struct ptx_instruction *ins)
{
    static const char *const whole[] = {"rni", "rzi", "rmi", "rpi"};
    for (unsigned i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (ptx_has_modifier(ins, whole[i]))
            return true;
    }
    return !lift_operand_kind(ins, 0) || !lift_operand_kind(ins, 1);
}

/* cvt.u32.u16 and cvt.u16.u32 take a number of 16 bits to shuffles and back. */
static bool moves_half(const struct ptx_instruction *ins)
{
    return strcmp(ins->opcode, "cvt") == 0 && ins->type_count == 2 && !ins->modifier_count &&
           ((ins->types[0] == PTX_U32 && ins->types[1] == PTX_U16) ||
            (ins->types[0] == PTX_U16 && ins->types[1] == PTX_U32));
}

static enum lift_refusal classify_arithmetic(const struct ptx_instruction *ins, uint8_t *out)
{
    if (converts_small(ins)) {
        *out = CLASS_OTHER;
        return LIFT_OK;
    }
    if (foreign_types(ins))
        return LIFT_FORMAT;
    bool number = lift_kind_of_type(ins->types[0]) != KIND_NONE;
    bool is_cvt = strcmp(ins->opcode, "cvt") == 0;
    if (moves_half(ins)) {
        *out = CLASS_MOVE;
        return LIFT_OK;
    }
    if (is_cvt)
        number = !converts_exactly(ins);
    if (word_listed(" min max ", ins->opcode) && ins->operand_count > 3) /* of three numbers */
        return LIFT_INSTRUCTION;
    if (number && word_listed(floats, ins->opcode)) {
        *out = CLASS_FLOAT;
        return LIFT_OK;
    }
    *out = CLASS_OTHER;
    bool wide = ins->types[0] == PTX_F64; /* has f64's own precision */
    return word_listed(kept_instructions, ins->opcode) || (wide && word_listed(floats, ins->opcode))
               ? LIFT_OK
               : LIFT_INSTRUCTION;
}

static bool ordered(const struct ptx_instruction *ins)
{
    static const char *const words[] = {"volatile", "acquire", "release", "relaxed", "mmio"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (ptx_has_modifier(ins, words[i]))
            return true;
    }
    return false;
}

/* Layouts of 16-bit elements are changed by these. */
static enum lift_refusal classify_matrix(const struct ptx_instruction *ins)
{
    bool plain = ptx_has_modifier(ins, "m8n8") && ins->types[0] == PTX_B16;
    return plain && ins->space == PTX_SHARED ? LIFT_OK : LIFT_MATRIX;
}

/* Parameters of calls go with the call; nothing is known of what lies in local memory. */
static enum lift_refusal classify_access(const struct ptx_instruction *ins, uint8_t *class_)
{
    if (strcmp(ins->opcode, "ldmatrix") == 0 || strcmp(ins->opcode, "stmatrix") == 0)
        return classify_matrix(ins);
    if (ins->space == PTX_PARAM || ins->space == PTX_CONST || ins->space == PTX_LOCAL) {
        *class_ = *ins->opcode == 's' && ins->space == PTX_PARAM ? CLASS_DROP : CLASS_OTHER;
        return LIFT_OK;
    }
    if (ins->space != PTX_GLOBAL && ins->space != PTX_SHARED)
        return LIFT_SPACE;
    if (ins->types[0] == PTX_B128 || ins->vector > 4)
        return LIFT_FORMAT;
    return ordered(ins) ? LIFT_ORDERED : LIFT_OK;
}

/* An assertion ends the check of its thread; other functions have no rule. */
static enum lift_refusal classify_call(const struct ptx_instruction *ins)
{
    const struct ptx_operand *to = &ins->operands[0];
    bool fails =
        ins->operand_count && to->kind == PTX_FUNCTION && strcmp(to->name, "__assertfail") == 0;
    return fails ? LIFT_OK : LIFT_CALL;
}

/* cp.async.c[ag].shared.global moves words; its groups are waited for as they are. */
static enum lift_refusal classify_copy(const struct ptx_instruction *ins, uint8_t *class_)
{
    if (!ptx_has_modifier(ins, "async"))
        return LIFT_BULK;
    if (ptx_has_modifier(ins, "bulk"))
        return lift_classify_bulk(ins, class_);
    if (ins->space == PTX_GENERIC || ptx_has_modifier(ins, "mbarrier"))
        *class_ = CLASS_OTHER;
    return LIFT_OK;
}

static enum lift_refusal classify(const struct ptx_instruction *ins, uint8_t *class_)
{
    if (strcmp(ins->opcode, "fence") == 0 && ptx_has_modifier(ins, "tensormap::generic")) {
        *class_ = CLASS_DROP; /* of a map, which the lifted kernel has elsewhere */
        return LIFT_OK;
    }
    for (unsigned i = 0; i < sizeof class_rows / sizeof *class_rows; i++) {
        if (strcmp(class_rows[i].opcode, ins->opcode) != 0)
            continue;
        *class_ = class_rows[i].class_;
        if (*class_ == CLASS_LOAD || *class_ == CLASS_STORE)
            return classify_access(ins, class_);
        if (*class_ == CLASS_ASYNC)
            return classify_copy(ins, class_);
        if (*class_ == CLASS_MAP)
            return lift_classify_map(ins, class_);
        if (*class_ == CLASS_PRODUCT)
            return lift_classify_product(ins, class_);
        if (class_rows[i].refusal == LIFT_CALL)
            return classify_call(ins);
        return class_rows[i].refusal;
    }
    return classify_arithmetic(ins, class_);
}

/* Whether the operands that this room reads are present. The driver does not check debug text. */
static bool complete(const struct ptx_instruction *ins, enum lift_class class_)
{
    static const char *const needs[] = {
        "", " bra call ",
        (" ld ldmatrix st stmatrix mov cvt cvta neg abs not rcp sqrt rsqrt sin cos "
         "ex2 lg2 tanh "),
        " add sub mul div rem min max and or xor shl shr setp shfl ", " fma mad selp bfe "};
    for (unsigned i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (word_listed(needs[i], ins->opcode) && ins->operand_count < i)
            return false;
    }
    bool memory = class_ == CLASS_LOAD || class_ == CLASS_STORE || class_ == CLASS_ASYNC;
    if (!memory)
        return true;
    bool typed = class_ == CLASS_ASYNC || ptx_type_bits(ins->types[0]) >= 8;
    if (!typed || ins->operand_count < (class_ == CLASS_ASYNC ? 3 : 2))
        return false;
    const struct ptx_operand *at = &ins->operands[class_ == CLASS_STORE ? 0 : 1];
    return at->kind == PTX_MEMORY && at->count;
}

enum lift_refusal lift_classify(struct lift *lift, struct error *err)
{
    const struct ptx_function *kernel = lift->kernel;
    for (unsigned i = 0; i < kernel->instruction_count; i++) {
        const struct ptx_instruction *ins = &kernel->instructions[i];
        enum lift_refusal refusal = classify(ins, &lift->step[i].class_);
        if (!refusal && !complete(ins, lift->step[i].class_))
            refusal = LIFT_INSTRUCTION;
        if (refusal)
            return lift_refuse(lift, ins, refusal, err);
        lift->products |= lift->step[i].class_ == CLASS_PRODUCT;
        lift->bulk |= lift_is_bulk(lift->step[i].class_);
        for (unsigned o = 0; o < ins->operand_count; o++) {
            if (ins->operands[o].kind == PTX_LABEL &&
                ins->operands[o].target < kernel->instruction_count)
                lift->step[ins->operands[o].target].target = true;
        }
    }
    return LIFT_OK;
}

/* ---- operands ---- */

void lift_each_register(const struct ptx_operand *operand, lift_visit_fn visit, void *user)
{
    if (operand->kind == PTX_REGISTER)
        visit(user, operand->reg);
    bool inner =
        operand->kind == PTX_VECTOR || operand->kind == PTX_PAIR || operand->kind == PTX_MEMORY;
    for (unsigned i = 0; inner && i < operand->count; i++)
        lift_each_register(&operand->items[i], visit, user);
}

/* Whether the first operand is what the instruction writes. */
static bool has_result(const struct ptx_instruction *ins)
{
    static const char none[] =
        " st stmatrix bra ret exit call cp membar fence prefetch prefetchu nanosleep trap "
        "tensormap griddepcontrol discard applypriority pmevent setmaxnreg ";
    bool barrier = strcmp(ins->opcode, "bar") == 0 || strcmp(ins->opcode, "barrier") == 0;
    if (barrier)
        return ptx_has_modifier(ins, "red");
    if (strcmp(ins->opcode, "mbarrier") == 0)
        return ins->operand_count > 0 && ins->operands[0].kind != PTX_MEMORY;
    if (lift_is_wgmma(ins))
        return ptx_has_modifier(ins, "mma_async");
    return ins->operand_count > 0 && !word_listed(none, ins->opcode);
}

void lift_each_result(const struct ptx_instruction *ins, lift_visit_fn visit, void *user)
{
    if (has_result(ins) && ins->operands[0].kind != PTX_MEMORY)
        lift_each_register(&ins->operands[0], visit, user);
}

void lift_each_source(const struct ptx_instruction *ins, lift_visit_fn visit, void *user)
{
    bool adds = lift_is_wgmma(ins); /* to its own result */
    for (unsigned i = has_result(ins) && !adds; i < ins->operand_count; i++)
        lift_each_register(&ins->operands[i], visit, user);
}
