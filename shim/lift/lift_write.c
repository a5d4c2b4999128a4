/*
 * lift_write.c - the module that is made of a kernel: header, declarations, and each instruction
 * with what goes beside it.
 *
 * Registers are called by their numbers: %r12 is the kernel's register 12, %v12a and %e12a are the
 * value and the bound of its first lane, %v12b those of the second. What the rewriting needs for
 * itself begins with %c.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lift/lift_abi.h"
#include "lift/lift_parts.h"

#define CALL(field) offsetof(struct lift_call, field)

extern const char cuvet_lift_ptx[];
extern const unsigned long cuvet_lift_ptx_size;

/* ---- lines ---- */

static void put_line(struct lift_writer *w, const char *guard, const char *format, va_list list)
{
    char line[512];
    int length = vsnprintf(line, sizeof line, format, list);
    if (length < 0 || (size_t)length >= sizeof line)
        w->out->failed = true;
    textbuf_printf(w->out, "\t%s%s\n", guard, line);
}

void lift_put(struct lift_writer *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    put_line(w, w->guard, format, list);
    va_end(list);
}

void lift_put_plain(struct lift_writer *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    put_line(w, "", format, list);
    va_end(list);
}

void lift_shadow_name(char out[24], char part, unsigned reg, unsigned lane)
{
    snprintf(out, 24, "%%%c%u%c", part, reg, lane ? 'b' : 'a');
}

/* ---- the instruction as it was ---- */

static void put_immediate(struct textbuf *out, const struct ptx_operand *o)
{
    switch (o->immediate_type) {
    case PTX_F32:
        textbuf_printf(out, "0f%08X", (unsigned)o->bits);
        break;
    case PTX_F64:
        textbuf_printf(out, "0d%016" PRIX64, o->bits);
        break;
    case PTX_U64:
        textbuf_printf(out, "%" PRIu64, o->bits);
        break;
    default:
        textbuf_printf(out, "%" PRId64, (int64_t)o->bits);
        break;
    }
}

static void put_list(struct textbuf *out, const struct lift *lift, const struct ptx_operand *o,
                     const char *between)
{
    for (unsigned i = 0; i < o->count; i++) {
        textbuf_printf(out, "%s", i ? between : "");
        lift_put_operand(out, lift, &o->items[i]);
    }
}

/* Of a negative one ptxas takes "+-4" alone. */
static void put_offset(struct textbuf *out, int64_t offset)
{
    if (offset)
        textbuf_printf(out, "+%" PRId64, offset);
}

void lift_put_address(struct textbuf *out, const struct lift *lift, const struct ptx_operand *o,
                      int64_t more)
{
    const struct lift_part *part = lift_part_of(lift, o->variable);
    textbuf_printf(out, "%s", part ? lift->merged.name : o->variable->name);
    put_offset(out, o->offset + more + (part ? (int64_t)part->offset : 0));
}

/* The lifted kernel may have some of the launch's blocks alone. */
static void put_special(struct textbuf *out, const char *name)
{
    textbuf_printf(out, "%s",
                   strcmp(name, "%ctaid.x") == 0    ? "%cblock"
                   : strcmp(name, "%nctaid.x") == 0 ? "%cblocks"
                                                    : name);
}

void lift_put_operand(struct textbuf *out, const struct lift *lift, const struct ptx_operand *o)
{
    switch (o->kind) {
    case PTX_REGISTER:
        textbuf_printf(out, "%s%%r%u", o->negated ? "!" : "", o->reg);
        if (o->name)
            textbuf_printf(out, ".%s", o->name);
        break;
    case PTX_IMMEDIATE:
        put_immediate(out, o);
        break;
    case PTX_ADDRESS_OF:
        lift_put_address(out, lift, o, 0);
        break;
    case PTX_LABEL:
        textbuf_printf(out, "$L%u", o->target);
        break;
    case PTX_VECTOR:
        textbuf_printf(out, "{");
        put_list(out, lift, o, ", ");
        textbuf_printf(out, "}");
        break;
    case PTX_PAIR:
        put_list(out, lift, o, "|");
        break;
    case PTX_MEMORY:
        textbuf_printf(out, "[");
        if (o->count == 1 && o->items[0].kind == PTX_ADDRESS_OF) {
            lift_put_address(out, lift, &o->items[0], o->offset);
        } else {
            put_list(out, lift, o, ", ");
            put_offset(out, o->offset);
        }
        textbuf_printf(out, "]");
        break;
    case PTX_SPECIAL:
        put_special(out, o->name);
        break;
    case PTX_SINK:
        textbuf_printf(out, "_");
        break;
    default:
        textbuf_printf(out, "%s", o->name);
        break;
    }
}

