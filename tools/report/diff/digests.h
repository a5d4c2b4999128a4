/*
 * digests.h - the hashes that a run's journals hold of its launches (CUVET_DIGEST), found by
 * process, kernel and launch. About 100 bytes a launch.
 */
#ifndef TOOLS_REPORT_DIGESTS_H
#define TOOLS_REPORT_DIGESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/error.h"

enum { DIGESTS_PROCESSES = 65536, DIGESTS_KERNEL = 512 };

enum { DIGESTS_SLOTS = 256 };

/* One launch. Texts and slots are borrowed for the call that passes it on. */
struct digest_line {
    const char *kernel, *label, *range; /* label and range may be NULL */
    uint32_t process; /* the rank, or the number of its journal among those with digests */
    uint64_t launch, sequence, input, output, unseen;
    uint64_t number; /* among the launches of its kernel that ran; of old journals `launch` */
    int64_t time_ms;
    uint32_t grid[3], block[3];
    uint64_t cache; /* that it appended to, and what it left there: */
    uint32_t slots;
    const struct digest_slot {
        int64_t row;
        uint64_t hash;
    } * slot;
};

typedef enum status (*digest_line_fn)(void *user, const struct digest_line *line,
                                      struct error *err);

/* Calls `each` for the digests of a run: a folder or a journal. STATUS_INVALID also where it has
 * none. */
enum status digests_read(const char *path, digest_line_fn each, void *user, struct error *err);

/* The same of one journal, which may have none. */
enum status digests_read_stream(FILE *file, const char *path, digest_line_fn each, void *user,
                                struct error *err);

struct digest_entry {
    uint64_t key[2]; /* hash of process, kernel and number */
    uint64_t input, output;
    bool met; /* the other run has it, too */
};

struct digests {
    struct digest_entry *entry; /* open addressing; key 0, 0: free */
    uint64_t count, capacity;
};

enum status digests_add(struct digests *digests, const struct digest_line *line, struct error *err);
/* NULL: none. */
struct digest_entry *digests_find(const struct digests *digests, const struct digest_line *line);
void digests_release(struct digests *digests);

#endif
