/* One look of the outlier gate after another: first batches, new epochs, the window of distances;
 * and what a look reads: formats, samples, extreme values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/fakes/outlier_fixture.h"

static void the_first_batch_and_every_nan_row_are_called(void **unused)
{
    struct stream s;
    (void)unused;
    open_stream(&s, OUTLIER_CENTROID, DTYPE_BF16, 256, 4);
    fill(&s, NORMAL);
    assert_true(launch(&s));
    assert_int_equal(s.answer.feature, OUTLIER_NEW);
    run_quiet(&s, NORMAL, 20);
    assert_int_equal(s.called, 0);
    fill(&s, NORMAL);
    nan_row(&s);
    assert_true(launch(&s));
    assert_int_equal(s.answer.feature, OUTLIER_ROWS_WITH_NAN);
    assert_int_equal(s.answer.rows, 255);
    run_quiet(&s, NORMAL, 20); /* and it still works */
    assert_int_equal(s.called, 0);
    scale_3(&s);
    assert_true(launch(&s));
    assert_int_equal(s.answer.feature, OUTLIER_DISTANCE);
    close_stream(&s);
}

/* A new epoch begins with nothing, as zeroed memory does; probes of the old one are dropped. */
static void an_epoch_begins_with_nothing(void **unused)
{
    struct stream s, fresh;
    (void)unused;
    open_stream(&s, OUTLIER_FINGERPRINT, DTYPE_F32, 16, 32);
    open_stream(&fresh, OUTLIER_FINGERPRINT, DTYPE_F32, 16, 32);
    run_quiet(&s, NORMAL, 200);
    s.header.epoch = 7;
    for (int i = 0; i < 40; i++) {
        fill(&s, NORMAL);
        memcpy(fresh.data, s.data, 16 * 32 * 4);
        launch(&s);
        fresh.header.seed = s.header.seed;
        outlier_host_decide(&fresh.header, &fresh.input);
    }
    assert_int_equal(s.entry.launches, 40);
    fresh.entry.epoch = 7;
    assert_memory_equal(&s.entry, &fresh.entry, sizeof(s.entry));
    s.header.epoch = 6;
    scale_3(&s);
    assert_false(launch(&s)); /* else it would be called */
    assert_memory_equal(&s.entry, &fresh.entry, sizeof(s.entry));
    s.header.epoch = 7;
    assert_true(launch(&s));
    close_stream(&s);
    close_stream(&fresh);
}

static void an_epoch_begins_with_a_first_batch(void **unused)
{
    struct stream s;
    (void)unused;
    open_stream(&s, OUTLIER_CENTROID, DTYPE_F32, 64, 32);
    run_quiet(&s, NORMAL, 50);
    s.header.epoch = 1;
    fill(&s, NORMAL);
    assert_true(launch(&s));
    assert_int_equal(s.answer.feature, OUTLIER_NEW);
    scale_3(&s); /* the old epoch's quantile is not known to this one */
    assert_false(launch(&s));
    s.header.epoch = 0;
    put(&s, 3, 3, NAN);
    assert_false(launch(&s));
    assert_int_equal(s.centroid->batches, 2);
    s.header.epoch = 1;
    assert_true(launch(&s));
    close_stream(&s);
}

static void the_window_forgets_and_interpolates(void **unused)
{
    struct outlier_window *window;
    (void)unused;
    assert_int_equal(outlier_window_create(&window, 5, 0.5f), 0);
    assert_true(outlier_window_add(window, NULL, 0) == -1);
    assert_true(outlier_window_add(window, (float[]){4, 1}, 2) == 2.5f);
    assert_true(outlier_window_add(window, (float[]){3, 9, 2}, 3) == 3);
    assert_true(outlier_window_add(window, (float[]){10, 10}, 2) == 9); /* 3 9 2 10 10 */
    assert_true(outlier_window_add(window, (float[]){7, 7, 7, 7, 7}, 5) == 7);
    outlier_window_destroy(window);
}

/* ---- formats and samples ---- */

