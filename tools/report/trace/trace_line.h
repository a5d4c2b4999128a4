/* trace_line.h - the lines of a trace (shim/trace/trace_file.h) as structs. Texts are borrowed from
 * the line and live as long as the call that passes it on. */
#ifndef TOOLS_REPORT_TRACE_LINE_H
#define TOOLS_REPORT_TRACE_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "tools/report/model/lines.h"

/* The process that a file is of. */
struct trace_process {
    char host[80];
    int64_t pid, rank; /* rank -1: none */
    int64_t begin_ms;  /* since 1970 */
    uint64_t launches, dropped, lost;
    bool ended; /* its last line was read */
};

struct trace_line {
    const char *kernel, *label, *mode, *outcome, *range, *stream; /* may be NULL; mode never is */
    uint64_t n, thread, launch, shared;
    bool has_launch;
    int64_t t, dur; /* ns */
    uint32_t grid[3], block[3], cluster[3];
    json_t *args; /* an object, or NULL */
};

/* Whether the outcome is that of a checked launch. */
bool trace_line_checked(const struct trace_line *line);

typedef enum status (*trace_line_fn)(void *user, const struct trace_process *process,
                                     const struct trace_line *line, struct error *err);

/* Calls `each` for every launch of a file; as lines_read. */
enum status trace_lines_read(const char *path, trace_line_fn each, void *user,
                             struct trace_process *process, struct error *err);
enum status trace_lines_read_stream(FILE *file, const char *path, trace_line_fn each, void *user,
                                    struct trace_process *process, struct error *err);

#endif
