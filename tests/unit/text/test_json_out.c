#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "text/json_out.h"

/* ["TEXT"] of a string, so that tests can name the text alone. */
static void assert_string_becomes(const char *bytes, size_t count, const char *expected)
{
    struct json_out json;

    json_out_init(&json);
    json_string_n(&json, bytes, count);
    assert_true(json_out_ok(&json));
    assert_string_equal(json.text.data, expected);
    json_out_release(&json);
}

static void containers_nest(void **state)
{
    struct json_out json;

    (void)state;
    json_out_init(&json);
    json_begin_object(&json);
    json_put_int(&json, "a", -1);
    json_put_array(&json, "b");
    json_begin_array(&json);
    json_end(&json);
    json_begin_object(&json);
    json_end(&json);
    json_uint(&json, UINT64_MAX);
    json_end(&json);
    json_put_bool(&json, "c", true);
    json_put_string(&json, "d", NULL);
    json_put_int(&json, "e", INT64_MIN);
    json_end(&json);
    assert_true(json_out_ok(&json));
    assert_string_equal(json.text.data, "{\"a\":-1,\"b\":[[],{},18446744073709551615],\"c\":true,"
                                        "\"d\":null,\"e\":-9223372036854775808}");
    json_out_clear(&json);
    assert_false(json_out_ok(&json)); /* nothing is no value */
    json_bool(&json, false);
    assert_true(json_out_ok(&json));
    assert_string_equal(json.text.data, "false");
    json_out_release(&json);
}

static void members_on_lines(void **state)
{
    struct json_out json;

    (void)state;
    json_out_init(&json);
    json.lines = 1;
    json_begin_object(&json);
    json_put_int(&json, "a", 1);
    json_put_array(&json, "b");
    json_int(&json, 2);
    json_int(&json, 3);
    json_end(&json);
    json_end(&json);
    assert_string_equal(json.text.data, "{\n  \"a\": 1,\n  \"b\": [2,3]\n}");
    json_out_release(&json);
}

static void misuse_is_never_whole(void **state)
{
    struct json_out json;

    (void)state;
    json_out_init(&json);
    json_begin_object(&json);
    json_int(&json, 1); /* no key */
    json_end(&json);
    assert_false(json_out_ok(&json));

    json_out_clear(&json);
    json_begin_object(&json);
    json_key(&json, "a");
    json_end(&json); /* no value */
    assert_false(json_out_ok(&json));

    json_out_clear(&json);
    json_begin_array(&json);
    json_key(&json, "a"); /* a key in an array */
    assert_false(json_out_ok(&json));

    json_out_clear(&json);
    json_int(&json, 1);
    json_int(&json, 2); /* two values */
    assert_false(json_out_ok(&json));

    json_out_clear(&json);
    for (int i = 0; i < JSON_MAX_DEPTH + 1; i++)
        json_begin_array(&json);
    for (int i = 0; i < JSON_MAX_DEPTH + 1; i++)
        json_end(&json);
    assert_false(json_out_ok(&json));

    json_out_clear(&json);
    json_begin_array(&json);
    assert_false(json_out_ok(&json)); /* not ended */
    json_end(&json);
    assert_true(json_out_ok(&json));
    json_end(&json); /* ended twice */
    assert_false(json_out_ok(&json));
    json_out_release(&json);
}

static void a_fixed_buffer_is_never_overrun(void **state)
{
    char buffer[16];
    struct json_out json;

    (void)state;
    memset(buffer, '#', sizeof buffer);
    json_out_init_fixed(&json, buffer, 12);
    json_text(&json, "123456789"); /* 11 and the NUL */
    assert_true(json_out_ok(&json));
    assert_string_equal(buffer, "\"123456789\"");
    json_out_init_fixed(&json, buffer, 11);
    json_text(&json, "123456789");
    assert_false(json_out_ok(&json));
    assert_memory_equal(buffer + 12, "####", 4);
    json_out_init_fixed(&json, buffer, 0);
    json_int(&json, 1);
    assert_false(json_out_ok(&json));
    json_out_release(&json);
}

static void a_growing_text_grows(void **state)
{
    struct json_out json;

    (void)state;
    json_out_init(&json);
    json_begin_array(&json);
    for (int i = 0; i < 100000; i++)
        json_int(&json, i % 10);
    json_end(&json);
    assert_true(json_out_ok(&json));
    assert_int_equal(json.text.length, 200001);
    json_out_release(&json);
}

