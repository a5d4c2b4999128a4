/*
 * run_child.c - see run_child.h.
 *
 * The signals stay blocked from before fork until the program has ended and are taken one by one
 * with sigwaitinfo, beside SIGCHLD: no handler, no race, and one that was ignored when we were
 * started (nohup) stays ignored in the program, which inherits dispositions and the old mask.
 */
#include "tools/run/run_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "system/own_fd.h"

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM};

static void child_main(char *const *argv, int error_fd, run_child_prepare_fn prepare, void *user)
{
    int failure;

    prepare(user);
    execvp(argv[0], argv);
    failure = errno;
    while (write(error_fd, &failure, sizeof failure) < 0 && errno == EINTR)
        ;
    _exit(127);
}

/* The number that a failed exec sent, or 0 when exec closed the pipe. */
static int read_exec_errno(int fd)
{
    int failure = 0;
    ssize_t got;

    do {
        got = read(fd, &failure, sizeof failure);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof failure ? failure : 0;
}

static int wait_for(pid_t child, const sigset_t *signals)
{
    siginfo_t info;
    int status = 0;

    for (;;) {
        int number = sigwaitinfo(signals, &info);

        if (number < 0)
            continue; /* EINTR: stopped and continued */
        if (number == SIGCHLD) {
            if (waitpid(child, &status, WNOHANG) == child)
                return status;
        } else if (info.si_code <= 0 && info.si_pid != child) {
            kill(child, number); /* si_code > 0: the kernel's, from the terminal */
        }
    }
}

int run_child(struct run_child *out, char *const *argv, run_child_prepare_fn prepare, void *user)
{
    struct sigaction standard = {.sa_handler = SIG_DFL}, old_child;
    sigset_t signals, old_mask;
    int channel[2], failure = 0;
    pid_t child;

    if (pipe2(channel, O_CLOEXEC) != 0)
        return -1;
    channel[0] = own_fd_up(channel[0]);
    channel[1] = own_fd_up(channel[1]);
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++)
        sigaddset(&signals, passed_on[i]);
    sigprocmask(SIG_BLOCK, &signals, &old_mask);
    sigaction(SIGCHLD, &standard, &old_child);
    child = fork();
    failure = errno;
    if (child == 0) {
        sigaction(SIGCHLD, &old_child, NULL);
        sigprocmask(SIG_SETMASK, &old_mask, NULL);
        close(channel[0]);
        child_main(argv, channel[1], prepare, user);
    }
    close(channel[1]);
    if (child > 0) {
        out->exec_errno = read_exec_errno(channel[0]);
        out->status = wait_for(child, &signals);
    }
    close(channel[0]);
    sigaction(SIGCHLD, &old_child, NULL);
    sigprocmask(SIG_SETMASK, &old_mask, NULL);
    errno = failure;
    return child > 0 ? 0 : -1;
}

int run_child_die_alike(int status)
{
    const struct rlimit no_core = {0, 0};
    int number = WTERMSIG(status);
    sigset_t one;

    setrlimit(RLIMIT_CORE, &no_core); /* the program left its own */
    signal(number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(number);
    return 128 + number;
}
