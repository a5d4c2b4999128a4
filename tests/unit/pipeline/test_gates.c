/* The list of gates: their order, and the buckets that it names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include "value/skip.h"

enum part { SELECT, ADMIT };

static const struct row {
    enum part part;
    const char *name, *buckets, *decision;
} rows[] = {
#define GATE(part, name, buckets, decision) {part, #name, buckets, decision},
#include "gates/gates.def"
#undef GATE
};

enum { ROWS = sizeof(rows) / sizeof(*rows) };

static bool is_bucket(const char *text, size_t length)
{
    for (int skip = SKIP_NONE + 1; skip < SKIP_COUNT; skip++) {
        const char *name = skip_text((enum skip)skip);
        if (strlen(name) == length && !strncmp(name, text, length))
            return true;
    }
    return false;
}

/* Whether the text names buckets, with ", " between them. */
static bool are_buckets(const char *text)
{
    while (*text) {
        size_t length = strcspn(text, ",");
        if (!is_bucket(text, length))
            return false;
        text += length + strspn(text + length, ", ");
    }
    return true;
}

static void a_text_of_buckets_differs_from_others(void **state)
{
    (void)state;
    assert_true(are_buckets("off"));
    assert_true(are_buckets("arena full, queue full"));
    assert_false(are_buckets("arena full, queue ful"));
    assert_false(are_buckets("full"));
}

static void a_gate_names_buckets_alone(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        if (!are_buckets(rows[i].buckets))
            fail_msg("%s: '%s'", rows[i].name, rows[i].buckets);
        assert_true(*rows[i].decision);
    }
}

static int place_of(const char *name)
{
    for (int i = 0; i < ROWS; i++) {
        if (!strcmp(rows[i].name, name))
            return i;
    }
    return -1;
}

static void gates_stand_in_the_order_of_the_design(void **state)
{
    static const char *const order[] = {"mode",    "registered", "sampled", "budget",
                                        "outlier", "snapshot",   "room"};
    int last = -1;
    (void)state;
    for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
        assert_true(place_of(order[i]) > last);
        last = place_of(order[i]);
    }
    assert_int_equal(last, ROWS - 1); /* what holds room and a slot comes last */
    assert_int_equal(place_of("no such gate"), -1);
}

static void what_needs_a_context_comes_behind_what_needs_none(void **state)
{
    (void)state;
    for (int i = 1; i < ROWS; i++)
        assert_true(rows[i - 1].part <= rows[i].part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_of_buckets_differs_from_others),
        cmocka_unit_test(a_gate_names_buckets_alone),
        cmocka_unit_test(gates_stand_in_the_order_of_the_design),
        cmocka_unit_test(what_needs_a_context_comes_behind_what_needs_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
