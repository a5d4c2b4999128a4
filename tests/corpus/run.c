/*
 * run.c - launches the kernels of the corpus, as an ordinary program of the driver API, and leaves
 * a line for each launch: what for, what the oracles say, and on which input.
 *
 * It knows of cuvet as much as any program may: where cuvet_flush is there, it waits now and then.
 */
#include "corpus.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLACK = 1 << 17, FLUSH_EVERY = 64, FLUSH_MS = 60000, USUAL_SEED = 42 };

#define CHECK(call) check((call), #call, __LINE__)

static void check(CUresult result, const char *what, int line)
{
    const char *name = NULL;
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    die("run.c:%d: %s: %s", line, what, name ? name : "an unknown error");
}

/* Device memory of one parameter, kept for the next launch. What lies around an array is 1.0 in
 * every dtype, or near it: a mutant that reads past its rows goes on. */
struct room {
    CUdeviceptr base;
    size_t bytes;
};

static struct {
    CUmodule module;
    FILE *records;
    struct settings settings;
    struct problem problem;
    struct room room[REF_MAX_TENSORS];
    int (*flush)(int timeout_ms);
    uint64_t launches;
} run;

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Device memory for that many bytes with slack on both sides; 0 where the device has no more. */
static CUdeviceptr room_for(struct room *room, size_t bytes)
{
    bytes += 2 * (size_t)SLACK;
    if (bytes > room->bytes) {
        CHECK(cuCtxSynchronize());
        if (room->base)
            CHECK(cuMemFree(room->base));
        *room = (struct room){0};
        bytes = bytes < 1 << 20 ? 1 << 20 : bytes;
        if (cuMemAlloc(&room->base, bytes) != CUDA_SUCCESS) {
            room->base = 0;
            return 0;
        }
        room->bytes = bytes;
        CHECK(cuMemsetD32(room->base, 0x3f803f80, (bytes < 1 << 26 ? bytes : 1 << 26) / 4));
        CHECK(cuMemsetD32(room->base + (bytes - SLACK) / 4 * 4, 0x3f803f80, SLACK / 4));
    }
    return room->base + SLACK;
}

/* Rows apart are copied one by one. */
static void upload(const struct array *array, CUdeviceptr at, const void *from)
{
    size_t size = dtype_size(array->dtype);
    int64_t row = array->pitch ? array->count / array->dim[0] : array->count;
    for (int64_t r = 0; r * row < array->count; r++)
        CHECK(cuMemcpyHtoD(at + (CUdeviceptr)(r * array->pitch) * size,
                           (const char *)from + (size_t)(r * row) * size, (size_t)row * size));
}

/* What an output holds before the launch: NaN, or what an allocator may have left there. */
static void fill_output(struct problem *p, const struct array *array, CUdeviceptr at)
{
    const char *fill = input_word(&p->input, "fill", "nan");
    size_t bytes = (size_t)array->count * dtype_size(array->dtype);
    if (strcmp(fill, "right") == 0)
        upload(array, at, array->want);
    else
        CHECK(cuMemsetD8(at, strcmp(fill, "zero") == 0 ? 0 : 0xff, bytes));
}

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

/* Uploads all arrays and launches. False where the device has no memory for them. */
static bool launch(CUfunction function, struct problem *p)
{
    union value value[PARAMS];
    void *params[PARAMS];
    int arrays = 0;
    for (int i = 0; i < p->op->params; i++) {
        const struct param *param = &p->op->param[i];
        params[i] = &value[i];
        if (param->role == ROLE_SCALAR) {
            value[i] = scalar_value(p, param);
            continue;
        }
        struct array *array = &p->array[arrays];
        size_t size = dtype_size(array->dtype);
        int64_t span = array->pitch ? (array->dim[0] - 1) * array->pitch : 0;
        CUdeviceptr at = room_for(&run.room[arrays++], (size_t)(span + array->count + 16) * size);
        if (!at)
            return false;
        if (array->dtype == dtype_of("T", p->dtype))
            at += (CUdeviceptr)input_number(&p->input, "shift", 0) * size;
        value[i].pointer = at;
        if (param->role == ROLE_CONST || param->role == ROLE_INOUT)
            upload(array, at, array->before);
        else
            fill_output(p, array, at);
    }
    CHECK(cuLaunchKernel(function, grid_of(p), 1, 1, BLOCK, 1, 1, 0, NULL, params, NULL));
    if (++run.launches % FLUSH_EVERY == 0 && run.flush)
        run.flush(FLUSH_MS);
    return true;
}

