/* The detectors of the outlier gate: what they find, how often they call for nothing.
 * `test_outlier --table` prints the table of README.md, with more launches than the tests have time
 * for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/fakes/outlier_fixture.h"

/* ---- false alarms ---- */

static void the_false_alarm_rate_holds_whatever_the_data_is(void **unused)
{
    static const int dtypes[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16};
    static const int64_t columns[] = {8, 64, 512, 8192};
    uint64_t launches = 0, called = 0;
    (void)unused;
    for (int d = 0; d < 3; d++) {
        for (int kind = 0; kind < KINDS; kind++) {
            for (int c = 0; c < 4; c++) {
                struct stream s;
                open_stream(&s, OUTLIER_FINGERPRINT, dtypes[d],
                            columns[c] < 512 ? 512 / columns[c] : 1, columns[c]);
                run_quiet(&s, (enum kind)kind, columns[c] > 512 ? 500 : 2500);
                launches += s.launches;
                called += s.called;
                /* 2.5 are expected of 2500; the probability of more than 11 is 1e-5. */
                if (s.called > 11)
                    fail_msg("%s, %d columns, dtype %d: %d of %d called", kind_name[kind],
                             (int)columns[c], dtypes[d], (int)s.called, (int)s.launches);
                close_stream(&s);
            }
        }
    }
    /* 72 expected of 72,000, and a deviation of 8.5 */
    if (called > 105)
        fail_msg("%d of %d called", (int)called, (int)launches);
}

/* ---- what is found ---- */

enum { HISTORY = 1500, APART = 10 };

/* A launch that leaves no trace, so that each bad one is seen on its own. */
static bool launch_apart(struct stream *s)
{
    static struct outlier_centroid centre;
    struct outlier_entry entry = s->entry;
    centre = *s->centroid;
    s->header.seed = draw();
    bool called = outlier_host_decide(&s->header, &s->input);
    s->entry = entry;
    *s->centroid = centre;
    return called;
}

static void spoil_nothing(struct stream *s)
{
    (void)s;
}

static void scale_10(struct stream *s)
{
    scale_all(s, 1.1);
}

static void scale_down(struct stream *s)
{
    scale_all(s, 0.1);
}

static void one_spike(struct stream *s)
{
    put(s, 0, (int64_t)(draw() % (uint64_t)(s->rows * s->columns)), 20);
}

static void many_spikes(struct stream *s)
{
    for (int64_t i = 0; i < s->rows * s->columns / 1000; i++)
        put(s, 0, (int64_t)(draw() % (uint64_t)(s->rows * s->columns)), 8);
}

static void bad_row(struct stream *s)
{
    int64_t row = (int64_t)(draw() % (uint64_t)s->rows);
    for (int64_t c = 0; c < s->columns; c++)
        put(s, row, c, 20 * normal());
}

static void weak_row(struct stream *s)
{
    int64_t row = (int64_t)(draw() % (uint64_t)s->rows);
    for (int64_t c = 0; c < s->columns; c++)
        put(s, row, c, 4 * normal());
}

static void one_inf(struct stream *s)
{
    put(s, 0, (int64_t)(draw() % (uint64_t)(s->rows * s->columns)), INFINITY);
}

static void shift_mean(struct stream *s)
{
    for (int64_t i = 0; i < s->rows * s->columns; i++)
        put(s, 0, i, 0.1 + normal());
}

static void other_shape(struct stream *s)
{
    for (int64_t i = 0; i < s->rows * s->columns; i++)
        put(s, 0, i, sqrt(3) * (2 * uniform() - 1));
}

static void half_zero(struct stream *s)
{
    for (int64_t i = 0; i < s->rows * s->columns / 100; i++)
        put(s, 0, (int64_t)(draw() % (uint64_t)(s->rows * s->columns)), 0);
}

struct scenario {
    const char *what;
    void (*spoil)(struct stream *s);
    double least; /* share that the fingerprint must find */
};

static const struct scenario scenarios[] = {
    {"nothing wrong", spoil_nothing, 0},
    {"all values 1.1 times as large", scale_10, 0.95},
    {"all values 3 times as large", scale_3, 1},
    {"all values a tenth as large", scale_down, 1},
    {"mean moved by 0.1 deviations", shift_mean, 0.95},
    {"uniform, of the same mean and variance", other_shape, 1},
    {"one value of 20", one_spike, 1},
    {"0.1 % of the values 8", many_spikes, 0.95},
    {"1 % of the values 0", half_zero, 1},
    {"one row of 256, 20 times as large", bad_row, 1},
    {"one row of 256, 4 times as large", weak_row, 0.95},
    {"one row of 256 NaN", nan_row, 1},
    {"one Inf", one_inf, 1},
};

enum { SCENARIOS = sizeof(scenarios) / sizeof(scenarios[0]) };

