/*
 * entry_context.c - wrappers of the driver functions that make and end contexts, load modules,
 * encode tensor maps, and wait for all work of a context.
 */
#include "hook/entry_table.h"

/* ---- contexts ---- */

static void created(CUresult result, const CUcontext *context)
{
    if (result)
        return;
    entry_init_finished();
    core_context_created(*context);
}

ENTRY_CALL(cuCtxCreate, (CUcontext * context, unsigned flags, CUdevice device),
           (context, flags, device), (void)0, created(result, context))
ENTRY_CALL(cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device),
           (context, flags, device), (void)0, created(result, context))
ENTRY_CALL(cuCtxCreate_v3,
           (CUcontext * context, void *params, int count, unsigned flags, CUdevice device),
           (context, params, count, flags, device), (void)0, created(result, context))
ENTRY_CALL(cuCtxCreate_v4, (CUcontext * context, void *params, unsigned flags, CUdevice device),
           (context, params, flags, device), (void)0, created(result, context))

static void ends(CUcontext context)
{
    core_context_ending(context);
    core_context_going(context);
}

ENTRY_CALL(cuCtxDestroy, (CUcontext context), (context), ends(context), (void)0)
ENTRY_CALL(cuCtxDestroy_v2, (CUcontext context), (context), ends(context), (void)0)

/* A primary context ends with its last reference, so these are counted even while the back end is
 * off. A reference that is not seen makes an end come early: the context is then set up again. */
enum { DEVICES = 64 };

static struct {
    atomic_int references;
    _Atomic(CUcontext) context;
} primary[DEVICES];

ENTRY_WRAPPER(cuDevicePrimaryCtxRetain)(CUcontext *context, CUdevice device);
ENTRY_WRAPPER(cuDevicePrimaryCtxRetain)(CUcontext *context, CUdevice device)
{
    CUresult (*real)(CUcontext *, CUdevice) = entry_real(ENTRY_cuDevicePrimaryCtxRetain);
    CUresult result = real ? real(context, device) : CUDA_ERROR_NOT_INITIALIZED;
    if (result || device < 0 || device >= DEVICES)
        return result;
    atomic_store(&primary[device].context, *context);
    atomic_fetch_add(&primary[device].references, 1);
    if (entry_reports())
        created(result, context);
    return result;
}

static CUresult release_primary(CUresult (*real)(CUdevice), CUdevice device)
{
    bool known = device >= 0 && device < DEVICES && atomic_load(&primary[device].references) > 0;
    if (!real)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (known && atomic_fetch_sub(&primary[device].references, 1) == 1 && entry_reports())
        ends(atomic_load(&primary[device].context));
    CUresult result = real(device);
    if (known && result)
        atomic_fetch_add(&primary[device].references, 1);
    return result;
}

ENTRY_WRAPPER(cuDevicePrimaryCtxRelease)(CUdevice device);
ENTRY_WRAPPER(cuDevicePrimaryCtxRelease)(CUdevice device)
{
    return release_primary(entry_real(ENTRY_cuDevicePrimaryCtxRelease), device);
}

ENTRY_WRAPPER(cuDevicePrimaryCtxRelease_v2)(CUdevice device);
ENTRY_WRAPPER(cuDevicePrimaryCtxRelease_v2)(CUdevice device)
{
    return release_primary(entry_real(ENTRY_cuDevicePrimaryCtxRelease_v2), device);
}

static void reset(CUdevice device)
{
    CUcontext context = device >= 0 && device < DEVICES ? primary[device].context : NULL;
    if (context)
        ends(context);
}

ENTRY_CALL(cuDevicePrimaryCtxReset, (CUdevice device), (device), reset(device), (void)0)
ENTRY_CALL(cuDevicePrimaryCtxReset_v2, (CUdevice device), (device), reset(device), (void)0)

/* ---- modules and libraries ---- */

static void loaded(CUresult result, const CUmodule *module, const void *image)
{
    if (!result)
        core_image_given(*module, entry_context(), image);
}

static void loaded_from(CUresult result, const CUmodule *module, const char *path)
{
    if (!result)
        core_image_file(*module, entry_context(), path);
}

ENTRY_CALL(cuModuleLoad, (CUmodule * module, const char *path), (module, path), (void)0,
           loaded_from(result, module, path))
ENTRY_CALL(cuModuleLoadData, (CUmodule * module, const void *image), (module, image), (void)0,
           loaded(result, module, image))
ENTRY_CALL(cuModuleLoadDataEx,
           (CUmodule * module, const void *image, unsigned count, void *options, void **values),
           (module, image, count, options, values), (void)0, loaded(result, module, image))
