/*
 * test_fp8.c - sums of f8 products as Hopper's tensor cores add them, on the host: a model of that
 * arithmetic makes what was measured (shim/plan/tolerance.h), stays inside the bounds of
 * fp8_tensor and fp8_fast whatever the data are, nearly reaches them, and kernels that are worse
 * than what they declare are found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/random_values.h"
#include "refs/abi/ref_host.h"
#include "tests/common/ref_codes.h"
#include "plan/tolerance.h"

enum { ROWS = 8, COLS = 8, MOST = 16384 };

static const int lengths[] = {256, 1024, 4096, 16384};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* ---- values ---- */

static double zero_mean(bool left, int at)
{
    (void)left, (void)at;
    return normal();
}

static double positive(bool left, int at)
{
    (void)left, (void)at;
    return uniform();
}

/* One channel in 256 is up to 400 times the others. */
static double outliers(bool left, int at)
{
    return uniform() * (left && at % 256 == 5 ? 400 : 1);
}

static double signed_outliers(bool left, int at)
{
    return left ? normal() / 9 * (at % 512 == 5 ? 1000 : 1) : normal() * 100;
}

/* In each chain one product of 2^12, and others of 15/32, just under what is left of them: 1/2. */
static double crafted(bool left, int at)
{
    bool first = at % TENSOR_CHAIN == 0;
    return left ? (first ? 256 : 1.875) : (first ? 16 : 0.25);
}

/* The same where a chain never ends: all but one are lost. */
static double crafted_fast(bool left, int at)
{
    return at == 0 ? crafted(left, 0) : crafted(left, 1);
}

typedef double (*draw_fn)(bool left, int at);
static const draw_fn draws[] = {zero_mean,       positive, outliers,
                                signed_outliers, crafted,  crafted_fast};
enum { DRAWS = sizeof draws / sizeof *draws };

static uint8_t x[ROWS * MOST], w[COLS * MOST];
static float value_x[ROWS * MOST], value_w[COLS * MOST];
static float y[ROWS * COLS];

/* The nearest number of f8: by bisection, for there are many. */
static void put(uint8_t *code, float *value, double wanted)
{
    int low = 0, high = 126;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        *(f8_value(DTYPE_F8E4M3, middle) <= fabs(wanted) ? &low : &high) = middle;
    }
    double under = f8_value(DTYPE_F8E4M3, low), over = f8_value(DTYPE_F8E4M3, high);
    *code = (uint8_t)((over - fabs(wanted) < fabs(wanted) - under ? high : low) |
                      (wanted < 0 ? 128 : 0));
    *value = (float)f8_value(DTYPE_F8E4M3, *code);
}

static void fill(draw_fn draw, int k)
{
    for (int i = 0; i < ROWS * k; i++)
        put(&x[i], &value_x[i], draw(true, i % k));
    for (int i = 0; i < COLS * k; i++)
        put(&w[i], &value_w[i], draw(false, i % k));
}

/* ---- kernels ---- */

static int exponent_of(double value)
{
    int exponent;
    if (value == 0)
        return -1000;
    frexp(value, &exponent);
    return exponent - 1;
}

/* Towards zero, to 13 bits behind that of the exponent. */
static double cut(double value, int exponent)
{
    double unit = ldexp(1, exponent - 13);
    return trunc(value / unit) * unit;
}

/* One step: the sum so far and `count` products. Those are not normalised before they are cut. */
static double tensor_step(double sum, const float *a, const float *b, int count)
{
    int most = exponent_of(sum);
    for (int i = 0; i < count; i++) {
        int exponent = exponent_of((double)a[i]) + exponent_of((double)b[i]);
        most = exponent > most ? exponent : most;
    }
    if (most < -900)
        return sum;
    double all = cut(sum, most);
    for (int i = 0; i < count; i++)
        all += cut((double)(a[i] * b[i]), most);
    return all == 0 ? 0 : cut(all, exponent_of(all));
}

