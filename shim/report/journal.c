/*
 * journal.c - see journal.h.
 *
 * Every line goes through journal_line_begin and journal_line_end, which hold the mutex between
 * them: the head is written there, and there alone it is decided whether a line may still be
 * written. The line is built in one buffer that the journal keeps, so a journal that runs allocates
 * nothing new.
 */
#include "report/journal.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "system/files.h"
#include "text/json_out.h"
#include "system/log.h"
#include "refs/abi/ref_list.h"
#include "base/origin.h"
#include "report/journal_line.h"
#include "report/place.h"
#include "report/report_json.h"
#include "report/thin.h"

/* Lines of one kernel so far, by verdict: the rate limit. */
struct reported {
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
    struct origin origin;
    struct reported *reported; /* by spec->number */
    uint32_t reported_count;
    char path[];
};

enum status journal_create(struct journal **out, const char *folder, const char *run,
                           struct quota *quota, struct error *err)
{
    enum status status;
    struct journal *journal;
    char name[ORIGIN_FILE_BYTES];
    struct origin origin;
    size_t size;

    *out = NULL;
    if (!folder || !*folder)
        return STATUS_OK;
    status = files_make_folders(folder, err);
    if (status)
        return status;
    origin_read(&origin, run);
    origin_file_name(&origin, "journal", name);
    size = strlen(folder) + sizeof name + 2;
    journal = calloc(1, sizeof *journal + size);
    if (!journal)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the journal");
    journal->pid = getpid();
    journal->origin = origin;
    snprintf(journal->path, size, "%s/%s", folder, name);
    if (!quota_take(quota, JOURNAL_END_BYTES)) {
        status = error_set(err, STATUS_FULL, "CUVET_QUOTA leaves no room for a journal");
        goto failed;
    }
    status = files_append(journal->path, &journal->file, err);
    if (status)
        goto failed;
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
    free(journal->reported);
    free(journal);
}

bool journal_forked(const struct journal *journal)
{
    return journal && journal->pid != getpid();
}

bool journal_has_room(const struct journal *journal, uint64_t bytes)
{
    return quota_left(journal->quota) / 8 >= bytes;
}

uint64_t journal_lost(const struct journal *journal)
{
    return journal ? atomic_load(&((struct journal *)journal)->lost) : 0;
}

const char *journal_path(const struct journal *journal)
{
    return journal ? journal->path : "";
}

/* `cuvet run` without a report folder makes one, and names it in this variable. */
const char *journal_kept_path(const struct journal *journal)
{
    const char *ends = getenv("_CUVET_REPORT_ENDS"), *path = journal_path(journal);
    size_t length = ends ? strlen(ends) : 0;

    return length > 0 && strncmp(path, ends, length) == 0 && path[length] == '/' ? "" : path;
}

/* Takes the lock and writes the head; NULL when there is nothing to write to. A caller that gets
 * the writer fills in its fields and calls line_end. */
struct json_out *journal_line_begin(struct journal *journal, const char *event)
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
    origin_begin(&journal->origin, json, JOURNAL_VERSION, event);
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

void journal_line_end(struct journal *journal, bool last)
{
    json_end(&journal->json);
    line_write(journal, last);
    pthread_mutex_unlock(&journal->lock);
}

static void put_journal_text(struct json_out *json, const char *name, const char *value)
{
    json_put_string(json, name, value);
}

static void put_flag(struct json_out *json, const char *name, bool value)
{
    json_put_bool(json, name, value);
}

static void put_journal_count(struct json_out *json, const char *name, uint64_t value)
{
    json_put_uint(json, name, value);
}

static void put_journal_real(struct json_out *json, const char *name, double value)
{
    json_put_double(json, name, value);
}

