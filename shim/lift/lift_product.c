/*
 * lift_product.c - mma and wgmma: products of matrices, whose sums a kernel keeps in f32, or in f16
 * against the declared f32. A product of integers is exact: the kernel's own instruction is kept.
 *
 * A thread has numbers of two rows of the result, `r` and `r` + 8. It gathers both rows of a from
 * its lanes or from shared memory, then forms each of its sums in f64. Numbers of 8 bits count as
 * bits and have no shadows.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lift/lift_abi.h"
#include "lift/lift_parts.h"

#define PRODUCT(field) offsetof(struct lift_product, field)

bool lift_is_wgmma(const struct ptx_instruction *ins)
{
    return strcmp(ins->opcode, "wgmma") == 0;
}

const struct ptx_operand *lift_product_sum(const struct ptx_instruction *ins)
{
    return &ins->operands[lift_is_wgmma(ins) ? 0 : 3];
}

/* The types are those of d, a and b, and for mma c. */
enum lift_kind lift_product_kind(const struct ptx_instruction *ins, unsigned i)
{
    bool operand = i == 1 || i == 2;
    switch (ins->types[operand ? i : 0]) {
    case PTX_F16:
        return KIND_F16X2;
    case PTX_BF16:
        return KIND_BF16X2;
    case PTX_TF32:
    case PTX_F32:
        return KIND_F32;
    default:
        return KIND_NONE;
    }
}

/* The number behind the last letter of ".m64n128k16", or behind its n. */
static unsigned shape(const struct ptx_instruction *ins, char letter)
{
    for (unsigned i = 0; i < ins->modifier_count; i++) {
        const char *text = ins->modifiers[i], *at = strchr(text, letter);
        if (*text == 'm' && text[1] >= '0' && text[1] <= '9' && at)
            return (unsigned)strtoul(at + 1, NULL, 10);
    }
    return 0;
}

unsigned lift_product_depth(const struct ptx_instruction *ins)
{
    return shape(ins, 'k');
}

/* ---- which are supported ---- */

static bool is_vector(const struct ptx_operand *o, unsigned count)
{
    if (o->kind != PTX_VECTOR || o->count != count)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (o->items[i].kind != PTX_REGISTER)
            return false;
    }
    return true;
}

static bool of_8_bits(const struct ptx_instruction *ins)
{
    return ins->types[1] == PTX_E4M3 || ins->types[1] == PTX_E5M2;
}

/* Registers of the fragments of a (16 rows) and b (8 columns), of so many numbers each. */
static unsigned each(const struct ptx_instruction *ins)
{
    return of_8_bits(ins) ? 4 : lift_lanes(lift_product_kind(ins, 1));
}

static unsigned a_registers(const struct ptx_instruction *ins)
{
    return lift_product_depth(ins) / 2 / each(ins);
}

static bool known_types(const struct ptx_instruction *ins, unsigned count)
{
    const enum ptx_type *t = ins->types;
    bool small = of_8_bits(ins) && (t[2] == PTX_E4M3 || t[2] == PTX_E5M2);
    bool alike = t[1] == t[2] && (t[1] == PTX_F16 || t[1] == PTX_BF16 || t[1] == PTX_TF32);
    return ins->type_count == count && (small || alike) &&
           (t[0] == PTX_F32 || (t[0] == PTX_F16 && (small || t[1] == PTX_F16))) &&
           (count < 4 || t[3] == t[0]);
}

static bool known_mma(const struct ptx_instruction *ins)
{
    unsigned sums = ins->types[0] == PTX_F16 ? 2 : 4, depth = lift_product_depth(ins);
    return known_types(ins, 4) && ins->operand_count == 4 && shape(ins, 'm') == 16 &&
           shape(ins, 'n') == 8 && (depth == 8 * each(ins) || depth == 4 * each(ins)) &&
           is_vector(&ins->operands[0], sums) && is_vector(&ins->operands[1], a_registers(ins)) &&
           (a_registers(ins) == 2
                ? ins->operands[2].kind == PTX_REGISTER || is_vector(&ins->operands[2], 1)
                : is_vector(&ins->operands[2], 2)) &&
           ins->operands[3].kind == PTX_VECTOR && ins->operands[3].count == sums;
}

