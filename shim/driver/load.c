#include "driver/load.h"

#include <dlfcn.h>
#include <string.h>

enum status load_entries(void *table, void *library, const struct load_entry *entries, size_t count,
                         struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, entries[i].name);
        if (!symbol && entries[i].required)
            return error_set(err, STATUS_NOT_FOUND, "the library has no entry point %s",
                             entries[i].name);
        /* dlsym returns data pointers, the table has function pointers: copied, not cast. */
        memcpy((char *)table + entries[i].offset, &symbol, sizeof(symbol));
    }
    return STATUS_OK;
}
