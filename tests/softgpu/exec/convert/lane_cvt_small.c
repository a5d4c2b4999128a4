/* lane_cvt_small.c - cvt to pairs of halves, to and from pairs of 8-bit floats, and to tf32. */
#include "exec/lane/lane_num.h"

/* Not inlined: there are many callers. */
static __attribute__((noinline)) u32 code_of(f64 value, struct format format, unsigned sign_bit,
                                             u32 nan, enum rounding rounding, int with_relu,
                                             int finite)
{
    if (value != value)
        return nan;
    if (with_relu && !(value > 0))
        value = 0;
    return narrow_signed(value, format, sign_bit, rounding, finite);
}

/* ---- two f32 to a pair: the first one above -------------------------------------------------- */

#define F16_CODE(v, ROUNDING, RELU, FINITE)                                                        \
    code_of(v, FORMAT_F16, 15, NAN_HALF, ROUNDING, RELU, FINITE)
#define BF16_CODE(v, ROUNDING, RELU, FINITE)                                                       \
    code_of(v, FORMAT_BF16, 15, NAN_HALF, ROUNDING, RELU, FINITE)
#define E4M3_CODE(v, RELU) code_of(v, FORMAT_E4M3, 7, 0x7f, ROUND_EVEN, RELU, 1)
#define E5M2_CODE(v, RELU) code_of(v, FORMAT_E5M2, 7, 0x7f, ROUND_EVEN, RELU, 1)

#define PAIR(NAME, CODE, ROUNDING, RELU, FINITE)                                                   \
    MAP2(NAME, 32, u32, u32, from32, SAME,                                                         \
         CODE(x, ROUNDING, RELU, FINITE) << 16 | CODE(y, ROUNDING, RELU, FINITE))
