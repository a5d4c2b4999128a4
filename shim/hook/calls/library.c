#include "hook/calls/library.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/uninterrupted.h"
#include "driver/cuda_api.h"
#include "system/log.h"

struct function_row {
    const char *name, *library; /* how the library's file name begins */
    unsigned number;            /* of the library */
};

static const struct function_row library_functions[] = {
#define BLAS_FUNCTION(name) [LIBRARY_##name] = {#name, "libcublas.so", 0},
#define LT_FUNCTION(name)   [LIBRARY_##name] = {#name, "libcublasLt.so", 1},
#define DNN_FUNCTION(name)  [LIBRARY_##name] = {#name, "libcudnn.so", 2},
#include "hook/calls/functions.def"
#undef BLAS_FUNCTION
#undef LT_FUNCTION
#undef DNN_FUNCTION
};

/* Return addresses of callers, and the copy that each of them calls. */
enum { SITES = 1 << 10, SITE_PROBES = 16 };

static struct {
    pthread_mutex_t lock;
    struct library *first;
    struct site {
        _Atomic(uintptr_t) key; /* 0: free */
        _Atomic(struct library *) library;
    } site[SITES];
} libraries = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One address may call functions of several libraries: ctypes and the like do. */
static uintptr_t site_key(enum library_function function, const void *site)
{
    return (uintptr_t)site * 4 + library_functions[function].number;
}

static struct site *site_place(uintptr_t key)
{
    uint64_t at = (uint64_t)key * 0x9E3779B97F4A7C15u >> 40;
    for (int i = 0; i < SITE_PROBES; i++, at++) {
        struct site *place = &libraries.site[at % SITES];
        uintptr_t there = atomic_load_explicit(&place->key, memory_order_acquire);
        if (!there || there == key)
            return place;
    }
    return NULL;
}

/* Whether the address lies in this library of ours: then it is a wrapper, not the real function. */
static bool address_is_own(const void *address)
{
    Dl_info there, own;
    return dladdr(address, &there) && dladdr((const void *)library_functions, &own) &&
           there.dli_fbase == own.dli_fbase;
}

static void *not_own(void *address)
{
    return address && !address_is_own(address) ? address : NULL;
}

/* What the caller's own dependencies have under the name. */
static void *through_caller(const char *name, const void *site)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(site, &info, (void **)&map, RTLD_DL_LINKMAP) || !map || !*map->l_name)
        return NULL;
    void *handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    void *address = handle ? dlsym(handle, name) : NULL;
    if (handle)
        dlclose(handle);
    return not_own(address);
}

struct search {
    const char *prefix;
    char *path;
};

static int visit_object(struct dl_phdr_info *info, size_t size, void *user)
{
    struct search *search = user;
    const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    (void)size;
    if (!base || strncmp(base + 1, search->prefix, strlen(search->prefix)) != 0)
        return 0;
    search->path = strdup(info->dlpi_name);
    return 1;
}

/* The first copy that is loaded, for callers that found it by dlopen. */
static void *through_loaded(const struct function_row *row)
{
    struct search search = {row->library, NULL};
    dl_iterate_phdr(visit_object, &search);
    void *handle = search.path ? dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *address = handle ? dlsym(handle, row->name) : NULL;
    if (handle)
        dlclose(handle);
    free(search.path);
    return not_own(address);
}

static void fill_queries(struct library *library)
{
    struct library_queries *query = &library->query;
    const struct {
        const char *name;
        void *out;
    } rows[] = {
        {"cublasGetStream_v2", &query->get_stream},
        {"cublasGetPointerMode_v2", &query->get_pointer_mode},
        {"cublasGetMathMode", &query->get_math_mode},
        {"cublasLtMatmulDescGetAttribute", &query->desc_get},
        {"cublasLtMatmulAlgoConfigGetAttribute", &query->algorithm_get},
        {"cublasLtMatrixLayoutGetAttribute", &query->layout_get},
        {"cudnnGetStream", &query->dnn_get_stream},
        {"cudnnGetTensorNdDescriptor", &query->tensor_get},
        {"cudnnGetFilterNdDescriptor", &query->filter_get},
        {"cudnnGetConvolutionNdDescriptor", &query->window_get},
        {"cudnnGetConvolutionMathType", &query->window_math},
        {"cudnnGetActivationDescriptor", &query->activation_get},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *address = dlsym(library->handle, rows[i].name);
        memcpy(rows[i].out, &address, sizeof address);
    }
    size_t (*version)(void);
    void *address = dlsym(library->handle, "cublasLtGetVersion");
    memcpy(&version, &address, sizeof address);
    library->version = version ? (int64_t)version() : 0;
}

/* The copy that an address of it lies in. Lock held; NULL: no memory, or it cannot be opened. */
static struct library *library_at(const void *address)
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname)
        return NULL;
    void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    struct library *library = libraries.first;
    while (library && library->handle != handle)
        library = library->next;
    if (library || !handle) {
        if (handle)
            dlclose(handle);
        return library;
    }
    library = calloc(1, sizeof *library);
    if (!library) {
        dlclose(handle);
        return NULL;
    }
    library->handle = handle;
    fill_queries(library);
    library->next = libraries.first;
    return libraries.first = library;
}

static struct library *find_library_slowly(enum library_function function, const void *site)
{
    const struct function_row *row = &library_functions[function];
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    void *real = through_caller(row->name, site);
    if (!real)
        real = not_own(dlsym(RTLD_NEXT, row->name));
    if (!real)
        real = through_loaded(row);
    pthread_mutex_lock(&libraries.lock);
    struct library *library = real ? library_at(real) : NULL;
    struct site *place = site_place(site_key(function, site));
    if (library && place) {
        atomic_store_explicit(&place->library, library, memory_order_release);
        atomic_store_explicit(&place->key, site_key(function, site), memory_order_release);
    }
    pthread_mutex_unlock(&libraries.lock);
    uninterrupted_end(&kept);
    return library;
}

struct library *library_find(enum library_function function, const void *site)
{
    uintptr_t key = site_key(function, site);
    struct site *place = site_place(key);
    if (place && atomic_load_explicit(&place->key, memory_order_acquire) == key)
        return atomic_load_explicit(&place->library, memory_order_acquire);
    return find_library_slowly(function, site);
}

const void *library_context(void)
{
    CUcontext context = NULL;
    CUresult result =
        cuda.cuCtxGetCurrent ? cuda.cuCtxGetCurrent(&context) : CUDA_ERROR_NOT_SUPPORTED;
    if (result)
        log_once(LOG_WARN, "some library calls are not checked: cuCtxGetCurrent: %s",
                 cuda_error_name(result));
    return result ? NULL : (const void *)(uintptr_t)context;
}

void *library_function(struct library *library, enum library_function function)
{
    _Atomic(void *) *place = &library->function[function];
    void *address = atomic_load_explicit(place, memory_order_acquire);
    if (!address) {
        address = not_own(dlsym(library->handle, library_functions[function].name));
        atomic_store_explicit(place, address, memory_order_release);
    }
    return address;
}
