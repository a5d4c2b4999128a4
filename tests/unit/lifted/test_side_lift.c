/* Lifted kernels of one context: what a launch finds of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "compile/ptx_compiler.h"
#include "cuvet.h"
#include "driver/cuda_api.h"
#include "lang/dtype.h"
#include "lift/lift.h"
#include "lifted/side_lift.h"
#include "tests/unit/fakes/fake_memory.h"

enum { WAIT_US = 1000, WAITS = 10000, STOP_MS = 10000, LAUNCHES = 5 };

static const char copy[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry copy(.param .u64 a, .param .u64 b)\n{\n"
                           ".reg .f32 %f<2>; .reg .b64 %d<3>;\n"
                           "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b];\n"
                           "ld.global.f32 %f1, [%d1]; st.global.f32 [%d2], %f1;\nret;\n}\n";

static CUresult compute_capability(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 8 : 0;
    return CUDA_SUCCESS;
}

static void request(struct side *side, const struct kernel_spec *spec, bool expected)
{
    bool wake;
    assert_int_equal(side_lift_request(side, spec, &wake), SKIP_NOT_COMPILED);
    assert_int_equal(wake, expected);
}

/* Counted are the launches from the time that the job is queued to the result. */
static void launches_that_find_it_not_compiled_are_counted(void **state)
{
    struct side *side = calloc(1, sizeof *side);
    struct kernel_spec spec = {.label = "copy"};
    struct lift *lift;
    struct error err = {{0}};
    char *none = NULL;
    (void)state;
    cuda.cuDeviceGetAttribute = compute_capability;
    assert_int_equal(lift_make(&lift, copy, strlen(copy), "copy", 0, &err), LIFT_OK);
    spec.lift = lift;
    /* Without a program that compiles, each job fails at once. */
    struct ptx_compiler *compiler = ptx_compiler_create(
        &(struct ptx_compiler_settings){.version = cuvet_version(), .cache = "off", .env = &none});
    side_lifts_open(side, compiler);
    side->state = SIDE_READY;
    request(side, &spec, true);
    request(side, &spec, false);
    const struct lift_code *code = lift_code(lift, 80);
    assert_int_equal(atomic_load(&code->missed), 0);
    side_lifts_load(side);
    for (int i = 0; i < LAUNCHES; i++)
        request(side, &spec, false);
    assert_int_equal(atomic_load(&code->missed), LAUNCHES);
    for (int i = 0; i < WAITS && !ptx_compiler_results(compiler); i++)
        usleep(WAIT_US);
    side_lifts_load(side);
    assert_false(side_lifts_due(side));
    request(side, &spec, false);
    assert_int_equal(atomic_load(&code->missed), LAUNCHES);
    assert_true(ptx_compiler_stop(compiler, STOP_MS));
    ptx_compiler_destroy(compiler);
    lift_free(lift);
    free(side->refs.lifts);
    free(side);
}

