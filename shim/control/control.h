/*
 * control.h - the implementation of cuvet.h: what the public functions act on, and what the session
 * passes to them.
 *
 * Life: the public functions may be called before control_open and after control_end, and return
 * CUVET_INACTIVE; control_open applies settings from before it (off, sample, callback). What
 * control_open is given must live as long as the process.
 *
 * No lock is taken anywhere, so a fork at any time leaves nothing held in the child.
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include "report/counters.h"
#include "value/check_report.h"
#include "pipeline/pipeline.h"

struct control_targets {
    struct pipeline *pipeline;
    struct counters *counters;
    /* Checking was steered: "start", "stop", "sample 0.25". Any thread; may block on the disk. */
    void (*steered)(void *user, const char *what);
    void *user;
};

/* Checking begins in this process. `targets` must outlive all calls. */
void control_open(const struct control_targets *targets);

/* What control_open was given, also after control_end; NULL before it and in a forked child. */
const struct control_targets *control_targets(void);

/* A launch does not match: calls the program's callback. Collector thread. `bundle` may be NULL. */
void control_found(const struct check_report *report, const char *bundle);

/* The process exits: from now on nothing is steered. */
void control_end(void);

/* In the child of a fork: nothing is checked there, ever. Async-signal-safe. */
void control_in_child(void);

/* Resets everything; for tests, with no call under way. */
void control_reset(void);

#endif
