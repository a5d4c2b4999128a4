/* function.c - cuFunc*: what is known of a kernel, and what may be set. */
#include "driver/module/code.h"

#include "driver/call/call.h"
#include "driver/context/device.h"
#include "driver/base/settings.h"
#include "impls.h"

enum {
    REGISTERS_MAX = 255,    /* of a thread */
    REGISTERS_STEP = 8,     /* a warp gets them in units of 256 */
    SHARED_DEFAULT = 49152, /* what a block may have without an attribute set */
};

static int limit(const struct device *device, CUdevice_attribute attribute)
{
    bool known;
    return device_attribute(device, attribute, &known);
}

static unsigned round_down(unsigned value, unsigned step)
{
    return value / step * step;
}

unsigned function_registers(const struct function *function)
{
    const struct exec_info *info = function->info;
    unsigned threads = (info->max_threads + 31) / 32 * 32;
    unsigned blocks = function->ptx->minnctapersm ? function->ptx->minnctapersm : 1;
    unsigned most = round_down(65536 / (threads ? threads : 32) / blocks, REGISTERS_STEP);
    unsigned count = info->registers < 16 ? 16 : info->registers;
    if (function->ptx->maxnreg && count > function->ptx->maxnreg)
        count = function->ptx->maxnreg;
    if (most >= REGISTERS_STEP && count > most)
        count = most;
    return count > REGISTERS_MAX ? REGISTERS_MAX : count;
}

static int constant_bytes(const struct ptx_module *ptx)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < ptx->variable_count; i++)
        if (ptx->variables[i].space == PTX_CONST)
            bytes += ptx->variables[i].bytes;
    return (int)bytes;
}

/* -- attributes -- */

/* What a block may have is not known until the function is decoded. */
enum { UNSET = -1 };

void function_attributes_init(struct function_attributes *attributes,
                              const struct function *function)
{
    const unsigned *cluster = function->info->reqcluster;
    for (int i = 0; i < CU_FUNC_ATTRIBUTE_MAX; i++)
        atomic_init(&attributes->value[i], 0);
    atomic_init(&attributes->value[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES], UNSET);
    atomic_init(&attributes->value[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT], -1);
    atomic_init(&attributes->value[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET], cluster[0] != 0);
    for (int i = 0; i < 3; i++)
        atomic_init(&attributes->value[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i],
                    (int)cluster[i]);
}

int function_max_dynamic(const struct function *function,
                         const struct function_attributes *attributes)
{
    int value = atomic_load(&attributes->value[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES]);
    int left = SHARED_DEFAULT - (int)function->info->static_shared;
    return value != UNSET ? value : left > 0 ? left : 0;
}

CUresult function_attribute_get(struct function *function,
                                const struct function_attributes *attributes,
                                CUfunction_attribute attribute, int *value)
{
    const struct exec_info *info = function->info;
    const struct ptx_module *ptx = function->module->ptx;
    CUresult result = function_prepare(function);
    if (result)
        return result;
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = (int)info->max_threads;
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)info->static_shared;
        break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = constant_bytes(ptx);
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)info->local;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = (int)function_registers(function);
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *value = (int)ptx->arch;
        break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = (int)settings()->arch;
        break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
        *value = 0;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = function_max_dynamic(function, attributes);
        break;
    default:
        if ((int)attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        *value = atomic_load(&attributes->value[attribute]);
    }
    return CUDA_SUCCESS;
}

