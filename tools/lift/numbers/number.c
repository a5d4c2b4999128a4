#include "tools/lift/numbers/number.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* digits: of the significand, the leading one included; least: the exponent of the smallest
 * subnormal number. */
static const struct {
    const char *name;
    unsigned bytes;
    int digits, least;
    double most;
} formats[FORMATS] = {
    [FORMAT_NONE] = {"none", 0, 53, -1074, 0},
    [FORMAT_F16] = {"f16", 2, 11, -24, 65504},
    [FORMAT_BF16] = {"bf16", 2, 8, -133, 0x1.fep127},
    [FORMAT_F32] = {"f32", 4, 24, -149, FLT_MAX},
    [FORMAT_F64] = {"f64", 8, 53, -1074, DBL_MAX},
    [FORMAT_E4M3] = {"e4m3", 1, 4, -9, 448},
    [FORMAT_E5M2] = {"e5m2", 1, 3, -16, 57344},
    [FORMAT_TF32] = {"tf32", 4, 11, -136, FLT_MAX},
};

unsigned format_bytes(enum format format)
{
    return formats[format].bytes;
}

const char *format_name(enum format format)
{
    return formats[format].name;
}

double number_most(enum format format)
{
    return formats[format].most;
}

static double small_float(uint64_t bits, unsigned mantissa, unsigned exponents, int bias)
{
    const unsigned exponent = (unsigned)(bits >> mantissa) & ((1u << exponents) - 1);
    const unsigned fraction = (unsigned)bits & ((1u << mantissa) - 1);
    const double magnitude =
        exponent ? ldexp((double)(fraction | 1u << mantissa), (int)exponent - bias - (int)mantissa)
                 : ldexp((double)fraction, 1 - bias - (int)mantissa);
    return bits >> (mantissa + exponents) & 1 ? -magnitude : magnitude;
}

static double f32_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return (double)f;
}

/* Its bits in an f32's place are 2^112 times too small. */
static double f16_of(uint16_t bits)
{
    const uint32_t magnitude = (uint32_t)(bits & 0x7fff) << 13;
    const double x =
        magnitude >= 0x0f800000 ? f32_of(magnitude | 0x7f800000) : f32_of(magnitude) * 0x1p112;
    return bits & 0x8000 ? -x : x;
}

double number_of_bits(enum format format, uint64_t bits)
{
    double wide;
    switch (format) {
    case FORMAT_F16:
        return f16_of((uint16_t)bits);
    case FORMAT_BF16:
        return f32_of((uint32_t)(bits << 16));
    case FORMAT_F32:
        return f32_of((uint32_t)bits);
    case FORMAT_TF32:
        return f32_of((uint32_t)bits & 0xffffe000);
    case FORMAT_F64:
        memcpy(&wide, &bits, 8);
        return wide;
    case FORMAT_E4M3:
        return (bits & 0x7f) == 0x7f ? (double)NAN : small_float(bits & 0xff, 3, 4, 7);
    case FORMAT_E5M2:
        return f16_of((uint16_t)(bits << 8));
    default:
        return 0;
    }
}

double number_half_ulp(enum format format, double x)
{
    int exponent = 0;
    if (!isfinite(x))
        return 0;
    frexp(x, &exponent); /* x in [2^(e-1), 2^e) */
    int ulp = exponent - formats[format].digits;
    ulp = ulp < formats[format].least || x == 0 ? formats[format].least : ulp;
    return ldexp(0.5, ulp);
}

enum format format_of_type(enum ptx_type type, unsigned *parts)
{
    *parts = 1;
    switch (type) {
    case PTX_F16X2:
        *parts = 2;
        return FORMAT_F16;
    case PTX_F16:
        return FORMAT_F16;
    case PTX_BF16X2:
        *parts = 2;
        return FORMAT_BF16;
    case PTX_BF16:
        return FORMAT_BF16;
    case PTX_F32X2:
        *parts = 2;
        return FORMAT_F32;
    case PTX_F32:
    case PTX_TF32:
        return FORMAT_F32;
    case PTX_F64:
        return FORMAT_F64;
    case PTX_E4M3X2:
        *parts = 2;
        return FORMAT_E4M3;
    case PTX_E4M3:
        return FORMAT_E4M3;
    case PTX_E5M2X2:
        *parts = 2;
        return FORMAT_E5M2;
    case PTX_E5M2:
        return FORMAT_E5M2;
    default:
        return FORMAT_NONE;
    }
}

enum format format_of_dtype(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F16:
        return FORMAT_F16;
    case DTYPE_BF16:
        return FORMAT_BF16;
    case DTYPE_F32:
        return FORMAT_F32;
    case DTYPE_F64:
        return FORMAT_F64;
    case DTYPE_F8E4M3:
        return FORMAT_E4M3;
    case DTYPE_F8E5M2:
        return FORMAT_E5M2;
    default:
        return FORMAT_NONE;
    }
}
