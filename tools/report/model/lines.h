/*
 * lines.h - the files of a run, read line by line: each line is one JSON object.
 *
 * A folder is searched with its folders, LINES_DEPTH deep, for files whose name begins with one of
 * the prefixes and ends with ".jsonl"; symbolic links in it are not followed. The memory that
 * reading takes does not grow with the files: one line at a time, LINE_BYTES at most.
 */
#ifndef TOOLS_REPORT_LINES_H
#define TOOLS_REPORT_LINES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "base/error.h"

enum { LINES_DEPTH = 6, LINE_BYTES = 1 << 20 };

struct lines_id { /* of a file: device and number */
    dev_t device;
    ino_t number;
};

struct lines_files {
    char **path;         /* sorted */
    struct lines_id *id; /* of those, in any order */
    size_t count, capacity;
    uint64_t refused; /* links, and files that are no regular ones */
};

/* Adds a file, whatever its name, or the files of a folder, each file once. `prefix`: "journal-".
 */
enum status lines_add(struct lines_files *files, const char *path, const char *prefix,
                      struct error *err);
void lines_release(struct lines_files *files);

/* `number` is the line's, from 1. Any status but STATUS_OK ends the reading. */
typedef enum status (*lines_fn)(void *user, json_t *line, uint64_t number, struct error *err);

/*
 * Calls `each` for every line of the file. STATUS_INVALID, and a sentence with file and line, for a
 * line that is too long, is no JSON object or is of another version (`version`, the member "v"),
 * and for what `each` refuses. A last line without its end is what a killed process leaves: it is
 * counted in *cut and not passed on.
 */
enum status lines_read_stream(FILE *file, const char *path, int version, lines_fn each, void *user,
                              uint64_t *cut, struct error *err);
/* The same of a regular file. */
enum status lines_read(const char *path, int version, lines_fn each, void *user, uint64_t *cut,
                       struct error *err);

/* The member "time" of a line, "2026-11-23T12:10:00.123Z", as milliseconds since 1970. */
enum status lines_time(const char *text, int64_t *ms, struct error *err);

#endif
