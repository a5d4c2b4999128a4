/* stream_table.c - the streams of each context, and how a work gets into their queues. */
#include "driver/stream/stream_table.h"

#include <pthread.h>
#include <stdlib.h>
#include "driver/call/call.h"
#include "driver/context/device.h"
#include "driver/base/handles.h"
#include "driver/call/hooks.h"
#include "driver/memory/pool_table.h"

/* The attributes that a stream keeps. */
static const CUstreamAttrID kept_attributes[] = {
    CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
    CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
    CU_LAUNCH_ATTRIBUTE_PRIORITY,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
};
enum { KEPT_ATTRIBUTES = sizeof(kept_attributes) / sizeof(*kept_attributes) };

struct stream {
    struct stream *next; /* of the context; then of the retired */
    struct context *context;
    struct queue *queue;
    CUstream handle;
    uint64_t id, thread; /* thread: whose per-thread default stream */
    enum stream_origin origin;
    unsigned flags;
    int priority;
    CUstreamAttrValue *attributes; /* KEPT_ATTRIBUTES of them once one was set */
    _Atomic(struct capture *) capture;
};

/* The state of a context. */
struct streams {
    struct streams *next;
    struct context *context;
    struct domain *domain;
    struct stream *legacy, *list;
};

/* Guards all lists of streams. Inside it: the lock of the queues. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct streams *all_contexts;
/* A struct stream stays for good, so that a late use of its pointer is no crash. */
static struct stream *retired;
static struct handles handles = HANDLES_INITIALIZER;
static atomic_uint_least64_t ids = 7, threads;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end_key;
static _Thread_local uint64_t this_thread;

static struct streams *state_of(const struct context *context)
{
    return context_state(context, &context_streams);
}

static struct stream *add_locked(struct streams *state, enum stream_origin origin, unsigned flags,
                                 bool low)
{
    static const enum queue_kind kinds[] = {[STREAM_LEGACY] = QUEUE_LEGACY,
                                            [STREAM_PER_THREAD] = QUEUE_BLOCKING,
                                            [STREAM_CREATED] = QUEUE_BLOCKING};
    struct stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return NULL;
    stream->context = state->context;
    stream->origin = origin;
    stream->flags = flags;
    stream->id = atomic_fetch_add(&ids, 1);
    stream->handle = origin == STREAM_LEGACY       ? CU_STREAM_LEGACY
                     : origin == STREAM_PER_THREAD ? CU_STREAM_PER_THREAD
                                                   : handles_add(&handles, stream);
    if (stream->handle)
        stream->queue =
            queue_create(state->domain, flags & CU_STREAM_NON_BLOCKING ? QUEUE_FREE : kinds[origin],
                         low, stream->id);
    if (!stream->queue) {
        handles_remove(&handles, stream->handle);
        free(stream);
        return NULL;
    }
    stream->next = state->list;
    state->list = stream;
    return stream;
}

static void retire_locked(struct stream *stream)
{
    free(stream->attributes);
    stream->attributes = NULL;
    stream->next = retired;
    retired = stream;
}

static bool unlink_locked(struct streams *state, const struct stream *stream)
{
    struct stream **at = &state->list;
    while (*at && *at != stream)
        at = &(*at)->next;
    if (!*at)
        return false;
    *at = stream->next;
    return true;
}

struct stream *stream_create(struct context *context, unsigned flags, int priority, bool asked)
{
    pthread_mutex_lock(&lock);
    struct stream *stream = add_locked(state_of(context), STREAM_CREATED, flags,
                                       asked && priority == STREAM_PRIORITY_LEAST);
    if (stream)
        stream->priority = priority;
    pthread_mutex_unlock(&lock);
    return stream;
}

struct stream *stream_destroy(CUstream handle)
{
    struct stream *stream = handles_remove(&handles, handle);
    if (!stream)
        return NULL;
    if (stream_is_capturing(stream))
        capture_stream_gone(stream);
    pthread_mutex_lock(&lock);
    if (unlink_locked(state_of(stream->context), stream))
        retire_locked(stream);
    pthread_mutex_unlock(&lock);
    queue_end(stream->queue);
    return stream;
}

/* --- per-thread default streams --- */

