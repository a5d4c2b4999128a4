/* device.c - libcudart.so.13: devices, contexts, errors, versions. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <cuda_profiler_api.h>
#include "runtime.h"

enum { DEVICES = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primary[DEVICES];
static _Thread_local cudaError_t last_error;

static CUresult primary_of(int device, CUcontext *out)
{
    CUresult result = CUDA_SUCCESS;
    CUdevice handle;
    if (device < 0 || device >= DEVICES)
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    if (!primary[device])
        result = cuInit(0);
    if (!primary[device] && !result)
        result = cuDeviceGet(&handle, device);
    if (!primary[device] && !result)
        result = cuDevicePrimaryCtxRetain(&primary[device], handle);
    *out = primary[device];
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult runtime_enter(void)
{
    CUcontext context = NULL;
    CUresult result = cuCtxGetCurrent(&context);
    if (!result && context)
        return CUDA_SUCCESS;
    result = primary_of(0, &context);
    return result ? result : cuCtxSetCurrent(context);
}

cudaError_t runtime_result(CUresult result)
{
    if (result && result != CUDA_ERROR_NOT_READY)
        last_error = (cudaError_t)result;
    return (cudaError_t)result;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    const char *text = NULL;
    return cuGetErrorString((CUresult)error, &text) || !text ? "unrecognized error code" : text;
}

const char *cudaGetErrorName(cudaError_t error)
{
    const char *name = NULL;
    return cuGetErrorName((CUresult)error, &name) || !name ? "unrecognized error code" : name;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    return runtime_result(cuDriverGetVersion(version));
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    CUresult result = cuInit(0);
    return runtime_result(result ? result : cuDeviceGetCount(count));
}

cudaError_t cudaGetDevice(int *device)
{
    CUcontext context = NULL;
    CUdevice handle = 0;
    CUresult result = cuCtxGetCurrent(&context);
    *device = 0;
    if (result || !context)
        return cudaSuccess;
    result = cuCtxGetDevice(&handle);
    *device = handle;
    return runtime_result(result);
}

cudaError_t cudaSetDevice(int device)
{
    CUcontext context;
    CUresult result = primary_of(device, &context);
    return runtime_result(result ? result : cuCtxSetCurrent(context));
}

cudaError_t cudaDeviceSynchronize(void)
{
    RUNTIME_CALL(cuCtxSynchronize());
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    CUresult result = cuInit(0);
    return runtime_result(
        result ? result : cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device));
}

static int number(int device, CUdevice_attribute attribute)
{
    int value = 0;
    return cuDeviceGetAttribute(&value, attribute, device) ? 0 : value;
}

static void blocks_of(struct cudaDeviceProp *out, int device)
{
    static const CUdevice_attribute block[] = {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
                                               CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                                               CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
    static const CUdevice_attribute grid[] = {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
                                              CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                                              CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z};
    for (int i = 0; i < 3; i++) {
        out->maxThreadsDim[i] = number(device, block[i]);
        out->maxGridSize[i] = number(device, grid[i]);
    }
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device)
{
    size_t bytes = 0;
    CUuuid uuid = {{0}};
    CUresult result = cuInit(0);
    memset(out, 0, sizeof(*out));
    if (!result)
        result = cuDeviceGetName(out->name, sizeof(out->name), device);
    if (!result)
        result = cuDeviceTotalMem(&bytes, device);
    if (!result && !cuDeviceGetUuid(&uuid, device))
        memcpy(&out->uuid, &uuid, sizeof(out->uuid));
    if (result)
        return runtime_result(result);
    out->totalGlobalMem = bytes;
    const struct {
        int *to;
        CUdevice_attribute attribute;
    } rows[] = {
        {&out->regsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
        {&out->warpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
        {&out->maxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
        {&out->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
        {&out->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
        {&out->multiProcessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
        {&out->l2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
        {&out->maxThreadsPerMultiProcessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
        {&out->regsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
        {&out->maxBlocksPerMultiProcessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR},
        {&out->concurrentKernels, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS},
        {&out->asyncEngineCount, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
        {&out->unifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
        {&out->managedMemory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY},
        {&out->canMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY},
        {&out->memoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
        {&out->pciBusID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID},
        {&out->pciDeviceID, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID},
        {&out->cooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
        {&out->clusterLaunch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        *rows[i].to = number(device, rows[i].attribute);
    blocks_of(out, device);
    out->sharedMemPerBlock =
        (size_t)number(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    out->sharedMemPerBlockOptin =
        (size_t)number(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    out->sharedMemPerMultiprocessor =
        (size_t)number(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int size, int device)
{
    snprintf(out, (size_t)size, "%04x:%02x:%02x.0",
             number(device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
             number(device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
             number(device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    return runtime_result(cuDeviceCanAccessPeer(can, device, peer));
}

cudaError_t cudaDeviceEnablePeerAccess(int device, unsigned flags)
{
    CUcontext context;
    CUresult result = primary_of(device, &context);
    return runtime_result(result ? result : cuCtxEnablePeerAccess(context, flags));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    RUNTIME_CALL(cuCtxGetStreamPriorityRange(least, greatest));
}

cudaError_t cudaProfilerStart(void)
{
    return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **out, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *status)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    CUresult result = cuGetProcAddress(symbol, out, (int)version, flags, &found);
    if (status)
        *status = (enum cudaDriverEntryPointQueryResult)found;
    return runtime_result(result);
}
