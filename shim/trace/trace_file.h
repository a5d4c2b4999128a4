/*
 * trace_file.h - records as JSON lines: FOLDER/trace-HOST-PID.jsonl, or trace-HOST-PID-RUN.jsonl
 * where CUVET_RUN names a run.
 *
 * Format, version 1: tools/man/cuvet-trace.md lists the members. The first line has the event
 * "trace", each launch a line of the event "launch", the last line the event "end". One thread at a
 * time.
 */
#ifndef TRACE_TRACE_FILE_H
#define TRACE_TRACE_FILE_H

#include "report/quota.h"
#include "trace/trace.h"

enum { TRACE_VERSION = 1 };

struct trace_file;

enum status trace_file_create(struct trace_file **out, const char *folder, const char *run,
                              struct quota *quota, struct error *err);
/* As trace_settings has them; `file` is a struct trace_file. */
void trace_file_write(void *file, const struct trace_record *record);
void trace_file_flush(void *file);
void trace_file_end(struct trace_file *file, const struct trace_counts *counts);
void trace_file_destroy(struct trace_file *file);

#endif
