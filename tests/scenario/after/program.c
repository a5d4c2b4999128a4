/*
 * program.c - a product in two kernels: `program FATBIN FIRST SECOND [HOW]`.
 *
 * HOW: captured (the first goes into a graph that never runs), between (another kernel runs between
 * the two), streams (each on its own), alone (the second runs a second time), two (two products on
 * two streams, their kernels in turn), replayed (both are in a graph, which is launched).
 */
#include "common/program.h"

#include <string.h>

enum { M = 20, N = 33, K = 50, PARTS = 4, REPEAT = 3 };

struct product {
    CUdeviceptr a, b, parts, c;
    CUstream first, second;
    int m;
};

static bool how(const char *what)
{
    return strcmp(word(2), what) == 0;
}

static void begin(struct product *p)
{
    int n = N, k = K;
    long long wide = K;
    void *size = strcmp(word(0), "split_long") == 0 ? (void *)&wide : &k;
    CHECK(cuLaunchKernel(kernel(word(0)), (unsigned)p->m, PARTS, 1, 64, 1, 1, 0, p->first,
                         (void *[]){&p->a, &p->b, &p->parts, &p->m, &n, size}, NULL));
}

static void complete(struct product *p)
{
    int size = p->m * N, count = PARTS;
    launch(kernel(word(1)), 4, 64, p->second, (void *[]){&p->parts, &p->c, &size, &count});
}

static struct product product_new(int m, unsigned seed)
{
    struct product p = {.m = m};
    p.a = upload((size_t)m * K, seed);
    p.b = upload(K * N, seed + 1);
    p.parts = upload((size_t)PARTS * (size_t)m * N, seed + 2);
    p.c = upload((size_t)m * N, seed + 3);
    if (how("two") || how("streams") || how("captured") || how("replayed"))
        CHECK(cuStreamCreate(&p.first, CU_STREAM_NON_BLOCKING));
    p.second = p.first;
    if (how("streams"))
        CHECK(cuStreamCreate(&p.second, CU_STREAM_NON_BLOCKING));
    return p;
}

static void replay(struct product *p)
{
    CUgraph graph;
    CUgraphExec ready;
    CHECK(cuStreamBeginCapture(p->first, CU_STREAM_CAPTURE_MODE_GLOBAL));
    begin(p);
    complete(p);
    CHECK(cuStreamEndCapture(p->first, &graph));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuGraphLaunch(ready, p->first));
    CHECK(cuStreamSynchronize(p->first));
    CHECK(cuGraphExecDestroy(ready));
    CHECK(cuGraphDestroy(graph));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    struct product p = product_new(M, 1), q = product_new(M - 7, 21);
    CUdeviceptr other = upload(64, 5);
    if (how("replayed"))
        replay(&p);
    for (int i = 0; i < REPEAT && !how("replayed"); i++) {
        CUgraph graph;
        if (how("captured"))
            CHECK(cuStreamBeginCapture(p.first, CU_STREAM_CAPTURE_MODE_RELAXED));
        begin(&p);
        if (how("captured")) {
            CHECK(cuStreamEndCapture(p.first, &graph));
            CHECK(cuGraphDestroy(graph));
        }
        if (how("two"))
            begin(&q);
        if (how("between"))
            launch(kernel("between"), 1, 32, NULL, (void *[]){&other});
        if (how("streams"))
            CHECK(cuStreamSynchronize(p.first));
        complete(&p);
        if (how("alone"))
            complete(&p);
        if (how("two"))
            complete(&q);
    }
    CHECK(cuCtxSynchronize());
    print_sum(word(1), p.c, (size_t)p.m * N * sizeof(float));
    print_sum(word(1), q.c, (size_t)q.m * N * sizeof(float));
    finish();
    return 0;
}
