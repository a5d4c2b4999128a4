/* Tolerances: rows, groups, what is refused, and the built-in table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "refs/abi/ref_list.h"
#include "tests/unit/common/registry_fixture.h"
#include "tests/unit/common/says.h"
#include "plan/tolerance.h"

static struct arena arena;
static struct complaints complaints;

static struct tolerance_table table_of(const char *text, size_t length)
{
    struct yaml_doc *doc = NULL;
    struct error err = {0};
    struct tolerance_table table = {0};
    memset(&complaints, 0, sizeof complaints);
    if (yaml_doc_parse(&doc, "t.yaml", text, length, &err))
        fail_msg("%s", err.text);
    const struct yaml_node *rows = yaml_get(yaml_doc_root(doc), "tolerances");
    tolerance_add(&table, &arena, rows, complain_to, &complaints);
    yaml_doc_destroy(doc); /* reasons die with it; the tests that read them keep the doc */
    return table;
}

static struct tolerance_table rows(const char *text)
{
    return table_of(text, strlen(text));
}

static void rows_are_found_by_op_and_dtype(void **state)
{
    (void)state;
    struct tolerance_table table = rows("tolerances:\n"
                                        "  rmsnorm:\n"
                                        "    bf16: {rule: bound, accumulate: bf16, lambda: 4}\n"
                                        "    float: {rule: close, rtol: 1.3e-6, atol: 1e-5}\n"
                                        "  matmul, linear:\n"
                                        "    f32, f16: {accumulate: f32, inputs: tf32}\n"
                                        "    f64: {}\n"
                                        "    bf16: {inputs: bf16}\n"
                                        "  attention: {f16: {inner: f16}, bf16: {inner: bf16}}\n");
    assert_int_equal(complaints.count, 0);
    const struct tolerance_row *row = tolerance_find(&table, "rmsnorm", DTYPE_BF16);
    assert_int_equal(row->tolerance.accumulate, DTYPE_BF16);
    assert_true(row->tolerance.lambda == 4);
    row = tolerance_find(&table, "rmsnorm", DTYPE_F32);
    assert_int_equal(row->tolerance.rule, RULE_CLOSE);
    assert_true(row->tolerance.rtol == 1.3e-6 && row->tolerance.atol == 1e-5);
    assert_int_equal(row->tolerance.accumulate, DTYPE_F32);
    row = tolerance_find(&table, "linear", DTYPE_F16);
    assert_true(row->tolerance.input_roundoff == 0x1p-10 && row->tolerance.lambda == 8);
    assert_int_equal(tolerance_find(&table, "matmul", DTYPE_F64)->tolerance.accumulate, DTYPE_F64);
    row = tolerance_find(&table, "matmul", DTYPE_BF16);
    assert_true(row->tolerance.input_roundoff == 0x1p-8);
    row = tolerance_find(&table, "attention", DTYPE_F16);
    assert_true(row->tolerance.inner.roundoff == 0x1p-11 && row->tolerance.inner.least == 0x1p-25);
    row = tolerance_find(&table, "attention", DTYPE_BF16);
    assert_true(row->tolerance.inner.roundoff == 0x1p-8 && row->tolerance.inner.least == 0x1p-126);
    row = tolerance_find(&table, "linear", DTYPE_F16);
    assert_true(row->tolerance.inner.roundoff == 0 && row->tolerance.inner.least == 0);
    assert_null(tolerance_find(&table, "rmsnorm", DTYPE_F16));
    assert_null(tolerance_find(&table, "softmax", DTYPE_F32));
}

static void later_rows_win(void **state)
{
    (void)state;
    struct tolerance_table table = rows("tolerances:\n"
                                        "  relu: {f32: {rule: bitwise}}\n"
                                        "  relu, add: {f32: {rule: bound}}\n");
    assert_int_equal(tolerance_find(&table, "relu", DTYPE_F32)->tolerance.rule, RULE_BOUND);
}

static void expect(const char *row, const char *part)
{
    rows(row);
    assert_int_equal(complaints.count, 1);
    expect_says(complaints.text[0], part);
}

