#include "core/core_state.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include "base/hot.h"
#include "base/uninterrupted.h"
#include "graph/captured.h"
#include "graph/graphs.h"
#include "judge/collector.h"
#include "gate/gate.h"
#include "gate/unregistered.h"
#include "judge/modules/images.h"
#include "judge/modules/module_variables.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_trace.h"
#include "trace/ranges.h"

/* TIMED_MOST_NS: what takes longer was interrupted. */
enum { TIME_EVERY = 8, TIMED_MOST_NS = 5000 };

struct core core;

/* Of a thread. */
struct here {
    bool open;                /* launch and ticket belong to the launch between enter and exit */
    const void *graph_stream; /* of the graph that is being launched */
    uint32_t exits;           /* of launches that were not passed over */
    bool in_call;             /* of a library */
    bool call_open;           /* call and call_ticket belong to it, and it was not passed over */
    struct launch launch, call;
    struct ticket ticket, call_ticket;
    struct capture_point capture; /* where the call began; its graph NULL: it is not captured */
};

static pthread_key_t here_key;
static pthread_once_t here_once = PTHREAD_ONCE_INIT;

/* At a thread's end. */
static void free_here(void *here)
{
    own_thread.here = NULL;
    free(here);
}

static void make_here_key(void)
{
    pthread_key_create(&here_key, free_here);
}

/* Not in the thread's static storage: the loader has little of that for a library that is audited
 * or loaded late. At the thread's first launch that is not passed over. */
APART static struct here *make_here(void)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    pthread_once(&here_once, make_here_key);
    struct here *here = calloc(1, sizeof(*here));
    if (here && pthread_setspecific(here_key, here)) {
        free(here);
        here = NULL;
    }
    own_thread.here = here;
    uninterrupted_end(&kept);
    return here;
}

/* NULL without memory. */
static struct here *here_of_thread(void)
{
    return own_thread.here ? own_thread.here : make_here();
}

const void **core_graph_stream(void)
{
    struct here *here = here_of_thread();
    return here ? &here->graph_stream : NULL;
}

void core_start(const struct core_parts *parts)
{
    const struct sink *sink = parts->pipeline->sink;
    core.parts = *parts;
    passing.kernels = kernels_table(parts->pipeline->kernels);
    passing.notes = gate_all_notes(parts->pipeline->gate);
    atomic_store(&passing.unregistered, sink->tallies ? sink->tallies(sink->user, NULL) : NULL);
    atomic_store(&core.calls, parts->calls);
}

void core_mute(void)
{
    atomic_store(&core.muted, true);
    atomic_store(&core.calls, false);
    atomic_store(&passing.unregistered, NULL);
}

/* ---- launches ---- */

/* Whether the next launch is timed: behind one in TIME_EVERY of those that came here, so that the
 * others need no test for it. */
static enum own_work time_next(void)
{
    struct here *here = here_of_thread();
    return here && here->exits++ % TIME_EVERY == 0 ? OWN_TIMED : OWN_NONE;
}

struct launch *core_launch(void)
{
    struct here *here = here_of_thread();
    if (!here)
        return NULL;
    here->open = false;
    return &here->launch;
}

bool core_launch_enter(uintptr_t kernel)
{
    struct here *here = own_thread.here;
    int state;
    if (!work_begins(&state))
        return false;
    here->launch.known = (struct known_kernel *)kernel;
    here->open = !here->in_call;
    bool passed = here->open && pipeline_enter(core.parts.pipeline, &here->launch, &here->ticket);
    if (here->open && (!kernel || !own_thread.passes))
        recent_slow((uintptr_t)here->ticket.kernel, here->launch.stream);
    here->open &= !passed;
    work_ends(state, OWN_NONE);
    return passed;
}

bool core_launch_open(void)
{
    return own_thread.here && own_thread.here->open;
}

/* For reports, where the back end passes no symbol. */
static void name_launch(struct launch *launch)
{
    const char *symbol = launch->function ? kernels_symbol(launch) : "";
    launch->symbol = *symbol ? symbol : NULL;
}

/* Also of a muted core: a launch whose enter was seen is still counted. */
void core_launch_exit(CUresult result)
{
    struct here *here = own_thread.here;
    int state = uncancelled_begin();
    own_thread.work = OWN_WORK;
    here->open = false;
    if (result != CUDA_SUCCESS) {
        name_launch(&here->launch);
        pipeline_api_failed(core.parts.pipeline, "a launch", result, NULL);
    } else if (here->ticket.kernel && here->ticket.kernel->spec && core.parts.graphs &&
               UNUSUAL(*ranges_open())) {
        captured_range(graphs_captured(core.parts.graphs), &here->launch, ranges_open());
    }
    pipeline_exit(core.parts.pipeline, &here->launch, &here->ticket, result);
    tally_let_pass(!here->ticket.has_earlier && !here->in_call);
    work_ends(state, time_next());
}

