#include "tools/serve/plugin_worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "text/printable.h"
#include "plugin/plugin_wire.h"

typedef void (*finding_fn)(const struct cuvet_mismatch *finding);

static void answer(int socket, enum worker_answer word)
{
    char byte = (char)word;

    send(socket, &byte, 1, MSG_NOSIGNAL);
}

/* In the process of the plugin. */
static void serve(int socket, const char *file)
{
    static char message[PLUGIN_MESSAGE_MAX];
    struct cuvet_mismatch finding;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    finding_fn call = NULL;

    if (library)
        *(void **)&call = dlsym(library, "cuvet_plugin_finding");
    if (!call) {
        char why[512];
        printable_copy(why, sizeof why, dlerror());
        if (strstr(why, file)) /* as most have it */
            fprintf(stderr, "cuvet plugin: %s\n", why);
        else
            fprintf(stderr, "cuvet plugin: %s: %s\n", PRINTABLE(file), why);
        answer(socket, WORKER_UNLOADABLE);
        return;
    }
    answer(socket, WORKER_READY);
    for (;;) {
        ssize_t size = recv(socket, message, sizeof message, 0);

        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return;
        if (plugin_wire_get(&finding, message, (size_t)size) == STATUS_OK)
            call(&finding);
        answer(socket, WORKER_DONE);
    }
}

int plugin_worker_start(struct plugin_worker *worker, const char *file)
{
    int pair[2], nothing;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    worker->pid = fork();
    if (worker->pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(nothing, STDIN_FILENO);
        close(pair[0]);
        serve(pair[1], file);
        exit(0); /* with the plugin's destructors */
    }
    close(pair[1]);
    if (worker->pid < 0) {
        worker->pid = 0;
        close(pair[0]);
        return -1;
    }
    setpgid(worker->pid, worker->pid); /* the first of the two */
    worker->socket = pair[0];
    return 0;
}

int plugin_worker_send(const struct plugin_worker *worker, const char *message, size_t size)
{
    return send(worker->socket, message, size, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -1;
}

static int milliseconds_until(int64_t deadline)
{
    int64_t left = (deadline - clock_ns()) / 1000000 + 1;

    return left > 0 ? (int)left : 0;
}

enum worker_answer plugin_worker_wait(const struct plugin_worker *worker, int64_t deadline,
                                      int host)
{
    struct pollfd fds[2] = {{.fd = worker->socket, .events = POLLIN},
                            {.fd = host, .events = POLLRDHUP}};
    char word;

    for (;;) {
        int ready = poll(fds, 2, milliseconds_until(deadline));

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return WORKER_LATE;
        if (fds[0].revents)
            return recv(worker->socket, &word, 1, 0) == 1 ? (enum worker_answer)word : WORKER_ENDED;
        return WORKER_HURRY;
    }
}

int plugin_worker_end(struct plugin_worker *worker, int64_t deadline)
{
    int status = 0;

    if (!worker->pid)
        return 0;
    shutdown(worker->socket, SHUT_WR);
    while (plugin_worker_wait(worker, deadline, -1) <
           WORKER_ENDED) /* a reply that comes after its deadline */
        ;
    kill(-worker->pid, SIGKILL);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(worker->socket);
    worker->pid = 0;
    return status;
}
