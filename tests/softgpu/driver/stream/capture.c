/* capture.c - the calls that begin, end, and query the capture of a stream. */
#include <stdlib.h>
#include "driver/stream/capture_data.h"
#include "driver/context/device.h"
#include "driver/graph/graph.h"
#include "impls.h"

static bool mode_is_valid(CUstreamCaptureMode mode)
{
    return mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
           mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUresult impl_cuThreadExchangeStreamCaptureMode(const struct call *call,
                                                cuThreadExchangeStreamCaptureMode_params *p)
{
    (void)call;
    if (!p->mode || !mode_is_valid(*p->mode))
        return CUDA_ERROR_INVALID_VALUE;
    *p->mode = capture_exchange_mode(*p->mode);
    return CUDA_SUCCESS;
}

/* CUDA_SUCCESS where `stream` may begin to capture. */
static CUresult check_begin(const struct stream *stream, CUstreamCaptureMode mode)
{
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!mode_is_valid(mode))
        return CUDA_ERROR_INVALID_VALUE;
    if (stream_is_legacy(stream))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return stream_capture(stream) ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

static CUresult begin(const struct call *call, CUstream handle, CUstreamCaptureMode mode)
{
    struct stream *stream = stream_resolve(call, handle);
    struct section section;
    section_begin(&section, call->context);
    CUresult result = check_begin(stream, mode);
    if (!result)
        capture_begin(&section, stream, mode, NULL);
    return section_end(&section, result);
}

CUresult impl_cuStreamBeginCapture(const struct call *call, cuStreamBeginCapture_params *p)
{
    return begin(call, p->hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult impl_cuStreamBeginCapture_v2(const struct call *call, cuStreamBeginCapture_v2_params *p)
{
    return begin(call, p->hStream, p->mode);
}

/* Nodes of `graph` all, with edge data that they may have. */
static bool nodes_are_good(const struct graph *graph, const CUgraphNode *nodes,
                           const CUgraphEdgeData *data, size_t count)
{
    bool good = count == 0 || nodes;
    for (size_t i = 0; good && i < count; i++) {
        const struct node *node = node_find(nodes[i]);
        good = node && node->graph == graph && edge_data_is_valid(node, data ? &data[i] : NULL);
    }
    return good;
}

static void wait_for_all(struct member *member, const CUgraphNode *nodes,
                         const CUgraphEdgeData *data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        member_wait(member, node_find(nodes[i]), data ? &data[i] : NULL);
}

CUresult impl_cuStreamBeginCaptureToGraph(const struct call *call,
                                          cuStreamBeginCaptureToGraph_params *p)
{
    struct stream *stream = stream_resolve(call, p->hStream);
    struct section section;
    section_begin(&section, call->context);
    CUresult result = check_begin(stream, p->mode);
    struct graph *graph = graph_find(p->hGraph);
    if (!result && (!graph || graph->owned || graph->capturing ||
                    !nodes_are_good(graph, p->dependencies, p->dependencyData, p->numDependencies)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result) {
        struct capture *capture = capture_begin(&section, stream, p->mode, graph);
        wait_for_all(capture->members[0], p->dependencies, p->dependencyData, p->numDependencies);
    }
    return section_end(&section, result);
}

/* Ends the capture of its origin; the graph is the program's from here on, or gone. */
static CUresult finish(struct section *section, struct capture *capture, CUgraph *out)
{
    struct graph *graph = capture->graph;
    CUresult result = CUDA_SUCCESS;
    if (capture->broken)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!capture_is_joined(capture))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    bool to_graph = capture->to_graph;
    capture_free(capture);
    if (!result) {
        *out = graph->handle;
    } else if (!to_graph) {
        section_note(section, (struct hook_resource){.cbid = RESOURCE_GRAPH_DESTROY_STARTING,
                                                     .graph = graph->handle});
        graph_free(section, graph);
    }
    return result;
}

CUresult impl_cuStreamEndCapture(const struct call *call, cuStreamEndCapture_params *p)
{
    struct stream *stream = stream_resolve(call, p->hStream);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!p->phGraph)
        return CUDA_ERROR_INVALID_VALUE;
    *p->phGraph = NULL;
    if (stream_is_legacy(stream))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    struct section section;
    section_begin(&section, call->context);
    struct capture *capture = stream_capture(stream);
    CUresult result = CUDA_SUCCESS;
    if (!capture)
        result = CUDA_ERROR_ILLEGAL_STATE;
    else if (capture->origin != stream)
        result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    else if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != capture_thread())
        result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    else
        result = finish(&section, capture, p->phGraph);
    return section_end(&section, result);
}

static CUstreamCaptureStatus status_of(const struct capture *capture)
{
    if (!capture)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* The stream whose state may be queried, or the error; that of the legacy one may not be queried
 * beside a capture. */
static CUresult askable(const struct call *call, CUstream handle, struct stream **stream)
{
    *stream = stream_resolve(call, handle);
    if (!*stream)
        return CUDA_ERROR_INVALID_HANDLE;
    return stream_is_legacy(*stream) ? capture_legacy_state(stream_context(*stream), false)
                                     : CUDA_SUCCESS;
}

CUresult impl_cuStreamIsCapturing(const struct call *call, cuStreamIsCapturing_params *p)
{
    if (!p->captureStatus)
        return CUDA_ERROR_INVALID_VALUE;
    struct stream *stream;
    CUresult result = askable(call, p->hStream, &stream);
    if (result)
        return result;
    struct section section;
    section_begin(&section, call->context);
    *p->captureStatus = status_of(stream_capture(stream));
    return section_end(&section, CUDA_SUCCESS);
}

/* The arrays live in the member until the next call that shows them, or the end of the capture. */
static CUresult show_waits(struct member *member, const cuStreamGetCaptureInfo_v3_params *p)
{
    const struct edges *waits = &member->waits;
    free(member->shown);
    free(member->shown_data);
    member->shown = must_allocate(waits->count, sizeof(*member->shown));
    member->shown_data = must_allocate(waits->count, sizeof(*member->shown_data));
    for (size_t i = 0; i < waits->count; i++) {
        member->shown[i] = waits->at[i].node->handle;
        member->shown_data[i] = waits->at[i].data;
        if (!p->edgeData_out && !edge_data_is_plain(&waits->at[i].data))
            return CUDA_ERROR_LOSSY_QUERY;
    }
    *p->dependencies_out = member->shown;
    if (p->edgeData_out)
        *p->edgeData_out = member->shown_data;
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetCaptureInfo_v3(const struct call *call,
                                        cuStreamGetCaptureInfo_v3_params *p)
{
    if (!p->captureStatus_out || (p->edgeData_out && !p->dependencies_out))
        return CUDA_ERROR_INVALID_VALUE;
    struct stream *stream;
    CUresult result = askable(call, p->hStream, &stream);
    if (result)
        return result;
    struct section section;
    section_begin(&section, call->context);
    struct capture *capture = stream_capture(stream);
    *p->captureStatus_out = status_of(capture);
    if (!capture || capture->broken)
        return section_end(&section, CUDA_SUCCESS);
    struct member *member = capture_member(capture, stream);
    if (p->id_out)
        *p->id_out = capture->id;
    if (p->graph_out)
        *p->graph_out = capture->graph->handle;
    if (p->numDependencies_out)
        *p->numDependencies_out = member->waits.count;
    if (p->dependencies_out)
        result = show_waits(member, p);
    return section_end(&section, result);
}

CUresult impl_cuStreamGetCaptureInfo_v2(const struct call *call,
                                        cuStreamGetCaptureInfo_v2_params *p)
{
    cuStreamGetCaptureInfo_v3_params all = {
        p->hStream, p->captureStatus_out,  p->id_out, p->graph_out, p->dependencies_out,
        NULL,       p->numDependencies_out};
    return impl_cuStreamGetCaptureInfo_v3(call, &all);
}

CUresult impl_cuStreamGetCaptureInfo(const struct call *call, cuStreamGetCaptureInfo_params *p)
{
    cuStreamGetCaptureInfo_v3_params all = {
        p->hStream, p->captureStatus_out, p->id_out, NULL, NULL, NULL, NULL};
    return impl_cuStreamGetCaptureInfo_v3(call, &all);
}

CUresult impl_cuStreamUpdateCaptureDependencies_v2(const struct call *call,
                                                   cuStreamUpdateCaptureDependencies_v2_params *p)
{
    if (p->flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return CUDA_ERROR_INVALID_VALUE;
    struct stream *stream = stream_resolve(call, p->hStream);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    struct section section;
    section_begin(&section, call->context);
    struct capture *capture = stream_capture(stream);
    if (!capture)
        return section_end(&section, CUDA_ERROR_ILLEGAL_STATE);
    if (capture->broken)
        return section_end(&section, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (!nodes_are_good(capture->graph, p->dependencies, p->dependencyData, p->numDependencies))
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    struct member *member = capture_member(capture, stream);
    if (p->flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
        for (size_t i = 0; i < member->waits.count; i++)
            member->waits.at[i].node->capture_joins = true;
        member->waits.count = 0;
    }
    wait_for_all(member, p->dependencies, p->dependencyData, p->numDependencies);
    for (size_t i = 0; i < member->waits.count; i++)
        member->waits.at[i].node->capture_joins = false;
    return section_end(&section, CUDA_SUCCESS);
}

CUresult impl_cuStreamUpdateCaptureDependencies(const struct call *call,
                                                cuStreamUpdateCaptureDependencies_params *p)
{
    cuStreamUpdateCaptureDependencies_v2_params all = {p->hStream, p->dependencies, NULL,
                                                       p->numDependencies, p->flags};
    return impl_cuStreamUpdateCaptureDependencies_v2(call, &all);
}