static void bad_rows_are_told(void **state)
{
    (void)state;
    expect("tolerances:\n  rmsnrom: {f32: {}}\n",
           "t.yaml:2:3: unknown reference 'rmsnrom'; did you mean 'rmsnorm'?");
    expect("tolerances:\n  relu: {f23: {}}\n",
           "t.yaml:2:10: unknown type 'f23'; did you mean 'f32'?");
    expect("tolerances:\n  relu: {f32x4: {}}\n", "unknown type 'f32x4'");
    expect("tolerances:\n  relu: {f32: {rule: near}}\n",
           "expected bound, close, bitwise or stochastic");
    expect("tolerances:\n  relu: {f32: {ruel: bound}}\n", "did you mean 'rule'?");
    expect("tolerances:\n  relu: {f32: {rtol: 1e-3}}\n", "belong to rule close, not to rule bound");
    expect("tolerances:\n  relu: {f32: {rule: close}}\n", "rule close needs 'rtol', 'atol'");
    expect("tolerances:\n  relu: {f32: {accumulate: i32}}\n",
           "expected f64, f32, f16, bf16, fp8_tensor, fp8_fast, f16_parts, bf16_parts, f16_lanes "
           "or bf16_lanes");
    expect("tolerances:\n  relu: {f32: {inputs: f8e4m3}}\n", "'inputs' is 'f8e4m3'; expected f16");
    expect("tolerances:\n  relu: {f32: {inner: f8}}\n", "expected f16, bf16 or tf32");
    expect("tolerances:\n  relu: {f32: {functions: fast}}\n", "expected libm or approx");
    expect("tolerances:\n  relu: {f32: {rule: close, atol: -1}}\n", "expected a number from 0");
    expect("tolerances:\n  relu: {f32: {lambda: 0}}\n", "expected a number from 0.5");
    expect("tolerances:\n  relu: {f32: {masked_rows: 0}}\n", "expected nan, zero or any");
    expect("tolerances:\n  relu: {f32: {false_alarm: 0}}\n", "expected a number from 1e-15");
    expect("tolerances:\n  relu: {f32: {false_alarm: 1e-6, lambda: 8}}\n", "give one");
    expect("tolerances:\n  rmsnorm: {f32: {rounding: bf16}}\n", "expected a mapping");
    expect("tolerances:\n  rmsnorm: {f32: {rounding: {xhat: i8}}}\n", "or output, with a ?");
    expect("tolerances:\n  rmsnorm: {f32: {rounding: {xhat: bf16?x}}}\n", "or output, with a ?");
    expect("tolerances:\n  rmsnorm: {f32: {rounding: {rstd: bf16}}}\n",
           "t.yaml:2:13: rounding: reference 'rmsnorm' has no point 'rstd' (it has: in x");
    expect("tolerances:\n  relu: {f32: {masked_rows: nan}}\n",
           "t.yaml:2:10: masked_rows: reference 'relu' has no rows that are masked");
    expect("tolerances:\n  attention, softmax: {bf16: {inner: bf16}}\n",
           "t.yaml:2:24: inner: reference 'softmax' multiplies nothing");
    expect("tolerances:\n  rmsnorm: {f32: {rule: close, rtol: 1, rounding: {xhat: bf16}}}\n",
           "does not go with rule close");
    expect("tolerances:\n  rmsnorm: {f32: {lanes: 0}}\n", "expected a whole number from 1 to 1024");
    expect("tolerances:\n  rmsnorm: {f32: {lanes: 48}}\n",
           "'lanes' is 48; expected a power of two");
    expect("tolerances:\n  relu: {f32: {lanes: 32}}\n",
           "t.yaml:2:10: lanes: reference 'relu' adds up no rows");
    expect("tolerances: [1]\n", "expected a mapping");
    expect("tolerances:\n  relu: 3\n", "'relu' is '3'; expected a mapping");
}

