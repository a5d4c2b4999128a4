/*
 * fake_driver.h - a CUDA driver in one header, for tests of the pipeline: device memory is host
 * memory, our copy kernel runs at once on the CPU, a reference runs through its host build.
 *
 * It checks as well as feeds: a copy or a reference that reaches outside a known allocation fails
 * the test, and the Nth call of a function can be made to fail.
 */
#ifndef TESTS_FAKE_DRIVER_H
#define TESTS_FAKE_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device/project_abi.h"
#include "device/snapshot_abi.h"
#include "driver/cuda_api.h"
#include "tests/unit/fakes/outlier_host.h"
#include "refs/abi/ref_batch.h"
#include "refs/abi/ref_host.h"
#include "refs/abi/ref_list.h"

enum { FAKE_ALLOCATIONS = 256, FAKE_DEVICE = 0 };

static struct {
    struct {
        char *start;
        size_t bytes;
    } allocation[FAKE_ALLOCATIONS];
    atomic_int allocations;
    atomic_bool capturing;
    atomic_uint copy_ns;      /* what a copy takes */
    atomic_uint look_ns;      /* and a look of the outlier gate */
    atomic_uint reference_ns; /* and each call of a launch of references */
    atomic_bool hold_seals;   /* the program's stream is slow: copies do not complete */
    atomic_bool hold_answers; /* references do not complete, until fake_answer */
    struct {
        struct ref_verdict *answer;
        uint64_t sequence;
    } held[32];
    atomic_int helds;
    atomic_int fail_launch; /* the Nth launch from now on is refused; 0: none */
    atomic_int references;  /* launched */
    atomic_int compared;    /* those of them that were not for a bundle ... */
    atomic_int most_calls;  /* ... and the most calls of one */
    atomic_int probes;      /* of the outlier gate */
    atomic_int launches;    /* kernels of ours */
    atomic_int queries;     /* calls that query whether work is done */
    atomic_int copied;      /* segments */
    atomic_int strays;      /* copies outside any allocation, blocks without a call */
    atomic_int early;       /* launches that do not wait for the end of the kernel in front */
    CUresult stream_state;
} fake;

/* For which architecture our kernels were compiled; outlives fake_driver_install. */
static int fake_compiled_for = 75;

static void *fake_alloc(size_t bytes)
{
    int i = atomic_fetch_add(&fake.allocations, 1);
    fake.allocation[i].start = aligned_alloc(256, (bytes + 255) / 256 * 256);
    fake.allocation[i].bytes = bytes;
    memset(fake.allocation[i].start, 0, bytes);
    return fake.allocation[i].start;
}

static int fake_find(uint64_t address)
{
    for (int i = 0; i < atomic_load(&fake.allocations); i++) {
        uint64_t start = (uint64_t)(uintptr_t)fake.allocation[i].start;
        if (address >= start && address < start + fake.allocation[i].bytes)
            return i;
    }
    return -1;
}

static bool fake_inside(uint64_t address, uint64_t bytes)
{
    int i = fake_find(address);
    return i >= 0 && address + bytes <=
                         (uint64_t)(uintptr_t)fake.allocation[i].start + fake.allocation[i].bytes;
}

static CUresult fake_mem_alloc(CUdeviceptr *out, size_t bytes)
{
    *out = (CUdeviceptr)(uintptr_t)fake_alloc(bytes);
    return CUDA_SUCCESS;
}

static CUresult fake_mem_info(size_t *left, size_t *total)
{
    *left = *total = (size_t)8 << 30;
    return CUDA_SUCCESS;
}

static CUresult fake_host_alloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    *out = fake_alloc(bytes);
    return CUDA_SUCCESS;
}

static CUresult fake_host_pointer(CUdeviceptr *out, void *host, unsigned flags)
{
    (void)flags;
    *out = (CUdeviceptr)(uintptr_t)host;
    return CUDA_SUCCESS;
}

