/* timing.c - the events of each context, and the thread that reads them. */
#include "timing/timing.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/thread.h"
#include "base/uninterrupted.h"
#include "driver/cuda_api.h"
#include "gate/own.h"
#include "timing/timing_graph.h"

enum {
    CONTEXTS = 16,
    PAIRS = 64,
    EVERY_NS = 1000000,
    NAP_NS = 2000000,
    LINGER = 50, /* naps without work before the thread sleeps for good */
};

struct event_pair {
    CUevent from, to;
    struct gpu_time *into;
};

enum slot_state { SLOT_FREE, SLOT_WANTED, SLOT_READY, SLOT_FAILED };

struct timing_slot {
    _Atomic(const void *) context;
    _Atomic(int) state;
    _Atomic(uint64_t) unused, submitted; /* a bit for each pair */
    pthread_mutex_t lock;                /* the thread's use of events against the context's end */
    struct event_pair pair[PAIRS];
};

struct timing {
    struct timing_slot slot[CONTEXTS];
    _Atomic(int64_t) next;   /* clock_ns() from which on the next launch is timed */
    _Atomic(uint64_t) count; /* results */
    _Atomic(int64_t) least;  /* ns of the shortest so far */
    atomic_bool asleep, stop, started;
    sem_t wake;
    pthread_t thread;
};

enum status timing_create(struct timing **out, struct error *err)
{
    *out = NULL;
    if (!cuda.cuEventCreate || !cuda.cuEventRecord || !cuda.cuEventQuery ||
        !cuda.cuEventElapsedTime)
        return error_set(err, STATUS_UNSUPPORTED, "the driver has no events");
    struct timing *timing = calloc(1, sizeof *timing);
    if (!timing)
        return error_set(err, STATUS_NO_MEMORY, "no memory for timing");
    for (int i = 0; i < CONTEXTS; i++)
        pthread_mutex_init(&timing->slot[i].lock, NULL);
    sem_init(&timing->wake, 0, 0);
    atomic_init(&timing->least, INT64_MAX);
    *out = timing;
    return STATUS_OK;
}

uint64_t timing_count(const struct timing *timing)
{
    return timing ? atomic_load(&timing->count) : 0;
}

/* ---- the thread ---- */

/* What the events themselves take is not the launch's. */
static void add_time(struct timing *timing, struct gpu_time *into, float ms)
{
    int64_t ns = (int64_t)((double)ms * 1e6);
    int64_t least = atomic_load_explicit(&timing->least, memory_order_relaxed);
    if (ns < least)
        atomic_store_explicit(&timing->least, least = ns, memory_order_relaxed);
    int64_t extra = least - TIMING_LEAST_NS;
    extra = extra < 0 ? 0 : extra > TIMING_FLOOR_NS ? TIMING_FLOOR_NS : extra;
    ns = ns - extra < TIMING_LEAST_NS / 2 ? TIMING_LEAST_NS / 2 : ns - extra;
    atomic_fetch_add_explicit(&into->ns, (uint64_t)ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&into->timed, 1, memory_order_release);
    atomic_fetch_add_explicit(&timing->count, 1, memory_order_relaxed);
}

static void make_events(struct timing_slot *slot)
{
    uint64_t made = 0;
    for (int i = 0; i < PAIRS; i++) {
        struct event_pair *pair = &slot->pair[i];
        if (cuda.cuEventCreate(&pair->from, CU_EVENT_DEFAULT) ||
            cuda.cuEventCreate(&pair->to, CU_EVENT_DEFAULT))
            break;
        made |= (uint64_t)1 << i;
    }
    atomic_store(&slot->unused, made);
    atomic_store(&slot->state, made ? SLOT_READY : SLOT_FAILED);
}

/* True: something was read. */
static bool read_slot_events(struct timing *timing, struct timing_slot *slot)
{
    uint64_t submitted = atomic_load(&slot->submitted);
    bool any = false;
    for (int i = 0; i < PAIRS; i++) {
        struct event_pair *pair = &slot->pair[i];
        uint64_t bit = (uint64_t)1 << i;
        float ms = 0;
        CUresult result = submitted & bit ? cuda.cuEventQuery(pair->to) : CUDA_ERROR_NOT_READY;
        if (result == CUDA_ERROR_NOT_READY)
            continue;
        if (result == CUDA_SUCCESS && !cuda.cuEventElapsedTime(&ms, pair->from, pair->to))
            add_time(timing, pair->into, ms);
        atomic_fetch_and(&slot->submitted, ~bit);
        if (result == CUDA_SUCCESS)
            atomic_fetch_or(&slot->unused, bit);
        any = true;
    }
    return any;
}

/* True: there was work, or some is under way. */
static bool step_slot(struct timing *timing, struct timing_slot *slot)
{
    CUcontext old, context;
    bool any = false;
    int state = atomic_load(&slot->state);
    if (state != SLOT_WANTED && !(state == SLOT_READY && atomic_load(&slot->submitted)))
        return false;
    pthread_mutex_lock(&slot->lock);
    state = atomic_load(&slot->state);
    context = (CUcontext)(uintptr_t)atomic_load(&slot->context);
    if ((state == SLOT_WANTED || state == SLOT_READY) && context &&
        cuda.cuCtxPushCurrent(context) == CUDA_SUCCESS) {
        if (state == SLOT_WANTED)
            make_events(slot);
        else
            any = read_slot_events(timing, slot);
        cuda.cuCtxPopCurrent(&old);
    } else if (state == SLOT_WANTED) {
        atomic_store(&slot->state, SLOT_FAILED);
    }
    any |= atomic_load(&slot->submitted) != 0;
    pthread_mutex_unlock(&slot->lock);
    return any;
}

