/* Formulas of a registry: their texts, the programs made of them, and those run on the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <cmocka.h>

#include "registry/formula.h"
#include "tests/unit/common/ref_fixture.h"

enum { COUNT = 3 * 129 };

static struct arena texts;

static bool is_array(void *user, const char *name)
{
    (void)user;
    return strcmp(name, "x") == 0 || strcmp(name, "b") == 0 || strcmp(name, "y") == 0 ||
           strcmp(name, "p") == 0 || strcmp(name, "q") == 0 || strcmp(name, "r") == 0;
}

static bool type_of(void *user, const char *name, enum dtype *out)
{
    (void)user;
    *out = strcmp(name, "T") == 0 ? DTYPE_BF16 : strcmp(name, "I") == 0 ? DTYPE_I32 : DTYPE_NONE;
    return *out != DTYPE_NONE || strcmp(name, "U") == 0;
}

static const struct formula_names names = {is_array, type_of, NULL};

static struct formula compiled(const char *text)
{
    struct formula formula;
    struct error err = {{0}};
    if (formula_compile(&formula, &texts, text, &names, &err))
        fail_msg("%s", err.text);
    return formula;
}

static void expect_error(const char *text, const char *sentence)
{
    struct formula formula;
    struct error err = {{0}};
    assert_int_equal(formula_compile(&formula, &texts, text, &names, &err), STATUS_INVALID);
    if (!strstr(err.text, sentence))
        fail_msg("'%s' is no part of '%s'", sentence, err.text);
}

static void bad_texts_are_errors(void **state)
{
    (void)state;
    expect_error("", "at the end: expected the output's name and '='");
    expect_error("x + b", "at '+': expected the output's name and '='");
    expect_error("y == x", "expected the output's name and '='");
    expect_error("n = x", "'n' is no array of the signature");
    expect_error("y = x +", "at the end: expected a number, a name or '('");
    expect_error("y = (x", "expected ')'");
    expect_error("y = x ? b", "expected ':'");
    expect_error("y = x b", "at 'b': expected an operator or the end");
    expect_error("y = sinus(x)", "at 'sinus(x)': unknown function");
    expect_error("y = I(x)", "at 'I(x)': unknown function, or a type that no value is rounded to");
    expect_error("y = max(x)", "expected two arguments");
    expect_error("y = exp(x, b)", "expected one argument");
    expect_error("y = 1.5.5 * x", "not a number");
    expect_error("y = x + b + y + p + q + r", "more than 4 arrays are read");
    expect_error("y = k1 + k2 + k3 + k4 + k5 + k6 + k7 + k8 + k9", "more than 8 numbers");
    expect_error("y = x-(x-(x-(x-(x-(x-(x-b))))))", "more than 6 values are kept at once");
    expect_error("y = ((((((((((((((((((x))))))))))))))))))", "nested deeper than 16 levels");
    expect_error("y = x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x+x",
                 "the formula is too long");
}

static void names_and_numbers_are_kept_once(void **state)
{
    (void)state;
    struct formula f = compiled("y = x + lr[0] * b + s.eps * x - lr[0] * 0.5 + 3 + 64");
    assert_string_equal(f.output, "y");
    assert_int_equal(f.inputs, 2);
    assert_string_equal(f.input[0], "x");
    assert_string_equal(f.input[1], "b");
    assert_int_equal(f.numbers, 4); /* 3 is a part of the program */
    assert_string_equal(f.number[0], "lr[0]");
    assert_string_equal(f.number[1], "s.eps");
    assert_string_equal(f.number[2], "0.5");
    assert_string_equal(f.number[3], "64");
    for (int i = 0; i < FORMULA_WORDS; i++)
        assert_true(f.word[i] >= 0);
}

