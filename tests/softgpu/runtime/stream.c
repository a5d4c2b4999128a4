/* stream.c - libcudart.so.13: streams, events, captures, graphs. */
#include <stdlib.h>

#include "runtime.h"

cudaError_t cudaStreamCreate(cudaStream_t *out)
{
    RUNTIME_CALL(cuStreamCreate(out, CU_STREAM_DEFAULT));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    RUNTIME_CALL(cuStreamCreate(out, flags));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority)
{
    RUNTIME_CALL(cuStreamCreateWithPriority(out, flags, priority));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    RUNTIME_CALL(cuStreamDestroy(stream));
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    RUNTIME_CALL(cuStreamGetPriority(stream, priority));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    RUNTIME_CALL(cuStreamQuery(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    RUNTIME_CALL(cuStreamSynchronize(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    RUNTIME_CALL(cuStreamWaitEvent(stream, event, flags));
}

struct callback {
    cudaStreamCallback_t function;
    void *data;
};

static void CUDA_CB callback_run(CUstream stream, CUresult result, void *data)
{
    struct callback callback = *(struct callback *)data;
    free(data);
    callback.function(stream, (cudaError_t)result, callback.data);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *data,
                                  unsigned flags)
{
    struct callback *callback = malloc(sizeof(*callback));
    if (!callback)
        return runtime_result(CUDA_ERROR_OUT_OF_MEMORY);
    *callback = (struct callback){function, data};
    CUresult result = runtime_enter();
    if (!result)
        result = cuStreamAddCallback(stream, callback_run, callback, flags);
    if (result)
        free(callback);
    return runtime_result(result);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    RUNTIME_CALL(cuLaunchHostFunc(stream, function, data));
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    RUNTIME_CALL(cuEventCreate(out, CU_EVENT_DEFAULT));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    RUNTIME_CALL(cuEventCreate(out, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    RUNTIME_CALL(cuEventDestroy(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    RUNTIME_CALL(cuEventRecord(event, stream));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    RUNTIME_CALL(cuEventRecordWithFlags(event, stream, flags));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    RUNTIME_CALL(cuEventQuery(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    RUNTIME_CALL(cuEventSynchronize(event));
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    RUNTIME_CALL(cuEventElapsedTime(ms, start, end));
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    RUNTIME_CALL(cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    RUNTIME_CALL(cuStreamEndCapture(stream, out));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    RUNTIME_CALL(cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)status));
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **dependencies,
                                     const cudaGraphEdgeData **edges, size_t *count)
{
    cuuint64_t number = 0;
    CUresult result = runtime_enter();
    if (!result)
        result = cuStreamGetCaptureInfo(stream, (CUstreamCaptureStatus *)status, &number, graph,
                                        dependencies, (const CUgraphEdgeData **)edges, count);
    if (id)
        *id = number;
    return runtime_result(result);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    RUNTIME_CALL(cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph,
                                          unsigned long long flags)
{
    RUNTIME_CALL(cuGraphInstantiate(out, graph, flags));
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    RUNTIME_CALL(cuGraphInstantiate(out, graph, flags));
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    RUNTIME_CALL(cuGraphLaunch(graph, stream));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    RUNTIME_CALL(cuGraphExecDestroy(graph));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    RUNTIME_CALL(cuGraphDestroy(graph));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    RUNTIME_CALL(cuGraphGetNodes(graph, nodes, count));
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                         cudaGraphEdgeData *edges, size_t *count)
{
    RUNTIME_CALL(cuGraphNodeGetDependencies(node, nodes, (CUgraphEdgeData *)edges, count));
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned flags)
{
    RUNTIME_CALL(cuGraphDebugDotPrint(graph, path, flags));
}
