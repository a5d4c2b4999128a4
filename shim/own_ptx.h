/*
 * own_ptx.h - the PTX that a launched kernel's module image carries, and what it shows of the
 * kernel's parameters.
 */
#ifndef OWN_PTX_H
#define OWN_PTX_H

#include "judge/images.h"
#include "pipeline.h"

/* The PTX text of the launch's module, allocated, `bytes` long and terminated; NULL: it has none,
 * its image is not known, or no memory. Queries the driver. */
char *own_ptx(struct images *images, const struct launch *launch, const char *symbol,
              size_t *bytes);

/* Which load of a fatbin the launch's kernel is of, by images_fatbin(); 0: of none. Such a kernel
 * has no own_ptx(). Queries the driver. */
uint64_t own_fatbin(struct images *images, const struct launch *launch, const char *symbol);

/* From now on the types behind pointers of registered kernels are read from their PTX, where their
 * names spell no types: Triton's. Before the first launch. */
void own_ptx_types(struct pipeline *pipeline);

#endif
