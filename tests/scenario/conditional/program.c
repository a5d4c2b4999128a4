/*
 * program.c - a loop inside a graph: `program FATBIN TURNS`. Each launch runs the body so often.
 *
 * Prints what the loop has left.
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, COLS = 90, LAUNCHES = 10 };

static CUgraphNode add(CUgraph graph, const CUgraphNode *behind, const char *name, unsigned grid,
                       unsigned block, void **params)
{
    CUgraphNode node;
    CUDA_KERNEL_NODE_PARAMS what;
    memset(&what, 0, sizeof(what));
    what.func = kernel(name);
    what.gridDimX = grid;
    what.gridDimY = what.gridDimZ = 1;
    what.blockDimX = block;
    what.blockDimY = what.blockDimZ = 1;
    what.kernelParams = params;
    CHECK(cuGraphAddKernelNode(&node, graph, behind, behind != NULL, &what));
    return node;
}

static CUgraph build(CUdeviceptr left, CUdeviceptr total, int turns)
{
    CUgraph graph;
    CUgraphNode set, loop;
    CUgraphNodeParams any;
    CUDA_MEMSET_NODE_PARAMS what = {
        .dst = left, .value = (unsigned)turns, .elementSize = 4, .width = 1, .height = 1};
    struct norm norm = norm_new(ROWS, COLS, 1);
    int count = ROWS * COLS;
    void *norm_params[] = {&norm.x, &norm.w, &norm.y, &norm.cols, &norm.eps};
    void *update_params[] = {&total, &norm.y, &count};
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemsetNode(&set, graph, NULL, 0, &what, context));
    memset(&any, 0, sizeof(any));
    any.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    any.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    any.conditional.size = 1;
    any.conditional.ctx = context;
    CHECK(cuGraphConditionalHandleCreate(&any.conditional.handle, graph, context, turns > 0,
                                         CU_GRAPH_COND_ASSIGN_DEFAULT));
    CHECK(cuGraphAddNode_v2(&loop, graph, &set, NULL, 1, &any));
    void *end_params[] = {&any.conditional.handle, &left};
    CUgraph body = any.conditional.phGraph_out[0];
    CUgraphNode last = add(body, NULL, "norm_wrong", ROWS, 64, norm_params);
    last = add(body, &last, "update", 4, 64, update_params);
    add(body, &last, "count_down", 1, 1, end_params);
    return graph;
}

int main(int argc, char **argv)
{
    CUstream stream;
    CUgraphExec ready, second;
    CUgraph copy;
    start(argc, argv);
    CUdeviceptr left = upload(1, 1), total = upload(ROWS * COLS, 7);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUgraph graph = build(left, total, atoi(word(0)));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    printf("a copy of it: %d, a second one: %d\n", (int)cuGraphClone(&copy, graph),
           (int)cuGraphInstantiate(&second, graph, 0));
    for (int i = 0; i < LAUNCHES; i++)
        CHECK(cuGraphLaunch(ready, stream));
    CHECK(cuStreamSynchronize(stream));
    print_sum("left", left, 4);
    print_sum("total", total, ROWS * COLS * sizeof(float));
    CHECK(cuGraphExecDestroy(ready));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamDestroy(stream));
    finish();
    return 0;
}
