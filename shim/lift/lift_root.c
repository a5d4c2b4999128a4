/*
 * lift_root.c - which parameter an address comes from, and what the kernel does with the array
 * behind it.
 */
#include <string.h>
#include "lift/lift_parts.h"

struct roots {
    struct lift *lift;
    uint64_t roots, behind;
    uint64_t shared, shared_behind; /* of addresses in shared memory, taken together */
    bool changed;
};

/* In place of a parameter's bit: a table of the module's own. */
static const uint64_t MODULE = (uint64_t)1 << 63;

static bool of_module(const struct ptx_operand *o)
{
    return o->kind == PTX_ADDRESS_OF && o->variable->space == PTX_GLOBAL;
}

static void gather_root(void *user, unsigned reg)
{
    struct roots *r = user;
    r->roots |= r->lift->reg[reg].roots;
    r->behind |= r->lift->reg[reg].behind;
}

/* Adds some bits to others; whether any was new. */
static bool join_roots(uint64_t *there, uint64_t bits)
{
    const uint64_t was = *there;
    *there |= bits;
    return *there != was;
}

static void give_root(void *user, unsigned reg)
{
    struct roots *r = user;
    r->changed |= join_roots(&r->lift->reg[reg].roots, r->roots);
    r->changed |= join_roots(&r->lift->reg[reg].behind, r->behind);
}

static void note_def(void *user, unsigned reg)
{
    struct roots *r = user;
    int *def = &r->lift->reg[reg].def;
    *def = *def == -1 ? (int)r->roots : -2;
}

static void find_defs(struct lift *lift)
{
    struct roots r = {.lift = lift};
    for (unsigned i = 0; i < lift->kernel->register_count; i++)
        lift->reg[i].def = -1;
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        r.roots = i;
        lift_each_result(&lift->kernel->instructions[i], note_def, &r);
    }
}

/* Layouts of addresses are changed through shared memory. */
static void pass_shared_roots(struct roots *r, const struct ptx_instruction *ins)
{
    bool address = ins->space == PTX_SHARED && ptx_type_bits(ins->types[0]) == 64;
    if (address && strcmp(ins->opcode, "st") == 0) {
        lift_each_register(&ins->operands[1], gather_root, r);
        r->changed |= join_roots(&r->shared, r->roots);
        r->changed |= join_roots(&r->shared_behind, r->behind);
    } else if (address && strcmp(ins->opcode, "ld") == 0) {
        r->roots = r->shared;
        r->behind = r->shared_behind;
    }
}

/* A number of 64 bits from an array may be an address. */
static void pass_loaded_root(struct roots *r, const struct ptx_instruction *ins)
{
    const struct ptx_operand *at =
        ins->operand_count > 1 && ins->operands[1].count ? &ins->operands[1].items[0] : NULL;
    if (at && strcmp(ins->opcode, "ld") == 0 && ins->space == PTX_GLOBAL &&
        at->kind == PTX_REGISTER && ptx_type_bits(ins->types[0]) == 64)
        r->behind = r->lift->reg[at->reg].roots & ~MODULE;
}

/* The addresses that an instruction passes on: those of sums, of choices, and of copies. */
static void spread_roots(struct roots *r, const struct ptx_instruction *ins)
{
    static const char *const passing[] = {"mov", "add", "sub", "selp", "cvta", "mad", "min", "max"};
    const struct ptx_operand *o = ins->operands;
    r->roots = r->behind = 0;
    if (strcmp(ins->opcode, "ld") == 0 && ins->space == PTX_PARAM && o[1].count) {
        const struct ptx_operand *at = &o[1].items[0];
        bool address = ptx_type_bits(ins->types[0]) == 64 && at->kind == PTX_ADDRESS_OF;
        if (address && at->variable->index < 63 && !o[1].offset && !at->offset)
            r->roots = (uint64_t)1 << at->variable->index;
    }
    if (strcmp(ins->opcode, "mov") == 0 && of_module(&o[1]))
        r->roots = MODULE;
    pass_shared_roots(r, ins);
    pass_loaded_root(r, ins);
    for (unsigned i = 0; i < sizeof passing / sizeof *passing; i++) {
        bool mad = strcmp(passing[i], "mad") == 0;
        if (strcmp(ins->opcode, passing[i]) != 0)
            continue;
        for (unsigned k = mad ? 3 : 1; k < ins->operand_count; k++)
            lift_each_register(&o[k], gather_root, r);
    }
    lift_each_result(ins, give_root, r);
}

static void find_roots(struct lift *lift)
{
    struct roots r = {.lift = lift};
    do {
        r.changed = false;
        for (unsigned i = 0; i < lift->kernel->instruction_count; i++)
            spread_roots(&r, &lift->kernel->instructions[i]);
    } while (r.changed);
}

