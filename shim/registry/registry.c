/*
 * registry.c - kernels meet entries.
 *
 * A symbol that the patterns' filter lets pass is demangled and matched once against those that
 * may name it; the result stays in a table by name. A resolved kernel is kept by (symbol, parameter
 * list), failures included: modules are reloaded, and their kernels come back with new handles. One
 * lock guards table, arena and specs; what has been handed out is immutable.
 */
#include "registry/registry.h"
#include "text/printable.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "names/ref_names.h"
#include "registry/registry_parts.h"
#include "tables/tables.h"

enum { FIRST_SYMBOLS = 256 };

/* One parameter list of a symbol, and what came of it. */
struct resolution {
    const struct kernel_spec *spec; /* NULL: `skip` and `sentence` have the reason */
    enum skip skip;
    const char *sentence; /* "": it has been reported */
    struct resolution *next;
    struct param_layout layout; /* its parameters alone are allocated, as below */
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

bool registry_has_calls(const struct registry *registry)
{
    return registry->content.has_calls;
}

void registry_references(const struct registry *registry, bool *used)
{
    const struct registry_content *content = &registry->content;
    const char *name;
    for (size_t i = 0; i < content->entries; i++) {
        if (content->entry[i] && !content->entry[i]->source.builtin->user)
            used[content->entry[i]->source.builtin - ref_builtins] = true;
    }
    for (size_t i = 0; content->tables && (name = tables_reference(i)); i++) {
        const struct ref_builtin *builtin = ref_names_find(name);
        if (builtin)
            used[builtin - ref_builtins] = true;
    }
}

const struct user_references *registry_user_references(const struct registry *registry)
{
    return &registry->content.users;
}

const struct contract *registry_contract(const struct registry *registry, unsigned number)
{
    const struct contracts *contracts = &registry->content.contracts;
    return number < contracts->count ? &contracts->entry[number]->contract : NULL;
}

/* Of a table, the entries that name one are read at start. */
unsigned registry_detectors(const struct registry *registry, int fallback)
{
    unsigned used = 0;
    for (size_t i = 0; i < registry->content.entries; i++) {
        const struct registry_entry *entry = registry->content.entry[i];
        int detector = entry ? entry->outlier.spec.detector : -1;
        used |= 1u << (detector < 0 ? fallback : detector);
    }
    return used;
}

/* ---- symbols ---- */

/* Where the symbol is, or the free place for it. */
static struct known_symbol **symbol_place(struct registry *registry, uint64_t hash,
                                          const char *symbol)
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
            *symbol_place(registry, old[i]->hash, old[i]->names.mangled) = old[i];
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

/* The last entry before *at whose pattern of this role may name the symbol. */
static bool entry_before(struct registry *registry, const struct name_found *found, size_t *at,
                         enum registry_role role, size_t *entry)
{
    uint32_t owner;
    while (name_filter_before(&registry->content.filter, found, at, &owner)) {
        *entry = owner >> REGISTRY_ROLE_BITS;
        if ((owner & ((1u << REGISTRY_ROLE_BITS) - 1)) == role)
            return true;
    }
    return false;
}

static bool match_entries(struct registry *registry, const struct symbol_names *names,
                          const struct name_found *found, struct known_symbol *known)
{
    enum registry_role role = symbol_is_call(names->mangled) ? REGISTRY_CALL : REGISTRY_KERNEL;
    size_t at = registry->content.filter.patterns, number;
    while (entry_before(registry, found, &at, role, &number)) {
        struct captures captures;
        const struct pattern *pattern = registry_content_pattern(&registry->content, number);
        if (!pattern)
            return false;
        enum pattern_match match = pattern_match(pattern, names, &registry->arena, &captures);
        if (match == PATTERN_NO)
            continue;
        struct registry_entry *entry = registry_content_entry(&registry->content, number);
        if (!entry || !add_match(registry, known, entry, &captures, match == PATTERN_UNKNOWN))
            return false;
    }
    return true;
}

/* An `after` of which it is unknown comes behind all entries that name the kernel itself. */
static bool find_after(struct registry *registry, const struct symbol_names *names,
                       const struct name_found *found, struct arena *scratch,
                       struct known_symbol *known)
{
    const struct registry_content *content = &registry->content;
    size_t at = content->afters ? content->filter.patterns : 0, number;
    struct captures unused;
    while (entry_before(registry, found, &at, REGISTRY_AFTER, &number)) {
        struct registry_entry *entry = content->entry[number];
        enum pattern_match match = pattern_match(entry->after_pattern, names, scratch, &unused);
        if (match == PATTERN_YES)
            known->after |= (uint64_t)1 << entry->after;
        else if (match == PATTERN_UNKNOWN && !add_match(registry, known, entry, &unused, true))
            return false;
    }
    return true;
}

/* Under the lock. NULL: no memory. */
static struct known_symbol *symbol_record(struct registry *registry, const char *symbol)
{
    uint64_t hash = XXH3_64bits(symbol, strlen(symbol));
    struct known_symbol **place = symbol_place(registry, hash, symbol);
    if (*place)
        return *place;
    if (2 * registry->symbols >= registry->room) {
        if (!grow_table(registry))
            return NULL;
        place = symbol_place(registry, hash, symbol);
    }
    struct arena scratch = {0};
    struct symbol_names names;
    struct name_found found;
    struct known_symbol *known = arena_alloc(&registry->arena, sizeof *known);
    name_filter_look(&registry->content.filter, symbol, &found);
    bool done = known && symbol_describe(&names, &scratch, symbol) &&
                match_entries(registry, &names, &found, known) &&
                find_after(registry, &names, &found, &scratch, known);
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
    const struct known_symbol *known = symbol_record(registry, symbol);
    bool named = known && known->matches;
    pthread_mutex_unlock(&registry->lock);
    return named;
}

uint64_t registry_after(struct registry *registry, const char *symbol)
{
    if (!registry->content.afters || !registry_may_name(registry, symbol))
        return 0;
    pthread_mutex_lock(&registry->lock);
    const struct known_symbol *known = symbol_record(registry, symbol);
    uint64_t after = known ? known->after : 0;
    pthread_mutex_unlock(&registry->lock);
    return after;
}

/* ---- resolving ---- */

/* The sentence comes once for each entry: a program may have thousands of such names. */
static void refuse_entry(struct registry_entry *entry, struct error *err)
{
    if (!entry->gave_up)
        error_set(err, STATUS_UNSUPPORTED,
                  "%s: a regex of this entry takes too many steps on the kernel's name; further "
                  "such kernels are only counted",
                  entry->where);
    entry->gave_up = true;
}

/* Built-in tables describe some versions of a project. A kernel of another version, with another
 * parameter list, is one without an entry. */
static bool is_foreign(const struct known_symbol *known)
{
    for (const struct match *match = known->matches; match; match = match->next) {
        if (!match->entry->shipped || match->unknown)
            return false;
    }
    return true;
}

/* Tries the entries that name the symbol, the winning one first. The sentence of a failure is that
 * of the first: it is the entry that its author expects to count. */
static enum status resolve_symbol(struct registry *registry, const struct known_symbol *known,
                                  struct resolution *resolution)
{
    struct error first = {0};
    resolution->skip = is_foreign(known) ? SKIP_UNREGISTERED : SKIP_LAYOUT;
    for (const struct match *match = known->matches; match; match = match->next) {
        struct error err = {0};
        if (match->unknown) {
            resolution->skip = SKIP_PATTERN;
            refuse_entry(match->entry, &first);
            break;
        }
        enum status status = registry_spec_make(registry, known, match, &resolution->layout,
                                                &resolution->spec, &err);
        if (!status || status == STATUS_NO_MEMORY)
            return status;
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
        if (layout_same(&r->layout, layout))
            return r;
    }
    struct resolution *made =
        arena_alloc(&registry->arena, sizeof *made - sizeof made->layout + layout_bytes(layout));
    if (!made)
        return NULL;
    memcpy(&made->layout, layout, layout_bytes(layout));
    if (resolve_symbol(registry, known, made))
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
    struct known_symbol *known = symbol_record(registry, symbol);
    for (struct match *match = known ? known->matches : NULL; match; match = match->next)
        match->entry->met |= !match->unknown;
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
        if (*skip != SKIP_UNREGISTERED)
            error_set(err, STATUS_INVALID, "%s", found->sentence);
    }
    return found ? found->spec : NULL;
}

