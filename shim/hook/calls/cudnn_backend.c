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

/* Copies the address of the real function to *out, or NULL. */
static void find_backend(struct library *library, enum library_function function, void *out)
{
    void *address = library_function(library, function);
    memcpy(out, &address, sizeof address);
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

/* cuDNN's own functions that read a configuration, without the wrappers. */
struct reader {
    dnn_status (*create)(int type, void **descriptor);
    dnn_status (*destroy)(void *descriptor);
    dnn_status (*get)(const void *descriptor, int name, int type, int64_t room, int64_t *count,
                      void *values);
};

/* Whether the engine has the note that it may round partial sums. */
static bool is_noted(const struct reader *reader, const void *config)
{
    void *engine = NULL;
    int64_t count = 0;
    int notes[DNN_NOTES_MOST];
    bool noted = false;
    if (reader->create(DNN_ENGINE, &engine) != DNN_SUCCESS)
        return false;
    if (reader->get(config, DNN_CONFIG_ENGINE, DNN_IS_DESCRIPTOR, 1, &count, &engine) ||
        reader->get(engine, DNN_ENGINE_NOTES, DNN_IS_NOTE, DNN_NOTES_MOST, &count, notes))
        count = 0;
    for (int64_t i = 0; i < count && i < DNN_NOTES_MOST; i++)
        noted = noted || notes[i] == DNN_NOTE_REDUCED;
    reader->destroy(engine);
    return noted;
}

/* A choice that divides a sum: engines without the note round the parts, too (cuDNN 9, bf16). */
static bool divides_sum(const struct reader *reader, const void *choice)
{
    int64_t count = 0, value = 0;
    int knob = -1;
    bool read = !reader->get(choice, DNN_CHOICE_KNOB, DNN_IS_KNOB, 1, &count, &knob) &&
                !reader->get(choice, DNN_CHOICE_VALUE, DNN_IS_INT64, 1, &count, &value);
    return read && (knob == DNN_KNOB_SPLIT_K || knob == DNN_KNOB_SPLIT_K_SLICES) && value > 1;
}

static bool is_divided(const struct reader *reader, const void *config)
{
    void *choice[DNN_CHOICES_MOST];
    int64_t count = 0, made = 0;
    bool divided = false;
    while (made < DNN_CHOICES_MOST && reader->create(DNN_KNOB_CHOICE, &choice[made]) == DNN_SUCCESS)
        made++;
    if (reader->get(config, DNN_CONFIG_CHOICES, DNN_IS_DESCRIPTOR, made, &count, choice))
        count = 0;
    for (int64_t i = 0; i < made; i++) {
        divided = divided || (i < count && divides_sum(reader, choice[i]));
        reader->destroy(choice[i]);
    }
    return divided;
}

static void note_finalized(struct library *library, const void *descriptor)
{
    const void *config = descriptors_finalized(descriptor);
    struct reader reader;
    if (!config)
        return;
    find_backend(library, LIBRARY_cudnnBackendCreateDescriptor, &reader.create);
    find_backend(library, LIBRARY_cudnnBackendDestroyDescriptor, &reader.destroy);
    find_backend(library, LIBRARY_cudnnBackendGetAttribute, &reader.get);
    if (reader.create && reader.destroy && reader.get &&
        (is_noted(&reader, config) || is_divided(&reader, config)))
        descriptors_reduced(descriptor);
}

DNN_NOTED(cudnnBackendFinalize, (void *descriptor), (descriptor),
          note_finalized(library, descriptor))

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
