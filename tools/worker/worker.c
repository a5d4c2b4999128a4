#include "tools/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "text/number.h"
#include "text/printable.h"
#include "tools/progress.h"
#include "tools/worker/client.h"

enum { TIMEOUT_MS = 60000, START_MS = 60000, WAIT_MS = 250, SHOWN_MS = 1000 };

extern char **environ;

struct worker {
    struct worker_settings settings;
    struct worker_about about;
    pid_t pid; /* 0: none */
    int socket;
    bool late;   /* it was ended because it took too long */
    bool killed; /* it was ended from outside */
};

enum status worker_device_of(const char *text, enum worker_device *out, struct error *err)
{
    static const char *const names[] = {
        [WORKER_AUTO] = "auto", [WORKER_GPU] = "gpu", [WORKER_INTERPRETER] = "interpreter"};
    for (int i = 0; i < 3; i++) {
        if (!strcmp(text, names[i])) {
            *out = (enum worker_device)i;
            return STATUS_OK;
        }
    }
    return error_set(err, STATUS_INVALID, "--device %s: expected auto, gpu or interpreter",
                     PRINTABLE(text));
}

enum status worker_device_read(const char *text, struct worker_settings *out, struct error *err)
{
    size_t digits = strspn(text, "0123456789");
    if (!digits || digits > 5 || text[digits])
        return worker_device_of(text, &out->device, NULL)
                   ? error_set(
                         err, STATUS_INVALID,
                         "--device %s: expected auto, gpu, interpreter or the number of a GPU",
                         PRINTABLE(text))
                   : STATUS_OK;
    out->device = WORKER_GPU;
    out->ordinal = atoi(text);
    return STATUS_OK;
}

enum status worker_timeout_read(const char *text, struct worker_settings *out, struct error *err)
{
    char number[32];
    size_t length = strlen(text);
    bool ms = length > 2 && strcmp(text + length - 2, "ms") == 0;
    double value = 0;
    length -= ms ? 2 : 0;
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    bool good = length < sizeof number && number_real(number, &value);
    value *= ms ? 1 : 1000;
    if (!good || value < 1 || value > 3.6e6) /* an hour: more was meant as milliseconds */
        return error_set(err, STATUS_INVALID,
                         "--timeout is '%.40s'; expected seconds up to 3600, such as 0.5 or 60, or "
                         "500ms",
                         PRINTABLE(text));
    out->timeout_ms = (int)value;
    return STATUS_OK;
}

/* ---- the process ---- */

