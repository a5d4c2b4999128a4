#include "base/thread.h"

#include <signal.h>
#include <time.h>

int thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *user)
{
    pthread_attr_t attributes;
    sigset_t all, old;
    pthread_attr_init(&attributes);
    if (stack_bytes)
        pthread_attr_setstacksize(&attributes, stack_bytes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int result = pthread_create(thread, &attributes, run, user);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return result;
}

struct timespec thread_deadline(int ms)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000L;
    at.tv_sec += at.tv_nsec / 1000000000L;
    at.tv_nsec %= 1000000000L;
    return at;
}

bool thread_join_within(pthread_t thread, int ms)
{
    const struct timespec until = thread_deadline(ms);
    return pthread_timedjoin_np(thread, NULL, &until) == 0;
}
