/*
 * precompile.h - compiles the references of a registry's own before a program uses them, into the
 * cache folder.
 */
#ifndef TOOLS_PRECOMPILE_H
#define TOOLS_PRECOMPILE_H

#include <stddef.h>
#include "base/options.h"
#include "tools/compile/device_archs.h"
#include "compile/compiler.h"
#include "registry/user_ref.h"

struct precompiled {
    struct compiler_counts counts;
    size_t wrong; /* texts that do not compile; each was reported on standard error */
};

/* Waits until all texts are compiled for all architectures. `who` begins a line of progress, which
 * a terminal gets when it takes longer; `cache` is the folder. STATUS_NOT_FOUND: there is no NVRTC,
 * or none that the program cuvet finds by itself. */
enum status precompile(struct precompiled *out, const struct user_references *users,
                       const struct device_archs *archs, const char *cache, const char *who,
                       struct error *err);

#endif
