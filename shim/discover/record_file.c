#include "discover/record_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/origin.h"
#include "report/report_json.h"
#include "system/files.h"
#include "system/log.h"

/* Bytes of the quota that memory does not take, at most: those kept for lines, and beside them
 * those kept for the last lines, which name every kernel with its launches and times. */
enum { LINES_BYTES = 64 << 20, ENDING_BYTES = 2 << 20 };

struct record_file {
    struct own_fd lines, bytes;
    struct quota *quota;
    uint64_t aside;  /* kept for lines */
    uint64_t ending; /* kept for the last lines, and not used yet */
    bool ends;       /* the last lines are written */
    struct json_out json;
    struct origin origin;
    uint64_t at; /* bytes written to the file of bytes */
    bool full;   /* a line was left out */
    bool off;    /* nothing more is written */
    char path[];
};

static void begin_record_line(struct record_file *file, const char *event)
{
    json_out_clear(&file->json);
    json_begin_object(&file->json);
    json_put_int(&file->json, "v", RECORD_VERSION);
    json_put_string(&file->json, "event", event);
}

static void end_record(struct record_file *file, const char *why)
{
    if (!file->off)
        log_line(LOG_WARN, "the record %s ends here: %s", file->path, why);
    file->off = true;
}

static void used_up(struct record_file *file)
{
    if (!file->full)
        log_line(LOG_WARN, "the record %s has no further samples: CUVET_QUOTA is used up",
                 file->path);
    file->full = true;
}

static bool take_bytes(struct record_file *file, uint64_t bytes)
{
    if (!file->ends || file->ending < bytes)
        return quota_take(file->quota, bytes);
    file->ending -= bytes;
    return true;
}

static void end_record_line(struct record_file *file)
{
    struct error err = {{0}};
    json_end(&file->json);
    if (file->off || !json_out_ok(&file->json))
        return;
    textbuf_add(&file->json.text, "\n", 1);
    if (!take_bytes(file, file->json.text.length))
        used_up(file);
    else if (files_write_own(&file->lines, file->json.text.data, file->json.text.length, &err))
        end_record(file, err.text);
}

/* Where the bytes lie in the file; -1: they are not in it. */
static int64_t put_bytes(struct record_file *file, const void *bytes, size_t count)
{
    struct error err = {{0}};
    if (!bytes || file->off || quota_left(file->quota) < count + file->aside ||
        !quota_take(file->quota, count))
        return -1;
    if (files_write_own(&file->bytes, bytes, count, &err)) {
        end_record(file, err.text);
        return -1;
    }
    file->at += count;
    return (int64_t)(file->at - count);
}

enum status record_file_create(struct record_file **out, const char *folder, const char *run,
                               struct quota *quota, struct error *err)
{
    char name[ORIGIN_FILE_BYTES];
    struct origin origin;
    *out = NULL;
    if (!*folder)
        return error_set(err, STATUS_INVALID, "CUVET_REPORT names no folder for it");
    enum status status = files_make_folders(folder, err);
    if (status)
        return status;
    origin_read(&origin, run);
    origin_file_name(&origin, "discover", name);
    size_t size = strlen(folder) + sizeof name + 16;
    struct record_file *file = calloc(1, sizeof *file + size);
    if (!file)
        return error_set(err, STATUS_NO_MEMORY, "no memory for it");
    file->origin = origin;
    file->quota = quota;
    uint64_t all = quota_left(quota), ending = all / 4 < ENDING_BYTES ? all / 4 : ENDING_BYTES;
    file->aside = all / 2 < LINES_BYTES ? all / 2 : LINES_BYTES;
    file->ending = quota_take(quota, ending) ? ending : 0;
    json_out_init(&file->json);
    snprintf(file->path, size, "%s/%s.bytes", folder, name);
    status = files_append(file->path, &file->bytes, err);
    file->path[strlen(file->path) - strlen(".bytes")] = '\0';
    if (!status)
        status = files_append(file->path, &file->lines, err);
    if (status) {
        free(file);
        return status;
    }
    origin_begin(&file->origin, &file->json, RECORD_VERSION, "begin");
    origin_put_program(&file->json);
    end_record_line(file);
    *out = file;
    return STATUS_OK;
}

