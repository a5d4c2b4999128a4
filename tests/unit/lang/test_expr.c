/* Expressions: C's meaning, refused texts, and errors of arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/says.h"
#include "lang/expr.h"

static struct arena arena;
static struct error err;
static const char *const names[] = {"a", "b", "zero", "big", "grid.x"};
static const int64_t slots[] = {7, -3, 0, INT64_MAX, 16, 100, 101, 102, 103};

static int find(void *user, const char *name, const char *index, struct error *unused)
{
    (void)user;
    (void)unused;
    if (index) /* v[...] is 100 and as much as the text between the brackets is long */
        return strcmp(name, "v") == 0 && strlen(index) < 4 ? 5 + (int)strlen(index) : -1;
    for (int i = 0; i < 5; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return -1;
}

static const struct expr *compile(const char *text)
{
    const struct expr *expr = NULL;
    struct expr_names all = {find, NULL};
    err = (struct error){0};
    expr_compile(&expr, &arena, text, &all, &err);
    return expr;
}

static void expect(const char *text, int64_t value)
{
    int64_t got = 0;
    const struct expr *expr = compile(text);
    if (!expr)
        fail_msg("%s", err.text);
    assert_true(expr_eval(expr, slots, &got));
    if (got != value)
        fail_msg("%s is %lld, not %lld", text, (long long)got, (long long)value);
}

static void refuse(const char *text, const char *part)
{
    expect_refused(text, compile(text) != NULL, err.text, part);
}

static void fault(const char *text, const char *sentence)
{
    int64_t value;
    const struct expr *expr = compile(text);
    assert_non_null(expr);
    assert_false(expr_eval(expr, slots, &value));
    err = (struct error){0};
    expr_explain(expr, slots, &err);
    assert_string_equal(err.text, sentence);
}

static void it_computes_as_c_does(void **state)
{
    (void)state;
    expect("1 + 2 * 3", 7);
    expect("(1 + 2) * 3", 9);
    expect("10 - 4 - 3", 3);
    expect("100 / 7 / 2", 7);
    expect("-7 / 2", -3);
    expect("-7 % 3", -1);
    expect("a % 4 + 0x1F", 34);
    expect("-a + - -b", -10);
    expect("!a + !zero", 1);
    expect("2*-3", -6);
    expect("a < 8 == 1", 1);
    expect("a >= 7 && b != -3 || grid.x == 16", 1);
    expect("1 < 2 < 2", 1);
    expect("a>7", 0);
    expect("a<=7", 1);
    expect("5 && 7", 1);
    expect("0 || 9", 1);
    expect("9223372036854775807", INT64_MAX);
    expect("-9223372036854775807 - 1", INT64_MIN);
}

static void functions_compute(void **state)
{
    (void)state;
    expect("min(a, b)", -3);
    expect("max(a, b, 9, 2)", 9);
    expect("min(3, max(1, 2))", 2);
    expect("ceil_div(a, 2)", 4);
    expect("ceil_div(8, 2)", 4);
    expect("ceil_div(-7, 2)", -3);
    expect("ceil_div(-7, -2)", 4);
    expect("ceil_div(0, 5)", 0);
}

static void elements_are_names_with_an_index(void **state)
{
    (void)state;
    expect("v[0]", 101);
    expect("v [12] + v[ab]*2 - a", 102 + 204 - 7);
    expect("min(v[a], v[[]])", 101);
    fault("v[0] / zero", "v[0] / zero: division by zero (v[0] = 101, zero = 0)");
    refuse("v[0", "expected ']'");
    refuse("w[0]", "unknown name 'w'");
    refuse("min[0]", "unknown name 'min'");
    refuse("v[0][1]", "at '[1]': expected an operator or the end");
}

static void the_right_side_is_not_evaluated_in_vain(void **state)
{
    (void)state;
    expect("zero != 0 && 1 / zero", 0);
    expect("zero == 0 || 1 / zero", 1);
    expect("(zero && 1 / zero) + 1", 1);
}

/* ---- real expressions ---- */

static double real_slot(const void *user, int slot)
{
    (void)user;
    return slot < 5 ? (double)slots[slot] : 0.5 * (double)slots[slot];
}

static const struct expr *compile_real(const char *text)
{
    const struct expr *expr = NULL;
    struct expr_names all = {find, NULL};
    err = (struct error){0};
    expr_compile_real(&expr, &arena, text, &all, &err);
    return expr;
}

static void expect_real(const char *text, double value)
{
    double got = 0;
    const struct expr *expr = compile_real(text);
    if (!expr)
        fail_msg("%s", err.text);
    assert_true(expr_eval_real(expr, real_slot, NULL, &got));
    if (!(fabs(got - value) <= 1e-15 * fabs(value)))
        fail_msg("%s is %.17g, not %.17g", text, got, value);
}

static void real_fault(const char *text, const char *sentence)
{
    double value;
    const struct expr *expr = compile_real(text);
    assert_non_null(expr);
    assert_false(expr_eval_real(expr, real_slot, NULL, &value));
    err = (struct error){0};
    expr_explain_real(expr, real_slot, NULL, &err);
    assert_string_equal(err.text, sentence);
}