/* The program's numbers come from `number`, or are the constants that they are. */
static struct ref_call formula_call(const char *text, enum dtype dtype, double s)
{
    struct formula f = compiled(text);
    struct ref_call call = new_call();
    for (unsigned i = 0; i < f.inputs; i++) {
        const struct array *array = f.input[i][0] == 'b' ? &in_b : &in_x;
        call.tensor[i] = tensor(array, 0, 2, 3, 129, 0);
    }
    call.tensor[4] = tensor(&out_y, 1, 2, 3, 129, 0);
    for (int i = 0; i < 5; i++) {
        struct ref_tensor *t = &call.tensor[i];
        t->ndim = 4;
        memcpy(t->dim, (int64_t[]){1, 1, 3, 129}, 4 * sizeof t->dim[0]);
        memcpy(t->stride, (int64_t[]){387, 387, 129, 1}, 4 * sizeof t->dim[0]);
        t->dtype = (uint8_t)(i < 4 ? dtype : out_y.dtype);
    }
    memcpy(call.size, (int64_t[]){1, 1, 3, 129}, 4 * sizeof call.size[0]);
    memcpy(call.size + 4, f.word, sizeof f.word);
    for (unsigned i = 0; i < f.numbers; i++)
        call.scalar[i] = strcmp(f.number[i], "s") == 0 ? s : strtod(f.number[i], NULL);
    return call;
}

static float to_bf16(float x)
{
    uint32_t word;
    memcpy(&word, &x, 4);
    word = (word + 0x7fff + (word >> 16 & 1)) & 0xffff0000;
    memcpy(&x, &word, 4);
    return x;
}

static float to_f16(float x)
{
    return (float)(_Float16)x;
}

typedef float (*kernel_fn)(float x, float b, float s);

#define KERNEL(name, ...)                                                                          \
    static float name(__attribute__((unused)) float x, __attribute__((unused)) float b,            \
                      __attribute__((unused)) float s)                                             \
    {                                                                                              \
        return (__VA_ARGS__);                                                                      \
    }
KERNEL(k_add, x + s * b)
KERNEL(k_sub, x - b - 1)
KERNEL(k_div, x / (b * b + 0.5f))
KERNEL(k_choose, x > 0 ? x : s * expm1f(x))
KERNEL(k_less, x < b)
KERNEL(k_logic, (x < b && x > 0) || !(b <= 0.25f))
KERNEL(k_equal, (float)(x == x) + (float)(x != b) + (float)(x >= b))
KERNEL(k_clamp, fminf(fmaxf(x, -1), s))
KERNEL(k_gelu, 0.5f * x * (1 + erff(x * 0.70710678f)))
KERNEL(k_gelu_tanh, 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x))))
KERNEL(k_silu, x / (1 + expf(-x)))
KERNEL(k_pow, powf(fabsf(x) + 0.1f, s))
KERNEL(k_roots, sqrtf(x *x + 1) + 1 / sqrtf(b * b + 1))
KERNEL(k_logs, logf(x *x + 1) + log2f(b * b + 1) + log1pf(x * x))
KERNEL(k_waves, sinf(x) + cosf(b) + atanf(x) * tanhf(b))
KERNEL(k_grow, sinhf(x) + coshf(b) + exp2f(x))
KERNEL(k_steps, floorf(x) + ceilf(b) + truncf(x) + rintf(b))
KERNEL(k_fmod, fmodf(x, s) + atan2f(b, x))
KERNEL(k_sign, (float)((x > 0) - (x < 0)) * fabsf(b))
KERNEL(k_bf16, to_bf16(to_bf16(x) * to_bf16(b)))
KERNEL(k_f16, to_f16(expf(to_f16(x))) - b)
KERNEL(k_arc, asinf(0.1f * x - 0.01f * b) + tanf(0.1f * x))

