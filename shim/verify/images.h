/*
 * images.h - the module images (cubins) of kernels that the registry names, for bundles.
 *
 * CUPTI shows an image only while its module is being loaded, so those that hold a registered
 * kernel are copied then; memory is bounded, and what does not fit is noted with the reason.
 */
#ifndef VERIFY_IMAGES_H
#define VERIFY_IMAGES_H

#include <stddef.h>
#include "verify/registry.h"

struct images;
struct images *images_create(struct registry *registry);
void images_destroy(struct images *images);

/* A module was loaded. Reads the ELF's section names (bounds-checked), copies the image when one of
 * its kernels is registered. Any thread; allocates; no driver call. */
void images_add(struct images *images, const void *image, size_t bytes);

/* The newest image that holds `symbol`, valid until images_destroy; or NULL and why. Any thread. */
const void *images_find(struct images *images, const char *symbol, size_t *bytes,
                        const char **reason);

#endif
