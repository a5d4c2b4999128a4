#include "session/session_lint.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "cuvet.h"
#include "names/symbol.h"
#include "system/log.h"
#include "system/tool.h"
#include "text/printable.h"

enum { ROWS = 10 };

struct session_lint {
    struct session_reports reports;
    struct linter *linter;
};

static const char *plain_name(struct arena *arena, const char *symbol)
{
    struct symbol_names names;
    return symbol_describe(&names, arena, symbol) ? names.plain : symbol;
}

static void on_note(void *user, const struct lint_note *note)
{
    struct arena arena = {0};
    journal_lint(((const struct session_lint *)user)->reports.journal, note,
                 plain_name(&arena, note->kernel));
    arena_release(&arena);
}

static void on_lint_complaint(void *user, const char *sentence)
{
    const struct session_reports *reports = &((const struct session_lint *)user)->reports;
    struct error err = {{0}};
    error_set(&err, STATUS_NOT_FOUND, "kernels are not linted: %s", sentence);
    log_line(LOG_WARN, "%s", err.text);
    journal_warning(reports->journal, "%s", err.text);
    summary_note(reports->summary, "%s", err.text);
}

struct session_lint *session_lint_start(const struct session_lint_parts *parts)
{
    const struct options *options = parts->options;
    char tool[PATH_MAX];
    struct error err = {{0}};
    struct session_lint *lint = options->lint ? calloc(1, sizeof *lint) : NULL;
    if (!lint)
        return NULL;
    lint->reports = parts->reports;
    const struct linter_settings settings = {.images = parts->images,
                                             .tool = tool,
                                             .version = cuvet_version(),
                                             .config = options->config,
                                             .tolerances = options->tolerances,
                                             .tables = options->tables,
                                             .env = parts->env,
                                             .note = on_note,
                                             .complain = on_lint_complaint,
                                             .user = lint};
    enum status status = tool_find(options->tool, tool_own_path(), "lints them", tool, &err);
    if (!status)
        status = linter_create(&lint->linter, &settings, &err);
    if (status) {
        on_lint_complaint(lint, err.text);
        free(lint);
        return NULL;
    }
    images_keep_ptx(parts->images);
    kernels_watch(parts->kernels, linter_see, lint->linter);
    return lint;
}

void session_lint_end(struct session_lint *lint, int wait_ms)
{
    if (lint)
        linter_stop(lint->linter, wait_ms);
}

/* ---- the summary ---- */

static void put_counts(const struct linter_counts *counts, struct textbuf *out)
{
    unsigned missed = 0;
    textbuf_printf(out, "    %u kernel%s linted: %u note%s", counts->linted,
                   counts->linted == 1 ? "" : "s", counts->notes, counts->notes == 1 ? "" : "s");
    for (unsigned i = 0; i < LINTER_MISSES; i++)
        missed += counts->missed[i];
    const char *before = "; ";
    for (unsigned i = 0; i < LINTER_MISSES; i++) {
        if (!counts->missed[i])
            continue;
        if (*before == ';')
            textbuf_printf(out, "; %u not: ", missed);
        else
            textbuf_printf(out, "%s", before);
        textbuf_printf(out, "%s %u", linter_miss_text(i), counts->missed[i]);
        before = ", ";
    }
    textbuf_printf(out, "\n");
}

static void put_note(const struct lint_note *note, struct textbuf *out)
{
    struct arena arena = {0};
    const char *file = strrchr(note->source, '/');
    textbuf_printf(out, "    %s, line %u of its PTX", PRINTABLE(plain_name(&arena, note->kernel)),
                   note->line);
    if (note->source_line)
        textbuf_printf(out, " (%s:%u)", file ? file + 1 : note->source, note->source_line);
    textbuf_printf(out, ": %s: %s", note->severity, note->sentence);
    if (note->more)
        textbuf_printf(out, " (and %u more)", note->more);
    textbuf_printf(out, " [%s]\n", note->rule);
    arena_release(&arena);
}

/* Warnings first. */
static unsigned put_lint_notes(struct linter *linter, struct textbuf *out)
{
    static const char *const order[] = {"warning", "note"};
    struct lint_note note;
    unsigned rows = 0;
    for (int o = 0; o < 2; o++) {
        for (unsigned i = 0; rows < ROWS && linter_note(linter, i, &note); i++) {
            if (strcmp(note.severity, order[o]) != 0)
                continue;
            put_note(&note, out);
            rows++;
        }
    }
    return rows;
}

void session_lint_text(struct session_lint *lint, struct textbuf *out)
{
    if (!lint)
        return;
    const struct linter_counts counts = linter_count(lint->linter);
    put_counts(&counts, out);
    unsigned rows = put_lint_notes(lint->linter, out);
    if (counts.notes > rows)
        textbuf_printf(out, "    ... and %u more, in the journal\n", counts.notes - rows);
}
