/* picture.h - the pictures of the page, as SVG in it. */
#ifndef TOOLS_REPORT_PICTURE_H
#define TOOLS_REPORT_PICTURE_H

#include <stdio.h>
#include "tools/report/model/model.h"

/* Bars over the bins of error/bound; `small`: without axis, for a row of a table. */
void picture_ratios(FILE *file, const uint64_t ratios[COUNTERS_RATIOS], bool small);

/* Processes as bars over time, and when findings and inconclusive launches came. */
void picture_timeline(FILE *file, const struct model *model);

#endif
