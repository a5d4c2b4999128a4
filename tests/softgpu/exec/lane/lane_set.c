/* lane_set.c - set: comparisons that give numbers, 1.0 or all ones where they hold. */
#include "exec/lane/lane_compare.h"

/* None of these is inlined: there are thousands of callers. */
static __attribute__((noinline)) void spread16(const struct lane_args *args, u32 mask, u16 yes)
{
    u16 *d = args->d;
    for (unsigned i = 0; i < LANES; i++)
        d[i] = mask >> i & 1 ? yes : 0;
}
static __attribute__((noinline)) void spread32(const struct lane_args *args, u32 mask, u32 yes)
{
    u32 *d = args->d;
    for (unsigned i = 0; i < LANES; i++)
        d[i] = mask >> i & 1 ? yes : 0;
}

static __attribute__((noinline)) void spread_pairs(const struct lane_args *args, u32 low, u32 high,
                                                   u32 yes)
{
    u32 *d = args->d;
    for (unsigned i = 0; i < LANES; i++)
        d[i] = (low >> i & 1 ? yes : 0) | (high >> i & 1 ? yes << 16 : 0);
}

/* ---- one comparison a lane ------------------------------------------------------------------- */

#define SET(BOOL, NAME)                                                                            \
    LANE_SLOW_FN(NAME##_##BOOL##_i32, spread32(args, COMBINE_##BOOL(NAME(args), args), ~0u);)      \
    LANE_SLOW_FN(NAME##_##BOOL##_f32,                                                              \
                 spread32(args, COMBINE_##BOOL(NAME(args), args), 0x3f800000);)                    \
    LANE_SLOW_FN(NAME##_##BOOL##_i16, spread16(args, COMBINE_##BOOL(NAME(args), args), 0xffff);)   \
    LANE_SLOW_FN(NAME##_##BOOL##_f16, spread16(args, COMBINE_##BOOL(NAME(args), args), 0x3c00);)   \
    LANE_SLOW_FN(NAME##_##BOOL##_bf16, spread16(args, COMBINE_##BOOL(NAME(args), args), 0x3f80);)
#define FUNCTIONS(OP, EXPR, FTZ_KEY, FTZ, T, S, M, LOAD, L)                                        \
    MASK_FN(, FTZ##OP##_##T, S, M, LOAD, 1, 0, EXPR)                                               \
    SET(none, FTZ##OP##_##T)                                                                       \
    SET(and, FTZ##OP##_##T)                                                                        \
    SET(or, FTZ##OP##_##T)                                                                         \
    SET(xor, FTZ##OP##_##T)
COMPARISONS(FUNCTIONS)

#define SET_ROWS(BOOL, OPERANDS, NAME, OP, FTZ_KEY, T)                                             \
    SLOW_ROW("set." OP FTZ_KEY ".u32." T, "w" OPERANDS, NAME##_##BOOL##_i32),                      \
        SLOW_ROW("set." OP FTZ_KEY ".s32." T, "w" OPERANDS, NAME##_##BOOL##_i32),                  \
        SLOW_ROW("set." OP FTZ_KEY ".f32." T, "w" OPERANDS, NAME##_##BOOL##_f32),                  \
        SLOW_ROW("set." OP FTZ_KEY ".u16." T, "h" OPERANDS, NAME##_##BOOL##_i16),                  \
        SLOW_ROW("set." OP FTZ_KEY ".s16." T, "h" OPERANDS, NAME##_##BOOL##_i16),                  \
        SLOW_ROW("set." OP FTZ_KEY ".f16." T, "h" OPERANDS, NAME##_##BOOL##_f16),                  \
        SLOW_ROW("set." OP FTZ_KEY ".bf16." T, "h" OPERANDS, NAME##_##BOOL##_bf16),
#define ROWS_OF(OP, EXPR, FTZ_KEY, FTZ, T, S, M, LOAD, L)                                          \
    SET_ROWS(none, L L, FTZ##OP##_##T, #OP, FTZ_KEY, #T)                                           \
    SET_ROWS(and, L L "p", FTZ##OP##_##T, #OP ".and", FTZ_KEY, #T)                                 \
    SET_ROWS(or, L L "p", FTZ##OP##_##T, #OP ".or", FTZ_KEY, #T)                                   \
    SET_ROWS(xor, L L "p", FTZ##OP##_##T, #OP ".xor", FTZ_KEY, #T)

/* ---- one for each half of a lane ------------------------------------------------------------- */

#define PAIR_SET(BOOL, NAME, KIND, YES)                                                            \
    LANE_SLOW_FN(NAME##_##BOOL##_##KIND, u32 low = NAME##_low(args), high = NAME##_high(args);     \
                 spread_pairs(args, COMBINE_##BOOL(low, args), COMBINE_##BOOL(high, args), YES);)
#define PAIR_SETS(BOOL, NAME)                                                                      \
    PAIR_SET(BOOL, NAME, ones, 0xffffu)                                                            \
    PAIR_SET(BOOL, NAME, f16x2, 0x3c00u)                                                           \
    PAIR_SET(BOOL, NAME, bf16x2, 0x3f80u)
#define PAIR_FUNCTIONS(OP, EXPR, FTZ_KEY, FTZ, T, S, M, LOAD, L)                                   \
    MASK_FN(, FTZ##OP##_##T##_low, S, M, LOAD, 2, 0, EXPR)                                         \
    MASK_FN(, FTZ##OP##_##T##_high, S, M, LOAD, 2, 1, EXPR)                                        \
    PAIR_SETS(none, FTZ##OP##_##T)                                                                 \
    PAIR_SETS(and, FTZ##OP##_##T)                                                                  \
    PAIR_SETS(or, FTZ##OP##_##T)                                                                   \
    PAIR_SETS(xor, FTZ##OP##_##T)
PAIR_COMPARISONS(PAIR_FUNCTIONS)

#define PAIR_SET_ROWS(BOOL, OPERANDS, NAME, OP, FTZ_KEY, T)                                        \
    SLOW_ROW("set." OP FTZ_KEY ".u32." T, OPERANDS, NAME##_##BOOL##_ones),                         \
        SLOW_ROW("set." OP FTZ_KEY ".s32." T, OPERANDS, NAME##_##BOOL##_ones),                     \
        SLOW_ROW("set." OP FTZ_KEY ".f16x2." T, OPERANDS, NAME##_##BOOL##_f16x2),                  \
        SLOW_ROW("set." OP FTZ_KEY ".bf16x2." T, OPERANDS, NAME##_##BOOL##_bf16x2),
#define PAIR_ROWS_OF(OP, EXPR, FTZ_KEY, FTZ, T, S, M, LOAD, L)                                     \
    PAIR_SET_ROWS(none, "www", FTZ##OP##_##T, #OP, FTZ_KEY, #T)                                    \
    PAIR_SET_ROWS(and, "wwwp", FTZ##OP##_##T, #OP ".and", FTZ_KEY, #T)                             \
    PAIR_SET_ROWS(or, "wwwp", FTZ##OP##_##T, #OP ".or", FTZ_KEY, #T)                               \
    PAIR_SET_ROWS(xor, "wwwp", FTZ##OP##_##T, #OP ".xor", FTZ_KEY, #T)

static const struct lane_row ROWS[] = {COMPARISONS(ROWS_OF) PAIR_COMPARISONS(PAIR_ROWS_OF)};
LANE_FAMILY(lane_set_family, ROWS);
