#include "report/summary_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "report/place.h"
#include "text/printable.h"
#include "text/textbuf.h"

static void put_launch(struct textbuf *text, const struct api_error *error)
{
    textbuf_printf(text, "launch of %s", PRINTABLE(error->at));
    if (error->grid[0])
        textbuf_printf(text, " with grid (%u,%u,%u), block (%u,%u,%u)", error->grid[0],
                       error->grid[1], error->grid[2], error->block[0], error->block[1],
                       error->block[2]);
    textbuf_printf(text, ": %s while it ran", error->error);
    for (size_t i = 0; i < error->names; i++)
        textbuf_printf(text, "%s%.100s", i ? ", " : "; its kernels: ", PRINTABLE(error->name[i]));
}

static void put_names(struct textbuf *text, const struct api_error *error)
{
    const char *before = ". The last launches, the newest first: ";
    for (size_t i = 0; i < error->names; i++) {
        if (!*error->name[i]) {
            before = "; of another thread: ";
            continue;
        }
        textbuf_printf(text, "%s%.100s", before, PRINTABLE(error->name[i]));
        before = ", ";
    }
}

void api_error_text(const struct api_error *error, char out[API_ERROR_TEXT])
{
    static const char advice[] = ". CUVET_SYNC=1 names the one that failed";
    struct textbuf text;
    textbuf_init_fixed(&text, out, API_ERROR_TEXT - sizeof advice);
    if (error->at) {
        put_launch(&text, error);
        return;
    }
    if (error->own) {
        textbuf_printf(&text, "%s returned %s, an error of its own; further ones are not reported",
                       error->api, error->error);
        return;
    }
    if (error->api)
        textbuf_printf(&text, "%s returned %s, the error of an earlier launch", error->api,
                       error->error);
    else
        textbuf_printf(&text, "device %d ended with %s, the error of a launch", error->device,
                       error->error);
    put_names(&text, error);
    struct textbuf whole = {out, text.length, API_ERROR_TEXT, true, false};
    textbuf_printf(&whole, "%s", advice);
}

/* ---- time on the GPU ---- */

/* What is printed of an origin: behind the name of a kernel, in front of the counts, behind them.
 */
static const struct {
    const char *mark, *title, *advice;
} origins[ORIGINS] = {
    [ORIGIN_STATIC_BLAS] = {" (cuBLAS, linked statically)", "cuBLAS, linked statically",
                            "Its calls are inside the program, where they cannot be seen or "
                            "checked"},
    [ORIGIN_OPENED_BLAS] = {" (cuBLAS, no call seen)", "cuBLAS, of which no call was seen",
                            "Calls of functions that a program finds by dlsym are seen under "
                            "`cuvet run` only"},
    [ORIGIN_XLA] =
        {"", "Fusions of XLA",
         "With XLA_FLAGS=\"--xla_dump_to=FOLDER --xla_dump_hlo_as_text\" XLA writes what "
         "they compute, and `cuvet xla FOLDER` makes entries of it (cuvet help xla)"},
    [ORIGIN_INDUCTOR] = {"", "Kernels of Inductor",
                         "`cuvet inductor` makes entries of the files in TORCHINDUCTOR_CACHE_DIR "
                         "(cuvet help inductor)"},
};

static void put_origins(struct textbuf *out, const struct summary_facts *facts, bool timed)
{
    for (int i = ORIGIN_UNKNOWN + 1; i < ORIGINS; i++) {
        double launches = facts->origin[i].launches;
        if (launches <= 0)
            continue;
        textbuf_printf(out, "\n  %s: about %.0f launch%s", origins[i].title, launches,
                       launches < 1.5 ? "" : "es");
        if (timed)
            textbuf_printf(out, ", %.3g %% of the time on the GPU", 100 * facts->origin[i].time);
        textbuf_printf(out, ". %s.\n", origins[i].advice);
    }
}

/* Kernels without an entry: by time on the GPU where it is known, else by launches. */
void summary_put_unregistered(struct textbuf *out, const struct counters_totals *totals,
                              const struct summary_facts *facts)
{
    bool timed = totals->gpu.timed > 0;
    const char *title =
        timed ? "\n  Most time on the GPU without an entry, of all of it by samples:\n"
              : "\n  Most launches without an entry, of all launches by samples:\n";
    double others = totals->seen ? 100.0 * (double)totals->buckets.skip[SKIP_UNREGISTERED] /
                                       (double)totals->seen
                                 : 0;

    for (size_t i = 0; others > 0 && i < facts->unregistered_count; i++) {
        const struct summary_unregistered *one = &facts->unregistered[i];
        textbuf_printf(out, "%s    %4.1f %%  %s%s\n", title,
                       timed ? 100 * one->of_time : others * one->share, PRINTABLE(one->name),
                       one->origin ? origins[one->origin].mark : "");
        title = "";
    }
    put_origins(out, facts, timed);
}

