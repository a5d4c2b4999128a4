/* device_archs.h - which GPUs a program would see here. */
#ifndef TOOLS_DEVICE_ARCHS_H
#define TOOLS_DEVICE_ARCHS_H

enum { DEVICE_ARCHS = 8 };

struct device_archs {
    int count;
    int arch[DEVICE_ARCHS]; /* distinct compute capabilities, 90 for 9.0 */
    int major;              /* of the CUDA version that the driver is for */
};

/* Starts the driver in a process of its own that ends at once, since a driver once started stays:
 * nothing is left in this one. No GPU, no driver, or none within some seconds: a count of 0. */
void device_archs_read(struct device_archs *out);

#endif
