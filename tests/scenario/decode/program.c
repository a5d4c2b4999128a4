/*
 * program.c - a decode loop with a cache in pages: `program FATBIN MODE APPEND BUG [STEPS
 * [PAGES]]`.
 *
 * MODE eager, or graph: append and attention are captured once and replayed, or aside: captured on
 * another stream than they are replayed on, or prompt, for a cache of one sequence: a graph of
 * append_indirect runs for a first token, at position 0, then a prompt is appended without it,
 * token by token; there unsent: by the position that the graph left. APPEND is the kernel. BUG
 * none, or what the program does wrong in step 5: stale (the slots are those of the step before),
 * again (in all steps), twice (two tokens go to one slot), beyond (a slot that the cache has not),
 * shared (two sequences have a page in common), null (a sequence reads page 0), blank (a sequence
 * reads a place ahead), short (it leaves out its last place). In step 27, where all places were
 * written before: freed (a sequence has a page of one that ended), reused (a token goes to a place
 * that another sequence reads), ahead (a length goes on by two). turns is right: pages change hands
 * when sequences end. prefix, which is right: in step 27 sequence 0 ends, and another begins with
 * the first page of sequence 1, which ends in the next step. There prefix_last (both end, and
 * sequence 2 begins with their page), prefix_part (sequence 0 ends, and sequence 2 has its other
 * page, which is not full), prefix_reused (a token goes to the common page), prefix_ahead (a length
 * goes on by two). serial: the prompt is appended token by token; late: one of them with the data
 * of the token before. again and skips are for append_direct and append_indirect, a cache of one
 * sequence: the position stays, or goes on by two. heads_... is for a cache whose heads lie apart,
 * with attention over it; there stops (from step STOP on nothing is appended) and long (a length is
 * one too large). With gradient_... a sum over micro-steps.
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = 3, ENTRIES = 6, FEW = 20, PAGE = 4, HEADS = 2, DIM = 8, WIDTH = HEADS * DIM };
enum {
    TOKENS = SEQUENCES + 1 /* the last pads */,
    PREFILL = 3,
    STEPS = 12,
    ODD = 5,
    LATE = 27,
    STOP = 45,
    PLACES = 40
};

static CUstream stream;
static int pages = FEW;
static CUdeviceptr key, value, slots, keys, values, query, table, lengths, out, position;
static int32_t page_of[SEQUENCES][ENTRIES], length[SEQUENCES];

static bool bug(const char *what)
{
    return strcmp(word(2), what) == 0;
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
    size_t cache = (size_t)(pages + 2) * PAGE * WIDTH * sizeof(float);
    keys = zeros(cache) + PAGE * WIDTH * sizeof(float);   /* rows in front of the cache ... */
    values = zeros(cache) + PAGE * WIDTH * sizeof(float); /* ... and behind it */
    key = upload(TOKENS * PREFILL * WIDTH, 1);
    value = upload(TOKENS * PREFILL * WIDTH, 2);
    query = upload(SEQUENCES * WIDTH, 3);
    out = zeros(SEQUENCES * WIDTH * sizeof(float));
    slots = zeros(TOKENS * PREFILL * sizeof(int64_t));
    table = zeros(sizeof(page_of));
    lengths = zeros(sizeof(length));
    position = zeros(sizeof(int32_t));
    for (int i = 0; i < SEQUENCES * ENTRIES; i++)
        page_of[i % SEQUENCES][i / SEQUENCES] = 1 + i;
}

static void append(unsigned tokens)
{
    int count = (int)tokens, page = PAGE, heads = HEADS, dim = DIM;
    void *params[] = {&key, &value, &slots, &keys, &values, &count, &pages, &page, &heads, &dim};
    launch(kernel(word(1)), tokens, 32, stream, params);
}

static void attend(void)
{
    int entries = ENTRIES, page = PAGE, heads = HEADS, dim = DIM;
    float scale = 0.5f;
    void *params[] = {&query,   &keys,  &values, &table, &lengths, &out,
                      &entries, &pages, &page,   &heads, &dim,     &scale};
    launch(kernel("attend"), SEQUENCES * HEADS, 32, stream, params);
}

static int64_t slot_of(int sequence, int place)
{
    return (int64_t)page_of[sequence][place / PAGE] * PAGE + place % PAGE;
}

/* All sequences end, and others have their pages in another order. */
static void turn_pages(void)
{
    int32_t old[SEQUENCES][ENTRIES];
    memcpy(old, page_of, sizeof(old));
    for (int n = 0; n < SEQUENCES; n++) {
        for (int i = 0; i < ENTRIES; i++)
            page_of[n][i] = old[(n + 1) % SEQUENCES][ENTRIES - 1 - i];
    }
}

