/* fatbin.c - reads the containers that nvcc puts device code into. */
#include "driver/module/fatbin.h"

#include <elf.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define FATBIN_MAGIC  0xBA55ED50u
#define WRAPPER_MAGIC 0x466243B1u
/* No text is larger; a header that claims more is broken. */
#define TEXT_MAX ((uint64_t)1 << 30)

enum { KIND_PTX = 1, KIND_ELF = 2, KIND_LTO = 8 };

enum {
    FLAG_LZ4 = 0x2000,
    FLAG_ZSTD = 0x8000,
    FLAG_THIS_ARCH = 0x100000,   /* compute_90a */
    FLAG_THIS_FAMILY = 0x200000, /* compute_100f */
};

struct wrapper {
    uint32_t magic, version;
    const void *fatbin;
    const void *more; /* version 2: the fatbins that this one was linked from */
};
_Static_assert(sizeof(struct wrapper) == FATBIN_WRAPPER_BYTES, "as the compiler lays it out");

struct header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* behind the header */
};
_Static_assert(sizeof(struct header) == FATBIN_HEADER_BYTES, "as nvcc lays it out");

struct entry_header {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t payload_bytes; /* with padding */
    uint32_t compressed_bytes, options_offset;
    uint16_t minor, major;
    uint32_t arch, name_offset, name_bytes;
    uint64_t flags, reserved, plain_bytes;
};
_Static_assert(sizeof(struct entry_header) == 64, "as nvcc lays it out");

/* What has been seen so far: the best PTX, and words for a message where there is none. */
struct search {
    unsigned arch;
    bool found;
    struct entry_header best;
    const uint8_t *payload;
    char others[160];
};

bool fatbin_measure(const uint8_t *bytes, size_t length, uint64_t *size)
{
    struct header header;
    if (length < sizeof(header))
        return false;
    memcpy(&header, bytes, sizeof(header));
    if (header.magic != FATBIN_MAGIC)
        return false;
    if (__builtin_add_overflow(header.bytes, header.header_bytes, size))
        *size = UINT64_MAX;
    return true;
}

bool fatbin_unwrap(const uint8_t *bytes, size_t length, const void **fatbin)
{
    struct wrapper wrapper;
    if (length < sizeof(wrapper))
        return false;
    memcpy(&wrapper, bytes, sizeof(wrapper));
    if (wrapper.magic != WRAPPER_MAGIC)
        return false;
    *fatbin = wrapper.fatbin;
    return true;
}

unsigned fatbin_elf_arch(const uint8_t *bytes, size_t length)
{
    enum { MACHINE_CUDA = 190, OSABI_SHIFTED = 0x41 };
    Elf64_Ehdr elf;
    if (length < sizeof(elf))
        return 0;
    memcpy(&elf, bytes, sizeof(elf));
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_machine != MACHINE_CUDA)
        return 0;
    unsigned shift = elf.e_ident[EI_OSABI] == OSABI_SHIFTED ? 8 : 0;
    return elf.e_flags >> shift & 0xff;
}

void fatbin_no_ptx(const char *what, struct error *err)
{
    error_set(err, STATUS_UNSUPPORTED,
              "softgpu runs PTX; this image holds only %s: build it with -gencode "
              "arch=compute_75,code=compute_75",
              what);
}

/* -- the choice -- */

static const char *kind_name(unsigned kind)
{
    switch (kind) {
    case KIND_PTX:
        return "PTX";
    case KIND_ELF:
        return "machine code";
    case KIND_LTO:
        return "intermediate code for the linker";
    default:
        return "code of an unknown kind";
    }
}

static const char *suffix(uint64_t flags)
{
    return flags & FLAG_THIS_ARCH ? "a" : flags & FLAG_THIS_FAMILY ? "f" : "";
}

static void note_other(struct search *search, const struct entry_header *entry)
{
    size_t used = strlen(search->others);
    char words[80];
    snprintf(words, sizeof(words), "%ssm_%u%s %s", used ? ", " : "", entry->arch,
             suffix(entry->flags), kind_name(entry->kind));
    if (!strstr(search->others, words) && used + strlen(words) < sizeof(search->others))
        memcpy(search->others + used, words, strlen(words) + 1);
}

static bool runs_on(const struct entry_header *entry, unsigned arch)
{
    if (entry->kind != KIND_PTX || entry->arch > arch)
        return false;
    if (arch == FATBIN_NEWEST)
        return true;
    if (entry->flags & FLAG_THIS_ARCH)
        return entry->arch == arch;
    return !(entry->flags & FLAG_THIS_FAMILY) || entry->arch / 10 == arch / 10;
}

