/* lift_parts.h - the state of a kernel that is being lifted; internal to this room. */
#ifndef LIFT_LIFT_PARTS_H
#define LIFT_LIFT_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "lift/lift.h"
#include "ptx/ptx.h"
#include "refs/abi/ref_abi.h"
#include "text/textbuf.h"

/* What an instruction is to the rewriting. */
enum lift_class {
    CLASS_OTHER,     /* kept; its results have no shadow of their own */
    CLASS_FLOAT,     /* arithmetic, which rounds */
    CLASS_MOVE,      /* mov and selp between registers: shadows go along */
    CLASS_LOAD,      /* ld.global, ld.shared */
    CLASS_STORE,     /* st.global, st.shared */
    CLASS_ASYNC,     /* cp.async of global to shared memory */
    CLASS_BULK_LOAD, /* of a box of a tensor, to shared memory */
    CLASS_BULK_STORE,
    CLASS_MAP, /* the copy of a tensor map that the kernel has made */
    CLASS_SHUFFLE,
    CLASS_PRODUCT, /* mma, wgmma */
    CLASS_BRANCH,
    CLASS_END,  /* ret, exit */
    CLASS_FAIL, /* an assertion, trap */
    CLASS_DROP, /* hints */
};

/* What a register holds, by the instructions that use it. */
enum lift_kind { KIND_NONE, KIND_F32, KIND_F16, KIND_BF16, KIND_F16X2, KIND_BF16X2, KIND_MIXED };

/* Numbers that a register holds, rounded to 8 bits or to integers, which may be several, or to a
 * whole f32. Beside it are those at both ends of what a correct kernel may have there. MIXED: these
 * are not known. Up to U32 in the order of enum lift_format. */
enum lift_rounded {
    ROUNDED_NONE,
    ROUNDED_E4M3,
    ROUNDED_E5M2,
    ROUNDED_I8,
    ROUNDED_I16,
    ROUNDED_I32,
    ROUNDED_U8,
    ROUNDED_U16,
    ROUNDED_U32,
    ROUNDED_F32,
    ROUNDED_MIXED
};

enum { LIFT_CHAIN = 5 /* narrow roundings one after another in a sum: an accumulator */ };

/* All threads of the launch have a register alike, or those of a block, or each has its own. */
enum { LEVEL_LAUNCH, LEVEL_BLOCK, LEVEL_THREAD };

struct lift_register {
    uint64_t roots;  /* a bit for each parameter that its value may be an address of */
    uint64_t behind; /* ... and for each whose array its value may be an address from */
    int def;         /* the only instruction that writes it; -1: none, -2: several */
    uint8_t kind;    /* enum lift_kind */
    uint8_t rounded; /* enum lift_rounded */
    bool shadow;
    bool derived;          /* floating-point arithmetic is behind its value */
    bool loaded;           /* it depends on what was in memory */
    uint8_t level;         /* LEVEL_... */
    bool worked;           /* instructions compute with it; else it is only stored */
    uint8_t before, after; /* narrow roundings on a way of additions to it, and from it */
};

struct lift_step {
    uint8_t class_; /* enum lift_class */
    int8_t array;   /* of a global access: index of the array */
    int8_t made;    /* of a bulk copy: index of the map that the kernel made, or -1 */
    bool strict;    /* of a narrow rounding: its own error is not allowed for */
    bool leaves;    /* of a branch back that memory decides: refused accesses end the loop */
    bool target;    /* of a branch */
    bool fresh;     /* no number with a shadow is in shared memory yet */
    int index;      /* of a scattered store: the register with the number that names the place */
    int row;        /* of an access to an array of rows: 1 + a place in lift.row */
    bool settled;   /* of a load: what it reads is as good as a parameter of the launch's */
};

/* An array in shared memory that lies in the merged one. */
enum { LIFT_PARTS = 16 };
struct lift_part {
    const struct ptx_variable *variable;
    size_t offset;
};

/* A tensor map that the kernel makes, see lift_made.c. Operands are those of the instructions that
 * write its fields. */
