#include "lift/lift.h"

#include <stdlib.h>
#include <string.h>
#include "lift/lift_abi.h"
#include "lift/lift_parts.h"

const char *lift_refusal_text(enum lift_refusal refusal)
{
    static const char *const texts[LIFT_REFUSALS] = {[LIFT_OK] = "lifted",
#define LIFT_REFUSAL(name, text) [LIFT_##name] = text,
                                                     LIFT_REFUSAL_LIST(LIFT_REFUSAL)
#undef LIFT_REFUSAL
    };
    return (unsigned)refusal < LIFT_REFUSALS ? texts[refusal] : "an unknown reason";
}

enum lift_refusal lift_refuse(const struct lift *lift, const struct ptx_instruction *at,
                              enum lift_refusal refusal, struct error *err)
{
    const char *kernel = lift->kernel ? lift->kernel->name : "";
    if (at)
        error_set(err, STATUS_UNSUPPORTED, "%.200s cannot be lifted: PTX line %u, %.60s: %s",
                  kernel, at->line, at->text, lift_refusal_text(refusal));
    else
        error_set(err, STATUS_UNSUPPORTED, "%.200s cannot be lifted: %s", kernel,
                  lift_refusal_text(refusal));
    return refusal;
}

/* ---- reading ---- */

static enum lift_refusal read_lift_kernel(struct lift *lift, const char *ptx, size_t bytes,
                                          const char *symbol, struct error *err)
{
    if (ptx_read(ptx, bytes, symbol, &lift->module, err))
        return LIFT_PTX;
    lift->kernel = ptx_find_function(lift->module, symbol);
    if (!lift->kernel || !lift->kernel->is_entry || !lift->kernel->has_body) {
        error_set(err, STATUS_NOT_FOUND, "%.200s cannot be lifted: its PTX has no such kernel",
                  symbol);
        return LIFT_PTX;
    }
    if (ptx_read_body(lift->module, lift->kernel, err))
        return LIFT_PTX;
    for (unsigned i = 0; i < lift->module->variable_count; i++) {
        if (lift->module->variables[i].relocation_count) /* it holds addresses */
            return lift_refuse(lift, NULL, LIFT_ADDRESS, err);
    }
    lift->reg = arena_alloc(&lift->arena, (lift->kernel->register_count + 1) * sizeof *lift->reg);
    lift->step =
        arena_alloc(&lift->arena, (lift->kernel->instruction_count + 1) * sizeof *lift->step);
    return lift->reg && lift->step ? LIFT_OK : LIFT_OTHER;
}

static bool operand_names(const struct ptx_operand *o, const struct ptx_variable *variable)
{
    bool found = o->kind == PTX_ADDRESS_OF && o->variable == variable;
    for (unsigned i = 0; i < o->count && !found; i++)
        found = operand_names(&o->items[i], variable);
    return found;
}

bool lift_uses(const struct lift *lift, const struct ptx_variable *variable)
{
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        for (unsigned k = 0; k < ins->operand_count; k++) {
            if (operand_names(&ins->operands[k], variable))
                return true;
        }
    }
    return false;
}

/* Adds the shared arrays of a list that the kernel uses; false: they are too many, or one of
 * several is sized by the launch. */
static bool add_shared(struct lift *lift, const struct ptx_variable *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct lift_part *part = &lift->part[lift->parts];
        if (list[i].space != PTX_SHARED || !lift_uses(lift, &list[i]))
            continue;
        if (lift->parts == LIFT_PARTS ||
            (lift->parts && (list[i].is_extern || part[-1].variable->is_extern)))
            return false;
        /* A tensor map's box is swizzled by its address: it keeps the alignment of its array. */
        const size_t align = list[i].align > 16 ? list[i].align : 16;
        *part = (struct lift_part){&list[i], (lift->merged.bytes + align - 1) / align * align};
        lift->merged.bytes = part->offset + list[i].bytes;
        lift->merged.align =
            list[i].align > lift->merged.align ? list[i].align : lift->merged.align;
        lift->parts++;
    }
    return true;
}

/* The shared memory that the kernel uses, which shadows lie behind: several arrays become one. */
static void find_shared(struct lift *lift)
{
    lift->merged = (struct ptx_variable){.name = "cuvet_shared", .space = PTX_SHARED, .align = 16};
    const bool fine = add_shared(lift, lift->module->variables, lift->module->variable_count) &&
                      add_shared(lift, lift->kernel->variables, lift->kernel->variable_count);
    if (fine && lift->parts)
        lift->shared = lift->parts == 1 ? lift->part[0].variable : &lift->merged;
    if (!fine || lift->parts == 1)
        lift->parts = 0;
}

