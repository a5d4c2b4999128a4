/*
 * program.c - plain steps, for what is in the way of checking them: `program FATBIN KIND`.
 *
 *   plain   a few launches, each waited for
 *   wrong   the same with a wrong kernel among them
 *   burst   many launches before the first wait
 *   crowd   many launches that end while the program waits for all of them, of two kernels
 *   odd     the same with a wrong one among them
 *   empty   arrays without columns
 *   null    a null pointer where the kernel copes with one
 *   reload  a module that is loaded, used and unloaded again and again
 *   update  a kernel that updates its output
 *   shapes  launches of many shapes
 *   grid    the launch functions of long ago
 *   lookup  an index that its table has not, and one that it has
 *   unread  launches without blocks or threads, whose parameters are garbage
 *   stop    stops the checking for some of its launches, where cuvet is loaded
 */
#include "common/program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 4, COLS = 100, STEPS = 6, BURST = 40 };

static CUstream stream;

static void plain(bool wrong)
{
    struct norm norm = norm_new(ROWS, COLS, 1);
    for (int i = 0; i < STEPS; i++) {
        norm_launch(wrong && i == 3 ? "norm_wrong" : "norm_right", &norm, stream);
        CHECK(cuStreamSynchronize(stream));
    }
    norm_print("plain", &norm);
}

static void burst(void)
{
    struct norm norm = norm_new(ROWS, COLS, 2);
    for (int i = 0; i < BURST; i++)
        norm_launch("norm_right", &norm, stream);
    norm_print("burst", &norm);
}

/* The first kernel takes so long that the others come to run when the program waits. */
static void crowd(bool wrong)
{
    enum { LONG = 300000 };
    struct norm norm = norm_new(ROWS, COLS, 13);
    CUdeviceptr x = upload(COLS, 14), y = upload(COLS, 15), out;
    int n = COLS, steps = LONG;
    CHECK(cuMemAlloc(&out, 64 * sizeof(int)));
    launch(kernel("spin"), 1, 64, stream, (void *[]){&out, &steps});
    for (int i = 0; i < BURST / 2; i++) {
        norm_launch(wrong && i == 11 ? "norm_wrong" : "norm_right", &norm, stream);
        launch(kernel("update"), 1, 64, stream, (void *[]){&y, &x, &n});
    }
    CHECK(cuCtxSynchronize());
    norm_print("crowd", &norm);
    print_sum("crowd", y, COLS * sizeof(float));
}

static void empty(void)
{
    struct norm norm = norm_new(ROWS, COLS, 3), none = norm;
    none.cols = 0;
    norm_launch("norm_right", &none, stream);
    norm_launch("norm_right", &norm, stream);
    norm_print("empty", &norm);
}

static void null(void)
{
    struct norm norm = norm_new(ROWS, COLS, 4);
    norm.w = 0;
    norm_launch("norm_right", &norm, stream);
    norm_print("null", &norm);
}

static void reload(const void *image)
{
    struct norm norm = norm_new(ROWS, COLS, 5);
    CUmodule first = module;
    for (int i = 0; i < STEPS; i++) {
        CHECK(cuModuleLoadData(&module, image));
        norm_launch(i % 2 ? "norm_other" : "norm_right", &norm, stream);
        norm_launch("norm_wrong", &norm, stream);
        CHECK(cuStreamSynchronize(stream));
        CHECK(cuModuleUnload(module));
        module = first;
    }
    norm_print("reload", &norm);
}

static void update(void)
{
    CUdeviceptr x = upload(COLS, 6), y = upload(COLS, 7);
    int n = COLS;
    for (int i = 0; i < STEPS; i++)
        launch(kernel("update"), 1, 64, stream, (void *[]){&y, &x, &n});
    print_sum("update", y, COLS * sizeof(float));
}

static void shapes(void)
{
    struct norm norm = norm_new(8, 64, 8);
    for (unsigned rows = 1; rows <= 8; rows++)
        for (int cols = 32; cols <= 64; cols += 16) {
            norm.rows = rows;
            norm.cols = cols;
            norm_launch("norm_right", &norm, stream);
        }
    norm_print("shapes", &norm);
}