static enum status worker_spawn(struct worker *worker, struct error *err)
{
    const char *tool = worker->settings.tool ? worker->settings.tool : "/proc/self/exe";
    char *argv[] = {"cuvet", "worker", "--serve", NULL};
    posix_spawn_file_actions_t actions;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return error_set(err, STATUS_IO, "no socket for a worker: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[1], STDIN_FILENO);
    int failed = posix_spawn(&worker->pid, tool, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    worker->socket = pair[0];
    worker->late = worker->killed = false;
    if (!failed)
        return STATUS_OK;
    worker->pid = 0;
    close(pair[0]);
    return error_set(err, STATUS_IO, "cannot start a worker, %s: %s", tool, strerror(failed));
}

/* Ends the process; its wait status. */
static int worker_reap(struct worker *worker)
{
    int status = 0;
    if (!worker->pid)
        return 0;
    close(worker->socket);
    kill(worker->pid, SIGKILL);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    worker->pid = 0;
    return status;
}

static int64_t worker_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for the first byte of an answer. False: the time is over. */
static bool worker_wait(const struct worker *worker)
{
    int64_t begin = worker_now();
    int64_t end = begin + (worker->settings.timeout_ms ? worker->settings.timeout_ms : TIMEOUT_MS);
    struct pollfd row = {.fd = worker->socket, .events = POLLIN};
    for (;;) {
        int64_t now = worker_now(), left = end - now;
        int64_t nap = left > WAIT_MS ? WAIT_MS : left;
        int ready = poll(&row, 1, nap > 0 ? (int)nap : 0);
        if (ready > 0)
            return true;
        if (now - begin >= SHOWN_MS)
            progress("the worker is busy, %d s", (int)((now - begin) / 1000));
        if (ready == 0 && left <= 0)
            return false;
    }
}

/* The process is lost: why. */
static enum status worker_dies(struct worker *worker, struct error *err)
{
    bool late = worker->late;
    int status = worker_reap(worker);
    if (late)
        return error_set(err, STATUS_TIMEOUT, "no answer within the time limit of %d ms",
                         worker->settings.timeout_ms ? worker->settings.timeout_ms : TIMEOUT_MS);
    worker->killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (worker->killed)
        return error_set(err, STATUS_IO,
                         "the worker process was killed from outside, as where memory runs out");
    if (WIFSIGNALED(status))
        return error_set(err, STATUS_IO, "the worker process was ended by signal %d (%s)",
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    return error_set(err, STATUS_IO, "the worker process ended");
}

/* ---- one request ---- */

static bool client_send(const struct worker *worker, const struct client_call *call)
{
    struct wire_request head = {.magic = WIRE_MAGIC, .op = call->op};
    memcpy(head.word, call->word, sizeof(head.word));
    head.bytes = call->part[0].count + call->part[1].count;
    return wire_send(worker->socket, &head, sizeof(head)) &&
           wire_send(worker->socket, call->part[0].bytes, call->part[0].count) &&
           wire_send(worker->socket, call->part[1].bytes, call->part[1].count);
}

/* False: the answer is not one. */
static bool client_receive(const struct worker *worker, struct client_call *call,
                           enum status *status, struct error *err)
{
    struct wire_answer head;
    char sentence[sizeof(err->text)] = "";
    if (!wire_receive(worker->socket, &head, sizeof(head)) || head.magic != WIRE_MAGIC ||
        head.sentence >= sizeof(sentence) || head.bytes != (head.status ? 0 : call->out_bytes))
        return false;
    if (!wire_receive(worker->socket, sentence, head.sentence) ||
        !wire_receive(worker->socket, call->out, head.bytes))
        return false;
    call->answer = head.word;
    *status = (enum status)head.status;
    if (*status)
        error_set(err, *status, "%s", sentence);
    return true;
}

enum status client_call(struct worker *worker, struct client_call *call, struct error *err)
{
    enum status status = STATUS_OK;
    if (!worker->pid)
        return error_set(err, STATUS_IO, "the worker process has ended");
    bool sent = client_send(worker, call);
    worker->late = sent && !worker_wait(worker);
    if (sent && !worker->late && client_receive(worker, call, &status, err))
        return status;
    return worker_dies(worker, err);
}

/* ---- start and end ---- */

enum status worker_restart(struct worker *worker, struct error *err)
{
    struct client_call call = {
        .op = WIRE_OPEN,
        .word = {(uint64_t)worker->settings.device, (uint64_t)worker->settings.ordinal},
        .out = &worker->about,
        .out_bytes = sizeof(worker->about)};
    int timeout = worker->settings.timeout_ms;
    worker_reap(worker);
    enum status status = worker_spawn(worker, err);
    if (status)
        return status;
    if (timeout && timeout < START_MS)
        worker->settings.timeout_ms = START_MS;
    status = client_call(worker, &call, err);
    worker->settings.timeout_ms = timeout;
    return status;
}

enum status worker_start(struct worker **out, const struct worker_settings *settings,
                         struct error *err)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    *out = NULL;
    if (!worker)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a worker");
    worker->settings = *settings;
    enum status status = worker_restart(worker, err);
    if (status) {
        worker_end(worker);
        return status == STATUS_NOT_FOUND ? STATUS_DRIVER : status;
    }
    *out = worker;
    return STATUS_OK;
}

const struct worker_about *worker_about(const struct worker *worker)
{
    return &worker->about;
}

void worker_end(struct worker *worker)
{
    if (worker)
        worker_reap(worker);
    free(worker);
}

bool worker_lost(const struct worker *worker)
{
    return !worker->pid;
}

bool worker_killed(const struct worker *worker)
{
    return worker->killed;
}

void client_lose(struct worker *worker)
{
    worker_reap(worker);
}
