/* library.c - libraries and their kernels: code of no context, loaded into each one at its first
 * use there. */
#include "driver/module/kernel.h"

#include <stdlib.h>
#include <string.h>
#include "driver/call/call.h"
#include "driver/context/context_life.h"
#include "driver/context/device.h"
#include "driver/base/handles.h"
#include "driver/module/jit.h"
#include "driver/stream/stream.h"
#include "impls.h"

struct library {
    atomic_uint holders;
    CUlibrary handle;
    struct image *image;
    struct module *blueprint;
    struct kernel *kernels;    /* as many as the blueprint has functions, in their order */
    pthread_mutex_t load_lock; /* first loads in a context, one at a time; outside list_lock */
    pthread_mutex_t list_lock;
    struct module *modules;
};

static struct handles library_handles = HANDLES_INITIALIZER;
static struct handles kernel_handles = HANDLES_INITIALIZER;

/* -- life -- */

static void hold_library(void *object)
{
    atomic_fetch_add(&((struct library *)object)->holders, 1);
}

static void hold_kernel(void *object)
{
    hold_library(((struct kernel *)object)->library);
}

void library_drop(struct library *library)
{
    if (atomic_fetch_sub(&library->holders, 1) > 1)
        return;
    pthread_mutex_destroy(&library->load_lock);
    pthread_mutex_destroy(&library->list_lock);
    module_drop(library->blueprint);
    image_drop(library->image);
    free(library->kernels);
    free(library);
}

static struct library *library_find(CUlibrary handle)
{
    return handles_find(&library_handles, handle, hold_library);
}

struct kernel *kernel_find(CUkernel handle)
{
    return handles_find(&kernel_handles, handle, hold_kernel);
}

void kernel_drop(struct kernel *kernel)
{
    if (kernel)
        library_drop(kernel->library);
}

CUlibrary library_handle(const struct library *library)
{
    return library->handle;
}

static void forget_handles(struct library *library)
{
    handles_remove(&library_handles, library->handle);
    for (unsigned i = 0; i < library->blueprint->function_count; i++)
        handles_remove(&kernel_handles, library->kernels[i].handle);
}

static CUresult make_kernels(struct library *library)
{
    struct module *blueprint = library->blueprint;
    library->kernels = calloc(blueprint->function_count + 1, sizeof(*library->kernels));
    bool ok = library->kernels && (library->handle = handles_add(&library_handles, library));
    for (unsigned i = 0; ok && i < blueprint->function_count; i++) {
        struct kernel *kernel = &library->kernels[i];
        kernel->library = library;
        kernel->function = &blueprint->functions[i];
        for (int device = 0; device < KERNEL_DEVICES; device++)
            function_attributes_init(&kernel->attributes[device], kernel->function);
        ok = (kernel->handle = handles_add(&kernel_handles, kernel)) != NULL;
    }
    if (!ok && library->kernels)
        forget_handles(library);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult create(struct image *image, struct library **out, struct error *err)
{
    struct library *library = calloc(1, sizeof(*library));
    if (!library)
        return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_init(&library->holders, 1);
    pthread_mutex_init(&library->load_lock, NULL);
    pthread_mutex_init(&library->list_lock, NULL);
    library->image = image_hold(image);
    CUresult result = module_create(NULL, image, &library->blueprint, err);
    if (!result)
        result = make_kernels(library);
    if (result)
        library_drop(library);
    else
        *out = library;
    return result;
}

/* -- in a context -- */

static struct module *find_loaded(struct library *library, const struct context *context)
{
    pthread_mutex_lock(&library->list_lock);
    struct module *module = library->modules;
    while (module && module->context != context)
        module = module->next_of_library;
    if (module)
        atomic_fetch_add(&module->holders, 1);
    pthread_mutex_unlock(&library->list_lock);
    return module;
}

static void use_kernel_attributes(struct library *library, struct module *module)
{
    CUdevice device = device_ordinal(context_device(module->context));
    for (unsigned i = 0; i < module->function_count; i++) {
        module->functions[i].kernel = &library->kernels[i];
        module->functions[i].attributes = &library->kernels[i].attributes[device];
    }
}

static CUresult load_here(struct library *library, struct context *context, struct module **out)
{
    struct error err = {{0}};
    struct module *module = NULL;
    CUresult result = module_create(context, library->image, &module, &err);
    if (result) {
        say_once(*err.text ? err.text : "no memory for a library's module");
        return result;
    }
    /* The module's functions point into the library, which therefore lives as long. */
    hold_library(library);
    module->library = library;
    use_kernel_attributes(library, module);
    result = module_publish(module);
    if (result) {
        module_drop(module);
        return result;
    }
    atomic_fetch_add(&module->holders, 1); /* the caller's */
    pthread_mutex_lock(&library->list_lock);
    module->next_of_library = library->modules;
    library->modules = module;
    pthread_mutex_unlock(&library->list_lock);
    *out = module;
    return CUDA_SUCCESS;
}

/* Held. */
static CUresult module_in(struct library *library, struct context *context, struct module **module)
{
    *module = find_loaded(library, context);
    if (*module)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&library->load_lock);
    *module = find_loaded(library, context);
    bool first = !*module;
    CUresult result = first ? load_here(library, context, module) : CUDA_SUCCESS;
    pthread_mutex_unlock(&library->load_lock);
    if (first && !result)
        module_announce(*module);
    return result;
}

