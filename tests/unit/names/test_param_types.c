/* The types that a C++ symbol spells against those of a signature: which overload an entry is for,
 * and which casts are no disagreement. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/registry_fixture.h"
#include "tests/unit/common/says.h"
#include "names/param_types.h"
#include "names/symbol.h"

static struct error err;

static bool fits(const char *signature, const char *types)
{
    static char name[512];
    err = (struct error){0};
    snprintf(name, sizeof name, "void ns::kernel<float, (Kind)3>(%s)", types);
    return param_types_fit(signature_of(signature, NULL), name, &err) == STATUS_OK;
}

/* One array and one number. */
#define ARRAY(type)  type " x[n], i32 n"
#define NUMBER(type) type " a"

static void the_same_types_agree(void **state)
{
    static const char *const pairs[][2] = {
        {"f32", "float"},
        {"f64", "double"},
        {"f16", "__half"},
        {"f16", "c10::Half"},
        {"bf16", "__nv_bfloat16"},
        {"bf16", "c10::BFloat16"},
        {"i32", "int"},
        {"u32", "unsigned int"},
        {"u32", "int"},
        {"i64", "long"},
        {"i64", "long long"},
        {"u64", "unsigned long"},
        {"bool", "bool"},
        {"u8", "bool"},
        {"i16", "short"},
        {"f8e4m3", "__nv_fp8_e4m3"},
        {"f32x4", "float4"},
        {"i32x2", "int2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char signature[80], types[80];
        snprintf(signature, sizeof signature, ARRAY("const %s"), pairs[i][0]);
        snprintf(types, sizeof types, "%s const*, int", pairs[i][1]);
        if (!fits(signature, types))
            fail_msg("%s", err.text);
        snprintf(signature, sizeof signature, NUMBER("%s"), pairs[i][0]);
        if (!strchr(pairs[i][0], 'x') && !fits(signature, pairs[i][1]))
            fail_msg("%s", err.text);
    }
}

/* What kernels do that move bytes, and what cannot be known. */
static void casts_and_classes_agree(void **state)
{
    (void)state;
    assert_true(fits(ARRAY("f32"), "float4*, int"));
    assert_true(fits(ARRAY("f16"), "__half2*, int"));
    assert_true(fits(ARRAY("bf16"), "uint4*, int"));
    assert_true(fits(ARRAY("bf16"), "int4 const*, int"));
    assert_true(fits(ARRAY("f32"), "uint2*, int"));
    assert_true(fits(ARRAY("bf16"), "char*, int"));
    assert_true(fits(ARRAY("f32"), "unsigned char const*, int"));
    assert_true(fits(ARRAY("f32"), "void const*, int"));
    assert_true(fits(ARRAY("f16"), "unsigned short*, int"));
    assert_true(fits(ARRAY("bf16"), "short*, int"));
    assert_true(fits(ARRAY("f16"), "unsigned int*, int"));
    assert_true(fits(ARRAY("i8"), "int*, int"));
    assert_true(fits(ARRAY("f8e5m2"), "unsigned char*, int"));
    assert_true(fits(ARRAY("f32"), "Packed128<float>*, int"));
    assert_false(fits(ARRAY("f32"), "float2, int"));
    assert_false(fits(ARRAY("f32"), "double, int"));
    assert_true(fits(ARRAY("f32"), "unsigned long, int"));
    assert_true(fits(ARRAY("q4_K"), "block_q4_K const*, int"));
    assert_true(fits(ARRAY("q4_K"), "float const*, int"));
    assert_true(fits("f32 x[&4][n], i32 n", "double const* const*, int"));
    assert_true(fits("_, i32 n", "float*, int"));
    assert_true(fits("i64 unused, i32 n", "float*, int"));
    assert_true(fits("f32 a, i32 n", "Scale<float>, Mode"));
    assert_true(fits("struct 16 { f32 *x[4] @0, i32 n @8 } s, i32 n", "Args, int"));
}

static void other_types_disagree(void **state)
{
    static const char *const pairs[][2] = {
        {"bf16", "float"}, {"bf16", "__half"}, {"f16", "__nv_bfloat16"},
        {"f32", "double"}, {"f32", "int"},     {"i32", "float"},
        {"i64", "int"},    {"i32", "long"},    {"f16", "float4"},
        {"f64", "long"},   {"bf16", "float2"}, {"f32", "unsigned int"},
        {"f16", "int"},    {"i16", "__half"},  {"f8e4m3", "__nv_fp8_e5m2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char signature[80], types[80];
        snprintf(signature, sizeof signature, ARRAY("%s"), pairs[i][0]);
        snprintf(types, sizeof types, "%s*, int", pairs[i][1]);
        if (fits(signature, types))
            fail_msg("%s against %s", signature, types);
    }
    assert_false(fits(NUMBER("f32"), "int"));
    assert_false(fits(NUMBER("i32"), "float"));
    assert_false(fits(NUMBER("f64"), "long"));
    assert_false(fits(NUMBER("f16"), "__nv_bfloat16"));
    assert_false(fits(NUMBER("f64"), "float*"));
}

static void both_lists_are_shown(void **state)
{
    (void)state;
    assert_false(fits("bf16 out[n], const bf16 inp[n], i32 n, _", "float*, float const*, int, Op"));
    expect_says(err.text, "parameter 0 out is float*, the signature has bf16*");
    expect_says(err.text, "by the signature: bf16*, bf16*, i32, _;");
    expect_says(err.text, "by the kernel: float*, float const*, int, Op");
}

static void without_a_list_nothing_is_held_against_it(void **state)
{
    (void)state;
    const struct signature *signature = signature_of(ARRAY("bf16"), NULL);
    assert_int_equal(param_types_fit(signature, "kernel", &err), STATUS_OK);
    assert_int_equal(param_types_fit(signature, "", &err), STATUS_OK);
    assert_int_equal(param_types_fit(signature, "kernel()", &err), STATUS_OK);
    assert_true(fits(ARRAY("bf16"), "float*"));
    assert_true(fits(ARRAY("bf16"), "float*, int, int"));
    assert_true(fits(ARRAY("bf16"), "void (*)(float*, int), int"));
    assert_false(fits(ARRAY("bf16"), "float*, std::pair<int, float>"));
}

/* ---- entries ---- */

#define ENTRY(type, label)                                                                         \
    "- kernel: gelu_kernel*\n"                                                                     \
    "  signature: " type " y[n], const " type " x[n], i32 n\n"                                     \
    "  reference: gelu\n"                                                                          \
    "  label: " label "\n"

static const unsigned sizes[] = {8, 8, 4, 0};

static const struct kernel_spec *resolve(struct registry *registry, const char *symbol,
                                         enum skip *skip)
{
    struct param_layout layout = layout_of(sizes);
    err = (struct error){0};
    const struct kernel_spec *spec = registry_resolve(registry, symbol, &layout, skip, &err);
    if (!spec && *skip != SKIP_LAYOUT)
        fail_msg("%s: %s", symbol, skip_text(*skip));
    return spec;
}

static void each_overload_has_its_entry(void **state)
{
    struct complaints complaints;
    enum skip skip;
    (void)state;
    struct registry *registry = registry_of(
        "version: 1\nkernels:\n" ENTRY("f32", "in f32") ENTRY("bf16", "in bf16"), &complaints);
    assert_int_equal(complaints.count, 0);
    assert_string_equal(resolve(registry, "_Z11gelu_kernelPfPKfi", &skip)->label, "in f32");
    assert_string_equal(resolve(registry, "_Z11gelu_kernelP13__nv_bfloat16PKS_i", &skip)->label,
                        "in bf16");
    assert_string_equal(resolve(registry, "gelu_kernel", &skip)->label, "in bf16");
    assert_string_equal(resolve(registry, "_Z11gelu_kernelIfEvPT_PKS0_i", &skip)->label, "in f32");
    assert_string_equal(resolve(registry, "_Z11gelu_kernelI4MineEvPT_PKS0_i", &skip)->label,
                        "in bf16");
    assert_null(resolve(registry, "_Z11gelu_kernelP6__halfPKS_i", &skip));
    assert_int_equal(skip, SKIP_LAYOUT);
    expect_says(err.text, "k.yaml:7: parameter 0 y is __half*, the signature has bf16*");
    registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_types_agree),
        cmocka_unit_test(casts_and_classes_agree),
        cmocka_unit_test(other_types_disagree),
        cmocka_unit_test(both_lists_are_shown),
        cmocka_unit_test(without_a_list_nothing_is_held_against_it),
        cmocka_unit_test(each_overload_has_its_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
