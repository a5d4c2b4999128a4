#include "tools/ctl/ctl_view.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text/json_out.h"
#include "text/number.h"
#include "text/printable.h"

enum kind { TEXT, COUNT, REAL };

/* The keys of status, in the order in which JSON shows them. */
#define ROW(name, kind)                                                                            \
    {                                                                                              \
#name, kind, offsetof(struct ctl_status, name), sizeof(((struct ctl_status *)0)->name)     \
    }
static const struct field {
    const char *key;
    enum kind kind;
    size_t offset, size;
} fields[] = {
    ROW(pid, COUNT),        ROW(program, TEXT),     ROW(version, TEXT),
    ROW(state, TEXT),       ROW(sample, REAL),      ROW(elapsed, REAL),
    ROW(seen, COUNT),       ROW(registered, COUNT), ROW(checked, COUNT),
    ROW(match, COUNT),      ROW(mismatch, COUNT),   ROW(inconclusive, COUNT),
    ROW(unchecked, COUNT),  ROW(under_way, COUNT),  ROW(cost, REAL),
    ROW(cost_thread, REAL), ROW(cost_copy, REAL),   ROW(cost_reference, REAL),
    ROW(kernels, COUNT),
};
enum { FIELDS = sizeof(fields) / sizeof(*fields) };

/* ---- reading ---- */

static void read_field(struct ctl_status *out, const char *key, const char *value)
{
    for (int i = 0; i < FIELDS; i++) {
        void *into = (char *)out + fields[i].offset;
        if (strcmp(key, fields[i].key) != 0)
            continue;
        if (fields[i].kind == TEXT)
            printable_copy(into, fields[i].size, value);
        else if (fields[i].kind == COUNT)
            number_unsigned(value, into);
        else
            number_real(value, into);
        return;
    }
}

/* Cuts the next word off; "" at the end. */
static char *next_word(char **rest)
{
    char *word = *rest, *end = word + strcspn(word, " ");
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static void read_skip(struct ctl_status *out, char *rest)
{
    if (out->skips == CTL_SKIPS || !number_unsigned(next_word(&rest), &out->skip[out->skips].count))
        return;
    printable_copy(out->skip[out->skips].name, sizeof(out->skip[0].name), rest);
    out->skips++;
}

static void read_kernel(struct ctl_status *out, char *rest)
{
    struct ctl_kernel *kernel = &out->kernel[out->rows];
    if (out->rows == CONTROL_ROWS)
        return;
    uint64_t *counts[] = {&kernel->number, &kernel->launches, &kernel->checked,
                          &kernel->match,  &kernel->mismatch, &kernel->inconclusive};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        if (!number_unsigned(next_word(&rest), counts[i]))
            return;
    }
    printable_copy(kernel->worst, sizeof(kernel->worst), next_word(&rest));
    printable_copy(kernel->label, sizeof(kernel->label), rest);
    out->rows++;
}

bool ctl_view_read(struct ctl_status *out, const char *lines)
{
    char *copy = strdup(lines), *save = NULL;
    memset(out, 0, sizeof(*out));
    for (char *line = copy ? strtok_r(copy, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save)) {
        char *rest = line, *key = next_word(&rest);
        if (!strcmp(key, "skip"))
            read_skip(out, rest);
        else if (!strcmp(key, "kernel"))
            read_kernel(out, rest);
        else
            read_field(out, key, rest);
    }
    free(copy);
    return out->state[0] != '\0';
}

/* ---- showing ---- */

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void ctl_view_text(const struct ctl_status *s, struct textbuf *out)
{
    textbuf_printf(out, "%s (%" PRIu64 "), cuvet %s: %s, sample %g\n", s->program, s->pid,
                   s->version, s->state, s->sample);
    textbuf_printf(out,
                   "  launches   %" PRIu64 " seen, %" PRIu64 " of %" PRIu64
                   " registered kernels, %" PRIu64 " under way\n",
                   s->seen, s->registered, s->kernels, s->under_way);
    textbuf_printf(out,
                   "  checked    %" PRIu64 ": %" PRIu64 " match, %" PRIu64 " mismatch, %" PRIu64
                   " inconclusive (%.3g %% of the registered ones)\n",
                   s->checked, s->match, s->mismatch, s->inconclusive,
                   percent((double)s->checked, (double)s->registered));
    textbuf_printf(out,
                   "  cost       %.2g %% of %.1f s (program's threads %.2g %%, copies %.2g %%, "
                   "references %.2g %%)\n",
                   percent(s->cost, s->elapsed), s->elapsed, percent(s->cost_thread, s->elapsed),
                   percent(s->cost_copy, s->elapsed), percent(s->cost_reference, s->elapsed));
    for (unsigned i = 0; i < s->skips; i++)
        textbuf_printf(out, "  %-9s  %" PRIu64 " %s\n", i ? "" : "unchecked", s->skip[i].count,
                       s->skip[i].name);
}

