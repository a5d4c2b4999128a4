/*
 * find.h - the one search for a vendor library that the program does not name: CUPTI, NVRTC.
 *
 * Order: the path of an option (and then nothing else), a copy that the process has mapped already,
 * then for each major version from the driver's downwards the loader's own search, CUDA_HOME,
 * CUDA_PATH and /usr/local/cuda, the wheel folders of the Python packages in use. A library is
 * opened so that the program's own lookups do not find it (RTLD_LOCAL), and never closed.
 */
#ifndef DRIVER_FIND_H
#define DRIVER_FIND_H

#include <limits.h>
#include "base/error.h"

enum { FIND_OLDEST_MAJOR = 12, FIND_NEWEST_MAJOR = 14 };

struct find_library {
    const char *name;           /* "libcupti.so": ".13" follows */
    const char *option;         /* "CUVET_CUPTI" */
    const char *const *toolkit; /* folders of a toolkit that may hold it; ends with NULL */
    const char *wheel;          /* its folder in site-packages/nvidia before CUDA 13 */
};

/* What the search goes by. The strings are the caller's. */
struct find_hints {
    const char *path;     /* the option's value; NULL or "": none */
    const char *homes[2]; /* CUDA_HOME, CUDA_PATH; NULL: not set */
    int major;            /* of the driver; 0: there is none, any version will do */
    const char *wheels;   /* a site-packages folder besides those of mapped libraries, or NULL */
    const char *last;     /* a path that is tried when all else fails, or NULL */
};

/* Fills in the homes from the environment: on a thread that may call getenv. */
void find_homes(struct find_hints *hints);

/* Where another process has the library, for its `wheels` and `last`; "" where there is nothing. */
struct find_traces {
    char wheels[PATH_MAX]; /* the site-packages folder of a library that this process has mapped */
    char mapped[PATH_MAX]; /* a copy that this process has mapped */
};
void find_traces(const char *name, struct find_traces *out);

/* The dlopen handle, or NULL with what was not found. Blocks on files, reads no environment. */
void *find_library(const struct find_library *what, const struct find_hints *hints,
                   struct error *err);

#endif
