/* Signatures: what the language accepts, what it refuses, and how it is held against real layouts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/registry_fixture.h"
#include "tests/unit/common/says.h"
#include "lang/signature.h"

static const struct captures captures = {3, {{"T", "c10::BFloat16"}, {"N", "8"}, {"Open", NULL}}};

static const struct signature *parse(const char *text)
{
    return signature_of(text, &captures);
}

static void refuse(const char *text, const char *part)
{
    signature_refused(text, &captures, part);
}

static const struct signature_item *item(const struct signature *signature, const char *name)
{
    const struct signature_item *found = signature_find(signature, name);
    assert_non_null(found);
    return found;
}

static void arrays_and_scalars_are_told_apart(void **state)
{
    (void)state;
    const struct signature *s =
        parse("const bf16 x[rows:x_stride][cols], f32 y?[ 2 * n : p bytes ], i64 n,\n f32 eps,");
    assert_int_equal(item(s, "x")->role, ROLE_READ);
    assert_int_equal(s->params, 4);
    assert_int_equal(s->arrays, 2);
    assert_int_equal(item(s, "x")->ndim, 2);
    assert_string_equal(item(s, "x")->dim[0].extent, "rows");
    assert_string_equal(item(s, "x")->dim[0].stride, "x_stride");
    assert_null(item(s, "x")->dim[1].stride);
    assert_true(item(s, "y")->nullable);
    assert_false(item(s, "x")->nullable);
    assert_string_equal(item(s, "y")->dim[0].extent, "2 * n");
    assert_string_equal(item(s, "y")->dim[0].stride, "p");
    assert_true(item(s, "y")->dim[0].stride_bytes);
    assert_int_equal(item(s, "y")->number, 1);
    assert_false(item(s, "eps")->array);
    assert_int_equal(item(s, "n")->param, 2);
}

static void roles_are_the_words_in_front(void **state)
{
    (void)state;
    const struct signature *s =
        parse("const f32 a[1], f32 b[1], inout f32 c[1], acc f32 d[1], ws u8 e[1], f32 const *f[1],"
              "const float *__restrict__ g[1], const int h");
    assert_int_equal(item(s, "a")->role, ROLE_READ);
    assert_int_equal(item(s, "b")->role, ROLE_WRITE);
    assert_int_equal(item(s, "c")->role, ROLE_INOUT);
    assert_int_equal(item(s, "d")->role, ROLE_ACC);
    assert_int_equal(item(s, "e")->role, ROLE_WS);
    assert_int_equal(item(s, "f")->role, ROLE_READ);
    assert_int_equal(item(s, "g")->role, ROLE_READ);
    assert_int_equal(item(s, "h")->type.dtype, DTYPE_I32);
}

static void types_have_many_names(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum dtype dtype;
        unsigned lanes;
    } cases[] = {
        {"f8e4m3", DTYPE_F8E4M3, 1},
        {"f8e5m2", DTYPE_F8E5M2, 1},
        {"double", DTYPE_F64, 1},
        {"half", DTYPE_F16, 1},
        {"__half", DTYPE_F16, 1},
        {"c10::Half", DTYPE_F16, 1},
        {"nv_bfloat16", DTYPE_BF16, 1},
        {"__nv_bfloat16", DTYPE_BF16, 1},
        {"c10::BFloat16", DTYPE_BF16, 1},
        {"size_t", DTYPE_U64, 1},
        {"unsigned", DTYPE_U32, 1},
        {"unsigned long long", DTYPE_U64, 1},
        {"long int", DTYPE_I64, 1},
        {"unsigned char", DTYPE_U8, 1},
        {"short", DTYPE_I16, 1},
        {"bool", DTYPE_BOOL, 1},
        {"float4", DTYPE_F32, 4},
        {"f32x4", DTYPE_F32, 4},
        {"bf16x2", DTYPE_BF16, 2},
        {"__nv_bfloat162", DTYPE_BF16, 2},
        {"half2", DTYPE_F16, 2},
        {"int4", DTYPE_I32, 4},
        {"int64_t", DTYPE_I64, 1},
        {"i8x16", DTYPE_I8, 16},
        {"cutlass::half_t", DTYPE_F16, 1},
        {"cutlass::bfloat16_t", DTYPE_BF16, 1},
        {"float32", DTYPE_F32, 1},
        {"bfloat16", DTYPE_BF16, 1},
        {"uint8", DTYPE_U8, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct type type;
        if (!type_parse(cases[i].text, &type))
            fail_msg("%s is unknown", cases[i].text);
        assert_int_equal(type.dtype, cases[i].dtype);
        assert_int_equal(type.lanes, cases[i].lanes);
    }
    static const char *const wrong[] = {"",           "f31",   "long long long", "float5",
                                        "float1",     "f32x1", "f32x17",         "signed unsigned",
                                        "short long", "x4",    "bool4"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct type type;
        if (type_parse(wrong[i], &type))
            fail_msg("'%s' was accepted", wrong[i]);
    }
}

static void captures_bind_types(void **state)
{
    (void)state;
    const struct signature *s = parse("const T x[n], Open y[n], Open eps, i32 n");
    assert_int_equal(item(s, "x")->type.dtype, DTYPE_BF16);
    assert_int_equal(item(s, "y")->type.dtype, DTYPE_NONE);
    assert_int_equal(s->param[2].size, 0);
    refuse("N x[n]", "the template argument N is '8', which is no known type");
    refuse("f32 T[1]", "the name 'T' appears twice");
}

static void blocks_are_types_of_arrays(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum dtype dtype;
        unsigned bytes, elements;
    } rows[] = {{"q4_0", DTYPE_Q4_0, 18, 32},         {"q4_1", DTYPE_Q4_1, 20, 32},
                {"q5_0", DTYPE_Q5_0, 22, 32},         {"q5_1", DTYPE_Q5_1, 24, 32},
                {"q8_0", DTYPE_Q8_0, 34, 32},         {"q8_1", DTYPE_Q8_1, 36, 32},
                {"q4_K", DTYPE_Q4_K, 144, 256},       {"q5_K", DTYPE_Q5_K, 176, 256},
                {"q6_K", DTYPE_Q6_K, 210, 256},       {"block_q4_K", DTYPE_Q4_K, 144, 256},
                {"(ggml_type)8", DTYPE_Q8_0, 34, 32}, {"q2_K", DTYPE_Q2_K, 84, 256},
                {"q3_K", DTYPE_Q3_K, 110, 256},       {"iq4_nl", DTYPE_IQ4_NL, 18, 32},
                {"iq4_xs", DTYPE_IQ4_XS, 136, 256},   {"(ggml_type)23", DTYPE_IQ4_XS, 136, 256}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct type type;
        assert_true(type_parse(rows[i].text, &type));
        assert_int_equal(type.dtype, rows[i].dtype);
        assert_int_equal(type.lanes, 1);
        assert_int_equal(dtype_bytes(type.dtype), rows[i].bytes);
        assert_int_equal(dtype_block(type.dtype), rows[i].elements);
        assert_false(dtype_is_real(type.dtype) || dtype_is_integer(type.dtype));
    }
    assert_int_equal(dtype_block(DTYPE_BF16), 0);
    assert_int_equal(item(parse("const q4_K w[n][k]"), "w")->type.dtype, DTYPE_Q4_K);
    refuse("const q4_k w[n][k]", "at 'q4_k': unknown type; did you mean 'q4_");
    refuse("q4_Kx2 w[n]", "unknown type");
    refuse("q8_0 d", "'d' is q8_0 and has no dims; blocks come in arrays");
}

static void structs_open_up(void **state)
{
    (void)state;
    const struct signature *s = parse("struct 24 { u32 n @0, const f32 *p[n] @8; bf16 q[n] @ 16 },"
                                      "struct 8 { i32 n @4 } s, struct 1 {}, i32 last");
    assert_int_equal(s->params, 4);
    assert_int_equal(s->param[0].size, 24);
    assert_int_equal(item(s, "p")->offset, 8);
    assert_int_equal(item(s, "p")->role, ROLE_READ);
    assert_int_equal(item(s, "q")->role, ROLE_WRITE);
    assert_int_equal(item(s, "s.n")->offset, 4);
    assert_int_equal(item(s, "s.n")->param, 1);
    assert_int_equal(item(s, "n")->param, 0);
    assert_int_equal(item(s, "last")->param, 3);
    s = parse("struct 8 { i32 m @0 } p");
    assert_string_equal(item(s, "m")->name, "p.m"); /* the only field of that name */
    refuse("struct 8 { i64 n @4 }", "field 'n' ends at byte 12 of a struct of 8 bytes");
    refuse("struct 8 { i64 n }", "expected '@'");
    refuse("struct { i64 n @0 }", "expected the size of the struct");
    refuse("struct 8..x { i64 n @0 }", "expected the largest size of the struct");
    refuse("struct 24..16 { i64 n @0 }", "the largest size of the struct is below its smallest");
    refuse("struct 8..16 { i64 n @8 }", "field 'n' ends at byte 16 of a struct of 8 bytes");
    refuse("struct 8 { i64 n @0", "expected ',' or '}'");
}

