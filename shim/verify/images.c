#include "verify/images.h"

#include <elf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES = 512 };
static const size_t most_bytes = 32u << 20;

struct image {
    void *data; /* NULL: too large to keep */
    size_t bytes;
    char *symbol; /* the registered kernel that it was kept for */
};

struct images {
    struct registry *registry;
    pthread_mutex_t lock;
    size_t total;
    unsigned count;
    struct image image[IMAGES];
};

struct images *images_create(struct registry *registry)
{
    struct images *images = calloc(1, sizeof(*images));
    if (!images)
        return NULL;
    images->registry = registry;
    pthread_mutex_init(&images->lock, NULL);
    return images;
}

/* Several entries may share one copy: it is freed with the first of them. */
void images_destroy(struct images *images)
{
    if (!images)
        return;
    for (unsigned i = 0; i < images->count; i++) {
        bool shared = i && images->image[i].data == images->image[i - 1].data;
        if (!shared)
            free(images->image[i].data);
        free(images->image[i].symbol);
    }
    pthread_mutex_destroy(&images->lock);
    free(images);
}

/* The whole image, copied, or NULL when the bound is reached. Lock held. */
static void *keep(struct images *images, const void *image, size_t bytes)
{
    if (bytes > most_bytes || images->total > most_bytes - bytes)
        return NULL;
    void *copy = malloc(bytes);
    if (copy) {
        memcpy(copy, image, bytes);
        images->total += bytes;
    }
    return copy;
}

static void add_symbol(struct images *images, const char *symbol, void *data, size_t bytes)
{
    char *copy = images->count < IMAGES ? strdup(symbol) : NULL;
    if (!copy)
        return;
    images->image[images->count++] = (struct image){data, bytes, copy};
}

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

void images_add(struct images *images, const void *image, size_t bytes)
{
    struct sections sections;
    void *copy = NULL;
    bool tried = false;
    if (!read_sections(image, bytes, &sections))
        return;
    pthread_mutex_lock(&images->lock);
    for (unsigned i = 0; i < sections.count; i++) {
        const char *symbol = kernel_of(&sections, i);
        if (!symbol || !registry_names(images->registry, symbol))
            continue;
        if (!tried)
            copy = keep(images, image, bytes);
        tried = true;
        add_symbol(images, symbol, copy, bytes);
    }
    pthread_mutex_unlock(&images->lock);
}

const void *images_find(struct images *images, const char *symbol, size_t *bytes,
                        const char **reason)
{
    const void *found = NULL;
    *bytes = 0;
    *reason = "the module was loaded before cuvet, or is no ELF image";
    pthread_mutex_lock(&images->lock);
    for (unsigned i = images->count; i-- > 0 && !found;) {
        if (strcmp(images->image[i].symbol, symbol))
            continue;
        found = images->image[i].data;
        *bytes = found ? images->image[i].bytes : 0;
        *reason = found ? NULL : "the images of registered kernels exceed 32 MiB";
        break;
    }
    pthread_mutex_unlock(&images->lock);
    return found;
}
