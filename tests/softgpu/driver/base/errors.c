/* errors.c - cuGetErrorName, cuGetErrorString, and the names of errors in the settings. */
#include "driver/base/errors.h"

#include <string.h>
#include "impls.h"

struct error_row {
    CUresult code;
    const char *name, *text;
};

static const struct error_row error_rows[] = {
#define ERROR_ROW(code, text) {code, #code, text},
#include "tables.h"
#undef ERROR_ROW
};

/* Where the real driver's words are other than the name's. */
static const struct error_row texts[] = {
    {CUDA_SUCCESS, NULL, "no error"},
    {CUDA_ERROR_INVALID_VALUE, NULL, "invalid argument"},
    {CUDA_ERROR_NOT_INITIALIZED, NULL, "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, NULL, "driver shutting down"},
    {CUDA_ERROR_NO_DEVICE, NULL, "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, NULL, "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, NULL, "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, NULL, "invalid device context"},
    {CUDA_ERROR_INVALID_PTX, NULL, "a PTX JIT compilation failed"},
    {CUDA_ERROR_INVALID_HANDLE, NULL, "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, NULL, "named symbol not found"},
    {CUDA_ERROR_NOT_READY, NULL, "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, NULL, "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, NULL, "too many resources requested for launch"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, NULL, "the launch timed out and was terminated"},
    {CUDA_ERROR_LAUNCH_FAILED, NULL, "unspecified launch failure"},
    {CUDA_ERROR_NOT_SUPPORTED, NULL, "operation not supported"},
    {CUDA_ERROR_NOT_PERMITTED, NULL, "operation not permitted"},
    {CUDA_ERROR_UNKNOWN, NULL, "unknown error"},
};

static const struct error_row *find_code(CUresult code)
{
    for (size_t i = 0; i < sizeof(error_rows) / sizeof(*error_rows); i++)
        if (error_rows[i].code == code)
            return &error_rows[i];
    return NULL;
}

const char *error_name(CUresult code)
{
    const struct error_row *row = find_code(code);
    return row ? row->name : NULL;
}

const char *error_text(CUresult code)
{
    const struct error_row *row = find_code(code);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (texts[i].code == code)
            return texts[i].text;
    return row ? row->text : NULL;
}

bool error_by_name(const char *name, CUresult *code)
{
    for (size_t i = 0; i < sizeof(error_rows) / sizeof(*error_rows); i++)
        if (!strcmp(error_rows[i].name, name)) {
            *code = error_rows[i].code;
            return true;
        }
    return false;
}

CUresult impl_cuGetErrorName(const struct call *call, cuGetErrorName_params *p)
{
    (void)call;
    if (!p->pStr)
        return CUDA_ERROR_INVALID_VALUE;
    *p->pStr = error_name(p->error);
    return *p->pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuGetErrorString(const struct call *call, cuGetErrorString_params *p)
{
    (void)call;
    if (!p->pStr)
        return CUDA_ERROR_INVALID_VALUE;
    *p->pStr = error_text(p->error);
    return *p->pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
