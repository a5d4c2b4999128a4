/*
 * program.c - graphs that the program edits while it launches them: `program FATBIN HOW right|wrong
 * [REPLAYS]`. HOW:
 *
 *   nodes      built node by node, of every kind; before each launch new parameters, nodes switched
 *   early      the same, where each kernel may start before the one in front of it has ended
 *   child      the kernels are in a child graph, which gets new parameters as a whole
 *   captures   captured anew before each launch and updated; instantiated where that is refused
 *   another    a node gets another kernel, and the first one again
 *   unnamed    two nodes in turn get a kernel without an entry
 *   updatable  a kernel node whose parameters kernels may change
 *   condition  some kernels are in the body of a conditional node
 *
 * Prints the sums of what the launches have left, eight times.
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, COLS = 90, NORMS = 3, BYTES = ROWS * COLS * sizeof(float) };

static struct norm norm[NORMS];
static CUstream stream;
static CUevent recorded[2], waited[2];
static CUdeviceptr total, source[2], scratch, word_at, spare;
static const char *wrong;
static int added[2] = {1, 10}, host_sum;

/* The nodes that are edited. */
enum { SET, COPY, NORM_0, NORM_1, NORM_2, UPDATE, RECORD, WAIT, MEMOP, HOST, NODES };
static CUgraphNode node[NODES];

static void add_on_host(void *number)
{
    host_sum += *(const int *)number;
}

/* ---- the parameters of each node at launch `turn` ---- */

static CUDA_KERNEL_NODE_PARAMS describe_kernel(const char *name, unsigned grid, void **params)
{
    CUDA_KERNEL_NODE_PARAMS what;
    memset(&what, 0, sizeof(what));
    what.func = kernel(name);
    what.gridDimX = grid;
    what.gridDimY = what.gridDimZ = 1;
    what.blockDimX = 64;
    what.blockDimY = what.blockDimZ = 1;
    what.kernelParams = params;
    return what;
}

static const char *name_of(int i)
{
    if (i == 1 && !strcmp(word(0), "unnamed"))
        return "plain";
    return i == 2 ? wrong : "norm_right";
}

static CUDA_KERNEL_NODE_PARAMS describe_norm(int i, int turn, void **params)
{
    static CUdeviceptr y;
    y = turn % 2 && i == 1 ? spare : norm[i].y;
    params[0] = &norm[i].x;
    params[1] = &norm[i].w;
    params[2] = &y;
    params[3] = &norm[i].cols;
    params[4] = &norm[i].eps;
    return describe_kernel(name_of(i), ROWS, params);
}

static CUDA_KERNEL_NODE_PARAMS describe_update(int turn, void **params)
{
    static int count = ROWS * COLS;
    params[0] = &total;
    params[1] = turn % 3 ? &norm[0].y : &norm[1].y;
    params[2] = &count;
    return describe_kernel("update", 4, params);
}

static CUDA_MEMCPY3D describe_copy(int turn)
{
    CUDA_MEMCPY3D copy;
    memset(&copy, 0, sizeof(copy));
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = source[turn % 2];
    copy.dstDevice = norm[0].x;
    copy.WidthInBytes = BYTES;
    copy.Height = copy.Depth = 1;
    return copy;
}

static CUDA_MEMSET_NODE_PARAMS describe_set(int turn)
{
    CUDA_MEMSET_NODE_PARAMS set = {
        .dst = scratch, .value = (unsigned)turn, .elementSize = 4, .width = 16, .height = 1};
    return set;
}

static CUDA_BATCH_MEM_OP_NODE_PARAMS describe_memop(int turn, CUstreamBatchMemOpParams *op)
{
    memset(op, 0, sizeof(*op));
    op->writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op->writeValue.address = word_at;
    op->writeValue.value = (cuuint32_t)turn + 1;
    CUDA_BATCH_MEM_OP_NODE_PARAMS what = {.ctx = context, .count = 1, .paramArray = op};
    return what;
}

static CUDA_HOST_NODE_PARAMS describe_host(int turn)
{
    CUDA_HOST_NODE_PARAMS host = {.fn = add_on_host, .userData = &added[turn % 2]};
    return host;
}

/* ---- nodes ---- */

