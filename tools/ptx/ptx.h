/*
 * ptx.h - a PTX module as data: what a file declares, and each function's instructions with their
 * names resolved.
 *
 * Reading goes in two steps, because the modules of real programs are megabytes of which a run
 * needs a few functions: ptx_read() takes the declarations and skips every body, ptx_read_body()
 * reads one.
 *
 * All pointers below are owned by the module and live until ptx_free(). Strings end with NUL. A
 * module is not locked: one thread at a time may read bodies, any number may read the module.
 *
 * Errors name the module, the line, what was found and what was expected.
 * Source of the grammar: the PTX ISA reference, versions 6.0 to 9.0.
 */
#ifndef CUVET_PTX_H
#define CUVET_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

enum ptx_type {
    PTX_NO_TYPE,
    PTX_PRED,
    PTX_B8,
    PTX_B16,
    PTX_B32,
    PTX_B64,
    PTX_B128,
    PTX_U2, /* those of cvt.pack alone */
    PTX_S2,
    PTX_U4,
    PTX_S4,
    PTX_U8,
    PTX_U16,
    PTX_U32,
    PTX_U64,
    PTX_S8,
    PTX_S16,
    PTX_S32,
    PTX_S64,
    PTX_F16,
    PTX_F16X2,
    PTX_BF16,
    PTX_BF16X2,
    PTX_TF32,
    PTX_F32,
    PTX_F32X2,
    PTX_F64,
    PTX_E4M3,
    PTX_E5M2,
    PTX_E4M3X2,
    PTX_E5M2X2,
    PTX_U16X2,
    PTX_S16X2,
};

/* Generic where an instruction names no space. */
enum ptx_space {
    PTX_GENERIC,
    PTX_CONST,
    PTX_GLOBAL,
    PTX_LOCAL,
    PTX_PARAM,
    PTX_SHARED,
};

/* An address that an initial value holds: `bytes` bytes at `offset` of the variable get the address
 * of `name` plus `addend`, as a generic address where `generic`. `shift` is the bit offset of the
 * part taken, for 0xff(name) and its kin. */
struct ptx_relocation {
    size_t offset;
    unsigned bytes, shift;
    const char *name;
    int64_t addend;
    bool generic;
};

/* A variable of a module or of a function, or a parameter. */
struct ptx_variable {
    const char *name;
    enum ptx_space space;
    enum ptx_type type;
    unsigned vector; /* 1, 2 or 4 */
    size_t align;    /* in bytes; natural where none is given */
    size_t bytes;    /* of all elements; 0 for an extern array without a size */
    bool array;      /* declared with [] */
    bool is_extern, is_visible, is_weak;
    unsigned line;
    const uint8_t *data; /* `bytes` bytes, or NULL where all are zero */
    const struct ptx_relocation *relocations;
    unsigned relocation_count;
    unsigned index; /* in its list: module variables, function parameters, results, or variables */
};

struct ptx_register {
    const char *name; /* with its %, number included */
    enum ptx_type type;
};

enum ptx_operand_kind {
    PTX_REGISTER, /* reg; `negated` for a predicate written !p; name: a part ("b0", "h1") or NULL */
    PTX_IMMEDIATE,  /* bits, immediate_type */
    PTX_ADDRESS_OF, /* variable (+ offset), as in mov.u64 %rd1, name+8 */
    PTX_FUNCTION,   /* function name, in a call or in mov */
    PTX_LABEL,      /* target */
    PTX_SPECIAL,    /* name: "%tid.x", "%laneid", "%clock64", "WARP_SZ" ... */
    PTX_VECTOR,     /* items: {a, b, c, d} */
    PTX_PAIR,       /* items: p|q; two of them */
    PTX_MEMORY,     /* [items[0] + offset]; items[0] is a register, an address or an immediate (its
                       own offset is 0); of a tensor or texture more items follow: [map, {x, y}] */
    PTX_SINK,       /* _ */
};

struct ptx_operand {
    enum ptx_operand_kind kind;
    bool negated;
    unsigned reg;                 /* index into the function's registers */
    enum ptx_type immediate_type; /* PTX_S64, PTX_U64 (U, or from 2^63 on), PTX_F32, PTX_F64 */
    uint64_t bits;                /* of that type */
    const struct ptx_variable *variable;
    const char *name;
    int64_t offset;
    unsigned target; /* index into the function's instructions; may equal the count */
    const struct ptx_operand *items;
    unsigned count;
};

