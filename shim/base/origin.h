/*
 * origin.h - where a line of a journal or a trace comes from: host, process, rank, run; and the
 * head that every such line begins with. One struct a file, filled in once.
 */
#ifndef TEXT_ORIGIN_H
#define TEXT_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "text/json_out.h"

enum { ORIGIN_FILE_BYTES = 320 };

struct origin {
    char host[65], run[96];
    int64_t pid, rank;
    bool has_rank;
};

/* `run`: CUVET_RUN, or NULL. */
void origin_read(struct origin *origin, const char *run);

/* "KIND-HOST-PID.jsonl", or "KIND-HOST-PID-RUN.jsonl" where there is a run. */
void origin_file_name(const struct origin *origin, const char *kind, char name[ORIGIN_FILE_BYTES]);

/* Begins an object, with the members v, event, time, host, pid, rank and run. */
void origin_begin(const struct origin *origin, struct json_out *json, int version,
                  const char *event);

/* The path of the program. */
void origin_put_program(struct json_out *json);

#endif
