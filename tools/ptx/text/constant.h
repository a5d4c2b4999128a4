/*
 * constant.h - numbers as PTX writes them, and expressions of them.
 *
 * 17, 017, 0x1f, 0b101, 3U, 1.5, 0f3f800000 (the bits of an f32), 0d3ff0000000000000 (of an f64),
 * and (4+4)*2, -1, !x, a ? b : c, (.s64)x with C's operators and ranks. Whole numbers have 64 bits.
 */
#ifndef PTX_CONSTANT_H
#define PTX_CONSTANT_H

#include "ptx/text/lexer.h"
#include "ptx/ptx.h"

struct constant {
    enum ptx_type type; /* PTX_S64, PTX_U64, PTX_F32 or PTX_F64 */
    uint64_t bits;
};

/* One number without a sign. */
enum status constant_number(struct cursor *c, struct constant *value);
/* An expression; `what` is for messages: "an operand", "a number". */
enum status constant_read(struct cursor *c, const char *what, struct constant *value);
/* One whole number from 0 to `limit`. */
enum status constant_count(struct cursor *c, uint64_t limit, const char *what, uint64_t *value);
/* An expression that is a whole number. */
enum status constant_whole(struct cursor *c, const char *what, int64_t *value);

static inline bool constant_is_float(const struct constant *value)
{
    return value->type == PTX_F32 || value->type == PTX_F64;
}

#endif
