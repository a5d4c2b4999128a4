/*
 * nvrtc_api.h - NVRTC, found and opened at run time, never linked, and only where a registry has
 * references to be compiled.
 *
 * Its header is not needed to build: results are ints (0: done) and a program is opaque.
 */
#ifndef DRIVER_NVRTC_API_H
#define DRIVER_NVRTC_API_H

#include <stddef.h>
#include "base/error.h"
#include "driver/find.h"

struct nvrtc_program;

struct nvrtc_api {
    int (*version)(int *major, int *minor);
    int (*arch_count)(int *count);
    int (*archs)(int *out); /* ascending: 75, 80, ... */
    int (*create)(struct nvrtc_program **out, const char *text, const char *name, int headers,
                  const char *const *header, const char *const *header_name);
    int (*destroy)(struct nvrtc_program **program);
    int (*compile)(struct nvrtc_program *program, int options, const char *const *option);
    int (*log_size)(struct nvrtc_program *program, size_t *size); /* with the NUL, as all texts */
    int (*log)(struct nvrtc_program *program, char *out);
    int (*cubin_size)(struct nvrtc_program *program, size_t *size);
    int (*cubin)(struct nvrtc_program *program, char *out);
    int (*ptx_size)(struct nvrtc_program *program, size_t *size);
    int (*ptx)(struct nvrtc_program *program, char *out);
    const char *(*error_text)(int result);
    /* Optional (CUDA 12.8): asked now and then during a compilation; 1 ends it. */
    int (*set_flow)(struct nvrtc_program *program, int (*ask)(void *user, void *unused),
                    void *user);
};
extern struct nvrtc_api nvrtc;

/* Fills the table. STATUS_NOT_FOUND with a sentence that says what to install. One thread at a
 * time; blocks on files. */
enum status nvrtc_api_load(const struct find_hints *hints, struct error *err);

/* The newest architecture that it compiles for and that is not newer than `arch` (90: compute
 * capability 9.0), or 0 when all are newer; `arch` 0: the oldest that references are compiled for,
 * 7.5 as NVRTC before CUDA 13.0 knows older ones. */
int nvrtc_nearest_arch(int arch);

#endif