static void put_record_pointers(struct json_out *json, const struct capture *capture)
{
    json_put_array(json, "pointers");
    for (size_t i = 0; i < capture->pointers; i++) {
        const struct param_pointer *pointer = &capture->pointer[i];
        json_begin_object(json);
        json_put_uint(json, "at", pointer->offset);
        json_put_uint(json, "address", pointer->address);
        json_put_uint(json, "base", pointer->base);
        json_put_uint(json, "bytes", pointer->bytes);
        json_end(json);
    }
    json_end(json);
}

struct places {
    int64_t before, after;
};

static void put_regions(struct json_out *json, const struct capture *capture,
                        const struct places *place)
{
    json_put_array(json, "regions");
    for (size_t i = 0; i < capture->regions; i++) {
        if (place[i].before < 0)
            continue;
        json_begin_object(json);
        json_put_uint(json, "address", capture->region[i].address);
        json_put_uint(json, "bytes", capture->region[i].bytes);
        json_put_int(json, "before", place[i].before);
        if (place[i].after >= 0)
            json_put_int(json, "after", place[i].after);
        json_end(json);
    }
    json_end(json);
}

static void put_layout(struct json_out *json, const struct param_layout *layout)
{
    json_put_array(json, "layout");
    for (unsigned i = 0; i < layout->count && i < LAYOUT_MAX; i++) {
        json_begin_array(json);
        json_uint(json, layout->param[i].offset);
        json_uint(json, layout->param[i].size);
        json_end(json);
    }
    json_end(json);
}

void record_file_sample(struct record_file *file, const char *symbol, uint64_t number,
                        const struct launch *launch, const struct capture *capture, bool captured)
{
    struct places place[PARAM_POINTERS];
    struct json_out *json = &file->json;
    for (size_t i = 0; i < capture->regions; i++) {
        const struct capture_region *region = &capture->region[i];
        place[i].before = put_bytes(file, region->before, (size_t)region->bytes);
        place[i].after = put_bytes(file, region->after, (size_t)region->bytes);
        if (region->after && place[i].after < 0)
            place[i].before = -1;
    }
    begin_record_line(file, "sample");
    json_put_string(json, "kernel", symbol);
    json_put_uint(json, "launch", number);
    report_json_dim3(json, "grid", launch->grid);
    report_json_dim3(json, "block", launch->block);
    json_put_uint(json, "shared", launch->shared_bytes);
    json_put_bool(json, "captured", captured);
    json_put_bool(json, "cooperative", launch->cooperative);
    report_json_dim3(json, "cluster", launch->cluster);
    json_key(json, "params");
    json_hex(json, capture->params, capture->params_bytes);
    put_layout(json, &capture->layout);
    put_record_pointers(json, capture);
    put_regions(json, capture, place);
    end_record_line(file);
}

void record_file_image(struct record_file *file, const char *symbol, const void *image,
                       size_t bytes)
{
    int64_t at = put_bytes(file, image, bytes);
    if (at < 0)
        return;
    begin_record_line(file, "image");
    json_put_string(&file->json, "kernel", symbol);
    json_put_int(&file->json, "at", at);
    json_put_uint(&file->json, "bytes", bytes);
    end_record_line(file);
}

void record_file_kernel(struct record_file *file, const char *symbol, uint64_t launches,
                        const struct gpu_time *time, const struct gpu_time *replayed)
{
    file->ends = true;
    begin_record_line(file, "kernel");
    json_put_string(&file->json, "kernel", symbol);
    json_put_uint(&file->json, "launches", launches);
    json_put_uint(&file->json, "timed", atomic_load(&time->timed));
    json_put_uint(&file->json, "ns", atomic_load(&time->ns));
    json_put_uint(&file->json, "replayed", replayed ? atomic_load(&replayed->replayed) : 0);
    json_put_uint(&file->json, "replayed_ns", replayed ? atomic_load(&replayed->replayed_ns) : 0);
    end_record_line(file);
}

void record_file_end(struct record_file *file, uint64_t kernels, uint64_t lost)
{
    begin_record_line(file, "end");
    json_put_uint(&file->json, "kernels", kernels);
    json_put_uint(&file->json, "lost", lost);
    end_record_line(file);
    own_fd_close(&file->lines);
    own_fd_close(&file->bytes);
}
