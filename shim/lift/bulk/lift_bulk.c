/*
 * lift_bulk.c - bulk copies of boxes of tensors: which are lifted, and what is written for one.
 *
 * The threads of a warp make the copy themselves, between the snapshot and shared memory, and then
 * complete it at its barrier. It is over when its instruction is, so the kernel has nothing to
 * wait for.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "lift/lift_abi.h"
#include "lift/lift_parts.h"

#define BULK(field) offsetof(struct lift_bulk, field)

bool lift_is_bulk(enum lift_class class_)
{
    return class_ == CLASS_BULK_LOAD || class_ == CLASS_BULK_STORE;
}

/* ---- which are lifted ---- */

static unsigned bulk_dims(const struct ptx_instruction *ins)
{
    static const char *const names[] = {"1d", "2d", "3d", "4d", "5d"};
    for (unsigned i = 0; i < LIFT_MAP_DIMS; i++) {
        if (ptx_has_modifier(ins, names[i]))
            return i + 1;
    }
    return 0;
}

static bool is_memory(const struct ptx_operand *o, unsigned items)
{
    return o->kind == PTX_MEMORY && o->count == items;
}

/* [map, {corner}], and the box in shared memory. */
static bool known_operands(const struct ptx_instruction *ins, bool store)
{
    const struct ptx_operand *o = ins->operands;
    if (ins->operand_count < (store ? 2u : 3u) || !is_memory(&o[store], 1) ||
        !is_memory(&o[!store], 2) || (!store && !is_memory(&o[2], 1)))
        return false;
    const struct ptx_operand *map = &o[!store].items[0], *corner = &o[!store].items[1];
    return map->kind == PTX_REGISTER && corner->kind == PTX_VECTOR &&
           corner->count == bulk_dims(ins) && !o[!store].offset;
}

/* A box goes to other blocks as well, or is gathered, or is no tensor's. */
static bool is_special(const struct ptx_instruction *ins)
{
    static const char *const words[] = {
        "multicast::cluster", "im2col",         "im2col_no_offs", "im2col::w",    "im2col::w::128",
        "tile::gather4",      "tile::scatter4", "cta_group::1",   "cta_group::2", "reduce"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (ptx_has_modifier(ins, words[i]))
            return true;
    }
    return !ptx_has_modifier(ins, "tensor") || !bulk_dims(ins);
}

enum lift_refusal lift_classify_bulk(const struct ptx_instruction *ins, uint8_t *class_)
{
    static const char *const drops[] = {"commit_group", "wait_group", "prefetch"};
    for (unsigned i = 0; i < sizeof drops / sizeof *drops; i++) {
        if (ptx_has_modifier(ins, drops[i])) {
            *class_ = CLASS_DROP;
            return LIFT_OK;
        }
    }
    bool load = ins->space == PTX_SHARED && ptx_has_modifier(ins, "global") &&
                ptx_has_modifier(ins, "mbarrier::complete_tx::bytes");
    bool store = ins->space == PTX_GLOBAL && ptx_has_modifier(ins, "bulk_group");
    *class_ = load ? CLASS_BULK_LOAD : CLASS_BULK_STORE;
    return (load || store) && !is_special(ins) && known_operands(ins, store) ? LIFT_OK : LIFT_BULK;
}

const struct ptx_operand *lift_bulk_box(const struct ptx_instruction *ins)
{
    return &ins->operands[ins->space == PTX_SHARED ? 1 : 0];
}

/* The address of a whole parameter, through copies alone. */
int lift_map_param(const struct lift *lift, const struct ptx_instruction *ins, unsigned *dims)
{
    const struct ptx_operand *o = &lift_bulk_box(ins)->items[0];
    *dims = bulk_dims(ins);
    for (unsigned deep = 0; o->kind == PTX_REGISTER && deep < 8; deep++) {
        int def = lift->reg[o->reg].def;
        const struct ptx_instruction *from = def < 0 ? NULL : &lift->kernel->instructions[def];
        bool copies =
            from && (strcmp(from->opcode, "mov") == 0 || strcmp(from->opcode, "cvta") == 0 ||
                     (strcmp(from->opcode, "cvt") == 0 && from->types[0] == PTX_U64));
        if (!copies || from->guarded)
            return -1;
        o = &from->operands[1];
    }
    bool whole = o->kind == PTX_ADDRESS_OF && o->variable->space == PTX_PARAM && !o->offset &&
                 o->variable->bytes == sizeof(struct lift_map);
    return whole ? (int)o->variable->index : -1;
}

