/* thread.h - threads of cuvet in the program's process. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* As pthread_create, of which it gives the result. All signals are blocked in the thread from its
 * first instruction on: the program's are for the program's threads. `stack_bytes` 0: as usual. */
int thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *user);

/* The moment in `ms` by CLOCK_REALTIME, which the timed waits of pthread take. Any thread. */
struct timespec thread_deadline(int ms);

/* Joins a thread that is about to end. False: it has not within `ms`, and runs on. */
bool thread_join_within(pthread_t thread, int ms);

#endif
