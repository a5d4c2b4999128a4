/*
 * lift.h - a kernel's own PTX made into its reference: each floating-point register gets a shadow
 * in f64 and an error bound beside it, memory is the snapshot's, and stores compare.
 *
 * Such a reference has the kernel's formula, wrong or right. What it finds is lost precision (an
 * accumulator narrower than f32), wrong code generation, and faults of the hardware.
 *
 * A struct lift is immutable once it is made, but for its struct lift_code and lift_reached: any
 * thread. Nothing
 * here calls the driver.
 */
#ifndef LIFT_LIFT_H
#define LIFT_LIFT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"
#include "refs/abi/ref_abi.h"
#include "text/textbuf.h"
#include "value/kernel_spec.h"

struct lift;

/* LIFT_REFUSAL(name, text in reports): why a kernel is not lifted. */
#define LIFT_REFUSAL_LIST(LIFT_REFUSAL)                                                            \
    LIFT_REFUSAL(NO_IMAGE, "its image is not known or carries no PTX")                             \
    LIFT_REFUSAL(NO_PTX, "its fatbin carries no PTX")                                              \
    LIFT_REFUSAL(NEWER_PTX, "its fatbin has PTX for newer devices alone")                          \
    LIFT_REFUSAL(OTHER_PTX, "its machine code was not made of the PTX beside it")                  \
    LIFT_REFUSAL(LONG_PTX, "its PTX is too long")                                                  \
    LIFT_REFUSAL(LONG_CODE, "its machine code is too long")                                        \
    LIFT_REFUSAL(UNREAD_PTX, "the program ended before its PTX was read")                          \
    LIFT_REFUSAL(LATE_PTX, "it was not launched again once its PTX was read")                      \
    LIFT_REFUSAL(PTX, "its PTX cannot be read")                                                    \
    LIFT_REFUSAL(MATRIX, "tensor-core instructions")                                               \
    LIFT_REFUSAL(BULK, "bulk copies that are not of a tensor's boxes")                             \
    LIFT_REFUSAL(ATOMIC, "atomics")                                                                \
    LIFT_REFUSAL(CALL, "function calls")                                                           \
    LIFT_REFUSAL(FORMAT, "f32x2 or tf32 instructions")                                             \
    LIFT_REFUSAL(INSTRUCTION, "an instruction without a rule")                                     \
    LIFT_REFUSAL(SPACE, "generic memory")                                                          \
    LIFT_REFUSAL(ORDERED, "ordered or volatile accesses")                                          \
    LIFT_REFUSAL(ADDRESS, "addresses that come from no parameter, or from several")                \
    LIFT_REFUSAL(                                                                                  \
        TABLE, "addresses from more than 6 tables, or some with other numbers or no known length") \
    LIFT_REFUSAL(MAP,                                                                              \
                 "tensor maps that are no parameters, nor made by each thread that uses them")     \
    LIFT_REFUSAL(ARRAYS, "more than 12 arrays")                                                    \
    LIFT_REFUSAL(READS_BACK, "it reads back what it has written")                                  \
    LIFT_REFUSAL(SCATTER,                                                                          \
                 "it writes at places from memory behind addresses, by maps, or to what it reads") \
    LIFT_REFUSAL(WAITS, "branches that memory decides about, around barriers of some threads")     \
    LIFT_REFUSAL(NO_OUTPUT, "it writes nothing that can be compared")                              \
    LIFT_REFUSAL(SHARED, "shared memory of a fixed and of a launch's size")                        \
    LIFT_REFUSAL(MIXED, "registers that hold several formats")                                     \
    LIFT_REFUSAL(NOT_COMPILED, "its rewritten PTX was not compiled")                               \
    LIFT_REFUSAL(OTHER, "other reasons")

enum lift_refusal {
    LIFT_OK,
#define LIFT_REFUSAL(name, text) LIFT_##name,
    LIFT_REFUSAL_LIST(LIFT_REFUSAL)
#undef LIFT_REFUSAL
        LIFT_REFUSALS
};

const char *lift_refusal_text(enum lift_refusal refusal);

/* An array behind a pointer parameter, or behind a tensor map, which a lifted kernel has as a
 * struct lift_map; or the arrays behind the addresses that a parameter's array, the table, has. */
