#include "text/json_out.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text/utf8.h"

void json_out_init(struct json_out *json)
{
    *json = (struct json_out){0};
    textbuf_init(&json->text);
}

void json_out_init_fixed(struct json_out *json, char *buffer, size_t size)
{
    *json = (struct json_out){0};
    textbuf_init_fixed(&json->text, buffer, size);
}

void json_out_release(struct json_out *json)
{
    textbuf_release(&json->text);
}

void json_out_clear(struct json_out *json)
{
    textbuf_clear(&json->text);
    json->depth = 0;
    json->arrays = 0;
    json->follows = json->keyed = false;
}

bool json_out_ok(const struct json_out *json)
{
    return !json->text.failed && json->depth == 0 && json->follows && !json->keyed;
}

static void add_literal(struct json_out *json, const char *literal)
{
    textbuf_add(&json->text, literal, strlen(literal));
}

static bool in_array(const struct json_out *json)
{
    return json->depth > 0 && (json->arrays >> (json->depth - 1) & 1);
}

static void new_line(struct json_out *json)
{
    if (json->depth == 0 || json->depth > json->lines)
        return;
    textbuf_printf(&json->text, "\n%*s", json->depth * 2, "");
}

/* What stands between the previous token and a member. */
static void separate(struct json_out *json)
{
    if (json->follows)
        add_literal(json, ",");
    new_line(json);
    json->follows = false;
}

/* Before a value: its key came first in an object, a comma in an array. A misplaced value would
 * make invalid JSON, so it fails the text instead. */
static void before_value(struct json_out *json)
{
    if (json->keyed) {
        json->keyed = false;
        return;
    }
    if ((json->depth > 0 && !in_array(json)) || (json->depth == 0 && json->follows))
        json->text.failed = true;
    separate(json);
}

static void begin_nested(struct json_out *json, bool array)
{
    before_value(json);
    if (json->depth >= JSON_MAX_DEPTH) {
        json->text.failed = true;
        return;
    }
    if (array)
        json->arrays |= UINT32_C(1) << json->depth;
    else
        json->arrays &= ~(UINT32_C(1) << json->depth);
    json->depth++;
    json->follows = false;
    add_literal(json, array ? "[" : "{");
}

void json_begin_object(struct json_out *json)
{
    begin_nested(json, false);
}

void json_begin_array(struct json_out *json)
{
    begin_nested(json, true);
}

void json_end(struct json_out *json)
{
    bool array = in_array(json), had_members = json->follows;

    if (json->depth == 0 || json->keyed) {
        json->text.failed = true;
        return;
    }
    json->depth--;
    if (had_members && json->depth < json->lines)
        textbuf_printf(&json->text, "\n%*s", json->depth * 2, "");
    add_literal(json, array ? "]" : "}");
    json->follows = true;
}

static void add_escaped(struct json_out *json, uint32_t point)
{
    static const char names[][2] = {
        {'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (point == (unsigned char)names[i][0]) {
            textbuf_add(&json->text, (const char[]){'\\', names[i][1]}, 2);
            return;
        }
    }
    if (point >= 0x10000) /* a pair of surrogates */
        textbuf_printf(&json->text, "\\u%04x", 0xd7c0 + (point >> 10));
    textbuf_printf(&json->text, "\\u%04x", point < 0x10000 ? point : 0xdc00 + (point & 0x3ff));
}

/* How many characters from here on stand for themselves: most texts are all such. */
static size_t plain_length(const unsigned char *at, size_t count)
{
    size_t length = 0;

    while (length < count && at[length] >= ' ' && at[length] < 0x7f && at[length] != '"' &&
           at[length] != '\\')
        length++;
    return length;
}

