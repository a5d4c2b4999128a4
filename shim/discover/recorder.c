/* recorder.c - which launches are recorded: the first of each kernel, and those of a new shape. */
#include "discover/recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "discover/record_file.h"
#include "driver/cuda_api.h"
#include "gate/kernels.h"
#include "gate/tally.h"
#include "gate/unregistered.h"
#include "judge/modules/images.h"
#include "system/log.h"

enum {
    ROWS = 1024,
    SHAPES = 8,      /* of a kernel, each recorded once */
    SAMPLES = 24,    /* of a kernel */
    WITH_MEMORY = 4, /* of them */
    IMAGE_BYTES = 16 << 20,
};

struct row {
    char *symbol; /* NULL: free */
    uint64_t launches, next;
    uint64_t shape[SHAPES];
    unsigned shapes, samples, with_memory;
    bool imaged;
    struct gpu_time time;
};

/* A thread's launch under way. */
struct under_way {
    struct row *row; /* NULL: it is not recorded */
    uint64_t number;
    bool captured;
    struct capture capture;
};

struct recorder {
    pthread_mutex_t lock;
    struct row row[ROWS];
    uint64_t lost; /* launches of kernels that have no row */
    struct images *images;
    struct record_file *file;
};

static __thread struct under_way *own;

bool recorder_wanted(const struct options *options)
{
    return strcmp(options->mode, "discover") == 0;
}

enum status recorder_create(struct recorder **out, const struct options *options,
                            struct images *images, struct quota *quota, struct error *err)
{
    *out = NULL;
    if (!recorder_wanted(options))
        return STATUS_OK;
    struct recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    enum status status = record_file_create(&recorder->file, options->report,
                                            *options->run ? options->run : NULL, quota, err);
    if (status) {
        free(recorder);
        return status;
    }
    pthread_mutex_init(&recorder->lock, NULL);
    recorder->images = images;
    images_keep_all(images);
    tally_passing = false;
    *out = recorder;
    return STATUS_OK;
}

/* Lock held. */
static struct row *recorder_row(struct recorder *recorder, const char *symbol)
{
    uint64_t hash = XXH3_64bits(symbol, strlen(symbol));
    for (uint64_t i = 0; i < ROWS; i++) {
        struct row *row = &recorder->row[(hash + i) % ROWS];
        if (!row->symbol)
            row->symbol = strdup(symbol);
        if (!row->symbol || !strcmp(row->symbol, symbol))
            return row->symbol ? row : NULL;
    }
    return NULL;
}

/* Grid, block, and what of the parameters is no pointer. */
static uint64_t shape_of(const struct launch *launch, const struct capture *capture)
{
    uint8_t params[CAPTURE_PARAMS];
    memcpy(params, capture->params, capture->params_bytes);
    for (size_t i = 0; i < capture->pointers; i++)
        memset(params + capture->pointer[i].offset, 0, 8);
    uint64_t hash = XXH3_64bits(params, capture->params_bytes);
    hash = XXH3_64bits_withSeed(launch->grid, sizeof launch->grid, hash);
    return XXH3_64bits_withSeed(launch->block, sizeof launch->block, hash);
}

/* Whether the launch is to be recorded. Lock held. */
static bool capture_is_due(struct row *row, const struct launch *launch,
                           const struct capture *capture)
{
    uint64_t shape = shape_of(launch, capture);
    bool fresh = row->shapes < SHAPES;
    for (unsigned i = 0; i < row->shapes && fresh; i++)
        fresh = row->shape[i] != shape;
    if (fresh)
        row->shape[row->shapes++] = shape;
    if (row->samples == SAMPLES || (!fresh && row->launches < row->next))
        return false;
    row->next = row->launches * 2;
    row->samples++;
    return true;
}

/* Queries are made for launches that may be recorded alone. Lock held. */
static bool may_record_row(const struct row *row)
{
    return row->samples < SAMPLES && (row->shapes < SHAPES || row->launches >= row->next) &&
           (row->launches < 4096 || row->launches >= row->next);
}

