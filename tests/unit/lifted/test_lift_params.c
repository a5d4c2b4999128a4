/* test_lift_params.c - a launch's parameters, in which tensor maps are what they describe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bind/tensor_maps.h"
#include "lift/bulk/bundled_map.h"
#include "lifted/lift_params.h"

enum { FLOAT16 = 6, FLOAT32 = 7 };

/* Stores numbers of f16 to the tensor of its first parameter. */
static const char text[] =
    ".version 8.3\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .align 64 .b8 m[128], .param .u64 a)\n{\n"
    ".shared .align 128 .b8 s[4096];\n"
    ".reg .b32 %r<4>; .reg .f32 %f<3>; .reg .b64 %d<5>; .reg .b16 %h<2>;\n"
    "mov.b64 %d1, m; cvta.param.u64 %d2, %d1; ld.param.u64 %d3, [a]; mov.b32 %r1, s;\n"
    "mov.b32 %r2, 0; ld.global.f32 %f1, [%d3]; add.f32 %f2, %f1, %f1; cvt.rn.f16.f32 %h1, %f2;\n"
    "st.shared.b16 [%r1], %h1;\n"
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d2, {%r2, %r2}], [%r1];\nret;\n}\n";

static const struct param_layout layout = {.count = 2, .param = {{0, 128, 0}, {128, 8, 0}}};
static uint8_t packed[136];
static const uint64_t size[] = {64, 10, 3}, stride[] = {128, 1280};
static const uint32_t box[] = {64, 8, 1}, step[] = {1, 1, 1};

/* The driver's bytes of a map are the parameter's. */
static void encode(uint8_t number, unsigned rank, unsigned type)
{
    memset(packed, number, sizeof packed);
    tensor_maps_note(&(struct tensor_map_call){.map = packed,
                                               .type = type,
                                               .rank = rank,
                                               .address = (const void *)0x7000,
                                               .size = size,
                                               .stride = stride,
                                               .box = box,
                                               .step = step});
}

static struct lift *lifted(void)
{
    struct error err = {{0}};
    struct lift *lift = NULL;
    if (lift_make(&lift, text, sizeof text - 1, "k", 0, &err))
        fail_msg("%s", err.text);
    assert_true(lift_has_maps(lift));
    return lift;
}

static void a_map_becomes_what_it_describes(void **state)
{
    const struct launch launch = {.packed = packed, .packed_bytes = sizeof packed};
    struct lift *lift = lifted();
    struct lift_params params;
    struct error why = {{0}};
    (void)state;
    encode(1, 2, FLOAT16);
    assert_int_equal(lift_params_make(&params, lift, &launch, &layout, &why), SKIP_NONE);
    const struct lift_map *map = params.param[0];
    assert_int_equal(map->address, 0x7000);
    assert_int_equal(map->bytes, 9 * 128 + 128);
    assert_int_equal(map->box[1], 8);
    assert_ptr_equal(params.param[1], packed + 128);
    lift_free(lift);
}

static void maps_that_do_not_fit_have_reasons(void **state)
{
    static const struct {
        unsigned rank, type; /* rank 0: it is not encoded */
        const char *reason;
    } rows[] = {{0, 0, "argument 'p0' is a tensor map that is not known"},
                {3, FLOAT16, "a tensor map of 3 dims, the kernel takes 2"},
                {2, FLOAT32, "elements of 4 bytes, the kernel writes some of 2"}};
    struct lift *lift = lifted();
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *pointers[] = {packed, packed + 128};
        const struct launch launch = {.params = pointers};
        struct lift_params params;
        struct error why = {{0}};
        memset(packed, 100 + (int)i, sizeof packed);
        if (rows[i].rank)
            encode((uint8_t)(100 + i), rows[i].rank, rows[i].type);
        assert_int_equal(lift_params_make(&params, lift, &launch, &layout, &why), SKIP_SHAPE);
        assert_non_null(strstr(why.text, rows[i].reason));
    }
    lift_free(lift);
}

static void a_bundle_has_what_it_describes(void **state)
{
    struct lift *lift = lifted();
    uint8_t out[sizeof packed];
    struct bundled_map map;
    (void)state;
    encode(2, 2, FLOAT16);
    lift_params_bundle(out, lift, packed, sizeof packed, &layout);
    memcpy(&map, out, sizeof map);
    assert_true(map.kind == BUNDLED_MAP);
    assert_int_equal(map.address, 0x7000);
    assert_int_equal(map.last, 1);
    assert_int_equal(map.type, 1); /* u16 */
    assert_int_equal(map.size[1], 10);
    assert_int_equal(map.stride[0], 128);
    assert_memory_equal(out + 128, packed + 128, 8);
    memset(packed, 99, sizeof packed); /* one that is not known stays */
    lift_params_bundle(out, lift, packed, sizeof packed, &layout);
    assert_memory_equal(out, packed, sizeof packed);
    lift_free(lift);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_becomes_what_it_describes),
        cmocka_unit_test(maps_that_do_not_fit_have_reasons),
        cmocka_unit_test(a_bundle_has_what_it_describes),
    };
    tensor_maps_keep();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
