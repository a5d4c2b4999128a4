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

/* "a kernel | whole": parts, and behind the bar whole identifiers. */
static void expect_need(const char *text, const char *expected)
{
    struct name_need need;
    char found[400] = "";
    name_need_find(&need, &arena, text);
    for (unsigned whole = 0; whole < 2; whole++) {
        for (unsigned i = 0; i < need.words; i++) {
            if (need.word[i].whole != whole)
                continue;
            strcat(found, *found ? " " : "");
            strcat(found, whole && !strchr(found, '|') ? "| " : "");
            strcat(found, need.word[i].text);
        }
    }
    assert_string_equal(found, expected);
}

static void exact_names_need_their_longest_word(void **state)
{
    (void)state;
    expect_need("gelu", "| gelu");
    expect_need("int", "| int"); /* a C function of that name */
    expect_need("_Z19gelu_forward_kernelPfPKfi", "| gelu_forward_kernel");
    expect_need("vllm::rms_norm_kernel<c10::BFloat16>", "| rms_norm_kernel");
    expect_need("void gelu(some_parameter_type)", "| gelu");
    expect_need("_GLOBAL__N__0123456789abcdef::gelu", "| gelu");
    expect_need("operator+", "");
    expect_need("_Zbroken", "| _Zbroken");
}

static void globs_and_regexes_need_parts(void **state)
{
    (void)state;
    expect_need("*norm_kernel*", "norm_kernel");
    expect_need("*norm*kernel<float*", "kernel norm");
    expect_need("*[nm]orm_kernel", "orm_kernel");
    expect_need("*nsigned*", "");
    expect_need("*float*", "");
    expect_need("*abc*", "");
    expect_need("*<128*", "");
    expect_need("/rms_norm_kernel<(?<T>\\w+), (?<width>\\d+)>/", "rms_norm_kernel");
    expect_need("/rms_norms?/", "rms_norm");
    expect_need("/rms_norm{0,1}_/", "rms_nor");
    expect_need("/(rms_norm)?_kernel/", "_kernel");
    expect_need("/rms_norm|gelu_kernel/", "");
    expect_need("/(rms|layer)_norm_kernel/", "_norm_kernel");
    expect_need("/(?i)rms_norm/", "");
    expect_need("/\\x41rms_norm/", "");
    expect_need("/\\k<rms_norm>/", "");
    expect_need("/^gelu_[a-z]+$/", "gelu_");
    expect_need("/^void reduce_kernel<\\d+, (?<T>float|half)>\\(MeanOps/",
                "MeanOps | reduce_kernel");
    expect_need(
        "/one_word, other_words?, (?:neither_of_these)?, words, word_4, word_of_5, one_word/",
        "other_word one_word | word_of_5 word_4 words");
    expect_need("/^dequantise_(?<T>[a-z]+\\d+)_f8e4m3$/", "dequantise_ _f8e4m3");
    expect_need(
        "/one_1 three_2 fifteen_3 seventeen_4 seventy_one_5 one_hundred_6 three_hundreds_7/",
        "three_hundreds_7 | seventy_one_5 one_hundred_6 seventeen_4 fifteen_3 three_2");
}

static void words_between_edges_are_whole(void **state)
{
    (void)state;
    expect_need("*::rms_norm_kernel<*", "| rms_norm_kernel");
    expect_need("*:rms_norm_kernel*", "rms_norm_kernel");
    expect_need("/::rms_norm_kernel<.*, Traits>/", "| rms_norm_kernel Traits");
    expect_need("/ rms_norm_kernel ?</", "rms_norm_kernel");
    expect_need("/ rms_norm_kernel:*</", "rms_norm_kernel");
    expect_need("/ rms_norm_kernel,+/", "| rms_norm_kernel");
    expect_need("/.rms_norm_kernel</", "rms_norm_kernel");
    expect_need("/\\<rms_norm_kernel</", "rms_norm_kernel");
    expect_need("/(?<T>\\w+)>rms_norm_kernel:/", "| rms_norm_kernel");
    expect_need("/^rms_norm_kernel\\(/", "rms_norm_kernel");
    expect_need("/name_kernel, <name_kernel>/", "| name_kernel");
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
        assert_true(name_filter_add(&filter, patterns[i], 0));
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
        assert_true(name_filter_add(&filter, arena_format(&arena, "other_%u", i), i));
    assert_true(name_filter_add(&filter, "gelu", 200));
    assert_true(name_filter_may(&filter, "_Z4gelui"));
    assert_true(name_filter_may(&filter, "_Z9other_199i"));
    assert_false(name_filter_may(&filter, "_Z9other_200i"));
    assert_true(name_filter_may(&filter, "_Z1fILi124geluEv")); /* no name, and no harm */
    assert_false(name_filter_may(&filter, "_Z5geluvi"));
    assert_false(name_filter_may(&filter, "_Z4gel"));
    assert_false(name_filter_may(&filter, "_Z99999999999999999999999999gelu"));
    name_filter_release(&filter);
}

