/* ref_tiles.h - elements that a reference draws by tiles (refs/dialect/ref_space.h), for C. */
#ifndef TESTS_REF_TILES_H
#define TESTS_REF_TILES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TILE_SIDE = 128 };

/* Element k of `budget` of `batch` matrices of m x n: (at[1], at[2]) of matrix at[0]. */
void tiles_draw(uint64_t seed, long long k, long long batch, long long m, long long n,
                long long budget, long long at[3]);

#ifdef __cplusplus
}
#endif

#endif
