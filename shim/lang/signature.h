/*
 * signature.h - a kernel's parameter list in the registry's language.
 *
 *     const bf16 x[rows:x_stride][cols], const bf16 w[cols], bf16 y[rows][cols],
 *     f32 rstd?[rows], i64 x_stride, i32 cols, f32 eps, struct 24 { u32 n @0, f32 *p[n] @8 } s,
 *     const bf16 table[@ids][cols], const i32 ids[tokens], inout f32 log[*],
 *     const f16 b[&batch][k][n], struct 16 { i32 dims @0, i32 n1 @4 if dims > 1 }, _, ...
 *
 * signature_parse handles words, types and layout; the dims stay texts, because their names may
 * come from elsewhere (plan.h compiles them). Immutable, the arena's: any thread.
 */
#ifndef LANG_SIGNATURE_H
#define LANG_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "lang/dtype.h"
#include "value/kernel_spec.h"
#include "value/launch.h"

/* What the names of the kernel before this one begin with. */
#define SIGNATURE_AFTER "after."

enum {
    SIGNATURE_PARAMS = LAYOUT_MAX,
    SIGNATURE_ITEMS = 64,
    SIGNATURE_DIMS = 6,
    SIGNATURE_ABOVE = 14, /* most that the number behind "if n >" may be */
};

/* A named group of the entry's pattern and what it caught: a type, a number, or any text. */
struct capture {
    const char *name;
    const char *text; /* NULL while no kernel has been seen: types and values are then open */
};
struct captures {
    unsigned count;
    struct capture capture[16];
};

enum signature_dim_kind {
    DIM_SIZE,   /* [n] */
    DIM_REST,   /* [*], a first dim: as many as the allocation that holds the array still has */
    DIM_ROWS,   /* [@ids], a first dim: the rows that the elements of `ids` name */
    DIM_PAGES,  /* [@ids / n], a first dim, ... */
    DIM_PLACE,  /* ... and [@ids % n]: place ids % n of row ids / n */
    DIM_LISTED, /* [&n], a first dim: the parameter lists n addresses in device memory, each of an
                   array of the other dims */
};

struct signature_dim {
    enum signature_dim_kind kind;
    const char *extent, *stride; /* expressions; extent NULL: DIM_REST, DIM_ROWS; stride NULL: dense
                                  */
    const char *from;            /* expression: items before the first; NULL: none */
    bool stride_bytes;           /* else in elements, vectors counted whole */
};

/* One array or scalar: a parameter of its own, or a field of a struct. */
struct signature_item {
    const char *name; /* of a field of a named struct: "s.n" */
    bool array;
    bool nullable;
    enum role role;   /* arrays */
    struct type type; /* dtype NONE: an open capture */
    const char *rows; /* the array whose elements name the rows that are touched; NULL: all are */
    unsigned ndim;
    struct signature_dim dim[SIGNATURE_DIMS];
    unsigned param;        /* index of the parameter */
    uint32_t offset;       /* inside the parameter */
    const char *index;     /* of a field: expression, how many lie before it; NULL: none */
    uint32_t index_stride; /* bytes from one to the next */
    unsigned number;       /* arrays: index among the arrays */
    unsigned guard;        /* 0: always present; else 1 and the index of an earlier integer ... */
    uint32_t above;        /* ... and present where that is above this; where absent, it is 0 */
    bool earlier;          /* a parameter of the kernel before this one: signature.earlier */
};

enum signature_kind { PARAM_VALUE, PARAM_STRUCT, PARAM_SKIPPED };

struct signature_param {
    enum signature_kind kind;
    uint32_t size;    /* 0: any (skipped, open capture); of a struct the smallest ... */
    uint32_t most;    /* ... and the largest; else as `size` */
    uint32_t align;   /* 0: any */
    const char *name; /* for messages; NULL where there is none */
};

struct signature {
    unsigned params, items, arrays;
    bool open_end; /* "...": further parameters are accepted */
    struct signature_param *param;
    struct signature_item *item;
    const struct signature *earlier; /* the parameter list of the kernel before it, or NULL */
};

/* STATUS_INVALID with "signature: at 'bf61': unknown type; did you mean 'bf16'?". */
enum status signature_parse(const struct signature **out, struct arena *arena, const char *text,
                            const struct captures *captures, struct error *err);

/* Holds the signature against a real parameter list: count, sizes, and offsets by C's rules.
 * STATUS_INVALID with a sentence that shows both lists. */
enum status signature_fits(const struct signature *signature, const struct param_layout *layout,
                           struct error *err);

/* `own` with the items of `earlier`, called "after.NAME". The arena's. */
enum status signature_join(const struct signature **out, struct arena *arena,
                           const struct signature *own, const struct signature *earlier,
                           struct error *err);

/* Whether the parameter lists addresses in device memory, which lead to the array. */
static inline bool signature_listed(const struct signature_item *item)
{
    return item->ndim > 0 && item->dim[0].kind == DIM_LISTED;
}

/* Whether a scalar is present, by the parameters packed at the layout's offsets. */
bool signature_present(const struct signature *signature, const struct signature_item *item,
                       const struct param_layout *layout, const uint8_t *packed, size_t bytes);

/* The item of that name, or the only field "s.NAME" of a named struct, or NULL. */
const struct signature_item *signature_find(const struct signature *signature, const char *name);

#endif
