/* Launch parameters as CUPTI shows them, decoded: every shape, both default streams, both ways to
 * pass arguments, and what the driver is going to refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <cuda.h>
#include "hook/launch_decode.c" /* the core archive holds nothing of hook/ */

static void *const function = (void *)0x1000;
static void *const stream = (void *)0x3000;

static bool decode(const void *params, enum launch_shape shape, struct launch *out)
{
    memset(out, 0xee, sizeof(*out)); /* nothing may be left as it was */
    return launch_decode(params, shape, out);
}

static void expect_shape(const struct launch *launch)
{
    static const uint32_t grid[] = {7, 8, 9}, block[] = {32, 4, 2};
    assert_memory_equal(launch->grid, grid, sizeof(grid));
    assert_memory_equal(launch->block, block, sizeof(block));
    assert_int_equal(launch->shared_bytes, 4096);
    assert_ptr_equal(launch->function, function);
    assert_null(launch->context);
    assert_null(launch->symbol);
}

static void expect_params(const struct launch *launch, void *const *params)
{
    assert_ptr_equal(launch->params, params);
    assert_null(launch->packed);
    assert_int_equal(launch->packed_bytes, 0);
}

/* Decoded with `shape`, a NULL stream must have become `expected`. */
static void expect_default(const void *params, enum launch_shape shape, CUstream expected)
{
    struct launch launch;
    assert_true(decode(params, shape, &launch));
    assert_ptr_equal(launch.stream, expected);
}

static cuLaunchKernel_params plain_launch(void **params, void **extra)
{
    return (cuLaunchKernel_params){.f = function,
                                   .gridDimX = 7,
                                   .gridDimY = 8,
                                   .gridDimZ = 9,
                                   .blockDimX = 32,
                                   .blockDimY = 4,
                                   .blockDimZ = 2,
                                   .sharedMemBytes = 4096,
                                   .hStream = stream,
                                   .kernelParams = params,
                                   .extra = extra};
}

static CUlaunchConfig config_of(CUstream on)
{
    return (CUlaunchConfig){.gridDimX = 7,
                            .gridDimY = 8,
                            .gridDimZ = 9,
                            .blockDimX = 32,
                            .blockDimY = 4,
                            .blockDimZ = 2,
                            .sharedMemBytes = 4096,
                            .hStream = on};
}

/* ---- one parameter pointer for each argument ---- */

/* Decoded with each of the two shapes. */
static void expect_pointers(const void *p, enum launch_shape shape, enum launch_shape ptsz,
                            void *const *params, struct launch *out)
{
    const enum launch_shape shapes[] = {shape, ptsz};
    for (int i = 0; i < 2; i++) {
        assert_true(decode(p, shapes[i], out));
        expect_shape(out);
        expect_params(out, params);
        assert_ptr_equal(out->stream, stream);
    }
}

static void a_plain_launch(void **state)
{
    int n = 5;
    void *params[] = {&n};
    cuLaunchKernel_params p = plain_launch(params, NULL);
    struct launch launch;
    (void)state;
    expect_pointers(&p, SHAPE_PLAIN, SHAPE_PLAIN_PTSZ, params, &launch);
    int read = 0;
    assert_true(launch_read(&launch, 0, 0, 0, sizeof(read), &read));
    assert_int_equal(read, 5);
}

static void a_launch_with_a_config(void **state)
{
    int n = 5;
    void *params[] = {&n};
    CUlaunchConfig config = config_of(stream);
    cuLaunchKernelEx_params p = {.config = &config, .f = function, .kernelParams = params};
    struct launch launch;
    (void)state;
    expect_pointers(&p, SHAPE_CONFIG, SHAPE_CONFIG_PTSZ, params, &launch);
    assert_int_equal(launch.cluster[0], 0);
    assert_false(launch.cooperative);
}

