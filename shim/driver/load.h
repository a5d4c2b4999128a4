/* load.h - the one loop that fills a table of entry points. */
#ifndef DRIVER_LOAD_H
#define DRIVER_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

struct load_entry {
    const char *name;
    size_t offset; /* of the function pointer in the table */
    bool required;
};

/* Resolves every entry in `library` (a dlopen handle) and stores it in `table`. */
enum status load_entries(void *table, void *library, const struct load_entry *entries, size_t count,
                         struct error *err);

#endif
