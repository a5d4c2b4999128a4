/*
 * lane.h - what the arithmetic instructions do to the 32 lanes of a warp.
 *
 * A register of a warp is an array of 32 elements of its own width (16, 32 or 64 bits; 128 for
 * .b128), a predicate is one uint32_t with a bit for each lane. All lanes are computed, also those
 * that do not take part: the caller keeps the old values of the others. So no function here may
 * trap, whatever the values (a division by zero gives what the device gives).
 *
 * Each function is straight code over 32 lanes that the compiler can make vectors of.
 * Integers wrap; a division by zero gives all ones, also as the remainder. f32 and f64 are IEEE
 * with the stated rounding; .ftz flushes subnormal inputs and results to zeros of their sign. NaN
 * results are 0x7fffffff for f32, 0x7fff for f16 and bf16; an f64 result is a NaN among the
 * sources, made quiet, or else 0xfff8000000000000. A NaN becomes the integer 0, or the most
 * significant bit alone where either side of the conversion has 64 bits. ../contract/README.md has
 * what devices do where documents are silent; all but the approximate instructions agree with them
 * bit for bit.
 *
 * The approximate instructions give the correctly rounded result, or nearly; devices are within the
 * bounds of the PTX ISA:
 *
 *   rcp                     1 ulp
 *   sqrt, rsqrt             2^-23 and 2^-22.9 relative
 *   div.approx, div.full    2 ulp
 *   ex2                     2 ulp
 *   lg2                     2^-22 absolute for 0.5 < x < 2, else relative
 *   sin, cos                2^-20.5 absolute for |x| <= 2 pi, not bounded elsewhere
 *   tanh                    2^-11 relative
 *   ex2, tanh of f16        2^-9.9 and 2^-10.987
 *   ex2, tanh of bf16       2^-7 and 2^-8
 *   rcp, rsqrt .ftz.f64     20 bits: the lower halves of source and result do not count
 *   rsqrt.f64               2 ulp
 */
#ifndef SOFTGPU_LANE_H
#define SOFTGPU_LANE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "ptx/ptx.h"

enum { LANES = 32, LANE_SOURCES = 5 };

/* Nothing overlaps, but d may be one of s. */
struct lane_args {
    void *d;                     /* the result */
    uint32_t *q;                 /* the second predicate of p|q, else NULL */
    const void *s[LANE_SOURCES]; /* sources, in the order of the instruction */
    uint32_t *carry; /* the warp's CC.CF, for add.cc, addc, sub.cc, subc, mad.cc, madc */
};

typedef void lane_fn(const struct lane_args *args);

/*
 * The function for `instruction`: add addc sub subc mul mul24 mad mad24 madc sad div rem abs neg
 * min max popc clz bfind fns brev bfe bfi szext bmsk dp4a dp2a prmt shl shr shf and or xor not cnot
 * lop3 mov (register to register) selp slct set setp testp copysign rcp sqrt rsqrt sin cos lg2 ex2
 * tanh fma cvt cvt.pack vabsdiff4, in all their types. `widths` holds the width in bits of the
 * register or constant behind each operand (0 for a predicate), destination first, because cvt
 * takes registers wider than its types: source bits above the type are ignored, results are sign-
 * or zero-extended. Immediate modifiers that stand as operands (the table of lop3, the mode of
 * prmt's index) come as sources like any other. A negated predicate operand is turned by the
 * caller. NULL with an error where this is not an arithmetic instruction, or is one that is not
 * known; `err` then names the word that is not.
 */
lane_fn *lane_find(const struct ptx_instruction *instruction, const unsigned *widths,
                   struct error *err);

/*
 * The width in bits that operand `index` (destination 0) of `instruction` has: what to expand a
 * constant to before lane_find(). 0 for a predicate, and where lane_find() would refuse.
 */
unsigned lane_width(const struct ptx_instruction *instruction, unsigned index);

/* Whether the opcode is one that lane_find() is there for. */
bool lane_is_arithmetic(const char *opcode);

#endif
