/*
 * registry.c - kernels meet entries.
 *
 * A symbol that the patterns' filter lets pass is demangled and matched against all of them once;
 * the result stays in a table by name. A resolved kernel is kept by (symbol, parameter list),
 * failures included: modules are reloaded, and their kernels come back with new handles. One lock
 * guards table, arena and specs; what has been handed out is immutable.
 */
#include "registry/registry.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "names/param_types.h"
#include "registry/registry_entry.h"

enum { FIRST_SYMBOLS = 256, LABEL = 100 };

struct match {
    struct registry_entry *entry;
    bool unknown; /* a regex of the entry did not come to an end on the name */
    struct match *next;
    struct captures captures; /* those that it counts alone are allocated */
};

/* One parameter list of a symbol, and what came of it. */
struct resolution {
    const struct kernel_spec *spec; /* NULL: `skip` and `sentence` say why */
    enum skip skip;
    const char *sentence; /* "": it has been told */
    struct resolution *next;
    struct param_layout layout; /* its parameters alone are allocated, as below */
};

/* A plan of an entry, which all kernels of equal captures and layout share. */
struct made_plan {
    const struct binding_plan *plan;
    const struct captures *captures;
    struct made_plan *next; /* the one made before */
    struct param_layout layout;
};

struct known_symbol {
    uint64_t hash;
    struct symbol_names names; /* of an unregistered one only the mangled */
    uint64_t after;            /* entries that name it with `after` */
    struct match *matches;     /* the winning entry first; NULL: unregistered */
    struct resolution *resolutions;
};

struct registry {
    struct registry_content content;
    pthread_mutex_t lock;
    struct arena arena;          /* below the lock */
    struct known_symbol **table; /* open addressing, a power of two */
    size_t symbols, room;
    uint32_t specs;
};

/* ---- life ---- */

enum status registry_load(struct registry **out, const struct registry_source *source,
                          registry_complain_fn complain, void *user)
{
    *out = NULL;
    struct registry *registry = calloc(1, sizeof *registry);
    if (!registry)
        return STATUS_NO_MEMORY;
    pthread_mutex_init(&registry->lock, NULL);
    enum status status = registry_content_load(&registry->content, source, complain, user);
    registry->table = calloc(FIRST_SYMBOLS, sizeof *registry->table);
    registry->room = FIRST_SYMBOLS;
    if (status == STATUS_NO_MEMORY || !registry->table) {
        registry_destroy(registry);
        return STATUS_NO_MEMORY;
    }
    *out = registry;
    return status;
}

void registry_destroy(struct registry *registry)
{
    if (!registry)
        return;
    registry_content_release(&registry->content);
    arena_release(&registry->arena);
    free(registry->table);
    pthread_mutex_destroy(&registry->lock);
    free(registry);
}

size_t registry_entries(const struct registry *registry)
{
    return registry->content.entries;
}

void registry_references(const struct registry *registry, bool *used)
{
    for (size_t i = 0; i < registry->content.entries; i++) {
        if (!registry->content.entry[i]->source.builtin->user)
            used[registry->content.entry[i]->source.builtin - ref_builtins] = true;
    }
}

const struct user_references *registry_user_references(const struct registry *registry)
{
    return &registry->content.users;
}

unsigned registry_detectors(const struct registry *registry, int fallback)
{
    unsigned used = 0;
    for (size_t i = 0; i < registry->content.entries; i++) {
        int detector = registry->content.entry[i]->outlier.spec.detector;
        used |= 1u << (detector < 0 ? fallback : detector);
    }
    return used;
}

/* ---- symbols ---- */

/* Where the symbol is, or the free place for it. */
static struct known_symbol **place_of(struct registry *registry, uint64_t hash, const char *symbol)
{
    size_t at = hash & (registry->room - 1);
    while (registry->table[at] && (registry->table[at]->hash != hash ||
                                   strcmp(registry->table[at]->names.mangled, symbol) != 0))
        at = (at + 1) & (registry->room - 1);
    return &registry->table[at];
}

