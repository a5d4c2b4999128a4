/*
 * lift_params.h - the parameters of a launch as its lifted kernel has them: in place of a tensor
 * map what it describes, a struct lift_map.
 */
#ifndef LIFTED_LIFT_PARAMS_H
#define LIFTED_LIFT_PARAMS_H

#include "base/error.h"
#include "lift/lift.h"
#include "lift/lift_abi.h"
#include "value/launch.h"
#include "value/skip.h"

struct lift_params {
    void *param[LAYOUT_MAX + 1]; /* with room for one behind the launch's */
    struct lift_map map[REF_MAX_TENSORS];
};

/* SKIP_NONE, or SKIP_SHAPE: a map is not known, or fits no array of the kernel; SKIP_LAYOUT: the
 * launch does not carry all parameters. They are the launch's own memory, but for the maps. Any
 * thread. */
enum skip lift_params_make(struct lift_params *out, const struct lift *lift,
                           const struct launch *launch, const struct param_layout *layout,
                           struct error *why);

/* The packed parameters of a launch as a bundle has them, each map that is known as a struct
 * bundled_map. `out` has room for all of them. */
void lift_params_bundle(uint8_t *out, const struct lift *lift, const uint8_t *packed, size_t bytes,
                        const struct param_layout *layout);

#endif
