/* subscriber.c - the subscribers of the process and what they have enabled. */
#include "cupti/subscriber.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEATS = 4, WORDS = (CUPTI_DRIVER_TRACE_CBID_SIZE + 63) / 64, SUBSCRIBER_NAME = 53 };

_Static_assert((int)CUPTI_CBID_RESOURCE_SIZE <= (int)CUPTI_DRIVER_TRACE_CBID_SIZE,
               "one size fits both domains");

struct CUpti_Subscriber_st {
    CUpti_CallbackFunc callback;
    void *user;
    bool shares;
    char name[sizeof("CUPTI for ") + SUBSCRIBER_NAME];
    struct CUpti_Subscriber_st *older; /* keeps the ended ones reachable */
    atomic_uint_fast64_t enabled[CUPTI_CB_DOMAIN_SIZE][WORDS];
};

static _Atomic(struct CUpti_Subscriber_st *) current[SEATS], ended;

/* The first seat is the first subscriber's: who does not share takes no other. */
static bool take_seat(struct CUpti_Subscriber_st *fresh)
{
    for (int i = 0; i < SEATS; i++) {
        struct CUpti_Subscriber_st *there = NULL;
        if (atomic_compare_exchange_strong(&current[i], &there, fresh))
            return true;
        if (!fresh->shares || !there->shares)
            return false;
    }
    return false;
}

static int seat_of(CUpti_SubscriberHandle handle)
{
    for (int i = 0; i < SEATS; i++) {
        if (atomic_load(&current[i]) == handle)
            return i;
    }
    return -1;
}

CUptiResult subscriber_begin(const struct subscriber_wish *wish, CUpti_SubscriberHandle *handle)
{
    struct CUpti_Subscriber_st *fresh = calloc(1, sizeof(*fresh));
    if (!fresh)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    fresh->callback = wish->callback;
    fresh->user = wish->user;
    fresh->shares = wish->shares;
    if (wish->name)
        snprintf(fresh->name, sizeof(fresh->name), "CUPTI for %.*s", SUBSCRIBER_NAME, wish->name);
    if (!take_seat(fresh)) {
        free(fresh);
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    *handle = fresh;
    return CUPTI_SUCCESS;
}

CUptiResult subscriber_end(CUpti_SubscriberHandle handle)
{
    struct CUpti_Subscriber_st *held = handle ? handle : atomic_load(&current[0]);
    if (!held)
        return CUPTI_SUCCESS;
    int seat = seat_of(held);
    if (seat < 0 || !atomic_compare_exchange_strong(&current[seat], &held, NULL))
        return CUPTI_ERROR_INVALID_PARAMETER;
    held->older = atomic_load(&ended);
    while (!atomic_compare_exchange_weak(&ended, &held->older, held))
        ;
    return CUPTI_SUCCESS;
}

bool subscriber_is_current(CUpti_SubscriberHandle handle)
{
    return handle && seat_of(handle) >= 0;
}

void subscriber_holder(char *name, size_t size)
{
    struct CUpti_Subscriber_st *holder = atomic_load(&current[0]);
    snprintf(name, size, "%s", holder ? holder->name : "");
}

CUptiResult subscriber_check_domain(CUpti_CallbackDomain domain)
{
    if (domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    return domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RESOURCE
               ? CUPTI_SUCCESS
               : CUPTI_ERROR_NOT_SUPPORTED;
}

CUptiResult subscriber_check_id(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    CUptiResult result = subscriber_check_domain(domain);
    if (result)
        return result;
    uint32_t end = domain == CUPTI_CB_DOMAIN_DRIVER_API ? (uint32_t)CUPTI_DRIVER_TRACE_CBID_SIZE
                                                        : (uint32_t)CUPTI_CBID_RESOURCE_SIZE;
    return cbid > 0 && cbid < end ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

void subscriber_enable(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                       CUpti_CallbackId cbid, bool on)
{
    uint_fast64_t bit = (uint_fast64_t)1 << cbid % 64;
    if (on)
        atomic_fetch_or(&handle->enabled[domain][cbid / 64], bit);
    else
        atomic_fetch_and(&handle->enabled[domain][cbid / 64], ~bit);
}

void subscriber_enable_domain(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain, bool on)
{
    for (size_t i = 0; i < WORDS; i++)
        atomic_store(&handle->enabled[domain][i], on ? ~(uint_fast64_t)0 : 0);
}

static bool wants(struct CUpti_Subscriber_st *who, CUpti_CallbackDomain domain,
                  CUpti_CallbackId cbid)
{
    if (!who || cbid / 64 >= WORDS)
        return false;
    uint_fast64_t word =
        atomic_load_explicit(&who->enabled[domain][cbid / 64], memory_order_relaxed);
    return word >> cbid % 64 & 1;
}

bool subscriber_wants(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    for (int i = 0; i < SEATS; i++) {
        if (wants(atomic_load_explicit(&current[i], memory_order_acquire), domain, cbid))
            return true;
    }
    return false;
}

/* Looked up again: a subscriber may have gone, or changed what it enables, since the driver's
 * query. */
void subscriber_send(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
    for (int i = 0; i < SEATS; i++) {
        struct CUpti_Subscriber_st *who = atomic_load_explicit(&current[i], memory_order_acquire);
        if (wants(who, domain, cbid))
            who->callback(who->user, domain, cbid, data);
    }
}
