/*
 * ref_names.h - the built-in references by name, and what a wrong name may have meant: one of
 * nearly the same letters, or what other libraries call the same operation.
 */
#ifndef NAMES_REF_NAMES_H
#define NAMES_REF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include "refs/abi/ref_list.h"

/* The built-in reference of that name, or NULL. Any thread. */
const struct ref_builtin *ref_names_find(const char *name);

/* Whether it uses the elements of that array formal as indices, which are integers; false for a
 * reference that is not built in. Any thread. */
bool ref_names_index(const struct ref_builtin *builtin, const char *formal);

/* Writes what to do about an unknown name, such as "; did you mean 'linear'? `cuvet help
 * references` lists all"; returns `text`. Any thread. */
const char *ref_names_hint(const char *name, char *text, size_t size);

#endif
