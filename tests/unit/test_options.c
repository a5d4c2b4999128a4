/* Options: the table's defaults, good and bad values, unknown variables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
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
        {"CUVET_MEMORY=12X", "expected bytes (K, M, G)"},
        {"CUVET_MEMORY=99999999999G", "expected bytes (K, M, G)"},
        {"CUVET_QUEUE=-1", "expected number 0.."},
        {"CUVET_DISABLE=yes", "expected 0 or 1"},
        {"CUVET_MODE=chec", "expected check|off"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *env[] = {cases[i].variable, NULL};
        struct options options = read_all(env);
        assert_int_equal(count, 1);
        assert_non_null(strstr(said[0], cases[i].part));
        assert_true(options.sample == 0.5 && options.queue == 256 && !options.disable);
    }
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
        cmocka_unit_test(unknown_variables_are_told_with_the_nearest),
        cmocka_unit_test(every_row_has_its_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
