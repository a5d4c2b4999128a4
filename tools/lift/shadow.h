/*
 * shadow.h - runs a kernel in the interpreter with something carried beside its numbers.
 *
 * shadow_attach() puts a function of this room in front of each instruction that computes or moves
 * numbers; it calls the interpreter's own, so registers and memory hold what they hold without it.
 * What is carried, and what an operation makes of it, is an algebra: real.c carries fp64 and a
 * bound, residue.c numbers of a finite field.
 */
#ifndef TOOLS_LIFT_SHADOW_H
#define TOOLS_LIFT_SHADOW_H

#include "exec/exec.h"
#include "tools/lift/numbers/cells.h"

struct algebra; /* parts.h */
struct plan;
struct program;
struct warp;

/* A number on its way through an instruction. */
struct value {
    union part a, b;
    double got; /* what the kernel has */
    uint32_t origin;
};

/* What happened at one instruction; numeric only. */
struct tally {
    uint64_t executed;      /* results, a lane each */
    uint64_t departures;    /* results that are the first outside their bound */
    uint64_t cancellations; /* sums that lost over 10 bits */
    uint64_t overflows;     /* NaN or infinite, of finite numbers */
    double digits;          /* bits that the worst cancellation lost */
    double got, y, e;       /* of the first departure */
    uint32_t block[3], thread[3];
};

/* An output that the kernel goes on from as it was stored, rounded: in the host's memory. */
struct stored {
    const uint8_t *host;
    uint64_t bytes;
};

enum { SHADOW_STORED = 4 };

struct shadow {
    const struct algebra *algebra;
    const struct program *program;
    struct plan *plans; /* as many as the program has ops */
    struct tally *tallies;
    size_t ops;
    struct cell_map map;
    double unit;             /* roundoff of the declared accumulator */
    double input;            /* declared rounding of inputs as they are loaded: tf32's, or 0 */
    double tiny;             /* what may be flushed to zero */
    uint8_t rounds[FORMATS]; /* how often the kernel declares to round to a format on the way */
    struct stored stored[SHADOW_STORED];
    unsigned stored_count;
    const uint8_t *chosen; /* by block number, or NULL: all */
    /* Called for each store of a block, in place of all else; for finding the writers of each
     * address. */
    void (*on_store)(void *user, uint64_t block, const uint8_t *host, unsigned bytes);
    void *user;
    const struct warp *warp; /* that runs now, and its lane: for examples */
    unsigned lane;
};

/* The kernel is prepared, and belongs to the shadow from now on: each of its launches has
 * .watch = shadow. */
enum status shadow_attach(struct shadow *shadow, const struct exec_function *kernel,
                          struct error *err);
void shadow_release(struct shadow *shadow);

extern const struct algebra algebra_real, algebra_residue;

/* The number at a place of memory; false where it has no cell and is read from its bytes. */
bool shadow_at(struct shadow *shadow, const uint8_t *host, enum format format, struct value *out);

/* The instruction of an origin. */
const struct ptx_instruction *shadow_instruction(const struct shadow *shadow, uint32_t origin);

#endif
