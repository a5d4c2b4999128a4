/*
 * program.c - a decode loop with a cache of one layout: `program FATBIN MODE LAYOUT BUG`.
 *
 * MODE eager, or graph: append and attention are captured once and replayed. LAYOUT nhd or hnd
 * (keys and values in one tensor, a table in CSR), pool (places of tokens, by a row of req_to_token
 * for each sequence) or transposed (rows of keys, columns of values, one sequence). BUG none, or
 * what the program does wrong in step 5: stale (the slots are those of the step before), freed (a
 * page of sequence 1 went to sequence 2, and both read it), ahead (sequence 1 reads a place that
 * was never written), null (sequence 0 reads page 0).
 */
#include "common/program.h"

#include <string.h>

enum { SEQUENCES = 3, ENTRIES = 6, PAGE = 4, HEADS = 2, DIM = 8, WIDTH = HEADS * DIM };
enum { TOKENS = SEQUENCES, STEPS = 8, ODD = 5, MOST = ENTRIES * PAGE, CELLS = MOST };
enum { PAGES = SEQUENCES * ENTRIES + 2, SIZE = SEQUENCES * MOST + 1 };

static CUstream stream;
static CUdeviceptr key, value, slots, columns, keys, values, query, table, indptr, last, out;

static bool layout(const char *what)
{
    return strcmp(word(1), what) == 0;
}

static bool wrong(const char *what, int step)
{
    return strcmp(word(2), what) == 0 && step == ODD;
}

static bool in_pages(void)
{
    return layout("nhd") || layout("hnd");
}

static CUdeviceptr zeros(size_t bytes)
{
    CUdeviceptr array;
    CHECK(cuMemAlloc(&array, bytes));
    CHECK(cuMemsetD8(array, 0, bytes));
    return array;
}

static void make_arrays(void)
{
    size_t cache = (size_t)(PAGES + 2) * PAGE * WIDTH * sizeof(float);
    keys = zeros(2 * cache);
    values = in_pages() ? keys + PAGE * WIDTH * sizeof(float) : zeros(cache);
    key = upload(TOKENS * WIDTH, 1);
    value = upload(TOKENS * WIDTH, 2);
    query = upload(SEQUENCES * WIDTH, 3);
    out = zeros(SEQUENCES * WIDTH * sizeof(float));
    slots = zeros(TOKENS * sizeof(int64_t));
    columns = zeros(WIDTH * sizeof(int64_t));
    table = zeros(SEQUENCES * MOST * sizeof(int32_t));
    indptr = zeros((SEQUENCES + 1) * sizeof(int32_t));
    last = zeros(SEQUENCES * sizeof(int32_t));
}

/* ---- keys and values in one tensor ---- */

static void launch_pages(void)
{
    int tokens = TOKENS, pages = PAGES, page = PAGE, heads = HEADS, dim = DIM;
    int sequences = SEQUENCES, listed = SEQUENCES * ENTRIES;
    float scale = 0.5f;
    launch(kernel(layout("nhd") ? "append_nhd" : "append_hnd"), TOKENS, 32, stream,
           (void *[]){&key, &value, &slots, &keys, &values, &tokens, &pages, &page, &heads, &dim});
    launch(kernel(layout("nhd") ? "attend_nhd" : "attend_hnd"), SEQUENCES * HEADS, 32, stream,
           (void *[]){&query, &keys, &values, &indptr, &table, &last, &out, &sequences, &listed,
                      &pages, &page, &heads, &dim, &scale});
}

/* Page 0 is no sequence's. */
static int page_of(int sequence, int entry)
{
    return 1 + entry * SEQUENCES + sequence;
}

/* The table ends with pages that no sequence reads yet. */
static void send_pages(int step)
{
    int32_t begin[SEQUENCES + 1] = {0}, pages[SEQUENCES * ENTRIES] = {0}, places[SEQUENCES];
    int64_t slot[TOKENS];
    for (int n = 0; n < SEQUENCES; n++) {
        int count = step / PAGE + 1;
        slot[n] = (int64_t)page_of(n, step / PAGE) * PAGE + step % PAGE;
        for (int i = 0; i < count; i++)
            pages[begin[n] + i] = page_of(n, i);
        places[n] = step % PAGE + 1 + (wrong("ahead", step) && n == 1);
        begin[n + 1] = begin[n] + count;
    }
    if (wrong("freed", step))
        pages[begin[2]] = pages[begin[1]];
    if (wrong("null", step))
        pages[begin[1] - 1] = 0;
    CHECK(cuMemcpyHtoD(indptr, begin, sizeof(begin)));
    CHECK(cuMemcpyHtoD(table, pages, sizeof(pages)));
    CHECK(cuMemcpyHtoD(last, places, sizeof(places)));
    if (!wrong("stale", step))
        CHECK(cuMemcpyHtoD(slots, slot, sizeof(slot)));
}