enum { LIFT_MADE = 8, LIFT_MADE_DIMS = 5 };
struct lift_made {
    unsigned at; /* the instruction that copies it */
    const struct ptx_operand *address, *size[LIFT_MADE_DIMS], *stride[LIFT_MADE_DIMS - 1];
    unsigned box[LIFT_MADE_DIMS];
    unsigned rank, element, swizzle;
    unsigned seen; /* MADE_... of the fields that must have one value, and are written */
    bool *unmade;  /* a flag for each instruction: a thread may come there without the map */
};
enum { MADE_SWIZZLE = 1, MADE_INTERLEAVE = 2, MADE_FILL = 4, MADE_STEP = 8 /* << dim */ };

/* Rows of a view that one register names. */
enum { LIFT_ROWS = 64 };
struct lift_row {
    unsigned view, reg;
};

struct lift {
    struct arena arena;
    struct ptx_module *module;
    struct ptx_function *kernel;
    struct lift_register *reg;
    struct lift_step *step;
    unsigned views;
    struct lift_view view[REF_MAX_TENSORS]; /* tables of addresses are the last */
    unsigned tables;
    uint64_t written, read;            /* a bit for each parameter */
    const struct ptx_variable *shared; /* NULL: none, or none that shadows can lie behind */
    struct ptx_variable merged;        /* of several arrays, which are its parts */
    struct lift_part part[LIFT_PARTS];
    unsigned parts;
    unsigned cell; /* bytes of shared memory that have one shadow; 0: none has */
    bool products; /* it has CLASS_PRODUCT */
    bool bulk;     /* it has CLASS_BULK_LOAD or CLASS_BULK_STORE */
    struct lift_made made[LIFT_MADE];
    unsigned mades;
    struct lift_row row[LIFT_ROWS];
    unsigned rows;
    bool single; /* a window is one block along x */
    bool bare;   /* what arithmetic is behind is stored to shared memory without a shadow */
    const char *signature, *formals;
    struct lift_windows windows;
    unsigned steps, most_steps; /* of lift_extent.c: bounds of operands that were read */
    struct lift_code *code;     /* LIFT_CODES */
    atomic_ullong *reached;     /* of lift_note_reached; in memory of its own, as the code is */
};

struct lift_writer;

/* Notes why the kernel is not lifted: the line of `at` (NULL: none) and a sentence. */
enum lift_refusal lift_refuse(const struct lift *lift, const struct ptx_instruction *at,
                              enum lift_refusal refusal, struct error *err);

/* Visits the registers that an instruction writes, or those that it reads (guard not included). */
typedef void (*lift_visit_fn)(void *user, unsigned reg);
void lift_each_result(const struct ptx_instruction *ins, lift_visit_fn visit, void *user);
void lift_each_source(const struct ptx_instruction *ins, lift_visit_fn visit, void *user);
void lift_each_register(const struct ptx_operand *operand, lift_visit_fn visit, void *user);

/* NULL: the variable keeps its name. */
const struct lift_part *lift_part_of(const struct lift *lift, const struct ptx_variable *variable);
/* The variable of an operand, and the operand's offset in it and `more`, as PTX has them. */
void lift_put_address(struct textbuf *out, const struct lift *lift, const struct ptx_operand *o,
                      int64_t more);

/* Whether an operand of the kernel names the variable. */
bool lift_uses(const struct lift *lift, const struct ptx_variable *variable);

/* The class of each instruction; the first that has none is the reason. */
enum lift_refusal lift_classify(struct lift *lift, struct error *err);

enum lift_kind lift_kind_of_type(enum ptx_type type);
unsigned lift_lanes(enum lift_kind kind);           /* 1 or 2 */
enum lift_kind lift_lane_kind(enum lift_kind kind); /* of one lane */
unsigned lift_kind_bytes(enum lift_kind kind);
/* The kind of operand `i` of arithmetic, 0 being the result. */
enum lift_kind lift_operand_kind(const struct ptx_instruction *ins, unsigned i);
bool lift_is_pack(const struct ptx_instruction *ins);
/* {0, h}: a bf16 becomes an f32, where the register that gets it is one. */
bool lift_widens(const struct ptx_operand *parts);
bool lift_is_widening(const struct lift *lift, const struct ptx_instruction *ins);
bool lift_is_unpack(const struct ptx_instruction *ins);
/* Whether the instruction rounds to f16 or bf16. */
bool lift_rounds_narrow(const struct ptx_instruction *ins);

/* Of CLASS_PRODUCT: the kind of operand `i`'s registers, numbers of a row that are summed, and
 * whether sums lead through the operand. */
