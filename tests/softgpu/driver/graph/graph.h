/*
 * graph.h - what the stream side (stream.c, event.c, copy.c, set.c, host.c, pool.c) and the graph
 * side (capture.c, graph*.c) need of each other; no other file includes it.
 *
 * Locks: the graph side may hold a lock of its own while it calls a function of the second and
 * third part; the stream side holds no lock when it calls the first part. So: the graph side's lock
 * first, the queues' lock inside. With the graph side's lock held never call stream_enqueue,
 * stream_run or streams_drain, and never run or drop a work.
 */
#ifndef SOFTGPU_GRAPH_H
#define SOFTGPU_GRAPH_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include "driver/stream/stream.h"

struct capture;       /* one capture sequence */
struct capture_point; /* the nodes that an event, recorded in a capture, stands for */
struct event;

/*
 * 1. capture.c, called by the stream side.
 */

/* A work for a capturing stream becomes a node; the work is owned from the call on. WORK_OTHER
 * breaks the capture (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED). CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
 * where it is broken already. */
CUresult capture_add_work(struct stream *stream, struct work work);
/* cuEventRecord on a capturing stream: sets the event's point. With CU_EVENT_RECORD_EXTERNAL the
 * stream side sends an event work through capture_add_work instead. */
CUresult capture_record_event(struct stream *stream, struct event *event);
/* cuStreamWaitEvent where the stream captures or the event has a point: join, merge, or the error
 * (_ISOLATION, _MERGE, _INVALIDATED). */
CUresult capture_wait_event(struct stream *stream, struct event *event);
/* The event's point is no longer wanted (recorded outside a capture, destroyed): frees it. */
void capture_point_drop(struct capture_point *point);
/* A synchronising call (query, synchronise) named the capturing stream, or an event that has a
 * point: breaks the capture, and returns CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, or
 * CUDA_ERROR_CAPTURED_EVENT. */
CUresult capture_refuse(struct stream *stream);
CUresult capture_refuse_event(struct event *event);
/* The legacy stream of the context is about to be used: CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, and the
 * captures broken, while a blocking stream of it captures; else CUDA_SUCCESS. */
CUresult capture_check_legacy(struct context *context);
/* The capturing stream is being destroyed, or its context ends. */
void capture_stream_gone(struct stream *stream);

/*
 * 2. stream.c and event.c, called by the graph side.
 */

/* A pointer that belongs to capture.c, NULL where the stream does not capture.
 * stream_is_capturing() is whether it is set. A struct stream is never freed, so a pointer to it
 * may be kept. */
struct capture *stream_capture(const struct stream *stream);
void stream_set_capture(struct stream *stream, struct capture *capture);
bool stream_is_legacy(const struct stream *stream);
bool stream_is_blocking(
    const struct stream *stream); /* per-thread default streams are; legacy itself is not */
CUstream stream_handle(const struct stream *stream); /* what the program calls it */

/* NULL: not a living event. Held for the caller, who drops it. */
struct event *event_hold(CUevent handle);
struct event *event_hold_again(struct event *event);
void event_drop(struct event *event);
CUevent event_handle(const struct event *event);
struct context *event_context(const struct event *event);
struct capture_point *event_point(const struct event *event);
/* Returns the one it had, for the caller to drop. */
struct capture_point *event_set_point(struct event *event, struct capture_point *point);

/*
 * 3. Works made from the parameters of graph nodes, and back. The kinds name their owners. A work
 * that was not made (an error) needs no drop.
 */

/* WORK_COPY. CUDA_ERROR_INVALID_VALUE for ranges outside an allocation, CUDA_ERROR_NOT_SUPPORTED
 * for arrays. */
CUresult copy_work_create(struct context *context, const CUDA_MEMCPY3D *params, struct work *work);
void copy_work_params(const void *data, CUDA_MEMCPY3D *params);
/* WORK_SET */
CUresult set_work_create(struct context *context, const CUDA_MEMSET_NODE_PARAMS *params,
                         struct work *work);
void set_work_params(const void *data, CUDA_MEMSET_NODE_PARAMS *params);
/* WORK_HOST */
CUresult host_work_create(const CUDA_HOST_NODE_PARAMS *params, struct work *work);
void host_work_params(const void *data, CUDA_HOST_NODE_PARAMS *params);
/* WORK_EVENT_RECORD, WORK_EVENT_WAIT. The work's run records, or waits, at the time it is run. */
CUresult event_work_create(enum work_kind kind, struct event *event, struct work *work);
CUevent event_work_event(const void *data);
/* WORK_MEMOP: cuStreamBatchMemOp's */
CUresult memop_work_create(struct context *context, unsigned count,
                           const CUstreamBatchMemOpParams *ops, unsigned flags, struct work *work);
/* `ops` point into the work */
void memop_work_params(const void *data, CUDA_BATCH_MEM_OP_NODE_PARAMS *params);
/* WORK_ALLOC, WORK_FREE. The address is given at creation, and is the same at each launch; all
 * copies of one alloc work share the memory, which goes with the last of them. To allocate what is
 * allocated still is CUDA_ERROR_INVALID_VALUE at graph launch: alloc_work_is_live() checks, and the
 * launch itself reports what it leaves allocated and what it frees. */
CUresult alloc_work_create(struct context *context, CUDA_MEM_ALLOC_NODE_PARAMS *params,
                           struct work *work);
void alloc_work_params(const void *data, CUDA_MEM_ALLOC_NODE_PARAMS *params);
bool alloc_work_is_live(const void *data);
void alloc_work_set_live(const void *data);
CUresult free_work_create(struct context *context, CUdeviceptr address, struct work *work);
CUdeviceptr free_work_address(const void *data);
void free_work_launched(const void *data);

#endif
