/*
 * jitlink_api.h - nvJitLink, found and opened at run time, never linked, by the program `cuvet`
 * alone. Its header is not needed to build: results are ints (0: done).
 */
#ifndef DRIVER_JITLINK_API_H
#define DRIVER_JITLINK_API_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "driver/find.h"
#include "driver/nvrtc_api.h"

struct jitlink;

enum { JITLINK_PTX = 2 }; /* of nvJitLinkInputType */

struct jitlink_api {
    int (*create)(struct jitlink **out, uint32_t options, const char **option);
    int (*destroy)(struct jitlink **link);
    int (*add)(struct jitlink *link, int type, const void *data, size_t bytes, const char *name);
    int (*complete)(struct jitlink *link);
    int (*cubin_size)(struct jitlink *link, size_t *bytes);
    int (*cubin)(struct jitlink *link, void *out);
    int (*log_size)(struct jitlink *link, size_t *bytes); /* with the NUL */
    int (*log)(struct jitlink *link, char *out);
};
extern struct jitlink_api jitlink;

/* Fills the table. STATUS_NOT_FOUND with a sentence that names what to install. One thread at a
 * time; blocks on files. *file: the build that was opened. */
enum status jitlink_api_load(const struct find_hints *hints, struct nvrtc_file *file,
                             struct error *err);

#endif
