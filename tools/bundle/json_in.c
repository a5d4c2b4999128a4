#include "tools/bundle/json_in.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "text/printable.h"

json_t *json_in_load(struct json_in *in, const char *text, size_t bytes)
{
    json_error_t error;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(root)) /* NOLINT(misc-redundant-expression) */
        return root;
    in->failed = true;
    if (root)
        error_set(in->err, STATUS_INVALID, "%s is JSON, but no object", in->file);
    else
        error_set(in->err, STATUS_INVALID, "%s:%d:%d is no JSON: %s", in->file, error.line,
                  error.column, PRINTABLE(error.text));
    json_decref(root);
    return NULL;
}

void json_in_fail(struct json_in *in, const char *key, const char *expected)
{
    if (!in->failed)
        error_set(in->err, STATUS_INVALID, "%s: \"%s\": expected %s", in->file, key, expected);
    in->failed = true;
}

bool json_in_has(json_t *object, const char *key)
{
    return json_object_get(object, key) != NULL;
}

int64_t json_in_int(struct json_in *in, json_t *object, const char *key, int64_t least,
                    int64_t most)
{
    const json_t *value = json_object_get(object, key);
    int64_t number = json_is_integer(value) ? json_integer_value(value) : 0;
    if (!json_is_integer(value) || number < least || number > most)
        json_in_fail(in, key,
                     least < 0 ? "an integer" : "an integer of 0 or more that is not too large");
    return in->failed ? 0 : number;
}

bool json_in_bool(struct json_in *in, json_t *object, const char *key, bool absent)
{
    const json_t *value = json_object_get(object, key);
    if (value && !json_is_boolean(value))
        json_in_fail(in, key, "true or false");
    return value ? json_is_true(value) : absent;
}

double json_in_number(struct json_in *in, json_t *value, const char *key)
{
    const char *text = json_string_value(value);
    if (json_is_number(value))
        return json_number_value(value);
    if (text && !strcmp(text, "NaN"))
        return NAN;
    if (text && !strcmp(text, "Infinity"))
        return INFINITY;
    if (text && !strcmp(text, "-Infinity"))
        return -INFINITY;
    json_in_fail(in, key, "a number");
    return 0;
}

double json_in_double(struct json_in *in, json_t *object, const char *key)
{
    return json_in_number(in, json_object_get(object, key), key);
}

void json_in_text(struct json_in *in, json_t *object, const char *key, char *out, size_t size)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    *out = '\0';
    if (!text || strlen(text) >= size || json_string_length(value) != strlen(text))
        json_in_fail(in, key, "a text that is not too long");
    else
        strcpy(out, text);
}

uint64_t json_in_hex(struct json_in *in, json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    char *end = NULL;
    errno = 0;
    uint64_t value = text && !strncmp(text, "0x", 2) ? strtoull(text, &end, 16) : 0;
    if (!end || *end || errno)
        json_in_fail(in, key, "a text like \"0x7f00\"");
    return value;
}

int json_in_ints(struct json_in *in, json_t *object, const char *key, int least, int most,
                 int64_t *out)
{
    json_t *array = json_in_array(in, object, key);
    size_t count = json_array_size(array);
    if (!in->failed && (count < (size_t)least || count > (size_t)most))
        json_in_fail(in, key, "another number of integers");
    for (size_t i = 0; i < count && !in->failed; i++) {
        const json_t *value = json_array_get(array, i);
        out[i] = json_integer_value(value);
        if (!json_is_integer(value) || out[i] < 0 || out[i] > INT64_C(1) << 48)
            json_in_fail(in, key, "integers of 0 or more");
    }
    return in->failed ? 0 : (int)count;
}

json_t *json_in_array(struct json_in *in, json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    if (!json_is_array(value))
        json_in_fail(in, key, "an array");
    return in->failed ? NULL : value;
}

json_t *json_in_object(struct json_in *in, json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    if (!json_is_object(value))
        json_in_fail(in, key, "an object");
    return in->failed ? NULL : value;
}