static void attributes_that_a_launch_run_again_needs(void **state)
{
    CUlaunchAttribute attribute[3] = {{.id = CU_LAUNCH_ATTRIBUTE_PRIORITY},
                                      {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION},
                                      {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE}};
    CUlaunchConfig config = config_of(stream);
    cuLaunchKernelEx_params p = {.config = &config, .f = function};
    struct launch launch;
    (void)state;
    attribute[1].value.clusterDim.x = 7;
    attribute[1].value.clusterDim.y = 2;
    attribute[1].value.clusterDim.z = 1;
    attribute[2].value.cooperative = 1;
    config.attrs = attribute;
    config.numAttrs = 3;
    assert_true(decode(&p, SHAPE_CONFIG, &launch));
    assert_int_equal(launch.cluster[0], 7);
    assert_int_equal(launch.cluster[1], 2);
    assert_true(launch.cooperative);
}

static cuLaunchCooperativeKernel_params cooperative_launch(void **params)
{
    return (cuLaunchCooperativeKernel_params){.f = function,
                                              .gridDimX = 7,
                                              .gridDimY = 8,
                                              .gridDimZ = 9,
                                              .blockDimX = 32,
                                              .blockDimY = 4,
                                              .blockDimZ = 2,
                                              .sharedMemBytes = 4096,
                                              .hStream = stream,
                                              .kernelParams = params};
}

static void a_cooperative_launch(void **state)
{
    int n = 5;
    void *params[] = {&n};
    cuLaunchCooperativeKernel_params p = cooperative_launch(params);
    struct launch launch;
    (void)state;
    expect_pointers(&p, SHAPE_COOPERATIVE, SHAPE_COOPERATIVE_PTSZ, params, &launch);
    assert_true(launch.cooperative);
}

/* ---- default streams ---- */

static void null_streams_are_spelt_out(void **state)
{
    void *params[] = {NULL};
    cuLaunchKernel_params plain = plain_launch(params, NULL);
    CUlaunchConfig config = config_of(NULL);
    cuLaunchKernelEx_params ex = {.config = &config, .f = function, .kernelParams = params};
    cuLaunchCooperativeKernel_params cooperative = cooperative_launch(params);
    (void)state;
    plain.hStream = NULL;
    cooperative.hStream = NULL;
    expect_default(&plain, SHAPE_PLAIN, CU_STREAM_LEGACY);
    expect_default(&plain, SHAPE_PLAIN_PTSZ, CU_STREAM_PER_THREAD);
    expect_default(&ex, SHAPE_CONFIG, CU_STREAM_LEGACY);
    expect_default(&ex, SHAPE_CONFIG_PTSZ, CU_STREAM_PER_THREAD);
    expect_default(&cooperative, SHAPE_COOPERATIVE, CU_STREAM_LEGACY);
    expect_default(&cooperative, SHAPE_COOPERATIVE_PTSZ, CU_STREAM_PER_THREAD);
}

static void spelt_out_streams_stay_as_they_are(void **state)
{
    void *params[] = {NULL};
    cuLaunchKernel_params p = plain_launch(params, NULL);
    (void)state;
    p.hStream = CU_STREAM_PER_THREAD;
    expect_default(&p, SHAPE_PLAIN, CU_STREAM_PER_THREAD);
    p.hStream = CU_STREAM_LEGACY;
    expect_default(&p, SHAPE_PLAIN_PTSZ, CU_STREAM_LEGACY);
}

/* ---- all arguments in one buffer ---- */

static const struct packed {
    uint64_t pointer;
    int32_t n;
} packed = {0xabcdef, 42};

static void expect_packed(const struct launch *launch)
{
    uint64_t pointer = 0;
    int32_t n = 0, beyond;
    assert_null(launch->params);
    assert_ptr_equal(launch->packed, &packed);
    assert_int_equal(launch->packed_bytes, sizeof(packed));
    assert_true(launch_read(launch, 0, 0, 0, sizeof(pointer), &pointer));
    assert_true(launch_read(launch, 1, offsetof(struct packed, n), 0, sizeof(n), &n));
    assert_int_equal(pointer, packed.pointer);
    assert_int_equal(n, packed.n);
    assert_false(launch_read(launch, 2, sizeof(packed), 0, sizeof(beyond), &beyond));
}