static bool launch_is_captured(const struct launch *launch)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = cuda.cuStreamIsCapturing((CUstream)(uintptr_t)launch->stream, &status);
    return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static void read_memory(struct recorder *recorder, struct row *row, const struct launch *launch)
{
    struct error err = {{0}};
    pthread_mutex_lock(&recorder->lock);
    bool wanted = row->with_memory < WITH_MEMORY;
    row->with_memory += wanted;
    pthread_mutex_unlock(&recorder->lock);
    if (wanted && capture_before(&own->capture, launch, &err))
        log_line(LOG_INFO, "%s: its memory is not recorded: %s", row->symbol, err.text);
}

struct gpu_time *recorder_begin(struct recorder *recorder, const struct launch *launch,
                                const char *symbol)
{
    if (!own)
        own = calloc(1, sizeof *own);
    if (own)
        own->row = NULL;
    if (!symbol || !*symbol || launch->call)
        return NULL;
    pthread_mutex_lock(&recorder->lock);
    struct row *row = recorder_row(recorder, symbol);
    bool wanted = own && row && may_record_row(row);
    uint64_t number = row ? row->launches++ : recorder->lost++;
    pthread_mutex_unlock(&recorder->lock);
    if (!row)
        return NULL;
    if (!wanted || !capture_params(&own->capture, launch))
        return &row->time;
    pthread_mutex_lock(&recorder->lock);
    own->row = capture_is_due(row, launch, &own->capture) ? row : NULL;
    pthread_mutex_unlock(&recorder->lock);
    own->number = number;
    own->capture.regions = 0;
    if (!own->row)
        return &row->time;
    own->captured = launch_is_captured(launch);
    if (!own->captured)
        read_memory(recorder, row, launch);
    return &row->time;
}

/* Lock held. */
static void put_image(struct recorder *recorder, struct row *row, const struct launch *launch)
{
    const char *reason;
    CUdevice device = 0;
    size_t bytes = 0;
    if (row->imaged || cuda.cuCtxGetDevice(&device))
        return;
    row->imaged = true;
    unsigned arch = (unsigned)report_machine_of(device, 0).sm;
    struct image_query query = images_query(recorder->images, launch, row->symbol, arch);
    const struct image *image = images_hold(recorder->images, &query, &reason);
    if (!image)
        return;
    const void *data = image_data(image, &bytes);
    if (data && bytes <= IMAGE_BYTES)
        record_file_image(recorder->file, row->symbol, data, bytes);
    images_release(recorder->images, image);
}

void recorder_end(struct recorder *recorder, const struct launch *launch, bool ran)
{
    struct error err = {{0}};
    if (!own || !own->row)
        return;
    struct row *row = own->row;
    own->row = NULL;
    if (ran && own->capture.regions && capture_after(&own->capture, launch, &err))
        log_line(LOG_INFO, "%s: its memory is not recorded: %s", row->symbol, err.text);
    if (ran) {
        pthread_mutex_lock(&recorder->lock);
        put_image(recorder, row, launch);
        record_file_sample(recorder->file, row->symbol, own->number, launch, &own->capture,
                           own->captured);
        pthread_mutex_unlock(&recorder->lock);
    }
    capture_release(&own->capture);
}

void recorder_node(struct recorder *recorder, const struct launch *node, const char *symbol)
{
    struct capture *capture = symbol && *symbol ? calloc(1, sizeof *capture) : NULL;
    if (!capture)
        return;
    pthread_mutex_lock(&recorder->lock);
    struct row *row = recorder_row(recorder, symbol);
    bool wanted = row && may_record_row(row);
    pthread_mutex_unlock(&recorder->lock);
    if (wanted && capture_params(capture, node)) {
        pthread_mutex_lock(&recorder->lock);
        if (capture_is_due(row, node, capture)) {
            put_image(recorder, row, node);
            record_file_sample(recorder->file, symbol, row->launches, node, capture, true);
        }
        pthread_mutex_unlock(&recorder->lock);
    }
    free(capture);
}

void recorder_finish(struct recorder *recorder)
{
    uint64_t kernels = 0;
    if (!recorder)
        return;
    pthread_mutex_lock(&recorder->lock);
    for (unsigned i = 0; i < ROWS; i++) {
        const struct row *row = &recorder->row[i];
        if (!row->symbol)
            continue;
        kernels++;
        record_file_kernel(recorder->file, row->symbol, row->launches, &row->time,
                           unregistered_time(row->symbol));
    }
    record_file_end(recorder->file, kernels, recorder->lost);
    pthread_mutex_unlock(&recorder->lock);
}
