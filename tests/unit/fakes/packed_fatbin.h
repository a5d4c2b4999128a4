/* packed_fatbin.h - fatbins with entries of any length, compressed or not. */
#ifndef TESTS_UNIT_PACKED_FATBIN_H
#define TESTS_UNIT_PACKED_FATBIN_H

#include <lz4.h>
#include <stdint.h>
#include <string.h>
#include <zstd.h>
#include "tests/unit/fakes/small_fatbin.h"

enum { PACKED_PLAIN, PACKED_LZ4 = 0x2000, PACKED_ZSTD = 0x8000, PACKED_ROOM = 1 << 14 };

struct packed_fatbin {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
    uint8_t entries[PACKED_ROOM];
};

/* The compressed size. */
static inline size_t packed_bytes(void *to, size_t room, unsigned packing, const void *from,
                                  size_t bytes)
{
    if (packing == PACKED_ZSTD)
        return ZSTD_compress(to, room, from, bytes, 3);
    if (packing == PACKED_LZ4)
        return (size_t)LZ4_compress_default(from, to, (int)bytes, (int)room);
    memcpy(to, from, bytes);
    return bytes;
}

static inline void packed_fatbin_add(struct packed_fatbin *fatbin, uint16_t kind, uint32_t arch,
                                     uint64_t flags, unsigned packing, const void *payload,
                                     size_t bytes)
{
    const size_t head = offsetof(struct small_entry, payload);
    uint8_t *at = fatbin->entries + fatbin->bytes;
    size_t packed =
        packed_bytes(at + head, PACKED_ROOM - fatbin->bytes - head, packing, payload, bytes);
    size_t padded = (packed + 7) / 8 * 8;
    struct small_entry entry = {.kind = kind,
                                .header_bytes = (uint32_t)head,
                                .payload_bytes = padded,
                                .compressed_bytes = packing ? (uint32_t)packed : 0,
                                .arch = arch,
                                .flags = flags | packing,
                                .plain_bytes = packing ? bytes : 0};
    memcpy(at, &entry, head);
    memset(at + head + packed, 0, padded - packed);
    fatbin->magic = 0xBA55ED50u;
    fatbin->header_bytes = offsetof(struct packed_fatbin, entries);
    fatbin->bytes += head + padded;
}

#endif
