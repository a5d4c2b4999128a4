/*
 * journal.c - see journal.h.
 *
 * Every line goes through line_begin and line_end, which hold the mutex between them: the head is
 * written there, and there alone it is decided whether a line may still be written. The line is
 * built in one buffer that the journal keeps, so a journal that runs allocates nothing new.
 */
#include "report/journal.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "system/files.h"
#include "text/json_out.h"
#include "system/log.h"
#include "base/rank.h"
#include "refs/ref_list.h"
#include "report/place.h"
#include "report/report_json.h"
#include "report/thin.h"

/* Lines of one kernel so far, by verdict: the rate limit. */
struct told {
    uint64_t verdict[VERDICT_COUNT];
};

struct journal {
    pthread_mutex_t lock;
    struct own_fd file;
    pid_t pid;
    struct quota *quota;
    struct json_out json;
    atomic_bool off;
    _Atomic uint64_t lost;
    bool has_rank;
    int64_t rank;
    char host[65], run[96];
    struct told *told; /* by spec->number */
    uint32_t told_count;
    char path[];
};

/* Replaces what does not belong into a file's name. */
static void make_plain(char *text)
{
    for (char *at = text; *at; at++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", *at))
            *at = '_';
    }
}

static void read_host(char *host, size_t size)
{
    if (gethostname(host, size) != 0)
        snprintf(host, size, "host");
    host[size - 1] = '\0';
    make_plain(host);
}

static void name_file(struct journal *journal, size_t size, const char *folder)
{
    char of_run[sizeof journal->run];

    snprintf(of_run, sizeof of_run, "%s", journal->run);
    make_plain(of_run);
    snprintf(journal->path, size, "%s/journal-%s-%ld%s%s.jsonl", folder, journal->host,
             (long)journal->pid, *of_run ? "-" : "", of_run);
}

enum status journal_create(struct journal **out, const char *folder, const char *run,
                           struct quota *quota, struct error *err)
{
    enum status status;
    struct journal *journal;
    char host[65];
    size_t size;

    *out = NULL;
    if (!folder || !*folder)
        return STATUS_OK;
    status = files_make_folders(folder, err);
    if (status)
        return status;
    read_host(host, sizeof host);
    size = strlen(folder) + strlen(host) + sizeof journal->run + 64;
    journal = calloc(1, sizeof *journal + size);
    if (!journal)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the journal");
    journal->pid = getpid();
    memcpy(journal->host, host, sizeof host);
    snprintf(journal->run, sizeof journal->run, "%s", run ? run : "");
    name_file(journal, size, folder);
    if (!quota_take(quota, JOURNAL_END_BYTES)) {
        status = error_set(err, STATUS_FULL, "CUVET_QUOTA leaves no room for a journal");
        goto failed;
    }
    status = files_append(journal->path, &journal->file, err);
    if (status)
        goto failed;
    journal->has_rank = rank_read(&journal->rank);
    journal->quota = quota;
    pthread_mutex_init(&journal->lock, NULL);
    json_out_init(&journal->json);
    *out = journal;
    return STATUS_OK;
failed:
    free(journal);
    return status;
}

void journal_destroy(struct journal *journal)
{
    if (!journal)
        return;
    own_fd_close(&journal->file);
    json_out_release(&journal->json);
    free(journal->told);
    free(journal);
}

bool journal_forked(const struct journal *journal)
{
    return journal && journal->pid != getpid();
}

uint64_t journal_lost(const struct journal *journal)
{
    return journal ? atomic_load(&((struct journal *)journal)->lost) : 0;
}

const char *journal_path(const struct journal *journal)
{
    return journal ? journal->path : "";
}

static void put_time(struct json_out *json)
{
    struct timespec now = {0};
    struct tm utc = {0};
    char text[96];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", utc.tm_year + 1900,
             utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
             now.tv_nsec / 1000000);
    json_put_string(json, "time", text);
}

