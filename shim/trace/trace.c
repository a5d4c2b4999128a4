#include "trace/trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "base/clock.h"
#include "base/thread.h"
#include "gate/own.h"

enum { RINGS = 64, RING_RECORDS = 2048, NAP_MIN_US = 200, NAP_MAX_US = 20000 };

struct ring {
    _Alignas(64) _Atomic uint64_t head; /* records noted; the thread's */
    _Atomic uint64_t dropped;
    _Alignas(64) _Atomic uint64_t tail; /* records written; the trace's */
    atomic_bool owned;                  /* by a thread that runs */
    uint32_t thread;                    /* its number; the owner's */
    struct trace_record *record;        /* RING_RECORDS of them, pages untouched until used */
};

struct trace {
    struct ring ring[RINGS];
    struct trace_settings settings;
    _Alignas(64) _Atomic uint64_t number;
    _Atomic uint32_t threads;
    _Atomic uint64_t without_ring; /* launches */
    atomic_bool stop;
    pthread_key_t key;
    pthread_t writer;
};

static __thread struct ring *own_ring;

/* At a thread's end: what it noted is still written, another thread may go on behind it. */
static void release_ring(void *ring)
{
    own_ring = NULL;
    atomic_store_explicit(&((struct ring *)ring)->owned, false, memory_order_release);
}

static struct ring *take_ring(struct trace *trace)
{
    for (int i = 0; i < RINGS; i++) {
        struct ring *ring = &trace->ring[i];
        bool free = false;
        if (atomic_compare_exchange_strong_explicit(&ring->owned, &free, true, memory_order_acquire,
                                                    memory_order_relaxed)) {
            ring->thread = atomic_fetch_add(&trace->threads, 1);
            pthread_setspecific(trace->key, ring);
            return own_ring = ring;
        }
    }
    return NULL;
}

struct trace_record *trace_begin(struct trace *trace)
{
    uint64_t number = atomic_fetch_add_explicit(&trace->number, 1, memory_order_relaxed);
    struct ring *ring = own_ring ? own_ring : take_ring(trace);
    if (!ring) {
        atomic_fetch_add_explicit(&trace->without_ring, 1, memory_order_relaxed);
        return NULL;
    }
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (head - atomic_load_explicit(&ring->tail, memory_order_acquire) == RING_RECORDS) {
        atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
        return NULL;
    }
    struct trace_record *record = &ring->record[head % RING_RECORDS];
    memset(record, 0, sizeof *record);
    record->number = number;
    record->thread = ring->thread;
    return record;
}

void trace_commit(struct trace *trace)
{
    (void)trace;
    atomic_fetch_add_explicit(&own_ring->head, 1, memory_order_release);
}

/* Writes what the ring holds. */
static bool drain(struct trace *trace, struct ring *ring)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    bool any = tail != head;
    for (; tail != head; tail++) {
        trace->settings.write(trace->settings.user, &ring->record[tail % RING_RECORDS]);
        atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    }
    return any;
}

static bool drain_all(struct trace *trace)
{
    bool any = false;
    for (int i = 0; i < RINGS; i++)
        any |= drain(trace, &trace->ring[i]);
    if (any)
        trace->settings.flush(trace->settings.user);
    return any;
}

/* Naps longer and longer while nothing is launched. */
static void *run_writer(void *user)
{
    struct trace *trace = user;
    long nap_us = NAP_MIN_US;
    pthread_setname_np(pthread_self(), "cuvet-trace");
    own_thread.work = OWN_WORK;
    while (!atomic_load(&trace->stop)) {
        nap_us = drain_all(trace) ? NAP_MIN_US : nap_us * 3 / 2;
        nap_us = nap_us < NAP_MAX_US ? nap_us : NAP_MAX_US;
        nanosleep(&(struct timespec){.tv_nsec = nap_us * 1000}, NULL);
    }
    drain_all(trace);
    return NULL;
}

static enum status make_rings(struct trace *trace, struct error *err)
{
    size_t bytes = sizeof(struct trace_record) * RING_RECORDS;
    char *memory = mmap(NULL, bytes * RINGS, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the trace");
    for (int i = 0; i < RINGS; i++)
        trace->ring[i].record = (struct trace_record *)(void *)(memory + bytes * (size_t)i);
    return STATUS_OK;
}

enum status trace_create(struct trace **out, const struct trace_settings *settings,
                         struct error *err)
{
    struct trace *trace = aligned_alloc(64, sizeof *trace);
    *out = NULL;
    if (!trace)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the trace");
    memset(trace, 0, sizeof *trace);
    trace->settings = *settings;
    enum status status = make_rings(trace, err);
    if (!status && pthread_key_create(&trace->key, release_ring) != 0)
        status = error_set(err, STATUS_FULL, "the program uses all thread keys");
    if (!status && thread_start(&trace->writer, 0, run_writer, trace) != 0)
        status = error_set(err, STATUS_NO_MEMORY, "no thread for the trace");
    if (status)
        free(trace);
    else
        *out = trace;
    return status;
}

enum status trace_stop(struct trace *trace, int wait_ms, struct trace_counts *counts)
{
    atomic_store(&trace->stop, true);
    bool ended = thread_join_within(trace->writer, wait_ms);
    counts->launches = atomic_load(&trace->number);
    counts->dropped = atomic_load(&trace->without_ring);
    for (int i = 0; i < RINGS; i++)
        counts->dropped += atomic_load(&trace->ring[i].dropped);
    return ended ? STATUS_OK : STATUS_TIMEOUT;
}
