/*
 * test_attention.c - what the catalogue leaves out about attention: probabilities rounded for the
 * tensor cores, rows that see nothing, the gradient from y alone, samples of large problems; and
 * the fused gradient of an embedding and a norm whose sums are kept in bf16.
 *
 * Kernels are plain loops with f32 sums over bf16 arrays, online over tiles of keys as on a GPU.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "random_values.h"
#include "refs/ref_host.h"
#include "refs/ref_list.h"
#include "refs/ref_merge.h"

/* One sequence and one kv head: [time][heads][dim], keys the same without heads. */
enum { HEADS = 2, DIM = 32, KEYS_MAX = 2048, ROWS_MAX = 64 };

static uint16_t q[ROWS_MAX * HEADS * DIM], k[KEYS_MAX * DIM], v[KEYS_MAX * DIM],
    y[ROWS_MAX * HEADS * DIM], dy[ROWS_MAX * HEADS * DIM], dq[ROWS_MAX * HEADS * DIM];
static float bias[HEADS * ROWS_MAX * KEYS_MAX], lse[HEADS * ROWS_MAX];
static uint16_t narrow(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        return 0x7fff;
    bits += 0x7fff + (bits >> 16 & 1);
    return (uint16_t)(bits >> 16);
}

static float widen(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float round_bf16(float x)
{
    return widen(narrow(x));
}

static void fill(uint16_t *a, int64_t count, double mean, double spread)
{
    for (int64_t i = 0; i < count; i++)
        a[i] = narrow((float)(mean + spread * normal()));
}

/* --------------------------------------------------------------------------- the kernel */

/* What a kernel does, and what is wrong with it. */
struct way {
    int64_t rows, keys;
    int64_t right; /* places behind its own that a query sees, -1 all; the last face each other */
    float cap;     /* 0: none */
    bool narrow_weights; /* probabilities in bf16 */
    bool narrow_sums;    /* y in bf16 between tiles of 64 keys */
    bool no_rescale;     /* a new maximum leaves the old sum as it is */
    bool nan;            /* 0 / 0 for a row that sees nothing */
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

static struct ref_tensor view(const void *data, enum dtype dtype, uint32_t id, int64_t a, int64_t b,
                              int64_t c, int64_t d)
{
    struct ref_tensor t = {.in = data, .dtype = (uint8_t)dtype, .ndim = 4, .id = id};
    int64_t dim[4] = {a, b, c, d}, stride = 1;
    int bytes = dtype == DTYPE_BF16 ? 2 : dtype == DTYPE_I64 ? 8 : 4;
    int first = a > 0 ? 0 : b > 0 ? 1 : c > 0 ? 2 : 3; /* fewer dims: zeros in front */
    for (int i = 3; i >= first; i--) {
        t.dim[i - first] = dim[i];
        t.stride[i - first] = stride;
        stride *= dim[i];
    }
    t.ndim = (uint8_t)(4 - first);
    t.bytes = stride * bytes;
    return t;
}

static struct ref_tensor output(const void *data, enum dtype dtype, uint32_t id, int64_t a,
                                int64_t b, int64_t c, int64_t d)
{
    struct ref_tensor t = view(data, dtype, id, a, b, c, d);
    t.got = t.in;
    t.in = NULL;
    return t;
}

static struct ref_call new_call(void)
{
    return (struct ref_call){.lambda = 8,
                             .unit_roundoff = 0x1p-24,
                             .underflow = 0x1p-126,
                             .pieces = 1,
                             .seed = 1,
                             .sequence = 1,
                             .group = 1};
}

static struct ref_verdict run(const char *name, struct ref_call *call)
{
    static struct ref_verdict answer;
    ref_verdict_clear(&answer);
    call->answer = &answer;
    assert_int_equal(ref_host_run(name, call, 0), 0);
    assert_int_equal(answer.refused, 0);
    return answer;
}

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
    call.scalar[2] = INFINITY; /* as FlashAttention 2 says it */
    assert_int_equal(run("attention", &call).violations, 7 * HEADS + 1);
}

/* dq of a kernel that takes the row's product of dy and y from y. */
static void gradients_follow_from_y(void **state)
{
    (void)state;
    random_state = 7;
    struct way way = usual(16, 60);
    draw(&way, 0);
    fill(dy, 16 * HEADS * DIM, 0, 1);
    attend(&way);
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
    call.scalar[0] = way.scale;
    call.inner_roundoff = 0x1p-8;
    for (int wrong = 0; wrong < 2; wrong++) {
        for (int64_t i = 0; i < 16 * HEADS; i++) {
            float sum[DIM] = {0}, slope = 0;
            for (int64_t c = 0; c < DIM; c++)
                slope += widen(dy[i * DIM + c]) * widen(y[i * DIM + c]);
            for (int64_t j = 0; j < 60; j++) {
                float change = 0;
                for (int64_t c = 0; c < DIM; c++)
                    change += widen(dy[i * DIM + c]) * widen(v[j * DIM + c]);
                float p =
                    expf(score_of(&way, i / HEADS, i % HEADS, j) - lse[i % HEADS * 16 + i / HEADS]);
                float t = round_bf16(p * (change - (wrong ? 0 : slope)));
                for (int64_t l = 0; l < DIM; l++)
                    sum[l] += t * widen(k[j * DIM + l]);
            }
            for (int64_t l = 0; l < DIM; l++)
                dq[i * DIM + l] = narrow(sum[l] * way.scale);
        }
        struct ref_verdict verdict = run("attention_backward", &call);
        assert_int_equal(verdict.checked, 16 * HEADS * DIM);
        assert_true(wrong ? verdict.violations > 300 : verdict.violations == 0);
    }
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

/* ------------------------------------------------- FlashInfer's page tables and a router's ids */

/* Three sequences with 2, 0 and 1 pages of 4 places; the second has none and appends nothing. */
enum { PAGE = 4, POOL = 7, CACHE = POOL * PAGE * DIM };

static int64_t kv_indptr[] = {0, 2, 2, 3}, kv_indices[] = {5, 0, 3}, last_page_len[] = {3, 0, 2};
static float pool[CACHE], pool_before[CACHE], fresh[4 * DIM];

static struct ref_call append_call(int64_t tokens)
{
    struct ref_call call = new_call();
    call.tensor[0] = view(fresh, DTYPE_F32, 0, 0, tokens, 1, DIM);
    call.tensor[5] = view(kv_indptr, DTYPE_I64, 5, 0, 0, 0, 4);
    call.tensor[6] = view(kv_indices, DTYPE_I64, 6, 0, 0, 0, 3);
    call.tensor[7] = view(last_page_len, DTYPE_I64, 7, 0, 0, 0, 3);
    call.tensor[8] = output(pool, DTYPE_F32, 8, POOL, PAGE, 1, DIM);
    call.tensor[8].in = pool_before;
    const int64_t size[] = {tokens, 1, DIM, DIM, 4, 3, 3, POOL, PAGE};
    memcpy(call.size, size, sizeof size);
    return call;
}

/* Token t lands where the table says; `at` are places of the whole pool. */
static void append(const int64_t *at, int64_t tokens)
{
    for (int64_t i = 0; i < CACHE; i++)
        pool[i] = pool_before[i] = (float)normal();
    for (int64_t i = 0; i < 4 * DIM; i++)
        fresh[i] = (float)normal();
    for (int64_t i = 0; i < tokens * DIM; i++)
        if (at[i / DIM] >= 0)
            pool[at[i / DIM] * DIM + i % DIM] = fresh[i];
}

/* The same appending said in three ways: places, lengths alone, one token for each sequence. */
static void tokens_are_appended_to_listed_pages(void **state)
{
    (void)state;
    static const int64_t by_place[] = {0 * PAGE + 2, 3 * PAGE + 1, 0 * PAGE + 1};
    static const int64_t by_length[] = {0 * PAGE + 1, 0 * PAGE + 2, 3 * PAGE + 1, -1};
    static const int64_t one_each[] = {0 * PAGE + 2, -1, 3 * PAGE + 1};
    static int64_t batch[] = {0, 2, 0}, positions[] = {6, 1, 5}, starts[] = {0, 2, 2, 3};
    struct ref_call calls[3] = {append_call(3), append_call(4), append_call(3)};
    const int64_t *places[3] = {by_place, by_length, one_each};
    random_state = 12;
    calls[0].tensor[2] = view(batch, DTYPE_I64, 2, 0, 0, 0, 3);
    calls[0].tensor[3] = view(positions, DTYPE_I64, 3, 0, 0, 0, 3);
    calls[1].tensor[4] = view(starts, DTYPE_I64, 4, 0, 0, 0, 4); /* and a token of padding */
    for (int i = 0; i < 3; i++) {
        append(places[i], i == 1 ? 4 : 3);
        struct ref_verdict right = run("cache_append_csr", &calls[i]);
        assert_int_equal(right.violations, 0);
        assert_int_equal(right.checked, CACHE);
        pool[places[i][0] * DIM + 3] += 1; /* a token that arrived wrong */
        assert_true(run("cache_append_csr", &calls[i]).violations > 0);
        pool[places[i][0] * DIM + 3] -= 1;
        pool[(6 * PAGE + 1) * DIM] += 1; /* a place that no token goes to */
        assert_true(run("cache_append_csr", &calls[i]).violations > 0);
    }
}

/* Attention over listed pages is that over a table of them. */
static void listed_pages_are_those_of_a_table(void **state)
{
    (void)state;
    static int64_t table[] = {5, 0, 3, 3, 3, 3}, lengths[] = {7, 0, 2}, queries[] = {0, 1, 2, 3};
    static double by_table[3 * HEADS * DIM], listed[3 * HEADS * DIM];
    random_state = 13;
    fill(q, 3 * HEADS * DIM, 0, 1);
    fill(k, CACHE, 0, 1);
    fill(v, CACHE, 0, 1);
    struct ref_call paged = new_call(), csr = new_call();
    paged.tensor[0] = view(q, DTYPE_BF16, 0, 3, 1, HEADS, DIM);
    csr.tensor[0] = view(q, DTYPE_BF16, 0, 0, 3, HEADS, DIM);
    paged.tensor[1] = csr.tensor[1] = view(k, DTYPE_BF16, 1, POOL, PAGE, 1, DIM);
    paged.tensor[2] = csr.tensor[2] = view(v, DTYPE_BF16, 2, POOL, PAGE, 1, DIM);
    paged.tensor[3] = view(table, DTYPE_I64, 3, 0, 0, 3, 2);
    paged.tensor[4] = view(lengths, DTYPE_I64, 4, 0, 0, 0, 3);
    paged.tensor[5] = output(y, DTYPE_BF16, 5, 3, 1, HEADS, DIM);
    csr.tensor[4] = view(kv_indptr, DTYPE_I64, 4, 0, 0, 0, 4);
    csr.tensor[5] = view(kv_indices, DTYPE_I64, 5, 0, 0, 0, 3);
    csr.tensor[6] = view(last_page_len, DTYPE_I64, 6, 0, 0, 0, 3);
    csr.tensor[7] = output(y, DTYPE_BF16, 7, 0, 3, HEADS, DIM);
    const int64_t size[] = {3, 1, HEADS, DIM, POOL, PAGE, 1, DIM, 2, -1, 0};
    const int64_t csr_size[] = {3, HEADS, DIM, POOL, PAGE, 1, DIM, 4, 3, 3, -1, 0};
    memcpy(paged.size, size, sizeof size);
    memcpy(csr.size, csr_size, sizeof csr_size);
    paged.scalar[0] = csr.scalar[0] = 0.2;
    csr.scalar[3] = 1;
    paged.store = by_table;
    paged.store_tensor = 5;
    csr.store = listed;
    csr.store_tensor = 7;
    paged.store_count = csr.store_count = 3 * HEADS * DIM;
    run("attention_paged", &paged);
    for (int given = 0; given < 2; given++) { /* one query for each, said or not */
        if (given)
            csr.tensor[3] = view(queries, DTYPE_I64, 3, 0, 0, 0, 4);
        memset(listed, 0xff, sizeof listed);
        run("attention_paged_csr", &csr);
        assert_memory_equal(listed, by_table, sizeof listed);
    }
    assert_true(by_table[0] != 0 && by_table[HEADS * DIM] == 0); /* the second sees nothing */
}

/* Which of {5, 3, 3, NaN, 1} are the largest two, in any order; what is named twice, left out or
 * beyond the row is held against what is missing. */
static void any_order_of_the_largest_is_right(void **state)
{
    (void)state;
    static float x[] = {5, 3, 3, NAN, 1}, values[3];
    static int64_t places[3];
    static const struct {
        int64_t best, place[3];
        uint64_t wrong; /* places; a wrong one's value is another */
        int64_t store[3];
    } rows[] = {{3, {0, 3, 1}, 0, {0, 3, 1}},
                {3, {2, 0, 3}, 0, {2, 0, 3}},
                {3, {1, 2, 3}, 2, {0, 1, 3}},
                {2, {0, 1}, 2, {3, 0}},
                {3, {3, 3, 0}, 1, {3, 1, 0}},
                {3, {-1, 0, 3}, 1, {1, 0, 3}},
                {3, {0, 99, 3}, 1, {0, 1, 3}},
                {1, {3}, 0, {3}},
                {1, {0}, 1, {3}},
                {3, {4, 0, 3}, 1, {1, 0, 3}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ref_call call = new_call();
        int64_t best = rows[i].best;
        double store[3];
        for (int64_t j = 0; j < best; j++) {
            places[j] = rows[i].place[j];
            values[j] = places[j] >= 0 && places[j] < 5 ? x[places[j]] : 0;
        }
        call.tensor[0] = view(x, DTYPE_F32, 0, 0, 0, 1, 5);
        call.tensor[1] = output(places, DTYPE_I64, 1, 0, 0, 1, best);
        call.tensor[1].rule = RULE_BITWISE;
        const int64_t size[] = {1, 5, best};
        memcpy(call.size, size, sizeof size);
        struct ref_verdict verdict = run("topk_unsorted", &call);
        assert_int_equal(verdict.checked, best);
        assert_int_equal(verdict.violations, rows[i].wrong);
        call.tensor[2] = output(values, DTYPE_F32, 2, 0, 0, 1, best);
        assert_int_equal(run("topk_unsorted", &call).violations > rows[i].wrong, rows[i].wrong > 0);
        values[0] += 1;
        if (!isnan(values[0]))
            assert_true(run("topk_unsorted", &call).violations > 0);
        call.store = store;
        call.store_tensor = 1;
        call.store_count = best;
        run("topk_unsorted", &call);
        for (int64_t j = 0; j < best; j++)
            assert_true(store[j] == (double)rows[i].store[j]);
    }
}

/* --------------------------------- embedding gradient and norm: sums over tokens in bf16 */

enum { TOKENS = 4096, ENTRIES = 32000, COLS = 8 };

static int64_t ids[TOKENS];
static uint16_t table[ENTRIES * COLS], grad[TOKENS * COLS], dtable[ENTRIES * COLS];
static float sums[ENTRIES * COLS];

/* The rows' own rms, no weights; `narrow_sums` keeps the sum over tokens in bf16. */
static void embedding_gradient(bool norm, bool narrow_sums)
{
    memset(sums, 0, sizeof sums);
    for (int64_t t = 0; t < TOKENS; t++) {
        const uint16_t *x = table + ids[t] * COLS, *g = grad + t * COLS;
        float square = 0, dot = 0;
        for (int c = 0; c < COLS; c++) {
            square += widen(x[c]) * widen(x[c]) / COLS;
            dot += widen(x[c]) * widen(g[c]) / COLS;
        }
        float inv = 1 / sqrtf(square + 1e-5f);
        for (int c = 0; c < COLS; c++) {
            float one = inv * (widen(g[c]) - widen(x[c]) * inv * inv * dot);
            float *sum = &sums[ids[t] * COLS + c];
            *sum += norm ? one : widen(g[c]);
            *sum = narrow_sums ? round_bf16(*sum) : *sum;
        }
    }
    for (int64_t i = 0; i < ENTRIES * COLS; i++)
        dtable[i] = narrow(sums[i]);
}

static struct ref_verdict judge_embedding(bool norm, uint64_t seed)
{
    struct ref_call call = new_call();
    int out = norm ? 5 : 2;
    call.tensor[0] = view(ids, DTYPE_I64, 0, 0, 0, 0, TOKENS);
    call.tensor[1] = view(grad, DTYPE_BF16, 1, 0, 0, TOKENS, COLS);
    if (norm) {
        call.tensor[2] = view(table, DTYPE_BF16, 2, 0, 0, ENTRIES, COLS);
        call.tensor[3].absent = 1;
    }
    call.tensor[out] = output(dtable, DTYPE_BF16, (uint32_t)out, 0, 0, ENTRIES, COLS);
    const int64_t size[] = {TOKENS, COLS, ENTRIES};
    memcpy(call.size, size, sizeof size);
    call.scalar[0] = norm ? (double)1e-5f : 1;
    call.seed = seed;
    return run(norm ? "embedding_rmsnorm_backward" : "embedding_backward", &call);
}

/* Tokens as benchmarks draw them: no row is hit more than a few times, and still there are
 * elements that were rounded twice. Four launches, since one looks at a sample. */
static void bf16_sums_show_on_uniform_tokens(void **state)
{
    (void)state;
    random_state = 9;
    fill(table, ENTRIES * COLS, 0, 1);
    for (int norm = 0; norm < 2; norm++) {
        uint64_t right = 0, wrong = 0;
        for (uint64_t launch = 0; launch < 4; launch++) {
            for (int64_t t = 0; t < TOKENS; t++)
                ids[t] = (int64_t)(uniform() * ENTRIES);
            fill(grad, TOKENS * COLS, 0, 1);
            embedding_gradient(norm, false);
            right += judge_embedding(norm, launch).violations;
            embedding_gradient(norm, true);
            wrong += judge_embedding(norm, launch).violations;
        }
        assert_int_equal(right, 0);
        assert_true(wrong > (norm ? 50 : 3));
    }
}

/* Tokens as text has them: the most frequent of them takes a good part. */
static void bf16_sums_show_on_frequent_tokens(void **state)
{
    (void)state;
    random_state = 10;
    for (int64_t t = 0; t < TOKENS; t++)
        ids[t] = (int64_t)(pow(ENTRIES, uniform())) - 1;
    fill(table, ENTRIES * COLS, 0, 1);
    fill(grad, TOKENS * COLS, 0.25, 1);
    for (int norm = 0; norm < 2; norm++) {
        embedding_gradient(norm, false);
        assert_int_equal(judge_embedding(norm, 1).violations, 0);
        embedding_gradient(norm, true);
        assert_true(judge_embedding(norm, 1).violations > 400);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounded_probabilities_have_to_be_declared),
        cmocka_unit_test(sums_in_bf16_are_caught_all_the_same),
        cmocka_unit_test(equal_keys_round_alike),
        cmocka_unit_test(faults_of_attention_are_caught),
        cmocka_unit_test(rows_that_see_nothing_are_zero),
        cmocka_unit_test(gradients_follow_from_y),
        cmocka_unit_test(gradients_of_rows_that_see_nothing_are_zero),
        cmocka_unit_test(tokens_are_appended_to_listed_pages),
        cmocka_unit_test(listed_pages_are_those_of_a_table),
        cmocka_unit_test(any_order_of_the_largest_is_right),
        cmocka_unit_test(large_problems_are_sampled),
        cmocka_unit_test(bf16_sums_show_on_uniform_tokens),
        cmocka_unit_test(bf16_sums_show_on_frequent_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