/* Sequence 0 ends, and another begins in a page that was free; sequence 1 gets one of its pages. */
static void end_sequence(void)
{
    page_of[1][1] = page_of[0][1];
    page_of[0][0] = FEW - 1;
    length[0] = 1;
}

static bool is_prefix(void)
{
    return strncmp(word(2), "prefix", 6) == 0;
}

/* A sequence ends, and another begins on a page that was free. */
static void begin_anew(int sequence, int32_t page)
{
    page_of[sequence][0] = page;
    length[sequence] = 1;
}

/* Sequence 0 ends, and another begins with the first page of sequence 1. */
static void begin_common(void)
{
    page_of[0][0] = page_of[1][0];
    page_of[0][1] = FEW - 1;
    length[0] = PAGE + 1;
}

/* Pages 1 and 4, which sequence 0 had before, are free. */
static void end_common(void)
{
    if (bug("prefix"))
        begin_anew(1, 1);
    if (bug("prefix_part"))
        page_of[2][1] = page_of[0][1];
    if (bug("prefix_last")) {
        page_of[2][0] = page_of[1][0];
        page_of[2][1] = FEW - 2;
        length[2] = PAGE + 1;
        begin_anew(1, 4);
    }
    if (bug("prefix_part") || bug("prefix_last"))
        begin_anew(0, 1);
}

/* A sequence that is full begins anew. */
static void grow(int step)
{
    if (bug("turns") && length[0] == ENTRIES * PAGE)
        turn_pages();
    for (int n = 0; n < SEQUENCES; n++)
        length[n] = length[n] == ENTRIES * PAGE ? 1 : length[n] + 1;
    if (bug("freed") && step == LATE)
        end_sequence();
    if (is_prefix() && step == LATE)
        begin_common();
    if (is_prefix() && step == LATE + 1)
        end_common();
    if (bug("blank") && step == ODD)
        length[1]++;
    if (bug("short") && step == ODD)
        length[2]--;
    if (bug("shared") && step == ODD)
        page_of[2][0] = page_of[1][0];
    if (bug("null") && step == ODD)
        page_of[0][length[0] / PAGE] = page_of[0][(length[0] - 1) / PAGE] = 0;
}

/* What the host sends for the tokens of a step, one a sequence. */
static void send(int step)
{
    int64_t slot[TOKENS];
    grow(step);
    for (int n = 0; n < SEQUENCES; n++)
        slot[n] = slot_of(n, length[n] - 1 - (bug("blank") && step == ODD && n == 1) +
                                 (bug("short") && step == ODD && n == 2));
    slot[SEQUENCES] = -1;
    if ((bug("reused") && step == LATE) || (bug("prefix_reused") && step == LATE + 1))
        slot[2] = slot_of(0, 1);
    if (bug("ahead") && step == LATE)
        length[1]++;
    if (bug("prefix_ahead") && step == LATE + 1)
        length[0]++;
    if (bug("twice") && step == ODD)
        slot[1] = slot[0];
    if (bug("beyond") && step == ODD)
        slot[1] = pages * PAGE + 1;
    fill(key, TOKENS * WIDTH, (unsigned)step + 10);
    fill(value, TOKENS * WIDTH, (unsigned)step + 20);
    if (!(bug("stale") && step == ODD) && !(bug("again") && step > 0))
        CHECK(cuMemcpyHtoD(slots, slot, sizeof(slot)));
    CHECK(cuMemcpyHtoD(table, page_of, sizeof(page_of)));
    CHECK(cuMemcpyHtoD(lengths, length, sizeof(length)));
}

/* A launch for each token; with "late" token 4 has the data of the one before it. */
static void append_one_by_one(int tokens)
{
    int count = 1, page = PAGE, heads = HEADS, dim = DIM;
    for (int t = 0; t < tokens; t++) {
        size_t row = (size_t)(t - (bug("late") && t == 4)) * WIDTH * sizeof(float);
        CUdeviceptr k = key + row, v = value + row, slot = slots + (size_t)t * sizeof(int64_t);
        launch(kernel(word(1)), 1, 32, stream,
               (void *[]){&k, &v, &slot, &keys, &values, &count, &pages, &page, &heads, &dim});
    }
}

static void prefill(void)
{
    int64_t slot[SEQUENCES * PREFILL];
    for (int i = 0; i < SEQUENCES * PREFILL; i++)
        slot[i] = slot_of(i / PREFILL, i % PREFILL);
    for (int n = 0; n < SEQUENCES; n++)
        length[n] = PREFILL;
    CHECK(cuMemcpyHtoD(slots, slot, sizeof(slot)));
    if (bug("serial") || bug("late"))
        append_one_by_one(SEQUENCES * PREFILL);
    else
        append(SEQUENCES * PREFILL);
    CHECK(cuStreamSynchronize(stream));
}

