/*
 * plan_bind.c - the formals of a reference get their arguments: the one of the same name, or that
 * of `bind`. Contradictions are reported before any launch.
 */
#include "plan/plan_builder.h"

#include <stdio.h>
#include <string.h>
#include "names/ref_names.h"
#include "text/nearest.h"
#include "text/number.h"

struct missing {
    char names[200];
    size_t used;
    const char *first;
};

static const char *reference_name(const struct plan_builder *b)
{
    return b->source->builtin->name;
}

/* Where a message about formal `name` points to: its `bind`, or the reference's name. */
static const struct yaml_node *find_bind_place(const struct plan_builder *b, const char *name)
{
    const struct yaml_node *bind = yaml_get(b->source->bind, name);
    return bind ? bind : b->source->reference ? b->source->reference : b->source->signature;
}

static void add_missing(struct missing *missing, const char *name)
{
    missing->first = missing->first ? missing->first : name;
    int length = snprintf(missing->names + missing->used, sizeof missing->names - missing->used,
                          "%s'%s'", missing->used ? ", " : "", name);
    if (length > 0 && missing->used + (size_t)length < sizeof missing->names)
        missing->used += (size_t)length;
    else
        missing->names[missing->used] = '\0';
}

static enum status bound_text(const struct plan_builder *b, const char *formal, const char **out)
{
    const struct yaml_node *node = yaml_get(b->source->bind, formal);
    *out = NULL;
    return node ? yaml_text(node, formal, out, b->err) : STATUS_OK;
}

/* ---- arrays ---- */

static enum status check_role(const struct plan_builder *b, const struct formal *formal,
                              const struct signature_item *item)
{
    static const char *const words[] = {[ROLE_READ] = "const",
                                        [ROLE_WRITE] = "written only",
                                        [ROLE_INOUT] = "inout",
                                        [ROLE_ACC] = "acc",
                                        [ROLE_WS] = "ws"};
    enum role role = item->role;
    if (item->earlier && role != ROLE_READ && role != ROLE_WRITE)
        return yaml_error(b->err, find_bind_place(b, formal->name),
                          "'%s' is %s: what it held before the kernel of 'after' is gone when this "
                          "one begins; expected const, or written only",
                          item->name, words[role]);
    bool fits = role == ROLE_INOUT;
    const char *expected = "inout";
    if (formal->kind == FORMAL_IN) {
        fits |= role == ROLE_READ || role == ROLE_ACC;
        expected = "const, inout or acc";
    } else if (formal->kind == FORMAL_OUT) {
        fits |= role == ROLE_WRITE || role == ROLE_ACC;
        expected = "written, inout or acc";
    }
    if (fits)
        return STATUS_OK;
    return yaml_error(b->err, find_bind_place(b, formal->name),
                      "formal '%s' of '%s' needs an argument that is %s, but '%s' is %s",
                      formal->name, reference_name(b), expected, item->name, words[role]);
}

static enum status check_type(const struct plan_builder *b, const struct formal *formal,
                              const struct signature_item *item)
{
    enum dtype dtype = item->type.dtype;
    if (!formal->coded && dtype_block(dtype))
        return yaml_error(b->err, find_bind_place(b, formal->name),
                          "formal '%s' of '%s' takes no block formats, and '%s' is %s; coded "
                          "formals do, such as those of dequantise_blocks and linear_blocks",
                          formal->name, reference_name(b), item->name, dtype_text(dtype));
    bool known = dtype != DTYPE_NONE; /* before the kernel's name gives it */
    if (known && formal->kind == FORMAL_IN && !dtype_is_integer(dtype) &&
        ref_names_index(b->source->builtin, formal->name))
        return yaml_error(b->err, find_bind_place(b, formal->name),
                          "formal '%s' of '%s' is an array of indices, but '%s' is %s; expected an "
                          "integer type",
                          formal->name, reference_name(b), item->name, dtype_text(dtype));
    return STATUS_OK;
}

