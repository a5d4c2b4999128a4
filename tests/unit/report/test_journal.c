/* The journal's lines: what tools read, the text of a finding, and what is thinned out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/common/journal_fixture.h"

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%s' has '%s'", text, part);
}

/* The fixed head and the fields of `end` that journal_read.h relies on. */
static void the_form_that_tools_read(void **state)
{
    struct fixture *f = *state;
    char text[64], expected[64];
    bool balanced = false;
    uint64_t number = 0;

    open_journal(f, 1 << 20, "abc-1");
    counters_add_kernel(f->counters, &f->check.spec);
    counters_seen(f->counters);
    counters_seen(f->counters);
    counters_check(f->counters, &f->check.report);
    counters_skip(f->counters, 0, SKIP_NOT_SAMPLED);
    struct check_cost cost = {3000000000, 1000000000, 500000000, 250000000, 125000000};
    counters_spent(f->counters, -1, &cost);
    counters_hook(f->counters, 500000000);
    journal_end(f->journal, f->counters);
    read_lines(f);
    assert_int_equal(f->lines, 2);
    assert_true(journal_line_is(f->line[0], "totals"));
    assert_true(journal_line_is(f->line[1], "end"));
    assert_int_equal(strncmp(f->line[1], "{\"v\":1,\"event\":\"end\",\"time\":\"20", 31), 0);
    snprintf(expected, sizeof expected, ",\"pid\":%ld,\"run\":\"abc-1\",\"seen\":2,",
             (long)getpid());
    assert_has(f->line[1], expected);
    assert_has(f->line[1], "\"checked\":1,\"match\":0,\"mismatch\":1,\"inconclusive\":0,"
                           "\"unchecked\":1,\"reasons\":{\"not sampled\":1},\"balanced\":true,"
                           "\"lost_lines\":0,\"cost\":{\"threads\":3,\"copies\":1,"
                           "\"references\":0.5,\"looks\":0.25,\"overlap\":0.125,\"hook\":1,"
                           "\"elapsed\":");
    assert_true(journal_line_uint(f->line[1], "mismatch", &number));
    assert_int_equal(number, 1);
    assert_true(journal_line_bool(f->line[1], "balanced", &balanced));
    assert_true(balanced);
    assert_true(journal_line_text(f->line[1], "run", text, sizeof text));
    assert_string_equal(text, "abc-1");
    assert_has(f->line[0], "\"violations\":2,\"max_ratio\":31.5,");
}

/* Counts so far are lines of their own, ever further apart. */
static void counts_so_far_are_written_when_due(void **state)
{
    struct fixture *f = *state;
    uint64_t due = 0, number = 0;

    open_journal(f, 1 << 20, NULL);
    counters_add_kernel(f->counters, &f->check.spec);
    counters_seen(f->counters);
    counters_check(f->counters, &f->check.report);
    journal_interim(f->journal, f->counters, &due); /* never */
    due = UINT64_C(3600000000000);
    journal_interim(f->journal, f->counters, &due); /* not yet */
    read_lines(f);
    assert_int_equal(f->lines, 0);
    due = 1;
    journal_interim(f->journal, f->counters, &due);
    assert_true(due > 1 && due < UINT64_C(3600000000000));
    journal_interim(NULL, f->counters, &due);
    read_lines(f);
    assert_int_equal(f->lines, 2);
    assert_true(journal_line_is(f->line[0], "interim"));
    assert_has(f->line[0],
               "\"kernel\":\"_Z6doublePK13__nv_bfloat16PS_\",\"label\":\"double\",\"launches\":1,");
    assert_true(journal_line_is(f->line[1], "interim"));
    assert_false(journal_line_uint(f->line[0], "seen", &number));
    assert_true(journal_line_uint(f->line[1], "seen", &number) && number == 1);
    assert_true(journal_line_uint(f->line[1], "mismatch", &number) && number == 1);
}