/* y[rows[block]][thread] = x[block][thread] */
static const char put[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry put(.param .u64 x, .param .u64 rows, .param .u64 y)\n{\n"
    ".reg .b32 %r<5>; .reg .f32 %f<2>; .reg .b64 %d<14>;\n"
    "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [rows]; ld.param.u64 %d3, [y];\n"
    "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 127; mov.u32 %r3, %ctaid.x; mul.wide.u32 %d4, %r2, 4;\n"
    "mul.wide.u32 %d12, %r3, 512; add.s64 %d13, %d1, %d12;\n"
    "add.s64 %d5, %d13, %d4; ld.global.f32 %f1, [%d5];\n"
    "mul.wide.u32 %d6, %r3, 8; add.s64 %d7, %d2, %d6; ld.global.u64 %d8, [%d7];\n"
    "shl.b64 %d9, %d8, 9; add.s64 %d10, %d3, %d9; add.s64 %d11, %d10, %d4;\n"
    "st.global.f32 [%d11], %f1;\nret;\n}\n";

enum { MEMORY = 0x100000, MEMORY_SIZE = 0x100000, X_BYTES = 0x8000 };

static CUresult describe(unsigned count, CUpointer_attribute *wanted, void **into,
                         CUdeviceptr address)
{
    const struct fake_range range = {MEMORY, MEMORY_SIZE, 0, (void *)1};
    (void)address;
    fake_range_describe(&range, count, wanted, into);
    return CUDA_SUCCESS;
}

/* A launch with `x` and `y` there; the binding has what a window reaches of `x`. */
static enum skip clip_put(uint64_t x, uint64_t window, uint64_t y, struct error *why)
{
    static struct binding b;
    struct lift *lift;
    const struct lift_view *view;
    const uint64_t address[] = {x, MEMORY + MEMORY_SIZE / 2, y};
    void *params[] = {(void *)(uintptr_t)&address[0], (void *)(uintptr_t)&address[1],
                      (void *)(uintptr_t)&address[2]};
    const struct launch launch = {.params = params};
    const struct param_layout layout = {.count = 3, .param = {{0, 8, 0}, {8, 8, 0}, {16, 8, 0}}};
    assert_int_equal(lift_make(&lift, put, strlen(put), "put", 0, why), LIFT_OK);
    cuda.cuPointerGetAttributes = describe;
    b = (struct binding){.arrays = 3, .tensors = (int)lift_views(lift, &view)};
    assert_int_equal(b.tensors, 3);
    for (int i = 0; i < 3; i++) {
        const unsigned param = view[i].param;
        const uint64_t bytes = param == 0 ? X_BYTES : 512;
        b.tensor_array[i] = (int8_t)i;
        b.array[i] = (struct bound_array){.name = "an array",
                                          .role = view[i].role,
                                          .dtype = view[i].dtype,
                                          .address = address[param] + (param ? 0 : window),
                                          .ndim = 1,
                                          .dim = {(int64_t)(bytes / dtype_bytes(view[i].dtype))},
                                          .stride = {1},
                                          .bytes = bytes};
    }
    enum skip skip = side_lift_clip(lift, &b, &launch, &layout, why);
    lift_free(lift);
    return skip;
}

static void scattered_stores_to_what_is_read_are_refused(void **state)
{
    struct error why = {{0}};
    const uint64_t x = MEMORY + 0x10000;
    (void)state;
    assert_int_equal(clip_put(x, 0, x + X_BYTES, &why), SKIP_NONE);
    assert_int_equal(clip_put(x, 0, x - 0x1000, &why), SKIP_NONE);
    assert_int_equal(clip_put(x, 0, x, &why), SKIP_SHAPE);
    assert_non_null(strstr(why.text, "'p2' is written at places from memory, and 'p0' is read"));
    assert_int_equal(clip_put(x, 0, x + X_BYTES - 512, &why), SKIP_SHAPE);
    assert_int_equal(clip_put(x, 0x4000, x, &why), SKIP_SHAPE);
}

/* y[block][thread] = x[block][thread], and x and y lie behind addresses in tables. */
static const char lists[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry lists(.param .u64 x, .param .u64 y)\n{\n"
    ".reg .b32 %r<3>; .reg .f32 %f<2>; .reg .b64 %d<11>;\n"
    "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
    "mul.wide.u32 %d3, %r1, 4; mul.wide.u32 %d4, %r2, 8;\n"
    "add.s64 %d5, %d1, %d4; ld.global.u64 %d6, [%d5]; add.s64 %d7, %d6, %d3;\n"
    "ld.global.f32 %f1, [%d7];\n"
    "add.s64 %d8, %d2, %d4; ld.global.u64 %d9, [%d8]; add.s64 %d10, %d9, %d3;\n"
    "st.global.f32 [%d10], %f1;\nret;\n}\n";

/* A launch with tables of `count` addresses each; both have the role of y where `written`. */
static enum skip clip_lists(uint64_t x, uint64_t y, int64_t count, bool written, struct error *why)
{
    static struct binding b;
    struct lift *lift;
    const struct lift_view *view;
    const struct launch launch = {.params = NULL};
    const struct param_layout layout = {.count = 2};
    assert_int_equal(lift_make(&lift, lists, strlen(lists), "lists", 0, why), LIFT_OK);
    cuda.cuPointerGetAttributes = describe;
    b = (struct binding){.tensors = (int)lift_views(lift, &view)};
    assert_int_equal(b.tensors, 2);
    for (int i = 0; i < b.tensors; i++) {
        const struct bound_array list = {.name = "a list",
                                         .role = ROLE_READ,
                                         .dtype = DTYPE_U64,
                                         .address = view[i].param ? y : x,
                                         .ndim = 1,
                                         .dim = {count},
                                         .stride = {1},
                                         .bytes = (uint64_t)count * 8};
        struct bound_array array = {.name = "an array",
                                    .role = written ? ROLE_WRITE : view[i].role,
                                    .dtype = DTYPE_F32,
                                    .address = list.address,
                                    .ndim = 2,
                                    .dim = {count, 1024},
                                    .stride = {1024, 1},
                                    .bytes = (uint64_t)count * 4096,
                                    .rows = {.listed = true}};
        assert_true(view[i].listed);
        b.array[b.arrays] = list;
        array.rows.by = ++b.arrays;
        b.tensor_array[i] = (int8_t)b.arrays;
        b.array[b.arrays++] = array;
    }
    enum skip skip = side_lift_clip(lift, &b, &launch, &layout, why);
    lift_free(lift);
    return skip;
}

static void tables_are_whole_and_short(void **state)
{
    struct error why = {{0}};
    const uint64_t x = MEMORY, end = MEMORY + MEMORY_SIZE;
    (void)state;
    assert_int_equal(clip_lists(x, end - 1024 * 8, 1024, false, &why), SKIP_NONE);
    assert_int_equal(clip_lists(x, end - 1023 * 8, 1024, false, &why), SKIP_EXTENT);
    assert_non_null(strstr(why.text, "ends behind 1023 of the 1024 addresses"));
    why = (struct error){{0}};
    assert_int_equal(clip_lists(x, end - 1025 * 8, 1025, false, &why), SKIP_TOO_LARGE);
    assert_non_null(strstr(why.text, "has 1025 addresses, more than 1024"));
}

static void one_table_of_two_written_arrays_is_refused(void **state)
{
    struct error why = {{0}};
    const uint64_t x = MEMORY;
    (void)state;
    assert_int_equal(clip_lists(x, x, 2, false, &why), SKIP_NONE);
    assert_int_equal(clip_lists(x, x + 16, 2, true, &why), SKIP_NONE);
    assert_int_equal(clip_lists(x, x, 2, true, &why), SKIP_SHAPE);
    assert_non_null(strstr(why.text, "are written, and are the same memory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_that_find_it_not_compiled_are_counted),
        cmocka_unit_test(scattered_stores_to_what_is_read_are_refused),
        cmocka_unit_test(tables_are_whole_and_short),
        cmocka_unit_test(one_table_of_two_written_arrays_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
