/* report_json.h - the values of a check as JSON members: the same words in journal and bundle. */
#ifndef REPORT_REPORT_JSON_H
#define REPORT_REPORT_JSON_H

#include "text/json_out.h"
#include "value/check_report.h"

/* "grid":[x,y,z] */
void report_json_dim3(struct json_out *json, const char *key, const uint32_t value[3]);

/*
 * Members of the open object: kernel, label, reference, where, verdict, gate, launch, device, grid,
 * block, shared_bytes, subset, arrays, numbers, worst and first ({array, index, got, reference,
 * bound}).
 *
 * "subset" is there where the check had some items of a dim alone: {dim, checked, of, blocks}, and
 * a block [a, b] is the launch's items a to b - 1. Where {with, share} are there, too, each of
 * these stands for `share` entries of the dim `with`, one behind the other. An array whose other
 * items were not copied has "subset_axis", the number of that dim in its shape, which is the
 * launch's. Indices are the launch's.
 *
 * Of an array of which rows are touched by index, "rows_by" names the array of indices; its shape
 * is that of the rows that were copied, and a row's number is that of the element that names it.
 */
void report_json_check(struct json_out *json, const struct check_report *report);

/* kernel, label, reference, launch, "dims" {"rows":5, ...}, and "formals": {formal, array, shape,
 * formal_shape} of each array that is bound. */
void report_json_dims(struct json_out *json, const struct check_report *report);

#endif