/* ---- arrays ---- */

/* Where an address comes from: the only parameter, or the only one whose array it was read from. */
struct origin {
    int param; /* -1: none, or several */
    bool listed;
};

static struct origin address_origin(const struct lift *lift, const struct ptx_operand *at)
{
    const struct lift_register *reg = at->kind == PTX_REGISTER ? &lift->reg[at->reg] : NULL;
    const bool listed = reg && !reg->roots;
    const uint64_t roots = !reg ? 0 : listed ? reg->behind : reg->roots;
    return (struct origin){roots && !(roots & (roots - 1)) ? __builtin_ctzll(roots) : -1, listed};
}

static struct origin root_of(const struct lift *lift, const struct ptx_operand *memory)
{
    return memory->count ? address_origin(lift, &memory->items[0]) : (struct origin){.param = -1};
}

/* Whether a table of the module's own is read, which the lifted module has as well. */
static bool is_table(const struct lift *lift, const struct ptx_operand *memory)
{
    const struct ptx_operand *at = memory->count ? &memory->items[0] : NULL;
    return at &&
           (of_module(at) || (at->kind == PTX_REGISTER && lift->reg[at->reg].roots == MODULE));
}

static int find_param_view(struct lift *lift, struct origin from)
{
    const struct lift_view made = {.param = (unsigned)from.param, .listed = from.listed};
    for (unsigned i = 0; i < lift->views; i++) {
        if (lift->view[i].param == made.param && lift->view[i].listed == made.listed)
            return (int)i;
    }
    if (lift->views == REF_MAX_TENSORS)
        return -1;
    lift->view[lift->views] = made;
    return (int)lift->views++;
}

static const enum dtype dtype_of_kind[] = {
    [KIND_F32] = DTYPE_F32,   [KIND_F16] = DTYPE_F16,     [KIND_BF16] = DTYPE_BF16,
    [KIND_F16X2] = DTYPE_F16, [KIND_BF16X2] = DTYPE_BF16, [KIND_MIXED] = DTYPE_NONE};

static const enum dtype dtype_of_rounded[] = {
    [ROUNDED_E4M3] = DTYPE_F8E4M3, [ROUNDED_E5M2] = DTYPE_F8E5M2, [ROUNDED_I8] = DTYPE_I8,
    [ROUNDED_I16] = DTYPE_I16,     [ROUNDED_I32] = DTYPE_I32,     [ROUNDED_U8] = DTYPE_U8,
    [ROUNDED_U16] = DTYPE_U16,     [ROUNDED_U32] = DTYPE_U32,     [ROUNDED_MIXED] = DTYPE_NONE};

static enum dtype dtype_of(const struct lift *lift, const struct ptx_operand *value, unsigned bits)
{
    const struct ptx_operand *first = value;
    if (value->kind == PTX_VECTOR && value->count)
        first = &value->items[0];
    enum dtype dtype = DTYPE_NONE;
    if (first->kind == PTX_REGISTER)
        dtype = dtype_of_rounded[lift_rounded_part(lift->reg[first->reg].rounded, bits / 8)];
    if (!dtype && first->kind == PTX_REGISTER)
        dtype = dtype_of_kind[lift->reg[first->reg].kind];
    if (dtype)
        return dtype;
    return bits == 64 ? DTYPE_I64 : bits == 32 ? DTYPE_I32 : bits == 16 ? DTYPE_I16 : DTYPE_U8;
}

static bool is_number(enum dtype dtype)
{
    return dtype == DTYPE_F32 || dtype == DTYPE_F16 || dtype == DTYPE_BF16 ||
           dtype == DTYPE_F8E4M3 || dtype == DTYPE_F8E5M2;
}

unsigned lift_dtype_bytes(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_I64:
        return 8;
    case DTYPE_F32:
    case DTYPE_I32:
    case DTYPE_U32:
        return 4;
    case DTYPE_I8:
    case DTYPE_U8:
    case DTYPE_F8E4M3:
    case DTYPE_F8E5M2:
        return 1;
    default:
        return 2;
    }
}

/* Of several accesses the first number's type counts, else the narrowest. */
static void note_dtype(struct lift_view *view, enum dtype dtype)
{
    if (!view->dtype || (is_number(dtype) && !is_number(view->dtype)) ||
        (is_number(dtype) == is_number(view->dtype) &&
         lift_dtype_bytes(dtype) < lift_dtype_bytes(view->dtype)))
        view->dtype = dtype;
}

static void note_view(struct lift *lift, unsigned at, int view, bool writes)
{
    uint64_t bit = (uint64_t)1 << view;
    lift->step[at].array = (int8_t)view;
    lift->written |= writes ? bit : 0;
    lift->read |= writes ? 0 : bit;
}

