/*
 * nvrtc_api.h - NVRTC, found and opened at run time, never linked, by the program `cuvet` alone:
 * its threads and destructors have no place in a host program.
 *
 * Its header is not needed to build: results are ints (0: done) and a program is opaque.
 */
#ifndef DRIVER_NVRTC_API_H
#define DRIVER_NVRTC_API_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
};
extern struct nvrtc_api nvrtc;

/* Fills the table. STATUS_NOT_FOUND with a sentence that names what to install. One thread at a
 * time; blocks on files. */
enum status nvrtc_api_load(const struct find_hints *hints, struct error *err);

/* One build of NVRTC: another one has another size or time of change. */
struct nvrtc_file {
    char path[PATH_MAX];
    uint64_t bytes;
    int64_t changed_ns;
};
/* False: there is no such file. */
bool nvrtc_file_read(const char *path, struct nvrtc_file *out);
/* The file that was opened, or NULL where it is unknown. */
const struct nvrtc_file *nvrtc_api_file(void);

/* The newest architecture that it compiles for and that is not newer than `arch` (90: compute
 * capability 9.0), or 0 when all are newer; `arch` 0: the oldest that references are compiled for,
 * 7.5 as NVRTC before CUDA 13.0 supports older ones. */
int nvrtc_nearest_arch(int arch);

#endif
