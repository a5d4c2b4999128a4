/*
 * tensor_maps.h - what the program's tensor maps describe. The bytes of a CUtensorMap are not
 * public, so each call that encodes one is noted, and a launch's parameter is looked up by them.
 *
 * Of TENSOR_MAPS maps, fewer where they collide. Any thread; a look-up takes no lock. Nothing is
 * noted before tensor_maps_keep.
 */
#ifndef BIND_TENSOR_MAPS_H
#define BIND_TENSOR_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct lift_map;

enum { TENSOR_MAPS = 4096, TENSOR_MAP_BYTES = 128 };

/* The arguments of cuTensorMapEncodeTiled, by the driver's numbers. */
struct tensor_map_call {
    const void *map; /* as the driver has filled it in */
    unsigned type, rank;
    const void *address;
    const uint64_t *size, *stride;
    const uint32_t *box, *step;
    unsigned interleave, swizzle, fill;
};

void tensor_maps_keep(void);
bool tensor_maps_kept(void);

/* After success. A map of a kind that shim/lift has no rule for is left out. */
void tensor_maps_note(const struct tensor_map_call *call);

/* By the map's bytes, which need not be aligned; false: it is not known. */
bool tensor_maps_find(const void *map, struct lift_map *out);

#endif
