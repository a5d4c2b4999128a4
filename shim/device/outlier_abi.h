/*
 * outlier_abi.h - the parameters of the outlier kernels `cuvet_outlier...` and the data that they
 * keep. Plain data for C and CUDA; library and fatbin are built together.
 *
 * One kernel probes the designated inputs of a launch, decides, and, only where it selects the
 * launch as an outlier, copies what the snapshot kernel would have copied: so an ordinary launch
 * costs one short kernel and no copy.
 */
#ifndef DEVICE_OUTLIER_ABI_H
#define DEVICE_OUTLIER_ABI_H

#include "device/snapshot_abi.h"

enum {
    OUTLIER_INPUTS = 4,
    OUTLIER_THREADS = 256,                       /* of a block that probe, or copy */
    OUTLIER_CLERKS = 32,                         /* more, for a fingerprint: the last warp */
    OUTLIER_PIECE = 2048,                        /* bytes of one row that a warp reads at once */
    OUTLIER_PIECES = 1024,                       /* of one input that are read at most: 2 MiB */
    OUTLIER_ID_PIECES = 128,                     /* of an index input: 256 KiB */
    OUTLIER_BLOCK_PIECES = OUTLIER_THREADS / 32, /* that a block reads at once */
    OUTLIER_LINES = 128,                         /* of all blocks of a launch, at most */
    OUTLIER_LOOKS = 1024,                        /* that may be under way in a context */
    OUTLIER_BINS = 32,                           /* exponents modulo 32 */
    OUTLIER_ID_BINS = 256,                       /* hashed indices */
    OUTLIER_SKETCH = 4,
    OUTLIER_GROUPS = 16,
    OUTLIER_START = 16,     /* launches of a signature before the first call */
    OUTLIER_MEMORY = 256,   /* launches over which means and variances run */
    OUTLIER_ROWS = 256,     /* centroid: rows that are read at most */
    OUTLIER_COLUMNS = 8192, /* centroid: columns that are read at most */
};

enum outlier_detector { OUTLIER_OFF, OUTLIER_FINGERPRINT, OUTLIER_CENTROID };

/* The statistics of a fingerprint. FEATURE(NAME, text, floor of its standard deviation) */
#define OUTLIER_FEATURES(FEATURE)                                                                  \
    FEATURE(NANS, "nan count", 0.05f)                                                              \
    FEATURE(INFS, "inf count", 0.05f)                                                              \
    FEATURE(ZEROS, "zero count", 0.5f)                                                             \
    FEATURE(SUBNORMALS, "subnormal count", 0.5f)                                                   \
    FEATURE(ABSMAX, "absmax", 0.005f)                                                              \
    FEATURE(RMS, "rms", 0.001f)                                                                    \
    FEATURE(HOTTEST, "hottest piece", 0.001f)                                                      \
    FEATURE(SHAPE, "exponents", 0.1f)                                                              \
    FEATURE(MEAN, "mean", 1e-6f)                                                                   \
    FEATURE(SKETCH1, "sketch 1", 1e-6f)                                                            \
    FEATURE(SKETCH2, "sketch 2", 1e-6f)                                                            \
    FEATURE(SKETCH3, "sketch 3", 1e-6f)                                                            \
    FEATURE(MULTIPLICITY, "multiplicity", 0.01f)                                                   \
    FEATURE(DISTINCT, "distinct indices", 0.5f)                                                    \
    FEATURE(LOWEST, "lowest index", 0.01f)                                                         \
    FEATURE(HIGHEST, "highest index", 0.01f)                                                       \
    FEATURE(DISTANCE, "centroid distance", 1)                                                      \
    FEATURE(ROWS_WITH_NAN, "rows with nan or inf", 1)                                              \
    FEATURE(NEW, "first batch", 1)

enum outlier_feature {
#define FEATURE(name, text, floor) OUTLIER_##name,
    OUTLIER_FEATURES(FEATURE)
#undef FEATURE
        OUTLIER_FEATURE_COUNT
};

enum {
    OUTLIER_FLOATS_END = OUTLIER_MULTIPLICITY, /* statistics of float inputs: [0, here) */
    OUTLIER_CHARTS = OUTLIER_DISTANCE,         /* those of index inputs: up to here */
};

/* What was seen of one input of one launch. All zero at first, so that zeroed memory begins. */
struct outlier_sums {
    float square, far; /* over the finite elements, as are the following; far: of those whose
                        * squares are near the end of f32, or beyond, * 2^-160 */
    float sketch[OUTLIER_SKETCH];
    uint32_t count, nans, infs, zeros, subnormals; /* elements; the zeros are no subnormals */
    /* The bits of the largest |x|; of the largest mean square of a piece. Index inputs:
     * outlier_rank of the largest index, and that of the smallest, inverted. */
    uint32_t most, hottest;
    uint32_t bin[OUTLIER_ID_BINS]; /* floats: the first OUTLIER_BINS */
};

/*
 * The running statistics of one input of one launch signature, in device memory. They are of one
 * epoch, which each probe has among its parameters: a probe of a later one finds them empty, one of
 * an earlier one neither judges by them nor changes them. So they can be reset while probes are
 * under way.
 */
struct outlier_entry {
    uint32_t version; /* odd while a launch updates the entry; each update changes it twice */
    uint32_t epoch;
    uint32_t launches; /* that updated the entry */
    float mean[OUTLIER_CHARTS], variance[OUTLIER_CHARTS];
    float share[OUTLIER_BINS]; /* mean share of each exponent */
    float top[OUTLIER_GROUPS]; /* largest score of each group of launches */
};

