/* triton_names.h - the names of a Triton kernel's arguments, from Triton's cache: the folder whose
 * KERNEL.cubin is the recorded image has them in KERNEL.ttir. */
#ifndef TOOLS_DISCOVER_TRITON_NAMES_H
#define TOOLS_DISCOVER_TRITON_NAMES_H

#include "tools/discover/record.h"

enum { TRITON_NAME = 32 };

/* How many arguments have a name; 0: the cache does not hold the kernel. Searches TRITON_CACHE_DIR,
 * ~/.triton/cache and Inductor's folder. */
unsigned triton_names_find(const struct seen_kernel *kernel, char name[LAYOUT_MAX][TRITON_NAME]);

/* The same of a text, for tests: "tt.func public @f(%x: !tt.ptr<f32> loc(..), ..)". */
unsigned triton_names_read(const char *ttir, const char *symbol,
                           char name[LAYOUT_MAX][TRITON_NAME]);

#endif
