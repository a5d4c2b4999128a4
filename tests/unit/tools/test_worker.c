/*
 * test_worker.c - the process that runs kernels for offline verbs, on the PTX interpreter.
 *
 * The tool is the one of this build, ../../../cuvet beside this test (CUVET_TOOL names another).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "refs/abi/ref_list.h"
#include "tools/worker/worker.h"

/* scale: y[i] = 2 x[i], i < n. spill: the same with one element too many. spin: never ends. */
static const char ptx[] =
    ".version 6.4\n.target sm_75\n.address_size 64\n"
    ".visible .entry scale(.param .u64 x, .param .u64 y, .param .u32 n)\n{\n"
    ".reg .pred %p<2>;\n.reg .b32 %r<6>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<3>;\n"
    "ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nld.param.u32 %r1, [n];\n"
    "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"
    "mad.lo.s32 %r5, %r2, %r3, %r4;\nsetp.ge.s32 %p1, %r5, %r1;\n@%p1 bra DONE;\n"
    "mul.wide.s32 %rd3, %r5, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n"
    "ld.global.f32 %f1, [%rd4];\nadd.f32 %f2, %f1, %f1;\nst.global.f32 [%rd5], %f2;\n"
    "DONE:\nret;\n}\n"
    ".visible .entry spill(.param .u64 y, .param .u32 n)\n{\n"
    ".reg .b32 %r<3>;\n.reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [y];\nld.param.u32 %r1, [n];\nmul.wide.s32 %rd2, %r1, 4;\n"
    "add.s64 %rd3, %rd1, %rd2;\nmov.u32 %r2, 7;\nst.global.u32 [%rd3], %r2;\nret;\n}\n"
    ".visible .entry spin()\n{\nAGAIN:\nbra AGAIN;\n}\n"
    ".visible .entry fault()\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\nmov.u64 %rd1, 64;\n"
    "ld.global.u32 %r1, [%rd1];\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

enum { COUNT = 100 };

struct fixture {
    char tool[4096];
    struct worker *worker;
    uint32_t module;
    struct error err;
};

static void start(struct fixture *f, int timeout_ms)
{
    const struct worker_settings settings = {
        .device = WORKER_INTERPRETER, .timeout_ms = timeout_ms, .tool = f->tool};
    worker_end(f->worker);
    assert_int_equal(worker_start(&f->worker, &settings, &f->err), STATUS_OK);
    assert_int_equal(worker_load(f->worker, ptx, sizeof(ptx) - 1, &f->module, &f->err), STATUS_OK);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    char self[2048] = "";
    const char *named = getenv("CUVET_TOOL");
    assert_non_null(f);
    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    *strrchr(self, '/') = '\0';
    if (named)
        snprintf(f->tool, sizeof(f->tool), "%s", named);
    else
        snprintf(f->tool, sizeof(f->tool), "%s/../../../cuvet", self);
    start(f, 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    worker_end(f->worker);
    free(f);
    return 0;
}

static uint64_t allocate(struct fixture *f, uint64_t bytes, uint64_t guard)
{
    const struct worker_array array = {.bytes = bytes, .guard = guard, .fill = 0x5a};
    uint64_t address = 0;
    assert_int_equal(worker_allocate(f->worker, &array, &address, &f->err), STATUS_OK);
    return address;
}

static struct worker_result launch(struct fixture *f, const char *symbol, const void *params,
                                   uint32_t bytes)
{
    struct worker_kernel kernel = {0};
    struct worker_result result = {0};
    assert_int_equal(worker_kernel(f->worker, f->module, symbol, &kernel, &f->err), STATUS_OK);
    const struct worker_launch launch = {.kernel = kernel.id,
                                         .grid = {4, 1, 1},
                                         .block = {32, 1, 1},
                                         .params = params,
                                         .param_bytes = bytes};
    assert_int_equal(worker_launch(f->worker, &launch, &result, &f->err), STATUS_OK);
    return result;
}

struct scale_params {
    uint64_t x, y;
    int32_t n;
};

static void run_scale(struct fixture *f, float *x, float *y, struct scale_params *params)
{
    *params = (struct scale_params){allocate(f, COUNT * 4, 64), allocate(f, COUNT * 4, 64), COUNT};
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)i / 3;
    assert_int_equal(worker_write(f->worker, params->x, x, COUNT * 4, &f->err), STATUS_OK);
    struct worker_result result = launch(f, "scale", params, 20);
    assert_int_equal(result.outcome, WORKER_RAN);
    assert_int_equal(worker_read(f->worker, params->y, y, COUNT * 4, &f->err), STATUS_OK);
}

