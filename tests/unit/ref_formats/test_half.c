/*
 * test_half.c - products of bf16 matrices as tensor cores add them, on the host: a model of that
 * arithmetic loses what was measured (shim/plan/tolerance.h) where one term is far larger than all
 * others. It stays inside the bound with tolerance_product_loss() and leaves the bound of its sums
 * alone; an accumulator of f16 and a lost end of k are found all the same.
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

enum { ROWS = 8, COLS = 8, MOST = 16384 };

static const int lengths[] = {256, 1024, 4096, 16384};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static uint16_t a[ROWS * MOST], b[MOST * COLS];
static float y[ROWS * COLS];

static uint16_t bf16_of(double value)
{
    float narrow = (float)value;
    uint32_t word;
    memcpy(&word, &narrow, 4);
    return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

static double value_of(uint16_t code)
{
    uint32_t word = (uint32_t)code << 16;
    float value;
    memcpy(&value, &word, 4);
    return value;
}

/* Element l of the sum of output (i, j). */
static double term(int i, int l, int j, int k)
{
    return value_of(a[i * k + l]) * value_of(b[l * COLS + j]);
}

/* Positive numbers of a size whose products are about 2^-`below`; the first product is 1. */
static void fill_dominated(int k, int below)
{
    double size = exp2(-below / 2.0);
    for (int i = 0; i < ROWS * k; i++)
        a[i] = bf16_of(i % k ? size * (0.5 + uniform()) : 1);
    for (int i = 0; i < COLS * k; i++)
        b[i] = bf16_of(i / COLS ? size * (0.5 + uniform()) : 1);
}

static void fill_normal(int k)
{
    for (int i = 0; i < ROWS * k; i++)
        a[i] = bf16_of(normal());
    for (int i = 0; i < COLS * k; i++)
        b[i] = bf16_of(normal());
}

/* ---- kernels ---- */

static double cut(double value, double unit)
{
    return trunc(value / unit) * unit;
}

static double power_of(double value)
{
    int exponent;
    frexp(value, &exponent);
    return value == 0 ? 0 : ldexp(1, exponent - 1);
}

/* Steps of `step` products, cut off at 2^-25 of the largest, the sum at 2^-23 of its own. */
static float tensor_cores(int i, int j, int k, int step)
{
    double sum = 0;
    for (int from = 0; from < k; from += step) {
        double most = power_of(sum), all;
        for (int l = from; l < from + step; l++)
            most = fmax(most, power_of(term(i, l, j, k)));
        all = cut(sum, most * 0x1p-25);
        for (int l = from; l < from + step; l++)
            all += cut(term(i, l, j, k), most * 0x1p-25);
        sum = cut(all, power_of(all) * 0x1p-23);
    }
    return (float)sum;
}

static float hopper(int i, int j, int k)
{
    return tensor_cores(i, j, k, 16);
}

static float ampere(int i, int j, int k)
{
    return tensor_cores(i, j, k, 8);
}

static float short_of_k(int i, int j, int k)
{
    double sum = 0;
    for (int l = 0; l < k - 8; l++)
        sum += term(i, l, j, k);
    return (float)sum;
}

static float in_f16(int i, int j, int k)
{
    double sum = 0;
    for (int l = 0; l < k; l++) {
        double next = sum + term(i, l, j, k), ulp = power_of(next) * 0x1p-10;
        sum = ulp > 0 ? nearbyint(next / ulp) * ulp : next;
    }
    return (float)sum;
}

static float lane[512];

/* A term a lane. In each exchange a lower lane adds the sum of a higher one, which is a bf16 then.
 */
static float by_lanes(int i, int j, int k)
{
    for (int l = 0; l < 512; l++)
        lane[l] = l < k ? (float)term(i, l, j, k) : 0;
    for (int half = 256; half > 0; half /= 2) {
        for (int l = 0; l < half; l++)
            lane[l] += (float)value_of(bf16_of((double)lane[l + half]));
    }
    return lane[0];
}

typedef float (*dot_fn)(int i, int j, int k);

static void multiply(dot_fn dot, int k)
{
    for (int i = 0; i < ROWS * COLS; i++)
        y[i] = dot(i / COLS, i % COLS, k);
}

