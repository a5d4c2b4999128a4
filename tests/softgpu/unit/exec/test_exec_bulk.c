/* test_exec_bulk.c - cp.async.bulk: bytes, boxes of tensors by maps of the host and of the kernel,
 * what lies outside the tensor, swizzling, and what is no copy. */
#include "exec_bench.h"

enum { SHARED_BYTES = 16384, COLUMNS = 48, ROWS = 10, TYPE_U16 = 1, TYPE_F32 = 7 };

static char text[16384];

/* One thread copies to %r10, an area of zeros at 0 of shared memory, and waits at %r11; then all of
 * it goes to `out`. */
#define BEFORE                                                                                     \
    HEADER ".extern .shared .align 1024 .b8 s[];\n" BEGIN                                          \
           "mov.u32 %r10, s;\nadd.u32 %r11, %r10, 8192;\n"                                         \
           "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra W;\n"                                               \
           "mbarrier.init.shared::cta.b64 [%r11], 1;\n"                                            \
           "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], %r1;\n"
#define AFTER                                                                                      \
    "W:\nbar.sync 0;\nmov.u32 %r10, s;\n"                                                          \
    "T:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 0;\n@!%p2 bra T;\n"                 \
    "mul.lo.u32 %r12, %r2, 4;\nadd.u32 %r12, %r10, %r12;\nmov.u32 %r13, 0;\n"                      \
    "F:\nld.shared.u32 %r9, [%r12];\nst.global.u32 [%rd4], %r9;\n"                                 \
    "add.u32 %r12, %r12, 128;\nadd.s64 %rd4, %rd4, 128;\n"                                         \
    "add.u32 %r13, %r13, 1;\nsetp.lt.u32 %p3, %r13, 32;\n@%p3 bra F;\nret;\n}\n"

static const char *load_kernel(const char *copy)
{
    snprintf(text, sizeof text, "%s%s%s", BEFORE, copy, AFTER);
    return text;
}

static void open_kernel(const char *kernel)
{
    bench_open(kernel);
    bench.launch.dynamic_shared = SHARED_BYTES;
}

/* Element i of the tensor at `in` + 1024 is i + 1; the map is at `in`. */
static struct exec_tensor_map *fill_tensor(unsigned box_columns, unsigned box_rows)
{
    uint16_t *numbers = (uint16_t *)((uint8_t *)bench_at(bench.in) + 1024);
    struct exec_tensor_map *map = bench_at(bench.in);
    for (unsigned i = 0; i < ROWS * COLUMNS; i++)
        numbers[i] = (uint16_t)(i + 1);
    *map = (struct exec_tensor_map){.kind = EXEC_TENSOR_MAP,
                                    .address = bench.in + 1024,
                                    .stride = {COLUMNS * 2},
                                    .size = {COLUMNS, ROWS},
                                    .box = {(uint16_t)box_columns, (uint16_t)box_rows},
                                    .step = {1, 1},
                                    .last = 1,
                                    .type = TYPE_U16};
    return map;
}

static void run_load(unsigned bytes)
{
    if (bench_run(bytes) != EXEC_DONE)
        fail_msg("%s", bench.fault.text);
}

static unsigned element(int row, int column)
{
    const bool inside = row >= 0 && row < ROWS && column >= 0 && column < COLUMNS;
    return inside ? (unsigned)(row * COLUMNS + column + 1) : 0;
}

/* ---- bytes ---- */

static void bytes_to_shared_memory(void **state)
{
    (void)state;
    open_kernel(load_kernel(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd2+64], "
        "%r1, [%r11];\n"));
    uint8_t *in = bench_at(bench.in);
    for (unsigned i = 0; i < 1024; i++)
        in[i] = (uint8_t)(i * 7 + 1);
    run_load(48);
    const uint8_t *out = bench_at(bench.out);
    assert_memory_equal(out, in + 64, 48);
    assert_int_equal(out[48], 0);
}

static void bytes_from_and_within_shared_memory(void **state)
{
    (void)state;
    open_kernel(load_kernel(
        "st.shared.u32 [%r10+4096], 77;\nst.shared.u32 [%r10+4124], 78;\n"
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r10], "
        "[%r10+4096], 32, [%r11];\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%rd1+16384], [%r10], 16;\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"));
    run_load(32);
    const uint32_t *out = bench_at(bench.out);
    assert_int_equal(out[0], 77);
    assert_int_equal(out[7], 78);
    assert_int_equal(out[4096], 77);
    assert_int_equal(out[4096 + 7], 0);
}

