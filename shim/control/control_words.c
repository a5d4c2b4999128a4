/*
 * control_words.c - see control_words.h.
 *
 * The lines of status, each "KEY VALUE": version, pid, program, state (running or stopped), sample,
 * elapsed (seconds), seen, registered, checked, match, mismatch, inconclusive, unchecked,
 * under_way, cost, cost_thread, cost_copy, cost_reference (seconds), kernels (how many), then for
 * each bucket that holds launches "skip COUNT NAME". top adds for each kernel
 *
 *     kernel NUMBER LAUNCHES CHECKED MATCH MISMATCH INCONCLUSIVE WORST LABEL
 *
 * with the largest error / bound ("NaN", "Infinity", "-" where nothing was checked), findings
 * first. New keys may come; a reader ignores keys that it does not support.
 */
#include "control/control_words.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "system/control_socket.h"
#include "text/json_out.h"
#include "text/number.h"
#include "text/printable.h"
#include "control/control.h"
#include "cuvet.h"
#include "report/place.h"

enum { FLUSH_MS = 1000, PROGRAM = 256 };

static void put_real_word(struct textbuf *out, const char *key, double value)
{
    char number[32];
    json_format_double(number, value);
    textbuf_printf(out, "%s %s\n", key, number);
}

static void put_count_word(struct textbuf *out, const char *key, uint64_t value)
{
    textbuf_printf(out, "%s %" PRIu64 "\n", key, value);
}

static void put_program(struct textbuf *out)
{
    char path[PROGRAM];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    textbuf_printf(out, "program %s\n", PRINTABLE(path[0] ? path : program_invocation_name));
}

static void put_status(struct textbuf *out, const struct counters_totals *totals)
{
    struct cuvet_counters c = {.size = sizeof(c)};
    cuvet_counters(&c);
    textbuf_printf(out, "version %s\npid %d\n", cuvet_version(), (int)getpid());
    put_program(out);
    textbuf_printf(out, "state %s\n", cuvet_is_running() ? "running" : "stopped");
    put_real_word(out, "sample", cuvet_get_sample());
    put_real_word(out, "elapsed", c.elapsed_seconds);
    put_count_word(out, "seen", c.seen);
    put_count_word(out, "registered", c.registered);
    put_count_word(out, "checked", c.match + c.mismatch + c.inconclusive);
    put_count_word(out, "match", c.match);
    put_count_word(out, "mismatch", c.mismatch);
    put_count_word(out, "inconclusive", c.inconclusive);
    put_count_word(out, "unchecked", c.unchecked);
    put_count_word(out, "under_way", c.under_way);
    put_real_word(out, "cost", c.cost_seconds);
    put_real_word(out, "cost_thread", c.thread_seconds);
    put_real_word(out, "cost_copy", c.copy_seconds);
    put_real_word(out, "cost_reference", c.reference_seconds);
    put_count_word(out, "kernels", totals->kernels);
    for (int k = SKIP_NONE + 1; k < SKIP_COUNT; k++) {
        if (totals->buckets.skip[k])
            textbuf_printf(out, "skip %" PRIu64 " %s\n", totals->buckets.skip[k],
                           skip_text((enum skip)k));
    }
}

static void put_kernel(struct textbuf *out, const struct counters_kernel *kernel)
{
    const uint64_t *verdict = kernel->buckets.verdict;
    uint64_t checked = counters_checked(&kernel->buckets);
    char worst[32] = "-";
    if (checked && isfinite(kernel->max_ratio))
        json_format_double(worst, kernel->max_ratio);
    else if (checked)
        snprintf(worst, sizeof(worst), isnan(kernel->max_ratio) ? "NaN" : "Infinity");
    textbuf_printf(out, "kernel %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s ",
                   kernel->spec->number, counters_sum(&kernel->buckets), checked,
                   verdict[VERDICT_MATCH], verdict[VERDICT_MISMATCH], verdict[VERDICT_INCONCLUSIVE],
                   worst);
    textbuf_printf(out, "%s\n", PRINTABLE(place_kernel(kernel->spec)));
}

static void put_kernels(struct textbuf *out, struct counters *counters)
{
    uint32_t count;
    struct counters_kernel *kernels = counters_read_kernels(counters, &count);
    for (uint32_t i = 0; i < count && i < CONTROL_ROWS; i++)
        put_kernel(out, &kernels[i]);
    free(kernels);
}

/* ---- requests ---- */

void control_words_refuse(struct textbuf *answer, const char *sentence)
{
    textbuf_printf(answer, CONTROL_GREETING "error %s\n", sentence);
}

/* The answer without lines for a public function's return value. */
static void put_result(struct textbuf *answer, int result)
{
    if (result == CUVET_OK)
        textbuf_printf(answer, CONTROL_GREETING "ok\n");
    else if (result == CUVET_TIMEOUT)
        textbuf_printf(answer, CONTROL_GREETING "timeout\n");
    else
        control_words_refuse(answer, "the process is ending");
}