static const struct {
    const char *text;
    kernel_fn kernel;
} cases[] = {
    {"y = x + s * b", k_add},
    {"y = x - b - 1", k_sub},
    {"y = x / (b * b + 0.5)", k_div},
    {"y = x > 0 ? x : s * expm1(x)", k_choose},
    {"y = x < b", k_less},
    {"y = x < b && x > 0 || !(b <= 0.25)", k_logic},
    {"y = (x == x) + (x != b) + (x >= b)", k_equal},
    {"y = min(max(x, -1), s)", k_clamp},
    {"y = 0.5 * x * one_plus_erf(x * 0.7071067811865476)", k_gelu},
    {"y = 0.5 * x * one_plus_tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x)))", k_gelu_tanh},
    {"y = x * sigmoid(x)", k_silu},
    {"y = pow(abs(x) + 0.1, s)", k_pow},
    {"y = sqrt(square(x) + 1) + rsqrt(square(b) + 1)", k_roots},
    {"y = log(x * x + 1) + log2(b * b + 1) + log1p(x * x)", k_logs},
    {"y = sin(x) + cos(b) + atan(x) * tanh(b)", k_waves},
    {"y = sinh(x) + cosh(b) + exp2(x)", k_grow},
    {"y = floor(x) + ceil(b) + trunc(x) + round(b)", k_steps},
    {"y = fmod(x, s) + atan2(b, x)", k_fmod},
    {"y = sign(x) * abs(b)", k_sign},
    {"y = T(T(x) * bf16(b))", k_bf16},
    {"y = f16(exp(f16(x))) - U(f32(b))", k_f16},
    {"y = asin(0.1 * x - 0.01 * b) + tan(0.1 * x)", k_arc},
};

/* A kernel in f32 stays quiet whatever the dtype of its arrays; one wrong element is found. */
static void formulas_judge_kernels(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t d = 0; d < 3; d++) {
            random_state = i + 1;
            fill(&in_x, float_dtypes[d], COUNT, 0, 2);
            fill(&in_b, float_dtypes[d], COUNT, 0.3, 1);
            shape(&out_y, float_dtypes[d], COUNT);
            struct ref_call call = formula_call(cases[i].text, float_dtypes[d], 1.7f);
            for (int64_t j = 0; j < COUNT; j++)
                set(&out_y, j, cases[i].kernel(x_at(j), (float)get(&in_b, j), 1.7f));
            struct ref_verdict v = run("formula", &call);
            if (v.violations || v.refused || v.checked != COUNT || v.wide > COUNT / 20)
                expect_quiet(cases[i].text, &v, COUNT); /* gelu's tail is inconclusive */
            set(&out_y, 200, get(&out_y, 200) * 1.03 + 0.02);
            v = run("formula", &call);
            assert_int_equal(v.violations, 1);
            assert_int_equal(v.first_index, 200);
        }
    }
}

static void a_wrong_formula_is_found(void **state)
{
    (void)state;
    random_state = 3;
    fill(&in_x, DTYPE_BF16, COUNT, 0, 2);
    fill(&in_b, DTYPE_BF16, COUNT, 0, 1);
    shape(&out_y, DTYPE_BF16, COUNT);
    for (int64_t j = 0; j < COUNT; j++)
        set(&out_y, j, k_silu(x_at(j), 0, 0));
    struct ref_call call = formula_call("y = x * sigmoid(1.702 * x)", DTYPE_BF16, 0);
    assert_true(run("formula", &call).violations > COUNT / 2);
}

/* Infinities and NaN are what the formula makes of them. */
/* A kernel that rounds an input less than the formula does, or more. */
static void roundings_are_held(void **state)
{
    (void)state;
    random_state = 5;
    fill(&in_x, DTYPE_F32, COUNT, 0, 2);
    fill(&in_b, DTYPE_F32, COUNT, 0, 1);
    shape(&out_y, DTYPE_F32, COUNT);
    for (int64_t j = 0; j < COUNT; j++)
        set(&out_y, j, x_at(j) * (float)get(&in_b, j));
    struct ref_call call = formula_call("y = bf16(x) * b", DTYPE_F32, 0);
    assert_true(run("formula", &call).violations > COUNT / 2);
    for (int64_t j = 0; j < COUNT; j++)
        set(&out_y, j, to_bf16(x_at(j)) * (float)get(&in_b, j));
    assert_int_equal(run("formula", &call).violations, 0);
    call = formula_call("y = x * b", DTYPE_F32, 0);
    assert_true(run("formula", &call).violations > COUNT / 2);
}

