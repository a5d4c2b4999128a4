/* bundled_map.h - a tensor map as a bundle has it among the launch's parameters, in the place of
 * the driver's 128 bytes: what interprets PTX reads it, what runs a launch again has the driver
 * make a map of it. Its layout is that of struct exec_tensor_map (tests/softgpu/exec/exec.h). */
#ifndef LIFT_BULK_BUNDLED_MAP_H
#define LIFT_BULK_BUNDLED_MAP_H

#include <stdint.h>
#include "lift/lift_abi.h"

#define BUNDLED_MAP 0x70616d726f736e65ull /* in `kind` */
struct bundled_map {
    uint64_t kind, address;
    uint64_t stride[LIFT_MAP_DIMS - 1], size[LIFT_MAP_DIMS];
    uint16_t box[LIFT_MAP_DIMS];
    uint8_t step[LIFT_MAP_DIMS];
    uint8_t last;
    uint8_t type, interleave, swizzle, fill; /* type: unsigned integers of an element's size */
};

#endif
