/*
 * test_attention.c - what the catalogue leaves out about attention: probabilities rounded for the
 * tensor cores, rows that see nothing, the gradient from y alone, samples of large problems.
 *
 * Kernels are plain loops with f32 sums over bf16 arrays, online over tiles of keys as on a GPU.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/common/ref_view.h"

/* One sequence and one kv head: [time][heads][dim], keys the same without heads. */
enum { HEADS = 2, DIM = 32, KEYS_MAX = 2048, ROWS_MAX = 64 };

static uint16_t q[ROWS_MAX * HEADS * DIM], k[KEYS_MAX * DIM], v[KEYS_MAX * DIM],
    y[ROWS_MAX * HEADS * DIM], dy[ROWS_MAX * HEADS * DIM], dq[ROWS_MAX * HEADS * DIM];
static float bias[HEADS * ROWS_MAX * KEYS_MAX], lse[HEADS * ROWS_MAX];

/* --------------------------------------------------------------------------- the kernel */

/* What a kernel does, and what is wrong with it. */
struct way {
    int64_t rows, keys;
    int64_t right; /* places behind its own that it attends to, -1 all; the last face each other */
    float cap;     /* 0: none */
    bool narrow_weights; /* probabilities in bf16 */
    bool narrow_sums;    /* y in bf16 between tiles of 64 keys */
    bool half_sums;      /* y in f16 */
    bool no_rescale;     /* a new maximum leaves the old sum as it is */
    bool nan;            /* 0 / 0 for a row without keys */
    float scale;
};

static float score_of(const struct way *way, int64_t i, int64_t h, int64_t j)
{
    float dot = 0;
    for (int64_t l = 0; l < DIM; l++)
        dot += widen(q[(i * HEADS + h) * DIM + l]) * widen(k[j * DIM + l]);
    dot *= way->scale;
    return way->cap > 0 ? way->cap * tanhf(dot / way->cap) : dot;
}

static void attend_row(const struct way *way, int64_t i, int64_t h)
{
    float most = -INFINITY, total = 0, sum[DIM] = {0};
    int64_t at = i + way->keys - way->rows;
    int64_t end = way->right < 0 || at + way->right >= way->keys ? way->keys : at + way->right + 1;
    for (int64_t j = 0; j < end; j++) {
        float s = score_of(way, i, h, j) + bias[(h * way->rows + i) * way->keys + j];
        float next = fmaxf(most, s), old = most == next ? 1 : expf(most - next);
        float p = next == -INFINITY ? 0 : expf(s - next);
        old = next == -INFINITY || way->no_rescale ? 1 : old;
        most = next;
        total = total * old + p;
        p = way->narrow_weights ? round_bf16(p) : p;
        for (int64_t c = 0; c < DIM; c++) {
            sum[c] = sum[c] * old + p * widen(v[j * DIM + c]);
            if (way->narrow_sums && j % 64 == 63)
                sum[c] = round_bf16(sum[c]);
            sum[c] = way->half_sums ? (float)(_Float16)sum[c] : sum[c];
        }
    }
    bool nothing = most == -INFINITY && !way->nan;
    for (int64_t c = 0; c < DIM; c++)
        y[(i * HEADS + h) * DIM + c] = narrow(nothing ? 0 : sum[c] / total);
    lse[h * way->rows + i] = most + logf(total);
}

static void attend(const struct way *way)
{
    for (int64_t i = 0; i < way->rows * HEADS; i++)
        attend_row(way, i / HEADS, i % HEADS);
}

/* ---------------------------------------------------------------------------- the check */

/* The call of `attention`, in the order of its formals. */
static struct ref_call attention_call(const struct way *way, bool inner)
{
    struct ref_call call = new_call();
    int64_t rows = way->rows, keys = way->keys;
    call.tensor[0] = view(bias, DTYPE_F32, 0, 1, HEADS, rows, keys);
    call.tensor[1] = view(q, DTYPE_BF16, 1, 1, rows, HEADS, DIM);
    call.tensor[2] = view(k, DTYPE_BF16, 2, 1, keys, 1, DIM);
    call.tensor[3] = view(v, DTYPE_BF16, 3, 1, keys, 1, DIM);
    call.tensor[4] = output(y, DTYPE_BF16, 4, 1, rows, HEADS, DIM);
    call.tensor[5] = output(lse, DTYPE_F32, 5, 0, 1, HEADS, rows);
    const int64_t size[] = {1, HEADS, rows, keys, DIM, 1, DIM, -1, way->right, 1};
    memcpy(call.size, size, sizeof size);
    call.scalar[0] = 1 / sqrt(DIM);
    call.scalar[1] = way->cap;
    call.scalar[2] = -INFINITY;
    if (inner) {
        call.inner_roundoff = 0x1p-8;
        call.inner_least = 0x1p-126;
    }
    return call;
}

