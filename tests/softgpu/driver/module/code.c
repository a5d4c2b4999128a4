/* code.c - modules and functions as objects: made, found, held, unloaded. */
#include "driver/module/code.h"

#include <stdlib.h>
#include <string.h>
#include "driver/context/device.h"
#include "driver/base/handles.h"
#include "driver/call/hooks.h"
#include "driver/memory/memory.h"
#include "driver/module/module.h"
#include "driver/base/resource_ids.h"
#include "driver/base/settings.h"

/* Where a variable lies, until the module is unloaded. */
struct placed {
    struct placed *next;
    CUdeviceptr address;
    size_t bytes;
};

enum { UNPREPARED, PREPARED, UNUSABLE };

struct context_code {
    struct module *modules;
};

static struct handles module_handles = HANDLES_INITIALIZER;
static struct handles function_handles = HANDLES_INITIALIZER;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint last_id;

bool loading_is_eager(void)
{
    const char *mode = getenv("CUDA_MODULE_LOADING");
    return mode && !strcmp(mode, "EAGER");
}

/* -- memory -- */

static bool place_variable(void *user, const struct ptx_variable *variable, uint64_t *address)
{
    struct module *module = user;
    struct placed *placed = malloc(sizeof(*placed));
    if (!placed)
        return false;
    placed->bytes = variable->bytes ? variable->bytes : 1;
    if (module->context) {
        if (memory_allocate(module->context, MEMORY_MODULE, placed->bytes, true,
                            &placed->address)) {
            free(placed);
            return false;
        }
    } else {
        /* A blueprint's; malloc's own alignment would be too little. */
        size_t room = (placed->bytes + 511) / 512 * 512;
        void *memory = aligned_alloc(512, room);
        if (!memory) {
            free(placed);
            return false;
        }
        memset(memory, 0, room);
        placed->address = (CUdeviceptr)memory;
    }
    placed->next = module->placed;
    module->placed = placed;
    *address = placed->address;
    return true;
}

static bool find_range(void *user, uint64_t address, struct exec_range *range)
{
    const struct module *module = user;
    if (module->context)
        return memory_find(module->context, address, range);
    for (const struct placed *placed = module->placed; placed; placed = placed->next)
        if (address - placed->address < placed->bytes) {
            *range = (struct exec_range){placed->address, placed->bytes,
                                         (uint8_t *)(uintptr_t)placed->address, true};
            return true;
        }
    return false;
}

static void release_placed(struct module *module)
{
    while (module->placed) {
        struct placed *placed = module->placed;
        module->placed = placed->next;
        if (module->context)
            memory_release(module->context, MEMORY_MODULE, placed->address);
        else
            free((void *)(uintptr_t)placed->address);
        free(placed);
    }
}

/* -- making one -- */

static void destroy(struct module *module)
{
    for (unsigned i = 0; i < module->function_count; i++) {
        struct legacy_launch *legacy = module->functions[i].legacy;
        if (legacy)
            pthread_mutex_destroy(&legacy->lock);
        free(legacy);
    }
    exec_module_free(module->exec);
    release_placed(module);
    ptx_free(module->ptx);
    image_drop(module->image);
    free(module->functions);
    if (module->library)
        library_drop(module->library);
    free(module);
}

static CUresult make_functions(struct module *module)
{
    module->functions = calloc(module->ptx->function_count + 1, sizeof(*module->functions));
    if (!module->functions)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; i < module->ptx->function_count; i++) {
        const struct ptx_function *ptx = &module->ptx->functions[i];
        struct exec_function *exec =
            ptx->is_entry && ptx->has_body ? exec_find_kernel(module->exec, ptx->name) : NULL;
        if (!exec)
            continue;
        struct function *function = &module->functions[module->function_count++];
        function->module = module;
        function->exec = exec;
        function->ptx = ptx;
        function->info = exec_describe(exec);
        function->attributes = &function->own_attributes;
        function_attributes_init(&function->own_attributes, function);
    }
    return CUDA_SUCCESS;
}

/* "sm_90a" is for that device alone, "sm_100f" for its family. */
static bool target_fits(const struct ptx_module *ptx, unsigned arch)
{
    size_t length = strlen(ptx->target);
    char last = length ? ptx->target[length - 1] : '\0';
    if (last == 'a')
        return ptx->arch == arch;
    return ptx->arch <= arch && (last != 'f' || ptx->arch / 10 == arch / 10);
}

static CUresult parse(struct module *module, struct error *err)
{
    enum status status =
        ptx_read(module->image->text, module->image->bytes, "ptx", &module->ptx, err);
    if (!status && module->ptx->address_size != 64)
        status = error_set(err, STATUS_UNSUPPORTED, "the PTX is for 32-bit addresses");
    if (!status && !target_fits(module->ptx, settings()->arch))
        status =
            error_set(err, STATUS_INVALID, "the PTX is for %s, the device is sm_%u (SOFTGPU_ARCH)",
                      module->ptx->target, settings()->arch);
    if (!status)
        status = exec_module_create(module->ptx, &module->host, &module->exec, err);
    if (status)
        return status == STATUS_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
    return make_functions(module);
}

