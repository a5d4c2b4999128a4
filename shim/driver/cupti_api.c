#include "driver/cupti_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver/load.h"

struct cupti_api cupti;

static const struct load_entry entries[] = {
    {"cuptiSubscribe", offsetof(struct cupti_api, subscribe), true},
    {"cuptiUnsubscribe", offsetof(struct cupti_api, unsubscribe), true},
    {"cuptiEnableCallback", offsetof(struct cupti_api, enable), true},
    {"cuptiGetResultString", offsetof(struct cupti_api, result_text), true},
    {"cuptiSubscribe_v2", offsetof(struct cupti_api, subscribe_v2), false},
};

/* RTLD_LOCAL: our copy must not answer the program's own symbol lookups. */
static void *open_library(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *open_under(const char *folder, const char *below, int major)
{
    char path[PATH_MAX];
    if (!folder || !*folder)
        return NULL;
    int length = snprintf(path, sizeof(path), "%s%s/libcupti.so.%d", folder, below, major);
    return length > 0 && (size_t)length < sizeof(path) ? open_library(path) : NULL;
}

static void *open_in_toolkit(const char *home, int major)
{
    static const char *const below[] = {"/lib64", "/extras/CUPTI/lib64",
                                        "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib"};
    for (size_t i = 0; i < sizeof(below) / sizeof(*below); i++) {
        void *library = open_under(home, below[i], major);
        if (library)
            return library;
    }
    return NULL;
}

struct wheel_search {
    int major;
    void *library;
};

/* Python wheels keep libcupti under site-packages/nvidia: found through any mapped library that
 * lies under the same site-packages. */
static int search_wheels(struct dl_phdr_info *info, size_t size, void *user)
{
    struct wheel_search *search = user;
    const char *found = info->dlpi_name ? strstr(info->dlpi_name, "/site-packages/") : NULL;
    char folder[PATH_MAX], cu[32];
    (void)size;
    if (!found)
        return 0;
    snprintf(folder, sizeof(folder), "%.*s/site-packages/nvidia", (int)(found - info->dlpi_name),
             info->dlpi_name);
    snprintf(cu, sizeof(cu), "/cu%d/lib", search->major);
    search->library = open_under(folder, cu, search->major);
    if (!search->library)
        search->library = open_under(folder, "/cuda_cupti/lib", search->major);
    return search->library != NULL;
}

static void *find_major(int major)
{
    char name[32];
    snprintf(name, sizeof(name), "libcupti.so.%d", major);
    void *library = open_library(name);
    if (!library)
        library = open_in_toolkit(getenv("CUDA_HOME"), major);
    if (!library)
        library = open_in_toolkit(getenv("CUDA_PATH"), major);
    if (!library)
        library = open_in_toolkit("/usr/local/cuda", major);
    if (!library) {
        struct wheel_search search = {.major = major};
        dl_iterate_phdr(search_wheels, &search);
        library = search.library;
    }
    return library;
}

enum { OLDEST_MAJOR = 12, NEWEST_MAJOR = 14 };

/* A copy that the process has mapped comes first: two versions in one process break the program
 * that brought the other one. */
static void *find_mapped(void)
{
    for (int major = NEWEST_MAJOR; major >= OLDEST_MAJOR; major--) {
        char name[32];
        snprintf(name, sizeof(name), "libcupti.so.%d", major);
        void *library = dlopen(name, RTLD_NOLOAD | RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    return NULL;
}

enum status cupti_api_load(const char *path, int driver_major, struct error *err)
{
    void *library;
    if (path && *path) {
        library = open_library(path);
        if (!library)
            return error_set(err, STATUS_NOT_FOUND, "CUVET_CUPTI: %s", dlerror());
    } else {
        library = find_mapped();
        /* An older CUPTI works on a newer driver, not the other way round. */
        for (int major = driver_major; !library && major >= OLDEST_MAJOR; major--)
            library = find_major(major);
    }
    if (!library)
        return error_set(err, STATUS_NOT_FOUND,
                         "libcupti.so.%d was not found; set CUVET_CUPTI to its path", driver_major);
    return load_entries(&cupti, library, entries, sizeof(entries) / sizeof(*entries), err);
}

const char *cupti_error_text(CUptiResult result)
{
    const char *text = NULL;
    if (!cupti.result_text || cupti.result_text(result, &text) || !text)
        return "unknown CUPTI error";
    return text;
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