/* Takes the lock and writes the head; NULL when there is nothing to write to. A caller that gets
 * the writer fills in its fields and calls line_end. */
static struct json_out *line_begin(struct journal *journal, const char *event)
{
    struct json_out *json;

    if (!journal || journal_forked(journal))
        return NULL;
    if (atomic_load(&journal->off)) {
        atomic_fetch_add(&journal->lost, 1);
        return NULL;
    }
    pthread_mutex_lock(&journal->lock);
    json = &journal->json;
    json_out_clear(json);
    json_begin_object(json);
    json_put_int(json, "v", JOURNAL_VERSION);
    json_put_string(json, "event", event);
    put_time(json);
    json_put_string(json, "host", journal->host);
    json_put_int(json, "pid", journal->pid);
    if (journal->has_rank)
        json_put_int(json, "rank", journal->rank);
    if (journal->run[0])
        json_put_string(json, "run", journal->run);
    return json;
}

/* A program that has closed the descriptor (a daemon closes all from 3 up) costs no line. */
static enum status write_text(struct journal *journal, const struct textbuf *text,
                              struct error *err)
{
    struct error lost = {0};
    enum status status = files_write_once(&journal->file, text->data, text->length, &lost);

    if (status == STATUS_NOT_FOUND) {
        status = files_append_again(journal->path, &journal->file, err);
        return status ? status : files_write_once(&journal->file, text->data, text->length, err);
    }
    return status ? error_set(err, status, "%s", lost.text) : STATUS_OK;
}

static void line_write(struct journal *journal, bool last)
{
    struct textbuf *text = &journal->json.text;
    struct error err = {0};
    enum status status;

    if (!json_out_ok(&journal->json)) {
        atomic_fetch_add(&journal->lost, 1); /* no memory for the line: the next may be shorter */
        return;
    }
    textbuf_add(text, "\n", 1);
    if (last && text->length <= JOURNAL_END_BYTES)
        status = STATUS_OK; /* set aside at the start */
    else if (quota_take(journal->quota, text->length))
        status = STATUS_OK;
    else
        status = error_set(&err, STATUS_FULL, "CUVET_QUOTA is used up");
    if (!status && !text->failed)
        status = write_text(journal, text, &err);
    if (!status && !text->failed)
        return;
    atomic_fetch_add(&journal->lost, 1);
    /* A used-up quota leaves the end line possible; a disk that refuses does not. */
    if ((status == STATUS_IO || status == STATUS_NOT_FOUND) &&
        !atomic_exchange(&journal->off, true))
        log_line(LOG_WARN, "the journal %s ends here: %s. Checking goes on without it.",
                 journal->path, err.text);
    else if (status == STATUS_FULL)
        log_once(LOG_WARN, "the journal %s leaves lines out from here on: %s.", journal->path,
                 err.text);
}

static void line_end(struct journal *journal, bool last)
{
    json_end(&journal->json);
    line_write(journal, last);
    pthread_mutex_unlock(&journal->lock);
}

static void put_text(struct json_out *json, const char *name, const char *value)
{
    json_put_string(json, name, value);
}

static void put_flag(struct json_out *json, const char *name, bool value)
{
    json_put_bool(json, name, value);
}

static void put_count(struct json_out *json, const char *name, uint64_t value)
{
    json_put_uint(json, name, value);
}

static void put_real(struct json_out *json, const char *name, double value)
{
    json_put_double(json, name, value);
}

static void put_options(struct json_out *json, const struct options *options)
{
    json_put_object(json, "options");
#define OPTION(name, field, type, fallback, sentence)                                              \
    _Generic(options->field,                                                                       \
        const char *: put_text,                                                                    \
        bool: put_flag,                                                                            \
        uint64_t: put_count,                                                                       \
        double: put_real)(json, #name, options->field);
#include "base/options.def"
#undef OPTION
    json_end(json);
}

static void put_program(struct json_out *json)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    path[length > 0 ? length : 0] = '\0';
    json_put_string(json, "program", path);
}

