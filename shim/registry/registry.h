/*
 * registry.h - the YAML files that name kernels, and the lookup by kernel.
 *
 * Life: registry_load once at start (offline tools: any time); immutable afterwards except for the
 * specs that registry_resolve adds and the entries of the tables, which are read when a name that
 * they may name is seen; both under its own lock. Format: shim/README.md and config/README.md.
 */
#ifndef REGISTRY_REGISTRY_H
#define REGISTRY_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/error.h"
#include "text/textbuf.h"
#include "value/kernel_spec.h"
#include "value/launch.h"
#include "value/skip.h"

struct registry;

/* Called once for each problem: "kernels.yaml:12:7: unknown key 'refrence'; expected one of
 * ...". */
typedef void (*registry_complain_fn)(void *user, const char *sentence);

struct registry_source {
    const char *files;      /* paths separated by ':'; later entries win */
    const char *tolerances; /* path of a tolerance file, or NULL for the built-in table */
    bool tables;            /* the built-in tables of kernels come first */
};

/*
 * Reads all files. A bad entry is reported to `complain` and left out; the others stand.
 * STATUS_INVALID when anything was wrong (the registry is usable all the same), STATUS_NO_MEMORY
 * when nothing is (then *out is NULL). Blocks on files; not for the launch path.
 */
enum status registry_load(struct registry **out, const struct registry_source *source,
                          registry_complain_fn complain, void *user);
void registry_destroy(struct registry *registry); /* offline tools and tests; NULL is fine */

/* The number of entries, before they meet a kernel. */
size_t registry_entries(const struct registry *registry);

/* Whether an entry names library calls. */
bool registry_has_calls(const struct registry *registry);

/* Sets used[i] for each built-in reference i that an entry names, so that they can be loaded before
 * they are needed. */
void registry_references(const struct registry *registry, bool *used);

/* The references that entries bring along, to be compiled. As old as the registry. */
struct user_references;
const struct user_references *registry_user_references(const struct registry *registry);

/* The contracts of `parity:`, by number; NULL: there are no more. */
const struct contract *registry_contract(const struct registry *registry, unsigned number);

/* A bit for each enum outlier_detector that an entry uses, where one that names none uses
 * `fallback`. */
unsigned registry_detectors(const struct registry *registry, int fallback);

/* False: no entry names this mangled symbol, in any role. Takes no lock and allocates nothing; made
 * for all symbols of a module. */
bool registry_may_name(const struct registry *registry, const char *symbol);

/* Whether any entry's pattern names this mangled symbol, whatever its layout. Any thread; may
 * allocate (demangling) on the first call with a symbol. */
bool registry_names(struct registry *registry, const char *symbol);

/* The entries whose `after` names this symbol: a bit for each, by kernel_spec.after. As above. */
uint64_t registry_after(struct registry *registry, const char *symbol);

/*
 * For a kernel's first launch: finds the last entry whose pattern and parameter list fit, and
 * returns its spec, made once for each (symbol, layout) and valid for the life of the registry.
 * NULL with *skip = SKIP_UNREGISTERED when no entry names it, SKIP_LAYOUT when entries name it but
 * none fits: then `err` holds the sentence with both parameter lists. SKIP_PATTERN: a regex did not
 * come to an end on the name before an entry fitted; `err` has a sentence once for each entry. Any
 * thread; takes the registry's lock, allocates; called once for each kernel handle, never for a
 * launch of a known one.
 */
const struct kernel_spec *registry_resolve(struct registry *registry, const char *symbol,
                                           const struct param_layout *layout, enum skip *skip,
                                           struct error *err);

/*
 * The spec of a kernel that no entry names and whose own PTX is its reference (shim/lift); `lift`
 * stays as it is as long as the registry. As above, once for each kernel.
 */
enum status registry_lift(struct registry *registry, const char *symbol,
                          const struct param_layout *layout, const struct lift *lift,
                          const struct kernel_spec **out, struct error *err);

/*
 * The spec of one launch of a resolved kernel: `spec` itself, or, where types depend on what the
 * launch's parameters hold, the one for these types. It differs in signature and plan alone, has
 * the same number, and is made the first time, under the registry's lock. NULL with SKIP_SHAPE: the
 * launch's types are none that the entry names, or the plan does not go with them. Any thread.
 */
const struct kernel_spec *registry_typed(const struct kernel_spec *spec,
                                         const struct launch *launch, enum skip *skip,
                                         struct error *why);

/*
 * What the offline tools need of the entry that registry_resolve() found: its signature with the
 * dims of all arrays, bound or not, and its `fuzz` and `lint` mappings. As old as the registry.
 */
struct binding_plan;
struct captures;
struct plan_source;
struct yaml_node;
struct registry_bench {
    const struct binding_plan *plan;  /* of the signature alone: no formals */
    const struct plan_source *source; /* of the whole */
    const struct captures *captures;  /* of the pattern */
    const struct yaml_node *fuzz;     /* or NULL */
    const struct yaml_node *lint;     /* or NULL; its `ignore` is a sequence of texts */
    const struct yaml_node *let;      /* or NULL */
    const char *where;                /* "kernels.yaml:12" */
};

/* For a spec of this registry. */
enum status registry_bench(struct registry *registry, const struct kernel_spec *spec,
                           const struct param_layout *layout, struct registry_bench *out,
                           struct error *err);

/* Calls `visit` for each entry with a `fuzz` mapping, before a kernel matches it: its captures have
 * no values. What `visit` writes into `err` is reported to `complain`. */
typedef enum status (*registry_visit_fn)(void *user, const struct registry_bench *bench,
                                         struct error *err);
enum status registry_visit_fuzz(struct registry *registry, registry_visit_fn visit, void *user,
                                registry_complain_fn complain, void *complain_user);

/* Appends "f (k.yaml:3), g (k.yaml:9)": the entries of the user's files that matched no kernel of
 * registry_resolve, REGISTRY_UNMET of them at most. */
enum { REGISTRY_UNMET = 6 };
void registry_unmet(struct registry *registry, struct textbuf *out);

/* An entry, before it meets a kernel. Texts are as old as the registry. */
struct registry_row {
    const char *where;  /* "kernels.yaml:12" */
    const char *kernel; /* the pattern as it stands in the file */
    const char *label;  /* or NULL */
    const char *reference;
};
/* Calls `visit` for each entry, in their order. Offline tools. */
void registry_visit(struct registry *registry,
                    void (*visit)(void *user, const struct registry_row *row), void *user);

/* Prints the resolved table of entries, as `cuvet check` shows it. */
void registry_print(struct registry *registry, FILE *out);

#endif
