/* record.h - what `cuvet discover` recorded of a program, read back: kernels without an entry,
 * those with the most time on the GPU first. Everything in it is validated. */
#ifndef TOOLS_DISCOVER_RECORD_H
#define TOOLS_DISCOVER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "names/symbol.h"
#include "value/launch.h"

enum { SEEN_SAMPLES = 24, SEEN_POINTERS = 64 };

struct seen_pointer {
    uint32_t at; /* in the packed parameters */
    uint64_t address, base, bytes;
};

struct seen_region {
    uint64_t address, bytes;
    const uint8_t *before, *after; /* the same where nothing changed */
};

struct seen_sample {
    uint64_t launch;
    uint32_t grid[3], block[3], shared, cluster[3];
    bool captured, cooperative;
    const uint8_t *params;
    size_t params_bytes;
    struct param_layout layout;
    struct seen_pointer pointer[SEEN_POINTERS];
    size_t pointers;
    struct seen_region region[SEEN_POINTERS];
    size_t regions;
};

struct seen_kernel {
    struct symbol_names names;
    uint64_t launches, timed, replayed; /* all; timed ones; of all, those in graphs */
    double ns;                          /* of all launches, by estimate; 0: not known */
    struct seen_sample *sample[SEEN_SAMPLES];
    unsigned samples;
    const void *image; /* or NULL */
    size_t image_bytes;
};

struct record {
    struct seen_kernel *kernel;
    size_t kernels, room;
    double ns;
    uint64_t launches, processes, lost;
    struct arena arena;
    struct record_map {
        void *bytes;
        size_t count;
    } * map; /* the file of bytes of each process */
    size_t maps;
};

/* All records of the folder. STATUS_NOT_FOUND: it has none; STATUS_INVALID: one cannot be read. */
enum status record_read(struct record *record, const char *folder, struct error *err);
void record_release(struct record *record);

/* Where the sample has memory from `address` on: the region, or NULL. */
const struct seen_region *seen_memory(const struct seen_sample *sample, uint64_t address);
/* The pointer at that byte of the parameters, or NULL. */
const struct seen_pointer *seen_pointer_at(const struct seen_sample *sample, uint32_t at);

#endif
