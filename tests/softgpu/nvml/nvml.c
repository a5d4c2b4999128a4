/* nvml.c - libnvidia-ml.so.1, as far as cuvet calls it: each device is at 61 C and 1755 MHz. */
#include <string.h>

#pragma GCC visibility push(default)

int nvmlInit_v2(void);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **out);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out);
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *out);
int nvmlDeviceGetTotalEccErrors(void *device, int kind, int counter, unsigned long long *out);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **out)
{
    static int device;
    *out = &device;
    return strncmp(uuid, "GPU-", 4) == 0 && strlen(uuid) == 40 ? 0 : 2;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out)
{
    (void)device;
    *out = 61;
    return sensor == 0 ? 0 : 2;
}

int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *out)
{
    (void)device;
    *out = 1755;
    return kind == 1 ? 0 : 2;
}

int nvmlDeviceGetTotalEccErrors(void *device, int kind, int counter, unsigned long long *out)
{
    (void)device, (void)kind, (void)counter, (void)out;
    return 3; /* not supported */
}
