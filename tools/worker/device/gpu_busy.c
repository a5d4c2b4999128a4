/* gpu_busy.c - busy blocks beside a launch: they hold multiprocessors, or a part of each. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "tools/worker/device/gpu_api.h"

enum { SLOTS = 4096, HOLDS = 1024, LIGHT = 128, LIGHT_SHARED = 16, ARRIVE_MS = 2000 };
#define NOISE_NS ((uint64_t)2 * 1000000000)
#define SM_NS    ((uint64_t)20 * 1000000000)

/* Pinned memory of the host. */
struct busy_state {
    volatile uint32_t stop;        /* not 0: all blocks leave */
    volatile uint32_t late;        /* not 0: a block has left because its time was over */
    volatile uint32_t part;        /* not 0: blocks leave that are to make room */
    volatile uint32_t slot[SLOTS]; /* of each block: its multiprocessor plus 1, once it runs */
};

/* A block makes room where (multiprocessor & mask) == value: once all blocks run, so that none of
 * them takes that room again. */
struct busy_params {
    uint64_t state;
    uint32_t mask, value;
    uint64_t limit; /* nanoseconds */
};

static const char ptx[] =
    ".version 6.4\n.target sm_75\n.address_size 64\n"
    ".extern .shared .align 4 .b32 over[];\n"
    ".visible .entry busy(.param .u64 state, .param .u32 mask, .param .u32 value, "
    ".param .u64 limit)\n{\n"
    ".reg .pred %p<6>;\n.reg .b32 %r<12>;\n.reg .b64 %rd<10>;\n"
    "ld.param.u64 %rd1, [state];\nld.param.u32 %r1, [mask];\nld.param.u32 %r2, [value];\n"
    "ld.param.u64 %rd2, [limit];\n"
    "mov.u32 %r3, %tid.x;\nmov.u32 %r4, %ctaid.x;\nmov.u32 %r5, %smid;\n"
    "mov.u64 %rd5, %globaltimer;\n"
    "mul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd1, %rd3;\n"
    "setp.ne.u32 %p1, %r3, 0;\n@%p1 bra BEGIN;\n"
    "mov.u32 %r6, 0;\nst.volatile.shared.u32 [over], %r6;\n"
    "add.u32 %r7, %r5, 1;\nst.volatile.global.u32 [%rd4+12], %r7;\n"
    "BEGIN:\nbar.sync 0;\n"
    "and.b32 %r8, %r5, %r1;\nsetp.eq.u32 %p2, %r8, %r2;\n"
    "add.s64 %rd8, %rd1, 8;\nselp.b64 %rd9, %rd8, %rd1, %p2;\n"
    /* The first thread reads the host's word; the others see what it writes. */
    "AGAIN:\n@%p1 bra SEE;\n"
    "ld.volatile.global.u32 %r9, [%rd9];\nsetp.ne.u32 %p3, %r9, 0;\n@%p3 bra OVER;\n"
    "mov.u64 %rd6, %globaltimer;\nsub.s64 %rd7, %rd6, %rd5;\n"
    "setp.lt.u64 %p4, %rd7, %rd2;\n@%p4 bra SEE;\n"
    "mov.u32 %r10, 1;\nst.volatile.global.u32 [%rd1+4], %r10;\n"
    "OVER:\nmov.u32 %r10, 1;\nst.volatile.shared.u32 [over], %r10;\n"
    "SEE:\nld.volatile.shared.u32 %r11, [over];\nsetp.eq.u32 %p5, %r11, 0;\n@%p5 bra AGAIN;\n"
    "ret;\n}\n";

static struct busy {
    CUstream stream; /* NULL: not made yet */
    CUfunction function;
    struct busy_state *state;
    CUdeviceptr address; /* of the state */
    uint32_t multiprocessors, shared_most;
} busy;

static uint32_t busy_attribute(CUdevice device, CUdevice_attribute attribute)
{
    int value = 0;
    return gpu.cuDeviceGetAttribute(&value, attribute, device) || value < 0 ? 0 : (uint32_t)value;
}

static CUresult busy_make(void)
{
    CUdevice device;
    CUmodule module;
    void *memory = NULL;
    if (busy.stream)
        return CUDA_SUCCESS;
    CUresult result = gpu.cuCtxGetDevice(&device);
    if (!result)
        result = gpu.cuModuleLoadData(&module, ptx);
    if (!result)
        result = gpu.cuModuleGetFunction(&busy.function, module, "busy");
    if (!result && gpu.cuFuncLoad)
        result = gpu.cuFuncLoad(busy.function);
    if (!result)
        result = gpu.cuMemHostAlloc(&memory, sizeof(struct busy_state), CU_MEMHOSTALLOC_DEVICEMAP);
    if (!result)
        result = gpu.cuMemHostGetDevicePointer(&busy.address, memory, 0);
    if (result)
        return result;
    busy.state = memory;
    busy.multiprocessors = busy_attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    busy.shared_most =
        busy_attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    result = gpu.cuFuncSetAttribute(busy.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    (int)busy.shared_most);
    return result ? result : gpu.cuStreamCreate(&busy.stream, CU_STREAM_NON_BLOCKING);
}

