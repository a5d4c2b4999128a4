#include "judge/modules/images.h"

#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "gate/kernels.h"
#include "image/fatbin.h"
#include "image/image_kernels.h"
#include "image/carried_text.h"
#include "system/files.h"

struct image {
    struct image *next; /* loaded before it */
    const void *context;
    struct kernel_home home;
    uint32_t id;
    uint64_t loaded, unloaded; /* moments; unloaded 0: it is there */
    void *data;                /* NULL: not kept, for `reason`; it may hold any symbol */
    size_t bytes;
    const char *reason;
    unsigned holders;
    /* A fatbin, whose kernels' names may be compressed: it is found by `home` alone. Where it
     * lies in a loaded file nothing is copied before a bundle needs it. */
    bool fatbin, cut;   /* `data` is what one device runs of it */
    const void *source; /* in the program's memory, until it is unloaded */
    size_t source_bytes;
    const void *origin; /* in a file of the process; never read; NULL: elsewhere */
    uint64_t hash;      /* of what was loaded; 0: not computed yet */
};

struct images {
    const struct registry *registry;
    bool ptx; /* all that carry it are kept */
    atomic_uint_fast64_t moment;
    pthread_mutex_t lock;
    struct image *newest;
    size_t total;
    unsigned unloaded;
};

/* What was announced to a thread since images_call_begins. */
static __thread struct {
    unsigned count;
    const void *context;
    uint32_t id;
} announced;

struct images *images_create(const struct registry *registry)
{
    struct images *images = calloc(1, sizeof(*images));
    if (!images)
        return NULL;
    images->registry = registry;
    pthread_mutex_init(&images->lock, NULL);
    return images;
}

void images_keep_all(struct images *images)
{
    images->registry = NULL;
}

void images_keep_ptx(struct images *images)
{
    images->ptx = true;
}

/* An image_kernel_fn. */
static bool may_be_named(const void *registry, const char *symbol)
{
    return !registry || registry_may_name(registry, symbol);
}

static void free_image(struct image *image)
{
    free(image->data);
    free(image);
}

void images_destroy(struct images *images)
{
    if (!images)
        return;
    while (images->newest) {
        struct image *gone = images->newest;
        images->newest = gone->next;
        free_image(gone);
    }
    pthread_mutex_destroy(&images->lock);
    free(images);
}

/* ---- what is kept ---- */

/* Frees the unloaded image that was loaded first. False: there is none. Lock held. */
static bool drop_one(struct images *images)
{
    struct image **oldest = NULL;
    for (struct image **at = &images->newest; *at; at = &(*at)->next) {
        if ((*at)->unloaded && !(*at)->holders)
            oldest = at;
    }
    if (!oldest)
        return false;
    struct image *gone = *oldest;
    *oldest = gone->next;
    images->total -= gone->data ? gone->bytes : 0;
    images->unloaded--;
    free_image(gone);
    return true;
}

/* Lock held. */
static void mark_unloaded(struct images *images, struct image *image)
{
    image->source = NULL;
    image->unloaded = atomic_fetch_add(&images->moment, 1) + 1;
    images->unloaded++;
}

static void drop_some(struct images *images)
{
    while (images->unloaded > IMAGES_UNLOADED && drop_one(images))
        ;
}

/* ---- cubins ---- */

/* An image_kernel_fn. */
static bool is_symbol(const void *symbol, const char *kernel)
{
    return strcmp(symbol, kernel) == 0;
}

/* Whether the image is kept. */
static bool wanted(const struct images *images, const void *image, size_t bytes)
{
    return image_has_kernel(image, bytes, may_be_named, images->registry) ||
           (images->ptx && carries_text(image, bytes));
}

/* ---- loads and unloads ---- */

