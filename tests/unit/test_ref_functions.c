/* The functions that the references compute themselves, against the library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <math.h>
#include <cmocka.h>

#include "ref_fixture.h"
#include "ref_quick.h"

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

/* Those that say at first sight whether an element is right: to 2^-28, NaN where they cannot say,
 * which is no number that is often asked for. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_function_edges),
        cmocka_unit_test(test_exp_edges),
        cmocka_unit_test(test_quick_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
