/* lift_memory.c - accesses: global ones go to the snapshot, those of shared memory and of other
 * lanes take shadows along, and stores compare. */
#include <stdio.h>
#include <string.h>
#include "lift/lift_abi.h"
#include "lift/lift_parts.h"

static const struct ptx_operand *item(const struct ptx_operand *o, unsigned i)
{
    return o->kind == PTX_VECTOR ? &o->items[i] : o;
}

static unsigned items(const struct ptx_operand *o)
{
    return o->kind == PTX_VECTOR ? o->count : 1;
}

/* ---- shuffles ---- */

static void put_shuffle(struct lift_writer *w, const char *value)
{
    const struct ptx_operand *o = w->ins->operands;
    struct textbuf rest;
    char text[160];
    textbuf_init_fixed(&rest, text, sizeof text);
    for (unsigned i = 2; i < w->ins->operand_count; i++) {
        textbuf_printf(&rest, ", ");
        lift_put_operand(&rest, w->lift, &o[i]);
    }
    lift_put(w, "mov.b64 {%%ci0, %%ci1}, %s;", value);
    lift_put(w, "%s %%ci0, %%ci0%s;", w->ins->text, text);
    lift_put(w, "%s %%ci1, %%ci1%s;", w->ins->text, text);
    lift_put(w, "mov.b64 %s, {%%ci0, %%ci1};", value);
    w->out->failed |= rest.failed;
}

void lift_write_shuffle(struct lift_writer *w)
{
    const struct ptx_operand *to = &w->ins->operands[0];
    const struct ptx_operand *reg = to->kind == PTX_PAIR ? &to->items[0] : to;
    char v[24], e[24], values[2][8] = {"%cd0", "%cd1"}, bounds[2][8] = {"%ct6", "%ct7"};
    bool shadow = reg->kind == PTX_REGISTER && w->lift->reg[reg->reg].shadow;
    enum lift_kind kind = shadow ? w->lift->reg[reg->reg].kind : KIND_NONE;
    for (unsigned lane = 0; shadow && lane < lift_lanes(kind); lane++) {
        lift_put_source(w, &w->ins->operands[1], kind, lane, 0);
        lift_put(w, "mov.f64 %s, %%cv0;", values[lane]);
        lift_put(w, "mov.f64 %s, %%ce0;", bounds[lane]);
        put_shuffle(w, values[lane]);
        put_shuffle(w, bounds[lane]);
    }
    lift_put_instruction(w);
    for (unsigned lane = 0; shadow && lane < lift_lanes(kind); lane++) {
        lift_shadow_name(v, 'v', reg->reg, lane);
        lift_shadow_name(e, 'e', reg->reg, lane);
        lift_put(w, "mov.f64 %s, %s;", v, values[lane]);
        lift_put(w, "mov.f64 %s, %s;", e, bounds[lane]);
    }
}

/* ---- shared memory ---- */

/* Whether shared memory may have shadows here. Of a store: whether it may leave some. */
static bool has_cells(const struct lift_writer *w)
{
    return w->lift->cell && !w->step->fresh;
}

/* %csa: how far from %ccells the shadow of the access's first byte lies; %cca: where. */
static void put_cell(struct lift_writer *w, const struct ptx_operand *memory)
{
    const struct ptx_operand *at = &memory->items[0];
    const struct lift *lift = w->lift;
    if (at->kind == PTX_ADDRESS_OF) {
        textbuf_printf(w->out, "\tmov.u32 %%csa, ");
        lift_put_address(w->out, lift, at, 0);
        textbuf_printf(w->out, ";\n");
    } else if (at->kind == PTX_REGISTER &&
               ptx_type_bits(lift->kernel->registers[at->reg].type) == 64)
        lift_put_plain(w, "cvt.u32.u64 %%csa, %%r%u;", at->reg);
    else if (at->kind == PTX_REGISTER)
        lift_put_plain(w, "mov.b32 %%csa, %%r%u;", at->reg);
    else
        lift_put_plain(w, "mov.u32 %%csa, %lld;", (long long)at->bits);
    lift_put_plain(w, "mov.u32 %%ci2, %s;", lift->shared->name);
    lift_put_plain(w, "sub.s32 %%csa, %%csa, %%ci2;");
    lift_put_plain(w, "add.s32 %%csa, %%csa, %lld;", (long long)memory->offset);
    lift_put_plain(w, "and.b32 %%csa, %%csa, %d;", -(int)lift->cell);
    lift_put_plain(w, "mul.lo.s32 %%csa, %%csa, %u;", 16 / lift->cell);
    lift_put_plain(w, "cvt.u64.u32 %%cca, %%csa;");
    lift_put_plain(w, "add.s64 %%cca, %%cca, %%ccells;");
}

