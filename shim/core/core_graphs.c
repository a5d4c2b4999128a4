/* core_graphs.c - what the back ends report of CUDA graphs. */
#include "core/core_state.h"
#include "graph/bodies.h"
#include "graph/captured.h"
#include "graph/graphs.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_trace.h"

/* As work_begins, where there are graphs. */
static bool graph_work_begins(int *state)
{
    return core.parts.graphs && work_begins(state);
}

/* As graph_work_begins, where library calls were captured. */
static bool captured_work_begins(int *state)
{
    return core.parts.graphs && captured_any(graphs_captured(core.parts.graphs)) &&
           work_begins(state);
}

/* As graph_work_begins, where library calls were captured or conditional nodes made. */
static bool template_work_begins(int *state)
{
    return core.parts.graphs &&
           (captured_any(graphs_captured(core.parts.graphs)) ||
            bodies_any(graphs_bodies(core.parts.graphs))) &&
           work_begins(state);
}

void core_capture_ended(CUgraph graph)
{
    int state;
    if (!captured_work_begins(&state))
        return;
    captured_ended(graphs_captured(core.parts.graphs), graph);
    work_ends(state, OWN_NONE);
}

void core_graph_cloned(CUgraph graph, CUgraph clone)
{
    int state;
    if (!captured_work_begins(&state))
        return;
    captured_copied(graphs_captured(core.parts.graphs), graph, clone, clone);
    work_ends(state, OWN_NONE);
}

void core_graph_child_added(CUgraph graph, CUgraphNode node, CUgraph child)
{
    int state;
    CUgraph copy = NULL;
    if (!captured_work_begins(&state))
        return;
    if (cuda.cuGraphChildGraphNodeGetGraph && !cuda.cuGraphChildGraphNodeGetGraph(node, &copy))
        captured_copied(graphs_captured(core.parts.graphs), child, copy, graph);
    work_ends(state, OWN_NONE);
}

void core_graph_bodies_added(CUgraph graph, CUgraphNode node, const CUgraph *body, unsigned count)
{
    int state;
    if (!graph_work_begins(&state))
        return;
    bodies_added(graphs_bodies(core.parts.graphs), graph, node, body, count);
    work_ends(state, OWN_NONE);
}

void core_graph_destroyed(CUgraph graph)
{
    int state;
    if (!template_work_begins(&state))
        return;
    bodies_gone(graphs_bodies(core.parts.graphs), graph);
    captured_gone(graphs_captured(core.parts.graphs), graph);
    work_ends(state, OWN_NONE);
}

void core_graph_node_destroyed(CUgraphNode node)
{
    int state;
    if (!template_work_begins(&state))
        return;
    bodies_removed(graphs_bodies(core.parts.graphs), node);
    captured_removed(graphs_captured(core.parts.graphs), node);
    work_ends(state, OWN_NONE);
}

void core_graph_node_changed(CUgraphNode node)
{
    int state;
    if (!captured_work_begins(&state))
        return;
    captured_changed(graphs_captured(core.parts.graphs), node);
    work_ends(state, OWN_NONE);
}

void core_graph_made(CUgraphExec exec, CUgraph graph, uint64_t flags)
{
    int state;
    if (!graph_work_begins(&state))
        return;
    graphs_made(core.parts.graphs, exec, graph, flags);
    work_ends(state, OWN_NONE);
}

void core_graph_updated(CUgraphExec exec, CUgraph graph)
{
    int state;
    if (!graph_work_begins(&state))
        return;
    graphs_updated(core.parts.graphs, exec, graph);
    work_ends(state, OWN_NONE);
}

void core_graph_gone(CUgraphExec exec)
{
    int state;
    if (!graph_work_begins(&state))
        return;
    graphs_gone(core.parts.graphs, exec);
    work_ends(state, OWN_NONE);
}

void core_graph_node_set(CUgraphExec exec, CUgraphNode node, enum core_node kind,
                         const void *params, CUcontext context)
{
    static const enum graph_change changes[] = {
        [CORE_NODE_KERNEL_OLD] = GRAPH_KERNEL_OLD,
        [CORE_NODE_KERNEL] = GRAPH_KERNEL,
        [CORE_NODE_MEMCPY] = GRAPH_MEMCPY,
        [CORE_NODE_MEMSET] = GRAPH_MEMSET,
        [CORE_NODE_HOST] = GRAPH_HOST,
        [CORE_NODE_EVENT_RECORD] = GRAPH_EVENT_RECORD,
        [CORE_NODE_EVENT_WAIT] = GRAPH_EVENT_WAIT,
        [CORE_NODE_MEMOPS] = GRAPH_MEMOPS,
        [CORE_NODE_ANY] = GRAPH_ANY,
        [CORE_NODE_CHILD] = GRAPH_CHILD,
        [CORE_NODE_OTHER] = GRAPH_OTHER,
    };
    const struct graph_new_params new = {changes[kind], params, context};
    int state;
    if (!graph_work_begins(&state))
        return;
    graphs_node_set(core.parts.graphs, exec, node, &new);
    work_ends(state, OWN_NONE);
}

void core_graph_node_enabled(CUgraphExec exec, CUgraphNode node, bool enabled)
{
    int state;
    if (!graph_work_begins(&state))
        return;
    graphs_node_enabled(core.parts.graphs, exec, node, enabled);
    work_ends(state, OWN_NONE);
}

void core_graphs_redirected(void)
{
    if (core.parts.graphs)
        graphs_redirected(core.parts.graphs);
}

CUgraphExec core_graph_trial(CUgraphExec exec)
{
    return graphs_trial_enter(exec);
}

CUgraphExec core_graph_launch_enter(CUgraphExec exec, CUstream stream, CUcontext context)
{
    int state;
    if (!graph_work_begins(&state))
        return exec;
    if (core.parts.pipeline->trace)
        pipeline_trace_graph_begins(core.parts.pipeline, exec, stream, context);
    const void **launched_on = core_graph_stream();
    if (launched_on)
        *launched_on = stream;
    recent_slow(RECENT_GRAPH, stream);
    exec = graphs_launch_enter(core.parts.graphs, exec, (const void *)(uintptr_t)stream, context);
    work_ends(state, OWN_NONE);
    return exec;
}

/* Waits for the graph where each launch is waited for; reports a refused one. */
static void report_launch(CUresult result, struct api_error *graph)
{
    const void **launched_on = core_graph_stream();
    if (result != CUDA_SUCCESS)
        pipeline_api_failed(core.parts.pipeline, "cuGraphLaunch", result, NULL);
    else if (core.parts.pipeline->sync && launched_on)
        pipeline_sync(core.parts.pipeline, &(struct launch){.stream = *launched_on}, graph);
}

/* Also of a muted core: what enter has begun is ended. */
void core_graph_launch_exit(CUresult result)
{
    if (!core.parts.graphs) {
        core_launch_counted(SKIP_GRAPH, result);
        return;
    }
    if (!graphs_launch_open())
        return;
    struct api_error graph = {.at = "a CUDA graph"};
    int state = uncancelled_begin();
    own_thread.work = OWN_WORK;
    if (core.parts.pipeline->sync)
        graph.names = graphs_launch_names(graph.name, API_ERROR_NAMES);
    graphs_launch_exit(core.parts.graphs, result);
    if (core.parts.pipeline->trace)
        pipeline_trace_graph_ends(core.parts.pipeline, result != CUDA_SUCCESS);
    report_launch(result, &graph);
    work_ends(state, OWN_NONE);
}
