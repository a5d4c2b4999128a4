/* ptx_text.c - the PTX text of a recorded image. */
#include "tools/discover/ptx_text.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "tests/softgpu/driver/fatbin.h"
#include "tools/worker/image.h"

static const char debug_section[] = ".nv_debug_ptx_txt";

/* The section of a well-formed 64-bit ELF, or NULL. */
static const uint8_t *find_section(const uint8_t *bytes, size_t count, size_t *size)
{
    Elf64_Ehdr elf;
    Elf64_Shdr names, section;
    if (count < sizeof elf)
        return NULL;
    memcpy(&elf, bytes, sizeof elf);
    if (elf.e_shentsize != sizeof section || elf.e_shoff > count ||
        elf.e_shnum > (count - elf.e_shoff) / sizeof section || elf.e_shstrndx >= elf.e_shnum)
        return NULL;
    memcpy(&names, bytes + elf.e_shoff + elf.e_shstrndx * sizeof names, sizeof names);
    if (names.sh_offset > count || names.sh_size > count - names.sh_offset)
        return NULL;
    for (unsigned i = 0; i < elf.e_shnum; i++) {
        memcpy(&section, bytes + elf.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_name > names.sh_size ||
            names.sh_size - section.sh_name < sizeof debug_section ||
            memcmp(bytes + names.sh_offset + section.sh_name, debug_section,
                   sizeof debug_section) != 0)
            continue;
        bool inside = section.sh_offset <= count && section.sh_size <= count - section.sh_offset;
        *size = (size_t)section.sh_size;
        return inside ? bytes + section.sh_offset : NULL;
    }
    return NULL;
}

/* Its lines end with NUL instead of a newline. */
static char *debug_text(const uint8_t *bytes, size_t count)
{
    size_t size = 0;
    const uint8_t *section = find_section(bytes, count, &size);
    char *text = section ? malloc(size + 1) : NULL;
    for (size_t i = 0; text && i < size; i++)
        text[i] = section[i] ? (char)section[i] : '\n';
    if (text)
        text[size] = '\0';
    return text;
}

static char *piece_text(const struct image_piece *piece)
{
    char *text = NULL;
    size_t length = 0;
    if (piece->kind == IMAGE_PTX)
        return strndup((const char *)piece->bytes, piece->count);
    if (piece->kind == IMAGE_CUBIN)
        return debug_text(piece->bytes, piece->count);
    if (fatbin_choose(piece->bytes, piece->count, FATBIN_NEWEST, &text, &length, NULL))
        return NULL;
    return text;
}

char *ptx_text_of(const struct seen_kernel *kernel)
{
    struct image_piece *pieces;
    struct error err = {{0}};
    char *text = NULL;
    if (!kernel->image)
        return NULL;
    size_t count = image_split(kernel->image, kernel->image_bytes, &pieces, &err);
    for (size_t i = 0; i < count && !text; i++) {
        text = piece_text(&pieces[i]);
        if (text && !strstr(text, kernel->names.mangled)) {
            free(text);
            text = NULL;
        }
    }
    if (count)
        free(pieces);
    return text;
}
