/* occupancy.c - cuOccupancy*: how many blocks of a kernel a multiprocessor holds at once. */
#include "driver/launch/occupancy.h"

#include "driver/call/call.h"
#include "driver/module/code.h"
#include "driver/context/device.h"
#include "impls.h"

enum { WARP = 32, REGISTER_UNIT = 256, SHARED_UNIT = 128 };

static size_t limit(const struct device *device, CUdevice_attribute attribute)
{
    bool known;
    int value = device_attribute(device, attribute, &known);
    return value > 0 ? (size_t)value : 0;
}

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* What a block takes of a multiprocessor's shared memory. */
static size_t shared_of_block(const struct function *function, const struct device *device,
                              size_t dynamic)
{
    return round_up(function->info->static_shared + dynamic, SHARED_UNIT) +
           limit(device, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

unsigned occupancy_blocks(const struct function *function, const struct device *device,
                          unsigned threads, size_t dynamic_shared)
{
    size_t most = limit(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    if (!threads || threads > function->info->max_threads ||
        dynamic_shared + function->info->static_shared > most)
        return 0;
    size_t warps = round_up(threads, WARP) / WARP;
    size_t registers = round_up(function_registers(function) * WARP, REGISTER_UNIT) * warps;
    size_t shared = shared_of_block(function, device, dynamic_shared);
    size_t blocks = limit(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    blocks = least(blocks, limit(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) /
                               (warps * WARP));
    blocks = least(blocks,
                   limit(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / registers);
    if (shared)
        blocks =
            least(blocks,
                  limit(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / shared);
    return (unsigned)blocks;
}

/* The function, held and prepared, that a question names. */
static CUresult begin(const struct call *call, CUfunction handle, struct function **function)
{
    CUresult result = function_resolve(handle, call->context, function);
    if (result)
        return result;
    result = function_prepare(*function);
    if (result)
        function_drop(*function);
    return result;
}

static CUresult active_blocks(const struct call *call, CUfunction handle, int threads,
                              size_t dynamic, unsigned flags, int *out)
{
    struct function *function;
    if (!out || threads <= 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = begin(call, handle, &function);
    if (result)
        return result;
    *out =
        (int)occupancy_blocks(function, context_device(call->context), (unsigned)threads, dynamic);
    function_drop(function);
    return CUDA_SUCCESS;
}

CUresult impl_cuOccupancyMaxActiveBlocksPerMultiprocessor(
    const struct call *call, cuOccupancyMaxActiveBlocksPerMultiprocessor_params *p)
{
    return active_blocks(call, p->func, p->blockSize, p->dynamicSMemSize, 0, p->numBlocks);
}

CUresult impl_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    const struct call *call, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_params *p)
{
    return active_blocks(call, p->func, p->blockSize, p->dynamicSMemSize, p->flags, p->numBlocks);
}

/* The block size that fills a multiprocessor best; of equals the largest. */
static CUresult potential_block(const struct call *call,
                                const cuOccupancyMaxPotentialBlockSizeWithFlags_params *p)
{
    struct function *function;
    if (!p->minGridSize || !p->blockSize || p->blockSizeLimit < 0 ||
        p->flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = begin(call, p->func, &function);
    if (result)
        return result;
    const struct device *device = context_device(call->context);
    unsigned top = function->info->max_threads, best = 0, best_blocks = 0;
    if (p->blockSizeLimit && (unsigned)p->blockSizeLimit < top)
        top = (unsigned)p->blockSizeLimit;
    for (unsigned threads = top; threads; threads = (threads - 1) / WARP * WARP) {
        size_t dynamic = p->blockSizeToDynamicSMemSize ? p->blockSizeToDynamicSMemSize((int)threads)
                                                       : p->dynamicSMemSize;
        unsigned blocks = occupancy_blocks(function, device, threads, dynamic);
        if (blocks * threads > best_blocks * best) {
            best = threads;
            best_blocks = blocks;
        }
    }
    *p->blockSize = (int)best;
    *p->minGridSize = (int)(best_blocks * limit(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
    function_drop(function);
    return CUDA_SUCCESS;
}

CUresult impl_cuOccupancyMaxPotentialBlockSize(const struct call *call,
                                               cuOccupancyMaxPotentialBlockSize_params *p)
{
    const cuOccupancyMaxPotentialBlockSizeWithFlags_params with_flags = {
        p->minGridSize,     p->blockSize,      p->func, p->blockSizeToDynamicSMemSize,
        p->dynamicSMemSize, p->blockSizeLimit, 0,
    };
    return potential_block(call, &with_flags);
}

CUresult
impl_cuOccupancyMaxPotentialBlockSizeWithFlags(const struct call *call,
                                               cuOccupancyMaxPotentialBlockSizeWithFlags_params *p)
{
    return potential_block(call, p);
}

CUresult
impl_cuOccupancyAvailableDynamicSMemPerBlock(const struct call *call,
                                             cuOccupancyAvailableDynamicSMemPerBlock_params *p)
{
    struct function *function;
    if (!p->dynamicSmemSize || p->numBlocks <= 0 || p->blockSize <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = begin(call, p->func, &function);
    if (result)
        return result;
    const struct device *device = context_device(call->context);
    size_t share = limit(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) /
                   (size_t)p->numBlocks / SHARED_UNIT * SHARED_UNIT;
    size_t taken = shared_of_block(function, device, 0);
    size_t most = limit(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
                  function->info->static_shared;
    *p->dynamicSmemSize = share > taken ? least(share - taken, most) : 0;
    function_drop(function);
    return CUDA_SUCCESS;
}

/* -- clusters: a multiprocessor each for their blocks, nothing finer -- */

static size_t cluster_blocks(const CUlaunchConfig *config)
{
    size_t blocks = 1;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttributeValue *value = &config->attrs[i].value;
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            blocks = (size_t)value->clusterDim.x * value->clusterDim.y * value->clusterDim.z;
    }
    return blocks;
}

/* Blocks of this configuration that the whole device holds. */
static CUresult resident(const struct call *call, CUfunction handle, const CUlaunchConfig *config,
                         size_t *blocks, int *most)
{
    struct function *function;
    if (!config || (config->numAttrs && !config->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = begin(call, handle, &function);
    if (result)
        return result;
    const struct device *device = context_device(call->context);
    const atomic_int *wide =
        &function->attributes->value[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED];
    *most = limit(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) ? atomic_load(wide) ? 16 : 8 : 1;
    *blocks = limit(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *
              occupancy_blocks(function, device,
                               config->blockDimX * config->blockDimY * config->blockDimZ,
                               config->sharedMemBytes);
    function_drop(function);
    return CUDA_SUCCESS;
}

CUresult impl_cuOccupancyMaxPotentialClusterSize(const struct call *call,
                                                 cuOccupancyMaxPotentialClusterSize_params *p)
{
    size_t blocks;
    int most;
    if (!p->clusterSize)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = resident(call, p->func, p->config, &blocks, &most);
    if (result)
        return result;
    while (most > 1 && (size_t)most > blocks)
        most /= 2;
    *p->clusterSize = most;
    return CUDA_SUCCESS;
}

CUresult impl_cuOccupancyMaxActiveClusters(const struct call *call,
                                           cuOccupancyMaxActiveClusters_params *p)
{
    size_t blocks;
    int most;
    if (!p->numClusters)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = resident(call, p->func, p->config, &blocks, &most);
    if (result)
        return result;
    size_t size = cluster_blocks(p->config);
    if (!size || size > (size_t)most)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    *p->numClusters = (int)(blocks / size);
    return CUDA_SUCCESS;
}
