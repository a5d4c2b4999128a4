/*
 * cupti_router.h - the one CUPTI subscription: which callbacks are on, and where each goes.
 *
 * No logic lives here. Only the driver-API ids of launch_apis.def and wait_apis.def and a few
 * resource ids are enabled, never a domain and never an activity kind: that is what makes profilers
 * expensive.
 */
#ifndef HOOK_CUPTI_ROUTER_H
#define HOOK_CUPTI_ROUTER_H

#include "base/error.h"

/* Subscribes and enables. Inside cuInit, behind core_start. STATUS_DRIVER when another tool holds
 * the subscription (the error names it) or CUPTI fails. */
enum status router_start(struct error *err);

#endif
