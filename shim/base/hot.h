/*
 * hot.h - marks what runs at every launch of the program. A launch goes through so much of the
 * driver that our code and data are cold again each time, and their cost is the number of cache
 * lines and pages they lie on: HOT functions are put beside each other by the linker, and HOT_TLS
 * variables are read by one instruction, not by a call into the loader.
 */
#ifndef BASE_HOT_H
#define BASE_HOT_H

#define HOT __attribute__((hot))

/* A part of such a function that has a name of its own, in a header. */
#define HOT_INLINE __attribute__((always_inline)) static inline

/* Keeps what is rarer out of the lines of a function that calls it. */
#define APART __attribute__((noinline))

/* Which way most launches go: that one falls through, and lies on the next line. */
#define USUAL(condition)   __builtin_expect(!!(condition), 1)
#define UNUSUAL(condition) __builtin_expect(!!(condition), 0)

/* The initial-exec model takes room from the small reserve for libraries that are loaded late: for
 * words only. It never allocates, which the general model may do on a thread's first access. */
#define HOT_TLS __thread __attribute__((tls_model("initial-exec")))

#endif
