/*
 * program.c - plain steps, for what is in the way of checking them: `program FATBIN KIND`.
 *
 *   plain   a few launches, each waited for
 *   wrong   the same with a wrong kernel among them
 *   burst   many launches before the first wait
 *   empty   arrays without columns
 *   null    a null pointer where the kernel copes with one
 *   reload  a module that is loaded, used and unloaded again and again
 *   update  a kernel that updates its output
 *   shapes  launches of many shapes
 *   grid    the launch functions of long ago
 */
#include "common/program.h"

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

int main(int argc, char **argv)
{
    const void *image = start(argc, argv);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    const char *kind = word(0);
    if (!strcmp(kind, "plain") || !strcmp(kind, "wrong"))
        plain(!strcmp(kind, "wrong"));
    else if (!strcmp(kind, "burst"))
        burst();
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
    else
        printf("unknown kind '%s'\n", kind);
    CHECK(cuStreamDestroy(stream));
    finish();
    return 0;
}