static struct ref_verdict judge(const struct way *way, bool inner)
{
    struct ref_call call = attention_call(way, inner);
    return run("attention", &call);
}

static void draw(const struct way *way, double mean)
{
    fill(q, way->rows * HEADS * DIM, 0, 2);
    fill(k, way->keys * DIM, 0, 1);
    fill(v, way->keys * DIM, mean, 1);
    memset(bias, 0, sizeof bias);
}

static struct way usual(int64_t rows, int64_t keys)
{
    return (struct way){.rows = rows,
                        .keys = keys,
                        .right = -1,
                        .scale = (float)(1 / sqrt(DIM)),
                        .narrow_weights = true};
}

/* ------------------------------------------------------------------------------- tests */

static void rounded_probabilities_have_to_be_declared(void **state)
{
    (void)state;
    static const int64_t keys[] = {1, 5, 64, 500, 2048};
    for (int i = 0; i < 5; i++) {
        random_state = (uint64_t)i;
        struct way way = usual(64, keys[i]);
        draw(&way, 0);
        attend(&way);
        struct ref_verdict with = judge(&way, true), without = judge(&way, false);
        assert_true(with.checked >= 64 * HEADS * (DIM + 1)); /* all, or a sample of as many */
        assert_int_equal(with.violations, 0);
        assert_true(with.max_ratio < 1 && with.wide <= with.checked / 10);
        if (keys[i] >= 64)
            assert_true(without.violations > 20);
        way.narrow_weights = false;
        attend(&way);
        assert_int_equal(judge(&way, false).violations, 0);
    }
}

/* The declaration must not hide the fault that it resembles. */
static void sums_in_bf16_are_caught_all_the_same(void **state)
{
    (void)state;
    random_state = 3;
    struct way way = usual(16, 2048);
    way.narrow_sums = true;
    draw(&way, 1);
    attend(&way);
    assert_true(judge(&way, true).violations > 50);
    draw(&way, 0);
    attend(&way);
    assert_true(judge(&way, true).violations > 0);
}

/* Nor at 128 keys, where the sums are rounded twice in bf16, or in f16 at each key. */
static void narrow_sums_are_caught_at_128_keys(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        uint64_t right = 0, narrow_sums = 0, half_sums = 0;
        for (uint64_t seed = 0; seed < (i ? 2 : 8); seed++) {
            random_state = 80 + seed;
            struct way way = usual(64, 128);
            draw(&way, i);
            attend(&way);
            right += judge(&way, true).violations;
            way.narrow_sums = true;
            attend(&way);
            narrow_sums += judge(&way, true).violations;
            way.narrow_sums = false;
            way.half_sums = true;
            attend(&way);
            half_sums += i ? judge(&way, true).violations : 0;
        }
        assert_int_equal(right, 0);
        assert_true(narrow_sums > 0);
        if (i) /* else they are off by no more than the probabilities' rounding may be */
            assert_true(half_sums > 0);
    }
}

/* On values of zero mean an f16 accumulator's errors are as large as those of the probabilities'
 * rounding at 128 keys, and larger with more. `false_alarm: 1e-6` has a lambda that fits the
 * launch's number of outputs. Returns in how many of 8 launches one element at least is wrong. */
static int half_sums_of_zero_mean(int64_t keys, bool tight, bool half)
{
    int found = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        random_state = 80 + seed;
        struct way way = usual(64, keys);
        way.half_sums = half;
        draw(&way, 0);
        attend(&way);
        struct ref_call call = attention_call(&way, true);
        if (tight)
            call.lambda = sqrt(2 * log(2 * 64.0 * HEADS * (DIM + 1) / 1e-6));
        found += run("attention", &call).violations > 0;
    }
    return found;
}

