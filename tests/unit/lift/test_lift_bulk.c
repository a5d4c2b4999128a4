/* test_lift_bulk.c - kernels of Triton 3.6 that copy boxes of tensors by their maps, held against
 * their own PTX. */
#include "lift_bench.h"
#define PTX(name) "tests/unit/lift/ptx/" name ".ptx"

enum { SHARED = 32 << 10, TILE_M = 64, TILE_N = 32, TILE_K = 32 };

/* A product of matrices: c (m x n) of a (m x k) and b (n x k), f16; or c is e5m2. */
struct shape {
    unsigned grid, m, n, k;
    bool takes_m; /* the kernel does */
    bool made;    /* and makes the maps itself */
    bool roles;   /* and has warps that copy, beside those that multiply */
    bool e5m2;
};

/* A matrix, its map in the kernel's parameters and where they have it. */
struct matrix {
    uint64_t address;
    size_t at;
    struct lift_map map;
};

static uint64_t address_of_matrix(const struct shape *shape, unsigned i, struct matrix *out)
{
    const unsigned rows = i == 1 ? shape->n : shape->m, columns = i == 2 ? shape->n : shape->k;
    const unsigned lines = i == 1 ? TILE_N : TILE_M, element = i == 2 && shape->e5m2 ? 1 : 2;
    out->address = new_area((uint64_t)rows * columns * element);
    out->map = (struct lift_map){.address = out->address,
                                 .bytes = (uint64_t)rows * columns * element,
                                 .stride = {columns * element},
                                 .size = {columns, rows},
                                 .box = {32, lines},
                                 .rank = 2,
                                 .element = element,
                                 .swizzle = 2};
    return out->address;
}

static void fill_matrix(uint64_t address)
{
    const struct area *a = area_of(address);
    uint32_t state = (uint32_t)address;
    for (uint64_t i = 0; i < a->bytes / 2; i++) {
        state = state * 1664525u + 1013904223u;
        ((uint16_t *)(void *)a->host)[i] = (uint16_t)(0x2c00 + (state >> 16 & 0x0fff));
    }
}

/* As the interpreter has a map. */
static struct exec_tensor_map exec_map(const struct lift_map *map)
{
    struct exec_tensor_map out = {.kind = EXEC_TENSOR_MAP,
                                  .address = map->address,
                                  .last = (uint8_t)(map->rank - 1),
                                  .type = map->element == 2 ? 6 : 2,
                                  .swizzle = (uint8_t)map->swizzle};
    for (unsigned i = 0; i < map->rank; i++) {
        out.size[i] = map->size[i];
        out.box[i] = (uint16_t)map->box[i];
        out.step[i] = 1;
        if (i)
            out.stride[i - 1] = map->stride[i - 1];
    }
    return out;
}

/* Triton passes a map, its sizes and its strides. */
static void add_matrix(struct bench_params *p, struct matrix *matrix)
{
    const struct exec_tensor_map map = exec_map(&matrix->map);
    p->end = matrix->at = (p->end + 63) / 64 * 64;
    memcpy(p->bytes + p->end, &map, sizeof map);
    p->end += sizeof(struct lift_map);
    add_param(p, matrix->map.size[1], 4);
    add_param(p, matrix->map.size[0], 4);
    add_param(p, matrix->map.stride[0] / 2, 8);
    add_param(p, 1, 8);
}

/* Of maps that the kernel makes the addresses, and memory for them. */
static void add_matrices(struct bench_params *p, const struct shape *shape, struct matrix *matrix)
{
    for (unsigned i = 0; i < 3; i++) {
        if (shape->made)
            add_param(p, matrix[i].address, 8);
        else
            add_matrix(p, &matrix[i]);
    }
    if (shape->takes_m)
        add_param(p, shape->m, 4);
    add_param(p, shape->k, 4);
    add_param(p, shape->made ? new_area(shape->grid * 4 * sizeof(struct lift_map)) : 0, 8);
    add_param(p, 0, 8);
}

struct bulk_case {
    const char *path, *kernel;
    struct shape shape;
    bench_fill_fn damage;
};

