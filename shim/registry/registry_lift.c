/* registry_lift.c - the spec of a kernel whose own PTX is its reference: an entry made of the texts
 * that shim/lift has for it. */
#include <string.h>
#include "lift/lift.h"
#include "registry/registry_parts.h"

static const struct ref_builtin *make_reference(struct registry *registry, const struct lift *lift)
{
    struct ref_builtin *reference = arena_alloc(&registry->arena, sizeof *reference);
    if (!reference)
        return NULL;
    *reference = (struct ref_builtin){
        .name = LIFTED_REFERENCE, .formals = lift_formals(lift), .file = LIFTED_REFERENCE};
    return reference;
}

static struct yaml_node *make_text_node(struct registry *registry, const char *text)
{
    struct yaml_node *node = arena_alloc(&registry->arena, sizeof *node);
    if (node)
        *node = (struct yaml_node){.kind = YAML_KIND_SCALAR,
                                   .file = LIFTED_REFERENCE,
                                   .line = 1,
                                   .column = 1,
                                   .text = text,
                                   .quoted = true};
    return node;
}

/* `let:` or `pick:`. NULL: no memory. */
static struct yaml_node *make_mapping(struct registry *registry, size_t count)
{
    struct yaml_node *node = arena_alloc(&registry->arena, sizeof *node);
    const struct yaml_node **all = arena_alloc(&registry->arena, 2 * count * sizeof *all);
    if (!node || !all)
        return NULL;
    *node = (struct yaml_node){.kind = YAML_KIND_MAPPING,
                               .file = LIFTED_REFERENCE,
                               .line = 1,
                               .column = 1,
                               .count = count,
                               .key = all,
                               .item = all + count};
    return node;
}

static bool put_pair(struct registry *registry, struct yaml_node *mapping, size_t at,
                     const char *name, const char *text)
{
    const struct yaml_node **key = (const struct yaml_node **)&mapping->key[at];
    const struct yaml_node **item = (const struct yaml_node **)&mapping->item[at];
    *key = make_text_node(registry, name);
    *item = make_text_node(registry, text);
    return *key && *item;
}

/* Each check of a large launch covers a window of its blocks. */
static bool add_windows(struct registry *registry, struct registry_entry *entry,
                        const struct lift_windows *windows)
{
    if (!windows)
        return true;
    struct yaml_node *let = make_mapping(registry, windows->lets);
    struct yaml_node *pick = make_mapping(registry, 1);
    if (!let || !pick || !put_pair(registry, pick, 0, "window", "windows"))
        return false;
    for (unsigned i = 0; i < windows->lets; i++) {
        if (!put_pair(registry, let, i, windows->let[i].name, windows->let[i].text))
            return false;
    }
    entry->source.let = let;
    entry->source.pick = pick;
    return true;
}

/* As read_entry leaves an entry with the required keys alone. */
enum { LIFT_GUESS_NS = 2000000, PRODUCT_GUESS_NS = 50000000 };

static struct registry_entry *make_entry(struct registry *registry, const struct lift *lift)
{
    struct registry_entry *entry = arena_alloc(&registry->arena, sizeof *entry);
    const struct yaml_node *signature = make_text_node(registry, lift_signature(lift));
    const struct ref_builtin *reference = make_reference(registry, lift);
    if (!entry || !signature || !reference || !add_windows(registry, entry, lift_windows(lift)))
        return NULL;
    entry->where = LIFTED_REFERENCE;
    entry->source.signature = signature;
    entry->source.builtin = reference;
    entry->source.tolerances = &registry->content.tolerances;
    entry->sample = entry->budget = entry->freivalds = -1;
    entry->first = entry->after = -1;
    entry->outlier.spec.detector = -1;
    entry->lift = lift;
    entry->guess = lift_has_products(lift) ? PRODUCT_GUESS_NS : LIFT_GUESS_NS;
    return entry;
}

enum status registry_lift(struct registry *registry, const char *symbol,
                          const struct param_layout *layout, const struct lift *lift,
                          const struct kernel_spec **out, struct error *err)
{
    enum status status = STATUS_NO_MEMORY;
    pthread_mutex_lock(&registry->lock);
    struct registry_entry *entry = make_entry(registry, lift);
    struct known_symbol *known = arena_alloc(&registry->arena, sizeof *known);
    struct match *match = arena_alloc(&registry->arena, sizeof *match);
    if (entry && known && match && symbol_describe(&known->names, &registry->arena, symbol)) {
        match->entry = entry;
        status = registry_spec_make(registry, known, match, layout, out, err);
    }
    pthread_mutex_unlock(&registry->lock);
    return status == STATUS_NO_MEMORY ? error_set(err, status, "no memory") : status;
}
