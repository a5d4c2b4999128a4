/*
 * trial.c - does the driver do what twins rest on? Tried on two graphs of ours, each of which sets
 * a word of memory of its own.
 *
 * One is launched, and the hook puts the other one in its place: CUPTI's documentation calls the
 * parameters of a call read-only. The other one has two copy nodes, both disabled; of one the
 * executable graph is then given another kernel and other parameters, and it is enabled.
 */
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "graph/graph.h"
#include "graph/graphs.h"

enum { WAIT_MS = 2000, SEALS = 2 };

bool trial_driver_serves(void)
{
    return cuda.cuFuncGetName && cuda.cuKernelGetName && cuda.cuEventCreate && cuda.cuEventQuery &&
           cuda.cuEventRecord && cuda.cuStreamWaitEvent && cuda.cuGraphAddDependencies_v2 &&
           cuda.cuGraphAddKernelNode_v2 && cuda.cuGraphAddMemsetNode &&
           cuda.cuGraphChildGraphNodeGetGraph && cuda.cuGraphClone && cuda.cuGraphCreate &&
           cuda.cuGraphDestroy && cuda.cuGraphExecDestroy &&
           cuda.cuGraphExecKernelNodeSetParams_v2 && cuda.cuGraphGetNodes &&
           cuda.cuGraphInstantiateWithFlags && cuda.cuGraphKernelNodeGetParams_v2 &&
           cuda.cuGraphKernelNodeSetParams_v2 && cuda.cuGraphLaunch &&
           cuda.cuGraphNodeGetDependencies_v2 && cuda.cuGraphNodeGetDependentNodes_v2 &&
           cuda.cuGraphNodeGetType && cuda.cuGraphNodeSetEnabled;
}

/* In the staging memory. */
struct trial_memory {
    uint32_t word[2], ticket[SEALS];
    struct snapshot_seal seal[SEALS];
};

static _Thread_local CUgraphExec trial_from, trial_to;

CUgraphExec graphs_trial_enter(CUgraphExec exec)
{
    return exec == trial_from ? trial_to : exec;
}

struct trial_graph {
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode seal[SEALS];
};

/* A copy kernel that copies nothing, and seals. */
static void describe_trial(CUDA_KERNEL_NODE_PARAMS_v2 *node, struct snapshot_header *header,
                           const struct side *side, int which, uint64_t sequence)
{
    const uint64_t at = side->staging, seal = at + offsetof(struct trial_memory, seal);
    const uint64_t ticket = at + offsetof(struct trial_memory, ticket);
    *header = (struct snapshot_header){
        .sequence = sequence,
        .seal = (struct snapshot_seal *)(uintptr_t)(seal +
                                                    (uint64_t)which * sizeof(struct snapshot_seal)),
        .ticket = (uint32_t *)(uintptr_t)(ticket + (uint64_t)which * sizeof(uint32_t)),
        .base = at,
        .seals = 1,
    };
    *node = (CUDA_KERNEL_NODE_PARAMS_v2){.func = side->kernel.snapshot_few,
                                         .gridDimX = 1,
                                         .gridDimY = 1,
                                         .gridDimZ = 1,
                                         .blockDimX = SNAPSHOT_THREADS + SNAPSHOT_CLERKS,
                                         .blockDimY = 1,
                                         .blockDimZ = 1};
}

static enum status add_seal(struct trial_graph *made, const struct side *side, int which,
                            struct error *err)
{
    struct snapshot_call_few call;
    CUDA_KERNEL_NODE_PARAMS_v2 node;
    void *params[] = {&call};
    memset(&call, 0, sizeof(call));
    describe_trial(&node, &call.header, side, which, 1);
    node.kernelParams = params;
    return cuda_check(err,
                      cuda.cuGraphAddKernelNode_v2(&made->seal[which], made->graph, NULL, 0, &node),
                      "cuGraphAddKernelNode");
}

