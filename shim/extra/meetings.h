/*
 * meetings.h - which outputs the launches of a contract gave for the same item: a table of a fixed
 * size by the item's key, where a new item takes the place of an old one. One thread at a time.
 */
#ifndef EXTRA_MEETINGS_H
#define EXTRA_MEETINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "value/kernel_spec.h"
#include "value/launch.h"

enum { MEETINGS = 8192, MEETING_OUTPUTS = 3, MEETING_VARIANTS = 4 };

/* The launch that had an output first. */
struct meeting_source {
    const struct kernel_spec *spec;
    uint64_t variant; /* of function, grid, block and shared memory: a configuration */
    uint64_t launch;  /* number among those of the kernel */
    int64_t item;
    struct graph_place place;
    struct configuration how; /* that `variant` is a hash of */
};

/* Launches that gave the same output, or one that is near enough. */
struct meeting_output {
    uint64_t digest;
    struct meeting_source first;
    unsigned variants; /* distinct configurations, of which MEETING_VARIANTS are known */
    uint64_t variant[MEETING_VARIANTS];
};

struct meeting {
    uint64_t key; /* 0: free */
    unsigned outputs;
    struct meeting_output output[MEETING_OUTPUTS]; /* further ones are the last */
    bool has_single;
    struct meeting_output single; /* the first of a launch of this item alone */
    void *kept;                   /* bytes of output[0], or NULL */
    size_t kept_bytes;
};

struct meetings;
struct meetings *meetings_create(void); /* NULL: no memory */
void meetings_destroy(struct meetings *meetings);

/* The item's place, which is empty (outputs 0) at first. */
struct meeting *meetings_find(struct meetings *meetings, uint64_t key);

/* Keeps bytes of output[0], as long as there is room for them. */
void meetings_keep(struct meetings *meetings, struct meeting *meeting, const void *bytes,
                   size_t count);

/* What an output means beside those that were there. */
struct meeting_news {
    bool met;     /* an earlier launch had the item */
    bool differs; /* one of another output has at least as many configurations */
    bool single;  /* it differs from that of another launch of the item alone */
    bool reveals; /* this output is now that of the most, for the first time, and ... */
    struct meeting_source other; /* ... this launch gave another */
    unsigned with, others;       /* configurations with this output, this one counted; with that */
};

/* Adds an output. `near`: it is as good as output[0], whatever its digest. `wrong`: the launch is
 * known to be, so no later one is held against it; it is only compared. */
struct meeting_news meeting_add(struct meeting *meeting, uint64_t digest, bool near, bool wrong,
                                const struct meeting_source *source);

/* Of a contract with a margin whose launches of one item agree in bits: holds one that is `near`
 * enough, or equal, against the first of these. */
void meeting_add_single(struct meeting *meeting, uint64_t digest, bool wrong,
                        const struct meeting_source *source, struct meeting_news *news);

#endif
