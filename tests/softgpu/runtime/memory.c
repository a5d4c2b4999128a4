/* memory.c - libcudart.so.13: memory, pools, copies. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime.h"

static CUdeviceptr at(const void *address)
{
    return (CUdeviceptr)(uintptr_t)address;
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    *out = NULL;
    if (!bytes)
        return cudaSuccess;
    RUNTIME_CALL(cuMemAlloc((CUdeviceptr *)out, bytes));
}

cudaError_t cudaFree(void *address)
{
    RUNTIME_CALL(address ? cuMemFree(at(address)) : CUDA_SUCCESS);
}

cudaError_t cudaMallocManaged(void **out, size_t bytes, unsigned flags)
{
    RUNTIME_CALL(cuMemAllocManaged((CUdeviceptr *)out, bytes, flags));
}

cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream)
{
    RUNTIME_CALL(cuMemAllocAsync((CUdeviceptr *)out, bytes, stream));
}

cudaError_t cudaFreeAsync(void *address, cudaStream_t stream)
{
    RUNTIME_CALL(cuMemFreeAsync(at(address), stream));
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    RUNTIME_CALL(cuMemHostAlloc(out, bytes, flags));
}

cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    RUNTIME_CALL(cuMemHostAlloc(out, bytes, 0));
}

cudaError_t cudaFreeHost(void *address)
{
    RUNTIME_CALL(address ? cuMemFreeHost(address) : CUDA_SUCCESS);
}

cudaError_t cudaHostGetDevicePointer(void **out, void *host, unsigned flags)
{
    RUNTIME_CALL(cuMemHostGetDevicePointer((CUdeviceptr *)out, host, flags));
}

cudaError_t cudaHostRegister(void *address, size_t bytes, unsigned flags)
{
    RUNTIME_CALL(cuMemHostRegister(address, bytes, flags));
}

cudaError_t cudaHostUnregister(void *address)
{
    RUNTIME_CALL(cuMemHostUnregister(address));
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    RUNTIME_CALL(cuMemGetInfo(available, total));
}

/* Memory of no allocation of the driver's is "unregistered", which is no error. */
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *address)
{
    CUmemorytype type = 0;
    CUdeviceptr device = 0;
    void *host = NULL;
    int ordinal = -2;
    unsigned managed = 0;
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *values[] = {&type, &device, &host, &ordinal, &managed};
    memset(out, 0, sizeof(*out));
    CUresult result = runtime_enter();
    if (!result)
        result = cuPointerGetAttributes(5, names, values, at(address));
    out->type = managed ? cudaMemoryTypeManaged : (enum cudaMemoryType)type;
    out->device = ordinal;
    out->devicePointer = (void *)(uintptr_t)device; // NOLINT(performance-no-int-to-ptr)
    out->hostPointer = type ? host : (void *)(uintptr_t)address;
    return runtime_result(result);
}

static bool on_host(const void *address)
{
    CUmemorytype type = 0;
    return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at(address)) || !type;
}

static CUresult copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                     cudaStream_t stream, bool waits)
{
    CUresult result = runtime_enter();
    if (result || !bytes)
        return result;
    if (kind == cudaMemcpyDefault)
        kind = on_host(to)     ? on_host(from) ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost
               : on_host(from) ? cudaMemcpyHostToDevice
                               : cudaMemcpyDeviceToDevice;
    switch (kind) {
    case cudaMemcpyHostToHost:
        result = waits ? CUDA_SUCCESS : cuStreamSynchronize(stream);
        memcpy(to, from, bytes);
        return result;
    case cudaMemcpyHostToDevice:
        return waits ? cuMemcpyHtoD(at(to), from, bytes)
                     : cuMemcpyHtoDAsync(at(to), from, bytes, stream);
    case cudaMemcpyDeviceToHost:
        return waits ? cuMemcpyDtoH(to, at(from), bytes)
                     : cuMemcpyDtoHAsync(to, at(from), bytes, stream);
    default:
        return waits ? cuMemcpyDtoD(at(to), at(from), bytes)
                     : cuMemcpyDtoDAsync(at(to), at(from), bytes, stream);
    }
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return runtime_result(copy(to, from, bytes, kind, NULL, true));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return runtime_result(copy(to, from, bytes, kind, stream, false));
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream)
{
    (void)to_device, (void)from_device;
    RUNTIME_CALL(cuMemcpyAsync(at(to), at(from), bytes, stream));
}

cudaError_t cudaMemset(void *address, int value, size_t bytes)
{
    RUNTIME_CALL(bytes ? cuMemsetD8(at(address), (unsigned char)value, bytes) : CUDA_SUCCESS);
}

cudaError_t cudaMemsetAsync(void *address, int value, size_t bytes, cudaStream_t stream)
{
    RUNTIME_CALL(bytes ? cuMemsetD8Async(at(address), (unsigned char)value, bytes, stream)
                       : CUDA_SUCCESS);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int device)
{
    return runtime_result(cuDeviceGetDefaultMemPool(out, device));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr name, void *value)
{
    return runtime_result(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)name, value));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr name, void *value)
{
    return runtime_result(cuMemPoolSetAttribute(pool, (CUmemPool_attribute)name, value));
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *rows,
                                 size_t count)
{
    (void)pool, (void)rows, (void)count;
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes)
{
    return runtime_result(cuMemPoolTrimTo(pool, bytes));
}

/* Memory of another process is not to be had. */
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *address)
{
    (void)handle, (void)address;
    return runtime_result(CUDA_ERROR_NOT_SUPPORTED);
}

cudaError_t cudaIpcOpenMemHandle(void **address, cudaIpcMemHandle_t handle, unsigned flags)
{
    (void)address, (void)handle, (void)flags;
    return runtime_result(CUDA_ERROR_NOT_SUPPORTED);
}

cudaError_t cudaIpcCloseMemHandle(void *address)
{
    (void)address;
    return runtime_result(CUDA_ERROR_NOT_SUPPORTED);
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    (void)handle, (void)event;
    return runtime_result(CUDA_ERROR_NOT_SUPPORTED);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    (void)event, (void)handle;
    return runtime_result(CUDA_ERROR_NOT_SUPPORTED);
}
