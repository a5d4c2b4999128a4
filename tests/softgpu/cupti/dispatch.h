/* dispatch.h - turns the driver's events into callbacks of CUPTI's subscribers. */
#ifndef SOFTGPU_DISPATCH_H
#define SOFTGPU_DISPATCH_H

#include <stdbool.h>

/* Ties the driver to this library, once. False where libcuda.so.1 is none of ours. */
bool dispatch_start(void);

/* Driver calls that this thread makes between the two are our own: no callback is made for them. */
void dispatch_pause(void);
void dispatch_resume(void);

#endif
