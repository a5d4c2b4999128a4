/*
 * bundle.c - see bundle.h.
 *
 * Sizes are known before the first byte is written, so the quota is read once, and a bundle that
 * does not fit is not begun. One mutex: bundles are rare and the buffer is shared.
 */
#include "bundle/bundle.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "system/files.h"
#include "text/json_out.h"
#include "system/log.h"
#include "bundle/excerpt.h"
#include "image/vendor.h"
#include "bundle/launch_json.h"
#include "bundle/module_values.h"
#include "report/place.h"
#include "report/report_json.h"
#include "bundle/safetensors.h"

enum { COMPLAINTS = 8 }; /* lines on standard error about bundles that failed */

struct bundles {
    pthread_mutex_t lock;
    char *folder;
    uint64_t limit, size, seed;
    struct quota *quota;
    pid_t pid;
    bool vendor, off, quota_reported;
    uint64_t *tries; /* by spec->number */
    uint32_t tries_count;
    uint64_t all_tries, complaints;
    struct tensors_plan plan;
    struct excerpts excerpts;
    uint8_t *buffer; /* BUNDLE_CHUNK, once the first bundle is written */
};

/* One bundle under way. */
struct work {
    const struct check_report *report;
    const struct bundle_source *source;
    const void *image; /* of the source, if it fits; else why not */
    char no_image[96];
    struct module_values values;
    struct json_out launch;
    struct textbuf header;
    char temporary[BUNDLE_PATH];
    struct own_fd folder;
};

enum status bundles_create(struct bundles **out, const struct bundles_settings *settings,
                           struct error *err)
{
    struct bundles *bundles;
    enum status status;

    *out = NULL;
    if (!settings->folder || !*settings->folder || settings->limit == 0)
        return STATUS_OK;
    status = files_make_folders(settings->folder, err);
    if (status)
        return status;
    bundles = calloc(1, sizeof *bundles);
    if (bundles)
        bundles->folder = strdup(settings->folder);
    if (!bundles || !bundles->folder) {
        free(bundles);
        return error_set(err, STATUS_NO_MEMORY, "no memory for the writer of bundles");
    }
    pthread_mutex_init(&bundles->lock, NULL);
    bundles->limit = settings->limit;
    bundles->size = settings->size;
    bundles->seed = settings->seed;
    bundles->vendor = settings->vendor;
    bundles->quota = settings->quota;
    bundles->pid = getpid();
    *out = bundles;
    return STATUS_OK;
}

void bundles_destroy(struct bundles *bundles)
{
    if (!bundles)
        return;
    free(bundles->folder);
    free(bundles->tries);
    free(bundles->buffer);
    free(bundles);
}

/* Tries of that kernel so far, to be counted up; NULL when the limit is reached. Under the lock. */
static uint64_t *tries_left(struct bundles *bundles, const struct kernel_spec *spec)
{
    uint64_t limit = bundles->all_tries < BUNDLE_MANY ? bundles->limit : 1;

    if (bundles->off)
        return NULL;
    if (spec->number >= bundles->tries_count) {
        uint32_t count = spec->number + 64;
        uint64_t *tries = realloc(bundles->tries, count * sizeof *tries);

        if (!tries)
            return NULL;
        memset(tries + bundles->tries_count, 0, (count - bundles->tries_count) * sizeof *tries);
        bundles->tries = tries;
        bundles->tries_count = count;
    }
    return bundles->tries[spec->number] < limit ? &bundles->tries[spec->number] : NULL;
}

bool bundles_wanted(struct bundles *bundles, const struct kernel_spec *spec)
{
    bool wanted;

    if (!bundles || bundles->pid != getpid())
        return false;
    pthread_mutex_lock(&bundles->lock);
    wanted = tries_left(bundles, spec) != NULL;
    pthread_mutex_unlock(&bundles->lock);
    return wanted;
}

/* ---- launch.json ---- */