/* The second line, behind the shares of launches. */
void summary_put_time(struct textbuf *out, const struct gpu_shares *gpu)
{
    if (!gpu->timed || gpu->all <= 0)
        return;
    textbuf_printf(
        out,
        "  Time on the GPU: %.3g %% in registered kernels, %.3g %% in launches that were "
        "checked; estimated from %" PRIu64 " timed launch%s.\n",
        100 * gpu->registered / gpu->all, 100 * gpu->checked / gpu->all, gpu->timed,
        gpu->timed == 1 ? "" : "es");
}

/* What the hook takes of every launch is apart from the rest: it is there whatever is checked. */
static void put_hook(struct textbuf *out, const struct counters_totals *totals, double percent,
                     bool cupti)
{
    if (totals->hook_ns > 0)
        textbuf_printf(out,
                       "  Apart from it the hook takes about %u ns of each launch, %.2g %%%s.\n",
                       totals->hook_ns, (double)totals->hook_ns * (double)totals->seen * percent,
                       cupti ? ", and CUPTI its own part to call it" : "");
}

typedef uint64_t (*measure_fn)(const struct counters_kernel *kernel);

enum { MOST_SHOWN = 3 };

/* The kernels that have most of what is measured, the first first; NULL: there are fewer. */
static void find_most(const struct counters_kernel *most[MOST_SHOWN],
                      const struct counters_kernel *kernels, uint32_t count, measure_fn measure)
{
    for (int j = 0; j < MOST_SHOWN; j++)
        most[j] = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct counters_kernel *next = measure(&kernels[i]) ? &kernels[i] : NULL;

        for (int j = 0; j < MOST_SHOWN && next; j++) {
            if (!most[j] || measure(next) > measure(most[j])) {
                const struct counters_kernel *less = most[j];

                most[j] = next;
                next = less;
            }
        }
    }
}

static uint64_t spent_of(const struct counters_kernel *kernel)
{
    return kernel->spent_ns;
}

/* The kernels whose checks have cost most, with their shares of `all`. */
static void put_dearest(struct textbuf *out, const struct counters_kernel *kernels, uint32_t count,
                        uint64_t all)
{
    enum { NAME_WIDTH = 100 };
    const struct counters_kernel *most[MOST_SHOWN];

    find_most(most, kernels, count, spent_of);
    for (int j = 0; j < MOST_SHOWN && most[j]; j++) {
        const char *name = place_kernel(most[j]->spec);
        char shown[NAME_WIDTH];

        textbuf_printf(out, "%s    %4.2g %%  %s%s\n", j ? "" : "  Most of it for the checks of\n",
                       100.0 * (double)most[j]->spent_ns / (double)all,
                       printable_copy(shown, sizeof shown, name),
                       strlen(name) >= sizeof shown ? "..." : "");
    }
}

/* Parts that overlap count once, as the program is slowed. */
void summary_put_cost(struct textbuf *out, const struct counters_totals *totals,
                      const struct counters_kernel *kernels, uint32_t count, bool cupti)
{
    const struct check_cost *cost = &totals->cost;
    double percent = totals->elapsed ? 100.0 / (double)totals->elapsed : 0;
    uint64_t all = check_cost_sum(cost);
    uint64_t launches = counters_sum(&totals->buckets) - counters_sum(&totals->other);

    if (all == 0)
        return;
    textbuf_printf(
        out,
        "\n  Cost of checking: %.2g %% of %.1f s (program's threads %.2g %%, copies "
        "%.2g %%, references %.2g %%, looking for outliers %.2g %%,\n  less %.2g %% at "
        "the same time); %.3g %% of the launches of registered kernels were checked.\n",
        (double)all * percent, (double)totals->elapsed / 1e9, (double)cost->thread * percent,
        (double)cost->copy * percent, (double)cost->reference * percent,
        (double)cost->probe * percent, (double)cost->overlap * percent,
        launches ? 100.0 * (double)counters_checked(&totals->buckets) / (double)launches : 0);
    put_dearest(out, kernels, count, all);
    put_hook(out, totals, percent, cupti);
}

/* ---- notes ---- */

