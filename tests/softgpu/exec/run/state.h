/*
 * state.h - what a kernel becomes when it is decoded, and what a launch holds while it runs.
 *
 * exec_prepare() makes a struct program of a kernel and all that it calls: one struct code a
 * function, each an array of struct op. exec_run() makes a struct launch, in which one thread runs
 * everything: blocks hold warps, a warp holds fragments (lanes that share a place in the code) and
 * frames (the registers of one call of a function). Programs are read-only while they run, but for
 * their counters.
 *
 * A register of a warp is an array of 32 elements of its own width, a predicate one uint32_t.
 * Memory of one thread (local memory, the .param space of calls) lies in words of 8 bytes, the
 * words of 32 lanes side by side, so that a warp that touches the same place in each lane touches
 * one stretch.
 */
#ifndef SOFTGPU_STATE_H
#define SOFTGPU_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "exec/exec.h"
#include "exec/lane/lane.h"

enum {
    WARPS_MAX = 32, /* of a block */
    BARRIERS = 16,
    WORD = 8, /* of a thread's memory */
    WORD_STRIDE = WORD * LANES,
    VECTOR_MAX = 8,
    RANGES = 16,
    SEEN = 8,
    STACK_DEEP = 64 << 10, /* bytes of local memory a thread where the need is not known */
    SHARED_ALIGN = 16,
    SMS = 132, /* in %smid and %nsmid */
};
#define ALL_LANES 0xffffffffu

/* Where an operand lies: an offset in the frame, or with the top bit in the code's constants. */
typedef uint32_t ref;
#define REF_CONSTANT 0x80000000u
#define REF_NONE     0xffffffffu

enum step {
    STEP_NEXT,   /* on to the next op */
    STEP_JUMP,   /* the fragment's pc is set */
    STEP_SWITCH, /* the fragment waits, moved to another frame, or is gone */
    STEP_SPIN,   /* next op, but others first */
    STEP_FAULT,  /* launch->fault is filled in */
};

struct warp;
struct op;
typedef enum step op_fn(struct warp *w, const struct op *op);

struct op {
    op_fn *fn;
    lane_fn *lane;
    ref guard;
    uint32_t flip; /* all ones where the guard is negated */
    ref d, q;
    ref s[LANE_SOURCES];
    uint8_t width;   /* of d in bytes; 0: a predicate */
    uint8_t source;  /* of s[0] in bytes, where the op needs it */
    uint8_t mode;    /* what kind of its family */
    bool splits;     /* lanes that the guard keeps out become a fragment of their own */
    bool whole;      /* all lanes of the warp, together */
    bool hidden;     /* makes an operand for the next op; no instruction of its own */
    bool carry;      /* writes CC.CF */
    uint32_t target; /* of a jump */
    uint64_t imm;
    const void *more; /* struct access, call_site, jump_table, pack ... */
    const struct ptx_instruction *instruction;
};

/* A parameter of one function: in lane i, bytes at `at` + (b / 8) * 256 + i * stride + b
 * % 8. */
struct slot {
    ref at;
    uint32_t stride; /* 8 for .param, the register's width for .reg */
    uint32_t bytes;
};

struct code {
    struct program *program;
    const struct ptx_function *ptx;
    unsigned index; /* in program->codes */
    struct op *ops; /* count of them, then one that returns */
    uint32_t count;
    size_t first; /* of its ops, in the program's counters */
    uint8_t *constants;
    size_t constant_bytes;
    size_t frame_bytes;
    uint32_t local_bytes; /* of a thread, in one frame */
    uint32_t local_align; /* at least 16 */
    struct slot *params, *results;
    void **owned; /* what op.more points to */
    size_t owned_count;
    bool by_pointer; /* reached only so, perhaps */
    bool broken;     /* and not decodable */
    char why[200];
};

struct shared_place {
    const struct ptx_variable *variable;
    uint64_t offset;
};

struct program {
    struct exec_module *module;
    const struct exec_function *kernel;
    struct code **codes; /* [0] is the kernel */
    unsigned code_count;
    struct shared_place *shared;
    unsigned shared_count;
    size_t static_shared;
    uint32_t stack_bytes; /* of a thread, for the deepest chain of calls */
    bool deep;            /* recursion, calls through pointers or alloca: the need is not known */
    size_t op_count;
    _Atomic uint64_t *totals;
};

struct exec_function {
    struct exec_module *module;
    struct ptx_function *ptx;
    struct exec_info info;
    struct exec_param *params;
    struct program *program; /* NULL until prepared */
    _Atomic uint64_t launches;
};

struct place {
    const struct ptx_variable *variable;
    uint64_t address;
    bool known;
};