static void scalars_may_be_guarded_by_another(void **state)
{
    static const struct param_layout layout = {
        .count = 2, .param = {{.offset = 0, .size = 4}, {.offset = 8, .size = 16}}};
    uint32_t packed[6] = {0};
    (void)state;
    const struct signature *s =
        parse("i32 n, struct 16 { i32 dims @0, u32 a @4 if dims > 0, u32 b @8 if dims > 14 } s");
    const struct signature_item *a = item(s, "s.a"), *b = item(s, "s.b");
    assert_int_equal(item(s, "s.dims")->guard, 0);
    assert_ptr_equal(&s->item[a->guard - 1], item(s, "s.dims"));
    assert_int_equal(a->above, 0);
    assert_int_equal(b->above, 14);
    for (int dims = -1; dims < 17; dims++) {
        packed[2] = (uint32_t)dims;
        const uint8_t *bytes = (const uint8_t *)packed;
        assert_true(signature_present(s, item(s, "n"), &layout, bytes, sizeof packed));
        assert_int_equal(signature_present(s, a, &layout, bytes, sizeof packed), dims > 0);
        assert_int_equal(signature_present(s, b, &layout, bytes, sizeof packed), dims > 14);
    }
    refuse("i32 d, i32 n if d", "expected '>' and a number from 0 to 14");
    refuse("i32 d, i32 n if d > 15", "expected '>' and a number from 0 to 14");
    refuse("i32 d, i32 n if > 1", "expected the name of an earlier integer");
    refuse("i32 n if d > 1, i32 d", "expected the name of an i32 or u32 before it");
    refuse("i64 d, i32 n if d > 1", "expected the name of an i32 or u32 before it");
    refuse("i32 d, i32 e if d > 1, i32 n if e > 1", "that has no 'if' of its own");
    refuse("i32 d, i64 n if d > 1", "'n' has an 'if', which only i32 and u32 may have");
    refuse("i32 d, const f32 x[n] if d > 1", "'x' has an 'if', which only i32 and u32 may have");
}

