/*
 * core.h - the interface between the back ends, which intercept the program's driver calls, and the
 * core, which checks them. A back end (hook/) includes nothing else of the core.
 *
 * Every function here is called on the thread of the program that made the call, and returns soon:
 * no wait, no lock shared with the collector (exceptions: a kernel's first launch, a context's
 * first check and its end). Driver calls made inside are marked as the library's own:
 * core_occupied() is true meanwhile, and a back end then passes the call on without reporting it.
 *
 * A launch, in the driver call's wrapper or at its callbacks:
 *
 *     kernel = core_probe(handle, symbol)        counted already? (CORE_COUNTED)
 *     core_passes(kernel, shape)                 or passed over by the gates?
 *     *core_launch() = ... core_launch_enter()   else: decoded, perhaps sampled
 *     the real launch
 *     core_launch_exit(result)                   where core_launch_open(), else core_launch_unread
 *     core_launch_refused(launch, result)        of a counted launch that failed
 */
#ifndef CORE_H
#define CORE_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>
#include "bind/tensor_maps.h"
#include "core/core_probe.h"
#include "value/skip.h"

struct graphs;
struct images;
struct pipeline;

/* What stands behind the door; lives as long as the process. */
struct core_parts {
    struct pipeline *pipeline;
    struct images *images;     /* NULL: no bundle has one */
    struct graphs *graphs;     /* NULL: graph launches are counted, and not entered */
    bool calls;                /* the registry names library calls */
    int end_wait_ms;           /* for a context that ends: how long checks may take to finish */
    void (*ready)(void *user); /* cuInit is over: exit handlers registered now run before CUDA's */
    void *user;
};

/* Before a back end starts. */
void core_start(const struct core_parts *parts);

/* From now on nothing is counted or checked, but for launches that are open. Any thread; used at
 * exit and in forked children. */
void core_mute(void);

/* ---- launches ---- */

/* The calling thread's launch, to be filled in before core_launch_enter; all of it. NULL: no
 * memory for it, and the launch goes to core_launch_unread. */
struct launch *core_launch(void);

/* core_launch() begins. `kernel`: core_probe's answer. True: it was passed over, and is counted, as
 * by core_probe; otherwise it is open until core_launch_exit, or, inside a library call,
 * counted by core_launch_unread. */
bool core_launch_enter(uintptr_t kernel);

/* Whether the calling thread is between enter and exit of a launch: in a signal handler, then, or
 * in a back end. */
bool core_launch_open(void);
void core_launch_exit(CUresult result);

/* A launch that was counted and that the driver then refused. */
void core_launch_refused(struct launch *launch, CUresult result);

/* A launch that is not open: its grid, block or handles make none, or it is part of a call. */
void core_launch_unread(struct launch *launch, CUresult result);

/* A call that launches kernels that are not seen one by one. */
void core_launch_counted(enum skip skip, CUresult result);

/* What the back end took of a launch that was passed over, in ns; for the accounts. */
void core_timed(int64_t ns);

/* A call that waits returned an error; `stream` is the one that it waited for, NULL: another thing.
 * Reported where it is the error of work that was launched before. */
void core_api_failed(const char *api, CUresult result, CUstream stream);

/* ---- calls of libraries (shim/call/) ---- */

/* Whether a call that begins now on the calling thread may be checked: the registry names calls,
 * and the thread is inside of none. */
bool core_call_wanted(void);

/*
 * A library call begins, as a launch: `call->symbol` is the call's name, `call->function` a handle
 * of that name, `call->params` its arguments, `call->call` their layout. Returns whether
 * core_call_exit is due. Kernels launched in between are counted as part of the call. A call that
 * no entry names is left alone: its kernels are launches, calls inside it are calls.
 */
bool core_call_enter(const struct launch *call);
void core_call_exit(CUresult result);

/* Whether the calling thread is between the two. */
bool core_call_open(void);

/* ---- graphs (shim/graph/) ---- */

/* After success: `exec` was instantiated from `graph`, which the program may destroy next. `flags`:
 * of the instantiation. */
void core_graph_made(CUgraphExec exec, CUgraph graph, uint64_t flags);

/* After success: cuGraphExecUpdate. */
void core_graph_updated(CUgraphExec exec, CUgraph graph);

/* Before the driver destroys it: the handle may be another graph's right after. */
void core_graph_gone(CUgraphExec exec);

