/*
 * progress.h - one line on the terminal that shows how far a verb is: from two seconds after its
 * first call on, four times a second. Nothing is printed where standard error is no terminal. Any
 * thread; progress_tick() and what ends it are one thread's.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>

/* Takes the place of the line before. Text from a file is made printable by the caller. */
void progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether the next line would be printed, for what costs more than a format. */
bool progress_due(void);

/* Takes the line away: before anything else is printed, and at the end of the work. */
void progress_clear(void);

/* A line with `what`, made printable, and the seconds since the first such call, by a thread of its
 * own until progress_clear(). */
void progress_tick(const char *what);

#endif
