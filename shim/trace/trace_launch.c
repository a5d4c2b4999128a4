/* trace_launch.c - what a record takes from the launch itself, on the program's thread. */
#include "driver/cuda_api.h"
#include "lang/signature.h"
#include "trace/ranges.h"
#include "trace/trace.h"

static void find_allocation(struct trace_buffer *buffer)
{
    CUdeviceptr start = 0;
    unsigned long long id = 0;
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                    CU_POINTER_ATTRIBUTE_BUFFER_ID};
    void *into[] = {&start, &id};
    if (cuda.cuPointerGetAttributes(2, wanted, into, buffer->address) != CUDA_SUCCESS || !start)
        return;
    buffer->id = id;
    buffer->offset = buffer->address - start;
}

static void note_buffers(struct trace_record *record, const struct launch *launch,
                         const struct signature *signature, const struct param_layout *layout)
{
    for (unsigned i = 0; i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        uint64_t address = 0;
        if (!item->array || item->earlier || item->index || item->number >= TRACE_BUFFERS ||
            item->param >= layout->count || item->param >= LAYOUT_MAX)
            continue;
        if (launch_read(launch, item->param, layout->param[item->param].offset, item->offset,
                        sizeof address, &address) &&
            address) {
            record->buffer[item->number].address = address;
            find_allocation(&record->buffer[item->number]);
        }
    }
}

static enum trace_mode mode_of(const struct launch *launch)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = cuda.cuStreamIsCapturing((CUstream)(uintptr_t)launch->stream, &status);
    bool captured = result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
    return captured ? TRACE_CAPTURED : TRACE_EAGER;
}

void trace_note_range(struct trace_record *record)
{
    memcpy(record->range, ranges_open(), sizeof record->range);
}

void trace_note_launch(struct trace_record *record, const struct launch *launch,
                       const struct kernel_spec *spec, const struct param_layout *layout)
{
    uint32_t shape[6];
    memcpy(shape, launch->grid, sizeof launch->grid);
    memcpy(shape + 3, launch->block, sizeof launch->block);
    record->stream = (uint64_t)(uintptr_t)launch->stream;
    record->context = (uint64_t)(uintptr_t)launch->context;
    memcpy(record->grid, launch->grid, sizeof record->grid);
    memcpy(record->block, launch->block, sizeof record->block);
    record->shared_bytes = launch->shared_bytes;
    record->mode = (uint8_t)mode_of(launch);
    memcpy(record->cluster, launch->cluster, sizeof record->cluster);
    trace_note_range(record);
    if (!spec || !(launch->call || launch_can_run(shape)))
        return;
    record->spec = spec;
    record->layout = layout;
    record->params_bytes = (uint32_t)launch_pack(launch, layout, record->params, TRACE_PARAMS);
    note_buffers(record, launch, spec->signature, layout);
}