/* A function's type, for indirect calls. */
struct ptx_prototype {
    const struct ptx_variable *results, *params;
    unsigned result_count, param_count;
};

/* One entry of the line table: where an instruction comes from in the user's sources. */
struct ptx_location {
    const char *file; /* as the .file directive has it */
    unsigned line;
    unsigned column;
    const char *function;              /* the inlined function's name, or NULL: the enclosing one */
    const struct ptx_location *caller; /* where that function was inlined, or NULL */
};

/*
 * opcode.modifier.space.vector.type operands: `opcode` is the first word ("ld", "cvt", "bar"), the
 * space, vector and types are split off, and the rest stands in `modifiers` in its order, so
 * "ld.volatile.global.v2.u32" has modifiers {"volatile"}, and "cvt.rn.ftz.f16.f32" has {"rn",
 * "ftz"} and types {F16, F32}. The sub-space of .shared::cta or .param::entry is dropped;
 * .shared::cluster stays as a modifier "cluster" besides. Of two spaces the second is a modifier,
 * and so are types that enum ptx_type lacks ("b1024", "e2m1x2").
 *
 * call: operands[0] is the target, then come `results` results and the arguments.
 * brx.idx: operands[1] is a PTX_VECTOR of labels.
 */
enum { PTX_MODIFIERS_MAX = 12, PTX_TYPES_MAX = 5 };
struct ptx_instruction {
    const char *text;   /* "cvt.rn.ftz.f16.f32": the whole word */
    const char *opcode; /* "cvt" */
    const char *modifiers[PTX_MODIFIERS_MAX];
    unsigned modifier_count;
    enum ptx_type types[PTX_TYPES_MAX];
    unsigned type_count;
    enum ptx_space space;
    unsigned vector; /* 1, 2, 4 or 8 */
    bool guarded, guard_negated;
    unsigned guard; /* a register */
    const struct ptx_operand *operands;
    unsigned operand_count;
    unsigned results;                      /* call */
    const struct ptx_prototype *prototype; /* indirect call */
    unsigned line;                         /* in the PTX text, from 1 */
    const struct ptx_location *location;   /* NULL without line information */
};

struct ptx_function {
    const char *name;
    bool is_entry, is_visible, is_extern, is_weak, has_body, noreturn;
    unsigned line;
    const struct ptx_variable *results, *params;
    unsigned result_count, param_count;
    unsigned maxntid[3], reqntid[3]; /* 0 where not given */
    unsigned minnctapersm, maxnreg;
    unsigned reqcluster[3];

    /* Valid once ptx_read_body() has succeeded. */
    bool body_read;
    const struct ptx_register *registers;
    unsigned register_count;
    const struct ptx_variable
        *variables; /* local, shared, and the .param of calls; of all scopes */
    unsigned variable_count;
    const struct ptx_instruction *instructions;
    unsigned instruction_count;
};

struct ptx_module {
    const char *name;
    unsigned version_major, version_minor; /* .version */
    const char *target;                    /* "sm_90a", the first word of .target */
    unsigned arch;                         /* 90 */
    unsigned address_size;                 /* 32 or 64 */
    struct ptx_function *functions;        /* in the order of the text; a declaration that a
                                              definition follows is not listed twice; an alias has
                                              its target's parameters and body */
    unsigned function_count;
    const struct ptx_variable *variables; /* .global, .const, .shared of the module */
    unsigned variable_count;
};

/*
 * Reads the declarations of `text`, `length` bytes that need not end with NUL (a NUL ends them).
 * The text is copied. `name` stands in error messages.
 */
enum status ptx_read(const char *text, size_t length, const char *name, struct ptx_module **module,
                     struct error *err);

/* Reads the body of one function of `module`; nothing to do when that was done. */
enum status ptx_read_body(struct ptx_module *module, struct ptx_function *function,
                          struct error *err);

struct ptx_function *ptx_find_function(const struct ptx_module *module, const char *name);
const struct ptx_variable *ptx_find_variable(const struct ptx_module *module, const char *name);
void ptx_free(struct ptx_module *module);

unsigned ptx_type_bits(enum ptx_type type);    /* 1 for PTX_PRED */
const char *ptx_type_name(enum ptx_type type); /* "f32" */
bool ptx_has_modifier(const struct ptx_instruction *instruction, const char *modifier);

#endif
