/*
 * stream.h - streams as ordered queues that worker threads serve, events, and capture.
 *
 * Whatever a call enqueues is a `struct work`. stream_enqueue() puts it behind what the stream
 * holds (and, for the legacy stream and blocking ones, behind what they order), or, on a capturing
 * stream, makes a graph node of it. Works of one stream run one at a time, in order; works of two
 * streams run at once, each on its own thread, under the same rules as on a device.
 */
#ifndef SOFTGPU_STREAM_H
#define SOFTGPU_STREAM_H

#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call;
struct context;
struct stream;

enum work_kind {
    WORK_KERNEL,
    WORK_COPY,
    WORK_SET,
    WORK_HOST,
    WORK_ALLOC, /* stream-ordered */
    WORK_FREE,
    WORK_EVENT_RECORD, /* as nodes of a graph; a stream's own records and waits are no works */
    WORK_EVENT_WAIT,
    WORK_MEMOP, /* wait and write a value */
    WORK_OTHER, /* anything that is no node of a graph: refused in a capture */
};

/*
 * What is done, once for a stream, any number of times for a node of a graph. `data` is the work's
 * own copy of all that it needs: `copy` makes another (for clones and instances of graphs), `drop`
 * frees one. `run` returns the error that the context gets to keep (CUDA_SUCCESS otherwise). Each
 * kind has one owner, which alone reads the data: kernels are launch.c's, the rest copy.c's and
 * host.c's.
 */
struct work_type {
    enum work_kind kind;
    CUresult (*run)(struct context *context, void *data);
    void *(*copy)(const void *data);
    void (*drop)(void *data);
};

struct work {
    const struct work_type *type;
    void *data; /* owned by the work from the call on, also when it fails */
};

/* The stream that a handle means: 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD included; NULL: not
 * a living stream (of any context). Its context is stream_context(), which need not be the current
 * one. */
struct stream *stream_resolve(const struct call *call, CUstream handle);
struct context *stream_context(const struct stream *stream);
bool stream_is_capturing(const struct stream *stream);

/* Enqueues or captures. CUDA_ERROR_STREAM_CAPTURE_* where a capture forbids or is broken by it: a
 * use of the legacy stream while a blocking stream of the context captures, for one. */
CUresult stream_enqueue(const struct call *call, struct stream *stream, struct work work);
/* Enqueues, then waits until it is done: for synchronous copies. Refused in a capture. */
CUresult stream_run(const struct call *call, struct stream *stream, struct work work);

/* Waits for all work of the context, all streams. Called without locks. */
CUresult streams_drain(struct context *context);

/* For exec_launch.stop and other works that wait: set when the process ends, and when a work of the
 * context failed. A work that ended early for that returns CUDA_SUCCESS: it is no error. */
const atomic_bool *stream_stop_flag(const struct context *context);
/* The process is at its end (the library's destructor ran): no call may start work any more. */
bool streams_ended(void);

/* The calling thread is inside a host function or a stream callback: every call there is
 * CUDA_ERROR_NOT_PERMITTED. */
bool host_function_running(void);

/* cuMemFree of what cuMemAllocAsync gave: waits for the device, then frees.
 * CUDA_ERROR_INVALID_VALUE where `address` is none of the pools'. */
CUresult pool_free(struct context *context, CUdeviceptr address);

/* Capture modes (cuStreamBeginCapture, cuThreadExchangeStreamCaptureMode): what an unsafe call
 * does. Returns CUDA_SUCCESS where no capture forbids it; else invalidates the captures concerned
 * and returns the error. */
CUresult capture_check_unsafe(const struct call *call);
/* A call is about to wait for the whole context, which no mode allows while one of its streams
 * captures: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the captures broken; else CUDA_SUCCESS. */
CUresult capture_check_context(const struct context *context);

#endif