/* A cache policy is one operand more, and changes nothing; so is what is only fetched ahead. */
static void hints_change_nothing(void **state)
{
    (void)state;
    open_kernel(load_kernel(
        "createpolicy.fractional.L2::evict_last.b64 %rd9;\n"
        "cp.async.bulk.prefetch.L2.global [%rd2], 16;\n"
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r10], "
        "[%rd2+1024], 16, [%r11], %rd9;\n"
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd2, {0, 0}];\n"
        "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd1+16384], [%r10], 16, "
        "%rd9;\n"));
    fill_tensor(16, 4);
    run_load(16);
    const uint16_t *out = bench_at(bench.out);
    assert_int_equal(out[7], 8);
    assert_int_equal(out[8192 + 7], 8);
    assert_int_equal(out[8192 + 8], 0);
}

/* Lane i stores the 16 bytes at 16 i, in the opposite order. */
static void each_lane_has_its_copy(void **state)
{
    (void)state;
    open_kernel(HEADER
                ".extern .shared .align 1024 .b8 s[];\n" BEGIN
                "mov.u32 %r10, s;\nmad.lo.u32 %r11, %r2, 16, %r10;\n"
                "st.shared.v4.u32 [%r11], {%r2, %r2, %r2, %r2};\nbar.sync 0;\n"
                "sub.u32 %r12, 31, %r2;\nmul.wide.u32 %rd6, %r12, 16;\nadd.s64 %rd7, %rd1, %rd6;\n"
                "setp.ge.u32 %p1, %r2, 4;\n"
                "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd7], [%r11], 16;\n"
                "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nret;\n}\n");
    const uint32_t *out = bench_results(1, 32, 0);
    for (uint32_t lane = 0; lane < 32; lane++)
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(out[(31 - lane) * 4 + i], lane >= 4 ? lane : 0);
}

/* The barrier's phase ends with the last of the bytes, not before. */
static void a_barrier_counts_bytes(void **state)
{
    (void)state;
    open_kernel(load_kernel(
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r10], [%rd2], 16, "
        "[%r11];\n"));
    bench.launch.step_limit = 20000;
    assert_int_equal(bench_run(32), EXEC_STOPPED);
    bench.launch.step_limit = 0;
    run_load(16);
}

/* ---- boxes ---- */

#define LOAD_2D(column, row)                                                                       \
    "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r10], [%rd2, " \
    "{" column ", " row "}], [%r11];\n"

static void boxes_of_a_tensor(void **state)
{
    static const struct {
        const char *column, *row;
        int first_column, first_row;
    } places[] = {{"8", "2", 8, 2}, {"-8", "-1", -8, -1}, {"40", "7", 40, 7}, {"8", "64", 8, 64}};
    static char copy[512];
    (void)state;
    for (unsigned p = 0; p < 4; p++) {
        snprintf(copy, sizeof copy, "mov.b32 %%r21, %s;\nmov.b32 %%r22, %s;\n%s", places[p].column,
                 places[p].row, LOAD_2D("%r21", "%r22"));
        open_kernel(load_kernel(copy));
        fill_tensor(16, 4);
        run_load(16 * 4 * 2);
        const uint16_t *out = bench_at(bench.out);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 16; j++)
                assert_int_equal(out[i * 16 + j],
                                 element(places[p].first_row + i, places[p].first_column + j));
        assert_int_equal(out[64], 0);
    }
}

/* Rows of 32, 64 and 128 bytes: chunks of 16 bytes exchanged by the place of the 128-byte line. */
static void boxes_are_swizzled(void **state)
{
    (void)state;
    for (unsigned swizzle = 1; swizzle <= 3; swizzle++) {
        const unsigned columns = 8u << swizzle;
        open_kernel(load_kernel(LOAD_2D("0", "0")));
        fill_tensor(columns, 8)->swizzle = (uint8_t)swizzle;
        run_load(columns * 8 * 2);
        const uint16_t *out = bench_at(bench.out);
        for (unsigned i = 0; i < 8; i++)
            for (unsigned j = 0; j < columns; j++) {
                const unsigned line = i * columns * 2 / 128, turn = line % (columns / 8);
                const unsigned chunk = j / 8 ^ turn;
                assert_int_equal(out[i * columns + chunk * 8 + j % 8], element((int)i, (int)j));
            }
    }
}