void registry_unmet(struct registry *registry, struct textbuf *out)
{
    const struct registry_content *content = &registry->content;
    size_t unmet = 0;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = content->shipped; i < content->entries; i++) {
        const struct registry_entry *entry = content->entry[i];
        if (entry->met || ++unmet > REGISTRY_UNMET)
            continue;
        const char *file = strrchr(entry->where, '/');
        textbuf_printf(out, "%s%s (%s)", unmet > 1 ? ", " : "",
                       PRINTABLE(pattern_text(entry->pattern)),
                       PRINTABLE(file ? file + 1 : entry->where));
    }
    pthread_mutex_unlock(&registry->lock);
    if (unmet > REGISTRY_UNMET)
        textbuf_printf(out, " and %zu more", unmet - REGISTRY_UNMET);
}

/* ---- offline tools ---- */

/* The plan of the signature, without the reference's formals. */
static enum status make_bench(struct registry *registry, const struct registry_entry *entry,
                              const struct captures *captures, const struct param_layout *layout,
                              struct registry_bench *out, struct error *err)
{
    struct plan_source source = entry->source;
    source.builtin = NULL;
    *out = (struct registry_bench){.source = &entry->source,
                                   .captures = captures,
                                   .fuzz = entry->fuzz,
                                   .lint = entry->lint,
                                   .let = entry->source.let,
                                   .where = entry->where};
    return plan_make(&out->plan, &registry->arena, &source, captures, layout, err);
}

