/* kernel.c - libcudart.so.13: registered fat binaries, their kernels and variables, launches. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
char __cudaInitModule(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, struct uint3 *tid, struct uint3 *bid, dim3 *block,
                            dim3 *grid, int *size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t size, int constant, int global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                               size_t shared, cudaStream_t stream);

/* What nvcc's host code hands over: crt/fatbinary_section.h. */
struct wrapper {
    int magic, version;
    const void *data;
    void *names;
};

struct binary {
    const void *data;
    CUlibrary library; /* NULL until a kernel or a variable is wanted */
};

/* A kernel or a variable by its address on the host. */
struct symbol {
    struct symbol *next;
    const void *host;
    struct binary *binary;
    const char *name;
    CUkernel kernel;
};

enum { SYMBOLS = 1 << 14, CONFIGURATIONS = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct symbol *symbols[SYMBOLS];

static struct symbol **place(const void *host)
{
    return &symbols[((uintptr_t)host >> 4) % SYMBOLS];
}

static void add(void **handle, const void *host, const char *name)
{
    struct symbol *symbol = calloc(1, sizeof(*symbol));
    if (!symbol)
        abort();
    pthread_mutex_lock(&lock);
    *symbol = (struct symbol){*place(host), host, (struct binary *)handle, name, NULL};
    *place(host) = symbol;
    pthread_mutex_unlock(&lock);
}

void **__cudaRegisterFatBinary(void *wrapper)
{
    struct binary *binary = calloc(1, sizeof(*binary));
    if (!binary)
        abort();
    binary->data = ((struct wrapper *)wrapper)->data;
    return (void **)binary;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

/* Kept: a program unregisters at its end, when other threads may still launch. */
void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, struct uint3 *tid, struct uint3 *bid, dim3 *block,
                            dim3 *grid, int *size)
{
    (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)size;
    add(handle, host, name);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t size, int constant, int global)
{
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    add(handle, host, name);
}

/* The symbol with its library loaded. Called with the lock held. */
static CUresult find(const void *host, struct symbol **out)
{
    struct symbol *symbol = *place(host);
    while (symbol && symbol->host != host)
        symbol = symbol->next;
    *out = symbol;
    if (!symbol)
        return CUDA_ERROR_INVALID_VALUE;
    struct binary *binary = symbol->binary;
    return binary->library
               ? CUDA_SUCCESS
               : cuLibraryLoadData(&binary->library, binary->data, NULL, NULL, 0, NULL, NULL, 0);
}

CUresult runtime_kernel(const void *function, CUkernel *out)
{
    struct symbol *symbol;
    CUresult result = runtime_enter();
    if (result)
        return result;
    pthread_mutex_lock(&lock);
    result = find(function, &symbol);
    if (!result && !symbol->kernel)
        result = cuLibraryGetKernel(&symbol->kernel, symbol->binary->library, symbol->name);
    if (!result)
        *out = symbol->kernel;
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- variables ---- */

cudaError_t cudaGetSymbolAddress(void **out, const void *host)
{
    struct symbol *symbol;
    size_t bytes;
    CUresult result = runtime_enter();
    if (result)
        return runtime_result(result);
    pthread_mutex_lock(&lock);
    result = find(host, &symbol);
    if (!result)
        result =
            cuLibraryGetGlobal((CUdeviceptr *)out, &bytes, symbol->binary->library, symbol->name);
    pthread_mutex_unlock(&lock);
    return runtime_result(result);
}

cudaError_t cudaMemcpyToSymbol(const void *host, const void *from, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind)
{
    void *address;
    cudaError_t error = cudaGetSymbolAddress(&address, host);
    return error ? error : cudaMemcpy((char *)address + offset, from, bytes, kind);
}

/* ---- launches ---- */

static _Thread_local struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} configurations[CONFIGURATIONS];
static _Thread_local int pushed;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
    if (pushed == CONFIGURATIONS)
        return 1;
    configurations[pushed++] = (struct configuration){grid, block, shared, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (!pushed)
        return runtime_result(CUDA_ERROR_INVALID_VALUE);
    const struct configuration *top = &configurations[--pushed];
    *grid = top->grid;
    *block = top->block;
    *shared = top->shared;
    *(cudaStream_t *)stream = top->stream;
    return cudaSuccess;
}

/* nvcc's host code fetches a handle before it launches, once. A kernel without PTX is no error
 * until its launch. */
cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *host)
{
    *out = (cudaKernel_t)(uintptr_t)host; // NOLINT(performance-no-int-to-ptr)
    return cudaSuccess;
}