static void boxes_of_other_dimensions(void **state)
{
    (void)state;
    open_kernel(load_kernel(
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], "
        "[%rd2, {40}], [%r11];\n"));
    fill_tensor(16, 0)->last = 0;
    run_load(32);
    const uint16_t *out = bench_at(bench.out);
    for (int j = 0; j < 16; j++)
        assert_int_equal(out[j], element(0, 40 + j));
    /* [5][2][48]: rows taken in pairs. */
    open_kernel(load_kernel(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], "
        "[%rd2, {16, 1, 3}], [%r11];\n"));
    struct exec_tensor_map *map = fill_tensor(8, 2);
    map->last = 2;
    map->size[1] = 2;
    map->size[2] = 5;
    map->box[2] = 3;
    map->stride[1] = 4 * COLUMNS;
    run_load(8 * 2 * 3 * 2);
    out = bench_at(bench.out);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 8; j++)
                assert_int_equal(out[(k * 2 + i) * 8 + j],
                                 i == 0 && k < 2 ? element((3 + k) * 2 + 1, 16 + j) : 0);
}

static void what_is_outside_is_not_stored(void **state)
{
    (void)state;
    open_kernel(load_kernel(LOAD_2D(
        "0",
        "0") "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {40, 8}], [%r10];\n"));
    fill_tensor(16, 4);
    run_load(16 * 4 * 2);
    const uint16_t *numbers = (uint16_t *)((uint8_t *)bench_at(bench.in) + 1024);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            assert_int_equal(numbers[i * COLUMNS + j],
                             i >= 8 && j >= 40 ? element(i - 8, j - 40) : element(i, j));
    assert_int_equal(numbers[ROWS * COLUMNS], 0);
}

/* ---- maps that a kernel makes ---- */

#define REPLACE(field, rest) "tensormap.replace.tile." field ".shared::cta.b1024." rest ";\n"

static void a_map_made_by_the_kernel(void **state)
{
    (void)state;
    open_kernel(load_kernel(
        "add.u32 %r23, %r10, 4096;\nadd.s64 %rd7, %rd2, 1024;\n" REPLACE(
            "global_address", "b64 [%r23], %rd7") REPLACE("rank", "b32 [%r23], 1")
            REPLACE("box_dim", "b32 [%r23], 0, 16") REPLACE("box_dim", "b32 [%r23], 1, 4") REPLACE(
                "global_dim", "b32 [%r23], 0, 48") REPLACE("global_dim", "b32 [%r23], 1, 10")
                REPLACE("global_stride", "b64 [%r23], 0, 96")
                    REPLACE("element_stride", "b32 [%r23], 0, 1") REPLACE(
                        "element_stride", "b32 [%r23], 1, 1") REPLACE("elemtype", "b32 [%r23], 1")
                        REPLACE("interleave_layout", "b32 [%r23], 0") REPLACE("swizzle_mode",
                                                                              "b32 [%r23], 0")
                            REPLACE("fill_mode",
                                    "b32 [%r23], 0") "tensormap.cp_fenceproxy.global.shared::cta."
                                                     "tensormap::generic.release.gpu.sync.aligned "
                                                     "[%rd2], [%r23], 128;\n"
                                                     "fence.proxy.tensormap::generic.acquire.gpu "
                                                     "[%rd2], 128;\n" LOAD_2D("40", "1")));
    fill_tensor(16, 4);
    memset(bench_at(bench.in), 0, 128);
    run_load(16 * 4 * 2);
    const uint16_t *out = bench_at(bench.out);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 16; j++)
            assert_int_equal(out[i * 16 + j], element(1 + i, 40 + j));
}

/* ---- what is no copy ---- */

static void faulty(const char *copy, enum exec_outcome outcome, const char *words)
{
    open_kernel(load_kernel(copy));
    fill_tensor(16, 4);
    expect_fault(outcome, words);
}