/* ---- one sequence, its cache dense ---- */

static bool is_dense(void)
{
    return !strcmp(word(1), "append_direct") || !strcmp(word(1), "append_indirect") ||
           !strncmp(word(1), "heads_", 6);
}

static void append_heads(int step)
{
    int heads = HEADS, places = PLACES, dim = DIM, tokens = 1;
    float scale = 0.5f;
    if (!bug("stops") || step < STOP)
        launch(kernel(word(1)), HEADS, 32, stream,
               (void *[]){&key, &slots, &keys, &tokens, &heads, &places, &dim});
    launch(kernel("attend_heads"), HEADS, 32, stream,
           (void *[]){&query, &keys, &lengths, &out, &places, &dim, &scale});
}

static void append_dense(int place, int step)
{
    int width = WIDTH, places = PLACES;
    if (!strncmp(word(1), "heads_", 6)) {
        append_heads(step);
        return;
    }
    if (!strcmp(word(1), "append_direct"))
        launch(kernel(word(1)), 1, 32, stream, (void *[]){&key, &keys, &place, &width});
    else
        launch(kernel(word(1)), 1, 32, stream, (void *[]){&key, &keys, &position, &places, &width});
}

static void send_dense(int step)
{
    int32_t place = (int32_t)(bug("skips") && step >= ODD ? step + 1 : step) % PLACES;
    int64_t slot = place;
    int32_t ahead = place + 1 + (bug("blank") && step == ODD) + (bug("long") && step == STOP);
    fill(key, WIDTH, (unsigned)step + 10);
    CHECK(cuMemcpyHtoD(lengths, &ahead, sizeof(ahead)));
    if (!(bug("again") && step > 0)) {
        CHECK(cuMemcpyHtoD(position, &place, sizeof(place)));
        CHECK(cuMemcpyHtoD(slots, &slot, sizeof(slot)));
    }
}

/* ---- gradients ---- */

static void accumulate(int steps)
{
    int count = WIDTH;
    CUdeviceptr grad = zeros(WIDTH * sizeof(float));
    for (int step = 0; step < steps; step++) {
        if (step % 2 == 0)
            CHECK(cuMemsetD8(grad, 0, WIDTH * sizeof(float)));
        fill(key, WIDTH, (unsigned)step + 10);
        launch(kernel(word(1)), 1, 32, stream, (void *[]){&key, &grad, &count});
        CHECK(cuStreamSynchronize(stream));
    }
    print_sum("grad", grad, WIDTH * sizeof(float));
}

static void one_step(int step)
{
    if (is_dense()) {
        append_dense(bug("again") ? 0 : step % PLACES, step);
    } else {
        append(TOKENS);
        attend();
    }
}

/* A first token by a graph, then a prompt without it. */
static void append_prompt(int tokens)
{
    CUgraphExec ready = graph_of_work(stream, one_step);
    CHECK(cuGraphLaunch(ready, stream));
    CHECK(cuStreamSynchronize(stream));
    for (int32_t place = 0; place < tokens; place++) {
        fill(key, WIDTH, (unsigned)place + 10);
        if (!bug("unsent"))
            CHECK(cuMemcpyHtoD(position, &place, sizeof(place)));
        one_step(place);
        CHECK(cuStreamSynchronize(stream));
    }
    print_sum("keys", keys, PLACES * WIDTH * sizeof(float));
    CHECK(cuGraphExecDestroy(ready));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    bool aside = strcmp(word(0), "aside") == 0, graph = aside || strcmp(word(0), "graph") == 0;
    int steps = *word(3) ? atoi(word(3)) : STEPS;
    if (*word(4))
        pages = atoi(word(4));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    make_arrays();
    if (!strncmp(word(1), "gradient_", 9)) {
        accumulate(steps);
        finish();
        return 0;
    }
    if (strcmp(word(0), "prompt") == 0) {
        append_prompt(steps);
        finish();
        return 0;
    }
    if (!is_dense())
        prefill();
    CUstream own = stream, other = NULL;
    if (aside) {
        CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
        stream = other;
    }
    CUgraphExec ready = graph ? graph_of_work(stream, one_step) : NULL;
    stream = own;
    for (int step = 0; step < steps; step++) {
        if (is_dense())
            send_dense(step);
        else
            send(step);
        if (graph)
            CHECK(cuGraphLaunch(ready, stream));
        else
            one_step(step);
        CHECK(cuStreamSynchronize(stream));
    }
    print_sum("keys", keys, (size_t)pages * PAGE * WIDTH * sizeof(float));
    print_sum("out", out, SEQUENCES * WIDTH * sizeof(float));
    if (graph)
        CHECK(cuGraphExecDestroy(ready));
    finish();
    return 0;
}
