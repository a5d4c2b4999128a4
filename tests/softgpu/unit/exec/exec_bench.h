/*
 * exec_bench.h - a bench for kernels given as strings: memory, a module, launches. Included by the
 * tests of the interpreter, each of which is a program of its own.
 */
#ifndef SOFTGPU_EXEC_BENCH_H
#define SOFTGPU_EXEC_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exec/exec.h"

#define HEADER ".version 8.0\n.target sm_75\n.address_size 64\n"

/* Declares what the kernels below use: out, in, n, and the place of this thread's result. */
#define BEGIN                                                                                      \
    ".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)\n{\n"                       \
    ".reg .b16 %h<20>; .reg .b32 %r<60>; .reg .f32 %f<20>; .reg .b64 %rd<40>; .reg .f64 %d<20>;\n" \
    ".reg .pred %p<20>;\n"                                                                         \
    "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nld.param.u32 %r1, [n];\n"                \
    "mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %ctaid.x;\n"                        \
    "mad.lo.s32 %r5, %r4, %r3, %r2;\nmul.wide.u32 %rd3, %r5, 4;\nadd.s64 %rd4, %rd1, %rd3;\n"
/* The result stands in %r9. */
#define END "st.global.u32 [%rd4], %r9;\nret;\n}\n"

enum { AREAS = 16, AREA_BYTES = 1 << 16, AREA_STEP = 1 << 22, FIRST_AREA = 1 << 24 };

struct area {
    uint64_t address, bytes;
    uint8_t *host;
    bool writable;
};

struct bench {
    struct area area[AREAS];
    unsigned areas;
    struct ptx_module *ptx;
    struct exec_module *module;
    struct exec_launch launch;
    struct exec_fault fault;
    uint64_t out, in;
};

static struct bench bench;

struct bench_args {
    uint64_t out, in;
    uint32_t n;
};

static bool bench_find(void *user, uint64_t address, struct exec_range *range)
{
    struct bench *b = user;
    for (unsigned i = 0; i < b->areas; i++) {
        const struct area *a = b->area + i;
        if (address - a->address >= a->bytes)
            continue;
        *range = (struct exec_range){a->address, a->bytes, a->host, a->writable};
        return true;
    }
    return false;
}

static inline uint64_t bench_area(uint64_t bytes)
{
    assert_true(bench.areas < AREAS);
    struct area *a = bench.area + bench.areas;
    a->address = FIRST_AREA + (uint64_t)bench.areas++ * AREA_STEP;
    a->bytes = bytes;
    a->host = aligned_alloc(256, (bytes + 255) / 256 * 256 + 256);
    assert_non_null(a->host);
    memset(a->host, 0, bytes);
    a->writable = true;
    return a->address;
}

static bool bench_place(void *user, const struct ptx_variable *variable, uint64_t *address)
{
    (void)user;
    *address = bench_area(variable->bytes ? variable->bytes : 1);
    return true;
}

static inline void *bench_at(uint64_t address)
{
    struct exec_range range = {0};
    assert_true(bench_find(&bench, address, &range));
    return range.host + (address - range.begin);
}

static inline void bench_close(void)
{
    exec_module_free(bench.module);
    ptx_free(bench.ptx);
    for (unsigned i = 0; i < bench.areas; i++)
        free(bench.area[i].host);
    memset(&bench, 0, sizeof bench);
}

/* Reads the text; the kernel `k` is prepared. The launch is one block of 32 threads. */
static inline enum status bench_try(const char *text, struct error *err)
{
    bench_close();
    const struct exec_host host = {&bench, bench_find, bench_place};
    enum status status = ptx_read(text, strlen(text), "test.ptx", &bench.ptx, err);
    if (!status)
        status = exec_module_create(bench.ptx, &host, &bench.module, err);
    if (status)
        return status;
    bench.out = bench_area(AREA_BYTES);
    bench.in = bench_area(AREA_BYTES);
    struct exec_function *kernel = exec_find_kernel(bench.module, "k");
    assert_non_null(kernel);
    bench.launch = (struct exec_launch){
        .kernel = kernel, .grid = {1, 1, 1}, .block = {32, 1, 1}, .step_limit = 50000000};
    return exec_prepare(kernel, err);
}

static inline void bench_open(const char *text)
{
    struct error err = {{0}};
    if (bench_try(text, &err))
        fail_msg("%s", err.text);
}

static inline enum exec_outcome bench_run(uint32_t n)
{
    struct bench_args args = {bench.out, bench.in, n};
    bench.launch.params = &args;
    return exec_run(&bench.launch, &bench.fault);
}

/* Runs, expects success, and gives the results. */
static inline uint32_t *bench_results(unsigned grid, unsigned block, uint32_t n)
{
    bench.launch.grid[0] = grid;
    bench.launch.block[0] = block;
    if (bench_run(n) != EXEC_DONE)
        fail_msg("%s", bench.fault.text);
    return bench_at(bench.out);
}

static inline void expect_fault(enum exec_outcome outcome, const char *words)
{
    enum exec_outcome got = bench_run(0);
    if (got != outcome || !strstr(bench.fault.text, words))
        fail_msg("outcome %d, \"%s\"; expected %d, \"%s\"", got, bench.fault.text, outcome, words);
}

#endif
