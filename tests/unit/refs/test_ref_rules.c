/* How a reference judges an element: classes, rules, accumulators, outputs that are added to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/unit/common/ref_fixture.h"

/* relu over `count` elements: the simplest way to present a value y and what was got. */
static struct ref_call pairs(enum dtype in, enum dtype out, const double (*pair)[2], int64_t count)
{
    shape(&in_x, in, count);
    struct ref_call call = new_call();
    shape(&out_y, out, count);
    for (int64_t i = 0; i < count; i++) {
        set(&in_x, i, pair[i][0]);
        set(&out_y, i, pair[i][1]);
    }
    call.tensor[0] = tensor(&in_x, 0, 2, 1, (int64_t)count, 0);
    call.tensor[1] = tensor(&out_y, 1, 2, 1, (int64_t)count, 0);
    call.size[0] = 1;
    call.size[1] = (int64_t)count;
    call.scalar[0] = 1;
    return call;
}

static struct ref_verdict judge(enum dtype in, enum dtype out, double y, double got)
{
    double pair[1][2] = {{y, got}};
    struct ref_call call = pairs(in, out, pair, 1);
    return run("scale", &call);
}

static void test_classes(void **state)
{
    (void)state;
    static const double values[] = {1.5, INFINITY, -INFINITY, NAN};
    for (int y = 0; y < 4; y++) {
        for (int got = 0; got < 4; got++) {
            struct ref_verdict v = judge(DTYPE_F32, DTYPE_F32, values[y], values[got]);
            assert_int_equal(v.violations, y != got);
            assert_int_equal(v.class_mismatch, y != got);
            assert_int_equal(v.checked, 1);
            assert_int_equal(v.wide, 0);
        }
    }
    assert_int_equal(judge(DTYPE_F32, DTYPE_F32, NAN, 0).class_mismatch, 1);
}

/* f16 overflows from 65520 up: at the threshold either is right, beyond it only Inf. */
static void test_overflow_threshold(void **state)
{
    (void)state;
    assert_int_equal(judge(DTYPE_F32, DTYPE_F16, 65520, 65504).violations, 0);
    assert_int_equal(judge(DTYPE_F32, DTYPE_F16, 65520, INFINITY).violations, 0);
    assert_int_equal(judge(DTYPE_F32, DTYPE_F16, 65519.99, 65504).violations, 0);
    assert_int_equal(judge(DTYPE_F32, DTYPE_F16, 70000, INFINITY).violations, 0);
    assert_int_equal(judge(DTYPE_F32, DTYPE_F16, 70000, 65504).violations, 1);
    assert_int_equal(judge(DTYPE_F32, DTYPE_F16, 65000, INFINITY).class_mismatch, 1);
    assert_int_equal(judge(DTYPE_F32, DTYPE_F16, 70000, -INFINITY).class_mismatch, 1);
}

/* A correct f32 kernel overflows where fp64 does not: no verdict. */
static void test_accumulator_overflow(void **state)
{
    (void)state;
    shape(&in_x, DTYPE_F32, 4);
    for (int64_t i = 0; i < 4; i++)
        set(&in_x, i, 1e30);
    struct ref_call call = softmax_call(DTYPE_F32, 1, 4);
    call.tensor[2] = tensor(&out_y, 1, 2, 1, 4, 0);
    call.tensor[1] = call.tensor[0];
    for (int64_t i = 0; i < 4; i++)
        set(&out_y, i, INFINITY);
    struct ref_verdict v = run("mul", &call);
    assert_int_equal(v.violations, 0);
    assert_int_equal(v.wide, 4);
}

static void test_half_ulp(void **state)
{
    (void)state;
    /* y in f32 between two bf16 neighbours 1.0 and 1.0078125: only the nearer one is right. */
    assert_int_equal(judge(DTYPE_F32, DTYPE_BF16, 1.003, 1.0).violations, 0);
    assert_int_equal(judge(DTYPE_F32, DTYPE_BF16, 1.003, 1.0078125).violations, 1);
    assert_int_equal(judge(DTYPE_F32, DTYPE_BF16, 1.00390625, 1.0).violations, 0);
    assert_int_equal(judge(DTYPE_F32, DTYPE_BF16, 1.00390625, 1.0078125).violations, 0);
    /* f16 subnormals are 2^-24 apart. */
    assert_int_equal(judge(DTYPE_F32, DTYPE_F16, 10.4 * 0x1p-24, 10 * 0x1p-24).violations, 0);
    assert_int_equal(judge(DTYPE_F32, DTYPE_F16, 10.4 * 0x1p-24, 11 * 0x1p-24).violations, 1);
    /* Values below the smallest normal f32 may be flushed on the way, larger ones not. */
    assert_int_equal(judge(DTYPE_F32, DTYPE_BF16, 1e-38, 0).violations, 0);
    assert_int_equal(judge(DTYPE_F32, DTYPE_BF16, 1e-36, 0).violations, 1);
}

static unsigned stochastic(double y, double got)
{
    double pair[1][2] = {{y, got}};
    struct ref_call call = pairs(DTYPE_F32, DTYPE_BF16, pair, 1);
    call.tensor[1].rule = RULE_STOCHASTIC;
    return (unsigned)run("relu", &call).violations;
}

