/*
 * cupti_router.h - the one CUPTI subscription: which callbacks are on, and where each goes.
 *
 * No logic lives here. Only the driver-API ids of launch_apis.def and wait_apis.def and a few
 * resource ids are enabled, never a domain and never an activity kind: that is what makes
 * profilers dear.
 */
#ifndef HOOK_CUPTI_ROUTER_H
#define HOOK_CUPTI_ROUTER_H

#include "base/error.h"
#include "judge/images.h"
#include "pipeline.h"

struct router_targets {
    struct pipeline *pipeline;
    struct images *images;
    int end_wait_ms;           /* for a context that ends: how long checks may take to finish */
    void (*ready)(void *user); /* cuInit is over: exit handlers registered now run before CUDA's */
    void *user;
};

/* Subscribes and enables. Inside cuInit. STATUS_DRIVER when somebody else holds the subscription
 * (the error names the holder) or CUPTI refuses. `targets` must live as long as the process. */
enum status router_start(const struct router_targets *targets, struct error *err);

/* Whether the calling thread is between ENTER and EXIT of a launch: in a signal handler, then, or
 * in our callback. */
bool router_launching(void);

/* From now on every callback returns at once. Any thread; used at exit and in forked children. */
void router_mute(void);

#endif
