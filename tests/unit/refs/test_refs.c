/* The references, family by family, run on the host: quiet on kernels that are right, loud on
 * mutants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/common/ref_fixture.h"
#include "value/verdict.h"

/* ---------------------------------------------------------------------------- rmsnorm */

static void test_rmsnorm_quiet(void **state)
{
    (void)state;
    EACH_CASE(dtype, rows, cols)
    {
        for (random_state = 1; random_state < 1u << 20; random_state += 1u << 18) {
            struct ref_verdict v = check_rmsnorm(dtype, rows, cols, RIGHT, 1);
            expect_quiet("rmsnorm", &v, (uint64_t)(rows * cols + rows));
        }
    }
}

static void test_rmsnorm_mutants(void **state)
{
    (void)state;
    for (int64_t d = 0; d < 3; d++) {
        random_state = (uint64_t)d;
        enum dtype dtype = float_dtypes[d];
        assert_true(check_rmsnorm(dtype, 4, 1000, LOW_ACCUMULATOR, 1).violations > 0);
        assert_true(check_rmsnorm(dtype, 4, 1000, NO_TAIL, 1).violations > 0);
        assert_true(check_rmsnorm(dtype, 4, 1000, NO_SQRT, 1.3).violations > 3000);
        assert_true(check_rmsnorm(dtype, 4, 1000, WRONG_EPS, 0.01).violations > 0);
    }
}

/* -------------------------------------------------------------------------- layernorm */

static struct array out_t;

static void layernorm_kernel(int64_t rows, int64_t cols, float eps, enum mutant mutant)
{
    for (int64_t r = 0; r < rows; r++) {
        float mean = 0, square = 0;
        for (int64_t c = 0; c < cols; c++) { /* Welford, as PyTorch does */
            float delta = x_at(r * cols + c) - mean;
            mean = narrow(mean + delta / (float)(c + 1), mutant);
            square = narrow(square + delta * (x_at(r * cols + c) - mean), mutant);
        }
        if (mutant == NO_MEAN)
            mean = 0;
        float inv = 1 / sqrtf(square / (float)cols + (mutant == WRONG_EPS ? 10 * eps : eps));
        for (int64_t c = 0; c < cols; c++)
            set(&out_y, r * cols + c,
                (x_at(r * cols + c) - mean) * inv * (float)get(&in_w, c) + (float)get(&in_b, c));
        set(&out_s, r, mean);
        set(&out_t, r, inv);
    }
}

static struct ref_verdict check_layernorm(enum dtype dtype, int64_t rows, int64_t cols,
                                          enum mutant mutant, double mean, double spread)
{
    fill(&in_x, dtype, rows * cols, mean, spread);
    fill(&in_w, dtype, cols, 1, 0.1);
    fill(&in_b, dtype, cols, 0, 0.5);
    shape(&out_y, dtype, rows * cols);
    shape(&out_s, DTYPE_F32, rows);
    shape(&out_t, DTYPE_F32, rows);
    layernorm_kernel(rows, cols, 1e-5f, mutant);
    struct ref_call call = new_call();
    call.tensor[0] = tensor(&in_x, 0, 2, rows, cols, 0);
    call.tensor[1] = tensor(&in_w, 0, 1, cols, 0, 0);
    call.tensor[2] = tensor(&in_b, 0, 1, cols, 0, 0);
    call.tensor[3] = tensor(&out_y, 1, 2, rows, cols, 0);
    call.tensor[4] = tensor(&out_s, 1, 1, rows, 0, 0);
    call.tensor[5] = tensor(&out_t, 1, 1, rows, 0, 0);
    call.scalar[0] = 1e-5f;
    call.size[0] = rows;
    call.size[1] = cols;
    return run("layernorm", &call);
}

static void test_layernorm(void **state)
{
    (void)state;
    EACH_CASE(dtype, rows, cols)
    {
        random_state = (uint64_t)(rows * cols);
        struct ref_verdict v = check_layernorm(dtype, rows, cols, RIGHT, 0.5, 1);
        assert_int_equal(v.violations, 0);
        assert_int_equal(v.refused, 0);
        assert_int_equal(v.checked, rows * cols + 2 * rows);
    }
    assert_true(check_layernorm(DTYPE_BF16, 4, 1000, LOW_ACCUMULATOR, 0.5, 1).violations > 0);
    assert_true(check_layernorm(DTYPE_BF16, 4, 1000, NO_MEAN, 0.5, 1).violations > 3000);
    assert_true(check_layernorm(DTYPE_F32, 4, 1000, WRONG_EPS, 0, 0.1).violations > 3000);
}

