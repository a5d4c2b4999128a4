/* json_in.h - members of a JSON object, each of the type and range that is expected. The first one
 * that is not sets the error, and all further calls do nothing. */
#ifndef TOOLS_BUNDLE_JSON_IN_H
#define TOOLS_BUNDLE_JSON_IN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct json_in {
    const char *file; /* for messages */
    struct error *err;
    bool failed;
};

/* NULL: it is no JSON object, and `in` failed. The caller's, for json_decref. */
json_t *json_in_load(struct json_in *in, const char *text, size_t bytes);

void json_in_fail(struct json_in *in, const char *key, const char *expected);

/* Required members; see json_in_has for optional ones. */
bool json_in_has(json_t *object, const char *key);
int64_t json_in_int(struct json_in *in, json_t *object, const char *key, int64_t least,
                    int64_t most);
bool json_in_bool(struct json_in *in, json_t *object, const char *key, bool absent);
/* Numbers, and the strings "NaN", "Infinity", "-Infinity". */
double json_in_double(struct json_in *in, json_t *object, const char *key);
double json_in_number(struct json_in *in, json_t *value, const char *key);
/* Of at most size - 1 bytes. */
void json_in_text(struct json_in *in, json_t *object, const char *key, char *out, size_t size);
/* "0x7f00..." */
uint64_t json_in_hex(struct json_in *in, json_t *object, const char *key);
/* An array of `least` to `most` integers, 0 or more each; returns how many. */
int json_in_ints(struct json_in *in, json_t *object, const char *key, int least, int most,
                 int64_t *out);
/* An array or object. NULL where `in` failed. */
json_t *json_in_array(struct json_in *in, json_t *object, const char *key);
json_t *json_in_object(struct json_in *in, json_t *object, const char *key);

#endif
