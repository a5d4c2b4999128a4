#include "report/summary_parts.h"

#include <inttypes.h>
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
    textbuf_printf(&text, "%s returned %s, the error of an earlier launch", error->api,
                   error->error);
    put_names(&text, error);
    struct textbuf whole = {out, text.length, API_ERROR_TEXT, true, false};
    textbuf_printf(&whole, "%s", advice);
}

/* ---- time on the GPU ---- */

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
        textbuf_printf(out, "%s    %4.1f %%  %s\n", title,
                       timed ? 100 * one->of_time : others * one->share, PRINTABLE(one->name));
        title = "";
    }
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