void lift_put_instruction(struct lift_writer *w)
{
    textbuf_printf(w->out, "\t%s%s", w->guard, w->ins->text);
    for (unsigned i = 0; i < w->ins->operand_count; i++) {
        textbuf_printf(w->out, "%s", i ? ", " : " ");
        lift_put_operand(w->out, w->lift, &w->ins->operands[i]);
    }
    textbuf_printf(w->out, ";\n");
}

/* ---- shadows of what was written without one ---- */

/* Lane `lane` of a register of the kind, as f64 in %cv<n>. */
static void put_widened(struct lift_writer *w, unsigned reg, enum lift_kind kind, unsigned lane,
                        unsigned n)
{
    char half[24];
    snprintf(half, sizeof half, "%%r%u", reg);
    bool low = lift_kind_bytes(lift_lane_kind(kind)) == 2 &&
               ptx_type_bits(w->lift->kernel->registers[reg].type) == 32;
    if (low) {
        lift_put(w, "mov.b32 {%%ch0, %%ch1}, %%r%u;", reg);
        snprintf(half, sizeof half, "%%ch%u", lane);
    }
    switch (lift_lane_kind(kind)) {
    case KIND_F16:
        lift_put(w, "cvt.f64.f16 %%cv%u, %s;", n, half);
        break;
    case KIND_BF16:
        lift_put(w, "mov.b32 %%cw, {%%chz, %s};", half);
        lift_put(w, "cvt.f64.f32 %%cv%u, %%cw;", n);
        break;
    default:
        lift_put(w, "cvt.f64.f32 %%cv%u, %s;", n, half);
        break;
    }
}

static double of_half(unsigned bits)
{
    int exponent = (int)(bits >> 10 & 31), sign = bits >> 15 & 1;
    double fraction = bits & 1023, value;
    if (exponent == 31)
        value = bits & 1023 ? __builtin_nan("") : __builtin_inf();
    else
        value = exponent ? __builtin_ldexp(1024 + fraction, exponent - 25)
                         : __builtin_ldexp(fraction, -24);
    return sign ? -value : value;
}

static double of_bits(const struct ptx_operand *o, enum lift_kind kind, unsigned lane)
{
    union {
        uint32_t bits;
        float value;
    } single = {(uint32_t)o->bits};
    union {
        uint64_t bits;
        double value;
    } wide = {o->bits};
    if (o->immediate_type == PTX_F64)
        return wide.value;
    if (kind == KIND_F32 || o->immediate_type == PTX_F32)
        return single.value;
    unsigned half = (unsigned)(o->bits >> 16 * lane & 0xffff);
    if (lift_lane_kind(kind) == KIND_F16)
        return of_half(half);
    single.bits = half << 16;
    return single.value;
}

static void put_constant(struct lift_writer *w, double value, unsigned n)
{
    union {
        double value;
        uint64_t bits;
    } as = {value};
    lift_put(w, "mov.f64 %%cv%u, 0d%016" PRIX64 ";", n, as.bits);
}

void lift_put_source(struct lift_writer *w, const struct ptx_operand *operand, enum lift_kind kind,
                     unsigned lane, unsigned n)
{
    if (operand->kind == PTX_REGISTER && w->lift->reg[operand->reg].shadow) {
        unsigned there = w->lift->reg[operand->reg].kind == (uint8_t)kind ? lane : 0;
        char v[24], e[24];
        lift_shadow_name(v, 'v', operand->reg, there);
        lift_shadow_name(e, 'e', operand->reg, there);
        lift_put(w, "mov.f64 %%cv%u, %s;", n, v);
        lift_put(w, "mov.f64 %%ce%u, %s;", n, e);
        return;
    }
    if (operand->kind == PTX_REGISTER)
        put_widened(w, operand->reg, kind, lane, n);
    else
        put_constant(w, of_bits(operand, kind, lane), n);
    lift_put(w, "mov.f64 %%ce%u, 0d0000000000000000;", n);
}

