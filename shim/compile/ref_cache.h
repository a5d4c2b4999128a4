/*
 * ref_cache.h - compiled references in a cache folder (system/cache.h).
 *
 * An image is kept under a hash of everything that it is made of: the text, the dialect's headers,
 * the options, the architecture, the build of NVRTC and the version of cuvet. A process that does
 * not open NVRTC reads its build from a note in the folder: the file that the last search with the
 * same hints opened. A note of a file that has changed since is no longer good.
 */
#ifndef COMPILE_REF_CACHE_H
#define COMPILE_REF_CACHE_H

#include <stdbool.h>
#include "system/cache.h"
#include "driver/find.h"
#include "driver/nvrtc_api.h"
#include "compile/ref_image.h"
#include "registry/user_ref.h"

struct ref_cache {
    struct cache folder;
    const char *version;     /* cuvet_version() */
    struct nvrtc_file nvrtc; /* path "": unknown yet */
    char note[CACHE_NAME];   /* the name of the note for the hints */
};

/* Resolves the folder from `option` (CUVET_CACHE). On a thread that may call getenv; no file is
 * touched. */
void ref_cache_open(struct ref_cache *cache, const char *option, const char *version,
                    const struct find_hints *hints);

/* Whether the build of NVRTC is known, by the note where it was not known before. */
bool ref_cache_has_nvrtc(struct ref_cache *cache);
/* The one that has been opened: writes the note. */
void ref_cache_set_nvrtc(struct ref_cache *cache, const struct nvrtc_file *file);

/* The name of the text's image. False: no memory. NVRTC must be known. */
bool ref_cache_name(const struct ref_cache *cache, const struct user_text *text, int arch,
                    char out[CACHE_NAME]);

/* The name of the machine code of a text of PTX, by a build of nvJitLink. */
void ref_cache_ptx_name(const struct ref_cache *cache, const char *text, int arch,
                        const struct nvrtc_file *build, char out[CACHE_NAME]);

/* False: there is no sound image. The caller releases *out. */
bool ref_cache_read(const struct ref_cache *cache, const char *name, struct ref_image *out);
enum status ref_cache_write(const struct ref_cache *cache, const char *name,
                            const struct ref_image *image, struct error *err);

#endif