static void bad_texts_name_the_word(void **state)
{
    (void)state;
    refuse("const bf61 x[n]", "signature: at 'bf61': unknown type; did you mean 'bf16'?");
    refuse("flaot x[n]", "did you mean 'float'?");
    refuse("", "it is empty");
    refuse("f32", "at the end: expected a name");
    refuse("f32 x[n", "expected ']'");
    refuse("f32 x[]", "expected the number of elements");
    refuse("f32 x[n:]", "expected a stride");
    refuse("f32 *x", "'x' is a pointer and needs its dims");
    refuse("inout f32 x", "'x' has no dims");
    refuse("i32 n?", "'n' has no dims");
    refuse("const inout f32 x[1]", "'x' has two roles");
    refuse("acc ws f32 x[1]", "'x' has two roles");
    refuse("float4 v", "'v' is a vector passed by value");
    refuse("f32 x[1], f32 x[1]", "the name 'x' appears twice");
    refuse("i32 grid", "'grid' cannot be a name");
    refuse("f32 x[1] f32 y[1]", "at 'f32': expected ',' or the end");
    refuse("..., i32 n", "'...' must be the last");
    refuse("f32 x[1][1][1][1][1][1][1]", "more than 6 dims");
    refuse("i32 n,, i32 m", "expected a type");
}

