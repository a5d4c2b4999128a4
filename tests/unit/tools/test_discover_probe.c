/* What `cuvet discover --probe` makes of launches that were run again: contents, elements that are
 * written or kept, roles, dims, and sentences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>
#include "lang/dtype.h"
#include "tools/discover/search/entry.h"
#include "tools/discover/probing_text.h"
#include "tools/discover/search/sizes.h"

/* ---- contents ---- */

enum { COUNT = 12 };

static void a_content_differs_in_every_element(void **state)
{
    static const enum dtype types[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16,
                                       DTYPE_I64, DTYPE_I32, DTYPE_U8,  DTYPE_NONE};
    uint8_t held[8 * COUNT], out[8 * COUNT];
    (void)state;
    for (int pattern = 0; pattern < 4; pattern++) {
        for (unsigned i = 0; i < sizeof held; i++)
            held[i] = (uint8_t)(pattern == 0   ? 0
                                : pattern == 1 ? i * 37
                                : pattern == 2 ? 0x5a
                                               : 0xa5);
        for (unsigned t = 0; t < 2 * sizeof types / sizeof *types; t++) {
            enum dtype dtype = types[t / 2];
            unsigned size = dtype == DTYPE_NONE ? 4 : dtype_bytes(dtype);
            poison_make(dtype, size, held, COUNT * size, t % 2, out);
            for (unsigned i = 0; i < COUNT; i++)
                assert_memory_not_equal(out + i * size, held + i * size, size);
            for (unsigned i = 0; i < COUNT && dtype_is_real(dtype); i++)
                assert_true(isfinite(dtype_load(dtype, out + i * size)));
        }
    }
}

static void an_index_stays_an_index(void **state)
{
    int32_t held[COUNT], out[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++)
        held[i] = i * 5 % 7 - 1; /* -1 .. 5 */
    for (unsigned number = 0; number < POISONS; number++) {
        poison_make(DTYPE_I32, 4, (const uint8_t *)held, sizeof held, number, (uint8_t *)out);
        for (int i = 0; i < COUNT; i++)
            assert_true(out[i] == -1 || out[i] == 5);
    }
}

/* ---- what the runs show ---- */

/* Elements 0, 1 are left, 2, 3 get 7, 4, 5 are doubled; what is at hand is the recorded content, 3
 * in each, and two others. */
static int32_t held[3][6] = {{3, 3, 3, 3, 3, 3}, {7, 7, 7, 7, 7, 7}, {9, 9, 9, 9, 9, 9}};
static int32_t after[3][6] = {{3, 3, 7, 7, 6, 6}, {7, 7, 7, 7, 14, 14}, {9, 9, 7, 7, 18, 18}};

static struct poison_run run_of(int number)
{
    return (struct poison_run){(const uint8_t *)held[number], (const uint8_t *)after[number]};
}

static void written_elements_do_not_hold_what_they_were_given(void **state)
{
    const struct poison_run runs[] = {run_of(0), run_of(1), run_of(2)};
    struct poison_marks written, kept;
    (void)state;
    poison_written(runs, 3, sizeof held[0], 4, &written, &kept);
    assert_int_equal(written.begin, 8);
    assert_int_equal(written.end, 24);
    assert_int_equal(written.elements, 4);
    assert_int_equal(kept.begin, 16);
    assert_int_equal(kept.end, 24);
    assert_int_equal(kept.elements, 2);
    poison_written(runs, 3, 8, 4, &written, &kept);
    assert_int_equal(written.elements, 0);
    assert_int_equal(kept.elements, 0);
}

/* The first content was 7 by chance: that run alone does not show elements 2 and 3. */
static void one_run_may_hide_what_another_shows(void **state)
{
    const struct poison_run one[] = {run_of(1)};
    struct poison_marks written, kept;
    (void)state;
    poison_written(one, 1, sizeof held[0], 4, &written, &kept);
    assert_int_equal(written.elements, 2);
    assert_int_equal(written.begin, 16);
}

static void elements_that_are_left_make_no_difference(void **state)
{
    const struct poison_run base = run_of(0), other = run_of(1);
    (void)state;
    assert_false(poison_differs(&base, &other, 16)); /* left, or the same 7 */
    assert_true(poison_differs(&base, &other, 24));
    assert_false(poison_differs(&base, &base, 24));
}

