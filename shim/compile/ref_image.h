/* ref_image.h - what a module of references is loaded from. */
#ifndef COMPILE_REF_IMAGE_H
#define COMPILE_REF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Machine code first: a driver that refuses it may take the PTX. */
struct ref_image {
    char *cubin;                   /* NULL: NVRTC does not support the architecture itself */
    char *ptx;                     /* a terminated text, or NULL */
    size_t cubin_bytes, ptx_bytes; /* the latter with the terminator */
};

/* Copies machine code and, behind it, PTX. False: no memory, or the PTX is not terminated. */
bool ref_image_fill(struct ref_image *image, const char *bytes, size_t cubin, size_t ptx);
void ref_image_release(struct ref_image *image);

#endif