const struct lift_part *lift_part_of(const struct lift *lift, const struct ptx_variable *variable)
{
    for (unsigned i = 0; i < lift->parts; i++) {
        if (lift->part[i].variable == variable)
            return &lift->part[i];
    }
    return NULL;
}

/* ---- texts ---- */

static const struct lift_view *param_view(const struct lift *lift, unsigned param)
{
    for (unsigned i = 0; i < lift->views; i++) {
        if (lift->view[i].param == param)
            return &lift->view[i];
    }
    return NULL;
}

static const char *dtype_word(enum dtype dtype)
{
    static const char *const words[DTYPE_COUNT] = {
        [DTYPE_F32] = "f32",       [DTYPE_F16] = "f16",       [DTYPE_BF16] = "bf16",
        [DTYPE_F8E4M3] = "f8e4m3", [DTYPE_F8E5M2] = "f8e5m2", [DTYPE_I64] = "i64",
        [DTYPE_I32] = "i32",       [DTYPE_I16] = "i16",       [DTYPE_I8] = "i8",
        [DTYPE_U32] = "u32",       [DTYPE_U16] = "u16",       [DTYPE_U8] = "u8"};
    return words[dtype] ? words[dtype] : "u8";
}

static void put_pointer(struct textbuf *out, const struct lift *lift, const struct lift_view *view)
{
    static const char *const roles[] = {
        [ROLE_READ] = "const ", [ROLE_WRITE] = "", [ROLE_INOUT] = "inout "};
    textbuf_printf(out, "%s%s p%u?[", roles[view->role], dtype_word(view->dtype), view->param);
    unsigned size = lift_dtype_bytes(view->dtype);
    if (view->listed)
        lift_put_table(out, lift, view, size);
    else if (view->rows)
        textbuf_printf(out, "@p%u: (%s) / %u][(%s) / %u]", lift->view[view->rows - 1].param,
                       view->pitch, size, view->row, size);
    else if (view->first)
        textbuf_printf(out, "(%s) / %u - %s from %s]", view->end, size, view->first, view->first);
    else if (view->end || view->extent)
        textbuf_printf(out, "(%s) / %u]", view->end ? view->end : view->extent, size);
    else
        textbuf_printf(out, "*]");
}

static void put_array(struct textbuf *out, const struct lift *lift, const struct lift_view *view)
{
    struct textbuf pointer;
    if (!view->dims) {
        put_pointer(out, lift, view);
        return;
    }
    textbuf_init(&pointer);
    put_pointer(&pointer, lift, view);
    lift_put_map(out, view, pointer.data ? pointer.data : "");
    out->failed |= pointer.failed;
    textbuf_release(&pointer);
}

static void put_param_scalar(struct textbuf *out, const struct ptx_variable *param)
{
    unsigned bits = ptx_type_bits(param->type);
    bool real = param->type == PTX_F32 || param->type == PTX_F64 || param->type == PTX_F16;
    if (param->array || real || bits < 8)
        textbuf_printf(out, "_");
    else
        textbuf_printf(out, "i%u p%u", bits, param->index);
}

/* ---- windows ---- */

static void add_let(struct lift *lift, const char *name, const char *text)
{
    lift->windows.let[lift->windows.lets].name = name;
    lift->windows.let[lift->windows.lets++].text = text;
}

/* The name of the first element that a window reaches, at a multiple of 16 bytes where it names no
 * rows; NULL: the array's.
 */
static const char *add_first(struct lift *lift, unsigned array, const char *first)
{
    const struct lift_view *view = &lift->view[array];
    const unsigned size = lift_dtype_bytes(view->dtype),
                   unit = lift_names_rows(lift, array) ? size : 16;
    if (strcmp(first, "0") == 0)
        return NULL;
    const char *name = arena_format(&lift->arena, "first%u", view->param);
    add_let(lift, name, arena_format(&lift->arena, "(%s) / %u * %u / %u", first, unit, unit, size));
    return name;
}

/* Bytes of an array's rows in all blocks. */
static const char *named_rows_bytes(struct lift *lift, const struct lift_view *view)
{
    const struct lift_view *by = &lift->view[view->rows - 1];
    return arena_format(&lift->arena, "(%s) / %u * (%s)", by->extent, lift_dtype_bytes(by->dtype),
                        view->row);
}