static void add_string(struct json_out *json, const char *bytes, size_t count)
{
    const unsigned char *at = (const unsigned char *)bytes;

    add_literal(json, "\"");
    while (count > 0) {
        size_t plain = plain_length(at, count);
        size_t length = plain ? plain : utf8_length(at, count);
        uint32_t point = plain || !length ? 0 : utf8_point(at, length);

        if (plain > 0)
            textbuf_add(&json->text, (const char *)at, plain);
        else if (length == 0)
            add_literal(json, "\\ufffd");
        else if (utf8_steers(point) || point == '"' || point == '\\')
            add_escaped(json, point);
        else
            textbuf_add(&json->text, (const char *)at, length);
        at += length ? length : 1;
        count -= length ? length : 1;
    }
    add_literal(json, "\"");
}

void json_key(struct json_out *json, const char *key)
{
    if (json->depth == 0 || in_array(json) || json->keyed)
        json->text.failed = true;
    separate(json);
    add_string(json, key, strlen(key));
    add_literal(json, json->lines ? ": " : ":");
    json->keyed = true;
}

void json_string_n(struct json_out *json, const char *bytes, size_t count)
{
    before_value(json);
    add_string(json, bytes, count);
    json->follows = true;
}

static void add_scalar(struct json_out *json, const char *literal)
{
    before_value(json);
    add_literal(json, literal);
    json->follows = true;
}

void json_text(struct json_out *json, const char *string)
{
    if (string)
        json_string_n(json, string, strlen(string));
    else
        add_scalar(json, "null");
}

void json_hex(struct json_out *json, const void *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *at = bytes;

    before_value(json);
    add_literal(json, "\"");
    for (size_t i = 0; i < count; i++)
        textbuf_add(&json->text, (const char[]){digits[at[i] >> 4], digits[at[i] & 15]}, 2);
    add_literal(json, "\"");
    json->follows = true;
}

void json_int(struct json_out *json, int64_t value)
{
    char digits[32];

    snprintf(digits, sizeof digits, "%" PRId64, value);
    add_scalar(json, digits);
}

void json_uint(struct json_out *json, uint64_t value)
{
    char digits[32];

    snprintf(digits, sizeof digits, "%" PRIu64, value);
    add_scalar(json, digits);
}

/* The program may have set a locale whose decimal point is no point, or is several bytes. */
static void plain_point(char *digits)
{
    char *to = digits;
    bool in_point = false;

    for (const char *from = digits; *from; from++) {
        bool number = strchr("0123456789+-e", *from) != NULL;

        if (number)
            *to++ = *from;
        else if (!in_point)
            *to++ = '.';
        in_point = !number;
    }
    *to = '\0';
}

void json_format_double(char out[32], double value)
{
    int kept = errno;

    for (int precision = 1; precision <= 17; precision++) {
        snprintf(out, 32, "%.*g", precision, value);
        if (strtod(out, NULL) == value)
            break;
    }
    plain_point(out);
    errno = kept;
}

void json_double(struct json_out *json, double value)
{
    char digits[32];

    if (isnan(value)) {
        json_text(json, "NaN");
    } else if (isinf(value)) {
        json_text(json, value > 0 ? "Infinity" : "-Infinity");
    } else {
        json_format_double(digits, value);
        add_scalar(json, digits);
    }
}

void json_bool(struct json_out *json, bool value)
{
    add_scalar(json, value ? "true" : "false");
}

void json_put_string(struct json_out *json, const char *key, const char *string)
{
    json_key(json, key);
    json_text(json, string);
}

void json_put_int(struct json_out *json, const char *key, int64_t value)
{
    json_key(json, key);
    json_int(json, value);
}

void json_put_uint(struct json_out *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_uint(json, value);
}

void json_put_double(struct json_out *json, const char *key, double value)
{
    json_key(json, key);
    json_double(json, value);
}

void json_put_bool(struct json_out *json, const char *key, bool value)
{
    json_key(json, key);
    json_bool(json, value);
}

void json_put_object(struct json_out *json, const char *key)
{
    json_key(json, key);
    json_begin_object(json);
}

void json_put_array(struct json_out *json, const char *key)
{
    json_key(json, key);
    json_begin_array(json);
}
