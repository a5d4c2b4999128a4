/*
 * capture_data.h - capture sequences as data. Private to capture.c and capture_rules.c; all of it
 * needs the graphs' lock held, unless noted otherwise.
 */
#ifndef SOFTGPU_CAPTURE_DATA_H
#define SOFTGPU_CAPTURE_DATA_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include "driver/graph/graph_data.h"

struct stream;

/* One stream of a capture, and what its next node will depend on. */
struct member {
    struct stream *stream;
    struct edges waits; /* `node` of each: what is waited for */
    CUgraphNode *shown; /* the array that cuStreamGetCaptureInfo gave out */
    CUgraphEdgeData *shown_data;
};

struct capture {
    uint64_t id;
    CUstreamCaptureMode mode;
    uint64_t thread;       /* that began it: capture_thread() */
    struct stream *origin; /* NULL: destroyed */
    struct graph *graph;
    bool to_graph; /* the program's own graph */
    bool broken;
    struct member **members; /* the origin first */
    size_t count, room;
    struct node **orphans; /* what streams left unjoined that are gone */
    size_t orphan_count, orphan_room;
    struct capture *next; /* of all going on */
};

extern struct capture *captures;

/* Of the calling thread; no lock needed. */
uint64_t capture_thread(void);

struct capture *capture_begin(struct section *section, struct stream *stream,
                              CUstreamCaptureMode mode, struct graph *graph);
/* Leaves the graph alone. */
void capture_free(struct capture *capture);
struct capture *capture_find(uint64_t id);
/* NULL: the stream has no part in it. */
struct member *capture_member(struct capture *capture, const struct stream *stream);
struct member *capture_join(struct capture *capture, struct stream *stream);
/* What the stream waited for must still be joined by the origin. */
void capture_leave(struct capture *capture, struct stream *stream);
/* Every node that a stream's next node would depend on is before the origin's next one. */
bool capture_is_joined(struct capture *capture);

/* Adds to what the stream waits for, unless it is there. */
void member_wait(struct member *member, struct node *node, const CUgraphEdgeData *data);
void member_wait_only(struct member *member, struct node *node);

/* capture_rules.c; they take the lock themselves. Is the legacy stream unusable, and does using it
 * break the captures? */
CUresult capture_legacy_state(const struct context *context, bool breaks);
/* The calling thread's mode; gives the one it had. */
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);

#endif
