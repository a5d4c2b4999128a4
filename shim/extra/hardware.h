/*
 * hardware.h - whether a finding suggests faulty hardware. (CUVET_PROFILE=sdc.) A wrong formula or
 * a race is wrong again and again, for launches of the same shapes; a broken multiprocessor or
 * memory cell, once among thousands that match. The collector's thread.
 */
#ifndef EXTRA_HARDWARE_H
#define EXTRA_HARDWARE_H

#include "value/check_report.h"

struct hardware;
struct hardware *hardware_create(void); /* NULL: no memory */
void hardware_destroy(struct hardware *hardware);

/* Counts a judged launch among those of its signature, and fills in report->hardware of a mismatch.
 * `source`: where the reference's values come from. */
void hardware_judge(struct hardware *hardware, uint64_t signature, struct check_report *report,
                    const struct bundle_source *source);

#endif
