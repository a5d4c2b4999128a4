/*
 * test_refs.c - the references, run on the host: quiet on kernels that are right, loud on mutants.
 *
 * The "kernels" here are plain C loops with the accumulator and the output dtype of a usual GPU
 * kernel; each mutant is the same loop with one fault.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "random_values.h"
#include "refs/ref_host.h"
#include "refs/ref_list.h"
#include "refs/ref_merge.h"
#include "verify/verdict.h"

/* ------------------------------------------------------------------- arrays and dtypes */

enum { ARRAY_MAX = 1 << 17 };

struct array {
    enum dtype dtype;
    int64_t count;
    double bits[ARRAY_MAX]; /* storage, aligned for any dtype */
};

static struct array in_x, in_w, in_b, out_y, out_s, out_t;

static float round_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return x;
    bits += 0x7fff + (bits >> 16 & 1);
    bits &= 0xffff0000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static size_t bytes_of(enum dtype dtype)
{
    return dtype == DTYPE_F64 ? 8 : dtype == DTYPE_F32 || dtype == DTYPE_I32 ? 4 : 2;
}

static void set(struct array *a, int64_t i, double value)
{
    char *at = (char *)a->bits + i * (int64_t)bytes_of(a->dtype);
    float f = (float)value;
    int32_t integer = (int32_t)value;
    uint32_t bits;
    _Float16 half = (_Float16)value;
    switch ((int)a->dtype) {
    case DTYPE_F64:
        memcpy(at, &value, 8);
        break;
    case DTYPE_F32:
        memcpy(at, &f, 4);
        break;
    case DTYPE_I32:
        memcpy(at, &integer, 4);
        break;
    case DTYPE_F16:
        memcpy(at, &half, 2);
        break;
    default:
        f = round_bf16(f);
        memcpy(&bits, &f, 4);
        bits >>= 16;
        memcpy(at, &bits, 2);
    }
}

static double get(const struct array *a, int64_t i)
{
    const char *at = (const char *)a->bits + i * (int64_t)bytes_of(a->dtype);
    double d;
    float f;
    uint32_t bits = 0;
    int32_t integer;
    _Float16 half;
    switch ((int)a->dtype) {
    case DTYPE_F64:
        memcpy(&d, at, 8);
        return d;
    case DTYPE_F32:
        memcpy(&f, at, 4);
        return f;
    case DTYPE_I32:
        memcpy(&integer, at, 4);
        return integer;
    case DTYPE_F16:
        memcpy(&half, at, 2);
        return half;
    default:
        memcpy(&bits, at, 2);
        bits <<= 16;
        memcpy(&f, &bits, 4);
        return f;
    }
}

static float x_at(int64_t i)
{
    return (float)get(&in_x, i);
}

static void shape(struct array *a, enum dtype dtype, int64_t count)
{
    assert_true(count <= ARRAY_MAX);
    memset(a->bits, 0xff, sizeof a->bits);
    a->dtype = dtype;
    a->count = count;
}

static void fill(struct array *a, enum dtype dtype, int64_t count, double mean, double spread)
{
    shape(a, dtype, count);
    for (int64_t i = 0; i < count; i++)
        set(a, i, mean + spread * normal());
}

/* ------------------------------------------------------------------------------- calls */

static struct ref_verdict answer;

static struct ref_call new_call(void)
{
    struct ref_call call = {.lambda = 8,
                            .unit_roundoff = 0x1p-24,
                            .underflow = 0x1p-126,
                            .pieces = 1,
                            .seed = 1,
                            .sequence = 7,
                            .group = 1,
                            .answer = &answer};
    return call;
}

/* The next tensor: dense, row major, `dims` given outermost first. */
static struct ref_tensor tensor(const struct array *a, int output, int ndim, int64_t d0, int64_t d1,
                                int64_t d2)
{
    struct ref_tensor t = {.bytes = a->count * (int64_t)bytes_of(a->dtype),
                           .dim = {d0, d1, d2},
                           .dtype = (uint8_t)a->dtype,
                           .ndim = (uint8_t)ndim,
                           .rule = RULE_BOUND};
    if (output)
        t.got = a->bits;
    else
        t.in = a->bits;
    int64_t stride = 1;
    for (int k = ndim - 1; k >= 0; k--) {
        t.stride[k] = stride;
        stride *= t.dim[k];
    }
    return t;
}

static struct ref_verdict run(const char *name, const struct ref_call *call)
{
    ref_verdict_clear(&answer);
    assert_int_equal(ref_host_run(name, call, call->unit_roundoff < 0x1p-40), 0);
    assert_true(answer.sequence == call->sequence);
    return answer;
}

