/*
 * program.c - kernels in graphs: `program FATBIN global|relaxed|explicit|legacy`.
 *
 *   global, relaxed  captured from a stream in that mode, beside launches of another thread
 *   explicit         a graph built node by node
 *   legacy           captured from a blocking stream, with launches on the legacy stream around it
 */
#include "common/program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 3, COLS = 90, LAUNCHES = 4 };

static struct norm norm;
static CUstream stream;
static atomic_bool captured;

static void *launch_beside(void *user)
{
    struct norm *own = user;
    CUstream beside;
    int launches = 0;
    CHECK(cuCtxSetCurrent(context));
    CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
    CHECK(cuThreadExchangeStreamCaptureMode(&relaxed));
    CHECK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
    while (launches < 20 || !atomic_load(&captured)) {
        if (launches < 20)
            norm_launch("norm_other", own, beside);
        launches++;
    }
    CHECK(cuStreamSynchronize(beside));
    return NULL;
}

static CUgraph capture(CUstreamCaptureMode mode)
{
    CUgraph graph;
    CHECK(cuStreamBeginCapture(stream, mode));
    for (int i = 0; i < LAUNCHES; i++)
        norm_launch(i == 2 ? "norm_wrong" : "norm_right", &norm, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    return graph;
}

static CUgraph build(void)
{
    CUgraph graph;
    CUgraphNode node, last = NULL;
    void *params[] = {&norm.x, &norm.w, &norm.y, &norm.cols, &norm.eps};
    CUDA_KERNEL_NODE_PARAMS what;
    memset(&what, 0, sizeof(what));
    what.func = kernel("norm_right");
    what.gridDimX = ROWS;
    what.gridDimY = what.gridDimZ = 1;
    what.blockDimX = 64;
    what.blockDimY = what.blockDimZ = 1;
    what.kernelParams = params;
    CHECK(cuGraphCreate(&graph, 0));
    for (int i = 0; i < LAUNCHES; i++) {
        CHECK(cuGraphAddKernelNode(&node, graph, last ? &last : NULL, last != NULL, &what));
        last = node;
    }
    return graph;
}

static CUgraph make(const char *how)
{
    CUgraph graph;
    struct norm own = norm_new(ROWS, COLS, 50);
    pthread_t thread;
    if (!strcmp(how, "explicit"))
        return build();
    if (!strcmp(how, "legacy")) {
        norm_launch("norm_other", &own, NULL);
        graph = capture(CU_STREAM_CAPTURE_MODE_GLOBAL);
        norm_launch("norm_other", &own, NULL);
    } else {
        pthread_create(&thread, NULL, launch_beside, &own);
        graph = capture(!strcmp(how, "global") ? CU_STREAM_CAPTURE_MODE_GLOBAL
                                               : CU_STREAM_CAPTURE_MODE_RELAXED);
        atomic_store(&captured, true);
        pthread_join(thread, NULL);
    }
    norm_print("beside", &own);
    return graph;
}

int main(int argc, char **argv)
{
    CUgraphExec ready;
    size_t nodes = 0;
    start(argc, argv);
    const char *how = word(0);
    CHECK(cuStreamCreate(&stream,
                         strcmp(how, "legacy") ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
    norm = norm_new(ROWS, COLS, 1);
    norm_launch("norm_right", &norm, stream); /* known before it is captured */
    CHECK(cuStreamSynchronize(stream));
    CUgraph graph = make(how);
    CHECK(cuGraphGetNodes(graph, NULL, &nodes));
    printf("%zu nodes\n", nodes);
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    fill(norm.y, ROWS * COLS, 77);
    for (int i = 0; i < 3; i++)
        CHECK(cuGraphLaunch(ready, stream));
    CHECK(cuStreamSynchronize(stream));
    norm_print("replayed", &norm);
    CHECK(cuGraphExecDestroy(ready));
    CHECK(cuGraphDestroy(graph));
    norm_launch("norm_right", &norm, stream);
    norm_print("after", &norm);
    CHECK(cuStreamDestroy(stream));
    finish();
    return 0;
}
