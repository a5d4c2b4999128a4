#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CHUNK = 512, CHUNK = 16 << 10, ALIGN = 16 };

struct arena_chunk {
    struct arena_chunk *next;
    _Alignas(ALIGN) unsigned char bytes[];
};

/* Each chunk is twice as large as the one before, so that an arena of a few texts stays small. */
static size_t chunk_room(const struct arena *arena, size_t size)
{
    size_t room = arena->chunks ? arena->size * 2 : FIRST_CHUNK;
    room = room < CHUNK ? room : CHUNK;
    return size > room ? size : room;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > ((size_t)1 << 40))
        return NULL;
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!arena->chunks || arena->size - arena->used < size) {
        size_t room = chunk_room(arena, size);
        struct arena_chunk *chunk = calloc(1, sizeof *chunk + room);
        if (!chunk)
            return NULL;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->used = 0;
        arena->size = room;
    }
    void *result = arena->chunks->bytes + arena->used;
    arena->used += size;
    return result;
}

char *arena_text(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

void arena_release(struct arena *arena)
{
    while (arena->chunks) {
        struct arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    *arena = (struct arena){0};
}
