/*
 * cmd_ctl.c - `cuvet ctl`: shows the state of a running process and controls its checks.
 *
 * Exit status: 0; 1 the process refused, sent no reply or has another protocol; 2 a wrong command
 * line; 3 no process, or not this one, can be reached; 4 stop or flush: checks were still under way
 * when the time was over.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "text/number.h"
#include "text/printable.h"
#include "tools/cmd.h"
#include "tools/ctl/ctl_client.h"
#include "tools/ctl/ctl_view.h"

enum { CTL_FAILED = 1, CTL_USAGE = 2, CTL_NO_PROCESS = 3, CTL_TIMEOUT = 4 };

static const char usage[] =
    "usage: cuvet ctl [--json]             list the processes that can be reached\n"
    "       cuvet ctl PID status [--json]  state, counters, cost\n"
    "       cuvet ctl PID top [-n N]       live view, N times; without a terminal once\n"
    "       cuvet ctl PID start            check from now on; first launches are due again\n"
    "       cuvet ctl PID stop [MS]        check no more; wait MS milliseconds for what is under "
    "way\n"
    "       cuvet ctl PID sample P         check a launch with probability P, 0 to 1\n"
    "       cuvet ctl PID flush [MS]       wait until nothing is under way, 1000 ms at most\n";

struct command {
    pid_t pid;
    const char *argument; /* or NULL */
    bool json;
    uint64_t times; /* -n; 0: not given */
};

static int wrong(const char *sentence, const char *value)
{
    fprintf(stderr, "cuvet ctl: %s%s\n%s", sentence, PRINTABLE(value), usage);
    return CTL_USAGE;
}

/* Reports why there is no reply. */
static int failed(pid_t pid, enum status status, const struct error *err)
{
    fprintf(stderr, "cuvet ctl: %d: %s%s\n", (int)pid, err->text,
            status == STATUS_NOT_FOUND ? "; `cuvet ctl` lists the processes that can be reached"
                                       : "");
    if (status == STATUS_NOT_FOUND)
        return CTL_NO_PROCESS;
    return status == STATUS_TIMEOUT ? CTL_TIMEOUT : CTL_FAILED;
}

static enum status request_view(pid_t pid, const char *request, struct ctl_status *out,
                                struct error *err)
{
    struct textbuf answer;
    textbuf_init(&answer);
    enum status status = ctl_request(pid, request, 0, &answer, err);
    if (!status && !ctl_view_read(out, answer.length ? answer.data : ""))
        status = error_set(err, STATUS_INVALID, "the answer names no state");
    textbuf_release(&answer);
    return status;
}

static void show(const struct textbuf *text)
{
    if (text->length)
        fwrite(text->data, 1, text->length, stdout);
    fflush(stdout);
}

/* ---- words ---- */

static int do_status(const struct command *command)
{
    static struct ctl_status status;
    struct error err = {{0}};
    struct textbuf text;
    enum status result = request_view(command->pid, "status\n", &status, &err);
    if (result)
        return failed(command->pid, result, &err);
    textbuf_init(&text);
    if (command->json)
        ctl_view_json(&status, &text);
    else
        ctl_view_text(&status, &text);
    show(&text);
    textbuf_release(&text);
    return ferror(stdout) ? CTL_FAILED : 0;
}

/* A redraw begins at the top left, clears each line's rest, and below. */
static void draw(const struct textbuf *view)
{
    fputs("\033[H", stdout);
    for (size_t i = 0; i < view->length; i++) {
        if (view->data[i] == '\n')
            fputs("\033[K", stdout);
        fputc(view->data[i], stdout);
    }
    fputs("\033[J", stdout);
    fflush(stdout);
}