static void copy_image(struct images *images, struct image *out, const void *image, size_t bytes)
{
    pthread_mutex_lock(&images->lock);
    while (bytes <= IMAGES_BYTES && images->total > IMAGES_BYTES - bytes && drop_one(images))
        ;
    bool room = bytes <= IMAGES_BYTES && images->total <= IMAGES_BYTES - bytes;
    images->total += room ? bytes : 0;
    pthread_mutex_unlock(&images->lock);
    out->reason = "the images of registered kernels exceed 32 MiB";
    if (!room)
        return;
    out->bytes = bytes;
    out->data = malloc(bytes);
    out->reason = out->data ? NULL : "no memory for it";
    if (out->data) {
        memcpy(out->data, image, bytes);
        return;
    }
    pthread_mutex_lock(&images->lock);
    images->total -= bytes;
    pthread_mutex_unlock(&images->lock);
}

static void add_image(struct images *images, struct image *made)
{
    pthread_mutex_lock(&images->lock);
    made->loaded = atomic_fetch_add(&images->moment, 1) + 1;
    made->next = images->newest;
    images->newest = made;
    pthread_mutex_unlock(&images->lock);
}

void images_loaded(struct images *images, const void *context, uint32_t id, const void *library,
                   const void *image, size_t bytes)
{
    announced.count++;
    announced.context = context;
    announced.id = id;
    if (!wanted(images, image, bytes))
        return;
    struct image *made = calloc(1, sizeof(*made));
    if (!made)
        return;
    made->context = context;
    made->id = id;
    made->home.library = library;
    copy_image(images, made, image, bytes);
    add_image(images, made);
}

/* Of a cubin that the driver has accepted: where its last part ends. 0: it is none. */
static size_t cubin_bytes(const void *image)
{
    const Elf64_Ehdr *elf = image;
    if (memcmp(elf->e_ident, ELFMAG, SELFMAG) || elf->e_ident[EI_CLASS] != ELFCLASS64)
        return 0;
    const Elf64_Shdr *section = (const Elf64_Shdr *)((const char *)image + elf->e_shoff);
    size_t end = elf->e_shoff + (size_t)elf->e_shnum * sizeof(*section);
    size_t segments = elf->e_phoff + (size_t)elf->e_phnum * elf->e_phentsize;
    end = segments > end ? segments : end;
    for (unsigned i = 0; i < elf->e_shnum; i++) {
        size_t its = section[i].sh_offset + section[i].sh_size;
        if (section[i].sh_type != SHT_NOBITS && its > end)
            end = its;
    }
    return end;
}

void images_given(struct images *images, const void *module, const void *context, const void *image,
                  bool lasting)
{
    size_t bytes = 0;
    if (!images)
        return;
    const void *fatbin = image ? fatbin_at(image, &bytes) : NULL;
    if (image && !fatbin) {
        bytes = cubin_bytes(image);
        bytes = bytes ? bytes : strlen(image);
    }
    if (!image || (!fatbin && !wanted(images, image, bytes)))
        return;
    struct image *made = calloc(1, sizeof(*made));
    if (!made)
        return;
    made->context = context;
    if (context)
        made->home.module = module;
    else
        made->home.library = module;
    made->fatbin = fatbin != NULL;
    made->origin = lasting ? image : NULL;
    if (fatbin && lasting) {
        made->source = fatbin;
        made->source_bytes = bytes;
    } else {
        copy_image(images, made, fatbin ? fatbin : image, bytes);
    }
    add_image(images, made);
}

void images_file(struct images *images, const void *module, const void *context, const char *path)
{
    struct stat facts;
    struct error err = {{0}};
    int fd = -1;
    if (!images || files_open_read(path, &fd, &err))
        return;
    bool fits = !fstat(fd, &facts) && facts.st_size > 0 && facts.st_size <= IMAGES_BYTES;
    char *image = fits ? malloc((size_t)facts.st_size + 1) : NULL;
    if (image && read(fd, image, (size_t)facts.st_size) == facts.st_size) {
        image[facts.st_size] = '\0'; /* of PTX */
        images_given(images, module, context, image, false);
    }
    free(image);
    close(fd);
}

