/* driver.h - the stand-in for the driver, as the stand-in for CUPTI finds it: by name, at run time.
 */
#ifndef SOFTGPU_CUPTI_DRIVER_H
#define SOFTGPU_CUPTI_DRIVER_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include "driver/call/hooks.h"

struct driver {
    void (*set_hooks)(const struct hooks *);
    uint32_t (*context_uid)(CUcontext);
    uint32_t (*stream_uid)(CUstream, bool per_thread);
    CUresult (*push)(CUcontext);
    CUresult (*pop)(CUcontext *);
    CUresult (*device)(CUdevice *);
};

/* Opened at the first call, for good; NULL where libcuda.so.1 is none of ours. Any thread. */
const struct driver *driver_find(void);

#endif
