/*
 * cells.h - what is carried beside the bytes of a launch: a cell for each number that a register or
 * memory holds, and where cells lie.
 *
 * A cell is valid while the bytes beside it are those it was written with: whatever else changes a
 * register or memory makes the cell void by itself, and the number is then read from its bytes,
 * without an error. So an instruction that is not followed costs knowledge, never a false finding.
 */
#ifndef TOOLS_LIFT_CELLS_H
#define TOOLS_LIFT_CELLS_H

#include <stddef.h>
#include "tools/lift/numbers/number.h"

/* What a number carries: for lift its value in fp64 and the bound on a right kernel's error; for
 * the exact mode its residues. */
union part {
    double real;
    uint64_t residue;
};

struct cell {
    union part a, b;
    uint32_t bits; /* that it was written with; of 64 bits, both halves' exclusive or */
    uint32_t tag;  /* enum format in 4 bits, and above them the origin; 0: no cell */
};

/* The number of the instruction, from 1, at which the number left its bound; 0: it has not. */
static inline uint32_t cell_origin(const struct cell *cell)
{
    return cell->tag >> 4;
}

static inline enum format cell_format(const struct cell *cell)
{
    return (enum format)(cell->tag & 15);
}

static inline uint32_t cell_bits(uint64_t raw, unsigned bytes)
{
    return bytes == 8 ? (uint32_t)raw ^ (uint32_t)(raw >> 32) : (uint32_t)raw;
}

/* ---- memory: cells by host address, a page at a time ---- */

enum { CELL_PAGE = 4096 };

struct cell_page {
    uintptr_t number; /* of the page: address / CELL_PAGE */
    struct cell cell[CELL_PAGE];
};

struct cell_map {
    struct cell_page **page; /* open addressing */
    size_t room, count;
    struct cell_page *last;
    bool full; /* no memory for a page: its cells were dropped */
};

void cell_map_clear(struct cell_map *map);
struct cell_page *cell_map_page(struct cell_map *map, const void *host, bool makes);

/* NULL where the byte has none, and with `makes` where memory is short. */
static inline struct cell *cell_map_at(struct cell_map *map, const void *host, bool makes)
{
    struct cell_page *page = map->last;
    if (!page || page->number != (uintptr_t)host / CELL_PAGE)
        page = cell_map_page(map, host, makes);
    return page ? &page->cell[(uintptr_t)host % CELL_PAGE] : NULL;
}

#endif
