#include "tools/report/formats/picture.h"

#include <inttypes.h>
#include <math.h>
#include "tools/report/formats/out.h"

enum { WIDTH = 1100, LEFT = 180, PROCESSES = 64, ROW = 14, PEAK = 60 };

static const char *bin_color(int bin)
{
    return bin < COUNTERS_RATIO_ONE ? "#3b6fb6" : "#b42318";
}

/* Logarithmic, so that one wrong launch among a million shows. */
static double bar_height(uint64_t count, uint64_t most, double height)
{
    if (count == 0)
        return 0;
    double part = most > 1 ? log2((double)count) / log2((double)most) : 1;
    return height * (0.15 + 0.85 * part);
}

static void put_bar(FILE *file, double x, double width, double base, double height,
                    const char *color, const char *title)
{
    fprintf(file,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"><title>%s"
            "</title></rect>",
            x, base - height, width, height, color, title);
}

static void bin_title(char *out, size_t size, int bin, uint64_t count)
{
    if (bin == 0)
        snprintf(out, size, "%" PRIu64 " below 0.001", count);
    else if (bin == COUNTERS_RATIOS - 1)
        snprintf(out, size, "%" PRIu64 " from 4096 on, or no number", count);
    else
        snprintf(out, size, "%" PRIu64 " from %.3g to %.3g", count, ldexp(1, bin - 11),
                 ldexp(1, bin - 10));
}

void picture_ratios(FILE *file, const uint64_t ratios[COUNTERS_RATIOS], bool small)
{
    double step = small ? 5 : 40, height = small ? 18 : 110, width = step * COUNTERS_RATIOS;
    uint64_t most = 0;
    for (int i = 0; i < COUNTERS_RATIOS; i++)
        most = ratios[i] > most ? ratios[i] : most;
    fprintf(file, "<svg role=\"img\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">",
            width, height + (small ? 2 : 20), width, height + (small ? 2 : 20));
    for (int i = 0; i < COUNTERS_RATIOS; i++) {
        char title[80];
        bin_title(title, sizeof title, i, ratios[i]);
        if (ratios[i] > 0)
            put_bar(file, step * i, step - 1, height, bar_height(ratios[i], most, height),
                    bin_color(i), title);
        if (!small && i % 2 == 1)
            fprintf(file, "<text x=\"%.0f\" y=\"%.0f\">%.3g</text>", step * i, height + 14,
                    ldexp(1, i - 11));
    }
    fprintf(file,
            "<line x1=\"%.1f\" y1=\"0\" x2=\"%.1f\" y2=\"%.0f\" stroke=\"#b42318\" "
            "stroke-dasharray=\"2 2\"/></svg>\n",
            step * COUNTERS_RATIO_ONE - 0.5, step * COUNTERS_RATIO_ONE - 0.5, height);
}

struct span {
    int64_t begin, end; /* ms */
};

static double at_x(const struct span *span, int64_t ms)
{
    double part = (double)(ms - span->begin) / (double)(span->end - span->begin);
    return LEFT + part * (WIDTH - LEFT - 4);
}

static struct span span_of(const struct model *m)
{
    struct span span = {INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < m->processes; i++) {
        const struct model_process *p = m->process[i];
        span.begin = p->begin_ms < span.begin ? p->begin_ms : span.begin;
        span.begin = p->last_ms < span.begin ? p->last_ms : span.begin;
        span.end = p->last_ms > span.end ? p->last_ms : span.end;
        span.end = p->begin_ms > span.end ? p->begin_ms : span.end;
    }
    if (span.end <= span.begin)
        span.end = span.begin + 1;
    return span;
}

static void put_process(FILE *file, const struct model_process *p, const struct span *span,
                        double y)
{
    double begin = at_x(span, p->begin_ms), end = at_x(span, p->last_ms);
    char name[160];
    const char *color = p->verdict[VERDICT_MISMATCH] ? "#b42318" : p->ended ? "#3b6fb6" : "#9a6700";
    model_process_text(p, name, sizeof name);
    fprintf(file, "<text x=\"0\" y=\"%.0f\">", y + ROW - 4);
    out_escaped(file, name);
    fprintf(file,
            "</text><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\" "
            "opacity=\"0.75\"><title>",
            begin, y + 2, end - begin > 2 ? end - begin : 2, ROW - 4, color);
    out_escaped(file, name);
    fprintf(file, ": %" PRIu64 " checked, %" PRIu64 " mismatch</title></rect>\n",
            model_checked(p->verdict), p->verdict[VERDICT_MISMATCH]);
}

static void put_events(FILE *file, const struct timeline *t, int kind, const struct span *span,
                       double base, const char *color, const char *what)
{
    uint64_t most = 0;
    for (int i = 0; i < TIMELINE_BINS; i++)
        most = t->count[kind][i] > most ? t->count[kind][i] : most;
    for (int i = 0; i < TIMELINE_BINS; i++) {
        uint64_t count = t->count[kind][i];
        char title[80];
        if (count == 0)
            continue;
        double begin = at_x(span, (t->first + i) * t->width);
        double width = at_x(span, (t->first + i + 1) * t->width) - begin;
        snprintf(title, sizeof title, "%" PRIu64 " %s", count, what);
        put_bar(file, begin, width > 2 ? width : 2, base, bar_height(count, most, PEAK), color,
                title);
    }
}

void picture_timeline(FILE *file, const struct model *m)
{
    uint32_t rows = m->processes < PROCESSES ? m->processes : PROCESSES;
    int events = m->timeline.used ? PEAK + 8 : 0;
    if (rows == 0)
        return;
    struct span span = span_of(m);
    char begin[32], end[32];
    out_time(begin, span.begin);
    out_time(end, span.end);
    int height = events + (int)rows * ROW + 18;
    fprintf(file,
            "<h2>Timeline</h2>\n<svg role=\"img\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
            "%d\">\n",
            WIDTH, height, WIDTH, height);
    if (events > 0)
        fprintf(file, "<text x=\"0\" y=\"%d\">findings, inconclusive</text>", PEAK);
    put_events(file, &m->timeline, VERDICT_INCONCLUSIVE, &span, PEAK, "#d4a72c", "inconclusive");
    put_events(file, &m->timeline, VERDICT_MISMATCH, &span, PEAK, "#b42318", "findings");
    for (uint32_t i = 0; i < rows; i++)
        put_process(file, m->process[i], &span, events + (double)i * ROW);
    fprintf(file,
            "<text x=\"%d\" y=\"%d\">%s</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s"
            "</text></svg>\n",
            LEFT, height - 4, begin, WIDTH - 4, height - 4, end);
}
