/*
 * plan.h - an entry of the registry compiled for one kernel: what binding_make runs.
 *
 * Everything that can be known before a launch is settled here: types, parameter places, slots of
 * names, the order of lets, which argument stands behind which formal, how outputs are judged.
 * The product is immutable and the arena's.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "system/yaml_doc.h"
#include "device/snapshot_abi.h"
#include "refs/abi/ref_list.h"
#include "value/bound.h"
#include "lang/expr.h"
#include "lang/formals.h"
#include "lang/signature.h"
#include "plan/tolerance.h"

enum {
    SLOT_GRID = 0,  /* x, y, z */
    SLOT_BLOCK = 3, /* x, y, z */
    SLOT_FREE = 6,
    PLAN_SLOTS = 64,
    PLAN_LETS = 34,
    PLAN_PICKS = BINDING_PICKS,      /* among the lets */
    PLAN_TOUCHED = SNAPSHOT_TOUCHES, /* arrays with touched rows, and listed ones */
    PLAN_LISTED = 6,
    PLAN_VALUES = SNAPSHOT_VALUES,
    PLAN_NUMBERS = BINDING_NUMBERS,
};

/* Where a scalar's bytes are in a launch. */
struct plan_load {
    const struct signature_item *item;
    uint32_t start; /* of the parameter in the packed buffer */
    int slot;       /* integers for expressions; -1 for reals */
    int guard;      /* index of the load before it that decides whether it is 0; -1: none */
};

/* A name whose value is worked out: that of `expr`; or, for a pick, a number drawn from 0 to below
 * that; or the field of the parameters that lies at that index. */
struct plan_let {
    const struct expr *expr;
    const char *name;
    int slot;
    bool pick;
    const struct signature_item *item; /* a field; else NULL */
    uint32_t start;                    /* of its parameter in the packed buffer */
};

struct plan_dim {
    const struct expr *extent, *stride; /* extent NULL: set elsewhere; stride NULL: dense */
    const struct expr *from;            /* items before the first; NULL: none */
    bool stride_bytes;
};

struct plan_array {
    const struct signature_item *item;
    const struct expr *when;  /* or NULL */
    const struct expr *index; /* of the pointer among those at item->offset; or NULL */
    struct plan_dim dim[SIGNATURE_DIMS];
    uint32_t start;
    int rows; /* index of the array whose elements name the rows that are touched; -1: all are */
    const char *list; /* what the list of its addresses is called; NULL: it has none */
    bool bound;       /* a formal reads or writes it */
    bool read_from;   /* plan->value has an element of it ... */
    bool read;        /* ... which is its only one */
};

/* An element that is read from memory where the launch ran: "lr[0]", "starts[batch]". */
struct plan_value {
    int array;                /* index into plan->array */
    const char *name;         /* as it is written, but for spaces */
    const struct expr *index; /* elements from the array's address on */
    int slot;                 /* integers for expressions; -1 for reals */
};

struct plan_tensor {
    int array;                  /* index into plan->array, or -1: unbound */
    struct tolerance tolerance; /* outputs */
};

/* What a real expression reads and no integer expression can: a real parameter, or an element of
 * memory. Its slot is PLAN_SLOTS and its index. */
struct plan_number {
    const struct signature_item *item; /* NULL: the element */
    uint32_t start;                    /* as in plan_real */
    const struct expr *index;
    int element;
};

/* The value of a real formal: a parameter, an element of memory, a real expression, or a
 * constant. */
struct plan_real {
    const struct signature_item *item;
    uint32_t start;
    const struct expr *index; /* of the parameter, or NULL */
    int element;              /* index into plan->value, or -1 */
    const struct expr *expr;
    unsigned reads; /* a bit for each of plan->value that it waits for */
    double value;   /* and what it is where one of them is absent */
    bool optional;  /* it may be */
};

/* The value of a named dim or an int formal that does not come from a tensor's shape. */
struct plan_size {
    int size;                /* index into ref_call.size */
    const struct expr *expr; /* NULL: `value` */
    int64_t value;
    const char *source; /* for messages */
    unsigned reads;     /* as in plan_real */
    bool is_dim;        /* of tensors, else an int formal */
    bool optional;
};

enum { PLAN_CACHES = 2 };

/* Whether sequences may have pages in common: none; those that begin them; any. */
enum plan_sharing { SHARED_NO, SHARED_PREFIX, SHARED_YES };

