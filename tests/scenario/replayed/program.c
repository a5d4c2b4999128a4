/* program.c - launches each kernel once: `program FATBIN ROWS COLS [graph]`. With "graph" as nodes
 * of one graph. */
#include <stdlib.h>
#include "common/program.h"

enum { KERNELS = 5 };

static int rows, cols;
static CUdeviceptr x, y[KERNELS];
static CUstream stream;

static void launch_all(int unused)
{
    static const char *const names[KERNELS] = {"right", "wrong", "outside", "stale", "racing"};
    (void)unused;
    for (int i = 0; i < KERNELS; i++)
        launch(kernel(names[i]), 4, 128, stream, (void *[]){&x, &y[i], &rows, &cols});
}

int main(int argc, char **argv)
{
    start(argc, argv);
    rows = atoi(word(0));
    cols = atoi(word(1));
    size_t count = (size_t)rows * (size_t)cols;
    x = upload(count, 1);
    for (int i = 0; i < KERNELS; i++)
        y[i] = upload(count + 16, 2);
    if (*word(2)) {
        CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CHECK(cuGraphLaunch(graph_of_work(stream, launch_all), stream));
        CHECK(cuStreamSynchronize(stream));
    } else {
        launch_all(0);
    }
    print_sum("x", x, count * sizeof(float));
    finish();
    return 0;
}
