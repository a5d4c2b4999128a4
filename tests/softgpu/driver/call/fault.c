/* fault.c - makes the Nth call of a function fail, by SOFTGPU_FAIL. */
#include "driver/call/fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "driver/base/errors.h"
#include "driver/base/settings.h"
#include "driver/call/trace.h"

enum { MAX_FAULTS = 32, MAX_NAME = 80 };

struct fault {
    char name[MAX_NAME]; /* "*": all calls */
    uint64_t nth;        /* from 1; 0: every one */
    CUresult error;
    _Atomic uint64_t seen;
};

static struct fault faults[MAX_FAULTS];
static unsigned fault_count;

static _Noreturn void refuse(const char *item, size_t length, const char *why)
{
    softgpu_abort("SOFTGPU_FAIL: '%.*s': %s; NAME:N=ERROR is wanted", (int)length, item, why);
}

static bool read_number(const char *text, size_t length, uint64_t *number)
{
    char *end = NULL;
    if (!length || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !errno && end == text + length;
}

static void read_fault(const char *item, size_t length)
{
    const char *colon = memchr(item, ':', length);
    const char *equals = memchr(item, '=', length);
    char error[MAX_NAME];
    uint64_t number;
    if (fault_count == MAX_FAULTS)
        refuse(item, length, "too many entries");
    if (!colon || !equals || equals < colon)
        refuse(item, length, "there is no ':' or no '='");
    struct fault *fault = &faults[fault_count];
    size_t name = (size_t)(colon - item), count = (size_t)(equals - colon - 1);
    size_t rest = length - (size_t)(equals - item) - 1;
    if (!name || name >= MAX_NAME || rest >= MAX_NAME)
        refuse(item, length, "a name is empty or too long");
    memcpy(fault->name, item, name);
    if (!(count == 1 && colon[1] == '*') &&
        (!read_number(colon + 1, count, &fault->nth) || !fault->nth))
        refuse(item, length, "N is a number from 1, or *");
    memcpy(error, equals + 1, rest);
    error[rest] = '\0';
    if (read_number(error, rest, &number) && number && number < 10000)
        fault->error = (CUresult)number;
    else if (!error_by_name(error, &fault->error) || !fault->error)
        refuse(item, length, "the error is not known");
    fault_count++;
}

static void report_faults(struct trace_report *report)
{
    for (unsigned i = 0; i < fault_count; i++)
        trace_fault(report, faults[i].name, faults[i].nth, atomic_load(&faults[i].seen));
}

static void read_faults(void)
{
    const char *text = settings()->fail;
    while (text) {
        size_t length = strcspn(text, ",");
        read_fault(text, length);
        text = text[length] ? text + length + 1 : NULL;
    }
    if (fault_count)
        trace_add_owner(report_faults);
}

/* Exactly, or up to the version and the _ptsz or _ptds at the end. */
static bool matches(const char *wanted, const char *name)
{
    size_t length = strlen(wanted);
    if (!strcmp(wanted, "*"))
        return true;
    if (strncmp(wanted, name, length))
        return false;
    const char *rest = name + length;
    if (rest[0] == '_' && rest[1] == 'v' && rest[2] >= '0' && rest[2] <= '9')
        for (rest += 2; *rest >= '0' && *rest <= '9'; rest++)
            ;
    return !*rest || !strcmp(rest, "_ptsz") || !strcmp(rest, "_ptds");
}

const char *file_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "?";
}

CUresult fault_take(const char *name, const void *from)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    CUresult error = CUDA_SUCCESS;
    pthread_once(&once, read_faults);
    if (!fault_count)
        return CUDA_SUCCESS;
    const char *word = settings()->fail_from;
    if (word && !strstr(file_of(from), word))
        return CUDA_SUCCESS;
    for (unsigned i = 0; i < fault_count; i++) {
        struct fault *fault = &faults[i];
        if (!matches(fault->name, name))
            continue;
        uint64_t seen = atomic_fetch_add(&fault->seen, 1) + 1;
        if ((!fault->nth || seen == fault->nth) && !error)
            error = fault->error;
    }
    return error;
}
