/*
 * module_fixture.h - a module of small kernels, a context for each test, and what tests of modules,
 * libraries and launches do with them. All of it is here.
 */
#ifndef TESTS_SOFTGPU_MODULE_FIXTURE_H
#define TESTS_SOFTGPU_MODULE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "driver/call/hooks.h"
#include "unit/driver/newer_calls.h"

/* The launches of CUDA 1 are in the header still. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

static const char head[] = "// made by hand\n.version 7.0\n.target sm_75\n.address_size 64\n";

static const char body[] =
    ".global .align 4 .u32 counter = 7;\n"
    ".const .align 4 .f32 factor[2] = {0f40000000, 0f40400000};\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".visible .entry axpy(.param .u64 py, .param .u64 px, .param .f32 pa, .param .u32 pn)\n"
    "{ .reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<5>; .reg .b64 %rd<6>;\n"
    "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "  mad.lo.s32 %r4, %r1, %r2, %r3; ld.param.u32 %r5, [pn];\n"
    "  setp.ge.s32 %p, %r4, %r5; @%p bra $done;\n"
    "  ld.param.u64 %rd1, [py]; ld.param.u64 %rd2, [px]; mul.wide.s32 %rd3, %r4, 4;\n"
    "  add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3; ld.param.f32 %f1, [pa];\n"
    "  ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd5]; fma.rn.f32 %f4, %f1, %f3, %f2;\n"
    "  st.global.f32 [%rd4], %f4;\n"
    "$done: ret; }\n"
    /* A byte, eight bytes at offset 8, and twelve behind them. */
    ".visible .entry layout(.param .u8 a, .param .u64 b, .param .align 4 .b8 c[12])\n"
    "{ .reg .b32 %r<4>; .reg .b64 %rd<2>; ld.param.u8 %r1, [a]; ld.param.u64 %rd1, [b];\n"
    "  ld.param.u32 %r2, [c+8]; add.u32 %r3, %r1, %r2; st.global.u32 [%rd1], %r3; ret; }\n"
    ".visible .entry bump()\n"
    "{ .reg .b32 %r<2>; atom.global.add.u32 %r1, [counter], 1; ret; }\n"
    ".visible .entry constant(.param .u64 p)\n"
    "{ .reg .f32 %f<2>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p];\n"
    "  ld.const.f32 %f1, [factor+4]; st.global.f32 [%rd1], %f1; ret; }\n"
    /* The last word of the dynamic shared memory of `bytes` bytes. */
    ".visible .entry last(.param .u64 p, .param .u32 bytes)\n"
    "{ .reg .b32 %r<5>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [bytes];\n"
    "  mov.u32 %r2, dynamic; add.u32 %r2, %r2, %r1; mov.u32 %r3, 77;\n"
    "  st.shared.u32 [%r2+-4], %r3; ld.shared.u32 %r4, [%r2+-4]; st.global.u32 [%rd1], %r4; ret; "
    "}\n"
    ".visible .entry exact(.param .u64 p) .reqntid 32, 2, 1 { ret; }\n"
    ".visible .entry bounded() .maxntid 64, 1, 1 { ret; }\n"
    ".visible .entry wild() { .reg .b32 %r<2>; .reg .b64 %rd<2>; mov.u64 %rd1, 64;\n"
    "  mov.u32 %r1, 1; st.global.u32 [%rd1], %r1; ret; }\n"
    ".visible .entry crooked(.param .u64 p) { .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    "  ld.param.u64 %rd1, [p]; mov.u32 %r1, 1; st.global.u32 [%rd1+2], %r1; ret; }\n"
    ".visible .entry stop() { trap; }\n"
    ".visible .entry fixed() { .shared .align 4 .b8 mine[1000]; .reg .b32 %r<2>;\n"
    "  mov.u32 %r1, mine; st.shared.u32 [%r1], %r1; ret; }\n"
    ".visible .entry endless() { $again: bra $again; }\n"
    ".func helper() { ret; }\n";

static inline char *text_of(const char *more)
{
    char *text = NULL;
    assert_true(asprintf(&text, "%s%s%s", head, body, more) > 0);
    return text;
}

static inline CUmodule load(void)
{
    CUmodule module = NULL;
    char *text = text_of("");
    OK(cuModuleLoadData(&module, text));
    free(text);
    return module;
}

static inline CUfunction function_of(CUmodule module, const char *name)
{
    CUfunction function = NULL;
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}

static inline CUdeviceptr room(size_t bytes)
{
    CUdeviceptr at = 0;
    OK(cuMemAlloc(&at, bytes));
    OK(cuMemsetD8(at, 0, bytes));
    return at;
}

static inline uint32_t word_at(CUdeviceptr at)
{
    uint32_t word = 0;
    OK(cuMemcpyDtoH(&word, at, sizeof(word)));
    return word;
}

/* Each test has a context of its own. */
static inline int set_up(void **state)
{
    CUcontext context;
    CUdevice device;
    setenv("SOFTGPU_DEVICES", "2", 1); /* before the first call */
    setenv("SOFTGPU_STEPS", "2000000", 1);
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuCtxCreate(&context, NULL, 0, device));
    *state = context;
    return 0;
}

static inline int tear_down(void **state)
{
    cuCtxDestroy(*state);
    return 0;
}

enum { N = 1000 };

struct axpy {
    CUdeviceptr y, x;
    float a;
    int n;
    void *params[4];
};

static inline void axpy_begin(struct axpy *axpy)
{
    float x[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    *axpy = (struct axpy){.y = room(sizeof(x)), .x = room(sizeof(x)), .a = 3, .n = N};
    OK(cuMemcpyHtoD(axpy->x, x, sizeof(x)));
    axpy->params[0] = &axpy->y;
    axpy->params[1] = &axpy->x;
    axpy->params[2] = &axpy->a;
    axpy->params[3] = &axpy->n;
}

/* y is `times` times what one launch makes of it. */
static inline void axpy_check(const struct axpy *axpy, int times)
{
    float y[N];
    OK(cuMemcpyDtoH(y, axpy->y, sizeof(y)));
    for (int i = 0; i < N; i++)
        assert_true(y[i] == (float)(times * i) * axpy->a);
}

static inline void axpy_end(struct axpy *axpy)
{
    OK(cuMemFree(axpy->x));
    OK(cuMemFree(axpy->y));
}

static inline CUresult try(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared, void **params)
{
    return cuLaunchKernel(function, grid_x, grid_y, 1, block_x, block_y, block_z, shared, NULL,
                          params, NULL);
}

/* What is written to standard error until capture_end(). */
struct capture_file {
    int file, saved;
};

static inline struct capture_file capture_begin(int fd)
{
    char path[] = "/tmp/softgpu-output-XXXXXX";
    struct capture_file capture = {mkstemp(path), dup(fd)};
    fflush(NULL);
    unlink(path);
    dup2(capture.file, fd);
    return capture;
}

static inline void capture_end(struct capture_file capture, int fd, char *text, size_t room_for)
{
    fflush(NULL);
    dup2(capture.saved, fd);
    close(capture.saved);
    ssize_t got = pread(capture.file, text, room_for - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    close(capture.file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
