/*
 * program.c - products by the stand-ins of cuBLAS, captured into a CUDA graph that is launched many
 * times: `program FATBIN HOW`. HOW:
 *
 *   captured     the template destroyed at once
 *   few          the same, launched FEW times
 *   forked       two of the products on a stream beside the other two
 *   child        the captured graph is a child of another
 *   child_set    which is given what was captured anew, with another product, every few launches
 *   clone        a clone of the captured graph is instantiated
 *   update       captured anew, with another product, and updated every few launches
 *   set          a node of the second product gets new parameters in the executable graph
 *   template     or in the template
 *   disabled     a node of the second product is disabled for a while
 *   removed      or gone from the template
 *   failed       a first capture fails
 *   again        executable graphs come and go
 *
 * Prints the sums of what the products have left, every few launches.
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../softgpu/blas/lt.h"

enum { M = 8, N = 8, K = 72, PRODUCTS = 4, REPLAYS = 12, FEW = 4 };

static struct {
    void *blas, *lt;
    CUstream stream, other;
    CUdeviceptr a, b, c[PRODUCTS];
    CUgraphNode child;
    const char *how;
} job;

static bool is(const char *name)
{
    return strcmp(job.how, name) == 0;
}

static void expect(int status, const char *what)
{
    if (status)
        check(CUDA_ERROR_UNKNOWN, what, __FILE__, status);
}

/* The last product adds to what there is. */
static void product(int i, CUstream stream)
{
    const float alpha = 0.5f + 0.25f * (float)i, beta = i == PRODUCTS - 1 ? 0.5f : 0;
    expect(cublasSetStream_v2(job.blas, stream), "cublasSetStream");
    expect(cublasSgemm_v2(job.blas, 0, i % 2, M, N, K, &alpha, (float *)job.a, M, (float *)job.b,
                          i % 2 ? N : K, &beta, (float *)job.c[i], M),
           "cublasSgemm");
}

static void capture_forked(void)
{
    CUevent fork, join;
    CHECK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventRecord(fork, job.stream));
    CHECK(cuStreamWaitEvent(job.other, fork, 0));
    for (int i = 0; i < PRODUCTS; i++)
        product(i, i % 2 ? job.other : job.stream);
    CHECK(cuEventRecord(join, job.other));
    CHECK(cuStreamWaitEvent(job.stream, join, 0));
    CHECK(cuEventDestroy(fork));
    CHECK(cuEventDestroy(join));
}