/* Of a match: its captures, and types that the kernel's code shows. */
static enum status bench_of(struct registry *registry, const struct match *match,
                            const struct kernel_spec *spec, const struct param_layout *layout,
                            struct registry_bench *out, struct error *err)
{
    const struct typed *typed = match->entry->typed;
    const struct captures *captures = &match->captures;
    if (typed && typed->by_code) {
        struct captures *all = arena_alloc(&registry->arena, sizeof *all);
        if (!all)
            return error_set(err, STATUS_NO_MEMORY, "no memory");
        *all = match->captures;
        enum status status = typed_seen(typed, spec->signature, layout, all, err);
        if (status)
            return status;
        captures = all;
    }
    return make_bench(registry, match->entry, captures, layout, out, err);
}

enum status registry_bench(struct registry *registry, const struct kernel_spec *spec,
                           const struct param_layout *layout, struct registry_bench *out,
                           struct error *err)
{
    pthread_mutex_lock(&registry->lock);
    const struct known_symbol *known = symbol_record(registry, spec->symbol);
    enum status status = known ? STATUS_NOT_FOUND : STATUS_NO_MEMORY;
    for (const struct match *match = known ? known->matches : NULL; match; match = match->next) {
        if (match->unknown || match->entry->where != spec->where)
            continue;
        status = bench_of(registry, match, spec, layout, out, err);
        break;
    }
    pthread_mutex_unlock(&registry->lock);
    return status;
}

enum status registry_visit_fuzz(struct registry *registry, registry_visit_fn visit, void *user,
                                registry_complain_fn complain, void *complain_user)
{
    enum status worst = STATUS_OK;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->content.entries; i++) {
        const struct registry_entry *entry = registry_content_entry(&registry->content, i);
        struct captures *groups = arena_alloc(&registry->arena, sizeof *groups);
        struct registry_bench bench;
        struct error err = {0};
        if (!entry || !entry->fuzz || !groups)
            continue;
        pattern_groups(entry->pattern, groups);
        enum status status = typed_open(entry->typed, groups, &err);
        if (!status)
            status = make_bench(registry, entry, groups, NULL, &bench, &err);
        if (!status)
            status = visit(user, &bench, &err);
        if (status)
            complain(complain_user, err.text);
        worst = worst ? worst : status;
    }
    pthread_mutex_unlock(&registry->lock);
    return worst;
}

void registry_visit(struct registry *registry,
                    void (*visit)(void *user, const struct registry_row *row), void *user)
{
    for (size_t i = 0; i < registry->content.entries; i++) {
        const struct registry_entry *entry = registry_content_entry(&registry->content, i);
        if (entry)
            visit(user, &(struct registry_row){
                            entry->where, pattern_text(entry->pattern), entry->label,
                            entry->source.builtin ? entry->source.builtin->name : NULL});
    }
}

void registry_print(struct registry *registry, FILE *out)
{
    registry_content_print(&registry->content, out);
}
