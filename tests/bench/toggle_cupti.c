/*
 * toggle_cupti.c - a libcupti that hands everything to the real one, but for the subscriber's
 * callback: that is called while `toggle_forward` is set, and otherwise nothing is, as under a
 * subscriber that does nothing. So one process can time launches both ways in turn, free of the
 * difference between processes. Named by CUVET_CUPTI; the program finds `toggle_forward` with
 * dlopen(RTLD_NOLOAD), and `toggle_callback`, which it may call itself.
 *
 * The flag changes only while no launch is under way. Other domains than the driver's calls are
 * always forwarded: the subscriber gets all callbacks of contexts and modules.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <cupti.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED volatile int toggle_forward = 1;

static CUpti_CallbackFunc subscriber;

static void *real(const char *name)
{
    static void *library;
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12"};
    for (int i = 0; i < 2 && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen(CUPTI_PATH, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, name) : NULL;
}

EXPORTED void CUPTIAPI toggle_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                       const void *data);
void CUPTIAPI toggle_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                              const void *data)
{
    if (toggle_forward || domain != CUPTI_CB_DOMAIN_DRIVER_API)
        subscriber(user, domain, id, data);
}

EXPORTED CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *handle,
                                             CUpti_CallbackFunc callback, void *user)
{
    CUptiResult (*call)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *) =
        real("cuptiSubscribe");
    subscriber = callback;
    return call ? call(handle, toggle_callback, user) : CUPTI_ERROR_NOT_INITIALIZED;
}

EXPORTED CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    CUptiResult (*call)(CUpti_SubscriberHandle) = real("cuptiUnsubscribe");
    return call ? call(handle) : CUPTI_ERROR_NOT_INITIALIZED;
}

EXPORTED CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                                  CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    CUptiResult (*call)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId) =
        real("cuptiEnableCallback");
    return call ? call(enable, handle, domain, id) : CUPTI_ERROR_NOT_INITIALIZED;
}

EXPORTED CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text)
{
    CUptiResult (*call)(CUptiResult, const char **) = real("cuptiGetResultString");
    return call ? call(result, text) : CUPTI_ERROR_NOT_INITIALIZED;
}
