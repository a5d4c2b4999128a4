/*
 * code.h - modules and functions as objects, between code.c, module.c, library.c, function.c,
 * occupancy.c and launch.c.
 *
 * A module is one PTX text made ready for one context: parsed, its variables placed in the device's
 * memory. A library's blueprint is a module of no context, with its variables in host memory: what
 * can be queried of a CUkernel without a context is queried there. A function is one of a module's
 * kernels, and lives with it.
 *
 * A module in use is held: calls hold what a handle resolves to, launches hold it until they
 * are dropped. An unloaded module has lost its handles and its memory; the rest goes with the last
 * holder.
 *
 * Threads: any. Locks: each library's own around first loads in a context, one for the lists, the
 * handle tables' as leaves. No lock is held while a subscriber's callback runs.
 */
#ifndef SOFTGPU_CODE_H
#define SOFTGPU_CODE_H

#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "driver/module/image.h"
#include "exec/exec.h"
#include "ptx/ptx.h"

struct call;
struct context;
struct device;
struct function;
struct kernel;
struct library;
struct placed;

/* What cuFuncSetAttribute sets, by CUfunction_attribute. Those of a library's kernel are one set
 * for a device. */
struct function_attributes {
    atomic_int value[CU_FUNC_ATTRIBUTE_MAX];
};

/* cuFuncSetBlockShape and its kin. */
struct legacy_launch {
    pthread_mutex_t lock;
    unsigned block[3], shared, param_bytes;
    uint8_t params[4096];
};

struct function {
    struct module *module;
    struct exec_function *exec;
    const struct ptx_function *ptx;
    const struct exec_info *info;
    CUfunction handle;
    struct kernel *kernel; /* NULL: of a plain module */
    struct function_attributes *attributes, own_attributes;
    atomic_int state; /* of function_prepare */
    _Atomic(struct legacy_launch *) legacy;
};

struct module {
    atomic_uint holders;
    atomic_bool loaded;
    struct context *context; /* NULL: a blueprint */
    struct library *library; /* NULL: a plain module */
    CUmodule handle;
    uint32_t id;
    struct image *image;
    struct ptx_module *ptx;
    struct exec_host host;
    struct exec_module *exec;
    struct placed *placed; /* the variables' memory */
    unsigned function_count;
    struct function *functions;
    struct module *next, **link; /* of its context */
    struct module *next_of_library;
};

/* -- code.c -- */

/* Not announced, and in no list. `err` has the sentence of CUDA_ERROR_INVALID_PTX. The caller holds
 * it. */
CUresult module_create(struct context *context, struct image *image, struct module **module,
                       struct error *err);
/* Into the context's list, with handles; subscribers are called by module_announce(), without
 * locks. */
CUresult module_publish(struct module *module);
void module_announce(const struct module *module);
/* Takes the handles and the memory away, and lets go of it; announced. Work under way must have
 * ended. Does nothing when that was done. */
void module_unload(struct module *module);
void module_drop(struct module *module);

/* Held for the caller; NULL: no such handle. */
struct module *module_find(CUmodule handle);
struct function *function_find(CUfunction handle);
struct function *function_hold(struct function *function);
void function_drop(struct function *function);

/* What a launch or a question names: a CUfunction, or a CUkernel, which means its function in
 * `context`, loaded there now where need be. Held. CUDA_ERROR_INVALID_HANDLE: neither. */
CUresult function_resolve(const void *handle, struct context *context, struct function **function);

/* Decodes it. CUDA_ERROR_INVALID_PTX, with one sentence on standard error, where it cannot be run.
 */
CUresult function_prepare(struct function *function);
bool function_is_prepared(const struct function *function);

/* NULL where the module has none of that name. */
struct function *module_function(struct module *module, const char *name);

/* Whether CUDA_MODULE_LOADING is for all at once. */
bool loading_is_eager(void);

/* -- module.c -- */

/* Modules cannot be loaded in a capture by drivers older than 12.3: capture_check_unsafe() then. */
CUresult loading_check(const struct call *call);
CUresult module_global(const struct module *module, const char *name, CUdeviceptr *address,
                       size_t *bytes);

/* -- library.c -- */

/* The kernel's function in `context`, held. */
CUresult kernel_function(struct kernel *kernel, struct context *context,
                         struct function **function);
/* Held by way of its library; NULL: no such handle. */
struct kernel *kernel_find(CUkernel handle);
void kernel_drop(struct kernel *kernel);
/* NULL: no such handle. Lives as long as the library. */
const char *kernel_symbol(CUkernel handle);
void library_drop(struct library *library); /* a module's hold of it */
/* A context ends or a module is unloaded: the library drops its entry. */
void library_forget(struct library *library, struct module *module);

/* -- function.c -- */

/* `function` may be of a blueprint; `attributes` are those of its device. */
void function_attributes_init(struct function_attributes *attributes,
                              const struct function *function);
CUresult function_attribute_get(struct function *function,
                                const struct function_attributes *attributes,
                                CUfunction_attribute attribute, int *value);
CUresult function_attribute_set(struct function *function, struct function_attributes *attributes,
                                const struct device *device, CUfunction_attribute attribute,
                                int value);
/* The dynamic shared memory that a block may have. The function is prepared. */
int function_max_dynamic(const struct function *function,
                         const struct function_attributes *attributes);
CUresult function_param_info(const struct function *function, size_t index, size_t *offset,
                             size_t *bytes);
/* 32-bit registers of a thread as a compiler would give it: never so many that the largest block
 * that the kernel allows could not be launched. */
unsigned function_registers(const struct function *function);

#endif
