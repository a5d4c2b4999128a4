/* Rounding points of references: what a contract may declare, and what it makes of kernels that
 * round there and of kernels that do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/unit/common/ref_fixture.h"

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

/* A kernel that rounds where the contract rounds is right, one that keeps more precision is not:
 * models that were trained with the rounding depend on it. Without the contract it is the
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
    /* f16 has subnormals, and overflows: then there is no verdict. */
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

/* Positions that are not given: of sequences of three tokens, two of which a cache holds already.
 * cos(p) = 10 p and sin = 0, so that an element shows its position. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_point_must),
        cmocka_unit_test(test_point_numbers),
        cmocka_unit_test(test_point_of_partial_sums),
        cmocka_unit_test(test_point_of_an_activation),
        cmocka_unit_test(test_rotary_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