/* Nearly constant rows: the bound of what is left after subtracting the mean decides nothing. */
static void test_wide_is_not_a_match(void **state)
{
    (void)state;
    random_state = 3;
    struct ref_verdict v = check_layernorm(DTYPE_F32, 2, 1024, RIGHT, 1e6, 0.1);
    assert_int_equal(v.violations, 0);
    assert_true(v.wide > 1000);
    assert_int_equal(verdict_of(&v), VERDICT_INCONCLUSIVE);
}

/* Constant rows: nothing is left, and what is right to its own rounding needs no bound. */
static void test_what_is_surely_right_is_not_wide(void **state)
{
    (void)state;
    random_state = 3;
    struct ref_verdict v = check_layernorm(DTYPE_F32, 2, 1024, RIGHT, 1e6, 1e-3);
    assert_int_equal(v.violations, 0);
    assert_int_equal(v.wide, 0);
    assert_int_equal(verdict_of(&v), VERDICT_MATCH);
}

/* ---------------------------------------------------------------------------- softmax */

static void test_softmax(void **state)
{
    (void)state;
    EACH_CASE(dtype, rows, cols)
    {
        for (int seed = 0; seed < 3; seed++) {
            random_state = (uint64_t)seed;
            struct ref_verdict v = check_softmax(dtype, rows, cols, RIGHT, 1 + 3 * seed);
            expect_quiet("softmax", &v, (uint64_t)(rows * cols));
        }
    }
    assert_true(check_softmax(DTYPE_BF16, 2, 1000, LOW_ACCUMULATOR, 1).violations > 0);
    assert_true(check_softmax(DTYPE_BF16, 2, 1000, TAIL_LEAKS, 1).violations > 0);
    struct ref_verdict v = check_softmax(DTYPE_F32, 2, 1000, NO_MAX, 100);
    assert_true(v.class_mismatch > 0);
    assert_true(isinf(v.max_ratio));
}

/* What is subtracted is the largest product, also where that is of the smallest number. */
static void test_softmax_of_a_negative_scale(void **state)
{
    enum { COLS = 300 };
    (void)state;
    random_state = 5;
    fill(&in_x, DTYPE_F32, COLS, 0, 300);
    struct ref_call call = softmax_call(DTYPE_BF16, 1, COLS);
    call.scalar[0] = -2;
    double most = -INFINITY, sum = 0;
    for (int64_t c = 0; c < COLS; c++)
        most = fmax(most, -2.0 * x_at(c));
    for (int64_t c = 0; c < COLS; c++)
        sum += exp(-2.0 * x_at(c) - most);
    for (int64_t c = 0; c < COLS; c++)
        set(&out_y, c, exp(-2.0 * x_at(c) - most) / sum);
    struct ref_verdict v = run("softmax", &call);
    expect_quiet("a negative scale", &v, COLS);
}

/* -Inf masks some columns: those are exactly 0, the rest as ever, and nothing is inconclusive. */
static void test_softmax_masked(void **state)
{
    (void)state;
    random_state = 5;
    fill(&in_x, DTYPE_BF16, 4 * 256, 0, 2);
    for (int64_t i = 0; i < 4 * 256; i += 3)
        set(&in_x, i, -INFINITY);
    struct ref_call call = softmax_call(DTYPE_BF16, 4, 256);
    softmax_kernel(4, 256, RIGHT);
    struct ref_verdict v = run("softmax", &call);
    expect_quiet("masked softmax", &v, 4 * 256);
    set(&out_y, 3, 1e-3);
    assert_int_equal(run("softmax", &call).violations, 1);
}

/* A row in which every column is masked: NaN by the formula, 0 or either by contract; and NaN that
 * comes from the input stays NaN whatever the contract. */
