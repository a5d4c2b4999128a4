/* Notes of the summary, and how it explains its findings. */
#include "report/summary_parts.h"
#include "tests/unit/report/summary_fixture.h"

/* n matching elements with that mean square (in units of correct rounding's) and mean error. */
static void judge_noise(struct fixture *f, uint64_t n, double square, double mean)
{
    f->check.report.numbers.checked = f->check.report.numbers.measured = n;
    f->check.report.numbers.sum_square = square * (double)n / 12;
    f->check.report.numbers.sum_signed = mean * (double)n;
    notes_fill(&f->check.report);
    judge(f);
}

static void odd_errors_of_a_match_are_a_note(void **state)
{
    struct fixture *f = *state;

    judge_noise(f, 100000, 12.5, 0.125);
    assert_has(f, "Notes (these are no findings)");
    assert_has(f,
               "double matches, but in 1 launch the mean square of its errors is R = 12.5 times");
    assert_has(f, "double matches, but in 1 launch its errors lean one way, +0.125 ulp on average");
    assert_lacks(f, "Findings:");
}

static void ordinary_errors_are_no_note(void **state)
{
    struct fixture *f = *state;

    judge_noise(f, 100, 1.5, 0.1); /* a lean that so few elements have by chance */
    assert_lacks(f, "Notes");
    judge_noise(f, 1000000000, 1, 0.001); /* significant, and of no consequence */
    assert_lacks(f, "Notes");
}

/* A hundredth and more of the elements had no verdict: that must not hide behind a match. */
static void wide_bounds_are_a_note(void **state)
{
    struct fixture *f = *state;

    f->check.report.numbers.checked = 100000;
    f->check.report.numbers.wide = 1000;
    judge(f);
    assert_lacks(f, "Notes");
    f->check.report.numbers.wide = 1002;
    judge(f);
    assert_has(f, "double: of 2002 of its 200000 elements the bound is too wide for a verdict.");
    assert_lacks(f, "Findings:");
}

static void rows_that_could_not_be_judged_are_a_note(void **state)
{
    struct fixture *f = *state;

    f->check.report.projection = (struct projection_report){.array = "c", .rows = 96};
    judge(f);
    assert_lacks(f, "could not be judged");
    f->check.report.projection.left = 3;
    judge(f);
    judge(f);
    assert_has(f, "double: in 2 of its projections 6 rows could not be judged: inputs or outputs");
    assert_lacks(f, "Findings:");
}

static void a_row_that_is_not_finite_is_explained(void **state)
{
    struct fixture *f = *state;

    f->check.report.verdict = VERDICT_MISMATCH;
    f->check.report.projection =
        (struct projection_report){.array = "c", .rows = 96, .violations = 1, .ratio = 2};
    summary_finding(f->summary, &f->check.report, NULL);
    f->check.report.projection.ratio = INFINITY;
    summary_finding(f->summary, &f->check.report, NULL);
    assert_has(f, "row is off, by up to 2 times its bound (row [0])\n");
    assert_has(f, "row is off, and row [0] holds Inf or NaN, its inputs being finite\n");
}

static void wide_outputs_get_no_note(void **state)
{
    struct fixture *f = *state;

    f->check.binding.array[1].dtype = DTYPE_F32;
    judge_noise(f, 100000, 1000, 3);
    assert_lacks(f, "Notes");
}

static void a_launch_that_differs_names_the_other(void **state)
{
    struct fixture *f = *state;

    f->check.report.verdict = VERDICT_MISMATCH;
    f->check.report.differs = true;
    f->check.report.earlier = 3;
    judge(f);
    summary_finding(f->summary, &f->check.report, NULL);
    assert_has(f,
               "1. double, launch 17 (grid 128x1x1, block 256x1x1): 0 of 32 elements outside the "
               "bound\n       nondeterministic: launch 3 gave other bytes for the same input\n");
    made_up_mismatch(&f->check);
    summary_finding(f->summary, &f->check.report, NULL);
    assert_has(f, "2 of 32 elements outside the bound, up to 31.5 times\n       worst");
}

