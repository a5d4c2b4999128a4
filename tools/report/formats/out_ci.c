/* out_ci.c - the report as JUnit XML, a test case a kernel, and as OpenMetrics text. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "tools/report/formats/out.h"

static const struct model_finding *first_finding(const struct model *m,
                                                 const struct model_kernel *kernel)
{
    for (uint32_t i = 0; i < m->findings; i++) {
        if (m->finding[i].kernel == kernel)
            return &m->finding[i];
    }
    return NULL;
}

static void put_failure(FILE *file, const struct model *m, const struct model_kernel *kernel)
{
    const struct model_finding *f = first_finding(m, kernel);
    char sentence[512] = "", again[OUT_AGAIN] = "";
    if (f)
        out_finding_text(sentence, sizeof sentence, f);
    if (f)
        out_again(again, sizeof again, f);
    fprintf(file,
            "      <failure type=\"%s\" message=\"%" PRIu64 " of %" PRIu64
            " checked launches are a mismatch\">",
            f ? out_rule_of(f)->id : "mismatch", kernel->counts.verdict[VERDICT_MISMATCH],
            model_checked(kernel->counts.verdict));
    if (f) {
        fprintf(file, "launch %" PRIu64 ": ", f->launch);
        out_escaped(file, sentence);
        if (f->worst.place[0]) {
            fprintf(file, "\nworst ");
            out_escaped(file, f->worst.place);
            fprintf(file, ": got %.9g, expected %.9g", f->worst.got, f->worst.reference);
            if (isfinite(f->worst.bound) && isfinite(f->worst.reference))
                fprintf(file, " +- %.3g", f->worst.bound);
        }
        if (*again) {
            fprintf(file, "\n");
            out_escaped(file, again);
        }
        if (f->bundle) {
            fprintf(file, "\ncuvet %s ", out_bundle_verb(f));
            out_escaped(file, f->bundle);
        }
    }
    fprintf(file, "</failure>\n");
}

static void put_case(FILE *file, const struct model *m, const struct model_kernel *kernel)
{
    fprintf(file, "    <testcase classname=\"");
    out_escaped(file, kernel->where ? kernel->where : "registry");
    fprintf(file, "\" name=\"");
    out_escaped(file, model_kernel_name(kernel));
    fprintf(file, "\" time=\"0\">\n");
    if (kernel->counts.verdict[VERDICT_MISMATCH] > 0)
        put_failure(file, m, kernel);
    else if (model_checked(kernel->counts.verdict) == 0)
        fprintf(file, "      <skipped message=\"none of its %" PRIu64 " launches was checked\"/>\n",
                kernel->counts.launches);
    else if (kernel->counts.verdict[VERDICT_MATCH] == 0)
        fprintf(file, "      <skipped message=\"its checks were inconclusive\"/>\n");
    fprintf(file, "    </testcase>\n");
}

void out_junit(FILE *file, const struct model *m)
{
    uint32_t failures = 0, skipped = 0;
    for (uint32_t i = 0; i < m->kernels; i++) {
        bool failed = m->kernel[i]->counts.verdict[VERDICT_MISMATCH] > 0;
        failures += failed;
        skipped += !failed && m->kernel[i]->counts.verdict[VERDICT_MATCH] == 0;
    }
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"cuvet\" "
            "tests=\"%u\" failures=\"%u\" errors=\"0\" skipped=\"%u\" time=\"0\">\n",
            m->kernels, failures, skipped);
    for (uint32_t i = 0; i < m->kernels; i++)
        put_case(file, m, m->kernel[i]);
    fprintf(file, "  </testsuite>\n</testsuites>\n");
}

/* ---- OpenMetrics ---- */

static void put_label(FILE *file, const char *text)
{
    char clean[1024];
    size_t length = 0;
    for (; *text && length + 3 < sizeof clean; text++) {
        bool escaped = *text == '"' || *text == '\\';
        if (escaped)
            clean[length++] = '\\';
        clean[length++] = (unsigned char)*text < ' ' ? '?' : *text;
    }
    clean[length] = '\0';
    fputs(clean, file);
}