static unsigned access_bytes(const struct ptx_instruction *ins)
{
    return ptx_type_bits(ins->types[0]) / 8;
}

/* No shadow lies there any more. */
static void put_forgotten(struct lift_writer *w, unsigned offset, unsigned bytes)
{
    lift_put(w, "mov.f64 %%ct0, 0dBFF0000000000000;");
    for (unsigned at = 0; at < bytes; at += w->lift->cell)
        lift_put(w, "st.f64 [%%cca+%u], %%ct0;", (offset + at) / w->lift->cell * 16 + 8);
}

static bool has_ends(const struct lift_writer *w, const struct ptx_operand *one)
{
    return one->kind == PTX_REGISTER && lift_keeps_ends(w->lift, one->reg);
}

static bool stores_shadow(const struct lift_writer *w)
{
    const struct ptx_operand *value = &w->ins->operands[1];
    bool any = false;
    for (unsigned i = 0; i < items(value); i++) {
        const struct ptx_operand *one = item(value, i);
        any |= one->kind == PTX_REGISTER && (w->lift->reg[one->reg].shadow || has_ends(w, one));
    }
    return any && w->lift->cell;
}

static void write_shared_store(struct lift_writer *w)
{
    const struct ptx_operand *value = &w->ins->operands[1];
    unsigned bytes = access_bytes(w->ins);
    lift_put_instruction(w);
    if (!has_cells(w) && !stores_shadow(w))
        return;
    put_cell(w, &w->ins->operands[0]);
    for (unsigned i = 0; i < items(value); i++) {
        const struct ptx_operand *one = item(value, i);
        bool shadow = one->kind == PTX_REGISTER && w->lift->reg[one->reg].shadow;
        enum lift_kind kind = shadow ? w->lift->reg[one->reg].kind : KIND_NONE;
        if (has_ends(w, one)) {
            lift_put_ends_out(w, one->reg, 0, bytes, i * bytes / w->lift->cell * 16);
            continue;
        }
        if (!shadow || lift_kind_bytes(lift_lane_kind(kind)) * lift_lanes(kind) != bytes) {
            put_forgotten(w, i * bytes, bytes);
            continue;
        }
        for (unsigned lane = 0; lane < lift_lanes(kind); lane++) {
            unsigned at = i * bytes + lane * 2;
            lift_put_source(w, one, kind, lane, 0);
            lift_put(w, "st.v2.f64 [%%cca+%u], {%%cv0, %%ce0};", at / w->lift->cell * 16);
        }
    }
}

/* The shadow, where one lies there; else the number as it was loaded. */
static void put_shared_lane(struct lift_writer *w, unsigned reg, unsigned lane, unsigned at)
{
    char v[24], e[24];
    lift_shadow_name(v, 'v', reg, lane);
    lift_shadow_name(e, 'e', reg, lane);
    lift_put(w, "ld.v2.f64 {%%ct0, %%ct1}, [%%cca+%u];", at / w->lift->cell * 16);
    lift_put_plain(w, "setp.ge.f64 %%cq0, %%ct1, 0d0000000000000000;");
    lift_put(w, "selp.f64 %s, %%ct0, %s, %%cq0;", v, v);
    lift_put(w, "selp.f64 %s, %%ct1, %s, %%cq0;", e, e);
}