static void test_masked_rows(void **state)
{
    (void)state;
    static const struct {
        enum masked_rows contract;
        double got;
        uint64_t violations;
    } cases[] = {{MASKED_NAN, NAN, 0},   {MASKED_NAN, 0, 64},    {MASKED_ZERO, 0, 0},
                 {MASKED_ZERO, NAN, 64}, {MASKED_ANY, 0, 0},     {MASKED_ANY, NAN, 0},
                 {MASKED_ANY, 0.5, 64},  {MASKED_ZERO, 1e-3, 64}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        random_state = 5;
        fill(&in_x, DTYPE_BF16, 4 * 64, 0, 2);
        for (int64_t c = 0; c < 64; c++)
            set(&in_x, 64 + c, -INFINITY);
        struct ref_call call = softmax_call(DTYPE_BF16, 4, 64);
        softmax_kernel(4, 64, RIGHT);
        for (int64_t c = 0; c < 64; c++)
            set(&out_y, 64 + c, cases[i].got);
        call.masked_rows = cases[i].contract;
        struct ref_verdict v = run("softmax", &call);
        assert_int_equal(v.violations, cases[i].violations);
        assert_int_equal(v.wide, 0);
        assert_int_equal(v.checked, 4 * 64);
        set(&in_x, 3 * 64, NAN); /* launders a NaN */
        for (int64_t c = 0; c < 64; c++)
            set(&out_y, 3 * 64 + c, 0);
        assert_int_equal(run("softmax", &call).violations, cases[i].violations + 64);
    }
}

static void test_log_softmax(void **state)
{
    (void)state;
    random_state = 8;
    fill(&in_x, DTYPE_F32, 3 * 500, 0, 4);
    struct ref_call call = softmax_call(DTYPE_F32, 3, 500);
    for (int64_t r = 0; r < 3; r++) {
        float most = -INFINITY, sum = 0;
        for (int64_t c = 0; c < 500; c++)
            most = fmaxf(most, x_at(r * 500 + c));
        for (int64_t c = 0; c < 500; c++)
            sum += expf(x_at(r * 500 + c) - most);
        for (int64_t c = 0; c < 500; c++)
            set(&out_y, r * 500 + c, x_at(r * 500 + c) - most - logf(sum));
    }
    struct ref_verdict v = run("log_softmax", &call);
    expect_quiet("log_softmax", &v, 1500);
    set(&out_y, 700, get(&out_y, 700) + 1e-4);
    v = run("log_softmax", &call);
    assert_int_equal(v.violations, 1);
    assert_int_equal(v.first_index, 700);
    assert_int_equal(v.worst_index, 700);
}

/* ------------------------------------------------------------------------ elementwise */

static float erf_gelu(float x)
{
    return 0.5f * x * (1 + erff(x * 0.70710678f));
}

static float tanh_gelu(float x)
{
    return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

static float relu(float x)
{
    return x > 0 || isnan(x) ? x : 0;
}

static float no_half_gelu(float x)
{
    return 2 * erf_gelu(x);
}

static float double_silu(float x)
{
    return x / (1 + expf(-2 * x));
}

static float coarse_gelu(float x)
{
    return x * (1 / (1 + expf(-1.702f * x)));
}

static struct ref_verdict check_unary(const char *name, float (*kernel)(float), enum dtype dtype,
                                      double spread)
{
    enum { ROWS = 5, COLS = 777 };
    fill(&in_x, dtype, ROWS * COLS, 0, spread);
    struct ref_call call = softmax_call(dtype, ROWS, COLS);
    for (int64_t i = 0; i < ROWS * COLS; i++)
        set(&out_y, i, kernel(x_at(i)));
    return run(name, &call);
}

static void test_activations(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        float (*right)(float), (*mutant)(float);
    } cases[] = {{"gelu", erf_gelu, no_half_gelu},
                 {"gelu_tanh", tanh_gelu, coarse_gelu},
                 {"silu", silu, double_silu},
                 {"relu", relu, silu}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int64_t d = 0; d < 3; d++) {
            for (double spread = 1; spread < 200; spread *= 10) {
                random_state = i;
                struct ref_verdict v =
                    check_unary(cases[i].name, cases[i].right, float_dtypes[d], spread);
                assert_int_equal(v.refused, 0);
                assert_int_equal(v.checked, 5 * 777);
                if (v.violations)
                    print_error("%s: got %a ref %a bound %a\n", cases[i].name, v.worst_got,
                                v.worst_ref, v.worst_bound);
                assert_int_equal(v.violations, 0);
            }
            assert_true(check_unary(cases[i].name, cases[i].mutant, float_dtypes[d], 1).violations >
                        900);
        }
    }
}

static struct ref_verdict check_leaky(float alpha, double mean)
{
    fill(&in_x, DTYPE_F16, 4 * 300, mean, 1);
    struct ref_call call = softmax_call(DTYPE_F16, 4, 300);
    for (int64_t i = 0; i < 4 * 300; i++)
        set(&out_y, i, x_at(i) > 0 ? x_at(i) : alpha * x_at(i));
    call.scalar[0] = 0.01;
    return run("leaky_relu", &call);
}

