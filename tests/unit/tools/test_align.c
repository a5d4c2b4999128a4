/* test_align.c - sequences held against each other: pairs are equal and in order, as many as can
 * be; one of millions ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tools/report/diff/align.h"

enum { SHORT = 40, LONG = 200000 };

static uint64_t state_of_random = 1;

static uint64_t random_below(uint64_t limit)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (state_of_random >> 33) % limit;
}

/* Pairs, which are checked: each of equal elements, both indices rising. */
static size_t pairs_of(const uint64_t *first, size_t n, const uint64_t *second, size_t m)
{
    const struct align_sequence a = {first, n}, b = {second, m};
    size_t *partner = calloc(n + 1, sizeof *partner), pairs = 0, next = 0;
    struct error err = {{0}};
    assert_non_null(partner);
    assert_int_equal(align_make(&a, &b, partner, &err), STATUS_OK);
    for (size_t i = 0; i < n; i++) {
        if (partner[i] == ALIGN_NONE)
            continue;
        assert_true(partner[i] >= next && partner[i] < m);
        assert_true(first[i] == second[partner[i]]);
        next = partner[i] + 1;
        pairs++;
    }
    free(partner);
    return pairs;
}

/* The length of a longest common subsequence, by the table of all prefixes. */
static size_t longest(const uint64_t *first, size_t n, const uint64_t *second, size_t m)
{
    static size_t table[SHORT + 1][SHORT + 1];
    memset(table, 0, sizeof table);
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            size_t skip = table[i - 1][j] > table[i][j - 1] ? table[i - 1][j] : table[i][j - 1];
            bool same = first[i - 1] == second[j - 1];
            table[i][j] = same ? table[i - 1][j - 1] + 1 : skip;
        }
    }
    return table[n][m];
}

static void as_many_are_paired_as_can_be(void **state)
{
    (void)state;
    for (int trial = 0; trial < 20000; trial++) {
        uint64_t first[SHORT], second[SHORT], letters = 1 + random_below(8);
        size_t n = random_below(SHORT + 1), m = random_below(SHORT + 1);
        for (size_t i = 0; i < n; i++)
            first[i] = random_below(letters);
        for (size_t i = 0; i < m; i++)
            second[i] = random_below(letters) + (trial % 3 == 0);
        assert_int_equal(pairs_of(first, n, second, m), longest(first, n, second, m));
    }
}

static void insertions_leave_the_others_paired(void **state)
{
    static uint64_t first[LONG], second[2 * LONG];
    size_t m = 0;
    (void)state;
    for (size_t i = 0; i < LONG; i++) {
        first[i] = i % 12;
        second[m++] = i % 12;
        if (i % 1000 == 7)
            second[m++] = i % 5;
        if (i % 12 == 0)
            second[m++] = 99;
    }
    assert_int_equal(pairs_of(first, LONG, second, m), LONG);
    assert_int_equal(pairs_of(second, m, first, LONG), LONG);
}

/* Beyond the bound of a search the pairs are fewer than could be, and still many. */
static void sequences_without_an_order_end(void **state)
{
    static uint64_t first[LONG], second[LONG];
    (void)state;
    for (size_t i = 0; i < LONG; i++) {
        first[i] = random_below(4);
        second[i] = random_below(4);
    }
    assert_true(pairs_of(first, LONG, second, LONG) > LONG / 2);
}

static void a_sequence_without_elements_has_no_pair(void **state)
{
    const uint64_t one[] = {1, 2, 3};
    (void)state;
    assert_int_equal(pairs_of(one, 3, one, 0), 0);
    assert_int_equal(pairs_of(one, 0, one, 3), 0);
    assert_int_equal(pairs_of(one, 3, one, 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_are_paired_as_can_be),
        cmocka_unit_test(insertions_leave_the_others_paired),
        cmocka_unit_test(sequences_without_an_order_end),
        cmocka_unit_test(a_sequence_without_elements_has_no_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