static void put_library(struct json_out *json, const struct bundle_source *source)
{
    if (!source->vendor)
        return;
    json_put_object(json, "library");
    json_put_string(json, "name", source->vendor);
    json_put_string(json, "file", source->vendor_file);
    json_put_string(json, "version",
                    source->vendor_file ? vendor_version(source->vendor_file) : NULL);
    json_end(json);
}

static void put_module(struct json_out *json, const struct work *work)
{
    json_put_object(json, "module");
    if (work->image) {
        json_put_string(json, "file", launch_json_image(work->image, work->source->image_bytes));
        json_put_uint(json, "bytes", work->source->image_bytes);
    } else {
        json_put_string(json, "missing", work->no_image);
    }
    put_library(json, work->source);
    json_end(json);
}

static enum status write_description(const struct bundles *bundles, struct work *work,
                                     struct error *err)
{
    struct json_out *json = &work->launch;
    char host[65] = "", seed[24];

    gethostname(host, sizeof host - 1);
    json->lines = 1;
    json_begin_object(json);
    json_put_int(json, "version", BUNDLE_VERSION);
    report_json_check(json, work->report);
    snprintf(seed, sizeof seed, "%" PRIu64, bundles->seed);
    json_put_string(json, "seed", seed);
    json_put_string(json, "host", host);
    json_put_int(json, "pid", bundles->pid);
    launch_json_source(json, work->report, work->source);
    launch_json_call(json, work->report);
    put_module(json, work);
    module_values_json(json, &work->values);
    excerpt_json(json, &bundles->excerpts);
    json_end(json);
    if (!json_out_ok(json))
        return error_set(err, STATUS_NO_MEMORY, "no memory for launch.json");
    textbuf_add(&json->text, "\n", 1);
    return STATUS_OK;
}

/* ---- the folder ---- */

/* The label as a file name: what a shell or a file system may stumble over becomes one '_'. */
static void sanitise(const char *label, char *out, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t used = 0;

    for (; *label && used + 1 < size; label++) {
        bool good = strchr(plain, *label) != NULL;

        if (good && (used > 0 || (*label != '.' && *label != '-')))
            out[used++] = *label;
        else if (used > 0 && out[used - 1] != '_')
            out[used++] = '_';
    }
    while (used > 0 && out[used - 1] == '_')
        used--;
    out[used] = '\0';
    if (used == 0)
        snprintf(out, size, "kernel");
}

static enum status make_temporary(const struct bundles *bundles, struct work *work,
                                  struct error *err)
{
    int length =
        snprintf(work->temporary, sizeof work->temporary, "%s/.bundle-XXXXXX", bundles->folder);

    if (length < 0 || (size_t)length >= sizeof work->temporary) {
        work->temporary[0] = '\0';
        return error_set(err, STATUS_INVALID, "the report folder's name is too long");
    }
    if (!mkdtemp(work->temporary)) {
        work->temporary[0] = '\0';
        return error_set(err, STATUS_IO, "cannot make a folder in %s: %m", bundles->folder);
    }
    return files_open_folder(work->temporary, &work->folder, err);
}

/* A close that fails is a write that failed (NFS, quotas). */
static enum status finish_file(struct own_fd *file, const char *name, enum status status,
                               struct error *err)
{
    if (own_fd_close(file) != 0 && !status)
        status = error_set(err, STATUS_IO, "%m");
    if (status == STATUS_IO || status == STATUS_NOT_FOUND)
        error_prefix(err, "cannot write %s", name);
    return status;
}

static enum status write_file(const struct work *work, const char *name, const void *bytes,
                              size_t count, struct error *err)
{
    struct own_fd file = OWN_FD_NONE;
    enum status status = files_create(&work->folder, name, &file, err);

    if (status)
        return status;
    return finish_file(&file, name, files_write_own(&file, bytes, count, err), err);
}

