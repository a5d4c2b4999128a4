/* kernel.c - cuKernel*: queries of a kernel that belongs to no context. */
#include "driver/module/kernel.h"

#include "driver/call/call.h"
#include "driver/context/device.h"
#include "impls.h"

CUresult impl_cuKernelGetFunction(const struct call *call, cuKernelGetFunction_params *p)
{
    if (!p->pFunc)
        return CUDA_ERROR_INVALID_VALUE;
    struct kernel *kernel = kernel_find(p->kernel);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    struct function *function;
    CUresult result = kernel_function(kernel, call->context, &function);
    if (!result) {
        *p->pFunc = function->handle;
        function_drop(function);
    }
    kernel_drop(kernel);
    return result;
}

#ifdef HAVE_cuKernelGetLibrary
CUresult impl_cuKernelGetLibrary(const struct call *call, cuKernelGetLibrary_params *p)
{
    (void)call;
    if (!p->pLib)
        return CUDA_ERROR_INVALID_VALUE;
    struct kernel *kernel = kernel_find(p->kernel);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    *p->pLib = library_handle(kernel->library);
    kernel_drop(kernel);
    return CUDA_SUCCESS;
}
#endif

CUresult impl_cuKernelGetName(const struct call *call, cuKernelGetName_params *p)
{
    (void)call;
    if (!p->name)
        return CUDA_ERROR_INVALID_VALUE;
    struct kernel *kernel = kernel_find(p->hfunc);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    *p->name = kernel->function->ptx->name;
    kernel_drop(kernel);
    return CUDA_SUCCESS;
}

/* As the real driver does, it loads the library's module into the current context. */
CUresult impl_cuKernelGetParamInfo(const struct call *call, cuKernelGetParamInfo_params *p)
{
    struct function *function = NULL;
    struct kernel *kernel = kernel_find(p->kernel);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result =
        call->context ? kernel_function(kernel, call->context, &function) : CUDA_SUCCESS;
    if (function)
        function_drop(function);
    if (!result)
        result = function_param_info(kernel->function, p->paramIndex, p->paramOffset, p->paramSize);
    kernel_drop(kernel);
    return result;
}

/* The kernel, held, where the device is one. */
static CUresult check(CUkernel handle, CUdevice device, struct kernel **kernel)
{
    if (!device_at(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *kernel = kernel_find(handle);
    return *kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuKernelGetAttribute(const struct call *call, cuKernelGetAttribute_params *p)
{
    (void)call;
    struct kernel *kernel;
    CUresult result = check(p->kernel, p->dev, &kernel);
    if (result)
        return result;
    result = p->pi ? function_attribute_get(kernel->function, &kernel->attributes[p->dev],
                                            p->attrib, p->pi)
                   : CUDA_ERROR_INVALID_VALUE;
    kernel_drop(kernel);
    return result;
}

CUresult impl_cuKernelSetAttribute(const struct call *call, cuKernelSetAttribute_params *p)
{
    (void)call;
    struct kernel *kernel;
    CUresult result = check(p->kernel, p->dev, &kernel);
    if (result)
        return result;
    result = function_attribute_set(kernel->function, &kernel->attributes[p->dev],
                                    device_at(p->dev), p->attrib, p->val);
    kernel_drop(kernel);
    return result;
}

CUresult impl_cuKernelSetCacheConfig(const struct call *call, cuKernelSetCacheConfig_params *p)
{
    (void)call;
    struct kernel *kernel;
    CUresult result = check(p->kernel, p->dev, &kernel);
    if (result)
        return result;
    kernel_drop(kernel);
    return (unsigned)p->config <= CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_VALUE;
}

const char *kernel_symbol(CUkernel handle)
{
    struct kernel *kernel = kernel_find(handle);
    const char *name = kernel ? kernel->function->ptx->name : NULL;
    kernel_drop(kernel);
    return name;
}
