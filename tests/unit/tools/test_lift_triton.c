/* test_lift_triton.c - matrix products that Triton compiled for sm_90 (tests/lift/triton): what the
 * interpreter computes, against a product in fp64, and where their shadows leave the bound. */
#include "unit/exec/exec_bench.h"

#include <math.h>
#include "tools/lift/shadow.h"

enum { M = 128, N = 64, K = 192, TILE_M = 64, TILE_N = 32, SHARED = 64 << 10 };

static struct shadow shadow;
static char *text;

static void read_text(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "tests/lift/triton/%s.ptx", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s cannot be read", path);
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    free(text);
    text = calloc(1, size + 1);
    assert_int_equal(fread(text, 1, size, file), size);
    fclose(file);
}

/* Reads the module and follows its kernel's numbers. */
static void follow(const char *name, const char *kernel_name, double input)
{
    const struct exec_host host = {&bench, bench_find, bench_place};
    struct error err = {{0}};
    shadow_release(&shadow);
    bench_close();
    read_text(name);
    if (ptx_read(text, strlen(text), name, &bench.ptx, &err) ||
        exec_module_create(bench.ptx, &host, &bench.module, &err))
        fail_msg("%s", err.text);
    struct exec_function *kernel = exec_find_kernel(bench.module, kernel_name);
    assert_non_null(kernel);
    if (exec_prepare(kernel, &err))
        fail_msg("%s", err.text);
    shadow = (struct shadow){
        .algebra = &algebra_real, .unit = 0x1p-24, .tiny = 0x1p-126, .input = input};
    assert_int_equal(shadow_attach(&shadow, kernel, &err), STATUS_OK);
    bench.launch = (struct exec_launch){.kernel = kernel,
                                        .grid = {M / TILE_M, N / TILE_N, 1},
                                        .block = {128, 1, 1},
                                        .dynamic_shared = SHARED,
                                        .step_limit = 10000000,
                                        .watch = &shadow};
}

static double a[M][K], b[K][N];

static double store(void *at, size_t i, double x, bool halves)
{
    if (!halves)
        return ((float *)at)[i] = (float)x;
    const _Float16 half = (_Float16)x;
    memcpy((uint16_t *)at + i, &half, 2);
    return (double)half;
}

/* Numbers around 1, of which each product has more digits than f16. `by_columns`: b as N x K. */
static void fill(uint64_t a_at, uint64_t b_at, bool halves, bool by_columns)
{
    for (size_t i = 0; i < M; i++)
        for (size_t k = 0; k < K; k++)
            a[i][k] = store(bench_at(a_at), i * K + k, 1 + sin((double)(i * 7 + k)) / 3, halves);
    for (size_t k = 0; k < K; k++)
        for (size_t j = 0; j < N; j++)
            b[k][j] = store(bench_at(b_at), by_columns ? j * K + k : k * N + j,
                            1 + cos((double)(j * 5 + 3 * k)) / 3, halves);
}

struct result {
    double worst;  /* the largest difference of a number and the product, for 1 of the product */
    double shadow; /* the same of the shadow */
    unsigned lost; /* elements outside their bounds */
    const struct ptx_instruction *at;
};

static struct result results(uint64_t c_at)
{
    struct result result = {0};
    const float *c = bench_at(c_at);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            struct value value;
            double y = 0;
            for (size_t k = 0; k < K; k++)
                y += a[i][k] * b[k][j];
            assert_true(shadow_at(&shadow, (const uint8_t *)(c + i * N + j), FORMAT_F32, &value));
            result.worst = fmax(result.worst, fabs((double)c[i * N + j] - y) / y);
            result.shadow = fmax(result.shadow, fabs(value.a.real - y) / y);
            result.lost += value.origin != 0;
            if (value.origin)
                result.at = shadow_instruction(&shadow, value.origin);
        }
    return result;
}

/* product of tests/lift/triton/matmul.py. */
static struct result product(const char *name, bool halves, double input)
{
    follow(name, "product", input);
    const uint64_t a_at = bench_area(M * K * 4), b_at = bench_area(K * N * 4),
                   c_at = bench_area(M * N * 4);
    struct {
        uint64_t a, b, c;
        uint32_t k_size, a_row, b_row, c_row;
        uint64_t scratch[2];
    } params = {a_at, b_at, c_at, K, K, N, N, {0, 0}};
    fill(a_at, b_at, halves, false);
    bench.launch.params = &params;
    if (exec_run(&bench.launch, &bench.fault))
        fail_msg("%s: %s", name, bench.fault.text);
    return results(c_at);
}