static void write_shared_load(struct lift_writer *w)
{
    const struct ptx_operand *value = &w->ins->operands[0];
    unsigned bytes = access_bytes(w->ins);
    if (has_cells(w)) /* before the address is overwritten */
        put_cell(w, &w->ins->operands[1]);
    lift_put_instruction(w);
    lift_put_exact_ends(w);
    for (unsigned i = 0; i < items(value); i++) {
        const struct ptx_operand *one = item(value, i);
        if (has_ends(w, one) && has_cells(w))
            lift_put_ends_in(w, one->reg, 0, bytes, i * bytes / w->lift->cell * 16);
        if (one->kind != PTX_REGISTER || !w->lift->reg[one->reg].shadow)
            continue;
        enum lift_kind kind = w->lift->reg[one->reg].kind;
        lift_put_exact(w, one->reg);
        bool whole = lift_kind_bytes(lift_lane_kind(kind)) * lift_lanes(kind) == bytes;
        for (unsigned lane = 0; whole && has_cells(w) && lane < lift_lanes(kind); lane++)
            put_shared_lane(w, one->reg, lane, i * bytes + lane * 2);
    }
}

/* ---- ldmatrix, stmatrix ---- */

/*
 * A warp moves matrices of 8 rows of 8 elements of 16 bits. Lane 8 m + r has the address of row r
 * of matrix m; register m of lane l holds elements 2 (l % 4) and the next of row l / 4, or, with
 * .trans, of column l / 4. %csa becomes the shadow's place of one element.
 */
static void put_matrix_element(struct lift_writer *w, unsigned matrix, unsigned which)
{
    bool across = ptx_has_modifier(w->ins, "trans");
    lift_put_plain(w, "mov.u32 %%ci4, %%laneid;");
    lift_put_plain(w, "shr.u32 %%ci5, %%ci4, 2;");
    lift_put_plain(w, "and.b32 %%ci6, %%ci4, 3;");
    lift_put_plain(w, "shl.b32 %%ci6, %%ci6, 1;");
    lift_put_plain(w, "add.u32 %%ci6, %%ci6, %u;", which);
    lift_put_plain(w, "add.u32 %%ci7, %%ci%d, %u;", across ? 6 : 5, 8 * matrix);
    lift_put(w, "shfl.sync.idx.b32 %%ci3, %%csa, %%ci7, 31, -1;");
    lift_put_plain(w, "shl.b32 %%ci7, %%ci%d, %d;", across ? 5 : 6, w->lift->cell == 1 ? 5 : 4);
    lift_put_plain(w, "add.u32 %%ci3, %%ci3, %%ci7;");
    lift_put_plain(w, "cvt.u64.u32 %%cca, %%ci3;");
    lift_put_plain(w, "add.s64 %%cca, %%cca, %%ccells;");
}

static void put_matrix_lane(struct lift_writer *w, const struct ptx_operand *one, unsigned matrix,
                            unsigned lane, bool store)
{
    bool shadow = one->kind == PTX_REGISTER && w->lift->reg[one->reg].shadow;
    enum lift_kind kind = shadow ? w->lift->reg[one->reg].kind : KIND_NONE;
    char v[24], e[24];
    if (kind == KIND_F32 && lane)
        return; /* two elements are a number, whose shadow lies at the first */
    put_matrix_element(w, matrix, lane);
    if (has_ends(w, one) && store) {
        lift_put_ends_out(w, one->reg, 16 * lane, 2, 0);
    } else if (has_ends(w, one)) {
        lift_put_ends_in(w, one->reg, 16 * lane, 2, 0);
    } else if (store && !shadow) {
        put_forgotten(w, 0, 2);
    } else if (store) {
        lift_put_source(w, one, kind, lane, 0);
        lift_put(w, "st.v2.f64 [%%cca], {%%cv0, %%ce0};");
    } else if (shadow) {
        lift_shadow_name(v, 'v', one->reg, lane);
        lift_shadow_name(e, 'e', one->reg, lane);
        lift_put(w, "ld.v2.f64 {%%ct0, %%ct1}, [%%cca];");
        lift_put_plain(w, "setp.ge.f64 %%cq0, %%ct1, 0d0000000000000000;");
        lift_put(w, "selp.f64 %s, %%ct0, %s, %%cq0;", v, v);
        lift_put(w, "selp.f64 %s, %%ct1, %s, %%cq0;", e, e);
    }
}

