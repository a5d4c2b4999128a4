/*
 * program.c - the same launch by itself and in a graph, with the same input: `program FATBIN
 * KERNEL`. Between the two a kernel changes what KERNEL may depend on beside its arguments.
 */
#include "common/program.h"

#include <stdio.h>

enum { ROWS = 5, COLS = 77, REPLAYS = 3 };

static CUdeviceptr x, y;
static CUstream stream;

static void turn(int to)
{
    launch(kernel("turn"), 1, 1, stream, (void *[]){&to});
}

static void add_up(void)
{
    int cols = COLS;
    launch(kernel(word(0)), ROWS, 32, stream, (void *[]){&x, &y, &cols});
}

int main(int argc, char **argv)
{
    CUgraph graph;
    CUgraphExec ready;
    start(argc, argv);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    x = upload(ROWS * COLS, 1);
    y = upload(ROWS, 2);
    turn(0);
    add_up();
    CHECK(cuStreamSynchronize(stream));
    print_sum("by itself", y, ROWS * sizeof(float));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    turn(1);
    add_up();
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    for (int i = 0; i < REPLAYS; i++) {
        CHECK(cuGraphLaunch(ready, stream));
        CHECK(cuStreamSynchronize(stream));
        print_sum("in a graph", y, ROWS * sizeof(float));
    }
    CHECK(cuGraphExecDestroy(ready));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamDestroy(stream));
    finish();
    return 0;
}