static void half_sums_are_found_by_a_false_alarm(void **state)
{
    (void)state;
    static const struct {
        int64_t keys;
        bool tight;
        int least; /* launches of 8 */
    } rows[] = {{128, true, 2}, {256, false, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(half_sums_of_zero_mean(rows[i].keys, rows[i].tight, false), 0);
        assert_in_range(half_sums_of_zero_mean(rows[i].keys, rows[i].tight, true), rows[i].least,
                        8);
    }
}

/* Scores that make probabilities round alike: in groups of equal ones, along a slope, or because
 * they hardly differ. What is left to chance is the scale; values of one sign show it most. */
static void patterns_of_scores_stay_quiet(void **state)
{
    (void)state;
    static const int64_t keys[] = {2, 3, 7, 32, 128, 1000};
    for (int i = 0; i < 6 * 6 * 6; i++) {
        int kind = i % 6;
        struct way way = usual(8, keys[i / 6 % 6]);
        random_state = (uint64_t)i;
        draw(&way, i < 36 ? 0 : 1);
        memset(q, 0, sizeof q);
        double spread = exp(-8 * uniform());
        for (int64_t r = 0; r < HEADS * way.rows; r++) {
            double apart = 4 * uniform();
            for (int64_t j = 0; j < way.keys; j++) {
                const double score[] = {spread * normal(),
                                        spread * uniform(),
                                        -spread * (double)j / (double)way.keys,
                                        apart * (double)(j % 2),
                                        apart * (double)(j % 3) + spread * 1e-2 * normal(),
                                        j % 2 ? apart : spread * normal()};
                bias[r * way.keys + j] = (float)score[kind];
            }
        }
        attend(&way);
        struct ref_verdict verdict = judge(&way, true);
        if (verdict.violations)
            fail_msg("case %d, %lld keys: %llu violations, worst ratio %g", i, (long long)way.keys,
                     (unsigned long long)verdict.violations, verdict.max_ratio);
    }
}

/* Equal keys round alike: the errors add up, and with the declaration they may. */
static void equal_keys_round_alike(void **state)
{
    (void)state;
    random_state = 4;
    struct way way = usual(16, 700);
    draw(&way, 1);
    for (int64_t j = 1; j < 699; j++)
        memcpy(k + j * DIM, k, DIM * sizeof *k);
    attend(&way);
    assert_int_equal(judge(&way, true).violations, 0);
}

static void faults_of_attention_are_caught(void **state)
{
    (void)state;
    struct way right = usual(16, 70);
    right.right = 0;
    right.cap = 5;
    random_state = 5;
    draw(&right, 0);
    attend(&right);
    assert_int_equal(judge(&right, true).violations, 0);
    struct way wrong[] = {right, right, right, right};
    wrong[0].right = 1; /* one key too many */
    wrong[1].cap = 0;
    wrong[2].no_rescale = true;
    wrong[3].scale = 1.0f / DIM;
    for (int i = 0; i < 4; i++) {
        attend(&wrong[i]);
        assert_true(judge(&right, true).violations > 50);
    }
    /* Logits near 0 are what a cap leaves alone: there nothing can be found. */
    fill(q, 16 * HEADS * DIM, 0, 1e-3);
    attend(&wrong[1]);
    assert_int_equal(judge(&right, true).violations, 0);
}

static void rows_that_see_nothing_are_zero(void **state)
{
    (void)state;
    random_state = 6;
    struct way way = usual(16, 9); /* seven queries come before the first key */
    way.right = 0;
    draw(&way, 0);
    for (int64_t j = 0; j < 9; j++)
        bias[(1 * 16 + 12) * 9 + j] = -INFINITY;
    attend(&way);
    struct ref_verdict v1 = judge(&way, true);
    assert_int_equal(v1.violations, 0);
    assert_int_equal(v1.checked, 16 * HEADS * (DIM + 1));
    lse[3] = 0; /* of query 3 */
    assert_int_equal(judge(&way, true).violations, 1);
    way.nan = true;
    attend(&way);
    assert_int_equal(judge(&way, true).class_mismatch, (7 * HEADS + 1) * DIM);
    struct ref_call call = attention_call(&way, true);
    way.nan = false;
    attend(&way);
    call.scalar[2] = INFINITY; /* as FlashAttention 2 passes it */
    assert_int_equal(run("attention", &call).violations, 7 * HEADS + 1);
}

static float round_f16(float x)
{
    return (float)(_Float16)x;
}

/* dq of a kernel that takes the row's product of dy and y from y, unless it is `wrong`. It rounds t
 * times `before`. */
static void pull(const struct way *way, float (*rounded)(float), float before, bool wrong)
{
    for (int64_t i = 0; i < 16 * HEADS; i++) {
        float sum[DIM] = {0}, slope = 0;
        for (int64_t c = 0; c < DIM; c++)
            slope += widen(dy[i * DIM + c]) * widen(y[i * DIM + c]);
        for (int64_t j = 0; j < 60; j++) {
            float change = 0;
            for (int64_t c = 0; c < DIM; c++)
                change += widen(dy[i * DIM + c]) * widen(v[j * DIM + c]);
            float p =
                expf(score_of(way, i / HEADS, i % HEADS, j) - lse[i % HEADS * 16 + i / HEADS]);
            float t = rounded(before * p * (change - (wrong ? 0 : slope)));
            for (int64_t l = 0; l < DIM; l++)
                sum[l] += t * widen(k[j * DIM + l]);
        }
        for (int64_t l = 0; l < DIM; l++)
            dq[i * DIM + l] = narrow(sum[l] * way->scale / before);
    }
}

/* The call for it, of gradients of such a size. */
static struct ref_call pulled_call(struct way *way, double size_of_dy)
{
    *way = usual(16, 60);
    draw(way, 0);
    fill(dy, 16 * HEADS * DIM, 0, size_of_dy);
    attend(way);
    struct ref_call call = new_call();
    call.tensor[0] = view(q, DTYPE_BF16, 0, 1, 16, HEADS, DIM);
    call.tensor[1] = view(k, DTYPE_BF16, 1, 1, 60, 1, DIM);
    call.tensor[2] = view(v, DTYPE_BF16, 2, 1, 60, 1, DIM);
    call.tensor[3] = view(dy, DTYPE_BF16, 3, 1, 16, HEADS, DIM);
    call.tensor[4] = view(lse, DTYPE_F32, 4, 0, 1, HEADS, 16);
    call.tensor[5] = view(y, DTYPE_BF16, 5, 1, 16, HEADS, DIM);
    call.tensor[8] = output(dq, DTYPE_BF16, 8, 1, 16, HEADS, DIM);
    const int64_t size[] = {1, 16, HEADS, DIM, 60, 1, DIM, -1, -1, 1};
    memcpy(call.size, size, sizeof size);
    call.scalar[0] = way->scale;
    return call;
}

static void gradients_follow_from_y(void **state)
{
    (void)state;
    random_state = 7;
    struct way way;
    struct ref_call call = pulled_call(&way, 1);
    call.inner_roundoff = 0x1p-8;
    for (int wrong = 0; wrong < 2; wrong++) {
        pull(&way, round_bf16, 1, wrong);
        struct ref_verdict verdict = run("attention_backward", &call);
        assert_int_equal(verdict.checked, 16 * HEADS * DIM);
        assert_true(wrong ? verdict.violations > 300 : verdict.violations == 0);
    }
}

/* Near f16's least numbers what is rounded is off by as much whatever its size is: t, or s t. */
static void small_gradients_may_be_rounded_in_either_place(void **state)
{
    (void)state;
    random_state = 17;
    struct way way;
    struct ref_call call = pulled_call(&way, 0x1p-14);
    assert_true(way.scale < 0.5f);
    call.inner_roundoff = 0x1p-11;
    call.inner_least = 0x1p-25;
    for (int inside = 0; inside < 2; inside++) {
        for (int wrong = 0; wrong < 2; wrong++) {
            pull(&way, round_f16, inside ? way.scale : 1, wrong);
            uint64_t violations = run("attention_backward", &call).violations;
            assert_true(wrong ? violations > 100 : violations == 0);
        }
    }
    call.inner_least = 0; /* so it is needed */
    pull(&way, round_f16, way.scale, false);
    assert_true(run("attention_backward", &call).violations > 100);
}

/* A mask of -inf leaves a query's lse at -inf: it moves nothing, where exp(-inf + inf) would. */
static void gradients_of_rows_that_see_nothing_are_zero(void **state)
{
    (void)state;
    random_state = 9;
    struct way way = usual(4, 6);
    static float dbias[HEADS * 4 * 6];
    draw(&way, 0);
    fill(dy, 4 * HEADS * DIM, 0, 1);
    for (int64_t j = 0; j < 6; j++)
        bias[(1 * 4 + 2) * 6 + j] = -INFINITY; /* all keys of query 2 of head 1 */
    bias[3] = -INFINITY;                       /* one key of another */
    attend(&way);
    struct ref_call call = new_call();
    call.tensor[0] = view(q, DTYPE_BF16, 0, 1, 4, HEADS, DIM);
    call.tensor[1] = view(k, DTYPE_BF16, 1, 1, 6, 1, DIM);
    call.tensor[2] = view(v, DTYPE_BF16, 2, 1, 6, 1, DIM);
    call.tensor[3] = view(dy, DTYPE_BF16, 3, 1, 4, HEADS, DIM);
    call.tensor[4] = view(lse, DTYPE_F32, 4, 0, 1, HEADS, 4);
    call.tensor[5] = view(y, DTYPE_BF16, 5, 1, 4, HEADS, DIM);
    call.tensor[7] = view(bias, DTYPE_F32, 7, 1, HEADS, 4, 6);
    call.tensor[8] = output(dq, DTYPE_BF16, 8, 1, 4, HEADS, DIM);
    call.tensor[11] = output(dbias, DTYPE_F32, 11, 1, HEADS, 4, 6);
    const int64_t size[] = {1, 4, HEADS, DIM, 6, 1, DIM, -1, -1, 1};
    memcpy(call.size, size, sizeof size);
    call.scalar[0] = way.scale;
    static double store[HEADS * 4 * 6];
    call.store = store;
    call.store_tensor = 11;
    call.store_count = HEADS * 4 * 6;
    run("attention_backward", &call);
    for (int64_t i = 0; i < HEADS * 4 * 6; i++) {
        bool nothing = i / 6 == 1 * 4 + 2 || i == 3;
        assert_true(nothing ? store[i] == 0 : isfinite(store[i]) && store[i] != 0);
    }
    static double moved[4 * HEADS * DIM];
    call.store = moved;
    call.store_tensor = 8;
    call.store_count = 4 * HEADS * DIM;
    run("attention_backward", &call);
    for (int64_t i = 0; i < 4 * HEADS * DIM; i++)
        assert_true(i / DIM == 2 * HEADS + 1 ? moved[i] == 0 : isfinite(moved[i]));
}

/* 2^26 multiplications a pass: 2048 keys of 32 dims are 1023 pieces of 8 elements. */
static void large_problems_are_sampled(void **state)
{
    (void)state;
    random_state = 8;
    struct way way = usual(64, 2048);
    draw(&way, 0);
    struct ref_call call = attention_call(&way, true);
    call.size[2] = 4096; /* queries, all at the same place in memory */
    call.tensor[1].dim[1] = call.tensor[4].dim[1] = call.tensor[0].dim[2] = 4096;
    call.tensor[1].stride[1] = call.tensor[4].stride[1] = call.tensor[0].stride[2] = 0;
    call.tensor[5].got = NULL;
    struct way one = usual(1, 2048);
    attend(&one);
    struct ref_verdict verdict = run("attention", &call);
    assert_int_equal(verdict.checked, 67108864 / (2048 * DIM + 1) * 8);
    assert_int_equal(verdict.violations, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounded_probabilities_have_to_be_declared),
        cmocka_unit_test(sums_in_bf16_are_caught_all_the_same),
        cmocka_unit_test(narrow_sums_are_caught_at_128_keys),
        cmocka_unit_test(half_sums_are_found_by_a_false_alarm),
        cmocka_unit_test(patterns_of_scores_stay_quiet),
        cmocka_unit_test(equal_keys_round_alike),
        cmocka_unit_test(faults_of_attention_are_caught),
        cmocka_unit_test(rows_that_see_nothing_are_zero),
        cmocka_unit_test(gradients_follow_from_y),
        cmocka_unit_test(small_gradients_may_be_rounded_in_either_place),
        cmocka_unit_test(gradients_of_rows_that_see_nothing_are_zero),
        cmocka_unit_test(large_problems_are_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
