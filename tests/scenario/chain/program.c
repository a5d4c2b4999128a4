/*
 * program.c - steps of training whose gradient goes through a chain of kernels: `program FATBIN
 * MODE BUG [STEPS]`.
 *
 * MODE eager; always, where each step is wrong; or graph: a step is captured once and replayed, and
 * its data is sent before. BUG none, or what is wrong in step ODD (in a graph in all steps):
 * unclipped (a kernel of the chain is left out), twice (the loss scale is taken out twice),
 * unmeasured (the measure is that of the step before), written (something else writes the gradient
 * in between), again (the optimiser takes the same gradient once more), restored (something else
 * writes the parameters).
 */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 96, MICRO = 2, STEPS = 6, ODD = 3, BLOCK = 32, GRID = COUNT / BLOCK };

static CUstream stream;
static CUdeviceptr part[MICRO], grad, most, p;

static bool graph(void)
{
    return strcmp(word(0), "graph") == 0;
}

static bool bug(const char *what, int step)
{
    return !strcmp(word(1), what) && (step == ODD || strcmp(word(0), "eager") != 0);
}

static void backward(void)
{
    int count = COUNT;
    CHECK(cuMemsetD8Async(grad, 0, COUNT * sizeof(float), stream));
    for (int i = 0; i < MICRO; i++)
        launch(kernel("accumulate"), GRID, BLOCK, stream, (void *[]){&part[i], &grad, &count});
}

static void update(int step)
{
    int count = COUNT;
    float lr = 0.01f;
    launch(kernel("descend"), GRID, BLOCK, stream, (void *[]){&p, &grad, &lr, &count});
    if (bug("again", step))
        launch(kernel("descend"), GRID, BLOCK, stream, (void *[]){&p, &grad, &lr, &count});
}

static void run_step(int step)
{
    int count = COUNT;
    float inverse = 0.125f;
    if (bug("restored", step))
        CHECK(cuMemsetD8Async(p, 0, sizeof(float), stream));
    backward();
    for (int i = 0; i < 1 + bug("twice", step); i++)
        launch(kernel("unscale"), GRID, BLOCK, stream, (void *[]){&grad, &inverse, &count});
    if (!bug("unmeasured", step))
        launch(kernel("measure"), 1, BLOCK, stream, (void *[]){&grad, &most, &count});
    if (!bug("unclipped", step))
        launch(kernel("clip"), GRID, BLOCK, stream, (void *[]){&grad, &most, &count});
    if (bug("written", step))
        CHECK(cuMemsetD8Async(grad, 0, sizeof(float), stream));
    update(step);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    int steps = *word(2) ? atoi(word(2)) : STEPS;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < MICRO; i++)
        part[i] = upload(COUNT, 1);
    grad = upload(COUNT, 2);
    most = upload(1, 3);
    p = upload(COUNT, 4);
    CUgraphExec ready = graph() ? graph_of_work(stream, run_step) : NULL;
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < MICRO; i++)
            fill(part[i], COUNT, (unsigned)(step * MICRO + i));
        if (ready)
            CHECK(cuGraphLaunch(ready, stream));
        else
            run_step(step);
        CHECK(cuStreamSynchronize(stream));
    }
    print_sum("parameters", p, COUNT * sizeof(float));
    if (ready)
        CHECK(cuGraphExecDestroy(ready));
    finish();
    return 0;
}
