/*
 * plan.c - names to slots, lets into order, dims to programs.
 *
 * A name's slot is made at its first use in an expression, so that a launch reads only the
 * parameters that are used. Lets have their slots from the start, because they may name each other
 * in any order; they are sorted, and cycles found, once all are compiled.
 */
#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text/nearest.h"
#include "text/number.h"
#include "plan/plan_builder.h"

static const char *const builtin_names[SLOT_FREE] = {"grid.x",  "grid.y",  "grid.z",
                                                     "block.x", "block.y", "block.z"};

enum status plan_at(const struct plan_builder *b, const struct yaml_node *node, enum status status)
{
    if (status && node)
        error_prefix(b->err, "%s:%u:%u", node->file, node->line, node->column);
    return status;
}

/* ---- names ---- */

int plan_slot(struct plan_builder *b, const char *name)
{
    if (b->slots == PLAN_SLOTS) {
        error_set(b->err, STATUS_INVALID, "more than 58 names in expressions");
        return -1;
    }
    b->slot_name[b->slots] = name;
    return b->slots++;
}

/* A template argument as a number: 8, 8u, (int)8, (Kind)2, true. */
static bool capture_number(const char *text, int64_t *out)
{
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        *out = text[0] == 't';
        return true;
    }
    const char *cast = text[0] == '(' ? strrchr(text, ')') : NULL;
    if (cast)
        text = cast + 1;
    char digits[32];
    size_t length = strlen(text);
    while (length > 0 && strchr("uUlL", text[length - 1]))
        length--;
    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    return number_integer(digits, out);
}

static int capture_slot(struct plan_builder *b, const struct capture *capture)
{
    int64_t value = 0;
    if (capture->text && !capture_number(capture->text, &value)) {
        error_set(b->err, STATUS_INVALID, "the template argument %s is '%.60s', not a whole number",
                  capture->name, capture->text);
        return -1;
    }
    int slot = plan_slot(b, capture->name);
    if (slot >= 0)
        b->plan->constant[slot] = value;
    return slot;
}

static int guard_load(struct plan_builder *b, const struct signature_item *item);

static int item_slot(struct plan_builder *b, const struct signature_item *item)
{
    if (item->array || dtype_is_real(item->type.dtype)) {
        error_set(b->err, STATUS_INVALID, "'%s' is %s; expressions use integers", item->name,
                  item->array ? "an array" : dtype_text(item->type.dtype));
        return -1;
    }
    if (item->index)
        return plan_field(b, item);
    int guard = -1;
    if (item->guard && (guard = guard_load(b, &b->plan->signature->item[item->guard - 1])) < 0)
        return -1;
    int slot = plan_slot(b, item->name);
    if (slot >= 0)
        b->plan->load[b->plan->loads++] =
            (struct plan_load){item, plan_start(b, item), slot, guard};
    return slot;
}

/* The load of an integer that decides whether others are present; -1: no room. */
static int guard_load(struct plan_builder *b, const struct signature_item *item)
{
    for (unsigned i = 0; i < b->plan->loads; i++) {
        if (b->plan->load[i].item == item)
            return (int)i;
    }
    return item_slot(b, item) < 0 ? -1 : (int)b->plan->loads - 1;
}

static void unknown_name(struct plan_builder *b, const char *name)
{
    struct nearest nearest = {.word = name};
    char question[96];
    for (int i = 0; i < b->slots; i++)
        nearest_offer(&nearest, b->slot_name[i]);
    for (unsigned i = 0; i < b->plan->signature->items; i++) {
        const struct signature_item *item = &b->plan->signature->item[i];
        if (!item->array && !dtype_is_real(item->type.dtype))
            nearest_offer(&nearest, item->name);
    }
    for (unsigned i = 0; i < b->captures->count; i++)
        nearest_offer(&nearest, b->captures->capture[i].name);
    /* Two letters apart, `rows` beside `cols`, the name may be a size that is no parameter. */
    bool slip = nearest.name && (nearest.distance <= 1 || strchr(name, '.'));
    nearest_text(&nearest, question, sizeof question);
    if (slip)
        error_set(b->err, STATUS_INVALID, "unknown name '%s'%s", name, question);
    else
        error_set(
            b->err, STATUS_INVALID,
            "unknown name '%s'%s%s size that is no parameter needs a 'let', such as %s: grid.x",
            name, question, nearest.name ? " A" : "; a", name);
}

