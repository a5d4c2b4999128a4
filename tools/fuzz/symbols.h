/* symbols.h - the kernels that an image holds, by name. */
#ifndef TOOLS_FUZZ_SYMBOLS_H
#define TOOLS_FUZZ_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "base/error.h"

struct fuzz_symbols {
    const char **name; /* mangled, each once; the arena's */
    size_t count;
    bool text; /* the image is PTX alone */
};

/* Of PTX, cubins, and fatbins that hold PTX; what cannot be read adds none. */
enum status fuzz_symbols_read(struct fuzz_symbols *out, struct arena *arena, const void *image,
                              size_t bytes, struct error *err);

/* Whether a user's NAME is the kernel's: the exact name, mangled or demangled, a glob or a /regex/.
 * STATUS_INVALID: the pattern is wrong. */
enum status fuzz_symbol_matches(const char *name, const char *symbol, bool *out, struct error *err);

#endif