struct exec_module {
    struct ptx_module *ptx;
    struct exec_host host;
    pthread_mutex_t lock; /* over reading bodies and decoding */
    struct exec_function *kernels;
    unsigned kernel_count;
    struct place *places;     /* one for each of ptx->variables */
    uint64_t serial;          /* in the addresses of its functions */
    struct exec_module *next; /* in the report's list */
};

/* One call of a function by lanes that came together. */
struct frame {
    const struct code *code;
    struct frame *parent;
    uint8_t *registers;
    uint32_t lanes; /* that have not left it */
    unsigned depth;
    uint32_t return_pc;
    const struct op *call;
    uint32_t base;       /* where its local memory begins */
    uint32_t top[LANES]; /* and ends: alloca moves it */
    struct frame *next;  /* in the pool */
    struct frame *made;  /* the one made before it in this launch */
};

enum fragment_state {
    FRAGMENT_NONE,
    FRAGMENT_READY,
    FRAGMENT_SYNC,
    FRAGMENT_BARRIER,
    FRAGMENT_CLUSTER
};

struct fragment {
    enum fragment_state state;
    uint32_t mask;
    uint32_t pc;
    struct frame *frame;
    int64_t left;    /* of its slice, in ops */
    uint32_t member; /* SYNC: whom it waits for */
    const struct op *op;
    unsigned barrier;
    uint64_t phase; /* CLUSTER */
};

struct warp {
    uint8_t *base[2]; /* by the top bit of a ref */
    uint32_t active;  /* lanes that take part in this op */
    struct fragment *f;
    struct launch *launch;
    struct block *block;
    unsigned id;
    uint32_t live; /* lanes that have not exited */
    uint32_t carry;
    unsigned fragments;
    uint32_t used;       /* a bit for each of `fragment` that is not NONE */
    unsigned spins;      /* signs of waiting, see spin() */
    bool spun;           /* in this turn */
    uint64_t seen[SEEN]; /* what loads that may be polls found last */
    uint64_t cluster_phase;
    uint32_t tid[3][LANES];
    uint8_t *local; /* stack bytes of 32 threads */
    struct fragment fragment[LANES];
    uint64_t scratch[LANES * 2];
    uint32_t scratch_q;
};

struct barrier {
    uint32_t arrived[WARPS_MAX];
    uint32_t predicate[WARPS_MAX]; /* bar.red */
    uint32_t count;                /* threads expected; 0: all */
    bool waiting;                  /* anyone arrived */
};

struct block {
    struct launch *launch;
    unsigned index[3];
    uint64_t number;
    uint8_t *shared;
    size_t shared_bytes;
    unsigned warp_count;
    struct warp **warps;
    struct barrier barrier[BARRIERS + 1]; /* the last one is the cluster's */
    uint64_t cluster_phase;
    bool released;      /* a barrier opened in this round */
    struct block *next; /* in the pool */
};

struct text_pool {
    char *text;
    size_t used, room;
};

struct launch {
    const struct exec_launch *request;
    const struct exec_function *kernel;
    const struct program *program;
    struct exec_fault *fault;
    const struct exec_host *host;
    uint64_t *counts; /* of each op of the program */
    uint8_t *params;
    size_t shared_bytes;
    uint32_t stack_bytes;
    unsigned threads, warps;
    uint64_t grid_id;
    struct exec_range range[RANGES];
    unsigned range_count, range_next;
    struct frame **free_frames; /* by code */
    struct frame *frames;       /* all */
    struct block *free_blocks;
    uint64_t steps;
    uint64_t random; /* 0: in order */
    struct text_pool out;
};

static inline void *at(const struct warp *w, ref r)
{
    return w->base[r >> 31] + (r & ~REF_CONSTANT);
}

static inline uint32_t pred_at(const struct warp *w, ref r)
{
    return *(const uint32_t *)at(w, r);
}

/* Whether the active lanes are all that the frame has, so that the others' values do not matter. */
static inline bool whole(const struct warp *w)
{
    return !(w->f->frame->lanes & ~w->active);
}

static inline void put_pred(struct warp *w, ref d, uint32_t value)
{
    if (d == REF_NONE)
        return;
    uint32_t *p = at(w, d);
    *p = (*p & ~w->active) | (value & w->active);
}

static inline unsigned first_lane(uint32_t mask)
{
    return (unsigned)__builtin_ctz(mask);
}

/* Fault: fills launch->fault for the first lane of `mask` and returns STEP_FAULT. fault.c */
enum step fault_at(struct warp *w, uint32_t mask, enum exec_outcome outcome, uint64_t address,
                   const char *what) __attribute__((cold));