/* Whether a kernel may be given this value; attributes of the code itself cannot be set. */
static bool may_be(const struct function *function, const struct device *device,
                   CUfunction_attribute attribute, int value)
{
    int shared = limit(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        return value >= 0 && value <= shared - (int)function->info->static_shared;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return value >= -1 && value <= 100;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        return value >= 0 && value <= 16 && !function->info->reqcluster[0] &&
               limit(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        return value == 0 || value == 1;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return value >= 0 && value <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
    default:
        return false;
    }
}

CUresult function_attribute_set(struct function *function, struct function_attributes *attributes,
                                const struct device *device, CUfunction_attribute attribute,
                                int value)
{
    CUresult result = function_prepare(function);
    if (result)
        return result;
    if (!may_be(function, device, attribute, value))
        return CUDA_ERROR_INVALID_VALUE;
    atomic_store(&attributes->value[attribute], value);
    return CUDA_SUCCESS;
}

CUresult function_param_info(const struct function *function, size_t index, size_t *offset,
                             size_t *bytes)
{
    if (!offset || index >= function->info->param_count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = function->info->params[index].offset;
    if (bytes)
        *bytes = function->info->params[index].bytes;
    return CUDA_SUCCESS;
}

CUresult impl_cuFuncGetAttribute(const struct call *call, cuFuncGetAttribute_params *p)
{
    struct function *function;
    if (!p->pi)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = function_resolve(p->hfunc, call->context, &function);
    if (result)
        return result;
    result = function_attribute_get(function, function->attributes, p->attrib, p->pi);
    function_drop(function);
    return result;
}

CUresult impl_cuFuncSetAttribute(const struct call *call, cuFuncSetAttribute_params *p)
{
    struct function *function;
    CUresult result = function_resolve(p->hfunc, call->context, &function);
    if (result)
        return result;
    result = function_attribute_set(function, function->attributes,
                                    context_device(function->module->context), p->attrib, p->value);
    function_drop(function);
    return result;
}

/* -- questions that a CUkernel does not answer -- */

CUresult impl_cuFuncGetName(const struct call *call, cuFuncGetName_params *p)
{
    (void)call;
    if (!p->name)
        return CUDA_ERROR_INVALID_VALUE;
    struct function *function = function_find(p->hfunc);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *p->name = function->ptx->name;
    function_drop(function);
    return CUDA_SUCCESS;
}

CUresult impl_cuFuncGetModule(const struct call *call, cuFuncGetModule_params *p)
{
    (void)call;
    if (!p->hmod)
        return CUDA_ERROR_INVALID_VALUE;
    struct function *function = function_find(p->hfunc);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *p->hmod = function->module->handle;
    function_drop(function);
    return CUDA_SUCCESS;
}

CUresult impl_cuFuncGetParamInfo(const struct call *call, cuFuncGetParamInfo_params *p)
{
    (void)call;
    struct function *function = function_find(p->func);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = function_param_info(function, p->paramIndex, p->paramOffset, p->paramSize);
    function_drop(function);
    return result;
}

CUresult impl_cuFuncIsLoaded(const struct call *call, cuFuncIsLoaded_params *p)
{
    (void)call;
    if (!p->state)
        return CUDA_ERROR_INVALID_VALUE;
    struct function *function = function_find(p->function);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *p->state = function_is_prepared(function) ? CU_FUNCTION_LOADING_STATE_LOADED
                                               : CU_FUNCTION_LOADING_STATE_UNLOADED;
    function_drop(function);
    return CUDA_SUCCESS;
}

CUresult impl_cuFuncLoad(const struct call *call, cuFuncLoad_params *p)
{
    (void)call;
    struct function *function = function_find(p->function);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = function_prepare(function);
    function_drop(function);
    return result;
}

/* Hints that change nothing here. */
static CUresult take_hint(const struct call *call, CUfunction handle, bool valid)
{
    struct function *function;
    CUresult result = function_resolve(handle, call->context, &function);
    if (result)
        return result;
    function_drop(function);
    return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuFuncSetCacheConfig(const struct call *call, cuFuncSetCacheConfig_params *p)
{
    return take_hint(call, p->hfunc, (unsigned)p->config <= CU_FUNC_CACHE_PREFER_EQUAL);
}

CUresult impl_cuFuncSetSharedMemConfig(const struct call *call, cuFuncSetSharedMemConfig_params *p)
{
    return take_hint(call, p->hfunc,
                     (unsigned)p->config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
}
