/*
 * ops.h - what op.fn may be, and what op.mode and op.more mean to it. Decoders write these, the
 * functions read them.
 */
#ifndef SOFTGPU_OPS_H
#define SOFTGPU_OPS_H

#include "exec/run/state.h"

/* sync.c: s[0..2] values, s[3] the member mask; d and q the results. */
enum sync_kind { SYNC_SHFL, SYNC_VOTE, SYNC_MATCH, SYNC_REDUX, SYNC_ELECT, SYNC_WARP };
enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
enum { MATCH_ANY, MATCH_ALL };
enum {
    REDUX_ADD,
    REDUX_MIN_U,
    REDUX_MAX_U,
    REDUX_MIN_S,
    REDUX_MAX_S,
    REDUX_AND,
    REDUX_OR,
    REDUX_XOR,
};
struct sync {
    enum sync_kind kind;
    uint32_t flip; /* vote: of a negated predicate */
};
op_fn op_sync, op_exchange, op_activemask;
/* The lane that `lane` reads in a shfl of that mode, with the lanes `in` taking part; `inside`: the
 * predicate. */
unsigned shuffle_source(unsigned mode, uint32_t b, uint32_t c, unsigned lane, uint32_t in,
                        bool *inside);

/* barrier.c: s[0] the barrier, s[1] the count or REF_NONE, s[2] the predicate of bar.red. imm:
 * flip. */
enum { BAR_SYNC, BAR_ARRIVE, BAR_AND, BAR_OR, BAR_POPC };
op_fn op_barrier, op_cluster_arrive, op_cluster_wait;

/* control.c */
struct jump_table {
    unsigned count;
    uint32_t targets[];
};
struct call_site {
    const struct code *code; /* NULL for a call through s[0] */
    unsigned results, args;
    struct slot *slots; /* results first, in the caller's order */
};
op_fn op_bra, op_brx, op_call, op_ret, op_exit, op_trap, op_nanosleep, op_nop, op_fence;
op_fn op_alloca, op_stacksave, op_stackrestore, op_unresolved;
struct builtin_call {
    op_fn *fn;
    const char *name;
    struct call_site site;
};

/* arith.c */
op_fn op_lane;          /* op->lane on s[], into d and q */
op_fn op_move_bits;     /* d = s[0], same width */
op_fn op_add_imm;       /* d = s[0] + imm: cvta */
op_fn op_local_address; /* d = imm + where the frame's local memory begins */
op_fn op_not_pred;      /* d = !s[0] */
op_fn op_isspacep;      /* d = s[0] lies in space `mode` */
op_fn op_pack, op_unpack;
struct pack {
    unsigned count, bytes; /* of a part */
    ref parts[VECTOR_MAX];
    uint8_t part_width[VECTOR_MAX];
};

/* load_store.c: ld and st */
struct access {
    enum memory memory;
    bool is_signed, acquire, release, spins;
    unsigned bytes; /* of an element in memory */
    unsigned count;
    unsigned width;         /* of the registers, in bytes */
    unsigned address_width; /* 0: a constant address, in offset */
    ref address;
    int64_t offset;
    ref frame; /* IN_FRAME: where the variable lies */
    ref regs[VECTOR_MAX];
};
op_fn op_ld, op_st, op_copy_async;
/* cp.async: from and to, then how much. */
struct async_copy {
    struct access to, from;
    unsigned bytes;
    ref source_bytes; /* REF_NONE: all */
    unsigned source_width;
    ref ignore; /* a predicate, or REF_NONE */
    uint32_t flip;
};
/* How many bytes a lane copies; the rest of its place is filled with zeros. */
unsigned async_copied(const struct warp *w, const struct async_copy *c, unsigned lane);
/* The addresses of the active lanes, those of the others set to one of them. */
void addresses(const struct warp *w, const struct access *a, uint64_t address[LANES]);
/* The same for one lane mask at a time of generic accesses; see each_space() in memory.c. */
typedef bool access_fn(struct warp *w, const struct op *op, const struct access *a,
                       struct pointers *p);
