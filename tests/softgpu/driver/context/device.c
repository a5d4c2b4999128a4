/* device.c - the devices and their attributes. */
#include "driver/context/device.h"

#include <stdio.h>
#include <string.h>
#include "driver/base/settings.h"
#include "impls.h"

enum { MAX_DEVICES = 8, PCI_BUS_ID_BYTES = 13 };

struct device {
    CUdevice ordinal;
};

static struct device devices[MAX_DEVICES] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};

unsigned device_count(void)
{
    return settings()->devices;
}

struct device *device_at(CUdevice ordinal)
{
    return ordinal >= 0 && (unsigned)ordinal < device_count() ? &devices[ordinal] : NULL;
}

CUdevice device_ordinal(const struct device *device)
{
    return device->ordinal;
}

/* The most shared memory that one block may have, by compute capability. */
static int shared_of(int arch)
{
    switch (arch) {
    case 75:
        return 65536;
    case 80:
    case 87:
        return 166912;
    case 86:
    case 89:
    case 120:
    case 121:
        return 101376;
    default:
        return 232448;
    }
}

int device_attribute(const struct device *self, CUdevice_attribute attribute, bool *known)
{
    int arch = (int)settings()->arch, device = self->ordinal;
    *known = attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX;
    switch ((int)attribute) {
#define ATTRIBUTE(name, value)                                                                     \
    case CU_DEVICE_ATTRIBUTE_##name:                                                               \
        return value;
#include "driver/context/attributes.inc"
#undef ATTRIBUTE
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
        return arch >= 90;
    default:
        return 0;
    }
}

CUresult impl_cuDeviceGet(const struct call *call, cuDeviceGet_params *p)
{
    (void)call;
    if (!p->device)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device_at(p->ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *p->device = p->ordinal;
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetCount(const struct call *call, cuDeviceGetCount_params *p)
{
    (void)call;
    if (!p->count)
        return CUDA_ERROR_INVALID_VALUE;
    *p->count = (int)device_count();
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetName(const struct call *call, cuDeviceGetName_params *p)
{
    (void)call;
    if (!p->name || p->len <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device_at(p->dev))
        return CUDA_ERROR_INVALID_DEVICE;
    snprintf(p->name, (size_t)p->len, "softgpu sm_%u", settings()->arch);
    return CUDA_SUCCESS;
}

static CUresult get_uuid(CUuuid *uuid, CUdevice device)
{
    static const char base[15] = "softgpu device ";
    if (!uuid)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device_at(device))
        return CUDA_ERROR_INVALID_DEVICE;
    memcpy(uuid->bytes, base, sizeof(base));
    uuid->bytes[sizeof(base)] = (char)('0' + device);
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetUuid(const struct call *call, cuDeviceGetUuid_params *p)
{
    (void)call;
    return get_uuid(p->uuid, p->dev);
}

CUresult impl_cuDeviceGetUuid_v2(const struct call *call, cuDeviceGetUuid_v2_params *p)
{
    (void)call;
    return get_uuid(p->uuid, p->dev);
}

CUresult impl_cuDeviceTotalMem_v2(const struct call *call, cuDeviceTotalMem_v2_params *p)
{
    (void)call;
    if (!p->bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device_at(p->dev))
        return CUDA_ERROR_INVALID_DEVICE;
    *p->bytes = settings()->memory;
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetAttribute(const struct call *call, cuDeviceGetAttribute_params *p)
{
    struct device *device = device_at(p->dev);
    bool known;
    (void)call;
    if (!p->pi)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    int value = device_attribute(device, p->attrib, &known);
    if (!known)
        return CUDA_ERROR_INVALID_VALUE;
    *p->pi = value;
    return CUDA_SUCCESS;
}

static int get(const struct device *device, CUdevice_attribute attribute)
{
    bool known;
    return device_attribute(device, attribute, &known);
}

CUresult impl_cuDeviceGetProperties(const struct call *call, cuDeviceGetProperties_params *p)
{
    struct device *device = device_at(p->dev);
    (void)call;
    if (!p->prop)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    *p->prop = (CUdevprop){
        .maxThreadsPerBlock = get(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .sharedMemPerBlock = get(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .totalConstantMemory = get(device, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
        .SIMDWidth = get(device, CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        .memPitch = get(device, CU_DEVICE_ATTRIBUTE_MAX_PITCH),
        .regsPerBlock = get(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        .clockRate = get(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        .textureAlign = get(device, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
    };
    for (int i = 0; i < 3; i++) {
        p->prop->maxThreadsDim[i] = get(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + (unsigned)i);
        p->prop->maxGridSize[i] = get(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + (unsigned)i);
    }
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceComputeCapability(const struct call *call,
                                        cuDeviceComputeCapability_params *p)
{
    (void)call;
    if (!p->major || !p->minor)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device_at(p->dev))
        return CUDA_ERROR_INVALID_DEVICE;
    *p->major = (int)settings()->arch / 10;
    *p->minor = (int)settings()->arch % 10;
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetPCIBusId(const struct call *call, cuDeviceGetPCIBusId_params *p)
{
    struct device *device = device_at(p->dev);
    (void)call;
    if (!p->pciBusId || p->len < PCI_BUS_ID_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    snprintf(p->pciBusId, (size_t)p->len, "%04x:%02x:%02x.0",
             (unsigned)get(device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
             (unsigned)get(device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
             (unsigned)get(device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetByPCIBusId(const struct call *call, cuDeviceGetByPCIBusId_params *p)
{
    unsigned domain = 0, bus = 0, slot = 0;
    (void)call;
    if (!p->dev || !p->pciBusId)
        return CUDA_ERROR_INVALID_VALUE;
    if (sscanf(p->pciBusId, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        domain = 0;
        if (sscanf(p->pciBusId, "%x:%x", &bus, &slot) != 2)
            return CUDA_ERROR_INVALID_VALUE;
    }
    for (CUdevice i = 0; i < (CUdevice)device_count(); i++)
        if (!domain && !slot && bus == (unsigned)get(&devices[i], CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)) {
            *p->dev = i;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult impl_cuDeviceGetExecAffinitySupport(const struct call *call,
                                             cuDeviceGetExecAffinitySupport_params *p)
{
    (void)call;
    if (!p->pi)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device_at(p->dev))
        return CUDA_ERROR_INVALID_DEVICE;
    *p->pi = 0;
    return CUDA_SUCCESS;
}
