/*
 * graph_fixture.h - what the tests of captures and of graphs share: a context, streams, memory, and
 * shorthands.
 */
#ifndef SOFTGPU_GRAPH_FIXTURE_H
#define SOFTGPU_GRAPH_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <cuda.h>
#include <stdbool.h>
#include <string.h>
#include "unit/driver/newer_calls.h"

#define ok(call)           assert_int_equal((call), CUDA_SUCCESS)
#define fails(call, error) assert_int_equal((call), (error))

enum { WORDS = 64, BYTES = WORDS * 4 };

struct fixture {
    CUcontext context;
    CUstream a, b, c; /* blocking ones: a and b; c is not */
    CUdeviceptr x, y; /* BYTES each */
    uint32_t *host;   /* pinned, WORDS */
};

static inline int fixture_open(void **state)
{
    static struct fixture f;
    CUdevice device;
    ok(cuInit(0));
    ok(cuDeviceGet(&device, 0));
    ok(cuDevicePrimaryCtxRetain(&f.context, device));
    ok(cuCtxSetCurrent(f.context));
    ok(cuStreamCreate(&f.a, CU_STREAM_DEFAULT));
    ok(cuStreamCreate(&f.b, CU_STREAM_DEFAULT));
    ok(cuStreamCreate(&f.c, CU_STREAM_NON_BLOCKING));
    ok(cuMemAlloc(&f.x, BYTES));
    ok(cuMemAlloc(&f.y, BYTES));
    ok(cuMemHostAlloc((void **)&f.host, BYTES, 0));
    *state = &f;
    return 0;
}

static inline int fixture_close(void **state)
{
    struct fixture *f = *state;
    ok(cuMemFreeHost(f->host));
    ok(cuMemFree(f->y));
    ok(cuMemFree(f->x));
    ok(cuStreamDestroy(f->a));
    ok(cuStreamDestroy(f->b));
    ok(cuStreamDestroy(f->c));
    ok(cuDevicePrimaryCtxRelease(0));
    return 0;
}

/* Fills with words, by no stream of the fixture's. */
static inline void fill(CUdeviceptr at, uint32_t value)
{
    ok(cuMemsetD32(at, value, WORDS));
    ok(cuCtxSynchronize());
}

static inline uint32_t first_word(CUdeviceptr at)
{
    uint32_t word;
    ok(cuMemcpyDtoH(&word, at, sizeof(word)));
    return word;
}

static inline CUstreamCaptureStatus status_of(CUstream stream)
{
    CUstreamCaptureStatus status;
    ok(cuStreamIsCapturing(stream, &status));
    return status;
}

/* Ends a capture that must be broken, and checks that the stream works again. */
static inline void end_broken(CUstream stream)
{
    CUgraph graph = (CUgraph)8;
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    fails(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_null(graph);
    ok(cuStreamSynchronize(stream));
}

static inline CUgraph end_good(CUstream stream)
{
    CUgraph graph = NULL;
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ok(cuStreamEndCapture(stream, &graph));
    assert_non_null(graph);
    return graph;
}

static inline size_t count_nodes(CUgraph graph)
{
    size_t count = 0;
    ok(cuGraphGetNodes(graph, NULL, &count));
    return count;
}

static inline size_t count_edges(CUgraph graph)
{
    size_t count = 0;
    ok(cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
    return count;
}

static inline void run_graph(CUgraph graph, CUstream stream)
{
    CUgraphExec exec;
    ok(cuGraphInstantiate(&exec, graph, 0));
    ok(cuGraphLaunch(exec, stream));
    ok(cuStreamSynchronize(stream));
    ok(cuGraphExecDestroy(exec));
}

#endif
