#include "tools/fuzz/symbols.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cuda.h>
#include "names/pattern.h"
#include "tests/softgpu/driver/module/fatbin.h"
#include "tools/worker/image.h"

enum { MOST_NAME = 4096 };

struct listing {
    struct fuzz_symbols *out;
    struct arena *arena;
    size_t room;
    enum status status;
};

static void add_symbol(struct listing *l, const char *name, size_t length)
{
    struct fuzz_symbols *out = l->out;
    if (length == 0 || length > MOST_NAME || l->status)
        return;
    for (size_t i = 0; i < out->count; i++) {
        if (strncmp(out->name[i], name, length) == 0 && out->name[i][length] == '\0')
            return;
    }
    if (out->count == l->room) {
        size_t room = 2 * l->room + 64;
        const char **more = arena_alloc(l->arena, room * sizeof *more);
        if (more && out->count)
            memcpy(more, out->name, out->count * sizeof *more);
        l->room = more ? room : l->room;
        out->name = more ? more : out->name;
        l->status = more ? STATUS_OK : STATUS_NO_MEMORY;
    }
    const char *own = l->status ? NULL : arena_text(l->arena, name, length);
    if (own)
        out->name[out->count++] = own;
}

/* "... .entry NAME(": what a comment may hold of it does no harm. */
static void list_ptx(struct listing *l, const char *text)
{
    static const char word[] = ".entry", of_names[] =
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                                             "UVWXYZ0123456789_$%";
    for (const char *at = text; (at = strstr(at, word));) {
        at += sizeof word - 1;
        size_t space = strspn(at, " \t\r\n");
        if (space)
            add_symbol(l, at + space, strspn(at + space, of_names));
    }
}

/* Kernels, and no other functions, have a section for their parameters. */
static void list_cubin(struct listing *l, const uint8_t *bytes, size_t count)
{
    static const char stem[] = ".nv.constant0.";
    Elf64_Ehdr elf;
    Elf64_Shdr names, section;
    if (count < sizeof elf)
        return;
    memcpy(&elf, bytes, sizeof elf);
    if (elf.e_shentsize != sizeof section || elf.e_shoff > count ||
        elf.e_shnum > (count - elf.e_shoff) / sizeof section || elf.e_shstrndx >= elf.e_shnum)
        return;
    memcpy(&names, bytes + elf.e_shoff + elf.e_shstrndx * sizeof names, sizeof names);
    if (names.sh_offset > count || names.sh_size > count - names.sh_offset)
        return;
    const char *text = (const char *)bytes + names.sh_offset;
    for (unsigned i = 0; i < elf.e_shnum; i++) {
        memcpy(&section, bytes + elf.e_shoff + i * sizeof section, sizeof section);
        size_t room = section.sh_name < names.sh_size ? names.sh_size - section.sh_name : 0;
        const char *name = text + (room ? section.sh_name : 0);
        size_t length = room ? strnlen(name, room) : 0;
        if (length > sizeof stem - 1 && length < room && memcmp(name, stem, sizeof stem - 1) == 0)
            add_symbol(l, name + sizeof stem - 1, length - (sizeof stem - 1));
    }
}

static void list_piece(struct listing *l, const struct image_piece *piece)
{
    char *text = NULL;
    size_t length = 0;
    if (piece->kind == IMAGE_CUBIN) {
        list_cubin(l, piece->bytes, piece->count);
    } else if (piece->kind == IMAGE_PTX) {
        text = strndup((const char *)piece->bytes, piece->count);
    } else if (fatbin_choose(piece->bytes, piece->count, FATBIN_NEWEST, &text, &length, NULL)) {
        return;
    }
    if (text)
        list_ptx(l, text);
    free(text);
}

enum status fuzz_symbols_read(struct fuzz_symbols *out, struct arena *arena, const void *image,
                              size_t bytes, struct error *err)
{
    struct listing l = {.out = out, .arena = arena};
    struct image_piece *pieces;
    *out = (struct fuzz_symbols){0};
    size_t count = image_split(image, bytes, &pieces, err);
    out->text = count > 0;
    for (size_t i = 0; i < count; i++) {
        out->text = out->text && pieces[i].kind == IMAGE_PTX;
        list_piece(&l, &pieces[i]);
    }
    if (count)
        free(pieces);
    if (l.status)
        return error_set(err, l.status, "no memory for the names of the image's kernels");
    return count ? STATUS_OK : STATUS_INVALID;
}

enum status fuzz_symbol_matches(const char *name, const char *symbol, bool *out, struct error *err)
{
    struct arena arena = {0};
    struct pattern *pattern;
    struct symbol_names names;
    struct captures captures;
    enum status status = pattern_compile(&pattern, name, err);
    *out = false;
    if (status)
        return status;
    if (symbol_describe(&names, &arena, symbol))
        *out = pattern_match(pattern, &names, &arena, &captures) == PATTERN_YES;
    pattern_destroy(pattern);
    arena_release(&arena);
    return STATUS_OK;
}
