/* test_tiles.c - the elements that a product's reference draws: each tile has one where there are
 * no more tiles than elements, none is drawn twice, and seeds differ. Whole checks by the host's
 * references: a cleared tile is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "refs/abi/ref_host.h"
#include "tests/unit/ref_host/ref_tiles.h"

static const struct shape {
    long long batch, m, n, budget;
} shapes[] = {{1, 4096, 4096, 2048}, {1, 1024, 1024, 8192}, {1, 1, 100000, 1024},
              {1, 100000, 1, 1024},  {3, 130, 257, 64},     {7, 129, 129, 8192},
              {1, 127, 127, 100},    {1000, 3, 5, 8192},    {5, 100, 1000, 40},
              {1, 129, 129, 16000},  {300, 1, 1, 256},      {2, 128, 128, 32767},
              {1, 12, 11, 8192},     {64, 32, 300, 200},    {1, 2048, 151936, 512}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static long long tiles_of(const struct shape *shape)
{
    return shape->batch * ((shape->m + TILE_SIDE - 1) / TILE_SIDE) *
           ((shape->n + TILE_SIDE - 1) / TILE_SIDE);
}

static long long drawn(const struct shape *shape)
{
    long long total = shape->batch * shape->m * shape->n;
    return total < shape->budget ? total : shape->budget;
}

/* How many elements each tile has, in order; fails on one outside of the matrices or drawn twice.
 */
static unsigned *count_tiles(const struct shape *shape, uint64_t seed)
{
    long long across = (shape->n + TILE_SIDE - 1) / TILE_SIDE;
    long long down = (shape->m + TILE_SIDE - 1) / TILE_SIDE;
    unsigned *count = calloc((size_t)tiles_of(shape), sizeof *count);
    unsigned char *seen = calloc((size_t)(shape->batch * shape->m * shape->n), 1);
    for (long long k = 0; k < drawn(shape); k++) {
        long long at[3];
        tiles_draw(seed, k, shape->batch, shape->m, shape->n, drawn(shape), at);
        assert_in_range(at[0], 0, shape->batch - 1);
        assert_in_range(at[1], 0, shape->m - 1);
        assert_in_range(at[2], 0, shape->n - 1);
        unsigned char *element = &seen[(at[0] * shape->m + at[1]) * shape->n + at[2]];
        assert_false(*element);
        *element = 1;
        count[(at[0] * down + at[1] / TILE_SIDE) * across + at[2] / TILE_SIDE]++;
    }
    free(seen);
    return count;
}

static void each_tile_has_an_element(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        const struct shape *shape = &shapes[i];
        for (uint64_t seed = 0; seed < 3; seed++) {
            unsigned *count = count_tiles(shape, seed * 0x9e3779b97f4a7c15);
            for (long long tile = 0; tile < tiles_of(shape); tile++) {
                if (tiles_of(shape) <= shape->budget && !count[tile])
                    fail_msg("shape %d: tile %lld has no element", i, tile);
            }
            free(count);
        }
    }
}

/* Over many seeds each element has its turn, about equally often. */
static void places_in_a_tile_are_random(void **state)
{
    enum { HIGH = 16, WIDE = 2 * TILE_SIDE, BUDGET = 12, SEEDS = 20000 };
    static unsigned count[HIGH][WIDE];
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (long long k = 0; k < BUDGET; k++) {
            long long at[3];
            tiles_draw(seed, k, 1, HIGH, WIDE, BUDGET, at);
            count[at[1]][at[2]]++;
        }
    }
    const unsigned mean = SEEDS * BUDGET / (HIGH * WIDE);
    for (int i = 0; i < HIGH; i++)
        for (int j = 0; j < WIDE; j++)
            assert_in_range(count[i][j], mean / 3, 2 * mean);
}

/* ---- whole checks ---- */

enum { M = 1024, N = 2048, K = 32768 };

/* c = a b, of ones: a and b are one element each. Violations, with one tile of c cleared. */
static uint64_t check(float *c, const char *reference, long long row, long long col, uint64_t seed)
{
    static const float one[16] = {1}; /* packs may be read behind it */
    struct ref_verdict answer;
    struct ref_call call = {.lambda = 8, .unit_roundoff = 0x1p-24, .pieces = 1, .group = 1};
    for (long long i = 0; i < M * N; i++) {
        bool cleared = i / N / TILE_SIDE == row && i % N / TILE_SIDE == col;
        c[i] = cleared ? 0 : K;
    }
    call.seed = seed;
    call.size[0] = M;
    call.size[1] = K;
    call.size[2] = N;
    call.scalar[0] = 1;
    call.answer = &answer;
    call.tensor[0] = (struct ref_tensor){
        .dtype = DTYPE_F32, .ndim = 2, .dim = {M, K}, .in = one, .bytes = sizeof *one};
    call.tensor[1] = (struct ref_tensor){
        .dtype = DTYPE_F32, .ndim = 2, .dim = {K, N}, .in = one, .bytes = sizeof *one};
    struct ref_tensor *bias = &call.tensor[2], *out = &call.tensor[3];
    *bias = (struct ref_tensor){.ndim = 1, .dim = {N}}; /* absent */
    *out = (struct ref_tensor){.dtype = DTYPE_F32,
                               .ndim = 2,
                               .dim = {M, N},
                               .stride = {N, 1},
                               .got = c,
                               .bytes = (int64_t)M * N * (int64_t)sizeof *c};
    assert_int_equal(ref_host_run(reference, &call, 1), 0);
    assert_int_equal(answer.refused, 0);
    assert_int_equal(answer.checked, 8388608 / K);
    return answer.violations;
}

static void a_cleared_tile_is_found(void **state)
{
    float *c = malloc(sizeof *c * M * N);
    (void)state;
    for (int i = 0; i < 8; i++)
        assert_true(check(c, "matmul", i, i * 5 % (N / TILE_SIDE), (uint64_t)i) > 0);
    free(c);
}

static void a_right_product_is_quiet(void **state)
{
    float *c = malloc(sizeof *c * M * N);
    (void)state;
    assert_int_equal(check(c, "matmul", -1, -1, 5), 0);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_tile_has_an_element),
        cmocka_unit_test(places_in_a_tile_are_random),
        cmocka_unit_test(a_cleared_tile_is_found),
        cmocka_unit_test(a_right_product_is_quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
