/*
 * registry_formula.h - an entry's `formula`, as the `bind` of the reference that runs it.
 *
 * The reference `formula` has formals for inputs, numbers and the words of a program; which array
 * or number stands behind each is written as a `bind` would write it, so everything after that is
 * as for any other reference. Nodes are the arena's and stand where the formula does.
 */
#ifndef REGISTRY_REGISTRY_FORMULA_H
#define REGISTRY_REGISTRY_FORMULA_H

#include "base/arena.h"
#include "system/yaml_doc.h"
#include "lang/signature.h"

/* *bind is the made mapping. *open: it is another where a type among the groups is known that is
 * not yet. STATUS_INVALID: the formula, or the signature, is wrong. */
enum status registry_formula_bind(struct arena *arena, const struct yaml_node *formula,
                                  const struct yaml_node *signature, const struct captures *groups,
                                  const struct yaml_node **bind, bool *open, struct error *err);

#endif
