/*
 * side_user.h - the references that the registry brings along, in one context: loaded one by one as
 * the compiler has them. Nothing waits for them.
 */
#ifndef VERIFY_SIDE_USER_H
#define VERIFY_SIDE_USER_H

#include <stdatomic.h>
#include <stdbool.h>
#include "base/error.h"
#include "driver/cuda_api.h"
#include "verify/compiler.h"

struct side;

struct side_users {
    struct compiler *compiler; /* NULL: there are no such references */
    int arch;                  /* compute capability, 90 for 9.0 */
    unsigned seen;             /* results that the collector has looked at */
    bool settled[USER_TEXTS];  /* loaded, or given up */
    CUmodule module[USER_TEXTS];
    atomic_bool *ready; /* by number of the reference */
};

/* Has everything compiled for the context's device (`compiler` NULL: nothing to do). Context
 * current; part of side_set_up. On failure none of them is ever ready. */
enum status side_users_open(struct side *side, struct compiler *compiler, struct error *err);
void side_users_release(struct side_users *users);

/* Whether launches can be judged by the reference in this context. Any thread, no lock. */
bool side_users_ready(const struct side *side, const struct ref_builtin *reference);

/* Whether there is something to load. Any thread. */
bool side_users_due(const struct side *side);
/* Loads what has been compiled since. Collector, context current; what fails is told once. */
void side_users_load(struct side *side);

#endif
