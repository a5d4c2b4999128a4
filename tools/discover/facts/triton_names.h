/* triton_names.h - names and types of a Triton kernel's arguments, from Triton's cache: the folder
 * whose KERNEL.cubin is the recorded image has them in KERNEL.ttir. */
#ifndef TOOLS_DISCOVER_TRITON_NAMES_H
#define TOOLS_DISCOVER_TRITON_NAMES_H

#include "refs/abi/ref_abi.h"
#include "tools/discover/facts/record.h"

enum { TRITON_NAME = 32 };

struct triton_argument {
    char name[TRITON_NAME]; /* "": none that can be used */
    enum dtype dtype;       /* of elements behind a pointer, or of the scalar; integers are signed;
                             * DTYPE_NONE: not known */
};

/* How many arguments there are; 0: the cache does not hold the kernel. Searches TRITON_CACHE_DIR,
 * ~/.triton/cache and Inductor's folder. */
unsigned triton_names_find(const struct seen_kernel *kernel,
                           struct triton_argument out[LAYOUT_MAX]);

/* The same of a text, for tests: "tt.func public @f(%x: !tt.ptr<f32> loc(..), ..)". */
unsigned triton_names_read(const char *ttir, const char *symbol,
                           struct triton_argument out[LAYOUT_MAX]);

#endif
