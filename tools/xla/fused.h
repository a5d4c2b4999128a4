/*
 * fused.h - a fused computation as the text of a reference in the registry's dialect.
 *
 * Arrays of the reference are flat, `p0[m0][1]` for parameter 0 and `y0[n0][1]` for output 0, in
 * the order of their bytes, whatever dims and layouts they have; an array that is read at the
 * output's own place alone has the output's dim. Supported are pointwise operations, what moves
 * elements without arithmetic, reductions by sum, maximum and minimum, and products of matrices.
 */
#ifndef XLA_FUSED_H
#define XLA_FUSED_H

#include "tools/xla/hlo.h"

enum { FUSED_ARRAYS = 12 };

struct fused {
    const char *text; /* what follows "REFERENCE_ONCE(NAME" */
    const struct hlo_shape *in[FUSED_ARRAYS], *out[FUSED_ARRAYS];
    unsigned ins, outs;
    bool rounds;     /* values inside are rounded to 16 bits */
    bool tf32;       /* f32 is multiplied in sums, for which it may become tf32 */
    const char *why; /* it is none, because of this; text is NULL then */
};

/* Everything is in the arena. STATUS_NO_MEMORY. */
enum status fused_reference(struct fused *out, struct hlo_computation *all,
                            struct hlo_computation *of, struct arena *arena);

#endif
