/* lane_setp.c - setp: comparisons that give predicates. */
#include "exec/lane/lane_compare.h"

#define SETP(BOOL, NAME, VERSION)                                                                  \
    static void NAME##_##BOOL##_##VERSION(const struct lane_args *args)                            \
    {                                                                                              \
        u32 mask = NAME##_mask_##VERSION(args);                                                    \
        u32 p = COMBINE_##BOOL(mask, args), q = COMBINE_##BOOL(~mask, args);                       \
        *(u32 *)args->d = p;                                                                       \
        if (args->q)                                                                               \
            *args->q = q;                                                                          \
    }
#define SETPS(NAME, VERSION)                                                                       \
    SETP(none, NAME, VERSION)                                                                      \
    SETP(and, NAME, VERSION)                                                                       \
    SETP(or, NAME, VERSION)                                                                        \
    SETP(xor, NAME, VERSION)
#define FUNCTIONS(OP, EXPR, FTZ_KEY, FTZ, T, S, M, LOAD, L)                                        \
    MASK_FN(, FTZ##OP##_##T##_mask_plain, S, M, LOAD, 1, 0, EXPR)                                  \
    MASK_FN(LANE_FAST, FTZ##OP##_##T##_mask_fast, S, M, LOAD, 1, 0, EXPR)                          \
    SETPS(FTZ##OP##_##T, plain)                                                                    \
    SETPS(FTZ##OP##_##T, fast)
COMPARISONS(FUNCTIONS)

/* Of a pair p is for the lower halves and q for the upper ones. */
#define PAIR_SETP(BOOL, NAME)                                                                      \
    LANE_SLOW_FN(NAME##_##BOOL, u32 low = NAME##_low(args), high = NAME##_high(args);              \
                 low = COMBINE_##BOOL(low, args); high = COMBINE_##BOOL(high, args);               \
                 *(u32 *)args->d = low; if (args->q) *args->q = high;)
#define PAIR_FUNCTIONS(OP, EXPR, FTZ_KEY, FTZ, T, S, M, LOAD, L)                                   \
    MASK_FN(, FTZ##OP##_##T##_low, S, M, LOAD, 2, 0, EXPR)                                         \
    MASK_FN(, FTZ##OP##_##T##_high, S, M, LOAD, 2, 1, EXPR)                                        \
    PAIR_SETP(none, FTZ##OP##_##T)                                                                 \
    PAIR_SETP(and, FTZ##OP##_##T)                                                                  \
    PAIR_SETP(or, FTZ##OP##_##T)                                                                   \
    PAIR_SETP(xor, FTZ##OP##_##T)
PAIR_COMPARISONS(PAIR_FUNCTIONS)

#define SETP_ROWS(OP, EXPR, FTZ_KEY, FTZ, T, S, M, LOAD, L)                                        \
    ROW("setp." #OP FTZ_KEY "." #T, "p" L L, FTZ##OP##_##T##_none),                                \
        ROW("setp." #OP ".and" FTZ_KEY "." #T, "p" L L "p", FTZ##OP##_##T##_and),                  \
        ROW("setp." #OP ".or" FTZ_KEY "." #T, "p" L L "p", FTZ##OP##_##T##_or),                    \
        ROW("setp." #OP ".xor" FTZ_KEY "." #T, "p" L L "p", FTZ##OP##_##T##_xor),
#define PAIR_ROWS(OP, EXPR, FTZ_KEY, FTZ, T, S, M, LOAD, L)                                        \
    SLOW_ROW("setp." #OP FTZ_KEY "." #T, "p" L L, FTZ##OP##_##T##_none),                           \
        SLOW_ROW("setp." #OP ".and" FTZ_KEY "." #T, "p" L L "p", FTZ##OP##_##T##_and),             \
        SLOW_ROW("setp." #OP ".or" FTZ_KEY "." #T, "p" L L "p", FTZ##OP##_##T##_or),               \
        SLOW_ROW("setp." #OP ".xor" FTZ_KEY "." #T, "p" L L "p", FTZ##OP##_##T##_xor),

static const struct lane_row ROWS[] = {COMPARISONS(SETP_ROWS) PAIR_COMPARISONS(PAIR_ROWS)};
LANE_FAMILY(lane_setp_family, ROWS);