/* A rank that no launch can adapt: elements cannot vanish, so a formal without dims takes only
 * arrays of one element. Whether leading dims fold is known at a launch. */
static enum status check_rank(const struct plan_builder *b, const struct formal *formal,
                              const struct plan_array *array)
{
    for (unsigned i = 0; formal->ndim == 0 && i < array->item->ndim; i++) {
        int64_t extent;
        const struct expr *expr = array->dim[i].extent;
        if (expr && expr_constant(expr, &extent) && extent != 1)
            return yaml_error(b->err, find_bind_place(b, formal->name),
                              "formal '%s' of '%s' is one element, but '%s' has %lld", formal->name,
                              reference_name(b), array->item->name, (long long)extent);
    }
    int last = formal->ndim - 1;
    int64_t extent;
    if (last >= 0 && formal->dim[last].size < 0 && array->item->type.lanes == 1 &&
        (int)array->item->ndim <= formal->ndim && array->dim[array->item->ndim - 1].extent &&
        expr_constant(array->dim[array->item->ndim - 1].extent, &extent) &&
        extent != formal->dim[last].literal)
        return yaml_error(b->err, find_bind_place(b, formal->name),
                          "formal '%s' of '%s' has %lld columns, but '%s' has %lld", formal->name,
                          reference_name(b), (long long)formal->dim[last].literal,
                          array->item->name, (long long)extent);
    return STATUS_OK;
}

/* Each element has one expected value, so two outputs cannot share an array. */
static enum status check_single_writer(const struct plan_builder *b, const struct formal *formal,
                                       int array)
{
    for (int i = 0; i < b->plan->formals->count; i++) {
        const struct formal *other = &b->plan->formals->formal[i];
        if (other == formal)
            return STATUS_OK;
        if ((other->kind == FORMAL_OUT || other->kind == FORMAL_INOUT) &&
            b->plan->tensor[other->slot].array == array)
            return yaml_error(b->err, find_bind_place(b, formal->name),
                              "outputs '%s' and '%s' are both bound to '%s'", other->name,
                              formal->name, b->plan->array[array].item->name);
    }
    return STATUS_OK;
}

static enum status bind_tensor(struct plan_builder *b, const struct formal *formal,
                               struct missing *missing)
{
    struct plan_tensor *tensor = &b->plan->tensor[formal->slot];
    const char *text;
    tensor->array = -1;
    enum status status = bound_text(b, formal->name, &text);
    if (status)
        return status;
    const struct signature_item *item =
        signature_find(b->plan->signature, text ? text : formal->name);
    if (!item && !text) {
        if (!formal->optional)
            add_missing(missing, formal->name);
        return STATUS_OK;
    }
    if (!item || !item->array) {
        struct nearest nearest = {.word = text ? text : formal->name};
        char question[96] = "";
        for (unsigned i = 0; i < b->plan->arrays && !item; i++)
            nearest_offer(&nearest, b->plan->array[i].item->name);
        return yaml_error(b->err, find_bind_place(b, formal->name),
                          "formal '%s' of '%s' is an array, but '%.60s' is %s%s", formal->name,
                          reference_name(b), nearest.word, item ? "a scalar" : "no argument",
                          nearest_text(&nearest, question, sizeof question));
    }
    status = check_role(b, formal, item);
    if (!status)
        status = check_type(b, formal, item);
    if (!status)
        status = check_rank(b, formal, &b->plan->array[item->number]);
    if (!status && formal->kind != FORMAL_IN)
        status = check_single_writer(b, formal, (int)item->number);
    tensor->array = (int)item->number;
    b->plan->array[item->number].bound = true;
    b->plan->needs_before |= item->role == ROLE_INOUT || item->role == ROLE_ACC;
    return status;
}

/* ---- scalars and sizes ---- */

/* Arguments of `bind` may be read from memory, when the launch has run. */
static enum status late_expr(struct plan_builder *b, const char *formal, const char *what,
                             const char *text, const struct expr **out)
{
    b->may_read = true;
    enum status status = plan_expr(b, find_bind_place(b, formal), what, formal, text, out);
    b->may_read = false;
    if (!status)
        plan_use(b, *out);
    return status;
}