static void test_a_launch_computes(void **state)
{
    struct fixture *f = *state;
    struct scale_params params;
    struct worker_guard guard;
    float x[COUNT], y[COUNT];
    run_scale(f, x, y, &params);
    for (int i = 0; i < COUNT; i++)
        assert_true(y[i] == 2 * x[i]);
    assert_int_equal(worker_guards(f->worker, params.y, &guard, &f->err), STATUS_OK);
    assert_int_equal(guard.changed, 0);
    assert_int_equal(worker_free(f->worker, params.y, &f->err), STATUS_OK);
    assert_int_equal(worker_read(f->worker, params.y, y, 4, &f->err), STATUS_INVALID);
}

static void test_kernels_are_described(void **state)
{
    struct fixture *f = *state;
    struct worker_kernel kernel = {0};
    assert_int_equal(worker_kernel(f->worker, f->module, "scale", &kernel, &f->err), STATUS_OK);
    assert_int_equal(kernel.layout.count, 3);
    assert_int_equal(kernel.layout.param[2].offset, 16);
    assert_int_equal(kernel.param_bytes, 20);
    assert_int_equal(worker_kernel(f->worker, f->module, "none", &kernel, &f->err),
                     STATUS_NOT_FOUND);
    assert_string_equal(f->err.text, "the image has no kernel none");
}

static void test_a_write_outside_changes_guards(void **state)
{
    struct fixture *f = *state;
    struct worker_guard guard;
    struct {
        uint64_t y;
        int32_t n;
    } params = {allocate(f, COUNT * 4, 64), COUNT};
    assert_int_equal(launch(f, "spill", &params, 12).outcome, WORKER_RAN);
    assert_int_equal(worker_guards(f->worker, params.y, &guard, &f->err), STATUS_OK);
    assert_int_equal(guard.changed, 4);
    assert_int_equal(guard.first, COUNT * 4);
    assert_int_equal(worker_guards(f->worker, params.y, &guard, &f->err), STATUS_OK);
    assert_int_equal(guard.changed, 0);
}

static void test_a_fault_ends_the_worker_alone(void **state)
{
    struct fixture *f = *state;
    uint64_t address;
    const struct worker_array array = {.bytes = 4};
    struct worker_result result = launch(f, "fault", NULL, 0);
    assert_int_equal(result.outcome, WORKER_FAULTED);
    assert_non_null(strstr(result.sentence, "fault"));
    assert_true(worker_lost(f->worker));
    assert_int_equal(worker_allocate(f->worker, &array, &address, &f->err), STATUS_IO);
    assert_int_equal(worker_restart(f->worker, &f->err), STATUS_OK);
    assert_int_equal(worker_allocate(f->worker, &array, &address, &f->err), STATUS_OK);
}

static void test_a_launch_that_hangs_is_ended(void **state)
{
    struct fixture *f = *state;
    start(f, 300);
    struct worker_result result = launch(f, "spin", NULL, 0);
    assert_int_equal(result.outcome, WORKER_HUNG);
    assert_string_equal(result.sentence, "no answer within the time limit of 300 ms");
    assert_true(worker_lost(f->worker));
}

static void test_a_launch_that_no_device_takes_is_refused(void **state)
{
    struct fixture *f = *state;
    struct worker_kernel kernel = {0};
    struct worker_result result = {0};
    assert_int_equal(worker_kernel(f->worker, f->module, "scale", &kernel, &f->err), STATUS_OK);
    const struct worker_launch launch = {
        .kernel = kernel.id, .grid = {1, 1, 1}, .block = {2048, 1, 1}};
    assert_int_equal(worker_launch(f->worker, &launch, &result, &f->err), STATUS_OK);
    assert_int_equal(result.outcome, WORKER_REFUSED);
    assert_false(worker_lost(f->worker));
}

static void test_alignment_is_as_wanted(void **state)
{
    struct fixture *f = *state;
    for (uint64_t skew = 0; skew < 512; skew += 48) {
        const struct worker_array array = {.bytes = 10, .align = 512, .skew = skew, .guard = 100};
        uint64_t address = 0;
        assert_int_equal(worker_allocate(f->worker, &array, &address, &f->err), STATUS_OK);
        assert_int_equal(address % 512, skew);
    }
}

