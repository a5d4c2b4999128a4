/*
 * side_user.h - the registry's own references in one context: requested when a kernel that names
 * one is launched, loaded when the compiler has compiled it. A launch waits for one that is in the
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
    struct compiler *compiler;        /* NULL: there are no such references */
    int arch;                         /* compute capability, 90 for 9.0 */
    unsigned seen;                    /* results that the collector has handled */
    atomic_uint requested, forwarded; /* texts that were requested; those passed to the compiler */
    atomic_bool wanted[USER_TEXTS];   /* by a launch */
    atomic_bool waived[USER_TEXTS];   /* the wait of a launch has timed out: none waits any more */
    atomic_bool settled[USER_TEXTS];  /* loaded, or failed */
    CUmodule module[USER_TEXTS];
    atomic_bool *ready; /* by number of the reference */
};

/* Reads the device's architecture (`compiler` NULL: nothing to do). Context current; part of
 * side_set_up. On failure none of them is ever ready. */
enum status side_users_open(struct side *side, struct compiler *compiler, struct error *err);
void side_users_release(struct side_users *users);

/* Whether launches can be judged by the reference in this context. Any thread, no lock. */
bool side_users_ready(const struct side *side, const struct ref_builtin *reference);

/* Requests the reference, which is not ready: true when the collector is to be woken for it. Any
 * thread, no lock. */
bool side_users_request(struct side *side, const struct ref_builtin *reference);
/* Waits for a requested reference while the cache is read and its image is loaded, `timeout_ms` at
 * most, and after a time-out never again. Whether it is ready. */
bool side_users_await(struct side *side, const struct ref_builtin *reference, int timeout_ms);

/* Whether there is something to forward to the compiler or to load. Any thread. */
bool side_users_due(const struct side *side);
/* Forwards new requests, and loads what has been compiled since. Collector, context current; a
 * failure is reported once. */
void side_users_load(struct side *side);

#endif
