/* The functions that the references compute themselves, against the library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <math.h>
#include <cmocka.h>

#include "tests/unit/common/ref_fixture.h"
#include "tests/unit/ref_host/ref_near.h"
#include "tests/unit/ref_host/ref_quick.h"

/* y of a reference of one input and one output, as it is before it is judged. */
static const double *stored_y(const char *name, int64_t count)
{
    static double y[ARRAY_MAX];
    shape(&out_y, DTYPE_F32, count);
    struct ref_call call = new_call();
    call.tensor[0] = tensor(&in_x, 0, 2, 1, count, 0);
    call.tensor[1] = tensor(&out_y, 1, 2, 1, count, 0);
    call.tensor[1].id = 1;
    call.size[0] = 1;
    call.size[1] = count;
    call.scalar[0] = 1;
    call.store = y;
    call.store_tensor = 1;
    call.store_count = count;
    run(name, &call);
    return y;
}

static double exact_gelu(double x)
{
    return 0.5 * x * erfc(-x * 0.7071067811865476);
}

static double exact_gelu_tanh(double x)
{
    double u = (x + x * x * x * 0.044715) * 0.7978845608028654;
    return u < 0 ? x * exp(2 * u) / (exp(2 * u) + 1) : x / (1 + exp(-2 * u));
}

static double exact_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double exact_silu(double x)
{
    return x * exact_sigmoid(x);
}

static double exact_one_plus_erf(double x)
{
    return erfc(-x);
}

static double exact_one_plus_tanh(double x)
{
    return 2 * exact_sigmoid(2 * x);
}

/* Functions of our own where bounds are in f32: to 1e-11 of the argument, and tails, which cancel
 * in kernels, to a share of themselves. gelu's ends where it is 1e-16. */
static void test_functions(void **state)
{
    static const struct {
        const char *name;
        double (*exact)(double);
        double tail, end;
    } functions[] = {{"gelu", exact_gelu, 1e-5, 1.1e-16},
                     {"gelu_tanh", exact_gelu_tanh, 2e-11, 1e-300},
                     {"silu", exact_silu, 1e-11, 1e-300}};
    enum { COUNT = 16000 };
    (void)state;
    shape(&in_x, DTYPE_F32, COUNT);
    for (int i = 0; i < COUNT; i++)
        set(&in_x, i, i < 12000 ? (i - 6000) * 0.001 : (i % 2 ? 1 : -1) * exp((i - 14000) * 0.01));
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        const double *y = stored_y(functions[f].name, COUNT);
        for (int i = 0; i < COUNT; i++) {
            double x = x_at(i), exact = functions[f].exact(x);
            double tail = functions[f].tail * fabs(exact) + functions[f].end;
            if (!(fabs(y[i] - exact) <= 1e-11 * fabs(x)) || !(x >= 0 || fabs(y[i] - exact) <= tail))
                fail_msg("%s(%a) is %a, expected %a", functions[f].name, x, y[i], exact);
        }
    }
}

/* Far out and beyond numbers a function is what its limits make it. */
static void test_function_edges(void **state)
{
    static const char *const names[] = {"gelu", "gelu_tanh", "silu"};
    static const double x[] = {1e4, -1e4, 1e30, INFINITY, -INFINITY, NAN, -NAN, 0, -0.0};
    (void)state;
    shape(&in_x, DTYPE_F32, 9);
    for (int i = 0; i < 9; i++)
        set(&in_x, i, x[i]);
    for (int f = 0; f < 3; f++) {
        const double *y = stored_y(names[f], 9);
        assert_true(y[0] == 1e4 && y[1] == 0 && y[2] == (double)1e30f && y[3] == INFINITY);
        assert_true(isnan(y[4]) && isnan(y[5]) && isnan(y[6]) && y[7] == 0 && y[8] == 0);
    }
}

