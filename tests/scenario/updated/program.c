/*
 * program.c - a graph that is updated now and then: `program FATBIN WORD ...`. It is instantiated
 * from a capture of four launches of norm_right, then each WORD is a step:
 *
 *   norm_right, norm_wrong, other  the kernel of the captures from here on
 *   update                         captured anew, updated, and the template destroyed
 *   off, on, set                   the second node of the first template is disabled; enabled; gets
 *                                  new parameters, the same
 *   again                          the next capture is instantiated instead
 *   N                              so many replays
 *
 * Prints the sums of what the launches have left, after each step of replays.
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, COLS = 90, LAUNCHES = 4 };

static struct norm norm[LAUNCHES];
static CUstream stream;
static CUgraph first;
static CUgraphExec ready;
static const char *name = "norm_right";

static CUgraph capture(void)
{
    CUgraph graph;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < LAUNCHES; i++)
        norm_launch(name, &norm[i], stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    return graph;
}

static void instantiate(void)
{
    if (ready) {
        CHECK(cuGraphExecDestroy(ready));
        CHECK(cuGraphDestroy(first));
    }
    first = capture();
    CHECK(cuGraphInstantiate(&ready, first, 0));
}

static void update(void)
{
    CUgraphExecUpdateResultInfo info;
    CUgraph graph = capture();
    CHECK(cuGraphExecUpdate(ready, graph, &info));
    CHECK(cuGraphDestroy(graph));
}

static CUgraphNode second_node(void)
{
    CUgraphNode nodes[LAUNCHES];
    size_t count = LAUNCHES;
    CHECK(cuGraphGetNodes(first, nodes, &count));
    return nodes[1];
}

static void set(void)
{
    CUDA_KERNEL_NODE_PARAMS what;
    CHECK(cuGraphKernelNodeGetParams(second_node(), &what));
    CHECK(cuGraphExecKernelNodeSetParams(ready, second_node(), &what));
}

static void replay(int replays)
{
    char text[64];
    for (int i = 0; i < replays; i++)
        CHECK(cuGraphLaunch(ready, stream));
    for (int i = 0; i < LAUNCHES; i++) {
        snprintf(text, sizeof(text), "y %d", i);
        norm_print(text, &norm[i]);
    }
}

static void step(const char *what)
{
    if (!strcmp(what, "update"))
        update();
    else if (!strcmp(what, "again"))
        instantiate();
    else if (!strcmp(what, "off") || !strcmp(what, "on"))
        CHECK(cuGraphNodeSetEnabled(ready, second_node(), !strcmp(what, "on")));
    else if (!strcmp(what, "set"))
        set();
    else if (atoi(what))
        replay(atoi(what));
    else
        name = what;
}

int main(int argc, char **argv)
{
    start(argc, argv);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < LAUNCHES; i++)
        norm[i] = norm_new(ROWS, COLS, 10 * (unsigned)i + 1);
    instantiate();
    for (int i = 0; *word(i); i++)
        step(word(i));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy(ready));
    CHECK(cuGraphDestroy(first));
    CHECK(cuStreamDestroy(stream));
    finish();
    return 0;
}