/* Rounded up with the probability of its place between two neighbours. */
static double round_at_random(double y, double ulp)
{
    return floor(y / ulp + uniform()) * ulp;
}

static void test_stochastic(void **state)
{
    (void)state;
    /* Either neighbour is right, the next ones are not. */
    assert_int_equal(stochastic(1.003, 1.0), 0);
    assert_int_equal(stochastic(1.003, 1.0078125), 0);
    assert_int_equal(stochastic(1.003, 1.015625), 1);
    assert_int_equal(stochastic(1.003, 0.9921875), 1);
    assert_int_equal(stochastic(1.203, 1.1875), 1);
    /* A number of bf16 has no other rounding. */
    assert_int_equal(stochastic(1.5, 1.5), 0);
    assert_int_equal(stochastic(1.5, 1.5078125), 1);
    assert_int_equal(stochastic(1.5, 1.4921875), 1);
    assert_int_equal(stochastic(0.999, 1), 0);
    assert_int_equal(stochastic(0.999, 0.99609375), 0);
    assert_int_equal(stochastic(0.999, 0.9921875), 1);
    assert_int_equal(stochastic(1.5f + 0x1p-23f, 1.5078125), 0);
    assert_int_equal(stochastic(1, NAN), 1);
    assert_int_equal(stochastic(INFINITY, INFINITY), 0);
    /* Whole rows: quiet where rule bound is not, its bias and its square as they ought to be. */
    random_state = 2;
    fill(&in_x, DTYPE_F32, 20000, 0, 1);
    struct ref_call call = softmax_call(DTYPE_BF16, 20, 1000);
    for (int64_t i = 0; i < 20000; i++)
        set(&out_y, i, round_at_random(x_at(i), exp2(ilogb(x_at(i)) - 7)));
    assert_true(run("scale", &call).violations > 4000);
    call.tensor[1].rule = RULE_STOCHASTIC;
    struct ref_verdict v = run("scale", &call);
    expect_quiet("stochastic", &v, 20000);
    assert_true(fabs(12 * v.sum_square / 20000 - 2) < 0.1);
    assert_true(fabs(v.sum_signed / 20000) < 0.02);
    set(&out_y, 4321, get(&out_y, 4321) * (1 + 0x1p-5));
    v = run("scale", &call);
    assert_int_equal(v.violations, 1);
    assert_int_equal(v.first_index, 4321);
    assert_true(v.max_ratio > 1);
}

static void test_bitwise(void **state)
{
    (void)state;
    static const double pairs_[][2] = {
        {1.003, 1.0}, {1.003, 1.0078125}, {1.00390625, 1.0},     {NAN, NAN},
        {-2.5, -2.5}, {-2.5, -2.515625},  {1.01171875, 1.015625}};
    struct ref_call call = pairs(DTYPE_F32, DTYPE_BF16, pairs_, 7);
    call.tensor[1].rule = RULE_BITWISE;
    struct ref_verdict v = run("scale", &call);
    assert_int_equal(v.checked, 7);
    assert_int_equal(v.violations, 2);
    assert_int_equal(v.first_index, 1);
}

static void test_close(void **state)
{
    (void)state;
    static const double pairs_[][2] = {{100, 100.5}, {100, 102}, {0, 0.005}, {0, 0.02}, {1, NAN}};
    struct ref_call call = pairs(DTYPE_F32, DTYPE_F32, pairs_, 5);
    call.tensor[1].rule = RULE_CLOSE;
    call.tensor[1].rtol = call.tensor[1].atol = 0.01;
    struct ref_verdict v = run("scale", &call);
    assert_int_equal(v.violations, 3);
    assert_int_equal(v.class_mismatch, 1);
    assert_true(fabs(v.max_abs - 2) < 1e-5);
}

static void test_integers(void **state)
{
    (void)state;
    static const double pairs_[][2] = {{7, 7}, {-3, -3}, {7, 8}};
    struct ref_call call = pairs(DTYPE_I32, DTYPE_I32, pairs_, 3);
    call.tensor[1].rule = RULE_BITWISE;
    struct ref_verdict v = run("scale", &call);
    assert_int_equal(v.checked, 3);
    assert_int_equal(v.violations, 1);
    assert_int_equal(v.first_index, 2);
}

static void test_accumulates(void **state)
{
    (void)state;
    static const double pairs_[][2] = {{1, 11}, {2, 12}, {3, 3}};
    struct ref_call call = pairs(DTYPE_F32, DTYPE_F32, pairs_, 3);
    shape(&in_b, DTYPE_F32, 3);
    for (int64_t i = 0; i < 3; i++)
        set(&in_b, i, 10);
    call.tensor[1].in = in_b.bits;
    call.tensor[1].accumulates = 1;
    struct ref_verdict v = run("scale", &call);
    assert_int_equal(v.violations, 1);
    assert_int_equal(v.first_index, 2);
    assert_true(v.first_ref == 13);
}

/* Atomics add n small terms to a large old value, and round it each time: that is right, a term
 * that was lost is not, and neither are sums that are kept in bf16. */