static enum status make(struct trial_graph *made, const struct side *side, uint64_t word, int seals,
                        struct error *err)
{
    CUgraphNode node;
    CUDA_MEMSET_NODE_PARAMS set = {
        .dst = word, .value = 1, .elementSize = 4, .width = 1, .height = 1};
    enum status status = cuda_check(err, cuda.cuGraphCreate(&made->graph, 0), "cuGraphCreate");
    if (!status)
        status = cuda_check(
            err, cuda.cuGraphAddMemsetNode(&node, made->graph, NULL, 0, &set, side->context),
            "cuGraphAddMemsetNode");
    for (int i = 0; i < seals && !status; i++)
        status = add_seal(made, side, i, err);
    if (!status)
        status = cuda_check(err, cuda.cuGraphInstantiateWithFlags(&made->exec, made->graph, 0),
                            "cuGraphInstantiate");
    for (int i = 0; i < seals && !status; i++)
        status = cuda_check(err, cuda.cuGraphNodeSetEnabled(made->exec, made->seal[i], 0),
                            "cuGraphNodeSetEnabled");
    return status;
}

static void unmake(struct trial_graph *made)
{
    if (made->exec)
        cuda.cuGraphExecDestroy(made->exec);
    if (made->graph)
        cuda.cuGraphDestroy(made->graph);
}

/* Another kernel with other parameters, for the first of the two nodes alone. */
static enum status arm(struct trial_graph *made, const struct side *side, struct error *err)
{
    struct snapshot_call call;
    CUDA_KERNEL_NODE_PARAMS_v2 node;
    void *params[] = {&call};
    memset(&call, 0, sizeof(call));
    describe_trial(&node, &call.header, side, 0, 2);
    node.func = side->kernel.snapshot;
    node.kernelParams = params;
    if (cuda_check(err, cuda.cuGraphExecKernelNodeSetParams_v2(made->exec, made->seal[0], &node),
                   "cuGraphExecKernelNodeSetParams"))
        return STATUS_DRIVER;
    return cuda_check(err, cuda.cuGraphNodeSetEnabled(made->exec, made->seal[0], 1),
                      "cuGraphNodeSetEnabled");
}

static enum status await_trial(CUstream stream, struct error *err)
{
    const struct timespec nap = {.tv_nsec = 100000};
    CUresult result = CUDA_SUCCESS;
    int64_t end = clock_ns() + WAIT_MS * 1000000ll;
    while ((result = cuda.cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY && clock_ns() < end)
        nanosleep(&nap, NULL);
    return cuda_check(err, result, "a launch of a graph of ours");
}

/* Launches the first of two, with the second in its place; `direct`: the second by itself. */
static enum status launch_trial(const struct side *side, const struct trial_graph made[2],
                                bool direct, struct error *err)
{
    trial_from = made[0].exec;
    trial_to = made[1].exec;
    CUresult result = cuda.cuGraphLaunch(made[direct].exec, side->stream);
    trial_from = trial_to = NULL;
    return cuda_check(err, result, "cuGraphLaunch");
}

static enum status try(struct side *side, struct trial_graph made[2], bool direct,
                       struct trial_memory *found, struct error *err)
{
    enum status status =
        cuda_check(err, cuda.cuMemsetD8Async(side->staging, 0, sizeof(*found), side->stream),
                   "cuMemsetD8Async");
    for (unsigned i = 0; i < 2 && !status; i++)
        status = make(&made[i], side, side->staging + i * sizeof(uint32_t), i ? SEALS : 0, err);
    if (!status)
        status = arm(&made[1], side, err);
    if (!status)
        status = launch_trial(side, made, direct, err);
    if (!status)
        status = cuda_check(
            err,
            cuda.cuMemcpyDtoHAsync(side->staging_host, side->staging, sizeof(*found), side->stream),
            "cuMemcpyDtoHAsync");
    if (!status)
        status = await_trial(side->stream, err);
    if (!status)
        memcpy(found, side->staging_host, sizeof(*found));
    return status;
}

bool trial_run(struct side *side, bool direct, struct error *err)
{
    struct trial_graph made[2] = {{0}};
    struct trial_memory found;
    enum status status = side_staging(side, err);
    if (!status)
        status = side_staging_host(side, err);
    if (!status)
        status = try(side, made, direct, &found, err);
    unmake(&made[0]);
    unmake(&made[1]);
    if (status)
        return false;
    if (found.word[0] || !found.word[1])
        error_set(err, STATUS_UNSUPPORTED, "a launch of a graph cannot be redirected to another");
    else if (found.seal[0].sequence != 2 || found.seal[1].sequence)
        error_set(err, STATUS_UNSUPPORTED,
                  "nodes of an executable graph do not take other kernels, or cannot be disabled");
    return !err->text[0];
}