/* CUVET_CONFIG split into its files. */
static void put_files(struct json_out *json, const char *config)
{
    json_put_array(json, "registry");
    while (config && *config) {
        size_t length = strcspn(config, ":");

        if (length > 0)
            json_string_n(json, config, length);
        config += length + (config[length] == ':');
    }
    json_end(json);
}

void journal_start(struct journal *journal, const struct options *options, uint64_t entries)
{
    struct json_out *json = line_begin(journal, "start");

    if (!json)
        return;
    put_program(json);
    put_files(json, options->config);
    json_put_uint(json, "entries", entries);
    put_options(json, options);
    line_end(journal, false);
}

void journal_kernel(struct journal *journal, const struct kernel_spec *spec)
{
    struct json_out *json = line_begin(journal, "kernel");

    if (!json)
        return;
    json_put_string(json, "kernel", spec->symbol);
    json_put_string(json, "label", place_kernel(spec));
    json_put_string(json, "reference", spec->reference ? spec->reference->name : NULL);
    json_put_string(json, "where", spec->where);
    line_end(journal, false);
}

/* Counts one more launch of that kernel and verdict; under the lock. 0 without memory. */
static uint64_t occurrence(struct journal *journal, const struct check_report *report)
{
    uint32_t number = report->spec->number;

    if (number >= journal->told_count) {
        uint32_t count = number + 64;
        struct told *told = realloc(journal->told, count * sizeof *told);

        if (!told)
            return 0;
        memset(told + journal->told_count, 0, (count - journal->told_count) * sizeof *told);
        journal->told = told;
        journal->told_count = count;
    }
    return ++journal->told[number].verdict[report->verdict];
}

void journal_check(struct journal *journal, const struct check_report *report, const char *bundle)
{
    static const char *const events[VERDICT_COUNT] = {[VERDICT_MATCH] = "note",
                                                      [VERDICT_MISMATCH] = "finding",
                                                      [VERDICT_INCONCLUSIVE] = "inconclusive"};
    bool finding = report->verdict == VERDICT_MISMATCH;
    struct json_out *json;
    uint64_t number;

    if (report->verdict == VERDICT_MATCH && !report->notes)
        return;
    json = line_begin(journal, events[report->verdict]);
    if (!json)
        return;
    number = occurrence(journal, report);
    if (!thin_told(number, finding ? THIN_FINDINGS : THIN_OTHERS)) {
        pthread_mutex_unlock(&journal->lock);
        return;
    }
    json_put_uint(json, "occurrence", number);
    report_json_check(json, report);
    json_put_string(json, "bundle", bundle && *bundle ? bundle : NULL);
    line_end(journal, false);
}

void journal_warning(struct journal *journal, const char *format, ...)
{
    struct json_out *json = line_begin(journal, "warning");
    char sentence[1024];
    va_list args;

    if (!json)
        return;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    json_put_string(json, "sentence", sentence);
    line_end(journal, false);
}

void journal_control(struct journal *journal, const char *what)
{
    struct json_out *json = line_begin(journal, "control");

    if (!json)
        return;
    json_put_string(json, "what", what);
    line_end(journal, false);
}

void journal_launch_error(struct journal *journal, const char *symbol, const uint32_t grid[3],
                          const uint32_t block[3], const char *error_name)
{
    struct json_out *json = line_begin(journal, "launch_error");

    if (!json)
        return;
    json_put_string(json, "kernel", symbol);
    report_json_dim3(json, "grid", grid);
    report_json_dim3(json, "block", block);
    json_put_string(json, "error", error_name);
    line_end(journal, false);
}