static void put_options(struct json_out *json, const struct options *options)
{
    json_put_object(json, "options");
#define OPTION(name, field, type, fallback, sentence)                                              \
    _Generic(options->field,                                                                       \
        const char *: put_journal_text,                                                                    \
        bool: put_flag,                                                                            \
        uint64_t: put_journal_count,                                                                       \
        double: put_journal_real)(json, #name, options->field);
#include "base/options.def"
#undef OPTION
    json_end(json);
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
    struct json_out *json = journal_line_begin(journal, "start");

    if (!json)
        return;
    origin_put_program(json);
    put_files(json, options->config);
    json_put_uint(json, "entries", entries);
    put_options(json, options);
    journal_line_end(journal, false);
}

void journal_kernel(struct journal *journal, const struct kernel_spec *spec)
{
    struct json_out *json = journal_line_begin(journal, "kernel");

    if (!json)
        return;
    json_put_string(json, "kernel", spec->symbol);
    json_put_string(json, "label", place_kernel(spec));
    json_put_string(json, "reference", spec->reference ? spec->reference->name : NULL);
    json_put_string(json, "where", spec->where);
    journal_line_end(journal, false);
}

/* Counts one more launch of that kernel and verdict; under the lock. 0 without memory. */
static uint64_t occurrence(struct journal *journal, const struct check_report *report)
{
    uint32_t number = report->spec->number;

    if (number >= journal->reported_count) {
        uint32_t count = number + 64;
        struct reported *reported = realloc(journal->reported, count * sizeof *reported);

        if (!reported)
            return 0;
        memset(reported + journal->reported_count, 0,
               (count - journal->reported_count) * sizeof *reported);
        journal->reported = reported;
        journal->reported_count = count;
    }
    return ++journal->reported[number].verdict[report->verdict];
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
    json = journal_line_begin(journal, events[report->verdict]);
    if (!json)
        return;
    number = occurrence(journal, report);
    if (!thin_admits(number, finding ? THIN_FINDINGS : THIN_OTHERS)) {
        pthread_mutex_unlock(&journal->lock);
        return;
    }
    json_put_uint(json, "occurrence", number);
    report_json_check(json, report);
    json_put_string(json, "bundle", bundle && *bundle ? bundle : NULL);
    journal_line_end(journal, false);
}

static void put_hash(struct json_out *json, const char *key, uint64_t hash)
{
    char text[24];

    snprintf(text, sizeof text, "%016" PRIx64, hash);
    json_put_string(json, key, text);
}

void journal_dims(struct journal *journal, const struct check_report *report)
{
    struct json_out *json =
        report->spec && report->binding ? journal_line_begin(journal, "dims") : NULL;

    if (!json)
        return;
    report_json_dims(json, report);
    journal_line_end(journal, false);
}

/* What an append left in a cache. */
static void put_slots(struct json_out *json, const struct state_slots *slots)
{
    json_put_uint(json, "cache", slots->cache);
    json_put_array(json, "rows");
    for (uint32_t i = 0; i < slots->count; i++)
        json_int(json, slots->slot[i].row);
    json_end(json);
    json_put_array(json, "hashes");
    for (uint32_t i = 0; i < slots->count; i++) {
        char text[24];

        snprintf(text, sizeof text, "%016" PRIx64, slots->slot[i].hash);
        json_text(json, text);
    }
    json_end(json);
}

void journal_digest(struct journal *journal, const struct check_report *report)
{
    struct json_out *json = report->digest.made ? journal_line_begin(journal, "digest") : NULL;

    if (!json)
        return;
    json_put_string(json, "kernel", report->spec->symbol);
    json_put_string(json, "label", place_kernel(report->spec));
    json_put_uint(json, "launch", report->launch);
    json_put_uint(json, "executed", report->digest.executed);
    json_put_int(json, "device", report->device);
    json_put_uint(json, "sequence", report->digest.sequence);
    report_json_dim3(json, "grid", report->grid);
    report_json_dim3(json, "block", report->block);
    put_hash(json, "input", report->digest.input);
    put_hash(json, "output", report->digest.output);
    if (report->range && *report->range)
        json_put_string(json, "range", report->range);
    if (report->digest.unseen > 0)
        json_put_uint(json, "unseen", report->digest.unseen);
    if (report->state.slots)
        put_slots(json, report->state.slots);
    json_put_string(json, "verdict", verdict_text(report->verdict));
    journal_line_end(journal, false);
}

void journal_warning(struct journal *journal, const char *format, ...)
{
    struct json_out *json = journal_line_begin(journal, "warning");
    char sentence[1024];
    va_list args;

    if (!json)
        return;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    json_put_string(json, "sentence", sentence);
    journal_line_end(journal, false);
}

void journal_control(struct journal *journal, const char *what)
{
    struct json_out *json = journal_line_begin(journal, "control");

    if (!json)
        return;
    json_put_string(json, "what", what);
    journal_line_end(journal, false);
}

void journal_launch_error(struct journal *journal, const char *symbol, const uint32_t grid[3],
                          const uint32_t block[3], const char *error_name)
{
    struct json_out *json = journal_line_begin(journal, "launch_error");

    if (!json)
        return;
    json_put_string(json, "kernel", symbol);
    report_json_dim3(json, "grid", grid);
    report_json_dim3(json, "block", block);
    json_put_string(json, "error", error_name);
    journal_line_end(journal, false);
}

void journal_api_error(struct journal *journal, const struct api_error *error, const char *text)
{
    struct json_out *json = journal_line_begin(journal, error->own ? "call_error" : "api_error");

    if (!json)
        return;
    if (error->api)
        json_put_string(json, "api", error->api);
    else
        json_put_int(json, "device", error->device);
    json_put_string(json, "error", error->error);
    if (error->at) {
        json_put_string(json, "kernel", error->at);
        report_json_dim3(json, "grid", error->grid);
        report_json_dim3(json, "block", error->block);
    }
    if (!error->own && (!error->at || error->names)) {
        json_put_array(json, error->at ? "kernels" : "last");
        for (size_t i = 0; i < error->names; i++) {
            if (*error->name[i])
                json_text(json, error->name[i]);
        }
        json_end(json);
    }
    json_put_string(json, "sentence", text);
    journal_line_end(journal, false);
}

void journal_contract(struct journal *journal, const struct contract *contract,
                      const struct contract_totals *totals)
{
    struct json_out *json = journal_line_begin(journal, "contract");

    if (!json)
        return;
    json_put_string(json, "name", contract->name);
    json_put_string(json, "where", contract->where);
    json_put_uint(json, "launches", totals->launches);
    json_put_uint(json, "items", totals->items);
    json_put_uint(json, "met", totals->met);
    json_put_uint(json, "differ", totals->differ);
    json_put_uint(json, "unhashed", totals->unhashed);
    journal_line_end(journal, false);
}

void journal_lint(struct journal *journal, const struct lint_note *note, const char *label)
{
    struct json_out *json = journal_line_begin(journal, "lint");

    if (!json)
        return;
    json_put_string(json, "kernel", note->kernel);
    json_put_string(json, "label", label);
    json_put_string(json, "rule", note->rule);
    json_put_string(json, "severity", note->severity);
    json_put_uint(json, "line", note->line);
    json_put_string(json, "source", *note->source ? note->source : NULL);
    json_put_uint(json, "source_line", note->source_line);
    json_put_uint(json, "more", note->more);
    json_put_string(json, "sentence", note->sentence);
    journal_line_end(journal, false);
}
