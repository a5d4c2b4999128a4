/*
 * image.h - from what a program passes as device code to the PTX text inside: PTX itself, a fatbin,
 * the compiler's wrapper around one, or a file with any of these.
 *
 * A program passes no size, so memory is read through the kernel, which refuses where there is
 * none: a cut image is an error, never a crash.
 */
#ifndef SOFTGPU_IMAGE_H
#define SOFTGPU_IMAGE_H

#include <cuda.h>
#include <stdatomic.h>
#include <stddef.h>
#include "base/error.h"

/* Never changed once it is there. Any thread. */
struct image {
    atomic_uint holders;
    char *text; /* PTX; ends with a NUL behind `bytes` */
    size_t bytes;
};

/* Errors: CUDA_ERROR_INVALID_IMAGE, _NO_BINARY_FOR_GPU, _INVALID_VALUE, _OUT_OF_MEMORY,
 * _FILE_NOT_FOUND; `err` has the sentence. The caller drops what it got. */
CUresult image_from_memory(const void *memory, struct image **image, struct error *err);
/* The same where the size is known. */
CUresult image_from_bytes(const void *bytes, size_t length, struct image **image,
                          struct error *err);
CUresult image_from_file(const char *path, struct image **image, struct error *err);

struct image *image_hold(struct image *image);
void image_drop(struct image *image);

/* A sentence on standard error, behind "softgpu: ". The second writes a sentence only
 * if it differs from its last: a program may try one image after another. Any thread. */
void say(const char *sentence);
void say_once(const char *sentence);

#endif
