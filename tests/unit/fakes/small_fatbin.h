/* small_fatbin.h - fatbins as nvcc lays them out, for tests of what a device runs of them. */
#ifndef TESTS_UNIT_SMALL_FATBIN_H
#define TESTS_UNIT_SMALL_FATBIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SMALL_PTX = 1, SMALL_CUBIN = 2, SMALL_PAYLOAD = 16, SMALL_ENTRIES = 8 };
enum { SMALL_THIS_ARCH = 0x100000 };

struct small_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t payload_bytes;
    uint32_t compressed_bytes, options;
    uint16_t minor, major;
    uint32_t arch, name, name_bytes;
    uint64_t flags, reserved, plain_bytes;
    char payload[SMALL_PAYLOAD];
};

struct small_fatbin {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
    struct small_entry entry[SMALL_ENTRIES];
};

struct small_wrapper {
    uint32_t magic, version;
    const void *fatbin, *more;
};

/* The payload is `text`. */
static inline void small_fatbin_add(struct small_fatbin *fatbin, uint16_t kind, uint32_t arch,
                                    uint64_t flags, const char *text)
{
    struct small_entry *entry = &fatbin->entry[fatbin->bytes / sizeof(*entry)];
    fatbin->magic = 0xBA55ED50u;
    fatbin->header_bytes = offsetof(struct small_fatbin, entry);
    *entry = (struct small_entry){.kind = kind,
                                  .header_bytes = offsetof(struct small_entry, payload),
                                  .payload_bytes = SMALL_PAYLOAD,
                                  .arch = arch,
                                  .flags = flags};
    strncpy(entry->payload, text, SMALL_PAYLOAD - 1);
    fatbin->bytes += sizeof(*entry);
}

#endif
