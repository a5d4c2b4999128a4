/* The summary: what it prints of findings, counts, costs and reasons. */
#include "tests/unit/report/summary_fixture.h"

static void skip_launches(struct fixture *f, int64_t number, enum skip skip, int count)
{
    for (int i = 0; i < count; i++) {
        counters_seen(f->counters);
        counters_skip(f->counters, number, skip);
    }
}

/* The whole text of a run with one finding, as people see it. */
static void a_run_with_a_finding(void **state)
{
    struct fixture *f = *state;

    f->facts.journal = "/r/journal-h-1.jsonl";
    judge(f);
    made_up_mismatch(&f->check);
    judge(f);
    summary_finding(f->summary, &f->check.report, "/r/double-1-17");
    skip_launches(f, 0, SKIP_NOT_SAMPLED, 3);
    skip_launches(f, -1, SKIP_UNREGISTERED, 7);
    assert_string_equal(
        text_of(f),
        "cuvet: 12 launches seen, 5 (41.7 %) of 1 registered kernel. Checked 2 (16.7 %): 1 match, "
        "1 mismatch, 0 inconclusive.\n"
        "\n"
        "  kernel   launches    checked      match   mismatch  inconclusive  unchecked  "
        "worst error/bound\n"
        "  double          5          2          1          1             0          3  "
        "             31.5\n"
        "\n"
        "  Launches not checked, and why:\n"
        "            7  unregistered: no registry entry names the kernel\n"
        "            3  not sampled: the random gate passed it over\n"
        "\n"
        "  Findings:\n"
        "    1. double, launch 17 (grid 128x1x1, block 256x1x1): 2 of 32 elements outside the "
        "bound, up to 31.5 times\n"
        "       worst  y[3][5]: got 3, expected 1.03125 +- 0.0625\n"
        "       first  y[1][2]: got 1.5, expected 1.25 +- 0.0625\n"
        "       bundle /r/double-1-17\n"
        "\n"
        "  journal /r/journal-h-1.jsonl\n");
}

/* Of a large launch the check read a part: its counts are those of the part, and are marked so. */
static void a_sample_names_the_launch(void **state)
{
    struct fixture *f = *state;

    made_up_mismatch(&f->check);
    f->check.report.numbers.checked = 10;
    judge(f);
    summary_finding(f->summary, &f->check.report, NULL);
    assert_has(f, "2 of 10 elements outside the bound, up to 31.5 times, "
                  "a sample: the launch has 32 elements\n");
}

/* Sums by index are drawn by index, so a row that many name is compared as often. */
static void comparisons_of_one_element_are_no_elements(void **state)
{
    struct fixture *f = *state;

    made_up_mismatch(&f->check);
    f->check.reference.uses = REF_REPEATS;
    f->check.report.numbers.checked = 48;
    judge(f);
    summary_finding(f->summary, &f->check.report, NULL);
    assert_has(f,
               "2 of 48 comparisons outside the bound, up to 31.5 times, some of one element: the "
               "launch has 32 elements\n");
    assert_lacks(f, "a sample");
}

static void a_whole_launch_is_no_sample(void **state)
{
    struct fixture *f = *state;

    made_up_mismatch(&f->check);
    judge(f);
    summary_finding(f->summary, &f->check.report, NULL);
    assert_lacks(f, "a sample");
}

/* Ratios are good to a thousandth, and a match must not look like a kernel at its bound. */
static void a_match_has_no_ratio_of_one(void **state)
{
    struct fixture *f = *state;

    f->check.report.numbers.max_ratio = 1.0008;
    judge(f);
    assert_has(f, " <1\n");
}

static void a_mismatch_keeps_its_ratio(void **state)
{
    struct fixture *f = *state;

    made_up_mismatch(&f->check);
    f->check.report.numbers.max_ratio = 1.0008;
    judge(f);
    assert_lacks(f, "<1");
}

static void entries_that_met_no_kernel_are_listed(void **state)
{
    struct fixture *f = *state;

    f->facts.unmet = "foo (k.yaml:3)";
    judge(f);
    assert_has(f, "\n  Entries that named no kernel that ran: foo (k.yaml:3)\n");
    f->facts.unmet = NULL;
    assert_lacks(f, "named no kernel");
}

