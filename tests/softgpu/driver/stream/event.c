/* event.c - events: the newest mark that each has recorded, or the point in a capture. */
#include "impls.h"
#include "driver/stream/stream_table.h"

#include <pthread.h>
#include <stdlib.h>
#include "driver/call/call.h"
#include "driver/context/device.h"
#include "driver/base/handles.h"

struct event {
    atomic_uint refs;
    struct context *context;
    CUevent handle;
    unsigned flags;
    struct mark *mark; /* NULL: never recorded. These two under the lock. */
    struct capture_point *point;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handles handles = HANDLES_INITIALIZER;

static void hold(void *event)
{
    event_hold_again(event);
}

struct event *event_hold(CUevent handle)
{
    return handles_find(&handles, handle, hold);
}

struct event *event_hold_again(struct event *event)
{
    atomic_fetch_add_explicit(&event->refs, 1, memory_order_relaxed);
    return event;
}

void event_drop(struct event *event)
{
    if (!event || atomic_fetch_sub_explicit(&event->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (event->point)
        capture_point_drop(event->point);
    mark_drop(event->mark);
    free(event);
}

CUevent event_handle(const struct event *event)
{
    return event->handle;
}

struct context *event_context(const struct event *event)
{
    return event->context;
}

struct capture_point *event_point(const struct event *event)
{
    pthread_mutex_lock(&lock);
    struct capture_point *point = event->point;
    pthread_mutex_unlock(&lock);
    return point;
}

struct capture_point *event_set_point(struct event *event, struct capture_point *point)
{
    pthread_mutex_lock(&lock);
    struct capture_point *old = event->point;
    event->point = point;
    pthread_mutex_unlock(&lock);
    return old;
}

/* Takes the mark over. */
static void set_mark(struct event *event, struct mark *mark)
{
    pthread_mutex_lock(&lock);
    struct mark *old = event->mark;
    struct capture_point *point = event->point;
    event->mark = mark;
    event->point = NULL;
    pthread_mutex_unlock(&lock);
    mark_drop(old);
    if (point)
        capture_point_drop(point);
}

/* Held for the caller, or NULL. */
static struct mark *get_mark(struct event *event)
{
    pthread_mutex_lock(&lock);
    struct mark *mark = mark_hold(event->mark);
    pthread_mutex_unlock(&lock);
    return mark;
}

CUresult impl_cuEventCreate(const struct call *call, cuEventCreate_params *p)
{
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!p->phEvent || (p->Flags & ~known) ||
        ((p->Flags & CU_EVENT_INTERPROCESS) && !(p->Flags & CU_EVENT_DISABLE_TIMING)))
        return CUDA_ERROR_INVALID_VALUE;
    struct event *event = calloc(1, sizeof(*event));
    if (!event)
        return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_init(&event->refs, 1);
    event->context = call->context;
    event->flags = p->Flags;
    CUevent handle = handles_add(&handles, event);
    if (!handle) {
        free(event);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    event->handle = handle;
    *p->phEvent = handle;
    return CUDA_SUCCESS;
}

CUresult impl_cuEventDestroy_v2(const struct call *call, cuEventDestroy_v2_params *p)
{
    (void)call;
    struct event *event = handles_remove(&handles, p->hEvent);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    event_drop(event);
    return CUDA_SUCCESS;
}

static bool is_of_context(const void *event, const void *context)
{
    return ((const struct event *)event)->context == context;
}

void events_end(const struct context *context)
{
    for (struct event *event; (event = handles_take(&handles, is_of_context, context));)
        event_drop(event);
}

/* --- recording --- */

static CUresult capture_event_work(enum work_kind kind, struct stream *stream, struct event *event)
{
    struct work work;
    CUresult error = event_work_create(kind, event, &work);
    return error == CUDA_SUCCESS ? capture_add_work(stream, work) : error;
}

static CUresult record_on(struct stream *stream, struct event *event, unsigned flags)
{
    if (event->context != stream_context(stream))
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream_is_capturing(stream))
        return flags & CU_EVENT_RECORD_EXTERNAL
                   ? capture_event_work(WORK_EVENT_RECORD, stream, event)
                   : capture_record_event(stream, event);
    CUresult error = stream_admit(stream);
    if (error != CUDA_SUCCESS)
        return error;
    struct mark *mark;
    error = queue_put(stream_queue(stream), NULL, NULL, &mark);
    if (error == CUDA_SUCCESS)
        set_mark(event, mark);
    return error;
}

static CUresult record(const struct call *call, CUevent handle, CUstream on, unsigned flags)
{
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    struct stream *stream = stream_resolve(call, on);
    struct event *event = stream ? event_hold(handle) : NULL;
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult error = record_on(stream, event, flags);
    event_drop(event);
    return error;
}

CUresult impl_cuEventRecord(const struct call *call, cuEventRecord_params *p)
{
    return record(call, p->hEvent, p->hStream, 0);
}

CUresult impl_cuEventRecordWithFlags(const struct call *call, cuEventRecordWithFlags_params *p)
{
    return record(call, p->hEvent, p->hStream, p->flags);
}

/* --- waiting --- */

static CUresult wait_on(struct stream *stream, struct event *event, unsigned flags)
{
    bool capturing = stream_is_capturing(stream);
    if (capturing && (flags & CU_EVENT_WAIT_EXTERNAL))
        return capture_event_work(WORK_EVENT_WAIT, stream, event);
    if (capturing || event_point(event))
        return capture_wait_event(stream, event);
    CUresult error = stream_admit(stream);
    if (error != CUDA_SUCCESS)
        return error;
    struct mark *mark = get_mark(event);
    if (mark && !mark_is_done(mark))
        error = queue_put(stream_queue(stream), NULL, mark, NULL);
    mark_drop(mark);
    return error;
}

CUresult impl_cuStreamWaitEvent(const struct call *call, cuStreamWaitEvent_params *p)
{
    if (p->Flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    struct stream *stream = stream_resolve(call, p->hStream);
    struct event *event = stream ? event_hold(p->hEvent) : NULL;
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult error = wait_on(stream, event, p->Flags);
    event_drop(event);
    return error;
}

static CUresult look(CUevent handle, bool wait)
{
    struct event *event = event_hold(handle);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = CUDA_SUCCESS;
    struct mark *mark = NULL;
    if (event_point(event)) {
        result = capture_refuse_event(event);
    } else if ((mark = get_mark(event))) {
        if (wait)
            mark_wait(mark, NULL);
        else if (!mark_is_done(mark))
            result = CUDA_ERROR_NOT_READY;
        CUresult sticky = context_sticky(event->context);
        if (sticky != CUDA_SUCCESS)
            result = sticky;
        else if (streams_ended())
            result = CUDA_ERROR_DEINITIALIZED;
    }
    mark_drop(mark);
    event_drop(event);
    return result;
}

CUresult impl_cuEventQuery(const struct call *call, cuEventQuery_params *p)
{
    (void)call;
    return look(p->hEvent, false);
}

CUresult impl_cuEventSynchronize(const struct call *call, cuEventSynchronize_params *p)
{
    (void)call;
    return look(p->hEvent, true);
}

/* --- time --- */

static CUresult time_of(struct event *event, int64_t *time)
{
    if (event_point(event))
        return capture_refuse_event(event);
    struct mark *mark = get_mark(event);
    if (!mark || (event->flags & CU_EVENT_DISABLE_TIMING)) {
        mark_drop(mark);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    bool done = mark_is_done(mark);
    *time = mark_time(mark);
    mark_drop(mark);
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult elapsed(float *milliseconds, CUevent start_handle, CUevent end_handle)
{
    if (!milliseconds)
        return CUDA_ERROR_INVALID_VALUE;
    struct event *start = event_hold(start_handle), *end = event_hold(end_handle);
    int64_t from, to;
    CUresult error = CUDA_ERROR_INVALID_HANDLE;
    if (start && end && start->context == end->context)
        error = time_of(start, &from);
    if (error == CUDA_SUCCESS)
        error = time_of(end, &to);
    if (error == CUDA_SUCCESS)
        *milliseconds = (float)((double)(to - from) / 1e6);
    event_drop(start);
    event_drop(end);
    return error;
}

CUresult impl_cuEventElapsedTime(const struct call *call, cuEventElapsedTime_params *p)
{
    (void)call;
    return elapsed(p->pMilliseconds, p->hStart, p->hEnd);
}

#ifdef HAVE_cuEventElapsedTime_v2
CUresult impl_cuEventElapsedTime_v2(const struct call *call, cuEventElapsedTime_v2_params *p)
{
    (void)call;
    return elapsed(p->pMilliseconds, p->hStart, p->hEnd);
}
#endif

/* --- as nodes of a graph --- */

static CUresult run_record(struct context *context, void *data)
{
    (void)context;
    struct mark *mark = mark_now();
    if (!mark)
        return CUDA_ERROR_OUT_OF_MEMORY;
    set_mark(data, mark);
    return CUDA_SUCCESS;
}

static CUresult run_wait(struct context *context, void *data)
{
    struct mark *mark = get_mark(data);
    if (mark)
        mark_wait(mark, stream_stop_flag(context));
    mark_drop(mark);
    return CUDA_SUCCESS;
}

static void *copy_event(const void *data)
{
    return event_hold_again((struct event *)(uintptr_t)data);
}

static void drop_event(void *data)
{
    event_drop(data);
}

static const struct work_type record_work = {WORK_EVENT_RECORD, run_record, copy_event, drop_event};
static const struct work_type wait_work = {WORK_EVENT_WAIT, run_wait, copy_event, drop_event};

CUresult event_work_create(enum work_kind kind, struct event *event, struct work *work)
{
    if (kind != WORK_EVENT_RECORD && kind != WORK_EVENT_WAIT)
        return CUDA_ERROR_INVALID_VALUE;
    work->type = kind == WORK_EVENT_RECORD ? &record_work : &wait_work;
    work->data = event_hold_again(event);
    return CUDA_SUCCESS;
}

CUevent event_work_event(const void *data)
{
    return event_handle(data);
}
