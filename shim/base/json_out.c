#include "base/json_out.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void add(struct json_out *json, const char *literal)
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
        add(json, ",");
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

static void begin(struct json_out *json, bool array)
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
    add(json, array ? "[" : "{");
}

void json_begin_object(struct json_out *json)
{
    begin(json, false);
}

void json_begin_array(struct json_out *json)
{
    begin(json, true);
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
    add(json, array ? "]" : "}");
    json->follows = true;
}

/* The length of the UTF-8 sequence at `bytes`, or 0 when it is none (overlong forms, surrogates
 * and values past U+10FFFF are none). */
static size_t utf8_length(const unsigned char *bytes, size_t count)
{
    unsigned char first = bytes[0];
    unsigned char low = 0x80, high = 0xbf; /* range of the second byte */
    size_t length;

    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (length > count)
        return 0;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    if (bytes[1] < low || bytes[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

static void add_escaped(struct json_out *json, unsigned char byte)
{
    static const char names[][2] = {
        {'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (byte == (unsigned char)names[i][0]) {
            textbuf_add(&json->text, (const char[]){'\\', names[i][1]}, 2);
            return;
        }
    }
    textbuf_printf(&json->text, "\\u%04x", byte);
}

static void add_string(struct json_out *json, const char *bytes, size_t count)
{
    const unsigned char *at = (const unsigned char *)bytes;

    add(json, "\"");
    while (count > 0) {
        size_t length = utf8_length(at, count);

        if (length == 0)
            add(json, "\\ufffd");
        else if (*at < 0x20 || *at == '"' || *at == '\\' || *at == 0x7f)
            add_escaped(json, *at);
        else
            textbuf_add(&json->text, (const char *)at, length);
        at += length ? length : 1;
        count -= length ? length : 1;
    }
    add(json, "\"");
}

void json_key(struct json_out *json, const char *key)
{
    if (json->depth == 0 || in_array(json) || json->keyed)
        json->text.failed = true;
    separate(json);
    add_string(json, key, strlen(key));
    add(json, json->lines ? ": " : ":");
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
    add(json, literal);
    json->follows = true;
}

void json_string(struct json_out *json, const char *string)
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
    add(json, "\"");
    for (size_t i = 0; i < count; i++)
        textbuf_add(&json->text, (const char[]){digits[at[i] >> 4], digits[at[i] & 15]}, 2);
    add(json, "\"");
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
        json_string(json, "NaN");
    } else if (isinf(value)) {
        json_string(json, value > 0 ? "Infinity" : "-Infinity");
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
    json_string(json, string);
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