/* The launch, `damage` done to what it wrote, and its check. */
static struct bench_result check_bulk(const struct bulk_case *c)
{
    const struct bench_launch launch = {.kernel = c->kernel,
                                        .grid = c->shape.grid,
                                        .block = c->shape.roles ? 384 : 128,
                                        .shared = SHARED};
    struct bench_result out = {0};
    struct bench_params params = {0};
    struct matrix matrix[3];
    uint64_t before[PARAMS] = {0};
    size_t bytes;
    char *text = read_file(c->path, &bytes);
    struct lift *lift = lift_file(&launch, text, bytes, &out);
    if (!lift)
        fail_msg("%s", out.refused);
    for (unsigned i = 0; i < 3; i++) {
        fill_matrix(address_of_matrix(&c->shape, i, &matrix[i]));
        const unsigned param = c->shape.made ? i : 5 * i;
        params.array[param] = matrix[i].address;
        before[param] = copy_area(matrix[i].address);
    }
    add_matrices(&params, &c->shape, matrix);
    run_ptx(text, bytes, c->kernel, &launch, SHARED, params.bytes);
    if (c->damage)
        c->damage(2, host_of(matrix[2].address), matrix[2].map.bytes);
    for (unsigned i = 0; i < 3 && !c->shape.made; i++)
        memcpy(params.bytes + matrix[i].at, &matrix[i].map, sizeof matrix[i].map);
    run_lifted(lift, &launch, &params, before, &out);
    lift_free(lift);
    free(text);
    free_areas();
    return out;
}

/* The last element is 8 ulp too small. */
static void lose(unsigned param, void *array, uint64_t bytes)
{
    (void)param;
    uint16_t *last = (uint16_t *)array + bytes / 2 - 1;
    *last = (uint16_t)(*last - 8);
}

static const struct bulk_case right = {
    PTX("boxes"), "boxes", {3, 192, 32, 128, false, false, false, false}, NULL};

static void a_right_product_is_quiet(void **state)
{
    (void)state;
    const struct bench_result r = check_bulk(&right);
    assert_int_equal(r.verdict.refused, 0);
    assert_int_equal(r.verdict.checked, 192 * 32);
    assert_int_equal(r.verdict.violations, 0);
    assert_int_equal(r.verdict.wide, 0);
}

static void what_lies_outside_of_the_tensors_is_zero(void **state)
{
    (void)state;
    const struct bulk_case c = {
        PTX("boxes"), "boxes", {3, 150, 24, 72, false, false, false, false}, NULL};
    const struct bench_result r = check_bulk(&c);
    assert_int_equal(r.verdict.refused, 0);
    assert_int_equal(r.verdict.checked, 150 * 24);
    assert_int_equal(r.verdict.violations, 0);
}

static void a_kernel_that_goes_on_is_quiet(void **state)
{
    (void)state;
    const struct bulk_case c = {
        PTX("boxes_on"), "boxes_on", {2, 300, 32, 96, true, false, false, false}, NULL};
    bench_apart = true;
    const struct bench_result r = check_bulk(&c);
    bench_apart = false;
    assert_int_equal(r.verdict.refused, 0);
    assert_int_equal(r.verdict.checked, 300 * 32);
    assert_int_equal(r.verdict.violations, 0);
}

static void maps_that_the_kernel_makes_are_followed(void **state)
{
    (void)state;
    struct bulk_case c = {
        PTX("boxes_made"), "boxes_made", {3, 150, 32, 72, true, true, false, false}, NULL};
    struct bench_result r = check_bulk(&c);
    assert_int_equal(r.verdict.refused, 0);
    assert_int_equal(r.verdict.checked, 150 * 32);
    assert_int_equal(r.verdict.violations, 0);
    c.path = PTX("boxes_made_narrow");
    c.shape.k = 512;
    r = check_bulk(&c);
    assert_int_equal(r.verdict.refused, 0);
    assert_true(r.verdict.violations > 0);
}

/* The last number is two steps larger. */
static void move_last(unsigned param, void *array, uint64_t bytes)
{
    (void)param;
    ((uint8_t *)array)[bytes - 1] += 2;
}