static void put_buckets(struct json_out *json, const struct counters_buckets *buckets)
{
    uint64_t checked = counters_checked(buckets);

    json_put_uint(json, "checked", checked);
    for (int v = 0; v < VERDICT_COUNT; v++)
        json_put_uint(json, verdict_text((enum verdict)v), buckets->verdict[v]);
    json_put_uint(json, "unchecked", counters_sum(buckets) - checked);
    json_put_object(json, "reasons");
    for (int k = SKIP_NONE + 1; k < SKIP_COUNT; k++) {
        if (buckets->skip[k] > 0)
            json_put_uint(json, skip_text((enum skip)k), buckets->skip[k]);
    }
    json_end(json);
}

static void write_kernel_totals(struct journal *journal, const struct counters_kernel *kernel)
{
    struct json_out *json = line_begin(journal, "totals");

    if (!json)
        return;
    json_put_string(json, "kernel", kernel->spec->symbol);
    json_put_string(json, "label", place_kernel(kernel->spec));
    json_put_uint(json, "launches", counters_sum(&kernel->buckets));
    put_buckets(json, &kernel->buckets);
    json_put_uint(json, "elements", kernel->elements);
    json_put_uint(json, "violations", kernel->violations);
    json_put_double(json, "max_ratio", kernel->max_ratio);
    json_put_uint(json, "wide", kernel->wide);
    json_put_uint(json, "spread_launches", kernel->spread_launches);
    json_put_uint(json, "lean_launches", kernel->lean_launches);
    json_put_uint(json, "narrow_elements", kernel->narrow_elements);
    json_put_double(json, "square_ratio", kernel->square_ratio);
    json_put_double(json, "mean_signed", kernel->mean_signed);
    json_put_double(json, "bias", kernel->bias);
    json_put_uint(json, "subsets", kernel->subsets);
    json_put_double(json, "subset_share", kernel->subset_share);
    json_put_uint(json, "projections", kernel->projections);
    line_end(journal, false);
}

static void write_launch_errors(struct journal *journal, struct counters *counters)
{
    struct counters_error error;
    struct json_out *json;

    for (uint32_t i = 0; counters_read_error(counters, i, &error); i++) {
        json = line_begin(journal, "launch_error");
        if (!json)
            return;
        json_put_string(json, "kernel", error.symbol);
        report_json_dim3(json, "grid", error.grid);
        report_json_dim3(json, "block", error.block);
        json_put_string(json, "error", error.error_name);
        json_put_uint(json, "count", error.count);
        line_end(journal, false);
    }
}

/* Seconds; the parts of the cost overlap by `overlap`. The hook's is apart from them. */
static void put_cost(struct json_out *json, const struct counters_totals *totals)
{
    json_put_object(json, "cost");
    json_put_double(json, "threads", (double)totals->cost.thread / 1e9);
    json_put_double(json, "copies", (double)totals->cost.copy / 1e9);
    json_put_double(json, "references", (double)totals->cost.reference / 1e9);
    json_put_double(json, "looks", (double)totals->cost.look / 1e9);
    json_put_double(json, "overlap", (double)totals->cost.overlap / 1e9);
    json_put_double(json, "hook", (double)totals->hook_ns * (double)totals->seen / 1e9);
    json_put_double(json, "elapsed", (double)totals->elapsed / 1e9);
    json_end(json);
}

void journal_end(struct journal *journal, struct counters *counters)
{
    struct counters_kernel kernel;
    struct counters_totals totals;
    struct json_out *json;

    if (!journal || journal_forked(journal))
        return;
    for (uint32_t n = 0; n < counters_numbers(counters); n++) {
        if (counters_read_kernel(counters, n, &kernel))
            write_kernel_totals(journal, &kernel);
    }
    write_launch_errors(journal, counters);
    counters_read(counters, &totals);
    json = line_begin(journal, "end");
    if (!json)
        return;
    json_put_uint(json, "seen", totals.seen);
    json_put_uint(json, "kernels", totals.kernels);
    put_buckets(json, &totals.buckets);
    json_put_bool(json, "balanced", counters_balanced(&totals));
    json_put_uint(json, "lost_lines", journal_lost(journal));
    put_cost(json, &totals);
    line_end(journal, true);
}