static CUresult prepare_all(struct module *module, struct error *err)
{
    for (unsigned i = 0; i < module->function_count; i++) {
        if (exec_prepare(module->functions[i].exec, err))
            return CUDA_ERROR_INVALID_PTX;
        atomic_store(&module->functions[i].state, PREPARED);
    }
    return CUDA_SUCCESS;
}

CUresult module_create(struct context *context, struct image *image, struct module **out,
                       struct error *err)
{
    struct module *module = calloc(1, sizeof(*module));
    if (!module)
        return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_init(&module->holders, 1);
    module->context = context;
    module->image = image_hold(image);
    module->id = atomic_fetch_add(&last_id, 1) + 1;
    module->host = (struct exec_host){module, find_range, place_variable};
    CUresult result = parse(module, err);
    if (!result && context && loading_is_eager())
        result = prepare_all(module, err);
    if (result) {
        destroy(module);
        return result;
    }
    *out = module;
    return CUDA_SUCCESS;
}

static void announce(const struct module *module, unsigned what)
{
    struct hook_resource event = {
        .cbid = what,
        .context = context_handle(module->context),
        .module_id = module->id,
        .image = module->image->text,
        .image_bytes = module->image->bytes,
    };
    hooks_resource(&event);
}

static void forget_handles(struct module *module)
{
    handles_remove(&module_handles, module->handle);
    for (unsigned i = 0; i < module->function_count; i++)
        handles_remove(&function_handles, module->functions[i].handle);
}

CUresult module_publish(struct module *module)
{
    struct context_code *code = context_state(module->context, &context_modules);
    bool ok = (module->handle = handles_add(&module_handles, module)) != NULL;
    for (unsigned i = 0; i < module->function_count; i++) {
        struct function *function = &module->functions[i];
        ok = ok && (function->handle = handles_add(&function_handles, function)) != NULL;
    }
    if (!ok) {
        forget_handles(module);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&list_lock);
    module->next = code->modules;
    module->link = &code->modules;
    if (module->next)
        module->next->link = &module->next;
    code->modules = module;
    atomic_store(&module->loaded, true);
    pthread_mutex_unlock(&list_lock);
    return CUDA_SUCCESS;
}

void module_announce(const struct module *module)
{
    announce(module, RESOURCE_MODULE_LOADED);
}

void module_unload(struct module *module)
{
    if (!atomic_exchange(&module->loaded, false))
        return;
    announce(module, RESOURCE_MODULE_UNLOAD_STARTING);
    forget_handles(module);
    pthread_mutex_lock(&list_lock);
    *module->link = module->next;
    if (module->next)
        module->next->link = module->link;
    pthread_mutex_unlock(&list_lock);
    if (module->library)
        library_forget(module->library, module);
    release_placed(module);
    module_drop(module);
}

/* -- holding -- */

static void hold_module(void *object)
{
    atomic_fetch_add(&((struct module *)object)->holders, 1);
}

static void hold_function(void *object)
{
    hold_module(((struct function *)object)->module);
}

void module_drop(struct module *module)
{
    if (module && atomic_fetch_sub(&module->holders, 1) == 1)
        destroy(module);
}

struct module *module_find(CUmodule handle)
{
    return handles_find(&module_handles, handle, hold_module);
}

struct function *function_find(CUfunction handle)
{
    return handles_find(&function_handles, handle, hold_function);
}

struct function *function_hold(struct function *function)
{
    hold_function(function);
    return function;
}

void function_drop(struct function *function)
{
    if (function)
        module_drop(function->module);
}

CUresult function_resolve(const void *handle, struct context *context, struct function **function)
{
    *function = function_find((CUfunction)(uintptr_t)handle);
    if (*function)
        return CUDA_SUCCESS;
    struct kernel *kernel = kernel_find((CUkernel)(uintptr_t)handle);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = kernel_function(kernel, context, function);
    kernel_drop(kernel);
    return result;
}

CUresult function_prepare(struct function *function)
{
    struct error err = {{0}};
    int state = atomic_load_explicit(&function->state, memory_order_acquire);
    if (state == PREPARED)
        return CUDA_SUCCESS;
    if (state == UNPREPARED) {
        if (!exec_prepare(function->exec, &err)) {
            atomic_store_explicit(&function->state, PREPARED, memory_order_release);
            return CUDA_SUCCESS;
        }
        if (atomic_exchange(&function->state, UNUSABLE) == UNPREPARED)
            say(err.text);
    }
    return CUDA_ERROR_INVALID_PTX;
}

bool function_is_prepared(const struct function *function)
{
    return atomic_load(&function->state) == PREPARED;
}

struct function *module_function(struct module *module, const char *name)
{
    for (unsigned i = 0; i < module->function_count; i++)
        if (!strcmp(module->functions[i].ptx->name, name))
            return &module->functions[i];
    return NULL;
}

/* -- contexts -- */

static CUresult open_context(struct context *context, void **state)
{
    (void)context;
    struct context_code *code = calloc(1, sizeof(*code));
    *state = code;
    return code ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void close_context(struct context *context, void *state)
{
    (void)context;
    struct context_code *code = state;
    while (code->modules)
        module_unload(code->modules);
    free(code);
}

const struct context_part context_modules = {open_context, close_context};
