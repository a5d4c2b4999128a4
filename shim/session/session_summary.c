/*
 * session_summary.c - see session_summary.h.
 *
 * A kernel's time is its launches times the mean of those that were timed. Launches inside graphs
 * are apart: their time is a part of their graphs' (timing/timing_graph.c).
 */
#include "session/session_summary.h"

#include <stdlib.h>
#include "base/arena.h"
#include "call/blas_kernel.h"
#include "gate/unregistered.h"
#include "system/log.h"
#include "names/generated.h"
#include "names/symbol.h"

enum { UNREGISTERED_MOST = 100 };

/* ---- time on the GPU ---- */

/* Of a kernel that was never timed: the mean of all others, where one is known. */
static double eager_ns(const struct gpu_time *time, double launches, double other)
{
    double mean = gpu_time_mean(time);
    return launches * (mean > 0 ? mean : other);
}

struct sum {
    struct counters *counters;
    struct gpu_shares *shares;
    double timed_ns, timed;
};

static void add_mean(void *user, const struct known_kernel *kernel)
{
    struct sum *sum = user;
    sum->timed_ns += (double)atomic_load(&kernel->time.ns);
    sum->timed += (double)atomic_load(&kernel->time.timed);
}

static void add_summary_kernel(void *user, const struct known_kernel *kernel)
{
    struct sum *sum = user;
    struct counters_kernel row;
    if (!counters_read_kernel(sum->counters, kernel->spec->number, &row))
        return;
    double all = (double)counters_sum(&row.buckets);
    double replayed = (double)atomic_load(&kernel->time.replayed);
    double eager = all > replayed ? all - replayed : 0;
    double ns = eager_ns(&kernel->time, eager, sum->timed_ns) +
                (double)atomic_load(&kernel->time.replayed_ns);
    sum->shares->registered += ns;
    sum->shares->all += ns;
    if (all > 0)
        sum->shares->checked += ns * (double)counters_checked(&row.buckets) / all;
}

/* What of the launches without an entry ran outside of graphs, for each that a sample stands for.
 */
static double eager_share(const struct unregistered_row *row, size_t rows, double launches)
{
    double sampled = (double)unregistered_launches();
    for (size_t i = 0; i < rows; i++)
        launches -= (double)atomic_load(&row[i].time->replayed);
    return sampled > 0 && launches > 0 ? launches / sampled : 0;
}

static double row_ns(const struct unregistered_row *row, double share, double other)
{
    return eager_ns(row->time, (double)row->launches * share, other) +
           (double)atomic_load(&row->time->replayed_ns);
}

/* All rows, in memory that the caller frees; NULL: none. */
static struct unregistered_row *all_rows(size_t *count)
{
    struct unregistered_row *row = calloc(UNREGISTERED_KERNELS, sizeof *row);
    *count = row ? unregistered_read(row, UNREGISTERED_KERNELS) : 0;
    return row;
}

void session_gpu_time(struct counters *counters, struct kernels *kernels,
                      const struct timing *timing)
{
    struct gpu_shares shares = {.timed = timing_count(timing)};
    struct sum sum = {counters, &shares, 0, 0};
    struct counters_totals totals;
    size_t count;
    if (!shares.timed)
        return;
    struct unregistered_row *row = all_rows(&count);
    kernels_visit(kernels, add_mean, &sum);
    for (size_t i = 0; i < count; i++) {
        sum.timed_ns += (double)atomic_load(&row[i].time->ns);
        sum.timed += (double)atomic_load(&row[i].time->timed);
    }
    sum.timed_ns = sum.timed > 0 ? sum.timed_ns / sum.timed : 0;
    kernels_visit(kernels, add_summary_kernel, &sum);
    counters_read(counters, &totals);
    double share = eager_share(row, count, (double)totals.other.skip[SKIP_UNREGISTERED]);
    for (size_t i = 0; i < count; i++)
        shares.all += row_ns(&row[i], share, sum.timed_ns);
    free(row);
    counters_gpu(counters, &shares);
}

/* ---- kernels without an entry ---- */

struct taken {
    struct unregistered_row row;
    double of_time;
};

/* Of a kernel of cuBLAS the static one; count_origins decides. */
static enum summary_origin origin_of(const char *symbol)
{
    static const enum summary_origin origin[] = {[GENERATOR_NONE] = ORIGIN_UNKNOWN,
                                                 [GENERATOR_XLA] = ORIGIN_XLA,
                                                 [GENERATOR_INDUCTOR] = ORIGIN_INDUCTOR};
    return blas_kernel_is(symbol) ? ORIGIN_STATIC_BLAS : origin[generator_of(symbol)];
}

/* Whether a library call was seen: its kernels are a part of it, or its name is among these. */
static bool calls_were_seen(const struct counters_totals *totals,
                            const struct unregistered_row *row, size_t rows)
{
    bool seen = totals->buckets.skip[SKIP_CALL] > 0;
    for (size_t i = 0; i < rows && !seen; i++)
        seen = symbol_is_call(row[i].symbol);
    return seen;
}

