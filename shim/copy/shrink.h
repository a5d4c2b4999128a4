/*
 * shrink.h - a launch's binding made smaller: some items of a dim, taken for all there are.
 *
 * The reference runs unchanged over the smaller problem; only reports use the launch's own numbers
 * (subset_item). Arrays that have the dim are gathered by the copy kernel, others are copied whole.
 */
#ifndef COPY_SHRINK_H
#define COPY_SHRINK_H

#include "bind/binding.h"
#include "lang/formals.h"
#include "copy/snapshot.h"

/* Bytes of the snapshot: what is aimed at, and what it must stay below to be worth while. */
struct shrink_limits {
    uint64_t aim, most;
};

/*
 * Takes `whole` for what the launch would copy and makes `binding` a subset of about limits->aim
 * bytes; at least a quarter of them are chosen items, however much is copied whole. The plan must
 * be made again then. False, and the binding is as it was, where the reference declares no
 * independent dim, or none whose items can be gathered. Pure, no allocation; the program's thread.
 */
bool shrink_binding(struct binding *binding, const struct formals *formals,
                    const struct snapshot_plan *whole, const struct shrink_limits *limits,
                    uint64_t seed);

/* Prefixes the sentence with the dims of a promise that do not fit each other in this launch, if
 * any. */
void shrink_explain(const struct binding *binding, const struct formals *formals,
                    struct error *why);

#endif
