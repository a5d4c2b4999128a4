#include "image/carried_text.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char debug_text[] = ".nv_debug_ptx_txt";

static bool is_text(const char *image, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && image[at] && strchr(" \t\r\n", image[at]))
        at++;
    return at + 1 < bytes && (image[at] == '.' || !memcmp(image + at, "//", 2));
}

static char *copy_carried(const char *text, size_t length, size_t *bytes)
{
    char *out = malloc(length + 1);
    if (!out)
        return NULL;
    memcpy(out, text, length);
    out[length] = '\0';
    *bytes = length;
    return out;
}

/* Lines end with NUL in a cubin. */
static char *copy_lines(const char *text, size_t length, size_t *bytes)
{
    char *out = copy_carried(text, length, bytes);
    for (size_t i = 0; out && i < length; i++) {
        if (!out[i])
            out[i] = '\n';
    }
    return out;
}

static const Elf64_Shdr *find_section(const uint8_t *image, size_t bytes, const char *wanted)
{
    const Elf64_Ehdr *elf = (const void *)image;
    if (bytes < sizeof *elf || memcmp(elf->e_ident, ELFMAG, SELFMAG) ||
        elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_shentsize != sizeof(Elf64_Shdr) ||
        elf->e_shoff > bytes || elf->e_shnum > (bytes - elf->e_shoff) / sizeof(Elf64_Shdr) ||
        elf->e_shstrndx >= elf->e_shnum || elf->e_shoff % _Alignof(Elf64_Shdr))
        return NULL;
    const Elf64_Shdr *header = (const void *)(image + elf->e_shoff);
    const Elf64_Shdr *names = &header[elf->e_shstrndx];
    if (names->sh_offset > bytes || names->sh_size > bytes - names->sh_offset)
        return NULL;
    for (unsigned i = 0; i < elf->e_shnum; i++) {
        size_t name = header[i].sh_name, length = strlen(wanted) + 1;
        if (name < names->sh_size && length <= names->sh_size - name &&
            !memcmp(image + names->sh_offset + name, wanted, length) &&
            header[i].sh_type != SHT_NOBITS && header[i].sh_offset <= bytes &&
            header[i].sh_size <= bytes - header[i].sh_offset)
            return &header[i];
    }
    return NULL;
}

bool carries_text(const void *image, size_t bytes)
{
    return image && (is_text(image, bytes) || find_section(image, bytes, debug_text));
}

char *carried_text_of(const void *image, size_t image_bytes, size_t *bytes)
{
    if (!image)
        return NULL;
    if (is_text(image, image_bytes))
        return copy_carried(image, strnlen(image, image_bytes), bytes);
    const Elf64_Shdr *section = find_section(image, image_bytes, debug_text);
    return section && section->sh_size
               ? copy_lines((const char *)image + section->sh_offset, section->sh_size, bytes)
               : NULL;
}
