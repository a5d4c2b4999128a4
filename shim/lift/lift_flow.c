/*
 * lift_flow.c - what registers hold, which of them have shadows, and which roundings are those of
 * an accumulator. The order of instructions does not count: a fact of one definition of a register
 * is a fact of the register.
 */
#include <string.h>
#include "lift/lift_parts.h"

struct flow {
    struct lift *lift;
    const struct ptx_instruction *ins;
    bool changed;
    bool late;       /* what no instruction makes an f32 is a pair */
    bool shared_f32; /* shared memory holds f32 */
    /* of the instruction at hand */
    bool shadow, derived;
    bool shared_shadow; /* some store to shared memory has one */
    bool shared_derived;
    bool taking; /* all else is known: loads take the kinds of what was stored */
    bool again;
};

static void set_kind(struct flow *f, const struct ptx_operand *operand, enum lift_kind kind)
{
    if (operand->kind != PTX_REGISTER || !kind)
        return;
    uint8_t *there = &f->lift->reg[operand->reg].kind;
    if (*there == kind || *there == KIND_MIXED)
        return;
    *there = (uint8_t)(*there ? KIND_MIXED : kind);
    f->changed = true;
}

static enum lift_kind operand_kind(const struct flow *f, const struct ptx_operand *operand)
{
    enum lift_kind kind = KIND_NONE;
    if (operand->kind == PTX_REGISTER)
        kind = f->lift->reg[operand->reg].kind;
    return kind == KIND_MIXED ? KIND_NONE : kind;
}

static void same_kind(struct flow *f, const struct ptx_operand *a, const struct ptx_operand *b)
{
    if (!operand_kind(f, a))
        set_kind(f, a, operand_kind(f, b));
    if (!operand_kind(f, b))
        set_kind(f, b, operand_kind(f, a));
}

static enum lift_kind packed(enum lift_kind lane)
{
    return lane == KIND_F16 ? KIND_F16X2 : lane == KIND_BF16 ? KIND_BF16X2 : KIND_NONE;
}

/* mov.b32 {a, b}, r and back. */
static void packed_kind(struct flow *f, const struct ptx_operand *whole,
                        const struct ptx_operand *parts)
{
    enum lift_kind lane = lift_lane_kind(operand_kind(f, whole));
    bool two = lift_lanes(operand_kind(f, whole)) == 2;
    if (lift_widens(parts) && !two && f->late && f->shared_f32)
        set_kind(f, whole, KIND_F32);
    if (lift_widens(parts) && operand_kind(f, whole) == KIND_F32) {
        set_kind(f, &parts->items[1], KIND_BF16);
        return;
    }
    if (lift_widens(parts) && !two && !f->late)
        return;
    for (unsigned i = 0; i < parts->count && parts->count == 2; i++) {
        if (two)
            set_kind(f, &parts->items[i], lane);
        else
            set_kind(f, whole, packed(operand_kind(f, &parts->items[i])));
    }
}

/* cvt.u16.u32 takes the low one of a pair, or a number that lies in 32 bits alone. */
static void low_kind(struct flow *f, const struct ptx_operand *half,
                     const struct ptx_operand *whole)
{
    enum lift_kind kind = operand_kind(f, whole);
    if (lift_lanes(kind) == 2)
        set_kind(f, half, lift_lane_kind(kind));
    else if (kind ? kind != KIND_F32 : f->late)
        same_kind(f, half, whole);
}

static void f32_of_access(void *user, unsigned reg)
{
    struct flow *f = user;
    uint8_t *there = &f->lift->reg[reg].kind;
    if (f->ins->types[0] == PTX_F32 && !*there) {
        *there = KIND_F32;
        f->changed = true;
    }
    f->shared_f32 |= f->ins->space == PTX_SHARED && *there == KIND_F32;
}

