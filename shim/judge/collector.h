/*
 * collector.h - the collector thread: sets contexts up, waits for seals, runs references, judges.
 *
 * The thread starts with the first set-up. It sleeps for good while nothing is under way, and naps
 * between polls of pinned memory otherwise. It detects finished work from pinned memory alone; it
 * makes driver calls to launch a reference, to set a context up and to write a bundle.
 */
#ifndef JUDGE_COLLECTOR_H
#define JUDGE_COLLECTOR_H

#include "base/error.h"
#include "judge/ending.h"

struct collector;

/* Work for the collector's thread in a context that is set up; requested by setting side.chore. */
struct collector_chore {
    void (*work)(void *user, struct side *side); /* the context is current; may block */
    void *user;
};

struct collector_settings {
    struct sides *sides;
    struct side_settings side;
    const struct sink *sink;
    struct images *images; /* for bundles; NULL: none */
    /* By index in ref_builtins: references to load when a context is set up. NULL: each is loaded
     * when the first check needs it. */
    const bool *preload;
    bool hardware; /* findings are held against other checks of their kind (extra/hardware.h) */
    struct collector_chore chore;
};

/* The thread starts when it is first woken. */
enum status collector_create(struct collector **out, const struct collector_settings *settings,
                             struct error *err);

/* Wakes the thread when it sleeps: after a submit, or when a set-up is requested. Any thread, never
 * blocks. */
void collector_wake(struct collector *collector);

/* Whether no check is under way anywhere. Any thread, no lock. */
bool collector_idle(struct collector *collector);

/* Whether the calling thread is the collector's: then it is inside a callback, and whatever waits
 * for checks would wait for itself. */
bool collector_here(void);

/* Waits until no check is under way anywhere, at most `timeout_ms`. True when none is. False at
 * once on the collector's own thread. */
bool collector_drain(struct collector *collector, int timeout_ms);

/* Requests the thread's end and waits `timeout_ms` at most. False when it did not: then it may
 * still run, stuck in the driver, and nothing that it uses may be freed. */
bool collector_stop(struct collector *collector, int timeout_ms);

/* After a collector_stop that was true. The library itself never does it: threads of the program
 * may be inside a callback while the process ends. */
void collector_destroy(struct collector *collector);

/* After collector_stop: counts what is still under way as skipped, because the program ends. */
void collector_skip_rest(struct collector *collector);

/* The context goes: waits (bounded) until the collector has let go of the side, then counts what
 * was under way as skipped. Any thread. */
void collector_let_go(struct collector *collector, struct side *side, int timeout_ms);

#endif