enum lift_kind lift_product_kind(const struct ptx_instruction *ins, unsigned i);
unsigned lift_product_depth(const struct ptx_instruction *ins);
bool lift_is_wgmma(const struct ptx_instruction *ins);
/* A product of integers of 8 bits, with sums of 32. */
bool lift_is_exact_product(const struct ptx_instruction *ins);
/* The operand that products are added to. */
const struct ptx_operand *lift_product_sum(const struct ptx_instruction *ins);

/* Bulk copies, see lift_bulk.c: the class of one, and the operand that has map and corner. */
enum lift_refusal lift_classify_bulk(const struct ptx_instruction *ins, uint8_t *class_);
/* tensormap. */
enum lift_refusal lift_classify_map(const struct ptx_instruction *ins, uint8_t *class_);
bool lift_is_bulk(enum lift_class class_);
const struct ptx_operand *lift_bulk_box(const struct ptx_instruction *ins);
/* The parameter that is a bulk copy's map, and the dims of its tensor; -1: it is none. */
int lift_map_param(const struct lift *lift, const struct ptx_instruction *ins, unsigned *dims);
/* Maps that the kernel makes: the table, and the place in it of a bulk copy's map; -1: none. */
enum lift_refusal lift_find_made(struct lift *lift, struct error *err);
int lift_made_of(const struct lift *lift, const struct ptx_instruction *ins);
/* Of a view whose parameter is a map, see lift_map.c: its lines, along the outermost dim, and the
 * operand that has a box's first one. */
bool lift_map_has_lines(const struct lift *lift, unsigned array);
const struct ptx_operand *lift_map_line(const struct ptx_instruction *ins);
/* Bytes of the whole tensor; up to the end of the boxes that begin at a line at most, and from its
 * start to the first line. */
const char *lift_map_reach(struct lift *lift, unsigned array);
const char *lift_map_end(struct lift *lift, unsigned array, const char *line);
const char *lift_map_first(struct lift *lift, unsigned array, const char *line);
/* The parameter, whose field is the array. */
void lift_put_map(struct textbuf *out, const struct lift_view *view, const char *array);
/* What lies in shared memory at an instruction: what the last store before it has shadows of, of
 * numbers of `element` bytes, or of any (0). */
enum lift_kind lift_kind_stored(const struct lift *lift, unsigned at, unsigned element);
uint8_t lift_rounded_stored(const struct lift *lift, unsigned at, unsigned element);
enum lift_refusal lift_classify_product(const struct ptx_instruction *ins, uint8_t *class_);

/* Adds to `seen` (a flag for each instruction) what may run after an instruction in it. */
void lift_reach(const struct lift *lift, bool *seen);
/* The same, by ways that end at an instruction. */
void lift_reach_before(const struct lift *lift, bool *seen, unsigned end);

/* Makes copies and stores of registers that hold constants there take the constants. */
enum lift_refusal lift_put_constants(struct lift *lift);

/* Kinds, shadows and accumulators. */
enum lift_refusal lift_flow(struct lift *lift, struct error *err);
void lift_find_chains(struct lift *lift);

/* Rounded numbers, see rounded/: which registers hold them, whether one has ends, and whether
 * memory keeps them. */
void lift_find_rounded(struct lift *lift);
bool lift_has_ends(const struct lift *lift, unsigned reg);
bool lift_keeps_ends(const struct lift *lift, unsigned reg);
/* What an instruction rounds f32 to, and whether the ends of its result are what it makes of the
 * ends of such numbers. */
uint8_t lift_rounds_to(const struct ptx_instruction *ins);
bool lift_moves_ends(const struct lift *lift, unsigned at, uint8_t rounded);
/* Of one number; what the lowest bytes of it are. */
unsigned lift_rounded_bytes(uint8_t rounded);
uint8_t lift_rounded_part(uint8_t rounded, unsigned bytes);
/* Sums with a large constant round to a whole number: what the kernel has is what is meant. */
bool lift_rounds_on_purpose(const struct ptx_instruction *ins);

/* The arrays: which parameters are read and written, where. */
/* Of a number of a view's dtype. */
unsigned lift_dtype_bytes(enum dtype dtype);

enum lift_refusal lift_find_arrays(struct lift *lift, struct error *err);

/* Whether an instruction stores to global memory, where it has an array. */
bool lift_stores(const struct lift *lift, unsigned at);