/* The worst error, as a share of k 2^-24 |y|. */
static double worst_loss(int k)
{
    double worst = 0;
    for (int i = 0; i < ROWS * COLS; i++) {
        double sum = 0;
        for (int l = 0; l < k; l++)
            sum += term(i / COLS, l, i % COLS, k);
        worst = fmax(worst, fabs((double)y[i] - sum) / fabs(sum));
    }
    return worst / (k * 0x1p-24);
}

/* ---- the judge ---- */

static struct ref_tensor matrix(int rows, int cols, enum dtype dtype)
{
    int64_t bytes = (int64_t)rows * cols * (dtype == DTYPE_F32 ? 4 : 2);
    return (struct ref_tensor){.dtype = (uint8_t)dtype,
                               .ndim = 2,
                               .dim = {rows, cols},
                               .stride = {cols, 1},
                               .bytes = bytes,
                               .rule = RULE_BOUND};
}

static struct chain chain;

static struct ref_call product_call(int k)
{
    struct ref_call call = {.lambda = 8,
                            .unit_roundoff = tolerance_roundoff(DTYPE_F32),
                            .underflow = tolerance_underflow(DTYPE_F32),
                            .chain_roundoff = chain.roundoff,
                            .chain = chain.terms,
                            .pieces = 1,
                            .group = 1,
                            .scalar = {1, 0},
                            .size = {ROWS, k, COLS}};
    call.tensor[0] = matrix(ROWS, k, DTYPE_BF16);
    call.tensor[0].in = a;
    call.tensor[1] = matrix(k, COLS, DTYPE_BF16);
    call.tensor[1].in = b;
    call.tensor[2] = (struct ref_tensor){.ndim = 1, .dim = {COLS}};
    call.tensor[3] = matrix(ROWS, COLS, DTYPE_F32);
    call.tensor[3].got = y;
    return call;
}

static struct ref_verdict judge(struct ref_call *call)
{
    struct ref_verdict answer = {0};
    call->answer = &answer;
    assert_int_equal(ref_host_run("matmul", call, 1), 0);
    assert_int_equal(answer.checked, ROWS * COLS);
    assert_int_equal(answer.refused, 0);
    return answer;
}

static uint64_t violations(int k, double loss)
{
    struct ref_call call = product_call(k);
    call.tensor[3].rtol = loss;
    return judge(&call).violations;
}

static double loss_of(int k)
{
    struct tolerance tolerance = tolerance_fallback(DTYPE_F32);
    return tolerance_product_loss(&tolerance, DTYPE_BF16, DTYPE_BF16, k);
}

/* ---- tests ---- */

/* On an H100 0.37 of k 2^-24 |y|, where one accumulator takes the whole sum. */
static void the_model_loses_what_was_measured(void **state)
{
    (void)state;
    random_state = 1;
    for (int i = 0; i < 2; i++) {
        fill_dominated(lengths[i], 25);
        multiply(hopper, lengths[i]);
        double loss = worst_loss(lengths[i]);
        assert_true(loss > 0.30 && loss < 0.45);
    }
}

static void right_products_stay_quiet(void **state)
{
    (void)state;
    random_state = 2;
    for (int i = 0; i < LENGTHS; i++) {
        for (int below = 0; below < 30; below += 5) {
            fill_dominated(lengths[i], below);
            multiply(hopper, lengths[i]);
            assert_int_equal(violations(lengths[i], loss_of(lengths[i])), 0);
            multiply(ampere, lengths[i]);
            assert_int_equal(violations(lengths[i], loss_of(lengths[i])), 0);
        }
    }
}

/* So it is needed. */
static void without_the_loss_they_are_called_wrong(void **state)
{
    (void)state;
    random_state = 3;
    fill_dominated(4096, 25);
    multiply(hopper, 4096);
    assert_true(violations(4096, 0) > 0);
}

static void wrong_products_are_found(void **state)
{
    (void)state;
    random_state = 4;
    for (int i = 0; i < LENGTHS; i++) {
        fill_normal(lengths[i]);
        multiply(short_of_k, lengths[i]);
        assert_true(violations(lengths[i], loss_of(lengths[i])) > ROWS * COLS / 2);
        multiply(in_f16, lengths[i]);
        assert_true(violations(lengths[i], loss_of(lengths[i])) > ROWS * COLS / 2);
        multiply(hopper, lengths[i]);
        assert_int_equal(violations(lengths[i], 0), 0);
    }
}

