/* launch_legacy.c - the launches of CUDA 1 to 3, which set up a function and then run it. */
#include <stdlib.h>
#include <string.h>

#include "driver/call/call.h"
#include "driver/module/code.h"
#include "driver/launch/launch.h"
#include "impls.h"

/* The function's set-up, made at the first use, its lock held; `function` is held until leave(). */
static CUresult enter(CUfunction handle, struct function **function, struct legacy_launch **legacy)
{
    *function = function_find(handle);
    if (!*function)
        return CUDA_ERROR_INVALID_HANDLE;
    *legacy = atomic_load(&(*function)->legacy);
    if (!*legacy) {
        struct legacy_launch *made = calloc(1, sizeof(*made));
        if (!made) {
            function_drop(*function);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        pthread_mutex_init(&made->lock, NULL);
        if (atomic_compare_exchange_strong(&(*function)->legacy, legacy, made)) {
            *legacy = made;
        } else {
            pthread_mutex_destroy(&made->lock);
            free(made);
        }
    }
    pthread_mutex_lock(&(*legacy)->lock);
    return CUDA_SUCCESS;
}

static void leave(struct function *function, struct legacy_launch *legacy)
{
    pthread_mutex_unlock(&legacy->lock);
    function_drop(function);
}

CUresult impl_cuFuncSetBlockShape(const struct call *call, cuFuncSetBlockShape_params *p)
{
    (void)call;
    struct function *function;
    struct legacy_launch *legacy;
    if (p->x <= 0 || p->y <= 0 || p->z <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = enter(p->hfunc, &function, &legacy);
    if (result)
        return result;
    legacy->block[0] = (unsigned)p->x;
    legacy->block[1] = (unsigned)p->y;
    legacy->block[2] = (unsigned)p->z;
    leave(function, legacy);
    return CUDA_SUCCESS;
}

CUresult impl_cuFuncSetSharedSize(const struct call *call, cuFuncSetSharedSize_params *p)
{
    (void)call;
    struct function *function;
    struct legacy_launch *legacy;
    CUresult result = enter(p->hfunc, &function, &legacy);
    if (result)
        return result;
    legacy->shared = p->bytes;
    leave(function, legacy);
    return CUDA_SUCCESS;
}

CUresult impl_cuParamSetSize(const struct call *call, cuParamSetSize_params *p)
{
    (void)call;
    struct function *function;
    struct legacy_launch *legacy;
    CUresult result = enter(p->hfunc, &function, &legacy);
    if (result)
        return result;
    if (p->numbytes <= sizeof(legacy->params))
        legacy->param_bytes = p->numbytes;
    else
        result = CUDA_ERROR_INVALID_VALUE;
    leave(function, legacy);
    return result;
}

static CUresult set_param(CUfunction handle, int offset, const void *from, unsigned bytes)
{
    struct function *function;
    struct legacy_launch *legacy;
    CUresult result = enter(handle, &function, &legacy);
    if (result)
        return result;
    if (offset >= 0 && from && bytes <= sizeof(legacy->params) &&
        (unsigned)offset <= sizeof(legacy->params) - bytes)
        memcpy(legacy->params + offset, from, bytes);
    else
        result = CUDA_ERROR_INVALID_VALUE;
    leave(function, legacy);
    return result;
}

CUresult impl_cuParamSeti(const struct call *call, cuParamSeti_params *p)
{
    (void)call;
    return set_param(p->hfunc, p->offset, &p->value, sizeof(p->value));
}

CUresult impl_cuParamSetf(const struct call *call, cuParamSetf_params *p)
{
    (void)call;
    return set_param(p->hfunc, p->offset, &p->value, sizeof(p->value));
}

CUresult impl_cuParamSetv(const struct call *call, cuParamSetv_params *p)
{
    (void)call;
    return set_param(p->hfunc, p->offset, p->ptr, p->numbytes);
}

static CUresult run(const struct call *call, CUfunction handle, int width, int height,
                    CUstream stream)
{
    struct function *function;
    struct legacy_launch *legacy;
    if (width <= 0 || height <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = enter(handle, &function, &legacy);
    if (result)
        return result;
    size_t bytes = legacy->param_bytes;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, legacy->params, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &bytes, CU_LAUNCH_PARAM_END};
    const CUDA_KERNEL_NODE_PARAMS_v2 params = {
        .func = handle,
        .gridDimX = (unsigned)width,
        .gridDimY = (unsigned)height,
        .gridDimZ = 1,
        .blockDimX = legacy->block[0],
        .blockDimY = legacy->block[1],
        .blockDimZ = legacy->block[2],
        .sharedMemBytes = legacy->shared,
        .extra = extra,
    };
    result = launch(call, handle, stream, &params, false);
    leave(function, legacy);
    return result;
}

CUresult impl_cuLaunch(const struct call *call, cuLaunch_params *p)
{
    return run(call, p->f, 1, 1, NULL);
}

CUresult impl_cuLaunchGrid(const struct call *call, cuLaunchGrid_params *p)
{
    return run(call, p->f, p->grid_width, p->grid_height, NULL);
}

CUresult impl_cuLaunchGridAsync(const struct call *call, cuLaunchGridAsync_params *p)
{
    return run(call, p->f, p->grid_width, p->grid_height, p->hStream);
}
