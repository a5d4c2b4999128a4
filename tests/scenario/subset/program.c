/*
 * program.c - launches that are large for what may be copied of them: `program FATBIN KERNEL
 * [HOW [graph]]`. With "graph" as replays of a graph.
 *
 *   norm_...    rows; HOW dense, pitch (rows further apart than they are long), place (in place),
 *               or few long ones: long (dense), apart
 *   layer_...   rows, six arrays
 *   flat_..., update_..., planes_...   one row, in place for update, two of them for planes
 *   attention_..., varlen_...   one batch, 32 heads in groups that share the keys of 16; HOW
 *               uneven: of 12
 *   HOW rare    many launches on new values, one of them with large values in every row
 */
#include "common/program.h"

#include <string.h>

enum { ROWS = 200, COLS = 33, PITCH = 43, COUNT = 6603, REPEAT = 4, LAUNCHES = 60, RARE = 45 };
enum { LONG_ROWS = 12, LONG_COLS = 5004 };
enum { TOKENS = 12, HEADS = 32, KV_HEADS = 16, DIM = 16 };

static bool is(const char *prefix)
{
    return strncmp(word(0), prefix, strlen(prefix)) == 0;
}

static bool how(const char *what)
{
    return strcmp(word(1), what) == 0;
}

/* Large values, a row's length apart. */
static void spoil(CUdeviceptr array)
{
    float large = 100;
    for (size_t i = 5; i < ROWS * COLS; i += COLS)
        CHECK(cuMemcpyHtoD(array + 4 * i, &large, sizeof(large)));
}

static CUgraphExec graph_of(CUstream stream, unsigned grid, void **params)
{
    CUgraph graph;
    CUgraphExec ready;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(kernel(word(0)), grid, 64, stream, params);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return ready;
}

/* Each launch on new values, so that one in place does not come to rest. */
static void repeat(CUdeviceptr values, size_t count, unsigned grid, void **params)
{
    unsigned launches = how("rare") ? LAUNCHES : is("varlen") ? REPEAT - 1 : REPEAT;
    bool replays = !strcmp(word(2), "graph");
    CUstream stream = NULL;
    CUgraphExec ready = NULL;
    if (replays) {
        CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ready = graph_of(stream, grid, params);
    }
    for (unsigned i = 0; i < launches; i++) {
        fill(values, count, 100 + i);
        if (how("rare") && i == RARE)
            spoil(values);
        if (replays)
            CHECK(cuGraphLaunch(ready, stream));
        else
            launch(kernel(word(0)), grid, 64, NULL, params);
        CHECK(cuCtxSynchronize());
    }
}

static void norms(void)
{
    bool is_long = how("long") || how("apart");
    size_t count = is_long ? LONG_ROWS * LONG_COLS : ROWS * PITCH;
    CUdeviceptr x = upload(count, 1), w = upload(LONG_COLS, 2), y = upload(count, 3);
    CUdeviceptr out = how("place") ? x : y;
    int64_t pitch = is_long ? LONG_COLS : how("pitch") ? PITCH : COLS;
    int cols = how("long") ? LONG_COLS : how("apart") ? LONG_COLS - 1 : COLS;
    float eps = 1e-5f;
    repeat(x, count, is_long ? LONG_ROWS : ROWS, (void *[]){&x, &w, &out, &pitch, &cols, &eps});
    print_sum(word(0), out, count * sizeof(float));
}

static void layers(void)
{
    CUdeviceptr x = upload(ROWS * COLS, 1), w = upload(COLS, 2), b = upload(COLS, 3);
    CUdeviceptr y = upload(ROWS * COLS, 4), mean = upload(ROWS, 5), rstd = upload(ROWS, 6);
    int cols = COLS;
    float eps = 1e-5f;
    repeat(x, ROWS * COLS, ROWS, (void *[]){&x, &w, &b, &y, &mean, &rstd, &cols, &eps});
    print_sum(word(0), y, ROWS * COLS * sizeof(float));
}

static void flat(void)
{
    int n = COUNT;
    float alpha = 1.5f;
    CUdeviceptr x = upload(2 * COUNT, 4), y = upload(COUNT, 5);
    void *scale[] = {&x, &y, &alpha, &n}, *update[] = {&y, &x, &n}, *planes[] = {&x, &y, &n};
    repeat(x, 2 * COUNT, 8, is("flat") ? scale : is("update") ? update : planes);
    print_sum(word(0), y, COUNT * sizeof(float));
}

static void attention(void)
{
    int tokens = TOKENS, heads = HEADS, kv_heads = how("uneven") ? 12 : KV_HEADS;
    float scale = 0.25f;
    size_t count = TOKENS * HEADS * DIM;
    CUdeviceptr q = upload(count, 1), k = upload(count, 2), v = upload(count, 3);
    CUdeviceptr y = upload(count, 4), lse = upload(count, 5);
    repeat(q, count, TOKENS * HEADS / 64,
           (void *[]){&q, &k, &v, &y, &lse, &scale, &tokens, &heads, &kv_heads});
    print_sum(word(0), y, count * sizeof(float));
}

static void varlen(void)
{
    int tokens = TOKENS, heads = HEADS, kv_heads = KV_HEADS, bounds[] = {0, 5, TOKENS};
    float scale = 0.25f;
    size_t count = TOKENS * HEADS * DIM;
    CUdeviceptr q = upload(count, 1), k = upload(count, 2), v = upload(count, 3);
    CUdeviceptr dy = upload(count, 4), lse = upload(count, 5), delta = upload(count, 6);
    CUdeviceptr dq = upload(count, 7), dk = upload(count, 8), dv = upload(count, 9), starts;
    CHECK(cuMemAlloc(&starts, sizeof bounds));
    CHECK(cuMemcpyHtoD(starts, bounds, sizeof bounds));
    repeat(q, count, TOKENS * HEADS / 64,
           (void *[]){&q, &k, &v, &dy, &starts, &lse, &delta, &dq, &dk, &dv, &scale, &tokens,
                      &heads, &kv_heads});
    print_sum(word(0), dk, count * sizeof(float));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    if (is("norm"))
        norms();
    else if (is("layer"))
        layers();
    else if (is("attention"))
        attention();
    else if (is("varlen"))
        varlen();
    else
        flat();
    finish();
    return 0;
}
