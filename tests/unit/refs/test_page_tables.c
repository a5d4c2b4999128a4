/* What the catalogue leaves out about serving: FlashInfer's tables of pages, written in three ways,
 * and the ids that a router picks, in any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/common/ref_view.h"

/* Three sequences with 2, 0 and 1 pages of 4 places; the second has none and appends nothing. */
enum { HEADS = 2, DIM = 32, PAGE = 4, POOL = 7, CACHE = POOL * PAGE * DIM };

static uint16_t q[3 * HEADS * DIM], k[CACHE], v[CACHE], y[3 * HEADS * DIM];
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

/* Token t lands where the table puts it; `at` are places of the whole pool. */
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

/* The same appending written in three ways: places, lengths alone, one token for each sequence. */
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
    for (int given = 0; given < 2; given++) { /* one query for each, declared or not */
        if (given)
            csr.tensor[3] = view(queries, DTYPE_I64, 3, 0, 0, 0, 4);
        memset(listed, 0xff, sizeof listed);
        run("attention_paged_csr", &csr);
        assert_memory_equal(listed, by_table, sizeof listed);
    }
    assert_true(by_table[0] != 0 && by_table[HEADS * DIM] == 0); /* the second has no keys */
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
        call.tensor[0] = view(x, DTYPE_F32, 0, 0, 1, 1, 5);
        call.tensor[1] = output(places, DTYPE_I64, 1, 0, 1, 1, best);
        call.tensor[1].rule = RULE_BITWISE;
        const int64_t size[] = {1, 1, 5, best};
        memcpy(call.size, size, sizeof size);
        struct ref_verdict verdict = run("topk_unsorted", &call);
        assert_int_equal(verdict.checked, best);
        assert_int_equal(verdict.violations, rows[i].wrong);
        call.tensor[2] = output(values, DTYPE_F32, 2, 0, 1, 1, best);
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

/* The smallest of {5, 3, 3, NaN, 1} and {Inf, NaN, 1, Inf, NaN}: NaN only where nothing else is
 * left. */
static void any_order_of_the_smallest_is_right(void **state)
{
    (void)state;
    static float near[] = {5, 3, 3, NAN, 1}, far[] = {INFINITY, NAN, 1, INFINITY, NAN};
    static int64_t places[5];
    static const struct {
        float *x;
        int64_t best, place[5];
        uint64_t wrong;
        int64_t last; /* where the last of them should lie */
    } rows[] = {{near, 2, {4, 1}, 0, 1},        {near, 2, {2, 4}, 0, 4},
                {near, 2, {1, 2}, 1, 1},        {near, 2, {4, 3}, 1, 1},
                {near, 2, {4, 0}, 1, 1},        {near, 2, {4, 4}, 1, 1},
                {near, 4, {0, 1, 2, 4}, 0, 4},  {near, 5, {3, 0, 1, 2, 4}, 0, 4},
                {near, 4, {3, 1, 2, 4}, 1, 4},  {near, 5, {4, 0, 1, 2, 2}, 1, 3},
                {far, 2, {2, 3}, 0, 3},         {far, 2, {2, 1}, 1, 0},
                {far, 4, {4, 3, 0, 2}, 0, 2},   {far, 3, {2, 0, 4}, 1, 3},
                {far, 5, {2, 0, 3, 1, 1}, 1, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ref_call call = new_call();
        for (int64_t j = 0; j < rows[i].best; j++)
            places[j] = rows[i].place[j];
        call.tensor[0] = view(rows[i].x, DTYPE_F32, 0, 0, 1, 1, 5);
        call.tensor[1] = output(places, DTYPE_I64, 1, 0, 1, 1, rows[i].best);
        call.tensor[1].rule = RULE_BITWISE;
        const int64_t size[] = {1, 1, 5, rows[i].best, 1};
        memcpy(call.size, size, sizeof size);
        struct ref_verdict verdict = run("topk_unsorted", &call);
        assert_int_equal(verdict.checked, rows[i].best);
        if ((verdict.violations > 0) != (rows[i].wrong > 0))
            fail_msg("row %zu: %d violations", i, (int)verdict.violations);
        double last;
        call.store = &last;
        call.store_tensor = 1;
        call.store_first = rows[i].best - 1;
        call.store_count = 1;
        run("topk_unsorted", &call);
        if (last != (double)rows[i].last)
            fail_msg("row %zu: the last should lie at %g", i, last);
    }
}

/* Keys {2, NaN, 1, 2} with the values 10 to 13, sorted in place. */
static void pairs_are_sorted_by_their_keys(void **state)
{
    (void)state;
    static const float before[] = {2, NAN, 1, 2};
    static const int64_t beside[] = {10, 11, 12, 13};
    static const struct {
        int64_t down;
        float key[4];
        int64_t value[4];
        uint64_t wrong;
    } rows[] = {{0, {1, 2, 2, NAN}, {12, 10, 13, 11}, 0}, {0, {1, 2, 2, NAN}, {12, 13, 10, 11}, 0},
                {0, {1, 2, 2, NAN}, {12, 10, 10, 11}, 2}, {0, {1, 2, 2, NAN}, {11, 10, 13, 12}, 2},
                {0, {NAN, 1, 2, 2}, {11, 12, 10, 13}, 6}, {0, {1, 1, 2, NAN}, {12, 12, 10, 11}, 3},
                {1, {NAN, 2, 2, 1}, {11, 10, 13, 12}, 0}, {1, {2, 2, 1, NAN}, {10, 13, 12, 11}, 6},
                {1, {NAN, 2, 1, 2}, {11, 10, 12, 13}, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ref_call call = new_call();
        call.tensor[0] = output(rows[i].key, DTYPE_F32, 0, 0, 1, 1, 4);
        call.tensor[0].in = before;
        call.tensor[1] = output(rows[i].value, DTYPE_I64, 1, 0, 1, 1, 4);
        call.tensor[1].in = beside;
        call.tensor[0].rule = call.tensor[1].rule = RULE_BITWISE;
        const int64_t size[] = {1, 1, 4, rows[i].down};
        memcpy(call.size, size, sizeof size);
        struct ref_verdict verdict = run("sort_pairs", &call);
        assert_int_equal(verdict.checked, 8);
        if (verdict.violations != rows[i].wrong)
            fail_msg("row %zu: %d violations", i, (int)verdict.violations);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_appended_to_listed_pages),
        cmocka_unit_test(listed_pages_are_those_of_a_table),
        cmocka_unit_test(any_order_of_the_largest_is_right),
        cmocka_unit_test(any_order_of_the_smallest_is_right),
        cmocka_unit_test(pairs_are_sorted_by_their_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
