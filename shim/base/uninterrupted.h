/*
 * uninterrupted.h - cuvet's work on a thread of the program is not cut short.
 *
 * A thread that is cancelled at one of cuvet's calls leaves its locks held, and so does a signal
 * handler that calls exit or siglongjmp: the next thread that takes them waits for ever. So around
 * all that may lock or reach a cancellation point cancellation is put off, and around what locks
 * signals are, too, but for those that a fault raises.
 *
 *     int state = uncancelled_begin();          struct uninterrupted kept;
 *     ...                                       uninterrupted_begin(&kept);
 *     uncancelled_end(state);                   ...
 *                                               uninterrupted_end(&kept);
 *
 * They nest, in either order. The first is a few instructions, the second two system calls: neither
 * is for launches that are passed over.
 */
#ifndef BASE_UNINTERRUPTED_H
#define BASE_UNINTERRUPTED_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

static inline int uncancelled_begin(void)
{
    int state = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state;
}

static inline void uncancelled_end(int state)
{
    pthread_setcancelstate(state, &state);
}

struct uninterrupted {
    int cancel;
    sigset_t signals;
};

void uninterrupted_begin(struct uninterrupted *kept);
void uninterrupted_end(const struct uninterrupted *kept);

/* Whether the calling thread is between the two: then a fault's handler runs on it. */
bool uninterrupted_now(void);

#endif