static enum status write_tensors(struct bundles *bundles, const struct work *work,
                                 struct error *err)
{
    static const char name[] = "tensors.safetensors";
    struct own_fd file = OWN_FD_NONE;
    enum status status = files_create(&work->folder, name, &file, err);

    if (status)
        return status;
    status = files_write_own(&file, work->header.data, work->header.length, err);
    if (!status)
        status = safetensors_data(&bundles->plan, work->source, &file, bundles->buffer,
                                  BUNDLE_CHUNK, err);
    return finish_file(&file, name, status, err);
}

static enum status write_values(const struct work *work, struct error *err)
{
    struct own_fd file = OWN_FD_NONE;
    enum status status = files_create(&work->folder, BUNDLE_VALUES, &file, err);

    if (status)
        return status;
    return finish_file(&file, BUNDLE_VALUES, module_values_write(&work->values, &file, err), err);
}

/* Gives the folder its final name, which another process or an earlier run may hold already. */
static enum status rename_folder(const struct bundles *bundles, struct work *work, char *path,
                                 size_t path_size, struct error *err)
{
    char label[81];

    sanitise(place_kernel(work->report->spec), label, sizeof label);
    for (int number = 1; number < 1000; number++) {
        int length = snprintf(path, path_size, "%s/%s-%ld-%" PRIu64, bundles->folder, label,
                              (long)bundles->pid, work->report->launch);

        if (number > 1 && length > 0 && (size_t)length < path_size)
            length += snprintf(path + length, path_size - (size_t)length, "-%d", number);
        if (length < 0 || (size_t)length >= path_size)
            return error_set(err, STATUS_INVALID, "the bundle's name is too long");
        if (rename(work->temporary, path) == 0)
            return STATUS_OK;
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
            break;
    }
    return error_set(err, STATUS_IO, "cannot name the bundle %s: %m", path);
}

static enum status write_folder(struct bundles *bundles, struct work *work, char *path,
                                size_t path_size, struct error *err)
{
    const struct bundle_source *source = work->source;
    enum status status = make_temporary(bundles, work, err);

    if (!status)
        status =
            write_file(work, "launch.json", work->launch.text.data, work->launch.text.length, err);
    if (!status)
        status = write_tensors(bundles, work, err);
    if (!status && work->image)
        status = write_file(work, launch_json_image(work->image, source->image_bytes), work->image,
                            source->image_bytes, err);
    if (!status && source->around)
        status = write_file(work, BUNDLE_AROUND, source->around, source->around_bytes, err);
    if (!status && work->values.bytes)
        status = write_values(work, err);
    if (!status)
        status = rename_folder(bundles, work, path, path_size, err);
    own_fd_close(&work->folder);
    if (status && work->temporary[0])
        files_remove_folder(work->temporary);
    return status;
}

/* Of `left` bytes, what one bundle may take after `others`. */
static uint64_t part_of_budget(uint64_t left, uint64_t others)
{
    uint64_t part = left / (16 + others);

    return part > BUNDLE_SMALL ? part : left < BUNDLE_SMALL ? left : BUNDLE_SMALL;
}

/* Bytes for one bundle now: its own limit, and its part of the quota and of the disk. */
static uint64_t room(const struct bundles *bundles)
{
    uint64_t bytes = bundles->size, others = bundles->all_tries - 1;
    uint64_t quota = part_of_budget(quota_left(bundles->quota), others);
    struct statvfs disk;

    if (quota < bytes)
        bytes = quota;
    if (statvfs(bundles->folder, &disk) == 0) {
        uint64_t part = part_of_budget((uint64_t)disk.f_bavail * disk.f_frsize, others);

        bytes = part < bytes ? part : bytes;
    }
    return bytes;
}