static void test_leaky_relu(void **state)
{
    (void)state;
    struct ref_verdict v = check_leaky(0.01f, 0);
    expect_quiet("leaky_relu", &v, 1200);
    assert_true(check_leaky(0.1f, 0).violations > 300);
}

static void test_two_operands(void **state)
{
    (void)state;
    static const char *const names[] = {"add", "mul", "residual_add", "swiglu"};
    for (int64_t k = 0; k < 4; k++) {
        for (int64_t d = 0; d < 3; d++) {
            enum dtype dtype = float_dtypes[d];
            fill(&in_x, dtype, 3 * 129, 0, 3);
            fill(&in_b, dtype, 3 * 129, 0, 3);
            struct ref_call call = softmax_call(dtype, 3, 129);
            call.tensor[2] = call.tensor[1];
            call.tensor[1] = tensor(&in_b, 0, 2, 3, 129, 0);
            for (int64_t i = 0; i < 3 * 129; i++) {
                float x = x_at(i), b = (float)get(&in_b, i);
                set(&out_y, i, k == 1 ? x * b : k == 3 ? silu(x) * b : x + b);
            }
            struct ref_verdict v = run(names[k], &call);
            expect_quiet(names[k], &v, 3 * 129);
            set(&out_y, 386, get(&out_y, 386) * 1.02);
            v = run(names[k], &call);
            assert_int_equal(v.violations, 1);
            assert_int_equal(v.first_index, 386);
        }
    }
}

static void test_silu_and_mul(void **state)
{
    (void)state;
    fill(&in_x, DTYPE_BF16, 6 * 2 * 100, 0, 2);
    struct ref_call call = softmax_call(DTYPE_BF16, 6, 100);
    call.tensor[0] = tensor(&in_x, 0, 3, 6, 2, 100);
    for (int64_t i = 0; i < 600; i++) {
        int64_t at = i / 100 * 200 + i % 100;
        set(&out_y, i, silu(x_at(at)) * x_at(at + 100));
    }
    struct ref_verdict v = run("silu_and_mul", &call);
    expect_quiet("silu_and_mul", &v, 600);
    for (int64_t i = 0; i < 600; i++)
        set(&out_y, i, silu(x_at(i)) * x_at(i + 600));
    assert_true(run("silu_and_mul", &call).violations > 400);
}

/* ------------------------------------------------------------------------- reductions */

static void test_reductions(void **state)
{
    (void)state;
    EACH_CASE(dtype, rows, cols)
    {
        random_state = (uint64_t)cols;
        fill(&in_x, dtype, rows * cols, 0.25, 1);
        struct ref_call call = softmax_call(dtype, rows, cols);
        call.tensor[1] = tensor(&out_y, 1, 1, rows, 0, 0);
        for (int kind = 0; kind < 3; kind++) {
            static const char *const names[] = {"row_sum", "row_mean", "row_max"};
            for (int64_t r = 0; r < rows; r++) {
                float sum = 0, most = -INFINITY;
                for (int64_t c = 0; c < cols; c++) {
                    sum += x_at(r * cols + c);
                    most = fmaxf(most, x_at(r * cols + c));
                }
                set(&out_y, r, kind == 0 ? sum : kind == 1 ? sum / (float)cols : most);
            }
            struct ref_verdict v = run(names[kind], &call);
            assert_int_equal(v.violations, 0);
            assert_int_equal(v.checked, rows);
            set(&out_y, 0, get(&out_y, 0) * 1.1 + 0.5);
            assert_int_equal(run(names[kind], &call).violations, 1);
        }
    }
}

/* ----------------------------------------------------------------------------- matmul */

static void test_matmul(void **state)
{
    (void)state;
    for (int linear = 0; linear < 2; linear++) {
        const char *name = linear ? "linear" : "matmul";
        for (int64_t d = 0; d < 3; d++) {
            random_state = (uint64_t)d;
            struct ref_call call = matmul_call(float_dtypes[d], 9, 512, 33, linear);
            matmul_kernel(9, 512, 33, linear, 0);
            struct ref_verdict v = run(name, &call);
            assert_int_equal(v.violations, 0);
            assert_int_equal(v.refused, 0);
            assert_int_equal(v.checked, 9 * 33);
            matmul_kernel(9, 512, 33, linear, 64);
            assert_true(run(name, &call).violations > 50);
        }
    }
}