static void boxes_of_8_bits_are_compared(void **state)
{
    (void)state;
    struct bulk_case c = {
        PTX("boxes_to_e5m2"), "boxes_made", {3, 150, 32, 72, true, true, false, true}, NULL};
    struct bench_result r = check_bulk(&c);
    assert_int_equal(r.verdict.refused, 0);
    assert_int_equal(r.verdict.checked, 150 * 32);
    assert_int_equal(r.verdict.violations, 0);
    assert_int_equal(r.verdict.wide, 0);
    c.damage = move_last;
    r = check_bulk(&c);
    assert_int_equal(r.verdict.violations, 1);
    assert_int_equal(r.verdict.first_index, 150 * 32 - 1);
    c.damage = NULL;
    c.path = PTX("boxes_to_e5m2_narrow");
    c.shape.k = 512;
    r = check_bulk(&c);
    assert_true(r.verdict.violations > 10);
}

static void warps_have_roles(void **state)
{
    (void)state;
    struct bulk_case c = {
        PTX("boxes_roles"), "boxes_roles", {2, 150, 32, 168, true, true, true, false}, NULL};
    struct bench_result r = check_bulk(&c);
    assert_int_equal(r.verdict.refused, 0);
    assert_int_equal(r.verdict.checked, 150 * 32);
    assert_int_equal(r.verdict.violations, 0);
    bench_apart = true;
    r = check_bulk(&c);
    assert_int_equal(r.verdict.violations, 0);
    c.path = PTX("boxes_roles_narrow");
    c.shape.k = 512;
    r = check_bulk(&c);
    bench_apart = false;
    assert_int_equal(r.verdict.refused, 0);
    assert_true(r.verdict.violations > 0);
}

static void sums_in_bf16_are_found(void **state)
{
    (void)state;
    const struct bulk_case c = {
        PTX("boxes_narrow"), "boxes", {1, 64, 32, 512, false, false, false, false}, NULL};
    const struct bench_result r = check_bulk(&c);
    assert_int_equal(r.verdict.refused, 0);
    assert_true(r.verdict.violations > 0);
}

static void a_wrong_element_is_found(void **state)
{
    (void)state;
    struct bulk_case c = right;
    c.damage = lose;
    const struct bench_result r = check_bulk(&c);
    assert_int_equal(r.verdict.violations, 1);
    assert_int_equal(r.verdict.first_index, 192 * 32 - 1);
}

static void a_box_outside_of_the_snapshot_is_refused(void **state)
{
    (void)state;
    bench_cut = 64;
    const struct bench_result r = check_bulk(&right);
    bench_cut = 0;
    assert_true(r.verdict.refused > 0);
    assert_true(r.verdict.checked < 192 * 32);
}

/* A box of three dims that begins before the tensor and ends behind it, to another tensor, whose
 * end lies in the box. */
static const char cube[] =
    ".version 8.3\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .align 64 .b8 x[128], .param .align 64 .b8 y[128])\n{\n"
    ".shared .align 128 .b8 s[384];\n.shared .align 8 .b8 w[8];\n"
    ".reg .b32 %r<6>; .reg .b64 %d<5>; .reg .pred %p<3>;\n"
    "mov.b64 %d1, x; cvta.param.u64 %d2, %d1; mov.b64 %d3, y; cvta.param.u64 %d4, %d3;\n"
    "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; mov.b32 %r2, s; mov.b32 %r3, w;\n"
    "mov.b32 %r4, 0; mov.b32 %r5, 1;\n"
    "@%p1 mbarrier.init.shared::cta.b64 [%r3], 1; bar.sync 0;\n"
    "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 384;\n"
    "@%p1 cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2],"
    " [%d2, {-4, %r5, %r4}], [%r3];\n"
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], %r4; @!%p2 bra WAIT;\n"
    "@%p1 cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%d4, {%r4, %r4, %r4}], [%r2];\n"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\nret;\n}\n";