/* Arrays behind addresses that are read from memory, see loaded/lift_table.c: the views of the
 * tables go to the end; whether an instruction has one; the dims of the parameter; and the offset
 * of an access in all rows, %ca1, or %cq1 where no row has it. */
enum lift_refusal lift_find_tables(struct lift *lift, struct error *err);
bool lift_reads_table(const struct lift *lift, unsigned at);
void lift_put_table(struct textbuf *out, const struct lift *lift, const struct lift_view *view,
                    unsigned element);
void lift_put_row(struct lift_writer *w, const struct ptx_operand *memory, unsigned bytes);

/* Levels of registers, see loaded/lift_level.c, and the settled loads of a kernel that has tables.
 */
void lift_find_levels(struct lift *lift);
void lift_find_settled(struct lift *lift);

/* Places and loops that depend on what was in memory, see loaded/. */
enum lift_refusal lift_find_loaded(struct lift *lift, struct error *err);
/* The number from memory that names a place: its register, and the array that it is loaded from,
 * which has integers of that size; -1: there is none, or several. */
struct lift_index {
    int reg, array;
};
struct lift_index lift_find_index(const struct lift *lift, const struct ptx_operand *place);
/* What an operand is in all threads of a block, `block` being the name of its place along x; NULL:
 * it is not known. */
const char *lift_exact(struct lift *lift, const struct ptx_operand *o, const char *block);
/* x - x / y * y, where y is *by. */
bool lift_is_remainder(const struct lift *lift, const struct ptx_instruction *ins,
                       const struct ptx_operand **by);
/* Finds arrays of which rows are copied, and those that name the places of scattered stores; once
 * extents are known, or are not. */
void lift_find_rows(struct lift *lift);
/* Whether an array has the numbers that name rows of another. */
bool lift_names_rows(const struct lift *lift, unsigned array);
/* Whether an array has the numbers that name the places of stores to another. */
bool lift_is_index(const struct lift *lift, unsigned array);
/* Bytes of an array in shared memory that an access may reach, of `end` the first it does not. */
struct lift_span {
    const struct ptx_variable *variable; /* NULL: it may reach all of shared memory */
    int64_t first, end;
    bool fixed; /* it reaches all of them */
};
struct lift_span lift_span_of(const struct lift *lift, unsigned at);

/* A sum of products of names, see lift_sum.c. Immutable; NULL, as an argument or a result, is one
 * that is unknown. */
enum { LIFT_TERMS = 12, LIFT_NAMES = 4, LIFT_SUM_LONG = 400 };
struct lift_term {
    const char *name[LIFT_NAMES];
    unsigned names;
    int64_t times;
};
struct lift_sum {
    int64_t constant;
    unsigned count;
    struct lift_term term[LIFT_TERMS];
};
const struct lift_sum *lift_sum_number(struct lift *lift, int64_t value);
/* `name`, in parentheses where it is an expression, has no negative value. */
const struct lift_sum *lift_sum_name(struct lift *lift, const char *name);
bool lift_sum_is_number(const struct lift_sum *sum, int64_t *out);
const struct lift_sum *lift_sum_add(struct lift *lift, const struct lift_sum *a,
                                    const struct lift_sum *b);
const struct lift_sum *lift_sum_multiply(struct lift *lift, const struct lift_sum *a,
                                         const struct lift_sum *b);
/* Whether a is no larger than b, whatever the names stand for; false: this is not known. */
bool lift_sum_at_most(const struct lift_sum *a, const struct lift_sum *b);
/* A sum that neither is larger than. */
const struct lift_sum *lift_sum_cover(struct lift *lift, const struct lift_sum *a,
                                      const struct lift_sum *b);
/* sum = name * factor + rest; false: the name is not there, or not so. */
bool lift_sum_split(struct lift *lift, const struct lift_sum *sum, const char *name,
                    const struct lift_sum **factor, const struct lift_sum **rest);
/* As an expression without outer parentheses; NULL: it is too long. */
const char *lift_sum_text(struct lift *lift, const struct lift_sum *sum);

/* The largest offset that global accesses of an array reach, in bytes: by all blocks, or by those
 * up to `last_block`. */
const char *lift_extent(struct lift *lift, unsigned array, bool whole);
/* Of an access whose address is index * pitch + rest, `index` a register: the largest offset in the
 * row, and bytes of the access. */
bool lift_row_reach(struct lift *lift, unsigned at, unsigned index, const struct lift_sum **pitch,
                    const struct lift_sum **rest, int64_t *bytes);
