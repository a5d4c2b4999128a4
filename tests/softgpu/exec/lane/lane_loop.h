/*
 * lane_loop.h - how the functions of lane.h are written: loops over the lanes, each compiled twice
 * (for any CPU, and for one with AVX2 and FMA), and the rows by which lane_find.c finds them.
 *
 * A row's key is the instruction's words in the order opcode, modifiers, types, without "rn", which
 * is the default wherever it may stand: "add.ftz.f32", "mul.wide.s32", "cvt.sat.u8.f32". Its
 * operands are one letter each, the destination first: p a predicate, h 16, w 32, d 64 and q 128
 * bits.
 */
#ifndef SOFTGPU_LANE_LOOP_H
#define SOFTGPU_LANE_LOOP_H

#include <stdint.h>
#include "exec/lane/lane.h"

/* Registers are typed by their reader: these files are compiled with -fno-strict-aliasing.
 */
typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef float f32;
typedef double f64;
__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

struct lane_row {
    const char *key;
    const char *operands;
    lane_fn *plain, *fast;
};

struct lane_family {
    const struct lane_row *rows;
    unsigned count;
};

extern const struct lane_family lane_int_family, lane_wide_family, lane_bits_family,
    lane_logic_family, lane_float_family, lane_double_family, lane_half_family, lane_setp_family,
    lane_set_family, lane_cvt_int_family, lane_cvt_to_int_family, lane_cvt_from_int_family,
    lane_cvt_float_family, lane_cvt_small_family, lane_approx_family;

#define LANE_FAMILY(NAME, ROWS) const struct lane_family NAME = {ROWS, sizeof ROWS / sizeof ROWS[0]}

/* The caller checks the CPU before it calls a fast one. */
#if defined __x86_64__
#define LANE_FAST __attribute__((target("avx2,fma,bmi,lzcnt,popcnt")))
#else
#define LANE_FAST
#endif

#define LANE_INLINE static inline __attribute__((always_inline))

/* One function of lane_fn's type in both versions. */
#define LANE_FN(NAME, ...)                                                                         \
    static void NAME##_plain(const struct lane_args *args){                                        \
        __VA_ARGS__} LANE_FAST static void NAME##_fast(const struct lane_args *args)               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define ROW(KEY, OPERANDS, NAME)                                                                   \
    {                                                                                              \
        KEY, OPERANDS, NAME##_plain, NAME##_fast                                                   \
    }

/* One function for all CPUs: where a vector would not help. */
#define LANE_SLOW_FN(NAME, ...)                                                                    \
    static void NAME(const struct lane_args *args)                                                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define SLOW_ROW(KEY, OPERANDS, NAME)                                                              \
    {                                                                                              \
        KEY, OPERANDS, NAME, NAME                                                                  \
    }

/* Runs `loop` in a rounding mode of <fenv.h>. Its loop holds nothing but IEEE operations upon
 * memory, so it follows the mode, and being called through a pointer it cannot be moved out
 * of it. */
void lane_rounded(lane_fn *loop, int mode, const struct lane_args *args);
#define LANE_ROUNDED(NAME, LOOP, MODE)                                                             \
    static void NAME##_plain(const struct lane_args *args)                                         \
    {                                                                                              \
        lane_rounded(LOOP##_plain, MODE, args);                                                    \
    }                                                                                              \
    static void NAME##_fast(const struct lane_args *args)                                          \
    {                                                                                              \
        lane_rounded(LOOP##_fast, MODE, args);                                                     \
    }

/* d may be a source, but then of the same width: no turn of the loop reads another's result. */
#define EACH(COUNT) _Pragma("GCC ivdep") for (unsigned i = 0; i < (COUNT); i++)

/*
 * The usual shapes. D and S are the elements in memory; LOAD makes values x, y, z of sources, EXPR
 * is what to do with them, and STORE turns that into an element.
 */
#define MAP1(NAME, COUNT, D, S, LOAD, STORE, EXPR)                                                 \
    LANE_FN(                                                                                       \
        NAME, D *d = args->d; const S *s0 = args->s[0]; EACH(COUNT) {                              \
            __auto_type x = LOAD(s0[i]);                                                           \
            d[i] = (D)STORE(EXPR);                                                                 \
        })
#define MAP2(NAME, COUNT, D, S, LOAD, STORE, EXPR)                                                 \
    LANE_FN(                                                                                       \
        NAME, D *d = args->d; const S *s0 = args->s[0]; const S *s1 = args->s[1]; EACH(COUNT) {    \
            __auto_type x = LOAD(s0[i]);                                                           \
            __auto_type y = LOAD(s1[i]);                                                           \
            d[i] = (D)STORE(EXPR);                                                                 \
        })
/* The third source is as wide as the result. */
#define MAP3(NAME, COUNT, D, S, LOAD, LOAD3, STORE, EXPR)                                          \
    LANE_FN(                                                                                       \
        NAME, D *d = args->d; const S *s0 = args->s[0]; const S *s1 = args->s[1];                  \
        const D *s2 = args->s[2]; EACH(COUNT) {                                                    \
            __auto_type x = LOAD(s0[i]);                                                           \
            __auto_type y = LOAD(s1[i]);                                                           \
            __auto_type z = LOAD3(s2[i]);                                                          \
            d[i] = (D)STORE(EXPR);                                                                 \
        })

#define SAME(v)   (v)
#define AS_U32(v) ((u32)(v))
#define AS_S32(v) ((s32)(v))
#define AS_U64(v) ((u64)(v))
#define AS_S64(v) ((s64)(v))

#endif