/* exp far below its largest argument, and where that is not a number. */
static void test_exp_edges(void **state)
{
    static const double x[] = {0, -1, -87.5, -700, -707.5, -709, -1e4, -3e38, -INFINITY};
    enum { COUNT = 9 };
    (void)state;
    shape(&in_x, DTYPE_F32, COUNT);
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        set(&in_x, i, x[i]);
        sum += exp(x[i]);
    }
    const double *y = stored_y("softmax", COUNT);
    for (int i = 0; i < COUNT; i++) {
        double exact = x[i] < -708 ? 0 : exp(x[i]) / sum;
        if (!(fabs(y[i] - exact) <= 1e-11 * exact))
            fail_msg("exp(%g) is %a, expected %a", x[i], y[i], exact);
    }
    static const double poison[] = {NAN, -NAN, INFINITY};
    for (int p = 0; p < 3; p++) {
        set(&in_x, 3, poison[p]);
        y = stored_y("softmax", COUNT);
        assert_true(isnan(y[3]));
    }
}

/* The quick ones, which decide whether an element is right: to 2^-28, NaN where they cannot,
 * which is rare. */
static void test_quick_functions(void **state)
{
    static const struct {
        const char *name;
        double (*quick)(double), (*exact)(double);
        double from, to, share, tail;
    } functions[] = {
        {"exp", quick_exp, exp, -707, 707, 0x1p-28, 0},
        {"sigmoid", quick_sigmoid, exact_sigmoid, -707, 1e300, 0x1p-28, 0},
        {"1 + erf", quick_one_plus_erf, exact_one_plus_erf, -5.99, 1e300, 1e-5, 0x1p-28},
        {"1 + tanh", quick_one_plus_tanh, exact_one_plus_tanh, -350, 1e300, 0x1p-28, 0}};
    (void)state;
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        for (int i = -60000; i <= 60000; i++) {
            double x = i % 2 ? i * 1e-4 : copysign(exp(fabs(i * 1e-3) - 10), i);
            double y = functions[f].quick(x), exact = functions[f].exact(x);
            double most = functions[f].share * exact;
            if (functions[f].tail > 0 && most > functions[f].tail)
                most = functions[f].tail;
            bool always = x >= functions[f].from && x <= functions[f].to;
            if (!(fabs(y - exact) <= most + (always ? 0 : 1e-15)) && (always || !isnan(y)))
                fail_msg("%s of %a is %a, expected %a", functions[f].name, x, y, exact);
        }
        assert_true(isnan(functions[f].quick(NAN)) && isnan(functions[f].quick(-NAN)));
    }
    assert_true(quick_exp(-INFINITY) < 1e-300 && quick_one_plus_erf(-INFINITY) == 0);
    assert_true(quick_one_plus_erf(INFINITY) == 2 && quick_one_plus_erf(-6) == 0);
}

/* e^x of a sum's terms: to a thousandth of f32's roundoff, next to nothing from -708 down. */
static void test_exp_as_term(void **state)
{
    (void)state;
    for (int i = -60000; i <= 60000; i++) {
        double x = i % 2 ? i * 1.18e-2 : copysign(exp(fabs(i * 1e-3) - 53.5), i);
        double y = exp_as_term(x), exact = exp(x);
        if (x <= 708 && !(fabs(y - exact) <= 6e-11 * exact + 4e-308))
            fail_msg("exp of %a is %a, expected %a", x, y, exact);
    }
    static const double far[] = {-708, -709, -1e4, -3e38, -1e300, -INFINITY};
    for (int i = 0; i < 6; i++)
        assert_true(exp_as_term(far[i]) >= 0 && exp_as_term(far[i]) < 4e-308);
}

/* ---- near(): a result's number of f32 that is no further away than its error ---- */

/* Of many sizes and both signs; with 8 bits, as bf16 has them. */
static double any_number(unsigned *seed, int least, int most)
{
    *seed = *seed * 1664525 + 1013904223;
    double fraction = 1 + (*seed >> 25) / 128.0;
    int exponent = least + (int)((*seed >> 8 & 0xffff) % (unsigned)(most - least + 1));
    return ldexp(*seed & 0x80 ? -fraction : fraction, exponent);
}