static void notes_and_findings_are_bounded(void **state)
{
    struct fixture *f = *state;

    judge(f);
    made_up_mismatch(&f->check);
    struct kernel_spec others[11];
    const struct kernel_spec *own = f->check.report.spec;
    char labels[11][8];
    for (uint64_t i = 0; i < 13; i++) {
        if (i >= 2) { /* the first two of one kernel, then one of each of eleven others */
            snprintf(labels[i - 2], sizeof labels[0], "k%d", (int)i);
            others[i - 2] = *own;
            others[i - 2].label = labels[i - 2];
            f->check.report.spec = &others[i - 2];
        }
        f->check.report.launch = i;
        summary_finding(f->summary, &f->check.report, NULL);
        summary_note(f->summary, "note %d.", (int)i);
    }
    f->check.report.spec = own;
    f->check.report.launch = 99;
    summary_finding(f->summary, &f->check.report, NULL); /* the third of its kernel */
    f->facts.lost_lines = 1;
    assert_has(f, "    2. double, launch 1 ");
    assert_has(f, "    10. k9, launch 9 ");
    assert_lacks(f, "launch 10 ");
    assert_lacks(f, "launch 99 ");
    assert_lacks(f, "bundle");
    assert_has(f, "    ... and 4 more\n");
    assert_has(f, "    note 9.\n    ... and 3 more\n");
    assert_has(f, "    1 line of the journal could not be written.\n");
}

