/* cudnn_backend.c - the wrappers of cuDNN's backend functions: graphs, plans, executions. */
#include "driver/cuda_api.h"
#include "hook/calls/cudnn.h"
#include "hook/calls/descriptors.h"

bool dnn_begin(struct dnn_frame *frame, const struct library *library, void *handle)
{
    const char *name = dnn_name(&frame->call);
    const void *context = name ? library_context() : NULL;
    void *stream = NULL;
    if (!context || !library->query.dnn_get_stream ||
        library->query.dnn_get_stream(handle, &stream) != DNN_SUCCESS)
        return false;
    dnn_params(&frame->call, frame->params);
    const struct launch call = {
        .symbol = name,
        .function = name,
        .context = context,
        .stream = stream ? stream : (const void *)CU_STREAM_LEGACY,
        .grid = {1, 1, 1}, /* a library call has no grid */
        .block = {1, 1, 1},
        .params = frame->params,
        .call = dnn_layout((enum dnn_kind)frame->call.kind),
    };
    return core_call_enter(&call);
}

DNN_EXPORT dnn_status cudnnBackendCreateDescriptor(int type, void **descriptor);
dnn_status cudnnBackendCreateDescriptor(int type, void **descriptor)
{
    DNN_REAL(cudnnBackendCreateDescriptor, (int type, void **descriptor));
    dnn_status status = real(type, descriptor);
    if (status == DNN_SUCCESS && core_call_wanted())
        descriptors_made(*descriptor, type);
    else if (status == DNN_SUCCESS)
        descriptors_gone(*descriptor);
    return status;
}

DNN_NOTED(cudnnBackendSetAttribute,
          (void *descriptor, int name, int type, int64_t count, const void *values),
          (descriptor, name, type, count, values),
          descriptors_set(descriptor, name, type, count, values))

/* The configurations that heuristics propose belong to their graph. */
static void note_results(const void *descriptor, int name, int64_t room, const int64_t *count,
                         const void *values)
{
    if (name == DNN_HEURISTICS_RESULTS && count && values)
        descriptors_listed(descriptor, *count < room ? *count : room, values);
}

DNN_NOTED(cudnnBackendGetAttribute,
          (const void *descriptor, int name, int type, int64_t room, int64_t *count, void *values),
          (descriptor, name, type, room, count, values),
          note_results(descriptor, name, room, count, values))

DNN_NOTED(cudnnBackendFinalize, (void *descriptor), (descriptor), descriptors_finalized(descriptor))

/* Before the real one: the handle may be another descriptor's right after. */
DNN_EXPORT dnn_status cudnnBackendDestroyDescriptor(void *descriptor);
dnn_status cudnnBackendDestroyDescriptor(void *descriptor)
{
    DNN_REAL(cudnnBackendDestroyDescriptor, (void *descriptor));
    descriptors_gone(descriptor);
    return real(descriptor);
}

DNN_CALL(cudnnBackendExecute, (void *handle, void *plan, void *pack), (handle, plan, pack),
         descriptors_execution(plan, pack, &frame.call))