/* "grid.x" of the earlier launch, which goes by "after.grid.x". */
static int earlier_slot(struct plan_builder *b, const char *name)
{
    size_t stem = strlen(SIGNATURE_AFTER);
    for (int i = 0; i < SLOT_FREE; i++) {
        if (!b->source->after || strncmp(name, SIGNATURE_AFTER, stem) != 0 ||
            strcmp(name + stem, builtin_names[i]) != 0)
            continue;
        char *copy = arena_text(b->arena, name, strlen(name));
        int slot = copy ? plan_slot(b, copy) : -1;
        b->plan->after_slot[i] = slot + 1;
        return slot;
    }
    return -1;
}

/* Whether, in the earlier kernel's list, the name is one of its own; then `full` is what it goes
 * by.
 */
static bool is_earlier(struct plan_builder *b, const char *name, char full[160])
{
    if (!b->earlier || (size_t)snprintf(full, 160, SIGNATURE_AFTER "%s", name) >= 160)
        return false;
    for (int i = 0; i < SLOT_FREE; i++) {
        if (strcmp(name, builtin_names[i]) == 0)
            return true;
    }
    const struct signature_item *item = signature_find(b->plan->signature, full);
    return item && item->earlier;
}

static int find_plan_name(void *user, const char *name, const char *index, struct error *err)
{
    struct plan_builder *b = user;
    char full[160];
    (void)err; /* the builder's own */
    if (is_earlier(b, name, full)) {
        b->earlier = false;
        int slot = find_plan_name(b, full, index, err);
        b->earlier = true;
        return slot;
    }
    if (index) {
        int value = plan_value(b, name, index, false);
        return value < 0 ? value : b->plan->value[value].slot;
    }
    for (int i = 0; i < b->slots; i++) {
        if (strcmp(b->slot_name[i], name) == 0)
            return i;
    }
    const struct signature_item *item = signature_find(b->plan->signature, name);
    if (item)
        return item_slot(b, item);
    for (unsigned i = 0; i < b->captures->count; i++) {
        if (strcmp(b->captures->capture[i].name, name) == 0)
            return capture_slot(b, &b->captures->capture[i]);
    }
    int slot = earlier_slot(b, name);
    if (slot < 0)
        unknown_name(b, name);
    return slot;
}

struct expr_names plan_names(struct plan_builder *b)
{
    return (struct expr_names){find_plan_name, b};
}

bool plan_has_value(const struct plan_builder *b, const char *name)
{
    for (int i = 0; i < b->slots; i++) {
        if (strcmp(b->slot_name[i], name) == 0)
            return true;
    }
    for (unsigned i = 0; i < b->captures->count; i++) {
        if (strcmp(b->captures->capture[i].name, name) == 0)
            return true;
    }
    const struct signature_item *item = signature_find(b->plan->signature, name);
    return item && !item->array && !dtype_is_real(item->type.dtype);
}

enum status plan_expr(struct plan_builder *b, const struct yaml_node *node, const char *what,
                      const char *name, const char *text, const struct expr **out)
{
    struct expr_names names = plan_names(b);
    enum status status = expr_compile(out, b->arena, text, &names, b->err);
    if (status && what)
        error_prefix(b->err, "%s '%s'", what, name);
    return plan_at(b, node, status);
}

static void use_slot(void *user, int slot)
{
    struct plan_builder *b = user;
    b->used[slot] = true;
}

void plan_use(struct plan_builder *b, const struct expr *expr)
{
    if (expr)
        expr_slots(expr, use_slot, b);
}

uint32_t plan_start(const struct plan_builder *b, const struct signature_item *item)
{
    return b->layout && !item->earlier ? b->layout->param[item->param].offset : 0;
}

/* ---- arrays ---- */