static bool is_matrix(const struct lift_writer *w)
{
    return w->ins->opcode[2] == 'm';
}

static void write_matrix(struct lift_writer *w, bool store)
{
    const struct ptx_operand *value = &w->ins->operands[store ? 1 : 0];
    bool cells = has_cells(w) || (store && stores_shadow(w));
    if (cells)
        put_cell(w, &w->ins->operands[store ? 0 : 1]);
    lift_put_instruction(w);
    if (!store)
        lift_put_exact_ends(w);
    for (unsigned i = 0; i < items(value); i++) {
        const struct ptx_operand *one = item(value, i);
        if (!store && one->kind == PTX_REGISTER && w->lift->reg[one->reg].shadow)
            lift_put_exact(w, one->reg);
        for (unsigned lane = 0; cells && lane < 2; lane++)
            put_matrix_lane(w, one, i, lane, store);
    }
}

/* ---- global memory ---- */

/* A register of the array, or of the row of it that the access reaches. */
static const char *array_name(const struct lift_writer *w, const char *field, char out[24])
{
    if (w->step->row)
        snprintf(out, 24, "%%cr%s%d", field, w->step->row - 1);
    else
        snprintf(out, 24, "%%c%s%d", field, w->step->array);
    return out;
}

/* %ca1: the offset of an access in its array; %cq1: whether it does not lie there. */
static void put_array_offset(struct lift_writer *w, const struct ptx_operand *memory,
                             unsigned bytes)
{
    char name[24];
    lift_put_plain(w, "sub.s64 %%ca1, %%r%u, %s;", memory->items[0].reg,
                   array_name(w, "base", name));
    if (memory->offset)
        lift_put_plain(w, "add.s64 %%ca1, %%ca1, %lld;", (long long)memory->offset);
    lift_put_plain(w, "setp.gt.u64 %%cq1, %%ca1, %s;", array_name(w, "bytes", name));
    lift_put_plain(w, "sub.s64 %%ca2, %s, %%ca1;", name);
    lift_put_plain(w, "setp.lt.or.u64 %%cq1, %%ca2, %u, %%cq1;", bytes);
    lift_put_plain(w, "and.b64 %%ca2, %%ca1, %u;", bytes - 1);
    lift_put_plain(w, "setp.ne.or.s64 %%cq1, %%ca2, 0, %%cq1;");
}

/* Whether the access lies in the array: %cq3 (and its guard holds), else %cq4; %ca1 is its offset.
 */
static void put_range(struct lift_writer *w, const struct ptx_operand *memory, unsigned bytes)
{
    if (w->lift->view[w->step->array].listed)
        lift_put_row(w, memory, bytes);
    else
        put_array_offset(w, memory, bytes);
    lift_put_plain(w, "not.pred %%cq3, %%cq1;");
    lift_put_plain(w, "mov.pred %%cq4, %%cq1;");
    if (w->ins->guarded) {
        if (w->ins->guard_negated)
            lift_put_plain(w, "not.pred %%cq2, %%r%u;", w->ins->guard);
        else
            lift_put_plain(w, "mov.pred %%cq2, %%r%u;", w->ins->guard);
        lift_put_plain(w, "and.pred %%cq3, %%cq3, %%cq2;");
        lift_put_plain(w, "and.pred %%cq4, %%cq4, %%cq2;");
    }
    lift_put_plain(w, "@%%cq4 add.u32 %%crefused, %%crefused, 1;");
}

static void put_value_list(struct lift_writer *w, const struct ptx_operand *value)
{
    lift_put_operand(w->out, w->lift, value);
}

