/* entry_proc.c - cuInit and cuGetProcAddress, which hands the other wrappers out. */
#include "hook/entry_table.h"

typedef CUresult resolve_fn(const char *name, void **given, int version, cuuint64_t flags,
                            CUdriverProcAddressQueryResult *status);

/* Both generations of the driver's resolver, by one signature. */
static CUresult resolve_first(const char *name, void **given, int version, cuuint64_t flags,
                              CUdriverProcAddressQueryResult *status)
{
    CUresult (*real)(const char *, void **, int, cuuint64_t) = entry_real(ENTRY_cuGetProcAddress);
    (void)status;
    return real ? real(name, given, version, flags) : CUDA_ERROR_NOT_INITIALIZED;
}

static CUresult resolve_second(const char *name, void **given, int version, cuuint64_t flags,
                               CUdriverProcAddressQueryResult *status)
{
    resolve_fn *real = entry_real(ENTRY_cuGetProcAddress_v2);
    return real ? real(name, given, version, flags, status) : CUDA_ERROR_NOT_INITIALIZED;
}

/* Whether the caller's CUDA is newer than the table of wrappers, and its driver has a newer form of
 * the function: no wrapper stands for that. */
static bool is_newer(resolve_fn *resolve, const char *name, void *given, int version,
                     cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    void *known = NULL;
    return version > CUDA_VERSION &&
           (resolve(name, &known, CUDA_VERSION, flags, &status) || known != given);
}

static CUresult hand_out_entry(resolve_fn *resolve, const char *name, void **given, int version,
                               cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    CUresult result = resolve(name, given, version, flags, status);
    if (result || !name || !given || !*given || is_newer(resolve, name, *given, version, flags))
        return result;
    *given = entry_substitute(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                              *given);
    return result;
}

ENTRY_WRAPPER(cuGetProcAddress)(const char *name, void **given, int version, cuuint64_t flags);
ENTRY_WRAPPER(cuGetProcAddress)(const char *name, void **given, int version, cuuint64_t flags)
{
    return hand_out_entry(resolve_first, name, given, version, flags, NULL);
}

ENTRY_WRAPPER(cuGetProcAddress_v2)
(const char *name, void **given, int version, cuuint64_t flags,
 CUdriverProcAddressQueryResult *status);
ENTRY_WRAPPER(cuGetProcAddress_v2)
(const char *name, void **given, int version, cuuint64_t flags,
 CUdriverProcAddressQueryResult *status)
{
    return hand_out_entry(resolve_second, name, given, version, flags, status);
}

/* Under the driver's own names, for programs that are linked with it. */
__attribute__((visibility("default"), alias("cuvet_entry_cuGetProcAddress"))) CUresult CUDAAPI
cuGetProcAddress(const char *name, void **given, int version, cuuint64_t flags);
__attribute__((visibility("default"), alias("cuvet_entry_cuGetProcAddress_v2"))) CUresult CUDAAPI
cuGetProcAddress_v2(const char *name, void **given, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult *status);

ENTRY_WRAPPER(cuInit)(unsigned flags);
ENTRY_WRAPPER(cuInit)(unsigned flags)
{
    CUresult (*real)(unsigned) = entry_real(ENTRY_cuInit);
    entry_before_init();
    CUresult result = real ? real(flags) : CUDA_ERROR_NOT_INITIALIZED;
    if (result == CUDA_SUCCESS)
        entry_after_init();
    return result;
}
