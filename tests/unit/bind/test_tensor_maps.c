/* test_tensor_maps.c - what is known of the program's tensor maps, by their bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bind/tensor_maps.h"
#include "lift/lift_abi.h"

/* The numbers of CUtensorMapDataType. */
enum { FLOAT16 = 6, FLOAT32_FTZ = 10 };

static uint8_t bytes[TENSOR_MAP_BYTES];
static const uint64_t size[] = {100, 60, 7}, stride[] = {208, 208 * 64};
static const uint32_t box[] = {64, 16, 1}, step[] = {1, 1, 1};
static const struct tensor_map_call plain = {.map = bytes,
                                             .type = FLOAT16,
                                             .rank = 3,
                                             .address = (const void *)0x10000,
                                             .size = size,
                                             .stride = stride,
                                             .box = box,
                                             .step = step,
                                             .swizzle = 3};

static void name_map(uint32_t number)
{
    memset(bytes, 0xa5, sizeof bytes);
    memcpy(bytes + 40, &number, sizeof number);
}

static void nothing_is_noted_before_it_is_wanted(void **state)
{
    struct lift_map map;
    (void)state;
    name_map(1);
    tensor_maps_note(&plain);
    assert_false(tensor_maps_find(bytes, &map));
    tensor_maps_keep();
    assert_false(tensor_maps_find(bytes, &map));
}

static void a_map_is_known_by_its_bytes(void **state)
{
    struct lift_map map;
    (void)state;
    name_map(1);
    tensor_maps_note(&plain);
    assert_true(tensor_maps_find(bytes, &map));
    assert_int_equal(map.address, 0x10000);
    assert_int_equal(map.bytes, 100 * 2 + 59 * 208 + 6 * 208 * 64);
    assert_int_equal(map.rank, 3);
    assert_int_equal(map.element, 2);
    assert_int_equal(map.size[2], 7);
    assert_int_equal(map.box[1], 16);
    assert_int_equal(map.stride[1], 208 * 64);
    name_map(2);
    assert_false(tensor_maps_find(bytes, &map));
}

/* As where memory is freed and another tensor comes to lie there. */
static void the_last_call_counts(void **state)
{
    struct tensor_map_call call = plain;
    struct lift_map map;
    (void)state;
    name_map(1);
    call.address = (const void *)0x20000;
    tensor_maps_note(&call);
    assert_true(tensor_maps_find(bytes, &map));
    assert_int_equal(map.address, 0x20000);
}

static void maps_without_a_rule_are_left_out(void **state)
{
    static const uint64_t large[] = {100, (uint64_t)1 << 32, 7}, far[] = {208, UINT64_MAX / 2};
    static const uint32_t narrow[] = {32, 16, 1}, two[] = {1, 2, 1};
    struct tensor_map_call call[8];
    struct lift_map map;
    (void)state;
    for (unsigned i = 0; i < 8; i++)
        call[i] = plain;
    call[0].type = FLOAT32_FTZ;
    call[1].interleave = 1;
    call[2].fill = 1;
    call[3].step = two;
    call[4].size = large;
    call[5].box = narrow; /* rows of half the width that the swizzling has */
    call[6].stride = far;
    call[7].swizzle = 4;
    for (unsigned i = 0; i < 8; i++) {
        name_map(100 + i);
        tensor_maps_note(&call[i]);
        assert_false(tensor_maps_find(bytes, &map));
    }
}

static void the_oldest_are_forgotten(void **state)
{
    struct lift_map map;
    unsigned known = 0;
    (void)state;
    for (uint32_t i = 0; i < 4 * TENSOR_MAPS; i++) {
        name_map(1000 + i);
        tensor_maps_note(&plain);
        assert_true(tensor_maps_find(bytes, &map));
    }
    for (uint32_t i = 0; i < 4 * TENSOR_MAPS; i++) {
        name_map(1000 + i);
        known += tensor_maps_find(bytes, &map);
    }
    assert_int_equal(known, TENSOR_MAPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_noted_before_it_is_wanted),
        cmocka_unit_test(a_map_is_known_by_its_bytes),
        cmocka_unit_test(the_last_call_counts),
        cmocka_unit_test(maps_without_a_rule_are_left_out),
        cmocka_unit_test(the_oldest_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
