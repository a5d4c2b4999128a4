#include "tools/report/diff/alone.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text/printable.h"

enum { NAME_WIDTH = 44 };

static bool make_room(struct alone *alone)
{
    if (alone->count < alone->capacity)
        return true;
    if (alone->count == ALONE_KERNELS)
        return false;
    uint32_t capacity = alone->capacity ? 2 * alone->capacity : 16;
    struct alone_kernel *row = realloc(alone->row, capacity * sizeof *row);
    if (!row)
        return false;
    alone->row = row;
    alone->capacity = capacity;
    return true;
}

/* NULL: no room. */
static struct alone_kernel *find_row(struct alone *alone, const struct digest_line *line)
{
    for (uint32_t i = 0; i < alone->count; i++) {
        if (strcmp(alone->row[i].kernel, line->kernel) == 0)
            return &alone->row[i];
    }
    if (!make_room(alone))
        return NULL;
    struct alone_kernel *row = &alone->row[alone->count];
    *row = (struct alone_kernel){.kernel = strdup(line->kernel),
                                 .name = strdup(line->label ? line->label : line->kernel)};
    if (row->kernel && row->name) {
        alone->count++;
        return row;
    }
    free(row->kernel);
    free(row->name);
    return NULL;
}

void alone_add(struct alone *alone, const struct digest_line *line, int run)
{
    struct alone_kernel *row = find_row(alone, line);
    alone->launches[run]++;
    if (!row)
        return;
    if (row->launches[run]++ == 0) {
        row->first[run] = line->launch;
        row->process[run] = line->process;
    }
}

void alone_release(struct alone *alone)
{
    for (uint32_t i = 0; i < alone->count; i++) {
        free(alone->row[i].kernel);
        free(alone->row[i].name);
    }
    free(alone->row);
    *alone = (struct alone){0};
}

void alone_text(const struct alone *alone)
{
    static const char *const runs[] = {"first", "second"};
    if (alone->launches[0] + alone->launches[1] == 0)
        return;
    printf("\n  Launches that one run alone has, %" PRIu64 " of the first and %" PRIu64
           " of the second:\n    %-*s  %6s  %8s  %s\n",
           alone->launches[0], alone->launches[1], NAME_WIDTH, "kernel", "run", "launches",
           "the first of them");
    for (uint32_t i = 0; i < alone->count; i++) {
        const struct alone_kernel *row = &alone->row[i];
        char name[NAME_WIDTH + 1];
        printable_copy(name, sizeof name, row->name);
        for (int run = 0; run < 2; run++) {
            if (row->launches[run])
                printf("    %-*s  %6s  %8" PRIu64 "  launch %" PRIu64 " of process %u\n",
                       NAME_WIDTH, name, runs[run], row->launches[run], row->first[run],
                       row->process[run]);
        }
    }
}

void alone_json(const struct alone *alone, struct json_out *json)
{
    static const char *const counts[] = {"first_only", "second_only"};
    static const char *const places[] = {"first_launch", "second_launch"};
    for (int run = 0; run < 2; run++)
        json_put_uint(json, counts[run], alone->launches[run]);
    json_put_array(json, "alone");
    for (uint32_t i = 0; i < alone->count; i++) {
        const struct alone_kernel *row = &alone->row[i];
        json_begin_object(json);
        json_put_string(json, "kernel", row->kernel);
        for (int run = 0; run < 2; run++) {
            json_put_uint(json, counts[run], row->launches[run]);
            if (row->launches[run])
                json_put_uint(json, places[run], row->first[run]);
        }
        json_end(json);
    }
    json_end(json);
}
