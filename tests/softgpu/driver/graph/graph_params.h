/*
 * graph_params.h - the parameters of graph nodes in one form, whatever call they came by. Private
 * to graph_*.c.
 */
#ifndef SOFTGPU_GRAPH_PARAMS_H
#define SOFTGPU_GRAPH_PARAMS_H

#include <cuda.h>
#include "driver/graph/graph_data.h"
#include "driver/stream/stream.h"

struct call;

/* The older forms of parameters as the general one. */
CUgraphNodeParams params_of_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *params);
CUgraphNodeParams params_of_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUgraphNodeParams params_of_memcpy(const CUDA_MEMCPY3D *params, CUcontext context);
CUgraphNodeParams params_of_memset(const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context);
CUgraphNodeParams params_of_host(const CUDA_HOST_NODE_PARAMS *params);
CUgraphNodeParams params_of_event(CUgraphNodeType type, CUevent event);
CUgraphNodeParams params_of_memop(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params);

/*
 * The work of a node with these parameters, in `*context`, which in comes as the one to use where
 * the parameters name none, and may be NULL. Empty and child graph nodes get a work whose type is
 * NULL. Without the graphs' lock. An allocation's address is written into `params`.
 */
CUresult params_make_work(CUgraphNodeParams *params, struct context **context, struct work *work);

/* What a node has; false where its type has no parameters. With the lock held. */
bool params_of_node(const struct node *node, CUgraphNodeParams *params);

/* Zero-filled where they must be. */
bool params_are_clean(const CUgraphNodeParams *params);

#endif
