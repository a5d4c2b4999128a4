/*
 * nvml_api.h - NVML, opened when a device's state is first read and never linked. Its header is not
 * needed to build.
 */
#ifndef DRIVER_NVML_API_H
#define DRIVER_NVML_API_H

#include <stdint.h>

/* A device by the names that its maintainers use. */
struct nvml_facts {
    char uuid[48];   /* "GPU-..."; "": not known */
    uint32_t clock;  /* of the multiprocessors, MHz; 0: not known */
    int32_t celsius; /* -1: not known */
    int64_t ecc;     /* errors that memory did not correct since the driver was loaded; -1 */
};

/* `device`: its number in the driver. Where NVML has no query, the field is unset. Takes
 * milliseconds; one thread at a time, none of the program's. */
void nvml_facts(int device, struct nvml_facts *out);

#endif