/* Of a small quota findings alone take bytes. */
static void counts_so_far_leave_the_quota_to_findings(void **state)
{
    struct fixture *f = *state;
    uint64_t due = 1;

    open_journal(f, 12 << 10, NULL);
    counters_add_kernel(f->counters, &f->check.spec);
    counters_check(f->counters, &f->check.report);
    journal_interim(f->journal, f->counters, &due);
    assert_true(due > 1);
    journal_check(f->journal, &f->check.report, NULL);
    read_lines(f);
    assert_int_equal(f->lines, 1);
    assert_true(journal_line_is(f->line[0], "finding"));
}

static void other_lines_are_not_read(void **state)
{
    uint64_t number = 7;
    char text[4];

    (void)state;
    assert_true(journal_line_is("{\"v\":1,\"event\":\"end\"}", "end"));
    assert_false(journal_line_is("{\"v\":1,\"event\":\"start\"}", "end"));
    assert_false(journal_line_whole("{\"v\":2,\"event\":\"end\"}")); /* another version */
    assert_false(journal_line_whole("{\"v\":1,\"event\":\"en"));     /* cut off */
    assert_false(journal_line_whole(""));
    /* What stands in a string is no field. */
    assert_false(journal_line_uint("{\"v\":1,\"s\":\"\\\"seen\\\":5\"}", "seen", &number));
    assert_false(journal_line_uint("{\"seen\":-5}", "seen", &number));
    assert_false(journal_line_uint("{\"seen\":1.5}", "seen", &number));
    assert_false(journal_line_uint("{\"seen\":99999999999999999999}", "seen", &number));
    assert_int_equal(number, 7);
    assert_false(journal_line_text("{\"a\":\"long\"}", "a", text, sizeof text));
    assert_true(journal_line_text("{\"a\":\"lon\"}", "a", text, sizeof text));
}

static void a_finding_has_all_numbers(void **state)
{
    struct fixture *f = *state;

    open_journal(f, 1 << 20, NULL);
    journal_kernel(f->journal, &f->check.spec);
    journal_check(f->journal, &f->check.report, "/reports/double-1-17");
    read_lines(f);
    assert_int_equal(f->lines, 2);
    assert_true(journal_line_is(f->line[0], "kernel"));
    assert_has(f->line[0], "\"reference\":\"double\",\"where\":\"kernels.yaml:12\"}");
    assert_true(journal_line_is(f->line[1], "finding"));
    assert_has(f->line[1], "\"occurrence\":1,\"kernel\":\"_Z6doublePK13__nv_bfloat16PS_\","
                           "\"label\":\"double\"");
    assert_has(f->line[1], "\"verdict\":\"mismatch\",\"gate\":\"first\",\"launch\":17,\"device\":0,"
                           "\"grid\":[128,1,1],\"block\":[256,1,1],\"shared_bytes\":48,");
    assert_lacks(f->line[1], "\"outlier\":");
    assert_has(f->line[1], "{\"name\":\"y\",\"role\":\"write\",\"dtype\":\"bf16\",\"shape\":[4,8],"
                           "\"stride\":[8,1],\"address\":\"0x7f0000002000\",\"bytes\":64}");
    assert_has(f->line[1], "\"elements\":32,\"violations\":2,");
    assert_has(f->line[1], "\"of\":32},");
    assert_has(f->line[1], "\"worst\":{\"array\":\"y\",\"index\":[3,5],\"got\":3,"
                           "\"reference\":1.03125,\"bound\":0.0625}");
    assert_has(f->line[1], "\"first\":{\"array\":\"y\",\"index\":[1,2],\"got\":1.5,");
    assert_has(f->line[1], "\"bundle\":\"/reports/double-1-17\"}");
}

