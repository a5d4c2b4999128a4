/* api.c - the exported functions that subscribe, enable and query. */
#define CUPTI_LIB /* the header then exports what it declares */
#include <cupti.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "cupti/dispatch.h"
#include "cupti/subscriber.h"

/* Without a driver of ours nothing would ever be sent. */
static CUptiResult begin(const struct subscriber_wish *wish, CUpti_SubscriberHandle *handle)
{
    return dispatch_start() ? subscriber_begin(wish, handle) : CUPTI_ERROR_UNKNOWN;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                           void *userdata)
{
    struct subscriber_wish wish = {callback, userdata, NULL, false};
    return subscriber && callback ? begin(&wish, subscriber) : CUPTI_ERROR_INVALID_PARAMETER;
}

#if CUPTI_API_VERSION >= 130000
/* CUDA 13.3 and later; SOFTGPU_CUPTI has the version. The field is behind those of older headers.
 */
static bool wants_to_share(const CUpti_SubscriberParams *params)
{
    const char *version = getenv("SOFTGPU_CUPTI");
    return params && params->structSize > sizeof(*params) && version && atoi(version) >= 130300 &&
           ((const unsigned char *)params)[sizeof(*params)];
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                              void *userdata, CUpti_SubscriberParams *params)
{
    struct subscriber_wish wish = {callback, userdata, params ? params->subscriberName : NULL,
                                   wants_to_share(params)};
    if (!subscriber || (params && params->structSize < CUpti_SubscriberParams_STRUCT_SIZE))
        return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = begin(&wish, subscriber);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params &&
        params->oldSubscriberName && params->oldSubscriberSize)
        subscriber_holder(params->oldSubscriberName, params->oldSubscriberSize);
    return result;
}
#endif

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    return subscriber ? subscriber_end(subscriber) : CUPTI_ERROR_INVALID_PARAMETER;
}

/* The library stays tied to the driver, and may be subscribed to again. */
CUptiResult cuptiFinalize(void)
{
    return subscriber_end(NULL);
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (!subscriber_is_current(subscriber))
        return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = subscriber_check_id(domain, cbid);
    if (!result)
        subscriber_enable(subscriber, domain, cbid, enable != 0);
    return result;
}

CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle subscriber,
                                  CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (!enable || !subscriber_is_current(subscriber))
        return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = subscriber_check_id(domain, cbid);
    if (!result)
        *enable = subscriber_wants(domain, cbid);
    return result;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                              CUpti_CallbackDomain domain)
{
    if (!subscriber_is_current(subscriber))
        return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = subscriber_check_domain(domain);
    if (!result)
        subscriber_enable_domain(subscriber, domain, enable != 0);
    return result;
}

static CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RESOURCE};

enum { DOMAINS = sizeof(domains) / sizeof(*domains) };

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber)
{
    if (!subscriber_is_current(subscriber))
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (int i = 0; i < DOMAINS; i++)
        subscriber_enable_domain(subscriber, domains[i], enable != 0);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSupportedDomains(size_t *domainCount, CUpti_DomainTable *domainTable)
{
    if (!domainCount || !domainTable)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *domainCount = DOMAINS;
    *domainTable = domains;
    return CUPTI_SUCCESS;
}
