/*
 * program.c - ordinary launches, each on new values, and a rare one with one large value:
 * `program FATBIN KERNEL [narrow]`. Every launch is waited for.
 *
 *   norm_right, norm_narrow   y = rmsnorm(x), large arrays: only a sample of x is read
 *   update_narrow             y = y + x, in place
 *   types                     copies in the other float types, one of whose values is infinite in
 *                             the rare launch, and a lookup with an index beyond the usual ones;
 *                             `narrow`: all of them cannot do that
 *
 * With a second word `batch`, x has few columns and lies around 4, on the rare launch around -4: as
 * far from 0, but not from the centre.
 *
 * With a second word `start`, it calls cuvet_start shortly before the rare launch. With a second
 * word `graph`, each launch is a replay of one CUDA graph.
 */
#include "common/program.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 8, COLS = 100, LAUNCHES = 60, RARE = 45, START = 40, BATCH = 16, BATCH_COLS = 8 };
enum { FLUSH_MS = 20000 };
enum { TOKENS = 64, MANY = 4608, ENTRIES = 300 }; /* many: more than one block reads */

static void start_again(void)
{
    void *found = dlsym(RTLD_DEFAULT, "cuvet_start");
    int (*start_checking)(void);
    memcpy(&start_checking, &found, sizeof(found));
    if (start_checking)
        start_checking();
}

static void spoil(CUdeviceptr array, bool rare)
{
    float large = 100;
    if (rare)
        CHECK(cuMemcpyHtoD(array + 4 * 333, &large, sizeof(large)));
}

/* A launch that `enqueue` makes, as an executable graph where the second word is `graph`. */
static CUgraphExec recorded(void (*enqueue)(void *user, CUstream stream), void *user)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec ready;
    if (strcmp(word(1), "graph") != 0)
        return NULL;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    enqueue(user, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamDestroy(stream));
    return ready;
}

static void run(CUgraphExec ready, void (*enqueue)(void *user, CUstream stream), void *user)
{
    if (ready)
        CHECK(cuGraphLaunch(ready, NULL));
    else
        enqueue(user, NULL);
    CHECK(cuCtxSynchronize());
}

static void launch_norm(void *user, CUstream stream)
{
    norm_launch(word(0), user, stream);
}

static void norms(const char *name)
{
    struct norm norm = norm_new(ROWS, COLS, 1);
    CUgraphExec ready = recorded(launch_norm, &norm);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        fill(norm.x, ROWS * COLS, 100 + i);
        spoil(norm.x, i == RARE);
        if (i == START && !strcmp(word(1), "start"))
            start_again();
        run(ready, launch_norm, &norm);
    }
    norm_print(name, &norm);
}

static void fill_around(float centre, CUdeviceptr array, size_t count, unsigned seed)
{
    float host[BATCH * BATCH_COLS];
    fill(array, count, seed);
    CHECK(cuMemcpyDtoH(host, array, count * sizeof(*host)));
    for (size_t i = 0; i < count; i++)
        host[i] += centre;
    CHECK(cuMemcpyHtoD(array, host, count * sizeof(*host)));
}

/* Waits until the probes so far have been read: the centroid detector's quantile comes from them.
 */
static void wait_for_probes(void)
{
    void *found = dlsym(RTLD_DEFAULT, "cuvet_flush");
    int (*flush)(int);
    memcpy(&flush, &found, sizeof(found));
    if (flush)
        flush(FLUSH_MS);
}

static void batches(const char *name)
{
    struct norm norm = norm_new(BATCH, BATCH_COLS, 1);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        if (i == RARE)
            wait_for_probes();
        fill_around(i == RARE ? -4 : 4, norm.x, BATCH * BATCH_COLS, 100 + i);
        norm_launch(name, &norm, NULL);
        CHECK(cuCtxSynchronize());
    }
    norm_print(name, &norm);
}

static void launch_update(void *user, CUstream stream)
{
    launch(kernel("update_narrow"), 4, 64, stream, user);
}

static void updates(void)
{
    int n = ROWS * COLS;
    CUdeviceptr y = upload((size_t)n, 1), x = upload((size_t)n, 2);
    void *params[] = {&y, &x, &n};
    CUgraphExec ready = recorded(launch_update, params);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        fill(x, (size_t)n, 100 + i);
        fill(y, (size_t)n, 1000 + i);
        spoil(x, i == RARE);
        run(ready, launch_update, params);
    }
    print_sum("update", y, (size_t)n * sizeof(float));
}

static void casts(const char *type, size_t bytes, float most)
{
    char make[32], cast[32];
    int n = ROWS * COLS;
    const float infinite = INFINITY;
    CUdeviceptr from = upload((size_t)n, 1), x, y;
    CHECK(cuMemAlloc(&x, (size_t)n * bytes));
    CHECK(cuMemAlloc(&y, (size_t)n * bytes));
    snprintf(make, sizeof make, "make_%s", type);
    snprintf(cast, sizeof cast, "cast_%s", type);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        fill(from, (size_t)n, 100 + i);
        if (i == RARE)
            CHECK(cuMemcpyHtoD(from + 4 * 333, &infinite, sizeof infinite));
        launch(kernel(make), 1, 64, NULL, (void *[]){&x, &from, &n});
        launch(kernel(cast), 1, 64, NULL, (void *[]){&x, &y, &n, &most});
        CHECK(cuCtxSynchronize());
    }
    print_sum(cast, y, (size_t)n * bytes);
}

/* `tokens` indices, `bytes` of one: 4 or 8. */
static void lookups(const char *name, unsigned tokens, size_t bytes, long long mask)
{
    static long long host[MANY];
    static int narrow[MANY];
    int cols = 16, entries = ENTRIES;
    unsigned seed = 1;
    CUdeviceptr ids, table = upload(ENTRIES * 16, 3), y = upload(tokens * 16, 4);
    CHECK(cuMemAlloc(&ids, tokens * bytes));
    for (unsigned i = 0; i < LAUNCHES; i++) {
        for (unsigned k = 0; k < tokens; k++) {
            seed = seed * 1664525u + 1013904223u;
            host[k] = seed >> 25; /* below 128 */
        }
        host[0] = i == RARE ? ENTRIES - 1 : host[0];
        for (unsigned k = 0; k < tokens; k++)
            narrow[k] = (int)host[k];
        CHECK(cuMemcpyHtoD(ids, bytes == 4 ? (void *)narrow : host, tokens * bytes));
        launch(kernel(name), tokens, 32, NULL,
               (void *[]){&ids, &table, &y, &cols, &entries, &mask});
        CHECK(cuCtxSynchronize());
    }
    print_sum(name, y, tokens * 16 * sizeof(float));
}

static void types(bool narrow)
{
    float most = narrow ? 50 : INFINITY;
    casts("f64", 8, most);
    casts("f16", 2, most);
    casts("bf16", 2, most);
    casts("f8e4m3", 1, most);
    casts("f8e5m2", 1, most);
    lookups("lookup_i64", MANY, 8, narrow ? 0xff : -1);
    lookups("lookup_i32", TOKENS, 4, narrow ? 0xff : -1);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    if (strcmp(word(0), "types") == 0)
        types(strcmp(word(1), "narrow") == 0);
    else if (!strcmp(word(1), "batch"))
        batches(word(0));
    else if (strncmp(word(0), "update", 6))
        norms(word(0));
    else
        updates();
    finish();
    return 0;
}