/* A parsed request; -1: wait_ms was not given. */
struct request {
    const char *argument; /* or NULL */
    int wait_ms;
};

/* Each returns true when it waits. */
static bool on_status(const struct request *request, struct textbuf *answer)
{
    const struct control_targets *targets = control_targets();
    struct counters_totals totals;
    (void)request;
    put_result(answer, targets ? CUVET_OK : CUVET_INACTIVE);
    if (!targets)
        return false;
    counters_read(targets->counters, &totals);
    put_status(answer, &totals);
    return false;
}

static bool on_top(const struct request *request, struct textbuf *answer)
{
    on_status(request, answer);
    if (control_targets())
        put_kernels(answer, control_targets()->counters);
    return false;
}

static bool on_start(const struct request *request, struct textbuf *answer)
{
    (void)request;
    put_result(answer, cuvet_start());
    return false;
}

static bool on_sample(const struct request *request, struct textbuf *answer)
{
    double probability;
    if (!request->argument || !number_real(request->argument, &probability) ||
        cuvet_set_sample(probability) == CUVET_INVALID)
        control_words_refuse(answer, "sample expects a number from 0 to 1");
    else
        put_result(answer, control_targets() ? CUVET_OK : CUVET_INACTIVE);
    return false;
}

/* stop without a time does not wait, and so cannot fail to finish. */
static bool on_stop(const struct request *request, struct textbuf *answer)
{
    int result = cuvet_stop(0);
    if (result == CUVET_TIMEOUT && request->wait_ms > 0)
        return true;
    put_result(answer, result == CUVET_TIMEOUT && request->wait_ms < 0 ? CUVET_OK : result);
    return false;
}

static bool on_flush(const struct request *request, struct textbuf *answer)
{
    int result = cuvet_flush(0);
    if (result == CUVET_TIMEOUT && request->wait_ms != 0)
        return true;
    put_result(answer, result);
    return false;
}

static const struct word {
    const char *name;
    bool (*act)(const struct request *request, struct textbuf *answer);
    enum { NOTHING, MILLISECONDS, PROBABILITY } takes;
    int wait_ms; /* where the request names none */
} command_words[] = {
    {"status", on_status, NOTHING, -1},     {"top", on_top, NOTHING, -1},
    {"start", on_start, NOTHING, -1},       {"stop", on_stop, MILLISECONDS, -1},
    {"sample", on_sample, PROBABILITY, -1}, {"flush", on_flush, MILLISECONDS, FLUSH_MS},
};

/* Printable words, separated by single spaces; NULL: something else came. */
static bool split_line(char *line, size_t length, char **argument)
{
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)line[i] < ' ' || (unsigned char)line[i] > '~')
            return false;
    }
    line[length] = '\0';
    *argument = strchr(line, ' ');
    if (*argument)
        *(*argument)++ = '\0';
    return true;
}

/* False, and the answer has the reason, when the argument does not fit the word. */
static bool read_argument(const struct word *word, const char *argument, struct request *request,
                          struct textbuf *answer)
{
    uint64_t ms;
    *request = (struct request){argument, word->wait_ms};
    if (argument && word->takes == NOTHING) {
        control_words_refuse(answer, "nothing may follow this word");
        return false;
    }
    if (!argument || word->takes != MILLISECONDS)
        return true;
    if (!number_unsigned(argument, &ms) || ms > CONTROL_WAIT_MS) {
        control_words_refuse(answer, "expected milliseconds, 0 to 60000");
        return false;
    }
    request->wait_ms = (int)ms;
    return true;
}

bool control_words_begin(const char *line, size_t length, struct textbuf *answer, int *wait_ms)
{
    char copy[CONTROL_REQUEST + 1], *argument;
    struct request request;
    if (length > CONTROL_REQUEST)
        length = CONTROL_REQUEST;
    memcpy(copy, line, length);
    if (!split_line(copy, length, &argument)) {
        control_words_refuse(answer, "expected printable words");
        return false;
    }
    for (size_t i = 0; i < sizeof(command_words) / sizeof(*command_words); i++) {
        if (strcmp(copy, command_words[i].name) != 0)
            continue;
        if (!read_argument(&command_words[i], argument, &request, answer))
            return false;
        *wait_ms = request.wait_ms;
        return command_words[i].act(&request, answer);
    }
    control_words_refuse(answer, "expected status, top, start, stop, sample or flush");
    return false;
}

bool control_words_idle(void)
{
    const struct control_targets *targets = control_targets();
    return !targets || collector_idle(targets->pipeline->collector);
}

void control_words_end(struct textbuf *answer)
{
    put_result(answer, control_words_idle() ? CUVET_OK : CUVET_TIMEOUT);
}