#define PAIRS(T, CODE)                                                                             \
    PAIR(T##_relu, CODE, ROUND_EVEN, 1, 0)                                                         \
    PAIR(T##_finite, CODE, ROUND_EVEN, 0, 1)                                                       \
    PAIR(T##_relu_finite, CODE, ROUND_EVEN, 1, 1)                                                  \
    PAIR(T##_rz, CODE, ROUND_ZERO, 0, 0)                                                           \
    PAIR(T##_rz_relu, CODE, ROUND_ZERO, 1, 0)                                                      \
    PAIR(T##_rz_finite, CODE, ROUND_ZERO, 0, 1)                                                    \
    PAIR(T##_rz_relu_finite, CODE, ROUND_ZERO, 1, 1)
PAIRS(f16x2, F16_CODE)
PAIRS(bf16x2, BF16_CODE)
/* These two are what programs do all the time. */
MAP2(f16x2, 32, u32, u32, from32, SAME, (u32)store_f16(x) << 16 | store_f16(y))
MAP2(bf16x2, 32, u32, u32, from32, SAME, (u32)store_bf16(x) << 16 | store_bf16(y))

/* ---- 8 bits ---------------------------------------------------------------------------------- */

#define LOW(v)  load_f16((u16)(v))
#define HIGH(v) load_f16((u16)((v) >> 16))
#define SMALL(T, CODE)                                                                             \
    MAP2(T##_f32, 32, u16, u32, from32, SAME, CODE(x, 0) << 8 | CODE(y, 0))                        \
    MAP2(T##_relu_f32, 32, u16, u32, from32, SAME, CODE(x, 1) << 8 | CODE(y, 1))                   \
    MAP1(T##_f16x2, 32, u16, u32, SAME, SAME, CODE(HIGH(x), 0) << 8 | CODE(LOW(x), 0))             \
    MAP1(T##_relu_f16x2, 32, u16, u32, SAME, SAME, CODE(HIGH(x), 1) << 8 | CODE(LOW(x), 1))
SMALL(e4m3x2, E4M3_CODE)
SMALL(e5m2x2, E5M2_CODE)

/* As an f16, which holds each of them. */
LANE_INLINE u32 f16_of_e5m2(u32 code)
{
    return (code & 0x7f) > 0x7c ? NAN_HALF : code << 8;
}
LANE_INLINE u32 f16_of_e4m3(u32 code)
{
    u32 magnitude = code & 0x7f, sign = (code & 0x80) << 8;
    /* The bits in f16's places make a number 2^8 times too small. */
    f32 value = load_f16((u16)(magnitude << 7)) * 256.0f;
    return magnitude == 0x7f ? NAN_HALF : sign | store_f16(value);
}
#define F16_RELU(half) ((half)&0x8000 ? 0u : (half))
#define LARGE(T, CALL)                                                                             \
    MAP1(f16x2_##T, 32, u32, u16, AS_U32, SAME, CALL(x >> 8) << 16 | CALL(x & 0xff))               \
    MAP1(f16x2_relu_##T, 32, u32, u16, AS_U32, SAME,                                               \
         F16_RELU(CALL(x >> 8)) << 16 | F16_RELU(CALL(x & 0xff)))
LARGE(e4m3x2, f16_of_e4m3)
LARGE(e5m2x2, f16_of_e5m2)

/* ---- tf32: an f32 whose lower 13 bits are zero ----------------------------------------------- */

#define NAN_TF32 (NAN_F32 >> 13)
#define TF32(NAME, ROUNDING, RELU, FINITE)                                                         \
    MAP1(tf32_##NAME, 32, u32, u32, from32, SAME,                                                  \
         code_of(x, FORMAT_TF32, 18, NAN_TF32, ROUNDING, RELU, FINITE) << 13)
/* .rna cuts a NaN short. */
MAP1(tf32_rna, 32, u32, u32, from32, SAME,
     x != x ? bits32(x) & ~0x1fffu : code_of(x, FORMAT_TF32, 18, 0, ROUND_NEAREST, 0, 0) << 13)
TF32(rna_finite, ROUND_NEAREST, 0, 1)
TF32(rn, ROUND_EVEN, 0, 0)
TF32(rn_relu, ROUND_EVEN, 1, 0)
TF32(rn_finite, ROUND_EVEN, 0, 1)
TF32(rn_relu_finite, ROUND_EVEN, 1, 1)
TF32(rz, ROUND_ZERO, 0, 0)
TF32(rz_relu, ROUND_ZERO, 1, 0)
TF32(rz_finite, ROUND_ZERO, 0, 1)
TF32(rz_relu_finite, ROUND_ZERO, 1, 1)

/* ---- rows ------------------------------------------------------------------------------------ */

#define KIND_ROWS(TYPES, OPERANDS, NAME)                                                           \
    ROW("cvt.relu" TYPES, OPERANDS, NAME##_relu),                                                  \
        ROW("cvt.satfinite" TYPES, OPERANDS, NAME##_finite),                                       \
        ROW("cvt.relu.satfinite" TYPES, OPERANDS, NAME##_relu_finite),                             \
        ROW("cvt.satfinite.relu" TYPES, OPERANDS, NAME##_relu_finite),                             \
        ROW("cvt.rz" TYPES, OPERANDS, NAME##_rz),                                                  \
        ROW("cvt.rz.relu" TYPES, OPERANDS, NAME##_rz_relu),                                        \
        ROW("cvt.rz.satfinite" TYPES, OPERANDS, NAME##_rz_finite),                                 \
        ROW("cvt.rz.relu.satfinite" TYPES, OPERANDS, NAME##_rz_relu_finite),                       \
        ROW("cvt.rz.satfinite.relu" TYPES, OPERANDS, NAME##_rz_relu_finite)
#define SMALL_ROWS(T)                                                                              \
    ROW("cvt.satfinite." #T ".f32", "hww", T##_f32),                                               \
        ROW("cvt.satfinite.relu." #T ".f32", "hww", T##_relu_f32),                                 \
        ROW("cvt.satfinite." #T ".f16x2", "hw", T##_f16x2),                                        \
        ROW("cvt.satfinite.relu." #T ".f16x2", "hw", T##_relu_f16x2),                              \
        ROW("cvt.f16x2." #T, "wh", f16x2_##T), ROW("cvt.relu.f16x2." #T, "wh", f16x2_relu_##T)

static const struct lane_row ROWS[] = {
    ROW("cvt.f16x2.f32", "www", f16x2),
    ROW("cvt.bf16x2.f32", "www", bf16x2),
    KIND_ROWS(".f16x2.f32", "www", f16x2),
    KIND_ROWS(".bf16x2.f32", "www", bf16x2),
    SMALL_ROWS(e4m3x2),
    SMALL_ROWS(e5m2x2),
    ROW("cvt.rna.tf32.f32", "ww", tf32_rna),
    ROW("cvt.rna.satfinite.tf32.f32", "ww", tf32_rna_finite),
    ROW("cvt.tf32.f32", "ww", tf32_rn),
    ROW("cvt.relu.tf32.f32", "ww", tf32_rn_relu),
    ROW("cvt.satfinite.tf32.f32", "ww", tf32_rn_finite),
    ROW("cvt.satfinite.relu.tf32.f32", "ww", tf32_rn_relu_finite),
    ROW("cvt.relu.satfinite.tf32.f32", "ww", tf32_rn_relu_finite),
    ROW("cvt.rz.tf32.f32", "ww", tf32_rz),
    ROW("cvt.rz.relu.tf32.f32", "ww", tf32_rz_relu),
    ROW("cvt.rz.satfinite.tf32.f32", "ww", tf32_rz_finite),
    ROW("cvt.rz.satfinite.relu.tf32.f32", "ww", tf32_rz_relu_finite),
    ROW("cvt.rz.relu.satfinite.tf32.f32", "ww", tf32_rz_relu_finite),
};
LANE_FAMILY(lane_cvt_small_family, ROWS);