static bool grow_table(struct registry *registry)
{
    struct known_symbol **old = registry->table;
    size_t old_room = registry->room;
    struct known_symbol **table = calloc(2 * old_room, sizeof *table);
    if (!table)
        return false;
    registry->table = table;
    registry->room = 2 * old_room;
    for (size_t i = 0; i < old_room; i++) {
        if (old[i])
            *place_of(registry, old[i]->hash, old[i]->names.mangled) = old[i];
    }
    free(old);
    return true;
}

/* Appends a match, or an entry of which it is unknown. False: no memory. */
static bool add_match(struct registry *registry, struct known_symbol *known,
                      struct registry_entry *entry, const struct captures *captures, bool unknown)
{
    size_t caught = offsetof(struct captures, capture) +
                    (unknown ? 0 : captures->count) * sizeof captures->capture[0];
    struct match **out = &known->matches;
    struct match *match =
        arena_alloc(&registry->arena, sizeof *match - sizeof match->captures + caught);
    if (!match)
        return false;
    match->entry = entry;
    if (!unknown)
        memcpy(&match->captures, captures, caught);
    match->unknown = unknown;
    while (*out)
        out = &(*out)->next;
    *out = match;
    return true;
}

static bool match_entries(struct registry *registry, const struct symbol_names *names,
                          struct known_symbol *known)
{
    const struct registry_content *content = &registry->content;
    for (size_t i = content->entries; i-- > 0;) {
        struct captures captures;
        enum pattern_match match =
            pattern_match(content->entry[i]->pattern, names, &registry->arena, &captures);
        if (match != PATTERN_NO &&
            !add_match(registry, known, content->entry[i], &captures, match == PATTERN_UNKNOWN))
            return false;
    }
    return true;
}

/* An `after` of which it is unknown comes behind all entries that name the kernel itself. */
static bool find_after(struct registry *registry, const struct symbol_names *names,
                       struct arena *scratch, struct known_symbol *known)
{
    const struct registry_content *content = &registry->content;
    struct captures unused;
    for (size_t i = 0; content->afters && i < content->entries; i++) {
        struct registry_entry *entry = content->entry[i];
        enum pattern_match match = PATTERN_NO;
        if (entry->after_pattern)
            match = pattern_match(entry->after_pattern, names, scratch, &unused);
        if (match == PATTERN_YES)
            known->after |= (uint64_t)1 << entry->after;
        else if (match == PATTERN_UNKNOWN && !add_match(registry, known, entry, &unused, true))
            return false;
    }
    return true;
}

/* Under the lock. NULL: no memory. */
static struct known_symbol *know_symbol(struct registry *registry, const char *symbol)
{
    uint64_t hash = XXH3_64bits(symbol, strlen(symbol));
    struct known_symbol **place = place_of(registry, hash, symbol);
    if (*place)
        return *place;
    if (2 * registry->symbols >= registry->room) {
        if (!grow_table(registry))
            return NULL;
        place = place_of(registry, hash, symbol);
    }
    struct arena scratch = {0};
    struct symbol_names names;
    struct known_symbol *known = arena_alloc(&registry->arena, sizeof *known);
    bool done = known && symbol_describe(&names, &scratch, symbol) &&
                match_entries(registry, &names, known) &&
                find_after(registry, &names, &scratch, known);
    if (done && known->matches) {
        done = symbol_describe(&known->names, &registry->arena, symbol);
    } else if (done) {
        known->names.mangled = arena_text(&registry->arena, symbol, strlen(symbol));
        done = known->names.mangled != NULL;
    }
    arena_release(&scratch);
    if (!done)
        return NULL;
    known->hash = hash;
    *place = known;
    registry->symbols++;
    return known;
}

bool registry_may_name(const struct registry *registry, const char *symbol)
{
    return name_filter_may(&registry->content.filter, symbol);
}

bool registry_names(struct registry *registry, const char *symbol)
{
    if (!registry_may_name(registry, symbol))
        return false;
    pthread_mutex_lock(&registry->lock);
    const struct known_symbol *known = know_symbol(registry, symbol);
    bool named = known && known->matches;
    pthread_mutex_unlock(&registry->lock);
    return named;
}

