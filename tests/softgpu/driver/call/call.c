/* call.c - the way of one driver call, as call.h draws it. */
#include "driver/call/call.h"

#include <generated_cuda_meta.h>
#include <stdatomic.h>
#include <string.h>
#include "driver/context/context_life.h"
#include "driver/context/device.h"
#include "driver/call/fault.h"
#include "driver/call/hooks_send.h"
#include "driver/call/init.h"
#include "driver/module/module.h"
#include "driver/base/settings.h"
#include "driver/stream/stream.h"
#include "driver/call/trace.h"

const struct entry *entry_find(const char *name)
{
    size_t low = 0, high = entry_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, entries[middle].name);
        if (!order)
            return &entries[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* What forbids the call before its implementation runs. */
static CUresult check_allowed(const struct call *call)
{
    unsigned flags = call->entry->flags;
    CUresult result = CUDA_SUCCESS;
    if (flags & CALL_BEFORE_INIT)
        return CUDA_SUCCESS;
    if (host_function_running())
        return CUDA_ERROR_NOT_PERMITTED;
    if (!call->context && !(flags & CALL_NO_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (call->context && !(flags & CALL_IGNORES_STICKY))
        result = context_sticky(call->context);
    if (!result && flags & CALL_UNSAFE_IN_CAPTURE)
        result = capture_check_unsafe(call);
    return result;
}

/* A call that needs no context must not hold one either: it may be what ends it. */
static CUresult run(const struct call *call, void *params)
{
    unsigned flags = call->entry->flags;
    struct context_use use;
    struct call with = *call;
    CUresult result = flags & CALL_BEFORE_INIT ? CUDA_SUCCESS : driver_state();
    if (result)
        return result;
    bool hold = call->context && !(flags & (CALL_NO_CONTEXT | CALL_BEFORE_INIT));
    if (hold && !context_enter(&use, call->context))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (call->context && !hold && !context_is_alive(call->context))
        with.context = NULL;
    result = check_allowed(&with);
    if (!result)
        result = call->entry->run(&with, params);
    if (hold)
        context_leave(&use);
    return result;
}

/* A dead context is no longer anyone's to see. */
static void set_context(struct hook_call *event, struct context *context)
{
    bool alive = context && context_is_alive(context);
    event->context = alive ? context_handle(context) : NULL;
    event->context_uid = alive ? context_uid(context) : 0;
}

/* What the callbacks see. */
static void *shown(const struct entry *entry, void *params, cuGraphLaunch_params *copy)
{
    if (!settings()->copies || strncmp(entry->name, "cuGraphLaunch", strlen("cuGraphLaunch")) != 0)
        return params;
    *copy = *(const cuGraphLaunch_params *)params;
    return copy;
}

static CUresult run_told(const struct call *call, void *params, const void *from)
{
    static atomic_uint last_correlation;
    const struct entry *entry = call->entry;
    CUresult result = CUDA_SUCCESS;
    uint64_t data = 0;
    cuGraphLaunch_params copy;
    struct hook_call event = {
        .cbid = entry->cbid,
        .name = entry->name,
        .params = shown(entry, params, &copy),
        .result = &result,
        .correlation = atomic_fetch_add(&last_correlation, 1) + 1,
        .correlation_data = &data,
    };
    if (entry->flags & CALL_LAUNCH && !driver_state())
        event.symbol = launch_symbol(entry->name, params);
    set_context(&event, call->context);
    hooks_send(&event);
    struct call after = *call;
    after.context = context_current(); /* the tool may have changed it */
    result = fault_take(entry->name, from);
    if (!result)
        result = run(&after, params);
    event.exit = true;
    set_context(&event, context_current());
    hooks_send(&event);
    return result;
}

CUresult call_entry(const struct entry *entry, void *params, const void *from)
{
    struct call call = {entry, entry->per_thread, context_current()};
    CUresult result = driver_state();
    if (result != CUDA_ERROR_DEINITIALIZED || entry->flags & CALL_BEFORE_INIT) {
        hooks_check_place(entry);
        if (hooks_want(entry)) {
            result = run_told(&call, params, from);
        } else {
            result = fault_take(entry->name, from);
            if (!result)
                result = run(&call, params);
        }
    }
    trace_call(entry, result, from);
    return result;
}
