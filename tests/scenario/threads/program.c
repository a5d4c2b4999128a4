/*
 * program.c - 16 threads on 16 streams, each with arrays of its own: `program FATBIN right|wrong
 * [N]`. With `wrong` one of them launches a wrong kernel among the right ones.
 */
#include "common/program.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 16, ROWS = 2, COLS = 64 };

static int launches = 6;

struct worker {
    pthread_t thread;
    int number;
    struct norm norm;
};

static void *work(void *user)
{
    struct worker *worker = user;
    CUstream stream;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, worker->number % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
    bool wrong = worker->number == 5 && !strcmp(word(0), "wrong");
    for (int i = 0; i < launches; i++)
        norm_launch(wrong && i == launches / 2 ? "norm_wrong" : "norm_right", &worker->norm,
                    stream);
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuStreamDestroy(stream));
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[THREADS];
    start(argc, argv);
    if (*word(1))
        launches = atoi(word(1));
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].norm = norm_new(ROWS, COLS, (unsigned)i * 10);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "thread %d", i);
        norm_print(name, &workers[i].norm);
    }
    finish();
    return 0;
}
