/* out_html.c - the report as one page that needs nothing else: style and script stand in it, and
 * its policy forbids it to load anything. Without the script it reads the same, unsorted. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "cuvet.h"
#include "tools/report/formats/out.h"
#include "tools/report/formats/picture.h"

extern const char cuvet_report_css[], cuvet_report_js[];

enum { MANY = 8 /* rows from which on a table has a filter */ };

static void put_head(FILE *file)
{
    fprintf(file,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
            "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<title>cuvet report</title>\n<style>\n%s</style>\n</head>\n<body>\n",
            cuvet_report_css);
}

static void put_card(FILE *file, const char *class, uint64_t number, const char *title)
{
    fprintf(file, "<div class=\"card %s\"><b>%" PRIu64 "</b><span>%s</span></div>\n",
            number ? class : "", number, title);
}

static void put_totals(FILE *file, const struct model *m)
{
    fprintf(file,
            "<h1>cuvet report</h1>\n<p class=\"sub\">%" PRIu64 " journal%s, %" PRIu64
            " process%s; written by cuvet %s</p>\n<div class=\"cards\">\n",
            m->files, m->files == 1 ? "" : "s", m->all_processes, m->all_processes == 1 ? "" : "es",
            cuvet_version());
    put_card(file, "bad", m->verdict[VERDICT_MISMATCH], "mismatch");
    put_card(file, "good", m->verdict[VERDICT_MATCH], "match");
    put_card(file, "odd", m->verdict[VERDICT_INCONCLUSIVE], "inconclusive");
    put_card(file, "", model_checked(m->verdict), "launches checked");
    put_card(file, "", m->seen, "launches seen");
    put_card(file, "odd", m->unended, "processes without totals");
    fprintf(file, "</div>\n");
    if (m->unended > 0)
        fprintf(file, "<p class=\"odd\">Processes without totals were killed, crashed or are still "
                      "running: counted are the last counts in their journals, and what was found "
                      "since.</p>\n");
    if (m->unbalanced > 0)
        fprintf(file, "<p class=\"bad\">The counters of %" PRIu64 " process%s do not add up.</p>\n",
                m->unbalanced, m->unbalanced == 1 ? "" : "es");
    if (m->lost_lines > 0)
        fprintf(file, "<p class=\"odd\">%" PRIu64 " journal lines could not be written.</p>\n",
                m->lost_lines);
}

static void put_table_head(FILE *file, const char *rows, const char *const titles[])
{
    fprintf(file, "<table class=\"sortable\"><thead><tr>");
    for (int i = 0; titles[i]; i++) {
        bool number = titles[i][0] == '#';
        fprintf(file, "<th%s><button type=\"button\">%s</button></th>",
                number ? " class=\"n\"" : "", titles[i] + number);
    }
    fprintf(file, "</tr></thead><tbody id=\"%s\">\n", rows);
}

static void put_filter(FILE *file, const char *items, uint64_t count)
{
    if (count >= MANY)
        fprintf(file,
                "<input type=\"search\" data-filters=\"%s\" placeholder=\"filter\" "
                "aria-label=\"filter\">\n",
                items);
}

static void put_cell(FILE *file, uint64_t number, const char *class)
{
    fprintf(file, "<td class=\"n %s\" data-value=\"%" PRIu64 "\">%" PRIu64 "</td>",
            number ? class : "", number, number);
}

static void put_kernel(FILE *file, const struct model_kernel *k)
{
    uint64_t checked = model_checked(k->counts.verdict);
    char worst[32];
    out_ratio(worst, k);
    fprintf(file, "<tr><td class=\"name\" title=\"");
    out_escaped(file, k->symbol);
    fprintf(file, "\">");
    out_escaped(file, model_kernel_name(k));
    fprintf(file, "</td><td>");
    out_escaped(file, k->reference);
    fprintf(file, "</td>");
    put_cell(file, k->counts.launches, "");
    put_cell(file, checked, "");
    put_cell(file, k->counts.verdict[VERDICT_MATCH], "good");
    put_cell(file, k->counts.verdict[VERDICT_MISMATCH], "bad");
    put_cell(file, k->counts.verdict[VERDICT_INCONCLUSIVE], "odd");
    put_cell(file, k->counts.launches > checked ? k->counts.launches - checked : 0, "");
    fprintf(file, "<td class=\"n\" data-value=\"%g\">%s</td><td>",
            checked == 0                 ? -1
            : isnan(k->counts.max_ratio) ? INFINITY
                                         : k->counts.max_ratio,
            worst);
    picture_ratios(file, k->counts.ratios, true);
    fprintf(file, "</td></tr>\n");
}