/* Whether the pages of sequences that ended may be read before they are appended to: unknown; not
 * at all; where they are full, and at the same place of a sequence. */
enum plan_owned { OWNED_NO, OWNED_YES, OWNED_CACHED };

enum { PLAN_FLOWS = 8, PLAN_STAGES = 4 };

/* An array of a chain of kernels: the stages at which the launch finds it, and leaves it. */
struct plan_flow {
    int array; /* index into plan->array */
    unsigned stages;
    const char *stage[PLAN_STAGES];
    bool same;      /* it holds what the launch that left the stage has written */
    const char *to; /* NULL: the stage stays */
};

/* What has to hold between launches: the keys `state`, `position` and `flow`. Arrays are indices
 * into plan->array, or -1; expressions may be NULL. */
struct plan_state {
    unsigned caches; /* 0: a position alone */
    int cache[PLAN_CACHES];
    int append;                       /* rows that the launch writes */
    int table, lengths;               /* pages of each sequence, and how far it reads */
    int indptr, last;                 /* of a table in CSR; places read of each last page */
    const struct expr *length, *page; /* instead of `lengths`; places in a page */
    const struct expr *rows, *null;   /* of the cache; the page that no kernel reads */
    enum plan_sharing shared;
    enum plan_owned owned;
    bool fresh;   /* what was appended right before is read */
    bool blank;   /* a place that was never written holds zeros */
    bool advance; /* two launches in a row do not write the same place */
    int positions;
    const struct expr *position; /* instead of `positions`: one number, and ... */
    bool direct;                 /* ... no memory is read for it */
    const char *position_name;   /* NULL: none */
    const struct expr *step;     /* from one launch to the next */
    const char *named;           /* positions that a reader is held against; NULL: none */
    uint64_t token;              /* of that name; 0: none */
    bool names;                  /* the launch has these positions, else it is the reader */
    unsigned flows;
    struct plan_flow flow[PLAN_FLOWS];
};

struct binding_plan {
    const struct signature *signature;
    const struct formals *formals; /* NULL: the entry has no reference */
    int64_t constant[PLAN_SLOTS];  /* captures; 0 elsewhere */
    unsigned loads, lets, picks, arrays, sizes, values;
    struct plan_load load[PLAN_SLOTS];
    struct plan_let let[PLAN_LETS]; /* in an order in which each finds what it needs */
    const struct expr *guard;       /* 0: the launch is not checked; or NULL */
    unsigned guard_lets;            /* of the lets, those that the guard needs */
    struct plan_array *array;       /* arrays of the signature, in its order */
    struct plan_value value[PLAN_VALUES];
    struct plan_tensor tensor[REF_MAX_TENSORS];
    struct plan_number number[PLAN_NUMBERS];
    unsigned numbers;
    struct plan_real real[REF_MAX_SCALARS];
    struct plan_size size[REF_MAX_SIZES];
    struct tolerance tolerance;    /* of the first output: what holds for the whole call */
    uint8_t point[REF_MAX_POINTS]; /* ref_call.point, by that tolerance */
    int after_slot[SLOT_FREE]; /* 1 + slot of grid and block of the earlier launch; 0: not needed */
    const struct plan_state *state; /* or NULL */
    bool needs_before;
    unsigned touched; /* arrays of which only some rows are touched */
    unsigned listed;  /* arrays that addresses in device memory lead to */
};

/* The plan's part of an entry. Nodes are those of the file, for positions in messages; NULL: not
 * given. */
struct plan_source {
    const struct yaml_node *signature, *let, *after /* the earlier kernel's list */, *pick, *when,
        *bind, *reference, *state, *position, *flow;
    const struct ref_builtin *builtin;        /* NULL: signature only */
    const struct tolerance_table *tolerances; /* may be NULL */
    const struct tolerance *override;         /* the entry's own row, or NULL */
};

/*
 * Compiles the entry. `layout` NULL: a check of the entry alone, before any kernel is seen; then
 * captures may be without values, and only what cannot depend on them is judged.
 * STATUS_INVALID: the entry is wrong ("kernels.yaml:14:5: ..."). STATUS_UNSUPPORTED: the entry is
 * well formed, but its signature does not fit `layout`.
 */
enum status plan_make(const struct binding_plan **out, struct arena *arena,
                      const struct plan_source *source, const struct captures *captures,
                      const struct param_layout *layout, struct error *err);

#endif
