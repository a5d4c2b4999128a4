/*
 * kernel.h - a kernel of a library, between library.c, which makes it, and kernel.c.
 */
#ifndef SOFTGPU_KERNEL_H
#define SOFTGPU_KERNEL_H

#include "driver/module/code.h"

enum { KERNEL_DEVICES = 8 }; /* as many as SOFTGPU_DEVICES allows */

struct kernel {
    struct library *library;
    struct function *function; /* the blueprint's */
    CUkernel handle;
    struct function_attributes attributes[KERNEL_DEVICES];
};

CUlibrary library_handle(const struct library *library);

#endif