/* The same for the centroid detector. */
struct outlier_centroid {
    uint32_t batches;
    uint32_t epoch;
    float center[OUTLIER_COLUMNS];
};

/* The quantile of the distances so far, in pinned memory; written and read as one word. */
struct __attribute__((aligned(8))) outlier_quantile {
    float value; /* negative: not known yet, as where the probe has another epoch */
    uint32_t epoch;
};

/* The finding for the collector, in pinned memory, written before the seal: for selected launches,
 * and the centroid detector's distances. */
struct outlier_answer {
    uint32_t input;   /* of the call, for which the launch was selected */
    uint32_t feature; /* enum outlier_feature, for which it was selected */
    float score;      /* in standard deviations; centroid: the ratio */
    float threshold;
    uint32_t rows; /* distances below */
    float distance[OUTLIER_ROWS];
};

/*
 * What one block found, for the block that judges: each word has a tag that shows that it has come,
 * so nothing is fenced and nothing is cleared. The upper OUTLIER_TAG_BITS are the sequence's lower
 * ones, the rest depends on LINE_...: a float, a count, or two counts of half as many bits. A block
 * of an index input has OUTLIER_ID_LINES: one as above without bins, which come after those of all
 * blocks, two a word.
 */
enum outlier_line_word {
    LINE_SQUARE,                               /* float sums */
    LINE_FAR,                                  /* of squares that f32 does not hold, * 2^-160 */
    LINE_SKETCH,                               /* OUTLIER_SKETCH */
    LINE_COUNT = LINE_SKETCH + OUTLIER_SKETCH, /* count, nans, infs, zeros, subnormals */
    LINE_MOST = LINE_COUNT + 5,                /* and hottest: the largest */
    LINE_BEGAN = LINE_MOST + 2,                /* the lower word of %globaltimer */
    LINE_BINS,                                 /* two bins a word; index inputs: none */
    LINE_END = LINE_BINS + OUTLIER_BINS / 2,
    OUTLIER_LINE = 32,
    OUTLIER_ID_LINES = 1 + OUTLIER_ID_BINS / 2 / OUTLIER_LINE,
    OUTLIER_TAG_BITS = 24,
};

/* A check slot's part of the outlier gate, in device memory, zero at first. */
struct outlier_slot {
    uint64_t decision; /* sequence * 2 + selected */
    uint64_t next;     /* sequence << OUTLIER_CHUNK_BITS | next chunk to be copied */
    uint32_t ticket;   /* blocks that have begun (centroid: finished reading), modulo their
                        * number */
    uint32_t done;     /* chunks copied */
    uint64_t line[OUTLIER_LINES][OUTLIER_LINE];
    float distance[OUTLIER_ROWS]; /* squared */
    uint32_t bad[OUTLIER_ROWS];   /* elements of the row that are not finite */
};

enum { OUTLIER_CHUNK_BITS = 24 };

/*
 * One input: `rows` rows of `row_bytes` each. Rows are cut into pieces of OUTLIER_PIECE bytes; of
 * these `sampled` are read, spread evenly with a random offset each. The kernel's blocks
 * [first_block, first_block + blocks) read it; their lines begin with first_line.
 */
struct outlier_input {
    uint64_t address, row_bytes, rows, pitch; /* bytes */
    uint64_t pieces;
    struct outlier_entry *entry;
    uint32_t pieces_per_row;
    uint32_t sampled;
    uint32_t first_block, blocks;
    uint32_t period; /* 16-byte units (not aligned: elements) after which the columns repeat */
    uint32_t group;  /* launches in a group: the window is OUTLIER_GROUPS - 1 of them */
    uint8_t dtype;   /* enum dtype */
    uint8_t size;    /* bytes of an element */
    uint8_t integer;
    uint8_t aligned; /* address, pitch and row_bytes are multiples of 16 */
    uint32_t first_line;
};

/* The centroid detector's part; `columns` elements of each of `rows` sampled rows of input 0. */
struct outlier_batch {
    struct outlier_centroid *centroid;
    const struct outlier_quantile *quantile;
    float alpha, threshold;
    uint64_t all_rows, pitch; /* of the array, bytes */
    uint32_t rows, columns;
};

/*
 * Follows the snapshot header, whose segments are copied where the launch is called. If it does not
 * seal, a snapshot kernel with `when` follows behind the launch. A launch
 * that is not called is sealed at once in both cases.
 * Grid: all inputs' blocks, of OUTLIER_THREADS threads, and OUTLIER_CLERKS for a fingerprint.
 */
struct outlier_header {
    struct outlier_slot *slot;
    struct outlier_answer *answer;
    uint64_t seed;
    uint64_t chunks; /* of all segments */
    uint32_t inputs;
    uint32_t detector; /* enum outlier_detector */
    uint32_t epoch;    /* of the statistics; see outlier_entry */
    uint32_t reserved;
    struct outlier_batch batch;
};

/* The parameters of `cuvet_outlier`. */
struct outlier_call {
    struct snapshot_header header;
    struct outlier_header outlier;
    struct snapshot_select select;
    struct outlier_input input[OUTLIER_INPUTS];
    struct snapshot_segment segment[SNAPSHOT_SEGMENTS];
};

/* And `cuvet_outlier_few`, for one input and SNAPSHOT_FEW segments or less: less for the driver to
 * carry. */
struct outlier_call_few {
    struct snapshot_header header;
    struct outlier_header outlier;
    struct snapshot_select select;
    struct outlier_input input[1];
    struct snapshot_segment segment[SNAPSHOT_FEW];
};

#endif
