/*
 * json_out.h - writes JSON (RFC 8259) into memory. No parser.
 *
 * Invariants: what json_out_ok calls whole is valid JSON, whatever strings and numbers went in:
 * control characters and those that steer how text is shown (utf8.h) are escaped, so that the text
 * may be printed; each byte that is not UTF-8 becomes U+FFFD, and NaN and the
 * infinities become the strings "NaN", "Infinity" and "-Infinity". Doubles are printed with the
 * fewest digits that read back as the same double, whatever the program's locale. A `"` inside a
 * string is always preceded by a backslash, so `"key":` in the text can only be a key.
 *
 *     struct json_out json;
 *     json_out_init(&json);
 *     json_begin_object(&json);
 *     json_put_string(&json, "kernel", name);
 *     json_key(&json, "grid");
 *     json_begin_array(&json);
 *     json_uint(&json, 128);
 *     json_end(&json);
 *     json_end(&json);
 *     if (json_out_ok(&json))
 *         ... json.text.data, json.text.length ...
 *     json_out_release(&json);
 *
 * One thread at a time. Allocates unless the buffer is the caller's.
 */
#ifndef TEXT_JSON_OUT_H
#define TEXT_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "text/textbuf.h"

enum { JSON_MAX_DEPTH = 32 };

struct json_out {
    struct textbuf text;
    int depth;
    int lines;       /* members down to this depth stand on lines of their own; 0: all on one */
    uint32_t arrays; /* bit d: the container opened at depth d is an array */
    bool follows;    /* a member stands before the next one: a comma is due */
    bool keyed;      /* a key waits for its value */
};

void json_out_init(struct json_out *json);
void json_out_init_fixed(struct json_out *json, char *buffer, size_t size);
void json_out_release(struct json_out *json);
void json_out_clear(struct json_out *json); /* a new text in the same memory */

/* Whether the text is one whole value: nothing failed, everything that began has ended. */
bool json_out_ok(const struct json_out *json);

/* Containers. json_end closes the innermost one. */
void json_begin_object(struct json_out *json);
void json_begin_array(struct json_out *json);
void json_end(struct json_out *json);

/* Values: an element of an array, or what follows json_key. A NULL string is null. */
void json_key(struct json_out *json, const char *key);
void json_text(struct json_out *json, const char *string);
void json_string_n(struct json_out *json, const char *bytes, size_t count);
void json_hex(struct json_out *json, const void *bytes, size_t count); /* "0a1b..." */
void json_int(struct json_out *json, int64_t value);
void json_uint(struct json_out *json, uint64_t value);
void json_double(struct json_out *json, double value);
void json_bool(struct json_out *json, bool value);

/* A key and its value. */
void json_put_string(struct json_out *json, const char *key, const char *string);
void json_put_int(struct json_out *json, const char *key, int64_t value);
void json_put_uint(struct json_out *json, const char *key, uint64_t value);
void json_put_double(struct json_out *json, const char *key, double value);
void json_put_bool(struct json_out *json, const char *key, bool value);
void json_put_object(struct json_out *json, const char *key); /* key, then begin */
void json_put_array(struct json_out *json, const char *key);

/* The shortest decimal form of a finite double, at most 31 characters and a NUL. */
void json_format_double(char out[32], double value);

#endif