static void digests_are_lines_of_their_own(void **state)
{
    struct fixture *f = *state;

    open_journal(f, 1 << 20, NULL);
    journal_digest(f->journal, &f->check.report); /* none was made */
    f->check.report.digest = (struct digest_report){true, 0xab, 0xcd, 7, 1, 16};
    f->check.report.range = "step/layer1";
    journal_digest(f->journal, &f->check.report);
    read_lines(f);
    assert_int_equal(f->lines, 1);
    assert_true(journal_line_is(f->line[0], "digest"));
    assert_has(f->line[0], "\"launch\":17,\"executed\":16,\"device\":0,\"sequence\":7,");
    assert_has(f->line[0], "\"input\":\"00000000000000ab\",\"output\":\"00000000000000cd\","
                           "\"range\":\"step/layer1\",\"unseen\":1,");
}

/* Those by the signature and those by the reference's formal. */
static void the_first_check_has_the_dims(void **state)
{
    struct fixture *f = *state;

    open_journal(f, 1 << 20, NULL);
    f->check.binding.call.size[0] = 4;
    f->check.binding.call.size[1] = 8;
    f->check.binding.own_ndim[0] = 3;
    memcpy(f->check.binding.own_dim[0], (int64_t[]){2, 2, 8}, 3 * sizeof(int64_t));
    journal_dims(f->journal, &f->check.report);
    read_lines(f);
    assert_int_equal(f->lines, 1);
    assert_true(journal_line_is(f->line[0], "dims"));
    assert_has(f->line[0],
               "\"reference\":\"double\",\"launch\":17,\"dims\":{\"rows\":4,\"cols\":8},");
    assert_has(f->line[0],
               "{\"formal\":\"x\",\"array\":\"x\",\"shape\":[2,2,8],\"formal_shape\":[4,8]}");
    assert_has(f->line[0],
               "{\"formal\":\"y\",\"array\":\"y\",\"shape\":[4,8],\"formal_shape\":[4,8]}");
}

static void an_element_has_both_indices(void **state)
{
    struct fixture *f = *state;

    open_journal(f, 1 << 20, NULL);
    journal_check(f->journal, &f->check.report, NULL);
    f->check.binding.own_ndim[1] = 3;
    memcpy(f->check.binding.own_dim[1], (int64_t[]){2, 2, 8}, 3 * sizeof(int64_t));
    journal_check(f->journal, &f->check.report, NULL);
    read_lines(f);
    assert_int_equal(f->lines, 2);
    assert_has(f->line[0], "\"worst\":{\"array\":\"y\",\"index\":[3,5],\"got\":3,");
    assert_has(f->line[1], "\"worst\":{\"array\":\"y\",\"index\":[1,1,5],\"formal_index\":[3,5],");
}

static void a_finding_says_why_the_outlier_gate_called_it(void **state)
{
    struct fixture *f = *state;

    open_journal(f, 1 << 20, NULL);
    made_up_mismatch(&f->check);
    f->check.report.gate = "outlier";
    f->check.report.outlier = (struct outlier_call_report){"x", "absmax", 7.125, 5.5, true};
    journal_check(f->journal, &f->check.report, NULL);
    f->check.report.outlier = (struct outlier_call_report){"x", "centroid distance", 1, 0.8, false};
    journal_check(f->journal, &f->check.report, NULL);
    read_lines(f);
    assert_has(f->line[0], "\"gate\":\"outlier\",\"outlier\":{\"input\":\"x\",\"statistic\":"
                           "\"absmax\",\"sigmas\":7.125,\"threshold\":5.5},");
    assert_has(f->line[1], "\"statistic\":\"centroid distance\",\"score\":1,");
}