/* The parts of arrays that a window of blocks reaches; the sum of the bytes that all blocks do. */
static const char *find_parts(struct lift *lift)
{
    const char *all = NULL;
    for (unsigned i = 0; i < lift->views; i++) {
        struct lift_view *view = &lift->view[i];
        const char *first = lift_first(lift, i), *end = lift_extent(lift, i, false);
        const char *bytes = view->rows ? named_rows_bytes(lift, view) : view->extent;
        const char *name = arena_format(&lift->arena, "bytes%u", view->param);
        if (!bytes ||
            (!view->rows && (!end || !strstr(end, "last_block") || lift_is_index(lift, i))))
            continue;
        if (!view->rows) {
            view->end = end;
            view->first = add_first(lift, i, first);
        }
        add_let(lift, name, bytes);
        all = all ? arena_format(&lift->arena, "%s + %s", all, name) : name;
    }
    return all;
}

/* A kernel with products works long for few bytes: of it a check covers PRODUCT_BLOCKS, or those at
 * one place along x where the grid has more along y and z. Where it has arrays of rows, such as the
 * weights of experts, these are as large as matrices: then it covers one block along x. */
enum { PRODUCT_BLOCKS = 16 };

static bool has_rows(const struct lift *lift)
{
    bool any = false;
    for (unsigned i = 0; i < lift->views; i++)
        any |= lift->view[i].rows > 0;
    return any;
}

static void find_windows(struct lift *lift, uint64_t window)
{
    lift->single = lift->products && has_rows(lift);
    const char *all = find_parts(lift);
    if (!all && !lift->products)
        return;
    const char *bytes =
        arena_format(&lift->arena, "(%s) / %llu", all ? all : "0", (unsigned long long)window);
    if (lift->products)
        bytes = arena_format(&lift->arena, "max(%s, (grid.x * grid.y * grid.z + %d) / %d)", bytes,
                             PRODUCT_BLOCKS - 1, PRODUCT_BLOCKS);
    add_let(lift, "windows",
            lift->single ? "grid.x" : arena_format(&lift->arena, "max(1, min(grid.x, %s))", bytes));
    add_let(lift, "first_block", "window * grid.x / windows");
    add_let(lift, "last_block", "(window + 1) * grid.x / windows - 1");
}

static const char *write_signature(struct lift *lift)
{
    struct textbuf out;
    textbuf_init(&out);
    for (unsigned i = 0; i < lift->kernel->param_count; i++) {
        const struct lift_view *view = param_view(lift, i);
        textbuf_printf(&out, "%s", i ? ", " : "");
        if (view)
            put_array(&out, lift, view);
        else
            put_param_scalar(&out, &lift->kernel->params[i]);
    }
    const char *text = out.failed ? NULL : arena_text(&lift->arena, out.data, out.length);
    textbuf_release(&out);
    return text;
}

static const char *write_formals(struct lift *lift)
{
    static const char *const roles[] = {
        [ROLE_READ] = "in", [ROLE_WRITE] = "out", [ROLE_INOUT] = "inout"};
    struct textbuf out;
    textbuf_init(&out);
    for (unsigned i = 0; i < lift->views - lift->tables; i++) {
        const struct lift_view *view = &lift->view[i];
        textbuf_printf(&out, "%s%s p%u?", i ? ", " : "", roles[view->role], view->param);
        if (view->rows)
            textbuf_printf(&out, "[r%u]", lift->view[view->rows - 1].param);
        textbuf_printf(&out, "[n%u]", view->param);
        if (view->listed)
            textbuf_printf(&out, "[m%u]", view->param);
    }
    for (unsigned i = 0; i < lift->views; i++) {
        if (lift_names_rows(lift, i))
            textbuf_printf(&out, ", touch r%u by p%u", lift->view[i].param, lift->view[i].param);
    }
    const char *text = out.failed ? NULL : arena_text(&lift->arena, out.data, out.length);
    textbuf_release(&out);
    return text;
}

/* ---- the whole ---- */