static void every_format_decodes_to_its_value(void **unused)
{
    (void)unused;
    assert_true(outlier_decode(DTYPE_F16, 0x3c00) == 1);
    assert_true(outlier_decode(DTYPE_F16, 0x8001) == -0x1p-24f);
    assert_true(outlier_decode(DTYPE_F16, 0x7bff) == 65504);
    assert_true(isinf(outlier_decode(DTYPE_F16, 0xfc00)));
    assert_true(isnan(outlier_decode(DTYPE_F16, 0x7c01)));
    assert_true(outlier_decode(DTYPE_BF16, 0xc040) == -3);
    assert_true(outlier_decode(DTYPE_F8E4M3, 0x7e) == 448);
    assert_true(outlier_decode(DTYPE_F8E4M3, 0x01) == 0x1p-9f);
    assert_true(isnan(outlier_decode(DTYPE_F8E4M3, 0xff)));
    assert_true(outlier_decode(DTYPE_F8E5M2, 0x7b) == 57344);
    assert_true(isinf(outlier_decode(DTYPE_F8E5M2, 0x7c)));
    double wide[] = {-1.5, 1e300, 1e-300, 0, INFINITY};
    float narrow[] = {-1.5f, 3.402823466e38f, 0x1p-149f, 0, INFINITY};
    for (int i = 0; i < 5; i++) {
        uint64_t raw;
        memcpy(&raw, &wide[i], 8);
        assert_true(outlier_decode(DTYPE_F64, raw) == narrow[i]);
    }
    assert_int_equal(outlier_integer(DTYPE_I16, 0xffff), -1);
    assert_int_equal(outlier_integer(DTYPE_U16, 0xffff), 65535);
    struct outlier_sums ids = {.most = outlier_rank(3), .hottest = ~outlier_rank(-7)};
    assert_true(outlier_id_value(&ids, OUTLIER_LOWEST, 0, 0) == -3);
    assert_true(outlier_id_value(&ids, OUTLIER_HIGHEST, 0, 0) == 2);
}

static void a_sample_is_spread_and_never_outside(void **unused)
{
    (void)unused;
    for (uint64_t pieces = 2048; pieces < 100000; pieces = pieces * 3 / 2 + 1) {
        uint64_t last = 0, seed = draw();
        for (uint32_t k = 0; k < 2048; k++) {
            uint64_t piece = outlier_pick(pieces, 2048, seed, k);
            assert_true(piece < pieces && (k == 0 || piece > last));
            last = piece;
        }
    }
}

/* log2 of the root mean square that the first probe of a stream finds. */
static float seen_rms(struct stream *s, struct outlier_sums *sums)
{
    memset(sums, 0, sizeof(*sums));
    outlier_host_look(&s->input, 0, sums);
    outlier_judge(s->input.entry, 0, sums, 0, 1);
    return s->input.entry->mean[OUTLIER_RMS];
}

/* Squares beyond f32 are no infinities. */
static void huge_values_are_finite(void **unused)
{
    struct outlier_sums sums;
    struct stream s;
    (void)unused;
    open_stream(&s, OUTLIER_FINGERPRINT, DTYPE_F32, 4, 16);
    for (int i = 0; i < 64; i++)
        put(&s, 0, i, 1e30);
    float rms = seen_rms(&s, &sums);
    assert_true(fabsf(rms - log2f(1e30f)) < 1e-3f);
    assert_int_equal(sums.infs + sums.nans, 0);
    assert_true(fabs((sums.square + sums.far * 0x1p160) / 64e60 - 1) < 1e-5);
    close_stream(&s);
}

/* Nor is the sum of many squares that f32 holds one by one, as it holds those of a unit. */
static void many_large_values_are_finite(void **unused)
{
    enum { COUNT = 1 << 20 };
    struct outlier_sums sums;
    struct stream s;
    (void)unused;
    open_stream(&s, OUTLIER_FINGERPRINT, DTYPE_F32, 256, COUNT / 256);
    for (int i = 0; i < COUNT; i++)
        put(&s, i / (COUNT / 256), i % (COUNT / 256), 2.5e16);
    s.input.sampled = (uint32_t)s.input.pieces;
    float rms = seen_rms(&s, &sums);
    assert_int_equal(sums.count, COUNT);
    assert_true(fabsf(rms - log2f(2.5e16f)) < 1e-3f);
    close_stream(&s);
}

/* What stands beside a NaN counts. */
static void neighbours_of_a_nan_are_seen(void **unused)
{
    struct outlier_sums sums;
    struct stream s;
    (void)unused;
    open_stream(&s, OUTLIER_FINGERPRINT, DTYPE_F32, 4, 16);
    for (int i = 0; i < 64; i++)
        put(&s, 0, i, i % 4 ? 3 : NAN);
    float rms = seen_rms(&s, &sums);
    assert_int_equal(sums.nans, 16);
    assert_true(fabsf(rms - log2f(3)) < 1e-5f);
    close_stream(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_batch_and_every_nan_row_are_called),
        cmocka_unit_test(an_epoch_begins_with_nothing),
        cmocka_unit_test(an_epoch_begins_with_a_first_batch),
        cmocka_unit_test(the_window_forgets_and_interpolates),
        cmocka_unit_test(every_format_decodes_to_its_value),
        cmocka_unit_test(a_sample_is_spread_and_never_outside),
        cmocka_unit_test(huge_values_are_finite),
        cmocka_unit_test(many_large_values_are_finite),
        cmocka_unit_test(neighbours_of_a_nan_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
