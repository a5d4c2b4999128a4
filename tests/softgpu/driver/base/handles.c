/* handles.c - tables of handles that are never given twice. */
#include "driver/base/handles.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* Far from what malloc and mmap give, and no address of a device either. */
#define HANDLE_BASE 0x0000600000000000u

struct handle_row {
    struct handle_row *next;
    uintptr_t handle;
    void *object;
};

static atomic_uintptr_t given;

static struct handle_row **bucket_of(struct handles *table, uintptr_t handle)
{
    return &table->buckets[(handle >> 4) % HANDLE_BUCKETS];
}

static struct handle_row **find_locked(struct handles *table, uintptr_t handle)
{
    struct handle_row **at = bucket_of(table, handle);
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

void *handles_add(struct handles *table, void *object)
{
    struct handle_row *row = calloc(1, sizeof(*row));
    if (!row)
        return NULL;
    row->handle = HANDLE_BASE + 16 * (atomic_fetch_add(&given, 1) + 1);
    row->object = object;
    void *handle = (void *)row->handle; /* the row may be gone once the lock is left */
    pthread_mutex_lock(&table->lock);
    struct handle_row **at = bucket_of(table, row->handle);
    row->next = *at;
    *at = row;
    pthread_mutex_unlock(&table->lock);
    return handle;
}

void *handles_find(struct handles *table, const void *handle, void (*hold)(void *object))
{
    pthread_mutex_lock(&table->lock);
    struct handle_row *row = *find_locked(table, (uintptr_t)handle);
    void *object = row ? row->object : NULL;
    if (object && hold)
        hold(object);
    pthread_mutex_unlock(&table->lock);
    return object;
}

void *handles_remove(struct handles *table, const void *handle)
{
    pthread_mutex_lock(&table->lock);
    struct handle_row **at = find_locked(table, (uintptr_t)handle);
    struct handle_row *row = *at;
    if (row)
        *at = row->next;
    pthread_mutex_unlock(&table->lock);
    void *object = row ? row->object : NULL;
    free(row);
    return object;
}

void *handles_take(struct handles *table, bool (*match)(const void *object, const void *user),
                   const void *user)
{
    struct handle_row *row = NULL;
    pthread_mutex_lock(&table->lock);
    for (unsigned i = 0; i < HANDLE_BUCKETS && !row; i++) {
        struct handle_row **at = &table->buckets[i];
        while (*at && !match((*at)->object, user))
            at = &(*at)->next;
        row = *at;
        if (row)
            *at = row->next;
    }
    pthread_mutex_unlock(&table->lock);
    void *object = row ? row->object : NULL;
    free(row);
    return object;
}
