/*
 * decode.h - the work of turning one function's PTX into ops, shared by the files that decode.
 *
 * A decoder of an instruction first decodes its operands (which may emit hidden ops that make
 * them), then emits its own op. Everything is owned by the struct code, or by the decoder until it
 * ends.
 */
#ifndef SOFTGPU_DECODE_H
#define SOFTGPU_DECODE_H

#include "exec/ops/ops.h"

#define TRY(call)                                                                                  \
    do {                                                                                           \
        enum status try_ = (call);                                                                 \
        if (try_ != STATUS_OK)                                                                     \
            return try_;                                                                           \
    } while (0)

struct constant {
    unsigned bytes;
    uint64_t low, high;
    ref at;
};

struct decoder {
    struct program *program;
    struct code *code;
    const struct ptx_function *fn;
    const struct ptx_instruction *ins;
    struct error *err;
    size_t op_room;
    uint32_t *first;       /* the op of each instruction, and of the end */
    ref *register_at;      /* by register */
    uint32_t *variable_at; /* by variable: offset in local memory, or ref of a call's parameter */
    size_t temporaries, temporaries_end, frame_end;
    struct constant *constants;
    unsigned constant_count, constant_room;
    size_t constant_room_bytes;
    size_t owned_room;
};

typedef enum status decode_fn(struct decoder *d);
decode_fn decode_arithmetic, decode_mov, decode_cvta, decode_isspacep, decode_mapa, decode_zero;
decode_fn decode_ld, decode_st, decode_atom, decode_red, decode_cp, decode_nothing;
decode_fn decode_bra, decode_brx, decode_call, decode_ret, decode_exit, decode_trap;
decode_fn decode_nanosleep, decode_fence, decode_alloca, decode_stack, decode_bar;
decode_fn decode_shfl, decode_vote, decode_match, decode_redux, decode_elect, decode_activemask;
decode_fn decode_mbarrier, decode_copies_arrive, decode_mma, decode_ldmatrix, decode_stmatrix;
decode_fn decode_wgmma, decode_wmma, decode_bulk, decode_tensormap;

/* An error that names the place and the instruction; returns STATUS_UNSUPPORTED. */
enum status refuse(struct decoder *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
enum status no_memory(struct decoder *d);

struct op *emit(struct decoder *d, op_fn *fn); /* with the instruction's guard; NULL: no memory */
struct op *emit_hidden(struct decoder *d, op_fn *fn);
void *own(struct decoder *d, size_t bytes); /* zeroed, freed with the code */

/* Operands: operand.c */
unsigned register_bytes(enum ptx_type type); /* 0 for a predicate */
enum status constant(struct decoder *d, unsigned bytes, uint64_t low, uint64_t high, ref *at);
/* The value of an operand, wanted as `type`; `bytes` of each element, 0 for a predicate. */
enum status source(struct decoder *d, const struct ptx_operand *operand, enum ptx_type type,
                   ref *at, unsigned *bytes);
/* A register or `_`, which gives REF_NONE and 0 bytes. */
enum status destination(struct decoder *d, const struct ptx_operand *operand, ref *at,
                        unsigned *bytes);
/* d or d|p. */
enum status destinations(struct decoder *d, const struct ptx_operand *operand, ref *at,
                         unsigned *bytes, ref *q);
/* Where a variable lies. `at` for IN_FRAME, `address` (an offset in its space) for the others. */
enum status locate(struct decoder *d, const struct ptx_variable *variable, enum memory *memory,
                   uint64_t *address, ref *at);
enum status temporary(struct decoder *d, unsigned bytes, ref *at);
/* Fills in memory, address and offset. `space` is the instruction's. */
enum status memory_operand(struct decoder *d, const struct ptx_operand *operand,
                           enum ptx_space space, struct access *a);
bool has(const struct decoder *d, const char *modifier);
/* The index of the first of `names` that is a modifier, -1 where none is. */
int which(const struct decoder *d, const char *const *names, unsigned count);
enum status want_operands(struct decoder *d, unsigned low, unsigned high);
enum ptx_type last_type(const struct decoder *d);

/* decode_tensor.c: bytes of a number of that type; 0 where tensor cores do not take it. */
unsigned mma_kind_of(enum ptx_type type, enum mma_kind *kind);
/* The registers of a fragment: a vector, or one alone. */
enum status fragment(struct decoder *d, const struct ptx_operand *o, unsigned count, bool reads,
                     ref *at);

/* instructions.c */
enum status decode_instruction(struct decoder *d);

/* layout.c: which functions and shared variables a kernel reaches. */
enum status program_reach(struct program *program, const struct ptx_function *kernel,
                          struct error *err);
uint64_t *shared_offset(const struct program *program, const struct ptx_variable *variable);
struct code *program_code(const struct program *program, const struct ptx_function *fn);
void program_stack(struct program *program);

#endif