/* Of numbers of one sign, as long as 8 terms are more than what may be cut off. */
static void a_lost_end_is_found_beside_the_loss(void **state)
{
    (void)state;
    random_state = 5;
    for (int i = 0; i < 2; i++) {
        fill_dominated(lengths[i + 1], 0);
        multiply(short_of_k, lengths[i + 1]);
        assert_int_equal(violations(lengths[i + 1], loss_of(lengths[i + 1])), ROWS * COLS);
    }
}

/* One term is 1 and is given on in each exchange; each lane that it comes to has nearly half an ulp
 * of it, which the next exchange cuts off. */
static void lanes_may_round_where_declared(void **state)
{
    const struct chain parts = {0x1p-8, 1}, lanes = {9 * 0x1p-8, 1};
    (void)state;
    for (int i = 0; i < ROWS * 512; i++) {
        int l = i % 512;
        bool last = l == 511, path = (l & (l + 1)) == 0; /* 0, 1, 3, ... 255 */
        a[i] = bf16_of(last ? 1 : path ? 0.9375 * 0x1p-8 : 0);
    }
    for (int i = 0; i < COLS * 512; i++)
        b[i] = bf16_of(1);
    multiply(by_lanes, 512);
    assert_true((double)y[0] == 1 + 0.9375 * 0x1p-8); /* lane 0 keeps its own */
    chain = lanes;
    assert_int_equal(violations(512, 0), 0);
    chain = parts;
    assert_int_equal(violations(512, 0), ROWS * COLS);
    for (int i = 0; i < ROWS * 512; i++)
        a[i] = bf16_of(1);
    multiply(short_of_k, 512);
    chain = lanes;
    assert_int_equal(violations(512, 0), 0); /* 8 of 512 terms are less than what may be lost, */
    for (int i = 0; i < ROWS * COLS; i++)
        y[i] = 512 - 32;
    assert_int_equal(violations(512, 0), ROWS * COLS); /* 32 are not */
    chain = (struct chain){0};
}

/* Terms of both signs cancel in a tenth of the elements to less than ten bounds of tf32. They are
 * held against the size of such a sum, with a factor and a bias as without. */
static void what_cancels_is_judged_beside_its_size(void **state)
{
    static float bias[COLS];
    (void)state;
    random_state = 6;
    fill_normal(1024);
    for (int scaled = 0; scaled < 2; scaled++) {
        struct ref_call call = product_call(1024);
        call.input_roundoff = 0x1p-11;
        call.scalar[0] = scaled ? 1e-3 : 1;
        if (scaled)
            call.tensor[2] = (struct ref_tensor){.dtype = DTYPE_F32,
                                                 .ndim = 1,
                                                 .dim = {COLS},
                                                 .stride = {1},
                                                 .bytes = sizeof bias,
                                                 .in = bias};
        multiply(hopper, 1024);
        for (int i = 0; i < ROWS * COLS; i++)
            y[i] *= (float)call.scalar[0];
        struct ref_verdict answer = judge(&call);
        assert_int_equal(answer.violations, 0);
        assert_int_equal(answer.wide, 0);
        call.scalar[0] *= 1.02; /* another factor */
        assert_true(judge(&call).violations > ROWS * COLS / 4);
    }
}

static void others_have_no_loss(void **state)
{
    struct tolerance tolerance = tolerance_fallback(DTYPE_BF16);
    (void)state;
    assert_true(tolerance_product_loss(&tolerance, DTYPE_F16, DTYPE_BF16, 100) == 100 * 0x1p-25);
    assert_true(tolerance_product_loss(&tolerance, DTYPE_F32, DTYPE_F32, 100) == 0);
    assert_true(tolerance_product_loss(&tolerance, DTYPE_F8E4M3, DTYPE_F8E4M3, 100) == 0);
    tolerance.lambda = 4;
    assert_true(tolerance_product_loss(&tolerance, DTYPE_F16, DTYPE_F16, 100) == 0);
    tolerance = tolerance_fallback(DTYPE_F64);
    assert_true(tolerance_product_loss(&tolerance, DTYPE_F16, DTYPE_F16, 100) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_loses_what_was_measured),
        cmocka_unit_test(right_products_stay_quiet),
        cmocka_unit_test(without_the_loss_they_are_called_wrong),
        cmocka_unit_test(wrong_products_are_found),
        cmocka_unit_test(a_lost_end_is_found_beside_the_loss),
        cmocka_unit_test(lanes_may_round_where_declared),
        cmocka_unit_test(what_cancels_is_judged_beside_its_size),
        cmocka_unit_test(others_have_no_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
