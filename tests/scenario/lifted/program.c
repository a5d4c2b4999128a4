/*
 * program.c - runs a kernel that Triton made and that no entry names: `program FATBIN PTX KERNEL
 * [graph | file | full | again | shared | several]`, as the node of a CUDA graph, loaded by its
 * path, with so much shared memory that shadows find no room in it, with another module unloaded
 * half way, with both results in one place, or as several images in turn, as an autotuner makes
 * them. It is launched many times, since its own PTX takes a while to become its reference:
 * longer on a real driver, where PAUSE_MS in the environment is the time between launches.
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAUNCHES = 24, PAUSE_MS = 30, ROWS = 4, COLS = 1536, POINTS = 30000, MOST = 16, IMAGES = 3 };

static CUdeviceptr array[3];
static void *params[MOST];
static unsigned grid, shared_bytes, count;
static CUdeviceptr scratch;

static void *keep(const void *value, size_t bytes)
{
    void *copy = malloc(bytes);
    return memcpy(copy, value, bytes);
}

static void add_array(unsigned index, size_t bytes)
{
    CHECK(cuMemAlloc(&array[index], bytes));
    params[count++] = &array[index];
}

static void add_word(int value)
{
    params[count++] = keep(&value, sizeof(value));
}

static void add_scratch(void)
{
    params[count++] = &scratch;
    params[count++] = &scratch;
}

/* Numbers of bf16 between 1 and 1.5. */
static void fill_narrow(CUdeviceptr to, size_t elements)
{
    uint16_t *host = malloc(elements * 2);
    for (size_t i = 0; i < elements; i++)
        host[i] = (uint16_t)(0x3f80 + i * 7 % 64);
    CHECK(cuMemcpyHtoD(to, host, elements * 2));
    free(host);
}

static void rowsum(void)
{
    add_array(0, ROWS * COLS * 2);
    add_array(1, ROWS * 4);
    add_word(COLS);
    add_scratch();
    fill_narrow(array[0], ROWS * COLS);
    grid = ROWS;
    shared_bytes = 16;
}

static void silu_mul(void)
{
    for (unsigned i = 0; i < 3; i++)
        add_array(i, POINTS * 2);
    add_word(POINTS);
    add_scratch();
    fill_narrow(array[0], POINTS);
    fill_narrow(array[1], POINTS);
    grid = (POINTS + 1023) / 1024;
}

static void add_up(void)
{
    add_array(0, POINTS * 4);
    add_array(1, 16);
    add_word(POINTS);
    add_scratch();
    fill(array[0], POINTS, 1);
    CHECK(cuMemsetD8(array[1], 0, 16));
    grid = (POINTS + 511) / 512;
    shared_bytes = 16;
}

static void settled(void)
{
    add_array(0, POINTS * 4);
    add_array(1, POINTS * 4);
    add_word(POINTS);
    add_scratch();
    fill(array[0], POINTS, 1);
    grid = (POINTS + 511) / 512;
}

static CUdeviceptr middle;

static void before(void)
{
    add_array(0, 128 * 4);
    add_array(1, 128 * 4);
    middle = array[1] + 64;
    params[1] = &middle;
    add_word(64);
    fill(array[0], 128, 1);
    CHECK(cuMemsetD8(array[1], 0, 128 * 4));
    grid = 1;
}

/* The two results, or both in one place. */
static void two_results(void)
{
    for (unsigned i = 0; i < 3; i++)
        add_array(i, 64 * 4);
    if (!strcmp(word(2), "shared"))
        params[1] = params[2];
    add_word(64);
    fill(array[0], 64, 1);
    grid = 1;
}

/* Sums of rows, in e4m3. */
static void folded(void)
{
    enum { FOLDED = 200, COLUMNS = 1024 };
    add_array(0, FOLDED * COLUMNS * 2);
    add_array(1, COLUMNS);
    add_word(FOLDED);
    add_word(COLUMNS);
    add_scratch();
    fill_narrow(array[0], FOLDED * COLUMNS);
    grid = COLUMNS / 512;
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (!file || !text || !fread(text, 1, (1 << 20) - 16, file)) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(3);
    }
    fclose(file);
    return text;
}

/* Other images of the text, by a comment behind it. */
static void load_images(char *text, CUfunction image[IMAGES])
{
    size_t length = strlen(text);
    for (int i = 1; i < IMAGES; i++) {
        CUmodule other;
        snprintf(text + length, 16, "// %d\n", i);
        CHECK(cuModuleLoadData(&other, text));
        CHECK(cuModuleGetFunction(&image[i], other, word(1)));
    }
}

static void start_kernel(CUfunction function, CUstream stream)
{
    CHECK(cuLaunchKernel(function, grid, 1, 1, 128, 1, 1, shared_bytes, stream, params, NULL));
}

static CUgraphExec capture(CUfunction function)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    start_kernel(function, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}

int main(int argc, char **argv)
{
    start(argc, argv);
    char *text = read_text(word(0));
    CUmodule own;
    CUfunction function;
    if (strcmp(word(2), "file"))
        CHECK(cuModuleLoadData(&own, text));
    else
        CHECK(cuModuleLoad(&own, word(0)));
    CHECK(cuModuleGetFunction(&function, own, word(1)));
    if (!strcmp(word(1), "rowsum"))
        rowsum();
    else if (!strcmp(word(1), "silu_mul"))
        silu_mul();
    else if (!strcmp(word(1), "before"))
        before();
    else if (!strcmp(word(1), "two_results"))
        two_results();
    else if (!strcmp(word(1), "settled"))
        settled();
    else if (!strcmp(word(1), "folded"))
        folded();
    else
        add_up();
    if (!strcmp(word(2), "full"))
        shared_bytes = 48 << 10;
    CUfunction image[IMAGES] = {function};
    int images = strcmp(word(2), "several") ? 1 : IMAGES;
    if (images > 1)
        load_images(text, image);
    const char *pause_ms = getenv("PAUSE_MS");
    const useconds_t pause_us = 1000 * (useconds_t)(pause_ms ? atoi(pause_ms) : PAUSE_MS);
    CUgraphExec exec = strcmp(word(2), "graph") ? NULL : capture(function);
    for (int i = 0; i < LAUNCHES; i++) {
        if (!strcmp(word(2), "again") && i == LAUNCHES / 2) {
            CUmodule other;
            CHECK(cuModuleLoadData(&other, text));
            CHECK(cuModuleUnload(other));
        }
        if (exec)
            CHECK(cuGraphLaunch(exec, NULL));
        else
            start_kernel(image[i % images], NULL);
        CHECK(cuCtxSynchronize());
        usleep(pause_us);
    }
    free(text);
    print_sum(word(1), array[1], 16);
    CHECK(cuModuleUnload(own));
    finish();
    return 0;
}
