/*
 * lane_compare.h - every comparison there is, as a list: COMPARISONS(X) expands
 * X(OP, EXPR, FTZ_KEY, FTZ, T, S, M, LOAD, LETTER) for each, where
 *   OP, EXPR      its name, and the test of x and y
 *   FTZ_KEY, FTZ  ".ftz" and ftz_, or "" and nothing
 *   T, LETTER     the type compared, and the width of its register
 *   S, LOAD       an element in memory, and its value
 *   M             an unsigned type as wide as the values, for the mask while it is made
 */
#ifndef SOFTGPU_LANE_COMPARE_H
#define SOFTGPU_LANE_COMPARE_H

#include "exec/lane/lane_num.h"

#define EQUALITIES(X, ...)                                                                         \
    X(eq, x == y, __VA_ARGS__)                                                                     \
    X(ne, x != y, __VA_ARGS__)
#define ORDERS(X, ...)                                                                             \
    X(lt, x < y, __VA_ARGS__)                                                                      \
    X(le, x <= y, __VA_ARGS__)                                                                     \
    X(gt, x > y, __VA_ARGS__)                                                                      \
    X(ge, x >= y, __VA_ARGS__)
#define SIGNED_COMPARISONS(X, ...)                                                                 \
    EQUALITIES(X, __VA_ARGS__)                                                                     \
    ORDERS(X, __VA_ARGS__)
#define UNSIGNED_COMPARISONS(X, ...)                                                               \
    SIGNED_COMPARISONS(X, __VA_ARGS__)                                                             \
    X(lo, x < y, __VA_ARGS__)                                                                      \
    X(ls, x <= y, __VA_ARGS__)                                                                     \
    X(hi, x > y, __VA_ARGS__)                                                                      \
    X(hs, x >= y, __VA_ARGS__)
/* With a NaN the first ones are false and those ending in u true. */
#define FLOAT_COMPARISONS(X, ...)                                                                  \
    ORDERS(X, __VA_ARGS__)                                                                         \
    X(eq, x == y, __VA_ARGS__)                                                                     \
    X(ne, x<y || x> y, __VA_ARGS__)                                                                \
    X(equ, !(x < y || x > y), __VA_ARGS__)                                                         \
    X(neu, x != y, __VA_ARGS__)                                                                    \
    X(ltu, !(x >= y), __VA_ARGS__)                                                                 \
    X(leu, !(x > y), __VA_ARGS__)                                                                  \
    X(gtu, !(x <= y), __VA_ARGS__)                                                                 \
    X(geu, !(x < y), __VA_ARGS__)                                                                  \
    X(num, x == x && y == y, __VA_ARGS__)                                                          \
    X(nan, x != x || y != y, __VA_ARGS__)

#define AS_S16(v) ((s32)(s16)(v))
#define COMPARISONS(X)                                                                             \
    EQUALITIES(X, "", , b16, u16, u32, AS_U32, "h")                                                \
    EQUALITIES(X, "", , b32, u32, u32, AS_U32, "w")                                                \
    EQUALITIES(X, "", , b64, u64, u64, AS_U64, "d")                                                \
    UNSIGNED_COMPARISONS(X, "", , u16, u16, u32, AS_U32, "h")                                      \
    UNSIGNED_COMPARISONS(X, "", , u32, u32, u32, AS_U32, "w")                                      \
    UNSIGNED_COMPARISONS(X, "", , u64, u64, u64, AS_U64, "d")                                      \
    SIGNED_COMPARISONS(X, "", , s16, u16, u32, AS_S16, "h")                                        \
    SIGNED_COMPARISONS(X, "", , s32, u32, u32, AS_S32, "w")                                        \
    SIGNED_COMPARISONS(X, "", , s64, u64, u64, AS_S64, "d")                                        \
    FLOAT_COMPARISONS(X, "", , f16, u16, u32, load_f16, "h")                                       \
    FLOAT_COMPARISONS(X, ".ftz", ftz_, f16, u16, u32, load_f16_ftz, "h")                           \
    FLOAT_COMPARISONS(X, "", , bf16, u16, u32, load_bf16, "h")                                     \
    FLOAT_COMPARISONS(X, "", , f32, u32, u32, from32, "w")                                         \
    FLOAT_COMPARISONS(X, ".ftz", ftz_, f32, u32, u32, from32_ftz, "w")                             \
    FLOAT_COMPARISONS(X, "", , f64, u64, u64, from64, "d")
/* The same for pairs of halves; S is one half. */
#define PAIR_COMPARISONS(X)                                                                        \
    FLOAT_COMPARISONS(X, "", , f16x2, u16, u32, load_f16, "w")                                     \
    FLOAT_COMPARISONS(X, ".ftz", ftz_, f16x2, u16, u32, load_f16_ftz, "w")                         \
    FLOAT_COMPARISONS(X, "", , bf16x2, u16, u32, load_bf16, "w")

/* u32 NAME(args): a bit for each lane where the first two sources compare so. The sources are
 * STRIDE elements apart and begin at FIRST. */
#define MASK_FN(ATTRIBUTES, NAME, S, M, LOAD, STRIDE, FIRST, EXPR)                                 \
    ATTRIBUTES __attribute__((noinline)) static u32 NAME(const struct lane_args *args)             \
    {                                                                                              \
        const S *s0 = args->s[0], *s1 = args->s[1];                                                \
        M mask = 0;                                                                                \
        EACH(LANES)                                                                                \
        {                                                                                          \
            __auto_type x = LOAD(s0[STRIDE * i + FIRST]);                                          \
            __auto_type y = LOAD(s1[STRIDE * i + FIRST]);                                          \
            mask |= (EXPR) ? (M)1 << i : 0;                                                        \
        }                                                                                          \
        return (u32)mask;                                                                          \
    }

/* How the outcome is combined with the third source, which is a predicate. */
#define COMBINE_none(mask, args) (mask)
#define COMBINE_and(mask, args)  ((mask) & *(const u32 *)(args)->s[2])
#define COMBINE_or(mask, args)   ((mask) | *(const u32 *)(args)->s[2])
#define COMBINE_xor(mask, args)  ((mask) ^ *(const u32 *)(args)->s[2])

#endif
