#include "tools/fuzz/campaign.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "bundle/bundle.h"
#include "text/json_out.h"
#include "text/printable.h"
#include "tools/fuzz/accumulator.h"
#include "tools/fuzz/probing.h"
#include "tools/fuzz/record.h"
#include "tools/fuzz/shrink.h"
#include "tools/fuzz/store.h"
#include "tools/progress.h"

enum { SHRINK_SECONDS = 20, PROBED_CASES = 3 };

struct campaign {
    struct fuzz_subject *subject;
    const struct fuzz_settings *settings;
    struct fuzz_totals *totals;
    struct fuzz_case *now;
    int64_t begin;         /* clock_ns() */
    char not_run[1024];    /* why the first case that did not run did not */
    uint64_t tried;        /* cases that were to be probed ... */
    char not_probed[1024]; /* ... and why the first failed to be; "": none did */
};

static double seconds_since(int64_t begin)
{
    return (double)(clock_ns() - begin) * 1e-9;
}

/* ---- what is printed ---- */

static void show_progress(const struct campaign *run)
{
    uint64_t own = run->settings->cases / run->settings->shards;
    if (!run->settings->json)
        progress("%" PRIu64 " of %" PRIu64 " cases, %.0f a second, %" PRIu64 " findings",
                 run->totals->cases, own, (double)run->totals->cases / seconds_since(run->begin),
                 run->totals->findings);
}

static char *description(const struct fuzz_case *c)
{
    struct textbuf text;
    textbuf_init(&text);
    fuzz_case_describe(c, &text);
    return text.data; /* freed by the caller; NULL: no memory */
}

static void print_json(const struct json_out *json)
{
    if (json_out_ok(json))
        printf("%s\n", json->text.data);
    fflush(stdout);
}

static void begin_json(struct json_out *json, const struct campaign *run, const char *event)
{
    json_out_init(json);
    json_begin_object(json);
    json_put_int(json, "version", 1);
    json_put_string(json, "event", event);
    json_put_string(json, "kernel", run->subject->symbol);
}

struct found {
    uint64_t number, seed;
    const char *drawn, *small; /* the case as drawn, and the smallest */
    const struct fuzz_result *result, *first;
    unsigned runs;
    const char *bundle; /* path, or "" */
    const struct fuzz_accumulator *accumulator;
};

static void json_finding(const struct campaign *run, const struct found *found)
{
    struct json_out json;
    char seed[32];
    begin_json(&json, run, "finding");
    json_put_uint(&json, "case", found->number);
    snprintf(seed, sizeof seed, "0x%016" PRIx64, found->seed);
    json_put_string(&json, "seed", seed);
    json_put_string(&json, "outcome", fuzz_outcome_text(found->first->outcome));
    json_put_string(&json, "sentence", found->first->sentence);
    if (found->accumulator->name)
        json_put_string(&json, "accumulator", found->accumulator->name);
    json_put_string(&json, "drawn", found->drawn);
    if (found->small) {
        json_put_string(&json, "smallest", found->small);
        json_put_string(&json, "smallest_outcome", fuzz_outcome_text(found->result->outcome));
        json_put_string(&json, "smallest_sentence", found->result->sentence);
        json_put_uint(&json, "shrink_launches", found->runs);
    }
    json_put_string(&json, "bundle", found->bundle[0] ? found->bundle : NULL);
    json_end(&json);
    print_json(&json);
    json_out_release(&json);
}

static void text_finding(const char *kernel, const struct found *found)
{
    printf("%s: case %" PRIu64 ", --case 0x%016" PRIx64 ": %s: %s\n  %s\n", kernel, found->number,
           found->seed, fuzz_outcome_text(found->first->outcome), PRINTABLE(found->first->sentence),
           found->drawn);
    if (found->small)
        printf("  smallest, after %u launches: %s: %s\n  %s\n", found->runs,
               fuzz_outcome_text(found->result->outcome), PRINTABLE(found->result->sentence),
               found->small);
    if (found->bundle[0])
        printf("  bundle %s\n", found->bundle);
    fflush(stdout);
}

static void list_case(const struct campaign *run, uint64_t number, uint64_t seed,
                      const struct fuzz_result *result)
{
    char *text = description(run->now);
    if (text && run->settings->list && !run->settings->json)
        printf("case %" PRIu64 " 0x%016" PRIx64 " %s, error/bound %.3g: %s%s%s\n", number, seed,
               fuzz_outcome_text(result->outcome), result->numbers.max_ratio, text,
               result->outcome == FUZZ_NOT_RUN ? ": " : "",
               result->outcome == FUZZ_NOT_RUN ? PRINTABLE(result->sentence) : "");
    free(text);
}

