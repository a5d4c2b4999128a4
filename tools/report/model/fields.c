#include "tools/report/model/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *type_text(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        return "null";
    default:
        return "a number";
    }
}

/* The member, or NULL where there is none. */
static json_t *find(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return value && !json_is_null(value) ? value : NULL;
}

static enum status wrong(const json_t *value, const char *key, const char *expected,
                         struct error *err)
{
    return error_set(err, STATUS_INVALID, "'%s' is %s, expected %s", key, type_text(value),
                     expected);
}

enum status field_text(json_t *object, const char *key, const char **out, struct error *err)
{
    json_t *value = find(object, key);
    if (!value)
        return STATUS_OK;
    if (!json_is_string(value))
        return wrong(value, key, "a string", err);
    *out = json_string_value(value);
    return STATUS_OK;
}

static bool whole(const json_t *value, double least, double most)
{
    double number = json_number_value(value);
    return json_is_number(value) && number >= least && number <= most && floor(number) == number;
}

enum status field_count(json_t *object, const char *key, uint64_t *out, struct error *err)
{
    json_t *value = find(object, key);
    if (!value)
        return STATUS_OK;
    if (!whole(value, 0, 0x1p63))
        return wrong(value, key, "a count", err);
    *out = (uint64_t)json_number_value(value);
    return STATUS_OK;
}

enum status field_int(json_t *object, const char *key, int64_t *out, struct error *err)
{
    json_t *value = find(object, key);
    if (!value)
        return STATUS_OK;
    if (!whole(value, -0x1p62, 0x1p62))
        return wrong(value, key, "a whole number", err);
    *out = (int64_t)json_number_value(value);
    return STATUS_OK;
}

/* What json_double() writes for a number that JSON lacks. */
static bool special(const json_t *value, double *out)
{
    static const struct {
        const char *text;
        double number;
    } specials[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    for (size_t i = 0; json_is_string(value) && i < sizeof specials / sizeof *specials; i++) {
        if (strcmp(json_string_value(value), specials[i].text) == 0) {
            *out = specials[i].number;
            return true;
        }
    }
    return false;
}

enum status field_real(json_t *object, const char *key, double *out, struct error *err)
{
    json_t *value = find(object, key);
    if (!value || special(value, out))
        return STATUS_OK;
    if (!json_is_number(value))
        return wrong(value, key, "a number", err);
    *out = json_number_value(value);
    return STATUS_OK;
}

enum status field_bool(json_t *object, const char *key, bool *out, struct error *err)
{
    json_t *value = find(object, key);
    if (!value)
        return STATUS_OK;
    if (!json_is_boolean(value))
        return wrong(value, key, "true or false", err);
    *out = json_is_true(value);
    return STATUS_OK;
}

enum status field_object(json_t *object, const char *key, json_t **out, struct error *err)
{
    *out = find(object, key);
    if (*out && !json_is_object(*out))
        return wrong(*out, key, "an object", err);
    return STATUS_OK;
}

enum status field_array(json_t *object, const char *key, json_t **out, struct error *err)
{
    *out = find(object, key);
    if (*out && !json_is_array(*out))
        return wrong(*out, key, "an array", err);
    return STATUS_OK;
}

bool field_element(const json_t *array, size_t index, int64_t *out)
{
    const json_t *value = json_array_get(array, index);
    if (!value || !whole(value, -0x1p62, 0x1p62))
        return false;
    *out = (int64_t)json_number_value(value);
    return true;
}

enum status field_dim3(json_t *object, const char *key, uint32_t out[3], struct error *err)
{
    json_t *array;
    enum status status = field_array(object, key, &array, err);
    if (status || !array)
        return status;
    for (size_t i = 0; i < 3; i++) {
        int64_t number;
        if (!field_element(array, i, &number) || number < 0 || number > UINT32_MAX)
            return wrong(array, key, "an array of three counts", err);
        out[i] = (uint32_t)number;
    }
    return STATUS_OK;
}
