/* proc.c - cuGetProcAddress: the exported function of a name, a version and a kind of default
 * stream. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "driver/base/settings.h"
#include "impls.h"

static const struct version_row {
    const char *base, *symbol;
    int version;
} version_rows[] = {
#define VERSION_ROW(base, symbol, version) {base, symbol, version},
#include "tables.h"
#undef VERSION_ROW
};

enum {
    PROC_FLAGS = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
};

static void *address_of(const char *symbol, const char *suffix)
{
    char name[128];
    snprintf(name, sizeof(name), "%s%s", symbol, suffix);
    const struct entry *entry = entry_find(name);
    return entry ? entry_addresses[entry - entries] : NULL;
}

static void *find_symbol(const char *symbol, bool per_thread)
{
    void *found = per_thread ? address_of(symbol, "_ptsz") : NULL;
    if (!found && per_thread)
        found = address_of(symbol, "_ptds");
    return found ? found : address_of(symbol, "");
}

/* The newest version of `base` that is not newer than `version` and that we have. */
static void *find_version(const char *base, int version, bool per_thread, bool *newer)
{
    void *found = NULL;
    *newer = false;
    for (size_t i = 0; i < sizeof(version_rows) / sizeof(*version_rows); i++) {
        const struct version_row *row = &version_rows[i];
        if (strcmp(row->base, base))
            continue;
        void *symbol = find_symbol(row->symbol, per_thread);
        if (row->version <= version && symbol)
            found = symbol;
        else if (symbol)
            *newer = true;
    }
    return found;
}

static CUresult find_proc(const char *symbol, void **pfn, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status)
{
    bool newer;
    if (!symbol || !pfn || flags & ~(cuuint64_t)PROC_FLAGS || flags == PROC_FLAGS ||
        version > (int)settings()->version)
        return CUDA_ERROR_INVALID_VALUE;
    *pfn = find_version(symbol, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                        &newer);
    *status = *pfn    ? CU_GET_PROC_ADDRESS_SUCCESS
              : newer ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                      : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

CUresult impl_cuGetProcAddress(const struct call *call, cuGetProcAddress_params *p)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result = find_proc(p->symbol, p->pfn, p->cudaVersion, p->flags, &status);
    (void)call;
    return result || !status ? result : CUDA_ERROR_NOT_FOUND;
}

CUresult impl_cuGetProcAddress_v2(const struct call *call, cuGetProcAddress_v2_params *p)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    CUresult result = find_proc(p->symbol, p->pfn, p->cudaVersion, p->flags, &status);
    (void)call;
    if (p->symbolStatus)
        *p->symbolStatus = status;
    return result;
}

/* The tables that NVIDIA's own libraries share with the driver are not public: there are none. */
CUresult impl_cuGetExportTable(const struct call *call, cuGetExportTable_params *p)
{
    (void)call;
    if (!p->ppExportTable || !p->pExportTableId)
        return CUDA_ERROR_INVALID_VALUE;
    *p->ppExportTable = NULL;
    return CUDA_ERROR_NOT_FOUND;
}