static void a_sum_is_not_a_decay(void **state)
{
    float old[COUNT], small[COUNT], sum[2][COUNT], decay[2][COUNT];
    int32_t one[2] = {3, -1}, two[2] = {4, 8}, added[2][2] = {{10, 6}, {11, 15}};
    struct poison_run base = {(const uint8_t *)old, (const uint8_t *)sum[0]};
    struct poison_run run = {(const uint8_t *)small, (const uint8_t *)sum[1]};
    (void)state;
    for (int i = 0; i < COUNT; i++)
        old[i] = i == 3 ? 4 : 0.3f * (float)i;
    assert_true(poison_small(DTYPE_F32, base.held, sizeof old, (uint8_t *)small));
    assert_true(small[2] == 4 && small[3] == 8);
    for (int i = 0; i < COUNT; i++) {
        const float x = 1.7f * (float)i;
        sum[0][i] = old[i] + x;
        sum[1][i] = small[i] + x;
        decay[0][i] = 0.99f * old[i] + x;
        decay[1][i] = 0.99f * small[i] + x;
    }
    assert_true(poison_adds(DTYPE_F32, &base, &run, sizeof old));
    base.after = (const uint8_t *)decay[0];
    run.after = (const uint8_t *)decay[1];
    assert_false(poison_adds(DTYPE_F32, &base, &run, sizeof old));
    base = (struct poison_run){(const uint8_t *)one, (const uint8_t *)added[0]};
    run = (struct poison_run){(const uint8_t *)two, (const uint8_t *)added[1]};
    assert_true(poison_adds(DTYPE_I32, &base, &run, sizeof one));
    added[1][1]++;
    assert_false(poison_adds(DTYPE_I32, &base, &run, sizeof one));
    assert_false(poison_small(DTYPE_NONE, base.held, sizeof one, (uint8_t *)two));
}

static void rounding_is_no_other_result(void **state)
{
    const float one[] = {1, 1000, 0}, near[] = {1.001f, 1000.01f, 0}, far[] = {1, 1000, 1};
    const int32_t number[] = {1, 2}, next[] = {1, 3};
    (void)state;
#define COMPARE(dtype, a, b)                                                                       \
    poison_compare(dtype, (const uint8_t *)(a), (const uint8_t *)(b), sizeof(a))
    assert_int_equal(COMPARE(DTYPE_F32, one, one), APART_NOT);
    assert_int_equal(COMPARE(DTYPE_F32, one, near), APART_ROUNDING);
    assert_int_equal(COMPARE(DTYPE_F32, one, far), APART_FAR);
    assert_int_equal(COMPARE(DTYPE_I32, number, next), APART_FAR);
}

/* ---- roles, dims and sentences ---- */

/* k(float *, int n, int pitch): launches of 4 and 5 blocks. */
static struct world {
    struct seen_kernel kernel;
    struct seen_sample sample[2];
    uint8_t params[2][16];
    struct facts facts;
    struct fact *array;
    struct textbuf text;
} world;

static int make_world(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    world.kernel.names = (struct symbol_names){"k", "k", "k"};
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t address = 0x10000;
        int32_t n = 256 + 64 * (int)i, pitch = 300;
        memcpy(world.params[i], &address, 8);
        memcpy(world.params[i] + 8, &n, 4);
        memcpy(world.params[i] + 12, &pitch, 4);
        world.sample[i] = (struct seen_sample){.grid = {4 + i, 1, 1},
                                               .block = {64, 1, 1},
                                               .params = world.params[i],
                                               .params_bytes = 16,
                                               .layout = {3, {{0, 8}, {8, 4}, {12, 4}}},
                                               .pointer = {{0, address, address, 8192}},
                                               .pointers = 1};
        world.kernel.sample[i] = &world.sample[i];
    }
    world.kernel.samples = 2;
    facts_make(&world.facts, &world.kernel);
    world.array = &world.facts.fact[0];
    world.array->dtype = DTYPE_F32;
    textbuf_init(&world.text);
    return 0;
}

static int end_world(void **state)
{
    (void)state;
    textbuf_release(&world.text);
    return 0;
}

static struct probed reading(uint64_t elements)
{
    return (struct probed){
        .known = true, .reads = true, .edges = true, .bytes = 8192, .read = {0, 4 * elements, 0}};
}

static struct probed writing(uint64_t elements)
{
    return (struct probed){
        .known = true, .writes = true, .bytes = 8192, .written = {0, 4 * elements, elements}};
}

static void has_entry(const char *parameter)
{
    textbuf_clear(&world.text);
    entry_print_unknown(&world.facts, "", &world.text);
    if (!strstr(world.text.data, parameter))
        print_error("%s", world.text.data);
    assert_non_null(strstr(world.text.data, parameter));
}

static void probed_twice(struct probed first, struct probed second)
{
    world.array->probed[0] = first;
    world.array->probed[1] = second;
    facts_settle(&world.facts);
}

static void runs_give_roles_that_the_code_does_not_show(void **state)
{
    struct probed kept = writing(256);
    (void)state;
    probed_twice(writing(256), (struct probed){0});
    has_entry("\n      f32 p0[a1], i32 a1, i32 a2");
    kept.reads = kept.keeps = true;
    kept.edges = true;
    kept.read = kept.written;
    probed_twice(kept, writing(320));
    has_entry("inout f32 p0[a1]");
    kept.adds = true;
    probed_twice(kept, writing(320));
    has_entry("acc f32 p0[a1]");
}

