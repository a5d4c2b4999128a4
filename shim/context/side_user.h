/*
 * side_user.h - the references that the registry brings along, in one context: wanted when a kernel
 * of theirs is launched, loaded as the compiler has them. A launch waits for one that is in the
 * cache (compiler.h), never for a compilation.
 */
#ifndef CONTEXT_SIDE_USER_H
#define CONTEXT_SIDE_USER_H

#include <stdatomic.h>
#include <stdbool.h>
#include "base/error.h"
#include "driver/cuda_api.h"
#include "compile/compiler.h"

struct side;

struct side_users {
    struct compiler *compiler;       /* NULL: there are no such references */
    int arch;                        /* compute capability, 90 for 9.0 */
    unsigned seen;                   /* results that the collector has looked at */
    atomic_uint wants, forwarded;    /* texts that were wanted; that the compiler was told of */
    atomic_bool wanted[USER_TEXTS];  /* by a launch */
    atomic_bool waived[USER_TEXTS];  /* a launch has waited in vain: none waits any more */
    atomic_bool settled[USER_TEXTS]; /* loaded, or given up */
    CUmodule module[USER_TEXTS];
    atomic_bool *ready; /* by number of the reference */
};

/* Learns the device's architecture (`compiler` NULL: nothing to do). Context current; part of
 * side_set_up. On failure none of them is ever ready. */
enum status side_users_open(struct side *side, struct compiler *compiler, struct error *err);
void side_users_release(struct side_users *users);

/* Whether launches can be judged by the reference in this context. Any thread, no lock. */
bool side_users_ready(const struct side *side, const struct ref_builtin *reference);

/* Wants the reference, which is not ready: true when the collector is to be woken for it. Any
 * thread, no lock. */
bool side_users_want(struct side *side, const struct ref_builtin *reference);
/* Whether a reference that is wanted is ready after all: it is waited for as long as the cache is
 * read and what was there is loaded, `timeout_ms` at most and then never again. */
bool side_users_await(struct side *side, const struct ref_builtin *reference, int timeout_ms);

/* Whether there is something to forward to the compiler or to load. Any thread. */
bool side_users_due(const struct side *side);
/* Forwards what is wanted, and loads what has been compiled since. Collector, context current; what
 * fails is told once. */
void side_users_load(struct side *side);

#endif