static void put_kernels(FILE *file, const struct model *m)
{
    static const char *const titles[] = {
        "kernel",        "reference",  "#launches",          "#checked",    "#match", "#mismatch",
        "#inconclusive", "#unchecked", "#worst error/bound", "error/bound", NULL};
    if (m->kernels == 0)
        return;
    fprintf(file, "<h2>Kernels</h2>\n");
    put_filter(file, "#kernels tr", m->kernels);
    put_table_head(file, "kernels", titles);
    for (uint32_t i = 0; i < m->kernels; i++)
        put_kernel(file, m->kernel[i]);
    fprintf(file, "</tbody></table>\n");
}

static void put_histogram(FILE *file, const struct model *m)
{
    uint64_t ratios[COUNTERS_RATIOS] = {0}, all = 0;
    for (uint32_t k = 0; k < m->kernels; k++) {
        for (int i = 0; i < COUNTERS_RATIOS; i++) {
            ratios[i] += m->kernel[k]->counts.ratios[i];
            all += m->kernel[k]->counts.ratios[i];
        }
    }
    if (all == 0)
        return;
    fprintf(file, "<h2>Worst error/bound of each checked launch</h2>\n");
    picture_ratios(file, ratios, false);
}

static void put_buckets(FILE *file, const struct model *m)
{
    static const char *const titles[] = {"reason", "#launches", "what it means", NULL};
    uint64_t all = m->other_skips;
    for (int k = SKIP_NONE + 1; k < SKIP_COUNT; k++)
        all += m->skip[k];
    if (all == 0)
        return;
    fprintf(file, "<h2>Launches not checked, and why</h2>\n");
    put_table_head(file, "buckets", titles);
    for (enum skip k = SKIP_NONE + 1; k < SKIP_COUNT; k++) {
        if (m->skip[k] == 0)
            continue;
        fprintf(file, "<tr><td>%s</td>", skip_text(k));
        put_cell(file, m->skip[k], "");
        fprintf(file, "<td>");
        out_escaped(file, skip_sentence(k));
        fprintf(file, "</td></tr>\n");
    }
    if (m->other_skips > 0) {
        fprintf(file, "<tr><td>other</td>");
        put_cell(file, m->other_skips, "");
        fprintf(file, "<td>reasons of another version of cuvet</td></tr>\n");
    }
    fprintf(file, "</tbody></table>\n");
}

static void put_process(FILE *file, const struct model_process *p)
{
    char began[32], when[32], name[160];
    out_time(began, p->begin_ms);
    model_process_text(p, name, sizeof name);
    fprintf(file, "<tr><td>");
    out_escaped(file, name);
    fprintf(file, "</td><td class=\"name\">");
    out_escaped(file, p->program);
    fprintf(file, "</td><td>%s</td><td class=\"n\" data-value=\"%.3f\">%.1f s</td>", began,
            (double)(p->last_ms - p->begin_ms) / 1e3, (double)(p->last_ms - p->begin_ms) / 1e3);
    put_cell(file, p->seen, "");
    put_cell(file, model_checked(p->verdict), "");
    put_cell(file, p->verdict[VERDICT_MISMATCH], "bad");
    if (p->elapsed > 0)
        fprintf(file, "<td class=\"n\" data-value=\"%g\">%.2g %%</td>", p->cost / p->elapsed,
                100 * p->cost / p->elapsed);
    else
        fprintf(file, "<td class=\"n\" data-value=\"-1\">-</td>");
    out_time(when, p->interim_ms);
    if (p->ended || !p->interim_ms)
        fprintf(file, "<td>%s</td></tr>\n", p->ended ? "" : "no totals");
    else
        fprintf(file, "<td>no totals; counts of %s</td></tr>\n", when);
}

static void put_processes(FILE *file, const struct model *m)
{
    static const char *const titles[] = {"process",  "program",   "began", "#ran",   "#seen",
                                         "#checked", "#mismatch", "#cost", "remark", NULL};
    if (m->processes == 0)
        return;
    fprintf(file, "<h2>Processes</h2>\n");
    put_filter(file, "#processes tr", m->processes);
    put_table_head(file, "processes", titles);
    for (uint32_t i = 0; i < m->processes; i++)
        put_process(file, m->process[i]);
    fprintf(file, "</tbody></table>\n");
    if (m->all_processes > m->processes)
        fprintf(file, "<p>... %" PRIu64 " processes in all</p>\n", m->all_processes);
}

