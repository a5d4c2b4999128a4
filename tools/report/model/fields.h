/*
 * fields.h - members of a JSON object by name and type, for the readers of journals and traces.
 *
 * A member that is absent or null is no error: *out keeps its value. One of another type makes
 * STATUS_INVALID and a sentence with its name, what was found and what was expected. Counts
 * are whole and at most 2^63. A line with an integer that does not fit the parser's has all numbers
 * as reals. NaN and the infinities are strings (text/json_out.h).
 */
#ifndef TOOLS_REPORT_FIELDS_H
#define TOOLS_REPORT_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

enum { FIELDS_DECODING = JSON_REJECT_DUPLICATES };

enum status field_text(json_t *object, const char *key, const char **out, struct error *err);
enum status field_count(json_t *object, const char *key, uint64_t *out, struct error *err);
enum status field_int(json_t *object, const char *key, int64_t *out, struct error *err);
enum status field_real(json_t *object, const char *key, double *out, struct error *err);
enum status field_bool(json_t *object, const char *key, bool *out, struct error *err);
/* *out is borrowed; NULL where there is none. */
enum status field_object(json_t *object, const char *key, json_t **out, struct error *err);
enum status field_array(json_t *object, const char *key, json_t **out, struct error *err);
/* Three counts that fit 32 bits, as a grid is. */
enum status field_dim3(json_t *object, const char *key, uint32_t out[3], struct error *err);
/* A whole number as an element of an array; false: it is none. */
bool field_element(const json_t *array, size_t index, int64_t *out);

#endif
