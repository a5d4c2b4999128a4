#include "base/uninterrupted.h"

static __thread unsigned depth;

void uninterrupted_begin(struct uninterrupted *kept)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t all;
    kept->cancel = uncancelled_begin();
    sigfillset(&all);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_BLOCK, &all, &kept->signals);
    depth++;
}

void uninterrupted_end(const struct uninterrupted *kept)
{
    depth--;
    pthread_sigmask(SIG_SETMASK, &kept->signals, NULL);
    uncancelled_end(kept->cancel);
}

bool uninterrupted_now(void)
{
    return depth > 0;
}
