/* How tightly a row's sum is held, by what is known of the lanes that share it, and when its bound
 * is inconclusive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/common/ref_fixture.h"
#include "value/verdict.h"

enum { ROWS = 16, COLS = 4096, WARP = 32 };

/* The sum of n terms, each of `lanes` threads adding up every lanes-th, and a tree their sums. */
static float shared_sum(const float *term, int64_t n, int lanes)
{
    float part[WARP] = {0};
    for (int64_t i = 0; i < n; i++)
        part[i % lanes] += term[i];
    for (int half = lanes / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++)
            part[i] += part[i + half];
    }
    return part[0];
}

enum variance { TWO_PASS, ONE_PASS, WELFORD };

static void statistics_of(const float *x, int lanes, enum variance how, float *mean, float *var)
{
    static float term[COLS];
    *mean = shared_sum(x, COLS, lanes) / COLS;
    if (how == WELFORD) {
        *mean = *var = 0;
        for (int i = 0; i < COLS; i++) {
            float delta = x[i] - *mean;
            *mean += delta / (float)(i + 1);
            *var += delta * (x[i] - *mean) / COLS;
        }
        return;
    }
    for (int i = 0; i < COLS; i++)
        term[i] = how == ONE_PASS ? x[i] * x[i] : (x[i] - *mean) * (x[i] - *mean);
    *var = shared_sum(term, COLS, lanes) / COLS - (how == ONE_PASS ? *mean * *mean : 0);
}

/* A layernorm of ROWS rows about `mean`, deviation 1, in f32. */
static struct ref_call layernorm(double mean, int lanes, enum variance how)
{
    static float x[COLS];
    random_state = 7;
    fill(&in_x, DTYPE_F32, ROWS * COLS, mean, 1);
    shape(&out_y, DTYPE_F32, ROWS * COLS);
    for (int64_t r = 0; r < ROWS; r++) {
        float mu, var;
        for (int64_t c = 0; c < COLS; c++)
            x[c] = x_at(r * COLS + c);
        statistics_of(x, lanes, how, &mu, &var);
        float inv = 1 / sqrtf(var + 1e-5f);
        for (int64_t c = 0; c < COLS; c++)
            set(&out_y, r * COLS + c, (x[c] - mu) * inv);
    }
    struct ref_call call = new_call();
    call.tensor[0] = tensor(&in_x, 0, 2, ROWS, COLS, 0);
    for (int i = 1; i < 6; i++)
        call.tensor[i] = (struct ref_tensor){
            .dim = {i < 3 ? COLS : ROWS}, .dtype = DTYPE_F32, .ndim = 1, .absent = i == 1};
    call.tensor[3] = tensor(&out_y, 1, 2, ROWS, COLS, 0);
    call.scalar[0] = 1e-5f;
    call.size[0] = ROWS;
    call.size[1] = COLS;
    return call;
}

static struct ref_call by_blocks_of_a_row(struct ref_call call)
{
    call.launch_blocks = ROWS;
    call.launch_warps = 4;
    return call;
}

static struct ref_verdict judge(struct ref_call call)
{
    return run("layernorm", &call);
}

/* E[x^2] - E[x]^2 loses what the mean's square has more than the variance. */
static void one_pass_variance_is_found_at_mean_100(void **state)
{
    (void)state;
    struct ref_call call = layernorm(100, WARP, ONE_PASS);
    assert_int_equal(judge(call).violations, 0); /* nothing is known of the lanes */
    struct ref_verdict v = judge(by_blocks_of_a_row(call));
    assert_true(v.violations > 0);
    assert_true(v.max_ratio > 1.2 && v.max_abs < 0.01);
    call.lanes = WARP;
    assert_int_equal(judge(call).violations, v.violations);
}

static void right_variances_are_quiet(void **state)
{
    (void)state;
    for (double mean = 0; mean <= 1000; mean = mean > 0 ? 10 * mean : 1) {
        struct ref_verdict v = judge(by_blocks_of_a_row(layernorm(mean, WARP, TWO_PASS)));
        assert_int_equal(v.violations, 0);
        assert_true(v.max_ratio < 0.1);
        v = judge(by_blocks_of_a_row(layernorm(mean, WARP, WELFORD)));
        assert_int_equal(v.violations, 0);
        if (mean <= 10) /* small enough for the formula */
            assert_int_equal(judge(by_blocks_of_a_row(layernorm(mean, WARP, ONE_PASS))).violations,
                             0);
    }
}