static void a_finding_of_a_subset_says_which(void **state)
{
    struct fixture *f = *state;

    open_journal(f, 1 << 20, NULL);
    made_up_mismatch(&f->check);
    journal_check(f->journal, &f->check.report, NULL);
    made_up_subset(&f->check);
    journal_check(f->journal, &f->check.report, NULL);
    read_lines(f);
    assert_lacks(f->line[0], "\"subset");
    assert_has(f->line[1], "\"shared_bytes\":48,\"subset\":{\"dim\":\"rows\",\"checked\":4,"
                           "\"of\":100,\"blocks\":[[0,2],[98,100]]},\"arrays\":[");
    assert_has(f->line[1], "\"shape\":[100,8],\"stride\":[8,1],\"address\":\"0x7f0000002000\","
                           "\"bytes\":1600,\"subset_axis\":0}");
    assert_has(f->line[1], "\"worst\":{\"array\":\"y\",\"index\":[99,5],\"got\":3,");
    assert_has(f->line[1], "\"first\":{\"array\":\"y\",\"index\":[1,2],\"got\":1.5,");
}

/* Of rows, and of two columns for each: the places are the launch's along either. */
static void a_finding_of_groups_says_how_they_go_together(void **state)
{
    struct fixture *f = *state;

    open_journal(f, 1 << 20, NULL);
    made_up_mismatch(&f->check);
    made_up_subset(&f->check);
    f->check.binding.subset.with = "cols";
    f->check.binding.subset.share = 2;
    f->check.binding.subset.axis[1] = 1;
    f->check.binding.subset.linked[1] = true;
    journal_check(f->journal, &f->check.report, NULL);
    read_lines(f);
    assert_has(f->line[0], "\"subset\":{\"dim\":\"rows\",\"with\":\"cols\",\"share\":2,"
                           "\"checked\":4,\"of\":100,\"blocks\":[[0,2],[98,100]]}");
    assert_has(f->line[0], "\"worst\":{\"array\":\"y\",\"index\":[3,197],");
    assert_has(f->line[0], "\"first\":{\"array\":\"y\",\"index\":[1,2],");
}

static void a_finding_says_what_was_picked_and_valid(void **state)
{
    struct fixture *f = *state;

    open_journal(f, 1 << 20, NULL);
    made_up_mismatch(&f->check);
    journal_check(f->journal, &f->check.report, NULL);
    f->check.binding.narrows = 1;
    f->check.binding.narrow[0] = (struct bound_narrow){"rows", 17, 24};
    journal_check(f->journal, &f->check.report, NULL);
    f->check.binding.narrows = 0;
    f->check.binding.picks = 1;
    f->check.binding.pick[0] = (struct bound_pick){"block", 17, 320};
    journal_check(f->journal, &f->check.report, NULL);
    read_lines(f);
    assert_lacks(f->line[0], "\"valid");
    assert_lacks(f->line[0], "\"picked");
    assert_has(f->line[2], "\"shared_bytes\":48,\"picked\":{\"block\":[17,320]},\"arrays\":[");
    assert_has(f->line[1], "\"shared_bytes\":48,\"valid\":{\"rows\":[17,24]},\"arrays\":[");
}

static void a_finding_of_a_projection_says_so(void **state)
{
    struct fixture *f = *state;

    open_journal(f, 1 << 20, NULL);
    made_up_mismatch(&f->check);
    journal_check(f->journal, &f->check.report, NULL);
    f->check.report.projection = (struct projection_report){.array = "y", .rows = 90, .left = 6};
    journal_check(f->journal, &f->check.report, NULL);
    f->check.report.projection.violations = 3;
    f->check.report.projection.first = 8;
    f->check.report.projection.last = 23;
    f->check.report.projection.worst = 9;
    f->check.report.projection.ratio = 12.5;
    f->check.report.projection.of = 10;
    journal_check(f->journal, &f->check.report, NULL);
    read_lines(f);
    assert_lacks(f->line[0], "\"projection");
    assert_has(f->line[1], "\"projection\":{\"array\":\"y\",\"rows\":90,\"left\":6,"
                           "\"violations\":0}");
    assert_has(f->line[2], "\"violations\":3,\"first\":8,\"last\":23,\"worst\":9,"
                           "\"ratio\":12.5,\"rows_each\":10}");
    f->check.report.projection.columns = 4096;
    journal_check(f->journal, &f->check.report, NULL);
    read_lines(f);
    assert_has(f->line[3], "\"rows_each\":10,\"columns_each\":4096}");
}

