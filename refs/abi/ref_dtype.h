/*
 * ref_dtype.h - what a dtype is: its size, its grid of values, its bits as a double and back.
 *
 * Everything here is for any dtype and slow; the hot paths of ref_tensor.h and ref_judge.h have
 * code of their own for three or four float formats and use this for the rest.
 */
#ifndef REFS_REF_DTYPE_H
#define REFS_REF_DTYPE_H

#include "ref_math.h"

/* 0 for a dtype that is none. */
REF_FN int ref_dtype_bytes(int dtype)
{
    switch (dtype) {
    case DTYPE_F64:
    case DTYPE_I64:
    case DTYPE_U64:
        return 8;
    case DTYPE_F32:
    case DTYPE_I32:
    case DTYPE_U32:
        return 4;
    case DTYPE_F16:
    case DTYPE_BF16:
    case DTYPE_I16:
    case DTYPE_U16:
        return 2;
    case DTYPE_F8E4M3:
    case DTYPE_F8E5M2:
    case DTYPE_I8:
    case DTYPE_U8:
    case DTYPE_BOOL:
        return 1;
    default:
        return 0;
    }
}

REF_FN bool ref_dtype_floats(int dtype)
{
    return dtype >= DTYPE_F64 && dtype <= DTYPE_F8E5M2;
}

/* Bits of the fraction. */
REF_FN int ref_dtype_fraction(int dtype)
{
    switch (dtype) {
    case DTYPE_F64:
        return 52;
    case DTYPE_F32:
        return 23;
    case DTYPE_F16:
        return 10;
    case DTYPE_BF16:
        return 7;
    case DTYPE_F8E4M3:
        return 3;
    case DTYPE_F8E5M2:
        return 2;
    default:
        return 0;
    }
}

/* Exponent of the smallest normal value. */
REF_FN int ref_dtype_exponent(int dtype)
{
    switch (dtype) {
    case DTYPE_F64:
        return -1022;
    case DTYPE_F32:
    case DTYPE_BF16:
        return -126;
    case DTYPE_F16:
    case DTYPE_F8E5M2:
        return -14;
    case DTYPE_F8E4M3:
        return -6;
    default:
        return 0;
    }
}

/* The largest finite value of a float format. */
REF_FN double ref_dtype_max(int dtype)
{
    switch (dtype) {
    case DTYPE_F32:
        return 3.4028234663852886e38;
    case DTYPE_BF16:
        return 3.3895313892515355e38;
    case DTYPE_F16:
        return 65504;
    case DTYPE_F8E4M3:
        return 448;
    case DTYPE_F8E5M2:
        return 57344;
    default:
        return 1.7976931348623157e308;
    }
}

/* The largest number of any dtype, and the one at the other end. */
REF_SLOW double ref_dtype_largest(int dtype)
{
    int bits = 8 * ref_dtype_bytes(dtype);
    if (ref_dtype_floats(dtype) || bits == 0)
        return ref_dtype_max(dtype);
    return ref_power2(dtype < DTYPE_U8 ? bits - 1 : dtype == DTYPE_BOOL ? 1 : bits) - 1;
}

REF_SLOW double ref_dtype_lowest(int dtype)
{
    bool is_signed = dtype >= DTYPE_I8 && dtype <= DTYPE_I64;
    return ref_dtype_floats(dtype) ? -ref_dtype_max(dtype)
           : is_signed             ? -ref_dtype_largest(dtype) - 1
                                   : 0;
}

/* Kernels may flush what is below the smallest normal f32 on its way to these. */
REF_FN double ref_dtype_flush(int dtype)
{
    return dtype == DTYPE_F32 || dtype == DTYPE_BF16 ? 1.1754943508222875e-38 : 0;
}

/* Distance of neighbours of `dtype` at |x|; 1 for integers. */
REF_SLOW double ref_dtype_ulp(int dtype, double x)
{
    if (!ref_dtype_floats(dtype))
        return 1;
    double magnitude = ref_abs(x), most = ref_dtype_max(dtype);
    double binade =
        ref_binade(magnitude < most ? magnitude : most, ref_power2(ref_dtype_exponent(dtype)));
    int shift = ref_dtype_fraction(dtype);
    return binade * ref_power2(-shift);
}

/* A float format of `exponent` and `fraction` bits: fields to value; Inf and NaN apart. */
REF_FN double ref_assemble(uint32_t bits, int exponent, int fraction)
{
    int field = (int)(bits >> fraction & ((1u << exponent) - 1));
    double part = bits & ((1u << fraction) - 1);
    double sign = bits >> (exponent + fraction) & 1 ? -1 : 1;
    int bias = (1 << (exponent - 1)) - 1;
    if (field == 0)
        return sign * part * ref_power2(1 - bias - fraction);
    return sign * (part + ref_power2(fraction)) * ref_power2(field - bias - fraction);
}

REF_FN double ref_half_to_double(uint32_t bits)
{
    if ((bits & 0x7c00) == 0x7c00)
        return bits & 0x3ff ? ref_nan() : bits & 0x8000 ? -ref_infinity() : ref_infinity();
    return ref_assemble(bits, 5, 10);
}

REF_FN double ref_e5m2_to_double(uint32_t bits)
{
    if ((bits & 0x7c) == 0x7c)
        return bits & 3 ? ref_nan() : bits & 0x80 ? -ref_infinity() : ref_infinity();
    return ref_assemble(bits, 5, 2);
}

/* Bits of one element, zero-extended, to its value. Integers over 2^53 lose their last bits. */
REF_FN double ref_decode(int dtype, uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    switch (dtype) {
    case DTYPE_F64:
        return ref_from_bits(bits);
    case DTYPE_F32:
        return ref_from_bits(low);
    case DTYPE_BF16:
        return ref_from_bits(low << 16);
    case DTYPE_F16:
        return ref_half_to_double(low);
    case DTYPE_F8E4M3:
        return (low & 0x7f) == 0x7f ? ref_nan() : ref_assemble(low, 4, 3);
    case DTYPE_F8E5M2:
        return ref_e5m2_to_double(low);
    case DTYPE_I8:
        return (signed char)low;
    case DTYPE_I16:
        return (short)low;
    case DTYPE_I32:
        return (int)low;
    case DTYPE_I64:
        return (double)(int64_t)bits;
    case DTYPE_BOOL:
        return low != 0;
    default:
        return (double)bits;
    }
}

/* y rounded to `dtype`, to nearest even; integers are not clamped to their range. */
REF_SLOW double ref_round(int dtype, double y)
{
    if (dtype == DTYPE_BOOL)
        return y != 0;
    if (dtype == DTYPE_F64 || !ref_finite(y))
        return y;
    double ulp = ref_dtype_ulp(dtype, y);
    double rounded = rint(y * ref_flip(ulp)) * ulp;
    if (!ref_dtype_floats(dtype) || ref_abs(rounded) <= ref_dtype_max(dtype))
        return rounded;
    if (dtype == DTYPE_F8E4M3)
        return ref_nan();
    return y < 0 ? -ref_infinity() : ref_infinity();
}

#endif
