/*
 * launch.c - a thread's launches: its stream, the device memory of its arrays, and the pinned
 * memory from which they are filled.
 *
 * A launch is enqueued and left alone. What is copied to the device lies in one of two halves of
 * the pinned memory, which take turns: a half is written again when the stream has gone past all
 * that came from it, so that a thread is two halves of launches ahead of the GPU at most.
 */
#include "corpus.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLACK = 1 << 17,
    HALF = 1 << 24,      /* bytes */
    APART = 256,         /* of what is copied from a half */
    KEPT = 1 << 26,      /* larger memory is given back when a kernel's turn ends */
    VAST = 1 << 30,      /* and of such there is one thread at a time */
    LEAST_ROOM = 1 << 20 /* bytes of a room */
};
static const size_t most_pitch = 0x7fffffff; /* of a copy of rows */

/* Device memory of one parameter, kept for the next launch. What lies around an array is 1.0 in
 * every dtype, or near it, when a kernel's turn begins: a mutant that reads past its rows goes on.
 */
struct room {
    CUdeviceptr base;
    size_t bytes;
};

struct launcher {
    CUstream stream;
    struct room room[REF_MAX_TENSORS];
    bool vast;  /* holds vast_turn */
    char *half; /* the first of both */
    int now;    /* which is written */
    size_t used;
    int launches, most_launches; /* from a half */
    struct {
        CUevent passed;
        bool recorded;
    } end[2];
};

static pthread_mutex_t vast_turn = PTHREAD_MUTEX_INITIALIZER;

void check(CUresult result, const char *file, int line, const char *what)
{
    const char *name = NULL;
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    die("%s:%d: %s: %s", file, line, what, name ? name : "an unknown error");
}

struct launcher *launcher_create(int ahead)
{
    struct launcher *l = calloc(1, sizeof *l);
    if (!l)
        die("no memory for a launcher");
    l->most_launches = ahead / 2 < 1 ? 1 : ahead / 2;
    CHECK(cuStreamCreate(&l->stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAllocHost((void **)&l->half, 2 * (size_t)HALF));
    for (int i = 0; i < 2; i++)
        CHECK(cuEventCreate(&l->end[i].passed, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING));
    return l;
}

void launcher_destroy(struct launcher *l)
{
    CHECK(cuStreamSynchronize(l->stream));
    for (int i = 0; i < REF_MAX_TENSORS; i++)
        if (l->room[i].base)
            CHECK(cuMemFree(l->room[i].base));
    for (int i = 0; i < 2; i++)
        CHECK(cuEventDestroy(l->end[i].passed));
    CHECK(cuMemFreeHost(l->half));
    CHECK(cuStreamDestroy(l->stream));
    if (l->vast)
        pthread_mutex_unlock(&vast_turn);
    free(l);
}

/* ------------------------------------------------------------------------- device memory */

/* All of it, but for the middle of what is too large. */
static void clear_room(const struct launcher *l, const struct room *room)
{
    size_t words = (room->bytes < KEPT ? room->bytes : KEPT) / 4;
    CHECK(cuMemsetD32Async(room->base, 0x3f803f80, words, l->stream));
    if (room->bytes > KEPT)
        CHECK(cuMemsetD32Async(room->base + (room->bytes - SLACK) / 4 * 4, 0x3f803f80, SLACK / 4,
                               l->stream));
}

static void free_room(const struct launcher *l, struct room *room)
{
    CHECK(cuStreamSynchronize(l->stream));
    if (room->base)
        CHECK(cuMemFree(room->base));
    *room = (struct room){0};
}

/* Device memory for that many bytes with slack on both sides; 0 where the device has no more. */
static CUdeviceptr room_for(struct launcher *l, struct room *room, size_t bytes)
{
    size_t wanted = LEAST_ROOM;
    bytes += 2 * (size_t)SLACK;
    while (wanted < bytes && wanted < KEPT)
        wanted *= 2; /* so that it seldom grows */
    if (bytes > room->bytes) {
        free_room(l, room);
        wanted = wanted < bytes ? bytes : wanted;
        if (wanted > VAST && !l->vast) {
            pthread_mutex_lock(&vast_turn);
            l->vast = true;
        }
        if (cuMemAlloc(&room->base, wanted) != CUDA_SUCCESS) {
            room->base = 0;
            return 0;
        }
        room->bytes = wanted;
        clear_room(l, room);
    }
    return room->base + SLACK;
}

void launcher_begin(struct launcher *l)
{
    for (int i = 0; i < REF_MAX_TENSORS; i++) {
        struct room *room = &l->room[i];
        if (room->bytes > KEPT)
            free_room(l, room);
        else if (room->base)
            clear_room(l, room);
    }
    if (l->vast)
        pthread_mutex_unlock(&vast_turn);
    l->vast = false;
}

/* ------------------------------------------------------------------------------- uploads */

/* Before a launch: the other half, where this one has had enough. */
static void take_turns(struct launcher *l)
{
    if (l->launches++ < l->most_launches && l->used < HALF / 2)
        return;
    CHECK(cuEventRecord(l->end[l->now].passed, l->stream));
    l->end[l->now].recorded = true;
    l->now = !l->now;
    l->used = 0;
    l->launches = 1;
    if (l->end[l->now].recorded)
        CHECK(cuEventSynchronize(l->end[l->now].passed));
}

/* Pinned memory with a copy of these bytes, at most HALF, until the stream has gone past. */
static const char *pin(struct launcher *l, const char *from, size_t bytes)
{
    if (l->used + bytes > HALF) {
        CHECK(cuStreamSynchronize(l->stream));
        l->used = 0;
    }
    char *at = l->half + (size_t)l->now * HALF + l->used;
    l->used += (bytes + APART - 1) / APART * APART;
    memcpy(at, from, bytes);
    return at;
}

static void upload_dense(struct launcher *l, CUdeviceptr at, const char *from, size_t bytes)
{
    for (size_t done = 0, some; done < bytes; done += some) {
        some = bytes - done < HALF ? bytes - done : HALF;
        CHECK(cuMemcpyHtoDAsync(at + done, pin(l, from + done, some), some, l->stream));
    }
}

/* `rows` of so many bytes, `pitch` bytes apart on the device; all of them at most HALF. */
static void upload_rows(struct launcher *l, CUdeviceptr at, const char *from, size_t rows,
                        size_t bytes, size_t pitch)
{
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = pin(l, from, rows * bytes),
                          .srcPitch = bytes,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = at,
                          .dstPitch = pitch,
                          .WidthInBytes = bytes,
                          .Height = rows};
    CHECK(cuMemcpy2DAsync(&copy, l->stream));
}

