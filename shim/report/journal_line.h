/* journal_line.h - how a line of the journal is written. For the sources of the journal alone. */
#ifndef REPORT_JOURNAL_LINE_H
#define REPORT_JOURNAL_LINE_H

#include <stdbool.h>
#include "report/journal.h"
#include "text/json_out.h"

/* Takes the lock and writes the head; NULL when there is nothing to write to. A caller that gets
 * the writer fills in its fields and calls journal_line_end. */
struct json_out *journal_line_begin(struct journal *journal, const char *event);
/* Writes the line and releases the lock. `last`: the bytes of the quota that are set aside pay it.
 */
void journal_line_end(struct journal *journal, bool last);
/* Whether `bytes` are a small part of what the quota has left: findings come first. */
bool journal_has_room(const struct journal *journal, uint64_t bytes);

#endif
