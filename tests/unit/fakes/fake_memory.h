/* fake_memory.h - a range of memory as cuPointerGetAttributes describes it, for unit tests. */
#ifndef TESTS_UNIT_FAKE_MEMORY_H
#define TESTS_UNIT_FAKE_MEMORY_H

#include <stddef.h>
#include "driver/cuda_api.h"

struct fake_range {
    CUdeviceptr start;
    size_t size;
    int device;
    void *context; /* NULL: a reservation, which is mapped in pieces */
};

static inline void fake_range_describe(const struct fake_range *range, unsigned count,
                                       const CUpointer_attribute *wanted, void **into)
{
    for (unsigned i = 0; i < count; i++) {
        if (wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
            *(CUdeviceptr *)into[i] = range->start;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
            *(size_t *)into[i] = range->size;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
            *(unsigned *)into[i] = CU_MEMORYTYPE_DEVICE;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)into[i] = range->device;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_CONTEXT)
            *(void **)into[i] = range->context;
    }
}

#endif
