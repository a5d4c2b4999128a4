/* newer_values.h - values of the driver's interface that the headers of older toolkits do not name.
 */
#ifndef SOFTGPU_NEWER_VALUES_H
#define SOFTGPU_NEWER_VALUES_H

#include <cuda.h>

/* Where a header of 12.5 or later names one, it is the same. */
#if CUDA_VERSION < 13000
#define CU_LIMIT_SHMEM_SIZE                                  7
#define CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION      11
#define CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT 14
#define CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING   16
#define CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE        21
#define CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE                 0
#define CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE                  1
#define CU_GRAPH_COND_TYPE_SWITCH                            2
/* Of the CUgraphNodeParams of a child graph: a program of these toolkits cannot request a move. */
#define CHILD_OWNERSHIP(params) CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE
#else
#define CHILD_OWNERSHIP(params) (params)->graph.ownership
#endif

#endif