/* A kernel that rounds its inputs to fewer bits: allowed only where it is declared. */
static struct ref_call matmul_of_rounded(enum dtype to, int64_t k)
{
    random_state = 4;
    struct ref_call call = matmul_call(DTYPE_F32, 8, k, 8, 0);
    for (int64_t i = 0; i < 64; i++) {
        double sum = 0;
        for (int64_t l = 0; l < k; l++)
            sum += (double)round_to(to, x_at(i / 8 * k + l)) *
                   (double)round_to(to, (float)get(&in_w, l * 8 + i % 8));
        set(&out_y, i, sum + get(&in_b, i % 8));
    }
    return call;
}

static void test_input_roundoff(void **state)
{
    (void)state;
    struct ref_call call = matmul_of_rounded(DTYPE_F16, 256); /* as good as tf32 */
    assert_true(run("matmul", &call).violations > 32);
    call.input_roundoff = 0x1p-11;
    assert_int_equal(run("matmul", &call).violations, 0);
    call = matmul_of_rounded(DTYPE_BF16, 4);
    call.input_roundoff = 0x1p-11;
    assert_true(run("matmul", &call).violations > 8);
    call.input_roundoff = 0x1p-8;
    assert_int_equal(run("matmul", &call).violations, 0);
}

/* gelu as --use_fast_math makes it: tanh is off by up to 2^-11 of itself. */
static float approximate_gelu(float x, float cube)
{
    float t = tanhf(0.7978845608f * (x + cube * x * x * x));
    uint32_t bits;
    memcpy(&bits, &t, sizeof bits);
    float off = (float)((int)(bits * 2654435761u >> 22) - 512) / 512;
    return 0.5f * x * (1 + t * (1 + 0.99f * off * 0x1p-11f));
}

/* Allowed only where it is declared, and not a wrong formula beside it. */
static void test_approximate_functions(void **state)
{
    (void)state;
    enum { COUNT = 4096 };
    for (int wrong = 0; wrong < 2; wrong++) {
        random_state = 5;
        fill(&in_x, DTYPE_F32, COUNT, 0, 1);
        shape(&out_y, DTYPE_F32, COUNT);
        for (int64_t i = 0; i < COUNT; i++)
            set(&out_y, i, approximate_gelu(x_at(i), wrong ? 0.04f : 0.044715f));
        struct ref_call call = new_call();
        call.tensor[0] = tensor(&in_x, 0, 2, 1, COUNT, 0);
        call.tensor[1] = tensor(&out_y, 1, 2, 1, COUNT, 0);
        call.size[0] = 1;
        call.size[1] = COUNT;
        assert_true(run("gelu_tanh", &call).violations > 1000);
        call.functions = REF_FUNCTIONS_APPROX;
        uint64_t violations = run("gelu_tanh", &call).violations;
        assert_true(wrong ? violations > 100 : violations == 0);
        assert_true(wrong || run("gelu", &call).violations > 100);
    }
}

/* More than 8192 elements: a subset, the same for the same seed and another for another. */
static void test_sample(void **state)
{
    (void)state;
    struct ref_call call = matmul_call(DTYPE_F32, 256, 4, 128, 0);
    matmul_kernel(256, 4, 128, 0, 0);
    static double stored[3][256 * 128];
    for (int i = 0; i < 3; i++) {
        for (int64_t j = 0; j < 256 * 128; j++)
            stored[i][j] = -12345;
        call.store = stored[i];
        call.store_tensor = 0;
        call.store_count = 256 * 128;
        call.seed = i == 2 ? 2 : 1;
        run("matmul", &call);
    }
    int64_t visited = 0, same = 0;
    for (int64_t j = 0; j < 256 * 128; j++) {
        visited += stored[0][j] != -12345;
        same += stored[0][j] != -12345 && stored[2][j] != -12345;
    }
    assert_int_equal(visited, 8192);
    assert_memory_equal(stored[0], stored[1], sizeof stored[0]);
    assert_true(same > 1500 && same < 2600); /* a quarter by chance */
    call.store = NULL;
    assert_int_equal(run("matmul", &call).checked, 8192);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rmsnorm_quiet),
        cmocka_unit_test(test_rmsnorm_mutants),
        cmocka_unit_test(test_layernorm),
        cmocka_unit_test(test_wide_is_not_a_match),
        cmocka_unit_test(test_what_is_surely_right_is_not_wide),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_softmax_of_a_negative_scale),
        cmocka_unit_test(test_softmax_masked),
        cmocka_unit_test(test_masked_rows),
        cmocka_unit_test(test_log_softmax),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_leaky_relu),
        cmocka_unit_test(test_two_operands),
        cmocka_unit_test(test_silu_and_mul),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_input_roundoff),
        cmocka_unit_test(test_approximate_functions),
        cmocka_unit_test(test_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