/* ---- a pool of tokens ---- */

static void launch_pool(void)
{
    int tokens = TOKENS, size = SIZE, heads = HEADS, dim = DIM, sequences = SEQUENCES, most = MOST;
    float scale = 0.5f;
    launch(kernel("append_pool"), TOKENS, 32, stream,
           (void *[]){&key, &value, &slots, &keys, &values, &tokens, &size, &heads, &dim});
    launch(kernel("attend_pool"), SEQUENCES * HEADS, 32, stream,
           (void *[]){&query, &keys, &values, &table, &last, &out, &sequences, &most, &size, &heads,
                      &dim, &scale});
}

/* Place 0 of the pool is no token's. */
static void send_pool(int step)
{
    int32_t token[SEQUENCES][MOST] = {{0}}, length[SEQUENCES];
    int64_t loc[TOKENS];
    for (int n = 0; n < SEQUENCES; n++) {
        for (int s = 0; s <= step + 1; s++)
            token[n][s] = 1 + s * SEQUENCES + n;
        loc[n] = token[n][step];
        length[n] = step + 1 + (wrong("ahead", step) && n == 1);
    }
    if (wrong("freed", step))
        token[2][0] = token[1][0];
    if (wrong("null", step))
        token[0][step] = 0;
    CHECK(cuMemcpyHtoD(table, token, sizeof(token)));
    CHECK(cuMemcpyHtoD(last, length, sizeof(length)));
    if (!wrong("stale", step))
        CHECK(cuMemcpyHtoD(slots, loc, sizeof(loc)));
}

/* ---- values transposed ---- */

/* A column of values is a row of one element for each of its indices. */
static void launch_transposed(void)
{
    int one = 1, width = WIDTH, cells = CELLS, elements = CELLS * WIDTH, heads = HEADS, dim = DIM;
    float scale = 0.5f;
    launch(kernel("set_rows"), 1, 32, stream,
           (void *[]){&key, &slots, &keys, &one, &width, &cells});
    launch(kernel("set_rows"), WIDTH, 32, stream,
           (void *[]){&value, &columns, &values, &width, &one, &elements});
    launch(kernel("attend_transposed"), HEADS, 32, stream,
           (void *[]){&query, &keys, &values, &last, &out, &cells, &heads, &dim, &scale});
}

static void send_transposed(int step)
{
    int64_t place = step, element[WIDTH];
    int32_t length = step + 1 + wrong("ahead", step);
    for (int c = 0; c < WIDTH; c++)
        element[c] = (int64_t)c * CELLS + step;
    CHECK(cuMemcpyHtoD(slots, &place, sizeof(place)));
    CHECK(cuMemcpyHtoD(last, &length, sizeof(length)));
    if (!wrong("stale", step))
        CHECK(cuMemcpyHtoD(columns, element, sizeof(element)));
}

/* ---- the loop ---- */

static void one_step(void)
{
    (in_pages() ? launch_pages : layout("pool") ? launch_pool : launch_transposed)();
}

static void send(int step)
{
    fill(key, TOKENS * WIDTH, (unsigned)step + 10);
    fill(value, TOKENS * WIDTH, (unsigned)step + 40);
    (in_pages() ? send_pages : layout("pool") ? send_pool : send_transposed)(step);
}

static CUgraphExec capture(void)
{
    CUgraph graph;
    CUgraphExec ready;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    one_step();
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return ready;
}

int main(int argc, char **argv)
{
    start(argc, argv);
    bool graph = strcmp(word(0), "graph") == 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    make_arrays();
    CUgraphExec ready = graph ? capture() : NULL;
    for (int step = 0; step < STEPS; step++) {
        send(step);
        if (graph)
            CHECK(cuGraphLaunch(ready, stream));
        else
            one_step();
        CHECK(cuStreamSynchronize(stream));
    }
    print_sum("keys", keys, PAGES * PAGE * WIDTH * sizeof(float));
    print_sum("out", out, SEQUENCES * WIDTH * sizeof(float));
    if (graph)
        CHECK(cuGraphExecDestroy(ready));
    finish();
    return 0;
}