static void too_many_are_refused(void **state)
{
    (void)state;
    char text[4096] = "_";
    for (int i = 0; i < 96; i++)
        strcat(text, ",_");
    refuse(text, "more than 96 parameters");
}

static void fits(const char *text, const unsigned *sizes, const char *part)
{
    struct param_layout layout = layout_of(sizes);
    struct error err = {0};
    enum status status = signature_fits(parse(text), &layout, &err);
    if (!part && status)
        fail_msg("%s", err.text);
    if (part)
        expect_refused(text, !status, err.text, part);
}

static void a_layout_that_agrees_fits(void **state)
{
    (void)state;
    fits("f32 x[1], i32 n, f32 eps", SIZES(8, 4, 4), NULL);
    fits("i32 n, f32 x[1]", SIZES(4, 8), NULL);
    fits("f32 x[1], _, i32 n", SIZES(8, 40, 4), NULL);
    fits("f32 x[1], ...", SIZES(8, 8, 8), NULL);
    fits("f32 x[1], ...", SIZES(8), NULL);
    fits("...", SIZES(8, 16), NULL);
    fits("struct 24 { f32 x[1] @0 }, bool b, i16 h", SIZES(24, 1, 2), NULL);
    fits("struct 16..24 { i64 n @8 }, i32 m", SIZES(16, 4), NULL);
    fits("struct 16 .. 24 { i64 n @8 }, i32 m", SIZES(24, 4), NULL);
    fits("Open eps, i32 n", SIZES(8, 4), NULL);
    fits("Open eps, i32 n", SIZES(4, 4), NULL);
}

static void a_layout_that_disagrees_is_shown(void **state)
{
    (void)state;
    fits("f32 x[1], i32 n", SIZES(8, 8),
         "parameter 1 n has 8 bytes, the signature has 4; bytes@offset by the signature: 8@0 4@8; "
         "by the kernel: 8@0 8@8");
    fits("f32 x[1], i32 n", SIZES(8), "the kernel has 1 parameters, the signature 2");
    fits("f32 x[1]", SIZES(8, 4), "the kernel has 2 parameters, the signature 1");
    fits("f32 x[1], i32 n, ...", SIZES(8), "the signature 2 or more");
    fits("struct 16 {}", SIZES(24), "has 24 bytes, the signature has 16");
    fits("struct 8..16 {}, i32 n", SIZES(24, 4),
         "has 24 bytes, the signature has 8 to 16; bytes@offset by the signature: 8..16 4; by the "
         "kernel: 24@0 4@24");
    fits("struct 8..16 {}", SIZES(4), "has 4 bytes, the signature has 8 to 16");
    fits("_, _, i32 n", SIZES(8, 40, 8), "by the signature: _ _ 4; by the kernel: 8@0 40@8 8@48");
    struct error err = {0};
    struct param_layout layout = {.count = 2, .param = {{0, 4, 0}, {8, 4, 0}}};
    assert_int_equal(signature_fits(parse("i32 a, i32 b"), &layout, &err), STATUS_INVALID);
    expect_says(err.text, "parameter 1 b lies at byte 8, the signature has 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_and_scalars_are_told_apart),
        cmocka_unit_test(roles_are_the_words_in_front),
        cmocka_unit_test(types_have_many_names),
        cmocka_unit_test(captures_bind_types),
        cmocka_unit_test(blocks_are_types_of_arrays),
        cmocka_unit_test(structs_open_up),
        cmocka_unit_test(scalars_may_be_guarded_by_another),
        cmocka_unit_test(bad_texts_name_the_word),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(a_layout_that_agrees_fits),
        cmocka_unit_test(a_layout_that_disagrees_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
