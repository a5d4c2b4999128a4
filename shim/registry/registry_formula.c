/* registry_formula.c - see registry_formula.h. */
#include "registry/registry_formula.h"

#include "registry/formula.h"

enum { BINDS = 1 + FORMULA_INPUTS + FORMULA_NUMBERS + FORMULA_WORDS };

struct formula_bind {
    struct arena *arena;
    const struct yaml_node *at; /* the formula: made nodes stand there */
    const struct yaml_node **key, **item;
    struct yaml_node *map;
    bool failed;
};

static const struct yaml_node *formula_text(struct formula_bind *b, const char *text)
{
    struct yaml_node *node = arena_alloc(b->arena, sizeof *node);
    b->failed |= !node || !text;
    if (!node)
        return NULL;
    *node = *b->at;
    node->kind = YAML_KIND_SCALAR;
    node->text = text;
    node->quoted = node->literal = false;
    return node;
}

static void bind_text(struct formula_bind *b, const char *formal, const char *value)
{
    b->key[b->map->count] = formula_text(b, formal);
    b->item[b->map->count++] = formula_text(b, value);
}

/* Formals that are called by a letter and a number, or by a letter alone. */
static void bind_numbered(struct formula_bind *b, const char *stem, unsigned i, const char *value)
{
    bind_text(b, arena_format(b->arena, "%s%u", stem, i), value);
}

static void bind_all(struct formula_bind *b, const struct formula *formula)
{
    static const char *const inputs[FORMULA_INPUTS] = {"a", "b", "c", "d"};
    bind_text(b, "y", formula->output);
    for (unsigned i = 0; i < FORMULA_INPUTS; i++)
        bind_text(b, inputs[i], i < formula->inputs ? formula->input[i] : "none");
    for (unsigned i = 0; i < FORMULA_NUMBERS; i++)
        bind_numbered(b, "k", i, i < formula->numbers ? formula->number[i] : "none");
    for (unsigned i = 0; i < FORMULA_WORDS; i++)
        bind_numbered(b, "code", i, arena_format(b->arena, "%lld", (long long)formula->word[i]));
}

struct formula_scope {
    const struct signature *signature;
    const struct captures *groups;
};

static bool is_array(void *user, const char *name)
{
    const struct formula_scope *scope = user;
    const struct signature_item *item = signature_find(scope->signature, name);
    return item && item->array;
}

static bool type_of(void *user, const char *name, enum dtype *out)
{
    const struct captures *groups = ((const struct formula_scope *)user)->groups;
    struct type type;
    for (unsigned i = 0; groups && i < groups->count; i++) {
        const struct capture *group = &groups->capture[i];
        if (strcmp(group->name, name) != 0)
            continue;
        *out = DTYPE_NONE;
        if (group->text && (!type_parse(group->text, &type) || type.lanes != 1))
            return false;
        if (group->text)
            *out = type.dtype;
        return true;
    }
    return false;
}

/* The signature without a kernel: open types are enough to distinguish arrays from numbers. */
static enum status read_signature(struct arena *arena, const struct yaml_node *node,
                                  const struct captures *groups, const struct signature **out,
                                  struct error *err)
{
    const char *text;
    enum status status = yaml_text(node, "signature", &text, err);
    if (status)
        return status;
    status = signature_parse(out, arena, text, groups, err);
    if (status)
        error_prefix(err, "%s:%u:%u", node->file, node->line, node->column);
    return status;
}

enum status registry_formula_bind(struct arena *arena, const struct yaml_node *formula,
                                  const struct yaml_node *signature, const struct captures *groups,
                                  const struct yaml_node **bind, bool *open, struct error *err)
{
    const struct signature *parsed = NULL;
    const char *text;
    struct formula compiled;
    enum status status = yaml_text(formula, "formula", &text, err);
    if (!status)
        status = read_signature(arena, signature, groups, &parsed, err);
    if (status)
        return status;
    struct formula_scope scope = {parsed, groups};
    struct formula_names names = {is_array, type_of, &scope};
    status = formula_compile(&compiled, arena, text, &names, err);
    if (status) {
        error_prefix(err, "%s:%u:%u", formula->file, formula->line, formula->column);
        return status;
    }
    struct formula_bind b = {.arena = arena, .at = formula};
    b.map = arena_alloc(arena, sizeof *b.map);
    b.key = arena_alloc(arena, BINDS * sizeof *b.key);
    b.item = arena_alloc(arena, BINDS * sizeof *b.item);
    if (!b.map || !b.key || !b.item)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    *b.map = *formula;
    b.map->kind = YAML_KIND_MAPPING;
    b.map->count = 0;
    b.map->key = b.key;
    b.map->item = b.item;
    bind_all(&b, &compiled);
    *bind = b.map;
    *open = compiled.open;
    return b.failed ? error_set(err, STATUS_NO_MEMORY, "no memory") : STATUS_OK;
}