static void a_match_writes_nothing(void **state)
{
    struct fixture *f = *state;

    open_journal(f, 1 << 20, NULL);
    made_up_match(&f->check);
    journal_check(f->journal, &f->check.report, NULL);
    read_lines(f);
    assert_int_equal(f->lines, 0);
}

static void odd_matches_leave_a_note(void **state)
{
    struct fixture *f = *state;

    open_journal(f, 1 << 20, NULL);
    made_up_match(&f->check);
    f->check.report.notes = NOTE_SPREAD | NOTE_LEAN;
    journal_check(f->journal, &f->check.report, NULL);
    f->check.report.notes = NOTE_LEAN;
    for (int i = 0; i < 99; i++)
        journal_check(f->journal, &f->check.report, NULL);
    read_lines(f);
    assert_int_equal(f->lines, 4 + 4); /* and 8, 16, 32, 64 */
    assert_true(journal_line_is(f->line[0], "note"));
    assert_has(f->line[0], "\"verdict\":\"match\",\"notes\":[\"spread\",\"lean\"]");
    assert_has(f->line[1], "\"occurrence\":2");
    assert_has(f->line[1], "\"notes\":[\"lean\"]");
}

static void a_launch_that_differs_is_a_finding(void **state)
{
    struct fixture *f = *state;

    open_journal(f, 1 << 20, NULL);
    made_up_match(&f->check);
    f->check.report.verdict = VERDICT_MISMATCH;
    f->check.report.differs = true;
    f->check.report.earlier = 3;
    journal_check(f->journal, &f->check.report, NULL);
    read_lines(f);
    assert_int_equal(f->lines, 1);
    assert_true(journal_line_is(f->line[0], "finding"));
    assert_has(f->line[0], "\"verdict\":\"mismatch\",\"differs_from_launch\":3");
}

static void repeated_checks_are_thinned_out(void **state)
{
    struct fixture *f = *state;
    int findings = 0, inconclusive = 0;

    open_journal(f, 1 << 24, NULL);
    for (int i = 0; i < 1000; i++)
        journal_check(f->journal, &f->check.report, NULL);
    f->check.report.verdict = VERDICT_INCONCLUSIVE;
    for (int i = 0; i < 1000; i++)
        journal_check(f->journal, &f->check.report, NULL);
    f->check.spec.number = 900; /* another kernel starts anew */
    journal_check(f->journal, &f->check.report, NULL);
    read_lines(f);
    for (int i = 0; i < f->lines; i++) {
        findings += journal_line_is(f->line[i], "finding");
        inconclusive += journal_line_is(f->line[i], "inconclusive");
    }
    assert_int_equal(findings, 64 + 3);            /* and 128, 256, 512 */
    assert_int_equal(inconclusive, 4 + 7 + 1);     /* and 8 .. 512, and the other kernel's */
    assert_int_equal(journal_lost(f->journal), 0); /* left out on purpose is not lost */
}

