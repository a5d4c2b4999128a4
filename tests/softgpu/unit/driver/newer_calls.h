/*
 * newer_calls.h - the calls that the tests make, by the names of CUDA 13.0, where the toolkit is an
 * older one. The functions behind them are the same but for cuCtxCreate, which has no parameters
 * for a context there.
 */
#ifndef SOFTGPU_NEWER_CALLS_H
#define SOFTGPU_NEWER_CALLS_H

#include <cuda.h>
#include <cupti_callbacks.h>

#if CUDA_VERSION < 13000
#undef cuCtxCreate
#undef cuGraphAddNode
#undef cuGraphGetEdges
#undef cuGraphNodeGetDependencies
#undef cuGraphNodeGetDependentNodes
#undef cuGraphAddDependencies
#undef cuGraphRemoveDependencies
#undef cuStreamGetCaptureInfo
#undef cuStreamUpdateCaptureDependencies
#define cuCtxCreate(context, parameters, flags, device) cuCtxCreate_v2(context, flags, device)
#define cuGraphAddNode                                  cuGraphAddNode_v2
#define cuGraphGetEdges                                 cuGraphGetEdges_v2
#define cuGraphNodeGetDependencies                      cuGraphNodeGetDependencies_v2
#define cuGraphNodeGetDependentNodes                    cuGraphNodeGetDependentNodes_v2
#define cuGraphAddDependencies                          cuGraphAddDependencies_v2
#define cuGraphRemoveDependencies                       cuGraphRemoveDependencies_v2
#define cuStreamGetCaptureInfo                          cuStreamGetCaptureInfo_v3
#define cuStreamUpdateCaptureDependencies               cuStreamUpdateCaptureDependencies_v2
#define CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED          22
#define CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS       23
#endif

#endif