/* ---- a finding ---- */

static enum status store_case(struct campaign *run, const struct fuzz_result *result,
                              uint64_t number, char path[BUNDLE_PATH], struct error *err)
{
    if (!run->settings->folder || !result->bound)
        return STATUS_OK;
    return fuzz_store(run->subject, run->now, result, number, run->settings->folder, path, err);
}

/* Names the accumulator of a wrong sum of integers; then the case is the subject's last one again.
 */
static enum status find_accumulator(struct campaign *run, struct fuzz_accumulator *out,
                                    struct fuzz_result *first, struct error *err)
{
    *out = (struct fuzz_accumulator){0};
    if (first->outcome != FUZZ_MISMATCH)
        return STATUS_OK;
    struct fuzz_result again = *first;
    enum status status = fuzz_accumulator_find(run->subject, run->now, out, err);
    if (!status && out->runs)
        status = fuzz_subject_run(run->subject, run->now, &again, err);
    if (!status && fuzz_is_finding(again.outcome))
        *first = again;
    fuzz_accumulator_describe(out, first);
    return status;
}

static enum status report_finding(struct campaign *run, uint64_t number, uint64_t seed,
                                  struct fuzz_result *first, struct error *err)
{
    static char path[BUNDLE_PATH];
    const struct fuzz_shrink limits = {run->settings->shrink, SHRINK_SECONDS};
    struct fuzz_accumulator accumulator;
    enum status status = find_accumulator(run, &accumulator, first, err);
    struct fuzz_result result = *first;
    struct found found = {number, seed, NULL, NULL, &result, first, 0, path, &accumulator};
    char *drawn = description(run->now), *small = NULL;
    path[0] = '\0';
    run->totals->findings++;
    if (!status && limits.runs && first->outcome != FUZZ_PROBE) {
        status = fuzz_shrink_case(run->subject, &limits, run->now, &result, &found.runs, err);
        fuzz_accumulator_describe(&accumulator, &result);
        small = description(run->now);
    }
    if (!status)
        status = store_case(run, &result, number, path, err);
    fuzz_record_finding(run->settings->record, run->subject, run->now, number, &result, path);
    found.drawn = drawn ? drawn : "";
    found.small = small;
    progress_clear();
    if (run->settings->json)
        json_finding(run, &found);
    else
        text_finding(PRINTABLE(run->subject->symbol), &found);
    free(drawn);
    free(small);
    return status;
}

/* A case without a finding, for other verbs to run. */
static enum status keep_case(struct campaign *run, const struct fuzz_result *result,
                             uint64_t number, struct error *err)
{
    char path[BUNDLE_PATH] = "";
    const enum status status = store_case(run, result, number, path, err);
    progress_clear();
    if (!status && path[0] && !run->settings->json)
        printf("%s: case %" PRIu64 "\n  bundle %s\n", PRINTABLE(run->subject->symbol), number,
               path);
    return status;
}

/* ---- probes ---- */

/* The first cases without a finding; result->outcome is then that of the probes. */
static enum status probe_case(struct campaign *run, uint64_t number, struct fuzz_result *result,
                              struct error *err)
{
    struct fuzz_probed probed;
    if (!run->settings->probing || !result->judged || fuzz_is_finding(result->outcome) ||
        run->tried == PROBED_CASES)
        return STATUS_OK;
    run->tried++;
    enum status status = fuzz_probing_run(run->settings->probing, run->subject, run->now, result,
                                          number, &probed, err);
    if (!status && probed.not_run[0] && !run->not_probed[0])
        snprintf(run->not_probed, sizeof run->not_probed, "%s", probed.not_run);
    if (!status && !probed.not_run[0])
        run->totals->probed++;
    run->totals->probes += status ? 0 : probed.runs;
    return status;
}

/* ---- the whole ---- */

