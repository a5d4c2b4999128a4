/*
 * registry_spec.c - an entry applied to a kernel: plans, specs, and the types that launches decide.
 *
 * A plan is made once for equal captures and layouts of an entry. All of it is the registry's
 * arena's, under its lock; what has been handed out is immutable.
 */
#include <stdatomic.h>
#include <string.h>
#include "names/param_types.h"
#include "registry/registry_formula.h"
#include "registry/registry_parts.h"

enum { LABEL = 100 };

/* A plan of an entry, which all kernels of equal captures and layout share. */
struct made_plan {
    const struct binding_plan *plan;
    const struct captures *captures;
    struct made_plan *next; /* the one made before */
    struct param_layout layout;
};

/* The plans of a kernel whose types each launch decides. */
struct typed_variant {
    uint8_t codes[TYPED_WORDS];
    const struct kernel_spec *spec; /* NULL: `sentence` has the reason */
    const char *sentence;
    struct typed_variant *next;
};

struct spec_types {
    struct registry *registry;
    const struct match *match;
    struct param_layout layout;
    struct typed_places places;
    _Atomic(struct typed_variant *) variants; /* each stays; the latest first */
};

/* ---- specs ---- */

static uint8_t shape_param_of(const struct kernel_spec *spec, const struct signature_item *item)
{
    for (unsigned i = 0; i < spec->shape_params; i++) {
        if (spec->shape_param[i].index == item->param &&
            spec->shape_param[i].offset == item->offset)
            return (uint8_t)(i + 1);
    }
    return 0;
}

static void add_shape_param(struct kernel_spec *spec, const struct signature_item *item,
                            uint32_t start)
{
    if (spec->shape_params == SHAPE_PARAMS || item->earlier)
        return; /* the gate then distinguishes fewer shapes; nothing else depends on it */
    spec->shape_param[spec->shape_params++] = (struct shape_param){
        .index = (uint16_t)item->param,
        .size = (uint16_t)(item->array ? 8 : dtype_bytes(item->type.dtype)),
        .start = start,
        .offset = item->offset,
        .pointer = item->array,
        .guard = item->guard ? shape_param_of(spec, &spec->signature->item[item->guard - 1]) : 0,
        .above = (uint8_t)item->above,
    };
}

static const char *make_label(struct arena *arena, const struct registry_entry *entry,
                              const struct symbol_names *names)
{
    if (entry->label)
        return entry->label;
    if (strlen(names->plain) <= LABEL)
        return names->plain;
    return arena_format(arena, "%.*s...", LABEL - 3, names->plain);
}

/* In the arena, with the shape parameters that it has. NULL: no memory. */
static const struct kernel_spec *keep_spec(struct arena *arena, const struct kernel_spec *spec)
{
    size_t bytes = offsetof(struct kernel_spec, shape_param) +
                   spec->shape_params * sizeof spec->shape_param[0];
    void *kept = arena_alloc(arena, bytes);
    return kept ? memcpy(kept, spec, bytes) : NULL;
}

static const struct contract *contract_of(const struct registry *registry,
                                          const struct known_symbol *known)
{
    struct arena scratch = {0};
    const struct contract *found =
        contracts_find(&registry->content.contracts, &known->names, &scratch);
    arena_release(&scratch);
    return found;
}

/* NULL: none is declared. What is no relation `cuvet fuzz` reports. */
static const char *relations_of(struct arena *arena, const struct registry_entry *entry)
{
    const struct yaml_node *list = yaml_get(entry->fuzz, "relations");
    const char *text = NULL;
    for (size_t i = 0; list && list->kind == YAML_KIND_SEQUENCE && i < list->count; i++) {
        if (list->item[i]->kind == YAML_KIND_SCALAR)
            text = arena_format(arena, "%s%s%s", text ? text : "", text ? ", " : "",
                                list->item[i]->text);
    }
    return text;
}

