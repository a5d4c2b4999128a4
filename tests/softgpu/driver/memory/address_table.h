/*
 * address_table.h - pieces of address space that do not overlap, sorted, and the search for a free
 * place.
 *
 * No locks: the owner of a table has one.
 */
#ifndef SOFTGPU_ADDRESS_TABLE_H
#define SOFTGPU_ADDRESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The beginning of what the owner keeps in a table. */
struct piece {
    uint64_t begin;
    uint64_t bytes; /* what was requested */
    uint64_t room;  /* what it takes of the address space, >= bytes */
};

struct address_table {
    struct piece **items;
    size_t count, room;
};

/* False: no memory. The piece is the owner's to free, once it is removed. */
bool table_insert(struct address_table *table, struct piece *piece);
void table_remove(struct address_table *table, const struct piece *piece);
/* The piece with begin <= address < begin + max(bytes, 1); NULL: none. */
struct piece *table_at(const struct address_table *table, uint64_t address);
/* The index of the first piece that ends behind `address`. */
size_t table_after(const struct address_table *table, uint64_t address);

/*
 * A range of addresses that pieces are placed in. `shift` leads from an address to where the
 * stand-in itself can touch the same memory. Places are given in a circle, so that a freed one is
 * the last to be given again.
 */
struct space {
    uint64_t begin, bytes, cursor;
    int64_t shift;
};

bool space_holds(const struct space *space, uint64_t address);
uint8_t *space_host(const struct space *space, uint64_t address);
/* 0: no room. `align` is a power of two. */
uint64_t space_place(struct space *space, const struct address_table *taken, uint64_t room,
                     uint64_t align);

#endif