/* Elements that their bound cannot judge are worth a note from this share on: a few are there
 * wherever sums cancel. From a tenth on the launch itself is inconclusive. */
static const double NOTE_WIDE = 0.01;

static bool is_note_of(const struct summary_note *note, const char *name, const char *reason)
{
    return note->name && name && !strcmp(note->name, name) && !strcmp(note->reason, reason);
}

static void release_note(struct summary_note *note)
{
    free(note->text);
    free(note->name);
    free(note->reason);
}

/* False: no memory. */
static bool fill_note(struct summary_note *note, const char *name, const char *reason,
                      const char *text)
{
    *note = (struct summary_note){.text = strdup(text), .kernels = 1};
    if (name) {
        note->name = strdup(name);
        note->reason = strdup(reason);
    }
    if (note->text && (!name || (note->name && note->reason))) {
        printable_text(note->text);
        return true;
    }
    release_note(note);
    return false;
}

bool summary_notes_add(struct summary_notes *notes, const char *name, const char *reason,
                       const char *text)
{
    for (uint32_t i = 0; i < notes->count; i++) {
        if (is_note_of(&notes->note[i], name, reason)) {
            notes->note[i].kernels++;
            return false;
        }
    }
    if (notes->count < SUMMARY_NOTES_KEPT &&
        fill_note(&notes->note[notes->count], name, reason, text))
        notes->count++;
    else
        notes->more++;
    return true;
}

void summary_notes_release(struct summary_notes *notes)
{
    for (uint32_t i = 0; i < notes->count; i++)
        release_note(&notes->note[i]);
    notes->count = 0;
}

static const char *put_kernel_notes(struct textbuf *out, const char *title,
                                    const struct counters_kernel *kernel)
{
    const char *label = PRINTABLE(place_kernel(kernel->spec));

    if (kernel->projections > 0) {
        textbuf_printf(out,
                       "%s    %s: %" PRIu64 " of %" PRIu64 " checks projected the whole product "
                       "(CUVET_FREIVALDS)\n",
                       title, label, kernel->projections, counters_checked(&kernel->buckets));
        title = "";
    }
    if (kernel->rows_left > 0) {
        textbuf_printf(out,
                       "%s    %s: in %" PRIu64 " of its projections %" PRIu64 " row%s could not be "
                       "judged: inputs or outputs are Inf, NaN\n      or so large that a right "
                       "kernel may overflow.\n",
                       title, label, kernel->left_launches, kernel->rows_left,
                       kernel->rows_left == 1 ? "" : "s");
        title = "";
    }
    if (kernel->spread_launches > 0) {
        textbuf_printf(out,
                       "%s    %s matches, but in %" PRIu64 " launch%s the mean square of its "
                       "errors is R = %.3g times that of one correct rounding:\n      does it "
                       "round intermediate results to a narrow type?\n",
                       title, label, kernel->spread_launches,
                       kernel->spread_launches == 1 ? "" : "es", kernel->note_square);
        title = "";
    }
    if (kernel->lean_launches > 0) {
        textbuf_printf(out,
                       "%s    %s matches, but in %" PRIu64 " launch%s its errors lean one way, "
                       "%+.3g ulp on average:\n      does it truncate, or lose a small term?\n",
                       title, label, kernel->lean_launches, kernel->lean_launches == 1 ? "" : "es",
                       kernel->note_mean);
        title = "";
    }
    if (kernel->spec->shipped && kernel->violations > 0 &&
        kernel->buckets.verdict[VERDICT_MATCH] > 0) {
        textbuf_printf(out,
                       "%s    %s: %" PRIu64 " of its launches match, %" PRIu64
                       " do not. The cause may "
                       "be an input that another stream still writes\n      while the kernel runs: "
                       "such findings are gone under CUVET_SYNC=1.\n",
                       title, label, kernel->buckets.verdict[VERDICT_MATCH],
                       kernel->buckets.verdict[VERDICT_MISMATCH]);
        title = "";
    }
    if ((double)kernel->wide > NOTE_WIDE * (double)kernel->elements) {
        textbuf_printf(out,
                       "%s    %s: of %" PRIu64 " of its %" PRIu64 " elements the bound is too wide "
                       "for a verdict.\n",
                       title, label, kernel->wide, kernel->elements);
        title = "";
    }
    return title;
}

static uint64_t subsets_of(const struct counters_kernel *kernel)
{
    return kernel->subsets;
}

