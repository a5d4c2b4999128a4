/*
 * arena.h - memory that is given back all at once.
 *
 * Life: a zeroed struct arena is empty; arena_release frees everything. Not thread safe: the owner
 * serialises. Pointers stay valid until the release.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;
struct arena {
    struct arena_chunk *chunks;
    size_t used, size; /* of the newest chunk */
};

void *arena_alloc(struct arena *arena, size_t size); /* zeroed, aligned to 16; NULL: no memory */
char *arena_text(struct arena *arena, const char *text, size_t length); /* a terminated copy */
char *arena_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void arena_release(struct arena *arena);

#endif
