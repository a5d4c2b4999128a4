/* Types that a launch's parameters decide: an entry's `types`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "bind/binding.h"
#include "plan/plan.h"
#include "refs/abi/ref_formula.h"
#include "tests/unit/common/registry_fixture.h"
#include "tests/unit/common/says.h"

#define HEAD "version: 1\nkernels:\n"
#define CAST                                                                                       \
    HEAD "- kernel: cast\n  formula: y = x\n  types:\n"                                            \
         "    I: {word: from, is: [f32, none, bf16]}\n    O: {word: to, is: [f32, i64, bf16]}\n"   \
         "  signature: 'i32 n, struct 16 { O y[n] @0, const I x[n] @8 }, i32 from, "               \
         "struct 2 { u8 to @1 } s'\n"

static struct complaints complaints;

static void expect(const char *text, const char *part)
{
    struct registry *registry = registry_of(text, &complaints);
    if (complaints.count != 1)
        fail_msg("%d complaints, the first '%s'", complaints.count, complaints.text[0]);
    expect_says(complaints.text[0], part);
    registry_destroy(registry);
}

#define ENTRY(types, rest) HEAD "- {kernel: k, formula: y = x, types: {" types "}, " rest "}\n"
#define F                  "signature: 'const T x[n], f32 y[n], i32 n, i32 code, f32 real'"

static void bad_types_are_errors(void **state)
{
    (void)state;
    expect(ENTRY("T: f32", F), "'T' is 'f32'; expected a mapping");
    expect(ENTRY("T: {word: code}", F), "'T' needs a 'word' and its types, 'is'");
    expect(ENTRY("T: {word: code, at: [f32]}", F),
           "unknown key 'at'; expected one of word, is, of");
    expect(ENTRY("T: {of: x, word: code}", F), "'T' has other keys beside 'of'");
    expect(ENTRY("T: {of: code}", F), "types: 'code' is no array of the signature");
    expect(ENTRY("T: {of: x}, U: {word: code, is: [f32]}", F),
           "some types are those of arrays, and some are not");
    expect(ENTRY("T: {word: code, is: f32}", F), "'is' is 'f32'; expected a list");
    expect(ENTRY("T: {word: code, is: [f32, f31]}", F), "unknown type 'f31'");
    expect(ENTRY("T: {word: code, is: [none]}", F), "'is' lists no type");
    expect(ENTRY("T: {word: kode, is: [f32]}", F), "types: 'kode' is no integer of the signature");
    expect(ENTRY("T: {word: real, is: [f32]}", F), "types: 'real' is no integer of the signature");
    expect(HEAD "- {kernel: '/(?<T>k)/', formula: y = x, types: {T: {word: code, is: [f32]}}, " F
                "}\n",
           "types: the pattern has a group 'T' as well");
}

struct args {
    int32_t n, from;
    uint64_t pointer[2];
    uint8_t s[2];
};

static const struct kernel_spec *typed(const struct kernel_spec *spec, int from, int to,
                                       enum skip *skip, struct error *why)
{
    struct args args = {.n = 8, .from = from, .s = {77, (uint8_t)to}};
    void *params[] = {&args.n, args.pointer, &args.from, args.s};
    struct launch launch = {.params = params};
    *why = (struct error){{0}};
    return registry_typed(spec, &launch, skip, why);
}

static enum dtype dtype_of(const struct kernel_spec *spec, unsigned array)
{
    return spec->plan->array[array].item->type.dtype;
}

static void launches_decide(void **state)
{
    (void)state;
    struct registry *registry = registry_of(CAST, &complaints);
    struct param_layout layout = layout_of((const unsigned[]){4, 16, 4, 2, 0});
    struct error err = {{0}};
    enum skip skip;
    assert_int_equal(complaints.count, 0);
    const struct kernel_spec *spec = registry_resolve(registry, "cast", &layout, &skip, &err);
    if (!spec)
        fail_msg("%s", err.text);
    assert_int_equal(dtype_of(spec, 1), DTYPE_F32);
    const struct kernel_spec *one = typed(spec, 2, 1, &skip, &err);
    assert_non_null(one);
    assert_int_equal(dtype_of(one, 0), DTYPE_I64);
    assert_int_equal(dtype_of(one, 1), DTYPE_BF16);
    assert_int_equal(one->number, spec->number);
    assert_ptr_equal(typed(spec, 2, 1, &skip, &err), one); /* made once */
    const struct kernel_spec *other = typed(spec, 0, 2, &skip, &err);
    assert_int_equal(dtype_of(other, 0), DTYPE_BF16);
    assert_int_equal(other->plan->tensor[4].tolerance.accumulate, DTYPE_F32);
    registry_destroy(registry);
}

static void other_codes_are_not_checked(void **state)
{
    (void)state;
    struct registry *registry = registry_of(CAST, &complaints);
    struct param_layout layout = layout_of((const unsigned[]){4, 16, 4, 2, 0});
    struct error err = {{0}};
    enum skip skip;
    const struct kernel_spec *spec = registry_resolve(registry, "cast", &layout, &skip, &err);
    assert_non_null(spec);
    assert_null(typed(spec, 1, 0, &skip, &err));
    assert_int_equal(skip, SKIP_SHAPE);
    expect_says(err.text, "'from' is 1, which stands for no type of I");
    assert_null(typed(spec, 0, 3, &skip, &err));
    expect_says(err.text, "'s.to' is 3, which stands for no type of O");
    registry_destroy(registry);
}

