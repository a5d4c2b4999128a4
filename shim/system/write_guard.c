#include "system/write_guard.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

void write_guard_begin(struct write_guard *guard)
{
    sigset_t pending;

    sigemptyset(&guard->raised);
    sigaddset(&guard->raised, SIGXFSZ);
    sigaddset(&guard->raised, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &guard->raised, &guard->old);
    if (sigpending(&pending) == 0) {
        if (sigismember(&pending, SIGXFSZ))
            sigdelset(&guard->raised, SIGXFSZ);
        if (sigismember(&pending, SIGPIPE))
            sigdelset(&guard->raised, SIGPIPE);
    }
}

void write_guard_end(const struct write_guard *guard, int failure)
{
    const struct timespec now = {0};

    if (failure == EFBIG || failure == EPIPE) {
        while (sigtimedwait(&guard->raised, NULL, &now) > 0)
            ;
    }
    pthread_sigmask(SIG_SETMASK, &guard->old, NULL);
}
