/* What is printed: text of unknown origin becomes one harmless line of UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "text/printable.h"
#include "text/utf8.h"

static void plain_text_stays(void **state)
{
    static const char *const texts[] = {
        "",
        "void add<float>(float const*, int) [with x = '~']",
        "Gr\xc3\xb6\xc3\x9f"
        "e \xe8\xa1\x8c \xf0\x9f\x98\x80 \xd9\x85\xd8\xb1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_string_equal(PRINTABLE(texts[i]), texts[i]);
    assert_string_equal(PRINTABLE(NULL), "");
}

static void what_steers_a_terminal_goes(void **state)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"a\x1b[2J", "a?[2J"},                         /* clears the screen */
        {"a\x1b]0;title\x07", "a?]0;title?"},          /* sets its title */
        {"a\nnone: 0 mismatch", "a none: 0 mismatch"}, /* forges a line */
        {"a\rb\tc", "a b c"},                          /* goes back to the beginning of one */
        {"a\x08\x7f", "a??"},                          /* deletes */
        {"a\xc2\x9b"
         "31mb",
         "a?31mb"}, /* C1: CSI as one character */
        {"a\x9b"
         "31mb",
         "a?31mb"}, /* the same as a byte */
        {"a\xe2\x80\xae"
         "b\xe2\x81\xa6"
         "c",
         "a?b?c"}, /* right-to-left override, isolate */
        {"a\xe2\x80\xa8"
         "b\xe2\x80\x8b"
         "c\xef\xbb\xbf",
         "a?b?c?"}, /* line separator, no width, BOM */
        {"a\xf3\xa0\x81\xa1"
         "b",
         "a?b"},                                                         /* a tag */
        {"\xff\xfe\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80", "???????????"}, /* none of it is UTF-8 */
        {"a\xe8\xa1", "a??"},                                            /* cut off */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *copy = strdup(cases[i].text);

        assert_string_equal(PRINTABLE(cases[i].text), cases[i].shown);
        printable_text(copy);
        assert_string_equal(copy, cases[i].shown);
        free(copy);
    }
}

static void a_cut_is_between_characters(void **state)
{
    char out[8];

    (void)state;
    assert_string_equal(printable_copy(out, 4, "abcdef"), "abc");
    assert_string_equal(printable_copy(out, 4, "ab\xe8\xa1\x8c"), "ab");
    assert_string_equal(printable_copy(out, 6, "ab\xe8\xa1\x8c"), "ab\xe8\xa1\x8c");
    assert_string_equal(printable_copy(out, 1, "a"), "");
}

/* Whatever the bytes: the result holds no byte that is not printable ASCII or whole UTF-8. */
static void noise_becomes_printable(void **state)
{
    uint32_t random = 7;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        char text[24];

        for (size_t k = 0; k < sizeof text; k++) {
            random = random * 1664525u + 1013904223u;
            text[k] = (char)(random >> 24);
        }
        text[sizeof text - 1] = '\0';
        printable_text(text);
        for (const unsigned char *at = (const unsigned char *)text; *at;) {
            size_t length = utf8_length(at, strlen((const char *)at));

            assert_int_not_equal(length, 0);
            assert_false(utf8_steers(utf8_point(at, length)));
            at += length;
        }
    }
}

static void errors_are_printable(void **state)
{
    struct error err = {{0}};

    (void)state;
    error_set(&err, STATUS_INVALID, "kernel '%s' is odd", "\x1b[31mk\n");
    error_prefix(&err, "%s", "a\x1b.yaml");
    assert_string_equal(err.text, "a?.yaml: kernel '?[31mk ' is odd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_stays),
        cmocka_unit_test(what_steers_a_terminal_goes),
        cmocka_unit_test(a_cut_is_between_characters),
        cmocka_unit_test(noise_becomes_printable),
        cmocka_unit_test(errors_are_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