static struct stream *take_of_thread(uint64_t thread)
{
    struct stream *stream = NULL;
    pthread_mutex_lock(&lock);
    for (struct streams *state = all_contexts; state && !stream; state = state->next) {
        for (stream = state->list; stream && stream->thread != thread; stream = stream->next) {
        }
        if (stream)
            unlink_locked(state, stream);
    }
    pthread_mutex_unlock(&lock);
    return stream;
}

/* At the end of a thread: its streams finish what they hold. */
static void thread_ended(void *token)
{
    uint64_t thread = (uint64_t)(uintptr_t)token;
    if (streams_ended())
        return;
    for (struct stream *stream; (stream = take_of_thread(thread));) {
        if (stream_is_capturing(stream))
            capture_stream_gone(stream);
        queue_end(stream->queue);
        pthread_mutex_lock(&lock);
        retire_locked(stream);
        pthread_mutex_unlock(&lock);
    }
}

static void create_thread_key(void)
{
    if (pthread_key_create(&thread_end_key, thread_ended) != 0)
        thread_end_key = (pthread_key_t)-1;
}

static struct stream *of_this_thread(struct context *context)
{
    pthread_once(&thread_end_once, create_thread_key);
    if (!this_thread) {
        this_thread = atomic_fetch_add(&threads, 1) + 1;
        pthread_setspecific(thread_end_key, (void *)(uintptr_t)this_thread);
    }
    struct streams *state = state_of(context);
    pthread_mutex_lock(&lock);
    struct stream *stream = state->list;
    while (stream && stream->thread != this_thread)
        stream = stream->next;
    if (!stream && (stream = add_locked(state, STREAM_PER_THREAD, 0, false)))
        stream->thread = this_thread;
    pthread_mutex_unlock(&lock);
    return stream;
}

/* --- what a stream is --- */

struct stream *stream_resolve(const struct call *call, CUstream handle)
{
    if (!handle)
        handle = call->per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD)
        return handles_find(&handles, handle, NULL);
    if (!call->context)
        return NULL;
    return handle == CU_STREAM_LEGACY ? state_of(call->context)->legacy
                                      : of_this_thread(call->context);
}

struct context *stream_context(const struct stream *stream)
{
    return stream->context;
}

bool stream_is_capturing(const struct stream *stream)
{
    return stream_capture(stream) != NULL;
}

struct capture *stream_capture(const struct stream *stream)
{
    return atomic_load(&stream->capture);
}

void stream_set_capture(struct stream *stream, struct capture *capture)
{
    atomic_store(&stream->capture, capture);
}

bool stream_is_legacy(const struct stream *stream)
{
    return stream->origin == STREAM_LEGACY;
}

bool stream_is_blocking(const struct stream *stream)
{
    return stream->origin != STREAM_LEGACY && !(stream->flags & CU_STREAM_NON_BLOCKING);
}

CUstream stream_handle(const struct stream *stream)
{
    return stream->handle;
}

struct queue *stream_queue(const struct stream *stream)
{
    return stream->queue;
}

enum stream_origin stream_origin(const struct stream *stream)
{
    return stream->origin;
}

uint64_t stream_id(const struct stream *stream)
{
    return stream->id;
}

unsigned stream_flags(const struct stream *stream)
{
    return stream->flags;
}

int stream_priority(const struct stream *stream)
{
    return stream->priority;
}

static CUstreamAttrValue default_attribute(const struct stream *stream, CUstreamAttrID id)
{
    CUstreamAttrValue value = {0};
    if (id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
        value.syncPolicy = CU_SYNC_POLICY_AUTO;
    else if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        value.priority = stream->priority;
    else if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP)
        value.memSyncDomainMap.remote = 1;
    return value;
}

static bool make_attributes_locked(struct stream *stream)
{
    if (stream->attributes)
        return true;
    stream->attributes = calloc(KEPT_ATTRIBUTES, sizeof(*stream->attributes));
    for (unsigned i = 0; stream->attributes && i < KEPT_ATTRIBUTES; i++)
        stream->attributes[i] = default_attribute(stream, kept_attributes[i]);
    return stream->attributes != NULL;
}

