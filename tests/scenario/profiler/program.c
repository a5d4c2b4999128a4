/* program.c - a program whose profiler subscribes to CUPTI and counts the launches of the program's
 * kernel: `program FATBIN NAME WHEN`. WHEN: first, before CUDA starts; later, behind a launch. */
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
        !strcmp(call->symbolName, word(0)))
        launches++;
}

static CUpti_SubscriberHandle handle;

static void subscribe(void)
{
    CUptiResult result = cuptiSubscribe(&handle, count, NULL);
    printf("subscribe: %d\n", (int)result);
    if (result)
        return;
    result = cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API,
                                 CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    printf("enable: %d\n", (int)result);
}

int main(int argc, char **argv)
{
    bool first = argc > 3 && !strcmp(argv[3], "first");
    if (first)
        subscribe();
    start(argc, argv);
    struct norm norm = norm_new(4, 64, 1);
    norm_launch(word(0), &norm, NULL);
    if (!first)
        subscribe();
    for (int i = 0; i < 3; i++)
        norm_launch(word(0), &norm, NULL);
    norm_print("norm", &norm);
    if (handle)
        cuptiUnsubscribe(handle);
    norm_launch(word(0), &norm, NULL);
    norm_print("norm", &norm);
    printf("%d launches of its kernel seen\n", launches);
    finish();
    return 0;
}
