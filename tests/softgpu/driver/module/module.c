/* module.c - cuModule*: modules of one context. */
#include "driver/module/code.h"

#include "driver/call/call.h"
#include "driver/context/context_life.h"
#include "driver/module/jit.h"
#include "driver/base/settings.h"
#include "driver/stream/stream.h"
#include "impls.h"

CUresult loading_check(const struct call *call)
{
    return settings()->version < 12030 ? capture_check_unsafe(call) : CUDA_SUCCESS;
}

/* From `memory`, or, where that is NULL, from the file `path`. */
static CUresult load(const struct call *call, const void *memory, const char *path,
                     const struct jit *jit, CUmodule *out)
{
    struct jit_clock clock = jit_start();
    struct error err = {{0}};
    struct image *image = NULL;
    struct module *module = NULL;
    CUresult result = loading_check(call);
    if (result || !out)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    result = path ? image_from_file(path, &image, &err) : image_from_memory(memory, &image, &err);
    if (!result)
        result = module_create(call->context, image, &module, &err);
    image_drop(image);
    jit_finish(jit, result, &err, clock);
    if (result)
        return result;
    result = module_publish(module);
    if (result) {
        module_drop(module);
        return result;
    }
    module_announce(module);
    *out = module->handle;
    return CUDA_SUCCESS;
}

CUresult impl_cuModuleLoad(const struct call *call, cuModuleLoad_params *p)
{
    const struct jit jit = {0};
    return p->fname ? load(call, NULL, p->fname, &jit, p->module) : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuModuleLoadData(const struct call *call, cuModuleLoadData_params *p)
{
    const struct jit jit = {0};
    return load(call, p->image, NULL, &jit, p->module);
}

CUresult impl_cuModuleLoadDataEx(const struct call *call, cuModuleLoadDataEx_params *p)
{
    struct jit jit;
    CUresult result = jit_read(p->numOptions, p->options, p->optionValues, &jit);
    return result ? result : load(call, p->image, NULL, &jit, p->module);
}

CUresult impl_cuModuleLoadFatBinary(const struct call *call, cuModuleLoadFatBinary_params *p)
{
    const struct jit jit = {0};
    return load(call, p->fatCubin, NULL, &jit, p->module);
}

CUresult impl_cuModuleUnload(const struct call *call, cuModuleUnload_params *p)
{
    (void)call;
    struct module *module = module_find(p->hmod);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    struct context_use use;
    CUresult result = CUDA_ERROR_INVALID_VALUE; /* a library's goes with the library */
    if (!module->library && context_enter(&use, module->context)) {
        result = streams_drain(module->context);
        module_unload(module);
        context_leave(&use);
    }
    module_drop(module);
    return result;
}

CUresult impl_cuModuleGetLoadingMode(const struct call *call, cuModuleGetLoadingMode_params *p)
{
    (void)call;
    if (!p->mode)
        return CUDA_ERROR_INVALID_VALUE;
    *p->mode = loading_is_eager() ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

CUresult impl_cuModuleGetFunction(const struct call *call, cuModuleGetFunction_params *p)
{
    (void)call;
    if (!p->hfunc || !p->name)
        return CUDA_ERROR_INVALID_VALUE;
    struct module *module = module_find(p->hmod);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    struct function *function = module_function(module, p->name);
    if (function)
        *p->hfunc = function->handle;
    module_drop(module);
    return function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult impl_cuModuleGetFunctionCount(const struct call *call, cuModuleGetFunctionCount_params *p)
{
    (void)call;
    if (!p->count)
        return CUDA_ERROR_INVALID_VALUE;
    struct module *module = module_find(p->mod);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    *p->count = module->function_count;
    module_drop(module);
    return CUDA_SUCCESS;
}

CUresult impl_cuModuleEnumerateFunctions(const struct call *call,
                                         cuModuleEnumerateFunctions_params *p)
{
    (void)call;
    if (!p->functions || !p->numFunctions)
        return CUDA_ERROR_INVALID_VALUE;
    struct module *module = module_find(p->mod);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    for (unsigned i = 0; i < module->function_count && i < p->numFunctions; i++)
        p->functions[i] = module->functions[i].handle;
    module_drop(module);
    return CUDA_SUCCESS;
}

CUresult module_global(const struct module *module, const char *name, CUdeviceptr *address,
                       size_t *bytes)
{
    uint64_t at, size;
    if (!name || (!address && !bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (!exec_find_variable(module->exec, name, &at, &size))
        return CUDA_ERROR_NOT_FOUND;
    if (address)
        *address = at;
    if (bytes)
        *bytes = size;
    return CUDA_SUCCESS;
}

CUresult impl_cuModuleGetGlobal_v2(const struct call *call, cuModuleGetGlobal_v2_params *p)
{
    (void)call;
    struct module *module = module_find(p->hmod);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = module_global(module, p->name, p->dptr, p->bytes);
    module_drop(module);
    return result;
}