static int terminal_rows(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

static int do_top(const struct command *command)
{
    static struct ctl_status views[2];
    const struct timespec second = {.tv_sec = 1};
    bool terminal = isatty(STDOUT_FILENO);
    uint64_t times = command->times ? command->times : terminal ? UINT64_MAX : 1;
    for (uint64_t i = 0; i < times && !ferror(stdout); i++) {
        struct error err = {{0}};
        struct textbuf text;
        struct ctl_status *now = &views[i % 2];
        if (i)
            nanosleep(&second, NULL);
        enum status status = request_view(command->pid, "top\n", now, &err);
        if (status == STATUS_NOT_FOUND && i) {
            fprintf(stderr, "cuvet ctl: process %d has ended\n", (int)command->pid);
            return 0;
        }
        if (status)
            return failed(command->pid, status, &err);
        textbuf_init(&text);
        if (i && !terminal)
            textbuf_printf(&text, "\n");
        ctl_view_top(now, i ? &views[(i + 1) % 2] : NULL, terminal ? terminal_rows() : 0, terminal,
                     &text);
        if (terminal && !i)
            fputs("\033[2J", stdout);
        if (terminal)
            draw(&text);
        else
            show(&text);
        textbuf_release(&text);
    }
    return ferror(stdout) ? CTL_FAILED : 0;
}

/* A word that is passed on as it is: WORD [ARGUMENT]. */
static int pass_on(const struct command *command, const char *word, int wait_ms)
{
    char request[CONTROL_REQUEST];
    struct error err = {{0}};
    struct textbuf answer;
    textbuf_init(&answer);
    snprintf(request, sizeof(request), "%s%s%s\n", word, command->argument ? " " : "",
             command->argument ? command->argument : "");
    enum status status = ctl_request(command->pid, request, wait_ms, &answer, &err);
    textbuf_release(&answer);
    return status ? failed(command->pid, status, &err) : 0;
}

static int do_start(const struct command *command)
{
    return pass_on(command, "start", 0);
}

static int do_sample(const struct command *command)
{
    double probability;
    if (!command->argument)
        return wrong("sample expects a number from 0 to 1", "");
    if (!number_real(command->argument, &probability) || probability < 0 || probability > 1)
        return wrong("sample expects a number from 0 to 1, not ", command->argument);
    return pass_on(command, "sample", 0);
}

static int pass_on_ms(const struct command *command, const char *word)
{
    uint64_t ms = 0;
    if (command->argument && (!number_unsigned(command->argument, &ms) || ms > CONTROL_WAIT_MS))
        return wrong("expected milliseconds from 0 to 60000, not ", command->argument);
    return pass_on(command, word, (int)ms);
}

static int do_stop(const struct command *command)
{
    return pass_on_ms(command, "stop");
}

static int do_flush(const struct command *command)
{
    return pass_on_ms(command, "flush");
}

static const struct ctl_word {
    const char *name;
    int (*act)(const struct command *command);
    bool argument, json, times; /* what may be given */
} words[] = {
    {"status", do_status, false, true, false}, {"top", do_top, false, false, true},
    {"start", do_start, false, false, false},  {"stop", do_stop, true, false, false},
    {"sample", do_sample, true, false, false}, {"flush", do_flush, true, false, false},
};

/* ---- the list ---- */

struct listing {
    unsigned count;
    bool json;
    struct json_out out;
};

static void list_one(void *user, pid_t pid)
{
    static struct ctl_status status;
    struct listing *listing = user;
    struct error err = {{0}};
    if (request_view(pid, "status\n", &status, &err))
        return;
    listing->count++;
    if (listing->json) {
        ctl_view_object(&status, &listing->out);
        return;
    }
    if (listing->count == 1)
        printf("%8s  %-8s %12s %10s %10s  %s\n", "PID", "state", "launches", "checked", "mismatch",
               "program");
    printf("%8d  %-8s %12" PRIu64 " %10" PRIu64 " %10" PRIu64 "  %s\n", (int)pid, status.state,
           status.seen, status.checked, status.mismatch, status.program);
}

static int list(bool json)
{
    struct listing listing = {.json = json};
    json_out_init(&listing.out);
    json_begin_object(&listing.out);
    json_put_int(&listing.out, "version", 1);
    json_put_array(&listing.out, "processes");
    ctl_each(list_one, &listing);
    json_end(&listing.out);
    json_end(&listing.out);
    if (json && json_out_ok(&listing.out))
        printf("%s\n", listing.out.text.data);
    json_out_release(&listing.out);
    if (fflush(stdout) != 0 || ferror(stdout))
        return CTL_FAILED;
    if (listing.count)
        return 0;
    fprintf(stderr, "cuvet ctl: no process of this user is being checked and can be reached\n");
    return CTL_NO_PROCESS;
}

/* ---- the command line ---- */

/* 0, or the exit status; -1: help was printed. */
static int parse(struct command *command, int *optional, int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
    int option;
    optind = 0; /* glibc: start afresh */
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":n:h", options, NULL)) != -1) {
        switch (option) {
        case 'j':
            command->json = true;
            break;
        case 'n':
            if (!number_unsigned(optarg, &command->times) || !command->times)
                return wrong("-n expects a number from 1 on, not ", optarg);
            break;
        case 'h':
            fputs(usage, stdout);
            return -1;
        case ':':
            return wrong("a value is missing after ", argv[optind - 1]);
        default:
            return wrong("unknown option ", argv[optind - 1]);
        }
    }
    *optional = optind;
    return 0;
}

static int run_word(struct command *command, const char *name, int arguments)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        const struct ctl_word *word = &words[i];
        if (strcmp(word->name, name) != 0)
            continue;
        if (arguments > (word->argument ? 1 : 0))
            return wrong("too many words after ", name);
        if ((command->json && !word->json) || (command->times && !word->times))
            return wrong("this option is not for ", name);
        return word->act(command);
    }
    return wrong("expected status, top, start, stop, sample or flush, not ", name);
}

int cmd_ctl(int argc, char **argv)
{
    struct command command = {0};
    uint64_t pid;
    int first = 0, status = parse(&command, &first, argc, argv);
    if (status)
        return status < 0 ? 0 : status;
    if (first == argc)
        return command.times ? wrong("a process is missing", "") : list(command.json);
    if (!number_unsigned(argv[first], &pid) || pid < 1 || pid > INT32_MAX)
        return wrong("expected the number of a process, not ", argv[first]);
    if (argc - first < 2)
        return wrong("a word is missing after ", argv[first]);
    command.pid = (pid_t)pid;
    command.argument = argc - first > 2 ? argv[first + 2] : NULL;
    return run_word(&command, argv[first + 1], argc - first - 2);
}
