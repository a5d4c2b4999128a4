#include "bind/param_pointers.h"

#include <string.h>
#include "driver/cuda_api.h"

bool param_pointer_look_up(uint64_t word, struct param_pointer *out)
{
    CUdeviceptr base = 0;
    size_t bytes = 0;
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                    CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&base, &bytes};
    if (word < 4096 || cuda.cuPointerGetAttributes(2, wanted, values, (CUdeviceptr)word) || !base)
        return false;
    out->address = word;
    out->base = (uint64_t)base;
    out->bytes = bytes;
    return word - out->base < out->bytes;
}

size_t param_pointers_find(const struct param_layout *layout, const uint8_t *params, size_t bytes,
                           struct param_pointer out[PARAM_POINTERS])
{
    size_t count = 0;
    for (unsigned i = 0; i < layout->count && i < LAYOUT_MAX; i++) {
        uint64_t at = layout->param[i].offset, end = at + layout->param[i].size;
        for (at = (at + 7) / 8 * 8; at + 8 <= end && at + 8 <= bytes; at += 8) {
            uint64_t word;
            memcpy(&word, params + at, sizeof(word));
            if (count == PARAM_POINTERS || !param_pointer_look_up(word, &out[count]))
                continue;
            out[count++].offset = (uint32_t)at;
        }
    }
    return count;
}

struct report_machine report_machine_of(int device, int multiprocessors)
{
    int major = 0, minor = 0, driver = 0;
    cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                              (CUdevice)device);
    cuda.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                              (CUdevice)device);
    cuda.cuDriverGetVersion(&driver);
    return (struct report_machine){10 * major + minor, driver, multiprocessors};
}
