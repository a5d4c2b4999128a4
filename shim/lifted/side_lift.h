/*
 * side_lift.h - lifted kernels (shim/lift) in one context: requested when a launch of theirs is to
 * be checked, compiled outside of the program (compile/ptx_compiler.h), loaded by the collector,
 * launched beside the program's stream.
 */
#ifndef LIFTED_SIDE_LIFT_H
#define LIFTED_SIDE_LIFT_H

#include <stdbool.h>
#include "base/error.h"
#include "context/check.h"
#include "context/side.h"
#include "value/skip.h"

enum { SIDE_LIFTS = 1024 /* kernels; further ones are not checked */ };

/* Makes the table. Collector, before the side is used; without memory nothing is lifted here. */
void side_lifts_open(struct side *side, struct ptx_compiler *compiler);

/* Whether a launch of the spec, a lifted one, can be checked in this context: SKIP_NONE, or
 * SKIP_NOT_COMPILED. The first one requests it: *wake, the collector is to be woken. No launch
 * waits. Any thread, no lock. */
enum skip side_lift_request(struct side *side, const struct kernel_spec *spec, bool *wake);

/* The extents that PTX shows may be too large: each array ends with its memory at the latest, and
 * what is behind an address where checks have found it to end. SKIP_SHAPE: two arrays that are
 * written begin at one address, or one that is written at places from memory, and one that is read,
 * share memory. */
enum skip side_lift_clip(const struct lift *lift, struct binding *binding,
                         const struct launch *launch, const struct param_layout *layout,
                         struct error *why);

/* Whether something is to be compiled or loaded. Any thread. */
bool side_lifts_due(const struct side *side);
/* Has requested kernels compiled, and loads those that are. Collector, context current; a failure
 * is reported once. */
void side_lifts_load(struct side *side);

/* What checks of the spec wait for and are launched with; NULL: it is not loaded. */
const struct side_reference *side_lift_reference(struct side *side, const struct kernel_spec *spec);

/* Launches the lifted kernel over the check's snapshot, whose tensors `call` has. The answer comes
 * as that of any reference. `extremes`: as in struct lift_call. Collector, context current. */
enum status side_lift_launch(struct side *side, struct lane *lane, const struct check *check,
                             const struct ref_call *call, bool extremes, struct error *err);

#endif