/* Names come from modules and files: none may write lines of its own, or steer a terminal. */
static void names_are_printable(void **state)
{
    static const uint32_t one[3] = {1, 1, 1};
    struct fixture *f = *state;

    made_up_mismatch(&f->check);
    f->check.spec.label = "k\x1b[2J\n  Findings: none\xc2\x9b\xff";
    judge(f);
    summary_finding(f->summary, &f->check.report, "/r/\x1b]0;x\x07");
    summary_note(f->summary, "%s: unchecked", "n\n\x1b[31m");
    counters_launch_error(f->counters, "e\r\xe2\x80\xae", one, one, "CUDA_ERROR");
    f->facts.journal = "/j\x1bj";
    assert_has(f, "  k?[2J   Findings: none?? ");
    assert_has(f, "    1. k?[2J   Findings: none??, launch 17");
    assert_has(f, "       bundle /r/?]0;x?\n");
    assert_has(f, "    n ?[31m: unchecked\n");
    assert_has(f, "  e ?, grid 1x1x1");
    assert_has(f, "  journal /j?j\n");
    assert_lacks(f, "\x1b");
}

static void a_finding_of_the_outlier_gate_says_so(void **state)
{
    struct fixture *f = *state;

    made_up_mismatch(&f->check);
    f->check.report.outlier = (struct outlier_call_report){"x", "absmax", 7.25, 5.5, true};
    judge(f);
    summary_finding(f->summary, &f->check.report, NULL);
    assert_has(f, "       outlier  absmax of x: 7.25 sigma, over 5.5\n");
}

static void a_subset_is_told(void **state)
{
    struct fixture *f = *state;

    judge(f); /* one that read everything */
    made_up_mismatch(&f->check);
    made_up_subset(&f->check);
    judge(f);
    summary_finding(f->summary, &f->check.report, NULL);
    assert_has(f,
               "    double: 1 of 2 checks had a subset of the launch, 4 % of its items on average "
               "(CUVET_SUBSET)\n");
    assert_has(f, "2 of 32 elements outside the bound, up to 31.5 times, "
                  "a sample: the launch has 800 elements\n"
                  "       subset rows 4 of 100\n"
                  "       worst  y[99][5]: got 3, expected 1.03125 +- 0.0625\n"
                  "       first  y[1][2]: got");
}

static void a_projection_is_told(void **state)
{
    struct fixture *f = *state;

    judge(f);
    assert_lacks(f, "projected");
    f->check.report.projection = (struct projection_report){.array = "y", .rows = 90, .left = 6};
    judge(f); /* nothing wrong: a note */
    assert_has(f, "    double: 1 of 2 checks projected the whole product (CUVET_FREIVALDS)\n");
    f->check.report.verdict = VERDICT_MISMATCH;
    f->check.report.projection.violations = 3;
    f->check.report.projection.first = 8;
    f->check.report.projection.last = 23;
    f->check.report.projection.worst = 9;
    f->check.report.projection.ratio = 12.5;
    summary_finding(f->summary, &f->check.report, NULL);
    assert_has(f, "0 of 32 elements outside the bound\n"
                  "       projection  rows [8] to [23] of y: in 3 of 90 rows of the whole product "
                  "the projected\n"
                  "       row is off, by up to 12.5 times its bound (row [9])\n");
    f->check.report.projection.of = 10;
    summary_finding(f->summary, &f->check.report, NULL);
    assert_has(f, "rows [0][8] to [2][3] of y:");
    assert_has(f, "(row [0][9])\n");
}

static void parts_of_a_projection_have_columns(void **state)
{
    struct fixture *f = *state;

    made_up_mismatch(&f->check);
    f->check.report.projection = (struct projection_report){.array = "y",
                                                            .rows = 90,
                                                            .violations = 3,
                                                            .first = 8,
                                                            .last = 23,
                                                            .worst = 9,
                                                            .ratio = 12.5,
                                                            .of = 10,
                                                            .columns = 4096};
    judge(f);
    summary_finding(f->summary, &f->check.report, NULL);
    assert_has(f, "rows [8] (columns 0 to 4095) to [3] (columns 8192 to 12287) of y: in 3 of 90 "
                  "parts of rows of the whole product");
}

