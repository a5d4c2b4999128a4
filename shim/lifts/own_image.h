/*
 * own_image.h - the module image of a kernel that is about to be launched.
 */
#ifndef OWN_IMAGE_H
#define OWN_IMAGE_H

#include "pipeline/pipeline.h"

/* From now on functions of one name are distinguished by their images, where a contract needs it.
 * Before the first launch. */
void own_image_distinguish(struct pipeline *pipeline);

#endif
