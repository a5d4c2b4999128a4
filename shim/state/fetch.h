/*
 * fetch.h - what the rules read of a check: indices, lengths, positions, the beginning of its
 * inputs, guarded rows before and after the launch, and the first bytes of the places of a cache.
 * Copied from the snapshot to pinned memory, in front of the reference. Collector thread only.
 */
#ifndef STATE_FETCH_H
#define STATE_FETCH_H

#include "context/side.h"
#include "plan/plan.h"

enum {
    STATE_BYTES = 1 << 20, /* of pinned memory for one check */
    STATE_HEAD = 32,       /* bytes of a place that are read */
    STATE_DATA = 1024,     /* bytes of an input */
    STATE_INPUTS = 4,
    STATE_GUARDS = 14,
    STATE_COPIES = 48,
};

/* Integers of the launch; bytes NULL: there are none. */
struct state_ids {
    const uint8_t *bytes;
    int64_t count, dim[8], stride[8];
    int ndim, width;
};

/* Element i, counted through all dims. */
int64_t state_id(const struct state_ids *ids, int64_t i);

/* The first bytes of each place of a cache, [blocks][page]; bytes NULL: not read. */
struct state_heads {
    const uint8_t *bytes;
    size_t width;
    int64_t blocks, page;
    bool numbered; /* block i is the one that index i names; else block number i */
};

struct state_guard {
    const struct bound_array *array;
    const int64_t *stride; /* of the copies */
    const uint8_t *before, *after;
};

/* Rows that an append left in a cache, `each` bytes; bytes NULL: not read. */
struct state_rows {
    const uint8_t *bytes;
    size_t each;
    int64_t count;
};

/* They are read, CUVET_DIGEST. Set before the first check. */
extern bool state_reads_rows;

struct state_view {
    struct state_ids append, table, lengths, indptr, last, positions;
    struct state_heads heads;
    struct state_rows rows[PLAN_CACHES];
    struct state_guard guard[STATE_GUARDS];
    int guards;
    struct {
        const uint8_t *bytes;
        size_t size;
    } input[STATE_INPUTS];
    int inputs;
    struct state_flow {
        const uint8_t *before, *after; /* of a plan_flow; NULL: not copied */
        size_t size;                   /* bytes of these */
        uint64_t whole;                /* bytes of the array in the snapshot */
    } flow[PLAN_FLOWS];
};

/* Enqueues the copies of a check whose entry has `state` or `position`; lane->fetched. */
enum status state_fetch(struct side *side, struct lane *lane, struct error *err);

/* The view of what was copied, valid until the lane is another check's. */
void state_view(const struct lane *lane, struct state_view *view);

#endif