enum step each_space(struct warp *w, const struct op *op, const struct access *a, bool write,
                     access_fn *fn);

/* atomic.c */
enum atomic {
    ATOMIC_ADD,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_INC,
    ATOMIC_DEC,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_EXCH,
    ATOMIC_CAS,
};
enum number { NUMBER_U, NUMBER_S, NUMBER_F64, NUMBER_F32, NUMBER_F16, NUMBER_BF16 };
struct atomic_access {
    struct access access; /* regs: the first operands, a vector of them */
    enum atomic op;
    enum number number;
    unsigned part; /* bytes of a number: half of access.bytes for the packed types */
    ref swap;      /* the new value of cas */
    unsigned swap_width;
    ref d[VECTOR_MAX]; /* REF_NONE in red */
    unsigned d_width;
};
op_fn op_atomic;

/*
 * tensor.c: mma by a whole warp: of m16n8kK, of m8n8k16, and of m8n8k4, where each quad pair (lanes
 * 4 q to 4 q + 3 and 16 more) has matrices of its own: rows and columns 8 q to 8 q + 7 here. A
 * register of a and b holds `each` numbers.
 */
enum { MMA_ROWS = 16, MMA_COLUMNS = 8, MMA_DEPTH = 32, MMA_LINES = 32, MMA_SUMS = 8 };
enum mma_kind { MMA_F16, MMA_BF16, MMA_TF32, MMA_E4M3, MMA_E5M2, MMA_S8, MMA_U8 };
struct mma {
    enum mma_kind a_kind, b_kind;
    bool half;               /* c and d are pairs of f16, else of 32 bits each */
    bool saturates;          /* .satfinite of integers */
    bool quads;              /* m8n8k4 */
    bool a_across, b_across; /* ... a's registers hold a column, b's a row */
    unsigned depth, each;
    unsigned tall;                   /* rows of a, in eights */
    unsigned a_count, b_count, sums; /* registers of a and b; numbers of c and d in a lane */
    ref a[4], b[2], c[MMA_SUMS], d[MMA_SUMS];
};
/* Of number i of a lane in m8n8k4. */
static inline void mma_place_quad(bool across, unsigned lane, unsigned i, unsigned *line,
                                  unsigned *k)
{
    *line = lane % 16 / 4 * 8 + lane / 16 * 4 + (across ? i : lane % 4);
    *k = across ? lane % 4 : i;
}
/* Of number e in register r of a lane: its row of a, or column of b, and its place in the sum. */
static inline void mma_place_a(const struct mma *m, unsigned lane, unsigned r, unsigned e,
                               unsigned *row, unsigned *k)
{
    if (m->quads) {
        mma_place_quad(m->a_across, lane, r * m->each + e, row, k);
        return;
    }
    *row = lane / 4 + 8 * (r % m->tall);
    *k = r / m->tall * 4 * m->each + lane % 4 * m->each + e;
}
static inline void mma_place_b(const struct mma *m, unsigned lane, unsigned r, unsigned e,
                               unsigned *column, unsigned *k)
{
    if (m->quads) {
        mma_place_quad(m->b_across, lane, r * m->each + e, column, k);
        return;
    }
    *column = lane / 4;
    *k = r * 4 * m->each + lane % 4 * m->each + e;
}
/* Of number i of a lane's four of c and d, of m16n8. */
static inline void mma_place_c(unsigned lane, unsigned i, unsigned *row, unsigned *column)
{
    *row = lane / 4 + 8 * (i / 2);
    *column = lane % 4 * 2 + i % 2;
}
/* The same of any shape. */
static inline void mma_place_sum(const struct mma *m, unsigned lane, unsigned i, unsigned *row,
                                 unsigned *column)
{
    const unsigned first = lane % 16 / 4 * 8;
    if (!m->quads) {
        mma_place_c(lane, i, row, column);
        return;
    }
    *row = first + lane / 16 * 4 + (m->half ? lane % 4 : lane % 2 + i / 2 % 2 * 2);
    *column = first + (m->half ? i : i / 4 * 4 + lane / 2 % 2 * 2 + i % 2);
}
static inline unsigned mma_sum_registers(const struct mma *m)
{
    return m->half ? m->sums / 2 : m->sums;
}
op_fn op_mma;
bool warp_is_whole(struct warp *w); /* false after a fault */
/* Number e of a word. */
double mma_number(enum mma_kind kind, uint32_t word, unsigned e);
void mma_gather_a(const struct warp *w, const struct mma *m, double a[][MMA_DEPTH]);
/* c + a . b as the bits of a number of d; c is such bits, too. */
uint32_t mma_sum(const struct mma *m, const double *a, const double *b, uint32_t c);