/* A kernel behind another one, from whose start on it may run. */
static void add_early(CUgraph graph, CUgraphNode behind, const CUDA_KERNEL_NODE_PARAMS *what,
                      CUgraphNode *out)
{
    const CUgraphEdgeData edge = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                                  .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
    CHECK(cuGraphAddKernelNode(out, graph, NULL, 0, what));
    CHECK(cuGraphAddDependencies_v2(graph, &behind, out, &edge, 1));
}

/* The norms are independent of each other; what is behind them waits for all. */
static CUgraph build_nodes(bool early)
{
    CUgraph graph;
    CUgraphNode empty;
    void *params[5];
    CUstreamBatchMemOpParams op;
    CUDA_MEMSET_NODE_PARAMS set = describe_set(0);
    CUDA_MEMCPY3D copy = describe_copy(0);
    CUDA_BATCH_MEM_OP_NODE_PARAMS memop = describe_memop(0, &op);
    CUDA_HOST_NODE_PARAMS host = describe_host(0);
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemsetNode(&node[SET], graph, NULL, 0, &set, context));
    CHECK(cuGraphAddMemcpyNode(&node[COPY], graph, &node[SET], 1, &copy, context));
    CHECK(cuGraphAddEmptyNode(&empty, graph, &node[COPY], 1));
    for (int i = 0; i < NORMS; i++) {
        CUDA_KERNEL_NODE_PARAMS what = describe_norm(i, 0, params);
        if (early && i)
            add_early(graph, node[NORM_0 + i - 1], &what, &node[NORM_0 + i]);
        else
            CHECK(cuGraphAddKernelNode(&node[NORM_0 + i], graph, i ? &node[NORM_0 + i - 1] : &empty,
                                       1, &what));
    }
    CUDA_KERNEL_NODE_PARAMS what = describe_update(0, params);
    CHECK(cuGraphAddKernelNode(&node[UPDATE], graph, &node[NORM_0], NORMS, &what));
    CHECK(cuGraphAddEventRecordNode(&node[RECORD], graph, &node[UPDATE], 1, recorded[0]));
    CHECK(cuGraphAddEventWaitNode(&node[WAIT], graph, &node[RECORD], 1, waited[0]));
    CHECK(cuGraphAddBatchMemOpNode(&node[MEMOP], graph, &node[WAIT], 1, &memop));
    CHECK(cuGraphAddHostNode(&node[HOST], graph, &node[MEMOP], 1, &host));
    return graph;
}

/* The second kernel by the function for all kinds of nodes. */
static void set_any(CUgraphExec ready, int turn)
{
    void *params[5];
    CUDA_KERNEL_NODE_PARAMS what = describe_norm(1, turn, params);
    CUgraphNodeParams any;
    memset(&any, 0, sizeof(any));
    any.type = CU_GRAPH_NODE_TYPE_KERNEL;
    memcpy(&any.kernel, &what, sizeof(what));
    CHECK(cuGraphExecNodeSetParams(ready, node[NORM_1], &any));
}

static void edit_nodes(CUgraphExec ready, int turn)
{
    void *params[5];
    CUstreamBatchMemOpParams op;
    CUDA_MEMSET_NODE_PARAMS set = describe_set(turn);
    CUDA_MEMCPY3D copy = describe_copy(turn);
    CUDA_BATCH_MEM_OP_NODE_PARAMS memop = describe_memop(turn, &op);
    CUDA_HOST_NODE_PARAMS host = describe_host(turn);
    CUDA_KERNEL_NODE_PARAMS what = describe_norm(2, turn, params);
    CHECK(cuGraphExecMemsetNodeSetParams(ready, node[SET], &set, context));
    CHECK(cuGraphExecMemcpyNodeSetParams(ready, node[COPY], &copy, context));
    CHECK(cuGraphExecKernelNodeSetParams(ready, node[NORM_2], &what));
    what = describe_update(turn, params);
    CHECK(cuGraphExecKernelNodeSetParams(ready, node[UPDATE], &what));
    set_any(ready, turn);
    CHECK(cuGraphExecEventRecordNodeSetEvent(ready, node[RECORD], recorded[turn % 2]));
    CHECK(cuGraphExecEventWaitNodeSetEvent(ready, node[WAIT], waited[turn % 2]));
    CHECK(cuGraphExecBatchMemOpNodeSetParams(ready, node[MEMOP], &memop));
    CHECK(cuGraphExecHostNodeSetParams(ready, node[HOST], &host));
    CHECK(cuGraphNodeSetEnabled(ready, node[UPDATE], turn % 5 != 3));
    CHECK(cuGraphNodeSetEnabled(ready, node[SET], turn % 7 != 3));
    CHECK(cuGraphNodeSetEnabled(ready, node[COPY], turn % 9 != 3));
}

