/* program.c - a program that subscribes to CUPTI itself, before CUDA starts, and counts its
 * launches. */
#include "common/program.h"

#include <cupti.h>
#include <stdio.h>

static int launches;

static void CUPTIAPI count(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                           const void *data)
{
    (void)user;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
        launches += ((const CUpti_CallbackData *)data)->callbackSite == CUPTI_API_EXIT;
}

int main(int argc, char **argv)
{
    CUpti_SubscriberHandle handle;
    CUptiResult result = cuptiSubscribe(&handle, count, NULL);
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
