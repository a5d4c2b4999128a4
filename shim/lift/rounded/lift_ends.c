/*
 * lift_ends.c - what is written beside instructions on rounded numbers: the same for both ends.
 *
 * A number that is within a bound of a value rounds to one of the numbers from one end on to the
 * other, since rounding keeps the order. %l12 and %h12 have these ends where %r12 has the number.
 */
#include <stdio.h>
#include <string.h>
#include "lift/lift_abi.h"
#include "lift/lift_parts.h"

static unsigned register_bits(const struct lift_writer *w, unsigned reg)
{
    return ptx_type_bits(w->lift->kernel->registers[reg].type);
}

void lift_declare_ends(struct textbuf *out, const struct lift *lift, unsigned reg)
{
    if (lift_has_ends(lift, reg))
        textbuf_printf(out, "\t.reg .b%u %%l%u, %%h%u;\n",
                       ptx_type_bits(lift->kernel->registers[reg].type), reg, reg);
}

/* ---- rounding ---- */

/* What a number within the bound of %cv0 may be at least and at most, in %cn<n> and %cn<n+2>. */
static void put_interval(struct lift_writer *w, unsigned n)
{
    lift_put(w, "mul.rn.f64 %%ce0, %%ce0, 0d3FF0000100000000;"); /* 1 + 2^-20 */
    lift_put(w, "sub.rn.f64 %%ct0, %%cv0, %%ce0;");
    lift_put(w, "add.rn.f64 %%ct1, %%cv0, %%ce0;");
    lift_put(w, "max.f64 %%ct0, %%ct0, 0dFFF0000000000000;"); /* infinity without a bound */
    lift_put(w, "min.f64 %%ct1, %%ct1, 0d7FF0000000000000;");
    lift_put_plain(w, "setp.nan.f64 %%cq0, %%cv0, %%cv0;");
    lift_put(w, "selp.f64 %%ct0, %%cv0, %%ct0, %%cq0;");
    lift_put(w, "selp.f64 %%ct1, %%cv0, %%ct1, %%cq0;");
    lift_put(w, "cvt.rm.f32.f64 %%cn%u, %%ct0;", n);
    lift_put(w, "cvt.rp.f32.f64 %%cn%u, %%ct1;", n + 2);
}

/* cvt.rn.satfinite.e4m3x2.f32 d, high, low, or of a pair. */
static void write_rounding(struct lift_writer *w)
{
    const struct ptx_instruction *ins = w->ins;
    const bool two = ins->operand_count == 3;
    for (unsigned lane = 0; lane < 2; lane++) {
        lift_put_source(w, &ins->operands[two && !lane ? 2 : 1], lift_operand_kind(ins, 1),
                        two ? 0 : lane, 0);
        put_interval(w, lane);
    }
    for (unsigned end = 0; end < 2; end++)
        lift_put(w, "cvt.rn.satfinite%s.%s.f32 %%%c%u, %%cn%u, %%cn%u;",
                 ptx_has_modifier(ins, "relu") ? ".relu" : "", ptx_type_name(ins->types[0]),
                 end ? 'h' : 'l', ins->operands[0].reg, 2 * end + 1, 2 * end);
}

/* cvt.rni.f32.f32 and cvt.rzi.s16.f32, of a number without ends. */
static void write_whole(struct lift_writer *w)
{
    const struct ptx_operand *o = w->ins->operands;
    lift_put_source(w, &o[1], KIND_F32, 0, 0);
    put_interval(w, 0);
    for (unsigned end = 0; end < 2; end++)
        lift_put(w, "%s %%%c%u, %%cn%u;", w->ins->text, end ? 'h' : 'l', o[0].reg, 2 * end);
}

/* ---- moving ---- */

/* An operand as it is at one end; a register without ends is the same at both. */
static void put_end_operand(struct lift_writer *w, const struct ptx_operand *o, char end,
                            bool result)
{
    if (o->kind == PTX_PAIR) {
        put_end_operand(w, &o->items[0], end, result);
    } else if (o->kind == PTX_VECTOR) {
        for (unsigned i = 0; i < o->count; i++) {
            textbuf_printf(w->out, "%s", i ? ", " : "{");
            put_end_operand(w, &o->items[i], end, result);
        }
        textbuf_printf(w->out, "}");
    } else if (o->kind == PTX_REGISTER && lift_has_ends(w->lift, o->reg)) {
        textbuf_printf(w->out, "%%%c%u", end, o->reg);
    } else if (result && o->kind == PTX_REGISTER) {
        textbuf_printf(w->out, register_bits(w, o->reg) == 16 ? "%%ch3" : "%%ci7");
    } else {
        lift_put_operand(w->out, w->lift, o);
    }
}

static void write_moving(struct lift_writer *w)
{
    const bool difference = strcmp(w->ins->opcode, "sub") == 0;
    for (unsigned end = 0; end < 2; end++) {
        textbuf_printf(w->out, "\t%s%s", w->guard, w->ins->text);
        for (unsigned i = 0; i < w->ins->operand_count; i++) {
            const bool other = difference && i == 2;
            textbuf_printf(w->out, "%s", i ? ", " : " ");
            put_end_operand(w, &w->ins->operands[i], (end != 0) != other ? 'h' : 'l', i == 0);
        }
        textbuf_printf(w->out, ";\n");
    }
}

