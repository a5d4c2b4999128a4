/*
 * program.c - rows by index: `program FATBIN KERNEL [HOW]`.
 *
 *   look_..., look64_...   rows of a table; HOW few, many (tokens), beyond (an index that the table
 *                          has not, which the kernel reads), large (a table of 8 MiB), middle (the
 *                          table in the middle of an allocation)
 *   append_...             keys into a cache, some slots negative; HOW places (a page's places
 *                          outermost), heads (its heads), again (places, the same each time), odd
 *                          (60 times, once with keys a thousand times as large), graph (the same,
 *                          replays of one CUDA graph)
 *   add_..., copy_...      sums into rows and copies to rows, some of them named twice
 *   attend_..., rest_...   keys and values in pages, some of which several sequences share
 */
#include "common/program.h"

#include <string.h>

enum { COLS = 33, PITCH = 40, ENTRIES = 300, LARGE = 65536, FEW = 40, MANY = 700, REPEAT = 3 };
enum { BLOCKS = 12, PAGE = 4, HEADS = 3, DIM = 8, TOKENS = 21 };
enum { BATCH = 3, PAGES = 3, KEYS = 10 };
enum { ORDINARY = 60, ODD = 40 };

static bool is(const char *prefix)
{
    return strncmp(word(0), prefix, strlen(prefix)) == 0;
}

static bool how(const char *what)
{
    return strcmp(word(1), what) == 0;
}

static CUdeviceptr indices(const int64_t *value, size_t count, size_t bytes)
{
    CUdeviceptr array;
    int64_t wide[MANY];
    int32_t narrow[MANY];
    for (size_t i = 0; i < count; i++) {
        wide[i] = value[i];
        narrow[i] = (int32_t)value[i];
    }
    CHECK(cuMemAlloc(&array, count * bytes));
    CHECK(cuMemcpyHtoD(array, bytes == 8 ? (void *)wide : narrow, count * bytes));
    return array;
}

static void look(void)
{
    int entries = how("large") ? LARGE : ENTRIES, pitch = PITCH, cols = COLS;
    size_t before = how("middle") ? 1001 : 0;
    unsigned tokens = how("many") ? MANY : FEW;
    CUdeviceptr whole = upload((size_t)entries * PITCH + before, 1), table = whole + 4 * before;
    CUdeviceptr y = upload(MANY * COLS, 2);
    for (unsigned i = 0; i < REPEAT; i++) {
        int64_t id[MANY];
        for (unsigned t = 0; t < tokens; t++)
            id[t] = (t * 7919 + i * 31) % (unsigned)(entries - 1);
        id[3] = id[5];
        if (how("beyond") && i == 1)
            id[7] = entries + 5000000;
        if (how("beyond") && i == 2)
            id[7] = entries;
        CUdeviceptr ids = indices(id, tokens, is("look64") ? 8 : 4);
        launch(kernel(word(0)), tokens, 64, NULL,
               (void *[]){&table, &ids, &y, &entries, &pitch, &cols});
        CHECK(cuCtxSynchronize());
        CHECK(cuMemFree(ids));
    }
    print_sum(word(0), y, tokens * COLS * sizeof(float));
    CHECK(cuMemFree(whole));
}

static void fill_keys(CUdeviceptr key, unsigned number)
{
    enum { COUNT = TOKENS * HEADS * DIM };
    float host[COUNT];
    fill(key, COUNT, 100 + number);
    CHECK(cuMemcpyDtoH(host, key, sizeof host));
    for (unsigned i = 0; i < COUNT && number == ODD; i++)
        host[i] *= 1000;
    CHECK(cuMemcpyHtoD(key, host, sizeof host));
}

/* One launch of the kernel, as an executable graph. */
static CUgraphExec capture(void **params)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec ready;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(kernel(word(0)), 1, 64, stream, params);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamDestroy(stream));
    return ready;
}

