/*
 * lift_made.c - tensor maps that a kernel makes itself, as Triton's kernels do with descriptors
 * that are made on the device: in shared memory, field by field, then copied to memory of the
 * launch's.
 *
 * Only maps of values that all threads of a block have alike, each written in one go. Each thread
 * of the lifted kernel keeps what they describe itself, in local memory, where the kernel copies
 * the map. So the threads that use a map must all have come by there.
 */
#include <stddef.h>
#include <string.h>
#include "lift/lift_abi.h"
#include "lift/lift_parts.h"

#define MAP(field) offsetof(struct lift_map, field)

/* A field that is replaced leaves no instruction: lift_find_made reads all fields of a map at the
 * instruction that copies the map. */
enum lift_refusal lift_classify_map(const struct ptx_instruction *ins, uint8_t *class_)
{
    *class_ = ptx_has_modifier(ins, "replace") ? CLASS_DROP : CLASS_MAP;
    return ptx_has_modifier(ins, "cp_fenceproxy") ||
                   (ins->space == PTX_SHARED && ptx_has_modifier(ins, "tile"))
               ? LIFT_OK
               : LIFT_MAP;
}

/* ---- values ---- */

/* Whether an instruction is reached from the one before it alone. */
static bool follows(const struct lift *lift, unsigned at)
{
    const enum lift_class before = at ? lift->step[at - 1].class_ : CLASS_END;
    return !lift->step[at].target && before != CLASS_END && before != CLASS_FAIL &&
           (before != CLASS_BRANCH || lift->kernel->instructions[at - 1].guarded);
}

/* The instruction that a register's value at another comes from: the only one that writes it, or
 * the last one before, where all in between runs one after the other. NULL: it is not known. */
static const struct ptx_instruction *writer_before(const struct lift *lift, unsigned reg,
                                                   const struct ptx_instruction *end)
{
    const struct ptx_instruction *all = lift->kernel->instructions;
    int def = lift->reg[reg].def;
    for (unsigned i = (unsigned)(end - all); def < 0 && follows(lift, i); i--) {
        if (lift_writes(&all[i - 1], reg))
            def = (int)i - 1;
    }
    return def < 0 || all[def].guarded ? NULL : &all[def];
}

/* Whether an operand is a constant there, through copies. */
static bool constant_at(const struct lift *lift, const struct ptx_instruction *at,
                        const struct ptx_operand *o, uint64_t *out)
{
    while (o->kind == PTX_REGISTER) {
        at = writer_before(lift, o->reg, at);
        if (!at || strcmp(at->opcode, "mov") != 0)
            return false;
        o = &at->operands[1];
    }
    *out = o->bits;
    return o->kind == PTX_IMMEDIATE;
}

struct uniform {
    const struct lift *lift;
    unsigned steps;
    bool fine;
};

static void require_uniform(struct uniform *u, const struct ptx_instruction *at,
                            const struct ptx_operand *o);

static void require_uniform_register(struct uniform *u, const struct ptx_instruction *at,
                                     unsigned reg)
{
    enum { STEPS = 400 };
    static const char *const lanes[] = {"shfl", "vote", "elect", "match", "activemask", "redux"};
    const struct ptx_instruction *from = writer_before(u->lift, reg, at);
    bool load = from && strcmp(from->opcode, "ld") == 0;
    u->fine = u->fine && from && ++u->steps < STEPS &&
              (load ? from->space == PTX_PARAM : lift_whole_numbers(from));
    for (unsigned i = 0; u->fine && i < sizeof lanes / sizeof *lanes; i++)
        u->fine = strcmp(from->opcode, lanes[i]) != 0;
    for (unsigned i = 1; u->fine && i < from->operand_count; i++)
        require_uniform(u, from, &from->operands[i]);
}

static bool is_uniform_special(const char *name)
{
    static const char *const same[] = {"%ctaid", "%nctaid", "%ntid"};
    for (unsigned i = 0; i < sizeof same / sizeof *same; i++) {
        if (strncmp(name, same[i], strlen(same[i])) == 0)
            return true;
    }
    return false;
}

static void require_uniform(struct uniform *u, const struct ptx_instruction *at,
                            const struct ptx_operand *o)
{
    if (o->kind == PTX_REGISTER)
        require_uniform_register(u, at, o->reg);
    else if (o->kind == PTX_SPECIAL)
        u->fine = u->fine && is_uniform_special(o->name);
    else if (o->kind == PTX_MEMORY) /* a parameter's */
        u->fine = u->fine && o->count == 1 && o->items[0].kind == PTX_ADDRESS_OF;
    else
        u->fine = u->fine && o->kind == PTX_IMMEDIATE;
}

