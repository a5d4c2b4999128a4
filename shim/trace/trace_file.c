#include "trace/trace_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "lang/dtype.h"
#include "lang/signature.h"
#include "base/origin.h"
#include "report/place.h"
#include "system/files.h"
#include "system/log.h"

enum { CHUNK_BYTES = 1 << 18, END_BYTES = 512 };

struct trace_file {
    struct own_fd file;
    struct quota *quota;
    struct origin origin;
    int64_t began;
    struct json_out json;
    struct textbuf chunk; /* whole lines that wait to be written */
    uint64_t waiting;     /* launches in it */
    uint64_t lost;
    bool off;
    char path[];
};

static void begin_trace_line(struct trace_file *file, const char *event)
{
    json_out_clear(&file->json);
    json_begin_object(&file->json);
    json_put_int(&file->json, "v", TRACE_VERSION);
    json_put_string(&file->json, "event", event);
}

static void end_trace_line(struct trace_file *file)
{
    json_end(&file->json);
    if (!json_out_ok(&file->json)) {
        file->lost++;
        return;
    }
    textbuf_add(&file->chunk, file->json.text.data, file->json.text.length);
    textbuf_add(&file->chunk, "\n", 1);
    file->waiting++;
}

/* Once the quota is used up or the disk refuses, later launches are only counted. */
static void write_chunk(struct trace_file *file, bool reserved)
{
    struct error err = {{0}};
    enum status status = STATUS_OK;
    if (file->chunk.length == 0)
        return;
    if (file->off)
        status = STATUS_FULL;
    else if (!reserved && !quota_take(file->quota, file->chunk.length))
        status = error_set(&err, STATUS_FULL, "CUVET_QUOTA is used up");
    if (!status)
        status = files_write_own(&file->file, file->chunk.data, file->chunk.length, &err);
    if (status == STATUS_NOT_FOUND && !files_append_again(file->path, &file->file, &err))
        status = files_write_own(&file->file, file->chunk.data, file->chunk.length, &err);
    if (status) {
        file->lost += file->waiting;
        if (!file->off)
            log_line(LOG_WARN, "the trace %s ends here: %s", file->path, err.text);
        file->off = true;
    }
    file->waiting = 0;
    textbuf_clear(&file->chunk);
}

static void put_dim3(struct json_out *json, const char *key, const uint32_t value[3])
{
    json_put_array(json, key);
    for (int i = 0; i < 3; i++)
        json_uint(json, value[i]);
    json_end(json);
}

static void put_handle(struct json_out *json, const char *key, uint64_t handle)
{
    char text[32];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)handle);
    json_put_string(json, key, text);
}

static void put_stream(struct json_out *json, uint64_t stream)
{
    if (stream == 1)
        json_put_string(json, "stream", "legacy");
    else if (stream == 2)
        json_put_string(json, "stream", "per-thread");
    else if (stream)
        put_handle(json, "stream", stream);
}

/* The shortest decimal that is this number in its own type: 1e-05, not 9.999999747378752e-06. */
static double shortest(enum dtype dtype, const uint8_t *bytes)
{
    double value = dtype_load(dtype, bytes);
    char text[32];
    if (dtype != DTYPE_F32)
        return value;
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtof(text, NULL) == (float)value)
            return strtod(text, NULL);
    }
    return value;
}

static void put_trace_scalar(struct json_out *json, const char *name, enum dtype dtype,
                             const uint8_t *bytes)
{
    uint64_t raw = 0;
    unsigned size = dtype_bytes(dtype);
    memcpy(&raw, bytes, size);
    if (!dtype_is_integer(dtype))
        json_put_double(json, name, shortest(dtype, bytes));
    else if (dtype == DTYPE_BOOL || dtype >= DTYPE_U8) /* NOLINT(misc-redundant-expression) */
        json_put_uint(json, name, raw);
    else
        json_put_int(json, name, (int64_t)(raw << (64 - 8 * size)) >> (64 - 8 * size));
}

static void put_buffer(struct json_out *json, const char *name, const struct trace_buffer *buffer)
{
    char text[64];
    if (!buffer->address) {
        json_put_string(json, name, NULL);
        return;
    }
    if (buffer->id)
        snprintf(text, sizeof text, "b%llu+%llu", (unsigned long long)buffer->id,
                 (unsigned long long)buffer->offset);
    else
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)buffer->address);
    json_put_string(json, name, text);
}

static void put_item(struct json_out *json, const struct trace_record *record,
                     const struct signature_item *item)
{
    if (item->earlier || item->index || item->param >= LAYOUT_MAX ||
        item->param >= record->layout->count)
        return;
    if (item->array) {
        if (item->number < TRACE_BUFFERS)
            put_buffer(json, item->name, &record->buffer[item->number]);
        return;
    }
    if (!signature_present(record->spec->signature, item, record->layout, record->params,
                           record->params_bytes))
        return;
    size_t at = record->layout->param[item->param].offset + (size_t)item->offset;
    unsigned size = dtype_bytes(item->type.dtype);
    if (item->type.lanes == 1 && size > 0 && size <= 8 && at + size <= record->params_bytes)
        put_trace_scalar(json, item->name, item->type.dtype, record->params + at);
}

