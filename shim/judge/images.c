#include "judge/images.h"

#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct image {
    struct image *next; /* loaded before it */
    const void *context, *module;
    uint32_t id;
    uint64_t loaded, unloaded; /* moments; unloaded 0: it is there */
    void *data;                /* NULL: not kept, for `reason`; it may hold any symbol */
    size_t bytes;
    const char *reason;
    unsigned holders;
};

struct images {
    const struct registry *registry;
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

/* Forgets the unloaded image that was loaded first. False: there is none. Lock held. */
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

static void mark_unloaded(struct images *images, struct image *image)
{
    image->unloaded = atomic_fetch_add(&images->moment, 1) + 1;
    images->unloaded++;
}

static void drop_some(struct images *images)
{
    while (images->unloaded > IMAGES_UNLOADED && drop_one(images))
        ;
}

/* ---- cubins ---- */

struct sections {
    const uint8_t *image;
    size_t bytes;
    const Elf64_Shdr *header;
    unsigned count;
    const char *names;
    size_t names_bytes;
};

/* False for anything but a well-formed 64-bit ELF: such an image is simply not kept. */
static bool read_sections(const void *image, size_t bytes, struct sections *out)
{
    const Elf64_Ehdr *elf = image;
    if (!image || bytes < sizeof(*elf) || memcmp(elf->e_ident, ELFMAG, SELFMAG) ||
        elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_shentsize != sizeof(Elf64_Shdr) ||
        elf->e_shoff > bytes || elf->e_shnum > (bytes - elf->e_shoff) / sizeof(Elf64_Shdr) ||
        elf->e_shstrndx >= elf->e_shnum || elf->e_shoff % _Alignof(Elf64_Shdr))
        return false;
    out->image = image;
    out->bytes = bytes;
    out->header = (const Elf64_Shdr *)(out->image + elf->e_shoff);
    out->count = elf->e_shnum;
    const Elf64_Shdr *names = &out->header[elf->e_shstrndx];
    if (names->sh_offset > bytes || names->sh_size > bytes - names->sh_offset || !names->sh_size)
        return false;
    out->names = (const char *)out->image + names->sh_offset;
    out->names_bytes = names->sh_size;
    return out->names[out->names_bytes - 1] == '\0';
}

/* Each kernel's code is a section of its own, ".text.SYMBOL". */
static const char *kernel_of(const struct sections *sections, unsigned index)
{
    static const char prefix[] = ".text.";
    size_t name = sections->header[index].sh_name;
    if (name >= sections->names_bytes ||
        strncmp(sections->names + name, prefix, sizeof(prefix) - 1))
        return NULL;
    return sections->names + name + sizeof(prefix) - 1;
}

/* Whether the image has code of `symbol`, or, NULL, of any kernel that the registry may name. */
static bool holds(const void *image, size_t bytes, const char *symbol,
                  const struct registry *registry)
{
    struct sections sections;
    if (!read_sections(image, bytes, &sections))
        return false;
    for (unsigned i = 0; i < sections.count; i++) {
        const char *kernel = kernel_of(&sections, i);
        if (kernel && (symbol ? !strcmp(kernel, symbol) : registry_may_name(registry, kernel)))
            return true;
    }
    return false;
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

void images_loaded(struct images *images, const void *context, uint32_t id, const void *image,
                   size_t bytes)
{
    announced.count++;
    announced.context = context;
    announced.id = id;
    if (!holds(image, bytes, NULL, images->registry))
        return;
    struct image *made = calloc(1, sizeof(*made));
    if (!made)
        return;
    made->context = context;
    made->id = id;
    copy_image(images, made, image, bytes);
    pthread_mutex_lock(&images->lock);
    made->loaded = atomic_fetch_add(&images->moment, 1) + 1;
    made->next = images->newest;
    images->newest = made;
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
            image->module = module;
        pthread_mutex_unlock(&images->lock);
    }
    announced.count = 0;
}

uint64_t images_moment(const struct images *images)
{
    return images ? atomic_load(&images->moment) : 0;
}

/* ---- bundles ---- */

/* Whether the launch may be of this module. Lock held. */
static bool may_be(const struct image *image, const struct image_query *query)
{
    bool here = !image->context || image->context == query->context; /* unknown for libraries */
    bool there = here && image->loaded <= query->moment &&
                 (!image->unloaded || image->unloaded > query->moment);
    if (!there || (query->module && image->module && image->module != query->module))
        return false;
    return !image->data || holds(image->data, image->bytes, query->symbol, NULL);
}

static bool same_bytes(const struct image *a, const struct image *b)
{
    return a->data && b->data && a->bytes == b->bytes && !memcmp(a->data, b->data, a->bytes);
}

/* Lock held. */
static struct image *find(const struct images *images, const struct image_query *query,
                          const char **reason)
{
    struct image *found = NULL;
    bool several = false;
    for (struct image *image = images->newest; image; image = image->next) {
        if (!may_be(image, query))
            continue;
        if (query->module && image->module == query->module) {
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
              "is no ELF image, or was unloaded"
        : several ? "several loaded modules may hold a kernel of this name"
                  : found->reason;
    return found && found->data && !several ? found : NULL;
}

const struct image *images_hold(struct images *images, const struct image_query *query,
                                const char **reason)
{
    *reason = "no image was kept";
    if (!images)
        return NULL;
    pthread_mutex_lock(&images->lock);
    struct image *found = find(images, query, reason);
    if (found)
        found->holders++;
    pthread_mutex_unlock(&images->lock);
    return found;
}

const void *image_data(const struct image *image, size_t *bytes)
{
    *bytes = image ? image->bytes : 0;
    return image ? image->data : NULL;
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
