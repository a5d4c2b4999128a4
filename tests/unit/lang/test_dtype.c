/* Values of elements, by their bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>
#include "lang/dtype.h"

static void bits_are_values(void **state)
{
    static const struct {
        enum dtype dtype;
        uint64_t bits;
        double value;
    } rows[] = {
        {DTYPE_F64, 0x3ff8000000000000, 1.5},
        {DTYPE_F32, 0x40490fdb, 0x1.921fb6p+1},
        {DTYPE_F16, 0xbc01, -0x1.004p+0},
        {DTYPE_F16, 0x0001, 0x1p-24},
        {DTYPE_F16, 0x7c00, INFINITY},
        {DTYPE_BF16, 0xc049, -3.140625},
        {DTYPE_F8E4M3, 0x7e, 448},
        {DTYPE_F8E4M3, 0xb9, -1.125},
        {DTYPE_F8E4M3, 0x01, 0x1p-9},
        {DTYPE_F8E5M2, 0x7b, 57344},
        {DTYPE_F8E5M2, 0x81, -0x1p-16},
        {DTYPE_F8E5M2, 0xfc, -INFINITY},
        {DTYPE_I8, 0x80, -128},
        {DTYPE_U8, 0x80, 128},
        {DTYPE_I64, 0xfffffffffffffffe, -2},
        {DTYPE_BOOL, 1, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(dtype_load(rows[i].dtype, &rows[i].bits) == rows[i].value);
}

static void some_bits_are_no_number(void **state)
{
    static const struct {
        enum dtype dtype;
        uint32_t bits;
    } rows[] = {{DTYPE_F32, 0x7fc00000}, {DTYPE_F16, 0x7c01},  {DTYPE_BF16, 0xffff},
                {DTYPE_F8E4M3, 0x7f},    {DTYPE_F8E4M3, 0xff}, {DTYPE_F8E5M2, 0x7d}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(isnan(dtype_load(rows[i].dtype, &rows[i].bits)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_values),
        cmocka_unit_test(some_bits_are_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
