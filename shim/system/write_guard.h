/*
 * write_guard.h - keeps signals that cuvet's own writes raise from the program.
 *
 * A write beyond RLIMIT_FSIZE raises SIGXFSZ, one whose reader is gone SIGPIPE, and either would
 * kill the program for a write that is not its own. Both are sent to the thread that writes, so it
 * blocks them around the write, takes back the one that it raised (never one that was pending
 * before), and restores its mask.
 */
#ifndef SYSTEM_WRITE_GUARD_H
#define SYSTEM_WRITE_GUARD_H

#include <signal.h>

struct write_guard {
    sigset_t old, raised; /* raised: those that were not pending at the beginning */
};

void write_guard_begin(struct write_guard *guard);
void write_guard_end(const struct write_guard *guard, int failure); /* errno of the write, or 0 */

#endif