void core_launch_refused(struct launch *launch, CUresult result)
{
    int state = uncancelled_begin();
    own_thread.work = OWN_WORK;
    name_launch(launch);
    pipeline_api_failed(core.parts.pipeline, "a launch", result, NULL);
    pipeline_passed_failed(core.parts.pipeline, launch, result);
    work_ends(state, OWN_NONE);
}

void core_launch_unread(struct launch *launch, CUresult result)
{
    int state;
    if (!work_begins(&state))
        return;
    name_launch(launch);
    bool in_call = core_call_open();
    if (result != CUDA_SUCCESS)
        pipeline_refused(core.parts.pipeline, launch, result);
    else
        pipeline_count(core.parts.pipeline, in_call ? SKIP_CALL : SKIP_LEGACY);
    work_ends(state, OWN_NONE);
}

void core_api_failed(const char *api, CUresult result, CUstream stream)
{
    int state;
    if (!work_begins(&state))
        return;
    pipeline_api_failed(core.parts.pipeline, api, result, stream);
    work_ends(state, OWN_NONE);
}

void core_launch_counted(enum skip skip, CUresult result)
{
    int state;
    if (!work_begins(&state))
        return;
    pipeline_count(core.parts.pipeline, result ? SKIP_LAUNCH_FAILED : skip);
    work_ends(state, OWN_NONE);
}

void core_timed(int64_t ns)
{
    if (ns > TIMED_MOST_NS)
        return;
    int64_t sum = atomic_fetch_add_explicit(&core.timed_ns, ns, memory_order_relaxed) + ns;
    int64_t count = atomic_fetch_add_explicit(&core.timed, 1, memory_order_relaxed) + 1;
    atomic_store_explicit(&passing.hook_ns, sum > 0 ? (uint32_t)(sum / count) : 0,
                          memory_order_relaxed);
}

/* ---- calls of libraries ---- */

bool core_call_wanted(void)
{
    return atomic_load_explicit(&core.calls, memory_order_acquire) && !core_own() &&
           !core_call_open();
}

/* Whether an entry names the call; then call->known is its record. */
static bool kernel_is_named(struct launch *call)
{
    if (!call->known)
        call->known = kernels_find(core.parts.pipeline->kernels, call);
    return call->known && (call->known->spec || call->known->skip != SKIP_UNREGISTERED);
}

/* From now on kernels of the calling thread are part of a call. `open`: it is not counted yet. */
static void enter_call(struct here *here, bool open)
{
    here->in_call = true;
    here->call_open = open;
    tally_let_pass(false); /* its kernels go to core_launch_enter */
}

/* Whether the gates pass the call over, as the hook does with launches: then it is counted. */
static bool call_passes(uintptr_t record, const struct launch *call)
{
    const struct core_shape launch = {call->grid, call->params};
    return record && own_thread.passes && core_passes(record, &launch);
}

_Static_assert(offsetof(struct launch, block) == offsetof(struct launch, grid) + 12 &&
                   offsetof(struct launch, shared_bytes) == offsetof(struct launch, grid) + 24,
               "the numbers of a launch lie side by side");

bool core_call_enter(const struct launch *call)
{
    struct here *here = here_of_thread();
    int state;
    if (!here || !core_call_wanted())
        return false;
    uintptr_t record = kernel_table_first(passing.kernels, call->function, call->symbol);
    if (record & KERNEL_PASSED) {
        unregistered_seen(call->function, call->symbol);
        return false;
    }
    here->call = *call;
    here->call.known = (struct known_kernel *)record;
    here->capture.graph = NULL;
    bool captured = core.parts.graphs && captured_is(call);
    if (!captured && call_passes(record, call)) {
        enter_call(here, false);
        return true;
    }
    if (!work_begins(&state))
        return false;
    bool named = kernel_is_named(&here->call);
    if (named && captured)
        captured_enter(&here->capture, &here->call);
    else if (!named)
        unregistered_seen(call->function, call->symbol);
    if (named)
        enter_call(here, !pipeline_enter(core.parts.pipeline, &here->call, &here->call_ticket));
    work_ends(state, OWN_NONE);
    return named;
}

bool core_call_open(void)
{
    return own_thread.here && own_thread.here->in_call;
}

void core_call_exit(CUresult result)
{
    struct here *here = own_thread.here;
    here->in_call = false;
    tally_let_pass(!here->ticket.has_earlier);
    if (!here->call_open && !here->capture.graph && result == CUDA_SUCCESS)
        return;
    int state = uncancelled_begin();
    own_thread.work = OWN_WORK;
    if (here->capture.graph && result == CUDA_SUCCESS)
        captured_exit(graphs_captured(core.parts.graphs), &here->capture, &here->call);
    if (here->call_open)
        pipeline_exit(core.parts.pipeline, &here->call, &here->call_ticket, result);
    else if (result != CUDA_SUCCESS)
        pipeline_passed_failed(core.parts.pipeline, &here->call, result);
    here->call_open = false;
    work_ends(state, OWN_NONE);
}

/* ---- waits, contexts, modules ---- */

void core_wait_begins(CUcontext context)
{
    int state;
    if (!work_begins(&state))
        return;
    pipeline_wait_begins(core.parts.pipeline, context);
    work_ends(state, OWN_NONE);
}

