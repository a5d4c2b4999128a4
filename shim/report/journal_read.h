/*
 * journal_read.h - picks fields out of journal lines, for the tools. The other half of journal.c.
 *
 * No JSON parser is needed for what our own writer wrote: inside a string every quote follows a
 * backslash, so `"key":` in a line can only be a key (text/json_out.h), and the keys that are read
 * here occur once a line. A line that is cut off (a full disk, a killed process) has no closing `}`
 * and is none. Pure.
 */
#ifndef REPORT_JOURNAL_READ_H
#define REPORT_JOURNAL_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the line is whole, of a version that we read. */
bool journal_line_whole(const char *line);
/* Whether the whole line is of that event. */
bool journal_line_is(const char *line, const char *event);
/* An unsigned number, a boolean, a string without escapes. False: no such field, *out untouched. */
bool journal_line_uint(const char *line, const char *key, uint64_t *out);
bool journal_line_bool(const char *line, const char *key, bool *out);
bool journal_line_text(const char *line, const char *key, char *out, size_t size);

#endif