static void points_are_read(void **state)
{
    (void)state;
    struct tolerance_table table =
        rows("tolerances:\n  rmsnorm, layernorm:\n    bf16: {rounding: {xhat: bf16}}\n"
             "    f16: {rounding: {xhat: f16?}}\n    f32: {rounding: {xhat: output?}}\n");
    assert_int_equal(complaints.count, 0);
    const struct tolerance *row = &tolerance_find(&table, "rmsnorm", DTYPE_BF16)->tolerance;
    assert_int_equal(row->points, 1);
    assert_int_equal(row->point[0].code, DTYPE_BF16);
    row = &tolerance_find(&table, "layernorm", DTYPE_F16)->tolerance;
    assert_int_equal(row->point[0].code, DTYPE_F16 | REF_POINT_MAY);
    row = &tolerance_find(&table, "rmsnorm", DTYPE_F32)->tolerance;
    assert_int_equal(row->point[0].code, POINT_OF_OUTPUT | REF_POINT_MAY);
}

static void a_bad_row_leaves_the_others(void **state)
{
    (void)state;
    struct tolerance_table table =
        rows("tolerances:\n  relu: {f32: {rule: near}}\n  add: {f32: {rule: bitwise}}\n");
    assert_int_equal(complaints.count, 1);
    assert_int_equal(tolerance_find(&table, "add", DTYPE_F32)->tolerance.rule, RULE_BITWISE);
}

/* References whose results are integers, and those that round nothing. */
static const char *const counting[] = {"row_argmax",   "row_argmax_first", "histogram",
                                       "repeat_index", "search_sorted",    NULL};