/* A map as cuTensorMapEncodeTiled makes it: rows of `columns` numbers, of which one instruction
 * copies a box. */
static struct exec_tensor_map map_of(uint64_t address, unsigned type, unsigned swizzle,
                                     unsigned rows, unsigned columns, unsigned box_rows,
                                     unsigned box_columns)
{
    return (struct exec_tensor_map){.kind = EXEC_TENSOR_MAP,
                                    .address = address,
                                    .stride = {columns * exec_tensor_bytes(type)},
                                    .size = {columns, rows},
                                    .box = {(uint16_t)box_columns, (uint16_t)box_rows},
                                    .step = {1, 1},
                                    .last = 1,
                                    .type = (uint8_t)type,
                                    .swizzle = (uint8_t)swizzle};
}

enum { TYPE_F16 = 6, TYPE_F32 = 7, SWIZZLE_128 = 3 };

/* described of tests/lift/triton/matmul.py. */
static struct result described(void)
{
    follow("described", "described", 0);
    const uint64_t a_at = bench_area(M * K * 2), b_at = bench_area(K * N * 2),
                   c_at = bench_area(M * N * 4);
    const struct exec_tensor_map maps[] = {
        map_of(a_at, TYPE_F16, SWIZZLE_128, M, K, TILE_M, 64),
        map_of(b_at, TYPE_F16, SWIZZLE_128, N, K, TILE_N, 64),
        map_of(c_at, TYPE_F32, SWIZZLE_128, M, N, TILE_M, TILE_N),
    };
    const uint32_t k_size = K;
    const struct exec_info *info = exec_describe(bench.launch.kernel);
    uint8_t params[1024] = {0};
    for (unsigned i = 0; i < 3; i++) /* behind each map come two sizes and two strides */
        memcpy(params + info->params[5 * i].offset, &maps[i], sizeof maps[i]);
    memcpy(params + info->params[15].offset, &k_size, sizeof k_size);
    fill(a_at, b_at, true, true);
    bench.launch.params = params;
    if (exec_run(&bench.launch, &bench.fault))
        fail_msg("%s", bench.fault.text);
    return results(c_at);
}

static void copies_by_tensor_maps_keep_their_numbers(void **state)
{
    (void)state;
    const struct result got = described();
    assert_true(got.worst < K * 0x1p-24);
    assert_true(got.shadow < 1e-15);
    assert_int_equal(got.lost, 0);
}

static void an_accumulator_in_f32_is_within_its_bound(void **state)
{
    (void)state;
    const struct result got = product("product_f16", true, 0);
    assert_true(got.worst < K * 0x1p-24);
    assert_true(got.shadow < 1e-15);
    assert_int_equal(got.lost, 0);
}

static void an_accumulator_in_f16_is_named(void **state)
{
    (void)state;
    const struct result got = product("product_f16_half", true, 0);
    assert_true(got.worst > 0x1p-12 && got.worst < 0x1p-6);
    assert_true(got.shadow < 1e-15);
    assert_true(got.lost > M * N / 2);
    assert_string_equal(got.at->text, "wgmma.mma_async.sync.aligned.m64n32k16.f16.f16.f16");
    assert_non_null(got.at->location);
}

/* The last digits of f32 operands are cut off: within the bound only where that is declared. */
static void operands_in_tf32_are_declared_or_named(void **state)
{
    (void)state;
    struct result got = product("product_tf32", false, 0x1p-11);
    assert_true(got.worst > 0x1p-24 && got.worst < 0x1p-9);
    assert_true(got.shadow < 1e-15);
    assert_int_equal(got.lost, 0);
    got = product("product_tf32", false, 0);
    assert_true(got.lost > M * N / 2);
    assert_string_equal(got.at->text, "wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32");
}

static int close_all(void **state)
{
    (void)state;
    shadow_release(&shadow);
    bench_close();
    free(text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_accumulator_in_f32_is_within_its_bound),
        cmocka_unit_test(an_accumulator_in_f16_is_named),
        cmocka_unit_test(operands_in_tf32_are_declared_or_named),
        cmocka_unit_test(copies_by_tensor_maps_keep_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, close_all);
}