void lift_put_exact(struct lift_writer *w, unsigned reg)
{
    enum lift_kind kind = w->lift->reg[reg].kind;
    char v[24], e[24];
    for (unsigned lane = 0; lane < lift_lanes(kind); lane++) {
        lift_shadow_name(v, 'v', reg, lane);
        lift_shadow_name(e, 'e', reg, lane);
        put_widened(w, reg, kind, lane, 0);
        lift_put(w, "mov.f64 %s, %%cv0;", v);
        lift_put(w, "mov.f64 %s, 0d0000000000000000;", e);
    }
}

/* ---- instructions that are kept ---- */

struct bits {
    struct lift_writer *w;
    bool any, derived;
};

/* The largest relative error of what an instruction takes apart, in %ct5. */
static void add_relative(void *user, unsigned reg)
{
    struct bits *bits = user;
    struct lift_writer *w = bits->w;
    const struct lift_register *r = &w->lift->reg[reg];
    char v[24], e[24];
    if (!r->shadow || lift_lanes(r->kind) == 2)
        return;
    if (!bits->any)
        lift_put(w, "mov.f64 %%ct5, 0d0000000000000000;");
    bits->any = true;
    lift_shadow_name(v, 'v', reg, 0);
    lift_shadow_name(e, 'e', reg, 0);
    lift_put(w, "abs.f64 %%ct4, %s;", v);
    lift_put(w, "div.rn.f64 %%ct4, %s, %%ct4;", e);
    lift_put(w, "max.f64 %%ct5, %%ct5, %%ct4;");
}

static void note_derived(void *user, unsigned reg)
{
    struct bits *bits = user;
    bits->derived |= bits->w->lift->reg[reg].derived;
}

/* After the instruction: assumes an error for values that were made from floating-point numbers by
 * operations without a rule. */
static void set_exact(void *user, unsigned reg)
{
    struct bits *bits = user;
    char e[24];
    if (!bits->w->lift->reg[reg].shadow)
        return;
    lift_put_exact(bits->w, reg);
    if ((!bits->any && !bits->derived) || lift_lanes(bits->w->lift->reg[reg].kind) == 2)
        return;
    lift_shadow_name(e, 'e', reg, 0);
    lift_put(bits->w, "abs.f64 %%cv0, %%cv0;");
    if (bits->any)
        lift_put(bits->w, "mul.rn.f64 %s, %%cv0, %%ct5;", e);
    else
        lift_put(bits->w, "mul.rn.f64 %s, %%cv0, 0d3ED0000000000000;", e); /* 2^-18 */
}

/* Of a number that is taken apart as bits, the parts keep its relative error. */
void lift_write_kept(struct lift_writer *w)
{
    struct bits bits = {w, false, false};
    lift_each_source(w->ins, add_relative, &bits);
    lift_each_source(w->ins, note_derived, &bits);
    lift_put_instruction(w);
    lift_each_result(w->ins, set_exact, &bits);
}

/* A thread whose accesses were refused leaves its loops. */
static void write_branch(struct lift_writer *w)
{
    if (w->step->leaves) {
        lift_put_plain(w, "setp.ne.u32 %%cq0, %%crefused, 0;");
        lift_put_plain(w, "@%%cq0 bra $Lend;");
    }
    lift_put_instruction(w);
}