/* A real formal that is one element of an array. */
static enum status bind_element(struct plan_builder *b, const struct formal *formal,
                                const char *array, const char *index)
{
    struct plan_real *real = &b->plan->real[formal->slot];
    b->may_read = true;
    real->element = plan_value(b, array, index, true);
    b->may_read = false;
    if (real->element < 0) {
        const struct yaml_node *node = find_bind_place(b, formal->name);
        error_prefix(b->err, "%s:%u:%u: formal '%s'", node->file, node->line, node->column,
                     formal->name);
        return STATUS_INVALID;
    }
    real->reads = 1u << real->element;
    return STATUS_OK;
}

static enum status bind_real(struct plan_builder *b, const struct formal *formal,
                             struct missing *missing)
{
    struct plan_real *real = &b->plan->real[formal->slot];
    const char *text;
    enum status status = bound_text(b, formal->name, &text);
    if (status)
        return status;
    real->value = formal->fallback;
    real->optional = formal->optional;
    real->element = -1;
    if (text && number_real(text, &real->value))
        return STATUS_OK;
    const char *name = text ? text : formal->name, *array, *index;
    if (text && plan_is_element(b, text, &array, &index))
        return bind_element(b, formal, array, index);
    const struct signature_item *item = signature_find(b->plan->signature, name);
    if (item && item->array)
        return yaml_error(b->err, find_bind_place(b, formal->name),
                          "formal '%s' of '%s' is a number, but '%s' is an array", formal->name,
                          reference_name(b), name);
    if (item) {
        real->item = item;
        real->start = plan_start(b, item);
        status = plan_index(b, item, &real->index);
        plan_use(b, real->index);
        return status;
    }
    if (!text && !plan_has_value(b, name)) {
        if (!formal->optional)
            add_missing(missing, formal->name);
        return STATUS_OK;
    }
    return plan_real(b, find_bind_place(b, formal->name), formal->name, name, real);
}

/* A named dim (formal NULL) needs no source of its own: tensors give it. */
static enum status bind_size(struct plan_builder *b, const char *name, int size,
                             const struct formal *formal, struct missing *missing)
{
    const char *text;
    enum status status = bound_text(b, name, &text);
    if (status)
        return status;
    struct plan_size *out = &b->plan->size[b->plan->sizes];
    *out = (struct plan_size){.size = size,
                              .source = text ? text : name,
                              .is_dim = !formal,
                              .optional = !formal || formal->optional};
    if (!text && (!formal || !plan_has_value(b, name))) {
        if (!formal)
            return STATUS_OK;
        if (!formal->optional)
            add_missing(missing, name);
        out->value = (int64_t)formal->fallback;
        b->plan->sizes++;
        return STATUS_OK;
    }
    b->plan->sizes++;
    out->value = formal ? (int64_t)formal->fallback : 0;
    status = late_expr(b, name, formal ? "formal" : "size", out->source, &out->expr);
    if (status)
        return status;
    out->reads = plan_reads(b, out->expr);
    b->lowered += out->is_dim && out->reads;
    if (b->lowered > BINDING_NARROWS)
        return yaml_error(b->err, find_bind_place(b, name),
                          "more than %d dims are read from memory", BINDING_NARROWS);
    return STATUS_OK;
}

/* `bind: {loss: none}`: an argument of the formal's own name is not the formal's. */
static bool is_unbound(const struct plan_builder *b, const char *formal)
{
    const struct yaml_node *node = yaml_get(b->source->bind, formal);
    return node && node->kind == YAML_KIND_SCALAR && strcmp(node->text, "none") == 0 &&
           !signature_find(b->plan->signature, "none");
}