/* Makes image, values of variables and tensors fit. */
static void fit_bundle(struct bundles *bundles, struct work *work)
{
    const struct bundle_source *source = work->source;
    uint64_t bytes = room(bundles);

    bytes = bytes > 2 * BUNDLE_TEXT ? bytes - BUNDLE_TEXT : bytes / 2;
    snprintf(work->no_image, sizeof work->no_image, "%s",
             source->no_image ? source->no_image : "not available");
    if (source->image && source->vendor && !bundles->vendor) {
        snprintf(work->no_image, sizeof work->no_image,
                 "it is an image of NVIDIA's %s, which CUVET_VENDOR_IMAGES=1 stores",
                 source->vendor);
    } else if (source->image && source->image_bytes <= bytes / 2) {
        work->image = source->image;
        bytes -= source->image_bytes;
    } else if (source->image) {
        snprintf(work->no_image, sizeof work->no_image,
                 "its %zu bytes are too many for this bundle", source->image_bytes);
    }
    module_values_plan(&work->values, source, bytes / 4);
    bytes -= work->values.bytes;
    excerpt_fit(&bundles->plan, &bundles->excerpts, work->report, bytes);
}

/* Sizes, quota, folder. Under the lock. */
static enum status write_one(struct bundles *bundles, struct work *work, char *path,
                             size_t path_size, struct error *err)
{
    enum status status;
    uint64_t bytes;

    if (!bundles->buffer)
        bundles->buffer = malloc(BUNDLE_CHUNK);
    if (!bundles->buffer)
        return error_set(err, STATUS_NO_MEMORY, "no memory for its buffer");
    status = safetensors_plan(&bundles->plan, work->report->binding, work->source, err);
    if (!status)
        fit_bundle(bundles, work);
    if (!status)
        status = safetensors_header(&bundles->plan, &work->header, err);
    if (!status)
        status = write_description(bundles, work, err);
    if (status)
        return status;
    bytes = bundles->plan.bytes + work->header.length + work->launch.text.length +
            (work->image ? work->source->image_bytes : 0) + work->values.bytes +
            work->source->around_bytes;
    if (!quota_take(bundles->quota, bytes)) {
        if (!bundles->quota_reported)
            log_line(LOG_WARN,
                     "no bundle of %s: its %" PRIu64 " bytes exceed what CUVET_QUOTA "
                     "leaves. Smaller ones may follow.",
                     place_kernel(work->report->spec), bytes);
        bundles->quota_reported = true;
        return STATUS_FULL;
    }
    status = write_folder(bundles, work, path, path_size, err);
    if (status)
        quota_give_back(bundles->quota, bytes);
    return status;
}

enum status bundles_write(struct bundles *bundles, const struct check_report *report,
                          const struct bundle_source *source, char *path, size_t path_size)
{
    struct work work = {.report = report, .source = source, .folder = OWN_FD_NONE};
    enum status status = STATUS_FULL;
    struct error err = {0};
    int kept = errno;
    uint64_t *tries;

    if (path_size > 0)
        path[0] = '\0';
    if (!bundles || bundles->pid != getpid())
        return STATUS_FULL;
    json_out_init(&work.launch);
    textbuf_init(&work.header);
    pthread_mutex_lock(&bundles->lock);
    tries = tries_left(bundles, report->spec);
    if (tries) {
        ++*tries;
        bundles->all_tries++;
        status = write_one(bundles, &work, path, path_size, &err);
    }
    if (status == STATUS_IO)
        bundles->off = true;
    pthread_mutex_unlock(&bundles->lock);
    json_out_release(&work.launch);
    textbuf_release(&work.header);
    if (status && path_size > 0)
        path[0] = '\0';
    if (status && status != STATUS_FULL && bundles->complaints++ < COMPLAINTS)
        log_line(LOG_WARN, "no bundle of %s, launch %" PRIu64 ": %s.%s", place_kernel(report->spec),
                 report->launch, err.text,
                 status == STATUS_IO ? " No further bundles are tried." : "");
    errno = kept;
    return status;
}
