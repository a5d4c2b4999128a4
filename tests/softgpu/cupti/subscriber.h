/*
 * subscriber.h - the subscriber of the process and what it has enabled; several, if all of them
 * allow that.
 *
 * A subscriber is made by cuptiSubscribe and never freed: a callback of it may be under way in
 * another thread when it goes. A handle is valid while its subscriber is a current one. Any
 * thread may call anything here; nothing locks.
 */
#ifndef SOFTGPU_SUBSCRIBER_H
#define SOFTGPU_SUBSCRIBER_H

#include <cupti.h>
#include <stdbool.h>

/* As what it was subscribed: `name` may be NULL. */
struct subscriber_wish {
    CUpti_CallbackFunc callback;
    void *user;
    const char *name;
    bool shares; /* others may be subscribed, too */
};

/* CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED while there is one, unless both share. */
CUptiResult subscriber_begin(const struct subscriber_wish *wish, CUpti_SubscriberHandle *handle);

/* CUPTI_ERROR_INVALID_PARAMETER unless `handle` is a current subscriber. NULL ends the first one.
 */
CUptiResult subscriber_end(CUpti_SubscriberHandle handle);

bool subscriber_is_current(CUpti_SubscriberHandle handle);

/* "CUPTI for NAME", or "" for one without a name or where there is none. */
void subscriber_holder(char *name, size_t size);

/* Whether there is such a callback here: API callbacks of the runtime and others are not sent. */
CUptiResult subscriber_check_id(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
CUptiResult subscriber_check_domain(CUpti_CallbackDomain domain);

/* The ids are valid. */
void subscriber_enable(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                       CUpti_CallbackId cbid, bool on);
void subscriber_enable_domain(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain, bool on);

/* Whether any subscriber does. */
bool subscriber_wants(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);

/* Calls each subscriber that has enabled the callback. */
void subscriber_send(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data);

#endif