/* Where the row lies that a register names once it is loaded: its copy has the place of the index
 * among the indices, which is %ca1 in the snapshot. Where it was not copied, no access lies in it.
 * It stays where it was where the load's own guard is false. */
static void put_named_row(struct lift_writer *w, unsigned number, unsigned offset)
{
    const struct lift_row *row = &w->lift->row[number];
    const unsigned bits = ptx_type_bits(w->lift->kernel->registers[row->reg].type);
    const unsigned size = access_bytes(w->ins);
    const size_t array = offsetof(struct lift_call, array) + row->view * sizeof(struct lift_array);
    lift_put_plain(w, "sub.s64 %%ca2, %%ca1, %%cin%d;", w->step->array);
    lift_put_plain(w, "add.s64 %%ca2, %%ca2, %u;", offset);
    lift_put_plain(w, "shr.u64 %%ca2, %%ca2, %u;", (unsigned)__builtin_ctz(size));
    lift_put_plain(w, "ld.global.u64 %%ca4, [%%ccall+%zu];",
                   array + offsetof(struct lift_array, pitch));
    lift_put_plain(w, "setp.eq.s64 %%cq0, %%ca4, 0;");
    lift_put_plain(w, "mul.lo.s64 %%ca2, %%ca2, %%cbytes%u;", row->view);
    lift_put_plain(w, "@%%cq0 mov.b64 %%ca2, 0;");
    lift_put(w, "mov.b64 %%crplace%u, %%ca2;", number);
    lift_put(w, "add.s64 %%crin%u, %%cin%u, %%ca2;", number, row->view);
    lift_put(w, "add.s64 %%crgot%u, %%cgot%u, %%ca2;", number, row->view);
    if (bits == 64)
        lift_put_plain(w, "mov.b64 %%ca3, %%r%u;", row->reg);
    else
        lift_put_plain(w, "cvt.s64.s%u %%ca3, %%r%u;", bits, row->reg);
    lift_put(w, "mad.lo.s64 %%crbase%u, %%ca3, %%ca4, %%cbase%u;", number, row->view);
    lift_put_plain(w, "ld.global.u64 %%ca4, [%%ccall+%zu];",
                   array + offsetof(struct lift_array, rows));
    lift_put_plain(w, "setp.ge.u64 %%cq0, %%ca3, %%ca4;");
    lift_put_plain(w, "or.pred %%cq0, %%cq0, %%cq4;");
    lift_put_plain(w, "xor.b64 %%ca4, %%crbase%u, %%crin%u;", number, number);
    lift_put_plain(w, "and.b64 %%ca4, %%ca4, %u;", w->lift->view[row->view].row_unit - 1);
    lift_put_plain(w, "setp.ne.or.s64 %%cq0, %%ca4, 0, %%cq0;");
    lift_put(w, "selp.b64 %%crbytes%u, 0, %%cbytes%u, %%cq0;", number, row->view);
}

static void put_named_rows(struct lift_writer *w, unsigned reg, unsigned offset)
{
    for (unsigned i = 0; i < w->lift->rows; i++) {
        if (w->lift->row[i].reg == reg)
            put_named_row(w, i, offset);
    }
}

static void write_global_load(struct lift_writer *w)
{
    const struct ptx_operand *value = &w->ins->operands[0];
    unsigned bytes = access_bytes(w->ins);
    char name[24];
    put_range(w, &w->ins->operands[1], bytes * w->ins->vector);
    lift_put_plain(w, "add.s64 %%ca1, %%ca1, %s;", array_name(w, "in", name));
    textbuf_printf(w->out, "\t@%%cq3 ld.global%s.%s ",
                   w->ins->vector == 4   ? ".v4"
                   : w->ins->vector == 2 ? ".v2"
                                         : "",
                   ptx_type_name(w->ins->types[0]));
    put_value_list(w, value);
    textbuf_printf(w->out, ", [%%ca1];\n");
    for (unsigned i = 0; i < items(value); i++) {
        const struct ptx_operand *one = item(value, i);
        if (one->kind != PTX_REGISTER)
            continue;
        put_named_rows(w, one->reg, i * bytes);
        unsigned bits = ptx_type_bits(w->lift->kernel->registers[one->reg].type);
        lift_put_plain(w, "@%%cq4 mov.b%u %%r%u, 0;", bits, one->reg);
        if (w->lift->reg[one->reg].shadow)
            lift_put_exact(w, one->reg);
    }
    if (w->step->settled) /* without it nothing is known of the way */
        lift_put_plain(w, "@%%cq4 bra $Lend;");
}

