/*
 * program.c - a kernel that takes long, one that takes less, and one that an entry names, again and
 * again: `program FATBIN KIND`.
 *
 *   eager   one launch after the other
 *   graph   eagerly a few times, then as a graph that is replayed
 */
#include "common/program.h"

#include <string.h>

enum { ROWS = 4, COLS = 100, STEPS = 40, EAGER = 6, LONG = 100000 };

static CUstream stream;
static CUdeviceptr out;
static struct norm norm;

static void step(void)
{
    int much = LONG, little = 1;
    launch(kernel("spin"), 1, 64, stream, (void *[]){&out, &much});
    launch(kernel("poke"), 1, 1, stream, (void *[]){&out, &little});
    norm_launch("norm_right", &norm, stream);
}

static void eager(int steps)
{
    for (int i = 0; i < steps; i++) {
        step();
        CHECK(cuStreamSynchronize(stream));
    }
}

static void graph(void)
{
    CUgraph template;
    CUgraphExec exec;
    eager(EAGER);
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    step();
    CHECK(cuStreamEndCapture(stream, &template));
    CHECK(cuGraphInstantiate(&exec, template, 0));
    CHECK(cuGraphDestroy(template));
    for (int i = 0; i < STEPS; i++) {
        CHECK(cuGraphLaunch(exec, stream));
        CHECK(cuStreamSynchronize(stream));
    }
    CHECK(cuGraphExecDestroy(exec));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&out, 64 * sizeof(int)));
    norm = norm_new(ROWS, COLS, 1);
    if (strcmp(word(0), "graph") == 0)
        graph();
    else
        eager(STEPS);
    norm_print("timed", &norm);
    finish();
    return 0;
}
