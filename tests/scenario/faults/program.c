/*
 * program.c - a kernel without an entry writes where nothing is, and a later call shows it:
 * `program FATBIN WAY [quiet]`, WAY: stream, event, context, copy or graph; stream_query and
 * event_query, which do not wait; unload, of a library; module: by a call that has nothing to do
 * with it, and the program ends; devices: by the stream, and then the same on a second device, by
 * the context; wild: a copy to where nothing is fails by itself. With "quiet" it writes where it
 * may.
 */
#include "common/program.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static CUstream stream;
static int value = 7;

static void poke(CUdeviceptr where)
{
    launch(kernel("poke"), 1, 32, stream, (void *[]){&where, &value});
}

static CUresult replay(CUdeviceptr where)
{
    CUgraph graph;
    CUgraphExec ready;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    poke(where);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    CHECK(cuGraphLaunch(ready, stream));
    return cuStreamSynchronize(stream);
}

/* Until the result is another. */
static CUresult poll(CUresult (*query)(void *), void *what)
{
    CUresult result;
    while ((result = query(what)) == CUDA_ERROR_NOT_READY)
        usleep(1000);
    return result;
}

static CUresult query_stream(void *what)
{
    return cuStreamQuery(what);
}

static CUresult query_event(void *what)
{
    return cuEventQuery(what);
}

/* The first of many calls that the fault makes fail. */
static CUresult load_until_it_fails(void *image)
{
    CUmodule more; /* which stays loaded: to unload it would wait */
    CUresult result = cuModuleLoadData(&more, image);
    return result ? result : CUDA_ERROR_NOT_READY;
}

/* Of a library with a module in this context. */
static CUresult unload(const void *image, CUdeviceptr where)
{
    CUlibrary library;
    CUmodule more;
    CHECK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetModule(&more, library));
    poke(where);
    return cuLibraryUnload(library);
}

static CUresult wait_by(const char *way, const void *image, CUdeviceptr where, CUdeviceptr array)
{
    CUevent event;
    float back;
    if (!strcmp(way, "graph"))
        return replay(where);
    if (!strcmp(way, "unload"))
        return unload(image, where);
    CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    poke(where);
    if (!strcmp(way, "context"))
        return cuCtxSynchronize();
    if (!strcmp(way, "stream_query"))
        return poll(query_stream, stream);
    if (!strcmp(way, "copy"))
        return cuMemcpyDtoH(&back, array, sizeof(back));
    if (!strcmp(way, "event")) {
        cuEventRecord(event, stream);
        return cuEventSynchronize(event);
    }
    if (!strcmp(way, "event_query")) {
        cuEventRecord(event, stream);
        return poll(query_event, event);
    }
    return cuStreamSynchronize(stream);
}

static CUresult on_second_device(const void *image)
{
    make_context(1);
    CHECK(cuModuleLoadData(&module, image));
    stream = NULL;
    poke(0x10);
    return cuCtxSynchronize();
}

int main(int argc, char **argv)
{
    const void *image = start(argc, argv);
    struct norm norm = norm_new(4, 256, 1);
    CUdeviceptr array = upload(64, 2);
    bool copies = !strcmp(word(0), "copy"); /* which waits for the default stream */
    if (!copies)
        CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    norm_launch("norm_right", &norm, stream);
    norm_launch("norm_other", &norm, stream);
    CHECK(cuStreamSynchronize(stream));
    if (!strcmp(word(0), "wild")) { /* and goes on */
        for (int i = 0; i < 3; i++)
            printf("%d %d\n", cuMemcpyHtoD(0x10, &value, sizeof(value)),
                   cuMemcpyDtoH(&value, 0x10, sizeof(value)));
        finish();
        return 0;
    }
    if (!strcmp(word(0), "module")) {
        poke(0x10);
        return poll(load_until_it_fails, (void *)(uintptr_t)image) ? 4 : 0;
    }
    CUresult result = wait_by(word(0), image, *word(1) ? array : 0x10, array);
    printf("%s: %d, again: %d\n", word(0), (int)result, (int)cuStreamSynchronize(stream));
    printf("a bad stream: %d\n", (int)cuStreamSynchronize((CUstream)0x30));
    if (!strcmp(word(0), "devices"))
        printf("second device: %d\n", (int)on_second_device(image));
    return result ? 4 : 0;
}
