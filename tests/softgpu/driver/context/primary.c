/* primary.c - the primary context of each device: counted, made by the first retain, ended by the
 * last release. */
#include <pthread.h>
#include <stdatomic.h>
#include "driver/context/context_life.h"
#include "driver/context/device.h"
#include "impls.h"

enum { MAX_DEVICES = 8 };

struct primary {
    pthread_mutex_t lock; /* held while the context is made and ended: others wait for that */
    unsigned retained;
    _Atomic(struct context *) context; /* NULL: not active */
    atomic_uint flags;
};

static struct primary primaries[MAX_DEVICES] = {
    [0 ... MAX_DEVICES - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER},
};

static struct primary *primary_of(CUdevice device)
{
    return device_at(device) ? &primaries[device] : NULL;
}

static CUresult activate(struct primary *primary, CUdevice device)
{
    struct context *context = atomic_load(&primary->context);
    if (context)
        return CUDA_SUCCESS;
    CUresult result =
        context_create(device_at(device), atomic_load(&primary->flags), 3020, true, &context);
    if (!result)
        atomic_store(&primary->context, context);
    return result;
}

CUresult impl_cuDevicePrimaryCtxRetain(const struct call *call, cuDevicePrimaryCtxRetain_params *p)
{
    struct primary *primary = primary_of(p->dev);
    (void)call;
    if (!p->pctx)
        return CUDA_ERROR_INVALID_VALUE;
    if (!primary)
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&primary->lock);
    CUresult result = activate(primary, p->dev);
    if (!result) {
        primary->retained++;
        *p->pctx = context_handle(atomic_load(&primary->context));
    }
    pthread_mutex_unlock(&primary->lock);
    return result;
}

static CUresult deactivate(struct primary *primary)
{
    struct context *context = atomic_load(&primary->context);
    CUresult result = context ? context_destroy(context) : CUDA_SUCCESS;
    atomic_store(&primary->context, NULL);
    return result;
}

static CUresult release(CUdevice device)
{
    struct primary *primary = primary_of(device);
    CUresult result = CUDA_SUCCESS;
    if (!primary)
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&primary->lock);
    if (!primary->retained)
        result = CUDA_ERROR_INVALID_CONTEXT;
    else if (!--primary->retained)
        result = deactivate(primary);
    pthread_mutex_unlock(&primary->lock);
    return result;
}

CUresult impl_cuDevicePrimaryCtxRelease(const struct call *call,
                                        cuDevicePrimaryCtxRelease_params *p)
{
    (void)call;
    return release(p->dev);
}

CUresult impl_cuDevicePrimaryCtxRelease_v2(const struct call *call,
                                           cuDevicePrimaryCtxRelease_v2_params *p)
{
    (void)call;
    return release(p->dev);
}

/* Who has retained it must still release it; the next retain makes a new one. */
static CUresult reset(CUdevice device)
{
    struct primary *primary = primary_of(device);
    if (!primary)
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&primary->lock);
    CUresult result = deactivate(primary);
    pthread_mutex_unlock(&primary->lock);
    return result;
}

CUresult impl_cuDevicePrimaryCtxReset(const struct call *call, cuDevicePrimaryCtxReset_params *p)
{
    (void)call;
    return reset(p->dev);
}

CUresult impl_cuDevicePrimaryCtxReset_v2(const struct call *call,
                                         cuDevicePrimaryCtxReset_v2_params *p)
{
    (void)call;
    return reset(p->dev);
}

/* Without a lock, as the state below: tools call this from inside the callbacks. */
static CUresult set_flags(CUdevice device, unsigned flags, bool also_active)
{
    struct primary *primary = primary_of(device);
    if (!primary)
        return CUDA_ERROR_INVALID_DEVICE;
    if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
        return CUDA_ERROR_INVALID_VALUE;
    struct context *context = atomic_load(&primary->context);
    if (context && !also_active)
        return CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
    atomic_store(&primary->flags, flags);
    if (context)
        context_set_flags(context, flags);
    return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxSetFlags(const struct call *call,
                                         cuDevicePrimaryCtxSetFlags_params *p)
{
    (void)call;
    return set_flags(p->dev, p->flags, false);
}

CUresult impl_cuDevicePrimaryCtxSetFlags_v2(const struct call *call,
                                            cuDevicePrimaryCtxSetFlags_v2_params *p)
{
    (void)call;
    return set_flags(p->dev, p->flags, true);
}

CUresult impl_cuDevicePrimaryCtxGetState(const struct call *call,
                                         cuDevicePrimaryCtxGetState_params *p)
{
    struct primary *primary = primary_of(p->dev);
    (void)call;
    if (!p->flags || !p->active)
        return CUDA_ERROR_INVALID_VALUE;
    if (!primary)
        return CUDA_ERROR_INVALID_DEVICE;
    *p->flags = atomic_load(&primary->flags);
    *p->active = atomic_load(&primary->context) != NULL;
    return CUDA_SUCCESS;
}