/* An array that is larger than memory: only what is written takes any. */
static void test_a_sparse_array_is_large(void **state)
{
    struct fixture *f = *state;
    const uint64_t bytes = UINT64_C(1) << 40;
    const struct worker_array array = {.bytes = bytes, .guard = 64, .sparse = true};
    uint64_t address = 0;
    char word[5] = "";
    assert_int_equal(worker_allocate(f->worker, &array, &address, &f->err), STATUS_OK);
    assert_int_equal(worker_write(f->worker, address + bytes - 4, "last", 4, &f->err), STATUS_OK);
    assert_int_equal(worker_read(f->worker, address + bytes - 4, word, 4, &f->err), STATUS_OK);
    assert_string_equal(word, "last");
    assert_int_equal(worker_write(f->worker, address + bytes - 3, "last", 4, &f->err),
                     STATUS_INVALID);
    assert_int_equal(worker_free(f->worker, address, &f->err), STATUS_OK);
}

static void test_a_device_has_a_name_or_a_number(void **state)
{
    struct fixture *f = *state;
    static const char *const wrong[] = {"", "cpu", "1x", "-1", "123456"};
    struct worker_settings settings = {.ordinal = 5};
    assert_int_equal(worker_device_read("interpreter", &settings, &f->err), STATUS_OK);
    assert_int_equal(settings.device, WORKER_INTERPRETER);
    assert_int_equal(settings.ordinal, 5);
    assert_int_equal(worker_device_read("3", &settings, &f->err), STATUS_OK);
    assert_int_equal(settings.device, WORKER_GPU);
    assert_int_equal(settings.ordinal, 3);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(worker_device_read(wrong[i], &settings, &f->err), STATUS_INVALID);
    assert_int_equal(settings.ordinal, 3);
}

static void test_no_image(void **state)
{
    struct fixture *f = *state;
    uint32_t module;
    assert_int_equal(worker_load(f->worker, "garbage", 7, &module, &f->err), STATUS_INVALID);
    assert_non_null(strstr(f->err.text, "the image is none of PTX"));
}

/* y = gelu(x) against 2 x: wrong; against itself, exact: right. */
static void test_references_judge(void **state)
{
    struct fixture *f = *state;
    struct scale_params params;
    struct ref_verdict verdict;
    float x[COUNT], y[COUNT];
    double expected[COUNT];
    run_scale(f, x, y, &params);
    struct ref_call call = {.lambda = 8, .unit_roundoff = 0x1p-24, .underflow = 0x1p-126};
    for (int i = 0; i < 2; i++)
        call.tensor[i] = (struct ref_tensor){.bytes = COUNT * 4,
                                             .dim = {1, COUNT},
                                             .stride = {COUNT, 1},
                                             .ndim = 2,
                                             .dtype = DTYPE_F32,
                                             .id = (uint32_t)i};
    call.size[0] = 1;
    call.size[1] = COUNT;
    call.tensor[0].in = (void *)(uintptr_t)params.x;
    call.tensor[1].got = (void *)(uintptr_t)params.y;
    assert_int_equal(
        worker_reference(f->worker, "gelu", WORKER_ORACLE_CPU, &call, &verdict, &f->err),
        STATUS_OK);
    assert_int_equal(verdict.checked, COUNT);
    assert_int_equal(verdict_of(&verdict), VERDICT_MISMATCH);
    assert_int_equal(worker_expected(f->worker, "gelu", WORKER_ORACLE_CPU, &call, 1, 0, COUNT,
                                     expected, &f->err),
                     STATUS_OK);
    for (int i = 0; i < COUNT; i++)
        y[i] = (float)expected[i];
    assert_int_equal(worker_write(f->worker, params.y, y, sizeof(y), &f->err), STATUS_OK);
    assert_int_equal(
        worker_reference(f->worker, "gelu", WORKER_ORACLE_DEVICE, &call, &verdict, &f->err),
        STATUS_OK);
    assert_int_equal(verdict_of(&verdict), VERDICT_MATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_launch_computes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kernels_are_described, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_write_outside_changes_guards, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_fault_ends_the_worker_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_launch_that_hangs_is_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_launch_that_no_device_takes_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_alignment_is_as_wanted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_sparse_array_is_large, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_device_has_a_name_or_a_number, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_image, setup, teardown),
        cmocka_unit_test_setup_teardown(test_references_judge, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
