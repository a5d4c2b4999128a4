#include "tests/unit/ref_host/ref_tiles.h"
#include "refs/dialect/ref_space.h"

static_assert(TILE_SIDE == REF_TILE, "the tests count tiles of the references' size");

void tiles_draw(uint64_t seed, long long k, long long batch, long long m, long long n,
                long long budget, long long at[3])
{
    const ref_drawn cell = ref_draw_tiled(seed, k, batch, m, n, budget);
    at[0] = cell.matrix;
    at[1] = cell.row;
    at[2] = cell.col;
}
