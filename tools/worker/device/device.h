/*
 * device.h - what the serving side of a worker needs of a device, as one table of functions. Two
 * devices have it: device_gpu.c and device_interpreter.c. One thread.
 */
#ifndef TOOLS_WORKER_DEVICE_H
#define TOOLS_WORKER_DEVICE_H

#include "tools/worker/worker.h"

struct device {
    const struct device_ops *ops;
};

struct device_ops {
    /* STATUS_NOT_FOUND: it is not there. */
    enum status (*open)(struct device **out, int ordinal, struct worker_about *about,
                        struct error *err);
    enum status (*allocate)(struct device *device, uint64_t bytes, uint64_t *address,
                            struct error *err);
    void (*release)(struct device *device, uint64_t address);
    enum status (*write)(struct device *device, uint64_t to, const void *bytes, uint64_t count,
                         struct error *err);
    enum status (*read)(struct device *device, uint64_t from, void *bytes, uint64_t count,
                        struct error *err);
    enum status (*fill)(struct device *device, uint64_t to, uint64_t count, uint8_t value,
                        struct error *err);
    enum status (*copy)(struct device *device, uint64_t to, uint64_t from, uint64_t count,
                        struct error *err);
    /* One piece of an image (image.h); `bytes` ends with a NUL that is not counted. */
    enum status (*load)(struct device *device, const void *bytes, size_t count, void **module,
                        struct error *err);
    void (*unload)(struct device *device, void *module);
    /* STATUS_NOT_FOUND; else *kernel and all of *about but its id. */
    enum status (*kernel)(struct device *device, void *module, const char *symbol, void **kernel,
                          struct worker_kernel *about, struct error *err);
    /* A variable of the module: its address, for `write`, and bytes. STATUS_NOT_FOUND. */
    enum status (*variable)(struct device *device, void *module, const char *name,
                            uint64_t *address, uint64_t *bytes, struct error *err);
    void (*launch)(struct device *device, void *kernel, const struct worker_launch *launch,
                   struct worker_result *out);
    /* Waits for what a library enqueued; NULL: no library runs on this device. */
    void (*finish)(struct device *device, struct worker_result *out);
    bool host_memory; /* addresses of the device are those of this process */
};

extern const struct device_ops device_gpu, device_interpreter;

#endif
