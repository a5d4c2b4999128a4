/*
 * flow.c - how far the program runs ahead of the checks of its launches.
 *
 * A launch for which cuvet has no slot or no memory left goes unchecked, and here every launch is
 * to be checked. So a launch waits until few enough checks are under way; and, since it is unknown
 * which of them have given their memory back, until none is, once the arrays of all launches since
 * then would fill it. cuvet_counters gives how many have ended, as in any program.
 */
#include "corpus.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "cuvet.h"

/* A nap is NAPS times as long as reading the counters, which grows with the kernels, and NAP_MS at
 * least. */
enum { STALL_MS = 60000, NAPS = 9, ROUNDING = 1 << 12 /* bytes of a launch, besides arrays */ };
static const double NAP_MS = 0.3;

static struct {
    pthread_mutex_t lock;
    int (*counters)(struct cuvet_counters *out); /* NULL: nothing is checked */
    int (*flush)(int timeout_ms);
    uint64_t most, started, ended; /* launches */
    size_t most_bytes, bytes;      /* since no check was under way */
} flow = {.lock = PTHREAD_MUTEX_INITIALIZER};

double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void flow_start(const struct settings *settings)
{
    void *counters = dlsym(RTLD_DEFAULT, "cuvet_counters");
    void *flush = dlsym(RTLD_DEFAULT, "cuvet_flush");
    memcpy(&flow.counters, &counters, sizeof counters);
    memcpy(&flow.flush, &flush, sizeof flush);
    flow.most = (uint64_t)settings->ahead;
    flow.most_bytes = (size_t)settings->megabytes << 20;
}

static void nap(double ms)
{
    ms = ms > NAP_MS ? ms : NAP_MS;
    nanosleep(
        &(struct timespec){.tv_sec = (time_t)(ms / 1e3), .tv_nsec = (long)(fmod(ms, 1e3) * 1e6)},
        NULL);
}

/* Until so many checks or fewer are under way. Without any that ends for a minute it gives up: the
 * report will have launches that were not checked. */
static void wait_for(uint64_t left)
{
    double since = milliseconds();
    while (flow.counters) {
        struct cuvet_counters now = {.size = sizeof now};
        uint64_t before = flow.ended;
        double began = milliseconds();
        if (flow.counters(&now) != CUVET_OK)
            flow.counters = NULL;
        flow.ended = now.seen - now.under_way;
        if (flow.started - flow.ended <= left)
            return;
        if (flow.ended != before)
            since = milliseconds();
        if (milliseconds() - since > STALL_MS) {
            fputs("corpus: no check has ended for a minute; waiting for none any more\n", stderr);
            flow.counters = NULL;
        }
        nap(NAPS * (milliseconds() - began));
    }
}

void flow_admit(size_t bytes)
{
    pthread_mutex_lock(&flow.lock);
    bytes += ROUNDING;
    if (flow.bytes + bytes > flow.most_bytes) {
        wait_for(0);
        flow.bytes = 0;
    } else if (flow.started - flow.ended >= flow.most) {
        wait_for(flow.most - flow.most / 4 - 1);
    }
    flow.started++;
    flow.bytes += bytes;
    pthread_mutex_unlock(&flow.lock);
}

void flow_finish(void)
{
    if (flow.flush)
        flow.flush(STALL_MS);
}