void images_taken(struct images *images, const void *module)
{
    if (!images)
        return;
    pthread_mutex_lock(&images->lock);
    struct image *image = images->newest;
    while (image &&
           (image->unloaded || (image->home.module != module && image->home.library != module)))
        image = image->next;
    if (image)
        mark_unloaded(images, image);
    drop_some(images);
    pthread_mutex_unlock(&images->lock);
}

static struct image *find_loaded(struct images *images, const void *context, uint32_t id)
{
    struct image *image = images->newest;
    while (image && (image->unloaded || image->context != context || image->id != id))
        image = image->next;
    return image;
}

void images_unloading(struct images *images, const void *context, uint32_t id)
{
    pthread_mutex_lock(&images->lock);
    struct image *image = find_loaded(images, context, id);
    if (image)
        mark_unloaded(images, image);
    drop_some(images);
    pthread_mutex_unlock(&images->lock);
}

void images_context_going(struct images *images, const void *context)
{
    if (!images)
        return;
    pthread_mutex_lock(&images->lock);
    for (struct image *image = images->newest; image; image = image->next) {
        if (image->context == context && !image->unloaded)
            mark_unloaded(images, image);
    }
    drop_some(images);
    pthread_mutex_unlock(&images->lock);
}

void images_call_begins(void)
{
    announced.count = 0;
}

void images_call_ends(struct images *images, const void *module)
{
    if (announced.count == 1 && module) {
        pthread_mutex_lock(&images->lock);
        struct image *image = find_loaded(images, announced.context, announced.id);
        if (image)
            image->home.module = module;
        pthread_mutex_unlock(&images->lock);
    }
    announced.count = 0;
}

uint64_t images_moment(const struct images *images)
{
    return images ? atomic_load(&images->moment) : 0;
}

struct image_query images_query(const struct images *images, const struct launch *launch,
                                const char *symbol, unsigned arch)
{
    return (struct image_query){symbol, launch->context, kernels_home(launch->function),
                                images_moment(images), arch};
}

/* ---- bundles ---- */

/* Whether the launch is of this module for certain, or may be. Lock held. */
enum match { MATCH_NO, MATCH_MAYBE, MATCH_SURE };

static enum match match_home(const struct kernel_home *a, const struct kernel_home *b)
{
    if (a->module && b->module)
        return a->module == b->module ? MATCH_SURE : MATCH_NO;
    if (a->library && b->library)
        return a->library == b->library ? MATCH_SURE : MATCH_NO;
    return MATCH_MAYBE;
}

static enum match match(const struct image *image, const struct image_query *query)
{
    /* Unknown for libraries, and for nodes of a graph, whose images are found by module. */
    bool here = !image->context || !query->context || image->context == query->context;
    bool there = here && image->loaded <= query->moment &&
                 (!image->unloaded || image->unloaded > query->moment);
    enum match home = match_home(&image->home, &query->home);
    if (!there || home == MATCH_NO)
        return MATCH_NO;
    if (home == MATCH_SURE)
        return MATCH_SURE;
    return !image->fatbin && (!image->data ||
                              image_has_kernel(image->data, image->bytes, is_symbol, query->symbol))
               ? MATCH_MAYBE
               : MATCH_NO;
}

static bool same_bytes(const struct image *a, const struct image *b)
{
    return a->data && b->data && a->bytes == b->bytes && !memcmp(a->data, b->data, a->bytes);
}

/* Lock held. */
static struct image *find_image(const struct images *images, const struct image_query *query,
                                const char **reason)
{
    struct image *found = NULL;
    bool several = false;
    for (struct image *image = images->newest; image; image = image->next) {
        enum match how = match(image, query);
        if (how == MATCH_NO)
            continue;
        if (how == MATCH_SURE) {
            found = image;
            several = false;
            break;
        }
        several = several || (found && !same_bytes(found, image));
        found = image;
    }
    *reason =
        !found
            ? "its module is a library's, which CUPTI does not announce, was loaded before cuvet, "
              "is no cubin and no PTX, or was unloaded"
        : several ? "several loaded modules may hold a kernel of this name"
                  : found->reason;
    return found && (found->data || found->source) && !several ? found : NULL;
}

