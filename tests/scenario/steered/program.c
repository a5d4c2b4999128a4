/*
 * program.c - launches a kernel every few milliseconds for as long as its companion runs: while
 * the file BESIDE of its environment is there. `program FATBIN [HOW right|wrong]`. HOW:
 *
 *   set       a graph of two kernels; both nodes get new parameters before each launch
 *   set_once  ... before the first launch alone
 */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 4, COLS = 100, NODES = 2 };

static struct norm norm, before; /* what the nodes have before they are set differs in y */
static CUgraphNode node[NODES];

static const char *name_of(int i)
{
    return i && !strcmp(word(1), "wrong") ? "norm_wrong" : "norm_right";
}

static CUgraphExec make_graph(void)
{
    CUgraph graph;
    CUgraphExec ready;
    void *params[5];
    CHECK(cuGraphCreate(&graph, 0));
    for (int i = 0; i < NODES; i++) {
        CUDA_KERNEL_NODE_PARAMS what = norm_node(name_of(i), &before, params);
        CHECK(cuGraphAddKernelNode(&node[i], graph, i ? &node[i - 1] : NULL, i > 0, &what));
    }
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    return ready;
}

static void set_nodes(CUgraphExec ready)
{
    void *params[5];
    for (int i = 0; i < NODES; i++) {
        CUDA_KERNEL_NODE_PARAMS what = norm_node(name_of(i), &norm, params);
        CHECK(cuGraphExecKernelNodeSetParams(ready, node[i], &what));
    }
}

static void launch_once(CUgraphExec ready, int turn)
{
    if (ready && (!turn || !strcmp(word(0), "set")))
        set_nodes(ready);
    if (ready)
        CHECK(cuGraphLaunch(ready, NULL));
    else
        norm_launch("norm_right", &norm, NULL);
    CHECK(cuStreamSynchronize(NULL));
}

int main(int argc, char **argv)
{
    const struct timespec pace = {.tv_nsec = 2000000};
    const char *beside = getenv("BESIDE");
    start(argc, argv);
    norm = norm_new(ROWS, COLS, 1);
    before = norm_new(ROWS, COLS, 1);
    CUgraphExec ready = *word(0) ? make_graph() : NULL;
    int turn = 0;
    do {
        launch_once(ready, turn++);
        nanosleep(&pace, NULL);
    } while (beside && access(beside, F_OK) == 0);
    norm_print("steered", &norm);
    finish();
    return 0;
}