/* ---- writing ---- */

static void put_word(struct lift_writer *w, size_t field, unsigned value)
{
    lift_put_plain(w, "mov.b32 %%ci0, %u;", value);
    lift_put_plain(w, "st.local.b32 [cuvet_bulk+%zu], %%ci0;", field);
}

static void put_long(struct lift_writer *w, size_t field, const char *value)
{
    lift_put_plain(w, "mov.b64 %%ca0, %s;", value);
    lift_put_plain(w, "st.local.b64 [cuvet_bulk+%zu], %%ca0;", field);
}

/* The bits of an operand, which %ci0 gets. */
static void put_operand_word(struct lift_writer *w, size_t field, const struct ptx_operand *o)
{
    textbuf_printf(w->out, "\tmov.b32 %%ci0, ");
    lift_put_operand(w->out, w->lift, o);
    textbuf_printf(w->out, ";\n");
    lift_put_plain(w, "st.local.b32 [cuvet_bulk+%zu], %%ci0;", field);
}

/* An address in shared memory, of 32 bits or 64. */
static void put_place(struct lift_writer *w, const struct ptx_operand *memory)
{
    const struct ptx_operand *at = &memory->items[0];
    bool wide =
        at->kind == PTX_REGISTER && ptx_type_bits(w->lift->kernel->registers[at->reg].type) == 64;
    if (wide)
        lift_put_plain(w, "cvt.u32.u64 %%ci0, %%r%u;", at->reg);
    else if (at->kind == PTX_REGISTER)
        lift_put_plain(w, "mov.b32 %%ci0, %%r%u;", at->reg);
    else {
        textbuf_printf(w->out, "\tmov.u32 %%ci0, ");
        lift_put_operand(w->out, w->lift, at);
        textbuf_printf(w->out, ";\n");
    }
    lift_put_plain(w, "add.s32 %%ci0, %%ci0, %lld;", (long long)memory->offset);
    lift_put_plain(w, "st.local.b32 [cuvet_bulk+%zu], %%ci0;", BULK(at));
}

static void put_mine(struct lift_writer *w)
{
    const struct ptx_instruction *ins = w->ins;
    if (!ins->guarded)
        lift_put_plain(w, "mov.b32 %%ci0, 1;");
    else if (ins->guard_negated)
        lift_put_plain(w, "selp.b32 %%ci0, 0, 1, %%r%u;", ins->guard);
    else
        lift_put_plain(w, "selp.b32 %%ci0, 1, 0, %%r%u;", ins->guard);
    lift_put_plain(w, "st.local.b32 [cuvet_bulk+%zu], %%ci0;", BULK(mine));
}

/* What elements are in shared memory: numbers with shadows, or bits. */
static void put_elements(struct lift_writer *w)
{
    static const struct {
        unsigned format, bytes;
    } elements[DTYPE_COUNT] = {[DTYPE_F32] = {LIFT_F32, 4},     [DTYPE_F16] = {LIFT_F16, 2},
                               [DTYPE_BF16] = {LIFT_BF16, 2},   [DTYPE_F8E4M3] = {LIFT_E4M3, 1},
                               [DTYPE_F8E5M2] = {LIFT_E5M2, 1}, [DTYPE_I8] = {LIFT_I8, 1},
                               [DTYPE_U8] = {LIFT_U8, 1}};
    const enum dtype dtype = w->lift->view[w->step->array].dtype;
    put_word(w, BULK(format), elements[dtype].format);
    put_word(w, BULK(bytes), elements[dtype].bytes ? elements[dtype].bytes : 1);
    put_word(w, BULK(judged), !w->lift->bare);
}

