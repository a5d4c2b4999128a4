/*
 * program.c - launches of one CUDA graph, each of which has to wait for the one before:
 * `program FATBIN HOW`. HOW:
 *
 *   streams   made anew 12 times, and launched on two streams in turn
 *   own       launched by two threads in turn, each on its own default stream
 *   update    launched on one stream, updated to other kernels, and launched on another stream
 *
 * Prints the sum of what the launches have left, which depends on their order.
 */
#include "common/program.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 3, COLS = 90, REPLAYS = 24, ROUNDS = 12, STEPS = 300000 };

CUresult cuGraphLaunch_ptsz(CUgraphExec, CUstream);

static struct norm norm; /* its x: what the launches change */
static CUdeviceptr spun;
static CUgraph graph;
static CUgraphExec ready;
static pthread_barrier_t turn;

/* x = x + norm(x), with some time between the two. */
static CUgraph capture(void)
{
    CUstream stream;
    int steps = STEPS, count = ROWS * COLS;
    void *spins[] = {&spun, &steps}, *updates[] = {&norm.x, &norm.y, &count};
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    norm_launch("norm_right", &norm, stream);
    launch(kernel("spin"), 1, 1, stream, spins);
    launch(kernel("update"), 3, 128, stream, updates);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuStreamDestroy(stream));
    return graph;
}

static void print(void)
{
    print_sum("x", norm.x, ROWS * COLS * sizeof(float));
}

static void on_two_streams(void)
{
    CUstream stream[2];
    for (int i = 0; i < 2; i++)
        CHECK(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(cuGraphInstantiate(&ready, graph, 0));
        for (int i = 0; i < 3; i++)
            CHECK(cuGraphLaunch(ready, stream[i % 2]));
        print();
        CHECK(cuGraphExecDestroy(ready));
    }
}

static void *take_turns(void *user)
{
    bool second = user != NULL;
    CHECK(cuCtxSetCurrent(context));
    for (int i = 0; i < REPLAYS; i++) {
        if (i % 2 == second)
            CHECK(cuGraphLaunch_ptsz(ready, NULL));
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

static void on_own_streams(void)
{
    pthread_t thread[2];
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    pthread_barrier_init(&turn, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, take_turns, i ? &turn : NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&turn);
    print();
    CHECK(cuGraphExecDestroy(ready));
}

/* One of other kernels: sets the first number of x at once. */
static CUgraph capture_other(CUstream stream)
{
    CUgraph other;
    int steps = 1, value = 0x40000000;
    void *spins[] = {&spun, &steps}, *pokes[] = {&norm.x, &value};
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(kernel("spin"), 1, 1, stream, spins);
    launch(kernel("poke"), 1, 1, stream, pokes);
    launch(kernel("spin"), 1, 1, stream, spins);
    CHECK(cuStreamEndCapture(stream, &other));
    return other;
}

static void behind_an_update(void)
{
    CUgraphExecUpdateResultInfo info;
    CUstream stream[2];
    for (int i = 0; i < 2; i++)
        CHECK(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
    CUgraph other = capture_other(stream[0]);
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(cuGraphInstantiate(&ready, graph, 0));
        CHECK(cuGraphLaunch(ready, stream[0]));
        CHECK(cuGraphExecUpdate(ready, other, &info));
        CHECK(cuGraphLaunch(ready, stream[1]));
        print();
        CHECK(cuGraphExecDestroy(ready));
    }
    CHECK(cuGraphDestroy(other));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    norm = norm_new(ROWS, COLS, 1);
    spun = upload(1, 2);
    graph = capture();
    if (!strcmp(word(0), "streams"))
        on_two_streams();
    else if (!strcmp(word(0), "own"))
        on_own_streams();
    else
        behind_an_update();
    CHECK(cuGraphDestroy(graph));
    finish();
    return 0;
}