/* Library calls are followed through the program's templates. After success: a capture ended with
 * `graph`; `clone` was made of `graph`; `node` of `graph` was made, of the child graph `child`. */
void core_capture_ended(CUgraph graph);
void core_graph_cloned(CUgraph graph, CUgraph clone);
void core_graph_child_added(CUgraph graph, CUgraphNode node, CUgraph child);

/* After success: a conditional node of `graph` was made, with so many body graphs. */
void core_graph_bodies_added(CUgraph graph, CUgraphNode node, const CUgraph *body, unsigned count);

/* Before the driver destroys them; after success: a template's node has new parameters. */
void core_graph_destroyed(CUgraph graph);
void core_graph_node_destroyed(CUgraphNode node);
void core_graph_node_changed(CUgraphNode node);

/* Which parameters a node of an executable graph was given; of events the CUevent. */
enum core_node {
    CORE_NODE_KERNEL_OLD, /* CUDA_KERNEL_NODE_PARAMS_v1 */
    CORE_NODE_KERNEL,     /* CUDA_KERNEL_NODE_PARAMS_v2 */
    CORE_NODE_MEMCPY,
    CORE_NODE_MEMSET,
    CORE_NODE_HOST,
    CORE_NODE_EVENT_RECORD,
    CORE_NODE_EVENT_WAIT,
    CORE_NODE_MEMOPS,
    CORE_NODE_ANY,   /* CUgraphNodeParams: cuGraphExecNodeSetParams */
    CORE_NODE_CHILD, /* the CUgraph whose nodes' parameters the child graph's get */
    CORE_NODE_OTHER, /* semaphores */
};

/* After success. `context`: of copies and sets. */
void core_graph_node_set(CUgraphExec exec, CUgraphNode node, enum core_node kind,
                         const void *params, CUcontext context);
void core_graph_node_enabled(CUgraphExec exec, CUgraphNode node, bool enabled);

/* A back end that does not launch what core_graph_launch_enter gives for certain passes launches
 * that are the library's own to this: another graph during a trial. */
CUgraphExec core_graph_trial(CUgraphExec exec);

/* The back end launches what core_graph_launch_enter returns, for certain: no trial. */
void core_graphs_redirected(void);

/* Around a replay: enter returns what is launched in its place, `exec` or a twin. `stream` is
 * explicit: legacy and per-thread default streams are spelt out. */
CUgraphExec core_graph_launch_enter(CUgraphExec exec, CUstream stream, CUcontext context);
void core_graph_launch_exit(CUresult result);

/* ---- waits, contexts, modules ---- */

/* The program enters or leaves a call that waits for the whole context. */
void core_wait_begins(CUcontext context);
void core_wait_ends(CUcontext context);

/* cuInit is over. */
void core_init_finished(void);

/* A context is there; for one that is known already nothing happens. */
void core_context_created(CUcontext context);

/* The program is going to end the context: what is under way is finished, for a bounded time. */
void core_context_ending(CUcontext context);

/* The context is about to be destroyed: all work and memory of cuvet in it ends. */
void core_context_going(CUcontext context);

/* A module was loaded: `image` as the driver runs it. `id`: of the module, in its context. */
void core_module_loaded(CUcontext context, uint32_t id, const void *image, size_t bytes);
void core_module_unloading(CUcontext context, uint32_t id);

/* The program has called for a module or a library to be unloaded, and the driver has not begun:
 * waits while the collector looks into modules. Part of core_image_taken. */
void core_unload_begins(void);

/* core_module_loaded for a module that is loaded inside a driver call that cuvet makes. */
void core_module_loaded_within(CUcontext context, uint32_t id, const void *image, size_t bytes);

/* A module was loaded from `image`, as the program passed it to the driver; or, `context` NULL, a
 * library. NULL: the image is not known. */
void core_image_given(const void *module, CUcontext context, const void *image);
/* The same from a file. */
void core_image_file(const void *module, CUcontext context, const char *path);
void core_image_taken(const void *module);

/* After success: cuTensorMapEncodeTiled. */
void core_tensor_map(const struct tensor_map_call *call);

/* Around a driver call that returns or takes a CUmodule: the one module that is reported in between
 * is that one. NULL: it is not known. */
void core_module_call_begins(void);
void core_module_call_ends(CUmodule module);

#endif