static enum status make_dims(struct plan_builder *b, struct plan_array *array)
{
    const struct signature_item *item = array->item;
    enum status status = STATUS_OK;
    for (unsigned i = 0; !status && i < item->ndim; i++) {
        const struct signature_dim *from = &item->dim[i];
        struct plan_dim *dim = &array->dim[i];
        dim->stride_bytes = from->stride_bytes;
        if (from->extent)
            status = plan_expr(b, b->source->signature, "signature: array", item->name,
                               from->extent, &dim->extent);
        if (!status && from->stride)
            status = plan_expr(b, b->source->signature, "signature: array", item->name,
                               from->stride, &dim->stride);
        if (!status && from->from)
            status = plan_expr(b, b->source->signature, "signature: array", item->name, from->from,
                               &dim->from);
        int64_t value;
        if (!status && from->extent && expr_constant(dim->extent, &value) && value < 0)
            status = yaml_error(b->err, b->source->signature,
                                "signature: array '%s': extent %s is negative", item->name,
                                from->extent);
    }
    return status;
}

/* Of an array that addresses in device memory lead to, what these are called in reports. */
static enum status name_list(struct plan_builder *b, struct plan_array *array)
{
    if (!signature_listed(array->item))
        return STATUS_OK;
    if (b->plan->listed++ == PLAN_LISTED)
        return yaml_error(b->err, b->source->signature,
                          "signature: more than %d arrays [&n] behind addresses", PLAN_LISTED);
    if (b->plan->touched + b->plan->listed > PLAN_TOUCHED)
        return yaml_error(b->err, b->source->signature,
                          "signature: more than %d arrays [@ids] and [&n]", PLAN_TOUCHED);
    array->list = arena_format(b->arena, "&%s", array->item->name);
    return array->list ? STATUS_OK : error_set(b->err, STATUS_NO_MEMORY, "no memory");
}

/* The array whose elements name the rows of this one. */
static enum status find_rows(struct plan_builder *b, struct plan_array *array)
{
    const struct yaml_node *node = b->source->signature;
    const struct signature_item *item = array->item;
    array->rows = -1;
    if (!item->rows)
        return name_list(b, array);
    const struct signature_item *ids = signature_find(b->plan->signature, item->rows);
    if (!ids || !ids->array) {
        struct nearest nearest = {.word = item->rows};
        char question[96];
        for (unsigned i = 0; i < b->plan->signature->items; i++) {
            if (b->plan->signature->item[i].array)
                nearest_offer(&nearest, b->plan->signature->item[i].name);
        }
        return yaml_error(b->err, node, "signature: array '%s': no array is called '%.60s'%s",
                          item->name, item->rows,
                          nearest_text(&nearest, question, sizeof question));
    }
    enum dtype dtype = ids->type.dtype;
    bool fits = dtype == DTYPE_I32 || dtype == DTYPE_I64 || dtype == DTYPE_NONE;
    if (!fits || ids->type.lanes != 1 || ids->role != ROLE_READ || ids->dim[0].kind != DIM_SIZE)
        return yaml_error(b->err, node,
                          "signature: array '%s': '%s' cannot name rows; expected a const array of "
                          "i32 or i64 with dims of its own",
                          item->name, ids->name);
    if (item->dim[item->ndim - 1].kind != DIM_SIZE &&
        (item->type.lanes > 1 || dtype_block(item->type.dtype)))
        return yaml_error(b->err, node,
                          "signature: array '%s': vectors and blocks need a last dim of their own",
                          item->name);
    array->rows = (int)ids->number;
    if (b->plan->touched++ == PLAN_TOUCHED)
        return yaml_error(b->err, node, "signature: more than %d arrays with touched rows",
                          PLAN_TOUCHED);
    return STATUS_OK;
}

static enum status make_arrays(struct plan_builder *b)
{
    const struct signature *signature = b->plan->signature;
    b->plan->array = arena_alloc(b->arena, (signature->arrays + 1) * sizeof *b->plan->array);
    if (!b->plan->array)
        return error_set(b->err, STATUS_NO_MEMORY, "no memory");
    enum status status = STATUS_OK;
    for (unsigned i = 0; !status && i < signature->items; i++) {
        if (!signature->item[i].array)
            continue;
        struct plan_array *array = &b->plan->array[b->plan->arrays++];
        array->item = &signature->item[i];
        array->start = plan_start(b, array->item);
        b->earlier = array->item->earlier;
        status = plan_index(b, array->item, &array->index);
        if (!status)
            status = make_dims(b, array);
        if (!status)
            status = find_rows(b, array);
        b->earlier = false;
    }
    return status;
}

/* ---- the whole ---- */