/* ---- child ---- */

static CUgraph build_inner(int turn)
{
    CUgraph graph;
    CUgraphNode copied, last;
    void *params[5];
    CUDA_MEMCPY3D copy = describe_copy(turn);
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemcpyNode(&copied, graph, NULL, 0, &copy, context));
    for (int i = 0; i < NORMS; i++) {
        CUDA_KERNEL_NODE_PARAMS what = describe_norm(i, turn, params);
        CHECK(cuGraphAddKernelNode(&last, graph, i ? &last : &copied, 1, &what));
    }
    return graph;
}

static CUgraph build_child(void)
{
    CUgraph graph, inner = build_inner(0);
    void *params[5];
    CUDA_KERNEL_NODE_PARAMS what = describe_update(0, params);
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddChildGraphNode(&node[NORM_0], graph, NULL, 0, inner));
    CHECK(cuGraphAddKernelNode(&node[UPDATE], graph, &node[NORM_0], 1, &what));
    CHECK(cuGraphDestroy(inner));
    return graph;
}

static void edit_child(CUgraphExec ready, int turn)
{
    CUgraph inner = build_inner(turn);
    CHECK(cuGraphExecChildGraphNodeSetParams(ready, node[NORM_0], inner));
    CHECK(cuGraphDestroy(inner));
}

/* ---- captures ---- */

static CUgraph capture(int turn)
{
    CUgraph graph;
    struct norm other = norm[1];
    void *params[5];
    if (turn % 2)
        other.y = spare;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    norm_launch("norm_right", &norm[0], stream);
    norm_launch("norm_right", &other, stream);
    norm_launch(wrong, &norm[2], stream);
    if (turn % 40 >= 30) /* another shape for a while */
        norm_launch("norm_other", &norm[0], stream);
    describe_update(turn, params);
    launch(kernel("update"), 4, 64, stream, params);
    CHECK(cuStreamEndCapture(stream, &graph));
    return graph;
}

static CUgraphExec edit_captured(CUgraphExec ready, int turn)
{
    CUgraphExecUpdateResultInfo info;
    CUgraph graph = capture(turn);
    CUresult result = cuGraphExecUpdate(ready, graph, &info);
    if (result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) {
        CHECK(cuGraphExecDestroy(ready));
        CHECK(cuGraphInstantiate(&ready, graph, 0));
    } else {
        CHECK(result);
    }
    CHECK(cuGraphDestroy(graph));
    return ready;
}

/* ---- other kernels, and what no twin can be made of ---- */

static void set_kernel(CUgraphExec ready, int turn, int i, const char *name)
{
    void *params[5];
    CUDA_KERNEL_NODE_PARAMS what = describe_norm(i, turn, params);
    what.func = kernel(name);
    CHECK(cuGraphExecKernelNodeSetParams(ready, node[NORM_0 + i], &what));
}

static void edit_another(CUgraphExec ready, int turn)
{
    const char *other = !strcmp(wrong, "norm_wrong") ? wrong : "norm_other";
    set_kernel(ready, turn, 0, turn % 4 >= 2 ? other : "norm_right");
}

static void edit_unnamed(CUgraphExec ready, int turn)
{
    set_kernel(ready, turn, 0, turn % 4 >= 2 ? "plain" : "norm_right");
    set_kernel(ready, turn, 1, turn % 4 >= 2 ? wrong : "plain");
}

static CUgraph build_updatable(void)
{
    CUlaunchAttributeValue value;
    CUgraph graph = build_nodes(false);
    memset(&value, 0, sizeof(value));
    value.deviceUpdatableKernelNode.deviceUpdatable = 1;
    CHECK(cuGraphKernelNodeSetAttribute(node[NORM_1],
                                        CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value));
    return graph;
}