static bool known_wgmma(const struct ptx_instruction *ins)
{
    const struct ptx_operand *o = ins->operands;
    unsigned sums = shape(ins, 'n') / (ins->types[0] == PTX_F16 ? 4 : 2);
    bool memory = ins->operand_count > 2 && o[1].kind == PTX_REGISTER;
    unsigned wanted = each(ins) != 2 ? 6 : memory ? 8 : 7;
    if (!known_types(ins, 3) || ins->operand_count != wanted || shape(ins, 'm') != 64 ||
        !is_vector(&o[0], sums) || !(memory || is_vector(&o[1], 4)) || o[2].kind != PTX_REGISTER)
        return false;
    for (unsigned i = 4; i < wanted; i++) {
        if (o[i].kind != PTX_IMMEDIATE)
            return false;
    }
    return lift_product_depth(ins) == 8 * each(ins);
}

bool lift_is_exact_product(const struct ptx_instruction *ins)
{
    const enum ptx_type *t = ins->types;
    bool bytes = ins->type_count > 2 && (t[1] == PTX_S8 || t[1] == PTX_U8) &&
                 (t[2] == PTX_S8 || t[2] == PTX_U8);
    return bytes && t[0] == PTX_S32;
}

enum lift_refusal lift_classify_product(const struct ptx_instruction *ins, uint8_t *class_)
{
    static const char *const waits[] = {"fence", "commit_group", "wait_group"};
    for (unsigned i = 0; lift_is_wgmma(ins) && i < sizeof waits / sizeof *waits; i++) {
        if (ptx_has_modifier(ins, waits[i])) {
            *class_ = CLASS_OTHER;
            return LIFT_OK;
        }
    }
    bool dense = !ptx_has_modifier(ins, "sp") && !ins->guarded;
    bool known =
        ins->operand_count > 3 &&
        (lift_is_exact_product(ins) || (lift_is_wgmma(ins) ? known_wgmma(ins) : known_mma(ins)));
    return dense && known ? LIFT_OK : LIFT_MATRIX;
}

/* ---- writing ---- */

static void put_field(struct lift_writer *w, size_t field, unsigned value)
{
    lift_put_plain(w, "mov.b32 %%ci0, %u;", value);
    lift_put_plain(w, "st.local.b32 [cuvet_product+%zu], %%ci0;", field);
}

/* How sums of numbers of 8 bits are added up: mma of Hopper takes them as f16. */
static unsigned adds_up(const struct lift_writer *w)
{
    if (!of_8_bits(w->ins))
        return 0;
    if (lift_is_wgmma(w->ins))
        return LIFT_CUTS;
    return strcmp(w->lift->module->target, "sm_90a") == 0 ? 0 : LIFT_CUTS | LIFT_HALVES;
}

static unsigned flags_of(const struct lift_writer *w)
{
    const struct ptx_instruction *ins = w->ins;
    const struct ptx_operand *o = ins->operands;
    unsigned count = ins->operand_count;
    if (!lift_is_wgmma(ins))
        return adds_up(w);
    bool across = each(ins) == 2, memory = o[1].kind == PTX_REGISTER;
    return adds_up(w) | (across && memory && o[6].bits ? LIFT_A_ACROSS : 0u) |
           (across && o[count - 1].bits ? LIFT_B_ACROSS : 0u) |
           ((int32_t)o[4].bits < 0 ? LIFT_A_MINUS : 0u) |
           ((int32_t)o[5].bits < 0 ? LIFT_B_MINUS : 0u);
}

static unsigned product_format(enum ptx_type type)
{
    static const struct {
        enum ptx_type type;
        enum lift_format format;
    } rows[] = {
        {PTX_F16, LIFT_F16}, {PTX_BF16, LIFT_BF16}, {PTX_E4M3, LIFT_E4M3}, {PTX_E5M2, LIFT_E5M2}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].type == type)
            return rows[i].format;
    }
    return LIFT_F32;
}

static void put_product_head(struct lift_writer *w)
{
    bool cells = w->lift->cell && !w->step->fresh && lift_is_wgmma(w->ins);
    put_field(w, PRODUCT(format), product_format(w->ins->types[1]));
    put_field(w, PRODUCT(format_b), product_format(w->ins->types[2]));
    put_field(w, PRODUCT(depth), lift_product_depth(w->ins));
    put_field(w, PRODUCT(flags), flags_of(w));
    put_field(w, PRODUCT(cell), w->lift->cell);
    lift_put_plain(w, "mov.u32 %%ci0, %s;", cells ? w->lift->shared->name : "0");
    lift_put_plain(w, "st.local.b32 [cuvet_product+%zu], %%ci0;", PRODUCT(shared));
    lift_put_plain(w, "mov.b64 %%ca0, %s;", cells ? "%ccells" : "0");
    lift_put_plain(w, "st.local.b64 [cuvet_product+%zu], %%ca0;", PRODUCT(cells));
}

