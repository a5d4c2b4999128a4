/*
 * product.h - a matrix product of a library call: a value that a wrapper fills in, and that the
 * gate, the binding and the reports treat as a launch with named arguments.
 */
#ifndef CALL_PRODUCT_H
#define CALL_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "refs/abi/ref_abi.h"
#include "value/launch.h"

/* How the library adds up, as the call declares it: the word that stands last of the types in the
 * call's name. */
#define ACCUMULATION_LIST(ACCUMULATION)                                                            \
    ACCUMULATION(F32, "f32")             /* products of the inputs as they are, sums in f32 */     \
    ACCUMULATION(TF32, "tf32")           /* f32 inputs may be rounded to tf32 */                   \
    ACCUMULATION(FAST_F16, "fast_f16")   /* f32 inputs may be rounded to f16 */                    \
    ACCUMULATION(FAST_BF16, "fast_bf16") /* f32 inputs may be rounded to bf16 */                   \
    ACCUMULATION(F16, "f16")             /* sums in f16 */                                         \
    ACCUMULATION(F64, "f64")                                                                       \
    ACCUMULATION(I32, "i32")                                                                       \
    ACCUMULATION(OTHER, "other") /* one that this version does not support */

enum accumulation {
#define ACCUMULATION(name, text) ACCUMULATION_##name,
    ACCUMULATION_LIST(ACCUMULATION)
#undef ACCUMULATION
        ACCUMULATION_COUNT
};

/* What else decides how a call is checked; in the call's name, in this order. */
#define PRODUCT_WORD_LIST(WORD)                                                                    \
    WORD(BATCH, "batch")   /* several products, at one distance */                                 \
    WORD(LIST, "list")     /* several, a, b and c are lists of addresses in device memory */       \
    WORD(BETA, "beta")     /* added to beta times what c held */                                   \
    WORD(ADDED, "added")   /* added to beta times another matrix */                                \
    WORD(DEVICE, "device") /* alpha and beta are in device memory */                               \
    WORD(RELU, "relu")                                                                             \
    WORD(GELU, "gelu")                                                                             \
    WORD(DRELU, "drelu")                                                                           \
    WORD(DGELU, "dgelu")                                                                           \
    WORD(BIAS, "bias")     /* a number for each column of c is added */                            \
    WORD(AUX, "aux")       /* the epilogue writes, for the backward pass */                        \
    WORD(BGRAD, "bgrad")   /* the sum over the rows of c is written */                             \
    WORD(BGRADA, "bgrada") /* the sum over an input */                                             \
    WORD(BGRADB, "bgradb")                                                                         \
    WORD(SCALE, "scale")     /* a and b are multiplied by numbers in device memory */              \
    WORD(SCALES, "scales")   /* by one for each row or block */                                    \
    WORD(TILED, "tiled")     /* by one for 16 or 32 elements, which lie in tiles */                \
    WORD(SCALED, "scaled")   /* c is multiplied by a number in device memory */                    \
    WORD(AMAX, "amax")       /* the largest magnitude of c is written */                           \
    WORD(FAST, "fast")       /* fp8: sums may stay in the tensor cores */                          \
    WORD(REDUCED, "reduced") /* partial sums may be rounded to the type of c */                    \
    WORD(OTHER, "other")     /* something that this version does not support */

enum product_word {
#define WORD(name, text) PRODUCT_##name##_BIT,
    PRODUCT_WORD_LIST(WORD)
#undef WORD
        PRODUCT_WORDS,
#define WORD(name, text) PRODUCT_##name = 1 << PRODUCT_##name##_BIT,
    PRODUCT_WORD_LIST(WORD)
#undef WORD
};

/* Of the program's own arguments, what strides do not show. */
enum product_how {
    PRODUCT_HOW_KNOWN = 1, /* the other bits hold */
    PRODUCT_TURNED = 2,    /* product_set's by_columns */
    PRODUCT_TRANS_A = 4,   /* of the library's A */
    PRODUCT_TRANS_B = 8,
    PRODUCT_ROWS_A = 16, /* its rows lie side by side */
    PRODUCT_ROWS_B = 32,
    PRODUCT_ROWS_ADDED = 64,
    PRODUCT_ROWS_C = 128,
    PRODUCT_ALGORITHM = 256,   /* algorithm0 ... algorithm7 hold the chosen algorithm */
    PRODUCT_MODE_A_SHIFT = 16, /* from this bit on the scale mode of the library's A, and B */
    PRODUCT_MODE_B_SHIFT = 24,
    PRODUCT_MODE_MOST = 255
};

enum { PRODUCT_ALGORITHM_BYTES = 64, PRODUCT_FUNCTION = 64 };

/* Positions of the arguments. */
enum {
#define PRODUCT_POINTER(name) PRODUCT_AT_##name,
#define PRODUCT_INTEGER(name) PRODUCT_AT_##name,
#define PRODUCT_REAL(name)    PRODUCT_AT_##name,
#include "call/product.def"
#undef PRODUCT_POINTER
#undef PRODUCT_INTEGER
#undef PRODUCT_REAL
    PRODUCT_ARGUMENTS
};

struct product_arguments {
#define PRODUCT_POINTER(name) uint64_t name;
#define PRODUCT_INTEGER(name) int64_t name;
#define PRODUCT_REAL(name)    double name;
#include "call/product.def"
#undef PRODUCT_POINTER
#undef PRODUCT_INTEGER
#undef PRODUCT_REAL
};
_Static_assert(sizeof(struct product_arguments) == PRODUCT_ARGUMENTS * sizeof(uint64_t),
               "arguments lie side by side, 8 bytes each");

struct product {
    const char *function;                      /* "cublasGemmEx": a constant of the wrapper */
    uint8_t a_type, b_type, c_type, bias_type; /* enum dtype */
    uint8_t accumulation;
    uint32_t words; /* enum product_word */
    struct product_arguments arguments;
};

/* A matrix as the library has it: element (i, j) lies i * row + j * col elements behind `data`. */
struct product_matrix {
    const void *data;
    uint8_t type;
    int64_t row, col, batch;
};

/*
 * c[rows][cols] = a[rows][sum] b[sum][cols]. The product is turned over where c lies by columns
 * (c->row is 1 and c->col is not, or by_columns): then the library's B is the product's a.
 */
void product_set(struct product *product, const struct product_matrix *a,
                 const struct product_matrix *b, const struct product_matrix *c, int64_t rows,
                 int64_t cols, int64_t sum, bool by_columns);

/* The parameter list that registry entries for products are held against. */
extern const struct param_layout product_layout;

/* Points params[i] at each argument. */
void product_params(const struct product *product, void *params[PRODUCT_ARGUMENTS]);

/* The call's name, such as "cublasGemmEx<bf16, bf16, bf16, f32, batch>", valid for the life of the
 * process, the same pointer for the same call; NULL: no memory, or too many names. Takes a lock and
 * allocates on the first call with a name. Any thread. */
const char *product_name(const struct product *product);

/* The other way: types, accumulation and words of a name that product_name made, and its function
 * as text. False: it is none. */
bool product_parse(const char *name, struct product *out, char function[PRODUCT_FUNCTION]);

#endif