static void real_expressions_compute(void **state)
{
    (void)state;
    expect_real("1 - 0.25", 0.75);
    expect_real("1 / 2", 0.5);
    expect_real("a / 2", 3.5);
    expect_real("2 * v[0] - .5", 100.5);
    expect_real("1e-5 + 2E+3 - 0x1f", 2000.00001 - 31);
    expect_real("1 / sqrt(grid.x)", 0.25);
    expect_real("1 - pow(0.9, 2)", 1 - 0.9 * 0.9);
    expect_real("-exp(1) * log(2) * pow(2, 0.5)", -M_E * M_LN2 * M_SQRT2);
    expect_real("max(b, -2.5) + min(a, 0.5, 3) + ceil_div(a, 2)", -2.5 + 0.5 + 4);
    expect_real("(a > 6.5) + (a == 7) + !zero + (zero || 2) + (zero && 1 / zero)", 4);
    expect_real("7.5 % 2", 1.5);
    expect_real("big + big", 2 * 0x1p63);
}

static void bad_real_expressions_are_told(void **state)
{
    (void)state;
    static const char *const texts[][2] = {{"1.2.3", "at '1.2.3': not a number"},
                                           {"1e", "not a number"},
                                           {"0x1.8", "not a number"},
                                           {"1e999", "not a number"},
                                           {"sqrt(1, 2)", "too many arguments"},
                                           {"pow(2)", "expected two arguments"},
                                           {"sin(1)", "expected min, max, ceil_div, pow, sqrt"},
                                           {"1 - q", "unknown name 'q'"},
                                           {"1 -", "at the end"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_refused(texts[i][0], compile_real(texts[i][0]) != NULL, err.text, texts[i][1]);
    refuse("sqrt(4)", "unknown function; expected min, max or ceil_div");
    real_fault("1 / zero", "1 / zero: division by zero (zero = 0)");
    real_fault("7 % (a - a)", "7 % (a - a): division by zero (a = 7)");
    real_fault("sqrt(b)", "sqrt(b): no finite number (b = -3)");
    real_fault("exp(1000)", "exp(1000): no finite number");
}

static void bad_texts_are_refused(void **state)
{
    (void)state;
    refuse("", "at the end: expected a number");
    refuse("1 +", "at the end");
    refuse("1 2", "at '2': expected an operator or the end");
    refuse("(1", "expected ')'");
    refuse("1.5", "not a whole number");
    refuse("9223372036854775808", "not a whole number of 64 bits");
    refuse("12abc", "not a whole number");
    refuse("c + 1", "expression 'c + 1': unknown name 'c'");
    refuse("pow(2, 3)", "unknown function");
    refuse("min(1)", "expected two arguments");
    refuse("ceil_div(1, 2, 3)", "too many arguments");
    refuse("min(1, 2", "expected ')'");
    refuse("1 = 2", "at '='");
    refuse("a & b", "at '&'");
}

static void deep_and_long_texts_are_refused(void **state)
{
    (void)state;
    char text[4000];
    memset(text, '(', sizeof text);
    text[sizeof text - 1] = '\0';
    refuse(text, "nested too deeply");
    memset(text, '-', sizeof text - 1);
    refuse(text, "nested too deeply");
    size_t used = 0;
    for (int i = 0; i < 300; i++)
        used += (size_t)sprintf(text + used, "1+");
    strcpy(text + used, "1");
    refuse(text, "too long");
}

static void faults_show_the_values(void **state)
{
    (void)state;
    fault("a / zero", "a / zero: division by zero (a = 7, zero = 0)");
    fault("a % (b + 3)", "a % (b + 3): division by zero (a = 7, b = -3)");
    fault("ceil_div(1, zero)", "ceil_div(1, zero): division by zero (zero = 0)");
    fault("big + a", "big + a: more than 64 bits (big = 9223372036854775807, a = 7)");
    fault("big * big", "big * big: more than 64 bits (big = 9223372036854775807)");
    fault("-big - 2", "-big - 2: more than 64 bits (big = 9223372036854775807)");
    fault("(-big - 1) / -1", "(-big - 1) / -1: more than 64 bits (big = 9223372036854775807)");
    fault("-(-big - 1)", "-(-big - 1): more than 64 bits (big = 9223372036854775807)");
}

static void constants_are_known(void **state)
{
    (void)state;
    int64_t value = 0;
    assert_true(expr_constant(compile("3 * 4"), &value));
    assert_int_equal(value, 12);
    assert_false(expr_constant(compile("3 * a"), &value));
    assert_false(expr_constant(compile("3 / 0"), &value));
    assert_string_equal(expr_text(compile("3 * a")), "3 * a");
}

static int release(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_computes_as_c_does),
        cmocka_unit_test(functions_compute),
        cmocka_unit_test(elements_are_names_with_an_index),
        cmocka_unit_test(the_right_side_is_not_evaluated_in_vain),
        cmocka_unit_test(real_expressions_compute),
        cmocka_unit_test(bad_real_expressions_are_told),
        cmocka_unit_test(bad_texts_are_refused),
        cmocka_unit_test(deep_and_long_texts_are_refused),
        cmocka_unit_test(faults_show_the_values),
        cmocka_unit_test(constants_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
