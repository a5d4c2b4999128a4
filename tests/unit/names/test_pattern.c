/* Patterns: exact names, globs, regexes and their groups, names of anonymous namespaces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/says.h"
#include "names/pattern.h"

static struct arena arena;
static struct captures caught;

static enum pattern_match match_of(const char *text, const char *symbol)
{
    struct pattern *pattern = NULL;
    struct error err = {0};
    struct symbol_names names;
    if (pattern_compile(&pattern, text, &err))
        fail_msg("%s", err.text);
    assert_true(symbol_describe(&names, &arena, symbol));
    enum pattern_match result = pattern_match(pattern, &names, &arena, &caught);
    for (unsigned i = 0; i < caught.count; i++) /* names of groups die with the pattern */
        caught.capture[i].name =
            arena_text(&arena, caught.capture[i].name, strlen(caught.capture[i].name));
    pattern_destroy(pattern);
    return result;
}

static bool matches(const char *text, const char *symbol)
{
    enum pattern_match result = match_of(text, symbol);
    assert_int_not_equal(result, PATTERN_UNKNOWN);
    return result == PATTERN_YES;
}

static const char *group(const char *name)
{
    for (unsigned i = 0; i < caught.count; i++) {
        if (strcmp(caught.capture[i].name, name) == 0)
            return caught.capture[i].text;
    }
    return NULL;
}

static void refuse(const char *text, const char *part)
{
    struct pattern *pattern = NULL;
    struct error err = {0};
    bool accepted = !pattern_compile(&pattern, text, &err);
    expect_refused(text, accepted, err.text, part);
}

/* void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*, float, int) */
#define RMS "_ZN4vllm15rms_norm_kernelIN3c108BFloat16EEEvPT_fi"

enum { LEVELS = 25 };

static int add_substitution(char *out, int number)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return number < 36 ? sprintf(out, "S%c_", digits[number])
                       : sprintf(out, "S%c%c_", digits[number / 36], digits[number % 36]);
}

/* A name of 240 characters: each type is a function's of two of the type before, so that the text
 * has 2^25 times that of the first. */
static const char *long_text(void)
{
    static char name[512];
    char *end = name + sprintf(name, "_Z6kernelPFviE");
    for (int level = 0; level + 1 < LEVELS; level++) {
        end += sprintf(end, "PFv");
        end += add_substitution(end, 2 * level);
        end += add_substitution(end, 2 * level);
        end += sprintf(end, "E");
    }
    return name;
}

/* The same types as the pattern of a pack's expansion, in which the demangler seeks the pack before
 * there is any text. */
static const char *long_search(void)
{
    static char name[512];
    char *end = name + sprintf(name, "_Z6kernelIJiEEvDp");
    for (int level = 0; level < 2 * LEVELS; level++)
        end += sprintf(end, "PFv");
    end += sprintf(end, "i");
    for (int level = 0; level < 2 * LEVELS; level++) {
        end += sprintf(end, "E");
        end += level + 1 < 2 * LEVELS ? add_substitution(end, 2 * level + 1) : 0;
    }
    return name;
}

static void names_that_substitutions_blow_up_stay_mangled(void **state)
{
    struct symbol_names names;
    (void)state;
    assert_true(symbol_describe(&names, &arena, long_text()));
    assert_string_equal(names.demangled, long_text());
    assert_true(symbol_describe(&names, &arena, long_search()));
    assert_string_equal(names.plain, long_search());
    assert_true(matches(long_text(), long_text()));
    assert_false(matches("kernel", long_text()));
    assert_true(matches("void kernel<int>(int)", "_Z6kernelIJiEEvDpT_"));
    assert_true(matches("kernel(void (*)(int), void (*)(void (*)(int), void (*)(int)))",
                        "_Z6kernelPFviEPFvS0_S0_E"));
}

static void exact_names_come_in_three_forms(void **state)
{
    (void)state;
    assert_true(matches("gelu_kernel", "gelu_kernel"));
    assert_false(matches("gelu_kernel", "gelu_kernel2"));
    assert_true(matches("_Z19gelu_forward_kernelPfPKfi", "_Z19gelu_forward_kernelPfPKfi"));
    assert_true(matches("gelu_forward_kernel", "_Z19gelu_forward_kernelPfPKfi"));
    assert_true(
        matches("gelu_forward_kernel(float*, float const*, int)", "_Z19gelu_forward_kernelPfPKfi"));
    assert_true(matches("vllm::rms_norm_kernel<c10::BFloat16>", RMS));
    assert_false(matches("rms_norm_kernel", RMS));
    assert_false(matches("float", "f")); /* not demangled as a type */
}

static void globs_take_whole_names(void **state)
{
    (void)state;
    assert_true(matches("gelu_*", "gelu_kernel"));
    assert_false(matches("elu_*", "gelu_kernel"));
    assert_false(matches("gelu_?", "gelu_kernel"));
    assert_true(matches("gelu_kerne[lmn]", "gelu_kernel"));
    assert_true(matches("vllm::rms_*", RMS));
    assert_true(matches("*rms_norm*", RMS));
    assert_true(matches("a*/*c", "a/b/c"));
}