static void write_step(struct lift_writer *w)
{
    const bool ended = lift_write_ends(w);
    switch ((enum lift_class)w->step->class_) {
    case CLASS_FLOAT:
        lift_write_float(w);
        break;
    case CLASS_MOVE:
        lift_write_move(w);
        break;
    case CLASS_SHUFFLE:
        lift_write_shuffle(w);
        break;
    case CLASS_LOAD:
        lift_write_load(w);
        break;
    case CLASS_STORE:
        lift_write_store(w);
        break;
    case CLASS_PRODUCT:
        lift_write_product(w);
        break;
    case CLASS_ASYNC:
        lift_write_async(w);
        break;
    case CLASS_BULK_LOAD:
    case CLASS_BULK_STORE:
        lift_write_bulk(w);
        break;
    case CLASS_MAP:
        lift_write_made(w);
        break;
    case CLASS_BRANCH:
        write_branch(w);
        break;
    case CLASS_END:
        lift_put(w, "bra $Lend;");
        break;
    case CLASS_FAIL:
        lift_put(w, "add.u32 %%crefused, %%crefused, 1;");
        lift_put(w, "bra $Lend;");
        break;
    case CLASS_DROP:
        break;
    case CLASS_OTHER:
        lift_write_kept(w);
        break;
    }
    if (!ended)
        lift_put_exact_ends(w);
}

/* ---- declarations ---- */

static void put_variable(struct textbuf *out, const struct ptx_variable *v)
{
    static const char *const spaces[] = {[PTX_GLOBAL] = ".global",
                                         [PTX_CONST] = ".const",
                                         [PTX_SHARED] = ".shared",
                                         [PTX_LOCAL] = ".local"};
    textbuf_printf(out, "%s%s .align %zu .b8 %s[", v->is_extern ? ".extern " : "", spaces[v->space],
                   v->align ? v->align : 4, v->name);
    if (!v->is_extern || v->bytes)
        textbuf_printf(out, "%zu", v->bytes);
    textbuf_printf(out, "]%s", v->data ? " = {" : "");
    for (size_t i = 0; v->data && i < v->bytes; i++)
        textbuf_printf(out, "%s%u", i ? ", " : "", v->data[i]);
    textbuf_printf(out, "%s;\n", v->data ? "}" : "");
}

static void put_param(struct textbuf *out, const struct ptx_variable *v)
{
    if (v->array || v->vector > 1)
        textbuf_printf(out, "\t.param .align %zu .b8 %s[%zu],\n", v->align, v->name, v->bytes);
    else
        textbuf_printf(out, "\t.param .%s %s,\n", ptx_type_name(v->type), v->name);
}

static void put_register(struct textbuf *out, const struct lift *lift, unsigned i)
{
    static const char *const of_bits_[] = {".b16", ".b32", ".b64"};
    enum ptx_type type = lift->kernel->registers[i].type;
    unsigned bits = ptx_type_bits(type);
    if (type == PTX_PRED)
        textbuf_printf(out, "\t.reg .pred %%r%u;\n", i);
    else
        textbuf_printf(out, "\t.reg %s %%r%u;\n",
                       bits == 128  ? ".b128"
                       : bits == 64 ? of_bits_[2]
                                    : of_bits_[bits == 32],
                       i);
    for (unsigned lane = 0; lift->reg[i].shadow && lane < lift_lanes(lift->reg[i].kind); lane++)
        textbuf_printf(out, "\t.reg .f64 %%v%u%c, %%e%u%c;\n", i, lane ? 'b' : 'a', i,
                       lane ? 'b' : 'a');
    lift_declare_ends(out, lift, i);
}

/* What the texts of the rules use. */
static const char own_registers[] = "\t.reg .f64 %cv<5>, %ce<5>, %ct<8>, %cd0, %cd1;\n"
                                    "\t.reg .f32 %cw, %cn<4>;\n"
                                    "\t.reg .b16 %ch<4>, %chz;\n"
                                    "\t.reg .b32 %crefused, %ci<8>, %csa, %cblock, %cblocks;\n"
                                    "\t.reg .b64 %ccall, %cstate, %ccells, %cca, %ca<8>;\n"
                                    "\t.reg .pred %cq<6>;\n"
                                    "\t.local .align 8 .b8 cuvet_state[64];\n";