/* Whether no instruction writes the register from one on and before another. */
static bool is_kept(const struct ptx_instruction *at, unsigned reg,
                    const struct ptx_instruction *until)
{
    while (at < until && !lift_writes(at, reg))
        at++;
    return at == until;
}

/* Whether all threads of a block have the operand alike there, and until another instruction. */
static bool is_uniform(const struct lift *lift, const struct ptx_instruction *at,
                       const struct ptx_operand *o, const struct ptx_instruction *until)
{
    struct uniform u = {lift, 0, true};
    if (o->kind != PTX_REGISTER || lift->reg[o->reg].level == LEVEL_THREAD)
        require_uniform(&u, at, o);
    return u.fine && (o->kind != PTX_REGISTER || is_kept(at, o->reg, until));
}

/* ---- reading ---- */

/* Where a field's value goes; NULL: it is none of those that are kept as operands. */
static const struct ptx_operand **value_of(struct lift_made *made, const char *field, uint64_t dim)
{
    if (strcmp(field, "global_address") == 0)
        return &made->address;
    if (strcmp(field, "global_dim") == 0 && dim < LIFT_MAP_DIMS)
        return &made->size[dim];
    return strcmp(field, "global_stride") == 0 && dim + 1 < LIFT_MAP_DIMS ? &made->stride[dim]
                                                                          : NULL;
}

static unsigned element_of(uint64_t type)
{
    static const uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 0, 8, 2};
    return type < sizeof bytes ? bytes[type] : 0;
}

/* How elements lie: the swizzle, and what must have one value. */
static bool read_map_mode(struct lift_made *made, const char *field, uint64_t dim, uint64_t value)
{
    if (strcmp(field, "swizzle_mode") == 0) {
        made->swizzle = (unsigned)value;
        made->seen |= MADE_SWIZZLE;
        return true;
    }
    if (strcmp(field, "element_stride") == 0 && dim < LIFT_MAP_DIMS) {
        made->seen |= (unsigned)MADE_STEP << dim;
        return value == 1;
    }
    made->seen |= strcmp(field, "interleave_layout") == 0 ? MADE_INTERLEAVE
                  : strcmp(field, "fill_mode") == 0       ? MADE_FILL
                                                          : 0;
    return value == 0;
}

/* A field that the kernel's text has as a number; false: it has another, or there is no rule. */
static bool read_map_number(struct lift_made *made, const char *field, uint64_t dim, uint64_t value)
{
    if (strcmp(field, "rank") == 0)
        made->rank = (unsigned)value + 1;
    else if (strcmp(field, "box_dim") == 0 && dim < LIFT_MAP_DIMS)
        made->box[dim] = (unsigned)value;
    else if (strcmp(field, "elemtype") == 0)
        made->element = element_of(value);
    else
        return read_map_mode(made, field, dim, value);
    return true;
}

/* tensormap.replace.tile.FIELD [map], value, or [map], dim, value. */
static bool read_field(const struct lift *lift, const struct ptx_instruction *ins,
                       struct lift_made *made)
{
    unsigned last = ins->operand_count - 1;
    const char *field = ins->modifier_count > 2 ? ins->modifiers[2] : "";
    if (ins->operand_count < 2 || last > 2 || (last == 2 && ins->operands[1].kind != PTX_IMMEDIATE))
        return false;
    const struct ptx_operand *value = &ins->operands[last];
    uint64_t dim = last == 2 ? ins->operands[1].bits : 0, number;
    const struct ptx_operand **at = value_of(made, field, dim);
    if (at) {
        *at = value;
        return is_uniform(lift, ins, value, &lift->kernel->instructions[made->at]);
    }
    return constant_at(lift, ins, value, &number) && number < UINT32_MAX &&
           read_map_number(made, field, dim, number);
}

/* Whether each field is written: one that is not has what lay in the buffer before. */
static bool is_whole(const struct lift_made *made)
{
    const unsigned row = made->box[0] * made->element;
    bool whole = made->rank && made->rank <= LIFT_MAP_DIMS;
    const unsigned all = whole ? ((unsigned)MADE_STEP << made->rank) - 1 : 0;
    whole = whole && (made->seen & all) == all && made->address && made->element && row &&
            row % 16 == 0 && made->swizzle <= 3 && (!made->swizzle || row == 16u << made->swizzle);
    for (unsigned i = 0; whole && i < made->rank; i++)
        whole = made->size[i] && made->box[i] && (!i || made->stride[i - 1]);
    return whole;
}

static bool is_replacing(const struct ptx_instruction *ins)
{
    return strcmp(ins->opcode, "tensormap") == 0 && ptx_has_modifier(ins, "replace");
}