static void a_clean_run_is_short(void **state)
{
    struct fixture *f = *state;

    judge(f);
    assert_has(f, "Checked 1 (100 %): 1 match, 0 mismatch, 0 inconclusive.\n");
    assert_lacks(f, "Findings");
    assert_lacks(f, "Notes");
    assert_lacks(f, "WARNING");
    assert_lacks(f, "not checked");
    assert_lacks(f, "refused");
    assert_lacks(f, "journal");
    assert_lacks(f, "NOTHING WAS CHECKED");
}

/* The number behind `before`. */
static double number_behind(const char *text, const char *before)
{
    const char *at = strstr(text, before);

    if (!at)
        fail_msg("this lacks '%s':\n%s", before, text);
    return strtod(at + strlen(before), NULL);
}

/* Parts of the cost that passed at the same time count once; the hook's time is apart. */
static void costs_that_overlap_count_once(void **state)
{
    struct fixture *f = *state;
    struct check_cost cost = {3000000, 1000000, 500000, 1500000, 2000000};
    struct check_cost decided = {.thread = 1000000};
    const char *text;

    judge(f);
    counters_spent(f->counters, -1, &cost);
    assert_lacks(f, "Most of it");
    counters_spent(f->counters, f->check.spec.number, &cost);
    counters_spent(f->counters, -1, &decided);
    assert_has(f, "  Most of it for the checks of\n      44 %  ");
    assert_lacks(f, "the hook takes");
    text = text_of(f);
    double sum = number_behind(text, "Cost of checking: ");
    double thread = number_behind(text, "program's threads ");
    assert_true(fabs(sum / thread - 9.0 / 7) < 0.1); /* both have two digits */
    counters_hook(f->counters, 42);
    assert_has(f, "Apart from it the hook takes about 42 ns of each launch, ");
    assert_lacks(f, "CUPTI");
    f->facts.cupti = true;
    assert_has(f, ", and CUPTI its own part to call it.");
}

static void silence_does_not_look_like_success(void **state)
{
    struct fixture *f = *state;

    assert_has(f, "no kernel launch was seen, so nothing was checked");
    skip_launches(f, -1, SKIP_UNREGISTERED, 3);
    assert_has(f, "cuvet: 0 of 3 launches were of registered kernels: nothing was checked.");
    assert_has(f, "None of the 12 registry entries fits a kernel that ran; `cuvet check FILES`");
    counters_add_kernel(f->counters, &f->check.spec);
    skip_launches(f, 0, SKIP_NOT_SAMPLED, 1);
    assert_has(f, "1 (25 %) of 1 registered kernel. Checked 0 (0 %): 0 match");
    assert_has(f, "NOTHING WAS CHECKED.");
    f->facts.entries = 0;
    assert_has(f, "none checked: no registry entry was read");
}

static void kernels_without_an_entry_are_named(void **state)
{
    struct fixture *f = *state;
    static const struct summary_unregistered named[] = {{"at::native::often", 0.75, 0.4},
                                                        {"rare", 0.1, 0.3}};
    const struct gpu_shares gpu = {.timed = 12, .all = 4e6, .registered = 1e6, .checked = 5e5};

    judge(f);
    skip_launches(f, -1, SKIP_UNREGISTERED, 3);
    assert_lacks(f, "without an entry");
    f->facts.unregistered = named;
    f->facts.unregistered_count = 2;
    assert_has(f, "  Most launches without an entry, of all launches by samples:\n"
                  "    56.2 %  at::native::often\n"
                  "     7.5 %  rare\n");
    assert_lacks(f, "on the GPU");
    counters_gpu(f->counters, &gpu);
    assert_has(f, "  Time on the GPU: 25 % in registered kernels, 12.5 % in launches that were "
                  "checked; estimated from 12 timed launches.\n");
    assert_has(f, "  Most time on the GPU without an entry, of all of it by samples:\n"
                  "    40.0 %  at::native::often\n"
                  "    30.0 %  rare\n");
}

