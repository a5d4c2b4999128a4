/* What goes between a program and the process that compiles for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/says.h"
#include "compile/compile_wire.h"

static const struct user_text text = {.text = "REFERENCE(f, \"in x[n]\")\n{\n}\n",
                                      .where = "inline k.yaml:3",
                                      .file = "k.yaml",
                                      .first_line = 4,
                                      .yaml_line = 3};

static void requests_come_through(void **state)
{
    struct compile_request head;
    struct user_text got;
    size_t size;
    (void)state;
    char *message = compile_wire_request(COMPILE_REFERENCE, &text, 90, &size);
    memcpy(&head, message, sizeof head);
    assert_int_equal(compile_wire_follows_request(&head), size - sizeof head);
    assert_true(compile_wire_text(&head, message + sizeof head, &got));
    assert_int_equal(head.arch, 90);
    assert_string_equal(got.text, text.text);
    assert_string_equal(got.where, text.where);
    assert_string_equal(got.file, text.file);
    assert_int_equal(got.first_line, 4);
    assert_int_equal(got.yaml_line, 3);
    free(message);
}

static void answers_come_through(void **state)
{
    char machine_code[] = "\177ELF\0code", ptx[] = ".version 9.0";
    struct ref_image image = {machine_code, ptx, sizeof machine_code, sizeof ptx}, got;
    struct compile_answer head;
    struct error err = {{0}};
    size_t size;
    (void)state;
    char *message = compile_wire_answer(STATUS_OK, true, "", &image, &size);
    memcpy(&head, message, sizeof head);
    assert_int_equal(head.cached, 1);
    assert_int_equal(compile_wire_follows_answer(&head), size - sizeof head);
    assert_int_equal(compile_wire_result(&head, message + sizeof head, &got, &err), STATUS_OK);
    assert_int_equal(got.cubin_bytes, sizeof machine_code);
    assert_memory_equal(got.cubin, machine_code, sizeof machine_code);
    assert_string_equal(got.ptx, ptx);
    ref_image_release(&got);
    free(message);
    message = compile_wire_answer(STATUS_INVALID, false, "k.yaml:4: wrong", &(struct ref_image){0},
                                  &size);
    memcpy(&head, message, sizeof head);
    assert_int_equal(compile_wire_follows_answer(&head), size - sizeof head);
    assert_int_equal(compile_wire_result(&head, message + sizeof head, &got, &err), STATUS_INVALID);
    assert_string_equal(err.text, "k.yaml:4: wrong");
    assert_null(got.ptx);
    free(message);
}

/* Each bit of a head changed: it is refused, or it stays within what follows. */
static void damaged_heads_are_harmless(void **state)
{
    size_t size;
    (void)state;
    char *message = compile_wire_request(COMPILE_REFERENCE, &text, 90, &size);
    for (size_t bit = 0; bit < 8 * sizeof(struct compile_request); bit++) {
        struct compile_request head;
        struct user_text got;
        memcpy(&head, message, sizeof head);
        ((char *)&head)[bit / 8] ^= (char)(1 << bit % 8);
        size_t follows = compile_wire_follows_request(&head);
        assert_true(follows <= COMPILE_WIRE_BYTES);
        if (bit < 32)
            assert_int_equal(follows, 0);
        char *bytes = follows ? calloc(1, follows) : NULL;
        if (bytes) {
            memcpy(bytes, message + sizeof head,
                   follows < size - sizeof head ? follows : size - sizeof head);
            bool lengths = bit >= 8 * offsetof(struct compile_request, where);
            assert_int_equal(compile_wire_text(&head, bytes, &got), !lengths);
        }
        free(bytes);
    }
    free(message);
}

static void damaged_answers_are_harmless(void **state)
{
    char ptx[] = ".version 9.0";
    struct ref_image image = {NULL, ptx, 0, sizeof ptx}, got;
    size_t size;
    (void)state;
    char *message = compile_wire_answer(STATUS_OK, false, "", &image, &size);
    for (size_t bit = 0; bit < 8 * sizeof(struct compile_answer); bit++) {
        struct compile_answer head;
        memcpy(&head, message, sizeof head);
        ((char *)&head)[bit / 8] ^= (char)(1 << bit % 8);
        size_t follows = compile_wire_follows_answer(&head);
        assert_true(follows <= COMPILE_WIRE_BYTES);
        char *bytes = follows ? malloc(follows) : NULL;
        if (bytes) {
            memset(bytes, 'x', follows);
            compile_wire_result(&head, bytes, &got, NULL);
            ref_image_release(&got);
        }
        free(bytes);
    }
    free(message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_come_through),
        cmocka_unit_test(answers_come_through),
        cmocka_unit_test(damaged_heads_are_harmless),
        cmocka_unit_test(damaged_answers_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