static void faults(void **state)
{
    (void)state;
    faulty("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r10], [%rd2], 24, "
           "[%r11];\n",
           EXEC_ILLEGAL_INSTRUCTION, "multiple of 16");
    faulty("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r10], [%rd2+8], 16, "
           "[%r11];\n",
           EXEC_MISALIGNED, "cp.async.bulk");
    faulty(
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r10+16380], [%rd2], 32, "
        "[%r11];\n",
        EXEC_MISALIGNED, "cp.async.bulk");
    faulty(
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r10+16368], [%rd2], 32, "
        "[%r11];\n",
        EXEC_ILLEGAL_ADDRESS, "shared memory");
    faulty("add.u32 %r10, %r10, 64;\n" LOAD_2D("0", "0"), EXEC_MISALIGNED, "cp.async.bulk.tensor");
    faulty("add.s64 %rd2, %rd2, 1024;\n" LOAD_2D("0", "0"), EXEC_ILLEGAL_INSTRUCTION, "own layout");
    faulty("add.s64 %rd2, %rd2, 32;\n" LOAD_2D("0", "0"), EXEC_MISALIGNED, "a tensor map");
    faulty("mov.b64 %rd2, 64;\n" LOAD_2D("0", "0"), EXEC_ILLEGAL_ADDRESS, "a tensor map");
    faulty("cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%r10], [%rd2, "
           "{0}], [%r11];\n",
           EXEC_ILLEGAL_INSTRUCTION, "does not fit");
    faulty("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {0, -1}], [%r10];\n",
           EXEC_ILLEGAL_INSTRUCTION, "before the tensor");
    faulty(LOAD_2D("3", "0"), EXEC_ILLEGAL_INSTRUCTION, "multiple of 16 bytes");
    faulty("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {3, 0}], [%r10];\n",
           EXEC_ILLEGAL_INSTRUCTION, "multiple of 16 bytes");
}

static void maps_of_what_is_not_supported(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 7; i++) {
        open_kernel(load_kernel(LOAD_2D("0", "0")));
        struct exec_tensor_map *map = fill_tensor(16, 4);
        const char *words = i < 5 ? "not supported" : "does not fit";
        map->interleave = i == 0;
        map->fill = i == 1;
        map->swizzle = i == 2 ? 4 : 0;
        map->step[1] = i == 3 ? 2 : 1;
        map->type = i == 4 ? 11 : TYPE_U16;
        map->box[0] = i == 5 ? 12 : 16;
        if (i == 6) { /* rows of 128 bytes in a pattern of 64 */
            map->type = TYPE_F32;
            map->box[0] = 32;
            map->swizzle = 2;
        }
        expect_fault(EXEC_ILLEGAL_INSTRUCTION, words);
    }
}

static void what_is_not_known_is_refused(void **state)
{
    static const char *const copies[] = {
        "cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r10], "
        "[%rd2, {0, 0, 0}], [%r11], {%h1};\n",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes."
        "multicast::cluster [%r10], [%rd2, {0, 0}], [%r11], %h1;\n",
        "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r10], [%rd2, "
        "{0}], [%r11];\n",
        "cp.async.bulk.global.shared::cta [%rd1], [%r10], 16;\n",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r10], 16;\n",
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r10], 5, 16;\n",
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r10], %r1;\n",
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
        "[%rd2], [%r10], 64;\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        struct error err = {{0}};
        if (bench_try(load_kernel(copies[i]), &err) != STATUS_UNSUPPORTED)
            fail_msg("copy %zu: \"%s\"", i, err.text);
    }
}

static int close_bench(void **state)
{
    (void)state;
    bench_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_to_shared_memory),
        cmocka_unit_test(bytes_from_and_within_shared_memory),
        cmocka_unit_test(hints_change_nothing),
        cmocka_unit_test(each_lane_has_its_copy),
        cmocka_unit_test(a_barrier_counts_bytes),
        cmocka_unit_test(boxes_of_a_tensor),
        cmocka_unit_test(boxes_are_swizzled),
        cmocka_unit_test(boxes_of_other_dimensions),
        cmocka_unit_test(what_is_outside_is_not_stored),
        cmocka_unit_test(a_map_made_by_the_kernel),
        cmocka_unit_test(faults),
        cmocka_unit_test(maps_of_what_is_not_supported),
        cmocka_unit_test(what_is_not_known_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, close_bench);
}