/*
 * wmma.c: matrices of m16n16k16, m32n8k16, m8n32k16 and m16n16k8. A fragment has the lines of a
 * matrix (rows of a and of the sums, columns of b) spread over the lanes.
 */
enum { WMMA_REGISTERS = 8 };
struct wmma_fragment {
    unsigned lines, length;
    unsigned bytes;   /* of a number */
    unsigned numbers; /* of a lane */
};
static inline unsigned wmma_registers(const struct wmma_fragment *f)
{
    return f->numbers * f->bytes / 4;
}
struct wmma_access {
    struct access access; /* the address alone */
    struct wmma_fragment fragment;
    bool turned; /* what lies side by side is one number of each line */
    ref stride;  /* in numbers */
    ref regs[WMMA_REGISTERS];
};
struct wmma {
    struct mma mma; /* kinds, depth and rounding */
    struct wmma_fragment a, b, c, d;
    ref regs[4][WMMA_REGISTERS]; /* of d, a, b and c */
};
op_fn op_wmma_load, op_wmma_store, op_wmma_mma;
/* Line, and place in it, of number i of a lane. */
void wmma_place(const struct wmma_fragment *f, unsigned lane, unsigned i, unsigned *line,
                unsigned *k);
/* Host pointers of number i of each lane. False after a fault. */
bool wmma_find(struct warp *w, const struct wmma_access *x, unsigned i, bool write,
               struct pointers *p);

/*
 * wgmma.c: the 16 of 64 rows that one warp of four computes. `mma` has the kinds, and a's registers
 * where `a_memory` is false; b, and else a, lie in shared memory, by their descriptors.
 */
enum { WGMMA_COLUMNS = 256, WGMMA_REGISTERS = WGMMA_COLUMNS / 2 };
struct wgmma {
    struct mma mma;
    unsigned columns;
    bool a_memory;
    bool transposed_a, transposed_b; /* lines of k, not of rows or columns, lie in one piece */
    bool negative_a, negative_b;
    ref a, b;  /* descriptors, of 64 bits */
    ref scale; /* a predicate, or REF_NONE: d counts */
    uint32_t flip;
    ref d[WGMMA_REGISTERS];
};
static inline unsigned wgmma_registers(const struct wgmma *g)
{
    return g->columns / (g->mma.half ? 4 : 2);
}
/* Where number k of a line (a row of a, a column of b) lies in shared memory. */
uint64_t wgmma_place(uint64_t descriptor, bool transposed, unsigned bytes, unsigned line,
                     unsigned k);
/* Its host pointer; NULL after a fault. */
uint8_t *wgmma_host(struct warp *w, uint64_t descriptor, bool transposed, unsigned bytes,
                    unsigned line, unsigned k);
/* The first of a warp's rows of a. */
static inline unsigned wgmma_row(const struct warp *w)
{
    return w->id % 4 * MMA_ROWS;
}
/* Register and half of it (0 or 1) of number i of a lane's `columns` / 2, and its place among the
 * warp's 16 rows. */