static void put_element(FILE *file, const char *which, const struct model_element *e)
{
    if (!e->place[0])
        return;
    fprintf(file, "<p>%s <code>", which);
    out_escaped(file, e->place);
    fprintf(file, "</code>: got %.9g, expected %.9g", e->got, e->reference);
    if (isfinite(e->bound) && isfinite(e->reference))
        fprintf(file, " &plusmn; %.3g", e->bound);
    fprintf(file, "</p>\n");
}

static void put_finding(FILE *file, const struct model *m, const struct model_finding *f)
{
    char process[160] = "", sentence[512], bundle[4200], again[OUT_AGAIN], when[32];
    if (f->process < m->processes)
        model_process_text(m->process[f->process], process, sizeof process);
    out_finding_text(sentence, sizeof sentence, f);
    out_time(when, f->time_ms);
    fprintf(file, "<div class=\"finding\"><p><b>");
    out_escaped(file, model_kernel_name(f->kernel));
    fprintf(file, "</b>, launch %" PRIu64 " on ", f->launch);
    out_escaped(file, process);
    fprintf(file, ", %s</p>\n<p>", when);
    out_escaped(file, sentence);
    if (f->grid[0] > 0) /* a library's call has none */
        fprintf(file, " (grid %ux%ux%u, block %ux%ux%u)", f->grid[0], f->grid[1], f->grid[2],
                f->block[0], f->block[1], f->block[2]);
    fprintf(file, "</p>\n");
    put_element(file, "worst", &f->worst);
    if (strcmp(f->first.place, f->worst.place) != 0)
        put_element(file, "first", &f->first);
    if (out_finding_more(f)) {
        fprintf(file, "<p>");
        out_escaped(file, f->why);
        fprintf(file, "</p>\n");
    }
    out_again(again, sizeof again, f);
    if (*again) {
        fprintf(file, "<p><code>");
        out_escaped(file, again);
        fprintf(file, "</code></p>\n");
    }
    if (f->bundle) {
        out_quoted(bundle, sizeof bundle, f->bundle);
        if (f->bundle_found)
            fprintf(file, "<p><code>cuvet %s ", out_bundle_verb(f));
        else
            fprintf(file, "<p>bundle <code>");
        out_escaped(file, bundle);
        fprintf(file, "</code>%s</p>\n", f->bundle_found ? "" : ", which is not here");
    }
    fprintf(file, "</div>\n");
}

static void put_findings(FILE *file, const struct model *m)
{
    fprintf(file, "<h2>Findings</h2>\n");
    if (m->all_findings == 0)
        fprintf(file, "<p>%s</p>\n",
                model_checked(m->verdict) ? "None." : "None: no launch was checked.");
    put_filter(file, ".finding", m->findings);
    for (uint32_t i = 0; i < m->findings; i++)
        put_finding(file, m, &m->finding[i]);
    if (m->all_findings > m->findings)
        fprintf(file, "<p>... %" PRIu64 " in all in the journals</p>\n", m->all_findings);
}

static void put_sentences(FILE *file, const char *title, const struct model_sentence *list,
                          uint32_t count)
{
    if (count == 0)
        return;
    fprintf(file, "<h2>%s</h2>\n<ul>\n", title);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(file, "<li>");
        out_escaped(file, list[i].text);
        if (list[i].count > 1)
            fprintf(file, " (%" PRIu64 " times)", list[i].count);
        fprintf(file, "</li>\n");
    }
    fprintf(file, "</ul>\n");
}

void out_html(FILE *file, const struct model *m)
{
    put_head(file);
    put_totals(file, m);
    put_findings(file, m);
    put_kernels(file, m);
    put_histogram(file, m);
    picture_timeline(file, m);
    put_buckets(file, m);
    put_processes(file, m);
    put_sentences(file, "Launches that the driver refused", m->launch_error, m->launch_errors);
    put_sentences(file, "Warnings", m->warning, m->warnings);
    put_sentences(file, "Lint", m->lint, m->lints);
    fprintf(file, "<script>\n%s</script>\n</body>\n</html>\n", cuvet_report_js);
}