static void test_accumulates_by_atomics(void **state)
{
    (void)state;
    enum { ROWS = 100, COLS = 64 };
    static float old[COLS];
    uint64_t violations[3];
    for (int wrong = 0; wrong < 3; wrong++) { /* 1: lost in one column, 2: sums kept in bf16 */
        random_state = 11;
        fill(&in_x, DTYPE_F32, ROWS * COLS, 1e-3, 1e-4);
        shape(&out_y, DTYPE_F32, COLS);
        for (int64_t c = 0; c < COLS; c++) {
            float sum = old[c] = (float)(c % 2 ? 100 + c : -100 - c);
            for (int64_t r = 0; r < ROWS; r++) {
                bool lost = wrong == 1 && c == 17 && r == 50;
                sum += lost ? 0 : (float)get(&in_x, r * COLS + c);
                sum = wrong == 2 ? (float)round_to(DTYPE_BF16, sum) : sum;
            }
            set(&out_y, c, sum);
        }
        struct ref_call call = new_call();
        call.tensor[0] = tensor(&in_x, 0, 2, ROWS, COLS, 0);
        call.tensor[1] = tensor(&out_y, 1, 1, COLS, 0, 0);
        call.tensor[1].in = old;
        call.tensor[1].accumulates = 1;
        call.size[0] = ROWS;
        call.size[1] = COLS;
        violations[wrong] = run("col_sum", &call).violations;
        assert_true(answer.max_abs > 3e-5); /* more than one rounding of 163 */
    }
    assert_int_equal(violations[0], 0);
    assert_int_equal(violations[1], 1);
    assert_true(violations[2] > COLS / 2);
}

/* An f64 kernel against the wide reference: its errors and the reference's own are allowed. */
static void test_wide_accumulator(void **state)
{
    (void)state;
    enum { ROWS = 3, COLS = 1000 };
    random_state = 6;
    fill(&in_x, DTYPE_F64, ROWS * COLS, 0, 2);
    struct ref_call call = softmax_call(DTYPE_F64, ROWS, COLS);
    call.unit_roundoff = 0x1p-53;
    call.underflow = 0x1p-1022;
    for (int mutant = 0; mutant < 2; mutant++) {
        for (int64_t r = 0; r < ROWS; r++) {
            double sum = 0;
            for (int64_t c = COLS; c-- > 0;)
                sum += exp(get(&in_x, r * COLS + c));
            for (int64_t c = 0; c < COLS; c++)
                set(&out_y, r * COLS + c,
                    mutant ? (float)(exp(get(&in_x, r * COLS + c)) / sum)
                           : exp(get(&in_x, r * COLS + c)) / sum);
        }
        struct ref_verdict v = run("softmax", &call);
        assert_int_equal(v.checked, ROWS * COLS);
        assert_true(mutant ? v.violations > 2000 : v.violations == 0);
    }
}

/* Bytes into i32: one off by 1 among sums of up to 2^27 is found. */
static void test_integer_products(void **state)
{
    enum { M = 3, N = 5, K = 8192 };
    static int8_t a[M * K + 32], b[K * N + 32];
    int32_t c[M * N + 8];
    (void)state;
    for (int i = 0; i < M * K; i++)
        a[i] = (int8_t)(i * 37 % 251 - 128);
    for (int i = 0; i < K * N; i++)
        b[i] = (int8_t)(i * 53 % 255 - 127);
    for (int i = 0; i < M * N; i++) {
        c[i] = 0;
        for (int l = 0; l < K; l++)
            c[i] += a[i / N * K + l] * b[l * N + i % N];
    }
    struct ref_call call = new_call();
    call.tensor[0] = (struct ref_tensor){
        .dtype = DTYPE_I8, .ndim = 2, .dim = {M, K}, .stride = {K, 1}, .in = a, .bytes = M * K};
    call.tensor[1] = (struct ref_tensor){
        .dtype = DTYPE_I8, .ndim = 2, .dim = {K, N}, .stride = {N, 1}, .in = b, .bytes = K * N};
    call.tensor[2] = (struct ref_tensor){.ndim = 1, .dim = {N}};
    call.tensor[3] = (struct ref_tensor){.dtype = DTYPE_I32,
                                         .ndim = 2,
                                         .dim = {M, N},
                                         .stride = {N, 1},
                                         .got = c,
                                         .bytes = (int64_t)sizeof *c * M * N,
                                         .rule = RULE_BITWISE};
    call.size[0] = M;
    call.size[1] = K;
    call.size[2] = N;
    call.scalar[0] = 1;
    assert_int_equal(run("matmul", &call).violations, 0);
    c[7]++;
    assert_int_equal(run("matmul", &call).violations, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_overflow_threshold),
        cmocka_unit_test(test_accumulator_overflow),
        cmocka_unit_test(test_half_ulp),
        cmocka_unit_test(test_stochastic),
        cmocka_unit_test(test_bitwise),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_accumulates),
        cmocka_unit_test(test_accumulates_by_atomics),
        cmocka_unit_test(test_wide_accumulator),
        cmocka_unit_test(test_integer_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