/* Most programs have many such kernels, so those with most such checks stand for all. */
static const char *put_subset_notes(struct textbuf *out, const char *title,
                                    const struct counters_kernel *kernels, uint32_t count)
{
    const struct counters_kernel *most[MOST_SHOWN];
    uint32_t others = 0, shown = 0;

    find_most(most, kernels, count, subsets_of);
    for (; shown < MOST_SHOWN && most[shown]; shown++) {
        textbuf_printf(out,
                       "%s    %s: %" PRIu64 " of %" PRIu64 " checks had a subset of the launch, "
                       "%.3g %% of its items on average (CUVET_SUBSET)\n",
                       title, PRINTABLE(place_kernel(most[shown]->spec)), most[shown]->subsets,
                       counters_checked(&most[shown]->buckets), 100 * most[shown]->subset_share);
        title = "";
    }
    for (uint32_t i = 0; i < count; i++)
        others += kernels[i].subsets > 0;
    if (others > shown)
        textbuf_printf(out, "    %u more kernel%s had checks of a subset\n", others - shown,
                       others - shown == 1 ? "" : "s");
    return title;
}

static const char *put_kept_notes(struct textbuf *out, const char *title,
                                  const struct summary_notes *notes)
{
    uint32_t shown = notes->count < SUMMARY_NOTES ? notes->count : SUMMARY_NOTES;
    uint64_t more = notes->more + notes->count - shown;

    for (uint32_t i = 0; i < shown; i++) {
        textbuf_printf(out, "%s    %s", title, notes->note[i].text);
        if (notes->note[i].kernels > 1)
            textbuf_printf(out, " (one of %u kernels of that name)", notes->note[i].kernels);
        textbuf_printf(out, "\n");
        title = "";
    }
    if (more > 0) {
        textbuf_printf(out, "%s    ... and %" PRIu64 " more\n", title, more);
        title = "";
    }
    return title;
}

void summary_put_notes(struct textbuf *out, const struct summary_notes *notes,
                       const struct counters_kernel *kernels, uint32_t count,
                       const struct summary_facts *facts)
{
    const char *title = "\n  Notes (these are no findings):\n";

    if (facts->precision) {
        textbuf_printf(out, "%s    %s\n", title, PRINTABLE(facts->precision));
        title = "";
    }
    for (uint32_t i = 0; i < count; i++)
        title = put_kernel_notes(out, title, &kernels[i]);
    if (notes)
        title = put_kept_notes(out, title, notes);
    title = put_subset_notes(out, title, kernels, count);
    if (facts->lost_lines > 0)
        textbuf_printf(out, "%s    %" PRIu64 " line%s of the journal could not be written.\n",
                       title, facts->lost_lines, facts->lost_lines == 1 ? "" : "s");
}

/* ---- rows of one label ---- */

static void add_bucket_counts(uint64_t *into, const uint64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        into[i] += from[i];
}

static void add_kernel_counts(struct counters_kernel *into, const struct counters_kernel *from)
{
    uint64_t subsets = into->subsets + from->subsets;
    if (subsets)
        into->subset_share = (into->subset_share * (double)into->subsets +
                              from->subset_share * (double)from->subsets) /
                             (double)subsets;
    add_bucket_counts(into->buckets.verdict, from->buckets.verdict, VERDICT_COUNT);
    add_bucket_counts(into->buckets.skip, from->buckets.skip, SKIP_COUNT);
    add_bucket_counts(into->ratios, from->ratios, COUNTERS_RATIOS);
    into->elements += from->elements;
    into->violations += from->violations;
    into->wide += from->wide;
    into->max_ratio = from->max_ratio > into->max_ratio ? from->max_ratio : into->max_ratio;
    into->subsets = subsets;
    into->spent_ns += from->spent_ns;
    into->spread_launches += from->spread_launches;
    into->lean_launches += from->lean_launches;
    into->note_square =
        from->note_square > into->note_square ? from->note_square : into->note_square;
    if (fabs(from->note_mean) > fabs(into->note_mean))
        into->note_mean = from->note_mean;
}

uint32_t summary_merge_lifted(struct counters_kernel *kernels, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct kernel_spec *spec = kernels[i].spec;
        uint32_t at = spec->lift ? 0 : kept;
        while (at < kept && (!kernels[at].spec->lift ||
                             strcmp(place_kernel(kernels[at].spec), place_kernel(spec)) != 0))
            at++;
        if (at < kept)
            add_kernel_counts(&kernels[at], &kernels[i]);
        else
            kernels[kept++] = kernels[i];
    }
    counters_sort(kernels, kept);
    return kept;
}