static void the_code_keeps_its_role_and_the_draft_has_both(void **state)
{
    (void)state;
    world.facts.has_code = true;
    world.array->reads = world.array->writes = true;
    world.array->coded = (struct coded){.reads = true, .writes = true};
    probed_twice(reading(256), reading(320));
    has_entry("inout f32 p0[a1]");
    textbuf_clear(&world.text);
    probing_put(&world.facts, 0, &world.text);
    assert_non_null(
        strstr(world.text.data, "run again, it reads bytes 0..1023 of 8192, writes none\n"));
    assert_non_null(strstr(world.text.data, "and reads bytes 0..1279 of 8192, writes none\n"));
    assert_non_null(
        strstr(world.text.data, "the code writes it, but no byte of it in these launches"));
    assert_null(strstr(world.text.data, "the code reads it"));
}

static void where_code_and_runs_agree_nothing_more_is_written(void **state)
{
    (void)state;
    world.facts.has_code = true;
    world.array->reads = true;
    world.array->coded.reads = true;
    probed_twice(reading(256), reading(256));
    probing_put(&world.facts, 0, &world.text);
    assert_string_equal(world.text.data,
                        "  #       run again, it reads bytes 0..1023 of 8192, writes none\n");
}

/* A counter that launches reset; without the need of the other results it is an output that came
 * out the same. */
static void what_launches_leave_and_need_is_no_scratch(void **state)
{
    struct probed probed = writing(1);
    (void)state;
    probed.reads = probed.keeps = probed.elsewhere = probed.edges = true;
    probed.read = probed.written;
    world.array->changed[0] = 0;
    probed_twice(probed, (struct probed){0});
    has_entry("inout f32 p0[1]");
    probed.elsewhere = false;
    probed_twice(probed, (struct probed){0});
    has_entry("inout f32 p0[1]");
    probed.elsewhere = true;
    world.array->changed[0] = 4;
    probed_twice(probed, (struct probed){0});
    has_entry("inout f32 p0[1]");
}

static void dims_go_with_what_is_read_and_written(void **state)
{
    (void)state;
    probed_twice(reading(128), reading(160));
    has_entry("const f32 p0[a1 / 2],");
    probed_twice(reading(4 * 256), reading(5 * 320));
    has_entry("const f32 p0[grid.x][a1],");
    probed_twice(reading(17), reading(17));
    has_entry("const f32 p0[17],");
    world.params[1][12] = world.params[0][12] = 0x84; /* pitch 388 */
    world.params[1][13] = world.params[0][13] = 1;
    probed_twice(writing(3 * 388 + 256), writing(4 * 388 + 320));
    has_entry("f32 p0[grid.x:a2][a1],");
}

static void no_dim_is_made_up(void **state)
{
    struct probed unknown = reading(256);
    (void)state;
    probed_twice(reading(17), (struct probed){0}); /* one shape */
    has_entry("const f32 p0[SIZE],");
    probed_twice(reading(128), reading(161));
    has_entry("const f32 p0[SIZE],");
    unknown.edges = false;
    probed_twice(unknown, unknown);
    has_entry("const f32 p0[SIZE],");
}

static void a_report_has_counts_and_the_reason(void **state)
{
    struct probing_report report = {.launches = 3, .same = 1, .rounded = 1, .sentence = "no image"};
    (void)state;
    probing_put_report(&report, &world.text);
    assert_string_equal(world.text.data,
                        "  #   run again: 2 of 3 launches gave the recorded results, "
                        "1 of them within rounding; no image\n");
    textbuf_clear(&world.text);
    report = (struct probing_report){0};
    probing_put_report(&report, &world.text);
    assert_non_null(strstr(world.text.data, "no memory of its launches was recorded"));
}

int main(void)
{
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_content_differs_in_every_element),
        cmocka_unit_test(an_index_stays_an_index),
        cmocka_unit_test(written_elements_do_not_hold_what_they_were_given),
        cmocka_unit_test(one_run_may_hide_what_another_shows),
        cmocka_unit_test(elements_that_are_left_make_no_difference),
        cmocka_unit_test(a_sum_is_not_a_decay),
        cmocka_unit_test(rounding_is_no_other_result),
        IN_WORLD(runs_give_roles_that_the_code_does_not_show),
        IN_WORLD(the_code_keeps_its_role_and_the_draft_has_both),
        IN_WORLD(where_code_and_runs_agree_nothing_more_is_written),
        IN_WORLD(what_launches_leave_and_need_is_no_scratch),
        IN_WORLD(dims_go_with_what_is_read_and_written),
        IN_WORLD(no_dim_is_made_up),
        IN_WORLD(a_report_has_counts_and_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
