#include "image/fatbin.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define FATBIN_MAGIC  0xBA55ED50u
#define WRAPPER_MAGIC 0x466243B1u

enum { KIND_PTX = 1, KIND_CUBIN = 2 };
enum { FLAG_THIS_ARCH = 0x100000, FLAG_THIS_FAMILY = 0x200000 }; /* sm_90a, sm_100f */
enum { FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };

struct wrapper {
    uint32_t magic, version;
    const void *fatbin, *more;
};

struct header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* behind the header */
};

struct entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t payload_bytes;
    uint32_t compressed_bytes, options;
    uint16_t minor, major;
    uint32_t arch, name, name_bytes;
    uint64_t flags, reserved, plain_bytes;
};
_Static_assert(sizeof(struct header) == 16 && sizeof(struct entry) == 64, "as nvcc lays them out");

const void *fatbin_at(const void *image, size_t *bytes)
{
    struct wrapper wrapper;
    struct header header;
    memcpy(&wrapper.magic, image, sizeof(wrapper.magic));
    if (wrapper.magic == WRAPPER_MAGIC) {
        memcpy(&wrapper, image, sizeof(wrapper));
        image = wrapper.fatbin;
    }
    if (!image)
        return NULL;
    memcpy(&header.magic, image, sizeof(header.magic));
    if (header.magic != FATBIN_MAGIC)
        return NULL;
    memcpy(&header, image, sizeof(header));
    *bytes = header.header_bytes + header.bytes;
    return image;
}

static bool is_bound(const struct entry *entry)
{
    return entry->flags & (FLAG_THIS_ARCH | FLAG_THIS_FAMILY);
}

/* How well the device runs the entry; 0: not at all. */
static unsigned entry_fit(const struct entry *entry, unsigned arch)
{
    bool same = entry->arch == arch, any = arch == FATBIN_NO_DEVICE;
    bool same_major = entry->arch / 10 == arch / 10;
    if (any)
        return 2 * entry->arch + !is_bound(entry);
    if (entry->arch > arch || (is_bound(entry) && !same) ||
        (entry->kind == KIND_CUBIN && !same_major))
        return 0;
    return 2 * entry->arch + is_bound(entry);
}

struct chosen {
    const uint8_t *at;
    size_t bytes;
    unsigned fit;
    struct entry entry;
};

/* Of a fatbin, for one device. */
struct choice {
    unsigned arch;
    struct chosen cubin, ptx;
    bool newer;
};

static void consider_entry(struct choice *choice, const uint8_t *at, const struct entry *entry)
{
    struct chosen *best = entry->kind == KIND_PTX ? &choice->ptx : &choice->cubin;
    unsigned good = entry_fit(entry, choice->arch);
    if (entry->kind != KIND_PTX && entry->kind != KIND_CUBIN)
        return;
    if (good > best->fit)
        *best = (struct chosen){at, entry->header_bytes + entry->payload_bytes, good, *entry};
    choice->newer |= entry->kind == KIND_PTX && entry->arch > choice->arch;
}

/* False: it is no fatbin. */
static bool choose_image(const void *fatbin, size_t bytes, unsigned arch, struct choice *out)
{
    struct header header;
    struct entry entry;
    *out = (struct choice){.arch = arch};
    if (bytes < sizeof(header))
        return false;
    memcpy(&header, fatbin, sizeof(header));
    if (header.header_bytes < sizeof(header) || header.header_bytes > bytes)
        return false;
    const uint8_t *at = (const uint8_t *)fatbin + header.header_bytes;
    const uint8_t *end = (const uint8_t *)fatbin + bytes;
    while ((size_t)(end - at) >= sizeof(entry)) {
        memcpy(&entry, at, sizeof(entry));
        size_t room = (size_t)(end - at);
        if (entry.header_bytes < sizeof(entry) || entry.header_bytes > room ||
            entry.payload_bytes > room - entry.header_bytes)
            break;
        consider_entry(out, at, &entry);
        at += entry.header_bytes + entry.payload_bytes;
    }
    return true;
}

void *fatbin_cut(const void *fatbin, size_t bytes, unsigned arch, size_t *out_bytes)
{
    struct header header;
    struct choice choice;
    if (!choose_image(fatbin, bytes, arch, &choice))
        return NULL;
    const struct chosen *cubin = &choice.cubin, *ptx = &choice.ptx;
    memcpy(&header, fatbin, sizeof(header));
    header.bytes = cubin->bytes + ptx->bytes;
    uint8_t *out = header.bytes ? malloc(header.header_bytes + header.bytes) : NULL;
    if (!out)
        return NULL;
    memcpy(out, fatbin, header.header_bytes);
    memcpy(out, &header, sizeof(header));
    if (cubin->bytes)
        memcpy(out + header.header_bytes, cubin->at, cubin->bytes);
    if (ptx->bytes)
        memcpy(out + header.header_bytes + cubin->bytes, ptx->at, ptx->bytes);
    *out_bytes = header.header_bytes + header.bytes;
    return out;
}

static struct fatbin_part chosen_part(const struct chosen *chosen)
{
    const struct entry *entry = &chosen->entry;
    if (!chosen->at)
        return (struct fatbin_part){NULL};
    struct fatbin_part part = {.at = chosen->at + entry->header_bytes,
                               .bytes = entry->payload_bytes,
                               .plain_bytes = entry->payload_bytes,
                               .packing = entry->flags & FLAG_ZSTD  ? FATBIN_ZSTD
                                          : entry->flags & FLAG_LZ4 ? FATBIN_LZ4
                                                                    : FATBIN_PLAIN,
                               .arch = entry->arch,
                               .bound = is_bound(entry)};
    if (part.packing == FATBIN_PLAIN)
        return part;
    part.plain_bytes = entry->plain_bytes;
    if (entry->compressed_bytes && entry->compressed_bytes < part.bytes) /* else padding */
        part.bytes = entry->compressed_bytes;
    return part;
}

void fatbin_find(const void *fatbin, size_t bytes, unsigned arch, struct fatbin_parts *out)
{
    struct choice choice;
    choose_image(fatbin, bytes, arch, &choice);
    *out =
        (struct fatbin_parts){chosen_part(&choice.cubin), chosen_part(&choice.ptx), choice.newer};
}

static bool unpack_part(const struct fatbin_part *part, char *out)
{
    switch (part->packing) {
    case FATBIN_ZSTD:
        return ZSTD_decompress(out, part->plain_bytes, part->at, part->bytes) == part->plain_bytes;
    case FATBIN_LZ4:
        return LZ4_decompress_safe((const char *)part->at, out, (int)part->bytes,
                                   (int)part->plain_bytes) == (int)part->plain_bytes;
    case FATBIN_PLAIN:
        memcpy(out, part->at, part->bytes);
    }
    return true;
}

void *fatbin_unpack(const struct fatbin_part *part, size_t most, size_t *bytes)
{
    most = most < INT32_MAX ? most : INT32_MAX;
    bool fits = part->at && part->bytes <= most && part->plain_bytes <= most;
    char *out = fits ? malloc(part->plain_bytes + 1) : NULL;
    if (!out || !unpack_part(part, out)) {
        free(out);
        return NULL;
    }
    out[part->plain_bytes] = '\0';
    *bytes = part->plain_bytes;
    return out;
}
