/* What `cuvet discover` reads from a Numba kernel's symbol. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>
#include "tools/discover/facts/numba.h"

static void an_array_is_a_word_for_each_field(void **state)
{
    static const enum numba_role expected[] = {
        NUMBA_SCALAR, NUMBA_UNUSED, NUMBA_UNUSED, NUMBA_UNUSED, NUMBA_UNUSED, NUMBA_DATA,
        NUMBA_SIZE,   NUMBA_SIZE,   NUMBA_UNUSED, NUMBA_UNUSED, NUMBA_SCALAR,
    };
    struct numba_word word[LAYOUT_MAX];
    (void)state;
    unsigned count = numba_words("double, Array<float, 2, C, mutable, aligned>, int)", word);
    assert_int_equal(count, sizeof expected / sizeof *expected);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(word[i].role, expected[i]);
    assert_int_equal(word[0].dtype, DTYPE_F64);
    assert_int_equal(word[5].dtype, DTYPE_F32);
    assert_int_equal(word[10].dtype, DTYPE_I32);
}

/* A tuple of two words is one type of the list, which the count of parameters then shows. */
static void other_lists_have_no_words(void **state)
{
    static const char *const lists[] = {"float*, int)",
                                        "",
                                        ")",
                                        "std::array<float, 2>, int)",
                                        "Array<float)",
                                        "Array<float, -1, C>)",
                                        "Array<float, 99, C>)",
                                        "Array<"};
    struct numba_word word[LAYOUT_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        assert_int_equal(numba_words(lists[i], word), 0);
}

static void more_words_than_a_layout_has_are_none(void **state)
{
    char list[2048] = "";
    struct numba_word word[LAYOUT_MAX];
    size_t used = 0;
    (void)state;
    for (int i = 0; i < 14; i++)
        used += (size_t)snprintf(list + used, sizeof list - used,
                                 "Array<float, 1, C, mutable, aligned>, ");
    assert_int_equal(numba_words(list, word), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_is_a_word_for_each_field),
        cmocka_unit_test(other_lists_have_no_words),
        cmocka_unit_test(more_words_than_a_layout_has_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
