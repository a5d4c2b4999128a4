/* Into how many chunks the copy of an array's rows is cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "copy/snapshot.h"

enum { UNIT = SNAPSHOT_UNIT, CHUNK = SNAPSHOT_CHUNK };

/* Rows of one array that is copied behind the launch. */
struct rows {
    uint64_t row_bytes, rows, pitch, address;
};

static uint64_t described(const struct rows *rows, struct snapshot_segment *segment)
{
    struct side *side = calloc(1, sizeof *side);
    struct check *check = calloc(1, sizeof *check);
    struct snapshot_plan *plan = calloc(1, sizeof *plan);
    struct snapshot_header header;
    struct snapshot_select select;
    assert_true(side && check && plan);
    check->binding.arrays = 1;
    check->binding.array[0].address = rows->address;
    plan->placement[0] = (struct placement){.before = NOT_COPIED, .after = 256};
    plan->shape[0] = (struct snapshot_pitch){.row_bytes = rows->row_bytes,
                                             .rows = rows->rows,
                                             .source_pitch = rows->pitch,
                                             .target_pitch = rows->row_bytes};
    uint64_t chunks =
        snapshot_describe(side, check, plan, SNAPSHOT_AFTER, &header, &select, segment);
    assert_int_equal(header.segments, 1);
    assert_int_equal(segment->source, rows->address);
    assert_int_equal(segment->target, 256);
    free(plan);
    free(check);
    free(side);
    return chunks;
}

static void one_row_has_as_many_as_it_touches(void **state)
{
    (void)state;
    struct snapshot_segment segment;
    assert_int_equal(described(&(struct rows){CHUNK, 1, 0, 4096}, &segment), 1);
    assert_int_equal(described(&(struct rows){CHUNK + 1, 1, 0, 4096}, &segment), 2);
    /* The unit of the first byte counts as a whole. */
    assert_int_equal(described(&(struct rows){CHUNK, 1, 0, 4096 + UNIT / 2}, &segment), 2);
}

static void short_rows_share_a_chunk(void **state)
{
    (void)state;
    struct snapshot_segment segment;
    assert_int_equal(described(&(struct rows){UNIT, 1000, 2 * UNIT, 4096}, &segment),
                     (1000 + CHUNK / UNIT - 1) / (CHUNK / UNIT));
    assert_int_equal(segment.rows_per_chunk, CHUNK / UNIT);
    assert_int_equal(segment.chunks_per_row, 1);
}

static void long_rows_have_their_own(void **state)
{
    (void)state;
    struct snapshot_segment segment;
    assert_int_equal(described(&(struct rows){CHUNK, 5, 2 * CHUNK, 4096}, &segment), 5);
    assert_int_equal(segment.chunks_per_row, 1);
    assert_int_equal(described(&(struct rows){3 * CHUNK, 5, 4 * CHUNK, 4096}, &segment), 15);
}

/* The second row starts at another place in its unit, so it may touch one unit more. */
static void rows_at_a_pitch_of_no_whole_units_have_room_for_one_more(void **state)
{
    (void)state;
    struct snapshot_segment segment;
    assert_int_equal(described(&(struct rows){CHUNK, 5, CHUNK + UNIT / 2, 4096}, &segment), 10);
    assert_int_equal(segment.chunks_per_row, 2);
    assert_int_equal(described(&(struct rows){CHUNK - UNIT, 5, CHUNK + UNIT / 2, 4096}, &segment),
                     5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_has_as_many_as_it_touches),
        cmocka_unit_test(short_rows_share_a_chunk),
        cmocka_unit_test(long_rows_have_their_own),
        cmocka_unit_test(rows_at_a_pitch_of_no_whole_units_have_room_for_one_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
