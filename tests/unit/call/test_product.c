/* Products of libraries as values: turned over where C lies by columns, named once for each kind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "call/product.h"

static const struct product_matrix left = {(void *)0x1000, DTYPE_F16, 1, 100, 7};
static const struct product_matrix right = {(void *)0x2000, DTYPE_BF16, 50, 1, 8};
static const struct product_matrix result = {(void *)0x3000, DTYPE_F32, 1, 30, 9};

static struct product product_of(const char *function, uint32_t words)
{
    return (struct product){.function = function,
                            .a_type = DTYPE_F16,
                            .b_type = DTYPE_BF16,
                            .c_type = DTYPE_F32,
                            .bias_type = DTYPE_F32,
                            .words = words};
}

/* C by columns: the library's B is the product's a, and c has rows of neighbours. */
static void a_product_by_columns_is_turned_over(void **state)
{
    struct product product = product_of("f", 0);
    const struct product_arguments *is = &product.arguments;
    (void)state;
    product_set(&product, &left, &right, &result, 30, 20, 40, true);
    assert_int_equal(is->a, 0x2000);
    assert_int_equal(is->b, 0x1000);
    assert_int_equal(is->c, 0x3000);
    assert_int_equal(product.a_type, DTYPE_BF16);
    assert_int_equal(product.b_type, DTYPE_F16);
    assert_int_equal(is->m, 20);
    assert_int_equal(is->n, 30);
    assert_int_equal(is->k, 40);
    /* element (i, l) of a is element (l, i) of the library's B */
    assert_int_equal(is->a_row, right.col);
    assert_int_equal(is->a_col, right.row);
    assert_int_equal(is->b_row, left.col);
    assert_int_equal(is->b_col, left.row);
    assert_int_equal(is->c_row, result.col);
    assert_int_equal(is->a_batch, 8);
    assert_int_equal(is->b_batch, 7);
    assert_int_equal(is->c_batch, 9);
}

static void a_product_by_rows_stays_as_it_is(void **state)
{
    struct product product = product_of("f", 0);
    const struct product_matrix by_rows = {(void *)0x3000, DTYPE_F32, 30, 1, 9};
    const struct product_arguments *is = &product.arguments;
    (void)state;
    product_set(&product, &left, &right, &by_rows, 20, 30, 40, false);
    assert_int_equal(is->a, 0x1000);
    assert_int_equal(is->b, 0x2000);
    assert_int_equal(is->m, 20);
    assert_int_equal(is->n, 30);
    assert_int_equal(is->a_row, left.row);
    assert_int_equal(is->a_col, left.col);
    assert_int_equal(is->c_row, 30);
}

/* The layout is what the struct has in memory. */
static void arguments_lie_as_the_layout_says(void **state)
{
    struct product product = product_of("f", 0);
    void *params[PRODUCT_ARGUMENTS];
    (void)state;
    product.arguments.batch = 77;
    product.arguments.alpha = 0.5;
    product_params(&product, params);
    assert_int_equal(product_layout.count, PRODUCT_ARGUMENTS);
    for (unsigned i = 0; i < product_layout.count; i++) {
        assert_int_equal(product_layout.param[i].size, 8);
        assert_ptr_equal(params[i], (char *)&product.arguments + product_layout.param[i].offset);
    }
    assert_int_equal(*(int64_t *)params[PRODUCT_AT_batch], 77);
    assert_true(*(double *)params[PRODUCT_AT_alpha] == 0.5);
}

static void names_hold_all_that_decides(void **state)
{
    struct product plain = product_of("cublasGemmEx", 0);
    struct product words =
        product_of("cublasLtMatmul", PRODUCT_BATCH | PRODUCT_BIAS | PRODUCT_GELU);
    (void)state;
    assert_string_equal(product_name(&plain), "cublasGemmEx<f16, bf16, f32, f32>");
    assert_string_equal(product_name(&words),
                        "cublasLtMatmul<f16, bf16, f32, f32, batch, gelu, bias>");
    words.bias_type = DTYPE_BF16;
    words.accumulation = ACCUMULATION_TF32;
    assert_string_equal(product_name(&words),
                        "cublasLtMatmul<f16, bf16, f32, tf32, batch, gelu, bias bf16>");
    assert_true(symbol_is_call(product_name(&plain)));
    assert_false(symbol_is_call("_ZN6kernelIfEEvPT_"));
}

static void names_are_read_back(void **state)
{
    char function[PRODUCT_FUNCTION];
    struct product out;
    struct product is =
        product_of("cublasLtMatmul", PRODUCT_BATCH | PRODUCT_BIAS | PRODUCT_REDUCED);
    (void)state;
    is.bias_type = DTYPE_BF16;
    is.accumulation = ACCUMULATION_TF32;
    assert_true(product_parse(product_name(&is), &out, function));
    assert_string_equal(function, "cublasLtMatmul");
    assert_int_equal(out.a_type, DTYPE_F16);
    assert_int_equal(out.b_type, DTYPE_BF16);
    assert_int_equal(out.c_type, DTYPE_F32);
    assert_int_equal(out.bias_type, DTYPE_BF16);
    assert_int_equal(out.accumulation, ACCUMULATION_TF32);
    assert_int_equal(out.words, is.words);
}

static void other_names_are_none(void **state)
{
    static const char *const names[] = {"",
                                        "f",
                                        "f<",
                                        "f<>",
                                        "f<f32>",
                                        "f<f32, f32, f32>",
                                        "f<f32, f32, f32, f99>",
                                        "f<f32, f32, f32, f32, nonsense>",
                                        "f<f32, what, f32, f32>",
                                        "f<f32, f32, f32, f32"};
    char function[PRODUCT_FUNCTION], lengthy[200];
    struct product out;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_false(product_parse(names[i], &out, function));
    memset(lengthy, 'f', sizeof lengthy);
    memcpy(lengthy + 150, "<f32, f32, f32, f32>", 21);
    assert_false(product_parse(lengthy, &out, function));
}

/* The pointer is a handle: equal for equal calls, whatever their sizes. */
static void a_name_is_made_once(void **state)
{
    static const char function[] = "cublasSgemm_v2";
    struct product one = product_of(function, 0), other = product_of(function, 0);
    (void)state;
    other.arguments.m = 5;
    assert_ptr_equal(product_name(&one), product_name(&other));
    other.words = PRODUCT_BETA;
    assert_ptr_not_equal(product_name(&one), product_name(&other));
}

/* So many kinds of calls are no program's; what comes then is passed through. */
static void names_are_bounded(void **state)
{
    struct product product = product_of("f", 0);
    int made = 0;
    (void)state;
    for (uint32_t words = 0; words < 4096; words++) {
        product.words = words;
        made += product_name(&product) != NULL;
    }
    assert_in_range(made, 512, 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_by_columns_is_turned_over),
        cmocka_unit_test(a_product_by_rows_stays_as_it_is),
        cmocka_unit_test(arguments_lie_as_the_layout_says),
        cmocka_unit_test(names_hold_all_that_decides),
        cmocka_unit_test(names_are_read_back),
        cmocka_unit_test(other_names_are_none),
        cmocka_unit_test(a_name_is_made_once),
        cmocka_unit_test(names_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
