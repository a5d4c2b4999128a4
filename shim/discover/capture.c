#include "discover/capture.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "driver/cuda_api.h"
#include "gate/kernels.h"

enum {
    WAIT_MS = 2000,
    MOST_REGIONS = 64,       /* with those that addresses in memory lead to */
    LISTED_BYTES = 64 << 10, /* of a region, in which such addresses are found */
    MOST_LOOK_UPS = 1024     /* of a launch */
};

bool capture_params(struct capture *capture, const struct launch *launch)
{
    if (!kernels_layout(launch->function, &capture->layout))
        return false;
    capture->params_bytes =
        launch_pack(launch, &capture->layout, capture->params, sizeof capture->params);
    capture->pointers = param_pointers_find(&capture->layout, capture->params,
                                            capture->params_bytes, capture->pointer);
    return true;
}

/* ---- which memory ---- */

static int compare_captured(const void *a, const void *b)
{
    uint64_t one = ((const struct capture_region *)a)->address;
    uint64_t other = ((const struct capture_region *)b)->address;
    return (one > other) - (one < other);
}

static uint64_t lay_out_capture(struct capture *capture, uint64_t most)
{
    struct capture_region *region = capture->region;
    uint64_t sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < capture->pointers; i++) {
        const struct param_pointer *pointer = &capture->pointer[i];
        uint64_t bytes = pointer->base + pointer->bytes - pointer->address;
        region[i] = (struct capture_region){.address = pointer->address,
                                            .bytes = bytes < most ? bytes : most};
    }
    qsort(region, capture->pointers, sizeof *region, compare_captured);
    for (size_t i = 0; i < capture->pointers; i++) {
        struct capture_region *last = count ? &region[count - 1] : NULL;
        uint64_t end = region[i].address + region[i].bytes;
        /* One that begins where the last ends is of another allocation: no copy reads both. */
        if (!last || region[i].address >= last->address + last->bytes)
            region[count++] = region[i];
        else if (end > last->address + last->bytes)
            last->bytes = end - last->address;
    }
    capture->regions = count;
    for (size_t i = 0; i < count; i++)
        sum += region[i].bytes;
    return sum;
}

/* ---- reading it ---- */

static enum status await_launch(const struct launch *launch, struct error *err)
{
    const struct timespec nap = {.tv_nsec = 100000};
    CUstream stream = (CUstream)(uintptr_t)launch->stream;
    CUresult result = CUDA_ERROR_NOT_READY;
    for (int i = 0; i < WAIT_MS * 10; i++) {
        result = cuda.cuStreamQuery(stream);
        if (result != CUDA_ERROR_NOT_READY)
            return cuda_check(err, result, "cuStreamQuery");
        nanosleep(&nap, NULL);
    }
    return error_set(err, STATUS_TIMEOUT, "the stream did not come to an end in %d ms", WAIT_MS);
}

static enum status read_region(const struct capture_region *region, const struct launch *launch,
                               uint8_t **into, struct error *err)
{
    *into = malloc((size_t)region->bytes);
    if (!*into)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %llu bytes",
                         (unsigned long long)region->bytes);
    return cuda_check(err,
                      cuda.cuMemcpyDtoHAsync(*into, (CUdeviceptr)region->address,
                                             (size_t)region->bytes,
                                             (CUstream)(uintptr_t)launch->stream),
                      "cuMemcpyDtoHAsync");
}

/* ---- what addresses in memory lead to ---- */

static const struct capture_region *region_at(const struct capture *capture, uint64_t address)
{
    for (size_t i = 0; i < capture->regions; i++) {
        const struct capture_region *region = &capture->region[i];
        if (address - region->address < region->bytes)
            return region;
    }
    return NULL;
}

/* Addresses of one process share their upper bits; so do few other words. */
static bool may_be_address(const struct capture *capture, uint64_t word)
{
    enum { UPPER = 36 };
    for (size_t i = 0; i < capture->pointers; i++) {
        if (word >> UPPER == capture->pointer[i].address >> UPPER)
            return word % 4 == 0;
    }
    return false;
}

/* From the address to the end of its allocation, or to the next region. */
static bool add_region(struct capture *capture, uint64_t address, uint64_t room)
{
    struct param_pointer found;
    if (!param_pointer_look_up(address, &found))
        return false;
    uint64_t bytes = found.base + found.bytes - address;
    for (size_t i = 0; i < capture->regions; i++) {
        uint64_t next = capture->region[i].address - address;
        bytes = next < bytes ? next : bytes;
    }
    if (bytes > CAPTURE_POINTER_BYTES || bytes > room)
        return false;
    capture->region[capture->regions++] =
        (struct capture_region){.address = address, .bytes = bytes};
    return true;
}

/* Adds a region for each address in the memory that has none, and reads it; those in these, too. */
static enum status follow_pointers(struct capture *capture, const struct launch *launch,
                                   struct error *err)
{
    uint64_t room = CAPTURE_BYTES;
    unsigned look_ups = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < capture->regions; i++)
        room -= capture->region[i].bytes < room ? capture->region[i].bytes : room;
    for (size_t i = 0; i < capture->regions && !status; i++) {
        const struct capture_region *region = &capture->region[i];
        uint64_t count = region->bytes < LISTED_BYTES ? region->bytes : LISTED_BYTES;
        for (uint64_t at = -region->address % 8; at + 8 <= count && !status; at += 8) {
            uint64_t word;
            memcpy(&word, region->before + at, sizeof word);
            if (!may_be_address(capture, word) || region_at(capture, word))
                continue;
            if (capture->regions == MOST_REGIONS || look_ups++ == MOST_LOOK_UPS)
                return STATUS_OK;
            if (!add_region(capture, word, room))
                continue;
            struct capture_region *added = &capture->region[capture->regions - 1];
            room -= added->bytes;
            status = read_region(added, launch, &added->before, err);
            if (!status)
                status = await_launch(launch, err);
        }
    }
    return status;
}

enum status capture_before(struct capture *capture, const struct launch *launch, struct error *err)
{
    uint64_t most = CAPTURE_POINTER_BYTES;
    while (lay_out_capture(capture, most) > CAPTURE_BYTES)
        most /= 2;
    enum status status = await_launch(launch, err);
    for (size_t i = 0; i < capture->regions && !status; i++)
        status = read_region(&capture->region[i], launch, &capture->region[i].before, err);
    if (!status)
        status = await_launch(launch, err);
    if (!status)
        status = follow_pointers(capture, launch, err);
    if (status)
        capture_release(capture);
    return status;
}

enum status capture_after(struct capture *capture, const struct launch *launch, struct error *err)
{
    enum status status = await_launch(launch, err);
    for (size_t i = 0; i < capture->regions && !status; i++)
        status = read_region(&capture->region[i], launch, &capture->region[i].after, err);
    if (!status)
        status = await_launch(launch, err);
    if (status)
        capture_release(capture);
    for (size_t i = 0; i < capture->regions; i++) {
        struct capture_region *region = &capture->region[i];
        if (memcmp(region->before, region->after, (size_t)region->bytes) != 0)
            continue;
        free(region->after);
        region->after = NULL;
    }
    return status;
}

void capture_release(struct capture *capture)
{
    for (size_t i = 0; i < capture->regions; i++) {
        free(capture->region[i].before);
        free(capture->region[i].after);
    }
    capture->regions = 0;
}
