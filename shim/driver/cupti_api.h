/*
 * cupti_api.h - CUPTI, found and opened at run time, never linked.
 *
 * Only the callback part: the activity API is what makes profilers expensive, and cuvet needs none
 * of it.
 */
#ifndef DRIVER_CUPTI_API_H
#define DRIVER_CUPTI_API_H

#include <cupti.h>
#include "base/error.h"

struct cupti_api {
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
    CUptiResult (*unsubscribe)(CUpti_SubscriberHandle);
    CUptiResult (*enable)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId);
    CUptiResult (*result_text)(CUptiResult, const char **);
    CUptiResult (*version)(uint32_t *);
    void *subscribe_v2; /* optional: the name of the subscriber, and several subscribers */
};
extern struct cupti_api cupti;

/*
 * Opens libcupti for a driver of CUDA major version `driver_major`, `path` if not empty; else the
 * search of find.h.
 */
enum status cupti_api_load(const char *path, int driver_major, struct error *err);

const char *cupti_error_text(CUptiResult result);

/*
 * Subscribes beside others: CUDA 13.3 and later, where all subscribers have allowed that. Before
 * that, or where one has not, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED.
 */
CUptiResult cupti_share(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback);

/* The holder of the one subscription of this process: its name, or "another tool". */
void cupti_holder(char *name, size_t size);

#endif