/* A handle for calls of the driver. */
cudaError_t cudaGetKernel(cudaKernel_t *out, const void *host)
{
    RUNTIME_CALL(runtime_kernel(host, (CUkernel *)out));
}

static cudaError_t launch(const void *host, dim3 grid, dim3 block, void **args, size_t shared,
                          cudaStream_t stream)
{
    CUkernel kernel = NULL;
    CUresult result = runtime_kernel(host, &kernel);
    if (!result)
        result = cuLaunchKernel((CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y,
                                block.z, (unsigned)shared, stream, args, NULL);
    return runtime_result(result);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                               size_t shared, cudaStream_t stream)
{
    return launch(kernel, grid, block, args, shared, stream);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args,
                             size_t shared, cudaStream_t stream)
{
    return launch(function, grid, block, args, shared, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **args,
                                        size_t shared, cudaStream_t stream)
{
    CUkernel kernel = NULL;
    CUresult result = runtime_kernel(function, &kernel);
    if (!result)
        result = cuLaunchCooperativeKernel((CUfunction)kernel, grid.x, grid.y, grid.z, block.x,
                                           block.y, block.z, (unsigned)shared, stream, args);
    return runtime_result(result);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *from, const void *function, void **args)
{
    CUkernel kernel = NULL;
    CUresult result = runtime_kernel(function, &kernel);
    const CUlaunchConfig config = {.gridDimX = from->gridDim.x,
                                   .gridDimY = from->gridDim.y,
                                   .gridDimZ = from->gridDim.z,
                                   .blockDimX = from->blockDim.x,
                                   .blockDimY = from->blockDim.y,
                                   .blockDimZ = from->blockDim.z,
                                   .sharedMemBytes = (unsigned)from->dynamicSmemBytes,
                                   .hStream = from->stream,
                                   .attrs = (CUlaunchAttribute *)from->attrs,
                                   .numAttrs = from->numAttrs};
    if (!result)
        result = cuLaunchKernelEx(&config, (CUfunction)kernel, args, NULL);
    return runtime_result(result);
}

/* ---- attributes ---- */

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *function)
{
    CUkernel kernel;
    CUresult result = runtime_kernel(function, &kernel);
    memset(out, 0, sizeof(*out));
    if (result)
        return runtime_result(result);
    int shared = 0, constant = 0, local = 0;
    const struct {
        int *to;
        CUfunction_attribute name;
    } rows[] = {{&out->maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
                {&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
                {&constant, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES},
                {&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
                {&out->numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS},
                {&out->ptxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION},
                {&out->binaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION},
                {&out->maxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && !result; i++)
        result = cuKernelGetAttribute(rows[i].to, rows[i].name, kernel, 0);
    out->sharedSizeBytes = (size_t)shared;
    out->constSizeBytes = (size_t)constant;
    out->localSizeBytes = (size_t)local;
    return runtime_result(result);
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute name, int value)
{
    CUkernel kernel;
    CUresult result = runtime_kernel(function, &kernel);
    if (!result)
        result = cuKernelSetAttribute((CUfunction_attribute)name, value, kernel, 0);
    return runtime_result(result);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
                                                                   const void *function,
                                                                   int block_size, size_t shared,
                                                                   unsigned flags)
{
    CUkernel kernel;
    CUresult result = runtime_kernel(function, &kernel);
    if (!result)
        result = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (CUfunction)kernel,
                                                                      block_size, shared, flags);
    return runtime_result(result);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                          int block_size, size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size,
                                                                  shared, 0);
}
