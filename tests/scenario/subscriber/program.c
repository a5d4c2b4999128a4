/* program.c - a program that subscribes to CUPTI itself, before CUDA starts, and counts its
 * launches: `program FATBIN [shares]`, alone or so that others may, too. */
#include "common/program.h"

#include <cupti.h>
#include <stdio.h>
#include <string.h>

static int launches;

static void CUPTIAPI count(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                           const void *data)
{
    const CUpti_CallbackData *call = data;
    (void)user;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel &&
        call->callbackSite == CUPTI_API_EXIT && call->symbolName &&
        !strcmp(call->symbolName, "norm_right"))
        launches++;
}

/* The struct of CUDA 13.3, which has one field more. */
static CUptiResult share(CUpti_SubscriberHandle *handle)
{
    struct {
        CUpti_SubscriberParams older;
        uint8_t allow_others, padding[7];
    } params;
    memset(&params, 0, sizeof params);
    params.older.structSize = sizeof params;
    params.older.subscriberName = "the program";
    params.allow_others = 1;
    return cuptiSubscribe_v2(handle, count, NULL, &params.older);
}

int main(int argc, char **argv)
{
    CUpti_SubscriberHandle handle;
    bool shares = argc > 2 && !strcmp(argv[2], "shares");
    CUptiResult result = shares ? share(&handle) : cuptiSubscribe(&handle, count, NULL);
    printf("subscribe: %d\n", (int)result);
    result = cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API,
                                 CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    printf("enable: %d\n", (int)result);
    start(argc, argv);
    struct norm norm = norm_new(4, 64, 1);
    for (int i = 0; i < 3; i++)
        norm_launch("norm_right", &norm, NULL);
    norm_print("norm", &norm);
    printf("%d launches\n", launches);
    finish();
    return 0;
}