/* "owner owner", the last one first. */
static const char *may_name(const struct name_filter *filter, const char *symbol)
{
    struct name_found found;
    char *text = arena_format(&arena, "%s", "");
    size_t at = filter->patterns;
    uint32_t owner;
    name_filter_look(filter, symbol, &found);
    while (name_filter_before(filter, &found, &at, &owner))
        text = arena_format(&arena, "%s%s%u", text, *text ? " " : "", (unsigned)owner);
    assert_int_equal(name_filter_may(filter, symbol), *text != '\0');
    return text;
}

static void patterns_that_may_name_come_last_first(void **state)
{
    static const char *const all[] = {"*norm*",
                                      "/norm_kernel<.*, (a|b)>/",
                                      "rms_norm",
                                      "/ rms_norm<.*Traits/",
                                      "/ rms_norm<.*Op>/",
                                      "/ layer_norm<.*Traits/"};
    struct name_filter filter = {0};
    (void)state;
    assert_string_equal(may_name(&filter, "_Z8rms_norm6Traits"), "");
    for (uint32_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_true(name_filter_add(&filter, all[i], 10 + i));
    assert_string_equal(may_name(&filter, "_Z8rms_norm6Traits"), "14 13 12 10");
    assert_string_equal(may_name(&filter, "_Z8rms_norm5Trait"), "14 12 10");
    assert_string_equal(may_name(&filter, "_Z9rms_norms6Traits"), "10");
    assert_string_equal(may_name(&filter, "_Z11norm_kernelIf1aE"), "11 10");
    assert_string_equal(may_name(&filter, "layer_norm Traits"), "15 10");
    assert_string_equal(may_name(&filter, "_Z4gelui"), "");
    assert_true(name_filter_add(&filter, "/./", 30)); /* needs nothing */
    assert_string_equal(may_name(&filter, "_Z4gelui"), "30");
    assert_string_equal(may_name(&filter, ""), "30");
    name_filter_release(&filter);
}

static void words_too_many_are_not_needed(void **state)
{
    struct name_filter filter = {0};
    uint16_t number = 0;
    (void)state;
    for (unsigned i = 1; i < NAME_FILTER_WORDS; i++) {
        assert_true(name_filter_word(&filter, arena_format(&arena, "word_%u", i), true, &number));
        assert_int_equal(number, i);
    }
    assert_true(name_filter_word(&filter, "word_7", true, &number));
    assert_int_equal(number, 7);
    assert_true(name_filter_word(&filter, "one_more", true, &number));
    assert_int_equal(number, 0);
    assert_true(name_filter_add(&filter, "word_7", 1));
    assert_string_equal(may_name(&filter, "one_more"), "");
    assert_true(name_filter_add(&filter, "one_more", 2));
    assert_string_equal(may_name(&filter, "one_more"), "2");
    assert_string_equal(may_name(&filter, "_Z6word_7v"), "2 1");
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
        cmocka_unit_test(globs_and_regexes_need_parts),
        cmocka_unit_test(words_between_edges_are_whole),
        cmocka_unit_test(what_a_pattern_names_passes),
        cmocka_unit_test(words_behind_other_digits_are_found),
        cmocka_unit_test(patterns_that_may_name_come_last_first),
        cmocka_unit_test(words_too_many_are_not_needed),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
