#include "system/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_BYTES = 256 << 10 };

static bool variable_is_kept(const char *entry)
{
    static const char *const dropped[] = {
        "LD_PRELOAD=", "LD_AUDIT=", "CUDA_INJECTION64_PATH=", "CUVET_", "_CUVET_"};

    for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++) {
        if (strncmp(entry, dropped[i], strlen(dropped[i])) == 0)
            return false;
    }
    return true;
}

char **helper_environment(char *const *env)
{
    size_t count = 1, bytes = 0;
    char **copy, *text;

    for (char *const *at = env; *at; at++) {
        count++;
        bytes += strlen(*at) + 1;
    }
    copy = malloc(count * sizeof *copy + bytes);
    if (!copy)
        return NULL;
    text = (char *)(copy + count);
    count = 0;
    for (char *const *at = env; *at; at++) {
        size_t length = strlen(*at) + 1;

        if (!variable_is_kept(*at))
            continue;
        copy[count++] = memcpy(text, *at, length);
        text += length;
    }
    copy[count] = NULL;
    return copy;
}

struct order {
    const char *path;
    char *const *argv, *const *env;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int failure;
};

/* The child in between. It shares our memory, and our thread waits until it has ended. */
static int in_between(void *user)
{
    struct order *order = user;
    pid_t pid;

    order->failure =
        posix_spawn(&pid, order->path, &order->files, &order->attributes, order->argv, order->env);
    return 0;
}

static int prepare_order(struct order *order, int fd)
{
    sigset_t none, all;
    int failure = posix_spawn_file_actions_adddup2(&order->files, fd, 0);

    sigemptyset(&none);
    sigfillset(&all);
    for (int out = 1; out <= 2 && !failure; out++)
        failure = posix_spawn_file_actions_addopen(&order->files, out, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_setsigmask(&order->attributes, &none);
    posix_spawnattr_setsigdefault(&order->attributes, &all);
    posix_spawnattr_setpgroup(&order->attributes, 0);
    posix_spawnattr_setflags(&order->attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                     POSIX_SPAWN_SETPGROUP);
    return failure;
}

/* Whether this process was a subreaper; it is none afterwards. */
static bool stop_reaping(void)
{
    int reaps = 0;

    return prctl(PR_GET_CHILD_SUBREAPER, &reaps) == 0 && reaps != 0 &&
           prctl(PR_SET_CHILD_SUBREAPER, 0) == 0;
}

/* Of two that are started at once the second would take the first's pause for the program's
 * choice, and its helper would become a child of the program. */
static pthread_mutex_t subreaper_lock = PTHREAD_MUTEX_INITIALIZER;

static int start_helper(struct order *order)
{
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    sigset_t all, before;
    pid_t child;
    bool reaps;

    if (stack == MAP_FAILED)
        return errno;
    /* A handler of the host must not run in the child, which has them too. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&subreaper_lock);
    reaps = stop_reaping();
    /* Without an exit signal in the flags only the wait below finds this child. */
    child = clone(in_between, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, order);
    if (child < 0)
        order->failure = errno;
    while (child > 0 && waitpid(child, NULL, (int)__WCLONE) < 0 && errno == EINTR)
        ;
    if (reaps)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    pthread_mutex_unlock(&subreaper_lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stack, STACK_BYTES);
    return order->failure;
}

enum status helper_start(const char *path, char *const *argv, char *const *env, int fd,
                         struct error *err)
{
    struct order order = {.path = path, .argv = argv, .env = env};
    int before = errno, failure;
    char reason[128];

    if (getpid() == 1)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s is not started, since the program is process 1 of its container and "
                         "would inherit it; start the container with an init (docker run --init)",
                         path);
    posix_spawn_file_actions_init(&order.files);
    posix_spawnattr_init(&order.attributes);
    failure = prepare_order(&order, fd);
    if (!failure)
        failure = start_helper(&order);
    posix_spawn_file_actions_destroy(&order.files);
    posix_spawnattr_destroy(&order.attributes);
    errno = before;
    if (failure)
        return error_set(err, STATUS_IO, "cannot start %s: %s", path,
                         strerror_r(failure, reason, sizeof reason));
    return STATUS_OK;
}
