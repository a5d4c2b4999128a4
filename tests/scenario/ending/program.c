/*
 * program.c - ways in which a program may end: `program FATBIN WAY`.
 *
 * All but `orderly` and `killed` end with launches under way.
 */
#include "common/program.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 4, COLS = 256, LAUNCHES = 10 };

static struct norm norm;
static CUstream stream;

static void *launch_for_ever(void *user)
{
    (void)user;
    void *params[] = {&norm.x, &norm.w, &norm.y, &norm.cols, &norm.eps};
    CHECK(cuCtxSetCurrent(context));
    CUfunction function = kernel("norm_right");
    while (cuLaunchKernel(function, ROWS, 1, 1, 64, 1, 1, 0, stream, params, NULL) == CUDA_SUCCESS)
        usleep(200);
    return NULL;
}

/* A fault of the program's own: the context is lost, and each later call fails so. */
static int illegal(void)
{
    CUdeviceptr nowhere = 0x10;
    int value = 7;
    CUresult result;
    CUfunction right = kernel("norm_right");
    CHECK(cuStreamSynchronize(stream));
    launch(kernel("poke"), 1, 1, stream, (void *[]){&nowhere, &value});
    result = cuStreamSynchronize(stream);
    printf("synchronize: %d\n", (int)result);
    result = cuCtxSynchronize();
    printf("again: %d\n", (int)result);
    void *params[] = {&norm.x, &norm.w, &norm.y, &norm.cols, &norm.eps};
    result = cuLaunchKernel(right, ROWS, 1, 1, 64, 1, 1, 0, stream, params, NULL);
    printf("launch: %d\n", (int)result);
    return 4;
}

static int refused(void)
{
    void *params[] = {&norm.x, &norm.w, &norm.y, &norm.cols, &norm.eps};
    CUresult result =
        cuLaunchKernel(kernel("norm_right"), ROWS, 1, 1, 2048, 1, 1, 0, stream, params, NULL);
    printf("refused launch: %d\n", (int)result);
    norm_launch("norm_right", &norm, stream);
    norm_print("after", &norm);
    return 0;
}

int main(int argc, char **argv)
{
    start(argc, argv);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    norm = norm_new(ROWS, COLS, 1);
    const char *way = word(0);
    for (int i = 0; i < LAUNCHES; i++)
        norm_launch("norm_right", &norm, stream);
    puts("launched");
    fflush(stdout);
    if (!strcmp(way, "exit"))
        exit(7);
    if (!strcmp(way, "underscore"))
        _exit(7);
    if (!strcmp(way, "abort"))
        abort();
    if (!strcmp(way, "return"))
        return 7;
    if (!strcmp(way, "illegal"))
        return illegal();
    if (!strcmp(way, "refused"))
        return refused();
    if (!strcmp(way, "thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, launch_for_ever, NULL);
        usleep(20000);
        exit(7);
    }
    if (!strcmp(way, "killed")) {
        CHECK(cuStreamSynchronize(stream));
        sleep(3);
        raise(SIGKILL);
    }
    norm_print("orderly", &norm);
    CHECK(cuStreamDestroy(stream));
    finish();
    return 0;
}