static float tensor_dot(const float *a, const float *b, int k, int chain)
{
    float sum = 0;
    double part = 0;
    for (int l = 0; l < k; l += TENSOR_STEP) {
        part = tensor_step(part, a + l, b + l, TENSOR_STEP);
        if (chain && (l + TENSOR_STEP) % chain == 0) {
            sum += (float)part;
            part = 0;
        }
    }
    return sum + (float)part;
}

static float promoted(const float *a, const float *b, int k)
{
    return tensor_dot(a, b, k, TENSOR_CHAIN);
}

static float fast(const float *a, const float *b, int k)
{
    return tensor_dot(a, b, k, 0);
}

static float exact(const float *a, const float *b, int k)
{
    double sum = 0;
    for (int l = 0; l < k; l++)
        sum += (double)(a[l] * b[l]);
    return (float)sum;
}

static float to_bf16(float value)
{
    uint32_t word;
    memcpy(&word, &value, 4);
    word = (word + 0x7fff + (word >> 16 & 1)) & ~0xffffu;
    memcpy(&value, &word, 4);
    return value;
}

static float in_bf16(const float *a, const float *b, int k)
{
    float sum = 0;
    for (int l = 0; l < k; l++)
        sum = to_bf16(sum + a[l] * b[l]);
    return sum;
}

/* Split-K: four parts in f32, each rounded to bf16 before they are added up. */
static float in_parts(const float *a, const float *b, int k)
{
    float sum = 0;
    for (int part = 0; part < 4; part++) {
        float own = 0;
        for (int l = part * k / 4; l < (part + 1) * k / 4; l++)
            own += a[l] * b[l];
        sum += to_bf16(own);
    }
    return sum;
}

typedef float (*dot_fn)(const float *a, const float *b, int k);

static void multiply(dot_fn dot, int k)
{
    for (int i = 0; i < ROWS * COLS; i++)
        y[i] = dot(value_x + i / COLS * k, value_w + i % COLS * k, k);
}

/* ---- the judge ---- */

static struct tolerance tolerance_of(const char *accumulate)
{
    char text[80];
    struct error err = {{0}};
    struct tolerance row;
    struct yaml_doc *doc;
    snprintf(text, sizeof text, "{accumulate: %s}", accumulate);
    if (yaml_doc_parse(&doc, "t.yaml", text, strlen(text), &err) ||
        tolerance_read(yaml_doc_root(doc), &row, NULL, &err))
        fail_msg("%s", err.text);
    yaml_doc_destroy(doc);
    return row;
}

static struct ref_tensor matrix(int rows, int cols, enum dtype dtype, int64_t bytes)
{
    return (struct ref_tensor){.dtype = (uint8_t)dtype,
                               .ndim = 2,
                               .dim = {rows, cols},
                               .stride = {cols, 1},
                               .bytes = bytes,
                               .rule = RULE_BOUND};
}

/* What stands in y; `old`: what stood there, where it was added to, or NULL. */
static struct ref_verdict judge_sum(const char *accumulate, int k, const float *old)
{
    struct tolerance row = tolerance_of(accumulate);
    struct ref_verdict answer = {0};
    struct ref_call call = {.lambda = row.lambda,
                            .unit_roundoff = tolerance_roundoff(row.accumulate),
                            .underflow = tolerance_underflow(row.accumulate),
                            .chain_roundoff = row.chain.roundoff,
                            .chain = row.chain.terms,
                            .pieces = 1,
                            .group = 1,
                            .size = {ROWS, k, COLS},
                            .answer = &answer};
    call.tensor[0] = matrix(ROWS, k, DTYPE_F8E4M3, ROWS * k);
    call.tensor[0].in = x;
    call.tensor[1] = matrix(COLS, k, DTYPE_F8E4M3, COLS * k);
    call.tensor[1].in = w;
    call.tensor[2] = (struct ref_tensor){.ndim = 1, .dim = {COLS}};
    call.tensor[3] = matrix(ROWS, COLS, DTYPE_F32, sizeof y);
    call.tensor[3].got = y;
    call.tensor[3].in = old;
    call.tensor[3].accumulates = old != NULL;
    assert_int_equal(ref_host_run("linear", &call, 1), 0);
    assert_int_equal(answer.checked, ROWS * COLS);
    assert_int_equal(answer.refused, 0);
    return answer;
}

