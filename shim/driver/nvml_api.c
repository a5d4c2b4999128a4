#include "driver/nvml_api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "driver/cuda_api.h"
#include "driver/load.h"

struct nvml_device;

/* NVML's numbers. */
enum { TEMPERATURE_GPU = 0, CLOCK_SM = 1, ECC_UNCORRECTED = 1, ECC_VOLATILE = 0 };

static struct nvml_api {
    enum { NVML_UNTRIED, NVML_OPEN, NVML_MISSING } state;
    int (*init)(void);
    int (*find)(const char *uuid, struct nvml_device **out);
    int (*temperature)(struct nvml_device *device, int sensor, unsigned *out);
    int (*clock)(struct nvml_device *device, int kind, unsigned *out);
    int (*ecc)(struct nvml_device *device, int kind, int counter, unsigned long long *out);
} nvml;

static const struct load_entry nvml_entries[] = {
    {"nvmlInit_v2", offsetof(struct nvml_api, init), true},
    {"nvmlDeviceGetHandleByUUID", offsetof(struct nvml_api, find), true},
    {"nvmlDeviceGetTemperature", offsetof(struct nvml_api, temperature), true},
    {"nvmlDeviceGetClockInfo", offsetof(struct nvml_api, clock), true},
    {"nvmlDeviceGetTotalEccErrors", offsetof(struct nvml_api, ecc), true},
};

static bool open_once(void)
{
    if (nvml.state == NVML_UNTRIED) {
        void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        bool loaded = library && !load_entries(&nvml, library, nvml_entries,
                                               sizeof(nvml_entries) / sizeof(*nvml_entries), NULL);
        nvml.state = loaded && !nvml.init() ? NVML_OPEN : NVML_MISSING;
    }
    return nvml.state == NVML_OPEN;
}

static void write_uuid(const CUuuid *uuid, char *out, size_t size)
{
    const unsigned char *b = (const unsigned char *)uuid->bytes;
    snprintf(out, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

void nvml_facts(int device, struct nvml_facts *out)
{
    CUuuid uuid;
    struct nvml_device *found;
    unsigned number;
    unsigned long long errors;
    *out = (struct nvml_facts){.celsius = -1, .ecc = -1};
    if (!cuda.cuDeviceGetUuid || cuda.cuDeviceGetUuid(&uuid, device))
        return;
    write_uuid(&uuid, out->uuid, sizeof(out->uuid));
    if (!open_once() || nvml.find(out->uuid, &found))
        return;
    if (!nvml.temperature(found, TEMPERATURE_GPU, &number))
        out->celsius = (int32_t)number;
    if (!nvml.clock(found, CLOCK_SM, &number))
        out->clock = number;
    if (!nvml.ecc(found, ECC_UNCORRECTED, ECC_VOLATILE, &errors))
        out->ecc = (int64_t)errors;
}
