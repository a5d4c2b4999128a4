/* hooks.c - the table that the stand-in for CUPTI gives us, and what a tool may not do inside it.
 */
#include "driver/call/hooks.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include "driver/call/call.h"
#include "driver/call/hooks_send.h"
#include "driver/base/settings.h"

#define EXPORT __attribute__((visibility("default")))

static _Atomic(const struct hooks *) table;
static _Thread_local unsigned
    in_resource; /* the id of the resource callback that runs here; 0: none */

EXPORT void softgpu_set_hooks(const struct hooks *hooks)
{
    atomic_store_explicit(&table, hooks, memory_order_release);
}

void hooks_resource(const struct hook_resource *event)
{
    const struct hooks *hooks = atomic_load_explicit(&table, memory_order_acquire);
    if (!hooks || !hooks->wants_resource(event->cbid))
        return;
    unsigned outer = in_resource;
    in_resource = event->cbid;
    hooks->resource(event);
    in_resource = outer;
}

bool hooks_want(const struct entry *entry)
{
    const struct hooks *hooks = atomic_load_explicit(&table, memory_order_acquire);
    return hooks && hooks->wants_call(entry->cbid);
}

void hooks_send(const struct hook_call *event)
{
    const struct hooks *hooks = atomic_load_explicit(&table, memory_order_acquire);
    if (hooks && hooks->wants_call(event->cbid))
        hooks->call(event);
}

/* The real driver holds its locks during the callbacks of a context, a module, a stream or a node;
 * these need one. */
void hooks_check_place(const struct entry *entry)
{
    static const char *const locked[] = {
        "cuMemAlloc",         "cuMemFree",
        "cuMemHostAlloc",     "cuMemHostRegister",
        "cuMemCreate",        "cuModuleLoad",
        "cuModuleUnload",     "cuLibraryLoad",
        "cuLibraryUnload",    "cuStreamCreate",
        "cuStreamDestroy",    "cuCtxCreate",
        "cuCtxDestroy",       "cuDevicePrimaryCtxRe",
        "cuGraphInstantiate", "cuGraphExecDestroy",
    };
    static const unsigned init_finished = 5; /* called without a lock */
    if (!in_resource || in_resource == init_finished)
        return;
    for (size_t i = 0; i < sizeof(locked) / sizeof(*locked); i++)
        if (!strncmp(entry->name, locked[i], strlen(locked[i])))
            softgpu_abort("%s is called inside resource callback %u: the real driver hangs there",
                          entry->name, in_resource);
}