static CUgraph capture(void)
{
    CUgraph graph;
    CHECK(cuStreamBeginCapture(job.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    if (is("forked"))
        capture_forked();
    for (int i = 0; i < PRODUCTS && !is("forked"); i++)
        product(i, job.stream);
    CHECK(cuStreamEndCapture(job.stream, &graph));
    return graph;
}

/* A stream of the capture is not joined. */
static void fail_to_capture(void)
{
    CUgraph graph;
    CUevent fork;
    CHECK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    CHECK(cuStreamBeginCapture(job.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    product(0, job.stream);
    CHECK(cuEventRecord(fork, job.stream));
    CHECK(cuStreamWaitEvent(job.other, fork, 0));
    product(1, job.other);
    expect(cuStreamEndCapture(job.stream, &graph) == CUDA_SUCCESS, "a capture that is not joined");
    CHECK(cuEventDestroy(fork));
}

/* The second product's first kernel, which does nothing. */
static CUgraphNode prologue_of(CUgraph graph)
{
    CUgraphNode node[2 * PRODUCTS];
    size_t count = 2 * PRODUCTS;
    CHECK(cuGraphGetNodes(graph, node, &count));
    expect(count != 2 * PRODUCTS, "the graph's nodes");
    return node[2];
}

static CUgraph put_into_child(CUgraph inner)
{
    CUgraph graph;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddChildGraphNode(&job.child, graph, NULL, 0, inner));
    CHECK(cuGraphDestroy(inner));
    return graph;
}

static CUgraph clone(CUgraph graph)
{
    CUgraph made;
    CHECK(cuGraphClone(&made, graph));
    CHECK(cuGraphDestroy(graph));
    return made;
}

static CUgraph change_template(CUgraph graph)
{
    CUDA_KERNEL_NODE_PARAMS what;
    CHECK(cuGraphKernelNodeGetParams(prologue_of(graph), &what));
    CHECK(cuGraphKernelNodeSetParams(prologue_of(graph), &what));
    return graph;
}

static CUgraph remove_node(CUgraph graph)
{
    CHECK(cuGraphDestroyNode(prologue_of(graph)));
    return graph;
}

static CUgraph make(void)
{
    if (is("failed"))
        fail_to_capture();
    CUgraph graph = capture();
    if (is("child") || is("child_set"))
        return put_into_child(graph);
    if (is("clone"))
        return clone(graph);
    if (is("template"))
        return change_template(graph);
    return is("removed") ? remove_node(graph) : graph;
}

static void set_node(CUgraphExec ready, CUgraphNode node)
{
    CUDA_KERNEL_NODE_PARAMS what;
    CHECK(cuGraphKernelNodeGetParams(node, &what));
    CHECK(cuGraphExecKernelNodeSetParams(ready, node, &what));
}

static void update(CUgraphExec ready)
{
    CUgraphExecUpdateResultInfo info;
    CUdeviceptr c = job.c[0];
    job.c[0] = job.c[1];
    job.c[1] = c;
    CUgraph graph = capture();
    if (job.child)
        CHECK(cuGraphExecChildGraphNodeSetParams(ready, job.child, graph));
    else
        CHECK(cuGraphExecUpdate(ready, graph, &info));
    CHECK(cuGraphDestroy(graph));
}

static void print_sums(int replay)
{
    char text[64];
    for (int i = 0; i < PRODUCTS; i++) {
        snprintf(text, sizeof(text), "replay %d, c %d", replay, i);
        print_sum(text, job.c[i], M * N * sizeof(float));
    }
}

static void run(CUgraphExec ready, CUgraph graph)
{
    for (int i = 0; i < (is("few") ? FEW : REPLAYS); i++) {
        CHECK(cuGraphLaunch(ready, job.stream));
        if ((is("update") || is("child_set")) && i % 4 == 3)
            update(ready);
        if (is("set") && i == 3)
            set_node(ready, prologue_of(graph));
        if (is("disabled") && (i == 3 || i == 7))
            CHECK(cuGraphNodeSetEnabled(ready, prologue_of(graph), i == 7));
        if (i % 4 == 3)
            print_sums(i);
    }
}

int main(int argc, char **argv)
{
    start(argc, argv);
    job.how = word(0);
    job.a = upload(M * K, 1);
    job.b = upload(K * N, 2);
    for (int i = 0; i < PRODUCTS; i++)
        job.c[i] = upload(M * N, 3 + (unsigned)i);
    CHECK(cuStreamCreate(&job.stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&job.other, CU_STREAM_NON_BLOCKING));
    expect(cublasCreate_v2(&job.blas), "cublasCreate");
    product(0, job.stream); /* before the capture, for what is made at the first call */
    for (int round = 0; round < (is("again") ? 3 : 1); round++) {
        CUgraphExec ready;
        CUgraph graph = make();
        const bool kept = is("set") || is("disabled") || is("child_set");
        CHECK(cuGraphInstantiate(&ready, graph, 0));
        if (!kept)
            CHECK(cuGraphDestroy(graph));
        run(ready, graph);
        CHECK(cuGraphExecDestroy(ready));
        if (kept)
            CHECK(cuGraphDestroy(graph));
    }
    CHECK(cuStreamSynchronize(job.stream));
    cublasDestroy_v2(job.blas);
    CHECK(cuStreamDestroy(job.stream));
    CHECK(cuStreamDestroy(job.other));
    finish();
    return 0;
}
