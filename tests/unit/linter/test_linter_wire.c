/* What goes between a program and the process that lints for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "linter/linter_wire.h"

static const struct lint_note note = {.rule = "spin-weak",
                                      .severity = "warning",
                                      .sentence = "the loop ends",
                                      .source = "k.cu",
                                      .line = 42,
                                      .source_line = 7,
                                      .more = 3};

static void heads_come_through(void **state)
{
    struct lint_request request = {.shared = 5};
    struct lint_answer answer;
    (void)state;
    lint_wire_request(&request, 4, 1000);
    assert_true(lint_wire_is_request(&request));
    assert_int_equal(request.symbol, 4);
    assert_int_equal(request.image, 1000);
    assert_int_equal(request.shared, 5);
    lint_wire_answer(&answer, LINT_UNREAD, 2, 80);
    assert_true(lint_wire_is_answer(&answer));
    assert_int_equal(answer.outcome, LINT_UNREAD);
}

static void heads_beyond_the_bounds_are_refused(void **state)
{
    struct lint_request request = {0};
    struct lint_answer answer = {0};
    (void)state;
    assert_false(lint_wire_is_request(&request));
    assert_false(lint_wire_is_answer(&answer));
    lint_wire_request(&request, 1, 1000);
    assert_false(lint_wire_is_request(&request));
    lint_wire_request(&request, LINTER_SYMBOL_BYTES + 1, 1000);
    assert_false(lint_wire_is_request(&request));
    lint_wire_request(&request, 4, 0);
    assert_false(lint_wire_is_request(&request));
    lint_wire_request(&request, 4, LINTER_IMAGE_BYTES + 1);
    assert_false(lint_wire_is_request(&request));
    lint_wire_answer(&answer, LINT_DONE, 1, LINTER_ANSWER_BYTES + 1);
    assert_false(lint_wire_is_answer(&answer));
    lint_wire_answer(&answer, LINT_OTHER_BUILD + 1, 1, 1);
    assert_false(lint_wire_is_answer(&answer));
}

static void notes_come_through(void **state)
{
    struct textbuf text;
    struct lint_note got;
    (void)state;
    textbuf_init(&text);
    lint_wire_put(&text, &note);
    lint_wire_put(&text, &(struct lint_note){.rule = "r", .severity = "note", .sentence = ""});
    const char *at = text.data, *end = text.data + text.length;
    assert_true(lint_wire_take(&at, end, &got));
    assert_string_equal(got.rule, note.rule);
    assert_string_equal(got.severity, note.severity);
    assert_string_equal(got.sentence, note.sentence);
    assert_string_equal(got.source, note.source);
    assert_int_equal(got.line, 42);
    assert_int_equal(got.source_line, 7);
    assert_int_equal(got.more, 3);
    assert_true(lint_wire_take(&at, end, &got));
    assert_string_equal(got.source, "");
    assert_ptr_equal(at, end);
    assert_false(lint_wire_take(&at, end, &got));
    textbuf_release(&text);
}

/* Every beginning of a note is none, in a block of just that size. */
static void cut_notes_are_refused(void **state)
{
    struct textbuf text;
    struct lint_note got;
    (void)state;
    textbuf_init(&text);
    lint_wire_put(&text, &note);
    for (size_t bytes = 0; bytes < text.length; bytes++) {
        char *copy = malloc(bytes + !bytes);
        assert_non_null(copy);
        memcpy(copy, text.data, bytes);
        const char *at = copy;
        assert_false(lint_wire_take(&at, copy + bytes, &got));
        free(copy);
    }
    textbuf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_come_through),
        cmocka_unit_test(heads_beyond_the_bounds_are_refused),
        cmocka_unit_test(notes_come_through),
        cmocka_unit_test(cut_notes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
