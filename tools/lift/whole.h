/*
 * whole.h - all of a bundle's launch on a device, in a worker process. The kernel's PTX is
 * rewritten to carry fp64 shadows (shim/lift), and what the kernel itself writes there is held
 * against them.
 */
#ifndef TOOLS_LIFT_WHOLE_H
#define TOOLS_LIFT_WHOLE_H

#include "refs/abi/ref_abi.h"
#include "tools/replay/scene.h"

struct stage;

/* An element that is outside its bound. */
struct whole_place {
    uint64_t address;                 /* in the program's memory */
    const struct bundle_array *array; /* NULL: in none of the bundle's */
    int64_t index;                    /* from the array's address, in elements */
    double got, y, bound;
};

enum { WHOLE_WORST, WHOLE_FIRST, WHOLE_PLACES };

struct lift_whole {
    char device[128];
    char why[720]; /* why there is no verdict; "" where there is one */
    struct ref_verdict verdict;
    struct whole_place place[WHOLE_PLACES];
    int places;
    double own_ms, ms; /* of the kernel, and of the rewritten one */
};

/* `unit`: roundoff of the declared accumulator. STATUS_OK, too, where the PTX cannot be rewritten
 * or a launch did not run to its end. */
enum status lift_whole(struct scene *scene, const struct stage *stage,
                       const struct worker_settings *worker, double unit, struct lift_whole *out,
                       struct error *err);

#endif
