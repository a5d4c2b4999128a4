/* lift_device.h - what `cuvet lift --device` prints of the whole launch; of NULL nothing. */
#ifndef TOOLS_LIFT_DEVICE_H
#define TOOLS_LIFT_DEVICE_H

#include "text/json_out.h"
#include "tools/lift/whole.h"

void device_print(const struct lift_whole *whole);
void device_put_json(struct json_out *json, const struct lift_whole *whole);

#endif
