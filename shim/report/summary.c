/*
 * summary.c - see summary.h.
 *
 * Order: one line of totals, the table of kernels, every reason that left a launch unchecked, the
 * launches that the driver refused, notes, findings. The findings come last, where a terminal shows
 * them. Empty sections are left out; the totals never are.
 */
#include "report/summary.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "refs/abi/ref_list.h"
#include "system/log.h"
#include "text/printable.h"
#include "report/contracts.h"
#include "report/place.h"
#include "report/summary_parts.h"
#include "value/hardware_text.h"

enum { NUMBER_TEXT = 32, PLACE_TEXT = 128, DIMS_TEXT = 160, LABEL_WIDTH = 44 };

struct element {
    char place[PLACE_TEXT];
    double got, reference, bound;
};

struct finding {
    char *label, *bundle; /* owned; bundle may be NULL */
    char *range;          /* the NVTX ranges of the launch, owned; NULL: none */
    struct outlier_call_report outlier;
    const char *dim; /* of which `seen` of `total` items were checked; NULL: all */
    int64_t seen, total;
    unsigned picks; /* the items of the launch that were checked */
    struct bound_pick pick[BINDING_PICKS];
    struct graph_place place;
    uint64_t launch, elements, violations, class_mismatch;
    uint64_t of;   /* elements of the launch's outputs */
    bool repeated; /* an element may be among `elements` more than once */
    bool call;     /* of a library, which has no grid */
    bool lifted;   /* held against the kernel's own PTX */
    uint32_t grid[3], block[3];
    double max_ratio;
    bool differs;
    uint64_t earlier;
    struct state_report state;
    struct projection_report projection;
    struct parity_report parity;
    struct hardware_report hardware;
    struct element worst, first;
    char dims[DIMS_TEXT]; /* how an array became what the reference takes; empty: as it is */
};

struct summary {
    pthread_mutex_t lock;
    uint32_t findings; /* kept */
    uint64_t more_findings;
    struct finding finding[SUMMARY_FINDINGS];
    struct summary_notes notes;
};

struct summary *summary_create(void)
{
    struct summary *summary = calloc(1, sizeof *summary);

    if (summary)
        pthread_mutex_init(&summary->lock, NULL);
    return summary;
}

void summary_destroy(struct summary *summary)
{
    if (!summary)
        return;
    for (uint32_t i = 0; i < summary->findings; i++) {
        free(summary->finding[i].label);
        free(summary->finding[i].bundle);
        free(summary->finding[i].range);
    }
    summary_notes_release(&summary->notes);
    free(summary);
}

static void fill_element(struct element *element, const struct binding *binding, uint32_t tensor,
                         uint64_t index, const double values[3])
{
    struct place place;

    if (!place_of(binding, tensor, index, &place))
        return;
    place_text(&place, element->place, sizeof element->place);
    element->got = values[0];
    element->reference = values[1];
    element->bound = values[2];
}

/* A kernel that is wrong on every launch must not push the others out. */
static unsigned findings_of(const struct summary *summary, const struct check_report *report)
{
    unsigned count = 0;
    for (unsigned i = 0; i < summary->findings; i++) {
        const char *label = summary->finding[i].label;
        count += label && !strcmp(label, place_kernel(report->spec));
    }
    return count;
}

