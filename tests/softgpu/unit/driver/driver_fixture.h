/*
 * driver_fixture.h - what the tests of the driver's core share: what they include, the two
 * assertions, and a context for one test.
 */
#ifndef SOFTGPU_DRIVER_FIXTURE_H
#define SOFTGPU_DRIVER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <cuda.h>
#include "driver/call/hooks.h"
#include "newer_calls.h"

#define OK(call)           assert_int_equal((call), CUDA_SUCCESS)
#define FAILS(call, error) assert_int_equal((call), (error))

enum { MIB = 1 << 20 };

/* What a test is expected to die of leaves no core. */
static inline void leave_no_core(void)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
}

static inline void *symbol(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    assert_non_null(found);
    return found;
}

static inline void set_hooks(const struct hooks *hooks)
{
    void (*set)(const struct hooks *);
    void *found = symbol("softgpu_set_hooks");
    memcpy(&set, &found, sizeof(set));
    set(hooks);
}

static inline int init_driver(void **state)
{
    (void)state;
    return cuInit(0) ? -1 : 0;
}

static inline int with_context(void **state)
{
    CUcontext context;
    if (cuCtxCreate(&context, NULL, 0, 0))
        return -1;
    *state = context;
    return 0;
}

static inline int without_context(void **state)
{
    return cuCtxDestroy(*state) ? -1 : 0;
}

#define IN_CONTEXT(test) cmocka_unit_test_setup_teardown(test, with_context, without_context)

#endif
