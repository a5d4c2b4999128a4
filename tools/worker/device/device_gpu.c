/* device_gpu.c - a GPU through the CUDA driver, which is opened at run time. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "driver/load.h"
#include "tests/softgpu/exec/exec.h"
#include "tools/worker/device/device.h"
#include "tools/worker/device/gpu_api.h"

struct gpu_api gpu;

#define TEXT(name)    TEXT_OF(name)
#define TEXT_OF(name) #name

static const struct load_entry entries[] = {
#define GPU_API(name)          {TEXT(name), offsetof(struct gpu_api, name), true},
#define GPU_API_OPTIONAL(name) {TEXT(name), offsetof(struct gpu_api, name), false},
#include "tools/worker/device/gpu_api.def"
#undef GPU_API
#undef GPU_API_OPTIONAL
};

const char *gpu_name(CUresult result)
{
    const char *name = NULL;
    return gpu.cuGetErrorName(result, &name) || !name ? "unknown CUDA error" : name;
}

static enum status gpu_check(struct error *err, CUresult result, const char *what)
{
    return result ? error_set(err, STATUS_DRIVER, "%s: %s", what, gpu_name(result)) : STATUS_OK;
}

/* ---- the device ---- */

static int gpu_attribute(CUdevice device, CUdevice_attribute attribute)
{
    int value = 0;
    return gpu.cuDeviceGetAttribute(&value, attribute, device) ? 0 : value;
}

static void gpu_describe(CUdevice device, struct worker_about *about)
{
    size_t memory = 0;
    int version = 0;
    *about = (struct worker_about){.kind = "gpu"};
    gpu.cuDeviceGetName(about->name, sizeof(about->name) - 1, device);
    gpu.cuDriverGetVersion(&version);
    gpu.cuDeviceTotalMem(&memory, device);
    about->driver = version;
    about->sm = 10 * gpu_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                gpu_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    about->multiprocessors = gpu_attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    about->memory = memory;
}

