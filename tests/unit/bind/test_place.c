/* Elements and dims in reports: by the signature, whatever the reference's formal has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/binding_fixture.h"
#include "bind/binding.h"
#include "report/place.h"

#define GELU(signature) "signature: " signature "\n  reference: gelu\n"

static uint64_t P = 0x10000, Q = 0x20000;
static int32_t four = 4;

static void expect_place(uint32_t id, uint64_t linear, const char *text)
{
    struct place place;
    char got[80];
    assert_true(place_of(&b, id, linear, &place));
    place_text(&place, got, sizeof got);
    assert_string_equal(got, text);
}

static void expect_dims(const char *text)
{
    const struct check_report report = {.spec = bound.spec, .binding = &b};
    char got[160] = "";
    assert_int_equal(place_dims_text(&report, got, sizeof got), *text != 0);
    assert_string_equal(got, text);
}

/* Whatever became of the dims on the way to the reference. */
static void elements_are_named_by_the_signature(void **state)
{
    (void)state;
    expect_bound(bind_launch(GELU("const f32 x[2:3 * 8][3:8][m], f32 y[2][1][3][m], i32 m"),
                             SIZES(8, 8, 4), PARAMS(&P, &Q, &four)));
    expect_place(b.call.tensor[1].id, 5 * 4 + 2, "y[1][0][2][2]");
    expect_place(b.call.tensor[1].id, 0, "y[0][0][0][0]");
    expect_dims("x[2][3][4] as rows 6, cols 4");
    expect_bound(bind_launch(GELU("const f32 x[m], f32 y[m], i32 m"), SIZES(8, 8, 4),
                             PARAMS(&P, &Q, &four)));
    expect_place(b.call.tensor[1].id, 3, "y[3]");
    expect_dims("x[4] as rows 1, cols 4");
    expect_bound(bind_launch(GELU("const f32 x[2][m], f32 y[2][m], i32 m"), SIZES(8, 8, 4),
                             PARAMS(&P, &Q, &four)));
    expect_place(b.call.tensor[1].id, 7, "y[1][3]");
    expect_dims("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(elements_are_named_by_the_signature)};
    return cmocka_run_group_tests(tests, NULL, bound_release);
}
