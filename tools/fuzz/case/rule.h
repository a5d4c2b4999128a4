/*
 * rule.h - the `fuzz` mapping of a registry entry, compiled for one kernel: what is drawn, and how
 * the launch and the arrays follow from it.
 *
 *     fuzz:
 *       rows: 1..300                 # a variable: a range, a list, or an expression
 *       cols: [1, 33, 1024]
 *       eps: [1e-5]                  # a real parameter
 *       block: 128                   # expressions over the variables
 *       grid: [min(rows, 64)]
 *       shared: 4 * cols
 *       ids: {below: entries}        # an array of integers
 *       w: {values: [normal]}        # distributions, where not any will do
 *
 * The manual is tools/man/cuvet-fuzz.md. Immutable, the arena's: any thread.
 */
#ifndef TOOLS_FUZZ_RULE_H
#define TOOLS_FUZZ_RULE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "system/yaml_doc.h"
#include "lang/expr.h"
#include "registry/registry.h"
#include "lang/signature.h"

enum {
    FUZZ_SLOTS = 64,
    FUZZ_SLOT_BLOCK = 0, /* x, y, z */
    FUZZ_SLOT_GRID = 3,
    FUZZ_SLOT_FREE = 6,
    FUZZ_ITEMS = 32, /* of a list */
    FUZZ_RELATIONS = 8,
    FUZZ_ELEMENTS = 1 << 16,
};

/* Distributions of the values of an array. */
enum fuzz_dist {
#define DIST(name, sentence) FUZZ_##name,
#include "tools/fuzz/case/dists.def"
#undef DIST
    FUZZ_DISTS
};
const char *fuzz_dist_text(enum fuzz_dist dist);     /* "normal" */
const char *fuzz_dist_sentence(enum fuzz_dist dist); /* "N(0, 1)" */
bool fuzz_dist_of(const char *text, enum fuzz_dist *out);
bool fuzz_dist_integers(enum fuzz_dist dist); /* for arrays of integers */

enum fuzz_kind {
    FUZZ_RANGE, /* low..high, in steps */
    FUZZ_LIST,
    FUZZ_VALUE,  /* an expression */
    FUZZ_STRIDE, /* an expression, and now and then some elements more */
};

/* A name that has a value in each case. */
struct fuzz_variable {
    const char *name;
    enum fuzz_kind kind;
    int slot;
    bool let;                             /* one of the entry's: used by the rule, not set by it */
    const struct expr *low, *high, *step; /* FUZZ_VALUE and FUZZ_STRIDE: `low` is the value */
    unsigned items;
    const struct expr *item[FUZZ_ITEMS];
    const struct signature_item *into; /* the parameter that gets it, or NULL */
};

/* A parameter that is no integer: one of the numbers, or any between the first two. */
struct fuzz_real {
    const struct signature_item *into;
    bool range;
    unsigned items;
    double item[FUZZ_ITEMS];
};

/* Whether an array is null: one that may be is so in one case of four. */
enum fuzz_null { FUZZ_NULL_NEVER, FUZZ_NULL_SOMETIMES, FUZZ_NULL_ALWAYS };

/* An array of the signature, by signature_item.number. */
struct fuzz_array {
    const struct signature_item *item;
    const struct expr *rows;         /* of one of which only some are touched: how many it has */
    const struct expr *from, *below; /* of integers: the values lie in [from, below) */
    const struct expr *also;         /* a value of one element in eight; NULL: none */
    uint32_t dists;                  /* a bit for each of enum fuzz_dist; 0: any that fits */
    uint32_t align;                  /* bytes; the address is a multiple of it */
    int alias;                       /* number of the array that it may coincide with, or -1 */
    enum fuzz_null null;
};

enum { FUZZ_LISTED = 64, FUZZ_PARTS = 1024 }; /* arrays of a list; parts of all, at most */

/* How a struct that lists arrays is filled. Block b of a launch does part `part`[b] of array
 * `tensor`[b], whose elements are `length`[tensor[b]]. */
struct fuzz_lists {
    const struct expr *count,
        *parts; /* arrays; parts of one, by its length. count NULL: no lists */
    const struct signature_item *length, *tensor, *part;
    int length_slot, blocks_slot; /* the longest array's length; entries of the tables */
};

struct fuzz_rule {
    const struct binding_plan *plan; /* of the signature, for the arrays' dims */
    const struct plan_source *source;
    const struct captures *captures;
    bool sparse;                  /* the arrays' dims depend on `rows`, see dense.h */
    bool parts;                   /* arrays have dims [n from m], of which a check judges a part */
    int64_t constant[FUZZ_SLOTS]; /* captures */
    unsigned variables, reals, arrays;
    struct fuzz_variable variable[FUZZ_SLOTS]; /* each behind those that it reads */
    struct fuzz_real real[SIGNATURE_ITEMS];
    struct fuzz_array array[SPEC_MAX_ARRAYS];
    const struct expr *grid[3], *block[3], *cluster[3], *shared; /* NULL: 1; cluster: none */
    struct fuzz_lists lists;
    int64_t elements; /* of all arrays of a case, at most */
    /* Relations of `cuvet probe` that hold by the entry: names of checks, and of inputs that scale
     * each output. */
    unsigned relations, scaled;
    const char *relation[FUZZ_RELATIONS], *scale[FUZZ_RELATIONS];
    uint32_t without; /* distributions, a bit each, that no array has unless it names them */
};

#define FUZZ_TRITON "triton."

/* Names that an image's own metadata gives values, such as triton.num_warps; 0 where it has none.
 */
struct fuzz_known {
    const char *name;
    int64_t value;
};

/* STATUS_INVALID with "kernels.yaml:12:7: fuzz: ...". `bench->fuzz` is there. `known` ends with a
 * NULL name; NULL: no kernel has been seen. */
enum status fuzz_rule_make(const struct fuzz_rule **out, struct arena *arena,
                           const struct registry_bench *bench, const struct fuzz_known *known,
                           struct error *err);

/* Complains about each `fuzz` mapping of the registry that is wrong. */
enum status fuzz_rules_check(struct registry *registry, registry_complain_fn complain, void *user);

#endif