static bool is_better(const struct entry_header *a, const struct entry_header *b, unsigned arch)
{
    const uint64_t narrow = FLAG_THIS_ARCH | FLAG_THIS_FAMILY;
    if (arch == FATBIN_NEWEST && !(a->flags & narrow) != !(b->flags & narrow))
        return !(a->flags & narrow);
    return a->arch != b->arch ? a->arch > b->arch : (a->flags & narrow) < (b->flags & narrow);
}

static void consider(struct search *search, const struct entry_header *entry,
                     const uint8_t *payload)
{
    if (!runs_on(entry, search->arch)) {
        note_other(search, entry);
    } else if (!search->found || is_better(entry, &search->best, search->arch)) {
        search->found = true;
        search->best = *entry;
        search->payload = payload;
    }
}

/* One fatbin of exactly `length` bytes behind its header. */
static bool read_entries(struct search *search, const uint8_t *at, uint64_t length)
{
    struct entry_header entry;
    while (length) {
        if (length < sizeof(entry))
            return false;
        memcpy(&entry, at, sizeof(entry));
        if (entry.header_bytes < sizeof(entry) || entry.header_bytes > length ||
            entry.payload_bytes > length - entry.header_bytes ||
            entry.compressed_bytes > entry.payload_bytes)
            return false;
        consider(search, &entry, at + entry.header_bytes);
        at += entry.header_bytes + entry.payload_bytes;
        length -= entry.header_bytes + entry.payload_bytes;
    }
    return true;
}

static bool read_all(struct search *search, const uint8_t *at, size_t length)
{
    uint64_t size;
    bool any = false;
    while (fatbin_measure(at, length, &size)) {
        struct header header;
        memcpy(&header, at, sizeof(header));
        if (size > length || header.header_bytes < sizeof(header))
            return false;
        if (!read_entries(search, at + header.header_bytes, header.bytes))
            return false;
        any = true;
        at += size;
        length -= size;
    }
    return any;
}

/* -- the payload -- */

static bool is_compressed(const struct entry_header *entry)
{
    return entry->flags & (FLAG_LZ4 | FLAG_ZSTD);
}

static bool unpack(const struct entry_header *entry, const uint8_t *payload, char *text)
{
    if (!is_compressed(entry)) {
        memcpy(text, payload, entry->payload_bytes);
        return true;
    }
    size_t packed = entry->compressed_bytes ? entry->compressed_bytes : entry->payload_bytes;
    if (entry->flags & FLAG_ZSTD)
        return ZSTD_decompress(text, entry->plain_bytes, payload, packed) == entry->plain_bytes;
    if (packed > TEXT_MAX)
        return false;
    return LZ4_decompress_safe((const char *)payload, text, (int)packed, (int)entry->plain_bytes) ==
           (int)entry->plain_bytes;
}

static CUresult take_text(const struct search *search, char **text, size_t *text_bytes,
                          struct error *err)
{
    const struct entry_header *entry = &search->best;
    uint64_t bytes = is_compressed(entry) ? entry->plain_bytes : entry->payload_bytes;
    char *out = bytes <= TEXT_MAX ? malloc(bytes + 1) : NULL;
    if (bytes <= TEXT_MAX && !out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!out || !unpack(entry, search->payload, out)) {
        free(out);
        error_set(err, STATUS_INVALID, "the compressed PTX for sm_%u in the fatbin is broken",
                  entry->arch);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    out[bytes] = '\0';
    *text = out;
    *text_bytes = strlen(out); /* the payload is padded with NULs */
    return CUDA_SUCCESS;
}

CUresult fatbin_choose(const uint8_t *bytes, size_t length, unsigned arch, char **text,
                       size_t *text_bytes, struct error *err)
{
    struct search search = {.arch = arch};
    if (!read_all(&search, bytes, length)) {
        error_set(err, STATUS_INVALID, "the fatbin is broken or cut off");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (search.found)
        return take_text(&search, text, text_bytes, err);
    if (strstr(search.others, "PTX"))
        error_set(err, STATUS_UNSUPPORTED,
                  "this image holds nothing for a device of sm_%u (SOFTGPU_ARCH), only %s", arch,
                  search.others);
    else
        fatbin_no_ptx(*search.others ? search.others : "no code at all", err);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}
