#include "tools/report/trace/trace_rows.h"

#include <stdlib.h>
#include <string.h>
#include "names/symbol.h"

struct trace_rows *trace_rows_create(void)
{
    struct trace_rows *rows = calloc(1, sizeof *rows);
    if (rows)
        rows->others.name = rows->others.plain = "(further names)";
    return rows;
}

void trace_rows_destroy(struct trace_rows *rows)
{
    if (rows)
        arena_release(&rows->arena);
    free(rows);
}

static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

static struct trace_row *add_row(struct trace_rows *rows, const char *name, uint32_t hash)
{
    struct trace_row *row = arena_alloc(&rows->arena, sizeof *row);
    struct symbol_names names;
    if (!row || !(row->name = arena_text(&rows->arena, name, strlen(name))) ||
        !symbol_describe(&names, &rows->arena, row->name))
        return NULL;
    row->plain = names.plain;
    row->next = rows->hash[hash % TRACE_ROWS];
    rows->hash[hash % TRACE_ROWS] = row;
    return rows->row[rows->rows++] = row;
}

struct trace_row *trace_rows_find(struct trace_rows *rows, const char *name)
{
    uint32_t hash = hash_of(name);
    struct trace_row *row = rows->hash[hash % TRACE_ROWS];
    while (row && strcmp(row->name, name) != 0)
        row = row->next;
    if (!row && rows->rows == TRACE_ROWS)
        return &rows->others;
    return row ? row : add_row(rows, name, hash);
}

static void add_shape(struct trace_row *row, const struct trace_line *line)
{
    uint64_t hash = 0;
    for (int i = 0; i < 3; i++)
        hash = ((hash ^ line->grid[i]) * 1099511628211u ^ line->block[i]) * 1099511628211u;
    for (unsigned i = 0; i < row->shapes; i++) {
        if (row->shape[i] == hash)
            return;
    }
    if (row->shapes < TRACE_SHAPES)
        row->shape[row->shapes++] = hash;
}

void trace_row_add(struct trace_row *row, const struct trace_line *line)
{
    row->launches++;
    row->checked += trace_line_checked(line);
    row->captured += strcmp(line->mode, "captured") == 0;
    row->graphs += strcmp(line->mode, "graph") == 0;
    row->failed += line->outcome && strcmp(line->outcome, "launch failed") == 0;
    if (line->dur > 0)
        row->host_ns += (uint64_t)line->dur;
    add_shape(row, line);
}

static int by_launches(const void *left, const void *right)
{
    const struct trace_row *a = *(struct trace_row *const *)left;
    const struct trace_row *b = *(struct trace_row *const *)right;
    if (a->launches != b->launches)
        return a->launches > b->launches ? -1 : 1;
    return strcmp(a->name, b->name);
}

void trace_rows_sort(struct trace_rows *rows)
{
    if (rows->rows > 0)
        qsort(rows->row, rows->rows, sizeof *rows->row, by_launches);
}
