/*
 * stream_fixture.h - what the tests of streams and copies share: a context, and host functions that
 * wait for each other, with which a test holds a stream at a chosen place.
 */
#ifndef SOFTGPU_STREAM_FIXTURE_H
#define SOFTGPU_STREAM_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <cuda.h>
#include "unit/driver/newer_calls.h"

#define OK(call)           assert_int_equal((call), CUDA_SUCCESS)
#define FAILS(call, error) assert_int_equal((call), (error))

enum { PATIENCE_MS = 20000, MOMENT_MS = 30 };

static inline double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static inline void pause_ms(unsigned ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&left, NULL);
}

/* A host function of a gate waits until it is open; one that waits too long prints so and goes on.
 */
struct gate {
    atomic_bool reached, open, passed;
};

static inline bool wait_for(atomic_bool *flag)
{
    for (double end = now_ms() + PATIENCE_MS; !atomic_load(flag); pause_ms(1))
        if (now_ms() > end)
            return false;
    return true;
}

static inline void pass_gate(void *user)
{
    struct gate *gate = user;
    atomic_store(&gate->reached, true);
    if (wait_for(&gate->open))
        atomic_store(&gate->passed, true);
}

static inline void close_stream(CUstream stream, struct gate *gate)
{
    OK(cuLaunchHostFunc(stream, pass_gate, gate));
}

static inline void open_gate(struct gate *gate)
{
    atomic_store(&gate->open, true);
}

static inline void set_flag(void *user)
{
    atomic_store((atomic_bool *)user, true);
}

/* Whether the flag stays as it is for a moment: for what must not happen. */
static inline bool stays_unset(atomic_bool *flag)
{
    pause_ms(MOMENT_MS);
    return !atomic_load(flag);
}

static inline CUstream new_stream(unsigned flags)
{
    CUstream stream;
    OK(cuStreamCreate(&stream, flags));
    return stream;
}

static inline CUevent new_event(unsigned flags)
{
    CUevent event;
    OK(cuEventCreate(&event, flags));
    return event;
}

/* The primary context of device 0 is current in all tests. */
static inline int use_primary(void **state)
{
    (void)state;
    CUdevice device;
    CUcontext context;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    return 0;
}

#endif
