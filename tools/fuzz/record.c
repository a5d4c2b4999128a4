#include "tools/fuzz/record.h"

#include <stdlib.h>
#include "base/options.h"
#include "report/journal.h"

enum { MOST_BYTES = 1 << 30 };

struct fuzz_record {
    const char *config, *image;
    struct quota quota;
    struct journal *journal;
    struct counters *counters;
};

enum status fuzz_record_create(struct fuzz_record **out, const char *folder, const char *config,
                               const char *image, size_t entries, struct error *err)
{
    struct fuzz_record *record = calloc(1, sizeof *record);
    char *none[] = {NULL};
    struct options options;
    enum status status = record ? STATUS_OK : STATUS_NO_MEMORY;
    *out = NULL;
    if (record) {
        record->config = config;
        record->image = image;
        quota_init(&record->quota, MOST_BYTES);
        record->counters = counters_create();
        status = journal_create(&record->journal, folder, NULL, &record->quota, err);
    }
    if (status || !record->counters) {
        fuzz_record_end(record);
        return error_set(err, status ? status : STATUS_NO_MEMORY, "no memory for a journal");
    }
    options_read(&options, none, NULL, NULL);
    options.config = config;
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

static struct check_report report_of(const struct fuzz_record *record,
                                     const struct fuzz_subject *subject, const struct fuzz_case *c,
                                     uint64_t number, const struct fuzz_result *result)
{
    struct check_report report = fuzz_report_of(subject, c, number, result);
    report.drawn.config = record->config;
    report.drawn.image = record->image;
    return report;
}

void fuzz_record_case(struct fuzz_record *record, const struct fuzz_subject *subject,
                      const struct fuzz_case *c, uint64_t number, const struct fuzz_result *result)
{
    if (!record)
        return;
    counters_seen(record->counters);
    if (result->judged || fuzz_is_finding(result->outcome)) {
        struct check_report report = report_of(record, subject, c, number, result);
        counters_check(record->counters, &report);
        return;
    }
    counters_skip(record->counters, subject->spec->number, SKIP_SHAPE);
}

void fuzz_record_finding(struct fuzz_record *record, const struct fuzz_subject *subject,
                         const struct fuzz_case *c, uint64_t number,
                         const struct fuzz_result *result, const char *bundle)
{
    if (!record)
        return;
    struct check_report report = report_of(record, subject, c, number, result);
    journal_check(record->journal, &report, *bundle ? bundle : NULL);
}