static void spread_kinds(struct flow *f)
{
    const struct ptx_instruction *ins = f->ins;
    const struct ptx_operand *o = ins->operands;
    switch (f->lift->step[ins - f->lift->kernel->instructions].class_) {
    case CLASS_FLOAT:
        for (unsigned i = 0; i < ins->operand_count; i++)
            set_kind(f, &o[i], lift_operand_kind(ins, i));
        break;
    case CLASS_MOVE:
        if (lift_is_pack(ins))
            packed_kind(f, &o[0], &o[1]);
        else if (lift_is_unpack(ins))
            packed_kind(f, &o[1], &o[0]);
        else if (*ins->opcode == 'c' && ins->types[0] == PTX_U16)
            low_kind(f, &o[0], &o[1]);
        else
            same_kind(f, &o[0], &o[1]);
        if (*ins->opcode == 's')
            same_kind(f, &o[0], &o[2]);
        break;
    case CLASS_PRODUCT:
        for (unsigned i = 0; i < ins->operand_count; i++) {
            for (unsigned k = 0; o[i].kind == PTX_VECTOR && k < o[i].count; k++)
                set_kind(f, &o[i].items[k], lift_product_kind(ins, i));
            if (!lift_is_wgmma(ins)) /* whose other operands are descriptors and constants */
                set_kind(f, &o[i], lift_product_kind(ins, i));
        }
        break;
    case CLASS_LOAD:
        lift_each_result(ins, f32_of_access, f);
        break;
    case CLASS_STORE:
        lift_each_register(&o[1], f32_of_access, f);
        break;
    case CLASS_SHUFFLE:
        same_kind(f, o[0].kind == PTX_PAIR ? &o[0].items[0] : &o[0], &o[1]);
        break;
    case CLASS_OTHER:
        if (strcmp(ins->opcode, "cvt") == 0 || strcmp(ins->opcode, "setp") == 0) {
            for (unsigned i = 1; i < ins->operand_count; i++)
                set_kind(f, &o[i], lift_operand_kind(ins, i));
        }
        break;
    default:
        break;
    }
}

static void spread_all_kinds(struct flow *f, bool late)
{
    const struct ptx_function *kernel = f->lift->kernel;
    f->late = late;
    do {
        f->changed = false;
        for (unsigned i = 0; i < kernel->instruction_count; i++) {
            f->ins = &kernel->instructions[i];
            spread_kinds(f);
        }
    } while (f->changed);
}

/* ---- shadows ---- */

static void gather_flow(void *user, unsigned reg)
{
    struct flow *f = user;
    f->shadow |= f->lift->reg[reg].shadow;
    f->derived |= f->lift->reg[reg].derived;
}

static void give_kind(void *user, unsigned reg)
{
    struct flow *f = user;
    struct lift_register *r = &f->lift->reg[reg];
    bool number = f->lift->kernel->registers[reg].type != PTX_PRED;
    bool shadow = r->shadow || (f->shadow && number && r->kind);
    bool derived = r->derived || f->derived;
    f->changed |= shadow != r->shadow || derived != r->derived;
    r->shadow = shadow;
    r->derived = derived;
}

static unsigned register_bytes(const struct lift *lift, unsigned reg)
{
    unsigned bytes = ptx_type_bits(lift->kernel->registers[reg].type) / 8;
    return bytes <= 4 ? bytes : 0;
}

/* A number that is stored and the bytes of its register; KIND_NONE: none has a shadow. */
struct stored {
    const struct lift *lift;
    enum lift_kind kind;
    unsigned bytes;
    uint8_t rounded; /* enum lift_rounded */
};

static void note_stored(void *user, unsigned reg)
{
    struct stored *s = user;
    if (s->lift->reg[reg].rounded && !s->lift->reg[reg].kind)
        s->rounded = s->lift->reg[reg].rounded;
    if (!s->lift->reg[reg].shadow)
        return;
    s->kind = s->lift->reg[reg].kind;
    s->bytes = register_bytes(s->lift, reg);
}

/* As a register of so many bytes has it: pairs are loaded one by one, or numbers as pairs. */
static enum lift_kind as_loaded(const struct stored *s, unsigned bytes)
{
    if (s->bytes == bytes)
        return s->kind;
    if (bytes == 2)
        return lift_lanes(s->kind) == 2 ? lift_lane_kind(s->kind) : KIND_NONE;
    return bytes == 4 ? packed(s->kind) : KIND_NONE;
}

static bool has_size(enum lift_kind kind, unsigned bytes)
{
    return !bytes || lift_kind_bytes(lift_lane_kind(kind)) == bytes;
}

/* Bytes of a number that an access moves at once: stmatrix and ldmatrix move halves of a register.
 */
static unsigned bytes_at_once(const struct ptx_instruction *ins)
{
    return ins->opcode[2] == 'm' ? 2 : ptx_type_bits(ins->types[0]) / 8;
}

/* What lies in shared memory at an instruction: of several formats that are stored there, one after
 * another, that of the store in front of it. `bytes`: of a register that gets it; `element`: of a
 * number; 0: of any. */
static struct stored stored_there(const struct lift *lift, unsigned at, unsigned bytes,
                                  unsigned element)
{
    const struct ptx_function *kernel = lift->kernel;
    unsigned count = kernel->instruction_count;
    struct stored stored = {lift, KIND_NONE, 0, ROUNDED_NONE};
    for (unsigned back = 1; back < count && !stored.kind && !stored.rounded; back++) {
        unsigned i = (at + count - back) % count;
        if (lift->step[i].class_ != CLASS_STORE || kernel->instructions[i].space != PTX_SHARED)
            continue;
        lift_each_register(&kernel->instructions[i].operands[1], note_stored, &stored);
        stored.kind = bytes ? as_loaded(&stored, bytes) : stored.kind;
        stored.kind = has_size(stored.kind, element) ? stored.kind : KIND_NONE;
        stored.rounded = lift_rounded_part(stored.rounded, bytes_at_once(&kernel->instructions[i]));
        if (element && lift_rounded_bytes(stored.rounded) != element)
            stored.rounded = ROUNDED_NONE;
    }
    return stored;
}

