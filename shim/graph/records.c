/* records.c - for `cuvet discover`: what the kernel nodes of the program's graphs are launched
 * with. */
#include "graph/graph.h"
#include "graph/graphs.h"

#include <string.h>
#include "pipeline/pipeline_trace.h"

/* Kernels without an entry alone: what others are launched with is known. */
static struct known_kernel *recorded_kernel(const struct graph *graph,
                                            const struct graph_node *node)
{
    const struct graph_count *count = node->count < 0 ? NULL : &graph->count[node->count];
    return count && count->kernel && !count->spec ? count->kernel : NULL;
}

static void record(const struct pipeline *pipeline, struct known_kernel *kernel,
                   const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
    CUcontext context = params->ctx;
    struct launch launch;
    if (!context && cuda.cuCtxGetCurrent)
        cuda.cuCtxGetCurrent(&context);
    launch_of_node(params, kernel, &launch);
    launch.context = context;
    pipeline_record_node(pipeline, &launch, kernel);
}

void graph_record(const struct graph *graph, const struct pipeline *pipeline)
{
    for (uint32_t i = 0; i < graph->nodes && pipeline->recorder; i++) {
        CUDA_KERNEL_NODE_PARAMS_v2 params = {0};
        struct known_kernel *kernel = recorded_kernel(graph, &graph->node[i]);
        if (kernel && !cuda.cuGraphKernelNodeGetParams_v2(graph->node[i].program, &params))
            record(pipeline, kernel, &params);
    }
}

void graph_record_set(struct graph *graph, const struct pipeline *pipeline, CUgraphNode program,
                      const struct graph_new_params *new)
{
    const struct graph_node *node = pipeline->recorder ? graph_find_node(graph, program) : NULL;
    struct known_kernel *kernel = node ? recorded_kernel(graph, node) : NULL;
    CUDA_KERNEL_NODE_PARAMS_v2 params = {0};
    const CUgraphNodeParams *any = new->params;
    if (!kernel)
        return;
    if (new->change == GRAPH_KERNEL_OLD)
        memcpy(&params, new->params, sizeof(CUDA_KERNEL_NODE_PARAMS_v1));
    else if (new->change == GRAPH_KERNEL)
        memcpy(&params, new->params, sizeof(params));
    else if (new->change == GRAPH_ANY)
        memcpy(&params, &any->kernel, sizeof(params));
    if (params.func || params.kern)
        record(pipeline, kernel, &params);
}