/* The gate takes launches of other types for new ones. */
static void the_words_count_as_shapes(void **state)
{
    (void)state;
    struct registry *registry = registry_of(CAST, &complaints);
    struct param_layout layout = layout_of((const unsigned[]){4, 16, 4, 2, 0});
    struct error err = {{0}};
    enum skip skip;
    const struct kernel_spec *spec = registry_resolve(registry, "cast", &layout, &skip, &err);
    unsigned words = 0;
    for (unsigned i = 0; i < spec->shape_params; i++)
        words += spec->shape_param[i].index >= 2;
    assert_int_equal(words, 2);
    registry_destroy(registry);
}

/* The first word of codes that a launch of `symbol` with these types is judged by. */
static int64_t program_of(struct registry *registry, const char *symbol, int from)
{
    struct param_layout layout = layout_of((const unsigned[]){4, 16, 4, 0});
    struct error err = {{0}};
    enum skip skip;
    struct binding binding;
    int32_t n = 8;
    uint64_t pointer[2] = {0x10000, 0x20000};
    struct launch launch = {.params = (void *[]){&n, pointer, &from}};
    const struct kernel_spec *spec = registry_resolve(registry, symbol, &layout, &skip, &err);
    if (spec)
        spec = registry_typed(spec, &launch, &skip, &err);
    if (!spec || binding_make(spec, &launch, &binding, &err))
        fail_msg("%s: %s", symbol, err.text);
    return binding.call.size[4];
}

/* Types of the pattern and types that launches decide, in one formula. */
static void formulas_round_to_types(void **state)
{
    static const char text[] =
        HEAD "- kernel: /k_(?<T>float|c10::Half)/\n  formula: y = T(x) + I(x)\n  types:\n"
             "    I: {word: from, is: [f32, f64, bf16]}\n"
             "  signature: 'i32 n, struct 16 { f32 y[n] @0, const I x[n] @8 }, i32 from'\n";
    static const struct {
        const char *symbol;
        int from;
        uint8_t code[6];
    } cases[] = {
        {"k_float", 2, {FORMULA_INPUT, FORMULA_F32, FORMULA_INPUT, FORMULA_BF16, FORMULA_ADD}},
        {"k_c10::Half", 0, {FORMULA_INPUT, FORMULA_F16, FORMULA_INPUT, FORMULA_F32, FORMULA_ADD}},
        {"k_c10::Half", 1, {FORMULA_INPUT, FORMULA_F16, FORMULA_INPUT, FORMULA_ADD}},
    };
    (void)state;
    struct registry *registry = registry_of(text, &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t word = 0;
        for (int j = 0; j < 6; j++)
            word |= (int64_t)cases[i].code[j] << 8 * j;
        assert_int_equal(program_of(registry, cases[i].symbol, cases[i].from), word);
    }
    registry_destroy(registry);
    expect(HEAD "- {kernel: k, formula: y = S(x), signature: 'const f32 x[n], f32 y[n], i32 n'}\n",
           "at 'S(x)': unknown function, or a type that no value is rounded to");
}

#define OF                                                                                         \
    HEAD "- {kernel: k, formula: y = x, types: {T: {of: x}}, "                                     \
         "signature: 'const T x[n], f32 y[n], i32 n'}\n"

static const struct kernel_spec *resolve(struct registry *registry, enum dtype x, enum dtype y,
                                         struct error *why)
{
    struct param_layout layout = layout_of((const unsigned[]){8, 8, 4, 0});
    enum skip skip;
    layout.param[0].dtype = (uint32_t)x;
    layout.param[1].dtype = (uint32_t)y;
    *why = (struct error){{0}};
    return registry_resolve(registry, "k", &layout, &skip, why);
}

/* Two kernels of one name and one parameter list, as Triton makes them for two dtypes. */
static void code_decides(void **state)
{
    (void)state;
    struct registry *registry = registry_of(OF, &complaints);
    struct error why;
    assert_int_equal(complaints.count, 0);
    const struct kernel_spec *half = resolve(registry, DTYPE_F16, DTYPE_F32, &why);
    const struct kernel_spec *wide = resolve(registry, DTYPE_BF16, DTYPE_NONE, &why);
    assert_non_null(half);
    assert_non_null(wide);
    assert_int_equal(dtype_of(half, 0), DTYPE_F16);
    assert_int_equal(dtype_of(wide, 0), DTYPE_BF16);
    assert_int_equal(dtype_of(wide, 1), DTYPE_F32);
    assert_null(half->types);
    assert_ptr_equal(resolve(registry, DTYPE_F16, DTYPE_F32, &why), half);
    registry_destroy(registry);
}

static void code_contradicts(void **state)
{
    (void)state;
    struct registry *registry = registry_of(OF, &complaints);
    struct error why;
    assert_null(resolve(registry, DTYPE_NONE, DTYPE_F32, &why));
    expect_says(why.text, "the type behind 'x' is not known");
    assert_null(resolve(registry, DTYPE_F16, DTYPE_F16, &why));
    expect_says(why.text, "parameter 1 y is f32, the kernel's code has f16 there");
    assert_null(resolve(registry, DTYPE_I32, DTYPE_F32, &why)); /* bits that are moved */
    assert_non_null(resolve(registry, DTYPE_F32, DTYPE_I32, &why));
    registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_types_are_errors),
        cmocka_unit_test(launches_decide),
        cmocka_unit_test(other_codes_are_not_checked),
        cmocka_unit_test(the_words_count_as_shapes),
        cmocka_unit_test(formulas_round_to_types),
        cmocka_unit_test(code_decides),
        cmocka_unit_test(code_contradicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
