/*
 * number.h - floating-point formats as bits: what they hold, and how far apart their numbers lie.
 */
#ifndef TOOLS_LIFT_NUMBER_H
#define TOOLS_LIFT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include "lang/dtype.h"
#include "ptx/ptx.h"

enum format {
    FORMAT_NONE,
    FORMAT_F16,
    FORMAT_BF16,
    FORMAT_F32,
    FORMAT_F64,
    FORMAT_E4M3,
    FORMAT_E5M2,
    FORMAT_TF32, /* an f32 whose last 13 bits do not count */
    FORMATS
};

unsigned format_bytes(enum format format);
const char *format_name(enum format format); /* "bf16" */

double number_of_bits(enum format format, uint64_t bits);

/* Half the distance of the format's numbers around x: what rounding to it may change. */
double number_half_ulp(enum format format, double x);

/* The largest finite number. */
double number_most(enum format format);

/* Of a PTX type; of a packed type that of its parts, whose count goes to `parts`. */
enum format format_of_type(enum ptx_type type, unsigned *parts);
enum format format_of_dtype(enum dtype dtype);

#endif
