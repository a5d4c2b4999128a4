/*
 * graph_conditional.h - conditional nodes: handles with a value that kernels set, and body graphs
 * of which that value picks. Private to graph*.c.
 */
#ifndef SOFTGPU_GRAPH_CONDITIONAL_H
#define SOFTGPU_GRAPH_CONDITIONAL_H

#include <cuda.h>
#include <stdbool.h>
#include "driver/graph/graph_data.h"

/* What a handle stands for; it lives as long as the process. */
struct condition;

struct conditional {
    CUgraphConditionalNodeType type;
    struct condition *condition;
    unsigned count;
    struct graph **body;
    CUgraph *handle; /* of each body: what the program gets */
};

/* Of a new node of `graph`, with empty bodies; the lock is held. NULL: the parameters are wrong. */
struct conditional *conditional_new(struct section *section,
                                    const CUDA_CONDITIONAL_NODE_PARAMS *params);
struct conditional *conditional_copy(struct section *section, const struct conditional *from);
void conditional_free(struct section *section, struct conditional *conditional);

/* Before a launch: the handle's default value, where it has one. */
void condition_reset(struct condition *condition);
unsigned condition_value(const struct condition *condition);

#endif
