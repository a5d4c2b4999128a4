#include "image/elf_sections.h"

#include <string.h>

/* Whether [offset, offset + count) lies in the image. */
static bool inside_file(const struct elf_sections *elf, uint64_t offset, uint64_t count)
{
    return offset <= elf->bytes && count <= elf->bytes - offset;
}

bool elf_section_at(const struct elf_sections *elf, unsigned index, Elf64_Shdr *out)
{
    if (index >= elf->count)
        return false;
    memcpy(out, elf->image + elf->table + (uint64_t)index * sizeof(*out), sizeof(*out));
    return out->sh_type == SHT_NOBITS || inside_file(elf, out->sh_offset, out->sh_size);
}

const char *elf_text_at(const struct elf_sections *elf, const Elf64_Shdr *texts, uint64_t offset)
{
    const char *text = (const char *)elf->image + texts->sh_offset + offset;
    bool ends = offset < texts->sh_size && memchr(text, '\0', texts->sh_size - offset);
    return ends ? text : "";
}

const char *elf_section_name(const struct elf_sections *elf, const Elf64_Shdr *section)
{
    return elf_text_at(elf, &elf->names, section->sh_name);
}

bool elf_sections_open(struct elf_sections *elf, const void *image, size_t bytes)
{
    Elf64_Ehdr head;
    *elf = (struct elf_sections){.image = image, .bytes = bytes};
    if (!image || bytes < sizeof(head))
        return false;
    memcpy(&head, image, sizeof(head));
    elf->table = head.e_shoff;
    elf->count = head.e_shnum;
    return !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_ident[EI_CLASS] == ELFCLASS64 &&
           head.e_shentsize == sizeof(Elf64_Shdr) &&
           inside_file(elf, elf->table, (uint64_t)elf->count * sizeof(Elf64_Shdr)) &&
           elf_section_at(elf, head.e_shstrndx, &elf->names) && elf->names.sh_type != SHT_NOBITS;
}
