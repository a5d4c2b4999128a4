/* Whether an element outside the bound is a finding of a lifted kernel's: what else it stores
 * there, and whether the number that names its place stands once in its array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "driver/cuda_api.h"
#include "judge/replay.h"
#include "lift/lift.h"
#include "lift/lift_abi.h"
#include "lifted/side_lift.h"

/* y[rows[block]][thread] = 2 x[thread] */
static const char put[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 x, .param .u64 rows, .param .u64 y)\n{\n"
    ".reg .b32 %r<5>; .reg .f32 %f<3>; .reg .b64 %d<12>;\n"
    "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [rows]; ld.param.u64 %d3, [y];\n"
    "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 127; mov.u32 %r3, %ctaid.x;\n"
    "mul.wide.u32 %d4, %r2, 4; add.s64 %d5, %d1, %d4; ld.global.f32 %f1, [%d5];\n"
    "mul.wide.u32 %d6, %r3, 8; add.s64 %d7, %d2, %d6; ld.global.u64 %d8, [%d7];\n"
    "shl.b64 %d9, %d8, 9; add.s64 %d10, %d3, %d9; add.s64 %d11, %d10, %d4;\n"
    "add.f32 %f2, %f1, %f1; st.global.f32 [%d11], %f2;\nret;\n}\n";

/* y[block][thread] = 2, and y lies behind addresses in a table. */
static const char listed[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 y)\n{\n"
    ".reg .b32 %r<3>; .reg .f32 %f<3>; .reg .b64 %d<7>;\n"
    "ld.param.u64 %d1, [y]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
    "mul.wide.u32 %d2, %r1, 4; mul.wide.u32 %d3, %r2, 8; add.s64 %d4, %d1, %d3;\n"
    "ld.global.u64 %d5, [%d4]; add.s64 %d6, %d5, %d2; cvt.rn.f32.u32 %f1, %r1;\n"
    "add.f32 %f2, %f1, %f1; st.global.f32 [%d6], %f2;\nret;\n}\n";

enum { X, ROWS, Y, MANY = STAGING_BYTES / 8 + 100 };

static double extremes[LIFT_EXTREMES]; /* what the lifted kernel stores */
static int64_t *rows;
static double staging[LIFT_EXTREMES];
static bool fails;
static unsigned copies;

static CUresult CUDAAPI launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, CUstream stream,
                               void **params, void **extra)
{
    (void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
    (void)stream, (void)params, (void)extra;
    memcpy(staging, extremes, sizeof staging);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI set_words(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    (void)to, (void)value, (void)count, (void)stream;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI to_device(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI to_host(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    copies++;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return fails ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static CUresult CUDAAPI query(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI get_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 8 : 0;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI error_name(CUresult result, const char **name)
{
    (void)result;
    *name = "CUDA_ERROR_UNKNOWN";
    return CUDA_SUCCESS;
}

static void install(void)
{
    cuda.cuLaunchKernel = launch;
    cuda.cuMemsetD32Async = set_words;
    cuda.cuMemcpyHtoDAsync = to_device;
    cuda.cuMemcpyDtoHAsync = to_host;
    cuda.cuStreamQuery = query;
    cuda.cuDeviceGetAttribute = get_attribute;
    cuda.cuGetErrorName = error_name;
}

/* A check of one of two windows, whose element 7 of `y` is 4 where 5 +- 0.5 is expected. */
static struct side side;
static struct lane lane;
static struct check check;
static struct known_kernel kernel;
static struct kernel_spec spec = {.label = "k"};
static struct lift_call *calls, *calls_there;
static struct error why;

static void set_up(void)
{
    static char there[STAGING_BYTES];
    static uint8_t packed[24];
    struct lift *lift;
    assert_int_equal(lift_make(&lift, put, strlen(put), "k", 0, &why), LIFT_OK);
    spec.lift = lift;
    kernel.spec = &spec;
    kernel.layout.count = 3;
    side.staging = (CUdeviceptr)(uintptr_t)staging;
    side.staging_host = there;
    side_lifts_open(&side, NULL);
    calls = calloc(1, sizeof(struct ref_call));
    calls_there = calloc(1, sizeof(struct ref_call));
    lane = (struct lane){.check = &check,
                         .calls = (struct ref_call *)(void *)calls,
                         .calls_device = (CUdeviceptr)(uintptr_t)calls_there};
    lane.numbers = (struct ref_verdict){
        .first_tensor = 9, .first_index = 7, .first_got = 4, .first_ref = 5, .first_bound = 0.5};
    check.kernel = &kernel;
    check.params.packed = packed;
    check.params.bytes = sizeof packed;
    check.binding.arrays = check.binding.tensors = 3;
    check.binding.picks = 1;
    check.binding.pick[0] = (struct bound_pick){.name = "window", .count = 2};
    check.how = (struct configuration){.grid = {2, 1, 1}, .block = {128, 1, 1}};
    const struct lift_view *view;
    assert_int_equal(lift_views(lift, &view), 3);
    for (int i = 0; i < 3; i++) {
        const unsigned param = view[i].param;
        struct bound_array *array = &check.binding.array[i];
        kernel.layout.param[i].offset = 8 * (unsigned)i;
        kernel.layout.param[i].size = 8;
        check.binding.tensor_array[i] = (int8_t)i;
        check.binding.call.tensor[i].id = param == Y ? 9 : param;
        *array = (struct bound_array){.name = param == Y ? "y" : "x",
                                      .role = view[i].role,
                                      .dtype = view[i].dtype,
                                      .ndim = 1,
                                      .dim = {MANY},
                                      .stride = {1},
                                      .bytes = param == ROWS ? MANY * 8 : 512};
        check.placement[i].before = NOT_COPIED;
        check.placement[i].bytes = array->bytes;
        check.placement[i].after = param == ROWS ? 0 : NOT_COPIED;
    }
    rows = calloc(MANY, sizeof *rows);
    check.room.at = (uint64_t)(uintptr_t)rows;
}

static int start(void **state)
{
    (void)state;
    install();
    set_up();
    for (int64_t i = 0; i < MANY; i++)
        rows[i] = i;
    extremes[LIFT_LEAST] = extremes[LIFT_MOST] = 5;
    extremes[LIFT_INDEX] = 3;
    fails = false;
    copies = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    lift_free((struct lift *)(uintptr_t)spec.lift);
    free(side.refs.lifts);
    free(calls);
    free(calls_there);
    free(rows);
    return 0;
}

static void expect(enum skip skip, const char *sentence)
{
    why = (struct error){{0}};
    assert_int_equal(replay_written_again(&side, &lane, &why), skip);
    assert_non_null(strstr(why.text, sentence));
}

static void one_store_is_a_finding(void **state)
{
    (void)state;
    expect(SKIP_NONE, "");
}

/* However little they differ: another of them may be what the launch left. */
static void several_stores_are_none(void **state)
{
    (void)state;
    extremes[LIFT_MOST] = nextafter(5, 6);
    expect(SKIP_REFUSED, "several times");
}

static void what_cannot_be_read_is_none(void **state)
{
    (void)state;
    fails = true;
    expect(SKIP_REFUSED, "cannot be read");
}

static void an_index_that_stands_twice_is_none(void **state)
{
    (void)state;
    rows[MANY - 1] = 3; /* in the second part of the array */
    expect(SKIP_REFUSED, "the index of its place occurs several times");
    rows[MANY - 1] = 1;
    expect(SKIP_NONE, "");
    rows[4] = 3;
    copies = 0;
    expect(SKIP_REFUSED, "the index of its place occurs several times");
    assert_int_equal(copies, 2); /* the extremes, and one part */
    extremes[LIFT_INDEX] = MANY; /* stands nowhere */
    expect(SKIP_REFUSED, "the index of its place occurs several times");
}

/* Blocks that the check does not cover may store behind the same address. */
static void a_window_behind_addresses_is_none(void **state)
{
    (void)state;
    lift_free((struct lift *)(uintptr_t)spec.lift);
    struct lift *lift;
    assert_int_equal(lift_make(&lift, listed, strlen(listed), "k", 0, &why), LIFT_OK);
    spec.lift = lift;
    check.binding.arrays = check.binding.tensors = 1;
    check.binding.call.tensor[0].id = 9;
    kernel.layout.count = 1;
    expect(SKIP_REFUSED, "another store may go to it");
    check.binding.picks = 0;
    expect(SKIP_NONE, "");
}

/* Where a NaN was expected, another block's number may have come behind it. */
static void an_index_counts_where_a_nan_is_expected(void **state)
{
    (void)state;
    lane.numbers.first_ref = extremes[LIFT_LEAST] = NAN;
    extremes[LIFT_MOST] = INFINITY;
    expect(SKIP_NONE, "");
    rows[4] = 3;
    expect(SKIP_REFUSED, "the index of its place occurs several times");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_store_is_a_finding, start, end),
        cmocka_unit_test_setup_teardown(several_stores_are_none, start, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_is_none, start, end),
        cmocka_unit_test_setup_teardown(an_index_that_stands_twice_is_none, start, end),
        cmocka_unit_test_setup_teardown(a_window_behind_addresses_is_none, start, end),
        cmocka_unit_test_setup_teardown(an_index_counts_where_a_nan_is_expected, start, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