static void download(struct problem *p)
{
    for (int i = 0; i < p->arrays; i++) {
        struct array *array = &p->array[i];
        CUdeviceptr at = run.room[i].base + SLACK;
        if (array->dtype == dtype_of("T", p->dtype))
            at += (CUdeviceptr)input_number(&p->input, "shift", 0) * dtype_size(array->dtype);
        if (array->param->role == ROLE_WRITTEN || array->param->role == ROLE_INOUT)
            CHECK(cuMemcpyDtoH(array->after, at, (size_t)array->count * dtype_size(array->dtype)));
    }
}

/* One launch of a kernel; with `oracles`, judged by them as well. */
static void one(CUfunction function, const struct entry *entry, const char *what, int *number,
                const struct input *input, bool oracles)
{
    struct problem *p = &run.problem;
    char name[64], text[512], letters[ORACLES + 1] = "....";
    double start = milliseconds();
    entry_symbol(entry, name);
    input_print(input, text);
    problem_make(p, entry_operation(entry), dtype_of(entry->dtype, DTYPE_NONE), input);
    if (strcmp(input_word(input, "fill", "nan"), "right") == 0)
        problem_expect(p);
    if (!launch(function, p)) {
        fprintf(run.records, "%s\t-1\t%s\t%s\t0\t%s\n", name, what, letters, text);
        return;
    }
    if (oracles) {
        CHECK(cuCtxSynchronize());
        download(p);
        problem_expect(p);
        oracles_judge(p, letters);
    }
    fprintf(run.records, "%s\t%d\t%s\t%s\t%.3f\t%s\n", name, (*number)++, what, letters,
            milliseconds() - start, text);
}

static void run_entry(const struct entry *entry)
{
    const struct operation *op = entry_operation(entry);
    const struct settings *settings = &run.settings;
    bool right = entry->kind == ENTRY_RIGHT;
    int number = 0, seeds = entry->study ? settings->study
                            : right      ? settings->soak
                                         : settings->seeds;
    /* The study's faults need its sizes, which are small. */
    double elements = entry->study ? fmax(settings->elements, 1 << 14) : settings->elements;
    CUfunction function;
    char name[64];
    entry_symbol(entry, name);
    CUresult found = cuModuleGetFunction(&function, run.module, name);
    check(found, name, __LINE__);
    for (int i = 0; i < settings->trials; i++) {
        struct input input = {.seed = (uint64_t)(USUAL_SEED + i)};
        input_add(&input, *entry->usual ? entry->usual : op->usual);
        one(function, entry, "usual", &number, &input, true);
    }
    if (*entry->kill) { /* after another input at the same addresses */
        struct input input = {.seed = 1};
        input_add(&input, entry->kill);
        one(function, entry, "kill", &number, &input, true);
    }
    for (int i = 0; i < seeds; i++) {
        struct input input;
        uint64_t seed = (uint64_t)(i + 1) * 0x10001;
        for (const char *at = name; *at; at++)
            seed = seed * 31 + (unsigned char)*at;
        input_draw(&input, op, seed, i % 64 == 63 ? 64 * settings->elements : elements);
        one(function, entry, "seed", &number, &input, false);
    }
}

static void load(const char *fatbin)
{
    CUdevice device;
    CUcontext context;
    FILE *file = fopen(fatbin, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        die("%s cannot be read", fatbin);
    size_t size = (size_t)ftell(file);
    void *image = malloc(size);
    rewind(file);
    if (!image || fread(image, 1, size, file) != size)
        die("%s cannot be read", fatbin);
    fclose(file);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&run.module, image));
    free(image);
}

void corpus_run(const char *fatbin, const char *records, const struct settings *settings)
{
    run.settings = *settings;
    run.records = fopen(records, "w");
    if (!run.records)
        die("%s cannot be written", records);
    void *flush = dlsym(RTLD_DEFAULT, "cuvet_flush");
    memcpy(&run.flush, &flush, sizeof flush);
    load(fatbin);
    for (size_t i = 0; i < entry_count; i++) {
        char name[64];
        entry_symbol(&entries[i], name);
        if (entry_operation(&entries[i])->builtin && strstr(name, settings->only) &&
            (int)(i % (size_t)settings->parts) == settings->part)
            run_entry(&entries[i]);
    }
    if (run.flush)
        run.flush(FLUSH_MS);
    CHECK(cuCtxSynchronize());
    if (fclose(run.records))
        die("%s cannot be written", records);
}
