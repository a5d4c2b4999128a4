/* pointer.c - the attributes of an address. */
#include <string.h>
#include "driver/context/context_life.h"
#include "driver/context/device.h"
#include "driver/memory/memory_space.h"
#include "driver/memory/pool_table.h"
#include "driver/memory/vmm.h"
#include "impls.h"

/* What is known of one address. */
struct answer {
    bool known;  /* an allocation, or an address that is reserved at least */
    bool mapped; /* there is memory */
    uint64_t address;
    struct allocation at;
    struct piece range; /* the allocation, or the whole reservation */
};

static void look_up(uint64_t address, struct answer *answer)
{
    *answer = (struct answer){.address = address};
    answer->mapped = memory_lookup(address, &answer->at);
    if (answer->mapped)
        answer->range = answer->at.owner ? answer->at.reserved : answer->at.piece;
    answer->known = answer->mapped || vmm_reservation(address, &answer->range);
}

static bool is_host(const struct allocation *at)
{
    return at->kind == MEMORY_PINNED || at->kind == MEMORY_REGISTERED;
}

static uint64_t pool_value(const struct allocation *at)
{
    struct pool *pool = at->kind == MEMORY_POOL ? pool_at(at->piece.begin) : NULL;
    return pool ? (uint64_t)(uintptr_t)pool_handle(pool) : 0;
}

/* 64 bits of answer, of which the attribute takes 4 or 8; false: the address has no such attribute.
 */
static bool ask_allocation(const struct answer *answer, CUpointer_attribute attribute,
                           uint64_t *value)
{
    const struct allocation *at = &answer->at;
    struct context *current = context_current();
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *value = (uint64_t)(uintptr_t)at->context;
        return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *value = is_host(at) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *value = answer->address;
        return true;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *value = answer->address;
        return is_host(at) || at->kind == MEMORY_MANAGED;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *value = at->sync_memops;
        return true;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *value = at->id;
        return true;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *value = at->kind == MEMORY_MANAGED;
        return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *value = (uint64_t)device_ordinal(at->device);
        return true;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *value = at->kind == MEMORY_DEVICE;
        return true;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *value = vmm_handle_types(at->owner);
        return true;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return true;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *value = current ? memory_access(current, at) : 0;
        return current != NULL;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *value = pool_value(at);
        return *value != 0;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *value = at->piece.bytes;
        return true;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *value = at->piece.begin;
        return true;
    default:
        return false;
    }
}

static bool ask(const struct answer *answer, CUpointer_attribute attribute, uint64_t *value)
{
    *value = 0;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *value = answer->range.begin;
        return answer->known;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *value = answer->range.bytes;
        return answer->known;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *value = answer->mapped;
        return answer->known;
    default:
        return answer->mapped && ask_allocation(answer, attribute, value);
    }
}

/* 0: no attribute of ours. */
static size_t bytes_of(CUpointer_attribute attribute)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return sizeof(uint32_t);
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return sizeof(uint64_t);
    default:
        return 0;
    }
}

static void write_value(void *data, CUpointer_attribute attribute, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;
    if (bytes_of(attribute) == sizeof(narrow))
        memcpy(data, &narrow, sizeof(narrow));
    else
        memcpy(data, &value, sizeof(value));
}

CUresult impl_cuPointerGetAttribute(const struct call *call, cuPointerGetAttribute_params *p)
{
    struct answer answer;
    uint64_t value;
    (void)call;
    if (!p->data || !bytes_of(p->attribute))
        return CUDA_ERROR_INVALID_VALUE;
    look_up(p->ptr, &answer);
    if (!ask(&answer, p->attribute, &value))
        return CUDA_ERROR_INVALID_VALUE;
    write_value(p->data, p->attribute, value);
    return CUDA_SUCCESS;
}

/* What the many-valued form returns where the single one has an error. */
static uint64_t nothing(CUpointer_attribute attribute)
{
    const int no_device = -2;
    return attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? (uint64_t)no_device : 0;
}

CUresult impl_cuPointerGetAttributes(const struct call *call, cuPointerGetAttributes_params *p)
{
    struct answer answer;
    (void)call;
    if (!p->attributes || !p->data || !p->numAttributes)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < p->numAttributes; i++)
        if (!p->data[i] || !bytes_of(p->attributes[i]))
            return CUDA_ERROR_INVALID_VALUE;
    look_up(p->ptr, &answer);
    for (unsigned i = 0; i < p->numAttributes; i++) {
        uint64_t value;
        if (!ask(&answer, p->attributes[i], &value))
            value = nothing(p->attributes[i]);
        write_value(p->data[i], p->attributes[i], value);
    }
    return CUDA_SUCCESS;
}

static void set_sync(struct allocation *found, const void *user)
{
    found->sync_memops = *(const unsigned *)user != 0;
}

CUresult impl_cuPointerSetAttribute(const struct call *call, cuPointerSetAttribute_params *p)
{
    (void)call;
    if (!p->value || p->attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return CUDA_ERROR_INVALID_VALUE;
    return memory_change(p->ptr, set_sync, p->value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
