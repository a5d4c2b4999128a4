#include "driver/cupti_api.h"

#include <stdio.h>
#include <string.h>
#include "driver/find.h"
#include "driver/load.h"

struct cupti_api cupti;

static const struct load_entry cupti_entries[] = {
    {"cuptiSubscribe", offsetof(struct cupti_api, subscribe), true},
    {"cuptiUnsubscribe", offsetof(struct cupti_api, unsubscribe), true},
    {"cuptiEnableCallback", offsetof(struct cupti_api, enable), true},
    {"cuptiGetResultString", offsetof(struct cupti_api, result_text), true},
    {"cuptiSubscribe_v2", offsetof(struct cupti_api, subscribe_v2), false},
    {"cuptiGetVersion", offsetof(struct cupti_api, version), false},
};

static const char *const cupti_folders[] = {
    "/lib64", "/extras/CUPTI/lib64", "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib", NULL};
static const struct find_library cupti_library = {"libcupti.so", "CUVET_CUPTI", cupti_folders,
                                                  "/cuda_cupti/lib"};

enum status cupti_api_load(const char *path, int driver_major, struct error *err)
{
    struct find_hints hints = {.path = path, .major = driver_major};
    find_homes(&hints);
    void *library = find_library(&cupti_library, &hints, err);
    if (!library)
        return STATUS_NOT_FOUND;
    return load_entries(&cupti, library, cupti_entries,
                        sizeof(cupti_entries) / sizeof(*cupti_entries), err);
}

const char *cupti_error_text(CUptiResult result)
{
    const char *text = NULL;
    if (!cupti.result_text || cupti.result_text(result, &text) || !text)
        return "unknown CUPTI error";
    return text;
}

CUptiResult cupti_share(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback)
{
    enum { FIRST_VERSION = 130300 };
    /* CUpti_SubscriberParams, as headers have it since 13.2. */
    struct shared_params {
        size_t size;
        const char *name;
        char *holder;
        size_t holder_size;
        uint8_t allow_others, padding[7];
    } params = {.size = sizeof(params), .name = "cuvet", .allow_others = 1};
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *,
                             struct shared_params *);
    uint32_t version = 0;
    if (!cupti.subscribe_v2 || !cupti.version || cupti.version(&version) || version < FIRST_VERSION)
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    memcpy(&subscribe, &cupti.subscribe_v2, sizeof(subscribe));
    return subscribe(out, callback, NULL, &params);
}

void cupti_holder(char *name, size_t size)
{
    snprintf(name, size, "another tool");
#if CUPTI_API_VERSION >= 130000
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *,
                             CUpti_SubscriberParams *);
    CUpti_SubscriberHandle handle = NULL;
    CUpti_SubscriberParams params;
    char holder[128] = "";
    if (!cupti.subscribe_v2)
        return;
    memcpy(&subscribe, &cupti.subscribe_v2, sizeof(subscribe));
    memset(&params, 0, sizeof(params));
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = "cuvet";
    params.oldSubscriberName = holder;
    params.oldSubscriberSize = sizeof(holder);
    if (subscribe(&handle, NULL, NULL, &params) == CUPTI_SUCCESS)
        cupti.unsubscribe(handle); /* the holder let go in between: the caller may try again */
    else if (*holder)
        snprintf(name, size, "%s", holder);
#endif
}
