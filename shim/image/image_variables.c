#include "image/image_variables.h"

#include <stdlib.h>
#include <string.h>
#include "image/elf_sections.h"
#include "image/fatbin.h"
#include "tools/ptx/ptx.h"

enum { CODE_MOST = 1 << 28 };

static bool add_found_variable(struct image_variables *out, const struct image_variable *variable)
{
    /* Room grows by doubling: a full list has a power of two. */
    if (!(out->count & (out->count - 1))) {
        struct image_variable *more =
            realloc(out->list, (out->count ? 2 * out->count : 1) * sizeof(*more));
        if (!more)
            return false;
        out->list = more;
    }
    out->list[out->count++] = *variable;
    return true;
}

/* ---- machine code ---- */

/* Whether a section holds variables of a module. */
static bool holds_variables(const struct elf_sections *elf, const Elf64_Shdr *section)
{
    static const char *const names[] = {".nv.global", ".nv.global.init", ".nv.constant3"};
    const char *name = elf_section_name(elf, section);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (!strcmp(name, names[i]))
            return true;
    }
    return false;
}

/* Whether the loader fills in a word of bytes [begin, end) of section `target`. */
static bool is_linked(const struct elf_sections *elf, unsigned target, uint64_t begin, uint64_t end)
{
    Elf64_Shdr section;
    for (unsigned i = 0; i < elf->count; i++) {
        if (!elf_section_at(elf, i, &section) || section.sh_info != target)
            continue;
        size_t each = section.sh_type == SHT_RELA  ? sizeof(Elf64_Rela)
                      : section.sh_type == SHT_REL ? sizeof(Elf64_Rel)
                                                   : 0;
        for (uint64_t at = 0; each && at + each <= section.sh_size; at += each) {
            uint64_t offset; /* first in both */
            memcpy(&offset, elf->image + section.sh_offset + at, sizeof(offset));
            if (offset >= begin && offset < end)
                return true;
        }
    }
    return false;
}

static bool add_symbol(struct image_variables *out, const struct elf_sections *elf,
                       const Elf64_Shdr *strings, const Elf64_Sym *symbol)
{
    Elf64_Shdr section;
    const char *name = elf_text_at(elf, strings, symbol->st_name);
    if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || !symbol->st_size || !*name ||
        strchr("$.", *name) || !elf_section_at(elf, symbol->st_shndx, &section) ||
        !holds_variables(elf, &section) || symbol->st_value > section.sh_size ||
        symbol->st_size > section.sh_size - symbol->st_value)
        return true;
    struct image_variable variable = {.name = name, .bytes = symbol->st_size};
    if (section.sh_type != SHT_NOBITS)
        variable.initial = elf->image + section.sh_offset + symbol->st_value;
    variable.linked =
        is_linked(elf, symbol->st_shndx, symbol->st_value, symbol->st_value + symbol->st_size);
    return add_found_variable(out, &variable);
}

static bool read_code(struct image_variables *out, const void *image, size_t bytes)
{
    struct elf_sections elf;
    Elf64_Shdr section, strings;
    if (!elf_sections_open(&elf, image, bytes))
        return false;
    for (unsigned i = 0; i < elf.count; i++) {
        if (!elf_section_at(&elf, i, &section) || section.sh_type != SHT_SYMTAB ||
            !elf_section_at(&elf, section.sh_link, &strings) || strings.sh_type != SHT_STRTAB)
            continue;
        for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            memcpy(&symbol, elf.image + section.sh_offset + at, sizeof(symbol));
            if (!add_symbol(out, &elf, &strings, &symbol))
                return false;
        }
    }
    return true;
}

/* ---- PTX ---- */

static bool read_variable_text(struct image_variables *out, const char *text, size_t length)
{
    struct error err = {{0}};
    if (ptx_read(text, length, "image", &out->ptx, &err)) {
        out->ptx = NULL;
        return false;
    }
    for (unsigned i = 0; i < out->ptx->variable_count; i++) {
        const struct ptx_variable *from = &out->ptx->variables[i];
        const struct image_variable variable = {.name = from->name,
                                                .bytes = from->bytes,
                                                .initial = from->data,
                                                .linked = from->relocation_count > 0};
        bool has_place = from->space == PTX_GLOBAL || from->space == PTX_CONST;
        if (has_place && !from->is_extern && from->bytes && *from->name != '$' &&
            !add_found_variable(out, &variable))
            return false;
    }
    return true;
}

/* ---- both ---- */

static bool read_fatbin(struct image_variables *out, const void *fatbin, size_t bytes,
                        unsigned arch)
{
    struct fatbin_parts parts;
    size_t count = 0;
    fatbin_find(fatbin, bytes, arch, &parts);
    const struct fatbin_part *part = parts.code.at ? &parts.code : &parts.ptx;
    out->code = part->at ? fatbin_unpack(part, CODE_MOST, &count) : NULL;
    if (!out->code)
        return false;
    return parts.code.at ? read_code(out, out->code, count)
                         : read_variable_text(out, out->code, count);
}

bool image_variables_read(struct image_variables *out, const void *image, size_t bytes,
                          unsigned arch)
{
    size_t whole = 0;
    *out = (struct image_variables){0};
    const void *fatbin = bytes >= 16 ? fatbin_at(image, &whole) : NULL;
    bool read = fatbin ? read_fatbin(out, fatbin, bytes, arch)
                : bytes >= 4 && !memcmp(image, ELFMAG, SELFMAG)
                    ? read_code(out, image, bytes)
                    : read_variable_text(out, image, bytes);
    if (!read)
        image_variables_release(out);
    return read;
}

void image_variables_release(struct image_variables *variables)
{
    free(variables->list);
    free(variables->code);
    ptx_free(variables->ptx);
    *variables = (struct image_variables){0};
}

bool image_variable_is_initial(const struct image_variable *variable, const void *value)
{
    if (variable->initial)
        return !memcmp(variable->initial, value, variable->bytes);
    for (uint64_t i = 0; i < variable->bytes; i++) {
        if (((const uint8_t *)value)[i])
            return false;
    }
    return true;
}