/* A thread for each row whose grid happens to be that of a block for each row. */
static void one_thread_that_is_taken_for_a_warp_is_quiet(void **state)
{
    (void)state;
    for (double mean = 0; mean <= 1000; mean = mean > 0 ? 10 * mean : 1) {
        struct ref_verdict v = judge(by_blocks_of_a_row(layernorm(mean, 1, TWO_PASS)));
        assert_int_equal(v.violations, 0);
        assert_true(v.max_ratio < 0.8);
    }
}

static void right_layernorm_at_mean_1000_matches(void **state)
{
    (void)state;
    struct ref_call call = layernorm(1000, WARP, TWO_PASS);
    struct ref_verdict v = judge(call);
    assert_int_equal(verdict_of(&v), VERDICT_INCONCLUSIVE);
    v = judge(by_blocks_of_a_row(call));
    assert_int_equal(verdict_of(&v), VERDICT_MATCH);
    assert_true(v.wide < v.checked / 15);
    call = layernorm(1000, WARP, ONE_PASS);
    v = judge(by_blocks_of_a_row(call));
    assert_int_equal(verdict_of(&v), VERDICT_MISMATCH);
}

/* lambda sqrt(depth) u S of a row of COLS ones, from an element that is off by a known distance. */
static double depth_of(int64_t rows, const struct ref_call *launch)
{
    fill(&in_x, DTYPE_F32, COLS, 1, 0);
    shape(&out_s, DTYPE_F32, rows);
    for (int64_t r = 0; r < rows; r++)
        set(&out_s, r, COLS * (1 + 0x1p-10));
    struct ref_call call = *launch;
    call.tensor[0] = tensor(&in_x, 0, 2, 1, COLS, 0);
    call.tensor[0].dim[0] = rows;
    call.tensor[0].stride[0] = 0;
    call.tensor[1] = tensor(&out_s, 1, 1, rows, 0, 0);
    call.size[0] = rows;
    call.size[1] = COLS;
    struct ref_verdict v = run("row_sum", &call);
    assert_int_equal(v.checked, rows);
    assert_int_equal(v.refused, 0);
    double share = 0x1p-10 / v.max_ratio - 0x1p-24;
    return pow(share / (call.lambda * 0x1p-24), 2);
}

static void the_grid_decides_whether_lanes_share_a_row(void **state)
{
    static const struct {
        const char *what;
        int64_t rows, blocks;
        uint32_t warps, lanes;
        int64_t part, whole;
        double depth;
    } cases[] = {
        {"nothing is known", 64, 0, 0, 0, 0, 0, COLS},
        {"a block for each row", 64, 64, 4, 0, 0, 0, COLS / 32 + 5},
        {"a warp for each row", 64, 16, 4, 0, 0, 0, COLS / 32 + 5},
        {"a warp for each row, and some are idle", 63, 16, 4, 0, 0, 0, COLS / 32 + 5},
        {"two warps for each row", 64, 32, 4, 0, 0, 0, COLS / 32 + 5},
        {"blocks of 16 threads", 64, 64, 0, 0, 0, 0, COLS},
        {"a thread for each row", 64, 2, 1, 0, 0, 0, COLS},
        {"a thread for each row, in one block", 4, 1, 8, 0, 0, 0, COLS},
        {"half a warp for each row", 64, 8, 4, 0, 0, 0, COLS},
        {"a loop over rows", 100, 24, 8, 0, 0, 0, COLS},
        {"a loop over rows with threads to spare", 64, 132, 8, 0, 0, 0, COLS},
        {"blocks that share a row", 64, 128, 8, 0, 0, 0, COLS},
        {"a part of a block for each row", 16, 64, 4, 0, 16, 64, COLS / 32 + 5},
        {"as many blocks as a part has rows", 16, 16, 4, 0, 16, 64, COLS / 32 + 5},
        {"fewer blocks than rows of the launch", 16, 10, 4, 0, 16, 64, COLS},
        {"a part that was lowered", 15, 64, 4, 0, 16, 64, COLS},
        {"declared", 64, 0, 0, 32, 0, 0, COLS / 32 + 5},
        {"declared more", 64, 2, 1, 256, 0, 0, COLS / 256 + 8},
        {"declared one thread", 64, 64, 4, 1, 0, 0, COLS},
        {"declared more than there are terms", 64, 0, 0, 1024, 0, 0, COLS / 1024 + 10},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ref_call call = new_call();
        call.launch_blocks = cases[i].blocks;
        call.launch_warps = cases[i].warps;
        call.lanes = cases[i].lanes;
        call.part = cases[i].part;
        call.whole = cases[i].whole;
        double depth = depth_of(cases[i].rows, &call);
        if (fabs(depth / cases[i].depth - 1) > 0.05)
            fail_msg("%s: depth %g, not %g", cases[i].what, depth, cases[i].depth);
    }
}