struct lift_view {
    unsigned param; /* index of the parameter */
    bool listed;    /* there is a table: place `table` of lift_call.array */
    unsigned table;
    enum role role; /* ROLE_READ, ROLE_WRITE or ROLE_INOUT */
    enum dtype dtype;
    unsigned dims; /* of the tensor whose map the parameter is; 0: it is a pointer */
    /* Bytes of the array that the launch reaches, an expression over "p<index>", "grid.x" ...;
     * NULL: unknown. */
    const char *extent;
    bool scattered; /* stores to it go to places from memory */
    int index;      /* the view of the numbers that name these; -1: it is not known */
    /* 1 + the view of the numbers that name its rows, which alone are copied; 0: there is none. How
     * far rows lie apart, bytes of one that are reached, and of its largest access. */
    unsigned rows, row_unit;
    const char *pitch, *row;
    /* Where there are windows: the part that the blocks `first_block` to `last_block` reach. */
    const char *first, *end;
};

/*
 * Windows: a check covers some blocks of a large launch, which are drawn. `windows` is the number
 * of windows of the given size in the launch, `window` the one that was drawn; `let` has
 * expressions for "first_block" and "last_block", and what these need.
 */
enum { LIFT_LETS = 2 * REF_MAX_TENSORS + 3 };
struct lift_windows {
    unsigned lets;
    struct {
        const char *name, *text;
    } let[LIFT_LETS];
};

/*
 * Reads the kernel `symbol` of the PTX text. LIFT_OK and *out, to be freed; or the reason, and a
 * sentence that has the line. `window`: bytes of a larger launch that a check covers; 0: all.
 */
enum lift_refusal lift_make(struct lift **out, const char *ptx, size_t bytes, const char *symbol,
                            uint64_t window, struct error *err);
void lift_free(struct lift *lift);

unsigned lift_views(const struct lift *lift, const struct lift_view **out);

/* The kernel's parameter list in the registry's language, and the reference's formals: array i of
 * lift_views is called "p<param>" in both, and is the i-th formal. */
const char *lift_signature(const struct lift *lift);
const char *lift_formals(const struct lift *lift);
/* Whether parameters are tensor maps. */
bool lift_has_maps(const struct lift *lift);
/* Whether it reads addresses from memory; bytes behind one that a check is to cover, a power of two
 * (0: not known yet); and notes how many one has reached: whether that is more. Any thread. */
bool lift_has_tables(const struct lift *lift);
uint64_t lift_reached(const struct lift *lift);
bool lift_note_reached(const struct lift *lift, uint64_t bytes);
/* Whether it multiplies matrices: a check of it may take a thousand times as long as the launch. */
bool lift_has_products(const struct lift *lift);
/* NULL: each check covers all blocks. Else `window` is drawn from 0 to below `windows`. */
const struct lift_windows *lift_windows(const struct lift *lift);

/* Of a launch with `bytes` of dynamic shared memory: bytes of shadows that each block needs beside
 * it (0: none), and how much the lifted kernel takes. `apart`: the shadows lie elsewhere. */
size_t lift_cells(const struct lift *lift, size_t bytes);
size_t lift_shared(const struct lift *lift, size_t bytes, bool apart);

/* Appends the lifted kernel, a whole module: the entry LIFT_ENTRY, which has the kernel's
 * parameters and one more, the address of a struct lift_call. */
#define LIFT_ENTRY "cuvet_lifted"
enum status lift_write(const struct lift *lift, struct textbuf *out, struct error *err);

/* What lift_write's text is compiled to for one architecture. Who brings `state` from NONE to
 * QUEUED compiles it, and sets it to READY or FAILED behind the rest. */
enum lift_code_state { LIFT_CODE_NONE, LIFT_CODE_QUEUED, LIFT_CODE_READY, LIFT_CODE_FAILED };
struct lift_code {
    atomic_int arch;  /* 90: 9.0; 0: of none yet */
    atomic_int state; /* enum lift_code_state */
    /* Launches to be checked that found it not compiled yet: the queue's order. Relaxed. */
    atomic_uint missed;
    char *image;      /* machine code, the lift's */
    bool missing;     /* FAILED: nothing can be compiled in this process */
    struct error why; /* FAILED */
};
enum { LIFT_CODES = 4 /* architectures in one process */ };
/* NULL: there are more architectures. */
struct lift_code *lift_code(const struct lift *lift, int arch);
/* Whether it was to be compiled, and nothing came of it. */
bool lift_code_failed(const struct lift *lift);

#endif