bool stream_attribute(struct stream *stream, CUstreamAttrID id, CUstreamAttrValue *value, bool set)
{
    unsigned at = 0;
    while (at < KEPT_ATTRIBUTES && kept_attributes[at] != id)
        at++;
    if (at == KEPT_ATTRIBUTES)
        return false;
    pthread_mutex_lock(&lock);
    bool done = make_attributes_locked(stream);
    if (done && set)
        stream->attributes[at] = *value;
    else if (done)
        *value = stream->attributes[at];
    pthread_mutex_unlock(&lock);
    return done;
}

/* --- works --- */

CUresult stream_admit(struct stream *stream)
{
    CUresult sticky = context_sticky(stream->context);
    if (sticky != CUDA_SUCCESS)
        return sticky;
    return stream_is_legacy(stream) ? capture_check_legacy(stream->context) : CUDA_SUCCESS;
}

static CUresult put(struct stream *stream, struct work work, struct mark **mark)
{
    CUresult error = stream_admit(stream);
    if (error == CUDA_SUCCESS)
        error = queue_put(stream->queue, &work, NULL, mark);
    if (error != CUDA_SUCCESS)
        work.type->drop(work.data);
    return error;
}

CUresult stream_enqueue(const struct call *call, struct stream *stream, struct work work)
{
    (void)call;
    return stream_is_capturing(stream) ? capture_add_work(stream, work) : put(stream, work, NULL);
}

CUresult stream_run(const struct call *call, struct stream *stream, struct work work)
{
    (void)call;
    if (stream_is_capturing(stream)) {
        work.type->drop(work.data);
        return capture_refuse(stream);
    }
    struct mark *mark = NULL;
    CUresult error = put(stream, work, &mark);
    if (error != CUDA_SUCCESS)
        return error;
    mark_wait(mark, NULL);
    mark_drop(mark);
    return streams_ended() ? CUDA_ERROR_DEINITIALIZED : context_sticky(stream->context);
}

CUresult streams_drain(struct context *context)
{
    domain_drain(state_of(context)->domain);
    return streams_ended() ? CUDA_ERROR_DEINITIALIZED : context_sticky(context);
}

const atomic_bool *stream_stop_flag(const struct context *context)
{
    return domain_stop_flag(state_of(context)->domain);
}

/* --- with the context --- */

static CUresult open_context(struct context *context, void **state_out)
{
    struct streams *state = calloc(1, sizeof(*state));
    if (!state)
        return CUDA_ERROR_OUT_OF_MEMORY;
    state->context = context;
    state->domain = domain_create(context);
    pthread_mutex_lock(&lock);
    if (state->domain)
        state->legacy = add_locked(state, STREAM_LEGACY, 0, false);
    if (state->legacy) {
        state->next = all_contexts;
        all_contexts = state;
    }
    pthread_mutex_unlock(&lock);
    if (!state->legacy) {
        if (state->domain)
            domain_end(state->domain);
        free(state);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *state_out = state;
    return CUDA_SUCCESS;
}

/* Takes the streams out one by one: a capture that ends here may need its own lock. */
static struct stream *take_any(struct streams *state)
{
    pthread_mutex_lock(&lock);
    struct stream *stream = state->list;
    if (stream)
        state->list = stream->next;
    pthread_mutex_unlock(&lock);
    return stream;
}

static void close_context(struct context *context, void *opened)
{
    struct streams *state = opened;
    domain_drain(state->domain);
    pthread_mutex_lock(&lock);
    struct streams **at = &all_contexts;
    while (*at != state)
        at = &(*at)->next;
    *at = state->next;
    pthread_mutex_unlock(&lock);
    for (struct stream *stream; (stream = take_any(state));) {
        if (stream_is_capturing(stream))
            capture_stream_gone(stream);
        handles_remove(&handles, stream->handle);
        pthread_mutex_lock(&lock);
        retire_locked(stream);
        pthread_mutex_unlock(&lock);
    }
    events_end(context);
    domain_end(state->domain);
    pools_end(context);
    free(state);
}

const struct context_part context_streams = {open_context, close_context};

/* --- for the stand-in of CUPTI --- */

__attribute__((visibility("default"))) uint32_t softgpu_stream_uid(CUstream handle, bool per_thread)
{
    const struct call call = {.per_thread = per_thread, .context = context_current()};
    struct stream *stream = stream_resolve(&call, handle);
    return stream ? (uint32_t)stream->id : 0;
}
