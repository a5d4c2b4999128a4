/* registry_parts.h - what registry.c and registry_spec.c share: kernels by name, and their specs.
 */
#ifndef REGISTRY_REGISTRY_PARTS_H
#define REGISTRY_REGISTRY_PARTS_H

#include <pthread.h>
#include <stddef.h>
#include "registry/registry_entry.h"

struct match {
    struct registry_entry *entry;
    bool unknown; /* a regex of the entry did not come to an end on the name */
    struct match *next;
    struct captures captures; /* those that it counts alone are allocated */
};

struct known_symbol {
    uint64_t hash;
    struct symbol_names names;      /* of an unregistered one only the mangled */
    uint64_t after;                 /* entries that name it with `after` */
    struct match *matches;          /* the winning entry first; NULL: unregistered */
    struct resolution *resolutions; /* registry.c's */
};

struct registry {
    struct registry_content content;
    pthread_mutex_t lock;
    struct arena arena;          /* below the lock */
    struct known_symbol **table; /* open addressing, a power of two */
    size_t symbols, room;
    uint32_t specs;
};

/* Parameters that a layout lists, and the bytes of it that are filled in. */
static inline size_t layout_listed(const struct param_layout *layout)
{
    return layout->count < LAYOUT_MAX ? layout->count : LAYOUT_MAX;
}

static inline size_t layout_bytes(const struct param_layout *layout)
{
    return offsetof(struct param_layout, param) + layout_listed(layout) * sizeof layout->param[0];
}

bool layout_same(const struct param_layout *a, const struct param_layout *b);

/* The spec of a symbol by one of its matches, for this layout. Under the lock. STATUS_INVALID,
 * STATUS_UNSUPPORTED: the entry does not fit, and the sentence has the reason. */
enum status registry_spec_make(struct registry *registry, const struct known_symbol *known,
                               const struct match *match, const struct param_layout *layout,
                               const struct kernel_spec **out, struct error *err);

#endif
