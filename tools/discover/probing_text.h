/* probing_text.h - comments of the draft: what launches that were run again show. */
#ifndef TOOLS_DISCOVER_PROBING_TEXT_H
#define TOOLS_DISCOVER_PROBING_TEXT_H

#include "text/textbuf.h"
#include "tools/discover/trial/probing.h"

/* How many launches gave what was recorded, and why others were of no use. */
void probing_put_report(const struct probing_report *report, struct textbuf *out);

/* Lines about one array: bytes that are read and written, and where code and runs disagree. */
void probing_put(const struct facts *facts, unsigned number, struct textbuf *out);

#endif