/* A call of a function that has the product and one or two numbers of 64 bits or 32. */
static void put_product_call(struct lift_writer *w, const char *name, const char *wide,
                             unsigned number)
{
    lift_put_plain(w, "{");
    lift_put_plain(w, ".param .b64 cuvet_p, cuvet_w;");
    lift_put_plain(w, ".param .b32 cuvet_n;");
    lift_put_plain(w, "st.param.b64 [cuvet_p], %%cproduct;");
    lift_put_plain(w, "mov.b64 %%ca0, %s;", wide);
    lift_put_plain(w, "st.param.b64 [cuvet_w], %%ca0;");
    lift_put_plain(w, "st.param.b32 [cuvet_n], %u;", number);
    lift_put_plain(w, "call cuvet_lift_%s, (cuvet_p, cuvet_w, cuvet_n);", name);
    lift_put_plain(w, "}");
}

/* The registers of a fragment of numbers of 8 bits, and those of the warp. */
static void put_words(struct lift_writer *w, unsigned operand, const char *function)
{
    const struct ptx_operand *o = &w->ins->operands[operand];
    unsigned count = o->kind == PTX_VECTOR ? o->count : 1;
    for (unsigned i = 0; i < count; i++)
        lift_put_plain(w, "st.local.b32 [cuvet_product+%zu], %%r%u;",
                       PRODUCT(word) + i * sizeof(uint32_t),
                       o->kind == PTX_VECTOR ? o->items[i].reg : o->reg);
    put_product_call(w, function, "0", 0);
}

/* The fragment's numbers, then the rows or columns that the lanes of a warp have together. */
static void put_fragment(struct lift_writer *w, unsigned operand, const char *function)
{
    const struct ptx_operand *o = &w->ins->operands[operand];
    enum lift_kind kind = lift_product_kind(w->ins, operand);
    unsigned lanes = lift_lanes(kind), count = o->kind == PTX_VECTOR ? o->count : 1;
    for (unsigned i = 0; i < count; i++) {
        const struct ptx_operand *one = o->kind == PTX_VECTOR ? &o->items[i] : o;
        for (unsigned lane = 0; lane < lanes; lane++) {
            lift_put_source(w, one, kind, lane, 0);
            lift_put_plain(w, "st.local.v2.f64 [cuvet_product+%zu], {%%cv0, %%ce0};",
                           PRODUCT(own) + (i * lanes + lane) * sizeof(struct lift_number));
        }
    }
    put_product_call(w, function, "0", lanes);
}

static void put_product_rows(struct lift_writer *w)
{
    const struct ptx_operand *a = &w->ins->operands[1];
    char descriptor[24];
    bool small = of_8_bits(w->ins);
    snprintf(descriptor, sizeof descriptor, "%%r%u", a->reg);
    if (a->kind != PTX_VECTOR)
        put_product_call(w, small ? "rows8_there" : "rows_there", descriptor, 0);
    else if (small)
        put_words(w, 1, "rows8");
    else
        put_fragment(w, 1, "rows");
}

/* What the sum at `n` of the thread had, in %cv0 and %ce0: nothing, where it is not added to. */
static void put_before(struct lift_writer *w, unsigned n, enum lift_kind kind)
{
    const struct ptx_operand *sum = lift_product_sum(w->ins), *scale = &w->ins->operands[3];
    unsigned lanes = lift_lanes(kind);
    lift_put_source(w, &sum->items[n / lanes], kind, n % lanes, 0);
    if (!lift_is_wgmma(w->ins))
        return;
    if (scale->kind == PTX_REGISTER)
        lift_put_plain(w, "%s.pred %%cq0, %%r%u;", scale->negated ? "not" : "mov", scale->reg);
    else
        lift_put_plain(w, "setp.ne.s32 %%cq0, %lld, 0;", (long long)scale->bits);
    lift_put_plain(w, "selp.f64 %%cv0, %%cv0, 0d0000000000000000, %%cq0;");
    lift_put_plain(w, "selp.f64 %%ce0, %%ce0, 0d0000000000000000, %%cq0;");
}

/* The thread's sum in row r (0 or 1) and the column that the call had: v + s, and its bound. A
 * tensor core lines all terms up with the largest and cuts what is a quarter of f32's last digit:
 * each term may lose half a unit. */
