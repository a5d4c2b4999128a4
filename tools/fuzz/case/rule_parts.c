/* rule_parts.c - the keys of a `fuzz` mapping: variables, the launch, arrays. */
#include <stdio.h>
#include <string.h>
#include "text/nearest.h"
#include "text/number.h"
#include "tools/fuzz/case/rule_builder.h"
#include "plan/plan.h"

enum { DEFAULT_ALIGN = 16 };

static bool is_reserved(const char *key)
{
    static const char *const words[] = {"grid",  "block", "shared",  "cluster",  "elements",
                                        "align", "lists", "without", "relations"};
    size_t i = 0;
    while (i < sizeof words / sizeof words[0] && strcmp(key, words[i]) != 0)
        i++;
    return i < sizeof words / sizeof words[0];
}

/* The type is a group of the pattern, and no kernel has been seen. */
static bool is_open(const struct signature_item *item)
{
    return item->type.dtype == DTYPE_NONE;
}

static const struct signature *signature_under(const struct rule_builder *b)
{
    return b->rule->plan->signature;
}

/* ---- variables ---- */

/* "1..300", "64..4096 step 64". */
static enum status read_range(struct rule_builder *b, const struct yaml_node *node,
                              const char *dots, struct fuzz_variable *v)
{
    const char *step = strstr(dots, " step ");
    const char *high = dots + 2, *end = step ? step : high + strlen(high);
    char *low_text = arena_text(b->arena, node->text, (size_t)(dots - node->text));
    char *high_text = arena_text(b->arena, high, (size_t)(end - high));
    if (!low_text || !high_text)
        return error_set(b->err, STATUS_NO_MEMORY, "no memory");
    enum status status = rule_expr(b, node, low_text, &v->low);
    if (!status)
        status = rule_expr(b, node, high_text, &v->high);
    if (!status && step)
        status = rule_expr(b, node, step + strlen(" step "), &v->step);
    int64_t from, to;
    if (!status && expr_constant(v->low, &from) && expr_constant(v->high, &to) && from > to)
        status = rule_error(b, node, "'%s' is %s; expected the smaller number first", v->name,
                            node->text);
    return status;
}

static enum status read_list(struct rule_builder *b, const struct yaml_node *node,
                             struct fuzz_variable *v)
{
    const char *text;
    if (node->count == 0 || node->count > FUZZ_ITEMS)
        return rule_error(b, node, "'%s' is a list of %zu; expected 1 to %d values", v->name,
                          node->count, FUZZ_ITEMS);
    v->kind = FUZZ_LIST;
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < node->count; i++) {
        status = yaml_text(node->item[i], v->name, &text, b->err);
        if (!status)
            status = rule_expr(b, node->item[i], text, &v->item[v->items++]);
    }
    return status;
}

static enum status read_integer(struct rule_builder *b, const struct yaml_node *node,
                                struct fuzz_variable *v)
{
    if (node->kind == YAML_KIND_SEQUENCE)
        return read_list(b, node, v);
    const char *text, *dots;
    enum status status = yaml_text(node, v->name, &text, b->err);
    if (status)
        return status;
    dots = strstr(text, "..");
    v->kind = dots ? FUZZ_RANGE : FUZZ_VALUE;
    return dots ? read_range(b, node, dots, v) : rule_expr(b, node, text, &v->low);
}

static enum status real_value(struct rule_builder *b, const struct yaml_node *node,
                              const char *text, size_t length, struct fuzz_real *real)
{
    char number[64];
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    return number_real(number, &real->item[real->items++])
               ? STATUS_OK
               : rule_error(b, node,
                            "'%s' is '%.40s'; expected numbers, such as [1e-5, 1e-6], or "
                            "0.5..2",
                            real->into->name, number);
}

static enum status read_real(struct rule_builder *b, const struct yaml_node *node,
                             struct fuzz_real *real)
{
    const char *text, *dots;
    if (node->kind == YAML_KIND_SEQUENCE && node->count > 0 && node->count <= FUZZ_ITEMS) {
        enum status status = STATUS_OK;
        for (size_t i = 0; !status && i < node->count; i++) {
            status = yaml_text(node->item[i], real->into->name, &text, b->err);
            if (!status)
                status = real_value(b, node->item[i], text, strlen(text), real);
        }
        return status;
    }
    enum status status = yaml_text(node, real->into->name, &text, b->err);
    if (status)
        return status;
    dots = strstr(text, "..");
    if (!dots)
        return real_value(b, node, text, strlen(text), real);
    real->range = true;
    status = real_value(b, node, text, (size_t)(dots - text), real);
    if (!status)
        status = real_value(b, node, dots + 2, strlen(dots + 2), real);
    if (!status && real->item[0] > real->item[1])
        status = rule_error(b, node, "'%s' is %s; expected the smaller number first",
                            real->into->name, text);
    return status;
}

