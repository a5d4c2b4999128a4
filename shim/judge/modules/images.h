/*
 * images.h - the module images (cubins, PTX) of kernels that the registry may name, for bundles.
 *
 * CUPTI shows an image only while its module is being loaded, so one that may hold a registered
 * kernel is copied then. At a load no symbol is demangled and none is kept: the image is searched
 * when a bundle needs it.
 *
 * A symbol may be in several modules at once (each specialisation of a Triton kernel). Which of
 * them a launch is of is known by its CUmodule, where the module was loaded by itself; by its
 * CUlibrary, where cuvet's query of the kernel made the driver load it; and else when only
 * one module that was loaded at that moment can hold the symbol. Otherwise there is no image.
 *
 * Loads and unloads are the program's threads, inside callbacks; images_hold, images_fatbin and
 * images_read may be called by any.
 */
#ifndef JUDGE_IMAGES_H
#define JUDGE_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "registry/registry.h"
#include "value/launch.h"

/* Bytes of all copies; and how many modules that were unloaded are kept, for launches whose check
 * is still under way. */
enum { IMAGES_BYTES = 32 << 20, IMAGES_UNLOADED = 16 };

struct images;
struct image;

/* A launch. */
struct image_query {
    const char *symbol;
    const void *context; /* CUcontext, or NULL: not known */
    struct kernel_home home;
    uint64_t moment; /* images_moment() when it was enqueued */
    unsigned arch;   /* of its device: 90 for 9.0; 0: not known, so no fatbin is cut for it */
};

struct images *images_create(const struct registry *registry);
/* From now on all images that carry PTX are kept, whatever kernels they have. */
void images_keep_ptx(struct images *images);
void images_destroy(struct images *images);

/* From now on images are kept whatever the registry names; before the first load. */
void images_keep_all(struct images *images);

/* A module was loaded: `image` as the driver runs it, `library` the CUlibrary that it is of or
 * NULL. Reads the ELF's section names (bounds-checked); allocates; no driver call. */
void images_loaded(struct images *images, const void *context, uint32_t id, const void *library,
                   const void *image, size_t bytes);

/* It is about to be unloaded; all of a context's are. */
void images_unloading(struct images *images, const void *context, uint32_t id);
void images_context_going(struct images *images, const void *context);

/*
 * The same, where the image is what the program passed to the driver, which accepted it: a cubin,
 * PTX, a fatbin or a fatbin's wrapper; NULL: not known. `module`: the CUmodule, or with `context`
 * NULL the CUlibrary. `lasting`: the bytes stay where they are as long as it is loaded.
 */
void images_given(struct images *images, const void *module, const void *context, const void *image,
                  bool lasting);
/* The same, where the program named a file, which is read; one larger than IMAGES_BYTES is not. */
void images_file(struct images *images, const void *module, const void *context, const char *path);
/* It is about to be unloaded. `images` NULL: nothing, here and in images_given. */
void images_taken(struct images *images, const void *module);

/* Around a driver call that returns or takes a CUmodule: the one module that is announced to this
 * thread in between is that one. */
void images_call_begins(void);
void images_call_ends(struct images *images, const void *module);

/* Counts loads and unloads. Any thread, no lock. NULL: 0. */
uint64_t images_moment(const struct images *images);

/* Of a launch that is being made. Queries the driver. */
struct image_query images_query(const struct images *images, const struct launch *launch,
                                const char *symbol, unsigned arch);

/* The image of the launch's module, to be released; or NULL and why. NULL `images`: none. */
const struct image *images_hold(struct images *images, const struct image_query *query,
                                const char **reason);
const void *image_data(const struct image *image, size_t *bytes);
/* Where it lay when it was loaded, in a file of the process; NULL: elsewhere, or not known. */
const void *image_origin(const struct image *image);
void images_release(struct images *images, const struct image *image); /* NULL is fine */

/* Which load the launch's module is of, where its image is a fatbin: a number that no other load
 * has; else 0. */
uint64_t images_fatbin(struct images *images, const struct image_query *query);
/* Calls `read` with the fatbin of that load, which stays in place meanwhile; loads and unloads of
 * modules wait. `read` NULL: nothing is called. False: it is gone. */
typedef void (*images_read_fn)(void *user, const void *fatbin, size_t bytes);
bool images_read(struct images *images, uint64_t load, images_read_fn read, void *user);
/* A hash of the image of the launch's module, the same at each load of equal bytes; 0: it is not
 * known. The first time for each module all bytes are read, under the lock. NULL `images`: 0. */
uint64_t images_hash(struct images *images, const struct image_query *query);

/* Bytes that are kept now. */
size_t images_kept(struct images *images);

#endif
