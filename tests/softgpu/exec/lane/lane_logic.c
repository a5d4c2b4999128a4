/* lane_logic.c - bitwise logic, of words and of predicates; moves and selections. */
#include "exec/lane/lane_loop.h"

__extension__ typedef unsigned __int128 b128;

/* ---- words ----------------------------------------------------------------------------------- */

#define LOGIC(BITS)                                                                                \
    MAP2(and_b##BITS, 32, u##BITS, u##BITS, SAME, SAME, x &y)                                      \
    MAP2(or_b##BITS, 32, u##BITS, u##BITS, SAME, SAME, x | y)                                      \
    MAP2(xor_b##BITS, 32, u##BITS, u##BITS, SAME, SAME, x ^ y)                                     \
    MAP1(not_b##BITS, 32, u##BITS, u##BITS, SAME, SAME, ~x)                                        \
    MAP1(cnot_b##BITS, 32, u##BITS, u##BITS, SAME, SAME, x == 0)                                   \
    MAP1(mov_b##BITS, 32, u##BITS, u##BITS, SAME, SAME, x)
LOGIC(16)
LOGIC(32)
LOGIC(64)
MAP1(mov_b128, 32, b128, b128, SAME, SAME, x)

/* Bit 4a+2b+c of the table is the result for those bits of the sources. The table is a constant and
 * so the same for all lanes, but that need not be known here. */
#define TERM(bit) (0u - (table >> (bit)&1))
#define LOOK_UP                                                                                    \
    ((TERM(0) & ~x & ~y & ~z) | (TERM(1) & ~x & ~y & z) | (TERM(2) & ~x & y & ~z) |                \
     (TERM(3) & ~x & y & z) | (TERM(4) & x & ~y & ~z) | (TERM(5) & x & ~y & z) |                   \
     (TERM(6) & x & y & ~z) | (TERM(7) & x & y & z))
#define LOP3(NAME, Q_EXPR)                                                                         \
    LANE_FN(                                                                                       \
        NAME, u32 *d = args->d; const u32 *s0 = args->s[0]; const u32 *s1 = args->s[1];            \
        const u32 *s2 = args->s[2]; const u32 *s3 = args->s[3]; u32 nonzero = 0; EACH(LANES) {     \
            u32 x = s0[i], y = s1[i], z = s2[i], table = s3[i];                                    \
            u32 value = LOOK_UP;                                                                   \
            d[i] = value;                                                                          \
            nonzero |= value ? 1u << i : 0;                                                        \
        } if (args->q) *args->q = Q_EXPR;)
LOP3(lop3, nonzero)
LOP3(lop3_or, nonzero | *(const u32 *)args->s[4])
LOP3(lop3_and, nonzero &*(const u32 *)args->s[4])

/* ---- predicates: one word of 32 lanes -------------------------------------------------------- */

#define PRED(NAME, EXPR)                                                                           \
    LANE_SLOW_FN(NAME, u32 x = *(const u32 *)args->s[0]; *(u32 *)args->d = EXPR;)
#define PRED2(NAME, EXPR)                                                                          \
    LANE_SLOW_FN(NAME, u32 x = *(const u32 *)args->s[0]; u32 y = *(const u32 *)args->s[1];         \
                 *(u32 *)args->d = EXPR;)
PRED(mov_pred, x)
PRED(not_pred, ~x)
PRED(cnot_pred, ~x)
PRED2(and_pred, x &y)
PRED2(or_pred, x | y)
PRED2(xor_pred, x ^ y)

/* ---- selections ------------------------------------------------------------------------------ */

#define SELECT(BITS)                                                                               \
    LANE_FN(selp_b##BITS, u##BITS *d = args->d; const u##BITS *s0 = args->s[0];                    \
            const u##BITS *s1 = args->s[1]; u32 p = *(const u32 *)args->s[2];                      \
            EACH(LANES) d[i] = p & 1u << i ? s0[i] : s1[i];)
SELECT(16)
SELECT(32)
SELECT(64)

#define IS_NOT_NEGATIVE(v) ((s32)(v) >= 0)
/* -0 and all that .ftz makes of subnormals count as 0; NaN does not. */
#define IS_NOT_BELOW_0(v)                                                                          \
    (((v)&0x7fffffff) <= 0x7f800000 && ((v) <= 0x7f800000 || (v) == 0x80000000))
#define IS_NOT_BELOW_0_FTZ(v) (IS_NOT_BELOW_0(v) || ((v)&0x7f800000) == 0)
#define SELECT_BY(NAME, BITS, CONDITION)                                                           \
    LANE_FN(NAME##_b##BITS, u##BITS *d = args->d; const u##BITS *s0 = args->s[0];                  \
            const u##BITS *s1 = args->s[1]; const u32 *s2 = args->s[2];                            \
            EACH(LANES) d[i] = CONDITION(s2[i]) ? s0[i] : s1[i];)
#define SELECTS_BY(NAME, CONDITION)                                                                \
    SELECT_BY(NAME, 16, CONDITION)                                                                 \
    SELECT_BY(NAME, 32, CONDITION)                                                                 \
    SELECT_BY(NAME, 64, CONDITION)
SELECTS_BY(slct_s32, IS_NOT_NEGATIVE)
SELECTS_BY(slct_f32, IS_NOT_BELOW_0)
SELECTS_BY(slct_ftz_f32, IS_NOT_BELOW_0_FTZ)

/* ---- rows ------------------------------------------------------------------------------------ */

#define LOGIC_ROWS(BITS, L)                                                                        \
    ROW("and.b" #BITS, L L L, and_b##BITS), ROW("or.b" #BITS, L L L, or_b##BITS),                  \
        ROW("xor.b" #BITS, L L L, xor_b##BITS), ROW("not.b" #BITS, L L, not_b##BITS),              \
        ROW("cnot.b" #BITS, L L, cnot_b##BITS)
#define CHOICE_ROWS(T, BITS, L)                                                                    \
    ROW("mov." #T, L L, mov_b##BITS), ROW("selp." #T, L L L "p", selp_b##BITS),                    \
        ROW("slct." #T ".s32", L L L "w", slct_s32_b##BITS),                                       \
        ROW("slct." #T ".f32", L L L "w", slct_f32_b##BITS),                                       \
        ROW("slct.ftz." #T ".f32", L L L "w", slct_ftz_f32_b##BITS)

static const struct lane_row ROWS[] = {
    LOGIC_ROWS(16, "h"),
    LOGIC_ROWS(32, "w"),
    LOGIC_ROWS(64, "d"),
    ROW("lop3.b32", "wwwww", lop3),
    ROW("lop3.or.b32", "wwwwwp", lop3_or),
    ROW("lop3.and.b32", "wwwwwp", lop3_and),
    SLOW_ROW("mov.pred", "pp", mov_pred),
    SLOW_ROW("not.pred", "pp", not_pred),
    SLOW_ROW("cnot.pred", "pp", cnot_pred),
    SLOW_ROW("and.pred", "ppp", and_pred),
    SLOW_ROW("or.pred", "ppp", or_pred),
    SLOW_ROW("xor.pred", "ppp", xor_pred),
    CHOICE_ROWS(b16, 16, "h"),
    CHOICE_ROWS(u16, 16, "h"),
    CHOICE_ROWS(s16, 16, "h"),
    CHOICE_ROWS(f16, 16, "h"),
    CHOICE_ROWS(bf16, 16, "h"),
    CHOICE_ROWS(b32, 32, "w"),
    CHOICE_ROWS(u32, 32, "w"),
    CHOICE_ROWS(s32, 32, "w"),
    CHOICE_ROWS(f32, 32, "w"),
    CHOICE_ROWS(f16x2, 32, "w"),
    CHOICE_ROWS(bf16x2, 32, "w"),
    CHOICE_ROWS(b64, 64, "d"),
    CHOICE_ROWS(u64, 64, "d"),
    CHOICE_ROWS(s64, 64, "d"),
    CHOICE_ROWS(f64, 64, "d"),
    ROW("mov.b128", "qq", mov_b128),
};
LANE_FAMILY(lane_logic_family, ROWS);