/* The dense stride of dim `at`: what the dims inside it take. NULL: no memory. */
static char *dense_text(struct rule_builder *b, const struct signature_item *item, unsigned at)
{
    char *text = arena_format(b->arena, "1");
    unsigned block = dtype_block(item->type.dtype);
    for (unsigned i = item->ndim - 1; text && i > at; i--) {
        const char *outer = item->dim[i].stride ? item->dim[i].stride : text;
        if (!item->dim[i].extent)
            return NULL;
        unsigned share = block && i == item->ndim - 1 ? block : 1; /* strides count blocks */
        text = arena_format(b->arena, "(%s) / %u * (%s)", item->dim[i].extent, share, outer);
    }
    return text;
}

/* The step of an extent: whole blocks where arrays in block formats have it as their last dim. */
static unsigned step_of(const struct signature *signature, const char *name)
{
    unsigned step = 1;
    for (unsigned i = 0; i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        const char *last = item->array && item->ndim ? item->dim[item->ndim - 1].extent : NULL;
        unsigned block = dtype_block(item->type.dtype);
        if (last && strcmp(last, name) == 0 && block > step)
            step = block;
    }
    return step;
}

/* The role in the signature of an integer parameter that the mapping does not name: it is a stride
 * of some arrays, or an extent. */
static enum status guess_variable(struct rule_builder *b, struct fuzz_variable *v)
{
    const struct signature *signature = signature_under(b);
    char *dense = NULL;
    bool extent = v->into->type.dtype == DTYPE_BOOL;
    for (unsigned i = 0; i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        for (unsigned d = 0; item->array && d < item->ndim; d++) {
            const struct signature_dim *dim = &item->dim[d];
            extent |= dim->extent && strcmp(dim->extent, v->name) == 0;
            if (!dim->stride || dim->stride_bytes || strcmp(dim->stride, v->name) != 0)
                continue;
            char *text = dense_text(b, item, d);
            dense = dense && text ? arena_format(b->arena, "max(%s, %s)", dense, text) : text;
            if (!dense)
                return error_set(b->err, STATUS_NO_MEMORY, "no memory");
        }
    }
    if (dense) {
        v->kind = FUZZ_STRIDE;
        return rule_expr(b, b->bench->fuzz, dense, &v->low);
    }
    if (!extent)
        return rule_error(b, b->bench->fuzz,
                          "no values are given for '%s'; expected `%s: A..B`, a list of values, "
                          "or an expression",
                          v->name, v->name);
    v->kind = FUZZ_RANGE;
    bool flag = v->into->type.dtype == DTYPE_BOOL;
    const char *step = arena_format(b->arena, "%u", step_of(signature, v->name));
    if (!step)
        return error_set(b->err, STATUS_NO_MEMORY, "no memory");
    enum status status = rule_expr(b, b->bench->fuzz, flag ? "0" : step, &v->low);
    if (!status)
        status = rule_expr(b, b->bench->fuzz, flag ? "1" : "1024", &v->high);
    return status || strcmp(step, "1") == 0 ? status : rule_expr(b, b->bench->fuzz, step, &v->step);
}

/* A real parameter without a key: its reference does not determine its value. */
static enum status add_real(struct rule_builder *b, const struct signature_item *item,
                            const struct yaml_node *node)
{
    struct fuzz_real *real = &b->rule->real[b->rule->reals++];
    *real = (struct fuzz_real){.into = item};
    if (node)
        return read_real(b, node, real);
    return rule_error(b, b->bench->fuzz,
                      "no values are given for '%s'; expected `%s: [1e-5, 1]` or `%s: 0.5..2`",
                      item->name, item->name, item->name);
}

static const struct yaml_node *key_of(const struct rule_builder *b,
                                      const struct signature_item *item)
{
    const struct yaml_node *fuzz = b->bench->fuzz;
    for (size_t i = 0; i < fuzz->count; i++) {
        if (!is_reserved(fuzz->key[i]->text) &&
            signature_find(signature_under(b), fuzz->key[i]->text) == item)
            return fuzz->item[i];
    }
    return NULL;
}

/* All names first, so that expressions find them in any order. */
static enum status name_variables(struct rule_builder *b)
{
    const struct signature *signature = signature_under(b);
    const struct yaml_node *fuzz = b->bench->fuzz;
    for (unsigned i = 0; i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        if (item->array || is_open(item) || dtype_is_real(item->type.dtype))
            continue;
        if (item->index && item != rule_list_field(b, RULE_LIST_LENGTH))
            continue;
        struct fuzz_variable *v = rule_variable(b, item->name, FUZZ_VALUE);
        if (!v)
            return rule_error(b, fuzz, "more than %d names", FUZZ_SLOTS - FUZZ_SLOT_FREE);
        v->into = item;
    }
    for (size_t i = 0; i < fuzz->count; i++) {
        const char *key = fuzz->key[i]->text;
        if (!is_reserved(key) && !signature_find(signature, key) &&
            !rule_variable(b, key, FUZZ_VALUE))
            return rule_error(b, fuzz, "more than %d names", FUZZ_SLOTS - FUZZ_SLOT_FREE);
    }
    return STATUS_OK;
}