static bool busy_refuse(struct worker_result *out, const char *sentence)
{
    out->outcome = WORKER_REFUSED;
    snprintf(out->sentence, sizeof(out->sentence), "%s", sentence);
    return false;
}

/* Whether one multiprocessor can run the launch: blocks that wait for each other must fit at once.
 */
static bool busy_takes(CUfunction kernel, const struct worker_launch *launch,
                       struct worker_result *out)
{
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    int fit = 0;
    if (launch->sm >= busy.multiprocessors) {
        out->outcome = WORKER_REFUSED;
        snprintf(out->sentence, sizeof(out->sentence),
                 "there is no multiprocessor %u: the GPU has %u", launch->sm, busy.multiprocessors);
        return false;
    }
    if (launch->cluster[0] * launch->cluster[1] * launch->cluster[2] > 1)
        return busy_refuse(out, "a launch of clusters does not run on one multiprocessor");
    if (launch->cooperative && (gpu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                                    &fit, kernel, (int)threads, launch->shared_bytes) ||
                                blocks > (uint64_t)fit))
        return busy_refuse(out, "the blocks of the cooperative launch do not fit on one "
                                "multiprocessor at once");
    return true;
}

/* Until all blocks run, or the time for that is over. */
static void busy_wait(uint32_t blocks)
{
    const struct timespec pause = {.tv_nsec = 100000};
    for (int i = 0; i < 10 * ARRIVE_MS; i++) {
        uint32_t there = 0;
        while (there < blocks && busy.state->slot[there])
            there++;
        if (there == blocks)
            return;
        nanosleep(&pause, NULL);
    }
}

/* Multiprocessors on which a block stays; *left: one has been on a multiprocessor that is kept. */
static uint32_t busy_held(const struct busy_params *params, uint32_t blocks, bool *left)
{
    uint8_t seen[SLOTS] = {0};
    uint32_t held = 0;
    *left = false;
    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t sm = busy.state->slot[i] - 1;
        if (sm >= SLOTS)
            continue;
        if ((sm & params->mask) == params->value)
            *left = true;
        else
            held += !seen[sm]++;
    }
    return held;
}

/* The parts of each multiprocessor, or halves of the GPU, in turn. */
static void busy_plan(const struct worker_launch *launch, struct busy_params *params, bool *light)
{
    bool joined = launch->cooperative || launch->cluster[0];
    *light = !launch->one_sm && (launch->noise % 3 == 0 || joined);
    *params = (struct busy_params){.state = busy.address, .limit = NOISE_NS};
    if (launch->one_sm)
        *params = (struct busy_params){busy.address, UINT32_MAX, launch->sm, SM_NS};
    else if (*light)
        params->value = 1; /* none leaves */
    else
        *params = (struct busy_params){busy.address, 1, launch->noise % 3 == 1, NOISE_NS};
}

bool gpu_busy_begin(CUfunction kernel, const struct worker_launch *launch,
                    struct worker_result *out)
{
    struct busy_params params;
    bool light, left;
    CUresult result = busy_make();
    if (!result && launch->one_sm && !busy_takes(kernel, launch, out))
        return false;
    busy_plan(launch, &params, &light);
    size_t bytes = sizeof(params);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &params, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    uint32_t blocks = busy.multiprocessors < SLOTS ? busy.multiprocessors : SLOTS;
    if (!result && gpu.cuFuncLoad) /* a launch that loads code may wait for running blocks */
        result = gpu.cuFuncLoad(kernel);
    if (!result) {
        memset((void *)busy.state, 0, sizeof(*busy.state));
        result =
            gpu.cuLaunchKernel(busy.function, blocks, 1, 1, light ? LIGHT : HOLDS, 1, 1,
                               light ? LIGHT_SHARED : busy.shared_most, busy.stream, NULL, extra);
    }
    if (result) {
        snprintf(out->sentence, sizeof(out->sentence), "no busy blocks beside the launch: %s",
                 gpu_name(result));
        return false;
    }
    busy_wait(blocks);
    busy.state->part = 1;
    out->held = busy_held(&params, blocks, &left);
    if (left || !launch->one_sm)
        return true;
    gpu_busy_end(out);
    return busy_refuse(out, "no block reached that multiprocessor");
}

void gpu_busy_end(struct worker_result *out)
{
    out->freed = busy.state->late != 0;
    busy.state->stop = busy.state->part = 1;
    gpu.cuStreamSynchronize(busy.stream);
}