/* The size comes as a pointer to a size_t, the buffer as itself; either may come first. */
static void a_packed_buffer(void **state)
{
    size_t size = sizeof(packed);
    void *buffer = (void *)(uintptr_t)&packed;
    void *buffer_first[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE,
                            &size, CU_LAUNCH_PARAM_END};
    void *size_first[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_BUFFER_POINTER,
                          buffer, CU_LAUNCH_PARAM_END};
    void **lists[] = {buffer_first, size_first};
    (void)state;
    for (int i = 0; i < 2; i++) {
        cuLaunchKernel_params plain = plain_launch(NULL, lists[i]);
        CUlaunchConfig config = config_of(stream);
        cuLaunchKernelEx_params ex = {.config = &config, .f = function, .extra = lists[i]};
        struct launch launch;
        assert_true(decode(&plain, SHAPE_PLAIN, &launch));
        expect_shape(&launch);
        expect_packed(&launch);
        assert_true(decode(&ex, SHAPE_CONFIG, &launch));
        expect_shape(&launch);
        expect_packed(&launch);
    }
}

/* The driver refuses a launch with both; what a check would read then is of no account, but the
 * list must not be walked for nothing. */
static void pointers_win_over_a_buffer(void **state)
{
    void *params[] = {NULL}, *extra[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, NULL, CU_LAUNCH_PARAM_END};
    cuLaunchKernel_params p = plain_launch(params, extra);
    struct launch launch;
    (void)state;
    assert_true(decode(&p, SHAPE_PLAIN, &launch));
    expect_params(&launch, params);
}

static void odd_lists_end_quietly(void **state)
{
    size_t size = 8;
    void *none[] = {CU_LAUNCH_PARAM_END};
    void *only_size[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    void *unknown[] = {(void *)0x77, (void *)0x88, (void *)0x99};
    void **lists[] = {NULL, none, only_size, unknown};
    (void)state;
    for (int i = 0; i < 4; i++) {
        cuLaunchKernel_params p = plain_launch(NULL, lists[i]);
        struct launch launch;
        uint32_t word;
        assert_true(decode(&p, SHAPE_PLAIN, &launch));
        assert_null(launch.params);
        assert_null(launch.packed);
        assert_false(launch_read(&launch, 0, 0, 0, sizeof(word), &word));
    }
}

/* ---- what the driver refuses ---- */

static void a_null_config(void **state)
{
    void *params[] = {NULL};
    cuLaunchKernelEx_params p = {.config = NULL, .f = function, .kernelParams = params};
    struct launch launch;
    (void)state;
    for (int shape = SHAPE_CONFIG; shape <= SHAPE_CONFIG_PTSZ; shape++) {
        assert_false(decode(&p, (enum launch_shape)shape, &launch));
        assert_ptr_equal(launch.function, function);
        assert_non_null(launch.stream);
        assert_int_equal(launch.grid[0], 0);
        assert_null(launch.params);
    }
}

/* The driver refuses these before it reads parameters, which may be garbage: nothing is read. */
static void a_shape_that_no_device_runs_is_not_read(void **state)
{
    static const unsigned shapes[][6] = {
        {0, 8, 9, 32, 4, 2},       {7, 0, 9, 32, 4, 2},       {7, 8, 0, 32, 4, 2},
        {7, 8, 9, 0, 4, 2},        {7, 8, 9, 32, 0, 2},       {7, 8, 9, 32, 4, 0},
        {1u << 31, 1, 1, 1, 1, 1}, {1, 65536, 1, 1, 1, 1},    {1, 1, 65536, 1, 1, 1},
        {1, 1, 1, 1025, 1, 1},     {1, 1, 1, 1, 1, 65},       {1, 1, 1, 64, 17, 1},
        {1, 1, 1, 1, 1025, 1},     {1, 1, 1, 1u << 31, 4, 8}, {~0u, ~0u, ~0u, ~0u, ~0u, ~0u}};
    void **garbage = (void **)8;
    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        struct launch launch;
        cuLaunchKernel_params plain = plain_launch(NULL, garbage);
        memcpy(&plain.gridDimX, shapes[i], sizeof(shapes[i]));
        CUlaunchConfig config = config_of(stream);
        memcpy(&config.gridDimX, shapes[i], sizeof(shapes[i]));
        cuLaunchKernelEx_params ex = {.config = &config, .f = function, .extra = garbage};
        assert_false(decode(&plain, SHAPE_PLAIN, &launch));
        assert_ptr_equal(launch.function, function);
        assert_memory_equal(launch.grid, shapes[i], sizeof(launch.grid));
        assert_null(launch.packed);
        plain.kernelParams = garbage;
        assert_false(decode(&plain, SHAPE_PLAIN_PTSZ, &launch));
        assert_null(launch.params);
        assert_false(decode(&plain, SHAPE_COOPERATIVE, &launch));
        assert_false(decode(&ex, SHAPE_CONFIG, &launch));
        assert_memory_equal(launch.block, shapes[i] + 3, sizeof(launch.block));
    }
}