static void put_bulk(struct lift_writer *w)
{
    const struct ptx_operand *box = lift_bulk_box(w->ins), *corner = &box->items[1];
    bool cells = w->lift->cell && !w->step->fresh;
    char name[24];
    if (w->step->made < 0) {
        snprintf(name, sizeof name, "%%r%u", box->items[0].reg);
        put_long(w, BULK(map), name);
    } else {
        lift_put_plain(w, "add.s64 %%ca0, %%cmap, %zu;",
                       (size_t)w->step->made * sizeof(struct lift_map));
        lift_put_plain(w, "st.local.b64 [cuvet_bulk+%zu], %%ca0;", BULK(map));
    }
    lift_put_plain(w, "add.s64 %%ca0, %%ccall, %zu;",
                   offsetof(struct lift_call, array) +
                       (size_t)w->step->array * sizeof(struct lift_array));
    lift_put_plain(w, "st.local.b64 [cuvet_bulk+%zu], %%ca0;", BULK(array));
    put_word(w, BULK(index), (unsigned)w->step->array);
    put_word(w, BULK(table), w->lift->view[w->step->array].table);
    put_long(w, BULK(cells), cells ? "%ccells" : "0");
    lift_put_plain(w, "mov.u32 %%ci0, %s;", cells ? w->lift->shared->name : "0");
    lift_put_plain(w, "st.local.b32 [cuvet_bulk+%zu], %%ci0;", BULK(shared));
    put_word(w, BULK(cell), w->lift->cell);
    put_place(w, &w->ins->operands[box == w->ins->operands]);
    put_mine(w);
    for (unsigned i = 0; i < corner->count; i++)
        put_operand_word(w, BULK(corner) + i * sizeof(int32_t), &corner->items[i]);
}

static void put_bulk_call(struct lift_writer *w, const char *name)
{
    lift_put_plain(w, "{");
    lift_put_plain(w, ".param .b64 cuvet_s, cuvet_k, cuvet_p;");
    lift_put_plain(w, "st.param.b64 [cuvet_s], %%cstate;");
    lift_put_plain(w, "st.param.b64 [cuvet_k], %%ccall;");
    lift_put_plain(w, "st.param.b64 [cuvet_p], %%cbulk;");
    lift_put_plain(w, "call cuvet_lift_%s, (cuvet_s, cuvet_k, cuvet_p);", name);
    lift_put_plain(w, "}");
    lift_put_plain(w, "ld.local.b32 %%ci0, [cuvet_bulk+%zu];", BULK(refused));
    lift_put_plain(w, "add.u32 %%crefused, %%crefused, %%ci0;");
}

/* What reads shared memory next may be a tensor core, which is behind another proxy. */
static void put_arrival(struct lift_writer *w)
{
    lift_put_plain(w, "fence.proxy.async.shared::cta;");
    lift_put_plain(w, "ld.local.b32 %%ci0, [cuvet_bulk+%zu];", BULK(mask));
    lift_put_plain(w, "bar.warp.sync %%ci0;");
    lift_put_plain(w, "fence.acq_rel.cta;"); /* complete_tx is relaxed */
    lift_put_plain(w, "ld.local.b32 %%ci0, [cuvet_bulk+%zu];", BULK(sent));
    textbuf_printf(w->out, "\t%smbarrier.complete_tx.relaxed.cta.shared::cta.b64 ", w->guard);
    lift_put_operand(w->out, w->lift, &w->ins->operands[2]);
    textbuf_printf(w->out, ", %%ci0;\n");
}

void lift_write_bulk(struct lift_writer *w)
{
    bool store = w->step->class_ == CLASS_BULK_STORE;
    put_bulk(w);
    if (store)
        put_elements(w);
    put_bulk_call(w, store ? "bulk_store" : "bulk_load");
    if (!store)
        put_arrival(w);
}
