/* stream_table.h - what stream.c, event.c and their kin need of a stream beyond stream.h and
 * graph.h. */
#ifndef SOFTGPU_STREAM_TABLE_H
#define SOFTGPU_STREAM_TABLE_H

#include <stdint.h>
#include "driver/graph/graph.h"
#include "driver/stream/queue.h"
#include "driver/stream/stream.h"

enum stream_origin {
    STREAM_LEGACY,
    STREAM_PER_THREAD,
    STREAM_CREATED,
};

enum { STREAM_PRIORITY_LEAST = 0, STREAM_PRIORITY_GREATEST = -5 };

/* With the last flag the priority is used, and in range. A stream made with the least one is one of
 * SOFTGPU_DELAY's low streams: the device has no priority below the default. NULL: no memory. */
struct stream *stream_create(struct context *context, unsigned flags, int priority, bool asked);
/* NULL where the handle is not that of a created stream. Its works go on. */
struct stream *stream_destroy(CUstream handle);

struct queue *stream_queue(const struct stream *stream);
enum stream_origin stream_origin(const struct stream *stream);
uint64_t stream_id(const struct stream *stream);
unsigned stream_flags(const struct stream *stream);
int stream_priority(const struct stream *stream);
/* Of streams that have one set; under the table's lock. */
bool stream_attribute(struct stream *stream, CUstreamAttrID id, CUstreamAttrValue *value, bool set);

/* What goes before any use of a stream that does not capture: the error of its context, and
 * the rules of captures about the legacy stream. */
CUresult stream_admit(struct stream *stream);

/* event.c: the events of a context end with it. */
void events_end(const struct context *context);

#endif