static void the_largest_shapes_are_launches(void **state)
{
    static const unsigned shapes[][6] = {
        {INT32_MAX, 65535, 65535, 1024, 1, 1}, {1, 1, 1, 1, 1024, 1}, {1, 1, 1, 4, 4, 64}};
    void *params[] = {NULL};
    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        struct launch launch;
        cuLaunchKernel_params plain = plain_launch(params, NULL);
        memcpy(&plain.gridDimX, shapes[i], sizeof(shapes[i]));
        assert_true(decode(&plain, SHAPE_PLAIN, &launch));
        assert_ptr_equal(launch.params, params);
    }
}

static void a_null_function(void **state)
{
    void *params[] = {NULL};
    cuLaunchKernel_params plain = plain_launch(params, NULL);
    CUlaunchConfig config = config_of(stream);
    cuLaunchKernelEx_params ex = {.config = &config, .kernelParams = params};
    cuLaunchCooperativeKernel_params cooperative = cooperative_launch(params);
    struct launch launch;
    (void)state;
    plain.f = NULL;
    cooperative.f = NULL;
    assert_false(decode(&plain, SHAPE_PLAIN, &launch));
    assert_false(decode(&ex, SHAPE_CONFIG, &launch));
    assert_false(decode(&cooperative, SHAPE_COOPERATIVE, &launch));
}

/* That the _ptsz structs of CUPTI are the plain ones is what the decoder rests on. */
#define SAME_FIELD(name, field)                                                                    \
    _Static_assert(offsetof(name##_params, field) == offsetof(name##_ptsz_params, field), #field);
SAME_FIELD(cuLaunchKernel, f)
SAME_FIELD(cuLaunchKernel, blockDimZ)
SAME_FIELD(cuLaunchKernel, sharedMemBytes)
SAME_FIELD(cuLaunchKernel, hStream)
SAME_FIELD(cuLaunchKernel, kernelParams)
SAME_FIELD(cuLaunchKernel, extra)
SAME_FIELD(cuLaunchKernelEx, config)
SAME_FIELD(cuLaunchKernelEx, f)
SAME_FIELD(cuLaunchKernelEx, kernelParams)
SAME_FIELD(cuLaunchKernelEx, extra)
SAME_FIELD(cuLaunchCooperativeKernel, f)
SAME_FIELD(cuLaunchCooperativeKernel, sharedMemBytes)
SAME_FIELD(cuLaunchCooperativeKernel, hStream)
SAME_FIELD(cuLaunchCooperativeKernel, kernelParams)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_launch),
        cmocka_unit_test(a_launch_with_a_config),
        cmocka_unit_test(attributes_that_a_launch_run_again_needs),
        cmocka_unit_test(a_cooperative_launch),
        cmocka_unit_test(null_streams_are_spelt_out),
        cmocka_unit_test(spelt_out_streams_stay_as_they_are),
        cmocka_unit_test(a_packed_buffer),
        cmocka_unit_test(pointers_win_over_a_buffer),
        cmocka_unit_test(odd_lists_end_quietly),
        cmocka_unit_test(a_null_config),
        cmocka_unit_test(a_null_function),
        cmocka_unit_test(a_shape_that_no_device_runs_is_not_read),
        cmocka_unit_test(the_largest_shapes_are_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
