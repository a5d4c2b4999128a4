#include "report/summary_parts.h"

#include <inttypes.h>
#include <math.h>
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

/* The kernels whose checks have cost most, with their shares of `all`. */
static void put_dearest(struct textbuf *out, const struct counters_kernel *kernels, uint32_t count,
                        uint64_t all)
{
    enum { SHOWN = 3, NAME_WIDTH = 100 };
    const struct counters_kernel *most[SHOWN] = {NULL};

    for (uint32_t i = 0; i < count; i++) {
        const struct counters_kernel *next = &kernels[i];

        for (int j = 0; j < SHOWN && next; j++) {
            if (!most[j] || next->spent_ns > most[j]->spent_ns) {
                const struct counters_kernel *less = most[j];

                most[j] = next;
                next = less;
            }
        }
    }
    for (int j = 0; j < SHOWN && most[j] && most[j]->spent_ns > 0; j++) {
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
