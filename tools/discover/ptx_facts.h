/*
 * ptx_facts.h - facts about a kernel's parameters from its PTX, where the recorded image has it:
 * PTX itself, a fatbin with PTX, or a cubin with its own PTX (Triton, nvcc -lineinfo).
 */
#ifndef TOOLS_DISCOVER_PTX_FACTS_H
#define TOOLS_DISCOVER_PTX_FACTS_H

#include "tools/discover/record.h"
#include "tools/facts/facts.h"

/* Whether there is PTX of the kernel; `params` how many parameters it has. */
bool ptx_facts_read(const struct seen_kernel *kernel, struct param_fact out[LAYOUT_MAX],
                    unsigned *params);

#endif
