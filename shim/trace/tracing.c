#include "trace/tracing.h"

#include <string.h>
#include "gate/tally.h"
#include "system/log.h"
#include "trace/trace_file.h"

bool tracing_alone(const struct options *options)
{
    return strcmp(options->mode, "trace") == 0;
}

bool tracing_wanted(const struct options *options)
{
    return options->trace || tracing_alone(options);
}

static enum status open_trace(struct tracing *tracing, const struct options *options,
                              struct quota *quota, struct error *err)
{
    struct trace_settings settings = {.write = trace_file_write, .flush = trace_file_flush};
    const char *run = *options->run ? options->run : NULL;
    enum status status = trace_file_create(&tracing->file, options->report, run, quota, err);
    settings.user = tracing->file;
    return status ? status : trace_create(&tracing->trace, &settings, err);
}

struct trace *tracing_start(struct tracing *tracing, const struct options *options,
                            struct quota *quota)
{
    struct error err = {{0}};
    if (!tracing_wanted(options))
        return NULL;
    if (open_trace(tracing, options, quota, &err)) {
        log_line(LOG_WARN, "no trace: %s", err.text);
        trace_file_destroy(tracing->file);
        tracing->file = NULL;
        return NULL;
    }
    tally_passing = false;
    return tracing->trace;
}

uint64_t tracing_end(struct tracing *tracing, int wait_ms)
{
    struct trace_counts counts;
    if (!tracing->trace || trace_stop(tracing->trace, wait_ms, &counts))
        return 0;
    trace_file_end(tracing->file, &counts);
    return counts.dropped;
}
