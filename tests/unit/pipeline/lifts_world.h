/* lifts_world.h - fatbins of small kernels, and a driver that has their parameters and module. */
#ifndef TESTS_UNIT_LIFTS_WORLD_H
#define TESTS_UNIT_LIFTS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "driver/cuda_api.h"
#include "judge/modules/images.h"
#include "tests/unit/fakes/packed_fatbin.h"
#include "tests/unit/common/registry_fixture.h"

enum { LIFTS_ARCH = 80 };

#define LIFTS_HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define LIFTS_KERNEL(name, work)                                                                   \
    ".visible .entry " name "(.param .u64 a, .param .u64 b)\n{\n"                                  \
    ".reg .b32 %r<3>; .reg .f32 %f<3>; .reg .b64 %d<6>;\n"                                         \
    "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; mov.u32 %r1, %tid.x;\n"                         \
    "mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;\n"                    \
    "ld.global.f32 %f1, [%d4];\n" work "ret;\n}\n"
#define LIFTS_SQUARE(name) LIFTS_KERNEL(name, "mul.f32 %f2, %f1, %f1; st.global.f32 [%d5], %f2;\n")
#define LIFTS_ATOMIC(name) LIFTS_KERNEL(name, "red.global.add.f32 [%d5], %f1;\n")

static void *lifts_module; /* of each function */

static CUresult lifts_home(CUmodule *out, CUfunction function)
{
    (void)function;
    *out = lifts_module;
    return CUDA_SUCCESS;
}

static CUresult lifts_param(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    (void)function;
    *offset = index * 8;
    *size = 8;
    return index < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult lifts_device(CUdevice *out)
{
    *out = 0;
    return CUDA_SUCCESS;
}

static CUresult lifts_attribute(int *out, CUdevice_attribute which, CUdevice device)
{
    (void)device;
    *out =
        which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? LIFTS_ARCH / 10 : LIFTS_ARCH % 10;
    return CUDA_SUCCESS;
}

static inline void lifts_driver_install(void)
{
    memset(&cuda, 0, sizeof cuda);
    cuda.cuFuncGetModule = lifts_home;
    cuda.cuFuncGetParamInfo = lifts_param;
    cuda.cuCtxGetDevice = lifts_device;
    cuda.cuDeviceGetAttribute = lifts_attribute;
}

static inline struct registry *lifts_registry(void)
{
    struct complaints complaints;
    struct registry *registry = registry_of("version: 1\n"
                                            "kernels:\n"
                                            "- kernel: another\n"
                                            "  signature: const f32 x[n], f32 y[n], i32 n\n"
                                            "  reference: relu\n",
                                            &complaints);
    assert_non_null(registry);
    assert_int_equal(complaints.count, 0);
    return registry;
}

static inline void lifts_fatbin(struct packed_fatbin *fatbin, const char *ptx)
{
    memset(fatbin, 0, sizeof *fatbin);
    packed_fatbin_add(fatbin, SMALL_PTX, LIFTS_ARCH, 0, PACKED_ZSTD, ptx, strlen(ptx) + 1);
}

#endif
