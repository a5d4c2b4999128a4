/*
 * own_ptx.h - the PTX that a launched kernel's module image carries, and what it shows of the
 * kernel's parameters.
 */
#ifndef OWN_PTX_H
#define OWN_PTX_H

#include "judge/modules/images.h"
#include "pipeline/pipeline.h"

/* The PTX text of a launch's module, allocated, `bytes` long and terminated; NULL: it has none,
 * its image is not known, or no memory. */
char *own_ptx(struct images *images, const struct image_query *query, size_t *bytes);

/* From now on the types behind pointers of registered kernels are read from their PTX, where their
 * names spell no types: Triton's. Before the first launch. */
void own_ptx_types(struct pipeline *pipeline);

#endif