void summary_finding(struct summary *summary, const struct check_report *report, const char *bundle)
{
    const struct ref_verdict *n = &report->numbers;
    struct finding *finding;

    if (!summary)
        return;
    pthread_mutex_lock(&summary->lock);
    if (summary->findings == SUMMARY_FINDINGS ||
        findings_of(summary, report) == SUMMARY_PER_KERNEL) {
        summary->more_findings++;
        goto out;
    }
    finding = &summary->finding[summary->findings++];
    finding->label = strdup(place_kernel(report->spec));
    finding->bundle = bundle && *bundle ? strdup(bundle) : NULL;
    finding->launch = report->launch;
    finding->lifted = report->spec && report->spec->lift;
    finding->place = report->place;
    finding->range = report->range && *report->range ? strdup(report->range) : NULL;
    finding->outlier = report->outlier;
    finding->dim = report->binding ? report->binding->subset.dim : NULL;
    finding->seen = finding->dim ? report->binding->subset.judged : 0;
    finding->total = finding->dim ? report->binding->subset.total : 0;
    finding->picks = report->binding ? report->binding->picks : 0;
    for (unsigned i = 0; i < finding->picks; i++)
        finding->pick[i] = report->binding->pick[i];
    finding->elements = n->checked;
    finding->of = place_elements(report->binding);
    finding->repeated = report->spec->reference && (report->spec->reference->uses & REF_REPEATS);
    finding->violations = n->violations;
    finding->class_mismatch = n->class_mismatch;
    finding->max_ratio = n->max_ratio;
    finding->differs = report->differs;
    finding->earlier = report->earlier;
    finding->state = report->state;
    finding->projection = report->projection;
    finding->parity = report->parity;
    finding->hardware = report->hardware;
    finding->call = report->spec->symbol && symbol_is_call(report->spec->symbol);
    if (!place_dims_text(report, finding->dims, sizeof finding->dims))
        finding->dims[0] = '\0';
    memcpy(finding->grid, report->grid, sizeof finding->grid);
    memcpy(finding->block, report->block, sizeof finding->block);
    fill_element(&finding->worst, report->binding, n->worst_tensor, n->worst_index,
                 (const double[]){n->worst_got, n->worst_ref, n->worst_bound});
    fill_element(&finding->first, report->binding, n->first_tensor, n->first_index,
                 (const double[]){n->first_got, n->first_ref, n->first_bound});
out:
    pthread_mutex_unlock(&summary->lock);
}

void summary_stands_alone(struct summary *summary, const struct parity_report *found)
{
    if (!summary)
        return;
    pthread_mutex_lock(&summary->lock);
    for (uint32_t i = 0; i < summary->findings; i++) {
        struct parity_report *parity = &summary->finding[i].parity;
        if (parity->differ && parity->contract == found->contract &&
            parity->other == found->other && parity->other_launch == found->other_launch)
            parity->agree = found->with;
    }
    pthread_mutex_unlock(&summary->lock);
}

void summary_note(struct summary *summary, const char *format, ...)
{
    char sentence[1024];
    va_list args;

    if (!summary)
        return;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    pthread_mutex_lock(&summary->lock);
    summary_notes_add(&summary->notes, NULL, NULL, sentence);
    pthread_mutex_unlock(&summary->lock);
}

