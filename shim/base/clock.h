/* clock.h - monotonic time, independent of the calendar. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds. Any thread; no system call where the kernel maps its clock. */
int64_t clock_ns(void);

#endif