static void classes_agree(void **state)
{
    (void)state;
    static const float odd[] = {INFINITY, -INFINITY, NAN, 0};
    fill(&in_x, DTYPE_F32, COUNT, 0, 2);
    fill(&in_b, DTYPE_F32, COUNT, 0, 1);
    for (int64_t j = 0; j < 64; j++)
        set(&in_x, j, odd[j % 4]);
    shape(&out_y, DTYPE_F32, COUNT);
    for (int64_t j = 0; j < COUNT; j++)
        set(&out_y, j, isnan(x_at(j)) + 2 * isinf(x_at(j)) != 0 ? 5 : x_at(j));
    struct ref_call call = formula_call("y = isnan(x) || isinf(x) ? 5 : x", DTYPE_F32, 0);
    struct ref_verdict v = run("formula", &call);
    expect_quiet("classes", &v, COUNT);
    set(&out_y, 0, 4);
    assert_int_equal(run("formula", &call).violations, 1);
}

/* Arrays of integers. Element i is `low` and then `step` more each time, as the type has it. */
static void integers(struct array *a, enum dtype dtype, uint64_t low, uint64_t step)
{
    shape(a, dtype, COUNT);
    unsigned char *at = (unsigned char *)a->bits;
    for (uint64_t i = 0, n = bytes_of(dtype); i < COUNT; i++) {
        uint64_t value = low + i * step;
        memcpy(at + i * n, &value, n);
    }
}

static struct ref_call integer_call(const char *text, enum dtype dtype)
{
    struct ref_call call = formula_call(text, dtype, 0);
    call.unit_roundoff = 0x1p-53;
    return call;
}

static struct ref_verdict judged(const char *text, enum dtype dtype)
{
    struct ref_call call = integer_call(text, dtype);
    return run("formula", &call);
}

static const uint64_t nano = 1700000000000000000u; /* a time in ns: beyond 2^53 */

/* Sums and products that wrap around, and other results of 64 bits, are right. */
static void integers_wrap_around(void **state)
{
    (void)state;
    integers(&in_x, DTYPE_I32, 2000000000, 1234567);
    integers(&in_b, DTYPE_I32, 1500000000, 7654321);
    integers(&out_y, DTYPE_I32, 3500000000u, 8888888);
    struct ref_verdict v = judged("y = x + b", DTYPE_I32);
    expect_quiet("i32 sum", &v, COUNT);
    integers(&in_x, DTYPE_I64, nano, 977);
    integers(&in_b, DTYPE_I64, nano - 481, 976);
    integers(&out_y, DTYPE_I64, 481, 1);
    assert_int_equal(judged("y = x - b", DTYPE_I64).violations, 0);
    integers(&in_b, DTYPE_I64, 0x9e3779b97f4a7c15, 0);
    integers(&out_y, DTYPE_I64, nano * 0x9e3779b97f4a7c15, 977 * 0x9e3779b97f4a7c15);
    assert_int_equal(judged("y = x * b", DTYPE_I64).violations, 0);
    integers(&in_b, DTYPE_I64, nano, 978);
    integers(&out_y, DTYPE_BOOL, 0, 0);
    *(unsigned char *)out_y.bits = 1;
    assert_int_equal(judged("y = x == b", DTYPE_I64).violations, 0);
    integers(&in_x, DTYPE_I64, (uint64_t)INT64_MIN, 0);
    integers(&out_y, DTYPE_I64, (uint64_t)INT64_MIN, 0);
    assert_int_equal(judged("y = -x", DTYPE_I64).violations, 0);
    assert_int_equal(judged("y = abs(x)", DTYPE_I64).violations, 0);
    integers(&out_y, DTYPE_I64, INT64_MAX, 0);
    assert_int_equal(judged("y = x - 1", DTYPE_I64).violations, 0);
}