static void start_warning_and_launch_error(void **state)
{
    const struct options options = {.config = "/a.yaml:/b c.yaml", .sample = 0.25, .seed = 9};
    struct fixture *f = *state;
    struct options shown = options;

    shown.outlier = "fingerprint";
    shown.mode = shown.tolerances = shown.report = shown.log = shown.cupti = "";
    open_journal(f, 1 << 20, NULL);
    journal_start(f->journal, &shown, 12);
    journal_warning(f->journal, "kernel %s: \"odd\"\nline", "k");
    journal_launch_error(f->journal, "k", grid, block, "CUDA_ERROR_INVALID_VALUE");
    journal_control(f->journal, "sample 0.25");
    read_lines(f);
    assert_int_equal(f->lines, 4);
    assert_has(f->line[3], "\"what\":\"sample 0.25\"}");
    assert_has(f->line[0], "\"registry\":[\"/a.yaml\",\"/b c.yaml\"],\"entries\":12,");
    assert_has(f->line[0], "\"CUVET_SAMPLE\":0.25,\"CUVET_BUDGET\":0,\"CUVET_SUBSET\":0,"
                           "\"CUVET_FREIVALDS\":0,\"CUVET_OUTLIER\":\"fingerprint\","
                           "\"CUVET_SEED\":9,");
    assert_has(f->line[0], "\"program\":\"/");
    assert_has(f->line[1], "\"sentence\":\"kernel k: \\\"odd\\\"\\nline\"}");
    assert_has(f->line[2], "\"grid\":[3,2,1],\"block\":[256,1,1],\"error\":\"CUDA_ERROR_INVALID");
    assert_lacks(f->line[0], "\"rank\"");
    assert_lacks(f->line[0], "\"run\"");
}

static void a_note_on_ptx_is_a_line(void **state)
{
    const struct lint_note note = {.kernel = "_Z1kv",
                                   .rule = "spin-weak",
                                   .severity = "warning",
                                   .sentence = "the loop ends",
                                   .source = "",
                                   .line = 42,
                                   .more = 3};
    struct fixture *f = *state;

    open_journal(f, 1 << 20, NULL);
    journal_lint(f->journal, &note, "k");
    read_lines(f);
    assert_int_equal(f->lines, 1);
    assert_has(f->line[0], "\"event\":\"lint\"");
    assert_has(f->line[0], "\"kernel\":\"_Z1kv\",\"label\":\"k\",\"rule\":\"spin-weak\","
                           "\"severity\":\"warning\",\"line\":42,\"source\":null,"
                           "\"source_line\":0,\"more\":3,\"sentence\":\"the loop ends\"}");
}

static void the_rank_is_told(void **state)
{
    struct fixture *f = *state;

    setenv("LOCAL_RANK", "1", 1);
    setenv("SLURM_PROCID", "3", 1);
    setenv("RANK", "11", 1);
    open_journal(f, 1 << 20, NULL);
    journal_warning(f->journal, "a");
    read_lines(f);
    assert_has(f->line[0], "\"rank\":11,");
    journal_destroy(f->journal);
    setenv("RANK", "x", 1); /* no number: the next one counts */
    open_journal(f, 1 << 20, NULL);
    journal_warning(f->journal, "a");
    read_lines(f);
    assert_int_equal(f->lines, 2); /* the same file, appended to */
    assert_has(f->line[1], "\"rank\":3,");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOURNAL_TEST(the_form_that_tools_read),
        JOURNAL_TEST(counts_so_far_are_written_when_due),
        JOURNAL_TEST(counts_so_far_leave_the_quota_to_findings),
        JOURNAL_TEST(other_lines_are_not_read),
        JOURNAL_TEST(a_finding_has_all_numbers),
        JOURNAL_TEST(digests_are_lines_of_their_own),
        JOURNAL_TEST(the_first_check_has_the_dims),
        JOURNAL_TEST(an_element_has_both_indices),
        JOURNAL_TEST(a_finding_says_why_the_outlier_gate_called_it),
        JOURNAL_TEST(a_finding_of_a_subset_says_which),
        JOURNAL_TEST(a_finding_of_groups_says_how_they_go_together),
        JOURNAL_TEST(a_finding_says_what_was_picked_and_valid),
        JOURNAL_TEST(a_finding_of_a_projection_says_so),
        JOURNAL_TEST(a_match_writes_nothing),
        JOURNAL_TEST(odd_matches_leave_a_note),
        JOURNAL_TEST(a_launch_that_differs_is_a_finding),
        JOURNAL_TEST(repeated_checks_are_thinned_out),
        JOURNAL_TEST(start_warning_and_launch_error),
        JOURNAL_TEST(a_note_on_ptx_is_a_line),
        JOURNAL_TEST(the_rank_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