static void boxes_have_three_dims(void **state)
{
    const struct bench_launch launch = {.kernel = "k", .grid = 1, .block = 64};
    struct lift_map map[2] = {{.stride = {80, 400}, .size = {20, 5, 2}},
                              {.stride = {32, 96}, .size = {6, 3, 3}}};
    struct bench_params params = {0};
    struct bench_result r = {0};
    uint64_t before[PARAMS] = {0};
    struct lift *lift = lift_file(&launch, cube, sizeof cube - 1, &r);
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        params.array[i] = map[i].address = new_area(800);
        memcpy(map[i].box, (const uint32_t[]){8, 4, 3}, 12);
        map[i].rank = 3;
        map[i].element = 4;
        fill_matrix(map[i].address);
        before[i] = copy_area(map[i].address);
        const struct exec_tensor_map own = exec_map(&map[i]);
        memcpy(params.bytes + 128 * i, &own, sizeof own);
    }
    params.end = 256;
    run_ptx(cube, sizeof cube - 1, "k", &launch, 0, params.bytes);
    ((uint8_t *)host_of(map[1].address))[2 * 96 + 2 * 32 + 23] ^= 1; /* the last one */
    memcpy(params.bytes, map, sizeof map);
    run_lifted(lift, &launch, &params, before, &r);
    assert_int_equal(r.verdict.refused, 0);
    assert_int_equal(r.verdict.checked, 6 * 3 * 3 * 4);
    assert_int_equal(r.verdict.violations, 1);
    assert_int_equal(r.verdict.first_index, 2 * 96 + 2 * 32 + 23);
    lift_free(lift);
    free_areas();
}

/* One warp stores numbers that have shadows; the other has a box copied to their place. */
static const char replaced[] =
    ".version 8.3\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .align 64 .b8 x[128], .param .u64 y)\n.reqntid 64\n{\n"
    ".shared .align 128 .b8 s[128];\n.shared .align 8 .b8 w[8];\n"
    ".reg .b32 %r<9>; .reg .f32 %f<4>; .reg .b64 %d<6>; .reg .pred %p<4>;\n"
    "mov.b64 %d1, x; cvta.param.u64 %d2, %d1; ld.param.u64 %d3, [y]; mov.u32 %r1, %tid.x;\n"
    "setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, 32; mov.b32 %r2, s; mov.b32 %r3, w;\n"
    "mov.b32 %r4, 0; @%p1 mbarrier.init.shared::cta.b64 [%r3], 1; bar.sync 0;\n"
    "@%p2 bra FIRST;\n"
    "and.b32 %r5, %r1, 31; shl.b32 %r6, %r5, 2; add.s32 %r7, %r2, %r6;\n"
    "cvt.rn.f32.u32 %f1, %r5; mul.rn.f32 %f1, %f1, 0f3DCCCCCD; st.shared.f32 [%r7], %f1;\n"
    "bar.sync 1, 64;\n"
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], %r4; @!%p3 bra WAIT;\n"
    "ld.shared.f32 %f2, [%r7]; add.rn.f32 %f3, %f2, %f2;\n"
    "mul.wide.u32 %d4, %r5, 4; add.s64 %d5, %d3, %d4; st.global.f32 [%d5], %f3; ret;\n"
    "FIRST: bar.sync 1, 64;\n"
    "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;\n"
    "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2],"
    " [%d2, {%r4, %r4}], [%r3];\nret;\n}\n";

static void boxes_take_the_place_of_numbers(void **state)
{
    const struct bench_launch launch = {.kernel = "k", .grid = 1, .block = 64};
    struct lift_map map = {.bytes = 128, .size = {32, 1}, .stride = {128}, .box = {32, 1}};
    struct bench_params params = {0};
    struct bench_result r = {0};
    uint64_t before[PARAMS] = {0};
    struct lift *lift = lift_file(&launch, replaced, sizeof replaced - 1, &r);
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        params.array[i] = new_area(128);
        for (unsigned k = 0; k < 32; k++)
            ((float *)host_of(params.array[i]))[k] = (float)k + 0.7f;
        before[i] = copy_area(params.array[i]);
    }
    map.address = params.array[0];
    map.rank = 2;
    map.element = 4;
    const struct exec_tensor_map own = exec_map(&map);
    memcpy(params.bytes, &own, sizeof own);
    params.end = sizeof map;
    add_param(&params, params.array[1], 8);
    run_ptx(replaced, sizeof replaced - 1, "k", &launch, 0, params.bytes);
    memcpy(params.bytes, &map, sizeof map);
    run_lifted(lift, &launch, &params, before, &r);
    assert_int_equal(r.verdict.refused, 0);
    assert_int_equal(r.verdict.checked, 32);
    assert_int_equal(r.verdict.violations, 0);
    lift_free(lift);
    free_areas();
}

