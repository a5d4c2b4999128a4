/* trace.c - the log of calls and the report at exit. */
#include "driver/call/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "driver/call/call.h"
#include "driver/base/errors.h"
#include "driver/call/fault.h"
#include "driver/base/settings.h"
#include "exec/exec.h"

static atomic_ulong *counts; /* one for each entry; NULL without a report */
static int calls_file = -1;

/* Puts the process id in place of %p. */
static void expand(const char *pattern, char *path, size_t size)
{
    size_t length = 0;
    for (const char *at = pattern; *at && length + 1 < size; at++)
        if (at[0] == '%' && at[1] == 'p') {
            int wrote = snprintf(path + length, size - length, "%d", (int)getpid());
            length += wrote > 0 ? (size_t)wrote : 0;
            at++;
        } else {
            path[length++] = *at;
        }
    path[length < size ? length : size - 1] = '\0';
}

static int open_append(const char *variable, const char *pattern)
{
    char path[PATH_MAX];
    expand(pattern, path, sizeof(path));
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0)
        softgpu_abort("%s=%s: %s", variable, path, strerror(errno));
    return file;
}

static void start(void)
{
    if (settings()->report)
        counts = calloc(entry_count, sizeof(*counts));
    if (settings()->calls)
        calls_file = open_append("SOFTGPU_CALLS", settings()->calls);
}

static const char *name_of(CUresult result, char *number, size_t size)
{
    const char *name = error_name(result);
    if (name)
        return name;
    snprintf(number, size, "%d", (int)result);
    return number;
}

static void write_line(const struct entry *entry, CUresult result, const void *from)
{
    char line[PATH_MAX + 256], number[16];
    int length = snprintf(line, sizeof(line), "%d %s %s %s\n", (int)gettid(), entry->name,
                          name_of(result, number, sizeof(number)), file_of(from));
    if (length > 0 && write(calls_file, line, (size_t)length) != length)
        softgpu_abort("SOFTGPU_CALLS: %s", strerror(errno));
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

void trace_poison(unsigned context, CUresult error, const char *sentence)
{
    char number[16];
    pthread_once(&once, start);
    if (calls_file >= 0)
        dprintf(calls_file, "poison %u %s %s\n", context, name_of(error, number, sizeof(number)),
                sentence);
}

void trace_call(const struct entry *entry, CUresult result, const void *from)
{
    pthread_once(&once, start);
    if (counts)
        atomic_fetch_add_explicit(&counts[entry - entries], 1, memory_order_relaxed);
    if (calls_file >= 0)
        write_line(entry, result, from);
}

struct trace_report {
    FILE *file;
};

enum { MAX_OWNERS = 16 };

static _Atomic(trace_owner *) owners[MAX_OWNERS];

void trace_add_owner(trace_owner *owner)
{
    for (int i = 0; i < MAX_OWNERS; i++) {
        trace_owner *there = NULL;
        if (atomic_compare_exchange_strong(&owners[i], &there, owner) || there == owner)
            return;
    }
}

static void add_line(void *user, const char *line)
{
    struct trace_report *report = user;
    fprintf(report->file, "%s\n", line);
}

void trace_leak(struct trace_report *report, const char *what, size_t count, size_t bytes)
{
    if (count)
        fprintf(report->file, "leak %s %zu %zu\n", what, count, bytes);
}

void trace_fault(struct trace_report *report, const char *name, uint64_t nth, uint64_t seen)
{
    fprintf(report->file, "fault %s %llu %llu\n", name, (unsigned long long)nth,
            (unsigned long long)seen);
}

void trace_report_write(void)
{
    static atomic_flag written = ATOMIC_FLAG_INIT;
    struct trace_report report = {0};
    if (!settings()->report || atomic_flag_test_and_set(&written))
        return;
    report.file = fdopen(open_append("SOFTGPU_REPORT", settings()->report), "a");
    if (!report.file)
        softgpu_abort("SOFTGPU_REPORT: %s", strerror(errno));
    exec_report(add_line, &report);
    for (size_t i = 0; counts && i < entry_count; i++) {
        unsigned long count = atomic_load_explicit(&counts[i], memory_order_relaxed);
        if (count)
            fprintf(report.file, "call %s %lu\n", entries[i].name, count);
    }
    for (int i = 0; i < MAX_OWNERS && atomic_load(&owners[i]); i++)
        (*atomic_load(&owners[i]))(&report);
    if (fclose(report.file))
        softgpu_abort("SOFTGPU_REPORT: %s", strerror(errno));
}

void trace_forget(void)
{
    for (size_t i = 0; counts && i < entry_count; i++)
        atomic_store_explicit(&counts[i], 0, memory_order_relaxed);
}