static void expect_quiet(const char *what, const struct ref_verdict *v, uint64_t checked)
{
    if (v->violations || v->checked != checked || v->refused || v->wide)
        print_error("%s: %llu violations, %llu wide, %llu refused of %llu; worst got %a ref %a "
                    "bound %a\n",
                    what, (unsigned long long)v->violations, (unsigned long long)v->wide,
                    (unsigned long long)v->refused, (unsigned long long)v->checked, v->worst_got,
                    v->worst_ref, v->worst_bound);
    assert_int_equal(v->violations, 0);
    assert_int_equal(v->refused, 0);
    assert_int_equal(v->wide, 0);
    assert_int_equal(v->checked, checked);
}

static const enum dtype float_dtypes[] = {DTYPE_BF16, DTYPE_F16, DTYPE_F32};
static const int64_t shapes[][2] = {{1, 1}, {3, 7}, {5, 64}, {2, 1000}, {16, 768}, {1, 16384}};

#define EACH_CASE(dtype, rows, cols)                                                               \
    for (size_t case_ = 0; case_ < 3 * sizeof shapes / sizeof *shapes; case_++)                    \
        for (int64_t rows = shapes[case_ / 3][0], cols = shapes[case_ / 3][1], once_ = 1; once_;   \
             once_ = 0)                                                                            \
            for (enum dtype dtype = float_dtypes[case_ % 3]; once_; once_ = 0)

/* ---------------------------------------------------------------------------- rmsnorm */

enum mutant {
    RIGHT,
    LOW_ACCUMULATOR,
    WRONG_EPS,
    NO_TAIL,
    NO_SQRT,
    WRONG_ALPHA,
    NO_MAX,
    TAIL_LEAKS,
    NO_MEAN
};

static float narrow(float x, enum mutant mutant)
{
    return mutant == LOW_ACCUMULATOR ? round_bf16(x) : x;
}

static void rmsnorm_kernel(int64_t rows, int64_t cols, float eps, enum mutant mutant)
{
    for (int64_t r = 0; r < rows; r++) {
        float sum = 0;
        int64_t end = cols - (mutant == NO_TAIL ? cols % 8 + 1 : 0);
        for (int64_t c = 0; c < end; c++)
            sum = narrow(sum + narrow(x_at(r * cols + c) * x_at(r * cols + c), mutant), mutant);
        float scale = sum / (float)cols + (mutant == WRONG_EPS ? 10 * eps : eps);
        float inv = mutant == NO_SQRT ? 1 / scale : 1 / sqrtf(scale);
        for (int64_t c = 0; c < cols; c++)
            set(&out_y, r * cols + c, x_at(r * cols + c) * inv * (float)get(&in_w, c));
        set(&out_s, r, inv);
    }
}

static struct ref_verdict check_rmsnorm(enum dtype dtype, int64_t rows, int64_t cols,
                                        enum mutant mutant, double spread)
{
    fill(&in_x, dtype, rows * cols, 0, spread);
    fill(&in_w, dtype, cols, 1, 0.1);
    shape(&out_y, dtype, rows * cols);
    shape(&out_s, DTYPE_F32, rows);
    rmsnorm_kernel(rows, cols, 1e-5f, mutant);
    struct ref_call call = new_call();
    call.tensor[0] = tensor(&in_x, 0, 2, rows, cols, 0);
    call.tensor[1] = tensor(&in_w, 0, 1, cols, 0, 0);
    call.tensor[2] = tensor(&out_y, 1, 2, rows, cols, 0);
    call.tensor[3] = tensor(&out_s, 1, 1, rows, 0, 0);
    call.scalar[0] = 1e-5f;
    call.size[0] = rows;
    call.size[1] = cols;
    return run("rmsnorm", &call);
}

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

/* Nearly constant rows: the bound of what is left after subtracting the mean says nothing. */
static void test_wide_is_not_a_match(void **state)
{
    (void)state;
    random_state = 3;
    struct ref_verdict v = check_layernorm(DTYPE_F32, 2, 1024, RIGHT, 1e6, 1e-3);
    assert_int_equal(v.violations, 0);
    assert_true(v.wide > 1000);
}

/* ---------------------------------------------------------------------------- softmax */

static void softmax_kernel(int64_t rows, int64_t cols, enum mutant mutant)
{
    for (int64_t r = 0; r < rows; r++) {
        float most = -INFINITY, sum = 0;
        for (int64_t c = 0; c < cols; c++)
            most = fmaxf(most, x_at(r * cols + c));
        if (mutant == NO_MAX)
            most = 0;
        for (int64_t c = 0; c < cols; c++)
            sum = narrow(sum + expf(x_at(r * cols + c) - most), mutant);
        if (mutant == TAIL_LEAKS)
            sum += 24 * expf(0 - most);
        for (int64_t c = 0; c < cols; c++)
            set(&out_y, r * cols + c, expf(x_at(r * cols + c) - most) / sum);
    }
}

