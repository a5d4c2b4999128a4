/*
 * store.h - memory of one PTX module: a bump allocator that is given back all at once, and lists
 * that grow.
 *
 * Life: zeroed structs are empty. Not thread safe: the module's owner serialises. What store_take()
 * returns stays where it is until store_release(); items of a list move when it grows.
 */
#ifndef PTX_STORE_H
#define PTX_STORE_H

#include <stddef.h>

struct store_chunk;
struct store {
    struct store_chunk *chunks;
    char *at, *end;
    size_t next; /* bytes of the next chunk */
};

void *store_take(struct store *store, size_t size);   /* aligned to 16; NULL: no memory */
void *store_zeroed(struct store *store, size_t size); /* the same, all zero */
void *store_copy(struct store *store, const void *bytes, size_t size);
char *store_text(struct store *store, const char *text, size_t length); /* ends with NUL */
void store_release(struct store *store);

/* `size` is that of one item and must be the same in each call for one list. */
struct list {
    void *items;
    size_t count, room;
};

/* Room for `more` items, not initialised and not counted yet; NULL: no memory. */
void *list_reserve(struct list *list, size_t size, size_t more);
/* One more item, not initialised. */
void *list_add(struct list *list, size_t size);
void list_release(struct list *list);

#endif