enum lift_kind lift_kind_stored(const struct lift *lift, unsigned at, unsigned element)
{
    return stored_there(lift, at, 0, element).kind;
}

uint8_t lift_rounded_stored(const struct lift *lift, unsigned at, unsigned element)
{
    return stored_there(lift, at, 0, element).rounded;
}

/* What is loaded and passed on has the kind of what was stored. */
static void take_shared(void *user, unsigned reg)
{
    struct flow *f = user;
    unsigned bytes = register_bytes(f->lift, reg);
    if (f->lift->reg[reg].kind || f->lift->reg[reg].rounded || !bytes)
        return;
    unsigned at = (unsigned)(f->ins - f->lift->kernel->instructions);
    enum lift_kind kind = stored_there(f->lift, at, bytes, 0).kind;
    f->lift->reg[reg].kind = (uint8_t)kind;
    f->again |= kind != KIND_NONE;
}

static void spread_shadows(struct flow *f, unsigned at)
{
    enum lift_class class_ = f->lift->step[at].class_;
    const bool exact = class_ == CLASS_PRODUCT && lift_is_exact_product(f->ins);
    f->shadow = class_ == CLASS_FLOAT || (class_ == CLASS_PRODUCT && !exact);
    f->derived = f->shadow || (exact && lift_is_wgmma(f->ins) && f->shared_derived);
    lift_each_source(f->ins, gather_flow, f);
    f->shadow &= !exact;
    if (f->ins->space == PTX_SHARED && class_ == CLASS_STORE) {
        f->changed |= f->shadow > f->shared_shadow || f->derived > f->shared_derived;
        f->shared_shadow |= f->shadow;
        f->shared_derived |= f->derived;
    }
    if (class_ == CLASS_LOAD) { /* what the address is made of is not in the value */
        bool shared = f->ins->space == PTX_SHARED;
        f->shadow = shared && f->shared_shadow;
        f->derived = shared && f->shared_derived;
        if (f->shadow && f->taking)
            lift_each_result(f->ins, take_shared, f);
    }
    lift_each_result(f->ins, give_kind, f);
}

static void spread_shadows_once(struct flow *f)
{
    f->changed = false;
    for (unsigned i = 0; i < f->lift->kernel->instruction_count; i++) {
        f->ins = &f->lift->kernel->instructions[i];
        spread_shadows(f, i);
    }
}

/* Kinds of what shared memory has shadows of: stores give them to registers that only loads fill.
 */
static void spread_all_shadows(struct flow *f)
{
    do
        spread_shadows_once(f);
    while (f->changed);
    lift_find_rounded(f->lift);
    f->taking = true;
    spread_shadows_once(f);
    f->taking = false;
}

/* ---- shared memory ---- */

struct cells {
    struct lift *lift;
    bool narrow, any;
    bool store;
    unsigned bytes, least; /* of an access; of those of numbers of 8 bits */
};

static void note_cell(void *user, unsigned reg)
{
    struct cells *cells = user;
    const struct lift_register *r = &cells->lift->reg[reg];
    const bool ends = lift_keeps_ends(cells->lift, reg);
    if (ends && cells->bytes < cells->least)
        cells->least = cells->bytes;
    cells->any |= cells->store && (r->shadow || ends);
    if (!r->shadow)
        return;
    cells->narrow |= r->kind != KIND_F32;
}

static enum lift_refusal find_cells(struct lift *lift, struct error *err)
{
    struct cells cells = {.lift = lift, .least = 4};
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        if (ins->space != PTX_SHARED)
            continue;
        cells.narrow |= ins->opcode[2] == 'm'; /* ldmatrix, stmatrix */
        cells.bytes = bytes_at_once(ins);
        cells.store = lift->step[i].class_ == CLASS_STORE;
        if (cells.store)
            lift_each_register(&ins->operands[1], note_cell, &cells);
        if (lift->step[i].class_ == CLASS_LOAD)
            lift_each_register(&ins->operands[0], note_cell, &cells);
    }
    if (!cells.any)
        return LIFT_OK;
    lift->cell = cells.least < 2 ? 1 : cells.narrow || cells.least < 4 ? 2 : 4;
    return lift->shared ? LIFT_OK : lift_refuse(lift, NULL, LIFT_SHARED, err);
}

/* What arithmetic is behind, and has no shadow of its size. */
struct bare {
    struct lift *lift;
    unsigned bytes; /* of the access */
};

