/* out_text.c - the report for a terminal. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "text/printable.h"
#include "tools/report/formats/out.h"

enum { ROWS = 40, NAME_WIDTH = 44, TEXT_FINDINGS = 40, TEXT_SENTENCES = 20 };

static void put_totals(FILE *file, const struct model *m)
{
    uint64_t checked = model_checked(m->verdict);
    fprintf(file,
            "cuvet report: %" PRIu64 " process%s, %" PRIu64 " launch%s seen. %s%" PRIu64
            ": %" PRIu64 " match, %" PRIu64 " mismatch, %" PRIu64 " inconclusive.\n",
            m->all_processes, m->all_processes == 1 ? "" : "es", m->seen, m->seen == 1 ? "" : "es",
            checked ? "Checked " : "NOTHING WAS CHECKED, ", checked, m->verdict[VERDICT_MATCH],
            m->verdict[VERDICT_MISMATCH], m->verdict[VERDICT_INCONCLUSIVE]);
    if (m->unended > 0)
        fprintf(file,
                "  %" PRIu64
                " process%s left no totals (killed, a crash, or still running): counted "
                "are the last counts in %s, and what was found since.\n",
                m->unended, m->unended == 1 ? "" : "es",
                m->unended == 1 ? "its journal" : "their journals");
    if (m->unbalanced > 0)
        fprintf(file, "  WARNING: the counters of %" PRIu64 " process%s do not add up.\n",
                m->unbalanced, m->unbalanced == 1 ? "" : "es");
    if (m->lost_lines > 0)
        fprintf(file, "  %" PRIu64 " journal line%s could not be written.\n", m->lost_lines,
                m->lost_lines == 1 ? "" : "s");
}

static void put_kernels(FILE *file, const struct model *m)
{
    uint32_t rows = m->kernels < ROWS ? m->kernels : ROWS;
    if (rows == 0)
        return;
    fprintf(file, "\n  %-*s  %10s  %9s  %9s  %9s  %12s  %17s\n", NAME_WIDTH, "kernel", "launches",
            "checked", "match", "mismatch", "inconclusive", "worst error/bound");
    for (uint32_t i = 0; i < rows; i++) {
        const struct model_kernel *k = m->kernel[i];
        char worst[32], name[NAME_WIDTH + 1];
        out_ratio(worst, k);
        printable_copy(name, sizeof name, model_kernel_name(k));
        fprintf(file,
                "  %-*s  %10" PRIu64 "  %9" PRIu64 "  %9" PRIu64 "  %9" PRIu64 "  %12" PRIu64
                "  %17s\n",
                NAME_WIDTH, name, k->counts.launches, model_checked(k->counts.verdict),
                k->counts.verdict[VERDICT_MATCH], k->counts.verdict[VERDICT_MISMATCH],
                k->counts.verdict[VERDICT_INCONCLUSIVE], worst);
    }
    if (m->kernels > rows)
        fprintf(file, "  ... and %u more\n", m->kernels - rows);
}

static void put_buckets(FILE *file, const struct model *m)
{
    const char *title = "\n  Launches not checked, and why:\n";
    for (enum skip skip = SKIP_NONE + 1; skip < SKIP_COUNT; skip++) {
        if (m->skip[skip] == 0)
            continue;
        fprintf(file, "%s    %10" PRIu64 "  %s: %s\n", title, m->skip[skip], skip_text(skip),
                skip_sentence(skip));
        title = "";
    }
    if (m->other_skips > 0)
        fprintf(file, "%s    %10" PRIu64 "  for reasons of another version\n", title,
                m->other_skips);
}

static void put_sentences(FILE *file, const char *title, const struct model_sentence *list,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count && i < TEXT_SENTENCES; i++) {
        fprintf(file, "%s    %s", title, PRINTABLE(list[i].text));
        title = "";
        if (list[i].count > 1)
            fprintf(file, " (%" PRIu64 " times)", list[i].count);
        fprintf(file, "\n");
    }
    if (count > TEXT_SENTENCES)
        fprintf(file, "    ... and %u more\n", count - TEXT_SENTENCES);
}

static void put_finding(FILE *file, const struct model *m, const struct model_finding *f,
                        uint32_t number)
{
    char process[160] = "", sentence[512], bundle[4200], again[OUT_AGAIN];
    if (f->process < m->processes)
        model_process_text(m->process[f->process], process, sizeof process);
    out_finding_text(sentence, sizeof sentence, f);
    fprintf(file, "    %u. %s, launch %" PRIu64 ", %s: %s\n", number,
            PRINTABLE(model_kernel_name(f->kernel)), f->launch, PRINTABLE(process),
            PRINTABLE(sentence));
    if (f->worst.place[0])
        fprintf(file, "       worst  %s: got %.9g, expected %.9g", PRINTABLE(f->worst.place),
                f->worst.got, f->worst.reference);
    if (f->worst.place[0] && isfinite(f->worst.bound))
        fprintf(file, " +- %.3g", f->worst.bound);
    if (f->worst.place[0])
        fprintf(file, "\n");
    if (out_finding_more(f))
        fprintf(file, "       %s\n", PRINTABLE(f->why));
    out_again(again, sizeof again, f);
    printable_text(again);
    if (*again)
        fprintf(file, "       again   %s\n", again);
    if (!f->bundle)
        return;
    out_quoted(bundle, sizeof bundle, PRINTABLE(f->bundle));
    if (f->bundle_found)
        fprintf(file, "       %-6s  cuvet %s %s\n", out_bundle_verb(f), out_bundle_verb(f), bundle);
    else
        fprintf(file, "       bundle %s, which is not here\n", bundle);
}

static void put_findings(FILE *file, const struct model *m)
{
    if (m->findings == 0)
        return;
    fprintf(file, "\n  Findings:\n");
    for (uint32_t i = 0; i < m->findings && i < TEXT_FINDINGS; i++)
        put_finding(file, m, &m->finding[i], i + 1);
    if (m->all_findings > TEXT_FINDINGS || m->all_findings > m->findings)
        fprintf(file, "    ... %" PRIu64 " in all in the journals\n", m->all_findings);
}

void out_text(FILE *file, const struct model *model)
{
    put_totals(file, model);
    put_kernels(file, model);
    put_buckets(file, model);
    put_sentences(file, "\n  Launches that the driver refused:\n", model->launch_error,
                  model->launch_errors);
    put_sentences(file, "\n  Warnings:\n", model->warning, model->warnings);
    put_sentences(file, "\n  Lint (these are no findings):\n", model->lint, model->lints);
    put_findings(file, model);
}