/* The map that an instruction copies is what has been written since the one before it. */
static bool read_made(const struct lift *lift, unsigned at, struct lift_made *made)
{
    const struct ptx_instruction *all = lift->kernel->instructions, *ins = &all[at];
    unsigned first = at;
    while (follows(lift, first) && lift->step[first - 1].class_ != CLASS_MAP)
        first--;
    *made = (struct lift_made){.at = at};
    for (unsigned i = first; i < at; i++) {
        if (is_replacing(&all[i]) && !read_field(lift, &all[i], made))
            return false;
    }
    const struct ptx_operand *to = ins->operand_count ? &ins->operands[0] : NULL;
    return to && to->kind == PTX_MEMORY && to->count == 1 && !to->offset &&
           to->items[0].kind == PTX_REGISTER && is_whole(made);
}

/* Marks what a thread may come to without having made the map. */
static bool find_unmade(struct lift *lift, struct lift_made *made)
{
    made->unmade = arena_alloc(&lift->arena, lift->kernel->instruction_count * sizeof(bool));
    if (!made->unmade)
        return false;
    made->unmade[0] = true;
    lift_reach_before(lift, made->unmade, made->at);
    return true;
}

enum lift_refusal lift_find_made(struct lift *lift, struct error *err)
{
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        if (lift->step[i].class_ != CLASS_MAP)
            continue;
        if (lift->mades == LIFT_MADE || !read_made(lift, i, &lift->made[lift->mades]) ||
            !find_unmade(lift, &lift->made[lift->mades]))
            return lift_refuse(lift, &lift->kernel->instructions[i], LIFT_MAP, err);
        lift->mades++;
    }
    return LIFT_OK;
}

/* The only map that is copied to the register's address, where the bulk copy cannot come without
 * it; -1: there is none, or there are several. */
static int made_at(const struct lift *lift, unsigned reg, unsigned user)
{
    int found = -1;
    for (unsigned i = 0; i < lift->mades; i++) {
        if (lift->kernel->instructions[lift->made[i].at].operands[0].items[0].reg == reg)
            found = found == -1 && !lift->made[i].unmade[user] ? (int)i : -2;
    }
    return found < 0 ? -1 : found;
}

int lift_made_of(const struct lift *lift, const struct ptx_instruction *ins)
{
    const unsigned user = (unsigned)(ins - lift->kernel->instructions);
    const struct ptx_operand *o = &lift_bulk_box(ins)->items[0];
    for (unsigned deep = 0; o->kind == PTX_REGISTER && deep < 8; deep++) {
        /* Of a register that is written several times its value here is not known. */
        int def = lift->reg[o->reg].def, made = def < 0 ? -1 : made_at(lift, o->reg, user);
        if (made >= 0)
            return made;
        const struct ptx_instruction *from = def < 0 ? NULL : &lift->kernel->instructions[def];
        if (!from || from->guarded ||
            (strcmp(from->opcode, "mov") != 0 && strcmp(from->opcode, "cvta") != 0))
            return -1;
        o = &from->operands[1];
    }
    return -1;
}

/* ---- writing ---- */

static void put_made_operand(struct lift_writer *w, size_t at, const struct ptx_operand *o,
                             unsigned bits)
{
    textbuf_printf(w->out, "\tmov.b%u %%c%c0, ", bits, bits == 64 ? 'a' : 'i');
    lift_put_operand(w->out, w->lift, o);
    textbuf_printf(w->out, ";\n");
    lift_put_plain(w, "st.local.b%u [cuvet_map+%zu], %%c%c0;", bits, at, bits == 64 ? 'a' : 'i');
}

static void put_made_number(struct lift_writer *w, size_t at, unsigned value)
{
    lift_put_plain(w, "mov.b32 %%ci0, %u;", value);
    lift_put_plain(w, "st.local.b32 [cuvet_map+%zu], %%ci0;", at);
}

void lift_write_made(struct lift_writer *w)
{
    unsigned number = 0;
    while (&w->lift->kernel->instructions[w->lift->made[number].at] != w->ins)
        number++;
    const struct lift_made *made = &w->lift->made[number];
    const size_t at = number * sizeof(struct lift_map);
    put_made_operand(w, at + MAP(address), made->address, 64);
    for (unsigned i = 0; i < made->rank; i++) {
        put_made_operand(w, at + MAP(size) + i * sizeof(uint32_t), made->size[i], 32);
        put_made_number(w, at + MAP(box) + i * sizeof(uint32_t), made->box[i]);
        if (i)
            put_made_operand(w, at + MAP(stride) + (i - 1) * sizeof(uint64_t), made->stride[i - 1],
                             64);
    }
    put_made_number(w, at + MAP(rank), made->rank);
    put_made_number(w, at + MAP(element), made->element);
    put_made_number(w, at + MAP(swizzle), made->swizzle);
}
