/*
 * parts.h - what the files of this room share: plans, algebras, and the cells beside registers.
 */
#ifndef TOOLS_LIFT_PARTS_H
#define TOOLS_LIFT_PARTS_H

#include "exec/ops/ops.h"
#include "tools/lift/shadow.h"

enum calc {
    CALC_ADD,
    CALC_SUB,
    CALC_MUL,
    CALC_FMA,
    CALC_DIV,
    CALC_RCP,
    CALC_SQRT,
    CALC_RSQRT,
    CALC_EX2,
    CALC_LG2,
    CALC_SIN,
    CALC_COS,
    CALC_TANH,
    CALC_MIN,
    CALC_MAX,
    CALC_NEG,
    CALC_ABS,
    CALC_COPYSIGN,
    CALC_CVT,     /* from a floating-point format to another */
    CALC_ROUND,   /* to an integer, in the same format */
    CALC_FROM_INT /* `got` of the source is the integer */
};

enum plan_flag {
    PLAN_APPROXIMATE = 1,
    PLAN_SATURATES = 2,
    PLAN_RELU = 4,
    PLAN_SIGNED = 8, /* the integer that is converted */
    PLAN_PAIR = 16,  /* one source for each part: cvt.rn.bf16x2.f32 d, high, low */
};

struct algebra {
    /* The number that bytes hold, as it comes from memory or a constant. */
    void (*fresh)(struct value *value);
    /* out->got is what the kernel has made of it. */
    void (*calc)(struct shadow *shadow, const struct plan *plan, const struct value *in,
                 struct value *out);
    /* A number of the same meaning in other bytes: 2^k times as large, negated where so. */
    void (*scale)(struct value *value, int exponent, bool negated);
    /* out += sum of x[i] * y[i]; for mma. `operand`: the format of x and y. */
    void (*dot)(struct shadow *shadow, const struct value *x, const struct value *y, unsigned count,
                enum format operand, struct value *out);
    /* A number that was stored where the kernel goes on from it as it was stored. */
    void (*store)(struct cell *cell, enum format format, uint64_t raw);
    /* After any of these: is the number what it should be? */
    void (*settle)(struct shadow *shadow, const struct plan *plan, enum format format,
                   const struct value *in, unsigned count, struct value *out);
};

enum { PLAN_SOURCES = 4, PLAN_BYTES = 16, MAP_ZERO = -1, MAP_OTHER = -2 };

typedef enum step watch_fn(struct shadow *shadow, struct warp *w, const struct op *op,
                           const struct plan *plan);

/* Of one op. */
struct plan {
    watch_fn *watch;
    op_fn *own; /* the interpreter's */
    uint32_t number;
    enum calc calc;
    enum format to, from;
    unsigned parts, flags, sources;
    uint8_t width[PLAN_SOURCES]; /* of the sources' registers, in bytes */
    unsigned d_width;
    int8_t map[PLAN_BYTES]; /* of each byte of d: 16 * source + byte, or MAP_ZERO, MAP_OTHER */
    int8_t run[PLAN_BYTES]; /* so many bytes from here on lie side by side in the source too */
    const void *more;
};

/* ---- cells beside registers ---- */

/* `bytes` bytes of a lane's register, from byte `byte` on. */
static inline uint64_t register_raw(const void *values, unsigned width, unsigned lane,
                                    unsigned byte, unsigned bytes)
{
    const uint8_t *from = (const uint8_t *)values + (size_t)lane * width + byte;
    uint64_t raw = 0;
    switch (bytes) {
    case 1:
        return *from;
    case 2:
        memcpy(&raw, from, 2);
        return raw;
    case 4:
        memcpy(&raw, from, 4);
        return raw;
    default:
        memcpy(&raw, from, 8);
        return raw;
    }
}

/*
 * The cells of a frame lie behind its registers: shadow_attach() makes the room. A register at
 * offset r has the cell of its byte b and lane i at r + b * LANES + i.
 */
static inline struct cell *frame_cells(const struct warp *w)
{
    const struct frame *frame = w->f->frame;
    const size_t bytes = frame->code->frame_bytes / (1 + sizeof(struct cell));
    return (struct cell *)(void *)(frame->registers + bytes);
}

const struct plan *shadow_plan(const struct shadow *shadow, const struct warp *w,
                               const struct op *op);

/* The number of format `format` in a register: its cell's, or fresh. */
void shadow_read(struct shadow *shadow, const struct warp *w, ref r, unsigned width, unsigned byte,
                 enum format format, unsigned lane, struct value *out);
/* Writes the cell of a number beside what the register now holds. */
void shadow_write(const struct warp *w, ref r, unsigned width, unsigned byte, enum format format,
                  unsigned lane, const struct value *value);
/* No cells beside the active lanes of a register. */
void shadow_void(const struct warp *w, ref r, unsigned width);

/* From a cell, or from bits where it is void. */
bool shadow_value(struct shadow *shadow, const struct cell *cell, enum format format, uint64_t raw,
                  struct value *out);
struct cell shadow_cell(const struct value *value, enum format format, uint64_t raw);

/* ---- tensor cores: matrix.c ---- */

enum format format_of_kind(enum mma_kind kind); /* FORMAT_NONE: integers */

struct dot {
    const struct value *x, *y;
    unsigned count;
    enum format operand; /* of x and y */
    bool departed;       /* some of them are perhaps outside their bounds */
};
/* A sum in a register. */
struct sum_place {
    ref r;
    unsigned byte, lane;
    enum format format;
};
/* Writes the cell of c + x . y, which the interpreter has stored there. */
void shadow_dot(struct shadow *shadow, const struct warp *w, const struct plan *plan,
                const struct dot *dot, const struct value *c, const struct sum_place *to);
/* Whether one of a's numbers is outside its bound. */
bool shadow_gather_a(struct shadow *shadow, const struct warp *w, const struct mma *m,
                     struct value a[][MMA_DEPTH]);

/* plan.c */
void plan_op(struct plan *plan, const struct code *code, const struct op *op);

/* What stands in front of ops: compute.c move.c transfer.c matrix.c warpgroup.c */
watch_fn watch_calc, watch_move, watch_select, watch_similar, watch_void, watch_shuffle, watch_load,
    watch_store, watch_atomic, watch_copy, watch_bulk, watch_call, watch_return, watch_mma,
    watch_matrix_load, watch_matrix_store, watch_wgmma, watch_wmma, watch_wmma_load,
    watch_wmma_store;

#endif