uint64_t registry_after(struct registry *registry, const char *symbol)
{
    if (!registry->content.afters || !registry_may_name(registry, symbol))
        return 0;
    pthread_mutex_lock(&registry->lock);
    const struct known_symbol *known = know_symbol(registry, symbol);
    uint64_t after = known ? known->after : 0;
    pthread_mutex_unlock(&registry->lock);
    return after;
}

/* ---- specs ---- */

static void add_shape_param(struct kernel_spec *spec, const struct signature_item *item,
                            uint32_t start)
{
    if (spec->shape_params == SHAPE_PARAMS || item->earlier)
        return; /* the gate then tells fewer shapes apart; nothing else depends on it */
    spec->shape_param[spec->shape_params++] = (struct shape_param){
        .index = (uint16_t)item->param,
        .size = (uint16_t)(item->array ? 8 : dtype_bytes(item->type.dtype)),
        .start = start,
        .offset = item->offset,
        .pointer = item->array,
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

static size_t listed(const struct param_layout *layout)
{
    return layout->count < LAYOUT_MAX ? layout->count : LAYOUT_MAX;
}

/* Of the part that says anything. */
static size_t layout_bytes(const struct param_layout *layout)
{
    return offsetof(struct param_layout, param) + listed(layout) * sizeof layout->param[0];
}

/* In the arena, with the shape parameters that it has. NULL: no memory. */
static const struct kernel_spec *keep_spec(struct arena *arena, const struct kernel_spec *spec)
{
    size_t bytes = offsetof(struct kernel_spec, shape_param) +
                   spec->shape_params * sizeof spec->shape_param[0];
    void *kept = arena_alloc(arena, bytes);
    return kept ? memcpy(kept, spec, bytes) : NULL;
}

/* Under the lock. NULL: no memory. */
static const struct kernel_spec *make_spec(struct registry *registry,
                                           const struct known_symbol *known,
                                           const struct registry_entry *entry,
                                           const struct binding_plan *plan)
{
    struct kernel_spec made = {0}, *spec = &made;
    spec->symbol = known->names.mangled;
    spec->label = make_label(&registry->arena, entry, &known->names);
    spec->where = entry->where;
    spec->reference = entry->source.builtin;
    spec->signature = plan->signature;
    spec->plan = plan;
    spec->sample = entry->sample;
    spec->first = entry->first;
    spec->budget = entry->budget;
    spec->subset = entry->subset;
    spec->freivalds = entry->freivalds;
    spec->deterministic = entry->deterministic;
    spec->after = entry->after;
    struct error never = {0}; /* the names were found when the entry was read */
    if (outlier_choice_resolve(&entry->outlier, plan, &spec->outlier, &never))
        spec->outlier.inputs = 0;
    spec->needs_before = plan->needs_before;
    for (unsigned i = 0; i < plan->loads; i++)
        add_shape_param(spec, plan->load[i].item, plan->load[i].start);
    for (unsigned i = 0; i < plan->arrays; i++)
        if (!plan->array[i].index) /* pointers that are drawn tell launches apart too well */
            add_shape_param(spec, plan->array[i].item, plan->array[i].start);
    spec->number = registry->specs++;
    return spec->label ? keep_spec(&registry->arena, spec) : NULL;
}

static bool same_layout(const struct param_layout *a, const struct param_layout *b)
{
    return a->count == b->count && memcmp(a->param, b->param, listed(a) * sizeof a->param[0]) == 0;
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
static const struct binding_plan *find_plan(const struct match *match,
                                            const struct param_layout *layout)
{
    enum { MOST = 32 };
    const struct made_plan *made = match->entry->made;
    for (int i = 0; made && i < MOST; i++, made = made->next) {
        if (same_layout(&made->layout, layout) && same_captures(made->captures, &match->captures))
            return made->plan;
    }
    return NULL;
}

/* Without memory it is made again for the next kernel. */
static void keep_plan(struct registry *registry, const struct match *match,
                      const struct param_layout *layout, const struct binding_plan *plan)
{
    struct made_plan **last = &match->entry->made;
    struct made_plan *made =
        arena_alloc(&registry->arena, sizeof *made - sizeof made->layout + layout_bytes(layout));
    if (!made)
        return;
    made->plan = plan;
    made->captures = &match->captures;
    made->next = *last;
    memcpy(&made->layout, layout, layout_bytes(layout));
    *last = made;
}

static enum status plan_of(struct registry *registry, const struct match *match,
                           const struct param_layout *layout, const struct binding_plan **plan,
                           struct error *err)
{
    *plan = find_plan(match, layout);
    if (*plan)
        return STATUS_OK;
    enum status status =
        plan_make(plan, &registry->arena, &match->entry->source, &match->captures, layout, err);
    if (!status)
        keep_plan(registry, match, layout, *plan);
    return status;
}

/* The sentence comes once for each entry: a program may have thousands of such names. */
static void give_up(struct registry_entry *entry, struct error *err)
{
    if (!entry->gave_up)
        error_set(err, STATUS_UNSUPPORTED,
                  "%s: a regex of this entry takes too many steps on the kernel's name; further "
                  "such kernels are only counted",
                  entry->where);
    entry->gave_up = true;
}

/* Tries the entries that name the symbol, the winning one first. The sentence of a failure is that
 * of the first: it is the entry that its author expects to count. */
static enum status resolve(struct registry *registry, const struct known_symbol *known,
                           struct resolution *resolution)
{
    struct error first = {0};
    resolution->skip = SKIP_LAYOUT;
    for (const struct match *match = known->matches; match; match = match->next) {
        struct error err = {0};
        const struct binding_plan *plan;
        if (match->unknown) {
            resolution->skip = SKIP_PATTERN;
            give_up(match->entry, &first);
            break;
        }
        enum status status = plan_of(registry, match, &resolution->layout, &plan, &err);
        if (!status && param_types_fit(plan->signature, known->names.demangled, &err)) {
            error_prefix(&err, "%s", match->entry->where);
            status = STATUS_INVALID;
        }
        if (status == STATUS_NO_MEMORY)
            return status;
        if (!status) {
            resolution->spec = make_spec(registry, known, match->entry, plan);
            return resolution->spec ? STATUS_OK : STATUS_NO_MEMORY;
        }
        error_set(&first, status, "%s", err.text);
    }
    resolution->sentence = arena_text(&registry->arena, first.text, strlen(first.text));
    return resolution->sentence ? STATUS_OK : STATUS_NO_MEMORY;
}

/* Under the lock. NULL: no memory. */
static const struct resolution *find_resolution(struct registry *registry,
                                                struct known_symbol *known,
                                                const struct param_layout *layout)
{
    for (struct resolution *r = known->resolutions; r; r = r->next) {
        if (same_layout(&r->layout, layout))
            return r;
    }
    struct resolution *made =
        arena_alloc(&registry->arena, sizeof *made - sizeof made->layout + layout_bytes(layout));
    if (!made)
        return NULL;
    memcpy(&made->layout, layout, layout_bytes(layout));
    if (resolve(registry, known, made))
        return NULL;
    made->next = known->resolutions;
    known->resolutions = made;
    return made;
}

const struct kernel_spec *registry_resolve(struct registry *registry, const char *symbol,
                                           const struct param_layout *layout, enum skip *skip,
                                           struct error *err)
{
    const struct resolution *found = NULL;
    if (!registry_may_name(registry, symbol)) {
        *skip = SKIP_UNREGISTERED;
        return NULL;
    }
    pthread_mutex_lock(&registry->lock);
    struct known_symbol *known = know_symbol(registry, symbol);
    if (known && known->matches)
        found = find_resolution(registry, known, layout);
    pthread_mutex_unlock(&registry->lock);
    *skip = SKIP_NONE;
    if (known && !known->matches) {
        *skip = SKIP_UNREGISTERED;
    } else if (!found) {
        *skip = SKIP_LAYOUT;
        error_set(err, STATUS_NO_MEMORY, "%.200s: no memory to resolve it", symbol);
    } else if (!found->spec) {
        *skip = found->skip;
        error_set(err, STATUS_INVALID, "%s", found->sentence);
    }
    return found ? found->spec : NULL;
}

void registry_print(const struct registry *registry, FILE *out)
{
    registry_content_print(&registry->content, out);
}
