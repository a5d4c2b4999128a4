/* address_table.c - sorted pieces of address space. */
#include "driver/memory/address_table.h"

#include <stdlib.h>
#include <string.h>

size_t table_after(const struct address_table *table, uint64_t address)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct piece *piece = table->items[middle];
        if (piece->begin + piece->room > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool table_insert(struct address_table *table, struct piece *piece)
{
    if (table->count == table->room) {
        size_t room = table->room ? 2 * table->room : 64;
        struct piece **grown = realloc(table->items, room * sizeof(struct piece *));
        if (!grown)
            return false;
        table->items = grown;
        table->room = room;
    }
    size_t at = table_after(table, piece->begin);
    memmove(table->items + at + 1, table->items + at, (table->count - at) * sizeof(struct piece *));
    table->items[at] = piece;
    table->count++;
    return true;
}

void table_remove(struct address_table *table, const struct piece *piece)
{
    size_t at = table_after(table, piece->begin);
    if (at == table->count || table->items[at] != piece)
        return;
    table->count--;
    memmove(table->items + at, table->items + at + 1, (table->count - at) * sizeof(struct piece *));
}

struct piece *table_at(const struct address_table *table, uint64_t address)
{
    size_t at = table_after(table, address);
    struct piece *piece = at < table->count ? table->items[at] : NULL;
    bool inside = piece && piece->begin <= address && address - piece->begin < piece->bytes;
    return inside ? piece : NULL;
}

bool space_holds(const struct space *space, uint64_t address)
{
    return address >= space->begin && address - space->begin < space->bytes;
}

uint8_t *space_host(const struct space *space, uint64_t address)
{
    return (uint8_t *)(uintptr_t)(address + (uint64_t)space->shift);
}

/* The first free place from `from` up to `end`. */
static uint64_t first_gap(const struct address_table *taken, uint64_t from, uint64_t end,
                          uint64_t room, uint64_t align)
{
    uint64_t at = (from + align - 1) & ~(align - 1);
    for (size_t i = table_after(taken, at); i < taken->count; i++) {
        const struct piece *piece = taken->items[i];
        if (piece->begin >= at && piece->begin - at >= room)
            break;
        if (piece->begin >= end)
            break;
        at = (piece->begin + piece->room + align - 1) & ~(align - 1);
    }
    return at <= end && end - at >= room ? at : 0;
}

uint64_t space_place(struct space *space, const struct address_table *taken, uint64_t room,
                     uint64_t align)
{
    uint64_t end = space->begin + space->bytes;
    uint64_t at = first_gap(taken, space->cursor, end, room, align);
    if (!at)
        at = first_gap(taken, space->begin, end, room, align);
    if (at)
        space->cursor = at + room;
    return at;
}