static enum lift_refusal analyse(struct lift *lift, uint64_t window, struct error *err)
{
    enum lift_refusal refusal = lift_classify(lift, err);
    if (refusal)
        return refusal;
    find_shared(lift);
    refusal = lift_put_constants(lift);
    if (!refusal)
        refusal = lift_flow(lift, err);
    if (!refusal)
        refusal = lift_find_arrays(lift, err);
    if (!refusal)
        refusal = lift_find_loaded(lift, err);
    if (refusal)
        return refusal;
    for (unsigned i = 0; i < lift->views; i++)
        lift->view[i].extent = lift->view[i].listed ? NULL : lift_extent(lift, i, true);
    for (unsigned i = lift->views - lift->tables; i < lift->views; i++) {
        if (!lift->view[i].extent)
            return lift_refuse(lift, NULL, LIFT_TABLE, err);
    }
    lift_find_rows(lift);
    if (window)
        find_windows(lift, window);
    lift->signature = write_signature(lift);
    lift->formals = write_formals(lift);
    return lift->signature && lift->formals ? LIFT_OK : LIFT_OTHER;
}

enum lift_refusal lift_make(struct lift **out, const char *ptx, size_t bytes, const char *symbol,
                            uint64_t window, struct error *err)
{
    struct lift *lift = calloc(1, sizeof *lift);
    *out = NULL;
    if (!lift)
        return LIFT_OTHER;
    lift->code = calloc(LIFT_CODES, sizeof *lift->code);
    lift->reached = calloc(1, sizeof *lift->reached);
    enum lift_refusal refusal =
        lift->code && lift->reached ? read_lift_kernel(lift, ptx, bytes, symbol, err) : LIFT_OTHER;
    if (!refusal)
        refusal = analyse(lift, window, err);
    if (refusal)
        lift_free(lift);
    else
        *out = lift;
    return refusal;
}

void lift_free(struct lift *lift)
{
    if (!lift)
        return;
    ptx_free(lift->module);
    arena_release(&lift->arena);
    for (unsigned i = 0; lift->code && i < LIFT_CODES; i++)
        free(lift->code[i].image);
    free(lift->code);
    free(lift->reached);
    free(lift);
}

struct lift_code *lift_code(const struct lift *lift, int arch)
{
    for (unsigned i = 0; i < LIFT_CODES; i++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&lift->code[i].arch, &none, arch) || none == arch)
            return &lift->code[i];
    }
    return NULL;
}

bool lift_code_failed(const struct lift *lift)
{
    bool failed = false;
    for (unsigned i = 0; i < LIFT_CODES; i++)
        failed |= atomic_load(&lift->code[i].state) == LIFT_CODE_FAILED;
    return failed;
}

unsigned lift_views(const struct lift *lift, const struct lift_view **out)
{
    *out = lift->view;
    return lift->views - lift->tables;
}

const char *lift_signature(const struct lift *lift)
{
    return lift->signature;
}

const char *lift_formals(const struct lift *lift)
{
    return lift->formals;
}

bool lift_has_maps(const struct lift *lift)
{
    bool any = false;
    for (unsigned i = 0; i < lift->views; i++)
        any |= lift->view[i].dims > 0;
    return any;
}

bool lift_has_tables(const struct lift *lift)
{
    return lift->tables > 0;
}

uint64_t lift_reached(const struct lift *lift)
{
    return atomic_load_explicit(lift->reached, memory_order_relaxed);
}

bool lift_note_reached(const struct lift *lift, uint64_t bytes)
{
    unsigned long long known = lift_reached(lift), wanted = 16;
    while (wanted < bytes)
        wanted *= 2;
    while (bytes && known < wanted) {
        if (atomic_compare_exchange_weak(lift->reached, &known, wanted))
            return true;
    }
    return false;
}

bool lift_has_products(const struct lift *lift)
{
    return lift->products;
}

const struct lift_windows *lift_windows(const struct lift *lift)
{
    return lift->windows.lets ? &lift->windows : NULL;
}

/* Bytes of the kernel's own shared memory, in whole units of 16. */
static size_t own_shared(const struct lift *lift)
{
    return lift->shared && !lift->shared->is_extern ? (lift->shared->bytes + 15) / 16 * 16 : 0;
}

size_t lift_cells(const struct lift *lift, size_t bytes)
{
    size_t whole = (bytes + 15) / 16 * 16;
    return lift->cell ? (whole + own_shared(lift)) / lift->cell * sizeof(struct lift_number) : 0;
}

size_t lift_shared(const struct lift *lift, size_t bytes, bool apart)
{
    size_t whole = (bytes + 15) / 16 * 16, own = own_shared(lift);
    if (!lift->cell)
        return bytes;
    if (own)
        whole += own - lift->shared->bytes; /* up to where the shadows begin */
    return apart ? whole + 16 : whole + lift_cells(lift, bytes);
}