static void put_sum(struct lift_writer *w, unsigned n, unsigned row, enum lift_kind kind)
{
    const struct ptx_operand *d = &w->ins->operands[0];
    unsigned lanes = lift_lanes(kind), steps = of_8_bits(w->ins) ? 2 : 1; /* of 16 terms at most */
    char v[24], e[24];
    put_before(w, n, kind);
    lift_shadow_name(v, 'v', d->items[n / lanes].reg, n % lanes);
    lift_shadow_name(e, 'e', d->items[n / lanes].reg, n % lanes);
    lift_put_plain(w, "abs.f64 %%ct0, %%cv0;");
    lift_put_plain(w, "add.rn.f64 %%ct0, %%ct0, %%ct%u;", 4 + row); /* the size of all terms */
    lift_put_plain(w, "add.rn.f64 %%ct1, %%ce0, %%ct%u;", 2 + row);
    lift_put_plain(w, "mov.f64 %%cv1, %u.0;", lift_product_depth(w->ins) / 2 + steps);
    lift_put_plain(w, "mul.rn.f64 %%ct0, %%ct0, 0d3E70000000000000;"); /* units of f32 */
    lift_put_plain(w, "fma.rn.f64 %s, %%ct0, %%cv1, %%ct1;", e);
    lift_put_plain(w, "add.rn.f64 %s, %%cv0, %%cd%u;", v, row);
}

/* Column `column` of 8 j and 8 j + 1 (then the lane's own part): sums to %cd0 and %cd1, their
 * errors to %ct2 and %ct3, sizes to %ct4 and %ct5. */
static void put_column(struct lift_writer *w, const char *function, const char *wide,
                       unsigned column)
{
    lift_put_plain(w, "{");
    lift_put_plain(w, ".param .b64 cuvet_p, cuvet_w;");
    lift_put_plain(w, ".param .b32 cuvet_n;");
    lift_put_plain(w, ".param .align 8 .b8 cuvet_result[48];");
    lift_put_plain(w, "st.param.b64 [cuvet_p], %%cproduct;");
    lift_put_plain(w, "mov.b64 %%ca0, %s;", wide);
    lift_put_plain(w, "st.param.b64 [cuvet_w], %%ca0;");
    lift_put_plain(w, "st.param.b32 [cuvet_n], %u;", column);
    lift_put_plain(w, "call (cuvet_result), cuvet_lift_%s, (cuvet_p, cuvet_w, cuvet_n);", function);
    for (unsigned i = 0; i < 2; i++) {
        lift_put_plain(w, "ld.param.f64 %%cd%u, [cuvet_result+%u];", i, 8 * i);
        lift_put_plain(w, "ld.param.f64 %%ct%u, [cuvet_result+%u];", 2 + i, 16 + 8 * i);
        lift_put_plain(w, "ld.param.f64 %%ct%u, [cuvet_result+%u];", 4 + i, 32 + 8 * i);
    }
    lift_put_plain(w, "}");
}

/* What is lost of a sum depends on what it is added to. */
static void put_befores(struct lift_writer *w, unsigned n, enum lift_kind kind)
{
    for (unsigned row = 0; row < 2 && adds_up(w); row++) {
        put_before(w, n + 2 * row, kind);
        lift_put_plain(w, "st.local.v2.f64 [cuvet_product+%zu], {%%cv0, %%ce0};",
                       PRODUCT(before) + row * sizeof(struct lift_number));
    }
}

static unsigned product_columns(const struct ptx_instruction *ins)
{
    return shape(ins, 'n');
}

/* Of a sum in place, what it had before is read once: each is written where it is read. */
void lift_write_product(struct lift_writer *w)
{
    enum lift_kind kind = lift_product_kind(w->ins, 0);
    bool wgmma = lift_is_wgmma(w->ins), small = of_8_bits(w->ins);
    char wide[24] = "0", sum[16];
    if (lift_is_exact_product(w->ins)) {
        lift_put_instruction(w);
        return;
    }
    snprintf(sum, sizeof sum, "sum%s%s", small ? "8" : "", wgmma ? "_there" : "");
    put_product_head(w);
    put_product_rows(w);
    if (wgmma)
        snprintf(wide, sizeof wide, "%%r%u", w->ins->operands[2].reg);
    else if (small)
        put_words(w, 2, "columns8");
    else
        put_fragment(w, 2, "columns");
    for (unsigned n = 0; n < product_columns(w->ins) / 2; n += n % 2 ? 3 : 1) {
        put_befores(w, n, kind);
        put_column(w, sum, wide, n / 4 * 8 + n % 2);
        put_sum(w, n, 0, kind);
        put_sum(w, n + 2, 1, kind);
    }
    lift_put_plain(w, "bar.warp.sync -1;");
    lift_put_instruction(w);
}
