/*
 * empty_subscriber.c - the floor of any tool that watches launches through CUPTI: subscribes,
 * enables the launch callbacks and does nothing in them. Named by CUDA_INJECTION64_PATH.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <cupti.h>

typedef CUptiResult (*subscribe_fn)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
typedef CUptiResult (*enable_fn)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                 CUpti_CallbackId);

int InitializeInjection(void);

static void CUPTIAPI nothing(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data)
{
    (void)user;
    (void)domain;
    (void)id;
    (void)data;
}

/* The one that the program has mapped already, else the one of the loader's path. */
static void *open_cupti(void)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12"};
    void *library = NULL;
    for (int i = 0; i < 2 && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    for (int i = 0; i < 2 && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library ? library : dlopen(CUPTI_PATH, RTLD_NOW | RTLD_LOCAL);
}

int InitializeInjection(void)
{
    static const CUpti_CallbackId ids[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                           CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
                                           CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                                           CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
                                           CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
                                           CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz};
    CUpti_SubscriberHandle subscriber;
    void *library = open_cupti();
    subscribe_fn subscribe = library ? (subscribe_fn)dlsym(library, "cuptiSubscribe") : NULL;
    enable_fn enable = library ? (enable_fn)dlsym(library, "cuptiEnableCallback") : NULL;
    if (!subscribe || !enable || subscribe(&subscriber, nothing, NULL) != CUPTI_SUCCESS) {
        fprintf(stderr, "empty_subscriber: no subscription\n");
        return 1;
    }
    for (unsigned i = 0; i < sizeof ids / sizeof ids[0]; i++)
        enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, ids[i]);
    return 1;
}
