/* test_tensor_maps.c - cuTensorMapEncodeTiled: a map that a kernel reads from its parameters, and
 * arguments that give none. */
#include "driver_fixture.h"

enum { ROWS = 6, COLUMNS = 24, BOX_ROWS = 4, BOX_COLUMNS = 8 };

/* Each thread stores one of the 32 numbers of a box. */
static const char kernel[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".extern .shared .align 128 .b8 s[];\n"
    ".visible .entry box(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 column,\n"
    "  .param .u32 row)\n"
    "{ .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<6>;\n"
    "  mov.u32 %r1, %tid.x; mov.u32 %r2, s; add.u32 %r3, %r2, 256; setp.ne.u32 %p1, %r1, 0;\n"
    "  mov.b64 %rd1, map; cvta.param.u64 %rd2, %rd1;\n"
    "  ld.param.u64 %rd3, [out]; ld.param.u32 %r4, [column]; ld.param.u32 %r5, [row];\n"
    "  @%p1 bra $wait;\n"
    "  mbarrier.init.shared::cta.b64 [%r3], 1;\n"
    "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;\n"
    "  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes\n"
    "    [%r2], [%rd2, {%r4, %r5}], [%r3];\n"
    "$wait: bar.sync 0;\n"
    "$poll: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra $poll;\n"
    "  shl.b32 %r6, %r1, 2; add.u32 %r7, %r2, %r6; ld.shared.u32 %r8, [%r7];\n"
    "  mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd3, %rd4; st.global.u32 [%rd5], %r8; ret; }\n";

struct arguments {
    CUtensorMap *map;
    CUtensorMapDataType type;
    cuuint32_t rank;
    void *address;
    cuuint64_t size[5], stride[4];
    cuuint32_t box[5], step[5];
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapFloatOOBfill fill;
};

static CUtensorMap map;

static struct arguments good(CUdeviceptr address)
{
    return (struct arguments){.map = &map,
                              .type = CU_TENSOR_MAP_DATA_TYPE_INT32,
                              .rank = 2,
                              .address = (void *)(uintptr_t)address,
                              .size = {COLUMNS, ROWS},
                              .stride = {COLUMNS * 4},
                              .box = {BOX_COLUMNS, BOX_ROWS},
                              .step = {1, 1}};
}

static CUresult encode(const struct arguments *a)
{
    return cuTensorMapEncodeTiled(a->map, a->type, a->rank, a->address, a->size, a->stride, a->box,
                                  a->step, a->interleave, a->swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, a->fill);
}

static void expect_box(CUdeviceptr out, CUfunction function, int column, int row, int first)
{
    int got[BOX_ROWS * BOX_COLUMNS];
    void *params[] = {&map, &out, &column, &row};
    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 1024, NULL, params, NULL));
    OK(cuMemcpyDtoH(got, out, sizeof got));
    for (int i = 0; i < BOX_ROWS; i++)
        for (int j = 0; j < BOX_COLUMNS; j++) {
            const bool inside = row + i < ROWS && column + j < COLUMNS;
            assert_int_equal(got[i * BOX_COLUMNS + j],
                             inside ? first + (row + i) * COLUMNS + column + j : 0);
        }
}

static void test_box(void **state)
{
    (void)state;
    int numbers[2 * ROWS * COLUMNS];
    CUdeviceptr in, out;
    CUmodule module;
    CUfunction function;
    for (int i = 0; i < 2 * ROWS * COLUMNS; i++)
        numbers[i] = i + 1;
    OK(cuModuleLoadData(&module, kernel));
    OK(cuModuleGetFunction(&function, module, "box"));
    OK(cuMemAlloc(&in, sizeof numbers));
    OK(cuMemAlloc(&out, BOX_ROWS * BOX_COLUMNS * 4));
    OK(cuMemcpyHtoD(in, numbers, sizeof numbers));
    const struct arguments arguments = good(in);
    OK(encode(&arguments));
    expect_box(out, function, 4, 1, 1);
    expect_box(out, function, 20, 4, 1);
    OK(cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(in + ROWS * COLUMNS * 4)));
    expect_box(out, function, 4, 1, 1 + ROWS * COLUMNS);
}

static void test_wrong_arguments(void **state)
{
    (void)state;
    static uint8_t bytes[256];
    const uintptr_t aligned = ((uintptr_t)bytes + 63) / 64 * 64;
    struct arguments wrong[14];
    const unsigned count = sizeof wrong / sizeof *wrong;
    for (unsigned i = 0; i < count; i++)
        wrong[i] = good(4096);
    OK(encode(&wrong[0]));
    wrong[0].map = NULL;
    wrong[1].map = (void *)(aligned + 32);
    wrong[2].type = (CUtensorMapDataType)99;
    wrong[3].rank = 0;
    wrong[4].rank = 6;
    wrong[5].address = NULL;
    wrong[6].address = (void *)(uintptr_t)4104;
    wrong[7].size[1] = 0;
    wrong[8].stride[0] = 100;
    wrong[9].box[1] = 257;
    wrong[10].box[0] = 6; /* rows of 24 bytes */
    wrong[11].step[1] = 9;
    wrong[12].swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
    wrong[12].box[0] = 16;
    wrong[13].size[0] = (1ull << 32) + 1;
    for (unsigned i = 0; i < count; i++)
        if (encode(&wrong[i]) != CUDA_ERROR_INVALID_VALUE)
            fail_msg("arguments %u", i);
    memset(&map, 0, sizeof map);
    FAILS(cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)4096), CUDA_ERROR_INVALID_VALUE);
}

static void test_not_supported(void **state)
{
    (void)state;
    struct arguments other[4];
    for (unsigned i = 0; i < 4; i++)
        other[i] = good(4096);
    other[0].interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
    other[1].fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    other[2].step[1] = 2;
    other[3].type = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    for (unsigned i = 0; i < 4; i++)
        FAILS(encode(&other[i]), CUDA_ERROR_NOT_SUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_CONTEXT(test_box),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_not_supported),
    };
    return cmocka_run_group_tests(tests, init_driver, NULL);
}
