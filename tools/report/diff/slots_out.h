/* slots_out.h - what `cuvet diff --slots` prints on standard output. */
#ifndef TOOLS_REPORT_SLOTS_OUT_H
#define TOOLS_REPORT_SLOTS_OUT_H

#include "tools/report/diff/slots.h"

void slots_text(const struct cache_slots_diff *result);
void slots_json(const struct cache_slots_diff *result); /* one object */

#endif