enum status rule_variables(struct rule_builder *b)
{
    const struct signature *signature = signature_under(b);
    enum status status = name_variables(b);
    unsigned named = b->rule->variables; /* expressions may borrow more */
    for (unsigned i = 0; !status && i < named; i++) {
        struct fuzz_variable *v = &b->rule->variable[i];
        const struct yaml_node *node =
            v->into ? key_of(b, v->into) : yaml_get(b->bench->fuzz, v->name);
        status = node ? read_integer(b, node, v) : guess_variable(b, v);
    }
    for (unsigned i = 0; !status && i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        if (!item->array && dtype_is_real(item->type.dtype))
            status = add_real(b, item, key_of(b, item));
    }
    return status;
}

/* ---- the launch ---- */

/* One expression, or up to three. */
static enum status read_shape(struct rule_builder *b, const char *key, bool required,
                              const struct expr *out[3])
{
    const struct yaml_node *node = yaml_get(b->bench->fuzz, key);
    const char *text;
    if (!node)
        return required ? rule_error(b, b->bench->fuzz,
                                     "'%s' is missing; expected an expression, or up to three: "
                                     "[ceil_div(n, 256), batch]",
                                     key)
                        : STATUS_OK;
    bool list = node->kind == YAML_KIND_SEQUENCE;
    if (list && (node->count < 1 || node->count > 3))
        return rule_error(b, node, "'%s' has %zu dims; expected 1 to 3", key, node->count);
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < (list ? node->count : 1); i++) {
        const struct yaml_node *at = list ? node->item[i] : node;
        status = yaml_text(at, key, &text, b->err);
        if (!status)
            status = rule_expr(b, at, text, &out[i]);
    }
    return status;
}

enum status rule_launch(struct rule_builder *b)
{
    struct fuzz_rule *rule = b->rule;
    const struct yaml_node *shared = yaml_get(b->bench->fuzz, "shared");
    const struct yaml_node *elements = yaml_get(b->bench->fuzz, "elements");
    const char *text;
    enum status status = read_shape(b, "block", true, rule->block);
    b->launch_names = FUZZ_SLOT_GRID;
    if (!status)
        status = read_shape(b, "grid", true, rule->grid);
    if (!status)
        status = read_shape(b, "cluster", false, rule->cluster);
    b->launch_names = FUZZ_SLOT_FREE;
    if (!status && shared)
        status = yaml_text(shared, "shared", &text, b->err);
    if (!status && shared)
        status = rule_expr(b, shared, text, &rule->shared);
    if (!status && elements)
        status = yaml_integer(elements, "elements", 1, 1 << 30, &rule->elements, b->err);
    return status;
}

/* ---- arrays ---- */

static enum status read_dist(struct rule_builder *b, const struct yaml_node *node,
                             struct fuzz_array *array)
{
    char name[64];
    const char *text;
    enum fuzz_dist dist;
    bool integers = dtype_is_integer(array->item->type.dtype);
    enum status status = yaml_text(node, "values", &text, b->err);
    if (status)
        return status;
    snprintf(name, sizeof name, "%s%.40s", integers ? "below_" : "", text);
    if (is_open(array->item))
        return STATUS_OK;
    if (fuzz_dist_of(name, &dist)) {
        array->dists |= 1u << dist;
        return STATUS_OK;
    }
    struct nearest nearest = {.word = text};
    char question[96];
    for (int i = 0; i < FUZZ_DISTS; i++) {
        if (fuzz_dist_integers((enum fuzz_dist)i) == integers)
            nearest_offer(&nearest, fuzz_dist_text((enum fuzz_dist)i));
    }
    return rule_error(b, node, "'%s' is no distribution of %s%s", text,
                      integers ? "integers" : "numbers",
                      nearest.name ? nearest_text(&nearest, question, sizeof question)
                                   : "; `cuvet help fuzz` lists them");
}

static enum status read_dists(struct rule_builder *b, const struct yaml_node *node,
                              struct fuzz_array *array)
{
    if (node->kind != YAML_KIND_SEQUENCE)
        return read_dist(b, node, array);
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < node->count; i++)
        status = read_dist(b, node->item[i], array);
    return status;
}

