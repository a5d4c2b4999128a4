#include "image/image_kernels.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

struct sections {
    const uint8_t *image;
    size_t bytes;
    const Elf64_Shdr *header;
    unsigned count;
    const char *names;
    size_t names_bytes;
};

/* False for anything but a well-formed 64-bit ELF. */
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

/* Text that begins with a directive or a comment. */
static bool is_ptx(const char *image, size_t bytes)
{
    size_t at = 0;
    while (image && at < bytes && strchr(" \t\r\n", image[at]) && image[at])
        at++;
    return image && at + 1 < bytes && (image[at] == '.' || !memcmp(image + at, "//", 2));
}

/* The names behind `.entry`. */
static bool ptx_has(const char *text, size_t bytes, image_kernel_fn accepts, const void *user)
{
    static const char entry[] = ".entry";
    const char *end = text + bytes, *at = text;
    while ((at = memmem(at, (size_t)(end - at), entry, sizeof(entry) - 1))) {
        char name[1024];
        size_t length = 0;
        at += sizeof(entry) - 1;
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
            at++;
        while (at < end && length + 1 < sizeof(name) && *at && !strchr(" \t\r\n({", *at))
            name[length++] = *at++;
        name[length] = '\0';
        if (length && accepts(user, name))
            return true;
    }
    return false;
}

bool image_has_kernel(const void *image, size_t bytes, image_kernel_fn accepts, const void *user)
{
    struct sections sections;
    if (is_ptx(image, bytes))
        return ptx_has(image, bytes, accepts, user);
    if (!read_sections(image, bytes, &sections))
        return false;
    for (unsigned i = 0; i < sections.count; i++) {
        const char *kernel = kernel_of(&sections, i);
        if (kernel && accepts(user, kernel))
            return true;
    }
    return false;
}