/* cp.async [shared], [global], bytes, or fewer of them: the rest is zeros. */
void lift_write_async(struct lift_writer *w)
{
    const struct ptx_operand *o = w->ins->operands;
    bool some = w->ins->operand_count > 3 && o[3].kind == PTX_REGISTER;
    unsigned bytes = (unsigned)o[2].bits;
    char name[24];
    put_range(w, &o[1], bytes);
    lift_put_plain(w, "add.s64 %%ca1, %%ca1, %s;", array_name(w, "in", name));
    if (some) { /* of none it does not matter where they are */
        lift_put_plain(w, "setp.ne.and.s32 %%cq0, %%r%u, 0, %%cq4;", o[3].reg);
        lift_put_plain(w, "not.pred %%cq5, %%cq0;");
        lift_put_plain(w, "and.pred %%cq5, %%cq5, %%cq4;");
        lift_put_plain(w, "@%%cq5 sub.u32 %%crefused, %%crefused, 1;");
        lift_put_plain(w, "mov.b32 %%ci0, %%r%u;", o[3].reg);
    } else {
        lift_put_plain(w, "mov.b32 %%ci0, %u;", bytes);
    }
    lift_put_plain(w, "@%%cq1 mov.b32 %%ci0, 0;");
    lift_put_plain(w, "@%%cq1 mov.b64 %%ca1, %%cin%d;", w->step->array);
    textbuf_printf(w->out, "\t%scp.async.c%c.shared.global ", w->guard, bytes == 16 ? 'g' : 'a');
    lift_put_operand(w->out, w->lift, &o[0]);
    textbuf_printf(w->out, ", [%%ca1], %u, %%ci0;\n", bytes);
    if (!has_cells(w))
        return;
    put_cell(w, &o[0]);
    put_forgotten(w, 0, bytes);
}

/* ---- stores ---- */

struct element {
    const struct ptx_operand *value;
    unsigned got;    /* %ci<got>, or %ca<got> of 8 bytes */
    unsigned offset; /* in the access */
};

static void put_args(struct lift_writer *w, unsigned offset, unsigned bytes)
{
    char name[24];
    lift_put_plain(w, "{");
    lift_put_plain(w, ".param .b64 cuvet_s, cuvet_k, cuvet_i;");
    lift_put_plain(w, ".param .b32 cuvet_t;");
    lift_put_plain(w, "st.param.b64 [cuvet_s], %%cstate;");
    lift_put_plain(w, "st.param.b64 [cuvet_k], %%ccall;");
    lift_put_plain(w, "st.param.b32 [cuvet_t], %d;", w->step->array);
    lift_put_plain(w, "add.s64 %%ca2, %%ca1, %u;", offset);
    if (w->step->row)
        lift_put_plain(w, "add.s64 %%ca2, %%ca2, %s;", array_name(w, "place", name));
    lift_put_plain(w, "shr.u64 %%ca2, %%ca2, %u;", (unsigned)__builtin_ctz(bytes));
    lift_put_plain(w, "st.param.b64 [cuvet_i], %%ca2;");
}

