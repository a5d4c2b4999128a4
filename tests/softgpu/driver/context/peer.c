/* peer.c - devices that touch each other's memory. */
#include "driver/context/device.h"
#include "driver/memory/memory_space.h"
#include "impls.h"

CUresult impl_cuDeviceCanAccessPeer(const struct call *call, cuDeviceCanAccessPeer_params *p)
{
    (void)call;
    if (!p->canAccessPeer)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device_at(p->dev) || !device_at(p->peerDev))
        return CUDA_ERROR_INVALID_DEVICE;
    *p->canAccessPeer = p->dev != p->peerDev;
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetP2PAttribute(const struct call *call, cuDeviceGetP2PAttribute_params *p)
{
    (void)call;
    if (!p->value)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device_at(p->srcDevice) || !device_at(p->dstDevice) || p->srcDevice == p->dstDevice)
        return CUDA_ERROR_INVALID_DEVICE;
    switch ((int)p->attrib) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *p->value = 0;
        return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
        *p->value = 1;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult impl_cuCtxEnablePeerAccess(const struct call *call, cuCtxEnablePeerAccess_params *p)
{
    struct context *peer = context_from_handle(p->peerContext);
    if (p->Flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (!peer || peer == call->context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context_device(peer) == context_device(call->context))
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    return memory_add_peer(call->context, peer);
}

CUresult impl_cuCtxDisablePeerAccess(const struct call *call, cuCtxDisablePeerAccess_params *p)
{
    struct context *peer = context_from_handle(p->peerContext);
    if (!peer)
        return CUDA_ERROR_INVALID_CONTEXT;
    return memory_remove_peer(call->context, peer);
}
