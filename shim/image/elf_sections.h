/* elf_sections.h - the sections of a 64-bit ELF in memory, each held against its size. Pure. */
#ifndef IMAGE_ELF_SECTIONS_H
#define IMAGE_ELF_SECTIONS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_sections {
    const uint8_t *image;
    size_t bytes;
    unsigned count;
    uint64_t table;
    Elf64_Shdr names;
};

/* False for anything but a 64-bit ELF whose table of sections lies in it. The image stays the
 * caller's, as long as `elf` is used; it needs no alignment. */
bool elf_sections_open(struct elf_sections *elf, const void *image, size_t bytes);

/* False: there is none of this number, or its bytes do not lie in the image. */
bool elf_section_at(const struct elf_sections *elf, unsigned index, Elf64_Shdr *out);

/* A text of a section of texts; "": there is none. */
const char *elf_text_at(const struct elf_sections *elf, const Elf64_Shdr *texts, uint64_t offset);

/* The name of a section; "": it has none. */
const char *elf_section_name(const struct elf_sections *elf, const Elf64_Shdr *section);

#endif