/* And, for a window of blocks, the least: bytes from the array's start on; "0": from there. */
const char *lift_first(struct lift *lift, unsigned array);
/* A constraint on a register where an instruction runs, see lift_guard.c. */
struct lift_limit {
    unsigned reg;
    const struct ptx_operand *below; /* reg < below, or <= */
    bool equal;
};
enum { LIFT_LIMITS = 48 };
unsigned lift_limits(const struct lift *lift, unsigned at, struct lift_limit *out);
/* Where a predicate is true, or false. */
unsigned lift_limits_if(const struct lift *lift, unsigned reg, bool holds, struct lift_limit *out);

/* A register that a loop counts up by `step`, while another is below `limit`, by `limit_step`. */
struct lift_loop {
    unsigned head, increment; /* instructions */
    unsigned counter;         /* the register that is compared to the limit */
    const struct ptx_operand *step, *limit, *limit_step;
    bool below; /* all its uses but the comparison have it below the limit */
};
bool lift_find_loop(const struct lift *lift, unsigned reg, struct lift_loop *out);
bool lift_writes(const struct ptx_instruction *ins, unsigned reg);
/* The conversion of a whole integer register that alone defines `o`; NULL: there is none. */
const struct ptx_instruction *lift_conversion(const struct lift *lift, const struct ptx_operand *o);
/* Where the only r = r + step is; below 0: there is none, or several. */
int lift_find_increment(const struct lift *lift, unsigned reg, const struct ptx_operand **step);
/* The innermost loop around an instruction: its last branch; -1: none. */
int lift_find_back(const struct lift *lift, unsigned at, unsigned *head);
/* Whether the instruction has types, none of which is a floating-point one. */
bool lift_whole_numbers(const struct ptx_instruction *ins);
/* Whether a load in the loop of a store to the same array reads, in each turn, what the thread has
 * not stored in an earlier one. */
bool lift_moves_on(struct lift *lift, unsigned store, unsigned load);

/* The writing of one kernel. */
struct lift_writer {
    const struct lift *lift;
    struct textbuf *out;
    const struct ptx_instruction *ins;
    const struct lift_step *step;
    char guard[16]; /* "@%p3 " or "" */
    uint8_t ends;   /* of lift_write_ends(): what has ends, enum lift_rounded */
};

void lift_put(struct lift_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lift_put_plain(struct lift_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* without the guard */
void lift_put_operand(struct textbuf *out, const struct lift *lift, const struct ptx_operand *o);
void lift_put_instruction(struct lift_writer *w);
/* The names of a register's shadow: "%v12a" and "%e12a". */
void lift_shadow_name(char out[24], char part, unsigned reg, unsigned lane);
/* Sets the shadow of a register that an instruction has written without one: the value is the
 * register's, and no error is known. */
void lift_put_exact(struct lift_writer *w, unsigned reg);

/* The ends of what an instruction writes, in front of it; false: none are known by then. */
bool lift_write_ends(struct lift_writer *w);
/* Behind it: they are what the registers hold. */
void lift_put_exact_ends(struct lift_writer *w);
/* Between a register's bytes, from bit `bit` on, and shadows that lie from [%cca+at] on. */
void lift_put_ends_out(struct lift_writer *w, unsigned reg, unsigned bit, unsigned bytes,
                       unsigned at);
void lift_put_ends_in(struct lift_writer *w, unsigned reg, unsigned bit, unsigned bytes,
                      unsigned at);
void lift_declare_ends(struct textbuf *out, const struct lift *lift, unsigned reg);

/* An instruction without a rule. */
void lift_write_kept(struct lift_writer *w);
void lift_write_float(struct lift_writer *w);
void lift_write_move(struct lift_writer *w);
void lift_write_shuffle(struct lift_writer *w);
void lift_write_load(struct lift_writer *w);
void lift_write_store(struct lift_writer *w);
void lift_write_async(struct lift_writer *w);
void lift_write_product(struct lift_writer *w);
void lift_write_bulk(struct lift_writer *w);
void lift_write_made(struct lift_writer *w);

/* Loads lane `lane` of `operand`, which is of `kind`, into "%cv<n>" and "%ce<n>". */
void lift_put_source(struct lift_writer *w, const struct ptx_operand *operand, enum lift_kind kind,
                     unsigned lane, unsigned n);

#endif