static const char *const copying[] = {"relu",
                                      "row_max",
                                      "row_max_abs",
                                      "row_min",
                                      "cast",
                                      "embedding",
                                      "gather",
                                      "gather_each",
                                      "roll",
                                      "relu_backward",
                                      "masked_fill",
                                      "permute",
                                      "qkv_split",
                                      "axis_max",
                                      "topk",
                                      "topk_unsorted",
                                      "sort_pairs",
                                      "index_copy",
                                      "scatter",
                                      "scatter_each",
                                      "cache_append",
                                      "cache_append_split",
                                      "cache_append_rows",
                                      "cache_append_paged",
                                      "cache_append_csr",
                                      "max_pool",
                                      "adaptive_max_pool",
                                      "upsample_nearest",
                                      "masked_scatter",
                                      "triangle",
                                      "flip",
                                      "scan_extreme",
                                      "select_rank",
                                      "row_mode",
                                      "embedding_bag_max",
                                      "im2col",
                                      "pad",
                                      "max_pool3d",
                                      "random_bernoulli",
                                      NULL};

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static void the_builtin_table_is_whole_and_gives_reasons(void **state)
{
    (void)state;
    static const enum dtype floats[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16};
    static const enum dtype integers[] = {DTYPE_I64, DTYPE_I32, DTYPE_I64, DTYPE_I32};
    struct yaml_doc *doc = NULL;
    struct tolerance_table table = {0};
    memset(&complaints, 0, sizeof complaints);
    assert_int_equal(yaml_doc_load(&doc, "config/tolerances.yaml", NULL), STATUS_OK);
    tolerance_add(&table, &arena, yaml_get(yaml_doc_root(doc), "tolerances"), complain_to,
                  &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    for (size_t i = 0; i < ref_builtin_count; i++) {
        for (size_t j = 0; j < 4; j++) {
            const char *op = ref_builtins[i].name;
            bool counts = is_one_of(op, counting);
            const enum dtype *dtypes = counts ? integers : floats;
            const struct tolerance_row *row = tolerance_find(&table, op, dtypes[j]);
            if (!row || !row->reason || strlen(row->reason) < 10)
                fail_msg("%s %d has no row with a reason", op, (int)dtypes[j]);
            bool exact = counts || is_one_of(op, copying);
            if (row->tolerance.rule != (exact ? RULE_BITWISE : RULE_BOUND))
                fail_msg("%s %d: rule %d", op, (int)dtypes[j], (int)row->tolerance.rule);
            assert_int_equal(row->tolerance.accumulate,
                             dtypes[j] == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32);
        }
    }
    /* Codes have rows of their own. */
    static const char *const coding[] = {"cast", "quantise", "quantise_rows", NULL};
    for (size_t i = 0; coding[i]; i++) {
        const struct tolerance_row *row = tolerance_find(&table, coding[i], DTYPE_F8E4M3);
        assert_true(row && row->reason && row->tolerance.rule == RULE_BOUND);
    }
    assert_non_null(tolerance_find(&table, "quantise_rows", DTYPE_I8));
    yaml_doc_destroy(doc);
}

static void a_star_is_every_reference(void **state)
{
    (void)state;
    struct tolerance_table table = rows("tolerances:\n  '*': {f8e4m3: {rule: bitwise}}\n"
                                        "  relu: {f8e4m3: {rule: bound}}\n");
    assert_int_equal(complaints.count, 0);
    assert_int_equal(table.count, ref_builtin_count + 1);
    assert_int_equal(tolerance_find(&table, "silu", DTYPE_F8E4M3)->tolerance.rule, RULE_BITWISE);
    assert_int_equal(tolerance_find(&table, "relu", DTYPE_F8E4M3)->tolerance.rule, RULE_BOUND);
    expect("tolerances:\n  '*': {f32: {rounding: {xhat: bf16}}}\n", "has no point 'xhat'");
}

/* config/tolerances-close.yaml has the bounds of torch.testing._comparison. */
static void the_close_table_is_that_of_torch(void **state)
{
    (void)state;
    static const struct {
        enum dtype dtype;
        double rtol, atol;
    } torch[] = {{DTYPE_F16, 1e-3, 1e-5},
                 {DTYPE_BF16, 1.6e-2, 1e-5},
                 {DTYPE_F32, 1.3e-6, 1e-5},
                 {DTYPE_F64, 1e-7, 1e-7}};
    struct yaml_doc *doc = NULL;
    struct tolerance_table table = {0};
    struct error err = {0};
    memset(&complaints, 0, sizeof complaints);
    if (yaml_doc_load(&doc, "config/tolerances-close.yaml", &err))
        fail_msg("%s", err.text);
    tolerance_add(&table, &arena, yaml_get(yaml_doc_root(doc), "tolerances"), complain_to,
                  &complaints);
    assert_int_equal(complaints.count, 0);
    for (size_t i = 0; i < ref_builtin_count; i++) {
        const char *op = ref_builtins[i].name;
        for (size_t j = 0; j < 4; j++) {
            const struct tolerance_row *row = tolerance_find(&table, op, torch[j].dtype);
            assert_non_null(row);
            assert_int_equal(row->tolerance.rule, RULE_CLOSE);
            assert_true(row->tolerance.rtol == torch[j].rtol);
            assert_true(row->tolerance.atol == torch[j].atol);
        }
        assert_int_equal(tolerance_find(&table, op, DTYPE_I64)->tolerance.rule, RULE_BITWISE);
    }
    yaml_doc_destroy(doc);
}

static void contracts_are_read(void **state)
{
    (void)state;
    struct tolerance_table table = rows("tolerances:\n"
                                        "  adamw: {bf16: {rule: stochastic}}\n"
                                        "  softmax: {bf16: {masked_rows: zero}}\n"
                                        "  matmul: {bf16: {accumulate: fp8_tensor}}\n"
                                        "  linear_f8: {bf16: {accumulate: fp8_fast}}\n"
                                        "  bmm: {bf16: {accumulate: bf16_parts}}\n"
                                        "  linear: {bf16: {false_alarm: 1e-6}}\n");
    assert_int_equal(complaints.count, 0);
    const struct tolerance *row = &tolerance_find(&table, "adamw", DTYPE_BF16)->tolerance;
    assert_int_equal(row->rule, RULE_STOCHASTIC);
    assert_int_equal(row->masked_rows, MASKED_NAN);
    row = &tolerance_find(&table, "softmax", DTYPE_BF16)->tolerance;
    assert_int_equal(row->masked_rows, MASKED_ZERO);
    row = &tolerance_find(&table, "matmul", DTYPE_BF16)->tolerance;
    assert_true(row->chain.roundoff == 0x1.1p-13 && row->chain.terms == 128);
    assert_int_equal(row->accumulate, DTYPE_F32);
    row = &tolerance_find(&table, "linear_f8", DTYPE_BF16)->tolerance;
    assert_true(row->chain.roundoff == 0x1.1p-13 && row->chain.terms == 0);
    assert_int_equal(row->accumulate, DTYPE_F32);
    row = &tolerance_find(&table, "bmm", DTYPE_BF16)->tolerance;
    assert_true(row->chain.roundoff == 0x1p-8 && row->chain.terms == 1);
    row = &tolerance_find(&table, "linear", DTYPE_BF16)->tolerance;
    assert_true(row->false_alarm == 1e-6 && row->chain.roundoff == 0);
}

/* How often a sum of n roundings of +-1/2 ulp leaves the bound: the theory promises at most
 * `false_alarm` of `launches` launches of N sums each. */
static void lambda_keeps_its_false_alarms(void **state)
{
    (void)state;
    struct tolerance row = tolerance_fallback(DTYPE_F32);
    assert_true(tolerance_lambda(&row, 1e12) == 8);
    row.false_alarm = 1e-6;
    assert_float_equal(tolerance_lambda(&row, 1e7), 7.826, 0.001);
    assert_float_equal(tolerance_lambda(&row, 4e7), 8, 0.002);
    assert_true(tolerance_lambda(&row, 0) == tolerance_lambda(&row, 1));
    enum { LAUNCHES = 2000, OUTPUTS = 50, N = 64 };
    row.false_alarm = 0.1;
    double lambda = tolerance_lambda(&row, OUTPUTS);
    int alarms = 0, alarms_of_half = 0;
    uint64_t random = 1;
    for (int i = 0; i < LAUNCHES; i++) {
        bool alarm = false, half = false;
        for (int j = 0; j < OUTPUTS; j++) {
            int sum =
                0; /* each rounding off by a whole u, either way: the worst case of the theory */
            for (int k = 0; k < N; k++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                sum += random >> 63 ? 1 : -1;
            }
            alarm |= abs(sum) > lambda * 8; /* sqrt(N) */
            half |= abs(sum) > lambda / 2 * 8;
        }
        alarms += alarm;
        alarms_of_half += half;
    }
    assert_true(alarms <= LAUNCHES / 10);
    assert_true(alarms_of_half > LAUNCHES / 2); /* it is no bound that nothing reaches */
}

static void accumulators_have_their_numbers(void **state)
{
    (void)state;
    assert_true(tolerance_roundoff(DTYPE_F32) == 0x1p-24);
    assert_true(tolerance_roundoff(DTYPE_F64) == 0x1p-53);
    assert_true(tolerance_roundoff(DTYPE_F16) == 0x1p-11);
    assert_true(tolerance_roundoff(DTYPE_BF16) == 0x1p-8);
    assert_true(tolerance_underflow(DTYPE_F16) == 0x1p-14);
    assert_true(tolerance_underflow(DTYPE_BF16) == 0x1p-126);
    assert_int_equal(tolerance_fallback(DTYPE_F64).accumulate, DTYPE_F64);
    assert_int_equal(tolerance_fallback(DTYPE_I32).accumulate, DTYPE_F32);
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
        cmocka_unit_test(rows_are_found_by_op_and_dtype),
        cmocka_unit_test(later_rows_win),
        cmocka_unit_test(bad_rows_are_told),
        cmocka_unit_test(points_are_read),
        cmocka_unit_test(a_bad_row_leaves_the_others),
        cmocka_unit_test(the_builtin_table_is_whole_and_gives_reasons),
        cmocka_unit_test(a_star_is_every_reference),
        cmocka_unit_test(the_close_table_is_that_of_torch),
        cmocka_unit_test(contracts_are_read),
        cmocka_unit_test(lambda_keeps_its_false_alarms),
        cmocka_unit_test(accumulators_have_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