/* Under the lock. NULL: no memory. */
static const struct kernel_spec *make_spec(struct registry *registry,
                                           const struct known_symbol *known,
                                           const struct registry_entry *entry,
                                           const struct binding_plan *plan,
                                           struct spec_types *types)
{
    struct kernel_spec made = {0}, *spec = &made;
    spec->types = types;
    spec->symbol = known->names.mangled;
    spec->label = make_label(&registry->arena, entry, &known->names);
    spec->where = entry->where;
    spec->shipped = entry->shipped;
    spec->relations = relations_of(&registry->arena, entry);
    spec->reference = entry->source.builtin;
    spec->signature = plan->signature;
    spec->plan = plan;
    spec->sample = entry->sample;
    spec->first = entry->first;
    spec->budget = entry->budget;
    spec->subset = entry->subset;
    spec->freivalds = entry->freivalds;
    spec->deterministic = entry->deterministic;
    spec->contract = contract_of(registry, known);
    spec->lift = entry->lift;
    spec->guess = entry->guess;
    spec->after = entry->after;
    struct error never = {0}; /* the names were found when the entry was read */
    if (outlier_choice_resolve(&entry->outlier, plan, &spec->outlier, &never))
        spec->outlier.inputs = 0;
    spec->needs_before = plan->needs_before;
    for (unsigned i = 0; i < plan->loads; i++)
        add_shape_param(spec, plan->load[i].item, plan->load[i].start);
    for (unsigned i = 0; types && i < types->places.count; i++)
        add_shape_param(spec, types->places.place[i].item, types->places.place[i].start);
    for (unsigned i = 0; i < plan->arrays; i++)
        if (!plan->array[i].index) /* pointers that are drawn would make each launch a shape of its
                                    * own */
            add_shape_param(spec, plan->array[i].item, plan->array[i].start);
    spec->number = registry->specs++;
    return spec->label ? keep_spec(&registry->arena, spec) : NULL;
}

bool layout_same(const struct param_layout *a, const struct param_layout *b)
{
    return a->count == b->count &&
           memcmp(a->param, b->param, layout_listed(a) * sizeof a->param[0]) == 0;
}

static bool same_captures(const struct captures *a, const struct captures *b)
{
    for (unsigned i = 0; i < a->count && i < b->count; i++) {
        if (strcmp(a->capture[i].text, b->capture[i].text) != 0)
            return false;
    }
    return a->count == b->count;
}

/* Bounded: kernels of ever new captures are not worth a longer search. */
static const struct binding_plan *find_plan(const struct registry_entry *entry,
                                            const struct captures *captures,
                                            const struct param_layout *layout)
{
    enum { MOST = 32 };
    const struct made_plan *made = entry->made;
    for (int i = 0; made && i < MOST; i++, made = made->next) {
        if (layout_same(&made->layout, layout) && same_captures(made->captures, captures))
            return made->plan;
    }
    return NULL;
}

/* Without memory it is made again for the next kernel. */
static void keep_plan(struct registry *registry, struct registry_entry *entry,
                      const struct captures *captures, const struct param_layout *layout,
                      const struct binding_plan *plan)
{
    struct made_plan **last = &entry->made;
    struct made_plan *made =
        arena_alloc(&registry->arena, sizeof *made - sizeof made->layout + layout_bytes(layout));
    if (!made)
        return;
    made->plan = plan;
    made->captures = captures;
    made->next = *last;
    memcpy(&made->layout, layout, layout_bytes(layout));
    *last = made;
}

static enum status plan_of(struct registry *registry, struct registry_entry *entry,
                           const struct captures *captures, const struct param_layout *layout,
                           const struct binding_plan **plan, struct error *err)
{
    *plan = find_plan(entry, captures, layout);
    if (*plan)
        return STATUS_OK;
    struct plan_source source = entry->source;
    bool open;
    enum status status = STATUS_OK;
    if (entry->formula)
        status = registry_formula_bind(&registry->arena, entry->formula, source.signature, captures,
                                       &source.bind, &open, err);
    if (!status)
        status = plan_make(plan, &registry->arena, &source, captures, layout, err);
    if (!status)
        keep_plan(registry, entry, captures, layout, *plan);
    return status;
}

/* What the pattern caught, and the types of these codes (NULL: of no launch in particular). */
static enum status captures_of(struct registry *registry, const struct match *match,
                               const uint8_t *codes, const struct captures **out, struct error *err)
{
    *out = &match->captures;
    if (!match->entry->typed)
        return STATUS_OK;
    struct captures *all = arena_alloc(&registry->arena, sizeof *all);
    if (!all)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    all->count = match->captures.count;
    memcpy(all->capture, match->captures.capture, all->count * sizeof all->capture[0]);
    *out = all;
    return typed_captures(match->entry->typed, codes, all, err);
}

static enum status add_types(struct registry *registry, const struct match *match,
                             const struct param_layout *layout, const struct binding_plan *plan,
                             struct spec_types **out, struct error *err)
{
    *out = NULL;
    if (!match->entry->typed)
        return STATUS_OK;
    struct spec_types *types = arena_alloc(&registry->arena, sizeof *types);
    if (!types)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    types->registry = registry;
    types->match = match;
    memcpy(&types->layout, layout, layout_bytes(layout));
    *out = types;
    return typed_find(match->entry->typed, plan->signature, layout, &types->places, err);
}

