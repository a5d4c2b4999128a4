/* names.c - the exported functions that give names: of callbacks, of results, of this version. */
#define CUPTI_LIB /* the header then exports what it declares */
#include <cupti.h>

#include <stdint.h>

enum { RESULTS = CUPTI_ERROR_UNKNOWN + 1 };

/* Three passes over the rows that gen-names took from CUPTI's headers. */
static const char *const driver_names[CUPTI_DRIVER_TRACE_CBID_SIZE] = {
#define NAME(table, number, text) NAME_##table(number, text)
#define NAME_driver(number, text) [number] = text,
#define NAME_runtime(number, text)
#define NAME_result(number, text)
#include "cupti_names.inc"
#undef NAME_driver
#undef NAME_runtime
};

static const char *const runtime_names[CUPTI_RUNTIME_TRACE_CBID_SIZE] = {
#define NAME_driver(number, text)
#define NAME_runtime(number, text) [number] = text,
#include "cupti_names.inc"
#undef NAME_runtime
#undef NAME_result
};

static const char *const result_names[RESULTS] = {
#define NAME_runtime(number, text)
#define NAME_result(number, text) [number] = text,
#include "cupti_names.inc"
};

static const char *name_in(const char *const *names, uint32_t count, uint32_t number)
{
    return number < count ? names[number] : NULL;
}

/* Only API callbacks have names. */
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    if (!name)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = NULL;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
        *name = name_in(driver_names, CUPTI_DRIVER_TRACE_CBID_SIZE, cbid);
    else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
        *name = name_in(runtime_names, CUPTI_RUNTIME_TRACE_CBID_SIZE, cbid);
    return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
    if (!str)
        return CUPTI_ERROR_INVALID_PARAMETER;
    const char *name = name_in(result_names, RESULTS, (uint32_t)result);
    *str = name ? name : "<unknown>";
    return name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

/* The real one has a sentence for a few results, and the name for the others. */
CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **str)
{
    if (!str)
        return CUPTI_ERROR_INVALID_PARAMETER;
    cuptiGetResultString(result, str);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
    if (!version)
        return CUPTI_ERROR_INVALID_PARAMETER;
    const char *other = getenv("SOFTGPU_CUPTI");
    *version = other ? (uint32_t)atoi(other) : CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}
