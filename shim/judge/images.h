/*
 * images.h - the module images (cubins) of kernels that the registry may name, for bundles.
 *
 * CUPTI shows an image only while its module is being loaded, so one that may hold a registered
 * kernel is copied then. At a load no symbol is demangled and none is remembered: the image is
 * searched when a bundle wants it.
 *
 * A symbol may be in several modules at once (each specialisation of a Triton kernel). Which of
 * them a launch is of is known by its CUmodule, where the module was loaded by itself, and else
 * when only one module that was loaded at that moment can hold the symbol. Otherwise there is no
 * image.
 *
 * Loads and unloads are the program's threads, inside callbacks; images_hold is the collector's.
 */
#ifndef VERIFY_IMAGES_H
#define VERIFY_IMAGES_H

#include <stddef.h>
#include <stdint.h>
#include "registry/registry.h"

/* Bytes of all copies; and how many modules that were unloaded are kept, for launches whose check
 * is still under way. */
enum { IMAGES_BYTES = 32 << 20, IMAGES_UNLOADED = 16 };

struct images;
struct image;

/* A launch. */
struct image_query {
    const char *symbol;
    const void *context; /* CUcontext */
    const void *module;  /* CUmodule, or NULL: not known */
    uint64_t moment;     /* images_moment() when it was enqueued */
};

struct images *images_create(const struct registry *registry);
void images_destroy(struct images *images);

/* A module was loaded. Reads the ELF's section names (bounds-checked); allocates; no driver call.
 */
void images_loaded(struct images *images, const void *context, uint32_t id, const void *image,
                   size_t bytes);

/* It is about to be unloaded; all of a context's are. */
void images_unloading(struct images *images, const void *context, uint32_t id);
void images_context_going(struct images *images, const void *context);

/* Around a driver call that returns or takes a CUmodule: the one module that is announced to this
 * thread in between is that one. */
void images_call_begins(void);
void images_call_ends(struct images *images, const void *module);

/* Counts loads and unloads. Any thread, no lock. NULL: 0. */
uint64_t images_moment(const struct images *images);

/* The image of the launch's module, to be released; or NULL and why. NULL `images`: none. */
const struct image *images_hold(struct images *images, const struct image_query *query,
                                const char **reason);
const void *image_data(const struct image *image, size_t *bytes);
void images_release(struct images *images, const struct image *image); /* NULL is fine */

/* Bytes that are kept now. */
size_t images_kept(struct images *images);

#endif