static void regexes_search_and_bind(void **state)
{
    (void)state;
    assert_true(matches("/rms_norm_kernel<(?<T>[\\w:]+)>/", RMS));
    assert_string_equal(group("T"), "c10::BFloat16");
    assert_true(matches("/^vllm::rms/", RMS));
    assert_false(matches("/^rms/", RMS));
    assert_true(matches("/_(?<width>\\d+)(_(?<tail>\\w+))?$/", "kernel_128"));
    assert_string_equal(group("width"), "128");
    assert_string_equal(group("tail"), "");
}

static void bad_patterns_are_told(void **state)
{
    (void)state;
    refuse("", "an empty name");
    refuse("/abc", "does not end with '/'");
    refuse("/(abc/", "missing closing parenthesis");
    refuse("/a{2/b(/", "regex '");
    refuse("abc[", "glob 'abc['");
}

static void a_hopeless_regex_is_no_answer(void **state)
{
    (void)state;
    assert_int_equal(
        match_of("/^(a+)+$/", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"),
        PATTERN_UNKNOWN);
    assert_int_equal(match_of("/^(a+)+$/", "ab"), PATTERN_NO);
    /* One that gives up on the mangled name may still match the plain one. */
    assert_int_equal(match_of("/^(?:_Z..(a+)+$|a)/", "_Z27aaaaaaaaaaaaaaaaaaaaaaaaaaaPf"),
                     PATTERN_YES);
}

#define HASH_A "_ZN45_GLOBAL__N__1a2b3c4d_9_kernel_cu_deadbeef_1237softmaxEPf"
#define HASH_B "_ZN45_GLOBAL__N__99999999_9_kernel_cu_deadbeef_4567softmaxEPf"

static void hashes_of_anonymous_namespaces_are_stripped(void **state)
{
    (void)state;
    struct symbol_names names;
    assert_true(symbol_describe(&names, &arena, HASH_A));
    assert_string_equal(names.demangled, "(anonymous namespace)::softmax(float*)");
    assert_string_equal(names.plain, "(anonymous namespace)::softmax");
    assert_true(matches("(anonymous namespace)::softmax", HASH_A));
    assert_true(matches(HASH_A, HASH_B)); /* an entry written for another build */
    assert_true(matches("_GLOBAL__N__1a2b3c_4_file_cu_deadbeef_1234::softmax", HASH_B));
    assert_false(matches("softmax", HASH_A));
    assert_string_equal(symbol_normalise(&arena, "a::_INTERNAL_12_x_cu_9::f(b__GLOBAL__N_)"),
                        "a::(anonymous namespace)::f(b__GLOBAL__N_)");
}

#define NUMBA       "_ZN8__main__5saxpyB2v1B8cw51cXTLE5ArrayIfLi1E1C7mutable7alignedE"
#define NUMBA_AGAIN "_ZN8__main__5saxpyB2v7B8cw51cXTME5ArrayIfLi1E1C7mutable7alignedE"

static void tags_are_stripped(void **state)
{
    (void)state;
    struct symbol_names names;
    assert_true(symbol_describe(&names, &arena, NUMBA));
    assert_string_equal(names.plain, "__main__::saxpy");
    assert_true(matches("__main__::saxpy", NUMBA));
    assert_true(matches(NUMBA, NUMBA_AGAIN)); /* compiled in another run */
    assert_false(matches("__main__::saxp", NUMBA));
    assert_string_equal(symbol_normalise(&arena, "a[abi:cxx11](int) [abi] [abi:"),
                        "a(int) [abi] [abi:");
}

static void plain_names_survive_odd_forms(void **state)
{
    (void)state;
    static const struct {
        const char *mangled, *plain;
    } cases[] = {
        {"_Z1fIXadL_Z1gvEEEvPf", "f<&(g())>"},
        {"_ZN1AclEv", "A::operator()"},
        {"_Z23softmax_warp_forward_k", "_Z23softmax_warp_forward_k"}, /* cut: not mangled */
        {"_Z1xIfE", "x<float>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct symbol_names names;
        assert_true(symbol_describe(&names, &arena, cases[i].mangled));
        assert_string_equal(names.plain, cases[i].plain);
    }
}

static int release(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_names_come_in_three_forms),
        cmocka_unit_test(globs_take_whole_names),
        cmocka_unit_test(regexes_search_and_bind),
        cmocka_unit_test(bad_patterns_are_told),
        cmocka_unit_test(a_hopeless_regex_is_no_answer),
        cmocka_unit_test(hashes_of_anonymous_namespaces_are_stripped),
        cmocka_unit_test(tags_are_stripped),
        cmocka_unit_test(plain_names_survive_odd_forms),
        cmocka_unit_test(names_that_substitutions_blow_up_stay_mangled),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
