#include "graph/node_map.h"

#include <stdlib.h>

enum { FIRST_SIZE = 32 };

struct node_entry {
    CUgraphNode node; /* NULL: free */
    int32_t number;
};

/* The node's entry, or the free one that it would get; there is always a free one. */
static struct node_entry *entry_of(const struct node_map *map, CUgraphNode node)
{
    uint32_t place = (uint32_t)(((uintptr_t)node >> 4) * 0x9E3779B97F4A7C15u >> 32);
    for (;; place++) {
        struct node_entry *entry = &map->entry[place & (map->size - 1)];
        if (!entry->node || entry->node == node)
            return entry;
    }
}

static bool grow_map(struct node_map *map)
{
    struct node_map more = {.size = map->size ? map->size * 2 : FIRST_SIZE, .count = map->count};
    more.entry = calloc(more.size, sizeof(*more.entry));
    if (!more.entry)
        return false;
    for (uint32_t i = 0; i < map->size; i++) {
        if (map->entry[i].node)
            *entry_of(&more, map->entry[i].node) = map->entry[i];
    }
    free(map->entry);
    *map = more;
    return true;
}

bool node_map_put(struct node_map *map, CUgraphNode node, int32_t number)
{
    if (map->count * 2 >= map->size && !grow_map(map))
        return false;
    struct node_entry *entry = entry_of(map, node);
    map->count += !entry->node;
    *entry = (struct node_entry){node, number};
    return true;
}

int32_t node_map_find(const struct node_map *map, CUgraphNode node)
{
    if (!map->size)
        return NODE_MAP_NONE;
    const struct node_entry *entry = entry_of(map, node);
    return entry->node ? entry->number : NODE_MAP_NONE;
}

void node_map_free(struct node_map *map)
{
    free(map->entry);
    *map = (struct node_map){0};
}
