#include "tools/report/trace/trace_line.h"

#include <string.h>
#include "tools/report/model/fields.h"
#include "trace/trace_file.h"

struct reading {
    trace_line_fn each;
    void *user;
    struct trace_process *process;
    bool begun;
};

bool trace_line_checked(const struct trace_line *line)
{
    static const char *const gates[] = {"first", "random"};
    for (size_t i = 0; line->outcome && i < sizeof gates / sizeof *gates; i++) {
        if (strcmp(line->outcome, gates[i]) == 0)
            return true;
    }
    return false;
}

static enum status read_head(struct reading *reading, json_t *line, struct error *err)
{
    struct trace_process *process = reading->process;
    const char *host = "?", *time = NULL;
    *process = (struct trace_process){.rank = -1};
    reading->begun = true;
    enum status status = field_text(line, "host", &host, err);
    if (!status)
        status = field_text(line, "time", &time, err);
    if (!status)
        status = lines_time(time, &process->begin_ms, err);
    if (!status)
        status = field_int(line, "pid", &process->pid, err);
    if (!status)
        status = field_int(line, "rank", &process->rank, err);
    snprintf(process->host, sizeof process->host, "%s", host);
    return status;
}

static enum status read_texts(json_t *line, struct trace_line *out, struct error *err)
{
    const struct {
        const char *key, **into;
    } texts[] = {{"kernel", &out->kernel},   {"label", &out->label}, {"mode", &out->mode},
                 {"outcome", &out->outcome}, {"range", &out->range}, {"stream", &out->stream}};
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < sizeof texts / sizeof *texts; i++)
        status = field_text(line, texts[i].key, texts[i].into, err);
    return status;
}

static enum status read_numbers(json_t *line, struct trace_line *out, struct error *err)
{
    enum status status = field_count(line, "n", &out->n, err);
    if (!status)
        status = field_int(line, "t", &out->t, err);
    if (!status)
        status = field_int(line, "dur", &out->dur, err);
    if (!status)
        status = field_count(line, "thread", &out->thread, err);
    if (!status)
        status = field_count(line, "shared", &out->shared, err);
    if (!status)
        status = field_count(line, "launch", &out->launch, err);
    out->has_launch = json_object_get(line, "launch") != NULL;
    if (!status)
        status = field_dim3(line, "grid", out->grid, err);
    if (!status)
        status = field_dim3(line, "block", out->block, err);
    if (!status)
        status = field_dim3(line, "cluster", out->cluster, err);
    return status ? status : field_object(line, "args", &out->args, err);
}

static enum status read_launch(struct reading *reading, json_t *line, struct error *err)
{
    struct trace_line out = {.mode = "eager"};
    enum status status = read_texts(line, &out, err);
    if (!status)
        status = read_numbers(line, &out, err);
    if (status)
        return status;
    reading->process->launches++;
    return reading->each(reading->user, reading->process, &out, err);
}

static enum status read_end(struct reading *reading, json_t *line, struct error *err)
{
    reading->process->ended = true;
    enum status status = field_count(line, "dropped", &reading->process->dropped, err);
    return status ? status : field_count(line, "lost", &reading->process->lost, err);
}

static enum status read_line(void *user, json_t *line, uint64_t number, struct error *err)
{
    struct reading *reading = user;
    const char *event = "";
    (void)number;
    enum status status = field_text(line, "event", &event, err);
    if (status)
        return status;
    if (strcmp(event, "trace") == 0)
        return read_head(reading, line, err);
    if (!reading->begun)
        return error_set(err, STATUS_INVALID,
                         "expected a line of the event 'trace' first: is this a trace-*.jsonl?");
    if (strcmp(event, "launch") == 0)
        return read_launch(reading, line, err);
    return strcmp(event, "end") == 0 ? read_end(reading, line, err) : STATUS_OK;
}

enum status trace_lines_read(const char *path, trace_line_fn each, void *user,
                             struct trace_process *process, struct error *err)
{
    struct reading reading = {each, user, process, false};
    uint64_t cut = 0;
    enum status status = lines_read(path, TRACE_VERSION, read_line, &reading, &cut, err);
    if (!status && !reading.begun)
        status = error_set(err, STATUS_INVALID, "%s: no whole line of a trace", path);
    return status;
}

enum status trace_lines_read_stream(FILE *file, const char *path, trace_line_fn each, void *user,
                                    struct trace_process *process, struct error *err)
{
    struct reading reading = {each, user, process, false};
    uint64_t cut = 0;
    return lines_read_stream(file, path, TRACE_VERSION, read_line, &reading, &cut, err);
}