static enum status read_alias(struct rule_builder *b, const struct yaml_node *node,
                              struct fuzz_array *array)
{
    const char *text;
    enum status status = yaml_text(node, "alias", &text, b->err);
    if (status)
        return status;
    const struct signature_item *other = signature_find(signature_under(b), text);
    if (!other || !other->array || other == array->item)
        return rule_error(b, node, "'%s' is no other array of the signature", text);
    if (array->item->role != ROLE_WRITE || other->role != ROLE_READ)
        return rule_error(b, node,
                          "'%s' may coincide with an array that is read alone, and is written "
                          "alone itself; '%s' and '%s' are not",
                          array->item->name, array->item->name, text);
    array->alias = (int)other->number;
    return STATUS_OK;
}

static enum status read_null(struct rule_builder *b, const struct yaml_node *node,
                             struct fuzz_array *array)
{
    const char *text;
    enum status status = yaml_text(node, "null", &text, b->err);
    if (status)
        return status;
    if (!array->item->nullable)
        return rule_error(b, node, "'%s' is never null by its signature; expected '%s?' there",
                          array->item->name, array->item->name);
    bool always = strcmp(text, "always") == 0;
    array->null = always ? FUZZ_NULL_ALWAYS : FUZZ_NULL_NEVER;
    return always || strcmp(text, "never") == 0
               ? STATUS_OK
               : rule_error(b, node, "'null' is '%.40s'; expected always or never", text);
}

static enum status read_align(const struct yaml_node *node, uint32_t *out, struct error *err)
{
    int64_t align;
    enum status status = yaml_integer(node, "align", 1, 256, &align, err);
    if (!status && (align & (align - 1)))
        status = yaml_error(err, node, "fuzz: 'align' is %lld; expected a power of two",
                            (long long)align);
    *out = status ? 0 : (uint32_t)align;
    return status;
}

static enum status read_array_key(struct rule_builder *b, const struct yaml_node *node,
                                  const char *key, struct fuzz_array *array)
{
    const char *text;
    if (strcmp(key, "values") == 0)
        return read_dists(b, node, array);
    if (strcmp(key, "alias") == 0)
        return read_alias(b, node, array);
    if (strcmp(key, "null") == 0)
        return read_null(b, node, array);
    if (strcmp(key, "align") == 0)
        return read_align(node, &array->align, b->err);
    enum status status = yaml_text(node, key, &text, b->err);
    if (status)
        return status;
    if (strcmp(key, "below") == 0)
        return rule_expr(b, node, text, &array->below);
    if (strcmp(key, "from") == 0)
        return rule_expr(b, node, text, &array->from);
    if (strcmp(key, "rows") == 0)
        return rule_expr(b, node, text, &array->rows);
    if (strcmp(key, "also") == 0)
        return rule_expr(b, node, text, &array->also);
    return rule_error(b, node,
                      "'%s' of array '%s' is unknown; expected values, below, from, also, rows, "
                      "align, alias or null",
                      key, array->item->name);
}

static enum status read_array(struct rule_builder *b, const struct yaml_node *node,
                              struct fuzz_array *array)
{
    enum status status = STATUS_OK;
    if (node && node->kind != YAML_KIND_MAPPING)
        return rule_error(b, node, "'%s' is an array; expected a mapping, such as {values: normal}",
                          array->item->name);
    for (size_t i = 0; !status && node && i < node->count; i++)
        status = read_array_key(b, node->item[i], node->key[i]->text, array);
    bool integers = dtype_is_integer(array->item->type.dtype);
    bool sparse = array->item->rows || array->item->dim[0].kind == DIM_REST;
    if (!status && sparse && !array->rows)
        return rule_error(b, node ? node : b->bench->fuzz,
                          "no number of rows is given for '%s'; expected `%s: {rows: N}`",
                          array->item->name, array->item->name);
    if (!status && integers && role_reads(array->item->role) && !array->below)
        return rule_error(
            b, node ? node : b->bench->fuzz,
            "'%s' holds integers, and their range is not given; expected `%s: {below: N}`",
            array->item->name, array->item->name);
    return status;
}

enum status rule_arrays(struct rule_builder *b)
{
    const struct signature *signature = signature_under(b);
    const struct yaml_node *align = yaml_get(b->bench->fuzz, "align");
    uint32_t common = DEFAULT_ALIGN;
    enum status status = align ? read_align(align, &common, b->err) : STATUS_OK;
    b->launch_names = FUZZ_SLOT_FREE;
    for (unsigned i = 0; !status && i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        if (!item->array)
            continue;
        struct fuzz_array *array = &b->rule->array[item->number];
        *array = (struct fuzz_array){.item = item, .align = common, .alias = -1};
        array->null = item->nullable ? FUZZ_NULL_SOMETIMES : FUZZ_NULL_NEVER;
        b->rule->arrays = item->number >= b->rule->arrays ? item->number + 1 : b->rule->arrays;
        status = read_array(b, key_of(b, item), array);
    }
    return status;
}