static void upload(struct launcher *l, const struct array *array, CUdeviceptr at, const char *from)
{
    size_t size = dtype_size(array->dtype), bytes = (size_t)array->count * size;
    size_t rows = array->pitch ? (size_t)array->dim[0] : 1;
    size_t row = bytes / rows, pitch = (size_t)array->pitch * size;
    if (rows == 1 || pitch == row)
        upload_dense(l, at, from, bytes);
    else if (pitch <= most_pitch && bytes <= HALF)
        upload_rows(l, at, from, rows, row, pitch);
    else
        for (size_t r = 0; r < rows; r++)
            upload_dense(l, at + r * pitch, from + r * row, row);
}

/* What an output holds before the launch: NaN, or what an allocator may have left there. */
static void fill_output(struct launcher *l, const struct problem *p, const struct array *array,
                        CUdeviceptr at)
{
    const char *fill = input_word(&p->input, "fill", "nan");
    size_t bytes = (size_t)array->count * dtype_size(array->dtype);
    if (strcmp(fill, "right") == 0)
        upload(l, array, at, array->want);
    else
        CHECK(cuMemsetD8Async(at, strcmp(fill, "zero") == 0 ? 0 : 0xff, bytes, l->stream));
}

/* ------------------------------------------------------------------------------ a launch */

/* Blocks for "rows*cols/T" or "rows". */
static unsigned grid_of(const struct problem *p)
{
    double count = 1;
    bool threads = strstr(p->op->grid, "/T") != NULL;
    for (const char *at = p->op->grid; *at && *at != '/';
         at += strcspn(at, "*/"), at += *at == '*') {
        char name[WORD];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "*/"), at);
        count *= input_number(&p->input, name, NAN);
    }
    double blocks = threads ? ceil(count / BLOCK) : count;
    return blocks > MOST_BLOCKS ? MOST_BLOCKS : (unsigned)blocks;
}

/* A parameter's value, as it lies in memory. */
union value {
    CUdeviceptr pointer;
    int32_t i32;
    int64_t i64;
    float f32;
};

static union value scalar_value(const struct problem *p, const struct param *param)
{
    double number = problem_scalar(p, param);
    if (strcmp(param->type, "f32") == 0)
        return (union value){.f32 = (float)number};
    if (strcmp(param->type, "i64") == 0)
        return (union value){.i64 = (int64_t)number};
    return (union value){.i32 = (int32_t)number};
}

/* What the input shifts arrays of the kernel's own dtype by. */
static size_t shift_of(const struct problem *p, const struct array *array)
{
    if (array->dtype != dtype_of("T", p->dtype))
        return 0;
    return (size_t)input_number(&p->input, "shift", 0) * dtype_size(array->dtype);
}

/* Enqueues what the array holds before the launch; 0 where the device has no memory for it. */
static CUdeviceptr place(struct launcher *l, const struct problem *p, int number)
{
    const struct array *array = &p->array[number];
    int64_t span = array->pitch ? (array->dim[0] - 1) * array->pitch : 0;
    CUdeviceptr at = room_for(l, &l->room[number],
                              (size_t)(span + array->count + 16) * dtype_size(array->dtype));
    if (!at)
        return 0;
    at += shift_of(p, array);
    if (array->param->role == ROLE_CONST || array->param->role == ROLE_INOUT)
        upload(l, array, at, array->before);
    else
        fill_output(l, p, array, at);
    return at;
}

bool launcher_launch(struct launcher *l, CUfunction function, const struct problem *p)
{
    union value value[PARAMS];
    void *params[PARAMS];
    size_t bytes = 0;
    int arrays = 0;
    take_turns(l);
    for (int i = 0; i < p->op->params; i++) {
        const struct param *param = &p->op->param[i];
        params[i] = &value[i];
        if (param->role == ROLE_SCALAR) {
            value[i] = scalar_value(p, param);
            continue;
        }
        const struct array *array = &p->array[arrays];
        value[i].pointer = place(l, p, arrays++);
        if (!value[i].pointer)
            return false;
        bytes += (size_t)array->count * dtype_size(array->dtype) *
                 (param->role == ROLE_INOUT ? 2 : 1); /* before and after */
    }
    flow_admit(bytes);
    CHECK(cuLaunchKernel(function, grid_of(p), 1, 1, BLOCK, 1, 1, 0, l->stream, params, NULL));
    return true;
}

void launcher_read(struct launcher *l, struct problem *p)
{
    for (int i = 0; i < p->arrays; i++) {
        struct array *array = &p->array[i];
        if (array->param->role == ROLE_WRITTEN || array->param->role == ROLE_INOUT)
            CHECK(cuMemcpyDtoHAsync(array->after, l->room[i].base + SLACK + shift_of(p, array),
                                    (size_t)array->count * dtype_size(array->dtype), l->stream));
    }
    CHECK(cuStreamSynchronize(l->stream));
}