/* As an autotuner's variants of a kernel, whose arrays may differ. */
static void kernels_of_one_name_share_a_note(void **state)
{
    static const struct {
        const char *name, *reason, *text;
        bool first;
    } cases[] = {{"tuned", "too large", "tuned: unchecked (too large): 9 bytes", true},
                 {"tuned", "too large", "tuned: unchecked (too large): 8 bytes", false},
                 {"tuned", "extent", "tuned: unchecked (extent): 'p0'", true},
                 {"other", "too large", "other: unchecked (too large): 9 bytes", true},
                 {"tuned", "too large", "tuned: unchecked (too large): 9 bytes", false}};
    struct fixture *f = *state;

    judge(f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(
            summary_kernel_note(f->summary, cases[i].name, cases[i].reason, cases[i].text),
            cases[i].first);
    assert_has(f, "    tuned: unchecked (too large): 9 bytes (one of 3 kernels of that name)\n"
                  "    tuned: unchecked (extent): 'p0'\n"
                  "    other: unchecked (too large): 9 bytes\n");
    assert_lacks(f, "8 bytes");
    assert_lacks(f, " more\n");
}

static void sentences_of_no_kernel_stand_each_by_itself(void **state)
{
    struct fixture *f = *state;

    judge(f);
    summary_note(f->summary, "a sentence");
    summary_note(f->summary, "a sentence");
    assert_has(f, "    a sentence\n    a sentence\n");
}

/* Beyond those that are kept each is counted, and none is lost. */
static void kernels_beyond_those_kept_are_counted(void **state)
{
    struct fixture *f = *state;
    char name[16];

    judge(f);
    for (int i = 0; i < SUMMARY_NOTES_KEPT + 5; i++) {
        snprintf(name, sizeof name, "k%d", i);
        assert_true(summary_kernel_note(f->summary, name, "extent", name));
    }
    assert_false(summary_kernel_note(f->summary, "k100", "extent", "k100"));
    assert_has(f, "    k9\n    ... and 251 more\n");
}

static void precision_is_the_first_note_and_is_never_cut(void **state)
{
    struct fixture *f = *state;

    judge_noise(f, 100000, 12.5, 0.125);
    for (int i = 0; i < 2 * SUMMARY_NOTES; i++)
        summary_note(f->summary, "note %d.", i);
    assert_lacks(f, "precision:");
    f->facts.precision = "precision: 64 kernels were held against their own PTX";
    assert_has(f, "Notes (these are no findings):\n"
                  "    precision: 64 kernels were held against their own PTX\n"
                  "    double matches, but");
    assert_has(f, "    ... and 10 more\n");
}

/* Checks of a subset, of kernels of which the third and the last have most. */
static void judge_subsets(struct fixture *f, uint32_t kernels)
{
    static struct kernel_spec spec[8];
    static char labels[8][8];

    f->check.binding.subset.dim = "rows";
    f->check.binding.subset.judged = 1;
    f->check.binding.subset.total = 4;
    for (uint32_t i = 0; i < kernels; i++) {
        snprintf(labels[i], sizeof labels[i], "part%u", i);
        spec[i] = f->check.spec;
        spec[i].number = i;
        spec[i].label = labels[i];
        f->check.report.spec = &spec[i];
        counters_add_kernel(f->counters, &spec[i]);
        for (uint32_t j = 0; j < (i == 2 ? 9 : i + 1); j++) {
            counters_seen(f->counters);
            counters_check(f->counters, &f->check.report);
        }
    }
}

static void a_few_kernels_with_subsets_are_all_named(void **state)
{
    struct fixture *f = *state;

    judge_subsets(f, 3);
    summary_note(f->summary, "a sentence");
    assert_has(f,
               "    a sentence\n    part2: 9 of 9 checks had a subset of the launch, 25 % of its");
    assert_has(f, "    part0: 1 of 1 checks had a subset");
    assert_lacks(f, "had checks of a subset");
}

static void of_many_kernels_with_subsets_three_are_named(void **state)
{
    struct fixture *f = *state;

    judge_subsets(f, 8);
    assert_has(f, "    part2: 9 of 9 checks had a subset");
    assert_has(f, "    part7: 8 of 8 checks had a subset");
    assert_has(f, "    part6: 7 of 7 checks had a subset");
    assert_has(f, "    5 more kernels had checks of a subset\n");
    assert_lacks(f, "part5: ");
}

static void nan_is_explained(void **state)
{
    struct fixture *f = *state;

    made_up_mismatch(&f->check);
    f->check.report.numbers.class_mismatch = 1;
    f->check.report.numbers.max_ratio = INFINITY;
    f->check.report.numbers.worst_got = NAN;
    judge(f);
    summary_finding(f->summary, &f->check.report, NULL);
    assert_has(f, "2 of 32 elements outside the bound,\n       in 1 of them a NaN or an infinity "
                  "on one side\n");
    assert_has(f, "y[3][5]: got nan, expected 1.03125");
    assert_lacks(f, "inf times");
}

static void no_bound_is_shown_of_a_nan(void **state)
{
    struct fixture *f = *state;

    made_up_mismatch(&f->check);
    f->check.report.numbers.worst_ref = NAN;
    f->check.report.numbers.worst_bound = INFINITY;
    judge(f);
    summary_finding(f->summary, &f->check.report, NULL);
    assert_has(f, ", expected nan\n");
    assert_has(f, " +- "); /* of the first element */
    assert_lacks(f, "+- inf");
}

static void kernels_with_findings_come_first(void **state)
{
    static struct made_up_check many[SUMMARY_ROWS + 3];
    static char labels[SUMMARY_ROWS + 3][80];
    struct fixture *f = *state;
    const char *text;

    for (uint32_t i = 0; i < SUMMARY_ROWS + 3; i++) {
        if (i == SUMMARY_ROWS + 2)
            made_up_mismatch(&many[i]);
        else
            made_up_match(&many[i]);
        snprintf(labels[i], sizeof labels[i], "kernel_%u", i);
        many[i].spec.label = labels[i];
        many[i].spec.number = i;
        counters_add_kernel(f->counters, &many[i].spec);
        counters_seen(f->counters);
        counters_check(f->counters, &many[i].report);
    }
    memset(labels[0], 'n', 79); /* a name too long for the table */
    text = text_of(f);
    assert_true(strstr(text, "kernel_42 ") < strstr(text, "kernel_1 "));
    assert_has(f, "  ... and 3 more kernels\n");
    assert_has(f, "nnnn...");
}

/* The images of a Triton kernel, and a kernel of the same label that an entry describes. */
static void images_of_one_kernel_share_a_row(void **state)
{
    static struct made_up_check check[4];
    static const char lift;
    struct fixture *f = *state;

    for (uint32_t i = 0; i < 4; i++) {
        made_up_match(&check[i]);
        check[i].spec.label = "tuned";
        check[i].spec.number = i;
        check[i].spec.lift = i ? (const struct lift *)&lift : NULL;
        counters_add_kernel(f->counters, &check[i].spec);
        for (uint32_t launch = 0; launch <= i; launch++) {
            counters_seen(f->counters);
            counters_check(f->counters, &check[i].report);
        }
    }
    assert_has(f, "\n  tuned           9          9          9 ");
    assert_has(f, "\n  tuned           1          1          1 ");
    assert_lacks(f, "\n  tuned           2 ");
}

static void an_element_that_is_nowhere_is_left_out(void **state)
{
    struct fixture *f = *state;

    made_up_mismatch(&f->check);
    f->check.report.numbers.worst_index = 32; /* one past the end */
    f->check.report.numbers.first_tensor = 9; /* no such tensor */
    judge(f);
    summary_finding(f->summary, &f->check.report, NULL);
    assert_has(f, "up to 31.5 times\n");
    assert_lacks(f, "worst  ");
    assert_lacks(f, "first  ");
}

/* Of a shipped entry, which is seldom wrong on some launches alone. */
static void a_kernel_that_matches_too_is_a_note(void **state)
{
    struct fixture *f = *state;
    const char *note = "2 of its launches match, 1 do not. The cause may be an input that another";

    judge(f);
    judge(f);
    made_up_mismatch(&f->check);
    judge(f);
    assert_lacks(f, note);
    f->check.spec.shipped = true;
    assert_has(f, note);
}

static void a_kernel_that_never_matches_is_no_note(void **state)
{
    struct fixture *f = *state;

    made_up_mismatch(&f->check);
    f->check.spec.shipped = true;
    judge(f);
    assert_lacks(f, "another stream");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SUMMARY_TEST(a_kernel_that_matches_too_is_a_note),
        SUMMARY_TEST(a_kernel_that_never_matches_is_no_note),
        SUMMARY_TEST(odd_errors_of_a_match_are_a_note),
        SUMMARY_TEST(ordinary_errors_are_no_note),
        SUMMARY_TEST(wide_bounds_are_a_note),
        SUMMARY_TEST(rows_that_could_not_be_judged_are_a_note),
        SUMMARY_TEST(a_row_that_is_not_finite_is_explained),
        SUMMARY_TEST(wide_outputs_get_no_note),
        SUMMARY_TEST(a_launch_that_differs_names_the_other),
        SUMMARY_TEST(notes_and_findings_are_bounded),
        SUMMARY_TEST(kernels_of_one_name_share_a_note),
        SUMMARY_TEST(sentences_of_no_kernel_stand_each_by_itself),
        SUMMARY_TEST(kernels_beyond_those_kept_are_counted),
        SUMMARY_TEST(precision_is_the_first_note_and_is_never_cut),
        SUMMARY_TEST(a_few_kernels_with_subsets_are_all_named),
        SUMMARY_TEST(of_many_kernels_with_subsets_three_are_named),
        SUMMARY_TEST(nan_is_explained),
        SUMMARY_TEST(no_bound_is_shown_of_a_nan),
        SUMMARY_TEST(kernels_with_findings_come_first),
        SUMMARY_TEST(images_of_one_kernel_share_a_row),
        SUMMARY_TEST(an_element_that_is_nowhere_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
