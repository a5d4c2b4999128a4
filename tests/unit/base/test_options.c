/* Options: the table's defaults, good and bad values, unknown variables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/options.h"

static char said[4][512];
static int count;

static void listen(void *user, const char *sentence)
{
    (void)user;
    if (count < 4) {
        strncpy(said[count], sentence, sizeof said[0] - 1);
        count++;
    }
}

static struct options read_all(char *const *env)
{
    struct options options;
    count = 0;
    memset(said, 0, sizeof said);
    options_read(&options, env, listen, NULL);
    return options;
}

static void defaults_hold_in_an_empty_environment(void **state)
{
    (void)state;
    char *env[] = {"PATH=/bin", "CUVETX=1", NULL};
    struct options options = read_all(env);
    assert_int_equal(count, 0);
    assert_string_equal(options.config, "");
    assert_string_equal(options.mode, "check");
    assert_string_equal(options.log, "warn");
    assert_true(options.sample == 0.5 && options.budget == 0.05);
    assert_int_equal(options.memory, 256u << 20);
    assert_int_equal(options.queue, 256);
    assert_int_equal(options.subset, 1 << 20);
    assert_true(options.freivalds == 0.25);
    assert_true(options.summary);
    assert_false(options.disable);
    options = read_all(NULL);
    assert_int_equal(options.first, 2);
    char *free_of_cost[] = {"CUVET_BUDGET=off", "CUVET_SUBSET=off", NULL};
    options = read_all(free_of_cost);
    assert_true(options.budget == 0 && options.subset == 0);
    char *none[] = {"CUVET_SUBSET=0", NULL};
    options = read_all(none);
    assert_int_equal(count, 1);
    assert_int_equal(options.subset, 1 << 20);
}

static void good_values_are_taken(void **state)
{
    (void)state;
    char *env[] = {"CUVET_CONFIG=a.yaml:b.yaml",
                   "CUVET_SAMPLE=0.01",
                   "CUVET_MEMORY=2G",
                   "CUVET_QUOTA=512k",
                   "CUVET_MODE=off",
                   "CUVET_SUMMARY=0",
                   "CUVET_SEED=18446744073709551615",
                   NULL};
    struct options options = read_all(env);
    assert_int_equal(count, 0);
    assert_string_equal(options.config, "a.yaml:b.yaml");
    assert_true(options.sample == 0.01);
    assert_true(options.memory == 2ull << 30);
    assert_true(options.quota == 512u << 10);
    assert_string_equal(options.mode, "off");
    assert_false(options.summary);
    assert_true(options.seed == UINT64_MAX);
}

static void bad_values_keep_the_default_and_are_told(void **state)
{
    (void)state;
    static const struct {
        char *variable;
        const char *part;
    } cases[] = {
        {"CUVET_BUDGET=5", "CUVET_BUDGET is '5'; expected share (5%) or off; it stays '5%'"},
        {"CUVET_BUDGET=0%", "expected share (5%) or off"},
        {"CUVET_BUDGET=200%", "expected share (5%) or off"},
        {"CUVET_BUDGET=%", "expected share (5%) or off"},
        {"CUVET_SAMPLE=1.5", "CUVET_SAMPLE is '1.5'; expected number 0..1; it stays '0.5'"},
        {"CUVET_SAMPLE=often", "expected number 0..1"},
        {"CUVET_SAMPLE=", "expected number 0..1"},
        {"CUVET_SAMPLE=nan", "expected number 0..1"},
        {"CUVET_MEMORY=12X", "CUVET_MEMORY is '12X'; expected bytes 1K..1024G; it stays '256M'"},
        {"CUVET_MEMORY=99999999999G", "expected bytes 1K..1024G"},
        {"CUVET_MEMORY=1025G", "expected bytes 1K..1024G"},
        {"CUVET_MEMORY=0", "expected bytes 1K..1024G"},
        {"CUVET_SUBSET=1", "expected bytes 1K..1024G or off"},
        {"CUVET_QUEUE=-1", "expected number 1..16384"},
        {"CUVET_QUEUE=0", "expected number 1..16384"},
        {"CUVET_QUEUE=4294967295",
         "CUVET_QUEUE is '4294967295'; expected number 1..16384; it stays '256'"},
        {"CUVET_QUEUE=4294967296", "expected number 1..16384"},
        {"CUVET_EXIT_WAIT=2147483648",
         "CUVET_EXIT_WAIT is '2147483648'; expected number 0..3600000; it stays '2000'"},
        {"CUVET_FIRST=18446744073709551615", "expected number 0..1000000000"},
        {"CUVET_BUNDLES=4294967296", "expected number 0..1000000"},
        {"CUVET_BUNDLE_SIZE=1", "expected bytes 1K..1024G"},
        {"CUVET_QUOTA=1", "expected bytes 4K..1048576G"},
        {"CUVET_SEED=18446744073709551616", "expected number 0..18446744073709551615"},
        {"CUVET_DISABLE=yes", "expected 0 or 1"},
        {"CUVET_MODE=chec", "expected check|trace|discover|off"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *env[] = {cases[i].variable, NULL};
        struct options options = read_all(env);
        assert_int_equal(count, 1);
        assert_non_null(strstr(said[0], cases[i].part));
        assert_true(options.sample == 0.5 && options.queue == 256 && !options.disable);
        assert_true(options.memory == 256u << 20 && options.exit_wait_ms == 2000);
        assert_true(options.first == 2 && options.bundles == 4 && options.seed == 0);
    }
}

/* A profile changes defaults; what is set by itself counts all the same, wherever it stands. */
static void a_profile_changes_defaults(void **state)
{
    (void)state;
    char *const plain[] = {"CUVET_PROFILE=sdc", NULL};
    char *const with_more[] = {"CUVET_SUBSET=2M", "CUVET_PROFILE=sdc", "CUVET_BUDGET=3%", NULL};
    char *const wrong[] = {"CUVET_PROFILE=fast", NULL};
    struct options options = read_all(plain);
    assert_true(options.sample == 1 && options.freivalds == 1 && options.budget == 0.01);
    assert_int_equal(options.subset, 65536);
    assert_int_equal(options.first, 1);
    assert_string_equal(options.outlier, "off");
    options = read_all(with_more);
    assert_int_equal(options.subset, 2 << 20);
    assert_true(options.budget == 0.03 && options.freivalds == 1);
    assert_int_equal(count, 0);
    options = read_all(wrong);
    assert_int_equal(count, 1);
    assert_non_null(strstr(said[0], "expected default|sdc"));
    assert_true(options.freivalds == 0.25);
}