ENTRY_CALL(cuModuleLoadFatBinary, (CUmodule * module, const void *image), (module, image), (void)0,
           loaded(result, module, image))

static void library_loaded(CUresult result, const CUlibrary *library, const void *image)
{
    if (!result)
        core_image_given(*library, NULL, image);
}

static void library_loaded_from(CUresult result, const CUlibrary *library, const char *path)
{
    if (!result)
        core_image_file(*library, NULL, path);
}

ENTRY_CALL(cuLibraryLoadData,
           (CUlibrary * library, const void *image, void *jit, void **jit_values, unsigned jits,
            void *options, void **values, unsigned count),
           (library, image, jit, jit_values, jits, options, values, count), (void)0,
           library_loaded(result, library, image))
ENTRY_CALL(cuLibraryLoadFromFile,
           (CUlibrary * library, const char *path, void *jit, void **jit_values, unsigned jits,
            void *options, void **values, unsigned count),
           (library, path, jit, jit_values, jits, options, values, count), (void)0,
           library_loaded_from(result, library, path))

/* ---- tensor maps ---- */

static void encoded(CUresult result, const struct tensor_map_call *call)
{
    if (!result)
        core_tensor_map(call);
}

ENTRY_CALL(cuTensorMapEncodeTiled,
           (void *map, unsigned type, unsigned rank, void *address, const uint64_t *size,
            const uint64_t *stride, const uint32_t *box, const uint32_t *step, unsigned interleave,
            unsigned swizzle, unsigned promotion, unsigned fill),
           (map, type, rank, address, size, stride, box, step, interleave, swizzle, promotion,
            fill),
           (void)0,
           encoded(result, &(struct tensor_map_call){map, type, rank, address, size, stride, box,
                                                     step, interleave, swizzle, fill}))

/* ---- waits ---- */

static void ended(const char *api, CUresult result, CUstream stream)
{
    if (UNUSUAL(result != CUDA_SUCCESS) && result != CUDA_ERROR_NOT_READY)
        core_api_failed(api, result, stream);
}

#define WAIT(symbol, context, params, args)                                                        \
    ENTRY_CALL(symbol, params, args, CUcontext waits = context;                                    \
               core_wait_begins(waits), core_wait_ends(waits); ended(#symbol, result, NULL))

/* Of a module or a library. */
static CUcontext unloading(const void *image)
{
    core_image_taken(image);
    return entry_context();
}

WAIT(cuModuleUnload, unloading(module), (CUmodule module), (module))
WAIT(cuLibraryUnload, unloading(library), (CUlibrary library), (library))
WAIT(cuCtxSynchronize, entry_context(), (void), ())
WAIT(cuCtxSynchronize_v2, given ? given : entry_context(), (CUcontext given), (given))
WAIT(cuMemFree, entry_context(), (unsigned address), (address))
WAIT(cuMemFree_v2, entry_context(), (CUdeviceptr address), (address))
WAIT(cuMemFreeHost, entry_context(), (void *address), (address))
WAIT(cuMemHostUnregister, entry_context(), (void *address), (address))
WAIT(cuMemUnmap, entry_context(), (CUdeviceptr address, size_t bytes), (address, bytes))

/* Waits for, or queries, something else than the whole context: what it returns may be an earlier
 * launch's. */
#define SYNC(symbol, stream, params, args)                                                         \
    ENTRY_CALL(symbol, params, args, (void)0, ended(#symbol, result, stream))

SYNC(cuStreamSynchronize, stream, (CUstream stream), (stream))
SYNC(cuStreamSynchronize_ptsz, stream, (CUstream stream), (stream))
SYNC(cuEventSynchronize, NULL, (CUevent event), (event))
SYNC(cuStreamQuery, stream, (CUstream stream), (stream))
SYNC(cuStreamQuery_ptsz, stream, (CUstream stream), (stream))
SYNC(cuEventQuery, NULL, (CUevent event), (event))
SYNC(cuMemcpyHtoD_v2, NULL, (CUdeviceptr to, const void *from, size_t bytes), (to, from, bytes))
SYNC(cuMemcpyHtoD_v2_ptds, NULL, (CUdeviceptr to, const void *from, size_t bytes),
     (to, from, bytes))
SYNC(cuMemcpyDtoH_v2, NULL, (void *to, CUdeviceptr from, size_t bytes), (to, from, bytes))
SYNC(cuMemcpyDtoH_v2_ptds, NULL, (void *to, CUdeviceptr from, size_t bytes), (to, from, bytes))
