/* trace_rows.h - launches of a trace added up by a name: a table of at most TRACE_ROWS names. */
#ifndef TOOLS_REPORT_TRACE_ROWS_H
#define TOOLS_REPORT_TRACE_ROWS_H

#include "base/arena.h"
#include "tools/report/trace/trace_line.h"

enum { TRACE_ROWS = 16384, TRACE_SHAPES = 32 };

struct trace_row {
    const char *name;  /* as in the trace */
    const char *plain; /* for people: demangled, without parameters */
    uint64_t launches, checked, captured, graphs, failed;
    uint64_t host_ns;             /* in the launch API */
    uint64_t shape[TRACE_SHAPES]; /* hashes of distinct grids and blocks */
    unsigned shapes;
    struct trace_row *next; /* of its hash */
};

struct trace_rows {
    struct arena arena;
    struct trace_row *row[TRACE_ROWS], *hash[TRACE_ROWS];
    uint32_t rows;
    struct trace_row others; /* of names beyond */
};

/* The row of a name; that of all others where there is no room. NULL: no memory. */
struct trace_row *trace_rows_find(struct trace_rows *rows, const char *name);
void trace_row_add(struct trace_row *row, const struct trace_line *line);
/* Most launches first. */
void trace_rows_sort(struct trace_rows *rows);
struct trace_rows *trace_rows_create(void); /* NULL: no memory */
void trace_rows_destroy(struct trace_rows *rows);

#endif
