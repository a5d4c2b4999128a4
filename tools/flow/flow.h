/*
 * flow.h - a PTX function as a graph: blocks with dominators and loops, and in place of registers
 * values, each set in one place.
 *
 * flow_make() needs a function whose body was read. All is the flow's and immutable until
 * flow_free(); value 0 is the one that nothing has set. Values and blocks are numbers; FLOW_NONE is
 * none. One thread.
 *
 * Arguments of a value are values: those of its instruction in the order of the text, without the
 * destination and without the guard, with vectors taken apart, and of [address + 8] the address;
 * labels and names of functions are left out.
 */
#ifndef FLOW_FLOW_H
#define FLOW_FLOW_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "tools/ptx/ptx.h"

#define FLOW_NONE UINT32_MAX

enum flow_kind {
    FLOW_UNDEFINED, /* a register that nothing has set */
    FLOW_CONSTANT,  /* bits, as the operand's immediate_type */
    FLOW_SPECIAL,   /* operand->name: "%tid.x" */
    FLOW_ADDRESS,   /* of operand->variable, + operand->offset */
    FLOW_RESULT,    /* of the instruction `at` */
    FLOW_EFFECT,    /* the instruction `at`, which sets no register */
    FLOW_PHI,       /* at the head of block `at`: an argument for each predecessor */
    FLOW_MERGE,     /* what a guarded instruction leaves: arguments new, old, guard */
};

/* What a value is computed from. */
enum flow_source {
    FLOW_TID = 1 << 0,    /* %tid, and below it .x .y .z */
    FLOW_CTAID = 1 << 3,  /* .x .y .z */
    FLOW_NTID = 1 << 6,   /* any part */
    FLOW_NCTAID = 1 << 7, /* .x .y .z */
    FLOW_LANE = 1 << 10,  /* %laneid, %warpid, lane masks */
    FLOW_GLOBAL = 1 << 11,
    FLOW_SHARED = 1 << 12,
    FLOW_LOCAL = 1 << 13,
    FLOW_CONST = 1 << 14,  /* memory of the module that is never written */
    FLOW_ATOMIC = 1 << 15, /* what an atomic has returned */
    FLOW_OTHER = 1 << 16,  /* calls, clocks and the like */
};
enum { FLOW_PARAMS = 128 };

struct flow_value {
    enum flow_kind kind;
    uint32_t at;
    uint32_t reg;
    uint32_t arg, args;   /* into flow->arg */
    uint32_t user, users; /* into flow->user: the values that have it as an argument */
    uint32_t next;        /* FLOW_PHI: the next of its block */
    const struct ptx_operand *operand;
    uint64_t bits;
    uint32_t sources; /* enum flow_source */
    bool divergent;   /* threads of a block may have different ones */
    uint64_t
        params[FLOW_PARAMS / 64]; /* a bit for each parameter; the last for those beyond, too */
};

struct flow_block {
    uint32_t first, end;          /* instructions */
    uint32_t succ, succs;         /* into flow->edge */
    uint32_t pred, preds;         /* into flow->edge */
    uint32_t dominator, follower; /* immediate (post)dominator, or FLOW_NONE */
    uint32_t number;              /* in reverse post-order; FLOW_NONE: unreachable */
    uint32_t enter, leave;        /* in the dominator tree: a dominates b where b's lie within */
    uint32_t control,
        controls;  /* into flow->control: blocks whose branch decides whether it runs */
    uint32_t loop; /* the innermost, or FLOW_NONE */
    uint32_t phi;  /* the first, or FLOW_NONE */
};

struct flow_loop {
    uint32_t header, parent;
};

struct flow {
    const struct ptx_module *module;
    const struct ptx_function *function;
    struct flow_value *value;
    struct flow_block *block;
    struct flow_loop *loop;
    uint32_t values, blocks, loops;
    const uint32_t *arg, *user, *edge, *control;
    const uint32_t *order; /* the reachable blocks, in reverse post-order */
    uint32_t ordered;
    const uint32_t *block_of; /* by instruction */
    const uint32_t *guard;    /* by instruction: a value, or FLOW_NONE */
    const uint32_t *result;   /* by instruction: its first value; one more at the end */
    struct arena arena;
};

/* STATUS_NO_MEMORY; STATUS_FULL: larger than what is worth the time. */
enum status flow_make(struct flow **out, const struct ptx_module *module,
                      const struct ptx_function *function, struct error *err);
void flow_free(struct flow *flow); /* NULL is fine */

/* The instruction of a FLOW_RESULT, FLOW_EFFECT or FLOW_MERGE, or NULL. */
const struct ptx_instruction *flow_instruction(const struct flow *flow, uint32_t value);
uint32_t flow_block_of(const struct flow *flow, uint32_t value);
static inline uint32_t flow_arg(const struct flow *flow, uint32_t value, uint32_t n)
{
    const struct flow_value *v = &flow->value[value];
    return n < v->args ? flow->arg[v->arg + n] : 0;
}

/* Whether the instruction is of that opcode. */
bool flow_is(const struct flow *flow, uint32_t value, const char *opcode);

bool flow_dominates(const struct flow *flow, uint32_t a, uint32_t b); /* blocks */
bool flow_in_loop(const struct flow *flow, uint32_t block, uint32_t loop);

/* The condition of the branch that ends the block, or FLOW_NONE. */
uint32_t flow_condition(const struct flow *flow, uint32_t block);

/* Calls `use` for the condition of each branch that decides, directly or not, whether the block
 * runs, until `use` returns false. */
typedef bool (*flow_condition_fn)(void *user, uint32_t branch, uint32_t condition);
void flow_each_condition(const struct flow *flow, uint32_t block, flow_condition_fn use,
                         void *user);

/* The constant that a value holds, through mov. */
bool flow_constant(const struct flow *flow, uint32_t value, uint64_t *bits);

static inline bool flow_has_param(const struct flow_value *value, unsigned index)
{
    unsigned bit = index < FLOW_PARAMS ? index : FLOW_PARAMS - 1;
    return value->params[bit / 64] >> bit % 64 & 1;
}
static inline bool flow_has_params(const struct flow_value *value)
{
    return value->params[0] || value->params[1];
}

/* flow_base.c: what an address counts from. */
enum flow_base_kind { FLOW_BASE_UNKNOWN, FLOW_BASE_PARAM, FLOW_BASE_VARIABLE };
struct flow_base {
    enum flow_base_kind kind;
    unsigned param;                      /* index */
    int64_t field;                       /* offset inside a parameter that is a struct */
    const struct ptx_variable *variable; /* of the module or the function */
};
struct flow_base flow_base(const struct flow *flow, uint32_t address);

/* compare.c: whether two values are surely the same in one thread: computed in the same way from
 * the same, as far as a few steps back. */
bool flow_same(const struct flow *flow, uint32_t a, uint32_t b);
/* The largest that an unsigned 32-bit value may be, derived from constants and thread numbers;
 * UINT32_MAX: not known. */
uint64_t flow_most(const struct flow *flow, uint32_t value);

/* cycle.c: of each value the number of the cycle of data that it lies on (a loop-carried value and
 * what it is computed from), or FLOW_NONE. Predicates and addresses of loads carry no data. The
 * list is the flow's. NULL: no memory. */
const uint32_t *flow_cycles(struct flow *flow);
/* How many of a value's arguments, from the first on, carry data in that sense. */
uint32_t flow_data(const struct flow *flow, uint32_t value);

/* The parameter that an ld.param reads, and its offset inside it; or NULL. */
const struct ptx_variable *flow_param_of(const struct flow *flow, uint32_t value, int64_t *offset);

#endif
