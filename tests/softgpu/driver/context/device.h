/*
 * device.h - devices and contexts.
 *
 * A CUcontext is a struct context *, a CUstream a struct stream * and so on, checked against the
 * living ones before use: a stale or foreign handle gives the real driver's error, never a crash.
 * Handles are not reused while the process lives, so a stale one is always known as such.
 */
#ifndef SOFTGPU_DEVICE_H
#define SOFTGPU_DEVICE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device;
struct context;
struct stream;

unsigned device_count(void);
struct device *device_at(CUdevice ordinal); /* NULL: no such device */
CUdevice device_ordinal(const struct device *device);
int device_attribute(const struct device *device, CUdevice_attribute attribute, bool *known);

/* The calling thread's, or NULL. */
struct context *context_current(void);
/* Makes `context` (may be NULL) the top of the calling thread's stack, in place of what is there.
 * For our own threads that run host functions and callbacks, too. */
void context_set_current(struct context *context);
bool context_is_alive(const struct context *context);
struct device *context_device(const struct context *context);
uint32_t context_uid(const struct context *context);
struct context *context_from_handle(CUcontext handle); /* NULL: not a living context */
CUcontext context_handle(struct context *context);

/* The error that a kernel's fault left behind; every call but those marked CALL_IGNORES_STICKY
 * returns it. It ends only with the context (a primary one: with its reset). `sentence` is kept for
 * the log. */
CUresult context_sticky(const struct context *context);
void context_poison(struct context *context, CUresult error, const char *sentence);

/* Module owners keep their per-context state here, made at context creation, ended at its
 * destruction in reverse order of this list (streams end first: they are drained). */
struct context_part {
    CUresult (*open)(struct context *context, void **state);
    void (*close)(struct context *context, void *state);
};
extern const struct context_part context_streams; /* stream.c */
extern const struct context_part context_memory;  /* memory.c */
extern const struct context_part context_modules; /* module.c */
void *context_state(const struct context *context, const struct context_part *part);

#endif