/* Shadows of shared memory begin at %ccells; their places in shared memory behind the kernel's. */
static void put_cells(struct textbuf *out, const struct lift *lift)
{
    const struct ptx_variable *shared = lift->shared;
    size_t other = shared->is_extern ? 0 : (shared->bytes + 15) / 16 * 16;
    textbuf_printf(out,
                   "\tld.global.u64 %%ca0, [%%ccall+%zu];\n\tmov.u32 %%ci0, %s;\n"
                   "\tcvt.u32.u64 %%ci1, %%ca0;\n",
                   CALL(shared_bytes), shared->name);
    if (shared->is_extern)
        textbuf_printf(out, "\tadd.u32 %%ci0, %%ci0, %%ci1;\n");
    else
        textbuf_printf(out, "\tadd.u32 %%ci0, %%ci0, %zu;\n", other);
    textbuf_printf(out, "\tadd.u64 %%ca0, %%ca0, %zu;\n\tmul.lo.u64 %%ca0, %%ca0, %u;\n", other,
                   16 / lift->cell);
    textbuf_printf(out, "\t{\n\t.param .b64 cuvet_r, cuvet_s, cuvet_k, cuvet_n;\n"
                        "\t.param .b32 cuvet_t;\n"
                        "\tst.param.b64 [cuvet_s], %%cstate;\n"
                        "\tst.param.b64 [cuvet_k], %%ccall;\n"
                        "\tst.param.b32 [cuvet_t], %%ci0;\n"
                        "\tst.param.b64 [cuvet_n], %%ca0;\n"
                        "\tcall.uni (cuvet_r), cuvet_lift_cells, (cuvet_s, cuvet_k, cuvet_t, "
                        "cuvet_n);\n"
                        "\tld.param.b64 %%ccells, [cuvet_r];\n\t}\n");
}

static void put_lift_arrays(struct textbuf *out, const struct lift *lift)
{
    static const char *const fields[] = {"base", "in", "got", "bytes"};
    for (unsigned i = 0; i < lift->views; i++) {
        for (unsigned k = 0; k < 4; k++) {
            textbuf_printf(out, "\t.reg .b64 %%c%s%u;\n", fields[k], i);
            textbuf_printf(out, "\tld.global.u64 %%c%s%u, [%%ccall+%zu];\n", fields[k], i,
                           CALL(array) + i * sizeof(struct lift_array) + k * sizeof(uint64_t));
        }
    }
}

/* No access lies in a row before its index is loaded. */
static void put_rows(struct textbuf *out, const struct lift *lift)
{
    static const char *const fields[] = {"base", "in", "got", "bytes", "place"};
    for (unsigned i = 0; i < lift->rows; i++) {
        for (unsigned k = 0; k < sizeof fields / sizeof *fields; k++)
            textbuf_printf(out, "\t.reg .b64 %%cr%s%u;\n\tmov.b64 %%cr%s%u, 0;\n", fields[k], i,
                           fields[k], i);
    }
}

static void put_start(struct textbuf *out, const struct lift *lift)
{
    textbuf_printf(out,
                   "%s\tmov.b16 %%chz, 0;\n\tmov.b32 %%crefused, 0;\n"
                   "\tld.param.u64 %%ccall, [cuvet_call];\n"
                   "\tmov.u64 %%ca0, cuvet_state;\n\tcvta.local.u64 %%cstate, %%ca0;\n"
                   "\t{\n\t.param .b64 cuvet_a;\n\tst.param.b64 [cuvet_a], %%cstate;\n"
                   "\tcall.uni cuvet_lift_begin, (cuvet_a);\n\t}\n",
                   own_registers);
    textbuf_printf(out,
                   "\tld.global.u32 %%cblock, [%%ccall+%zu];\n\tmov.u32 %%ci0, %%ctaid.x;\n"
                   "\tadd.u32 %%cblock, %%cblock, %%ci0;\n"
                   "\tld.global.u32 %%cblocks, [%%ccall+%zu];\n",
                   CALL(first_block), CALL(blocks));
    put_lift_arrays(out, lift);
    put_rows(out, lift);
    if (lift->products)
        textbuf_printf(out,
                       "\t.local .align 16 .b8 cuvet_product[%zu];\n\t.reg .b64 %%cproduct;\n"
                       "\tmov.u64 %%ca0, cuvet_product;\n\tcvta.local.u64 %%cproduct, %%ca0;\n",
                       sizeof(struct lift_product));
    if (lift->bulk)
        textbuf_printf(out,
                       "\t.local .align 8 .b8 cuvet_bulk[%zu];\n\t.reg .b64 %%cbulk;\n"
                       "\tmov.u64 %%ca0, cuvet_bulk;\n\tcvta.local.u64 %%cbulk, %%ca0;\n",
                       sizeof(struct lift_bulk));
    if (lift->mades)
        textbuf_printf(out,
                       "\t.local .align 8 .b8 cuvet_map[%zu];\n\t.reg .b64 %%cmap;\n"
                       "\tmov.u64 %%ca0, cuvet_map;\n\tcvta.local.u64 %%cmap, %%ca0;\n",
                       lift->mades * sizeof(struct lift_map));
    if (lift->cell)
        put_cells(out, lift);
}