/* The parameter behind a bulk copy: a map, or the address in a map that the kernel makes. */
static struct origin bulk_origin(const struct lift *lift, unsigned at, unsigned *dims)
{
    const struct ptx_instruction *ins = &lift->kernel->instructions[at];
    struct origin from = {.param = lift_map_param(lift, ins, dims)};
    const int number = lift->step[at].made;
    if (number < 0)
        return from;
    const struct lift_made *made = &lift->made[number];
    from = address_origin(lift, made->address);
    if (made->rank != *dims)
        from.param = -1;
    *dims = 0;
    return from;
}

/* A bulk copy's array is a tensor. */
static enum lift_refusal note_bulk(struct lift *lift, unsigned at, struct error *err)
{
    const struct ptx_instruction *ins = &lift->kernel->instructions[at];
    bool store = lift->step[at].class_ == CLASS_BULK_STORE;
    unsigned dims, views = lift->views;
    lift->step[at].made = (int8_t)lift_made_of(lift, ins);
    const struct origin from = bulk_origin(lift, at, &dims);
    int view = from.param < 0 ? -1 : find_param_view(lift, from);
    if (from.param < 0 || (view >= 0 && view < (int)views && lift->view[view].dims != dims))
        return lift_refuse(lift, ins, LIFT_MAP, err);
    if (view < 0)
        return lift_refuse(lift, ins, LIFT_ARRAYS, err);
    lift->view[view].dims = dims;
    note_view(lift, at, view, store);
    int made = lift->step[at].made;
    unsigned bytes = made < 0 ? 0 : lift->made[made].element;
    enum lift_kind kind = store ? lift_lane_kind(lift_kind_stored(lift, at, bytes)) : KIND_NONE;
    const unsigned rounded = store ? lift_rounded_stored(lift, at, bytes) : ROUNDED_NONE;
    if (kind || rounded)
        note_dtype(&lift->view[view], kind ? dtype_of_kind[kind] : dtype_of_rounded[rounded]);
    return LIFT_OK;
}

/* Refuses kernels that read the bytes of a map: a lifted one has what it describes there. */
static enum lift_refusal refuse_reading_maps(const struct lift *lift, struct error *err)
{
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        const struct ptx_operand *memory = ins->operand_count > 1 ? &ins->operands[1] : NULL;
        bool param = memory && ins->space == PTX_PARAM && memory->kind == PTX_MEMORY &&
                     memory->count && memory->items[0].kind == PTX_ADDRESS_OF;
        for (unsigned k = 0; param && k < lift->views; k++) {
            if (lift->view[k].dims && lift->view[k].param == memory->items[0].variable->index)
                return lift_refuse(lift, ins, LIFT_MAP, err);
        }
    }
    return LIFT_OK;
}

static enum lift_refusal note_access(struct lift *lift, unsigned at, struct error *err)
{
    const struct ptx_instruction *ins = &lift->kernel->instructions[at];
    enum lift_class class_ = lift->step[at].class_;
    if (lift_is_bulk(class_))
        return note_bulk(lift, at, err);
    unsigned memory = class_ == CLASS_STORE ? 0 : 1;
    bool global = ins->space == PTX_GLOBAL || class_ == CLASS_ASYNC;
    if (!global || (class_ != CLASS_LOAD && class_ != CLASS_STORE && class_ != CLASS_ASYNC))
        return LIFT_OK;
    if (class_ == CLASS_LOAD && is_table(lift, &ins->operands[memory])) {
        lift->step[at].class_ = CLASS_OTHER;
        return LIFT_OK;
    }
    const struct origin from = root_of(lift, &ins->operands[memory]);
    if (from.param < 0)
        return lift_refuse(lift, ins, LIFT_ADDRESS, err);
    int view = find_param_view(lift, from);
    if (view < 0)
        return lift_refuse(lift, ins, LIFT_ARRAYS, err);
    note_view(lift, at, view, class_ == CLASS_STORE);
    if (class_ != CLASS_ASYNC)
        note_dtype(&lift->view[view],
                   dtype_of(lift, &ins->operands[1 - memory], ptx_type_bits(ins->types[0])));
    return LIFT_OK;
}

/* ---- reading back ---- */

