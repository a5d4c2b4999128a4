#include "tools/worker/image.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "image/fatbin.h"
#include "image/carried_text.h"
#include "tests/softgpu/driver/module/fatbin.h"

enum { MOST_PIECES = 65536, MOST_CODE = 1 << 30 };

struct split {
    struct image_piece *piece;
    size_t count, room;
    bool failed;
};

static void split_add(struct split *split, enum image_kind kind, const uint8_t *bytes, size_t count)
{
    if (split->count == split->room) {
        size_t room = 2 * split->room + 4;
        struct image_piece *more =
            room <= MOST_PIECES ? realloc(split->piece, room * sizeof(*more)) : NULL;
        split->failed = split->failed || !more;
        if (!more)
            return;
        split->piece = more;
        split->room = room;
    }
    split->piece[split->count++] = (struct image_piece){kind, bytes, count};
}

/* Fatbins, one behind the other, each aligned to 8 bytes. */
static void split_fatbins(struct split *split, const uint8_t *bytes, size_t count)
{
    uint64_t whole;
    size_t at = 0;
    while (at < count && !split->failed && split->count < MOST_PIECES) {
        if (!fatbin_measure(bytes + at, count - at, &whole) || whole > count - at || !whole) {
            at += 8;
            continue;
        }
        split_add(split, IMAGE_FATBIN, bytes + at, (size_t)whole);
        at += ((size_t)whole + 7) / 8 * 8;
    }
}

/* Whether the section holds fatbins; those of relocatable device code lie in one of their own. */
static bool holds_fatbins(const uint8_t *names, uint64_t length, uint32_t name)
{
    static const char *const wanted[] = {".nv_fatbin", "__nv_relfatbin"};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        size_t room = strlen(wanted[i]) + 1;
        if (name < length && length - name >= room && !memcmp(names + name, wanted[i], room))
            return true;
    }
    return false;
}

/* The sections of a host program or shared object. */
static void split_program(struct split *split, const uint8_t *bytes, size_t count)
{
    Elf64_Ehdr elf;
    Elf64_Shdr names, section;
    memcpy(&elf, bytes, sizeof(elf));
    if (elf.e_shentsize != sizeof(Elf64_Shdr) || elf.e_shoff > count ||
        elf.e_shnum > (count - elf.e_shoff) / sizeof(Elf64_Shdr) || elf.e_shstrndx >= elf.e_shnum)
        return;
    memcpy(&names, bytes + elf.e_shoff + elf.e_shstrndx * sizeof(names), sizeof(names));
    if (names.sh_offset > count || names.sh_size > count - names.sh_offset)
        return;
    for (unsigned i = 0; i < elf.e_shnum; i++) {
        memcpy(&section, bytes + elf.e_shoff + i * sizeof(section), sizeof(section));
        if (holds_fatbins(bytes + names.sh_offset, names.sh_size, section.sh_name) &&
            section.sh_type != SHT_NOBITS && section.sh_offset <= count &&
            section.sh_size <= count - section.sh_offset)
            split_fatbins(split, bytes + section.sh_offset, section.sh_size);
    }
}

static bool is_ptx(const uint8_t *bytes, size_t count)
{
    size_t at = 0;
    while (at < count && strchr(" \t\r\n", bytes[at] ? bytes[at] : 'x'))
        at++;
    return count - at > 2 && (bytes[at] == '.' || !memcmp(bytes + at, "//", 2));
}

/* Bytes that the header of an ELF needs for its tables. */
static uint64_t bytes_needed(const uint8_t *bytes, size_t count)
{
    Elf64_Ehdr elf;
    if (count < sizeof(elf) || memcmp(bytes, ELFMAG, SELFMAG) || bytes[EI_CLASS] != ELFCLASS64)
        return 0;
    memcpy(&elf, bytes, sizeof(elf));
    uint64_t sections = (uint64_t)elf.e_shnum * elf.e_shentsize;
    uint64_t segments = (uint64_t)elf.e_phnum * elf.e_phentsize;
    sections = sections ? sections + elf.e_shoff : 0;
    segments = segments ? segments + elf.e_phoff : 0;
    return sections > segments ? sections : segments;
}

size_t image_split(const void *image, size_t bytes, struct image_piece **out, struct error *err)
{
    const uint8_t *at = image;
    struct split split = {0};
    uint64_t whole;
    *out = NULL;
    if (bytes_needed(at, bytes) > bytes) {
        error_set(err, STATUS_INVALID,
                  "the image is cut off: its header needs %llu bytes, and it has %zu",
                  (unsigned long long)bytes_needed(at, bytes), bytes);
        return 0;
    }
    if (fatbin_elf_arch(at, bytes)) {
        split_add(&split, IMAGE_CUBIN, at, bytes);
    } else if (fatbin_measure(at, bytes, &whole)) {
        split_fatbins(&split, at, bytes);
    } else if (bytes >= sizeof(Elf64_Ehdr) && !memcmp(at, ELFMAG, SELFMAG) &&
               at[EI_CLASS] == ELFCLASS64) {
        split_program(&split, at, bytes);
    } else if (is_ptx(at, bytes)) {
        split_add(&split, IMAGE_PTX, at, bytes);
    }
    if (split.failed || !split.count) {
        free(split.piece);
        error_set(err, STATUS_INVALID,
                  split.failed ? "no memory for the pieces of the image"
                               : "the image is none of PTX, a cubin, a whole fatbin, or a program "
                                 "or shared object that holds fatbins");
        return 0;
    }
    *out = split.piece;
    return split.count;
}

/* ---- PTX text ---- */

/* Of machine code. */
static void read_carried(struct image_text *out, const void *code, size_t bytes, struct error *err)
{
    out->text = carried_text_of(code, bytes, &out->length);
    if (!out->text)
        error_set(err, STATUS_UNSUPPORTED,
                  "the image is sm_%u machine code without its PTX, which `nvcc -lineinfo` and "
                  "Triton leave in it: name a file that has the kernel's PTX with --image",
                  fatbin_elf_arch(code, bytes));
}

/* `err` has the reason why the fatbin has no PTX. */
static void read_fatbin_code(struct image_text *out, const struct image_piece *piece,
                             struct error *err)
{
    struct fatbin_parts parts;
    fatbin_find(piece->bytes, piece->count, FATBIN_NO_DEVICE, &parts);
    out->code = fatbin_unpack(&parts.code, MOST_CODE, &out->code_bytes);
    if (out->code)
        read_carried(out, out->code, out->code_bytes, err);
}

void image_text_read(struct image_text *out, const struct image_piece *piece, struct error *err)
{
    *out = (struct image_text){NULL};
    switch (piece->kind) {
    case IMAGE_PTX:
        out->length = strnlen((const char *)piece->bytes, piece->count);
        out->text = strndup((const char *)piece->bytes, out->length);
        break;
    case IMAGE_CUBIN:
        read_carried(out, piece->bytes, piece->count, err);
        break;
    case IMAGE_FATBIN:
        if (fatbin_choose(piece->bytes, piece->count, FATBIN_NEWEST, &out->text, &out->length,
                          err) != CUDA_SUCCESS) {
            out->text = NULL;
            read_fatbin_code(out, piece, err);
        }
    }
}

void image_text_release(struct image_text *text)
{
    free(text->text);
    free(text->code);
    *text = (struct image_text){NULL};
}