static struct ref_verdict judge(const char *accumulate, int k)
{
    return judge_sum(accumulate, k, NULL);
}

/* The worst error of what stands in y, as a share of S. */
static double worst_share(int k)
{
    double worst = 0;
    for (int i = 0; i < ROWS * COLS; i++) {
        double sum = 0, size = 0;
        for (int l = 0; l < k; l++) {
            double term = (double)(value_x[i / COLS * k + l] * value_w[i % COLS * k + l]);
            sum += term;
            size += fabs(term);
        }
        worst = fmax(worst, fabs((double)y[i] - sum) / size);
    }
    return worst;
}

/* ---- tests ---- */

/* The figures of tolerance.h, with room for there being 64 to 4096 products here and 196608 there.
 */
static void the_model_makes_what_was_measured(void **state)
{
    static const double measured[][LENGTHS] = {{-9.9, -10.4, -10.7, -10.8},
                                               {-8.4, -6.0, -3.8, -2.0}};
    (void)state;
    random_state = 1;
    for (int i = 0; i < LENGTHS; i++) {
        double share[2] = {0};
        for (int left = MOST; left > 0; left -= lengths[i]) {
            fill(positive, lengths[i]);
            for (int way = 0; way < 2; way++) {
                multiply(way ? fast : promoted, lengths[i]);
                share[way] = fmax(share[way], worst_share(lengths[i]));
            }
        }
        for (int way = 0; way < 2; way++)
            if (fabs(log2(share[way]) - measured[way][i]) > 0.25)
                fail_msg("%d terms, %s: 2^%.2f S, measured 2^%.1f", lengths[i],
                         way ? "fast" : "promoted", log2(share[way]), measured[way][i]);
    }
}

static void tensor_cores_stay_quiet_as_declared(void **state)
{
    (void)state;
    random_state = 2;
    for (int i = 0; i < LENGTHS * DRAWS; i++) {
        int k = lengths[i % LENGTHS];
        fill(draws[i / LENGTHS], k);
        multiply(promoted, k);
        assert_int_equal(judge("fp8_tensor", k).violations, 0);
        assert_int_equal(judge("fp8_fast", k).violations, 0);
        multiply(fast, k);
        assert_int_equal(judge("fp8_fast", k).violations, 0);
    }
}

/* Lengths that are no whole steps, and one term alone. */
static void short_sums_stay_quiet(void **state)
{
    static const int shorts[] = {1, 2, 31, 32, 33, 127, 129, 200};
    (void)state;
    random_state = 3;
    for (size_t i = 0; i < sizeof shorts / sizeof *shorts * DRAWS; i++) {
        int k = shorts[i / DRAWS];
        fill(draws[i % DRAWS], k);
        for (int j = 0; j < ROWS * COLS; j++) {
            float part[TENSOR_STEP * 7] = {0}, other[TENSOR_STEP * 7] = {0};
            memcpy(part, value_x + j / COLS * k, (size_t)k * sizeof *part);
            memcpy(other, value_w + j % COLS * k, (size_t)k * sizeof *other);
            y[j] = promoted(part, other, (int)(sizeof part / sizeof *part));
        }
        assert_int_equal(judge("fp8_tensor", k).violations, 0);
    }
}

/* The bounds are no wider than what right kernels may need. */
static void crafted_terms_nearly_reach_the_bound(void **state)
{
    (void)state;
    fill(crafted, 4096);
    multiply(promoted, 4096);
    assert_float_equal(log2(worst_share(4096)), -6.1, 0.05);
    assert_true(judge("fp8_tensor", 4096).max_ratio > 0.8);
    fill(crafted_fast, 1024);
    multiply(fast, 1024);
    assert_true(judge("fp8_fast", 1024).max_ratio > 0.7);
    /* ... and data with outliers go beyond twice what was measured of data without. */
    fill(outliers, 256);
    multiply(promoted, 256);
    assert_true(worst_share(256) > 0x1p-8);
}