/* ------------------------------------------------------------- sums that cancel */

enum { TERMS = 1024, SUMS = 96 };

/* Column sums added to `before`; those of the first third come to nothing. `left_out`: rows. */
static struct ref_verdict column_sums(double before, int64_t left_out, double unit_roundoff)
{
    random_state = 11;
    fill(&in_x, DTYPE_F32, TERMS * SUMS, 0, 1e-5);
    fill(&in_b, DTYPE_F32, SUMS, 0, before);
    shape(&out_y, DTYPE_F32, SUMS);
    for (int64_t c = 0; c < SUMS; c++) {
        double sum = 0;
        float total = 0;
        for (int64_t r = 0; r < TERMS; r++)
            sum += x_at(r * SUMS + c);
        for (int64_t r = 0; r < TERMS && c < SUMS / 3; r++)
            set(&in_x, r * SUMS + c, x_at(r * SUMS + c) - sum / TERMS);
        for (int64_t r = 0; r < TERMS - left_out; r++)
            total += x_at(r * SUMS + c);
        set(&out_y, c, (float)get(&in_b, c) + total);
    }
    struct ref_call call = new_call();
    call.unit_roundoff = unit_roundoff;
    call.tensor[0] = tensor(&in_x, 0, 2, TERMS, SUMS, 0);
    call.tensor[1] = tensor(&out_y, 1, 1, SUMS, 0, 0);
    call.tensor[1].in = in_b.bits;
    call.tensor[1].accumulates = 1;
    call.size[0] = TERMS;
    call.size[1] = SUMS;
    return run("col_sum", &call);
}

/* The gradient of a bias that changes nothing, such as that of attention's keys, is 0. */
static void sums_that_cancel_are_judged(void **state)
{
    (void)state;
    for (int before = 0; before < 2; before++) {
        struct ref_verdict v = column_sums(before * 1e-4, 0, 0x1p-24);
        assert_int_equal(v.checked, SUMS);
        assert_int_equal(v.wide, 0);
        assert_int_equal(verdict_of(&v), VERDICT_MATCH);
        v = column_sums(before * 1e-4, 1, 0x1p-24);
        assert_true(v.violations > SUMS * 9 / 10);
    }
}

/* In f16 the bound of as many terms is as large as the sum of terms of any sign. */
static void sums_whose_bound_says_nothing_are_not(void **state)
{
    (void)state;
    struct ref_verdict v = column_sums(0, 0, 0x1p-11);
    assert_int_equal(v.violations, 0);
    assert_true(v.wide > SUMS * 9 / 10);
    assert_int_equal(verdict_of(&v), VERDICT_INCONCLUSIVE);
}

/* The same of sums of a lane's own, and of means. */
static void means_that_cancel_are_judged(void **state)
{
    (void)state;
    static const char *const names[] = {"axis_sum", "axis_mean"};
    random_state = 12;
    fill(&in_x, DTYPE_F32, TERMS * SUMS, 0, 1);
    for (int i = 0; i < 2; i++) {
        shape(&out_y, DTYPE_F32, SUMS);
        for (int64_t c = 0; c < SUMS; c++) {
            double sum = 0;
            float total = 0;
            for (int64_t r = 0; r < TERMS; r++)
                sum += x_at(r * SUMS + c);
            for (int64_t r = 0; r < TERMS; r++) {
                set(&in_x, r * SUMS + c, x_at(r * SUMS + c) - sum / TERMS);
                total += x_at(r * SUMS + c);
            }
            set(&out_y, c, i ? total / TERMS : total);
        }
        struct ref_call call = new_call();
        call.tensor[0] = tensor(&in_x, 0, 3, 1, TERMS, SUMS);
        call.tensor[1] = tensor(&out_y, 1, 2, 1, SUMS, 0);
        int64_t size[] = {1, TERMS, SUMS};
        memcpy(call.size, size, sizeof size);
        struct ref_verdict v = run(names[i], &call);
        assert_int_equal(v.violations, 0);
        assert_int_equal(v.wide, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pass_variance_is_found_at_mean_100),
        cmocka_unit_test(right_variances_are_quiet),
        cmocka_unit_test(one_thread_that_is_taken_for_a_warp_is_quiet),
        cmocka_unit_test(right_layernorm_at_mean_1000_matches),
        cmocka_unit_test(the_grid_decides_whether_lanes_share_a_row),
        cmocka_unit_test(sums_that_cancel_are_judged),
        cmocka_unit_test(sums_whose_bound_says_nothing_are_not),
        cmocka_unit_test(means_that_cancel_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
