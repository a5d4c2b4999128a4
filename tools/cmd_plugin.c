/*
 * cmd_plugin.c - `cuvet plugin FILE`: calls a plugin once with a made-up finding, as its author's
 * test; `cuvet plugin --serve VERSION FILE`: runs it for a program (plugin/plugin_host.h).
 *
 * Two processes: this one reads the program's socket, counts and watches; the other loads the
 * plugin and calls it, and may end in any way. It is started again PLUGIN_RESTARTS times at most.
 * When the program ends, or its end of the socket goes, what is left has PLUGIN_EXIT_MS.
 *
 * Exit status of the first form: 0; 1: the call did not return; 2: wrong arguments, or the plugin
 * cannot be loaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "system/files.h"
#include "text/json_out.h"
#include "text/number.h"
#include "text/printable.h"
#include "cuvet.h"
#include "plugin/plugin_wire.h"
#include "tools/cmd.h"
#include "tools/serve/inherited.h"
#include "tools/serve/plugin_worker.h"

static const char usage[] =
    "usage: cuvet plugin [--limit MILLISECONDS] [--json] FILE.so\n"
    "  --limit MILLISECONDS  time for loading and the call (10000)\n"
    "  --json                prints one JSON object; what the plugin prints goes to standard "
    "error\n";

static const int64_t ms = 1000000;

static const struct cuvet_mismatch example = {
    .size = sizeof example,
    .kernel = "_Z11made_up_rowPKfPfi",
    .label = "made_up_row",
    .reference = "softmax",
    .where = "kernels.yaml:3",
    .bundle = NULL,
    .host = "localhost",
    .pid = 4711,
    .rank = -1,
    .launch = 17,
    .occurrence = 1,
    .grid = {128, 1, 1},
    .block = {256, 1, 1},
    .elements = 131072,
    .violations = 2,
    .max_abs = 0.25,
    .max_rel = 0.2,
    .max_ratio = 31.5,
    .worst = {.array = "y",
              .dims = 2,
              .index = {3, 5},
              .got = 1.5,
              .reference = 1.25,
              .bound = 0.0079365},
    .first =
        {.array = "y", .dims = 2, .index = {1, 2}, .got = 0.5, .reference = 0.25, .bound = 0.0625},
    .subset = "rows",
    .subset_checked = 1024,
    .subset_of = 65536,
};

/* ---- for a program ---- */

struct server {
    const char *file;
    struct plugin_worker worker;
    struct plugin_tally tally;
    int64_t end; /* 0: the program goes on */
};

enum { HOST = STDIN_FILENO };

/* The answer to what was sent or started last, in its time. */
static enum worker_answer wait_answer(struct server *server)
{
    int64_t deadline = clock_ns() + PLUGIN_CALL_MS * ms;
    enum worker_answer answer = WORKER_HURRY;

    while (answer == WORKER_HURRY) {
        if (server->end > 0 && server->end < deadline)
            deadline = server->end;
        answer = plugin_worker_wait(&server->worker, deadline, server->end ? -1 : HOST);
        if (answer == WORKER_HURRY)
            server->end = clock_ns() + PLUGIN_EXIT_MS * ms;
    }
    return answer;
}

/* Whether a process with the plugin loaded is there. */
static bool ready(struct server *server)
{
    enum worker_answer answer;

    if (server->worker.pid)
        return true;
    if (server->tally.state != PLUGIN_WORKS ||
        plugin_worker_start(&server->worker, server->file) != 0)
        return false;
    answer = wait_answer(server);
    if (answer == WORKER_READY)
        return true;
    plugin_worker_end(&server->worker, 0);
    server->tally.state = answer == WORKER_UNLOADABLE ? PLUGIN_UNLOADABLE : PLUGIN_GIVEN_UP;
    return false;
}

static void deliver(struct server *server, const char *message, size_t size)
{
    bool late = server->end > 0 && clock_ns() > server->end;

    if (!late && ready(server) && plugin_worker_send(&server->worker, message, size) == 0 &&
        wait_answer(server) == WORKER_DONE) {
        server->tally.handled++;
        return;
    }
    server->tally.lost++;
    if (!server->worker.pid)
        return;
    plugin_worker_end(&server->worker, 0);
    if (server->tally.restarts == PLUGIN_RESTARTS)
        server->tally.state = PLUGIN_GIVEN_UP;
    else
        server->tally.restarts++;
}