/* `got` and `own` are names of 32-bit registers. */
static void put_judge(struct lift_writer *w, const struct ptx_operand *value, enum lift_kind kind,
                      unsigned lane, unsigned offset)
{
    enum lift_kind of = lift_lane_kind(kind);
    int format = of == KIND_F32 ? LIFT_F32 : of == KIND_F16 ? LIFT_F16 : LIFT_BF16;
    char guard[sizeof w->guard];
    memcpy(guard, w->guard, sizeof guard);
    w->guard[0] = '\0';
    lift_put_source(w, value, kind, lane, 0);
    put_args(w, offset, lift_kind_bytes(of));
    lift_put_plain(w, ".param .b64 cuvet_v, cuvet_e;");
    lift_put_plain(w, ".param .b32 cuvet_g, cuvet_o, cuvet_f;");
    lift_put_plain(w, "st.param.f64 [cuvet_v], %%cv0;");
    lift_put_plain(w, "st.param.f64 [cuvet_e], %%ce0;");
    lift_put_plain(w, "st.param.b32 [cuvet_g], %%ci0;");
    lift_put_plain(w, "st.param.b32 [cuvet_o], %%ci1;");
    lift_put_plain(w, "st.param.b32 [cuvet_f], %d;", format);
    lift_put_plain(w, "@%%cq3 call cuvet_lift_judge, (cuvet_s, cuvet_k, cuvet_t, cuvet_i, cuvet_v, "
                      "cuvet_e, cuvet_g, cuvet_o, cuvet_f);");
    lift_put_plain(w, "}");
    memcpy(w->guard, guard, sizeof guard);
}

/* The bits of an operand of so many bytes, in %ci1 or %ca5. */
static void put_own(struct lift_writer *w, const struct ptx_operand *value, unsigned bytes)
{
    unsigned bits = value->kind == PTX_REGISTER
                        ? ptx_type_bits(w->lift->kernel->registers[value->reg].type)
                        : 64;
    if (value->kind != PTX_REGISTER)
        lift_put_plain(w, "mov.b64 %%ca5, %lld;", (long long)value->bits);
    else if (bits == 64)
        lift_put_plain(w, "mov.b64 %%ca5, %%r%u;", value->reg);
    else
        lift_put_plain(w, "cvt.u64.u%u %%ca5, %%r%u;", bits, value->reg);
    if (bytes < 8)
        lift_put_plain(w, "and.b64 %%ca5, %%ca5, %llu;", (1ull << 8 * bytes) - 1);
    lift_put_plain(w, "cvt.u32.u64 %%ci1, %%ca5;");
}

/* What the launch wrote there, in %ca4 and %ci0. */
static void put_got(struct lift_writer *w, unsigned offset, unsigned bytes)
{
    char name[24];
    lift_put_plain(w, "add.s64 %%ca3, %%ca1, %s;", array_name(w, "got", name));
    lift_put_plain(w, "mov.b64 %%ca4, 0;");
    lift_put_plain(w, "@%%cq3 ld.global.u%u %%ca4, [%%ca3+%u];", 8 * bytes, offset);
    lift_put_plain(w, "cvt.u32.u64 %%ci0, %%ca4;");
}

static void put_same(struct lift_writer *w, unsigned offset, unsigned bytes)
{
    put_args(w, offset, bytes);
    lift_put_plain(w, ".param .b64 cuvet_g, cuvet_o;");
    lift_put_plain(w, "st.param.b64 [cuvet_g], %%ca4;");
    lift_put_plain(w, "st.param.b64 [cuvet_o], %%ca5;");
    lift_put_plain(w, "@%%cq3 call cuvet_lift_same, (cuvet_s, cuvet_k, cuvet_t, cuvet_i, cuvet_g, "
                      "cuvet_o);");
    lift_put_plain(w, "}");
}

