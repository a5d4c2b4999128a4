/* symbol.h - kernel names as people read them. Not for the launch path: these allocate. */
#ifndef NAMES_SYMBOL_H
#define NAMES_SYMBOL_H

#include <stdbool.h>
#include "base/arena.h"

/* The three forms in which patterns may name a kernel. */
struct symbol_names {
    const char *mangled;
    const char *demangled; /* "void ns::f<float>(float*)"; the mangled name where it is none */
    const char *plain;     /* without return type and parameters: "ns::f<float>" */
};

/* No demangled name is longer: one whose text would be stays mangled. */
enum { SYMBOL_TEXT = 64 << 10 };

/* Fills *out with texts of the arena, `mangled` included. Names of anonymous namespaces, which
 * carry a hash of the build, read "(anonymous namespace)", and ABI tags are left out. Time and
 * memory are bounded, whatever the name is: a name that would take more stays mangled. False: no
 * memory. */
bool symbol_describe(struct symbol_names *out, struct arena *arena, const char *mangled);

/* A demangled name without return type and parameters; `demangled` itself where it has none. NULL:
 * no memory. */
const char *symbol_plain(struct arena *arena, const char *demangled);

/* Behind the '(' of the parameter list of a demangled name; NULL: it has none. */
const char *symbol_parameters(const char *demangled);

/* `text` with the build's hashes replaced, as symbol_describe does; NULL: no memory. */
const char *symbol_normalise(struct arena *arena, const char *text);

#endif