/* The first kernel, then a body that is run by default, and one that is not. */
static CUgraph build_condition(void)
{
    CUgraph graph;
    CUgraphNode last;
    void *params[5];
    CUDA_KERNEL_NODE_PARAMS what = describe_norm(0, 0, params);
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode(&last, graph, NULL, 0, &what));
    for (unsigned runs = 1; runs < 2; runs--) {
        CUgraphNodeParams any;
        CUgraphNode inside;
        memset(&any, 0, sizeof(any));
        any.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        any.conditional.type = CU_GRAPH_COND_TYPE_IF;
        any.conditional.size = 1;
        any.conditional.ctx = context;
        CHECK(cuGraphConditionalHandleCreate(&any.conditional.handle, graph, context, runs,
                                             CU_GRAPH_COND_ASSIGN_DEFAULT));
        CHECK(cuGraphAddNode_v2(&last, graph, &last, NULL, 1, &any));
        what = describe_norm(1 + (int)runs, 0, params);
        CHECK(cuGraphAddKernelNode(&inside, any.conditional.phGraph_out[0], NULL, 0, &what));
    }
    return graph;
}

/* ---- all of them ---- */

static CUgraph build(const char *how)
{
    if (!strcmp(how, "child"))
        return build_child();
    if (!strcmp(how, "captures"))
        return capture(0);
    if (!strcmp(how, "updatable"))
        return build_updatable();
    return strcmp(how, "condition") ? build_nodes(!strcmp(how, "early")) : build_condition();
}

static CUgraphExec edit(const char *how, CUgraphExec ready, int turn)
{
    if (!strcmp(how, "nodes") || !strcmp(how, "early"))
        edit_nodes(ready, turn);
    else if (!strcmp(how, "child"))
        edit_child(ready, turn);
    else if (!strcmp(how, "captures"))
        ready = edit_captured(ready, turn);
    else if (!strcmp(how, "another"))
        edit_another(ready, turn);
    else if (!strcmp(how, "unnamed"))
        edit_unnamed(ready, turn);
    return ready;
}

static void print_sums(int replay)
{
    char text[64];
    for (int i = 0; i < NORMS; i++) {
        snprintf(text, sizeof(text), "replay %d, y %d", replay, i);
        norm_print(text, &norm[i]);
    }
    print_sum("spare", spare, BYTES);
    print_sum("total", total, BYTES);
    print_sum("scratch", scratch, 64);
    print_sum("word", word_at, 4);
    printf("host %d\n", host_sum);
}

static void make_arrays(void)
{
    for (int i = 0; i < NORMS; i++)
        norm[i] = norm_new(ROWS, COLS, 10 * (unsigned)i + 1);
    total = upload(ROWS * COLS, 7);
    spare = upload(ROWS * COLS, 8);
    scratch = upload(16, 9);
    word_at = upload(1, 10);
    for (unsigned i = 0; i < 2; i++) {
        source[i] = upload(ROWS * COLS, 11 + i);
        CHECK(cuEventCreate(&recorded[i], CU_EVENT_DISABLE_TIMING));
        CHECK(cuEventCreate(&waited[i], CU_EVENT_DISABLE_TIMING));
        CHECK(cuEventRecord(waited[i], stream));
    }
}

int main(int argc, char **argv)
{
    CUgraphExec ready;
    start(argc, argv);
    const char *how = word(0);
    int replays = *word(2) ? atoi(word(2)) : 40;
    wrong = !strcmp(word(1), "wrong") ? "norm_wrong" : "norm_right";
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    make_arrays();
    CUgraph graph = build(how);
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    if (!strcmp(how, "updatable"))
        CHECK(cuGraphUpload(ready, stream));
    for (int i = 0; i < replays; i++) {
        if (i)
            ready = edit(how, ready, i);
        CHECK(cuGraphLaunch(ready, stream));
        if ((i + 1) % (replays < 8 ? 1 : replays / 8) == 0)
            print_sums(i);
    }
    CHECK(cuStreamSynchronize(stream));
    print_sums(replays);
    CHECK(cuGraphExecDestroy(ready));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamDestroy(stream));
    finish();
    return 0;
}