static enum status leave_unbound(struct plan_builder *b, const struct formal *formal)
{
    if (!formal->optional)
        return yaml_error(b->err, find_bind_place(b, formal->name),
                          "formal '%s' of '%s' cannot be left out (bind: none)", formal->name,
                          reference_name(b));
    if (formal_is_array(formal))
        b->plan->tensor[formal->slot].array = -1;
    else if (formal->kind == FORMAL_REAL)
        b->plan->real[formal->slot] =
            (struct plan_real){.value = formal->fallback, .optional = true, .element = -1};
    else
        b->plan->size[b->plan->sizes++] = (struct plan_size){.size = formal->slot,
                                                             .source = formal->name,
                                                             .optional = true,
                                                             .value = (int64_t)formal->fallback};
    return STATUS_OK;
}

static enum status bind_one(struct plan_builder *b, const struct formal *formal,
                            struct missing *missing)
{
    if (formal->kind != FORMAL_POINT && is_unbound(b, formal->name))
        return leave_unbound(b, formal);
    switch (formal->kind) {
    case FORMAL_REAL:
        return bind_real(b, formal, missing);
    case FORMAL_INT:
        return bind_size(b, formal->name, formal->slot, formal, missing);
    case FORMAL_POINT: /* set_points */
        return STATUS_OK;
    default:
        return bind_tensor(b, formal, missing);
    }
}

static bool is_size_name(const struct formals *formals, const char *name)
{
    for (int i = 0; i < formals->sizes; i++) {
        if (strcmp(formals->size_name[i], name) == 0)
            return true;
    }
    return false;
}

/* Named dims are those sizes that are no int formals. */
static enum status bind_dims(struct plan_builder *b)
{
    const struct formals *formals = b->plan->formals;
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < formals->sizes; i++) {
        if (!formals_find(formals, formals->size_name[i]))
            status = bind_size(b, formals->size_name[i], i, NULL, NULL);
    }
    return status;
}

/* ---- the whole ---- */

static enum status check_bind_keys(const struct plan_builder *b)
{
    const struct yaml_node *bind = b->source->bind;
    const struct formals *formals = b->plan->formals;
    enum status status = bind ? yaml_expect(bind, "bind", YAML_KIND_MAPPING, b->err) : STATUS_OK;
    for (size_t i = 0; !status && bind && i < bind->count; i++) {
        const char *name = bind->key[i]->text;
        const struct formal *formal = formals_find(formals, name);
        if (formal && formal->kind == FORMAL_POINT)
            return yaml_error(b->err, bind->key[i],
                              "bind: '%s' of '%s' is a rounding point; 'tolerance: {rounding: {%s: "
                              "bf16}}' declares it",
                              name, reference_name(b), name);
        if (formal || is_size_name(formals, name))
            continue;
        struct nearest nearest = {.word = name};
        char question[96];
        for (int j = 0; j < formals->count; j++)
            nearest_offer(&nearest, formals->formal[j].name);
        for (int j = 0; j < formals->sizes; j++)
            nearest_offer(&nearest, formals->size_name[j]);
        status = yaml_error(b->err, bind->key[i],
                            "bind: reference '%s' has no formal '%.60s' (it has: %s)%s",
                            reference_name(b), name, b->source->builtin->formals,
                            nearest_text(&nearest, question, sizeof question));
    }
    return status;
}

static struct tolerance dtype_tolerance(const struct plan_builder *b, enum dtype dtype)
{
    const struct tolerance_row *row =
        b->source->tolerances ? tolerance_find(b->source->tolerances, reference_name(b), dtype)
                              : NULL;
    struct tolerance tolerance = row ? row->tolerance : tolerance_fallback(dtype);
    if (b->source->override && b->source->override->transform_alone) {
        tolerance.transform = b->source->override->transform;
    } else if (b->source->override) {
        tolerance = *b->source->override;
        if (tolerance.accumulate == DTYPE_NONE)
            tolerance.accumulate = tolerance_fallback(dtype).accumulate;
    }
    return tolerance;
}

