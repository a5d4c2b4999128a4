#include "tools/fuzz/case/element.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include "lang/dtype.h"
#include "tools/fuzz/case/block.h"

/* A float format by the bits of its exponent and fraction. */
struct format {
    int exponent, fraction;
    uint32_t inf, nan; /* codes without a sign; inf 0: there is none */
};

static const struct format *format_of(enum dtype dtype)
{
    static const struct format formats[] = {
        [DTYPE_F16] = {5, 10, 0x7c00, 0x7e00},
        [DTYPE_BF16] = {8, 7, 0x7f80, 0x7fc0},
        [DTYPE_F8E4M3] = {4, 3, 0, 0x7f},
        [DTYPE_F8E5M2] = {5, 2, 0x7c, 0x7e},
    };
    return dtype >= DTYPE_F16 && dtype <= DTYPE_F8E5M2 ? &formats[dtype] : NULL;
}

static uint32_t encode_float(const struct format *format, double value)
{
    uint32_t sign = signbit(value) ? 1u << (format->exponent + format->fraction) : 0;
    double magnitude = fabs(value);
    uint32_t limit = format->inf ? format->inf : format->nan;
    if (isnan(value))
        return sign | format->nan;
    if (isinf(value) || magnitude == 0)
        return sign | (isinf(value) ? limit : 0);
    int least = 2 - (1 << (format->exponent - 1)), exponent;
    frexp(magnitude, &exponent);
    exponent = exponent - 1 < least ? least : exponent - 1;
    double steps = nearbyint(ldexp(magnitude, format->fraction - exponent));
    double code = steps + ldexp((double)(exponent - least), format->fraction);
    return sign | (code < limit ? (uint32_t)code : limit);
}

static void encode_integer(enum dtype dtype, void *out, double value)
{
    unsigned bytes = dtype_bytes(dtype);
    bool is_signed = dtype >= DTYPE_I8 && dtype <= DTYPE_I64;
    int bits = dtype == DTYPE_BOOL ? 1 : (int)(8 * bytes) - is_signed;
    double limit = ldexp(1, bits), whole = isnan(value) ? 0 : nearbyint(value);
    uint64_t raw;
    if (whole < 0)
        raw = !is_signed ? 0 : whole <= -limit ? (uint64_t)-1 << bits : (uint64_t)(int64_t)whole;
    else
        raw = whole >= limit ? ((uint64_t)1 << (bits - 1)) - 1 + ((uint64_t)1 << (bits - 1))
                             : (uint64_t)whole;
    memcpy(out, &raw, bytes); /* little endian, as the device is */
}

void fuzz_encode(enum dtype dtype, void *out, double value)
{
    const struct format *format = format_of(dtype);
    float single = (float)value;
    if (dtype == DTYPE_F64) {
        memcpy(out, &value, sizeof value);
    } else if (dtype == DTYPE_F32) {
        memcpy(out, &single, sizeof single);
    } else if (format) {
        uint32_t code = encode_float(format, value);
        memcpy(out, &code, dtype_bytes(dtype));
    } else {
        encode_integer(dtype, out, value);
    }
}

double fuzz_decode(enum dtype dtype, const void *element)
{
    const struct format *format = format_of(dtype);
    uint32_t code = 0;
    if (!format)
        return dtype_load(dtype, element);
    memcpy(&code, element, dtype_bytes(dtype));
    uint32_t steps = 1u << format->fraction, sign = 1u << (format->exponent + format->fraction);
    uint32_t magnitude = code & (sign - 1), field = magnitude / steps;
    int least = 2 - (1 << (format->exponent - 1)) - format->fraction;
    double part = (double)(magnitude % steps + (field ? steps : 0));
    double value = ldexp(part, least + (int)(field ? field - 1 : 0));
    bool top = format->inf && magnitude > format->inf;
    if (top || (!format->inf && magnitude == format->nan))
        value = (double)NAN;
    else if (format->inf && magnitude == format->inf)
        value = (double)INFINITY;
    return code & sign ? -value : value;
}

void fuzz_poison(enum dtype dtype, enum fuzz_poison kind, void *out)
{
    static const struct {
        enum dtype dtype;
        uint64_t bits;
    } poisons[] = {
        {DTYPE_F64, 0x7ff5a5a5a5a5a5a5},
        {DTYPE_F32, 0x7fa5a55a},
        {DTYPE_F16, 0x7d5a},
        {DTYPE_BF16, 0x7fa5},
        {DTYPE_F8E4M3, 0xff},
        {DTYPE_F8E5M2, 0xfd},
    };
    bool finite = kind == FUZZ_POISON_FINITE, other = finite && !dtype_is_real(dtype);
    if (dtype_block(dtype)) {
        memset(out, finite ? 0x5a : 0x7d, dtype_bytes(dtype));
        return;
    }
    uint64_t bits = other ? 0x2525252525252525 : 0x5a5a5a5a5a5a5a5a;
    for (size_t i = 0; !finite && i < sizeof poisons / sizeof poisons[0]; i++)
        bits = poisons[i].dtype == dtype ? poisons[i].bits : bits;
    memcpy(out, &bits, dtype_bytes(dtype));
}

bool fuzz_is_poison(enum dtype dtype, enum fuzz_poison kind, const void *element)
{
    uint8_t poison[FUZZ_BLOCK_BYTES];
    fuzz_poison(dtype, kind, poison);
    return memcmp(element, poison, dtype_bytes(dtype)) == 0;
}
