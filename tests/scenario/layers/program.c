/*
 * program.c - a decode loop of a model of two layers: `program FATBIN MODE ROPE BUG [STEPS]`.
 *
 * MODE eager, or graph: all kernels of a step are captured once and replayed. ROPE is the kernel,
 * or mixed: rope_indirect in the first layer, rope_direct in the second. BUG none, or what the
 * program does wrong from step ODD on: stays (the positions that the rotary embedding reads are no
 * longer sent), ahead (they are one too large), plain (keys are appended before they are rotated;
 * in a graph in all steps), full (the second layer appends nothing, when all places were written).
 */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>

enum { LAYERS = 2, SEQUENCES = 2, ENTRIES = 8, PAGE = 4, PAGES = 24, STEPS = 12, ODD = 6 };
enum { HEADS = 2, HALF = 4, DIM = 2 * HALF, WIDTH = HEADS * DIM, PLACES = ENTRIES * PAGE };

static CUstream stream;
static CUdeviceptr x[LAYERS + 1], weight, normed, turned, cache[LAYERS], cosines, sines;
static CUdeviceptr positions, slots, lengths, table;

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
    for (int i = 0; i <= LAYERS; i++)
        x[i] = zeros(SEQUENCES * WIDTH * sizeof(float));
    for (int i = 0; i < LAYERS; i++)
        cache[i] = zeros(PAGES * PAGE * WIDTH * sizeof(float));
    weight = upload(WIDTH, 7);
    normed = zeros(SEQUENCES * WIDTH * sizeof(float));
    turned = zeros(SEQUENCES * WIDTH * sizeof(float));
    positions = zeros(SEQUENCES * sizeof(int32_t));
    slots = zeros(SEQUENCES * sizeof(int32_t));
    lengths = zeros(SEQUENCES * sizeof(int32_t));
    table = zeros(SEQUENCES * ENTRIES * sizeof(int32_t));
    cosines = upload((PLACES + 1) * HALF, 8); /* any numbers will do */
    sines = upload((PLACES + 1) * HALF, 9);
}

static int32_t page_of(int sequence, int place)
{
    return 1 + place / PAGE * SEQUENCES + sequence;
}

/* The kernel that takes the position by value takes one token. */
static void rotate(int layer, int place)
{
    int heads = HEADS, half = HALF;
    const char *name = strcmp(word(1), "mixed") != 0 ? word(1)
                       : layer                       ? "rope_direct"
                                                     : "rope_indirect";
    bool direct = strcmp(name, "rope_direct") == 0;
    for (unsigned n = 0; n < (direct ? SEQUENCES : 1); n++) {
        CUdeviceptr from = normed + n * WIDTH * sizeof(float);
        CUdeviceptr to = turned + n * WIDTH * sizeof(float);
        void *position = direct ? (void *)&place : (void *)&positions;
        launch(kernel(name), direct ? 1 : SEQUENCES, 32, stream,
               (void *[]){&from, &cosines, &sines, &to, position, &heads, &half});
    }
}

static void run_layer(int i, int place)
{
    static int step, appends;
    bool plain = bug("plain") && (strcmp(word(0), "graph") == 0 || step++ / LAYERS >= ODD);
    int width = WIDTH, rows = PAGES * PAGE, entries = ENTRIES, pages = PAGES, page = PAGE;
    int heads = HEADS, dim = DIM;
    float eps = 1e-5f, scale = 0.35f;
    launch(kernel("norm_rows"), SEQUENCES, 32, stream,
           (void *[]){&x[i], &weight, &normed, &width, &eps});
    rotate(i, place);
    if (!(bug("full") && i == 1 && appends++ >= PLACES + ODD))
        launch(kernel("append"), SEQUENCES, 32, stream,
               (void *[]){plain ? &normed : &turned, &slots, &cache[i], &rows, &width});
    launch(kernel("attend"), SEQUENCES * HEADS, 32, stream,
           (void *[]){&turned, &cache[i], &table, &lengths, &x[i + 1], &entries, &pages, &page,
                      &heads, &dim, &scale});
}

static void run_layers(int place)
{
    for (int i = 0; i < LAYERS; i++)
        run_layer(i, place);
}

/* What the host sends for a step: a token of each sequence. */
static void send(int step)
{
    int32_t place[SEQUENCES], slot[SEQUENCES], length[SEQUENCES], page[SEQUENCES][ENTRIES];
    int at = step % PLACES;
    for (int n = 0; n < SEQUENCES; n++) {
        place[n] = at + (bug("ahead") && step >= ODD);
        slot[n] = page_of(n, at) * PAGE + at % PAGE;
        length[n] = at + 1;
        for (int e = 0; e < ENTRIES; e++)
            page[n][e] = page_of(n, e * PAGE);
    }
    fill(x[0], SEQUENCES * WIDTH, (unsigned)step + 10);
    if (!bug("stays") || step < ODD)
        CHECK(cuMemcpyHtoD(positions, place, sizeof(place)));
    CHECK(cuMemcpyHtoD(slots, slot, sizeof(slot)));
    CHECK(cuMemcpyHtoD(lengths, length, sizeof(length)));
    CHECK(cuMemcpyHtoD(table, page, sizeof(page)));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    bool graph = strcmp(word(0), "graph") == 0;
    int steps = *word(3) ? atoi(word(3)) : STEPS;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    make_arrays();
    CUgraphExec ready = graph ? graph_of_work(stream, run_layers) : NULL;
    for (int step = 0; step < steps; step++) {
        send(step);
        if (graph)
            CHECK(cuGraphLaunch(ready, stream));
        else
            run_layers(step % PLACES);
        CHECK(cuStreamSynchronize(stream));
    }
    print_sum("out", x[LAYERS], SEQUENCES * WIDTH * sizeof(float));
    if (graph)
        CHECK(cuGraphExecDestroy(ready));
    finish();
    return 0;
}