/* The share of `tries` spoilt launches that is called, each between ordinary ones. */
static double found(struct stream *s, const struct scenario *scenario, int tries)
{
    int called = 0;
    for (int i = 0; i < tries; i++) {
        for (int j = 0; j < APART; j++) {
            fill(s, NORMAL);
            launch(s);
        }
        fill(s, NORMAL);
        scenario->spoil(s);
        called += launch_apart(s);
    }
    return (double)called / tries;
}

static void the_fingerprint_finds_what_is_wrong(void **unused)
{
    struct stream s;
    (void)unused;
    open_stream(&s, OUTLIER_FINGERPRINT, DTYPE_BF16, 256, 64);
    run_quiet(&s, NORMAL, HISTORY);
    for (int i = 0; i < SCENARIOS; i++) {
        double share = found(&s, &scenarios[i], 20);
        if (share < scenarios[i].least)
            fail_msg("%s: %g found", scenarios[i].what, share);
    }
    close_stream(&s);
}

static void the_finding_names_the_statistic(void **unused)
{
    struct stream s;
    (void)unused;
    open_stream(&s, OUTLIER_FINGERPRINT, DTYPE_F32, 256, 64);
    run_quiet(&s, NORMAL, 100);
    fill(&s, NORMAL);
    one_spike(&s);
    assert_true(launch_apart(&s));
    assert_int_equal(s.answer.feature, OUTLIER_ABSMAX);
    assert_true(s.answer.score > s.answer.threshold);
    fill(&s, NORMAL);
    one_inf(&s);
    assert_true(launch_apart(&s));
    assert_int_equal(s.answer.feature, OUTLIER_INFS);
    fill(&s, NORMAL);
    nan_row(&s);
    assert_true(launch_apart(&s));
    assert_int_equal(s.answer.feature, OUTLIER_NANS);
    close_stream(&s);
}

/* Bad launches that do leave their traces: the first three of a rare kind are all called. */
static void one_bad_launch_does_not_hide_the_next(void **unused)
{
    struct stream s;
    (void)unused;
    open_stream(&s, OUTLIER_FINGERPRINT, DTYPE_BF16, 256, 64);
    run_quiet(&s, NORMAL, 300);
    for (int i = 0; i < 3; i++) {
        fill(&s, NORMAL);
        bad_row(&s);
        assert_true(launch(&s));
        run_quiet(&s, NORMAL, 50);
    }
    close_stream(&s);
}

/* What comes to stay is called a few times and then is the usual. */
static void a_new_usual_is_learnt(void **unused)
{
    struct stream s;
    int called = 0;
    (void)unused;
    open_stream(&s, OUTLIER_FINGERPRINT, DTYPE_BF16, 16, 64);
    run_quiet(&s, NORMAL, HISTORY);
    for (int i = 0; i < 500; i++) {
        scale_3(&s);
        called += launch(&s);
    }
    assert_in_range(called, 1, 40);
    close_stream(&s);
}

/* ---- indices ---- */

enum { VOCABULARY = 32000, TOKENS = 4096 };

static void fill_tokens(struct stream *s, bool zipf)
{
    int32_t *token = (int32_t *)(void *)s->data;
    for (int i = 0; i < TOKENS; i++) /* density 1 / x: Zipf's law of exponent 1 */
        token[i] = (int32_t)(zipf ? pow(VOCABULARY, uniform()) - 1 : VOCABULARY * uniform());
}

static double tokens_found(enum outlier_detector detector, int history, int tries, double *quiet)
{
    struct stream s;
    int called = 0, false_calls = 0;
    open_stream(&s, detector, DTYPE_I32, TOKENS, 1);
    for (int i = 0; i < history; i++) {
        fill_tokens(&s, false);
        false_calls += launch(&s) && i >= 16;
    }
    for (int i = 0; i < tries; i++) {
        fill_tokens(&s, true);
        called += launch_apart(&s);
    }
    close_stream(&s);
    *quiet = (double)false_calls / history;
    return (double)called / tries;
}

static void zipf_tokens_stand_out_among_uniform_ones(void **unused)
{
    double quiet;
    (void)unused;
    assert_true(tokens_found(OUTLIER_FINGERPRINT, 1000, 20, &quiet) == 1);
    assert_true(quiet <= 0.006);
}

/* ---- the published algorithm ---- */

/* Its share of iid batches of 64 rows that it calls, after a start. */
static double centroid_rate(int64_t columns, int launches)
{
    struct stream s;
    open_stream(&s, OUTLIER_CENTROID, DTYPE_F32, 64, columns);
    run_quiet(&s, NORMAL, 100);
    double rate = run_quiet(&s, NORMAL, launches);
    close_stream(&s);
    return rate;
}

/* The same by the words of its description: the centroid is moved first, and the batch's own
 * distances are part of the quantile. */