/* Registers: values.c */
/* Copies the active lanes of `values` (32 elements of `width` bytes) to d. */
void put(struct warp *w, ref d, unsigned width, const void *values);
/* Widens the 32 elements at r to 64 bits. */
void get64(const struct warp *w, ref r, unsigned width, uint64_t values[LANES]);
void put64(struct warp *w, ref d, unsigned width, const uint64_t values[LANES]);
uint64_t lane_value(const struct warp *w, ref r, unsigned width, unsigned lane);

/* Fragments: warp.c */
enum turn { TURN_DONE, TURN_BLOCKED, TURN_SPUN, TURN_SLICE, TURN_FAULT };
void warp_start(struct warp *w, uint32_t live);
enum turn warp_run(struct warp *w);
/* Moves `mask` out of the running fragment into a new one that is ready at `pc` of the same frame.
 */
void split_off(struct warp *w, uint32_t mask, uint32_t pc);
/* Takes the running fragment away: its lanes have exited or gone elsewhere. */
void fragment_drop(struct warp *w, struct fragment *f);
struct frame *frame_enter(struct warp *w, const struct code *code, uint32_t mask);
void frame_leave(struct warp *w, struct frame *frame, uint32_t mask);
/* Counts one sign of waiting in a loop against the turn; `weight` out of SPIN_FULL ends it. */
enum { SPIN_FULL = 256 };
static inline enum step spin(struct warp *w, unsigned weight)
{
    w->spins += weight;
    return w->spins >= SPIN_FULL ? STEP_SPIN : STEP_NEXT;
}
uint64_t draw(struct launch *l); /* the next random number */

/* Barriers: barrier.c */
void block_lanes_left(struct block *b); /* lanes have exited: a barrier may be complete */
/* Syncs: sync.c */
void warp_lanes_left(struct warp *w); /* the same for shfl and its kin */

/* Memory: memory.c */
enum memory { IN_GENERIC, IN_GLOBAL, IN_SHARED, IN_LOCAL, IN_PARAM, IN_FRAME };
struct pointers {
    uint8_t *p[LANES]; /* of every lane; those that do not take part point where a lane that does
                          points */
    bool words;        /* a thread's memory: bytes from 8 on lie in the next word */
};
/* Where the bytes of an element `offset` bytes into an access lie. */
static inline size_t displace(bool words, size_t offset)
{
    return words ? offset / WORD * WORD_STRIDE + offset % WORD : offset;
}
/* Turns addresses to host pointers for the active lanes: `bytes` at each, aligned to them. False
 * when a lane faults. All lanes lie in one space: generic addresses are sorted by the caller. */
bool resolve(struct warp *w, enum memory memory, uint64_t address[LANES], size_t bytes,
             size_t align, bool write, struct pointers *out);
/* The space and the mask of the first active lane and those that share its window. */
enum memory window_of(uint64_t address);
uint32_t same_window(const uint64_t address[LANES], uint32_t mask, enum memory *memory);
/* Bytes at a generic address of one thread; false (no fault) where it may not. */
bool peek(struct warp *w, unsigned lane, uint64_t address, void *data, size_t bytes);

/* Functions that PTX declares and the device provides: builtin.c */
op_fn *find_builtin(const char *name);
void out_flush(struct launch *l);
op_fn op_special;                    /* special.c */
int find_special(const char *name);  /* -1: none */
unsigned special_width(unsigned id); /* in bytes */
/* Whether other lanes of the warp may go on before the instruction that reads it has ended. */
bool special_yields(unsigned id);

/* The heap of device code: heap.c. An address, 0 when full; false where nothing is allocated. */
#define HEAP_BASE (EXEC_FUNCTION_BASE + (1ull << 48))
uint64_t heap_take(uint64_t bytes);
bool heap_give(uint64_t address);
bool heap_range(uint64_t address, struct exec_range *range);

/* Memory for frames, kept from one launch to the next: pages.c. All zero, aligned to 64 bytes. */
void *pages_take(size_t bytes);
void pages_give(void *memory);

/* Addresses of functions and variables: module.c */
uint64_t function_address(const struct exec_module *module, const struct ptx_function *function);
const struct code *function_at(const struct program *program, uint64_t address);
struct place *find_place(const struct exec_module *module, const struct ptx_variable *variable);

/* Decoding: decode.c */
enum status program_make(struct exec_function *kernel, struct program **program, struct error *err);
void program_free(struct program *program);

/* The report: report.c */
void report_add_module(struct exec_module *module);
void report_remove_module(struct exec_module *module); /* keeps its counts */
void report_launch(struct launch *l);

#endif