void library_forget(struct library *library, struct module *module)
{
    pthread_mutex_lock(&library->list_lock);
    struct module **at = &library->modules;
    while (*at && *at != module)
        at = &(*at)->next_of_library;
    if (*at)
        *at = module->next_of_library;
    pthread_mutex_unlock(&library->list_lock);
}

CUresult kernel_function(struct kernel *kernel, struct context *context, struct function **function)
{
    struct module *module;
    CUresult result = module_in(kernel->library, context, &module);
    if (!result)
        *function = &module->functions[kernel - kernel->library->kernels];
    return result;
}

/* -- cuLibrary* -- */

static CUresult check_options(const CUlibraryOption *options, void **values, unsigned count)
{
    if (count && (!options || !values))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if ((unsigned)options[i] >= CU_LIBRARY_NUM_OPTIONS)
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult load(const struct call *call, const void *memory, const char *path,
                     const struct jit *jit, CUlibrary *out)
{
    struct jit_clock clock = jit_start();
    struct error err = {{0}};
    struct image *image = NULL;
    struct library *library = NULL;
    CUresult result = loading_check(call);
    if (result || !out)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    result = path ? image_from_file(path, &image, &err) : image_from_memory(memory, &image, &err);
    if (!result)
        result = create(image, &library, &err);
    image_drop(image);
    jit_finish(jit, result, &err, clock);
    if (!result)
        *out = library->handle;
    return result;
}

CUresult impl_cuLibraryLoadData(const struct call *call, cuLibraryLoadData_params *p)
{
    struct jit jit;
    CUresult result = jit_read(p->numJitOptions, p->jitOptions, p->jitOptionsValues, &jit);
    if (!result)
        result = check_options(p->libraryOptions, p->libraryOptionValues, p->numLibraryOptions);
    return result ? result : load(call, p->code, NULL, &jit, p->library);
}

CUresult impl_cuLibraryLoadFromFile(const struct call *call, cuLibraryLoadFromFile_params *p)
{
    struct jit jit;
    CUresult result = jit_read(p->numJitOptions, p->jitOptions, p->jitOptionsValues, &jit);
    if (!result)
        result = check_options(p->libraryOptions, p->libraryOptionValues, p->numLibraryOptions);
    if (!result && !p->fileName)
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : load(call, NULL, p->fileName, &jit, p->library);
}

/* One that is loaded still, held; its context is kept from ending until context_leave(). A context
 * that is ending unloads its modules itself. */
static struct module *next_loaded(struct library *library, struct context_use *use)
{
    pthread_mutex_lock(&library->list_lock);
    struct module *module = library->modules;
    while (module && !context_enter(use, module->context))
        module = module->next_of_library;
    if (module)
        atomic_fetch_add(&module->holders, 1);
    pthread_mutex_unlock(&library->list_lock);
    return module;
}

CUresult impl_cuLibraryUnload(const struct call *call, cuLibraryUnload_params *p)
{
    (void)call;
    struct library *library = library_find(p->library);
    if (!library)
        return CUDA_ERROR_INVALID_HANDLE;
    bool first = handles_remove(&library_handles, p->library) != NULL;
    CUresult result = first ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    struct context_use use;
    for (struct module *module; first && (module = next_loaded(library, &use));) {
        CUresult drained = streams_drain(module->context);
        result = result ? result : drained;
        module_unload(module);
        module_drop(module);
        context_leave(&use);
    }
    if (first) {
        forget_handles(library);
        library_drop(library); /* the handle's */
    }
    library_drop(library);
    return result;
}

CUresult impl_cuLibraryGetKernel(const struct call *call, cuLibraryGetKernel_params *p)
{
    (void)call;
    if (!p->pKernel || !p->name)
        return CUDA_ERROR_INVALID_VALUE;
    struct library *library = library_find(p->library);
    if (!library)
        return CUDA_ERROR_INVALID_HANDLE;
    struct module *blueprint = library->blueprint;
    struct function *function = module_function(blueprint, p->name);
    if (function)
        *p->pKernel = library->kernels[function - blueprint->functions].handle;
    library_drop(library);
    return function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult impl_cuLibraryGetKernelCount(const struct call *call, cuLibraryGetKernelCount_params *p)
{
    (void)call;
    if (!p->count)
        return CUDA_ERROR_INVALID_VALUE;
    struct library *library = library_find(p->lib);
    if (!library)
        return CUDA_ERROR_INVALID_HANDLE;
    *p->count = library->blueprint->function_count;
    library_drop(library);
    return CUDA_SUCCESS;
}

CUresult impl_cuLibraryEnumerateKernels(const struct call *call,
                                        cuLibraryEnumerateKernels_params *p)
{
    (void)call;
    if (!p->kernels || !p->numKernels)
        return CUDA_ERROR_INVALID_VALUE;
    struct library *library = library_find(p->lib);
    if (!library)
        return CUDA_ERROR_INVALID_HANDLE;
    for (unsigned i = 0; i < library->blueprint->function_count && i < p->numKernels; i++)
        p->kernels[i] = library->kernels[i].handle;
    library_drop(library);
    return CUDA_SUCCESS;
}

/* The library's module in the current context, held. */
static CUresult module_of(const struct call *call, CUlibrary handle, struct module **module)
{
    struct library *library = library_find(handle);
    if (!library)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = module_in(library, call->context, module);
    library_drop(library);
    return result;
}

CUresult impl_cuLibraryGetModule(const struct call *call, cuLibraryGetModule_params *p)
{
    struct module *module;
    if (!p->pMod)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = module_of(call, p->library, &module);
    if (result)
        return result;
    *p->pMod = module->handle;
    module_drop(module);
    return CUDA_SUCCESS;
}

CUresult impl_cuLibraryGetGlobal(const struct call *call, cuLibraryGetGlobal_params *p)
{
    struct module *module;
    CUresult result = module_of(call, p->library, &module);
    if (result)
        return result;
    result = module_global(module, p->name, p->dptr, p->bytes);
    module_drop(module);
    return result;
}

/* No library here has managed variables or functions for host and device. */
static CUresult not_found(CUlibrary handle, const void *name)
{
    struct library *library = library_find(handle);
    if (library)
        library_drop(library);
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    return library ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuLibraryGetManaged(const struct call *call, cuLibraryGetManaged_params *p)
{
    (void)call;
    return not_found(p->library, p->name);
}

CUresult impl_cuLibraryGetUnifiedFunction(const struct call *call,
                                          cuLibraryGetUnifiedFunction_params *p)
{
    (void)call;
    return not_found(p->library, p->symbol);
}
