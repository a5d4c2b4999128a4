/* hardware_text.h - whether a finding repeats, and on which device it was seen, in words. */
#ifndef VALUE_HARDWARE_TEXT_H
#define VALUE_HARDWARE_TEXT_H

#include "value/check_report.h"

enum { HARDWARE_TEXT = 512 };

/* Whole lines of a finding in the summary. Returns `out`. */
const char *hardware_text(const struct hardware_report *hardware, char out[HARDWARE_TEXT]);

#endif