static struct near_input any_input(unsigned *seed, int least, int most)
{
    struct near_input in = {.x = (float)any_number(seed, least, most),
                            .w = (float)any_number(seed, least, most)};
    in.s = any_number(seed, -3, 3) * (*seed & 0x1000 ? 1 : 0.7391);
    in.n = any_number(seed, -8, 8) * 0.913;
    /* As often as not next to x, where much cancels. */
    in.m = any_number(seed, least, most) * 1.0071;
    if (*seed & 0x10000)
        in.m = in.x * in.s + any_number(seed, -6, 6);
    return in;
}

static void check_near(const struct near_formula *f, const struct near_input *in)
{
    struct near_result y = f->at(in);
    /* No error is known where f32 overflows on the way; then near() must decide. */
    double most = isfinite(y.error) ? y.error * (1 + 0x1p-10) : fabs(y.value) * 0x1p-16;
    if (isfinite(y.near) && !(fabs(y.near - y.value) <= most))
        fail_msg("%s(x %a, w %a, m %a, n %a, s %a): near %a, value %a, error %a", f->name, in->x,
                 in->w, in->m, in->n, in->s, y.near, y.value, y.error);
    /* What RULE_BITWISE counts on (refs/dialect/ref_judge.h). */
    double terms = (fabs(in->x) + fabs(in->w) + fabs(in->m) + fabs(in->n)) * (1 + in->s * in->s);
    if (isfinite(y.near) && fabs(y.value) > 0x1p-100 && fabs(y.value) > 0x1p-30 * terms &&
        !(fabs(y.near - y.value) < 0x1p-16 * fabs(y.value)))
        fail_msg("%s(x %a, w %a, m %a, n %a, s %a): near %a, value %a", f->name, in->x, in->w,
                 in->m, in->n, in->s, y.near, y.value);
}

static void test_near_is_within_the_error(void **state)
{
    static const struct {
        int least, most;
    } sizes[] = {{-9, 5}, {-3, 12}, {-40, 40}, {-126, 126}};
    (void)state;
    unsigned seed = 1;
    for (unsigned f = 0; f < near_formula_count; f++) {
        for (unsigned i = 0; i < 40000; i++) {
            struct near_input in = any_input(&seed, sizes[i % 4].least, sizes[i % 4].most);
            check_near(&near_formulas[f], &in);
        }
    }
}

/* It is there for what programs compute, and is inconclusive where a step is out of f32's range. */
static void test_near_is_a_number_where_it_matters(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (unsigned f = 0; f < near_formula_count; f++) {
        for (unsigned i = 0; i < 1000; i++) {
            struct near_input in = any_input(&seed, -9, 3);
            in.m = fmod(in.m, 50);
            struct near_result y = near_formulas[f].at(&in);
            if (fabs(y.value) < 1e30 && !isfinite(y.near))
                fail_msg("%s(x %a, w %a, m %a, n %a, s %a) is %a: near %a", near_formulas[f].name,
                         in.x, in.w, in.m, in.n, in.s, y.value, y.near);
            in.x = i % 2 ? NAN : INFINITY;
            assert_false(isfinite(near_formulas[f].at(&in).near) &&
                         !isfinite(near_formulas[f].at(&in).value));
        }
    }
}

