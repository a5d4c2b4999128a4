/* raw.cuh - the bits of one element, whatever they mean. */
#ifndef DEVICE_RAW_CUH
#define DEVICE_RAW_CUH

#include <stdint.h>

/* Zero-extended; `size` is 1, 2, 4 or 8, and divides the address. */
static __device__ uint64_t load_raw(uint64_t address, uint32_t size)
{
    switch (size) {
    case 8:
        return *(const uint64_t *)address;
    case 4:
        return *(const uint32_t *)address;
    case 2:
        return *(const uint16_t *)address;
    default:
        return *(const uint8_t *)address;
    }
}

#endif
