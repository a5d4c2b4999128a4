/* The filter of symbols: which word a pattern needs, and that no symbol which a pattern names is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "names/name_filter.h"
#include "names/pattern.h"

static struct arena arena;

static void expect_need(const char *text, enum name_need need, const char *word)
{
    const char *found = NULL;
    enum name_need is = name_need(&arena, text, &found);
    if (is != need || (word && strcmp(found, word) != 0))
        fail_msg("%s: need %d, '%s'", text, (int)is, found ? found : "");
}

static void exact_names_need_their_longest_word(void **state)
{
    (void)state;
    expect_need("gelu", NEED_WORD, "gelu");
    expect_need("int", NEED_WORD, "int"); /* a C function of that name */
    expect_need("_Z19gelu_forward_kernelPfPKfi", NEED_WORD, "gelu_forward_kernel");
    expect_need("vllm::rms_norm_kernel<c10::BFloat16>", NEED_WORD, "rms_norm_kernel");
    expect_need("void gelu(some_parameter_type)", NEED_WORD, "gelu");
    expect_need("_GLOBAL__N__0123456789abcdef::gelu", NEED_WORD, "gelu");
    expect_need("operator+", NEED_NOTHING, NULL);
    expect_need("_Zbroken", NEED_WORD, "_Zbroken");
}

static void globs_and_regexes_need_a_part(void **state)
{
    (void)state;
    expect_need("*norm_kernel*", NEED_PART, "norm_kernel");
    expect_need("*norm*kernel<float*", NEED_PART, "kernel");
    expect_need("*[nm]orm_kernel", NEED_PART, "orm_kernel");
    expect_need("*nsigned*", NEED_NOTHING, NULL);
    expect_need("*float*", NEED_NOTHING, NULL);
    expect_need("*abc*", NEED_NOTHING, NULL);
    expect_need("*<128*", NEED_NOTHING, NULL);
    expect_need("/rms_norm_kernel<(?<T>\\w+), (?<width>\\d+)>/", NEED_PART, "rms_norm_kernel");
    expect_need("/rms_norms?/", NEED_PART, "rms_norm");
    expect_need("/rms_norm{0,1}_/", NEED_PART, "rms_nor");
    expect_need("/(rms_norm)?_kernel/", NEED_PART, "_kernel");
    expect_need("/rms_norm|gelu_kernel/", NEED_NOTHING, NULL);
    expect_need("/(rms|layer)_norm_kernel/", NEED_PART, "_norm_kernel");
    expect_need("/(?i)rms_norm/", NEED_NOTHING, NULL);
    expect_need("/\\x41rms_norm/", NEED_NOTHING, NULL);
    expect_need("/\\k<rms_norm>/", NEED_NOTHING, NULL);
    expect_need("/^gelu_[a-z]+$/", NEED_PART, "gelu_");
}

static void expect_words(const char *text, const char *expected)
{
    const char *word[NAME_WORDS];
    char found[400] = "";
    unsigned count = name_words(&arena, text, word);
    for (unsigned i = 0; i < count; i++) {
        strcat(found, i ? " " : "");
        strcat(found, word[i]);
    }
    assert_string_equal(found, expected);
}

static void regexes_need_their_longest_words(void **state)
{
    (void)state;
    expect_words("/^void at::reduce_kernel<\\d+, (?<T>float|half)>\\(MeanOps/",
                 "reduce_kernel MeanOps");
    expect_words("/one_word, other_words?, (?:neither_of_these)?, words, word_4, word_of_5/",
                 "other_word word_of_5 one_word word_4");
    expect_words("/^dequantise_(?<T>[a-z]+\\d+)_f8e4m3$/", "dequantise_ _f8e4m3");
    expect_words("/rms_norm|gelu_kernel/", "");
    expect_words("gelu_kernel", "");
    expect_words("*gelu_kernel*", "");
}

/* ---- nothing that is named is refused ---- */