/* Numbers of f32 that are copied by a map of bytes, which the kernel makes. */
#define FIELD(name, value) "tensormap.replace.tile." name "[%d4], " value ";\n"
#define WORD(name, value)  FIELD(name ".shared::cta.b1024.b32 ", value)
static const char bytewise[] =
    ".version 8.3\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 y, .param .u64 t)\n.reqntid 32\n{\n"
    ".shared .align 128 .b8 s[256];\n"
    ".reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %d<6>; .reg .pred %p<2>;\n"
    "ld.param.u64 %d2, [y]; ld.param.u64 %d3, [t]; mov.u32 %r1, %tid.x; mov.b32 %r2, s;\n"
    "add.s32 %r3, %r2, 128; cvt.u64.u32 %d4, %r3; mov.b64 %d5, 128; mov.b32 %r4, 0;\n" FIELD(
        "global_address.shared::cta.b1024.b64 ", "%d2") WORD("rank", "1") WORD("box_dim", "0, 128")
        WORD("box_dim", "1, 1") WORD("global_dim", "0, 128") WORD("global_dim", "1, 1") FIELD(
            "global_stride.shared::cta.b1024.b64 ",
            "0, %d5") WORD("element_stride", "0, 1") WORD("element_stride", "1, 1")
            WORD("elemtype", "0") WORD("interleave_layout", "0") WORD("swizzle_mode", "0") WORD(
                "fill_mode",
                "0") "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu."
                     "sync.aligned"
                     " [%d3], [%d4], 128;\nfence.proxy.tensormap::generic.acquire.gpu [%d3], 128;\n"
                     "cvt.rn.f32.u32 %f1, %r1; mul.rn.f32 %f1, %f1, 0f3DCCCCCD;\n"
                     "shl.b32 %r5, %r1, 2; add.s32 %r5, %r5, %r2; st.shared.f32 [%r5], %f1; "
                     "bar.sync 0;\n"
                     "setp.eq.u32 %p1, %r1, 0;\n"
                     "@%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d3, {%r4, "
                     "%r4}], [%r2];\n"
                     "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\nret;\n}\n";

static void of_numbers_no_bytes_are_compared(void **state)
{
    const struct bench_launch launch = {.kernel = "k", .grid = 1, .block = 32};
    struct bench_params params = {0};
    struct bench_result r = {0};
    uint64_t before[PARAMS] = {0};
    struct lift *lift = lift_file(&launch, bytewise, sizeof bytewise - 1, &r);
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        params.array[i] = new_area(128);
        before[i] = copy_area(params.array[i]);
        add_param(&params, params.array[i], 8);
    }
    run_ptx(bytewise, sizeof bytewise - 1, "k", &launch, 0, params.bytes);
    run_lifted(lift, &launch, &params, before, &r);
    assert_int_equal(r.verdict.refused, 0);
    assert_int_equal(r.verdict.checked, 0);
    assert_int_equal(r.verdict.violations, 0);
    lift_free(lift);
    free_areas();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_product_is_quiet),
        cmocka_unit_test(what_lies_outside_of_the_tensors_is_zero),
        cmocka_unit_test(a_kernel_that_goes_on_is_quiet),
        cmocka_unit_test(maps_that_the_kernel_makes_are_followed),
        cmocka_unit_test(boxes_of_8_bits_are_compared),
        cmocka_unit_test(warps_have_roles),
        cmocka_unit_test(boxes_have_three_dims),
        cmocka_unit_test(boxes_take_the_place_of_numbers),
        cmocka_unit_test(of_numbers_no_bytes_are_compared),
        cmocka_unit_test(sums_in_bf16_are_found),
        cmocka_unit_test(a_wrong_element_is_found),
        cmocka_unit_test(a_box_outside_of_the_snapshot_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
