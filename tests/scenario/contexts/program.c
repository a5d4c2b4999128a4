/*
 * program.c - more than one context: `program FATBIN two|devices|many|graphs`.
 *
 *   two      two contexts on one device, taking turns; the second ends first
 *   devices  the primary contexts of two devices
 *   many     contexts that come and go
 *   graphs   the same, each with two CUDA graphs, of which one is destroyed with its context
 */
#include "common/program.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 4, COLS = 96, TURNS = 3, MANY = 6 };

struct place {
    CUcontext context;
    CUmodule module;
    struct norm norm;
};

static void enter(const struct place *place)
{
    CHECK(cuCtxSetCurrent(place->context));
    module = place->module;
}

static void settle(struct place *place, const void *image, unsigned seed)
{
    CHECK(cuModuleLoadData(&place->module, image));
    module = place->module;
    place->norm = norm_new(ROWS, COLS, seed);
}

static void take_turns(struct place *first, struct place *second)
{
    for (int i = 0; i < TURNS; i++) {
        enter(first);
        norm_launch("norm_right", &first->norm, NULL);
        enter(second);
        norm_launch(i == 1 ? "norm_wrong" : "norm_other", &second->norm, NULL);
    }
    enter(first);
    norm_print("first", &first->norm);
    enter(second);
    norm_print("second", &second->norm);
}

static void two(const void *image)
{
    struct place first = {.context = context}, second;
    settle(&first, image, 1);
    second.context = make_context(0);
    settle(&second, image, 2);
    take_turns(&first, &second);
    CHECK(cuCtxDestroy(second.context));
    enter(&first);
    norm_launch("norm_right", &first.norm, NULL);
    norm_print("first alone", &first.norm);
    CHECK(cuModuleUnload(first.module));
}

static void devices(const void *image)
{
    struct place first = {.context = context}, second;
    CUdevice device;
    settle(&first, image, 1);
    CHECK(cuDeviceGet(&device, 1));
    CHECK(cuDevicePrimaryCtxRetain(&second.context, device));
    CHECK(cuCtxSetCurrent(second.context));
    settle(&second, image, 2);
    take_turns(&first, &second);
    CHECK(cuDevicePrimaryCtxRelease(device));
}

static void many(const void *image)
{
    for (int i = 0; i < MANY; i++) {
        struct place place = {.context = make_context(0)};
        settle(&place, image, (unsigned)i);
        norm_launch("norm_right", &place.norm, NULL);
        norm_launch("norm_wrong", &place.norm, NULL);
        norm_print("context", &place.norm);
        CHECK(cuCtxDestroy(place.context));
    }
}

static CUgraphExec capture(const struct place *place, CUstream stream)
{
    CUgraph graph;
    CUgraphExec ready;
    struct norm norm = place->norm;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    norm_launch("norm_right", &norm, stream);
    norm_launch("norm_wrong", &norm, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return ready;
}

static void graphs(const void *image)
{
    for (int i = 0; i < MANY; i++) {
        struct place place = {.context = make_context(0)};
        CUstream stream;
        CUgraphExec ready[2];
        settle(&place, image, (unsigned)i);
        CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        for (int g = 0; g < 2; g++) {
            ready[g] = capture(&place, stream);
            CHECK(cuGraphLaunch(ready[g], stream));
        }
        norm_print("context", &place.norm);
        CHECK(cuGraphExecDestroy(ready[0]));
        CHECK(cuCtxDestroy(place.context));
    }
}

int main(int argc, char **argv)
{
    const void *image = start(argc, argv);
    CUmodule unused = module;
    if (!strcmp(word(0), "two"))
        two(image);
    else if (!strcmp(word(0), "devices"))
        devices(image);
    else if (!strcmp(word(0), "graphs"))
        graphs(image);
    else
        many(image);
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleUnload(unused));
    CHECK(cuDevicePrimaryCtxRelease(0));
    return 0;
}
