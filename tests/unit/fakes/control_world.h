/*
 * control_world.h - everything that cuvet.h steers, in one process without a GPU: a pipeline on the
 * fake driver, real counters behind it, one kernel `add` (and `add_always`, whose entry has
 * `sample: 1`) of which a launch may be wrong. One world at a time.
 */
#ifndef TESTS_CONTROL_WORLD_H
#define TESTS_CONTROL_WORLD_H

#include <stdbool.h>
#include "report/counters.h"
#include "gate/gate.h"

/* Builds it and calls control_open. Ends the process with a message when that fails. */
void control_world_open(const struct gate_settings *gate);

/* One launch on the calling thread, of add_always when `always`; any thread. */
void control_world_launch(bool wrong, bool always);

/* The GPU stands still: checks stay under way. And moves on. */
void control_world_hold(void);
void control_world_release(void);

/* The bundle that later findings name; NULL: none. */
void control_world_bundle(const char *path);

struct counters *control_world_counters(void);
const char *control_world_steered(void); /* what control.c wrote to the journal last, or "" */

/* Drains, stops the collector, frees all and calls control_reset. True: every launch was counted
 * in exactly one bucket. */
bool control_world_close(void);

#endif