void lift_reach_before(const struct lift *lift, bool *seen, unsigned end)
{
    const struct ptx_function *kernel = lift->kernel;
    bool changed = true;
    while (changed) {
        changed = false;
        for (unsigned i = 0; i < kernel->instruction_count; i++) {
            const struct ptx_instruction *ins = &kernel->instructions[i];
            enum lift_class class_ = lift->step[i].class_;
            bool leaves = (class_ == CLASS_END || class_ == CLASS_FAIL || class_ == CLASS_BRANCH) &&
                          !ins->guarded;
            unsigned target = class_ == CLASS_BRANCH ? ins->operands[0].target : i + 1;
            if (!seen[i] || i == end)
                continue;
            if (!leaves && i + 1 < kernel->instruction_count && !seen[i + 1])
                changed = seen[i + 1] = true;
            if (class_ == CLASS_BRANCH && target < kernel->instruction_count && !seen[target])
                changed = seen[target] = true;
        }
    }
}

void lift_reach(const struct lift *lift, bool *seen)
{
    lift_reach_before(lift, seen, lift->kernel->instruction_count);
}

bool lift_stores(const struct lift *lift, unsigned at)
{
    return lift->step[at].class_ == CLASS_STORE || lift->step[at].class_ == CLASS_BULK_STORE;
}

/* A load behind a store to the same array would see what the launch wrote; the snapshot has what
 * was there before. */
static enum lift_refusal refuse_reading_back(struct lift *lift, struct error *err)
{
    unsigned count = lift->kernel->instruction_count;
    bool *seen = arena_alloc(&lift->arena, count);
    if (!seen)
        return LIFT_OTHER;
    for (unsigned i = 0; i < count; i++) {
        int array = lift->step[i].array;
        if (array < 0 || !lift_stores(lift, i) || !(lift->read >> array & 1))
            continue;
        memset(seen, 0, count);
        if (i + 1 < count)
            seen[i + 1] = true;
        lift_reach(lift, seen);
        for (unsigned k = 0; k < count; k++) {
            if (seen[k] && lift->step[k].array == array && !lift_stores(lift, k) &&
                (lift_is_bulk(lift->step[i].class_) || lift_is_bulk(lift->step[k].class_) ||
                 !lift_moves_on(lift, i, k)))
                return lift_refuse(lift, &lift->kernel->instructions[k], LIFT_READS_BACK, err);
        }
    }
    return LIFT_OK;
}

/* Whether some store writes what can be compared: a number with a shadow, or bits that no
 * arithmetic is behind. */
static void note_comparable(void *user, unsigned reg)
{
    struct roots *r = user;
    const struct lift_register *of = &r->lift->reg[reg];
    r->changed |= of->shadow || !of->derived || lift_keeps_ends(r->lift, reg);
}

static bool has_output(struct lift *lift)
{
    struct roots r = {.lift = lift};
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        if (lift->step[i].class_ == CLASS_STORE && lift->step[i].array >= 0)
            lift_each_register(&lift->kernel->instructions[i].operands[1], note_comparable, &r);
        r.changed |= lift->step[i].class_ == CLASS_BULK_STORE && (lift->cell || !lift->bare);
    }
    return r.changed;
}

/* Elements of a map are read as what the whole array holds: several maps of one array, or other
 * accesses to it, may have elements of another size. */
static enum lift_refusal refuse_mixed_maps(const struct lift *lift, struct error *err)
{
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        const struct lift_step *step = &lift->step[i];
        if (!lift_is_bulk(step->class_) || step->made < 0 || step->array < 0)
            continue;
        enum dtype dtype = lift->view[step->array].dtype;
        if (is_number(dtype) && lift_dtype_bytes(dtype) != lift->made[step->made].element)
            return lift_refuse(lift, &lift->kernel->instructions[i], LIFT_MAP, err);
    }
    return LIFT_OK;
}

enum lift_refusal lift_find_arrays(struct lift *lift, struct error *err)
{
    enum lift_refusal refusal = LIFT_OK;
    find_defs(lift);
    find_roots(lift);
    lift_find_levels(lift);
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++)
        lift->step[i].array = lift->step[i].made = -1;
    refusal = lift_find_made(lift, err);
    for (unsigned i = 0; !refusal && i < lift->kernel->instruction_count; i++)
        refusal = note_access(lift, i, err);
    if (!refusal)
        refusal = lift_find_tables(lift, err);
    if (!refusal)
        refusal = refuse_reading_maps(lift, err);
    for (unsigned i = 0; i < lift->views; i++) {
        bool written = lift->written >> i & 1, read = lift->read >> i & 1;
        lift->view[i].role = !written ? ROLE_READ : read ? ROLE_INOUT : ROLE_WRITE;
        if (!lift->view[i].dtype)
            lift->view[i].dtype = DTYPE_U8;
    }
    if (!refusal)
        refusal = refuse_mixed_maps(lift, err);
    if (!refusal && !has_output(lift))
        refusal = lift_refuse(lift, NULL, LIFT_NO_OUTPUT, err);
    return refusal ? refusal : refuse_reading_back(lift, err);
}
