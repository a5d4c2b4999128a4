/* run_references.h - `cuvet run`: the registry's own references are compiled before the program. */
#ifndef TOOLS_RUN_REFERENCES_H
#define TOOLS_RUN_REFERENCES_H

#include <stddef.h>
#include "text/textbuf.h"
#include "registry/registry.h"

struct run_references {
    struct textbuf folder; /* CUVET_CACHE for the program; empty: as it is */
    bool private_folder;   /* of this run, to be removed */
    size_t wrong;          /* texts that do not compile, which standard error names */
};

/* Compiles for the GPUs of this machine; without one, or without NVRTC, nothing. Where the cache
 * folder is off or of no use a private one serves this run. */
void run_references_compile(struct run_references *out, const struct registry *registry);
void run_references_release(struct run_references *references);

#endif