static void strings_are_escaped(void **state)
{
    (void)state;
    assert_string_becomes("a\"b\\c/d", 7, "\"a\\\"b\\\\c/d\"");
    assert_string_becomes("\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"");
    assert_string_becomes("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\"");
    /* What could look like a key does not. */
    assert_string_becomes("\"match\":", 8, "\"\\\"match\\\":\"");
}

static void good_utf8_stays(void **state)
{
    static const char text[] = "\u00e9 \u20ac \U0001f600 \ud7ff \ue000 \U0010ffff";
    char expected[64] = "\"";

    (void)state;
    strcat(strcat(expected, text), "\"");
    assert_string_becomes(text, strlen(text), expected);
}

static void bad_utf8_is_replaced(void **state)
{
    (void)state;
    assert_string_becomes("\xff", 1, "\"\\ufffd\"");
    assert_string_becomes("a\x80z", 3, "\"a\\ufffdz\"");
    assert_string_becomes("\xc0\xaf", 2, "\"\\ufffd\\ufffd\"");            /* overlong */
    assert_string_becomes("\xe0\x80\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""); /* overlong */
    assert_string_becomes("\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""); /* surrogate */
    assert_string_becomes("\xf4\x90\x80\x80", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    assert_string_becomes("\xe2\x82", 2, "\"\\ufffd\\ufffd\""); /* cut off */
    assert_string_becomes("\xc3(", 2, "\"\\ufffd(\"");
}

static void assert_double_becomes(double value, const char *expected)
{
    struct json_out json;

    json_out_init(&json);
    json_double(&json, value);
    assert_true(json_out_ok(&json));
    assert_string_equal(json.text.data, expected);
    json_out_release(&json);
}

static void doubles_are_short(void **state)
{
    (void)state;
    assert_double_becomes(0, "0");
    assert_double_becomes(-0.0, "-0");
    assert_double_becomes(0.1, "0.1");
    assert_double_becomes(-2.5, "-2.5");
    assert_double_becomes(1e300, "1e+300");
    assert_double_becomes(1.0 / 3, "0.3333333333333333");
    assert_double_becomes(NAN, "\"NaN\"");
    assert_double_becomes(-NAN, "\"NaN\"");
    assert_double_becomes(INFINITY, "\"Infinity\"");
    assert_double_becomes(-INFINITY, "\"-Infinity\"");
}

static void doubles_read_back(void **state)
{
    static const double values[] = {DBL_MAX, -DBL_MAX,  DBL_MIN, DBL_TRUE_MIN,      DBL_EPSILON,
                                    1e22,    0.1 + 0.2, 1e23,    9007199254740993.0};
    uint64_t bits = 88172645463325252u;
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        json_format_double(text, values[i]);
        assert_true(strtod(text, NULL) == values[i]);
    }
    for (int i = 0; i < 20000; i++) {
        double value;

        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        json_format_double(text, value);
        assert_true(strlen(text) < sizeof text);
        assert_true(strtod(text, NULL) == value);
    }
}

/* Whatever the program's locale does to printf and strtod. Where no such locale is installed, the
 * C locale's point must come through all the same, which the tests above show. */
static void a_decimal_comma_stays_a_point(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    bool set = false;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !set; i++)
        set = setlocale(LC_ALL, names[i]) != NULL;
    if (!set)
        skip();
    assert_double_becomes(0.5, "0.5");
    setlocale(LC_ALL, "C");
}

/* A journal is read on terminals too. */
static void what_steers_a_terminal_is_escaped(void **state)
{
    struct json_out json;

    (void)state;
    json_out_init(&json);
    json_text(&json, "a\x1b[2J\x7f\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\xf3\xa0\x81\xa1\xc3\xa4");
    assert_string_equal(json.text.data,
                        "\"a\\u001b[2J\\u007f\\u009b\\u202e\\u2028\\udb40\\udc61\xc3\xa4\"");
    json_out_release(&json);
}

static void bytes_as_hex(void **state)
{
    struct json_out json;

    (void)state;
    json_out_init(&json);
    json_hex(&json, "\x00\xfe\x10", 3);
    assert_string_equal(json.text.data, "\"00fe10\"");
    json_out_release(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers_nest),
        cmocka_unit_test(members_on_lines),
        cmocka_unit_test(misuse_is_never_whole),
        cmocka_unit_test(a_fixed_buffer_is_never_overrun),
        cmocka_unit_test(a_growing_text_grows),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(good_utf8_stays),
        cmocka_unit_test(bad_utf8_is_replaced),
        cmocka_unit_test(doubles_are_short),
        cmocka_unit_test(doubles_read_back),
        cmocka_unit_test(a_decimal_comma_stays_a_point),
        cmocka_unit_test(what_steers_a_terminal_is_escaped),
        cmocka_unit_test(bytes_as_hex),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
