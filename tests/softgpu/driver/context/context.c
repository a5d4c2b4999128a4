/* context.c - the calls about contexts and the stack of current ones. */
#include <stdatomic.h>
#include <string.h>
#include "driver/context/context_life.h"
#include "driver/context/device.h"
#include "driver/stream/stream.h"
#include "impls.h"

static CUresult create(CUcontext *handle, unsigned flags, unsigned api_version, CUdevice ordinal)
{
    struct device *device = device_at(ordinal);
    struct context *context;
    if (!handle || flags & ~(unsigned)CU_CTX_FLAGS_MASK)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    CUresult result = context_create(device, flags, api_version, false, &context);
    if (result)
        return result;
    if (!context_push(context)) {
        context_destroy(context);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = context_handle(context);
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxCreate_v2(const struct call *call, cuCtxCreate_v2_params *p)
{
    (void)call;
    return create(p->pctx, p->flags, 3020, p->dev);
}

CUresult impl_cuCtxCreate_v3(const struct call *call, cuCtxCreate_v3_params *p)
{
    (void)call;
    if (p->numParams)
        return p->numParams < 0 || !p->paramsArray ? CUDA_ERROR_INVALID_VALUE
                                                   : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return create(p->pctx, p->flags, 11040, p->dev);
}

#ifdef HAVE_cuCtxCreate_v4
CUresult impl_cuCtxCreate_v4(const struct call *call, cuCtxCreate_v4_params *p)
{
    const CUctxCreateParams *params = p->ctxCreateParams;
    (void)call;
    if (params && params->cigParams)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (params && params->numExecAffinityParams)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return create(p->pctx, p->flags, 12050, p->dev);
}
#endif

CUresult impl_cuCtxDestroy_v2(const struct call *call, cuCtxDestroy_v2_params *p)
{
    struct context *context = context_from_handle(p->ctx);
    (void)call;
    if (!context || context_is_primary(context))
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult result = context_destroy(context);
    if (!result && context_current() == context)
        context_pop();
    return result;
}

CUresult impl_cuCtxPushCurrent_v2(const struct call *call, cuCtxPushCurrent_v2_params *p)
{
    struct context *context = context_from_handle(p->ctx);
    (void)call;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return context_push(context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult impl_cuCtxPopCurrent_v2(const struct call *call, cuCtxPopCurrent_v2_params *p)
{
    struct context *context = context_pop();
    (void)call;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (p->pctx)
        *p->pctx = context_handle(context);
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetCurrent(const struct call *call, cuCtxSetCurrent_params *p)
{
    struct context *context = context_from_handle(p->ctx);
    (void)call;
    if (p->ctx && !context)
        return CUDA_ERROR_INVALID_CONTEXT;
    context_set_current(context);
    return CUDA_SUCCESS;
}

/* A destroyed one stays current to the threads that had it. */
CUresult impl_cuCtxGetCurrent(const struct call *call, cuCtxGetCurrent_params *p)
{
    struct context *context = context_current();
    (void)call;
    if (!p->pctx)
        return CUDA_ERROR_INVALID_VALUE;
    *p->pctx = context ? context_handle(context) : NULL;
    return CUDA_SUCCESS;
}

/* NULL means the current one. */
static struct context *choose(const struct call *call, CUcontext handle)
{
    return handle ? context_from_handle(handle) : call->context;
}

CUresult impl_cuCtxGetDevice(const struct call *call, cuCtxGetDevice_params *p)
{
    if (!p->device)
        return CUDA_ERROR_INVALID_VALUE;
    *p->device = device_ordinal(context_device(call->context));
    return CUDA_SUCCESS;
}

#ifdef HAVE_cuCtxGetDevice_v2
CUresult impl_cuCtxGetDevice_v2(const struct call *call, cuCtxGetDevice_v2_params *p)
{
    struct context *context = choose(call, p->ctx);
    if (!p->device)
        return CUDA_ERROR_INVALID_VALUE;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    *p->device = device_ordinal(context_device(context));
    return CUDA_SUCCESS;
}
#endif

CUresult impl_cuCtxGetFlags(const struct call *call, cuCtxGetFlags_params *p)
{
    if (!p->flags)
        return CUDA_ERROR_INVALID_VALUE;
    *p->flags = context_flags(call->context);
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetFlags(const struct call *call, cuCtxSetFlags_params *p)
{
    if (p->flags & ~(unsigned)CU_CTX_FLAGS_MASK)
        return CUDA_ERROR_INVALID_VALUE;
    context_set_flags(call->context, p->flags);
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetId(const struct call *call, cuCtxGetId_params *p)
{
    struct context *context = choose(call, p->ctx);
    if (!p->ctxId)
        return CUDA_ERROR_INVALID_VALUE;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    *p->ctxId = context_uid(context);
    return CUDA_SUCCESS;
}

static CUresult synchronize(struct context *context)
{
    CUresult result = capture_check_context(context);
    if (result)
        return result;
    result = streams_drain(context);
    CUresult sticky = context_sticky(context);
    return sticky ? sticky : result;
}

CUresult impl_cuCtxSynchronize(const struct call *call, void *p)
{
    (void)p;
    return synchronize(call->context);
}

#ifdef HAVE_cuCtxSynchronize_v2
CUresult impl_cuCtxSynchronize_v2(const struct call *call, cuCtxSynchronize_v2_params *p)
{
    struct context *context = choose(call, p->ctx);
    struct context_use use;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!context_enter(&use, context))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult result = synchronize(context);
    context_leave(&use);
    return result;
}
#endif

CUresult impl_cuCtxSetLimit(const struct call *call, cuCtxSetLimit_params *p)
{
    _Atomic size_t *limit = context_limit(call->context, p->limit);
    if (!limit)
        return CUDA_ERROR_INVALID_VALUE;
    if (p->limit >= CU_LIMIT_SHMEM_SIZE)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    atomic_store(limit, p->value);
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetLimit(const struct call *call, cuCtxGetLimit_params *p)
{
    _Atomic size_t *limit = context_limit(call->context, p->limit);
    if (!limit || !p->pvalue)
        return CUDA_ERROR_INVALID_VALUE;
    *p->pvalue = atomic_load(limit);
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetCacheConfig(const struct call *call, cuCtxGetCacheConfig_params *p)
{
    if (!p->pconfig)
        return CUDA_ERROR_INVALID_VALUE;
    *p->pconfig = (CUfunc_cache)*context_preference(call->context, CONTEXT_CACHE);
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetCacheConfig(const struct call *call, cuCtxSetCacheConfig_params *p)
{
    if ((unsigned)p->config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    *context_preference(call->context, CONTEXT_CACHE) = p->config;
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetSharedMemConfig(const struct call *call, cuCtxGetSharedMemConfig_params *p)
{
    if (!p->pConfig)
        return CUDA_ERROR_INVALID_VALUE;
    *p->pConfig = (CUsharedconfig)*context_preference(call->context, CONTEXT_SHARED_BANKS);
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetSharedMemConfig(const struct call *call, cuCtxSetSharedMemConfig_params *p)
{
    if ((unsigned)p->config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return CUDA_ERROR_INVALID_VALUE;
    *context_preference(call->context, CONTEXT_SHARED_BANKS) = p->config;
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetApiVersion(const struct call *call, cuCtxGetApiVersion_params *p)
{
    struct context *context = choose(call, p->ctx);
    if (!p->version)
        return CUDA_ERROR_INVALID_VALUE;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    *p->version = context_api_version(context);
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetExecAffinity(const struct call *call, cuCtxGetExecAffinity_params *p)
{
    (void)call;
    return p->pExecAffinity ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuCtxResetPersistingL2Cache(const struct call *call, void *p)
{
    (void)call;
    (void)p;
    return CUDA_SUCCESS;
}
