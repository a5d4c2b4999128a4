/* What a reference answers besides: statistics and notes, pieces and stored values; and what it
 * refuses to read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/common/ref_fixture.h"
#include "value/verdict.h"

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
    assert_true(v.max_ratio == 0);
    assert_true(v.max_rel > 0.0035 && v.max_rel < 0.00392);
    assert_int_equal(v.first_index, REF_NO_INDEX);
}

/* A ratio is of elements that are off by more than their own rounding, here by what the accumulator
 * may be. */
static void test_ratio_of_error_and_bound(void **state)
{
    (void)state;
    fill(&in_x, DTYPE_F32, 20000, 0, 1);
    struct ref_call call = softmax_call(DTYPE_BF16, 20, 1000);
    call.scalar[0] = 0.75;
    call.unit_roundoff = 0x1p-12;
    for (int64_t i = 0; i < 20000; i++)
        set(&out_y, i, 0.75 * x_at(i) * (1 + 0.99 * 0x1p-12));
    struct ref_verdict v = run("scale", &call);
    expect_quiet("an accumulator of 12 bits", &v, 20000);
    assert_true(v.max_ratio > 0.95 && v.max_ratio <= 1);
    for (int64_t i = 0; i < 20000; i++)
        set(&out_y, i, 0.75 * x_at(i) * (1 + 2 * 0x1p-12));
    v = run("scale", &call);
    assert_true(v.violations > 0 && v.violations < 2000);
    assert_true(v.max_ratio > 1 && v.max_ratio < 1.2);
    assert_true(get(&out_y, (int64_t)v.worst_index) == v.worst_got);
    assert_true(0.75 * x_at((int64_t)v.worst_index) == v.worst_ref);
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
    enum { KINDS = 4 + REF_MAX_SIZES, ONE_SIZE = 4 };
    for (size_t i = 0; i < ref_builtin_count; i++) {
        for (int64_t j = 0; j < 7 * KINDS; j++) {
            struct ref_call call = matmul_call(DTYPE_BF16, 4, 16, 4, 0);
            for (int t = 0; t < 5; t++) {
                struct ref_tensor *tensor_ = &call.tensor[t];
                tensor_->in = in_x.bits;
                tensor_->got = out_y.bits;
                tensor_->bytes = 64;
                for (int k = 0; k < REF_MAX_DIMS; k++) {
                    tensor_->dim[k] = j % KINDS == 0 ? values[j / KINDS] : 8;
                    tensor_->stride[k] =
                        j % KINDS == 1 ? values[j / KINDS] : k == 1 || j % KINDS >= ONE_SIZE;
                }
                if (j % KINDS == 2)
                    tensor_->bytes = values[j / KINDS] < 64 ? values[j / KINDS] : 64;
            }
            for (int k = 0; k < REF_MAX_SIZES; k++)
                call.size[k] = j % KINDS == 3 || j % KINDS == ONE_SIZE + k ? values[j / KINDS] : 8;
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
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_ratio_of_error_and_bound),
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
