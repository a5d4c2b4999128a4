#include "compile/ref_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "compile/ref_source.h"

/* ---- the build of NVRTC ---- */

static void hash_cache_text(XXH3_state_t *state, const char *text)
{
    if (text)
        XXH3_128bits_update(state, text, strlen(text));
    XXH3_128bits_update(state, "", 1);
}

/* What the search for NVRTC goes by; `wheels` and `last` only add to what is found without them. */
static void name_note(char out[CACHE_NAME], const struct find_hints *hints)
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    hash_cache_text(&state, hints->path);
    hash_cache_text(&state, hints->homes[0]);
    hash_cache_text(&state, hints->homes[1]);
    hash_cache_text(&state, getenv("LD_LIBRARY_PATH"));
    XXH3_128bits_update(&state, &hints->major, sizeof hints->major);
    XXH128_hash_t hash = XXH3_128bits_digest(&state);
    snprintf(out, CACHE_NAME, "nvrtc-%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
}

void ref_cache_open(struct ref_cache *cache, const char *option, const char *version,
                    const struct find_hints *hints)
{
    *cache = (struct ref_cache){.version = version};
    cache_place(&cache->folder, option);
    name_note(cache->note, hints);
}

bool ref_cache_has_nvrtc(struct ref_cache *cache)
{
    struct nvrtc_file noted, now;
    char *bytes;
    size_t size;
    if (cache->nvrtc.path[0])
        return true;
    if (cache_read(&cache->folder, cache->note, &bytes, &size))
        return false;
    bool whole = size == sizeof noted;
    if (whole)
        memcpy(&noted, bytes, sizeof noted);
    free(bytes);
    if (!whole || !memchr(noted.path, '\0', sizeof noted.path) ||
        !nvrtc_file_read(noted.path, &now) || now.bytes != noted.bytes ||
        now.changed_ns != noted.changed_ns)
        return false;
    cache->nvrtc = noted;
    return true;
}

void ref_cache_set_nvrtc(struct ref_cache *cache, const struct nvrtc_file *file)
{
    cache->nvrtc = *file;
    cache_write(&cache->folder, cache->note, file, sizeof *file, NULL);
}

/* ---- images ---- */

/* KIND-HASH, of a state that has what is compiled: by a build of the compiler, for an architecture.
 */
static void put_image_name(XXH3_state_t *state, const struct ref_cache *cache, const char *kind,
                           int arch, const struct nvrtc_file *build, char out[CACHE_NAME])
{
    hash_cache_text(state, cache->version);
    XXH3_128bits_update(state, &arch, sizeof arch);
    XXH3_128bits_update(state, &build->bytes, sizeof build->bytes);
    XXH3_128bits_update(state, &build->changed_ns, sizeof build->changed_ns);
    XXH128_hash_t all = XXH3_128bits_digest(state);
    snprintf(out, CACHE_NAME, "%s-%016llx%016llx", kind, (unsigned long long)all.high64,
             (unsigned long long)all.low64);
}

bool ref_cache_name(const struct ref_cache *cache, const struct user_text *text, int arch,
                    char out[CACHE_NAME])
{
    struct ref_source source;
    uint64_t hash[2];
    bool made = !ref_source_make(&source, text, NULL);
    if (made) {
        XXH3_state_t state;
        ref_source_hash(&source, hash);
        XXH3_128bits_reset(&state);
        XXH3_128bits_update(&state, hash, sizeof hash);
        put_image_name(&state, cache, "ref", arch, &cache->nvrtc, out);
    }
    ref_source_release(&source);
    return made;
}

void ref_cache_ptx_name(const struct ref_cache *cache, const char *text, int arch,
                        const struct nvrtc_file *build, char out[CACHE_NAME])
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    hash_cache_text(&state, text);
    put_image_name(&state, cache, "ptx", arch, build, out);
}

/* The size of the machine code, the machine code, the PTX. */
bool ref_cache_read(const struct ref_cache *cache, const char *name, struct ref_image *out)
{
    char *bytes;
    size_t size;
    uint64_t cubin;
    *out = (struct ref_image){0};
    if (cache_read(&cache->folder, name, &bytes, &size))
        return false;
    bool sound = size > sizeof cubin;
    if (sound) {
        memcpy(&cubin, bytes, sizeof cubin);
        sound = cubin <= size - sizeof cubin &&
                ref_image_fill(out, bytes + sizeof cubin, cubin, size - sizeof cubin - cubin);
    }
    free(bytes);
    return sound;
}

enum status ref_cache_write(const struct ref_cache *cache, const char *name,
                            const struct ref_image *image, struct error *err)
{
    uint64_t cubin = image->cubin_bytes;
    size_t size = sizeof cubin + image->cubin_bytes + image->ptx_bytes;
    char *bytes = malloc(size);
    if (!bytes)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the cache");
    char *at = mempcpy(bytes, &cubin, sizeof cubin);
    if (image->cubin_bytes)
        at = mempcpy(at, image->cubin, image->cubin_bytes);
    if (image->ptx_bytes)
        memcpy(at, image->ptx, image->ptx_bytes);
    enum status status = cache_write(&cache->folder, name, bytes, size, err);
    free(bytes);
    return status;
}