bool summary_kernel_note(struct summary *summary, const char *name, const char *reason,
                         const char *sentence)
{
    if (!summary)
        return true;
    pthread_mutex_lock(&summary->lock);
    bool first = summary_notes_add(&summary->notes, name, reason, sentence);
    pthread_mutex_unlock(&summary->lock);
    return first;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static uint64_t registered_launches(const struct counters_totals *totals)
{
    return counters_sum(&totals->buckets) - counters_sum(&totals->other);
}

static double percent_of(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void put_totals(struct textbuf *out, const struct counters_totals *totals,
                       const struct summary_facts *facts)
{
    uint64_t checked = counters_checked(&totals->buckets);
    uint64_t registered = registered_launches(totals);
    const uint64_t *verdict = totals->buckets.verdict;

    if (totals->seen == 0) {
        textbuf_printf(out, "cuvet: no kernel launch was seen, so nothing was checked.\n");
        return;
    }
    if (facts->entries == 0) {
        textbuf_printf(out,
                       "cuvet: %" PRIu64 " launch%s seen, none checked: no registry entry was "
                       "read. CUVET_CONFIG names the registry files.\n",
                       totals->seen, totals->seen == 1 ? "" : "es");
        return;
    }
    if (registered == 0 && checked == 0) {
        textbuf_printf(out,
                       "cuvet: 0 of %" PRIu64 " launch%s were of registered kernels: nothing was "
                       "checked.\n       None of the %" PRIu64 " registry entr%s fits a kernel "
                       "that ran; `cuvet check FILES` shows what the entries name.\n",
                       totals->seen, totals->seen == 1 ? "" : "es", facts->entries,
                       facts->entries == 1 ? "y" : "ies");
        return;
    }
    textbuf_printf(out,
                   "cuvet: %" PRIu64 " launch%s seen, %" PRIu64 " (%.3g %%) of %u registered "
                   "kernel%s. Checked %" PRIu64 " (%.3g %%): %" PRIu64 " match, %" PRIu64
                   " mismatch, %" PRIu64 " inconclusive.%s\n",
                   totals->seen, totals->seen == 1 ? "" : "es", registered,
                   percent_of(registered, totals->seen), totals->kernels, plural(totals->kernels),
                   checked, percent_of(checked, totals->seen), verdict[VERDICT_MATCH],
                   verdict[VERDICT_MISMATCH], verdict[VERDICT_INCONCLUSIVE],
                   checked == 0 ? " NOTHING WAS CHECKED." : "");
}

static void put_row(struct textbuf *out, const struct counters_kernel *kernel, int width)
{
    const char *label = PRINTABLE(place_kernel(kernel->spec));
    uint64_t launches = counters_sum(&kernel->buckets);
    uint64_t checked = counters_checked(&kernel->buckets);
    char worst[NUMBER_TEXT] = "-";

    if (checked > 0)
        verdict_ratio_text(worst, kernel->max_ratio, kernel->violations == 0);
    if (strlen(label) > LABEL_WIDTH)
        textbuf_printf(out, "  %s...",
                       printable_copy((char[LABEL_WIDTH]){0}, LABEL_WIDTH - 2, label));
    else
        textbuf_printf(out, "  %-*s", width, label);
    textbuf_printf(out,
                   "  %9" PRIu64 "  %9" PRIu64 "  %9" PRIu64 "  %9" PRIu64 "  %12" PRIu64
                   "  %9" PRIu64 "  %17s\n",
                   launches, checked, kernel->buckets.verdict[VERDICT_MATCH],
                   kernel->buckets.verdict[VERDICT_MISMATCH],
                   kernel->buckets.verdict[VERDICT_INCONCLUSIVE], launches - checked, worst);
}

static void put_table(struct textbuf *out, const struct counters_kernel *kernels, uint32_t count)
{
    uint32_t rows = count < SUMMARY_ROWS ? count : SUMMARY_ROWS;
    int width = 6;

    if (count == 0)
        return;
    for (uint32_t i = 0; i < rows; i++) {
        size_t length = strlen(PRINTABLE(place_kernel(kernels[i].spec)));

        if ((int)length > width)
            width = length < LABEL_WIDTH ? (int)length : LABEL_WIDTH;
    }
    textbuf_printf(out, "\n  %-*s  %9s  %9s  %9s  %9s  %12s  %9s  %17s\n", width, "kernel",
                   "launches", "checked", "match", "mismatch", "inconclusive", "unchecked",
                   "worst error/bound");
    for (uint32_t i = 0; i < rows; i++)
        put_row(out, &kernels[i], width);
    if (count > rows)
        textbuf_printf(out, "  ... and %u more kernel%s\n", count - rows, plural(count - rows));
}

static void put_skips(struct textbuf *out, const struct counters_totals *totals)
{
    const char *title = "\n  Launches not checked, and why:\n";

    for (int k = SKIP_NONE; k < SKIP_COUNT; k++) {
        if (totals->buckets.skip[k] == 0)
            continue;
        textbuf_printf(out, "%s    %9" PRIu64 "  %s: %s\n", title, totals->buckets.skip[k],
                       skip_text((enum skip)k), skip_sentence((enum skip)k));
        title = "";
    }
    if (counters_balanced(totals))
        return;
    textbuf_printf(out,
                   "\n  WARNING: %" PRIu64 " launches were seen, but %" PRIu64 " are accounted "
                   "for. The rest was still under way\n  or was lost by cuvet: do not rely on "
                   "the numbers above.\n",
                   totals->seen, counters_sum(&totals->buckets));
}

static void put_launch_errors(struct textbuf *out, struct counters *counters)
{
    const char *title = "\n  Launches that the driver refused:\n";
    uint64_t others = counters_other_errors(counters);
    struct counters_error e;

    for (uint32_t i = 0; counters_read_error(counters, i, &e); i++) {
        textbuf_printf(out, "%s    %9" PRIu64 "  %s", title, e.count, PRINTABLE(e.symbol));
        if (symbol_is_call(e.symbol))
            textbuf_printf(out, ": refused by the library\n");
        else
            textbuf_printf(out, ", grid %ux%ux%u, block %ux%ux%u: %s\n", e.grid[0], e.grid[1],
                           e.grid[2], e.block[0], e.block[1], e.block[2], e.error_name);
        title = "";
    }
    if (others > 0)
        textbuf_printf(out, "%s    %9" PRIu64 "  of further kernels or errors\n", title, others);
}

static void put_summary_element(struct textbuf *out, const char *which,
                                const struct element *element)
{
    textbuf_printf(out, "       %s  %s: got %.9g, expected %.9g", which, element->place,
                   element->got, element->reference);
    if (isfinite(element->bound) && isfinite(element->reference))
        textbuf_printf(out, " +- %.3g", element->bound);
    textbuf_printf(out, "\n");
}

/* Where a row of a product lies: "[128]", "[3][128]" in a batch, "[128] (columns 4096 to 8191)". */
static const char *row_text(char text[PLACE_TEXT], const struct projection_report *p, int64_t row)
{
    const int64_t first = p->of ? row / p->of * p->columns : 0;
    if (p->of == 0)
        snprintf(text, PLACE_TEXT, "[%" PRId64 "]", row);
    else if (p->columns)
        snprintf(text, PLACE_TEXT, "[%" PRId64 "] (columns %" PRId64 " to %" PRId64 ")",
                 row % p->of, first, first + p->columns - 1);
    else
        snprintf(text, PLACE_TEXT, "[%" PRId64 "][%" PRId64 "]", row / p->of, row % p->of);
    return text;
}

static void put_summary_projection(struct textbuf *out, const struct finding *f)
{
    const struct projection_report *p = &f->projection;
    char first[PLACE_TEXT], last[PLACE_TEXT], worst[PLACE_TEXT];

    textbuf_printf(out,
                   "       projection  rows %s to %s of %s: in %" PRIu64 " of %" PRIu64
                   " %s of the whole product the projected\n       row is off, ",
                   row_text(first, p, p->first), row_text(last, p, p->last), p->array,
                   p->violations, p->rows, p->columns ? "parts of rows" : "rows");
    row_text(worst, p, p->worst);
    if (isfinite(p->ratio))
        textbuf_printf(out, "by up to %.3g times its bound (row %s)\n", p->ratio, worst);
    else
        textbuf_printf(out, "and row %s holds Inf or NaN, its inputs being finite\n", worst);
}

static void put_finding(struct textbuf *out, uint32_t number, const struct finding *f)
{
    textbuf_printf(out, "    %u. %s, %s %" PRIu64, number, f->label ? PRINTABLE(f->label) : "?",
                   f->call ? "call" : "launch", f->launch);
    if (!f->call)
        textbuf_printf(out, " (grid %ux%ux%u, block %ux%ux%u)", f->grid[0], f->grid[1], f->grid[2],
                       f->block[0], f->block[1], f->block[2]);
    if (f->state.rule && !f->violations)
        textbuf_printf(out, ": breaks what holds between launches; its elements are right");
    else
        textbuf_printf(out, ": %" PRIu64 " of %" PRIu64 " %s outside the bound", f->violations,
                       f->elements, f->repeated ? "comparisons" : "elements");
    if (f->class_mismatch > 0)
        textbuf_printf(out, ",\n       in %" PRIu64 " of them a NaN or an infinity on one side",
                       f->class_mismatch);
    if (isfinite(f->max_ratio) && f->violations > 0)
        textbuf_printf(out, ", up to %.3g times", f->max_ratio);
    if (f->repeated)
        textbuf_printf(out, ", some of one element: the launch has %" PRIu64 " elements", f->of);
    else if (f->of > f->elements)
        textbuf_printf(out, ", a sample: the launch has %" PRIu64 " elements", f->of);
    textbuf_printf(out, "\n");
    if (f->lifted)
        textbuf_printf(out, "       precision: held against the kernel's own PTX, in f64\n");
    if (f->place.graph)
        textbuf_printf(out,
                       "       in a CUDA graph: kernel node %u of graph %u, replay %" PRIu64 "\n",
                       f->place.node, f->place.graph, f->place.replay);
    if (f->range)
        textbuf_printf(out, "       in the NVTX range %s\n", PRINTABLE(f->range));
    if (f->dims[0])
        textbuf_printf(out, "       dims   %s\n", f->dims);
    if (f->dim)
        textbuf_printf(out, "       subset %s %" PRId64 " of %" PRId64 "\n", f->dim, f->seen,
                       f->total);
    for (unsigned i = 0; i < f->picks; i++)
        textbuf_printf(out, "       picked %s %" PRId64 " of %" PRId64 "\n", f->pick[i].name,
                       f->pick[i].value, f->pick[i].count);
    if (f->differs)
        textbuf_printf(out,
                       "       nondeterministic: launch %" PRIu64 " gave other bytes for the same "
                       "input\n",
                       f->earlier);
    if (f->state.rule)
        textbuf_printf(out, "       %s  %s\n", f->state.rule, PRINTABLE(f->state.sentence));
    if (f->projection.violations > 0)
        put_summary_projection(out, f);
    if (f->parity.differ > 0) {
        char text[PARITY_TEXT];
        parity_text(&f->parity, text);
        textbuf_printf(out, "       %s\n", text);
    }
    if (f->worst.place[0])
        put_summary_element(out, "worst", &f->worst);
    if (f->first.place[0] && strcmp(f->first.place, f->worst.place) != 0)
        put_summary_element(out, "first", &f->first);
    if (f->outlier.input)
        textbuf_printf(out, "       outlier  %s of %s: %.3g%s, over %.3g\n", f->outlier.statistic,
                       f->outlier.input, f->outlier.score, f->outlier.sigmas ? " sigma" : "",
                       f->outlier.threshold);
    if (f->hardware.enabled) {
        char text[HARDWARE_TEXT];
        textbuf_printf(out, "%s", hardware_text(&f->hardware, text));
    }
    if (f->bundle)
        textbuf_printf(out, "       bundle %s\n", PRINTABLE(f->bundle));
}

/* Under the lock. */
static void put_findings(struct textbuf *out, const struct summary *summary)
{
    if (!summary || summary->findings == 0)
        return;
    textbuf_printf(out, "\n  Findings:\n");
    for (uint32_t i = 0; i < summary->findings; i++)
        put_finding(out, i + 1, &summary->finding[i]);
    if (summary->more_findings > 0)
        textbuf_printf(out, "    ... and %" PRIu64 " more\n", summary->more_findings);
}

void summary_text(struct summary *summary, struct counters *counters,
                  const struct summary_facts *facts, struct textbuf *out)
{
    struct counters_kernel *kernels;
    struct counters_totals totals;
    uint32_t count;

    counters_read(counters, &totals);
    kernels = counters_read_kernels(counters, &count);
    if (kernels)
        count = summary_merge_lifted(kernels, count);
    if (summary)
        pthread_mutex_lock(&summary->lock);
    put_totals(out, &totals, facts);
    summary_put_time(out, &totals.gpu);
    put_table(out, kernels, count);
    summary_put_cost(out, &totals, kernels, count, facts->cupti);
    put_skips(out, &totals);
    summary_put_unregistered(out, &totals, facts);
    put_launch_errors(out, counters);
    summary_put_notes(out, summary ? &summary->notes : NULL, kernels, count, facts);
    if (facts->unmet && registered_launches(&totals) > 0)
        textbuf_printf(out, "\n  Entries that named no kernel that ran: %s\n", facts->unmet);
    if (facts->contracts)
        textbuf_printf(out, "\n  Contracts:\n%s", facts->contracts);
    if (facts->lint)
        textbuf_printf(out, "\n  Lint (these are no findings):\n%s", facts->lint);
    put_findings(out, summary);
    if (facts->journal && *facts->journal)
        textbuf_printf(out, "\n  journal %s\n", PRINTABLE(facts->journal));
    if (summary)
        pthread_mutex_unlock(&summary->lock);
    free(kernels);
}

void summary_print(struct summary *summary, struct counters *counters,
                   const struct summary_facts *facts)
{
    struct textbuf text;

    textbuf_init(&text);
    summary_text(summary, counters, facts, &text);
    if (text.length > 0)
        log_text(text.data, text.length);
    textbuf_release(&text);
}
