/* model_counts.h - counters of a kernel and of a process, as lines of a journal have them. For
 * model_read.c. */
#ifndef TOOLS_REPORT_MODEL_COUNTS_H
#define TOOLS_REPORT_MODEL_COUNTS_H

#include "tools/report/model/model.h"

/* Adds the members `names`, up to NULL, to what `into` points at; one that is absent is 0. */
enum status model_add_fields(json_t *object, const char *const names[], uint64_t *into[],
                             struct error *err);
/* A line of the process that is being read; `interim`: counts so far, which the next such line
 * replaces, and which count where the process leaves no end. */
enum status model_read_kernel(struct model *model, struct model_kernel *kernel, json_t *line,
                              bool interim, struct error *err);
enum status model_read_process(struct model *model, json_t *line, bool interim, struct error *err);
/* Counts a process that left no end. */
void model_count_open(struct model *model);

#endif
