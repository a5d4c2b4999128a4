#include "judge/fatbin.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FATBIN_MAGIC  0xBA55ED50u
#define WRAPPER_MAGIC 0x466243B1u

enum { KIND_PTX = 1, KIND_CUBIN = 2 };
enum { FLAG_THIS_ARCH = 0x100000, FLAG_THIS_FAMILY = 0x200000 }; /* sm_90a, sm_100f */

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

/* How well the device runs the entry; 0: not at all. */
static unsigned fit(const struct entry *entry, unsigned arch)
{
    bool same = entry->arch == arch;
    bool bound = entry->flags & (FLAG_THIS_ARCH | FLAG_THIS_FAMILY);
    bool same_major = entry->arch / 10 == arch / 10;
    if (entry->arch > arch || (bound && !same) || (entry->kind == KIND_CUBIN && !same_major))
        return 0;
    return 2 * entry->arch + bound;
}

struct chosen {
    const uint8_t *at;
    size_t bytes;
    unsigned fit;
};

static void consider(struct chosen *best, const uint8_t *at, const struct entry *entry,
                     unsigned arch)
{
    unsigned good = fit(entry, arch);
    if (good > best->fit)
        *best = (struct chosen){at, entry->header_bytes + entry->payload_bytes, good};
}

static void choose(const uint8_t *at, const uint8_t *end, unsigned arch, struct chosen *cubin,
                   struct chosen *ptx)
{
    struct entry entry;
    while ((size_t)(end - at) >= sizeof(entry)) {
        memcpy(&entry, at, sizeof(entry));
        size_t room = (size_t)(end - at);
        if (entry.header_bytes < sizeof(entry) || entry.header_bytes > room ||
            entry.payload_bytes > room - entry.header_bytes)
            return;
        if (entry.kind == KIND_CUBIN)
            consider(cubin, at, &entry, arch);
        else if (entry.kind == KIND_PTX)
            consider(ptx, at, &entry, arch);
        at += entry.header_bytes + entry.payload_bytes;
    }
}

void *fatbin_cut(const void *fatbin, size_t bytes, unsigned arch, size_t *out_bytes)
{
    struct header header;
    struct chosen cubin = {0}, ptx = {0};
    if (bytes < sizeof(header))
        return NULL;
    memcpy(&header, fatbin, sizeof(header));
    if (header.header_bytes < sizeof(header) || header.header_bytes > bytes)
        return NULL;
    const uint8_t *start = fatbin;
    choose(start + header.header_bytes, start + bytes, arch, &cubin, &ptx);
    header.bytes = cubin.bytes + ptx.bytes;
    uint8_t *out = header.bytes ? malloc(header.header_bytes + header.bytes) : NULL;
    if (!out)
        return NULL;
    memcpy(out, fatbin, header.header_bytes);
    memcpy(out, &header, sizeof(header));
    if (cubin.bytes)
        memcpy(out + header.header_bytes, cubin.at, cubin.bytes);
    if (ptx.bytes)
        memcpy(out + header.header_bytes + cubin.bytes, ptx.at, ptx.bytes);
    *out_bytes = header.header_bytes + header.bytes;
    return out;
}