static void note_bare(void *user, unsigned reg)
{
    const struct bare *bare = user;
    const struct lift_register *r = &bare->lift->reg[reg];
    enum lift_kind kind = r->shadow ? r->kind : KIND_NONE;
    bare->lift->bare |=
        r->derived && !lift_keeps_ends(bare->lift, reg) &&
        (!kind || lift_kind_bytes(lift_lane_kind(kind)) * lift_lanes(kind) != bare->bytes);
}

static void find_bare(struct lift *lift)
{
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        bool matrix = strcmp(ins->opcode, "stmatrix") == 0;
        struct bare bare = {lift, matrix ? 4 : ptx_type_bits(ins->types[0]) / 8};
        if (lift->step[i].class_ == CLASS_STORE && ins->space == PTX_SHARED)
            lift_each_register(&ins->operands[1], note_bare, &bare);
    }
}

static void note_shadow(void *user, unsigned reg)
{
    struct flow *f = user;
    f->shadow |= f->lift->reg[reg].shadow || lift_keeps_ends(f->lift, reg);
}

/* Whether an instruction is for some of a block's threads: at a barrier beside the first, or at an
 * mbarrier that threads arrive at. */
static bool is_for_some(const struct ptx_instruction *ins)
{
    const unsigned id = ptx_has_modifier(ins, "red");
    const struct ptx_operand *o = ins->operand_count > id ? &ins->operands[id] : NULL;
    bool barrier = strcmp(ins->opcode, "bar") == 0 || strcmp(ins->opcode, "barrier") == 0;
    if (strcmp(ins->opcode, "mbarrier") == 0)
        return ptx_has_modifier(ins, "arrive") && !ptx_has_modifier(ins, "expect_tx");
    return barrier && o && !ptx_has_modifier(ins, "warp") && (o->kind != PTX_IMMEDIATE || o->bits);
}

/* Whether threads of a block have roles: what has run before an instruction does not follow from
 * its thread's way alone. */
static bool has_roles(const struct lift *lift)
{
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        if (is_for_some(&lift->kernel->instructions[i]))
            return true;
    }
    return false;
}

/* Where no store of a number with a shadow can come before, shared memory has no shadows. */
static enum lift_refusal find_fresh(struct flow *f)
{
    struct lift *lift = f->lift;
    unsigned count = lift->kernel->instruction_count;
    bool *seen = arena_alloc(&lift->arena, count + 1);
    if (!seen)
        return LIFT_OTHER;
    for (unsigned i = 0; i < count; i++) {
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        f->shadow = false;
        if (lift->step[i].class_ == CLASS_STORE && ins->space == PTX_SHARED)
            lift_each_register(&ins->operands[1], note_shadow, f);
        if (f->shadow)
            seen[i + 1] = true;
    }
    if (has_roles(lift))
        memset(seen, true, count);
    lift_reach(lift, seen);
    for (unsigned i = 0; i < count; i++)
        lift->step[i].fresh = !seen[i];
    return LIFT_OK;
}

/* ---- the whole ---- */

/* Sums of integers have no shadows: a kernel that also has floats in their registers is refused. */
static enum lift_refusal refuse_shadowed_sums(struct flow *f, struct error *err)
{
    const struct ptx_function *kernel = f->lift->kernel;
    for (unsigned i = 0; i < kernel->instruction_count; i++) {
        const struct ptx_instruction *ins = &kernel->instructions[i];
        f->shadow = false;
        if (f->lift->step[i].class_ == CLASS_PRODUCT && lift_is_exact_product(ins))
            lift_each_result(ins, note_shadow, f);
        if (f->shadow)
            return lift_refuse(f->lift, ins, LIFT_MIXED, err);
    }
    return LIFT_OK;
}

static enum lift_refusal refuse_mixed(const struct lift *lift, struct error *err)
{
    for (unsigned i = 0; i < lift->kernel->register_count; i++) {
        bool wide = ptx_type_bits(lift->kernel->registers[i].type) > 32;
        if (lift->reg[i].shadow && (lift->reg[i].kind == KIND_MIXED || wide))
            return lift_refuse(lift, NULL, LIFT_MIXED, err);
    }
    return LIFT_OK;
}

enum lift_refusal lift_flow(struct lift *lift, struct error *err)
{
    struct flow flow = {.lift = lift};
    do {
        flow.again = false;
        spread_all_kinds(&flow, false);
        spread_all_kinds(&flow, true);
        spread_all_shadows(&flow);
    } while (flow.again);
    enum lift_refusal refusal = refuse_mixed(lift, err);
    if (!refusal)
        refusal = refuse_shadowed_sums(&flow, err);
    if (!refusal)
        refusal = find_cells(lift, err);
    if (!refusal)
        refusal = find_fresh(&flow);
    if (!refusal)
        lift_find_chains(lift);
    find_bare(lift);
    return refusal;
}
