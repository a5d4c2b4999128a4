#include "bind/extent.h"

#include <stdbool.h>
#include "driver/cuda_api.h"

/* Most mappings that one array may span: a VMM pool maps 2 or 20 MiB pieces. */
enum { MAX_MAPPINGS = 4096, FEW_MAPPINGS = 32 /* of a range that is checked at each launch */ };

struct region {
    CUdeviceptr start;
    size_t size;
    unsigned type; /* CUmemorytype, 0: unknown to the driver */
    int device;
    CUcontext context; /* NULL for memory of the virtual memory API and of pools */
};

static enum status query_region(CUdeviceptr address, struct region *region, struct error *err)
{
    CUpointer_attribute wanted[] = {
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_CONTEXT};
    void *into[] = {&region->start, &region->size, &region->type, &region->device,
                    &region->context};
    /* Unlike cuPointerGetAttribute it returns zeros, not an error, for unknown addresses. */
    return cuda_check(err, cuda.cuPointerGetAttributes(5, wanted, into, address),
                      "cuPointerGetAttributes");
}

/* The mapping that holds the address. */
static bool find_mapping(CUdeviceptr address, CUdeviceptr *base, CUdeviceptr *end)
{
    size_t size = 0;
    *base = 0;
    bool mapped =
        !cuda.cuPointerGetAttribute(base, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, address) &&
        !cuda.cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, address) && size;
    *end = *base + size;
    return mapped && *end > address;
}

/* A reserved address range may be mapped in part only: each mapping is queried in turn, until
 * `end`, memory that is not mapped, or `most` of them. Returns the end of the last. */
static CUdeviceptr walk_mappings(CUdeviceptr address, CUdeviceptr end, int most, bool *mapped)
{
    CUdeviceptr at = address, base, next;
    *mapped = true;
    for (int i = 0; i < most && at < end; i++) {
        *mapped = find_mapping(at, &base, &next);
        if (!*mapped)
            return at;
        at = next;
    }
    return at < end ? at : end;
}

static enum status check_mapped(CUdeviceptr address, uint64_t bytes, struct error *err)
{
    bool mapped;
    CUdeviceptr at = walk_mappings(address, address + bytes, MAX_MAPPINGS, &mapped);
    if (!mapped)
        return error_set(err, STATUS_INVALID, "address 0x%llx is not mapped",
                         (unsigned long long)at);
    return at >= address + bytes
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "it spans more than %d mappings", MAX_MAPPINGS);
}

static enum status find_region(CUdeviceptr address, struct region *region, struct error *err)
{
    *region = (struct region){0};
    enum status status = query_region(address, region, err);
    if (!status && (!region->type || !region->size))
        status = error_set(err, STATUS_INVALID, "0x%llx is no memory of the driver's",
                           (unsigned long long)address);
    return status;
}

/* Whether all of the region is memory, whatever its mappings. */
static bool region_is_whole(const struct region *region)
{
    return region->context || region->type == CU_MEMORYTYPE_HOST;
}

enum status extent_room(uint64_t address, uint64_t *bytes, struct error *err)
{
    struct region region;
    enum status status = find_region(address, &region, err);
    if (status)
        return status;
    CUdeviceptr end = region.start + region.size;
    if (address < region.start || address >= end)
        return error_set(err, STATUS_INVALID, "0x%llx lies outside the allocation 0x%llx..0x%llx",
                         (unsigned long long)address, (unsigned long long)region.start,
                         (unsigned long long)end);
    bool mapped;
    *bytes = (region_is_whole(&region) ? end : walk_mappings(address, end, MAX_MAPPINGS, &mapped)) -
             address;
    return *bytes ? STATUS_OK
                  : error_set(err, STATUS_INVALID, "address 0x%llx is not mapped",
                              (unsigned long long)address);
}

/* Whether all of the range may be read, and the region it lies in. */
static enum status check(uint64_t address, uint64_t bytes, int device, struct region *found,
                         struct error *err)
{
    enum status status = find_region(address, found, err);
    struct region region = *found;
    if (status)
        return status;
    if (region.type != CU_MEMORYTYPE_HOST && region.device != device)
        return error_set(err, STATUS_INVALID, "it lies on device %d, the launch runs on device %d",
                         region.device, device);
    if (address < region.start || bytes > region.size ||
        address - region.start > region.size - bytes)
        return error_set(
            err, STATUS_INVALID, "bytes 0x%llx..0x%llx reach outside the allocation 0x%llx..0x%llx",
            (unsigned long long)address, (unsigned long long)(address + bytes),
            (unsigned long long)region.start, (unsigned long long)(region.start + region.size));
    return region_is_whole(&region) ? STATUS_OK : check_mapped(address, bytes, err);
}

enum status extent_check(uint64_t address, uint64_t bytes, int device, struct error *err)
{
    struct region region;
    return check(address, bytes, device, &region, err);
}

enum status extent_around(uint64_t address, uint64_t bytes, int device, uint64_t *begin,
                          uint64_t *end, struct error *err)
{
    struct region region;
    CUdeviceptr base, next;
    bool mapped;
    enum status status = check(address, bytes, device, &region, err);
    if (status)
        return status;
    *begin = region.start;
    *end = region.start + region.size;
    if (region_is_whole(&region))
        return STATUS_OK;
    next = walk_mappings(address, *end, FEW_MAPPINGS, &mapped);
    *end = next > address + bytes ? next : address + bytes;
    if (!find_mapping(address, &base, &next))
        base = address; /* unmapped just now */
    *begin = base > region.start ? base : region.start;
    return STATUS_OK;
}