static struct ref_call softmax_call(enum dtype dtype, int64_t rows, int64_t cols)
{
    shape(&out_y, dtype, rows * cols);
    struct ref_call call = new_call();
    call.tensor[0] = tensor(&in_x, 0, 2, rows, cols, 0);
    call.tensor[1] = tensor(&out_y, 1, 2, rows, cols, 0);
    call.scalar[0] = 1;
    call.size[0] = rows;
    call.size[1] = cols;
    return call;
}

static struct ref_verdict check_softmax(enum dtype dtype, int64_t rows, int64_t cols,
                                        enum mutant mutant, double spread)
{
    fill(&in_x, dtype, rows * cols, 0, spread);
    struct ref_call call = softmax_call(dtype, rows, cols);
    softmax_kernel(rows, cols, mutant);
    return run("softmax", &call);
}

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
 * comes from the input stays NaN whatever the contract says. */
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

static float silu(float x)
{
    return x / (1 + expf(-x));
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

static struct ref_call matmul_call(enum dtype dtype, int64_t m, int64_t k, int64_t n, int linear)
{
    fill(&in_x, dtype, m * k, 0, 1);
    fill(&in_w, dtype, k * n, 0, 1);
    fill(&in_b, dtype, n, 0, 1);
    shape(&out_y, dtype, m * n);
    struct ref_call call = new_call();
    call.tensor[0] = tensor(&in_x, 0, 2, m, k, 0);
    call.tensor[1] = linear ? tensor(&in_w, 0, 2, n, k, 0) : tensor(&in_w, 0, 2, k, n, 0);
    call.tensor[2] = tensor(&in_b, 0, 1, n, 0, 0);
    call.tensor[3] = tensor(&out_y, 1, 2, m, n, 0);
    call.scalar[0] = 1;
    int64_t size[] = {m, k, n, 0};
    if (linear) {
        size[1] = k;
        size[2] = n;
    }
    memcpy(call.size, size, sizeof size);
    return call;
}

/* bf16_every: the partial sum goes through bf16 after so many terms; 0: never. */
static void matmul_kernel(int64_t m, int64_t k, int64_t n, int linear, int64_t bf16_every)
{
    for (int64_t i = 0; i < m * n; i++) {
        float sum = 0;
        for (int64_t l = 0; l < k; l++) {
            int64_t at = (int64_t)(linear ? i % n * k + l : l * n + i % n);
            sum += x_at(i / n * k + l) * (float)get(&in_w, at);
            if (bf16_every && l % bf16_every == bf16_every - 1)
                sum = round_bf16(sum);
        }
        set(&out_y, i, sum + (float)get(&in_b, i % n));
    }
}

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

/* A tf32 kernel rounds its inputs to 10 bits: allowed only where it is declared. */
static void test_input_roundoff(void **state)
{
    (void)state;
    random_state = 4;
    struct ref_call call = matmul_call(DTYPE_F32, 8, 256, 8, 0);
    for (int64_t i = 0; i < 64; i++) {
        double sum = 0;
        for (int64_t l = 0; l < 256; l++)
            sum += (double)(float)(_Float16)x_at(i / 8 * 256 + l) *
                   (double)(float)(_Float16)get(&in_w, l * 8 + i % 8);
        set(&out_y, i, sum + get(&in_b, i % 8));
    }
    assert_true(run("matmul", &call).violations > 32);
    call.input_roundoff = 0x1p-11;
    assert_int_equal(run("matmul", &call).violations, 0);
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

/* --------------------------------------------------------------------- rounding points */

static float round_to(enum dtype dtype, float x)
{
    return dtype == DTYPE_BF16 ? round_bf16(x) : dtype == DTYPE_F16 ? (float)(_Float16)x : x;
}

/* rmsnorm in f32 whose normalised value is rounded to `point` before the weight. */
static struct ref_verdict rmsnorm_rounding(enum dtype dtype, enum dtype point, unsigned declared,
                                           enum mutant mutant)
{
    enum { ROWS = 4, COLS = 2048 };
    check_rmsnorm(dtype, ROWS, COLS, mutant, 1);
    for (int64_t i = 0; i < ROWS * COLS; i++) {
        float xhat = round_to(point, x_at(i) * (float)get(&out_s, i / COLS));
        set(&out_y, i, xhat * (float)get(&in_w, i % COLS));
    }
    struct ref_call call = new_call();
    call.tensor[0] = tensor(&in_x, 0, 2, ROWS, COLS, 0);
    call.tensor[1] = tensor(&in_w, 0, 1, COLS, 0, 0);
    call.tensor[2] = tensor(&out_y, 1, 2, ROWS, COLS, 0);
    call.scalar[0] = 1e-5f;
    call.size[0] = ROWS;
    call.size[1] = COLS;
    call.point[0] = (uint8_t)declared;
    return run("rmsnorm", &call);
}

/* A kernel that rounds where the contract says so is right, one that keeps more precision is not:
 * models that were trained with the rounding tell the difference. Without the contract it is the
 * other way round, and where the kernel may round, both are right. */
static void test_point_must(void **state)
{
    (void)state;
    static const enum dtype dtypes[] = {DTYPE_BF16, DTYPE_F16};
    for (int d = 0; d < 2; d++) {
        enum dtype t = dtypes[d];
        for (random_state = 1; random_state < 1u << 20; random_state += 1u << 18) {
            struct ref_verdict v = rmsnorm_rounding(t, t, t, RIGHT);
            expect_quiet("rounds, must", &v, 4 * 2048);
            v = rmsnorm_rounding(t, t, t | REF_POINT_MAY, RIGHT);
            expect_quiet("rounds, may", &v, 4 * 2048);
            v = rmsnorm_rounding(t, DTYPE_F32, t | REF_POINT_MAY, RIGHT);
            expect_quiet("keeps, may", &v, 4 * 2048);
        }
        assert_true(rmsnorm_rounding(t, DTYPE_F32, t, RIGHT).violations > 1000);
        assert_true(rmsnorm_rounding(t, t, DTYPE_NONE, RIGHT).violations > 1000);
    }
    /* Other faults stay visible behind a point. */
    assert_true(rmsnorm_rounding(DTYPE_BF16, DTYPE_BF16, DTYPE_BF16, LOW_ACCUMULATOR).violations >
                0);
    assert_true(
        rmsnorm_rounding(DTYPE_BF16, DTYPE_BF16, DTYPE_BF16 | REF_POINT_MAY, LOW_ACCUMULATOR)
            .violations > 0);
}

/* One value through linear's point: x w is `dot` exactly, then the bias is added. */
static struct ref_verdict point_once(double dot, double bias, double got, unsigned declared)
{
    shape(&in_x, DTYPE_F32, 1);
    shape(&in_w, DTYPE_F32, 1);
    shape(&in_b, DTYPE_F32, 1);
    shape(&out_y, DTYPE_F32, 1);
    set(&in_x, 0, dot);
    set(&in_w, 0, 1);
    set(&in_b, 0, bias);
    set(&out_y, 0, got);
    struct ref_call call = new_call();
    call.tensor[0] = tensor(&in_x, 0, 2, 1, 1, 0);
    call.tensor[1] = tensor(&in_w, 0, 2, 1, 1, 0);
    call.tensor[2] = tensor(&in_b, 0, 1, 1, 0, 0);
    call.tensor[3] = tensor(&out_y, 1, 2, 1, 1, 0);
    call.size[0] = call.size[1] = call.size[2] = 1;
    call.point[0] = (uint8_t)declared;
    return run("linear", &call);
}

static void test_point_numbers(void **state)
{
    (void)state;
    /* Far from a tie the rounded value is known to f32's accuracy. */
    assert_int_equal(point_once(1.001, -1, 0, DTYPE_BF16).violations, 0);
    assert_int_equal(point_once(1.001, -1, 0.001f, DTYPE_BF16).violations, 1);
    assert_int_equal(point_once(1.006, -1, 0.0078125, DTYPE_BF16).violations, 0);
    assert_int_equal(point_once(1.006, -1, 0, DTYPE_BF16).violations, 1);
    assert_int_equal(point_once(-1.006, 1, -0.0078125, DTYPE_BF16).violations, 0);
    /* At a tie either neighbour may have been seen, and no other. */
    assert_int_equal(point_once(1.00390625, 0, 1, DTYPE_BF16).violations, 0);
    assert_int_equal(point_once(1.00390625, 0, 1.0078125, DTYPE_BF16).violations, 0);
    assert_int_equal(point_once(1.00390625, 0, 1.015625, DTYPE_BF16).violations, 1);
    /* Where it may be rounded: half an ulp either way. */
    assert_int_equal(point_once(1.001, -1, 0.001f, DTYPE_BF16 | REF_POINT_MAY).violations, 0);
    assert_int_equal(point_once(1.001, -1, 0, DTYPE_BF16 | REF_POINT_MAY).violations, 0);
    assert_int_equal(point_once(1.001, -1, 0.0078125, DTYPE_BF16 | REF_POINT_MAY).violations, 1);
    /* f16 has subnormals, and overflows: then nothing is said. */
    assert_int_equal(point_once(0x1.8p-24, 0, 0x1p-24, DTYPE_F16).violations, 0);
    assert_int_equal(point_once(0x1.4p-24, 0, 0x1p-23, DTYPE_F16).violations, 1);
    assert_int_equal(point_once(0x1.4p-24, 0, 0x1p-24, DTYPE_F16).violations, 0);
    assert_int_equal(point_once(70000, 0, INFINITY, DTYPE_F16).wide, 1);
    assert_int_equal(point_once(70000, 0, INFINITY, DTYPE_F16).violations, 0);
    assert_int_equal(point_once(NAN, 0, NAN, DTYPE_F16).violations, 0);
    assert_int_equal(point_once(INFINITY, 0, INFINITY, DTYPE_F16).violations, 0);
    assert_int_equal(point_once(INFINITY, 0, 65504, DTYPE_F16).violations, 1);
}

/* Split-K whose partial sums are stored in bf16: a fault, unless it is the contract. */
static void test_point_of_partial_sums(void **state)
{
    enum { M = 7, SPLITS = 8, K = 128, N = 33 };
    (void)state;
    random_state = 12;
    struct ref_call call = matmul_call(DTYPE_BF16, M, SPLITS * K, N, 1);
    struct ref_tensor y = call.tensor[3];
    call.tensor[0] = tensor(&in_x, 0, 3, M, SPLITS, K);
    call.tensor[1] = tensor(&in_w, 0, 3, N, SPLITS, K);
    call.tensor[3] = y;
    const int64_t size[] = {M, SPLITS, K, N};
    memcpy(call.size, size, sizeof size);
    for (int narrow_sums = 0; narrow_sums < 2; narrow_sums++) {
        for (int64_t i = 0; i < M * N; i++) {
            float sum = 0;
            for (int64_t s = 0; s < SPLITS; s++) {
                float part = 0;
                for (int64_t l = 0; l < K; l++)
                    part += x_at((i / N * SPLITS + s) * K + l) *
                            (float)get(&in_w, (i % N * SPLITS + s) * K + l);
                sum += narrow_sums ? round_bf16(part) : part;
            }
            set(&out_y, i, sum + (float)get(&in_b, i % N));
        }
        call.point[0] = DTYPE_NONE;
        assert_int_equal(run("linear_split", &call).violations > 20, narrow_sums);
        assert_int_equal(run("linear_split", &call).violations > 0, narrow_sums);
        call.point[0] = DTYPE_BF16;
        assert_int_equal(run("linear_split", &call).violations > 20, !narrow_sums);
        assert_int_equal(run("linear_split", &call).violations > 0, !narrow_sums);
        call.point[0] = DTYPE_BF16 | REF_POINT_MAY;
        assert_int_equal(run("linear_split", &call).violations, 0);
    }
}

/* silu rounded to bf16 before the product, as vLLM's silu_and_mul does it. */
static void test_point_of_an_activation(void **state)
{
    (void)state;
    random_state = 3;
    fill(&in_x, DTYPE_BF16, 6 * 2 * 1000, 0, 2);
    struct ref_call call = softmax_call(DTYPE_BF16, 6, 1000);
    call.tensor[0] = tensor(&in_x, 0, 3, 6, 2, 1000);
    for (int rounds = 0; rounds < 2; rounds++) {
        for (int64_t i = 0; i < 6000; i++) {
            int64_t at = i / 1000 * 2000 + i % 1000;
            float act = silu(x_at(at));
            set(&out_y, i, (rounds ? round_bf16(act) : act) * x_at(at + 1000));
        }
        call.point[0] = DTYPE_NONE;
        assert_int_equal(run("silu_and_mul", &call).violations > 600, rounds);
        call.point[0] = DTYPE_BF16;
        assert_int_equal(run("silu_and_mul", &call).violations > 600, !rounds);
        assert_int_equal(run("silu_and_mul", &call).violations > 0, !rounds);
    }
}

/* Positions that nobody gives: of sequences of three tokens, two of which a cache holds already.
 * cos(p) = 10 p and sin = 0, so that an element says where it was. */
static void test_rotary_positions(void **state)
{
    (void)state;
    struct ref_call call = new_call();
    shape(&in_x, DTYPE_F32, 12);
    shape(&in_w, DTYPE_F32, 8);
    shape(&in_b, DTYPE_F32, 8);
    shape(&out_y, DTYPE_F32, 12);
    for (int64_t i = 0; i < 12; i++) {
        set(&in_x, i, (double)(1 + i));
        set(&out_y, i, (double)((1 + i) * 10 * (i / 2 % 3 + 2)));
    }
    for (int64_t i = 0; i < 8; i++) {
        set(&in_w, i, (double)(10 * i));
        set(&in_b, i, 0);
    }
    call.tensor[0] = tensor(&in_x, 0, 3, 6, 1, 2);
    call.tensor[4] = tensor(&out_y, 1, 3, 6, 1, 2);
    call.tensor[1] = tensor(&in_w, 0, 2, 8, 1, 0);
    call.tensor[2] = tensor(&in_b, 0, 2, 8, 1, 0);
    for (int i = 0; i < 5; i += 4) { /* [tokens][heads][2][half] with a half of 1 */
        call.tensor[i].ndim = 4;
        call.tensor[i].dim[3] = call.tensor[i].stride[3] = 1;
    }
    const int64_t sizes[] = {6, 1, 1, 8, 2, 3};
    memcpy(call.size, sizes, sizeof sizes);
    call.scalar[0] = 1;
    struct ref_verdict v = run("rope_halves", &call);
    expect_quiet("offset and period", &v, 12);
    call.size[4] = 1;
    assert_int_equal(run("rope_halves", &call).violations, 12);
    call.size[4] = 2, call.size[5] = 0;
    assert_int_equal(run("rope_halves", &call).violations, 6);
}

/* ------------------------------------------------------------------- rules and classes */

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

/* A correct f32 kernel overflows where fp64 does not: nothing can be said. */
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

/* ---------------------------------------------------------- statistics, pieces, storing */

static void test_statistics(void **state)
{
    (void)state;
    /* Uniform errors of correct rounding: R = 12 mean(ulps^2) near 1, bias near 0. */
    fill(&in_x, DTYPE_F32, 20000, 0, 1);
    struct ref_call call = softmax_call(DTYPE_BF16, 20, 1000);
    for (int64_t i = 0; i < 20000; i++)
        set(&out_y, i, x_at(i));
    struct ref_verdict v = run("scale", &call);
    expect_quiet("rounding", &v, 20000);
    assert_true(fabs(12 * v.sum_square / 20000 - 1) < 0.1);
    assert_true(fabs(v.sum_signed / 20000) < 0.01);
    assert_true(v.max_ratio > 0.99 && v.max_ratio <= 1);
    assert_true(v.max_rel > 0.0035 && v.max_rel < 0.00392);
    assert_int_equal(v.first_index, REF_NO_INDEX);
    assert_true(fabs(get(&out_y, (int64_t)v.worst_index) - v.worst_got) == 0);
    assert_true(fabs(x_at((int64_t)v.worst_index) - v.worst_ref) == 0);
}

/* 40,000 right launches of four kinds: at the stated odds of 2e-9 each none gets a note. */
static void test_right_kernels_get_no_note(void **state)
{
    (void)state;
    for (int i = 0; i < 10000; i++) {
        enum dtype dtype = i % 2 ? DTYPE_BF16 : DTYPE_F16;
        random_state = (uint64_t)i << 20;
        struct ref_verdict v[4] = {check_rmsnorm(dtype, 2, 128, RIGHT, 1),
                                   check_softmax(dtype, 2, 128, RIGHT, 2)};
        struct ref_call call = softmax_call(dtype, 2, 128); /* of the softmax's x */
        for (int64_t k = 0; k < 256; k++)
            set(&out_y, k, silu(x_at(k)));
        v[2] = run("silu", &call);
        call = matmul_call(dtype, 8, 32, 16, 1);
        matmul_kernel(8, 32, 16, 1, 0);
        v[3] = run("linear", &call);
        for (int k = 0; k < 4; k++) {
            assert_int_equal(v[k].violations, 0);
            assert_int_equal(verdict_notes(&v[k], false), 0);
        }
    }
}

/* A column of padding leaks into the denominator of 14,000: 0.04 ulp of f16, which is within the
 * bound of each element, and all one way. (More columns would make subnormals of the quotients.) */
static void test_a_lost_term_is_a_note(void **state)
{
    enum { ROWS = 8, COLS = 14000 };
    (void)state;
    for (int leaks = 0; leaks < 2; leaks++) {
        random_state = 17;
        fill(&in_x, DTYPE_F16, ROWS * COLS, 0.5, 0.01);
        struct ref_call call = softmax_call(DTYPE_F16, ROWS, COLS);
        for (int64_t r = 0; r < ROWS; r++) {
            double sum = leaks * 0.5;
            for (int64_t c = 0; c < COLS; c++)
                sum += exp(x_at(r * COLS + c) - 0.5);
            for (int64_t c = 0; c < COLS; c++)
                set(&out_y, r * COLS + c, exp(x_at(r * COLS + c) - 0.5) / sum);
        }
        struct ref_verdict v = run("softmax", &call);
        expect_quiet("a lost term", &v, ROWS * COLS);
        assert_int_equal(v.measured, ROWS * COLS);
        assert_int_equal(verdict_notes(&v, false), leaks ? NOTE_LEAN : 0);
    }
}

/* One element of a million that cancels to nothing is not measured, and does not hide the rest. */
static void test_a_hopeless_element(void **state)
{
    enum { N = 100000 };
    (void)state;
    random_state = 9;
    fill(&in_x, DTYPE_F32, N, 0, 1);
    fill(&in_b, DTYPE_F32, N, 0, 1);
    set(&in_x, 777, 1e30);
    set(&in_b, 777, 1e30);
    struct ref_call call = softmax_call(DTYPE_BF16, 100, N / 100);
    call.tensor[2] = call.tensor[1];
    call.tensor[1] = tensor(&in_b, 0, 2, 100, N / 100, 0);
    for (int64_t i = 0; i < N; i++)
        set(&out_y, i, x_at(i) * (float)get(&in_b, i));
    struct ref_verdict v = run("mul", &call);
    assert_int_equal(v.wide, 1);
    assert_int_equal(v.measured, N - 1);
    assert_int_equal(verdict_of(&v), VERDICT_MATCH);
    assert_int_equal(verdict_notes(&v, false), 0);
    set(&out_y, 778, 1.02 * get(&out_y, 778));
    v = run("mul", &call);
    assert_int_equal(v.violations, 1);
    assert_int_equal(verdict_of(&v), VERDICT_MISMATCH);
    set(&out_y, 778, x_at(778) * (float)get(&in_b, 778));
    for (int64_t i = 0; i <= N / 10; i++) {
        set(&in_x, i, 1e30);
        set(&in_b, i, 1e30);
    }
    v = run("mul", &call);
    assert_int_equal(v.wide, N / 10 + 1);
    assert_int_equal(v.violations, 0);
    assert_int_equal(verdict_of(&v), VERDICT_INCONCLUSIVE);
}

static void test_absent(void **state)
{
    (void)state;
    random_state = 9;
    check_rmsnorm(DTYPE_BF16, 4, 256, RIGHT, 1);
    struct ref_call call = new_call();
    call.tensor[0] = tensor(&in_x, 0, 2, 4, 256, 0);
    call.tensor[1].absent = 1;
    call.tensor[2] = tensor(&out_y, 1, 2, 4, 256, 0);
    call.scalar[0] = 1e-5f;
    call.size[0] = 4;
    call.size[1] = 256;
    for (int64_t i = 0; i < 256; i++)
        set(&in_w, i, 1);
    rmsnorm_kernel(4, 256, 1e-5f, RIGHT);
    struct ref_verdict v = run("rmsnorm", &call);
    expect_quiet("rmsnorm without weight", &v, 4 * 256);
    call.tensor[1].absent = 1.01;
    assert_true(run("rmsnorm", &call).violations > 500);
}

static void test_pieces_add_up(void **state)
{
    (void)state;
    random_state = 10;
    struct ref_call call = softmax_call(DTYPE_BF16, 13, 100);
    fill(&in_x, DTYPE_BF16, 1300, 0, 1);
    softmax_kernel(13, 100, RIGHT);
    set(&out_y, 1234, 3);
    set(&out_y, 321, 3);
    static const char *const names[] = {"softmax", "scale"};
    for (int k = 0; k < 2; k++) {
        call.pieces = 1;
        call.piece = 0;
        struct ref_verdict whole = run(names[k], &call), sum;
        ref_verdict_clear(&sum);
        call.pieces = 5;
        for (call.piece = 0; call.piece < 5; call.piece++) {
            struct ref_verdict part = run(names[k], &call);
            ref_verdict_merge(&sum, &part);
        }
        assert_int_equal(sum.checked, 1300);
        assert_int_equal(sum.checked, whole.checked);
        assert_int_equal(sum.violations, whole.violations);
        assert_int_equal(sum.first_index, whole.first_index);
        assert_int_equal(sum.worst_index, whole.worst_index);
        assert_true(sum.max_abs == whole.max_abs && sum.max_ratio == whole.max_ratio);
    }
}

static void test_store(void **state)
{
    (void)state;
    random_state = 11;
    fill(&in_x, DTYPE_BF16, 4 * 64, 0, 1);
    struct ref_call call = softmax_call(DTYPE_BF16, 4, 64);
    double stored[12];
    for (int64_t i = 0; i < 12; i++)
        stored[i] = -1;
    call.tensor[1].id = 3;
    call.store = stored + 1;
    call.store_tensor = 3;
    call.store_first = 100;
    call.store_count = 10;
    struct ref_verdict v = run("scale", &call);
    assert_int_equal(v.checked, 0);
    assert_true(stored[0] == -1 && stored[11] == -1);
    for (int64_t i = 0; i < 10; i++)
        assert_true(stored[1 + i] == x_at(100 + i));
    call.store_tensor = 2;
    stored[1] = -1;
    run("scale", &call);
    assert_true(stored[1] == -1);
}

/* ---------------------------------------------------------------- what must not be read */

static void test_refused(void **state)
{
    (void)state;
    random_state = 12;
    check_softmax(DTYPE_BF16, 4, 64, RIGHT, 1);
    struct ref_call call = softmax_call(DTYPE_BF16, 4, 64);
    softmax_kernel(4, 64, RIGHT);
    struct ref_call bad = call;
    bad.tensor[0].bytes -= 2; /* the last element */
    struct ref_verdict v = run("softmax", &bad);
    assert_true(v.refused > 0 && v.checked == 256);
    bad = call;
    bad.tensor[1].bytes = 128; /* got: elements beyond are not judged */
    v = run("softmax", &bad);
    assert_int_equal(v.checked, 64);
    assert_int_equal(v.refused, 192);
    bad = call;
    bad.tensor[0].in = (const char *)in_x.bits + 1; /* misaligned */
    bad.tensor[0].bytes -= 2;
    v = run("softmax", &bad);
    assert_true(v.refused > 0);
    bad = call;
    bad.tensor[0].dtype = DTYPE_NONE;
    assert_true(run("softmax", &bad).refused > 0);
    bad = call;
    bad.size[1] = 65; /* more columns than the tensor has */
    assert_true(run("softmax", &bad).refused > 0);
}

static void test_absurd_calls(void **state)
{
    (void)state;
    static const int64_t values[] = {
        -1, 0, INT64_MIN, INT64_MAX, (int64_t)1 << 40, (int64_t)1 << 62, 0x7fffffff};
    for (size_t i = 0; i < ref_builtin_count; i++) {
        for (int64_t j = 0; j < 7 * 6; j++) {
            struct ref_call call = matmul_call(DTYPE_BF16, 4, 16, 4, 0);
            for (int t = 0; t < 5; t++) {
                struct ref_tensor *tensor_ = &call.tensor[t];
                tensor_->in = in_x.bits;
                tensor_->got = out_y.bits;
                tensor_->bytes = 64;
                for (int k = 0; k < REF_MAX_DIMS; k++) {
                    tensor_->dim[k] = j % 6 == 0 ? values[j / 6] : 8;
                    tensor_->stride[k] = j % 6 == 1 ? values[j / 6] : k == 1;
                }
                if (j % 6 == 2)
                    tensor_->bytes = values[j / 6] < 64 ? values[j / 6] : 64;
            }
            for (int k = 0; k < REF_MAX_SIZES; k++)
                call.size[k] = j % 6 == 3 || (j % 6 == 4 && k == 1) || (j % 6 == 5 && k == 0)
                                   ? values[j / 6]
                                   : 8;
            run(ref_builtins[i].name, &call);
        }
    }
}

static void test_unknown_name(void **state)
{
    (void)state;
    struct ref_call call = new_call();
    assert_int_equal(ref_host_run("no_such_reference", &call, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rmsnorm_quiet),
        cmocka_unit_test(test_rmsnorm_mutants),
        cmocka_unit_test(test_layernorm),
        cmocka_unit_test(test_wide_is_not_a_match),
        cmocka_unit_test(test_softmax),
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
        cmocka_unit_test(test_point_must),
        cmocka_unit_test(test_point_numbers),
        cmocka_unit_test(test_point_of_partial_sums),
        cmocka_unit_test(test_point_of_an_activation),
        cmocka_unit_test(test_rotary_positions),
        cmocka_unit_test(test_sample),
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
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_right_kernels_get_no_note),
        cmocka_unit_test(test_a_lost_term_is_a_note),
        cmocka_unit_test(test_a_hopeless_element),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_pieces_add_up),
        cmocka_unit_test(test_store),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_absurd_calls),
        cmocka_unit_test(test_unknown_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