static enum status run_one(struct campaign *run, uint64_t number, uint64_t seed, struct error *err)
{
    struct fuzz_subject *subject = run->subject;
    struct fuzz_result result;
    enum status status =
        fuzz_case_draw(run->now, subject->rule, &subject->kernel.layout, seed, err);
    if (!status)
        status = fuzz_subject_run(subject, run->now, &result, err);
    if (status)
        return status;
    status = probe_case(run, number, &result, err);
    if (status)
        return status;
    fuzz_record_case(run->settings->record, subject, run->now, number, &result);
    run->totals->cases++;
    run->totals->outcome[result.outcome]++;
    list_case(run, number, seed, &result);
    if (result.outcome == FUZZ_NOT_RUN && !run->not_run[0])
        snprintf(run->not_run, sizeof run->not_run, "%s", result.sentence);
    if (fuzz_is_finding(result.outcome))
        status = report_finding(run, number, seed, &result, err);
    else if (run->settings->keep)
        status = keep_case(run, &result, number, err);
    show_progress(run);
    return status;
}

static bool is_over(const struct campaign *run)
{
    const struct fuzz_settings *settings = run->settings;
    bool found = settings->findings && run->totals->findings >= settings->findings;
    return found || (settings->seconds > 0 && seconds_since(run->begin) > settings->seconds);
}

static void print_totals(const struct campaign *run)
{
    const struct fuzz_totals *totals = run->totals;
    struct json_out json;
    if (!run->settings->json && !totals->cases) {
        printf("%s: no case is in this shard\n", PRINTABLE(run->subject->symbol));
        return;
    }
    if (!run->settings->json) {
        printf("%s: %" PRIu64 " cases in %.1f s:", PRINTABLE(run->subject->symbol), totals->cases,
               totals->seconds);
        const char *between = " ";
        for (int i = 0; i < FUZZ_OUTCOMES; i++) {
            if (totals->outcome[i] == 0)
                continue;
            printf("%s%" PRIu64 " %s", between, totals->outcome[i],
                   fuzz_outcome_text((enum fuzz_outcome)i));
            between = ", ";
        }
        printf("\n");
        if (run->not_run[0])
            printf("  not run, the first: %s\n", PRINTABLE(run->not_run));
        if (run->settings->probing)
            printf("  probed: %" PRIu64 " cases in %" PRIu64 " launches\n", totals->probed,
                   totals->probes);
        if (run->not_probed[0])
            printf("  not probed, the first: %s\n", PRINTABLE(run->not_probed));
        return;
    }
    begin_json(&json, run, "end");
    json_put_uint(&json, "seed", run->settings->seed);
    json_put_uint(&json, "shard", run->settings->shard + 1);
    json_put_uint(&json, "shards", run->settings->shards);
    json_put_uint(&json, "cases", totals->cases);
    json_put_double(&json, "seconds", totals->seconds);
    json_put_object(&json, "outcomes");
    for (int i = 0; i < FUZZ_OUTCOMES; i++)
        json_put_uint(&json, fuzz_outcome_text((enum fuzz_outcome)i), totals->outcome[i]);
    json_end(&json);
    json_put_string(&json, "not_run", run->not_run[0] ? run->not_run : NULL);
    if (run->settings->probing) {
        json_put_uint(&json, "probed", totals->probed);
        json_put_uint(&json, "probe_launches", totals->probes);
        json_put_string(&json, "not_probed", run->not_probed[0] ? run->not_probed : NULL);
    }
    json_end(&json);
    print_json(&json);
    json_out_release(&json);
}

enum status fuzz_campaign(struct fuzz_subject *subject, const struct fuzz_settings *settings,
                          struct fuzz_totals *totals, struct error *err)
{
    struct campaign run = {.subject = subject,
                           .settings = settings,
                           .totals = totals,
                           .now = malloc(sizeof *run.now),
                           .begin = clock_ns()};
    enum status status = STATUS_OK;
    if (!run.now)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a case");
    *totals = (struct fuzz_totals){0};
    fuzz_record_kernel(settings->record, subject);
    if (settings->one)
        status = run_one(&run, 0, settings->seed, err);
    for (uint64_t k = settings->shard; !settings->one && !status && k < settings->cases;
         k += settings->shards) {
        if (is_over(&run))
            break;
        status = run_one(&run, k, fuzz_case_seed(settings->seed, k), err);
    }
    totals->seconds = seconds_since(run.begin);
    progress_clear();
    if (!status)
        print_totals(&run);
    if (!status && totals->cases &&
        totals->outcome[FUZZ_NOT_RUN] + totals->outcome[FUZZ_LOST] == totals->cases)
        status = error_set(err, STATUS_INVALID, "%s: no case was judged", subject->symbol);
    free(run.now);
    return status;
}
