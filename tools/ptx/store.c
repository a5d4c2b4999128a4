/* store.c - a bump allocator and growing lists. */
#include "ptx/store.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, FIRST_CHUNK = 32 * 1024, LARGEST_CHUNK = 4 * 1024 * 1024 };

struct store_chunk {
    struct store_chunk *next;
    _Alignas(ALIGN) char bytes[];
};

/* A request larger than a chunk gets a chunk of its own, behind the one in use. */
static void *take_slowly(struct store *store, size_t size)
{
    size_t usual = store->next ? store->next : FIRST_CHUNK;
    bool own = size > usual / 2;
    size_t bytes = own ? size : usual;
    struct store_chunk *chunk = malloc(sizeof *chunk + bytes);
    if (!chunk)
        return NULL;
    if (own && store->chunks) {
        chunk->next = store->chunks->next;
        store->chunks->next = chunk;
        return chunk->bytes;
    }
    chunk->next = store->chunks;
    store->chunks = chunk;
    store->at = chunk->bytes + size;
    store->end = chunk->bytes + bytes;
    store->next = usual < LARGEST_CHUNK ? usual * 2 : usual;
    return chunk->bytes;
}

void *store_take(struct store *store, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if ((size_t)(store->end - store->at) < size || !store->at)
        return take_slowly(store, size);
    void *place = store->at;
    store->at += size;
    return place;
}

void *store_zeroed(struct store *store, size_t size)
{
    void *place = store_take(store, size);
    return place ? memset(place, 0, size) : NULL;
}

void *store_copy(struct store *store, const void *bytes, size_t size)
{
    void *place = store_take(store, size);
    if (place && size)
        memcpy(place, bytes, size);
    return place;
}

char *store_text(struct store *store, const char *text, size_t length)
{
    char *place = store_take(store, length + 1);
    if (!place)
        return NULL;
    memcpy(place, text, length);
    place[length] = '\0';
    return place;
}

void store_release(struct store *store)
{
    struct store_chunk *chunk = store->chunks;
    while (chunk) {
        struct store_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    *store = (struct store){0};
}

void *list_reserve(struct list *list, size_t size, size_t more)
{
    if (more > SIZE_MAX / 4 / size - list->count)
        return NULL;
    size_t wanted = list->count + more;
    if (wanted > list->room) {
        size_t room = list->room ? list->room : 16;
        while (room < wanted)
            room *= 2;
        void *items = realloc(list->items, room * size);
        if (!items)
            return NULL;
        list->items = items;
        list->room = room;
    }
    return (char *)list->items + list->count * size;
}

void *list_add(struct list *list, size_t size)
{
    void *item = list_reserve(list, size, 1);
    list->count += item != NULL;
    return item;
}

void list_release(struct list *list)
{
    free(list->items);
    *list = (struct list){0};
}
