/*
 * handles.h - what the program holds of our objects: numbers that look like pointers, point
 * nowhere, and are never given twice, so that a stale or foreign handle is known as such.
 *
 * Any thread.
 */
#ifndef SOFTGPU_HANDLES_H
#define SOFTGPU_HANDLES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { HANDLE_BUCKETS = 256 };

struct handle_row;

/* One table for each sort of object. Static, zero but for the lock. */
struct handles {
    pthread_mutex_t lock;
    struct handle_row *buckets[HANDLE_BUCKETS];
};
#define HANDLES_INITIALIZER                                                                        \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                          \
    }

/* NULL: no memory. */
void *handles_add(struct handles *table, void *object);
/* The object, or NULL. `hold`, where not NULL, is called with the object before the table's lock is
 * left. */
void *handles_find(struct handles *table, const void *handle, void (*hold)(void *object));
/* Takes the row away and returns its object; NULL where there is none. */
void *handles_remove(struct handles *table, const void *handle);
/* Takes away some row whose object matches, and returns its object; NULL where none does. */
void *handles_take(struct handles *table, bool (*match)(const void *object, const void *user),
                   const void *user);

#endif
