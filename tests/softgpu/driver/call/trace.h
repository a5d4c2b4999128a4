/*
 * trace.h - SOFTGPU_CALLS, a line a call, and SOFTGPU_REPORT, what the process did and left behind.
 */
#ifndef SOFTGPU_TRACE_H
#define SOFTGPU_TRACE_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

struct entry;

/* Counts the call, and writes its line where a log is set. Any thread. */
void trace_call(const struct entry *entry, CUresult result, const void *from);

/* Adds an owner of what can be left behind: `owner` is called when the report is written
 * (adding the same one twice does nothing), and appends one line "leak WHAT COUNT BYTES" for each
 * kind, none for 0. */
struct trace_report;
typedef void trace_owner(struct trace_report *report);
void trace_add_owner(trace_owner *owner);
void trace_leak(struct trace_report *report, const char *what, size_t count, size_t bytes);

/* One line "fault NAME NTH SEEN": `nth` of the `seen` calls was to fail, 0 for every one. */
void trace_fault(struct trace_report *report, const char *name, uint64_t nth, uint64_t seen);

/* A context's first sticky error: a line "poison CONTEXT ERROR sentence" in the log of calls. */
void trace_poison(unsigned context, CUresult error, const char *sentence);

/* Writes the report, once, where one is set. */
void trace_report_write(void);

/* In the child of a fork: what the parent did is not the child's. */
void trace_forget(void);

#endif
