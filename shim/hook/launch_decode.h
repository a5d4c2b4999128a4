/*
 * launch_decode.h - the parameters of a launch API, as CUPTI shows them, turned into a struct
 * launch. Pure: no driver call, no allocation.
 */
#ifndef HOOK_LAUNCH_DECODE_H
#define HOOK_LAUNCH_DECODE_H

#include <cupti.h>
#include <stdbool.h>
#include "value/launch.h"

/* How an API lays its parameters out; PTSZ: NULL means the per-thread default stream. */
enum launch_shape {
    SHAPE_PLAIN,
    SHAPE_PLAIN_PTSZ,
    SHAPE_CONFIG,
    SHAPE_CONFIG_PTSZ,
    SHAPE_COOPERATIVE,
    SHAPE_COOPERATIVE_PTSZ,
};

/* False when they make no launch (a null config or function, a grid or block that no device runs):
 * the driver refuses it before it reads the kernel's parameters, which are not read here either,
 * and *out holds the rest. *out borrows from `data` and lives as long as the callback. */
bool launch_decode(const CUpti_CallbackData *data, enum launch_shape shape, struct launch *out);

#endif
