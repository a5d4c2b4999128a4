/* targets_report.c - what steers the library, and what it writes and reads again. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/options.h"
#include "text/textbuf.h"
#include "control/control_words.h"
#include "report/journal_read.h"
#include "plugin/plugin_wire.h"
#include "tests/fuzz/targets.h"
#include "tools/report/diff/aligned.h"
#include "tools/report/diff/digests.h"
#include "tools/report/model/model.h"
#include "tools/report/diff/slots.h"
#include "tools/report/trace/trace_rows.h"

enum { VARIABLES = 32 };

static void ignore(void *user, const char *sentence)
{
    *(size_t *)user += strlen(sentence);
}

/* A variable a line. */
void target_options(const uint8_t *data, size_t size)
{
    char *text = target_text(data, size), *env[VARIABLES + 1] = {text}, *at = text;
    struct options options;
    size_t told = 0;
    for (int i = 1; i < VARIABLES && (at = strchr(at, '\n')); i++) {
        *at++ = '\0';
        env[i] = at;
    }
    options_read(&options, env, ignore, &told);
    free(text);
}

void target_control(const uint8_t *data, size_t size)
{
    struct textbuf answer;
    int wait_ms = 0;
    char *line = malloc(size + !size);
    if (!line)
        abort();
    memcpy(line, data, size);
    textbuf_init(&answer);
    control_words_begin(line, size, &answer, &wait_ms);
    textbuf_release(&answer);
    free(line);
}

void target_plugin_wire(const uint8_t *data, size_t size)
{
    struct cuvet_mismatch finding;
    char *message = malloc(size + !size), back[PLUGIN_MESSAGE_MAX];
    if (!message)
        abort();
    memcpy(message, data, size);
    if (!plugin_wire_get(&finding, message, size))
        plugin_wire_put(&finding, back, sizeof(back));
    free(message);
}

void seed_plugin_wire(const char *folder)
{
    static const struct cuvet_mismatch finding = {
        .size = sizeof(finding),
        .kernel = "k",
        .label = "a label",
        .reference = "gelu",
        .where = "k.yaml:3",
        .host = "h",
        .pid = 7,
        .rank = -1,
        .grid = {1, 1, 1},
        .block = {32, 1, 1},
        .elements = 10,
        .violations = 2,
        .worst = {.array = "y", .dims = 2, .index = {1, 2}},
        .subset = "rows"};
    char path[4096], message[PLUGIN_MESSAGE_MAX];
    size_t length = plugin_wire_put(&finding, message, sizeof(message));
    snprintf(path, sizeof(path), "%s/message", folder);
    FILE *out = fopen(path, "wb");
    if (!out || !length || fwrite(message, 1, length, out) != length || fclose(out))
        abort();
}

void target_journal(const uint8_t *data, size_t size)
{
    char *line = target_text(data, size), text[64];
    uint64_t number;
    bool flag;
    if (journal_line_whole(line)) {
        journal_line_is(line, "finding");
        journal_line_uint(line, "launch", &number);
        journal_line_bool(line, "balanced", &flag);
        journal_line_text(line, "run", text, sizeof(text));
    }
    free(line);
}

/* A whole journal, for `cuvet report`. */
void target_report(const uint8_t *data, size_t size)
{
    struct error err = {{0}};
    struct model *model = model_create();
    char *bytes = target_text(data, size);
    FILE *file = size > 0 ? fmemopen(bytes, size, "r") : NULL;
    if (file && model)
        model_read_stream(model, file, "journal", &err);
    if (model)
        model_finish(model);
    if (file)
        fclose(file);
    model_destroy(model);
    free(bytes);
}

static enum status add_launch(void *user, const struct trace_process *process,
                              const struct trace_line *line, struct error *err)
{
    struct trace_row *row = trace_rows_find(user, line->kernel ? line->kernel : "?");
    (void)process;
    (void)err;
    if (row)
        trace_row_add(row, line);
    return STATUS_OK;
}

static enum status add_digest(void *user, const struct digest_line *line, struct error *err)
{
    return digests_add(user, line, err);
}

/* A trace for `cuvet trace`, then the same bytes as a journal for `cuvet diff`. */
void target_trace(const uint8_t *data, size_t size)
{
    struct error err = {{0}};
    struct trace_process process;
    struct digests digests = {0};
    struct trace_rows *rows = trace_rows_create();
    char *bytes = target_text(data, size);
    FILE *file = size > 0 ? fmemopen(bytes, size, "r") : NULL;
    if (file && rows) {
        trace_lines_read_stream(file, "trace", add_launch, rows, &process, &err);
        trace_rows_sort(rows);
        rewind(file);
        digests_read_stream(file, "journal", add_digest, &digests, &err);
    }
    if (file)
        fclose(file);
    trace_rows_destroy(rows);
    digests_release(&digests);
    free(bytes);
}

/* ---- two runs ---- */

struct two_runs {
    int run;
    struct cache_slots caches[2];
    struct aligned_run aligned[2];
};

static enum status add_to_run(void *user, const struct digest_line *line, struct error *err)
{
    struct two_runs *runs = user;
    enum status status = cache_slots_add(&runs->caches[runs->run], line, err);
    return status ? status : aligned_add(&runs->aligned[runs->run], line, err);
}

static void count_pair(void *user, const struct digest_line *first,
                       const struct digest_line *second)
{
    *(size_t *)user += first && second ? 2 : 1;
}

/* Journals of two runs with an empty line between them, for `cuvet diff --align` and `--slots`. */
void target_diff(const uint8_t *data, size_t size)
{
    struct two_runs runs = {0};
    struct cache_slots_diff slots;
    struct error err = {{0}};
    size_t pairs = 0;
    char *bytes = target_text(data, size), *end = strstr(bytes, "\n\n");
    size_t first = end ? (size_t)(end - bytes) + 1 : size;
    const size_t length[2] = {first, size - first};
    for (runs.run = 0; runs.run < 2; runs.run++) {
        char *from = bytes + (runs.run ? first : 0);
        FILE *file = length[runs.run] ? fmemopen(from, length[runs.run], "r") : NULL;
        if (file) {
            digests_read_stream(file, "journal", add_to_run, &runs, &err);
            fclose(file);
        }
    }
    aligned_visit(&runs.aligned[0], &runs.aligned[1], count_pair, &pairs, &err);
    for (int i = 0; i < 2; i++)
        cache_slots_settle(&runs.caches[i]);
    cache_slots_compare(&runs.caches[0], &runs.caches[1], &slots);
    for (int i = 0; i < 2; i++) {
        cache_slots_release(&runs.caches[i]);
        aligned_release(&runs.aligned[i]);
    }
    free(bytes);
}