static enum status gpu_open(struct device **out, int ordinal, struct worker_about *about,
                            struct error *err)
{
    static struct device device = {&device_gpu};
    CUcontext context;
    CUdevice number;
    int count = 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return error_set(err, STATUS_NOT_FOUND, "there is no CUDA driver (libcuda.so.1)");
    enum status status =
        load_entries(&gpu, library, entries, sizeof(entries) / sizeof(*entries), err);
    if (!status && (gpu.cuInit(0) || gpu.cuDeviceGetCount(&count) || count == 0))
        status = error_set(err, STATUS_NOT_FOUND, "the CUDA driver has no GPU");
    if (!status && gpu.cuDeviceGet(&number, ordinal))
        status = error_set(err, STATUS_NOT_FOUND, "there is no GPU %d: the driver has %d", ordinal,
                           count);
    if (!status)
        status = gpu_check(err, gpu.cuDevicePrimaryCtxRetain(&context, number),
                           "cuDevicePrimaryCtxRetain");
    if (!status)
        status = gpu_check(err, gpu.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    if (status)
        return status;
    gpu_describe(number, about);
    *out = &device;
    return STATUS_OK;
}

/* ---- memory ---- */

static enum status gpu_allocate(struct device *device, uint64_t bytes, uint64_t *address,
                                struct error *err)
{
    CUdeviceptr memory = 0;
    (void)device;
    CUresult result = gpu.cuMemAlloc(&memory, bytes);
    *address = (uint64_t)memory;
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return error_set(err, STATUS_FULL, "the GPU has no room for an array of %" PRIu64 " bytes",
                         bytes);
    return gpu_check(err, result, "cuMemAlloc");
}

static void gpu_release(struct device *device, uint64_t address)
{
    (void)device;
    gpu.cuMemFree((CUdeviceptr)address);
}

static enum status gpu_write(struct device *device, uint64_t to, const void *bytes, uint64_t count,
                             struct error *err)
{
    (void)device;
    return count ? gpu_check(err, gpu.cuMemcpyHtoD((CUdeviceptr)to, bytes, count), "cuMemcpyHtoD")
                 : STATUS_OK;
}

static enum status gpu_read(struct device *device, uint64_t from, void *bytes, uint64_t count,
                            struct error *err)
{
    (void)device;
    return count ? gpu_check(err, gpu.cuMemcpyDtoH(bytes, (CUdeviceptr)from, count), "cuMemcpyDtoH")
                 : STATUS_OK;
}

static enum status gpu_fill(struct device *device, uint64_t to, uint64_t count, uint8_t value,
                            struct error *err)
{
    (void)device;
    return count ? gpu_check(err, gpu.cuMemsetD8((CUdeviceptr)to, value, count), "cuMemsetD8")
                 : STATUS_OK;
}

static enum status gpu_copy(struct device *device, uint64_t to, uint64_t from, uint64_t count,
                            struct error *err)
{
    (void)device;
    return count ? gpu_check(err, gpu.cuMemcpyDtoD((CUdeviceptr)to, (CUdeviceptr)from, count),
                             "cuMemcpyDtoD")
                 : STATUS_OK;
}

/* ---- code ---- */

static enum status gpu_load(struct device *device, const void *bytes, size_t count, void **module,
                            struct error *err)
{
    CUmodule made;
    (void)device, (void)count;
    CUresult result = gpu.cuModuleLoadData(&made, bytes);
    if (result)
        return error_set(err, STATUS_INVALID, "the driver does not load the image: %s",
                         gpu_name(result));
    *module = made;
    return STATUS_OK;
}

static void gpu_unload(struct device *device, void *module)
{
    (void)device;
    gpu.cuModuleUnload(module);
}

static uint32_t gpu_function(CUfunction function, CUfunction_attribute attribute)
{
    int value = 0;
    return gpu.cuFuncGetAttribute(&value, attribute, function) ? 0 : (uint32_t)value;
}

static void gpu_layout(CUfunction function, struct worker_kernel *about)
{
    size_t offset, size;
    unsigned i = 0;
    for (; gpu.cuFuncGetParamInfo && i < 4096 &&
           gpu.cuFuncGetParamInfo(function, i, &offset, &size) == CUDA_SUCCESS;
         i++) {
        about->param_bytes = (uint32_t)(offset + size);
        if (i >= LAYOUT_MAX)
            continue;
        about->layout.param[i].offset = (uint32_t)offset;
        about->layout.param[i].size = (uint32_t)size;
    }
    about->layout.count = i;
}

static enum status gpu_kernel(struct device *device, void *module, const char *symbol,
                              void **kernel, struct worker_kernel *about, struct error *err)
{
    CUfunction function;
    (void)device;
    CUresult result = gpu.cuModuleGetFunction(&function, module, symbol);
    if (result)
        return error_set(err, STATUS_NOT_FOUND, "the image has no kernel %s (%s)", symbol,
                         gpu_name(result));
    about->max_threads = gpu_function(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    about->static_shared = gpu_function(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    gpu_layout(function, about);
    *kernel = function;
    return STATUS_OK;
}

static enum status gpu_variable(struct device *device, void *module, const char *name,
                                uint64_t *address, uint64_t *bytes, struct error *err)
{
    CUdeviceptr at = 0;
    size_t count = 0;
    (void)device;
    CUresult result = gpu.cuModuleGetGlobal(&at, &count, module, name);
    if (result)
        return error_set(err, STATUS_NOT_FOUND, "the image has no variable %s (%s)", name,
                         gpu_name(result));
    *address = (uint64_t)at;
    *bytes = count;
    return STATUS_OK;
}

/* ---- launches ---- */

/* A tensor map of plain tiles, which moves elements as they are. */
static CUresult gpu_encode(CUtensorMap *out, const struct exec_tensor_map *map)
{
    static const CUtensorMapDataType types[] = {[1] = CU_TENSOR_MAP_DATA_TYPE_UINT8,
                                                [2] = CU_TENSOR_MAP_DATA_TYPE_UINT16,
                                                [4] = CU_TENSOR_MAP_DATA_TYPE_UINT32,
                                                [8] = CU_TENSOR_MAP_DATA_TYPE_UINT64};
    const unsigned bytes = exec_tensor_bytes(map->type);
    cuuint32_t box[EXEC_TENSOR_DIMS], step[EXEC_TENSOR_DIMS];
    if (!gpu.cuTensorMapEncodeTiled || !bytes || map->last >= EXEC_TENSOR_DIMS)
        return CUDA_ERROR_NOT_SUPPORTED;
    for (unsigned i = 0; i <= map->last; i++) {
        box[i] = map->box[i];
        step[i] = map->step[i];
    }
    return gpu.cuTensorMapEncodeTiled(
        out, types[bytes], map->last + 1u, (void *)(uintptr_t)map->address,
        (const cuuint64_t *)map->size, (const cuuint64_t *)map->stride, box, step,
        CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)map->swizzle,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/* A bundle has what tensor maps describe in their places: the driver makes maps of that. */
static CUresult gpu_make_maps(uint8_t *params, size_t bytes)
{
    enum { MAP_ALIGN = 64 };
    CUresult result = CUDA_SUCCESS;
    for (size_t at = 0; !result && at + sizeof(CUtensorMap) <= bytes; at += MAP_ALIGN) {
        struct exec_tensor_map map;
        CUtensorMap made;
        memcpy(&map, params + at, sizeof(map));
        if (map.kind != EXEC_TENSOR_MAP)
            continue;
        result = gpu_encode(&made, &map);
        if (!result)
            memcpy(params + at, &made, sizeof(made));
    }
    return result;
}

static CUresult gpu_launch_packed(CUfunction function, const struct worker_launch *launch,
                                  uint8_t *params)
{
    size_t bytes = launch->param_bytes;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CUlaunchAttribute attribute[2] = {{0}};
    CUlaunchConfig config = {.gridDimX = launch->grid[0],
                             .gridDimY = launch->grid[1],
                             .gridDimZ = launch->grid[2],
                             .blockDimX = launch->block[0],
                             .blockDimY = launch->block[1],
                             .blockDimZ = launch->block[2],
                             .sharedMemBytes = launch->shared_bytes,
                             .attrs = attribute};
    if (launch->cluster[0]) {
        attribute[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attribute[config.numAttrs].value.clusterDim.x = launch->cluster[0];
        attribute[config.numAttrs].value.clusterDim.y = launch->cluster[1];
        attribute[config.numAttrs++].value.clusterDim.z = launch->cluster[2];
    }
    if (launch->cooperative) {
        attribute[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attribute[config.numAttrs++].value.cooperative = 1;
    }
    if (config.numAttrs && !gpu.cuLaunchKernelEx)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (config.numAttrs)
        return gpu.cuLaunchKernelEx(&config, function, NULL, bytes ? extra : NULL);
    return gpu.cuLaunchKernel(function, launch->grid[0], launch->grid[1], launch->grid[2],
                              launch->block[0], launch->block[1], launch->block[2],
                              launch->shared_bytes, NULL, NULL, bytes ? extra : NULL);
}

static CUresult gpu_enqueue(CUfunction function, const struct worker_launch *launch)
{
    const size_t bytes = launch->param_bytes;
    uint8_t *params = malloc(bytes + 1);
    if (!params)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (bytes)
        memcpy(params, launch->params, bytes);
    CUresult result = gpu_make_maps(params, bytes);
    if (!result)
        result = gpu_launch_packed(function, launch, params);
    free(params);
    return result;
}

static double gpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void gpu_ended(CUresult result, struct worker_result *out)
{
    out->outcome = result ? WORKER_FAULTED : WORKER_RAN;
    if (result)
        snprintf(out->sentence, sizeof(out->sentence), "the kernel ended with %s",
                 gpu_name(result));
}

static void gpu_finish(struct device *device, struct worker_result *out)
{
    double begin = gpu_now();
    (void)device;
    CUresult result = gpu.cuCtxSynchronize();
    out->ms = gpu_now() - begin;
    gpu_ended(result, out);
}

static void gpu_launch(struct device *device, void *kernel, const struct worker_launch *launch,
                       struct worker_result *out)
{
    (void)device;
    *out = (struct worker_result){.outcome = WORKER_REFUSED};
    if (launch->shared_bytes > 48u << 10)
        gpu.cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                               (int)launch->shared_bytes);
    if (launch->cluster[0])
        gpu.cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    bool busy = launch->noise || launch->one_sm;
    if (busy && !gpu_busy_begin(kernel, launch, out))
        return;
    double begin = gpu_now();
    CUresult result = gpu_enqueue(kernel, launch);
    if (result) {
        if (busy)
            gpu_busy_end(out);
        snprintf(out->sentence, sizeof(out->sentence), "the driver does not take the launch: %s",
                 gpu_name(result));
        return;
    }
    result = busy ? gpu.cuStreamSynchronize(NULL) : gpu.cuCtxSynchronize();
    out->ms = gpu_now() - begin;
    if (busy)
        gpu_busy_end(out);
    gpu_ended(result, out);
}

const struct device_ops device_gpu = {
    .open = gpu_open,
    .allocate = gpu_allocate,
    .release = gpu_release,
    .write = gpu_write,
    .read = gpu_read,
    .fill = gpu_fill,
    .copy = gpu_copy,
    .load = gpu_load,
    .unload = gpu_unload,
    .kernel = gpu_kernel,
    .variable = gpu_variable,
    .launch = gpu_launch,
    .finish = gpu_finish,
};
