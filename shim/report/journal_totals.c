/* journal_totals.c - the counters as lines of the journal: so far, and at the end. */
#include "report/journal_line.h"
#include "report/place.h"
#include "report/report_json.h"

enum { LINE_BYTES = 1024 }; /* of counters, about */

static void put_buckets(struct json_out *json, const struct counters_buckets *buckets)
{
    uint64_t checked = counters_checked(buckets);

    json_put_uint(json, "checked", checked);
    for (int v = 0; v < VERDICT_COUNT; v++)
        json_put_uint(json, verdict_text((enum verdict)v), buckets->verdict[v]);
    json_put_uint(json, "unchecked", counters_sum(buckets) - checked);
    json_put_object(json, "reasons");
    for (int k = SKIP_NONE + 1; k < SKIP_COUNT; k++) {
        if (buckets->skip[k] > 0)
            json_put_uint(json, skip_text((enum skip)k), buckets->skip[k]);
    }
    json_end(json);
}

static void write_kernel_totals(struct journal *journal, const char *event,
                                const struct counters_kernel *kernel)
{
    struct json_out *json = journal_line_begin(journal, event);

    if (!json)
        return;
    json_put_string(json, "kernel", kernel->spec->symbol);
    json_put_string(json, "label", place_kernel(kernel->spec));
    json_put_uint(json, "launches", counters_sum(&kernel->buckets));
    put_buckets(json, &kernel->buckets);
    json_put_uint(json, "elements", kernel->elements);
    json_put_uint(json, "violations", kernel->violations);
    json_put_double(json, "max_ratio", kernel->max_ratio);
    json_put_array(json, "ratios");
    for (int i = 0; i < COUNTERS_RATIOS; i++)
        json_uint(json, kernel->ratios[i]);
    json_end(json);
    json_put_uint(json, "wide", kernel->wide);
    json_put_uint(json, "spread_launches", kernel->spread_launches);
    json_put_uint(json, "lean_launches", kernel->lean_launches);
    json_put_uint(json, "narrow_elements", kernel->narrow_elements);
    json_put_double(json, "square_ratio", kernel->square_ratio);
    json_put_double(json, "mean_signed", kernel->mean_signed);
    json_put_double(json, "bias", kernel->bias);
    json_put_uint(json, "subsets", kernel->subsets);
    json_put_double(json, "subset_share", kernel->subset_share);
    json_put_uint(json, "projections", kernel->projections);
    json_put_uint(json, "rows_left", kernel->rows_left);
    json_put_double(json, "cost_s", (double)kernel->spent_ns / 1e9);
    journal_line_end(journal, false);
}

static void write_launch_errors(struct journal *journal, struct counters *counters)
{
    struct counters_error error;
    struct json_out *json;

    for (uint32_t i = 0; counters_read_error(counters, i, &error); i++) {
        json = journal_line_begin(journal, "launch_error");
        if (!json)
            return;
        json_put_string(json, "kernel", error.symbol);
        report_json_dim3(json, "grid", error.grid);
        report_json_dim3(json, "block", error.block);
        json_put_string(json, "error", error.error_name);
        json_put_uint(json, "count", error.count);
        journal_line_end(journal, false);
    }
}

/* Seconds; the parts of the cost overlap by `overlap`. The hook's is apart from them. */
static void put_cost(struct json_out *json, const struct counters_totals *totals)
{
    json_put_object(json, "cost");
    json_put_double(json, "threads", (double)totals->cost.thread / 1e9);
    json_put_double(json, "copies", (double)totals->cost.copy / 1e9);
    json_put_double(json, "references", (double)totals->cost.reference / 1e9);
    json_put_double(json, "looks", (double)totals->cost.probe / 1e9);
    json_put_double(json, "overlap", (double)totals->cost.overlap / 1e9);
    json_put_double(json, "hook", (double)totals->hook_ns * (double)totals->seen / 1e9);
    json_put_double(json, "elapsed", (double)totals->elapsed / 1e9);
    json_end(json);
}

/* Seconds on the GPU, estimated from `timed` launches; nothing where none was timed. */
static void put_gpu(struct json_out *json, const struct gpu_shares *gpu)
{
    if (!gpu->timed)
        return;
    json_put_object(json, "gpu");
    json_put_uint(json, "timed", gpu->timed);
    json_put_double(json, "all", gpu->all / 1e9);
    json_put_double(json, "registered", gpu->registered / 1e9);
    json_put_double(json, "checked", gpu->checked / 1e9);
    json_end(json);
}

/* Of each kernel a line. */
static void write_all_totals(struct journal *journal, const char *event, struct counters *counters)
{
    struct counters_kernel kernel;
    for (uint32_t n = 0; n < counters_numbers(counters); n++) {
        if (counters_read_kernel(counters, n, &kernel))
            write_kernel_totals(journal, event, &kernel);
    }
}

static void put_process_totals(struct json_out *json, const struct counters_totals *totals)
{
    json_put_uint(json, "seen", totals->seen);
    json_put_uint(json, "kernels", totals->kernels);
    put_buckets(json, &totals->buckets);
}

void journal_interim(struct journal *journal, struct counters *counters, uint64_t *due_ns)
{
    struct counters_totals totals;
    uint64_t elapsed = *due_ns && journal ? counters_elapsed(counters) : 0;
    if (elapsed < *due_ns || !elapsed || journal_forked(journal))
        return;
    *due_ns = elapsed + elapsed / 8;
    if (!journal_has_room(journal, (counters_numbers(counters) + 1) * (uint64_t)LINE_BYTES))
        return;
    write_all_totals(journal, "interim", counters);
    counters_read(counters, &totals);
    struct json_out *json = journal_line_begin(journal, "interim");
    if (!json)
        return;
    put_process_totals(json, &totals);
    put_cost(json, &totals);
    journal_line_end(journal, false);
}

void journal_end(struct journal *journal, struct counters *counters)
{
    struct counters_totals totals;
    struct json_out *json;

    if (!journal || journal_forked(journal))
        return;
    write_all_totals(journal, "totals", counters);
    write_launch_errors(journal, counters);
    counters_read(counters, &totals);
    json = journal_line_begin(journal, "end");
    if (!json)
        return;
    put_process_totals(json, &totals);
    json_put_bool(json, "balanced", counters_balanced(&totals));
    json_put_uint(json, "lost_lines", journal_lost(journal));
    put_cost(json, &totals);
    put_gpu(json, &totals.gpu);
    journal_line_end(journal, true);
}