static void append(void)
{
    bool heads_first = how("heads");
    int tokens = TOKENS, page = PAGE, heads = HEADS, dim = DIM;
    int64_t block = PAGE * HEADS * DIM, place = heads_first ? DIM : HEADS * DIM;
    int64_t head = heads_first ? PAGE * DIM : DIM;
    CUdeviceptr key = upload(TOKENS * HEADS * DIM, 1),
                cache = upload(BLOCKS * PAGE * HEADS * DIM, 2);
    CUdeviceptr slots = upload(TOKENS * 2, 3);
    void *params[] = {&key, &slots, &cache, &tokens, &page, &heads, &dim, &block, &place, &head};
    bool odd = how("odd") || how("graph");
    CUgraphExec ready = how("graph") ? capture(params) : NULL;
    for (unsigned i = 0; i < (odd ? ORDINARY : REPEAT); i++) {
        if (odd)
            fill_keys(key, i);
        int64_t slot[TOKENS]; /* no place twice, and the first by token 4 */
        for (unsigned t = 0; t < TOKENS; t++)
            slot[t] = t == 4 ? 0 : 1 + (t * 5 + (how("again") ? 0 : i)) % (BLOCKS * PAGE - 1);
        slot[TOKENS - 1] = slot[6] = -1;
        slot[9] = -1000000;
        CHECK(cuMemcpyHtoD(slots, slot, sizeof(slot)));
        if (ready)
            CHECK(cuGraphLaunch(ready, NULL));
        else
            launch(kernel(word(0)), 1, 64, NULL, params);
        CHECK(cuCtxSynchronize());
    }
    print_sum(word(0), cache, BLOCKS * PAGE * HEADS * DIM * sizeof(float));
}

static void add(void)
{
    int tokens = FEW, cols = COLS;
    CUdeviceptr x = upload(FEW * COLS, 1), y = upload(ENTRIES * COLS, 2);
    for (unsigned i = 0; i < REPEAT; i++) {
        int64_t id[FEW];
        for (unsigned t = 0; t < FEW; t++)
            id[t] = (t % 31 * 7 + i) % ENTRIES;
        CUdeviceptr ids = indices(id, FEW, 4);
        launch(kernel(word(0)), 1, 64, NULL, (void *[]){&ids, &x, &y, &tokens, &cols});
        CHECK(cuCtxSynchronize());
        CHECK(cuMemFree(ids));
    }
    print_sum(word(0), y, ENTRIES * COLS * sizeof(float));
}

/* The last entry of the last row is of no use, and names nothing. */
static void attend(void)
{
    static const int64_t pages_of[BATCH * PAGES] = {7, 2, 5, 7, 2, 0, 7, 11, 123456789};
    static const int64_t lengths_of[BATCH] = {KEYS, 2 * PAGE + 1, PAGE + 2};
    int pages = PAGES, page = PAGE, heads = HEADS, dim = DIM;
    float scale = 0.35f;
    CUdeviceptr q = upload(BATCH * HEADS * DIM, 1), y = upload(BATCH * HEADS * DIM, 2);
    CUdeviceptr k = upload(BLOCKS * PAGE * HEADS * DIM, 3);
    CUdeviceptr v = upload(BLOCKS * PAGE * HEADS * DIM, 4);
    CUdeviceptr table = indices(pages_of, BATCH * PAGES, 4);
    CUdeviceptr lengths = indices(lengths_of, BATCH, 4);
    for (unsigned i = 0; i < REPEAT; i++) {
        fill(q, BATCH * HEADS * DIM, 10 + i);
        launch(kernel(word(0)), BATCH, 32, NULL,
               (void *[]){&q, &k, &v, &table, &lengths, &y, &pages, &page, &heads, &dim, &scale});
        CHECK(cuCtxSynchronize());
    }
    print_sum(word(0), y, BATCH * HEADS * DIM * sizeof(float));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    if (is("look"))
        look();
    else if (is("append"))
        append();
    else if (is("add") || is("copy"))
        add();
    else
        attend();
    finish();
    return 0;
}
