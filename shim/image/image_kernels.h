/* image_kernels.h - the kernels of a cubin or a text of PTX, by their symbols. Pure functions. */
#ifndef IMAGE_IMAGE_KERNELS_H
#define IMAGE_IMAGE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the symbol is one that is searched for; `user` is the caller's. */
typedef bool (*image_kernel_fn)(const void *user, const char *symbol);

/* Whether the image has a kernel that `accepts` is true of. False for what is neither PTX nor a
 * well-formed 64-bit ELF. */
bool image_has_kernel(const void *image, size_t bytes, image_kernel_fn accepts, const void *user);

#endif