/* A near sum and its error lie within those of the sum in f64. */
static void test_near_sums_are_within_the_error(void **state)
{
    (void)state;
    static const unsigned counts[] = {8, 32, 96, 1000, 4096, 16384};
    static float x[16384];
    unsigned seed = 7;
    for (unsigned i = 0; i < 2 * 6 * 8; i++) {
        unsigned count = counts[i % 6], lanes = i / 48 * 32;
        double spread = ldexp(1, (int)(i / 6 % 8)), most = -INFINITY;
        for (unsigned c = 0; c < count; c++) {
            seed = seed * 1664525 + 1013904223;
            x[c] = (float)(spread * (seed * 0x1p-31 - 1));
            most = fmax(most, x[c]);
        }
        struct near_sums y;
        sums_of_powers(&y, x, count, most, 8, lanes);
        if (!y.near && lanes && count > 1000) /* packs of one, on the host, are many additions */
            continue;
        assert_true(y.near);
        assert_true(y.error > 0);
        double off = fabs(y.sum - y.exact);
        if (!(off + y.error <= y.exact_error) || !(off < 0x1p-18 * y.exact))
            fail_msg("%u terms: %a and %a, in f64 %a and %a", count, y.sum, y.error, y.exact,
                     y.exact_error);
    }
}

/* Nor can one be had of more terms, where its own error would count, or of a term that is none. */
static void test_near_sums_know_their_limits(void **state)
{
    (void)state;
    static float x[16385];
    struct near_sums y;
    sums_of_powers(&y, x, 16384, 0, 8, 0);
    assert_true(y.near && y.sum == 16384);
    sums_of_powers(&y, x, 16385, 0, 8, 0);
    assert_false(y.near);
    sums_of_powers(&y, x, 64, 0, 8, 0);
    assert_true(y.near);
    sums_of_powers(&y, x, 64, 0, 1, 0); /* 8 roundings are allowed in all, and 6 are made */
    assert_false(y.near);
    x[5] = NAN;
    sums_of_powers(&y, x, 64, 0, 8, 0);
    assert_true(y.near && isnan(y.sum));
    x[5] = -INFINITY;
    sums_of_powers(&y, x, 64, 0, 8, 0);
    assert_true(isnan(y.sum) || y.sum == 63);
    x[5] = 100;
    sums_of_powers(&y, x, 64, 0, 8, 0);
    assert_false(isfinite(y.sum) && y.sum < 1e38);
}

/* Numbers that f32 cannot distinguish from 0 or from others are not taken for them. */
static void test_near_knows_its_limits(void **state)
{
    (void)state;
    for (unsigned f = 0; f < near_formula_count; f++) {
        static const struct near_input far[] = {
            {.x = 1e38f, .w = 1e30f, .m = 1e-60, .n = 1e-45, .s = 1e-50},
            {.x = -95, .w = 1e30f, .m = 1, .n = 1e30, .s = 1},
            {.x = -95, .w = 2e3f, .m = 0, .n = 1e4, .s = 1},
            {.x = 1e6f, .w = 1, .m = 1e6 + 1e-3, .n = 1, .s = 1},
            {.x = 1.5f, .w = 3, .m = 2.5 + 1e-8, .n = 1, .s = 1},
            {.x = 3e38f, .w = 3e38f, .m = -3e38, .n = 1e-30, .s = 0.1},
            {.x = 1e-30f, .w = 1e30f, .m = 1e-30, .n = 1e30, .s = 1e-30},
            {.x = 1, .w = 1, .m = 1e300, .n = 1e300, .s = 1e300},
        };
        for (unsigned i = 0; i < sizeof far / sizeof *far; i++) {
            struct near_result y = near_formulas[f].at(&far[i]);
            check_near(&near_formulas[f], &far[i]);
            /* What was lost on the way must not pass for a result that is known. */
            double missing = fabs(y.near - y.value);
            if (isfinite(y.near) && missing > 0.1 * fabs(y.value) && missing > 0x1p-116)
                fail_msg("%s, case %u: near %a, value %a", near_formulas[f].name, i, y.near,
                         y.value);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_function_edges),
        cmocka_unit_test(test_exp_edges),
        cmocka_unit_test(test_quick_functions),
        cmocka_unit_test(test_exp_as_term),
        cmocka_unit_test(test_near_is_within_the_error),
        cmocka_unit_test(test_near_is_a_number_where_it_matters),
        cmocka_unit_test(test_near_knows_its_limits),
        cmocka_unit_test(test_near_sums_are_within_the_error),
        cmocka_unit_test(test_near_sums_know_their_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
