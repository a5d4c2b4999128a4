/* registry_entry.h - what registry_load.c makes of the files, for registry.c. */
#ifndef REGISTRY_REGISTRY_ENTRY_H
#define REGISTRY_REGISTRY_ENTRY_H

#include <stdio.h>
#include "names/name_filter.h"
#include "registry/contracts.h"
#include "plan/outlier_choice.h"
#include "names/pattern.h"
#include "plan/plan.h"
#include "registry/registry.h"
#include "registry/typed.h"
#include "registry/user_ref.h"

enum { REGISTRY_AFTERS = 64, REGISTRY_FILES = 64, REGISTRY_INCLUDES = 8 };

struct registry_entry {
    const char *where; /* "kernels.yaml:12" */
    const char *label; /* or NULL */
    struct pattern *pattern;
    struct plan_source source;
    const struct typed *typed; /* or NULL */
    double sample;             /* -1: not given */
    int64_t first;             /* -1: not given */
    double budget;             /* share of time, 0: no limit, -1: the common one */
    int64_t subset;            /* bytes, 0: off, -1: not given */
    double freivalds;          /* -1: not given */
    struct outlier_choice outlier;
    bool deterministic;
    bool call;                     /* it names library calls, not kernels */
    bool shipped;                  /* of a built-in table */
    int after;                     /* number among the entries with `after`, or -1 */
    struct pattern *after_pattern; /* or NULL */
    struct tolerance tolerance;
    const struct yaml_node *formula; /* whose roundings follow a kernel's types; or NULL */
    const struct lift *lift;         /* it was made for one kernel, of that one's PTX; or NULL */
    int64_t guess;                   /* of its checks, see struct kernel_spec */
    const struct yaml_node *fuzz;    /* the mapping, which `cuvet fuzz` reads; or NULL */
    const struct yaml_node *lint;    /* the same for `cuvet lint` */
    bool met;                        /* a kernel that was launched has its name */
    bool gave_up;           /* a regex of it took too many steps on a name, and that was reported */
    struct made_plan *made; /* registry.c's, below its lock: the plans made of it */
};

/* What a pattern of the filter is of; above these bits its owner has the number of the entry. */
enum registry_role { REGISTRY_KERNEL, REGISTRY_CALL, REGISTRY_AFTER, REGISTRY_ROLE_BITS = 2 };

/* The content of all files, in their order: a later entry wins over an earlier one. */
struct registry_content {
    struct arena arena;
    struct yaml_doc *doc[REGISTRY_FILES]; /* entries keep pointing into them */
    size_t docs;
    struct registry_entry **entry; /* NULL: one of a table that was not read yet ... */
    struct pattern **tried;        /* ... and its pattern, which may have been; from there on */
    size_t entries, room;
    size_t before_tables, shipped; /* from the first number on, up to the other: of the tables */
    bool tables, has_calls;
    struct name_filter filter; /* of all their patterns, in the order of the entries */
    int afters;
    struct tolerance_table tolerances;
    struct user_references users;
    struct contracts contracts;
};

/* Fills a zeroed *content; see registry_load. On STATUS_NO_MEMORY the caller releases it. */
enum status registry_content_load(struct registry_content *content,
                                  const struct registry_source *source,
                                  registry_complain_fn complain, void *user);
void registry_content_release(struct registry_content *content);

/* An entry by its number, read where it was not yet; NULL: no memory. Under the registry's lock,
 * but for offline tools. */
struct registry_entry *registry_content_entry(struct registry_content *content, size_t number);

/* The pattern of an entry by its number, read alone where the entry was not read yet. As above. */
const struct pattern *registry_content_pattern(struct registry_content *content, size_t number);

/* Reads the mapping of an entry, whose pattern may be there already; else NULL. `checked`: it is
 * known to be right; else it is compiled for no kernel in particular, for the sake of its errors.
 * STATUS_INVALID with file, line and column; STATUS_NO_MEMORY. registry_entry_release for what the
 * arena does not hold; NULL is fine. */
enum status registry_entry_read(struct registry_content *content, const struct yaml_node *node,
                                struct pattern *pattern, bool checked, struct registry_entry **out,
                                struct error *err);
void registry_entry_release(struct registry_entry *entry);

/* Prints each entry, with what stands behind every formal of its reference; allocates. */
void registry_content_print(struct registry_content *content, FILE *out);

#endif
