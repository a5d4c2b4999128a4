/*
 * test_tf32.c - products of f32 matrices by tensor cores, whose inputs are tf32: each way to make
 * them so stays inside the bound, and comes to a verdict where terms cancel. Coarser inputs, and a
 * lost end of k, are found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/random_values.h"
#include "refs/abi/ref_host.h"
#include "plan/tolerance.h"

enum { ROWS = 8, COLS = 8, MOST = 8192 };

static const int lengths[] = {1, 16, 256, 2048, MOST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static float a[ROWS * MOST], b[MOST * COLS], y[ROWS * COLS];

/* ---- inputs ---- */

typedef float (*way_fn)(float x);

static float with_bits(float x, uint32_t half, uint32_t mask)
{
    uint32_t word;
    memcpy(&word, &x, 4);
    word = (word + half) & mask;
    memcpy(&x, &word, 4);
    return x;
}

static float kept(float x)
{
    return x;
}

static float cut(float x)
{
    return with_bits(x, 0, ~0x1fffu);
}

static float rounded(float x)
{
    return with_bits(x, 0x1000, ~0x1fffu);
}

/* To 8 bits of fraction, and to 5. */
static float cut_more(float x)
{
    return with_bits(x, 0, ~0x7fffu);
}

static float cut_most(float x)
{
    return with_bits(x, 0, ~0x3ffffu);
}

/* ---- a launch ---- */

static void multiply(int k, int used, way_fn left, way_fn right)
{
    for (int i = 0; i < ROWS * COLS; i++) {
        double sum = 0;
        for (int l = 0; l < used; l++)
            sum += (double)left(a[i / COLS * k + l]) * (double)right(b[l * COLS + i % COLS]);
        y[i] = (float)sum;
    }
}

static struct ref_tensor matrix(int rows, int cols, void *data)
{
    return (struct ref_tensor){.dtype = DTYPE_F32,
                               .ndim = 2,
                               .dim = {rows, cols},
                               .stride = {cols, 1},
                               .bytes = (int64_t)rows * cols * 4,
                               .in = data,
                               .rule = RULE_BOUND};
}

static struct ref_verdict judge(int k)
{
    struct ref_verdict answer = {0};
    struct ref_call call = {.lambda = 8,
                            .unit_roundoff = tolerance_roundoff(DTYPE_F32),
                            .input_roundoff = 0x1p-10,
                            .underflow = tolerance_underflow(DTYPE_F32),
                            .pieces = 1,
                            .group = 1,
                            .scalar = {1, 0},
                            .size = {ROWS, k, COLS},
                            .answer = &answer};
    call.tensor[0] = matrix(ROWS, k, a);
    call.tensor[1] = matrix(k, COLS, b);
    call.tensor[2] = (struct ref_tensor){.ndim = 1, .dim = {COLS}};
    call.tensor[3] = matrix(ROWS, COLS, NULL);
    call.tensor[3].got = y;
    assert_int_equal(ref_host_run("matmul", &call, 1), 0);
    assert_int_equal(answer.checked, ROWS * COLS);
    return answer;
}

/* ---- values ---- */

static double draw_normal(void)
{
    return normal();
}

static double draw_positive(void)
{
    return uniform() + 0.1;
}

/* Of 1, nearly a whole ulp of tf32 is cut off. */
static double draw_most(void)
{
    return 1 + 0x1p-10 - 0x1p-23;
}

/* Two levels that lose unlike parts, such as a picture of black and white. */
static double draw_levels(void)
{
    return uniform() < 0.8 ? -0.42421297 : 2.82148600;
}

typedef double (*draw_fn)(void);
static const draw_fn draws[] = {draw_normal, draw_positive, draw_most, draw_levels};
enum { DRAWS = sizeof draws / sizeof *draws };

static void fill(int k, draw_fn left, draw_fn right)
{
    for (int i = 0; i < ROWS * k; i++)
        a[i] = (float)left();
    for (int i = 0; i < COLS * k; i++)
        b[i] = (float)right();
}

/* ---- tests ---- */

static void each_way_stays_quiet(void **state)
{
    static const struct {
        way_fn left, right;
    } ways[] = {{kept, kept}, {cut, cut}, {rounded, rounded}};
    (void)state;
    random_state = 1;
    for (int i = 0; i < LENGTHS; i++) {
        for (int draw = 0; draw < DRAWS * DRAWS; draw++) {
            fill(lengths[i], draws[draw / DRAWS], draws[draw % DRAWS]);
            for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
                multiply(lengths[i], lengths[i], ways[w].left, ways[w].right);
                struct ref_verdict answer = judge(lengths[i]);
                if (answer.violations)
                    fail_msg("k = %d, draw %d, way %zu: %g of the bound", lengths[i], draw, w,
                             answer.max_ratio);
            }
        }
    }
}

/* Factors that are treated unlike each other, with values that are like no pattern. */
static void mixed_ways_stay_quiet(void **state)
{
    static const struct {
        way_fn left, right;
    } ways[] = {{cut, rounded}, {rounded, cut}, {cut, kept}, {kept, rounded}};
    (void)state;
    random_state = 2;
    for (int i = 0; i < LENGTHS; i++) {
        for (int draw = 0; draw < 8; draw++) {
            fill(lengths[i], draws[draw % 2], draws[draw / 2 % 2]);
            for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
                multiply(lengths[i], lengths[i], ways[w].left, ways[w].right);
                assert_int_equal(judge(lengths[i]).violations, 0);
            }
        }
    }
}

static void what_cancels_comes_to_a_verdict(void **state)
{
    (void)state;
    random_state = 3;
    fill(MOST, draw_normal, draw_normal);
    multiply(MOST, MOST, cut, cut);
    assert_int_equal(judge(MOST).wide, 0);
}

/* Of inputs with one sign what is lost adds up. */
static void coarser_inputs_are_found(void **state)
{
    (void)state;
    random_state = 4;
    for (int i = 1; i < LENGTHS; i++) {
        fill(lengths[i], draw_positive, draw_positive);
        multiply(lengths[i], lengths[i], cut_more, cut_more);
        assert_true(judge(lengths[i]).violations > ROWS * COLS / 4);
        fill(lengths[i], draw_normal, draw_normal);
        multiply(lengths[i], lengths[i], cut_most, cut_most);
        assert_true(judge(lengths[i]).violations > ROWS * COLS / 4);
    }
}

static void a_lost_end_is_found(void **state)
{
    (void)state;
    random_state = 5;
    for (int i = 1; i < LENGTHS; i++) {
        fill(lengths[i], draw_normal, draw_normal);
        multiply(lengths[i], lengths[i] - 8, cut, cut);
        assert_true(judge(lengths[i]).violations > ROWS * COLS * 3 / 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_stays_quiet),
        cmocka_unit_test(mixed_ways_stay_quiet),
        cmocka_unit_test(what_cancels_comes_to_a_verdict),
        cmocka_unit_test(coarser_inputs_are_found),
        cmocka_unit_test(a_lost_end_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
