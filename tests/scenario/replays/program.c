/*
 * program.c - CUDA graphs that are launched many times: `program FATBIN HOW right|wrong [REPLAYS]`.
 * HOW:
 *
 *   captured   from a stream, the template destroyed at once
 *   set        built node by node; parameters of a node change while it is launched
 *   update     captured anew and updated every few launches
 *   switched   a node is disabled and enabled again
 *   child      the kernels are in a child graph
 *   streams    launched on two streams in turn
 *   parallel   two branches beside each other
 *   in_place   a kernel that overwrites what it reads
 *   overlap    the last kernel gets its input as its output
 *   updates    captured anew and updated before each launch
 *   alloc      a graph that allocates memory
 *   threads    each of four threads launches a graph of its own, and makes it anew in between
 *   empty      a graph without nodes
 *   captured_again  launched into a capture, which the driver refuses, then launched
 *
 * Prints the sums of what the launches have left, every few launches.
 */
#include "common/program.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, COLS = 90, LAUNCHES = 4 };

static struct norm norm[LAUNCHES];
static CUstream stream, other;
static CUgraphNode node[LAUNCHES];
static const char *wrong;
static CUdeviceptr total;

static const char *name_of(int i)
{
    return i == 2 ? wrong : "norm_right";
}

static void update_launch(CUstream on)
{
    int count = ROWS * COLS;
    void *params[] = {&total, &norm[0].x, &count};
    launch(kernel("update"), 4, 128, on, params);
}

static CUgraph capture(const char *how)
{
    CUgraph graph;
    if (!strcmp(how, "overlap"))
        norm[3].y = norm[3].x;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < LAUNCHES; i++)
        norm_launch(name_of(i), &norm[i], stream);
    if (!strcmp(how, "in_place"))
        update_launch(stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    return graph;
}

static CUgraph build(const char *how)
{
    CUgraph graph;
    void *params[5];
    bool parallel = !strcmp(how, "parallel");
    CHECK(cuGraphCreate(&graph, 0));
    for (int i = 0; i < LAUNCHES; i++) {
        int before = i - (parallel ? 2 : 1);
        CUDA_KERNEL_NODE_PARAMS what = norm_node(name_of(i), &norm[i], params);
        CHECK(cuGraphAddKernelNode(&node[i], graph, before >= 0 ? &node[before] : NULL, before >= 0,
                                   &what));
    }
    return graph;
}

static CUgraph put_into_child(CUgraph inner)
{
    CUgraph graph;
    CUgraphNode first, child;
    void *params[5];
    CUDA_KERNEL_NODE_PARAMS what = norm_node(name_of(0), &norm[0], params);
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode(&first, graph, NULL, 0, &what));
    CHECK(cuGraphAddChildGraphNode(&child, graph, &first, 1, inner));
    CHECK(cuGraphDestroy(inner));
    return graph;
}

static CUgraph add_allocation(CUgraph graph)
{
    CUgraphNode alloc, done;
    CUDA_MEM_ALLOC_NODE_PARAMS what;
    memset(&what, 0, sizeof(what));
    what.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    what.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    what.bytesize = 4096;
    CHECK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &what));
    CHECK(cuGraphAddMemFreeNode(&done, graph, &alloc, 1, what.dptr));
    return graph;
}

/* A launch into a capture is an error, and so is the end of that capture: with the library as
 * without it. */
static CUgraph refuse_capture(CUgraph graph)
{
    CUgraphExec ready;
    CUgraph broken;
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUresult launched = cuGraphLaunch(ready, stream);
    CUresult ended = cuStreamEndCapture(stream, &broken);
    printf("into a capture: %d, then %d\n", (int)launched, (int)ended);
    CHECK(cuGraphExecDestroy(ready));
    return graph;
}

static CUgraph make(const char *how)
{
    if (!strcmp(how, "set") || !strcmp(how, "switched") || !strcmp(how, "parallel"))
        return build(how);
    if (!strcmp(how, "child"))
        return put_into_child(build(how));
    if (!strcmp(how, "alloc"))
        return add_allocation(build(how));
    if (!strcmp(how, "empty")) {
        CUgraph graph;
        CHECK(cuGraphCreate(&graph, 0));
        return graph;
    }
    if (!strcmp(how, "captured_again"))
        return refuse_capture(build(how));
    return capture(how);
}

