/*
 * init.c - the two doors into a program.
 *
 * LD_PRELOAD: the constructor only names this library in CUDA_INJECTION64_PATH and makes paths in
 * CUVET_ variables absolute (and, for a trace, names it in NVTX_INJECTION64_PATH), so a process
 * that never touches CUDA pays a few getenv. The driver then loads the library again (it is the
 * same one) inside cuInit and calls InitializeInjection, where everything starts.
 * CUDA_INJECTION64_PATH alone works as well.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "system/log.h"
#include "base/options.h"
#include "cuvet.h"
#include "hook/entry.h"
#include "session/session.h"
#include "trace/ranges.h"

extern char **environ;

__attribute__((visibility("default"))) int InitializeInjection(void);

static const char injection_variable[] = "CUDA_INJECTION64_PATH";
static const char passive_mark[] = "_CUVET_PASSIVE";

static int same_file(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

static int switched_off(void)
{
    const char *value = getenv("CUVET_DISABLE");
    return value && !strcmp(value, "1");
}

/* Printed by the first process of a tree only: its children inherit the mark. */
static void report_taken(const char *holder)
{
    const char *config = getenv("CUVET_CONFIG");
    if (!config || !*config || getenv(passive_mark))
        return;
    log_line(LOG_WARN, "nothing is checked: %s is set to %s by another tool", injection_variable,
             holder);
    setenv(passive_mark, "1", 0);
}

static void start_once(void)
{
    static atomic_flag started = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&started))
        session_start();
}

/* `cuvet run` has the library audited: it does without the driver's call. */
static int is_audited(void)
{
    const char *auditors = getenv("LD_AUDIT");
    return auditors && strstr(auditors, "libcuvet-audit.so") != NULL;
}

__attribute__((constructor)) static void on_load(void)
{
    Dl_info self;
    char path[PATH_MAX]; /* absolute: the program may change its folder before it calls cuInit */
    const char *there = getenv(injection_variable), *hook = getenv("CUVET_HOOK");
    if (switched_off())
        return;
    log_start();
    if (!hook || strcmp(hook, "cupti"))
        entry_allow(start_once);
    options_paths_absolute(environ);
    if (!dladdr(injection_variable, &self) || !self.dli_fname || !realpath(self.dli_fname, path))
        return;
    ranges_offer(path);
    if (!there || !*there)
        setenv(injection_variable, path, 1);
    else if (!same_file(there, path) && !is_audited())
        report_taken(there);
}

/* Called by the CUDA driver inside cuInit. */
int InitializeInjection(void)
{
    start_once();
    return 1;
}