/* Compares rounded numbers: each must lie between its ends. */
static void put_between(struct lift_writer *w, unsigned reg, unsigned offset, unsigned bytes)
{
    const bool half = ptx_type_bits(w->lift->kernel->registers[reg].type) == 16;
    const uint8_t rounded = lift_rounded_part(w->lift->reg[reg].rounded, bytes);
    const unsigned each = lift_rounded_bytes(rounded);
    for (unsigned end = 0; end < 2; end++)
        lift_put_plain(w, "%s %%ci%u, %%%c%u;", half ? "cvt.u32.u16" : "mov.b32", 2 + end,
                       end ? 'h' : 'l', reg);
    put_args(w, offset, each);
    lift_put_plain(w, ".param .b32 cuvet_g, cuvet_o, cuvet_l, cuvet_h, cuvet_f, cuvet_n;");
    lift_put_plain(w, "st.param.b32 [cuvet_g], %%ci0;");
    lift_put_plain(w, "st.param.b32 [cuvet_o], %%ci1;");
    lift_put_plain(w, "st.param.b32 [cuvet_l], %%ci2;");
    lift_put_plain(w, "st.param.b32 [cuvet_h], %%ci3;");
    lift_put_plain(w, "st.param.b32 [cuvet_f], %d;", rounded - ROUNDED_E4M3 + LIFT_E4M3);
    lift_put_plain(w, "st.param.b32 [cuvet_n], %u;", bytes / each);
    lift_put_plain(w, "@%%cq3 call cuvet_lift_between, (cuvet_s, cuvet_k, cuvet_t, cuvet_i, "
                      "cuvet_g, cuvet_o, cuvet_l, cuvet_h, cuvet_f, cuvet_n);");
    lift_put_plain(w, "}");
}

static void write_element(struct lift_writer *w, const struct ptx_operand *value, unsigned offset,
                          unsigned bytes)
{
    if (has_ends(w, value)) {
        put_got(w, offset, bytes);
        put_own(w, value, bytes);
        put_between(w, value->reg, offset, bytes);
        return;
    }
    const struct lift_register *r = value->kind == PTX_REGISTER ? &w->lift->reg[value->reg] : NULL;
    enum lift_kind kind = r && r->shadow ? r->kind : KIND_NONE;
    unsigned part = kind ? lift_kind_bytes(lift_lane_kind(kind)) : bytes;
    if (r && r->derived && (!kind || part * lift_lanes(kind) != bytes))
        return; /* such as a number that was converted to an integer: another rounding changes it */
    for (unsigned lane = 0; lane < (kind ? lift_lanes(kind) : 1); lane++) {
        unsigned at = offset + lane * part;
        put_got(w, at, part);
        put_own(w, value, bytes);
        if (lane)
            lift_put_plain(w, "shr.u32 %%ci1, %%ci1, 16;");
        if (kind && lift_lanes(kind) == 2)
            lift_put_plain(w, "and.b32 %%ci1, %%ci1, 65535;");
        if (kind)
            put_judge(w, value, kind, lane, at);
        else
            put_same(w, at, part);
    }
}

/* The number that names the store's place goes to the thread's state, see lift.cu. */
static void put_index(struct lift_writer *w)
{
    const unsigned reg = (unsigned)w->step->index;
    const unsigned bits = ptx_type_bits(w->lift->kernel->registers[reg].type);
    if (bits == 64)
        lift_put_plain(w, "mov.b64 %%ca5, %%r%u;", reg);
    else
        lift_put_plain(w, "cvt.s64.s%u %%ca5, %%r%u;", bits, reg);
    lift_put_plain(w, "st.b64 [%%cstate], %%ca5;");
}

static void write_global_store(struct lift_writer *w)
{
    const struct ptx_operand *value = &w->ins->operands[1];
    unsigned bytes = access_bytes(w->ins);
    if (w->step->index >= 0)
        put_index(w);
    put_range(w, &w->ins->operands[0], bytes * w->ins->vector);
    for (unsigned i = 0; i < items(value); i++)
        write_element(w, item(value, i), i * bytes, bytes);
}

void lift_write_load(struct lift_writer *w)
{
    if (is_matrix(w))
        write_matrix(w, false);
    else if (w->ins->space == PTX_SHARED)
        write_shared_load(w);
    else
        write_global_load(w);
}

void lift_write_store(struct lift_writer *w)
{
    if (is_matrix(w))
        write_matrix(w, true);
    else if (w->ins->space == PTX_SHARED)
        write_shared_store(w);
    else
        write_global_store(w);
}