static void grid(void)
{
    struct norm norm = norm_new(ROWS, COLS, 9);
    CUfunction function = kernel("norm_right");
    CHECK(cuFuncSetBlockShape(function, 64, 1, 1));
    CHECK(cuParamSetSize(function, 32)); /* x, w, y, cols, eps */
    CHECK(cuParamSetv(function, 0, &norm, 32));
    CHECK(cuLaunchGrid(function, ROWS, 1));
    CHECK(cuLaunchGridAsync(function, ROWS, 1, stream));
    norm_launch("norm_right", &norm, stream);
    norm_print("grid", &norm);
}

static void lookup(void)
{
    static const int beyond[ROWS] = {0, 2, 3, 1}, within[ROWS] = {0, 2, 2, 1};
    int entries = 3, cols = COLS;
    CUdeviceptr ids, table = upload(3 * COLS, 10), y = upload(ROWS * COLS, 11);
    CHECK(cuMemAlloc(&ids, sizeof beyond));
    for (int i = 0; i < 2; i++) {
        CHECK(cuMemcpyHtoD(ids, i ? within : beyond, sizeof beyond));
        launch(kernel("lookup"), ROWS, 64, stream, (void *[]){&ids, &table, &y, &entries, &cols});
        CHECK(cuStreamSynchronize(stream));
        print_sum("lookup", y, ROWS * COLS * sizeof(float));
    }
}

/* The driver refuses them before it reads a parameter. */
static void unread(void)
{
    struct norm norm = norm_new(ROWS, COLS, 16);
    CUfunction function = kernel("norm_right");
    void **garbage = (void **)8;
    CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 0, .gridDimZ = 1, .blockDimX = 64};
    for (int i = 0; i < 2; i++) {
        printf("%d\n", cuLaunchKernel(function, 0, 1, 1, 64, 1, 1, 0, stream, NULL, NULL));
        printf("%d\n", cuLaunchKernel(function, 1, 1, 1, 0, 1, 1, 0, stream, garbage, NULL));
        printf("%d\n", cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, stream, NULL, garbage));
        printf("%d\n", cuLaunchKernelEx(&config, function, garbage, NULL));
        norm_launch("norm_right", &norm, stream);
    }
    norm_print("unread", &norm);
}

/* cuvet.h has the functions; the program was linked with nothing that has them. */
static void stop(void)
{
    union {
        void *found;
        int (*start)(void);
        int (*stop)(int timeout_ms);
    } on = {dlsym(RTLD_DEFAULT, "cuvet_start")}, off = {dlsym(RTLD_DEFAULT, "cuvet_stop")};
    struct norm norm = norm_new(ROWS, COLS, 12);
    for (int i = 0; i < STEPS; i++) {
        if (i == 2 && off.found && off.stop(10000))
            printf("not stopped\n");
        if (i == 4 && on.found && on.start())
            printf("not started\n");
        norm_launch(i == 3 ? "norm_wrong" : "norm_right", &norm, stream);
        CHECK(cuStreamSynchronize(stream));
    }
    norm_print("stop", &norm);
}

int main(int argc, char **argv)
{
    const void *image = start(argc, argv);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    const char *kind = word(0);
    if (!strcmp(kind, "plain") || !strcmp(kind, "wrong"))
        plain(!strcmp(kind, "wrong"));
    else if (!strcmp(kind, "burst"))
        burst();
    else if (!strcmp(kind, "crowd") || !strcmp(kind, "odd"))
        crowd(!strcmp(kind, "odd"));
    else if (!strcmp(kind, "empty"))
        empty();
    else if (!strcmp(kind, "null"))
        null();
    else if (!strcmp(kind, "reload"))
        reload(image);
    else if (!strcmp(kind, "update"))
        update();
    else if (!strcmp(kind, "shapes"))
        shapes();
    else if (!strcmp(kind, "grid"))
        grid();
    else if (!strcmp(kind, "lookup"))
        lookup();
    else if (!strcmp(kind, "unread"))
        unread();
    else if (!strcmp(kind, "stop"))
        stop();
    else
        printf("unknown kind '%s'\n", kind);
    CHECK(cuStreamDestroy(stream));
    finish();
    return 0;
}
