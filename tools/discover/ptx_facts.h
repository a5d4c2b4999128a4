/*
 * ptx_facts.h - facts about a kernel's parameters from its PTX, where the recorded image has it:
 * PTX itself, a fatbin with PTX, or a cubin with its own PTX (Triton, nvcc -lineinfo).
 *
 * An address belongs to the parameter that it is computed from, along moves and additions; an
 * element's type is the one of the instruction that uses it. No branch is followed, and memory and
 * calls end the search.
 */
#ifndef TOOLS_DISCOVER_PTX_FACTS_H
#define TOOLS_DISCOVER_PTX_FACTS_H

#include "tools/discover/record.h"
#include "refs/abi/ref_abi.h"

struct ptx_param {
    enum dtype dtype;         /* of the elements behind it, or of the scalar; or NONE */
    bool reads, writes, adds; /* memory behind it */
};

/* Whether there is PTX of the kernel; `params` how many parameters it has. */
bool ptx_facts_read(const struct seen_kernel *kernel, struct ptx_param out[LAYOUT_MAX],
                    unsigned *params);

#endif