/* A load that is kept keeps its guard, which stands before it. */
static void keep_loads(struct plan_builder *b)
{
    struct binding_plan *plan = b->plan;
    int place[PLAN_SLOTS];
    unsigned loads = 0;
    for (unsigned i = plan->loads; i-- > 0;) {
        if (b->used[plan->load[i].slot] && plan->load[i].guard >= 0)
            b->used[plan->load[plan->load[i].guard].slot] = true;
    }
    for (unsigned i = 0; i < plan->loads; i++) {
        struct plan_load load = plan->load[i];
        place[i] = (int)loads;
        load.guard = load.guard < 0 ? -1 : place[load.guard];
        if (b->used[load.slot])
            plan->load[loads++] = load;
    }
    plan->loads = loads;
}

/* Drops lets and loads that no bound array, `when` or formal needs, so that a launch does not pay,
 * or fail, for them. Lets go from last to first: a used one uses what stands before it. */
static void keep_used(struct plan_builder *b)
{
    struct binding_plan *plan = b->plan;
    for (unsigned i = 0; i < plan->arrays; i++) {
        const struct plan_array *array = &plan->array[i];
        bool needed = array->bound || !plan->formals;
        for (unsigned j = 0; needed && j < array->item->ndim; j++) {
            plan_use(b, array->dim[j].extent); /* NULL is fine */
            plan_use(b, array->dim[j].stride);
            plan_use(b, array->dim[j].from);
        }
        if (needed || array->read_from) {
            plan_use(b, array->when);
            plan_use(b, array->index);
        }
    }
    for (unsigned i = 0; i < plan->values; i++)
        plan_use(b, plan->value[i].index);
    for (unsigned i = plan->lets; i-- > 0;) {
        if (b->used[plan->let[i].slot])
            plan_use(b, plan->let[i].expr);
    }
    unsigned lets = 0;
    for (unsigned i = 0; i < plan->lets; i++) {
        if (b->used[plan->let[i].slot])
            plan->let[lets++] = plan->let[i];
    }
    plan->lets = lets;
    keep_loads(b);
}

static enum status parse_earlier(struct plan_builder *b)
{
    const struct yaml_node *node = b->source->after;
    const struct signature *earlier;
    const char *text;
    enum status status = node ? yaml_text(node, "signature", &text, b->err) : STATUS_OK;
    if (status || !node)
        return status;
    status = signature_parse(&earlier, b->arena, text, b->captures, b->err);
    if (!status)
        status = signature_join(&b->plan->signature, b->arena, b->plan->signature, earlier, b->err);
    return plan_at(b, node, status);
}

static enum status parse_signature(struct plan_builder *b)
{
    const struct yaml_node *node = b->source->signature;
    const char *text;
    enum status status = yaml_text(node, "signature", &text, b->err);
    if (status)
        return status;
    status =
        plan_at(b, node, signature_parse(&b->plan->signature, b->arena, text, b->captures, b->err));
    if (!status && b->layout && signature_fits(b->plan->signature, b->layout, b->err))
        return plan_at(b, node, STATUS_UNSUPPORTED);
    return status ? status : parse_earlier(b);
}

enum status plan_make(const struct binding_plan **out, struct arena *arena,
                      const struct plan_source *source, const struct captures *captures,
                      const struct param_layout *layout, struct error *err)
{
    static const struct captures none;
    struct error unsealed = {0};
    struct plan_builder b = {.arena = arena,
                             .source = source,
                             .captures = captures ? captures : &none,
                             .layout = layout,
                             .err = err ? err : &unsealed,
                             .slots = SLOT_FREE};
    memcpy(b.slot_name, builtin_names, sizeof builtin_names);
    b.plan = arena_alloc(arena, sizeof *b.plan);
    if (!b.plan)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    enum status status = parse_signature(&b);
    if (!status)
        status = plan_lets(&b);
    if (!status)
        status = make_arrays(&b);
    if (!status)
        status = plan_when(&b);
    if (!status && source->builtin)
        status = plan_bind(&b);
    if (!status && source->builtin)
        status = plan_state(&b);
    if (!status)
        status = plan_sort_lets(&b);
    if (status)
        return status;
    plan_order_guard(&b);
    keep_used(&b);
    *out = b.plan;
    return STATUS_OK;
}
