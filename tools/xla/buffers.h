/*
 * buffers.h - which values of an HLO module share memory, from the buffer assignment that XLA dumps
 * beside it. Life: in the caller's arena.
 */
#ifndef XLA_BUFFERS_H
#define XLA_BUFFERS_H

#include "base/arena.h"
#include "tools/xla/hlo.h"

struct buffer {
    const char *value; /* an operation's name, with {PART} behind it where that is a tuple */
    long long allocation, offset, size;
    struct buffer *next;
};

/* *out: all values, newest first; NULL where the text has none. The text is changed. */
enum status buffers_read(char *text, struct arena *arena, struct buffer **out);

/* Where part `part` of the value lives, -1: the whole; NULL: unknown. Bitcasts and parts of tuples
 * are those of what they are made of, in `in`. */
const struct buffer *buffer_of(const struct buffer *all, const struct hlo_computation *in,
                               const char *value, int part);

#endif
