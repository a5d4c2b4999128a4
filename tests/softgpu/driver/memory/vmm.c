/*
 * vmm.c - the virtual memory API: reserved addresses, physical memory, and the mappings between
 * them.
 *
 * All physical memory is one file without a name; a mapping maps its part of that file where the
 * stand-in has the reserved addresses. The program itself has no access to any of it.
 */
#include "driver/memory/vmm.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "driver/context/device.h"
#include "driver/memory/memory_space.h"
#include "driver/call/trace.h"
#include "impls.h"

enum { GRANULARITY = 2 << 20 };

/* What cuMemCreate makes. Never freed, so that a stale handle is known as such. */
struct physical {
    struct physical *next;
    CUmemAllocationProp prop;
    struct device *device;
    size_t bytes;
    off_t offset;
    unsigned handles, mappings; /* its memory goes when both are 0 */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct address_table reservations; /* of struct piece */
static struct physical *physicals;
static int file = -1;
static off_t file_end;

static void report(struct trace_report *to)
{
    size_t count = 0, bytes = 0;
    pthread_mutex_lock(&lock);
    for (const struct physical *at = physicals; at; at = at->next)
        if (at->handles || at->mappings) {
            count++;
            bytes += at->bytes;
        }
    size_t reserved = reservations.count;
    pthread_mutex_unlock(&lock);
    trace_leak(to, "physical", count, bytes);
    trace_leak(to, "reservation", reserved, 0);
}

bool vmm_reservation(uint64_t address, struct piece *reservation)
{
    pthread_mutex_lock(&lock);
    const struct piece *found = table_at(&reservations, address);
    if (found)
        *reservation = *found;
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

uint64_t vmm_handle_types(const void *owner)
{
    const struct physical *physical = owner;
    return physical ? (uint64_t)physical->prop.requestedHandleTypes : 0;
}

static bool is_multiple(uint64_t bytes)
{
    return !(bytes % GRANULARITY);
}

static CUresult reserve(size_t bytes, size_t align, CUdeviceptr *address)
{
    struct piece *piece = malloc(sizeof(*piece));
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (!piece)
        return result;
    pthread_mutex_lock(&lock);
    uint64_t begin = space_place(memory_virtual_space(), &reservations, bytes, align);
    *piece = (struct piece){.begin = begin, .bytes = bytes, .room = bytes};
    if (begin && table_insert(&reservations, piece)) {
        *address = begin;
        result = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    if (result)
        free(piece);
    else
        trace_add_owner(report);
    return result;
}

/* `addr` is a hint, which we never follow. */
CUresult impl_cuMemAddressReserve(const struct call *call, cuMemAddressReserve_params *p)
{
    size_t align = p->alignment > GRANULARITY ? p->alignment : GRANULARITY;
    (void)call;
    if (!p->ptr || !p->size || !is_multiple(p->size) || align & (align - 1) || p->flags)
        return CUDA_ERROR_INVALID_VALUE;
    return reserve(p->size, align, p->ptr);
}

/* Under the lock: whether anything of the range is mapped. */
static bool any_mapped(uint64_t begin, size_t bytes)
{
    struct allocation found;
    for (uint64_t at = begin; at < begin + bytes; at += GRANULARITY)
        if (memory_lookup(at, &found))
            return true;
    return false;
}

CUresult impl_cuMemAddressFree(const struct call *call, cuMemAddressFree_params *p)
{
    (void)call;
    pthread_mutex_lock(&lock);
    struct piece *piece = table_at(&reservations, p->ptr);
    bool ok =
        piece && piece->begin == p->ptr && piece->bytes == p->size && !any_mapped(p->ptr, p->size);
    if (ok) {
        table_remove(&reservations, piece);
        free(piece);
    }
    pthread_mutex_unlock(&lock);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_prop(const CUmemAllocationProp *prop, struct device **device)
{
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return CUDA_ERROR_NOT_SUPPORTED;
    *device = device_at(prop->location.id);
    return *device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* Under the lock. */
static bool grow_file(size_t bytes)
{
    if (file < 0)
        file = memfd_create("softgpu", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, file_end + (off_t)bytes))
        return false;
    file_end += (off_t)bytes;
    return true;
}

CUresult impl_cuMemCreate(const struct call *call, cuMemCreate_params *p)
{
    struct device *device = NULL;
    (void)call;
    if (!p->handle || !p->size || !is_multiple(p->size) || p->flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_prop(p->prop, &device);
    if (!result)
        result = memory_charge(device, p->size);
    if (result)
        return result;
    struct physical *physical = calloc(1, sizeof(*physical));
    pthread_mutex_lock(&lock);
    off_t offset = file_end;
    bool ok = physical && grow_file(p->size);
    if (ok) {
        *physical = (struct physical){physicals, *p->prop, device, p->size, offset, 1, 0};
        physicals = physical;
    }
    pthread_mutex_unlock(&lock);
    if (!ok) {
        free(physical);
        memory_refund(device, p->size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    trace_add_owner(report);
    *p->handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return CUDA_SUCCESS;
}

/* Under the lock. NULL: no handle that the program still holds. */
static struct physical *find_physical(CUmemGenericAllocationHandle handle)
{
    struct physical *at = physicals;
    while (at && (CUmemGenericAllocationHandle)(uintptr_t)at != handle)
        at = at->next;
    return at && at->handles ? at : NULL;
}

/* Under the lock, after a handle or a mapping went. */
static void give_back(struct physical *physical)
{
    if (physical->handles || physical->mappings)
        return;
    /* A failure keeps pages, and nothing else. */
    (void)!fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, physical->offset,
                     (off_t)physical->bytes);
    memory_refund(physical->device, physical->bytes);
}

CUresult impl_cuMemRelease(const struct call *call, cuMemRelease_params *p)
{
    (void)call;
    pthread_mutex_lock(&lock);
    struct physical *physical = find_physical(p->handle);
    if (physical) {
        physical->handles--;
        give_back(physical);
    }
    pthread_mutex_unlock(&lock);
    return physical ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Under the lock. */
static CUresult map(struct physical *physical, const struct piece *reserved, uint64_t begin,
                    size_t bytes)
{
    uint8_t *host = space_host(memory_virtual_space(), begin);
    const struct allocation model = {
        .piece = {.begin = begin, .bytes = bytes, .room = bytes},
        .kind = (enum memory_kind)MEMORY_MAPPED,
        .device = physical->device,
        .host = host,
        .writable = true,
        .reserved = *reserved,
        .owner = physical,
    };
    CUresult result = memory_insert(&model);
    if (result)
        return result;
    if (mmap(host, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, physical->offset) ==
        MAP_FAILED) {
        struct allocation removed;
        memory_remove(begin, model.kind, &removed);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    physical->mappings++;
    return CUDA_SUCCESS;
}

CUresult impl_cuMemMap(const struct call *call, cuMemMap_params *p)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    (void)call;
    if (!p->size || !is_multiple(p->size) || !is_multiple(p->ptr) || p->offset || p->flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct physical *physical = find_physical(p->handle);
    const struct piece *reserved = table_at(&reservations, p->ptr);
    if (physical && reserved && p->size <= physical->bytes &&
        p->size <= reserved->begin + reserved->bytes - p->ptr)
        result = map(physical, reserved, p->ptr, p->size);
    pthread_mutex_unlock(&lock);
    return result;
}

/* The whole of one or more mappings that follow each other. */
static bool is_whole(uint64_t begin, size_t bytes)
{
    struct allocation found;
    uint64_t at = begin;
    while (at < begin + bytes) {
        if (!memory_lookup(at, &found) || found.kind != (enum memory_kind)MEMORY_MAPPED ||
            found.piece.begin != at)
            return false;
        at += found.piece.bytes;
    }
    return bytes && at == begin + bytes;
}

/* Under the lock. A broken program's kernel that is still at it then meets zeros, not our death. */
static void unmap(uint64_t begin)
{
    struct allocation removed;
    if (!memory_remove(begin, (enum memory_kind)MEMORY_MAPPED, &removed))
        return;
    mmap(removed.host, removed.piece.bytes, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    struct physical *physical = (struct physical *)(uintptr_t)removed.owner;
    physical->mappings--;
    give_back(physical);
}

CUresult impl_cuMemUnmap(const struct call *call, cuMemUnmap_params *p)
{
    struct allocation found;
    (void)call;
    pthread_mutex_lock(&lock);
    bool ok = p->ptr + p->size > p->ptr && is_whole(p->ptr, p->size);
    for (uint64_t at = p->ptr; ok && at < p->ptr + p->size; at += found.piece.bytes) {
        memory_lookup(at, &found);
        unmap(at);
    }
    pthread_mutex_unlock(&lock);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void set_access(struct allocation *found, const void *user)
{
    const CUmemAccessDesc *access = user;
    found->access[access->location.id] = (unsigned char)access->flags;
}

static bool is_access(const CUmemAccessDesc *access)
{
    return access->location.type == CU_MEM_LOCATION_TYPE_DEVICE && device_at(access->location.id) &&
           (access->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
            access->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
            access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

CUresult impl_cuMemSetAccess(const struct call *call, cuMemSetAccess_params *p)
{
    struct allocation found;
    (void)call;
    if (!p->desc || !p->count || p->ptr + p->size < p->ptr)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < p->count; i++)
        if (!is_access(&p->desc[i]))
            return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    bool ok = is_whole(p->ptr, p->size);
    for (uint64_t at = p->ptr; ok && at < p->ptr + p->size; at += found.piece.bytes) {
        memory_lookup(at, &found);
        for (size_t i = 0; i < p->count; i++)
            memory_change(at, set_access, &p->desc[i]);
    }
    pthread_mutex_unlock(&lock);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuMemGetAccess(const struct call *call, cuMemGetAccess_params *p)
{
    struct allocation found;
    (void)call;
    if (!p->flags || !p->location || p->location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !device_at(p->location->id) || !memory_lookup(p->ptr, &found) ||
        found.kind != (enum memory_kind)MEMORY_MAPPED)
        return CUDA_ERROR_INVALID_VALUE;
    *p->flags = found.access[p->location->id];
    return CUDA_SUCCESS;
}

CUresult impl_cuMemGetAllocationGranularity(const struct call *call,
                                            cuMemGetAllocationGranularity_params *p)
{
    struct device *device;
    (void)call;
    if (!p->granularity || (unsigned)p->option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_prop(p->prop, &device);
    if (!result)
        *p->granularity = GRANULARITY;
    return result;
}

CUresult impl_cuMemRetainAllocationHandle(const struct call *call,
                                          cuMemRetainAllocationHandle_params *p)
{
    struct allocation found;
    (void)call;
    if (!p->handle)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    bool ok = memory_lookup((uint64_t)(uintptr_t)p->addr, &found) && found.owner;
    if (ok) {
        struct physical *physical = (struct physical *)(uintptr_t)found.owner;
        physical->handles++;
        *p->handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    }
    pthread_mutex_unlock(&lock);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
impl_cuMemGetAllocationPropertiesFromHandle(const struct call *call,
                                            cuMemGetAllocationPropertiesFromHandle_params *p)
{
    (void)call;
    if (!p->prop)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    const struct physical *physical = find_physical(p->handle);
    if (physical)
        *p->prop = physical->prop;
    pthread_mutex_unlock(&lock);
    return physical ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