static int serve(const char *file)
{
    static char message[PLUGIN_MESSAGE_MAX];
    struct server server = {.file = file};
    int64_t end;

    inherited_close();
    for (;;) {
        ssize_t size = recv(HOST, message, sizeof message, 0);

        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            break;
        deliver(&server, message, (size_t)size);
        send(HOST, &server.tally, sizeof server.tally, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    end = server.end ? server.end : clock_ns() + PLUGIN_EXIT_MS * ms;
    plugin_worker_end(&server.worker, end);
    send(HOST, &server.tally, sizeof server.tally, MSG_NOSIGNAL);
    return 0;
}

/* ---- for an author ---- */

/* Standard output for one JSON object, while what the plugin prints goes to standard error; NULL
 * where there is none. */
static FILE *own_output(void)
{
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return NULL;
    return out;
}

static int print_json(FILE *out, const char *file, const char *outcome, double call_ms)
{
    struct json_out json;
    json_out_init(&json);
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_string(&json, "plugin", file);
    json_put_string(&json, "outcome", outcome);
    json_put_double(&json, "ms", call_ms);
    json_end(&json);
    bool good = json_out_ok(&json) && fprintf(out, "%s\n", json.text.data) > 0;
    json_out_release(&json);
    return fclose(out) || !good;
}

/* The sentence of a call that did not return. */
static void print_end(const char *file, enum worker_answer answer, int status, uint64_t limit_ms)
{
    if (answer == WORKER_LATE)
        fprintf(stderr, "cuvet plugin: %s took longer than %llu ms and was stopped\n",
                PRINTABLE(file), (unsigned long long)limit_ms);
    else if (answer == WORKER_UNLOADABLE || answer == WORKER_DONE)
        return;
    else if (WIFSIGNALED(status))
        fprintf(stderr, "cuvet plugin: %s ended its process by signal %d (%s)\n", PRINTABLE(file),
                WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        fprintf(stderr, "cuvet plugin: %s ended its process with exit status %d\n", PRINTABLE(file),
                WEXITSTATUS(status));
}

/* Loads the plugin and calls it; `call_ms`: how long the call took. */
static enum worker_answer call_once(struct plugin_worker *worker, int64_t deadline, double *call_ms)
{
    static char message[PLUGIN_MESSAGE_MAX];
    size_t size = plugin_wire_put(&example, message, sizeof message);
    enum worker_answer answer = plugin_worker_wait(worker, deadline, -1);
    int64_t began = clock_ns();
    if (answer == WORKER_READY) {
        plugin_worker_send(worker, message, size);
        answer = plugin_worker_wait(worker, deadline, -1);
    }
    *call_ms = (double)(clock_ns() - began) / 1e6;
    return answer;
}

/* `out`: takes a JSON object; NULL: text. */
static int try_once(const char *file, uint64_t limit_ms, FILE *out)
{
    int64_t deadline = clock_ns() + (int64_t)limit_ms * ms;
    struct plugin_worker worker;
    struct error err = {{0}};
    double call_ms;
    int status, fd;

    if (files_open_read(file, &fd, &err)) { /* dlopen waits at a FIFO */
        fprintf(stderr, "cuvet plugin: %s: %s\n", PRINTABLE(file), err.text);
        return 2;
    }
    close(fd);
    if (plugin_worker_start(&worker, file) != 0) {
        fprintf(stderr, "cuvet plugin: no process: %s\n", strerror(errno));
        return 1;
    }
    enum worker_answer answer = call_once(&worker, deadline, &call_ms);
    if (answer == WORKER_DONE && !out)
        printf("%s took a made-up finding in %.1f ms\n", PRINTABLE(file), call_ms);
    status = plugin_worker_end(&worker, answer == WORKER_LATE ? 0 : deadline);
    print_end(file, answer, status, limit_ms);
    if (out && print_json(out, file,
                          answer == WORKER_DONE         ? "returned"
                          : answer == WORKER_LATE       ? "late"
                          : answer == WORKER_UNLOADABLE ? "unloadable"
                                                        : "ended",
                          call_ms))
        return 1;
    return answer == WORKER_DONE ? 0 : answer == WORKER_UNLOADABLE ? 2 : 1;
}

/* 0, or an exit status. */
static int read_arguments(int argc, char **argv, uint64_t *limit_ms, bool *json)
{
    int i = 1;
    for (; i < argc - 1; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            *json = true;
        } else if (strcmp(argv[i], "--limit") == 0 && i + 1 < argc - 1) {
            if (number_unsigned(argv[++i], limit_ms) && *limit_ms >= 1 && *limit_ms <= 3600000)
                continue;
            fprintf(stderr, "cuvet plugin: --limit expects 1 to 3600000 milliseconds, not %s\n",
                    PRINTABLE(argv[i]));
            return 2;
        } else {
            break;
        }
    }
    if (i == argc - 1 && argv[i][0] != '-')
        return 0;
    fputs(usage, stderr);
    return 2;
}

int cmd_plugin(int argc, char **argv)
{
    uint64_t limit_ms = PLUGIN_CALL_MS;
    char file[4096];
    bool json = false;

    if (argc == 4 && strcmp(argv[1], "--serve") == 0) {
        if (strcmp(argv[2], cuvet_version()) == 0)
            return serve(argv[3]);
        fprintf(stderr, "cuvet plugin: this is version %s, the library's is %s\n", cuvet_version(),
                PRINTABLE(argv[2]));
        return 2;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    int code = read_arguments(argc, argv, &limit_ms, &json);
    if (code)
        return code;
    /* dlopen searches a name without a slash in the library path, not here. */
    const char *name = argv[argc - 1];
    snprintf(file, sizeof file, "%s%s", strchr(name, '/') ? "" : "./", name);
    fflush(NULL);
    FILE *out = json ? own_output() : NULL;
    if (json && !out) {
        fprintf(stderr, "cuvet plugin: standard output: %s\n", strerror(errno));
        return 1;
    }
    return try_once(file, limit_ms, out);
}
