#include "tools/lift/numbers/cells.h"

#include <stdlib.h>

void cell_map_clear(struct cell_map *map)
{
    for (size_t i = 0; i < map->room; i++)
        free(map->page[i]);
    free(map->page);
    *map = (struct cell_map){0};
}

static size_t slot_of(const struct cell_map *map, uintptr_t number)
{
    size_t slot = (size_t)(number * 0x9e3779b97f4a7c15u >> 20) & (map->room - 1);
    while (map->page[slot] && map->page[slot]->number != number)
        slot = (slot + 1) & (map->room - 1);
    return slot;
}

static bool grow(struct cell_map *map)
{
    struct cell_map larger = {.room = map->room ? 2 * map->room : 256, .count = map->count};
    larger.page = calloc(larger.room, sizeof(*larger.page));
    if (!larger.page)
        return false;
    for (size_t i = 0; i < map->room; i++)
        if (map->page[i])
            larger.page[slot_of(&larger, map->page[i]->number)] = map->page[i];
    free(map->page);
    map->page = larger.page;
    map->room = larger.room;
    return true;
}

struct cell_page *cell_map_page(struct cell_map *map, const void *host, bool makes)
{
    const uintptr_t number = (uintptr_t)host / CELL_PAGE;
    if (makes && 2 * map->count >= map->room && !grow(map)) {
        map->full = true;
        return NULL;
    }
    if (!map->room)
        return NULL;
    size_t slot = slot_of(map, number);
    if (!map->page[slot] && makes) {
        struct cell_page *page = calloc(1, sizeof(*page));
        map->full = map->full || !page;
        if (!page)
            return NULL;
        page->number = number;
        map->page[slot] = page;
        map->count++;
    }
    if (map->page[slot])
        map->last = map->page[slot];
    return map->page[slot];
}