/* Numbers that may be equal by their errors decide nothing; f64 has no such errors. */
static void unsure_comparisons_are_inconclusive(void **state)
{
    (void)state;
    integers(&in_x, DTYPE_I64, nano, 977);
    integers(&in_b, DTYPE_I64, nano, 977);
    integers(&out_y, DTYPE_BOOL, 0, 0);
    struct ref_verdict v = judged("y = x == b", DTYPE_I64);
    assert_int_equal(v.violations, 0);
    assert_int_equal(v.wide, COUNT);
    integers(&in_x, DTYPE_I64, 977, 977);
    integers(&in_b, DTYPE_I64, 977, 977);
    assert_int_equal(judged("y = x == b", DTYPE_I64).violations, COUNT);
    shape(&in_x, DTYPE_F64, COUNT);
    shape(&in_b, DTYPE_F64, COUNT);
    for (int64_t j = 0; j < COUNT; j++) {
        set(&in_x, j, 1e17 + 16 * (double)j);
        set(&in_b, j, 1e17 + 16 * (double)j);
    }
    assert_int_equal(judged("y = x == b", DTYPE_F64).violations, COUNT);
}

/* Within the type's range one integer is right; what differs more than its error is found. */
static void wrong_integers_are_found(void **state)
{
    (void)state;
    integers(&in_x, DTYPE_I32, 1000, 1234567);
    integers(&in_b, DTYPE_I32, 5, 7);
    integers(&out_y, DTYPE_I32, 1006, 1234574);
    assert_int_equal(judged("y = x + b", DTYPE_I32).violations, COUNT);
    integers(&in_x, DTYPE_I64, nano, 1 << 20);
    integers(&in_b, DTYPE_I64, nano / 2, 1 << 20);
    integers(&out_y, DTYPE_I64, nano / 2, 0);
    struct ref_verdict v = judged("y = x - b", DTYPE_I64);
    assert_int_equal(v.violations + v.wide, 0);
    integers(&out_y, DTYPE_I64, nano / 2 + 5000, 0);
    assert_int_equal(judged("y = x - b", DTYPE_I64).violations, COUNT);
}

/* Beyond the range of an integer a conversion saturates or wraps; other values are inconclusive. */
static void conversions_saturate(void **state)
{
    (void)state;
    shape(&in_x, DTYPE_F32, COUNT);
    integers(&out_y, DTYPE_I32, 7, 0);
    for (int64_t j = 0; j < COUNT; j++)
        set(&in_x, j, 7.5);
    static const float far[] = {3e9f, -3e9f, INFINITY, -INFINITY, 1e30f, NAN, 4294967296.0f, 3e9f};
    static const int32_t got[] = {INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX, 0, 0, 1};
    for (int64_t j = 0; j < 8; j++) {
        set(&in_x, j, far[j]);
        set(&out_y, j, got[j]);
    }
    struct ref_verdict v = judged("y = trunc(x)", DTYPE_F32);
    assert_int_equal(v.violations, 0);
    assert_int_equal(v.wide, 2); /* NaN, and 1 for 3e9 */
    set(&out_y, 100, 8);
    assert_int_equal(judged("y = trunc(x)", DTYPE_F32).violations, 1);
    for (int sign = -1; sign <= 1; sign += 2) {
        integers(&out_y, DTYPE_I64, sign < 0 ? (uint64_t)INT64_MIN : INT64_MAX, 0);
        for (int64_t j = 0; j < COUNT; j++)
            set(&in_x, j, sign * (j % 2 ? INFINITY : 1e30f));
        v = judged("y = trunc(x)", DTYPE_F32);
        expect_quiet("i64 of an infinity", &v, COUNT);
    }
}

static int release(void **state)
{
    (void)state;
    arena_release(&texts);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_texts_are_errors),
        cmocka_unit_test(names_and_numbers_are_kept_once),
        cmocka_unit_test(formulas_judge_kernels),
        cmocka_unit_test(a_wrong_formula_is_found),
        cmocka_unit_test(roundings_are_held),
        cmocka_unit_test(classes_agree),
        cmocka_unit_test(integers_wrap_around),
        cmocka_unit_test(wrong_integers_are_found),
        cmocka_unit_test(conversions_saturate),
        cmocka_unit_test(unsure_comparisons_are_inconclusive),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
