/*
 * context_life.h - contexts between the call path, which uses them, and those who make and end
 * them.
 */
#ifndef SOFTGPU_CONTEXT_LIFE_H
#define SOFTGPU_CONTEXT_LIFE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include "driver/context/device.h"

/*
 * A call inside the implementation of a driver function holds its context, so that the context's
 * parts are not taken away under it: context_destroy() waits for the calls of other threads. Not
 * for a dead one: false.
 */
struct context_use {
    struct context *context;
    struct context_use *outer; /* the thread's next one */
};
bool context_enter(struct context_use *use, struct context *context);
void context_leave(struct context_use *use);

/* A new context, not current to anyone, already announced to the tool. */
CUresult context_create(struct device *device, unsigned flags, unsigned api_version, bool primary,
                        struct context **context);
/* Announces, drains and ends it. Of two at once, one gets CUDA_ERROR_CONTEXT_IS_DESTROYED. */
CUresult context_destroy(struct context *context);

bool context_is_primary(const struct context *context);
unsigned context_flags(const struct context *context);
void context_set_flags(struct context *context, unsigned flags);
unsigned context_api_version(const struct context *context);
/* The values of CU_LIMIT_*; NULL: no such limit. Atomic. */
_Atomic size_t *context_limit(struct context *context, CUlimit limit);

/* Settings that are stored and change nothing here. */
enum context_preference { CONTEXT_CACHE, CONTEXT_SHARED_BANKS, CONTEXT_PREFERENCES };
_Atomic unsigned *context_preference(struct context *context, enum context_preference which);

/* The thread's stack. Push fails for lack of memory only. */
bool context_push(struct context *context);
struct context *context_pop(void); /* NULL: empty */

#endif
