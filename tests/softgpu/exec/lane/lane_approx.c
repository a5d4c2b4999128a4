/*
 * lane_approx.c - the approximate instructions, as the correctly rounded results (nearly: libm's
 * f64 functions rounded once more) with the special cases of the PTX ISA's tables.
 */
#include "exec/lane/lane_num.h"

/* ---- one number ------------------------------------------------------------------------------ */

LANE_INLINE f32 rcp_approx(f32 x)
{
    return (f32)(1.0 / (f64)x);
}
LANE_INLINE f32 rsqrt_approx(f32 x)
{
    return (f32)(1.0 / __builtin_sqrt((f64)x));
}
LANE_INLINE f32 sin_approx(f32 x)
{
    return (f32)sin((f64)x);
}
LANE_INLINE f32 cos_approx(f32 x)
{
    return (f32)cos((f64)x);
}
LANE_INLINE f32 lg2_approx(f32 x)
{
    return (f32)log2((f64)x);
}
LANE_INLINE f32 ex2_approx(f32 x)
{
    return (f32)exp2((f64)x);
}
LANE_INLINE f32 tanh_approx(f32 x)
{
    return (f32)tanh((f64)x);
}
/* x times the reciprocal of y, which for y beyond 2^126 is 0. */
LANE_INLINE f32 div_approx(f32 x, f32 y)
{
    f32 quotient = (f32)((f64)x / (f64)y);
    f32 beyond = abs_f32(x) < __builtin_inff() ? xorsign(0, x, y) : __builtin_nanf("");
    int is_beyond = abs_f32(y) > 0x1p126f && abs_f32(y) < __builtin_inff();
    return is_beyond ? (x != x ? x : beyond) : quotient;
}
LANE_INLINE f32 div_full(f32 x, f32 y)
{
    return (f32)((f64)x / (f64)y);
}

/*
 * Of the f64 ones the source's upper 32 bits are read and the result's are written; subnormal
 * sources count as zeros.
 */
LANE_INLINE f64 upper(u64 bits)
{
    return from64(bits & 0x7ff0000000000000 ? bits & 0xffffffff00000000
                                            : bits & 0x8000000000000000);
}
LANE_INLINE u64 store_upper(f64 value)
{
    u64 bits = bits64(value);
    u64 finite = bits & 0x7ff0000000000000 ? bits & 0xffffffff00000000 : bits & 0x8000000000000000;
    return value != value ? 0x7fffffff00000000 : finite;
}

/* ---- functions ------------------------------------------------------------------------------- */

#define F32(OP, EXPR)                                                                              \
    MAP1(OP##_f32, 32, u32, u32, from32, store32, EXPR)                                            \
    MAP1(OP##_ftz_f32, 32, u32, u32, from32_ftz, store32_ftz, EXPR)
F32(rcp, rcp_approx(x))
F32(sqrt, __builtin_sqrtf(x))
F32(rsqrt, rsqrt_approx(x))
F32(sin, sin_approx(x))
F32(cos, cos_approx(x))
F32(lg2, lg2_approx(x))
F32(ex2, ex2_approx(x))
MAP1(tanh_f32, 32, u32, u32, from32, store32, tanh_approx(x))
MAP2(div_f32, 32, u32, u32, from32, store32, div_approx(x, y))
MAP2(div_ftz_f32, 32, u32, u32, from32_ftz, store32, settle32(div_approx(x, y), (f64)x / (f64)y))
MAP2(div_full_f32, 32, u32, u32, from32, store32, div_full(x, y))
MAP2(div_full_ftz_f32, 32, u32, u32, from32_ftz, store32, settle32(div_full(x, y), (f64)x / (f64)y))

MAP1(rcp_f64, 32, u64, u64, upper, store_upper, 1.0 / x)
MAP1(rsqrt_f64, 32, u64, u64, upper, store_upper, 1.0 / __builtin_sqrt(x))

/* This one has all its bits, and keeps subnormals. */
MAP1(rsqrt_full_f64, 32, u64, u64, from64, SAME, store64_1((f64)(1 / sqrtl((long double)x)), x))

/* bf16 has ex2 only with .ftz. */
LANE_INLINE f32 load_bf16_ftz(u16 half)
{
    return flush32(load_bf16(half));
}
LANE_INLINE u16 store_bf16_ftz(f32 value)
{
    u16 half = store_bf16(value);
    return half & 0x7f80 ? half : half & 0x8000;
}
#define HALVES(OP, T, LOAD, STORE, EXPR)                                                           \
    MAP1(OP##_##T, 32, u16, u16, LOAD, STORE, EXPR)                                                \
    MAP1(OP##_##T##x2, 64, u16, u16, LOAD, STORE, EXPR)
HALVES(ex2, f16, load_f16, store_f16, odd_f32_of_f64(exp2((f64)x)))
HALVES(ex2_ftz, bf16, load_bf16_ftz, store_bf16_ftz, odd_f32_of_f64(exp2((f64)x)))
HALVES(tanh, f16, load_f16, store_f16, odd_f32_of_f64(tanh((f64)x)))
HALVES(tanh, bf16, load_bf16, store_bf16, odd_f32_of_f64(tanh((f64)x)))

/* ---- rows ------------------------------------------------------------------------------------ */

#define F32_ROWS(OP)                                                                               \
    ROW(#OP ".approx.f32", "ww", OP##_f32), ROW(#OP ".approx.ftz.f32", "ww", OP##_ftz_f32)
#define HALF_ROWS(KEY, T, NAME)                                                                    \
    ROW(KEY "." #T, "hh", NAME##_##T), ROW(KEY "." #T "x2", "ww", NAME##_##T##x2)

static const struct lane_row ROWS[] = {
    F32_ROWS(rcp),
    F32_ROWS(sqrt),
    F32_ROWS(rsqrt),
    F32_ROWS(sin),
    F32_ROWS(cos),
    F32_ROWS(lg2),
    F32_ROWS(ex2),
    ROW("tanh.approx.f32", "ww", tanh_f32),
    ROW("div.approx.f32", "www", div_f32),
    ROW("div.approx.ftz.f32", "www", div_ftz_f32),
    ROW("div.full.f32", "www", div_full_f32),
    ROW("div.full.ftz.f32", "www", div_full_ftz_f32),
    ROW("rcp.approx.ftz.f64", "dd", rcp_f64),
    ROW("rsqrt.approx.ftz.f64", "dd", rsqrt_f64),
    ROW("rsqrt.approx.f64", "dd", rsqrt_full_f64),
    HALF_ROWS("ex2.approx", f16, ex2),
    HALF_ROWS("ex2.approx.ftz", bf16, ex2_ftz),
    HALF_ROWS("tanh.approx", f16, tanh),
    HALF_ROWS("tanh.approx", bf16, tanh),
};
LANE_FAMILY(lane_approx_family, ROWS);