void ctl_view_object(const struct ctl_status *status, struct json_out *json)
{
    json_begin_object(json);
    for (int i = 0; i < FIELDS; i++) {
        const void *value = (const char *)status + fields[i].offset;
        if (fields[i].kind == TEXT)
            json_put_string(json, fields[i].key, value);
        else if (fields[i].kind == COUNT)
            json_put_uint(json, fields[i].key, *(const uint64_t *)value);
        else
            json_put_double(json, fields[i].key, *(const double *)value);
    }
    json_put_object(json, "skips");
    for (unsigned i = 0; i < status->skips; i++)
        json_put_uint(json, status->skip[i].name, status->skip[i].count);
    json_end(json);
    json_end(json);
}

void ctl_view_json(const struct ctl_status *status, struct textbuf *out)
{
    struct json_out json;
    json_out_init(&json);
    ctl_view_object(status, &json);
    if (json_out_ok(&json))
        textbuf_printf(out, "%s\n", json.text.data);
    json_out_release(&json);
}

/* ---- the live view ---- */

enum { LABEL_LEAST = 6, LABEL_MOST = 40, HEAD_LINES = 4 };

/* A second of what grew between two views. */
static double rate(uint64_t now, uint64_t before, double seconds)
{
    return seconds > 0 && now >= before ? (double)(now - before) / seconds : 0;
}

static uint64_t launches_before(const struct ctl_status *before, const struct ctl_kernel *kernel)
{
    for (unsigned i = 0; before && i < before->rows; i++) {
        if (before->kernel[i].number == kernel->number)
            return before->kernel[i].launches;
    }
    return kernel->launches;
}

static int label_width(const struct ctl_status *status)
{
    size_t width = LABEL_LEAST;
    for (unsigned i = 0; i < status->rows; i++) {
        size_t length = strlen(status->kernel[i].label);
        if (length > width)
            width = length;
    }
    return width < LABEL_MOST ? (int)width : LABEL_MOST;
}

static void put_row(struct textbuf *out, const struct ctl_kernel *kernel, int width, double per_s,
                    bool bold)
{
    double worst;
    char text[32];
    snprintf(text, sizeof(text), "%s", kernel->worst);
    if (number_real(kernel->worst, &worst))
        snprintf(text, sizeof(text), "%.3g", worst);
    textbuf_printf(out,
                   "%s%-*.*s %10" PRIu64 " %9.4g %10" PRIu64 " %10" PRIu64 " %9" PRIu64
                   " %12" PRIu64 "  %11s%s\n",
                   bold ? "\033[1m" : "", width, width, kernel->label, kernel->launches, per_s,
                   kernel->checked, kernel->match, kernel->mismatch, kernel->inconclusive, text,
                   bold ? "\033[0m" : "");
}

void ctl_view_top(const struct ctl_status *s, const struct ctl_status *before, int rows, bool ansi,
                  struct textbuf *out)
{
    double seconds = before ? s->elapsed - before->elapsed : 0;
    int width = label_width(s);
    unsigned shown = s->rows;
    if (rows > HEAD_LINES && shown > (unsigned)(rows - HEAD_LINES - 1))
        shown = (unsigned)(rows - HEAD_LINES - 1);
    textbuf_printf(out, "cuvet %" PRIu64 " %s: %s, sample %g, %.0f s, cost %.2g %%\n", s->pid,
                   base_name(s->program), s->state, s->sample, s->elapsed,
                   percent(s->cost, s->elapsed));
    textbuf_printf(out,
                   "%" PRIu64 " launches (%.4g/s), %" PRIu64 " of registered kernels, %" PRIu64
                   " checked: %" PRIu64 " match, %" PRIu64 " mismatch, %" PRIu64
                   " inconclusive, %" PRIu64 " under way\n\n",
                   s->seen, before ? rate(s->seen, before->seen, seconds) : 0, s->registered,
                   s->checked, s->match, s->mismatch, s->inconclusive, s->under_way);
    textbuf_printf(out, "%-*s %10s %9s %10s %10s %9s %12s  %11s\n", width, "kernel", "launches",
                   "a second", "checked", "match", "mismatch", "inconclusive", "error/bound");
    for (unsigned i = 0; i < shown; i++) {
        const struct ctl_kernel *kernel = &s->kernel[i];
        put_row(out, kernel, width,
                rate(kernel->launches, launches_before(before, kernel), seconds),
                ansi && kernel->mismatch);
    }
    if (s->kernels > shown)
        textbuf_printf(out, "... and %" PRIu64 " more kernels\n", s->kernels - shown);
}
