/* capture_rules.c - what happens to calls while streams capture: they become nodes, join, are
 * refused, break it. */
#include <stdlib.h>
#include "driver/stream/capture.h"
#include "driver/stream/capture_data.h"
#include "driver/call/call.h"
#include "driver/context/device.h"
#include "driver/graph/graph.h"

/* What an event stands for that was recorded in a capture. Handles, for the nodes may go before it.
 */
struct capture_point {
    uint64_t capture; /* its id */
    size_t count;
    struct point_node {
        CUgraphNode node;
        CUgraphEdgeData data;
    } nodes[];
};

/* CUDA_SUCCESS, with *member set, where the stream captures and nothing broke it. */
static CUresult find_member(const struct stream *stream, struct member **member,
                            struct capture **capture)
{
    *capture = stream_capture(stream);
    if (!*capture) /* another thread has just ended it */
        return CUDA_ERROR_ILLEGAL_STATE;
    *member = capture_member(*capture, stream);
    return (*capture)->broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

static void append(struct section *section, struct capture *capture, struct member *member,
                   CUgraphNodeType type, struct work work)
{
    struct context *context = stream_context(member->stream);
    struct node *node = node_new(section, capture->graph, type, context, work, NULL);
    for (size_t i = 0; i < member->waits.count; i++)
        edge_add(section, member->waits.at[i].node, node, &member->waits.at[i].data);
    member_wait_only(member, node);
}

CUresult capture_add_work(struct stream *stream, struct work work)
{
    struct section section;
    section_begin(&section, stream_context(stream));
    struct capture *capture;
    struct member *member;
    CUresult result = find_member(stream, &member, &capture);
    if (!result && work.type->kind == WORK_OTHER) {
        capture->broken = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (result)
        section_drop(&section, shared_work_new(work));
    else
        append(&section, capture, member, node_type_of_work(work.type->kind), work);
    return section_end(&section, result);
}

CUresult capture_launch_graph(struct stream *stream)
{
    struct capture *capture;
    struct member *member;
    CUresult result = find_member(stream, &member, &capture);
    if (result)
        return result;
    capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static struct capture_point *point_new(const struct capture *capture, const struct member *member)
{
    size_t count = member->waits.count;
    struct capture_point *point = must_allocate(1, sizeof(*point) + count * sizeof(*point->nodes));
    point->capture = capture->id;
    point->count = count;
    for (size_t i = 0; i < count; i++)
        point->nodes[i] =
            (struct point_node){member->waits.at[i].node->handle, member->waits.at[i].data};
    return point;
}

/* Under the lock, so that no thread reads it: see capture_wait_event. */
void capture_point_drop(struct capture_point *point)
{
    if (!point)
        return;
    struct section section;
    section_begin(&section, NULL);
    free(point);
    section_end(&section, CUDA_SUCCESS);
}

CUresult capture_record_event(struct stream *stream, struct event *event)
{
    struct section section;
    section_begin(&section, stream_context(stream));
    struct capture *capture;
    struct member *member;
    CUresult result = find_member(stream, &member, &capture);
    if (!result)
        free(event_set_point(event, point_new(capture, member)));
    return section_end(&section, result);
}

static void wait_for_point(struct member *member, const struct capture_point *point)
{
    for (size_t i = 0; i < point->count; i++) {
        struct node *node = node_find(point->nodes[i].node);
        if (node)
            member_wait(member, node, &point->nodes[i].data);
    }
}

static CUresult wait_in_capture(struct stream *stream, const struct capture_point *point)
{
    struct capture *capture;
    struct member *member;
    CUresult result = find_member(stream, &member, &capture);
    if (result)
        return result;
    struct capture *other = point ? capture_find(point->capture) : NULL;
    if (other == capture) {
        wait_for_point(member, point);
        return CUDA_SUCCESS;
    }
    capture->broken = true;
    if (!other)
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    other->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
}

CUresult capture_wait_event(struct stream *stream, struct event *event)
{
    struct section section;
    section_begin(&section, stream_context(stream));
    const struct capture_point *point = event_point(event);
    if (stream_capture(stream))
        return section_end(&section, wait_in_capture(stream, point));
    if (!point) /* recorded anew, or the capture ended, meanwhile */
        return section_end(&section, CUDA_ERROR_ILLEGAL_STATE);
    struct capture *capture = capture_find(point->capture);
    if (!capture)
        return section_end(&section, CUDA_ERROR_CAPTURED_EVENT);
    if (capture->broken)
        return section_end(&section, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (stream_is_legacy(stream)) { /* it can take no part in a capture */
        capture->broken = true;
        return section_end(&section, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    wait_for_point(capture_join(capture, stream), point);
    return section_end(&section, CUDA_SUCCESS);
}

CUresult capture_refuse(struct stream *stream)
{
    struct section section;
    section_begin(&section, stream_context(stream));
    struct capture *capture;
    struct member *member;
    CUresult result = find_member(stream, &member, &capture);
    if (!result) {
        capture->broken = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return section_end(&section, result);
}

CUresult capture_refuse_event(struct event *event)
{
    struct section section;
    section_begin(&section, NULL);
    const struct capture_point *point = event_point(event);
    struct capture *capture = point ? capture_find(point->capture) : NULL;
    if (capture)
        capture->broken = true;
    return section_end(&section, CUDA_ERROR_CAPTURED_EVENT);
}

/* `blocking`: counts only streams that the legacy one has an order with. */
static bool uses_context(const struct capture *capture, const struct context *context,
                         bool blocking)
{
    for (size_t i = 0; i < capture->count; i++) {
        const struct stream *stream = capture->members[i]->stream;
        if (stream_context(stream) == context && (!blocking || stream_is_blocking(stream)))
            return true;
    }
    return false;
}

/* Whether a capture uses the context; the ones that do are broken by it, where `breaks`. */
static bool captures_use(const struct context *context, bool blocking, bool breaks)
{
    struct section section;
    section_begin(&section, NULL);
    bool any = false;
    for (struct capture *capture = captures; capture; capture = capture->next) {
        if (!uses_context(capture, context, blocking))
            continue;
        capture->broken |= breaks;
        any = true;
    }
    section_end(&section, CUDA_SUCCESS);
    return any;
}

CUresult capture_legacy_state(const struct context *context, bool breaks)
{
    return captures_use(context, true, breaks) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

CUresult capture_check_context(const struct context *context)
{
    return captures_use(context, false, true) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                                              : CUDA_SUCCESS;
}

CUresult capture_check_legacy(struct context *context)
{
    return capture_legacy_state(context, true);
}

void capture_stream_gone(struct stream *stream)
{
    struct section section;
    section_begin(&section, stream_context(stream));
    struct capture *capture = stream_capture(stream);
    if (capture) {
        capture->broken = true;
        capture_leave(capture, stream);
        if (!capture->origin) { /* no stream is left that could end it */
            struct graph *graph = capture->to_graph ? NULL : capture->graph;
            capture_free(capture);
            if (graph)
                graph_free(&section, graph);
        }
    }
    section_end(&section, CUDA_SUCCESS);
}

static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode)
{
    CUstreamCaptureMode before = thread_mode;
    thread_mode = mode;
    return before;
}

/* As cuThreadExchangeStreamCaptureMode's documentation has it. */
static bool forbids(const struct capture *capture)
{
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (capture->thread == capture_thread())
        return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult capture_check_unsafe(const struct call *call)
{
    struct section section;
    section_begin(&section, call->context);
    CUresult result = CUDA_SUCCESS;
    for (struct capture *capture = captures; capture; capture = capture->next) {
        if (!forbids(capture))
            continue;
        if (!capture->broken)
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        else if (!result)
            result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        capture->broken = true;
    }
    return section_end(&section, result);
}
