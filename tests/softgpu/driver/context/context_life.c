/* context_life.c - what a context is, from its creation to its end. */
#include "driver/context/context_life.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include "driver/call/hooks.h"
#include "driver/stream/stream.h"
#include "driver/call/trace.h"

enum { RESOURCE_CONTEXT_CREATED = 1, RESOURCE_CONTEXT_DESTROY_STARTING = 2 };
enum { LIMITS = CU_LIMIT_MAX };

/* Made in this order, ended in the reverse one: streams are drained before what their works use
 * goes. */
static const struct context_part *const parts[] = {&context_memory, &context_modules,
                                                   &context_streams};
enum { PARTS = sizeof(parts) / sizeof(*parts) };

struct context {
    struct device *device;
    uint32_t uid;
    unsigned api_version;
    bool primary;
    atomic_uint flags;
    atomic_bool dead;
    atomic_uint uses; /* calls that are inside */
    _Atomic(CUresult) sticky;
    atomic_flag poisoned;
    _Atomic unsigned preferences[CONTEXT_PREFERENCES];
    _Atomic size_t limits[LIMITS];
    void *states[PARTS];
    struct context *next;
};

/* All that ever were: a handle is looked up here, and none is ever freed or given twice. */
static _Atomic(struct context *) all;
static _Thread_local struct context_use *innermost;

struct device *context_device(const struct context *context)
{
    return context->device;
}

uint32_t context_uid(const struct context *context)
{
    return context->uid;
}

bool context_is_primary(const struct context *context)
{
    return context->primary;
}

unsigned context_flags(const struct context *context)
{
    return atomic_load(&context->flags);
}

void context_set_flags(struct context *context, unsigned flags)
{
    atomic_store(&context->flags, flags);
}

unsigned context_api_version(const struct context *context)
{
    return context->api_version;
}

_Atomic size_t *context_limit(struct context *context, CUlimit limit)
{
    return (unsigned)limit < LIMITS ? &context->limits[limit] : NULL;
}

bool context_is_alive(const struct context *context)
{
    return !atomic_load_explicit(&context->dead, memory_order_acquire);
}

_Atomic unsigned *context_preference(struct context *context, enum context_preference which)
{
    return &context->preferences[which];
}

CUcontext context_handle(struct context *context)
{
    return (CUcontext)context;
}

static struct context *find(CUcontext handle)
{
    struct context *at = atomic_load_explicit(&all, memory_order_acquire);
    while (at && context_handle(at) != handle)
        at = at->next;
    return at;
}

struct context *context_from_handle(CUcontext handle)
{
    struct context *context = find(handle);
    return context && context_is_alive(context) ? context : NULL;
}

__attribute__((visibility("default"))) uint32_t softgpu_context_uid(CUcontext handle)
{
    const struct context *context = find(handle);
    return context ? context->uid : 0;
}

CUresult context_sticky(const struct context *context)
{
    return atomic_load_explicit(&context->sticky, memory_order_acquire);
}

/* The first error is the one that stays. */
void context_poison(struct context *context, CUresult error, const char *sentence)
{
    if (error == CUDA_SUCCESS || atomic_flag_test_and_set(&context->poisoned))
        return;
    trace_poison(context->uid, error, sentence ? sentence : "");
    atomic_store_explicit(&context->sticky, error, memory_order_release);
}

void *context_state(const struct context *context, const struct context_part *part)
{
    for (int i = 0; i < PARTS; i++)
        if (parts[i] == part)
            return context->states[i];
    return NULL;
}

bool context_enter(struct context_use *use, struct context *context)
{
    atomic_fetch_add(&context->uses, 1);
    if (atomic_load(&context->dead)) {
        atomic_fetch_sub(&context->uses, 1);
        return false;
    }
    *use = (struct context_use){context, innermost};
    innermost = use;
    return true;
}

void context_leave(struct context_use *use)
{
    innermost = use->outer;
    atomic_fetch_sub(&use->context->uses, 1);
}

/* Until the calls of other threads have left: their waits have ended, so it is not long. */
static void wait_for_others(const struct context *context)
{
    const struct timespec pause = {.tv_nsec = 50000};
    unsigned mine = 0;
    for (const struct context_use *use = innermost; use; use = use->outer)
        mine += use->context == context;
    while (atomic_load(&context->uses) > mine)
        nanosleep(&pause, NULL);
}

static void announce(unsigned id, struct context *context)
{
    struct hook_resource event = {.cbid = id, .context = context_handle(context)};
    hooks_resource(&event);
}

static void close_parts(struct context *context, int count)
{
    while (count-- > 0)
        parts[count]->close(context, context->states[count]);
}

static void report(struct trace_report *to)
{
    size_t count = 0;
    for (struct context *at = atomic_load(&all); at; at = at->next)
        count += context_is_alive(at);
    trace_leak(to, "context", count, 0);
}

static struct context *make(struct device *device, unsigned flags, unsigned api_version,
                            bool primary)
{
    static atomic_uint last_uid;
    struct context *context = calloc(1, sizeof(*context));
    if (!context)
        return NULL;
    context->device = device;
    context->uid = atomic_fetch_add(&last_uid, 1) + 1;
    context->api_version = api_version;
    context->primary = primary;
    context->flags = flags;
    atomic_flag_clear(&context->poisoned);
    context->limits[CU_LIMIT_STACK_SIZE] = 1024;
    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 7 << 20;
    context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
    context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 128;
    return context;
}

static CUresult open_parts(struct context *context)
{
    for (int i = 0; i < PARTS; i++) {
        CUresult result = parts[i]->open(context, &context->states[i]);
        if (result) {
            atomic_store(&context->dead, true);
            close_parts(context, i);
            return result;
        }
    }
    return CUDA_SUCCESS;
}

CUresult context_create(struct device *device, unsigned flags, unsigned api_version, bool primary,
                        struct context **out)
{
    struct context *context = make(device, flags, api_version, primary);
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = open_parts(context);
    context->next = atomic_load(&all);
    while (!atomic_compare_exchange_weak(&all, &context->next, context))
        ;
    if (result)
        return result;
    trace_add_owner(report);
    announce(RESOURCE_CONTEXT_CREATED, context);
    *out = context;
    return CUDA_SUCCESS;
}

CUresult context_destroy(struct context *context)
{
    announce(RESOURCE_CONTEXT_DESTROY_STARTING, context);
    if (atomic_exchange(&context->dead, true))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    streams_drain(context);
    wait_for_others(context);
    close_parts(context, PARTS);
    return CUDA_SUCCESS;
}