static void note_ends(void *user, unsigned reg)
{
    struct lift_writer *w = user;
    if (lift_has_ends(w->lift, reg))
        w->ends = w->lift->reg[reg].rounded;
}

bool lift_write_ends(struct lift_writer *w)
{
    const unsigned at = (unsigned)(w->ins - w->lift->kernel->instructions);
    const uint8_t to = lift_rounds_to(w->ins);
    w->ends = ROUNDED_NONE;
    lift_each_result(w->ins, note_ends, w);
    if (!w->ends)
        return true;
    w->ends = ROUNDED_NONE;
    lift_each_source(w->ins, note_ends, w);
    if (to == ROUNDED_E4M3 || to == ROUNDED_E5M2)
        write_rounding(w);
    else if (to && !w->ends)
        write_whole(w);
    else if (lift_moves_ends(w->lift, at, w->ends))
        write_moving(w);
    else
        return w->step->class_ == CLASS_LOAD && w->ins->space == PTX_SHARED;
    return true;
}

static void put_exact(void *user, unsigned reg)
{
    struct lift_writer *w = user;
    for (unsigned end = 0; end < 2 && lift_has_ends(w->lift, reg); end++)
        lift_put(w, "mov.b%u %%%c%u, %%r%u;", register_bits(w, reg), end ? 'h' : 'l', reg, reg);
}

void lift_put_exact_ends(struct lift_writer *w)
{
    lift_each_result(w->ins, put_exact, w);
}

/* ---- shared memory ---- */

/* A bound of LIFT_ENDS, -2: the shadow has both ends of its bytes in the place of a value. */
#define MARK "0dC000000000000000"

/* The words of both ends, in %ci4 and %ci5. */
static void put_end_words(struct lift_writer *w, unsigned reg)
{
    for (unsigned end = 0; end < 2; end++)
        lift_put(w, "%s %%ci%u, %%%c%u;", register_bits(w, reg) == 16 ? "cvt.u32.u16" : "mov.b32",
                 4 + end, end ? 'h' : 'l', reg);
}

void lift_put_ends_out(struct lift_writer *w, unsigned reg, unsigned bit, unsigned bytes,
                       unsigned at)
{
    const unsigned cell = w->lift->cell;
    put_end_words(w, reg);
    lift_put(w, "mov.f64 %%ct0, " MARK ";");
    for (unsigned i = 0; i < bytes; i += cell) {
        lift_put(w, "bfe.u32 %%ci0, %%ci4, %u, %u;", bit + 8 * i, 8 * cell);
        lift_put(w, "bfe.u32 %%ci1, %%ci5, %u, %u;", bit + 8 * i, 8 * cell);
        lift_put(w, "mov.b64 %%ca0, {%%ci0, %%ci1};");
        lift_put(w, "st.b64 [%%cca+%u], %%ca0;", at + i / cell * 16);
        lift_put(w, "st.f64 [%%cca+%u], %%ct0;", at + i / cell * 16 + 8);
    }
}

/* Of bytes that are those of another number nothing is known. */
static void put_unknown(struct lift_writer *w, unsigned reg, unsigned bit)
{
    const uint8_t rounded = w->lift->reg[reg].rounded;
    const uint32_t low = rounded == ROUNDED_E4M3   ? 0xfefefefe
                         : rounded == ROUNDED_E5M2 ? 0xfbfbfbfb
                                                   : 0;
    lift_put_plain(w, "setp.ge.f64 %%cq0, %%ct1, 0d0000000000000000;");
    for (unsigned end = 0; end < 2; end++) {
        lift_put_plain(w, "mov.b32 %%ci0, 0x%08x;", !end ? low : low ? low & 0x7f7f7f7f : ~0u);
        lift_put_plain(w, "@%%cq0 bfi.b32 %%ci%u, %%ci0, %%ci%u, %u, %u;", 4 + end, 4 + end, bit,
                       8 * w->lift->cell);
    }
}

void lift_put_ends_in(struct lift_writer *w, unsigned reg, unsigned bit, unsigned bytes,
                      unsigned at)
{
    const unsigned cell = w->lift->cell;
    put_end_words(w, reg);
    for (unsigned i = 0; i < bytes; i += cell) {
        lift_put(w, "ld.v2.f64 {%%ct0, %%ct1}, [%%cca+%u];", at + i / cell * 16);
        lift_put_plain(w, "mov.b64 {%%ci0, %%ci1}, %%ct0;");
        lift_put_plain(w, "setp.eq.f64 %%cq0, %%ct1, " MARK ";");
        for (unsigned end = 0; end < 2; end++)
            lift_put_plain(w, "@%%cq0 bfi.b32 %%ci%u, %%ci%u, %%ci%u, %u, %u;", 4 + end, end,
                           4 + end, bit + 8 * i, 8 * cell);
        put_unknown(w, reg, bit + 8 * i);
    }
    for (unsigned end = 0; end < 2; end++)
        lift_put(w, "%s %%%c%u, %%ci%u;", register_bits(w, reg) == 16 ? "cvt.u16.u32" : "mov.b32",
                 end ? 'h' : 'l', reg, 4 + end);
}