/* Of all that was loaded; 0: only a part of it is left. Lock held. */
static uint64_t image_hash(struct image *image)
{
    const void *from = image->source ? image->source : image->data;
    if (!image->hash && (image->source || !image->cut))
        image->hash = XXH3_64bits(from, image->source ? image->source_bytes : image->bytes) | 1;
    return image->hash;
}

uint64_t images_hash(struct images *images, const struct image_query *query)
{
    const char *reason;
    if (!images)
        return 0;
    pthread_mutex_lock(&images->lock);
    struct image *found = find_image(images, query, &reason);
    uint64_t hash = found ? image_hash(found) : 0;
    pthread_mutex_unlock(&images->lock);
    return hash;
}

/* What the device runs of a fatbin takes its place. Lock held. False: that is nothing, or there is
 * no room. */
static bool cut(struct images *images, struct image *image, unsigned arch, const char **reason)
{
    size_t bytes = 0;
    const void *from = image->source ? image->source : image->data;
    size_t whole = image->source ? image->source_bytes : image->bytes;
    size_t before = image->data ? image->bytes : 0;
    void *data = arch ? fatbin_cut(from, whole, arch, &bytes) : NULL;
    *reason = data ? NULL : "its fatbin has no code for the device";
    if (data && bytes > IMAGES_BYTES - (images->total - before)) {
        *reason = "the images of registered kernels exceed 32 MiB";
        free(data);
        data = NULL;
    }
    if (!data)
        return false;
    if (!image->source)
        image_hash(image);
    images->total += bytes - before;
    free(image->data);
    image->data = data;
    image->bytes = bytes;
    return image->cut = true;
}

const struct image *images_hold(struct images *images, const struct image_query *query,
                                const char **reason)
{
    *reason = "no image was kept";
    if (!images)
        return NULL;
    if (symbol_is_call(query->symbol)) {
        *reason = "a library call has no module of its own";
        return NULL;
    }
    pthread_mutex_lock(&images->lock);
    struct image *found = find_image(images, query, reason);
    if (found && found->fatbin && !found->cut && !cut(images, found, query->arch, reason))
        found = NULL;
    if (found)
        found->holders++;
    pthread_mutex_unlock(&images->lock);
    return found;
}

uint64_t images_fatbin(struct images *images, const struct image_query *query)
{
    const char *reason;
    pthread_mutex_lock(&images->lock);
    const struct image *found = find_image(images, query, &reason);
    uint64_t load = found && found->fatbin ? found->loaded : 0;
    pthread_mutex_unlock(&images->lock);
    return load;
}

bool images_read(struct images *images, uint64_t load, images_read_fn read, void *user)
{
    pthread_mutex_lock(&images->lock);
    const struct image *image = images->newest;
    while (image && image->loaded != load)
        image = image->next;
    bool there = image && (image->source || image->data);
    if (there && read && image->source)
        read(user, image->source, image->source_bytes);
    else if (there && read)
        read(user, image->data, image->bytes);
    pthread_mutex_unlock(&images->lock);
    return there;
}

const void *image_data(const struct image *image, size_t *bytes)
{
    *bytes = image ? image->bytes : 0;
    return image ? image->data : NULL;
}

const void *image_origin(const struct image *image)
{
    return image ? image->origin : NULL;
}

void images_release(struct images *images, const struct image *image)
{
    if (!image)
        return;
    pthread_mutex_lock(&images->lock);
    ((struct image *)image)->holders--;
    drop_some(images);
    pthread_mutex_unlock(&images->lock);
}

size_t images_kept(struct images *images)
{
    pthread_mutex_lock(&images->lock);
    size_t total = images->total;
    pthread_mutex_unlock(&images->lock);
    return total;
}