static void put_arguments(struct json_out *json, const struct trace_record *record)
{
    const struct signature *signature = record->spec->signature;
    json_put_object(json, "args");
    for (unsigned i = 0; signature && i < signature->items; i++)
        put_item(json, record, &signature->item[i]);
    json_end(json);
}

static void put_outcome(struct json_out *json, const struct trace_record *record)
{
    static const char *const modes[] = {
        [TRACE_EAGER] = "eager",
        [TRACE_CAPTURED] = "captured",
        [TRACE_GRAPH] = "graph",
        [TRACE_LEGACY] = "legacy",
    };
    json_put_string(json, "mode", modes[record->mode]);
    if (record->failed)
        json_put_string(json, "outcome", skip_text(SKIP_LAUNCH_FAILED));
    else
        json_put_string(json, "outcome",
                        record->skip ? skip_text((enum skip)record->skip) : record->gate);
}

void trace_file_write(void *user, const struct trace_record *record)
{
    struct trace_file *file = user;
    struct json_out *json = &file->json;
    begin_trace_line(file, "launch");
    json_put_uint(json, "n", record->number);
    json_put_int(json, "t", record->began - file->began);
    json_put_int(json, "dur", record->ended - record->began);
    json_put_uint(json, "thread", record->thread);
    json_put_string(json, "kernel", record->symbol);
    if (record->spec) {
        json_put_string(json, "label", place_kernel(record->spec));
        if (record->launch != UINT64_MAX)
            json_put_uint(json, "launch", record->launch);
    }
    if (record->grid[0]) {
        put_dim3(json, "grid", record->grid);
        put_dim3(json, "block", record->block);
        if (record->cluster[0])
            put_dim3(json, "cluster", record->cluster);
        json_put_uint(json, "shared", record->shared_bytes);
    }
    put_stream(json, record->stream);
    if (record->context)
        put_handle(json, "context", record->context);
    if (record->graph)
        put_handle(json, "graph", record->graph);
    put_outcome(json, record);
    if (record->spec && record->layout)
        put_arguments(json, record);
    if (record->range[0])
        json_put_string(json, "range", record->range);
    end_trace_line(file);
    if (file->chunk.length >= CHUNK_BYTES)
        write_chunk(file, false);
}

void trace_file_flush(void *user)
{
    write_chunk(user, false);
}

void trace_file_end(struct trace_file *file, const struct trace_counts *counts)
{
    write_chunk(file, false);
    begin_trace_line(file, "end");
    json_put_uint(&file->json, "launches", counts->launches);
    json_put_uint(&file->json, "dropped", counts->dropped);
    json_put_uint(&file->json, "lost", file->lost);
    end_trace_line(file);
    write_chunk(file, true);
}

static void write_head(struct trace_file *file)
{
    json_out_clear(&file->json);
    origin_begin(&file->origin, &file->json, TRACE_VERSION, "trace");
    origin_put_program(&file->json);
    json_put_int(&file->json, "clock_ns", file->began);
    end_trace_line(file);
    write_chunk(file, false);
}

enum status trace_file_create(struct trace_file **out, const char *folder, const char *run,
                              struct quota *quota, struct error *err)
{
    char name[ORIGIN_FILE_BYTES];
    struct origin origin;
    *out = NULL;
    if (!*folder)
        return error_set(err, STATUS_INVALID, "CUVET_REPORT names no folder for it");
    if (!quota_take(quota, END_BYTES))
        return error_set(err, STATUS_FULL, "CUVET_QUOTA leaves no room for it");
    enum status status = files_make_folders(folder, err);
    if (status)
        return status;
    origin_read(&origin, run);
    origin_file_name(&origin, "trace", name);
    size_t size = strlen(folder) + sizeof name + 2;
    struct trace_file *file = calloc(1, sizeof *file + size);
    if (!file)
        return error_set(err, STATUS_NO_MEMORY, "no memory for it");
    file->origin = origin;
    file->quota = quota;
    file->began = clock_ns();
    snprintf(file->path, size, "%s/%s", folder, name);
    json_out_init(&file->json);
    textbuf_init(&file->chunk);
    status = files_append(file->path, &file->file, err);
    if (status) {
        free(file);
        return status;
    }
    write_head(file);
    *out = file;
    return STATUS_OK;
}

void trace_file_destroy(struct trace_file *file)
{
    if (!file)
        return;
    own_fd_close(&file->file);
    json_out_release(&file->json);
    textbuf_release(&file->chunk);
    free(file);
}