static void put_family(FILE *file, const char *name, const char *type, const char *help)
{
    fprintf(file, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
}

static void put_number(FILE *file, double value)
{
    if (isfinite(value))
        fprintf(file, "%.17g", value);
    else
        fprintf(file, "%s", isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
}

static void put_kernel_families(FILE *file, const struct model *m)
{
    put_family(file, "cuvet_kernel_launches", "counter", "Launches of a registered kernel.");
    for (uint32_t i = 0; i < m->kernels; i++) {
        fprintf(file, "cuvet_kernel_launches_total{kernel=\"");
        put_label(file, model_kernel_name(m->kernel[i]));
        fprintf(file, "\",symbol=\"");
        put_label(file, m->kernel[i]->symbol);
        fprintf(file, "\"} %" PRIu64 "\n", m->kernel[i]->counts.launches);
    }
    put_family(file, "cuvet_kernel_checks", "counter", "Checked launches by verdict.");
    for (uint32_t i = 0; i < m->kernels; i++) {
        for (int v = 0; v < VERDICT_COUNT; v++) {
            fprintf(file, "cuvet_kernel_checks_total{kernel=\"");
            put_label(file, model_kernel_name(m->kernel[i]));
            fprintf(file, "\",symbol=\"");
            put_label(file, m->kernel[i]->symbol);
            fprintf(file, "\",against=\"%s\",verdict=\"%s\"} %" PRIu64 "\n",
                    model_is_lifted(m->kernel[i]) ? "ptx" : "reference",
                    verdict_text((enum verdict)v), m->kernel[i]->counts.verdict[v]);
        }
    }
    put_family(file, "cuvet_kernel_worst_ratio", "gauge", "Largest error, in units of its bound.");
    for (uint32_t i = 0; i < m->kernels; i++) {
        if (model_checked(m->kernel[i]->counts.verdict) == 0)
            continue;
        fprintf(file, "cuvet_kernel_worst_ratio{kernel=\"");
        put_label(file, model_kernel_name(m->kernel[i]));
        fprintf(file, "\",symbol=\"");
        put_label(file, m->kernel[i]->symbol);
        fprintf(file, "\"} ");
        put_number(file, m->kernel[i]->counts.max_ratio);
        fprintf(file, "\n");
    }
}

/* By host and rank: for sums over a fleet, and to find a machine that computes wrongly. */
static void put_process_families(FILE *file, const struct model *m)
{
    put_family(file, "cuvet_process_checks", "counter",
               "Checked launches of a process by verdict.");
    for (uint32_t i = 0; i < m->processes; i++) {
        const struct model_process *p = m->process[i];
        for (int v = 0; v < VERDICT_COUNT; v++) {
            fprintf(file, "cuvet_process_checks_total{host=\"");
            put_label(file, p->host ? p->host : "");
            fprintf(file, "\",pid=\"%" PRId64 "\",rank=\"", p->pid);
            if (p->rank >= 0)
                fprintf(file, "%" PRId64, p->rank);
            fprintf(file, "\",began=\"%" PRId64 "\",verdict=\"%s\"} %" PRIu64 "\n", p->begin_ms,
                    verdict_text((enum verdict)v), p->verdict[v]);
        }
    }
}

void out_openmetrics(FILE *file, const struct model *m)
{
    put_family(file, "cuvet_processes", "gauge", "Processes whose journals were read.");
    fprintf(file, "cuvet_processes %" PRIu64 "\n", m->all_processes);
    put_family(file, "cuvet_processes_unended", "gauge", "Processes that left no totals.");
    fprintf(file, "cuvet_processes_unended %" PRIu64 "\n", m->unended);
    put_family(file, "cuvet_launches", "counter", "Launches seen.");
    fprintf(file, "cuvet_launches_total %" PRIu64 "\n", m->seen);
    put_family(file, "cuvet_checks", "counter", "Checked launches by verdict.");
    for (int v = 0; v < VERDICT_COUNT; v++)
        fprintf(file, "cuvet_checks_total{verdict=\"%s\"} %" PRIu64 "\n",
                verdict_text((enum verdict)v), m->verdict[v]);
    put_family(file, "cuvet_unchecked", "counter", "Launches not checked, by reason.");
    for (enum skip skip = SKIP_NONE + 1; skip < SKIP_COUNT; skip++) {
        if (m->skip[skip] > 0)
            fprintf(file, "cuvet_unchecked_total{reason=\"%s\"} %" PRIu64 "\n", skip_text(skip),
                    m->skip[skip]);
    }
    put_kernel_families(file, m);
    put_process_families(file, m);
    fprintf(file, "# EOF\n");
}