void core_wait_ends(CUcontext context)
{
    int state;
    if (!work_begins(&state))
        return;
    pipeline_wait_ends(core.parts.pipeline, context);
    work_ends(state, OWN_NONE);
}

void core_init_finished(void)
{
    int state;
    if (!work_begins(&state))
        return;
    core.parts.ready(core.parts.user);
    work_ends(state, OWN_NONE);
}

void core_context_created(CUcontext context)
{
    int state;
    if (!work_begins(&state))
        return;
    if (!sides_find(core.parts.pipeline->sides, context))
        pipeline_context_created(core.parts.pipeline, context);
    work_ends(state, OWN_NONE);
}

void core_context_ending(CUcontext context)
{
    int state;
    (void)context;
    if (!work_begins(&state))
        return;
    collector_drain(core.parts.pipeline->collector, core.parts.end_wait_ms);
    work_ends(state, OWN_NONE);
}

void core_context_going(CUcontext context)
{
    struct uninterrupted kept;
    int state;
    if (!work_begins(&state))
        return;
    struct side *side = sides_find(core.parts.pipeline->sides, context);
    pipeline_context_going(core.parts.pipeline, context);
    module_unload_seen();
    kernels_revalidate();
    uninterrupted_begin(&kept);
    if (side && core.parts.graphs)
        graphs_context_going(core.parts.graphs, side);
    images_context_going(core.parts.images, context);
    uninterrupted_end(&kept);
    work_ends(state, OWN_NONE);
}

void core_module_loaded(CUcontext context, uint32_t id, const void *image, size_t bytes)
{
    struct uninterrupted kept;
    int state;
    if (!work_begins(&state))
        return;
    uninterrupted_begin(&kept);
    images_loaded(core.parts.images, context, id, NULL, image, bytes);
    uninterrupted_end(&kept);
    work_ends(state, OWN_NONE);
}

void core_module_loaded_within(CUcontext context, uint32_t id, const void *image, size_t bytes)
{
    struct uninterrupted kept;
    if (atomic_load(&core.muted) || !core.parts.images)
        return;
    uninterrupted_begin(&kept);
    images_loaded(core.parts.images, context, id, kernels_queried(), image, bytes);
    uninterrupted_end(&kept);
}

void core_module_unloading(CUcontext context, uint32_t id)
{
    struct uninterrupted kept;
    int state;
    if (!work_begins(&state))
        return;
    uninterrupted_begin(&kept);
    module_unload_seen();
    kernels_revalidate();
    images_unloading(core.parts.images, context, id);
    uninterrupted_end(&kept);
    work_ends(state, OWN_NONE);
}

/* Whether the bytes stay as long as what is loaded from them: in the file of a program or library.
 */
static bool in_a_file(const void *image)
{
    Dl_info info;
    return dladdr(image, &info) != 0;
}

void core_image_given(const void *module, CUcontext context, const void *image)
{
    struct uninterrupted kept;
    int state;
    if (!image || !work_begins(&state))
        return;
    uninterrupted_begin(&kept);
    images_given(core.parts.images, module, context, image, in_a_file(image));
    uninterrupted_end(&kept);
    work_ends(state, OWN_NONE);
}

void core_tensor_map(const struct tensor_map_call *call)
{
    struct uninterrupted kept;
    int state;
    if (!tensor_maps_kept() || !work_begins(&state))
        return;
    uninterrupted_begin(&kept);
    tensor_maps_note(call);
    uninterrupted_end(&kept);
    work_ends(state, OWN_NONE);
}

void core_image_file(const void *module, CUcontext context, const char *path)
{
    struct uninterrupted kept;
    int state;
    if (!path || !work_begins(&state))
        return;
    uninterrupted_begin(&kept);
    images_file(core.parts.images, module, context, path);
    uninterrupted_end(&kept);
    work_ends(state, OWN_NONE);
}

void core_image_taken(const void *module)
{
    struct uninterrupted kept;
    int state;
    if (!work_begins(&state))
        return;
    uninterrupted_begin(&kept);
    module_unload_begins();
    kernels_revalidate();
    images_taken(core.parts.images, module);
    uninterrupted_end(&kept);
    work_ends(state, OWN_NONE);
}

void core_unload_begins(void)
{
    struct uninterrupted kept;
    int state;
    if (!work_begins(&state))
        return;
    uninterrupted_begin(&kept);
    module_unload_begins();
    uninterrupted_end(&kept);
    work_ends(state, OWN_NONE);
}

void core_module_call_begins(void)
{
    int state;
    if (!work_begins(&state))
        return;
    images_call_begins();
    work_ends(state, OWN_NONE);
}

void core_module_call_ends(CUmodule module)
{
    struct uninterrupted kept;
    int state;
    if (!work_begins(&state))
        return;
    uninterrupted_begin(&kept);
    images_call_ends(core.parts.images, module);
    uninterrupted_end(&kept);
    work_ends(state, OWN_NONE);
}