static double published_rate(int columns, int launches)
{
    enum { ROWS = 64, WIDEST = 64 };
    static double batch[ROWS][WIDEST];
    double centre[WIDEST] = {0};
    struct outlier_window *window;
    int called = 0;
    assert_int_equal(outlier_window_create(&window, 10000, 0.95f), 0);
    for (int l = 0; l < 100 + launches; l++) {
        double sum = 0;
        float distance[ROWS];
        for (int r = 0; r < ROWS; r++) {
            for (int c = 0; c < columns; c++)
                batch[r][c] = normal();
        }
        for (int c = 0; c < columns; c++) {
            double mean = 0;
            for (int r = 0; r < ROWS; r++)
                mean += batch[r][c] / ROWS;
            centre[c] = l ? 0.01 * mean + 0.99 * centre[c] : mean;
        }
        for (int r = 0; r < ROWS; r++) {
            double square = 0;
            for (int c = 0; c < columns; c++)
                square += (batch[r][c] - centre[c]) * (batch[r][c] - centre[c]);
            distance[r] = (float)sqrt(square);
            sum += sqrt(square);
        }
        float quantile = outlier_window_add(window, distance, ROWS);
        called += l >= 100 && sum / ROWS / (double)quantile >= 0.8;
    }
    outlier_window_destroy(window);
    return (double)called / launches;
}

static void the_centroid_calls_nearly_all_batches_of_many_columns(void **unused)
{
    (void)unused;
    assert_true(centroid_rate(8, 200) < 0.02);
    assert_true(centroid_rate(24, 200) > 0.3);
    assert_true(centroid_rate(32, 200) > 0.9);
    assert_true(centroid_rate(64, 200) == 1);
    for (int columns = 8; columns <= 32; columns += 8)
        assert_true(fabs(published_rate(columns, 300) - centroid_rate(columns, 300)) < 0.2);
}

/* ---- the table ---- */

static void print_table(void)
{
    struct stream print, centre[2];
    double quiet[2], tokens[2];
    enum { TRIES = 200 };
    open_stream(&print, OUTLIER_FINGERPRINT, DTYPE_BF16, 256, 64);
    open_stream(&centre[0], OUTLIER_CENTROID, DTYPE_BF16, 256, 64);
    open_stream(&centre[1], OUTLIER_CENTROID, DTYPE_BF16, 256, 8);
    run_quiet(&print, NORMAL, HISTORY);
    run_quiet(&centre[0], NORMAL, 200);
    run_quiet(&centre[1], NORMAL, 200);
    printf("| launch | fingerprint | centroid, 64 columns | centroid, 8 columns |\n");
    printf("|---|---|---|---|\n");
    for (int i = 0; i < SCENARIOS; i++) {
        printf("| %s | %.3g %% |", scenarios[i].what, 100 * found(&print, &scenarios[i], TRIES));
        printf(" %.3g %% |", 100 * found(&centre[0], &scenarios[i], TRIES));
        printf(" %.3g %% |\n", 100 * found(&centre[1], &scenarios[i], TRIES));
    }
    tokens[0] = tokens_found(OUTLIER_FINGERPRINT, 2000, TRIES, &quiet[0]);
    tokens[1] = tokens_found(OUTLIER_CENTROID, 2000, TRIES, &quiet[1]);
    printf("| Zipf's tokens among uniform ones | %.3g %% | | %.3g %% |\n", 100 * tokens[0],
           100 * tokens[1]);
    printf("| uniform tokens, nothing wrong | %.2g %% | | %.2g %% |\n", 100 * quiet[0],
           100 * quiet[1]);
    printf("\n| iid normal batches of 64 rows | centroid calls | published wording calls |\n"
           "|---|---|---|\n");
    for (int columns = 8; columns <= 64; columns += columns < 32 ? 8 : 32)
        printf("| %d columns | %.3g %% | %.3g %% |\n", columns, 100 * centroid_rate(columns, 1000),
               100 * published_rate(columns, 1000));
    close_stream(&print);
    close_stream(&centre[0]);
    close_stream(&centre[1]);
}

static void print_false_alarms(void)
{
    static const int64_t columns[] = {8, 64, 512, 8192};
    printf("\n| iid data, fingerprint | 8 columns | 64 | 512 | 8192 |\n|---|---|---|---|---|\n");
    for (int kind = 0; kind < KINDS; kind++) {
        printf("| %s |", kind_name[kind]);
        for (int c = 0; c < 4; c++) {
            struct stream s;
            open_stream(&s, OUTLIER_FINGERPRINT, DTYPE_BF16,
                        columns[c] < 512 ? 512 / columns[c] : 1, columns[c]);
            printf(" %.2f %% |",
                   100 * run_quiet(&s, (enum kind)kind, columns[c] > 512 ? 5000 : 20000));
            close_stream(&s);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_false_alarm_rate_holds_whatever_the_data_is),
        cmocka_unit_test(the_fingerprint_finds_what_is_wrong),
        cmocka_unit_test(the_finding_names_the_statistic),
        cmocka_unit_test(one_bad_launch_does_not_hide_the_next),
        cmocka_unit_test(a_new_usual_is_learnt),
        cmocka_unit_test(zipf_tokens_stand_out_among_uniform_ones),
        cmocka_unit_test(the_centroid_calls_nearly_all_batches_of_many_columns),
    };
    if (argc > 1 && !strcmp(argv[1], "--table")) {
        print_table();
        print_false_alarms();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