static CUresult fake_attributes(unsigned count, CUpointer_attribute *wanted, void **into,
                                CUdeviceptr address)
{
    int i = fake_find(address);
    for (unsigned a = 0; a < count && i >= 0; a++) {
        if (wanted[a] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
            *(CUdeviceptr *)into[a] = (CUdeviceptr)(uintptr_t)fake.allocation[i].start;
        else if (wanted[a] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
            *(size_t *)into[a] = fake.allocation[i].bytes;
        else if (wanted[a] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
            *(unsigned *)into[a] = CU_MEMORYTYPE_DEVICE;
        else if (wanted[a] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)into[a] = FAKE_DEVICE;
        else if (wanted[a] == CU_POINTER_ATTRIBUTE_CONTEXT)
            *(void **)into[a] = &fake;
    }
    return CUDA_SUCCESS;
}

static uint64_t fake_seal_word(const struct snapshot_header *header, uint64_t value)
{
    return header->sequence << SEAL_BITS | value % (1ull << SEAL_BITS);
}

/* What thread 0 of the first block does on the GPU, and of each: the snapshot's address, or 0. */
static uint64_t fake_find_place(const struct snapshot_header *header)
{
    struct snapshot_arena *arena = header->arena;
    struct snapshot_place *place = header->place;
    uint64_t tail = __atomic_load_n(arena->tail, __ATOMIC_ACQUIRE);
    uint64_t start = arena->head, at = arena->head % arena->lap;
    if (place->found >> PLACE_BITS != header->sequence) {
        if (at + header->bytes > arena->bytes)
            start += arena->lap - at;
        bool room = start + header->bytes - tail <= arena->lap || arena->head == tail;
        uint64_t begin = room ? arena->head : 0, end = room ? start + header->bytes : 0;
        header->seal->begin = fake_seal_word(header, begin / SNAPSHOT_ALIGN);
        header->seal->end = fake_seal_word(header, end / SNAPSHOT_ALIGN);
        arena->head = room ? end : arena->head;
        place->found =
            header->sequence << PLACE_BITS | (room ? start % arena->lap / SNAPSHOT_ALIGN + 1 : 0);
    }
    uint64_t found = place->found % (1ull << PLACE_BITS);
    return found ? header->base + (found - 1) * SNAPSHOT_ALIGN : 0;
}

static void fake_rows(const struct snapshot_segment *s, uint64_t base)
{
    for (uint64_t row = 0; row < s->rows; row++) {
        uint64_t from = s->source + row * s->source_pitch;
        uint64_t to = base + s->target + row * s->target_pitch;
        if (from % SNAPSHOT_UNIT != to % SNAPSHOT_UNIT)
            atomic_fetch_add(&fake.strays, 1);
        if (fake_inside(from, s->row_bytes) && fake_inside(to, s->row_bytes))
            memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, s->row_bytes);
        else
            atomic_fetch_add(&fake.strays, 1);
    }
}

/* One segment as device/snapshot_copy.cuh copies it, but one byte range after another: the test of
 * that code is softgpu's. */
static void fake_segment(const struct snapshot_select *select,
                         const struct snapshot_segment *segment, uint64_t base)
{
    if (!segment->chosen)
        fake_rows(segment, base);
    for (uint64_t row = 0; segment->chosen && row < segment->rows; row++) {
        uint64_t outer = row / segment->chosen, index = row % segment->chosen, last;
        uint64_t item = segment->by_block ? index * select->length : index;
        uint64_t block = item / select->length;
        last = select->blocks - 1;
        block = block > last ? last : block;
        struct snapshot_segment one = {
            .source =
                segment->source + outer * segment->outer_source +
                (select->start[block] * (uint64_t)select->unit + item - block * select->length) *
                    segment->source_pitch,
            .target =
                segment->target + outer * segment->outer_target + item * segment->target_pitch,
            .row_bytes =
                segment->by_block && block == last ? segment->last_bytes : segment->row_bytes,
            .rows = 1,
        };
        fake_rows(&one, base);
    }
}

static void fake_seal(const struct snapshot_header *header, uint64_t base)
{
    header->seal->started = fake_seal_word(header, 0);
    header->seal->stopped = fake_seal_word(header, (uint64_t)atomic_load(&fake.copy_ns));
    for (uint32_t i = 0; base && i < header->values; i++) {
        header->seal->value[i] = 0;
        memcpy((void *)&header->seal->value[i], (void *)(uintptr_t)(base + (header->value[i] >> 4)),
               header->value[i] & 15);
    }
    if (!atomic_load(&fake.hold_seals))
        __atomic_store_n(&header->seal->sequence, header->sequence, __ATOMIC_RELEASE);
}

static void fake_copy(const struct snapshot_header *header, const struct snapshot_select *select,
                      const struct snapshot_segment *segment)
{
    if (header->when && *header->when != header->sequence * 2 + 1)
        return;
    uint64_t base = fake_find_place(header);
    for (uint32_t i = 0; i < header->segments && base; i++) {
        fake_segment(select, &segment[i], base);
        atomic_fetch_add(&fake.copied, 1);
    }
    if (header->seals)
        fake_seal(header, base);
}

static void fake_outlier(const struct snapshot_header *header, const struct outlier_header *outlier,
                         const struct snapshot_select *select, const struct outlier_input *input,
                         const struct snapshot_segment *segment)
{
    bool called = outlier_host_decide(outlier, input);
    atomic_fetch_add(&fake.probes, 1);
    uint64_t base = called ? fake_find_place(header) : 0;
    bool room = called && base;
    outlier->slot->decision = header->sequence * 2 + room;
    if (room)
        fake_copy(header, select, segment);
    else if (called)
        fake_seal(header, base);
    else if (!atomic_load(&fake.hold_seals))
        __atomic_store_n(&header->seal->ordinary,
                         header->sequence << SEAL_TIME_BITS | atomic_load(&fake.look_ns),
                         __ATOMIC_RELEASE);
}

/* Both passes behind the launch at once, when the second is launched. */
static void fake_project(const struct project_call *call, const char *symbol)
{
    char *base = (char *)(uintptr_t)fake_find_place(&call->header);
    double *vectors = (double *)(void *)(base + call->offset + PROJECT_ANSWER);
    if (base && !strcmp(symbol, "cuvet_project_before"))
        ref_product_host_before(&call->product, vectors);
    if (base && !strcmp(symbol, "cuvet_project_rows"))
        ref_product_host(&call->product, vectors,
                         (struct ref_product_answer *)(void *)(base + call->offset));
}

static void fake_call(const char *symbol, const struct ref_call *call)
{
    for (size_t i = 0; i < ref_builtin_count; i++) {
        int variant = 0;
        while (variant < REF_VARIANTS && (!ref_builtins[i].symbol[variant] ||
                                          strcmp(symbol, ref_builtins[i].symbol[variant])))
            variant++;
        if (variant == REF_VARIANTS)
            continue;
        struct ref_call host = *call;
        struct ref_verdict answer;
        host.group = 1;
        host.answer = &answer;
        ref_host_run(ref_builtins[i].name, &host, variant == REF_WIDE);
        uint64_t sequence = call->sequence;
        answer.sequence = call->answer->sequence;
        answer.busy = atomic_load(&fake.reference_ns);
        *call->answer = answer;
        if (atomic_load(&fake.hold_answers)) {
            int held = atomic_load(&fake.helds);
            fake.held[held % 32].answer = call->answer;
            fake.held[held % 32].sequence = sequence;
            atomic_store(&fake.helds, held + 1);
            continue;
        }
        __atomic_store_n(&call->answer->sequence, sequence, __ATOMIC_RELEASE);
    }
}

/* What calls of one launch write on the GPU is apart, and inside our memory. */
static bool fake_apart(const struct ref_call *a, const struct ref_call *b)
{
    bool partials = a->partial + a->blocks <= b->partial || b->partial + b->blocks <= a->partial;
    return partials && a->ticket != b->ticket && a->answer != b->answer &&
           fake_inside((uint64_t)(uintptr_t)a->partial, a->blocks * sizeof(*a->partial)) &&
           fake_inside((uint64_t)(uintptr_t)a->ticket, sizeof(*a->ticket));
}

/* Each call has blocks of its own, and together they have all of the launch. */
static void fake_reference(const char *symbol, const struct ref_batch *batch, unsigned blocks)
{
    const struct ref_call *calls = batch->call ? batch->call : &batch->own;
    uint32_t dealt = 0;
    if (batch->call ? !fake_inside((uint64_t)(uintptr_t)calls, batch->calls * sizeof(*calls))
                    : batch->calls != 1)
        atomic_fetch_add(&fake.strays, 1);
    for (uint32_t i = 0; i < batch->calls && i < REF_BATCH; i++) {
        const struct ref_call *call = &calls[i];
        if (call->first_block != dealt || batch->first[i] != dealt || !call->blocks)
            atomic_fetch_add(&fake.strays, 1);
        dealt += call->blocks;
        for (uint32_t j = 0; j < i; j++)
            if (!fake_apart(call, &calls[j]))
                atomic_fetch_add(&fake.strays, 1);
        fake_call(symbol, call);
    }
    if (dealt != blocks)
        atomic_fetch_add(&fake.strays, 1);
    if (!calls[0].store)
        atomic_fetch_add(&fake.compared, 1);
    if ((int)batch->calls > atomic_load(&fake.most_calls))
        atomic_store(&fake.most_calls, (int)batch->calls);
    if (!atomic_load(&fake.hold_answers))
        atomic_fetch_add(&fake.references, 1);
}

/* The references that were held complete now. */
static inline void fake_answer(void)
{
    atomic_store(&fake.hold_answers, false);
    for (int i = 0; i < atomic_load(&fake.helds); i++)
        __atomic_store_n(&fake.held[i].answer->sequence, fake.held[i].sequence, __ATOMIC_RELEASE);
    atomic_store(&fake.helds, 0);
}

static CUresult fake_launch(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, CUstream stream,
                            void **params, void **extra)
{
    const char *symbol = (const char *)(uintptr_t)function;
    (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
    if (atomic_load(&fake.fail_launch) && atomic_fetch_sub(&fake.fail_launch, 1) == 1)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    atomic_fetch_add(&fake.launches, 1);
    const struct snapshot_call *copy = params[0]; /* of few segments or with rows: begins alike */
    const struct outlier_call *look = params[0];
    const struct outlier_call_few *few = params[0];
    if (!strncmp(symbol, "cuvet_snapshot", 14))
        fake_copy(&copy->header, &copy->select, copy->segment);
    else if (!strcmp(symbol, "cuvet_outlier"))
        fake_outlier(&look->header, &look->outlier, &look->select, look->input, look->segment);
    else if (!strcmp(symbol, "cuvet_outlier_few"))
        fake_outlier(&few->header, &few->outlier, &few->select, few->input, few->segment);
    else if (!strncmp(symbol, "cuvet_project", 13))
        fake_project(params[0], symbol);
    else if (!strncmp(symbol, "cuvet_ref_", 10))
        fake_reference(symbol, params[0], gx);
    return CUDA_SUCCESS;
}

static CUresult fake_launch_ex(const CUlaunchConfig *config, CUfunction function, void **params,
                               void **extra)
{
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
            attribute->value.programmaticStreamSerializationAllowed)
            atomic_fetch_add(&fake.early, 1);
    }
    return fake_launch(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                       config->blockDimX, config->blockDimY, config->blockDimZ,
                       config->sharedMemBytes, config->hStream, params, extra);
}

static CUresult fake_function_attribute(int *out, CUfunction_attribute attribute,
                                        CUfunction function)
{
    (void)function;
    if (attribute != CU_FUNC_ATTRIBUTE_PTX_VERSION)
        return CUDA_ERROR_INVALID_VALUE;
    *out = fake_compiled_for;
    return CUDA_SUCCESS;
}

static CUresult fake_module_load(CUmodule *out, const void *image)
{
    *out = (CUmodule)(uintptr_t)image;
    return CUDA_SUCCESS;
}

static CUresult fake_get_function(CUfunction *out, CUmodule module, const char *name)
{
    (void)module;
    *out = (CUfunction)(uintptr_t)name;
    return CUDA_SUCCESS;
}

static CUresult fake_capturing(CUstream stream, CUstreamCaptureStatus *out)
{
    (void)stream;
    *out = atomic_load(&fake.capturing) ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                        : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

static CUresult fake_query(CUstream stream)
{
    (void)stream;
    atomic_fetch_add(&fake.queries, 1);
    return fake.stream_state;
}

static CUresult fake_push(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}

static CUresult fake_pop(CUcontext *context)
{
    (void)context;
    return CUDA_SUCCESS;
}

static CUresult fake_device(CUdevice *out)
{
    *out = FAKE_DEVICE;
    return CUDA_SUCCESS;
}

static CUresult fake_device_attribute(int *out, CUdevice_attribute which, CUdevice device)
{
    (void)which, (void)device;
    *out = 4;
    return CUDA_SUCCESS;
}

static CUresult fake_driver_version(int *out)
{
    *out = 12040;
    return CUDA_SUCCESS;
}

static CUresult fake_occupancy(int *out, CUfunction function, int threads, size_t shared)
{
    (void)function, (void)threads, (void)shared;
    *out = 2;
    return CUDA_SUCCESS;
}

static CUresult fake_priorities(int *lowest, int *highest)
{
    *lowest = *highest = 0;
    return CUDA_SUCCESS;
}

static CUresult fake_stream_create(CUstream *out, unsigned flags, int priority)
{
    (void)flags, (void)priority;
    *out = (CUstream)(uintptr_t)1234;
    return CUDA_SUCCESS;
}

static CUresult fake_memset8(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    (void)stream;
    memset((void *)(uintptr_t)to, value, count);
    return CUDA_SUCCESS;
}

static CUresult fake_memset32(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    (void)stream;
    for (size_t i = 0; i < count; i++)
        memcpy((char *)(uintptr_t)to + 4 * i, &value, 4);
    return CUDA_SUCCESS;
}

static CUresult fake_copy_to_host(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

static CUresult fake_copy_to_device(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}

static CUresult fake_exchange(CUstreamCaptureMode *mode)
{
    (void)mode;
    return CUDA_SUCCESS;
}

static CUresult fake_error_name(CUresult result, const char **name)
{
    *name = result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
                                                         : "CUDA_ERROR_UNKNOWN";
    return CUDA_SUCCESS;
}

static void fake_driver_install(void)
{
    cuda = (struct cuda_api){
        .cuCtxPushCurrent = fake_push,
        .cuCtxPopCurrent = fake_pop,
        .cuCtxGetDevice = fake_device,
        .cuCtxGetStreamPriorityRange = fake_priorities,
        .cuDeviceGetAttribute = fake_device_attribute,
        .cuDriverGetVersion = fake_driver_version,
        .cuGetErrorName = fake_error_name,
        .cuFuncGetAttribute = fake_function_attribute,
        .cuLaunchKernel = fake_launch,
        .cuLaunchKernelEx = fake_launch_ex,
        .cuMemAlloc = fake_mem_alloc,
        .cuMemGetInfo = fake_mem_info,
        .cuMemHostAlloc = fake_host_alloc,
        .cuMemHostGetDevicePointer = fake_host_pointer,
        .cuMemcpyDtoHAsync = fake_copy_to_host,
        .cuMemcpyHtoDAsync = fake_copy_to_device,
        .cuMemsetD8Async = fake_memset8,
        .cuMemsetD32Async = fake_memset32,
        .cuModuleLoadData = fake_module_load,
        .cuModuleGetFunction = fake_get_function,
        .cuOccupancyMaxActiveBlocksPerMultiprocessor = fake_occupancy,
        .cuPointerGetAttributes = fake_attributes,
        .cuStreamCreateWithPriority = fake_stream_create,
        .cuStreamIsCapturing = fake_capturing,
        .cuStreamQuery = fake_query,
        .cuThreadExchangeStreamCaptureMode = fake_exchange,
    };
}

static void fake_driver_remove(void)
{
    for (int i = 0; i < atomic_load(&fake.allocations); i++)
        free(fake.allocation[i].start);
    memset(&fake, 0, sizeof(fake));
    memset(&cuda, 0, sizeof(cuda));
}

#endif
