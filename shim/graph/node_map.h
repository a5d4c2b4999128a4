/* node_map.h - numbers by node of a CUDA graph. */
#ifndef GRAPH_NODE_MAP_H
#define GRAPH_NODE_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include "driver/cuda_api.h"

enum { NODE_MAP_NONE = -1 };

struct node_entry;

/* All zero at first. */
struct node_map {
    struct node_entry *entry;
    uint32_t size, count;
};

/* A node that is in the map gets another number. False: no memory. */
bool node_map_put(struct node_map *map, CUgraphNode node, int32_t number);
/* NODE_MAP_NONE: it is not in the map. */
int32_t node_map_find(const struct node_map *map, CUgraphNode node);
void node_map_free(struct node_map *map);

#endif
