/*
 * contract.h - the operations whose results a device and the stand-in must share.
 *
 * An operation is a few PTX instructions with a result D and sources A, B, C, E. Its kernel applies
 * them to `count` tuples of inputs, which depend on the operation alone, so that two records
 * have the same inputs.
 */
#ifndef CONTRACT_H
#define CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cuda.h>

enum { SOURCES_MAX = 4, NAME_MAX_BYTES = 96 };

/* What a value is, for its inputs and for how far apart two results are. */
enum kind {
    NOTHING,
    PREDICATE, /* one bit of a 32-bit word; as a result p + 2q */
    I8,
    I16,
    I32,
    I64,
    AMOUNT,   /* 32 bits: of a shift, a position, a length */
    SELECTOR, /* 32 bits: of prmt */
    F16,
    BF16,
    F16X2,
    BF16X2,
    E4M3X2,
    E5M2X2,
    F32,
    F32X2,
    F64,
    KINDS
};

/* Where the bound is on the absolute error, .absolute holds it, and then ulps is for the rest. */
struct bound {
    bool approximate;
    double ulps;     /* of the result's format */
    double absolute; /* an error up to this is fine whatever the ulps */
    double within;   /* not 0: the bound is for sources up to this magnitude */
};

struct operation {
    char name[NAME_MAX_BYTES]; /* "add.rz.ftz.f32" */
    const char *body;          /* NULL: "NAME D, A, B, C;" */
    unsigned arch;             /* least compute capability times 10: 75, 80, 90 */
    enum kind result;
    enum kind sources[SOURCES_MAX];
    unsigned source_count;
    unsigned count;
    struct bound bound;
};

/* All operations, in a fixed order. */
const struct operation *operations(unsigned *count);

/* Bits of a kind as it lies in memory: 8, 16, 32 or 64. */
unsigned kind_bits(enum kind kind);

/* Bits of a result: a predicate's takes 8. */
unsigned result_bits(enum kind kind);

/* Source `source` of tuple `index`. */
uint64_t input_of(const struct operation *operation, unsigned source, unsigned index);

/* The module of `count` operations as PTX text, kernels op_FIRST...; to be freed. */
char *module_text(const struct operation *list, unsigned first, unsigned count);

/* How far two results are apart in ulps (0 where both are NaN), and their difference. */
double ulps_between(enum kind kind, uint64_t a, uint64_t b);
double value_of(enum kind kind, uint64_t bits);

/* Two records, line by line; 0 when IEEE operations are equal and the others within bounds. */
int compare_records(const char *path_a, const char *path_b);
/* A record against the table of another, whose results need not be there: the checksums of integer
 * and IEEE operations; 0 when all are equal. What the table lacks is printed as "not recorded". */
int check_record(const char *table, const char *path);

/* A kernel of contract_kernels.cu. */
struct compiled {
    const char *name;
    enum kind result;
    unsigned blocks, threads; /* writes blocks * threads results, unless count is given */
    unsigned count;
    struct bound bound;
};
const struct compiled *compiled_kernels(unsigned *count);

/* A kernel of newest_kernels.cu or newest_copies.cu, for compute capability 9.0 alone. */
struct newest {
    struct compiled kernel;
    const char *plain; /* the kernel that gives the same bits without the instruction, or NULL */
    int tile;          /* of tiles.h, whose map it takes; -1: none */
    bool stores;       /* the map is of the results, not of the inputs */
    bool copies;       /* of newest_copies.cu */
};
const struct newest *newest_kernels(unsigned *count);

/* The tensor of a kernel with a tile, for cuTensorMapEncodeTiled. */
struct tensor {
    CUtensorMapDataType type;
    CUtensorMapSwizzle swizzle;
    cuuint64_t size[2], pitch;
    cuuint32_t box[2], steps[2];
};
struct tensor tensor_of(const struct newest *kernel);

/* Each of those kernels in a record against its plain one; 0 when all are equal or were skipped. */
int check_plain(const char *path);

#endif
