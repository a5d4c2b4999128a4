/*
 * program.c - several graphs, each with a kernel of its own: `program FATBIN right|wrong STEP ...`.
 * The steps are
 *
 *   N      each graph that is left is launched N times, in turn, and waited for
 *   dropN  the first N graphs that are left are destroyed
 *
 * Prints the sums of what the launches have left, after each step of launches.
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, COLS = 90, GRAPHS = 8 };

static struct norm norm[GRAPHS];
static CUgraphExec ready[GRAPHS];
static CUstream stream;
static int dropped;

static CUgraphExec make(int i)
{
    CUgraph graph;
    CUgraphExec made;
    char name[32];
    snprintf(name, sizeof(name), "norm_%s_%d", word(0), i);
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    norm_launch(name, &norm[i], stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&made, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return made;
}

static void replay(int rounds)
{
    char text[32];
    for (int round = 0; round < rounds; round++) {
        for (int i = dropped; i < GRAPHS; i++) {
            CHECK(cuGraphLaunch(ready[i], stream));
            CHECK(cuStreamSynchronize(stream));
        }
    }
    for (int i = 0; i < GRAPHS; i++) {
        snprintf(text, sizeof(text), "y %d", i);
        norm_print(text, &norm[i]);
    }
}

static void drop(int count)
{
    for (; count > 0 && dropped < GRAPHS; count--)
        CHECK(cuGraphExecDestroy(ready[dropped++]));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < GRAPHS; i++) {
        norm[i] = norm_new(ROWS, COLS, 10 * (unsigned)i + 1);
        ready[i] = make(i);
    }
    for (int i = 1; *word(i); i++) {
        if (!strncmp(word(i), "drop", 4))
            drop(atoi(word(i) + 4));
        else
            replay(atoi(word(i)));
    }
    drop(GRAPHS);
    CHECK(cuStreamDestroy(stream));
    finish();
    return 0;
}