/* The points of the whole call. Rows of the table were held against the reference when read. */
static enum status set_points(struct plan_builder *b, enum dtype output)
{
    const struct tolerance *tolerance = &b->plan->tolerance;
    enum status status =
        tolerance_fits(tolerance, b->source->builtin, find_bind_place(b, ""), b->err);
    for (int i = 0; !status && i < tolerance->points; i++) {
        const struct tolerance_point *point = &tolerance->point[i];
        const struct formal *formal = formals_find(b->plan->formals, point->name);
        int dtype = point->code & ~REF_POINT_MAY;
        if (dtype == POINT_OF_OUTPUT)
            dtype = (int)output;
        b->plan->point[formal->slot] = (uint8_t)(dtype | (point->code & REF_POINT_MAY));
    }
    return status;
}

static bool is_narrow(enum dtype dtype)
{
    return dtype == DTYPE_F16 || dtype == DTYPE_BF16 || dtype == DTYPE_F8E4M3 ||
           dtype == DTYPE_F8E5M2;
}

/*
 * Numbers of f64 may become f32 before they become f16, bf16 or f8, as they do where a kernel
 * computes in f32 (PyTorch's c10::Half and c10::BFloat16 are made of an f32): two roundings in
 * place of one.
 */
static void allow_wide_inputs(struct plan_builder *b)
{
    struct tolerance *tolerance = &b->plan->tolerance;
    bool wide = false, narrow = true;
    for (int i = 0; i < b->plan->formals->count; i++) {
        const struct formal *formal = &b->plan->formals->formal[i];
        if (!formal_is_array(formal) || b->plan->tensor[formal->slot].array < 0)
            continue;
        enum dtype dtype = b->plan->array[b->plan->tensor[formal->slot].array].item->type.dtype;
        if (formal->kind == FORMAL_OUT || formal->kind == FORMAL_INOUT)
            narrow = narrow && is_narrow(dtype);
        else
            wide = wide || dtype == DTYPE_F64;
    }
    if (wide && narrow && tolerance->accumulate == DTYPE_F32 && tolerance->input_roundoff == 0)
        tolerance->input_roundoff = 0x1p-24;
}

/* Each output by its own dtype; the accumulator and the rounding points, one for the call, are
 * those of the first. */
static enum status set_tolerances(struct plan_builder *b)
{
    enum dtype output = DTYPE_F32;
    bool first = true;
    b->plan->tolerance = tolerance_fallback(DTYPE_F32);
    for (int i = 0; i < b->plan->formals->count; i++) {
        const struct formal *formal = &b->plan->formals->formal[i];
        if (formal->kind != FORMAL_OUT && formal->kind != FORMAL_INOUT)
            continue;
        struct plan_tensor *tensor = &b->plan->tensor[formal->slot];
        if (tensor->array < 0)
            continue;
        enum dtype dtype = b->plan->array[tensor->array].item->type.dtype;
        tensor->tolerance = dtype_tolerance(b, dtype);
        if (first) {
            b->plan->tolerance = tensor->tolerance;
            output = dtype;
        }
        first = false;
    }
    allow_wide_inputs(b);
    return set_points(b, output);
}

enum status plan_bind(struct plan_builder *b)
{
    struct formals *formals = arena_alloc(b->arena, sizeof *formals);
    if (!formals)
        return error_set(b->err, STATUS_NO_MEMORY, "no memory");
    b->plan->formals = formals;
    enum status status = formals_parse(formals, b->source->builtin->formals, b->err);
    if (!status)
        status = check_bind_keys(b);
    struct missing missing = {.used = 0};
    for (int i = 0; !status && i < formals->count; i++)
        status = bind_one(b, &formals->formal[i], &missing);
    if (!status)
        status = bind_dims(b);
    if (!status && missing.used)
        return yaml_error(b->err, find_bind_place(b, ""),
                          "reference '%s' needs %s, which no argument or bind gives; where names "
                          "differ, 'bind: {%s: ARGUMENT}' (formals: %s)",
                          reference_name(b), missing.names, missing.first,
                          b->source->builtin->formals);
    if (!status)
        status = plan_touch(b);
    return status ? status : set_tolerances(b);
}