static inline void wgmma_place_d(const struct wgmma *g, unsigned lane, unsigned i, unsigned *r,
                                 unsigned *half, unsigned *row, unsigned *column)
{
    mma_place_c(lane, i % 4, row, column);
    *column += i / 4 * MMA_COLUMNS;
    *r = g->mma.half ? i / 2 : i;
    *half = g->mma.half ? i % 2 : 0;
}
/* Whether what d holds counts. */
static inline bool wgmma_adds(const struct warp *w, const struct wgmma *g)
{
    return g->scale == REF_NONE || ((pred_at(w, g->scale) ^ g->flip) >> first_lane(w->active) & 1);
}
op_fn op_wgmma;

/* ldmatrix and stmatrix: `access` has the address and the registers, one for each matrix. */
struct matrix_access {
    struct access access;
    bool transposed;
};
/* Where matrix m's half e (0 or 1) of a lane lies: a row, whose address lane 8 * m + row has, and a
 * column. */
static inline void matrix_place(const struct matrix_access *x, unsigned lane, unsigned e,
                                unsigned *row, unsigned *column)
{
    *row = x->transposed ? lane % 4 * 2 + e : lane / 4;
    *column = x->transposed ? lane / 4 : lane % 4 * 2 + e;
}
/* Host pointers of the rows, 8 of each matrix. False after a fault. */
bool matrix_rows(struct warp *w, const struct matrix_access *x, bool write, uint8_t *rows[8 * 4]);
op_fn op_ldmatrix, op_stmatrix;

/* mbarrier.c: s[0] a count, bytes, a token or a parity; d the token before, or a predicate. */
enum mbarrier_verb {
    MBARRIER_INIT,
    MBARRIER_INVAL,
    MBARRIER_ARRIVE,
    MBARRIER_DROP,
    MBARRIER_EXPECT_TX,
    MBARRIER_COMPLETE_TX,
    MBARRIER_TOKEN, /* is the phase of this token complete? */
    MBARRIER_PARITY,
};
struct mbarrier {
    struct access access;
    enum mbarrier_verb verb;
    bool expects; /* s[0] is bytes, and one arrival is meant */
};
op_fn op_mbarrier, op_mbarrier_pending;
/* Bytes of a copy have come to the barrier. */
void mbarrier_complete(uint64_t *place, uint64_t bytes);

/* bulk.c: cp.async.bulk, each lane a copy of its own. */
enum bulk_kind { BULK_LOAD, BULK_STORE, BULK_SHARED }; /* to shared memory, from it, within it */
struct bulk_copy {
    enum bulk_kind kind;
    bool tensor;          /* `other` has a tensor map, else the bytes */
    struct access shared; /* what is copied to, or from by BULK_STORE */
    struct access other;
    struct access barrier; /* not of BULK_STORE */
    unsigned dims;         /* of `tensor`: coordinates */
    ref coordinate[EXEC_TENSOR_DIMS];
    ref bytes; /* of the others */
};
/* One piece of a copy that lies in one stretch at both ends; `from` is NULL for zeros. */
typedef void bulk_fn(void *user, uint8_t *to, const uint8_t *from, size_t bytes);
/* All pieces of the active lanes' copies. False after a fault. */
bool bulk_pieces(struct warp *w, const struct bulk_copy *c, bulk_fn *fn, void *user);
op_fn op_bulk_copy;

/* tensor_map.c: s[0] the new value, mode the field, imm the dimension. */
enum tensor_field {
    FIELD_ADDRESS,
    FIELD_LAST,
    FIELD_BOX,
    FIELD_SIZE,
    FIELD_STRIDE,
    FIELD_STEP,
    FIELD_TYPE,
    FIELD_INTERLEAVE,
    FIELD_SWIZZLE,
    FIELD_FILL,
};
op_fn op_tensor_field;
/* A whole map, copied once: `to` and `from` of struct async_copy. */
op_fn op_tensor_copy;

#endif