static void put_end(struct textbuf *out)
{
    textbuf_printf(out,
                   "$Lend:\n\t{\n\t.param .b64 cuvet_a;\n\t.param .b64 cuvet_b;\n"
                   "\t.param .b32 cuvet_c;\n\tst.param.b64 [cuvet_a], %%cstate;\n"
                   "\tst.param.b64 [cuvet_b], %%ccall;\n\tst.param.b32 [cuvet_c], %%crefused;\n"
                   "\tcall cuvet_lift_finish, (cuvet_a, cuvet_b, cuvet_c);\n\t}\n\tret;\n}\n");
}

/* The functions that the text calls need compute capability 8.0. */
static const char *target_of(const struct ptx_module *module)
{
    return strcmp(module->target, "sm_80") < 0 && strlen(module->target) <= strlen("sm_80")
               ? "sm_80"
               : module->target;
}

static void put_lift_head(struct textbuf *out, const struct lift *lift)
{
    const struct ptx_module *module = lift->module;
    const struct ptx_function *kernel = lift->kernel;
    unsigned major = module->version_major > 7 ? module->version_major : 7;
    unsigned minor = module->version_major >= 7 ? module->version_minor : 0;
    textbuf_printf(out, ".version %u.%u\n.target %s\n.address_size 64\n", major, minor,
                   target_of(module));
    textbuf_add(out, cuvet_lift_ptx, cuvet_lift_ptx_size);
    for (unsigned i = 0; i < module->variable_count; i++) {
        const struct ptx_variable *variable = &module->variables[i];
        bool used = variable->space != PTX_SHARED || lift_uses(lift, variable);
        if (used && !lift_part_of(lift, variable))
            put_variable(out, variable);
    }
    if (lift->parts)
        put_variable(out, &lift->merged);
    textbuf_printf(out, ".visible .entry " LIFT_ENTRY "(\n");
    for (unsigned i = 0; i < kernel->param_count; i++)
        put_param(out, &kernel->params[i]);
    textbuf_printf(out, "\t.param .u64 cuvet_call\n)\n");
    const unsigned *threads = kernel->reqntid[0] ? kernel->reqntid : kernel->maxntid;
    if (threads[0])
        textbuf_printf(out, ".%s %u, %u, %u\n", kernel->reqntid[0] ? "reqntid" : "maxntid",
                       threads[0], threads[1] ? threads[1] : 1, threads[2] ? threads[2] : 1);
    textbuf_printf(out, "{\n");
    for (unsigned i = 0; i < kernel->variable_count; i++) {
        if (kernel->variables[i].space != PTX_PARAM && !lift_part_of(lift, &kernel->variables[i]))
            put_variable(out, &kernel->variables[i]);
    }
    for (unsigned i = 0; i < kernel->register_count; i++)
        put_register(out, lift, i);
}

enum status lift_write(const struct lift *lift, struct textbuf *out, struct error *err)
{
    struct lift_writer w = {.lift = lift, .out = out};
    put_lift_head(out, lift);
    put_start(out, lift);
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        w.ins = &lift->kernel->instructions[i];
        w.step = &lift->step[i];
        w.guard[0] = '\0';
        if (w.ins->guarded)
            snprintf(w.guard, sizeof w.guard, "@%s%%r%u ", w.ins->guard_negated ? "!" : "",
                     w.ins->guard);
        if (w.step->target)
            textbuf_printf(out, "$L%u:\n", i);
        write_step(&w);
    }
    put_end(out);
    return out->failed ? error_set(err, STATUS_NO_MEMORY, "no memory for a lifted kernel")
                       : STATUS_OK;
}