static const char *const patterns[] = {
    "gelu_forward_kernel",
    "vllm::rms_norm_kernel<c10::BFloat16>",
    "_Z19gelu_forward_kernelPfPKfi",
    "_ZN51_GLOBAL__N__0a1b2c3d_4_file_cu_01234567_890123456keptEPf",
    "(anonymous namespace)::kept(float*)",
    "*rms_norm*",
    "*::rms_norm_kernel<*>",
    "/kernel<(?<T>\\w+), (?<n>\\d+)>/",
    "/^fused_\\w+_\\d+$/",
    "/f(or|u)ward/",
    "/.*/",
    "*",
    "fusion.12",
    "cub::detail::kernel<3, (Kind)2>",
    "sum_kernel(std::pair<int, float>)",
    "std::forward_kernel",
};

static const char *const symbols[] = {
    "_Z19gelu_forward_kernelPfPKfi",
    "gelu_forward_kernel",
    "_ZN4vllm15rms_norm_kernelIN3c108BFloat16EEEvPT_fi",
    "_ZN51_GLOBAL__N__ffffffff_4_file_cu_89abcdef_890123456keptEPf",
    "_ZN12_GLOBAL__N_14keptEPf",
    "_Z6kernelIfLi128EEvPT_",
    "_Z6kernelI13__nv_bfloat16Li8EEvPT_",
    "fused_add_12",
    "fusion.12",
    "fusion_12",
    "_ZN3cub6detail6kernelILi3EL4Kind2EEEvv",
    "_Z10sum_kernelSt4pairIifE",
    "_ZSt14forward_kernelv",
    "_Z7forwardv",
    "_Z3foov",
    "_Znwm",
    "",
};

static void what_a_pattern_names_passes(void **state)
{
    unsigned named = 0, refused = 0;
    (void)state;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct name_filter filter = {0};
        struct pattern *pattern;
        struct error err = {0};
        struct captures caught;
        assert_true(name_filter_add(&filter, patterns[i]));
        assert_int_equal(pattern_compile(&pattern, patterns[i], &err), STATUS_OK);
        for (size_t j = 0; j < sizeof symbols / sizeof *symbols; j++) {
            struct symbol_names names;
            assert_true(symbol_describe(&names, &arena, symbols[j]));
            bool may = name_filter_may(&filter, symbols[j]);
            if (pattern_match(pattern, &names, &arena, &caught) == PATTERN_YES) {
                named++;
                if (!may)
                    fail_msg("%s names %s, which is refused", patterns[i], symbols[j]);
            }
            refused += !may;
        }
        pattern_destroy(pattern);
        name_filter_release(&filter);
    }
    assert_in_range(named, 40, 80);
    assert_in_range(refused, 120, 250); /* of 272 */
}

/* The length of an identifier may follow digits of something else. */
static void words_behind_other_digits_are_found(void **state)
{
    struct name_filter filter = {0};
    (void)state;
    for (unsigned i = 0; i < 200; i++)
        assert_true(name_filter_add(&filter, arena_format(&arena, "other_%u", i)));
    assert_true(name_filter_add(&filter, "gelu"));
    assert_true(name_filter_may(&filter, "_Z4gelui"));
    assert_true(name_filter_may(&filter, "_Z9other_199i"));
    assert_false(name_filter_may(&filter, "_Z9other_200i"));
    assert_true(name_filter_may(&filter, "_Z1fILi124geluEv")); /* no name, and no harm */
    assert_false(name_filter_may(&filter, "_Z5geluvi"));
    assert_false(name_filter_may(&filter, "_Z4gel"));
    assert_false(name_filter_may(&filter, "_Z99999999999999999999999999gelu"));
    name_filter_release(&filter);
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
        cmocka_unit_test(exact_names_need_their_longest_word),
        cmocka_unit_test(globs_and_regexes_need_a_part),
        cmocka_unit_test(regexes_need_their_longest_words),
        cmocka_unit_test(what_a_pattern_names_passes),
        cmocka_unit_test(words_behind_other_digits_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
