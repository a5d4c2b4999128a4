/*
 * program.c - runs kernels of kernels.cu: `program FATBIN right|wrong NAME ...`.
 *
 * Their references are compiled while it runs, so it goes on with each kernel until one launch of
 * it has been judged: its one link to cuvet is cuvet.h, where that is.
 * A NAME with a dash in front is launched three times, judged or not; a number is milliseconds that
 * it sleeps.
 */
#include "common/program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../shim/cuvet.h"

enum { COUNT = 1000, BLOCK = 128, PATIENCE_S = 60, UNJUDGED = 3 };

static int (*counters)(struct cuvet_counters *);
static int (*flush)(int);

static uint64_t judged(void)
{
    struct cuvet_counters now = {.size = sizeof(now)};
    flush(10000);
    counters(&now);
    return now.match + now.mismatch + now.inconclusive;
}

static void rest(long ms)
{
    const struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&nap, NULL);
}

static void run(const char *name, bool wait)
{
    CUdeviceptr x = upload(COUNT, 1), y = upload(COUNT, 2);
    const struct timespec nap = {.tv_nsec = 20000000};
    float c = 0.5f;
    int n = COUNT;
    char symbol[64];
    snprintf(symbol, sizeof(symbol), "%s_%s", name, word(0));
    uint64_t before = counters ? judged() : 0;
    time_t start_time = time(NULL);
    for (int i = 0; i < UNJUDGED || (wait && counters && judged() == before); i++) {
        launch(kernel(symbol), (COUNT + BLOCK - 1) / BLOCK, BLOCK, NULL,
               (void *[]){&x, &y, &c, &n});
        if (time(NULL) - start_time > PATIENCE_S)
            break;
        if (i >= UNJUDGED)
            nanosleep(&nap, NULL);
    }
    print_sum(symbol, y, COUNT * sizeof(float));
    CHECK(cuMemFree(x));
    CHECK(cuMemFree(y));
}

int main(int argc, char **argv)
{
    void *symbol[2] = {dlsym(RTLD_DEFAULT, "cuvet_counters"), dlsym(RTLD_DEFAULT, "cuvet_flush")};
    memcpy(&counters, &symbol[0], sizeof(counters));
    memcpy(&flush, &symbol[1], sizeof(flush));
    start(argc, argv);
    for (int i = 1; *word(i); i++) {
        if (atol(word(i)) > 0)
            rest(atol(word(i)));
        else
            run(word(i) + (*word(i) == '-'), *word(i) != '-');
    }
    finish();
    return 0;
}
