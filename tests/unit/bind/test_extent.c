/* Extents: what may be read, and the sentence for what may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include "driver/cuda_api.h"
#include "tests/unit/fakes/fake_memory.h"
#include "tests/unit/common/says.h"
#include "bind/extent.h"

/* One allocation of 4 KiB on device 1, or a reservation of 1 MiB of which 8 KiB are mapped. */
enum { START = 0x100000, SIZE = 4096, RESERVED = 0x800000, RESERVED_SIZE = 1 << 20, MAPPED = 8192 };
static CUdeviceptr late; /* of the reservation: it begins that late and is that much shorter */

static CUresult attributes(unsigned count, CUpointer_attribute *wanted, void **into,
                           CUdeviceptr address)
{
    int known = address >= START && address < START + SIZE;
    int reserved = address >= RESERVED + late && address < RESERVED + RESERVED_SIZE;
    const struct fake_range allocation = {START, SIZE, 1, (void *)1},
                            reservation = {RESERVED + late, RESERVED_SIZE - late, 1, NULL};
    if (known || reserved)
        fake_range_describe(known ? &allocation : &reservation, count, wanted, into);
    return CUDA_SUCCESS;
}

/* Mappings of 4 KiB. */
static CUresult attribute(void *out, CUpointer_attribute wanted, CUdeviceptr address)
{
    if (address < RESERVED || address >= RESERVED + MAPPED)
        return CUDA_ERROR_INVALID_VALUE;
    if (wanted == CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR)
        *(CUdeviceptr *)out = address / 4096 * 4096;
    else
        *(size_t *)out = 4096;
    return CUDA_SUCCESS;
}

static int install(void **state)
{
    (void)state;
    cuda.cuPointerGetAttributes = attributes;
    cuda.cuPointerGetAttribute = attribute;
    return 0;
}

static void ranges_inside_are_accepted(void **state)
{
    (void)state;
    assert_int_equal(extent_check(START, SIZE, 1, NULL), STATUS_OK);
    assert_int_equal(extent_check(START + 100, SIZE - 100, 1, NULL), STATUS_OK);
    assert_int_equal(extent_check(RESERVED + 100, MAPPED - 100, 1, NULL), STATUS_OK);
}

static void refuses(uint64_t address, uint64_t bytes, int device, const char *part)
{
    struct error err = {{0}};
    assert_int_equal(extent_check(address, bytes, device, &err), STATUS_INVALID);
    expect_says(err.text, part);
}

static void ranges_outside_are_refused(void **state)
{
    (void)state;
    refuses(START, SIZE + 1, 1, "outside the allocation");
    refuses(START + SIZE - 1, 2, 1, "outside the allocation");
    refuses(START, UINT64_MAX, 1, "outside the allocation");
    refuses(0x10, 4, 1, "no memory of the driver's");
    refuses(START, 4, 0, "device 1");
    refuses(RESERVED, MAPPED + 1, 1, "not mapped");
}

static void the_room_ends_with_what_is_mapped(void **state)
{
    (void)state;
    uint64_t bytes = 0;
    struct error err = {{0}};
    assert_int_equal(extent_room(START + 96, &bytes, &err), STATUS_OK);
    assert_int_equal(bytes, SIZE - 96);
    assert_int_equal(extent_room(RESERVED + 100, &bytes, &err), STATUS_OK);
    assert_int_equal(bytes, MAPPED - 100);
    assert_int_equal(extent_room(RESERVED + MAPPED, &bytes, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "not mapped"));
    assert_int_equal(extent_room(0x10, &bytes, &err), STATUS_INVALID);
}

static void expect_around(uint64_t address, uint64_t bytes, uint64_t from, uint64_t to)
{
    uint64_t begin = 0, end = 0;
    assert_int_equal(extent_around(address, bytes, 1, &begin, &end, NULL), STATUS_OK);
    assert_int_equal(begin, from);
    assert_int_equal(end, to);
}

static void what_lies_around_may_be_read_too(void **state)
{
    (void)state;
    uint64_t begin, end;
    struct error err = {{0}};
    expect_around(START + 8, 8, START, START + SIZE);
    expect_around(RESERVED + 5000, 8, RESERVED + 4096, RESERVED + MAPPED);
    expect_around(RESERVED + 100, 8, RESERVED, RESERVED + MAPPED);
    late = 64; /* an allocation of a pool begins somewhere in a mapping */
    expect_around(RESERVED + 100, 8, RESERVED + 64, RESERVED + MAPPED);
    late = 0;
    assert_int_equal(extent_around(START, SIZE + 1, 1, &begin, &end, NULL), STATUS_INVALID);
    assert_int_equal(extent_around(START, 8, 0, &begin, &end, NULL), STATUS_INVALID);
    assert_int_equal(extent_around(RESERVED + MAPPED - 4, 8, 1, &begin, &end, &err),
                     STATUS_INVALID);
    assert_non_null(strstr(err.text, "not mapped"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_inside_are_accepted),
        cmocka_unit_test(ranges_outside_are_refused),
        cmocka_unit_test(the_room_ends_with_what_is_mapped),
        cmocka_unit_test(what_lies_around_may_be_read_too),
    };
    return cmocka_run_group_tests(tests, install, NULL);
}