/* The launches without an entry of each origin, and their share of the GPU's time. Where a shared
 * libcublas is loaded, cuBLAS's kernels are its own. */
static void count_origins(struct summary_facts *facts, struct counters *counters)
{
    struct counters_totals totals;
    size_t count;
    struct unregistered_row *row = all_rows(&count);
    double all = (double)unregistered_launches();
    counters_read(counters, &totals);
    double others = (double)totals.other.skip[SKIP_UNREGISTERED];
    double share = eager_share(row, count, others);
    for (size_t i = 0; i < count; i++) {
        struct summary_of_origin *of = &facts->origin[origin_of(row[i].symbol)];
        of->launches += all > 0 ? others * (double)row[i].launches / all : 0;
        of->time += totals.gpu.all > 0 ? row_ns(&row[i], share, 0) / totals.gpu.all : 0;
    }
    bool seen = calls_were_seen(&totals, row, count);
    free(row);
    struct summary_of_origin *blas = &facts->origin[ORIGIN_STATIC_BLAS];
    if (blas->launches > 0 && blas_kernel_library_is_loaded()) {
        if (facts->calls && !seen)
            facts->origin[ORIGIN_OPENED_BLAS] = *blas;
        *blas = (struct summary_of_origin){0};
    }
}

/* Under which origin's mark the kernel is listed. */
static enum summary_origin listed_origin(const struct summary_facts *facts, const char *symbol)
{
    enum summary_origin origin = origin_of(symbol);
    if (origin == ORIGIN_STATIC_BLAS && facts->origin[origin].launches <= 0)
        origin = ORIGIN_OPENED_BLAS;
    return facts->origin[origin].launches > 0 ? origin : ORIGIN_UNKNOWN;
}

static int longest_first(const void *a, const void *b)
{
    const struct taken *one = a, *other = b;
    if (one->of_time != other->of_time)
        return one->of_time < other->of_time ? 1 : -1;
    return (one->row.launches < other->row.launches) - (one->row.launches > other->row.launches);
}

/* Fills `out` with the longest; returns how many. */
static size_t take_rows(struct taken *out, size_t most, struct counters *counters)
{
    struct counters_totals totals;
    size_t count;
    struct unregistered_row *row = all_rows(&count);
    struct taken *taken = calloc(count + 1, sizeof *taken);
    counters_read(counters, &totals);
    double share = eager_share(row, count, (double)totals.other.skip[SKIP_UNREGISTERED]);
    for (size_t i = 0; taken && i < count; i++) {
        double ns = totals.gpu.all > 0 ? row_ns(&row[i], share, 0) / totals.gpu.all : 0;
        taken[i] = (struct taken){row[i], ns};
    }
    if (taken)
        qsort(taken, count, sizeof *taken, longest_first);
    count = count < most ? count : most;
    for (size_t i = 0; taken && i < count; i++)
        out[i] = taken[i];
    free(row);
    free(taken);
    return taken ? count : 0;
}

void session_summary_print(struct summary *summary, struct counters *counters,
                           struct summary_facts *facts, size_t most)
{
    struct taken row[UNREGISTERED_MOST];
    struct summary_unregistered named[UNREGISTERED_MOST];
    struct arena arena = {0};
    double all = (double)unregistered_launches();
    count_origins(facts, counters);
    size_t count = take_rows(row, most < UNREGISTERED_MOST ? most : UNREGISTERED_MOST, counters);
    for (size_t i = 0; i < count; i++) {
        struct symbol_names names;
        bool known = symbol_describe(&names, &arena, row[i].row.symbol);
        named[i].name = known ? names.plain : row[i].row.symbol;
        named[i].share = all > 0 ? (double)row[i].row.launches / all : 0;
        named[i].of_time = row[i].of_time;
        named[i].origin = listed_origin(facts, row[i].row.symbol);
    }
    facts->unregistered = named;
    facts->unregistered_count = count;
    summary_print(summary, counters, facts);
    arena_release(&arena);
}

void session_end_compiler(struct compiler *compiler, struct summary *summary, int wait_ms)
{
    if (!compiler)
        return;
    compiler_stop(compiler, wait_ms);
    struct compiler_counts counts = compiler_count(compiler);
    if (counts.waiting)
        summary_note(summary,
                     "%u reference%s of the registry's own %s not compiled yet when the program "
                     "ended; `cuvet run` compiles them before it starts a program",
                     counts.waiting, counts.waiting == 1 ? "" : "s",
                     counts.waiting == 1 ? "was" : "were");
    log_line(LOG_DEBUG,
             "references of the registry's own: %u compiled, %u from the cache, %u failed",
             counts.compiled, counts.cached, counts.failed);
}
