/*
 * case.h - one launch of a kernel: what was drawn, and the launch and bytes that follow from it.
 *
 * A case is made of choices, and choices of a seed; the shrinker changes choices. All arrays lie in
 * one piece of memory, the pool, each with guard bytes on both sides: offsets are the case's,
 * addresses come with the device. One thread.
 */
#ifndef TOOLS_FUZZ_CASE_H
#define TOOLS_FUZZ_CASE_H

#include <stdbool.h>
#include <stdint.h>
#include "text/textbuf.h"
#include "tools/fuzz/case/element.h"
#include "tools/fuzz/case/rule.h"
#include "value/launch.h"

enum { FUZZ_PARAM_BYTES = 32 << 10, FUZZ_DIMS = 8, FUZZ_GUARD = 4096, FUZZ_ALIGN = 256 };

/* FUZZ_integers: the large number is 3 * 2^(scale - 2), beside which 1 is lost in bf16, or in f16
 * as well. */
enum { FUZZ_INTEGERS_BF16 = 9, FUZZ_INTEGERS_F16 = 12 };

/* How an array is filled and placed. */
struct fuzz_recipe {
    enum fuzz_dist dist;
    int scale;     /* FUZZ_scaled: the exponent; FUZZ_integers: 0 (no large number), or as above */
    uint32_t skew; /* bytes from a multiple of FUZZ_ALIGN to the array */
    bool aliased;  /* it lies where fuzz_array.alias does */
    bool absent;   /* null */
};

struct fuzz_choices {
    uint64_t seed;
    enum fuzz_poison poison;
    int64_t value[FUZZ_SLOTS];    /* of variables, by slot */
    double real[SIGNATURE_ITEMS]; /* by number in fuzz_rule.real */
    struct fuzz_recipe recipe[SPEC_MAX_ARRAYS];
};

/* An array of the case. */
struct fuzz_extent {
    const struct signature_item *item;
    bool there;
    enum dtype dtype;
    int ndim;
    /* Elements; lanes of vectors are elements. A block counts as one, and has strides in bytes. */
    int64_t dim[FUZZ_DIMS], stride[FUZZ_DIMS];
    int64_t count;             /* elements */
    uint64_t bytes;            /* from the first element to the end of the last */
    uint64_t at;               /* offset in the pool */
    int64_t rows;              /* of one whose rows are touched by index */
    int64_t from, below, also; /* of integers; also: `from` where there is none */
};

struct fuzz_case {
    const struct fuzz_rule *rule;
    struct fuzz_choices choices;
    struct fuzz_extent array[SPEC_MAX_ARRAYS]; /* by signature_item.number */
    unsigned tensors, blocks;                  /* of a struct that lists arrays, see lists.h */
    int64_t length[FUZZ_LISTED];               /* of each of these; the first is the longest */
    uint32_t grid[3], block[3], cluster[3], shared;
    uint64_t pool_bytes;
    uint32_t param_bytes;
    struct param_layout layout;
    uint8_t params[FUZZ_PARAM_BYTES];
};

/* Draws choices that make a case within the rule's elements. STATUS_INVALID: none of many draws
 * does, and why the last did not. */
enum status fuzz_case_draw(struct fuzz_case *out, const struct fuzz_rule *rule,
                           const struct param_layout *layout, uint64_t seed, struct error *err);

/* The seed of case number `number` of a run. */
uint64_t fuzz_case_seed(uint64_t run, uint64_t number);

/* The launch and the arrays of choices. Variables that follow from others are evaluated again.
 * STATUS_FULL: more elements than `elements`; STATUS_INVALID: no such launch. */
enum status fuzz_case_make(struct fuzz_case *out, const struct fuzz_rule *rule,
                           const struct param_layout *layout, const struct fuzz_choices *choices,
                           int64_t elements, struct error *err);

/* Writes pool_bytes: guards, what lies between rows, and elements. */
void fuzz_case_fill(const struct fuzz_case *c, uint8_t *pool);

/* Marks the bytes that the kernel may change in a pool that was filled: elements of arrays that it
 * writes, and its workspaces; where indices name rows, those rows alone. */
void fuzz_case_mark(const struct fuzz_case *c, const uint8_t *pool, uint8_t *may);

/* Puts the addresses into the parameters for a pool that lies at `base`, and fills *launch, which
 * borrows the case. */
void fuzz_case_place(struct fuzz_case *c, uint64_t base, struct launch *launch);

/* Byte offset, from the array's first element, of element `index` (row major). */
uint64_t fuzz_element_at(const struct fuzz_extent *array, int64_t index);

/* "rows=3 cols=129 eps=1e-05 x=nan+6 y=+0 grid=3 block=128". */
void fuzz_case_describe(const struct fuzz_case *c, struct textbuf *text);

/* Hash of all that the seed decides: launch, parameters without addresses, the pool's bytes. */
uint64_t fuzz_case_hash(const struct fuzz_case *c, const uint8_t *pool);

#endif
