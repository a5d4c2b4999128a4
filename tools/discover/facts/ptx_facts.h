/*
 * ptx_facts.h - facts about a kernel's parameters from its PTX, where the recorded image has it:
 * PTX itself, a fatbin with PTX, or a cubin with its own PTX (Triton, nvcc -lineinfo).
 */
#ifndef TOOLS_DISCOVER_PTX_FACTS_H
#define TOOLS_DISCOVER_PTX_FACTS_H

#include "tools/discover/facts/record.h"
#include "tools/facts/facts.h"

/* Whether there is PTX of the kernel; `params` how many parameters it has. */
bool ptx_facts_read(const struct seen_kernel *kernel, struct param_fact out[LAYOUT_MAX],
                    unsigned *params);

/* The same of places: whole parameters, and fields of structs (facts_read_places). */
bool ptx_facts_places(const struct seen_kernel *kernel, const struct facts_place *place,
                      unsigned places, struct param_fact *out, unsigned *params);

/* Fields of structs that the kernel loads; see facts_fields. */
unsigned ptx_facts_fields(const struct seen_kernel *kernel, struct facts_place *out, unsigned most);

#endif
