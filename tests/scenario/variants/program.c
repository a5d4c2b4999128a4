/*
 * program.c - functions of one name and one shape, each in a module of its own, as an autotuner
 * launches its configurations: `program FATBIN N WAY ...` launches sums of rows N times by each
 * way, of other rows each time. Ways that differ only in a trailing digit are other images with the
 * same bits.
 *
 *   forwardsD, backwardsD  the order of the sum
 *   node_WAY               in a graph that has the first way's function, until its node gets this
 *                          one; only with N = 1
 *   reload                 all modules so far are unloaded; only with N = 1
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4, COLS = 64, WAYS = 8 };

/* y[row] = the sum of x[row][..], by one thread a block. */
static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 4 .u32 %s = 7;\n"
    ".visible .entry tuned(.param .u64 x, .param .u64 y, .param .u32 cols)\n"
    "{\n"
    "    .reg .u64 %%rd<6>; .reg .u32 %%r<6>; .reg .f32 %%f<3>; .reg .pred %%p;\n"
    "    ld.param.u64 %%rd1, [x];\n"
    "    ld.param.u64 %%rd2, [y];\n"
    "    ld.param.u32 %%r1, [cols];\n"
    "    mov.u32 %%r2, %%ctaid.x;\n"
    "    mul.wide.u32 %%rd3, %%r2, 4;\n"
    "    add.s64 %%rd2, %%rd2, %%rd3;\n"
    "    mul.lo.u32 %%r3, %%r2, %%r1;\n"
    "    add.u32 %%r3, %%r3, %d;\n"
    "    mul.wide.u32 %%rd3, %%r3, 4;\n"
    "    add.s64 %%rd1, %%rd1, %%rd3;\n"
    "    mov.u32 %%r4, 0;\n"
    "    mov.f32 %%f1, 0f00000000;\n"
    "next:\n"
    "    ld.global.f32 %%f2, [%%rd1];\n"
    "    add.f32 %%f1, %%f1, %%f2;\n"
    "    add.s64 %%rd1, %%rd1, %d;\n"
    "    add.u32 %%r4, %%r4, 1;\n"
    "    setp.lt.u32 %%p, %%r4, %%r1;\n"
    "    @%%p bra next;\n"
    "    st.global.f32 [%%rd2], %%f1;\n"
    "    ret;\n"
    "}\n";

static CUmodule loaded[WAYS];

static CUfunction load(int number, const char *way)
{
    char text[4096];
    CUfunction function;
    bool forwards = strstr(way, "forwards") != NULL;
    snprintf(text, sizeof(text), ptx, way, forwards ? 0 : COLS - 1, forwards ? 4 : -4);
    CHECK(cuModuleLoadData(&loaded[number], text));
    CHECK(cuModuleGetFunction(&function, loaded[number], "tuned"));
    return function;
}

static void replay(CUfunction first, CUfunction second, void **params)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec ready;
    CUgraphNode node;
    CUDA_KERNEL_NODE_PARAMS what;
    size_t count = 1;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(first, ROWS, 1, stream, params);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    CHECK(cuGraphGetNodes(graph, &node, &count));
    CHECK(cuGraphKernelNodeGetParams(node, &what));
    what.func = second;
    CHECK(cuGraphExecKernelNodeSetParams(ready, node, &what));
    CHECK(cuGraphLaunch(ready, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy(ready));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamDestroy(stream));
}

static void unload(int count)
{
    CHECK(cuCtxSynchronize());
    for (int i = 0; i < count; i++) {
        if (loaded[i])
            CHECK(cuModuleUnload(loaded[i]));
        loaded[i] = NULL;
    }
}

int main(int argc, char **argv)
{
    CUfunction function[WAYS];
    int cols = COLS, count = 0, ways = 0;
    start(argc, argv);
    count = atoi(word(0));
    CUdeviceptr x = upload(ROWS * COLS, 1), y = upload(ROWS, 2);
    for (int step = 0; step < count; step++) {
        fill(x, ROWS * COLS, (unsigned)step);
        for (ways = 0; *word(1 + ways); ways++) {
            const char *way = word(1 + ways);
            if (!strcmp(way, "reload")) {
                unload(ways);
                continue;
            }
            if (step == 0)
                function[ways] = load(ways, way);
            if (!strncmp(way, "node_", 5))
                replay(function[0], function[ways], (void *[]){&x, &y, &cols});
            else
                launch(function[ways], ROWS, 1, NULL, (void *[]){&x, &y, &cols});
        }
    }
    print_sum("last", y, ROWS * sizeof(float));
    unload(ways);
    finish();
    return 0;
}