/* The plan of the types that the kernel's code shows; *plan is that of any types before. */
static enum status plan_by_code(struct registry *registry, const struct match *match,
                                const struct param_layout *layout, const struct binding_plan **plan,
                                struct error *err)
{
    struct captures *all = arena_alloc(&registry->arena, sizeof *all);
    if (!all)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    *all = match->captures;
    enum status status = typed_seen(match->entry->typed, (*plan)->signature, layout, all, err);
    if (!status)
        return plan_of(registry, match->entry, all, layout, plan, err);
    error_prefix(err, "%s", match->entry->where);
    return status;
}

enum status registry_spec_make(struct registry *registry, const struct known_symbol *known,
                               const struct match *match, const struct param_layout *layout,
                               const struct kernel_spec **out, struct error *err)
{
    const struct captures *captures;
    const struct binding_plan *plan = NULL;
    struct spec_types *types = NULL;
    enum status status = captures_of(registry, match, NULL, &captures, err);
    if (!status)
        status = plan_of(registry, match->entry, captures, layout, &plan, err);
    if (!status && match->entry->typed && match->entry->typed->by_code)
        status = plan_by_code(registry, match, layout, &plan, err);
    else if (!status)
        status = add_types(registry, match, layout, plan, &types, err);
    if (!status && (param_types_fit(plan->signature, known->names.demangled, err) ||
                    param_codes_fit(plan->signature, layout, err))) {
        error_prefix(err, "%s", match->entry->where);
        status = STATUS_INVALID;
    }
    if (status)
        return status;
    *out = make_spec(registry, known, match->entry, plan, types);
    return *out ? STATUS_OK : STATUS_NO_MEMORY;
}

/* ---- types that launches decide ---- */

static struct typed_variant *find_variant(struct spec_types *types,
                                          const uint8_t codes[TYPED_WORDS])
{
    struct typed_variant *variant = atomic_load_explicit(&types->variants, memory_order_acquire);
    while (variant && memcmp(variant->codes, codes, TYPED_WORDS) != 0)
        variant = variant->next;
    return variant;
}

/* As `base`, with the plan of these types. Under the lock; NULL: no memory. */
static struct typed_variant *make_variant(const struct kernel_spec *base,
                                          const uint8_t codes[TYPED_WORDS])
{
    struct spec_types *types = base->types;
    struct registry *registry = types->registry;
    struct registry_entry *entry = types->match->entry;
    const struct binding_plan *plan = NULL;
    const struct captures *captures;
    struct kernel_spec made = {0};
    struct error err = {0}, never = {0};
    struct typed_variant *variant = arena_alloc(&registry->arena, sizeof *variant);
    if (!variant)
        return NULL;
    memcpy(variant->codes, codes, TYPED_WORDS);
    enum status status = captures_of(registry, types->match, codes, &captures, &err);
    if (!status)
        status = plan_of(registry, entry, captures, &types->layout, &plan, &err);
    memcpy(&made, base, offsetof(struct kernel_spec, shape_param));
    made.shape_params = 0; /* the gate has those of `base` */
    made.plan = plan;
    if (!status) {
        made.signature = plan->signature;
        if (outlier_choice_resolve(&entry->outlier, plan, &made.outlier, &never))
            made.outlier.inputs = 0;
        variant->spec = keep_spec(&registry->arena, &made);
    }
    variant->sentence = arena_text(&registry->arena, err.text, strlen(err.text));
    variant->next = atomic_load_explicit(&types->variants, memory_order_relaxed);
    if ((!status && !variant->spec) || !variant->sentence)
        return NULL;
    atomic_store_explicit(&types->variants, variant, memory_order_release);
    return variant;
}

const struct kernel_spec *registry_typed(const struct kernel_spec *spec,
                                         const struct launch *launch, enum skip *skip,
                                         struct error *why)
{
    struct spec_types *types = spec->types;
    uint8_t codes[TYPED_WORDS] = {0};
    *skip = SKIP_NONE;
    if (!types)
        return spec;
    *skip = SKIP_SHAPE;
    if (!typed_codes(types->match->entry->typed, &types->places, launch, codes, why))
        return NULL;
    struct typed_variant *variant = find_variant(types, codes);
    if (!variant) {
        pthread_mutex_lock(&types->registry->lock);
        variant = find_variant(types, codes);
        if (!variant)
            variant = make_variant(spec, codes);
        pthread_mutex_unlock(&types->registry->lock);
    }
    if (!variant || !variant->spec) {
        error_set(why, STATUS_INVALID, "%s", variant ? variant->sentence : "no memory");
        return NULL;
    }
    *skip = SKIP_NONE;
    return variant->spec;
}
