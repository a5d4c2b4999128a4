#include "driver/cuda_api.h"

#include <dlfcn.h>
#include "driver/load.h"

struct cuda_api cuda;

#define TEXT(name)    TEXT_OF(name)
#define TEXT_OF(name) #name

static const struct load_entry cuda_entries[] = {
#define CUDA_API(name)          {TEXT(name), offsetof(struct cuda_api, name), true},
#define CUDA_API_OPTIONAL(name) {TEXT(name), offsetof(struct cuda_api, name), false},
#include "driver/cuda_api.def"
#undef CUDA_API
#undef CUDA_API_OPTIONAL
};

enum status cuda_api_load(struct error *err)
{
    /* Never a second load: the caller of cuInit has the right library mapped. */
    void *library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
    if (!library)
        return error_set(err, STATUS_NOT_FOUND, "libcuda.so.1 is not loaded in this process");
    return load_entries(&cuda, library, cuda_entries, sizeof(cuda_entries) / sizeof(*cuda_entries),
                        err);
}

const char *cuda_error_name(CUresult result)
{
    const char *name = NULL;
    if (!cuda.cuGetErrorName || cuda.cuGetErrorName(result, &name) || !name)
        return "unknown CUDA error";
    return name;
}

enum status cuda_check(struct error *err, CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return STATUS_OK;
    return error_set(err, STATUS_DRIVER, "%s: %s", what, cuda_error_name(result));
}
