/*
 * kernel_spec.h - one kernel by its registry entry: the immutable product of registry.c, read on
 * the path of a launch. Owned by the registry; lives until the process ends.
 */
#ifndef VALUE_KERNEL_SPEC_H
#define VALUE_KERNEL_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include "refs/abi/ref_abi.h"
#include "value/contract.h"
#include "value/launch.h"

enum { SPEC_MAX_ARRAYS = 24, SPEC_NAME = 64, SHAPE_PARAMS = 32 };

/* The role of an array: as declared in the registry, whatever the C++ type is. */
enum role {
    ROLE_READ,  /* const T name[..]  */
    ROLE_WRITE, /* T name[..]        */
    ROLE_INOUT, /* inout T name[..]  */
    ROLE_ACC,   /* acc T name[..]: the kernel adds to it */
    ROLE_WS,    /* ws T name[..]: scratch, never read or compared */
};

/* Whether the kernel writes arrays of this role for others to read. */
static inline bool role_writes(enum role role)
{
    return role == ROLE_WRITE || role == ROLE_INOUT || role == ROLE_ACC;
}

/* Whether it reads what they held before the launch. */
static inline bool role_reads(enum role role)
{
    return role == ROLE_READ || role == ROLE_INOUT || role == ROLE_ACC;
}

struct signature;    /* signature.h */
struct spec_types;   /* registry.c */
struct binding_plan; /* binding.h */
struct ref_builtin;  /* refs/abi/ref_list.h */
struct lift;         /* lift/lift.h */

/* A number format of a rounding point: relative error, and absolute error near zero. */
struct rounding {
    double roundoff, least;
};

/* Sums that truncate at every step: they lose up to `roundoff` of S for each of their first `terms`
 * terms (0: of all), see TENSOR_ROUNDOFF in tolerance.h. All zeros: none do. */
struct chain {
    double roundoff;
    int64_t terms;
};

/* A tolerance row: how outputs of one (op, dtype) are judged. */
struct tolerance {
    enum tolerance_rule rule;
    enum dtype accumulate; /* f64, f32, f16 or bf16 */
    double input_roundoff; /* of what inputs are rounded to before they are multiplied; 0: none */
    enum ref_functions functions; /* how exp, tanh and their like are computed */
    struct chain chain;    /* `accumulate` is f32, but tensor cores add f8 products in chains */
    struct rounding inner; /* of the weights of a MIX (refs/README.md); zeros: none */
    uint32_t lanes;        /* that share a row's sum; 0: not declared */
    double lambda;         /* of the sum bound; 8 unless the row sets it */
    double false_alarm; /* share of correct launches that may be called, instead of lambda; or 0 */
    double rtol, atol;  /* RULE_CLOSE */
    double transform;   /* see judge/transform.h; 0: not declared */
    bool transform_alone; /* the row declares nothing else: another row holds for the rest */
    enum masked_rows masked_rows;
    unsigned needs; /* of enum ref_use: what the reference must have for these to mean anything */
    int points;     /* declared rounding points, by name */
    struct tolerance_point {
        const char *name;
        uint8_t code; /* as ref_call.point; POINT_OF_OUTPUT in place of the dtype: the output's */
    } point[REF_MAX_POINTS];
};

enum { POINT_OF_OUTPUT = DTYPE_COUNT };

enum { OUTLIER_SPEC_INPUTS = 4, OUTLIER_SPEC_CENTROID = 2 };

/* What the outlier gate probes in launches of a kernel, and how. */
struct outlier_spec {
    int detector; /* enum outlier_detector, or -1: CUVET_OUTLIER's */
    unsigned inputs;
    const char *input[OUTLIER_SPEC_INPUTS]; /* bound_array.name, the same pointer */
    double false_alarm;                     /* fingerprint: share of ordinary launches called */
    double percentile, alpha, threshold;    /* centroid */
    int64_t max_distances;                  /* centroid: that the quantile is of */
};

/* The name of a reference that is the kernel's own PTX, in reports. */
#define LIFTED_REFERENCE "precision (own PTX)"

/*
 * One registry entry applied to one real kernel (a mangled name with one parameter layout): types
 * and captures are resolved, the signature has been held against the layout, formals are bound.
 */
struct kernel_spec {
    const char *symbol;    /* mangled name, owned */
    const char *label;     /* how reports call it: the demangled name, shortened */
    const char *where;     /* "kernels.yaml:12", the entry */
    const char *relations; /* between results, of its `fuzz` mapping: "permute, scale x"; or NULL */
    const struct ref_builtin *reference;
    const struct signature *signature;
    const struct binding_plan *plan;
    double sample;    /* probability, or -1: the global one */
    int64_t first;    /* first launches of a signature, or -1: the global one */
    double budget;    /* share of time for this kernel alone, 0: no limit; or -1: the common one */
    int64_t subset;   /* as CUVET_SUBSET, 0: off; or -1: the global one */
    double freivalds; /* as CUVET_FREIVALDS, or -1: the global one */
    struct outlier_spec outlier;
    const struct lift *lift; /* the kernel's own PTX is its reference; or NULL */
    int64_t guess; /* ns that a check is estimated to last before one has ended. Checks of such a
                      kernel are dear: they may last a thousand times as long as its launches, and
                      wait for the budget, the first ones too. 0: of other kernels */
    struct spec_types *types;        /* that each launch decides, registry_typed(); or NULL */
    int after;                       /* number of its entry among those with `after`, or -1 */
    const struct contract *contract; /* contract.h; NULL: none */
    bool shipped;                    /* the entry is of a table that cuvet brings */
    bool deterministic;              /* the same input must give the same bytes */
    bool needs_before;               /* inout or acc: a snapshot before the launch is always due */
    uint32_t number;                 /* dense index among all kernel_specs, from 0 */
    unsigned shape_params;           /* at most SHAPE_PARAMS; entries in shape_param */
    struct shape_param {             /* integer parameters that decide shapes: the novelty gate
                                        hashes exactly these, and every array pointer's class */
        uint16_t index;              /* of the parameter */
        uint16_t size;               /* bytes: 1, 2, 4, 8 */
        uint32_t start;              /* of the parameter in the packed buffer */
        uint32_t offset;             /* inside the parameter (struct fields) */
        bool pointer;                /* hash its alignment mod 16, null, and aliasing instead */
        uint8_t guard;               /* 0: always hashed; else 1 and the index of another, of 4
                                        bytes: hashed where that is above `above` */
        uint8_t above;
    } shape_param[SHAPE_PARAMS]; /* last: those that it counts alone are allocated */
};

#endif