static bool step_timing(struct timing *timing)
{
    bool any = false;
    for (int i = 0; i < CONTEXTS; i++)
        any |= step_slot(timing, &timing->slot[i]);
    return any;
}

static void *run_timing(void *user)
{
    struct timing *timing = user;
    CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
    pthread_setname_np(pthread_self(), "cuvet-timing");
    own_thread.work = OWN_WORK;
    cuda.cuThreadExchangeStreamCaptureMode(&relaxed);
    for (int idle = 0; !atomic_load(&timing->stop);) {
        bool sleeps = idle > LINGER;
        atomic_store(&timing->asleep, sleeps);
        idle = step_timing(timing) ? 0 : idle + 1;
        if (sleeps && idle) {
            while (!atomic_load(&timing->stop) && sem_wait(&timing->wake) && errno == EINTR)
                ;
            idle = 0;
        } else {
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        }
    }
    step_timing(timing);
    return NULL;
}

static void wake(struct timing *timing)
{
    if (atomic_exchange(&timing->asleep, false))
        sem_post(&timing->wake);
}

void timing_stop(struct timing *timing, int wait_ms)
{
    if (!timing || !atomic_load(&timing->started))
        return;
    atomic_store(&timing->stop, true);
    atomic_store(&timing->asleep, false);
    sem_post(&timing->wake);
    if (thread_join_within(timing->thread, wait_ms))
        timing_graphs_split();
}

/* ---- the program's threads ---- */

static void start_timing_thread(struct timing *timing)
{
    struct uninterrupted kept;
    bool started = false;
    if (!atomic_compare_exchange_strong(&timing->started, &started, true))
        return;
    uninterrupted_begin(&kept);
    if (thread_start(&timing->thread, 0, run_timing, timing) != 0) {
        atomic_store(&timing->next, INT64_MAX);
        atomic_store(&timing->started, false);
    }
    uninterrupted_end(&kept);
}

/* The context's, taken for it where it has none. NULL: its events are not there. */
static struct timing_slot *context_slot(struct timing *timing, const void *context)
{
    for (int i = 0; i < CONTEXTS; i++) {
        struct timing_slot *slot = &timing->slot[i];
        const void *held = atomic_load_explicit(&slot->context, memory_order_acquire);
        if (held == context)
            return atomic_load_explicit(&slot->state, memory_order_acquire) == SLOT_READY ? slot
                                                                                          : NULL;
        if (!held && atomic_compare_exchange_strong(&slot->context, &held, context)) {
            atomic_store(&slot->state, SLOT_WANTED);
            start_timing_thread(timing);
            wake(timing);
            return NULL;
        }
    }
    return NULL;
}

static bool may_record_event(const void *stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = cuda.cuStreamIsCapturing((CUstream)(uintptr_t)stream, &status);
    return result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_NONE;
}

static bool timing_is_due(struct timing *timing, int64_t now, const struct gpu_time *into)
{
    int64_t next = atomic_load_explicit(&timing->next, memory_order_relaxed);
    if (now < next && (next == INT64_MAX || atomic_load(&into->timed)))
        return false;
    return next == INT64_MAX ? false
                             : atomic_compare_exchange_strong(&timing->next, &next, now + EVERY_NS);
}

void timing_begin(struct timing *timing, const void *context, const void *stream, int64_t now,
                  struct gpu_time *into, struct timing_pair *pair)
{
    pair->slot = NULL;
    if (!timing || !context || !timing_is_due(timing, now, into) || !may_record_event(stream))
        return;
    struct timing_slot *slot = context_slot(timing, context);
    uint64_t unused = slot ? atomic_load(&slot->unused) : 0;
    if (!unused)
        return;
    unsigned number = (unsigned)__builtin_ctzll(unused);
    uint64_t bit = (uint64_t)1 << number;
    if (!(atomic_fetch_and(&slot->unused, ~bit) & bit))
        return; /* another thread took it */
    slot->pair[number].into = into;
    if (cuda.cuEventRecord(slot->pair[number].from, (CUstream)(uintptr_t)stream)) {
        atomic_fetch_or(&slot->unused, bit);
        return;
    }
    *pair = (struct timing_pair){slot, number, clock_ns()};
}

void timing_end(struct timing *timing, const void *stream, struct timing_pair *pair, bool ran)
{
    struct timing_slot *slot = pair->slot;
    uint64_t bit = (uint64_t)1 << pair->number;
    if (!slot)
        return;
    pair->slot = NULL;
    ran = ran && clock_ns() - pair->began <= TIMING_HOST_NS;
    if (!ran || cuda.cuEventRecord(slot->pair[pair->number].to, (CUstream)(uintptr_t)stream)) {
        atomic_fetch_or(&slot->unused, bit);
        return;
    }
    atomic_fetch_or(&slot->submitted, bit);
    wake(timing);
}

struct gpu_time *timing_loaded(struct gpu_time *time)
{
    bool first = time && atomic_fetch_add_explicit(&time->tries, 1, memory_order_relaxed) == 0;
    return first ? NULL : time;
}

bool timing_due(struct gpu_time *time)
{
    uint32_t tries = atomic_fetch_add_explicit(&time->tries, 1, memory_order_relaxed);
    return tries > 0 && (tries <= 4 || tries % 16 == 0);
}

void timing_context_going(struct timing *timing, const void *context)
{
    for (int i = 0; timing && context && i < CONTEXTS; i++) {
        struct timing_slot *slot = &timing->slot[i];
        if (atomic_load(&slot->context) != context)
            continue;
        pthread_mutex_lock(&slot->lock);
        atomic_store(&slot->state, SLOT_FREE);
        atomic_store(&slot->unused, 0);
        atomic_store(&slot->submitted, 0);
        atomic_store(&slot->context, NULL);
        pthread_mutex_unlock(&slot->lock);
    }
}
