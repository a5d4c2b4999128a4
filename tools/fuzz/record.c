#include "tools/fuzz/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/options.h"
#include "report/journal.h"
#include "report/place.h"

enum { MOST_BYTES = 1 << 30 };

struct fuzz_record {
    struct quota quota;
    struct journal *journal;
    struct counters *counters;
};

enum status fuzz_record_create(struct fuzz_record **out, const char *folder, const char *files,
                               size_t entries, struct error *err)
{
    struct fuzz_record *record = calloc(1, sizeof *record);
    char *none[] = {NULL};
    struct options options;
    enum status status = record ? STATUS_OK : STATUS_NO_MEMORY;
    *out = NULL;
    if (record) {
        quota_init(&record->quota, MOST_BYTES);
        record->counters = counters_create();
        status = journal_create(&record->journal, folder, NULL, &record->quota, err);
    }
    if (status || !record->counters) {
        fuzz_record_end(record);
        return error_set(err, status ? status : STATUS_NO_MEMORY, "no memory for a journal");
    }
    options_read(&options, none, NULL, NULL);
    options.config = files;
    journal_start(record->journal, &options, entries);
    *out = record;
    return STATUS_OK;
}

void fuzz_record_end(struct fuzz_record *record)
{
    if (!record)
        return;
    if (record->journal && record->counters)
        journal_end(record->journal, record->counters);
    journal_destroy(record->journal);
    counters_destroy(record->counters);
    free(record);
}

void fuzz_record_kernel(struct fuzz_record *record, const struct fuzz_subject *subject)
{
    if (!record)
        return;
    counters_add_kernel(record->counters, subject->spec);
    journal_kernel(record->journal, subject->spec);
}

static struct check_report report_of(const struct fuzz_subject *subject, const struct fuzz_case *c,
                                     uint64_t number, const struct fuzz_result *result)
{
    struct check_report report = {.spec = subject->spec,
                                  .binding = &subject->binding,
                                  .numbers = result->numbers,
                                  .verdict = result->verdict,
                                  .gate = "fuzz",
                                  .launch = number,
                                  .shared_bytes = c->shared};
    memcpy(report.grid, c->grid, sizeof c->grid);
    memcpy(report.block, c->block, sizeof c->block);
    memcpy(report.cluster, c->cluster, sizeof c->cluster);
    return report;
}

void fuzz_record_case(struct fuzz_record *record, const struct fuzz_subject *subject,
                      const struct fuzz_case *c, uint64_t number, const struct fuzz_result *result)
{
    if (!record)
        return;
    counters_seen(record->counters);
    if (result->judged) {
        struct check_report report = report_of(subject, c, number, result);
        counters_check(record->counters, &report);
        return;
    }
    bool failed = fuzz_is_finding(result->outcome);
    counters_skip(record->counters, subject->spec->number,
                  failed ? SKIP_LAUNCH_FAILED : SKIP_SHAPE);
}

void fuzz_record_finding(struct fuzz_record *record, const struct fuzz_subject *subject,
                         const struct fuzz_case *c, uint64_t number,
                         const struct fuzz_result *result, const char *bundle)
{
    if (!record)
        return;
    if (result->judged && result->verdict == VERDICT_MISMATCH) {
        struct check_report report = report_of(subject, c, number, result);
        journal_check(record->journal, &report, *bundle ? bundle : NULL);
        return;
    }
    journal_warning(record->journal, "%s: %s in case %" PRIu64 ", --case 0x%016" PRIx64 ": %s",
                    place_kernel(subject->spec), fuzz_outcome_text(result->outcome), number,
                    c->choices.seed, result->sentence);
}