/* Other arguments of the same shapes. */
static void change(CUgraphExec ready, int i)
{
    void *params[5];
    CUdeviceptr y = norm[1].y;
    norm[1].y = norm[3].y;
    norm[3].y = y;
    CUDA_KERNEL_NODE_PARAMS what = norm_node(name_of(i), &norm[i], params);
    CHECK(cuGraphExecKernelNodeSetParams(ready, node[i], &what));
}

static void update(CUgraphExec ready)
{
    CUgraphExecUpdateResultInfo info;
    CUdeviceptr y = norm[0].y;
    norm[0].y = norm[1].y;
    norm[1].y = y;
    CUgraph graph = capture("update");
    CHECK(cuGraphExecUpdate(ready, graph, &info));
    CHECK(cuGraphDestroy(graph));
}

static void between(const char *how, CUgraphExec ready, int replay)
{
    if (!strcmp(how, "set") && replay % 5 == 4) {
        change(ready, 1);
        change(ready, 3);
    } else if (!strcmp(how, "updates") || (!strcmp(how, "update") && replay % 10 == 9)) {
        update(ready);
    } else if (!strcmp(how, "switched") && replay % 8 == 7) {
        CHECK(cuGraphNodeSetEnabled(ready, node[2], replay % 16 == 15));
    }
}

static void print_sums(int replay)
{
    char text[64];
    for (int i = 0; i < LAUNCHES; i++) {
        snprintf(text, sizeof(text), "replay %d, y %d", replay, i);
        norm_print(text, &norm[i]);
    }
    print_sum("total", total, ROWS * COLS * sizeof(float));
}

static CUgraphExec capture_one(int i, CUstream on)
{
    CUgraph graph;
    CUgraphExec ready;
    CHECK(cuStreamBeginCapture(on, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    norm_launch(name_of(i), &norm[i], on);
    norm_launch("norm_right", &norm[i], on);
    CHECK(cuStreamEndCapture(on, &graph));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return ready;
}

static void *launch_own(void *user)
{
    int i = (int)((struct norm *)user - norm);
    CUstream own;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    for (int round = 0; round < 4; round++) {
        CUgraphExec ready = capture_one(i, own);
        for (int replay = 0; replay < 10; replay++)
            CHECK(cuGraphLaunch(ready, own));
        CHECK(cuGraphExecDestroy(ready));
    }
    CHECK(cuStreamSynchronize(own));
    CHECK(cuStreamDestroy(own));
    return NULL;
}

static void run_threads(void)
{
    pthread_t thread[LAUNCHES];
    for (int i = 0; i < LAUNCHES; i++)
        pthread_create(&thread[i], NULL, launch_own, &norm[i]);
    for (int i = 0; i < LAUNCHES; i++)
        pthread_join(thread[i], NULL);
    print_sums(0);
}

int main(int argc, char **argv)
{
    CUgraphExec ready;
    start(argc, argv);
    const char *how = word(0);
    wrong = !strcmp(word(1), "wrong") ? "norm_wrong" : "norm_right";
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < LAUNCHES; i++)
        norm[i] = norm_new(ROWS, COLS, 10 * (unsigned)i + 1);
    total = upload(ROWS * COLS, 7);
    if (!strcmp(how, "threads")) {
        run_threads();
        finish();
        return 0;
    }
    int replays = *word(2) ? atoi(word(2)) : 40;
    CUgraph graph = make(how);
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    if (strcmp(how, "set") != 0 && strcmp(how, "switched") != 0)
        CHECK(cuGraphDestroy(graph));
    for (int i = 0; i < replays; i++) {
        bool turn = !strcmp(how, "streams") && i % 2;
        CHECK(cuGraphLaunch(ready, turn ? other : stream));
        between(how, ready, i);
        if (i % 8 == 7)
            print_sums(i);
    }
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy(ready));
    print_sums(replays);
    CHECK(cuStreamDestroy(stream));
    finish();
    return 0;
}
