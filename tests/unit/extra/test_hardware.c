/* Whether a finding is evidence of faulty hardware. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "extra/hardware.h"

enum { TENSOR_ID = 7, WORST = 12 };

/* What the reference's second run gives. */
static struct second {
    double value;
    int runs;
} second;

static int has_reference(void *user, int tensor)
{
    return user == &second && tensor == 0;
}

static enum status read_reference(void *user, int tensor, int64_t first, int64_t count, double *out)
{
    struct second *run = user;
    assert_int_equal(tensor, 0);
    assert_int_equal(first, WORST);
    assert_int_equal(count, 1);
    run->runs++;
    *out = run->value;
    return STATUS_OK;
}

static const struct bundle_source source = {
    .user = &second, .has_reference = has_reference, .read_reference = read_reference};

/* A judged launch: one element is 5 where the reference has 1 +- 0.5; or there is none. */
static struct hardware_report judge(struct hardware *hardware, uint64_t signature, bool wrong)
{
    static struct binding binding;
    binding.tensors = 1;
    binding.call.tensor[0].id = TENSOR_ID;
    struct check_report report = {.binding = &binding,
                                  .verdict = wrong ? VERDICT_MISMATCH : VERDICT_MATCH,
                                  .numbers = {.violations = wrong,
                                              .worst_tensor = TENSOR_ID,
                                              .worst_index = WORST,
                                              .worst_got = 5,
                                              .worst_ref = 1,
                                              .worst_bound = 0.5}};
    hardware_judge(hardware, signature, &report, &source);
    return report.hardware;
}

static int open_table(void **state)
{
    second = (struct second){.value = 1};
    *state = hardware_create();
    return *state ? 0 : 1;
}

static int close_table(void **state)
{
    hardware_destroy(*state);
    return 0;
}

static void one_among_many_is_suspected(void **state)
{
    for (int i = 0; i < 100; i++)
        assert_false(judge(*state, 3, false).enabled);
    assert_int_equal(second.runs, 0);
    struct hardware_report found = judge(*state, 3, true);
    assert_true(found.enabled && found.suspected && found.again && found.repeats);
    assert_int_equal(found.matches, 100);
    assert_int_equal(found.mismatches, 0);
    assert_false(judge(*state, 3, true).suspected); /* the second one is too many */
}

static void a_fault_that_repeats_is_not(void **state)
{
    for (int i = 0; i < 40; i++) {
        struct hardware_report found = judge(*state, 3, true);
        assert_true(found.enabled && !found.suspected);
        assert_int_equal(found.mismatches, i);
    }
}

static void too_few_are_no_evidence(void **state)
{
    for (int i = 0; i < 99; i++)
        judge(*state, 3, false);
    for (int i = 0; i < 500; i++)
        judge(*state, 4, false); /* launches of another kind */
    assert_false(judge(*state, 3, true).suspected);
}

/* At once: another run of the same formula on the same bytes has another result. */
static void a_reference_that_does_not_repeat_is_suspected(void **state)
{
    second.value = 5.25;
    struct hardware_report found = judge(*state, 3, true);
    assert_true(found.suspected && found.again && !found.repeats);
    second.value = 1.25; /* not to the last bit: the element stays wrong */
    assert_false(judge(*state, 9, true).suspected);
}

static void without_a_table_nothing_is_asked(void **state)
{
    (void)state;
    assert_false(judge(NULL, 3, true).enabled);
    assert_int_equal(second.runs, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_among_many_is_suspected, open_table, close_table),
        cmocka_unit_test_setup_teardown(a_fault_that_repeats_is_not, open_table, close_table),
        cmocka_unit_test_setup_teardown(too_few_are_no_evidence, open_table, close_table),
        cmocka_unit_test_setup_teardown(a_reference_that_does_not_repeat_is_suspected, open_table,
                                        close_table),
        cmocka_unit_test_setup_teardown(without_a_table_nothing_is_asked, open_table, close_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
