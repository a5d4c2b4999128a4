/*
 * link.c - cuLink*: programs that have their PTX compiled in this way get it back as it is, for
 * cuModuleLoadData. To link several texts into one is beyond this stand-in.
 */
#include <stdlib.h>
#include <string.h>

#include "driver/call/call.h"
#include "driver/module/code.h"
#include "driver/base/handles.h"
#include "driver/module/jit.h"
#include "impls.h"

struct link {
    pthread_mutex_t lock;
    atomic_uint holders;
    struct jit jit;
    struct image *image; /* NULL until added */
};

static struct handles link_handles = HANDLES_INITIALIZER;

static void hold(void *object)
{
    atomic_fetch_add(&((struct link *)object)->holders, 1);
}

static void drop(struct link *link)
{
    if (atomic_fetch_sub(&link->holders, 1) > 1)
        return;
    pthread_mutex_destroy(&link->lock);
    image_drop(link->image);
    free(link);
}

static struct link *find(CUlinkState handle)
{
    return handles_find(&link_handles, handle, hold);
}

CUresult impl_cuLinkCreate_v2(const struct call *call, cuLinkCreate_v2_params *p)
{
    (void)call;
    struct jit jit;
    CUresult result = jit_read(p->numOptions, p->options, p->optionValues, &jit);
    if (result || !p->stateOut)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    struct link *link = calloc(1, sizeof(*link));
    if (!link)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&link->lock, NULL);
    atomic_init(&link->holders, 1);
    link->jit = jit;
    *p->stateOut = handles_add(&link_handles, link);
    if (!*p->stateOut) {
        drop(link);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* Whether the text is PTX that this stand-in reads, by a load into no context. */
static CUresult check(struct image *image, struct error *err)
{
    struct module *trial = NULL;
    CUresult result = module_create(NULL, image, &trial, err);
    module_drop(trial);
    return result;
}

/* Takes `image`, which may be NULL after an error. */
static CUresult add(CUlinkState handle, CUresult result, struct image *image, struct error *err)
{
    struct jit_clock clock = jit_start();
    struct link *link = find(handle);
    if (!link) {
        image_drop(image);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    pthread_mutex_lock(&link->lock);
    if (!result)
        result = check(image, err);
    if (!result && link->image) {
        error_set(err, STATUS_UNSUPPORTED, "softgpu does not link several images into one");
        result = CUDA_ERROR_NOT_SUPPORTED;
    }
    if (!result)
        link->image = image_hold(image);
    jit_finish(&link->jit, result, err, clock);
    pthread_mutex_unlock(&link->lock);
    drop(link);
    image_drop(image);
    return result;
}

static bool is_readable(CUjitInputType type)
{
    return type == CU_JIT_INPUT_PTX || type == CU_JIT_INPUT_FATBINARY || type == CU_JIT_INPUT_CUBIN;
}

CUresult impl_cuLinkAddData_v2(const struct call *call, cuLinkAddData_v2_params *p)
{
    (void)call;
    struct jit ignored;
    struct error err = {{0}};
    struct image *image = NULL;
    CUresult result = jit_read(p->numOptions, p->options, p->optionValues, &ignored);
    if (result || !p->data || !p->size || !is_readable(p->type))
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    result = image_from_bytes(p->data, p->size, &image, &err);
    return add(p->state, result, image, &err);
}

CUresult impl_cuLinkAddFile_v2(const struct call *call, cuLinkAddFile_v2_params *p)
{
    (void)call;
    struct jit ignored;
    struct error err = {{0}};
    struct image *image = NULL;
    CUresult result = jit_read(p->numOptions, p->options, p->optionValues, &ignored);
    if (result || !p->path || !is_readable(p->type))
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    result = image_from_file(p->path, &image, &err);
    return add(p->state, result, image, &err);
}

CUresult impl_cuLinkComplete(const struct call *call, cuLinkComplete_params *p)
{
    (void)call;
    if (!p->cubinOut)
        return CUDA_ERROR_INVALID_VALUE;
    struct link *link = find(p->state);
    if (!link)
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&link->lock);
    struct image *image = link->image;
    if (image) {
        *p->cubinOut = image->text;
        if (p->sizeOut)
            *p->sizeOut = image->bytes + 1; /* with the NUL, which a load needs */
    }
    pthread_mutex_unlock(&link->lock);
    drop(link);
    return image ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

CUresult impl_cuLinkDestroy(const struct call *call, cuLinkDestroy_params *p)
{
    (void)call;
    struct link *link = handles_remove(&link_handles, p->state);
    if (!link)
        return CUDA_ERROR_INVALID_HANDLE;
    drop(link);
    return CUDA_SUCCESS;
}