static void every_reason_is_printed(void **state)
{
    struct fixture *f = *state;

    counters_add_kernel(f->counters, &f->check.spec);
    for (int k = SKIP_NONE + 1; k < SKIP_COUNT; k++)
        skip_launches(f, k % 2 ? 0 : -1, (enum skip)k, k);
    for (int k = SKIP_NONE + 1; k < SKIP_COUNT; k++) {
        char line[256];

        snprintf(line, sizeof line, "%9d  %s: %s\n", k, skip_text((enum skip)k),
                 skip_sentence((enum skip)k));
        assert_has(f, line);
    }
}

static void lost_launches_are_a_warning(void **state)
{
    struct fixture *f = *state;

    judge(f);
    counters_seen(f->counters);
    assert_has(f, "WARNING: 2 launches were seen, but 1 are accounted for.");
}

static void refused_launches_are_listed(void **state)
{
    static const uint32_t grid[3] = {70000, 1, 1}, block[3] = {2048, 1, 1};
    struct fixture *f = *state;
    char symbol[16];

    judge(f);
    for (int i = 0; i < COUNTERS_ERRORS + 2; i++) {
        snprintf(symbol, sizeof symbol, "k%d", i);
        counters_launch_error(f->counters, symbol, grid, block, "CUDA_ERROR_INVALID_VALUE");
    }
    assert_has(f, "        1  k63, grid 70000x1x1, block 2048x1x1: CUDA_ERROR_INVALID_VALUE\n");
    assert_lacks(f, "k64");
    assert_has(f, "        2  of further kernels or errors\n");
}

static void it_is_one_write_to_standard_error(void **state)
{
    struct fixture *f = *state;
    int channel[2], kept = dup(STDERR_FILENO);
    char got[8192] = "";
    ssize_t count;

    judge(f);
    assert_int_equal(pipe(channel), 0);
    dup2(channel[1], STDERR_FILENO);
    summary_print(f->summary, f->counters, &f->facts);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(channel[1]);
    count = read(channel[0], got, sizeof got - 1); /* a pipe keeps writes of this size whole */
    close(channel[0]);
    assert_int_equal(count, strlen(text_of(f)));
    assert_string_equal(got, f->text.data);
}

static void a_summary_without_memory_still_counts(void **state)
{
    struct fixture *f = *state;

    judge(f);
    summary_destroy(f->summary);
    f->summary = NULL;
    summary_finding(NULL, &f->check.report, NULL);
    summary_note(NULL, "a");
    assert_has(f, "Checked 1 (100 %): 1 match");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SUMMARY_TEST(entries_that_met_no_kernel_are_listed),
        SUMMARY_TEST(a_sample_names_the_launch),
        SUMMARY_TEST(comparisons_of_one_element_are_no_elements),
        SUMMARY_TEST(a_whole_launch_is_no_sample),
        SUMMARY_TEST(a_match_has_no_ratio_of_one),
        SUMMARY_TEST(a_mismatch_keeps_its_ratio),
        SUMMARY_TEST(a_run_with_a_finding),
        SUMMARY_TEST(names_are_printable),
        SUMMARY_TEST(a_finding_of_the_outlier_gate_says_so),
        SUMMARY_TEST(a_subset_is_told),
        SUMMARY_TEST(a_projection_is_told),
        SUMMARY_TEST(parts_of_a_projection_have_columns),
        SUMMARY_TEST(a_clean_run_is_short),
        SUMMARY_TEST(costs_that_overlap_count_once),
        SUMMARY_TEST(silence_does_not_look_like_success),
        SUMMARY_TEST(kernels_without_an_entry_are_named),
        SUMMARY_TEST(every_reason_is_printed),
        SUMMARY_TEST(lost_launches_are_a_warning),
        SUMMARY_TEST(refused_launches_are_listed),
        SUMMARY_TEST(it_is_one_write_to_standard_error),
        SUMMARY_TEST(a_summary_without_memory_still_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
