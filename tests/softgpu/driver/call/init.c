/* init.c - cuInit with its injection hook, and the end of the library. */
#include "driver/call/init.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "driver/call/hooks.h"
#include "driver/memory/memory_space.h"
#include "driver/base/settings.h"
#include "driver/call/trace.h"
#include "impls.h"

enum { CU_INIT_FINISHED = 5 }; /* CUPTI_CBID_RESOURCE_CU_INIT_FINISHED */

enum life { LIFE_BEFORE, LIFE_READY, LIFE_FORKED, LIFE_ENDED };

static _Atomic(enum life) life = LIFE_BEFORE;
static atomic_bool forked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool injecting;                    /* under the lock */
static _Thread_local bool injecting_here; /* this thread runs InitializeInjection */

CUresult driver_state(void)
{
    switch (atomic_load_explicit(&life, memory_order_acquire)) {
    case LIFE_READY:
        return CUDA_SUCCESS;
    case LIFE_ENDED:
        return CUDA_ERROR_DEINITIALIZED;
    default:
        return CUDA_ERROR_NOT_INITIALIZED;
    }
}

bool driver_is_forked(void)
{
    return atomic_load(&forked);
}

static void after_fork(void)
{
    trace_forget();
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&changed, NULL);
    injecting = false;
    if (atomic_load(&life) == LIFE_BEFORE)
        return;
    atomic_store(&forked, true);
    atomic_store(&life, LIFE_FORKED);
}

/* Handlers that the program or a tool registers after cuInit run before this one, and may still
 * call. */
static void at_exit(void)
{
    if (driver_is_forked())
        return;
    atomic_store(&life, LIFE_ENDED);
    trace_report_write();
}

__attribute__((constructor)) static void on_load(void)
{
    pthread_atfork(NULL, NULL, after_fork);
}

/* The report of a process that never came to cuInit. */
__attribute__((destructor)) static void on_unload(void)
{
    if (!driver_is_forked())
        trace_report_write();
}

/* What CUDA_INJECTION64_PATH names is loaded by every process that gets this far, once. A library
 * that cannot be loaded, or returns 0, does not end the process. */
static void inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    int (*initialize)(void) = NULL;
    void *library = path && *path ? dlopen(path, RTLD_NOW) : NULL;
    void *symbol = library ? dlsym(library, "InitializeInjection") : NULL;
    memcpy(&initialize, &symbol, sizeof(initialize));
    if (initialize)
        initialize();
}

static CUresult start(bool *first)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    while (injecting && !injecting_here)
        pthread_cond_wait(&changed, &lock);
    enum life now = atomic_load(&life);
    if (now == LIFE_BEFORE) {
        result = memory_start();
        if (!result && atexit(at_exit))
            result = CUDA_ERROR_OUT_OF_MEMORY;
        *first = injecting = injecting_here = !result;
        if (*first)
            atomic_store_explicit(&life, LIFE_READY, memory_order_release);
    } else if (now != LIFE_READY) {
        result = driver_state();
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* The tool is there before any cuInit returns; only its own calls find the library ready earlier.
 */
static void start_tools(void)
{
    struct hook_resource event = {.cbid = CU_INIT_FINISHED};
    inject();
    hooks_resource(&event);
    pthread_mutex_lock(&lock);
    injecting = injecting_here = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

CUresult impl_cuInit(const struct call *call, cuInit_params *p)
{
    bool first = false;
    (void)call;
    if (p->Flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = start(&first);
    if (first)
        start_tools();
    return result;
}

CUresult impl_cuDriverGetVersion(const struct call *call, cuDriverGetVersion_params *p)
{
    (void)call;
    if (!p->driverVersion)
        return CUDA_ERROR_INVALID_VALUE;
    *p->driverVersion = (int)settings()->version;
    return CUDA_SUCCESS;
}

CUresult impl_cuProfilerStart(const struct call *call, void *p)
{
    (void)call;
    (void)p;
    return CUDA_SUCCESS;
}

CUresult impl_cuProfilerStop(const struct call *call, void *p)
{
    (void)call;
    (void)p;
    return CUDA_SUCCESS;
}