/* Errors of just under what is declared, and of just over. */
static void the_bounds_are_these(void **state)
{
    (void)state;
    for (int i = 0; i < LENGTHS * 2; i++) {
        int k = lengths[i / 2];
        bool endless = i % 2;
        double share = TENSOR_ROUNDOFF * (endless ? k : 128) + 8 * sqrt(k) * 0x1p-24;
        random_state = 4;
        fill(zero_mean, k);
        for (int inside = 0; inside < 2; inside++) {
            for (int j = 0; j < ROWS * COLS; j++) {
                double sum = 0, size = 0;
                for (int l = 0; l < k; l++) {
                    double term = (double)(value_x[j / COLS * k + l] * value_w[j % COLS * k + l]);
                    sum += term;
                    size += fabs(term);
                }
                y[j] = (float)(sum + (inside ? 0.999 : 1.005) * share * size);
            }
            assert_int_equal(judge(endless ? "fp8_fast" : "fp8_tensor", k).violations,
                             inside ? 0 : ROWS * COLS);
        }
    }
}

/* A chain may have begun with what an accumulated output held. */
static void the_old_value_is_in_the_chain(void **state)
{
    enum { K = 256 };
    float old[ROWS * COLS];
    (void)state;
    random_state = 6;
    fill(positive, K);
    for (int inside = 0; inside < 2; inside++) {
        multiply(exact, K);
        for (int j = 0; j < ROWS * COLS; j++) {
            double sum = (double)y[j];
            old[j] = -1e4f;
            y[j] =
                (float)(sum - 1e4 + (inside ? 0.99 : 1.01) * TENSOR_ROUNDOFF * 128 * (sum + 1e4));
        }
        assert_int_equal(judge_sum("fp8_tensor", K, old).violations, inside ? 0 : ROWS * COLS);
    }
}

static void worse_than_declared_is_found(void **state)
{
    (void)state;
    random_state = 5;
    fill(positive, 1024);
    multiply(in_bf16, 1024);
    assert_int_equal(judge("fp8_tensor", 1024).violations, ROWS * COLS);
    assert_int_equal(judge("fp8_fast", 1024).violations, ROWS * COLS);
    multiply(promoted, 1024); /* right, but no sum in f32 */
    assert_int_equal(judge("f32", 1024).violations, ROWS * COLS);
    fill(positive, 4096);
    multiply(fast, 4096); /* never promoted, though it is declared so */
    assert_int_equal(judge("fp8_tensor", 4096).violations, ROWS * COLS);
    assert_int_equal(judge("fp8_fast", 4096).violations, 0);
}

/* Parts that are rounded are right where that is declared, and there alone. */
static void rounded_parts_are_allowed_where_declared(void **state)
{
    (void)state;
    random_state = 9;
    for (int i = 0; i < LENGTHS * 2; i++) {
        int k = lengths[i / 2];
        fill(i % 2 ? positive : draws[0], k);
        multiply(in_parts, k);
        assert_int_equal(judge("bf16_parts", k).violations, 0);
        if (i % 2)
            assert_true(judge("f32", k).violations > 0);
    }
    fill(positive, 4096);
    multiply(in_bf16, 4096);
    assert_true(judge("bf16_parts", 4096).violations > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_makes_what_was_measured),
        cmocka_unit_test(tensor_cores_stay_quiet_as_declared),
        cmocka_unit_test(short_sums_stay_quiet),
        cmocka_unit_test(crafted_terms_nearly_reach_the_bound),
        cmocka_unit_test(the_bounds_are_these),
        cmocka_unit_test(rounded_parts_are_allowed_where_declared),
        cmocka_unit_test(the_old_value_is_in_the_chain),
        cmocka_unit_test(worse_than_declared_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