static void the_ends_of_a_range_are_in_it(void **state)
{
    (void)state;
    char *least[] = {"CUVET_QUEUE=1",     "CUVET_EXIT_WAIT=0", "CUVET_MEMORY=1K",
                     "CUVET_SUBSET=1024", "CUVET_SAMPLE=0",    NULL};
    struct options options = read_all(least);
    assert_int_equal(count, 0);
    assert_true(options.queue == 1 && options.exit_wait_ms == 0 && options.memory == 1024);
    assert_true(options.subset == 1024 && options.sample == 0);
    char *most[] = {"CUVET_QUEUE=16384", "CUVET_EXIT_WAIT=3600000", "CUVET_MEMORY=1024G",
                    "CUVET_SAMPLE=1", NULL};
    options = read_all(most);
    assert_int_equal(count, 0);
    assert_true(options.queue == 16384 && options.exit_wait_ms == 3600000 && options.sample == 1);
    assert_true(options.memory == (uint64_t)1 << 40);
}

/* A program may change its folder before they are used. */
static void relative_paths_become_absolute(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *absolute;
    } cases[] = {
        {"CUVET_CONFIG", "a.yaml:/b.yaml:c/d.yaml", "/usr/a.yaml:/b.yaml:/usr/c/d.yaml"},
        {"CUVET_PLUGIN", "told.so", "/usr/told.so"},
        {"CUVET_TOOL", "./cuvet", "/usr/./cuvet"},
        {"CUVET_CUPTI", "lib/libcupti.so", "/usr/lib/libcupti.so"},
        {"CUVET_NVRTC", "libnvrtc.so.12", "libnvrtc.so.12"}, /* the loader looks it up */
        {"CUVET_REPORT", "r", "/usr/r"},
        {"CUVET_TOLERANCES", "/t.yaml", "/t.yaml"},
        {"CUVET_LOG", "a/b", "a/b"},
    };
    enum { CASES = sizeof cases / sizeof cases[0] };
    char folder[4096], text[CASES][64], *env[CASES + 1] = {NULL};
    assert_non_null(getcwd(folder, sizeof folder));
    assert_int_equal(chdir("/usr"), 0);
    for (size_t i = 0; i < CASES; i++) {
        snprintf(text[i], sizeof text[i], "%s=%s", cases[i].name, cases[i].value);
        env[i] = text[i];
        setenv(cases[i].name, cases[i].value, 1);
    }
    struct options options = read_all(env);
    options_keep(&options);
    options_paths_absolute(environ);
    assert_int_equal(chdir(folder), 0);
    for (size_t i = 0; i < CASES; i++) {
        assert_string_equal(getenv(cases[i].name), cases[i].absolute);
        unsetenv(cases[i].name);
    }
    assert_string_equal(options.config, cases[0].absolute);
    assert_string_equal(options.plugin, cases[1].absolute);
    assert_string_equal(options.tool, cases[2].absolute);
    assert_string_equal(options.cupti, cases[3].absolute);
    assert_string_equal(options.nvrtc, cases[4].absolute);
    assert_string_equal(options.report, cases[5].absolute);
    assert_string_equal(options.mode, "check");
}

static void unknown_variables_are_told_with_the_nearest(void **state)
{
    (void)state;
    char *env[] = {"CUVET_SAMPEL=1", "CUVET_ELEPHANT=1", NULL};
    read_all(env);
    assert_int_equal(count, 2);
    assert_non_null(strstr(said[0], "CUVET_SAMPEL"));
    assert_non_null(strstr(said[0], "did you mean 'CUVET_SAMPLE'?"));
    assert_null(strstr(said[1], "did you mean"));
}

static void every_row_has_its_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_row_count; i++) {
        assert_int_equal(strncmp(option_rows[i].name, "CUVET_", 6), 0);
        assert_true(strlen(option_rows[i].sentence) > 10);
        assert_non_null(option_rows[i].fallback);
        assert_non_null(option_rows[i].type);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_hold_in_an_empty_environment),
        cmocka_unit_test(good_values_are_taken),
        cmocka_unit_test(bad_values_keep_the_default_and_are_told),
        cmocka_unit_test(a_profile_changes_defaults),
        cmocka_unit_test(the_ends_of_a_range_are_in_it),
        cmocka_unit_test(relative_paths_become_absolute),
        cmocka_unit_test(unknown_variables_are_told_with_the_nearest),
        cmocka_unit_test(every_row_has_its_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
