/* test_lift_groups.c - grouped products of Triton 3.6, whose matrices lie behind addresses in
 * device memory, held against their own PTX. */
#include "lift_bench.h"
#include "tests/unit/lift/refusals.h"
#define PTX(name) "tests/unit/lift/ptx/" name ".ptx"

enum { GROUPS = 3, MATRIX = 64 << 10, SCRATCH = 8 << 10 };
static const int sizes[GROUPS][3] = {{128, 32, 64}, {64, 64, 96}, {64, 32, 32}};

static void fill_groups(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + (uint32_t)(uintptr_t)array;
    if (param == 3)
        memcpy(array, sizes, sizeof sizes);
    for (uint64_t i = 0; param < 2 && i < bytes / 2; i++) {
        state = state * 1664525u + 1013904223u;
        ((uint16_t *)array)[i] = (uint16_t)(0x2c00 + (state >> 16 & 0x0fff));
    }
}

static struct bench_result check_groups(const char *subject, const char *path)
{
    const struct bench_launch launch = {
        "groups",
        2,
        128,
        32 << 10,
        {{MATRIX, 0}, {MATRIX, 0}, {MATRIX, 0}, {sizeof sizes, 0}, {0, GROUPS}}};
    bench_rows[0] = bench_rows[1] = bench_rows[2] = GROUPS;
    bench_scratch = SCRATCH;
    bench_subject = subject;
    struct bench_result result = bench_check(&launch, path, fill_groups, NULL);
    bench_subject = NULL;
    assert_string_equal(result.refused, "");
    return result;
}

static uint64_t elements(void)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < GROUPS; i++)
        all += (uint64_t)(sizes[i][0] * sizes[i][1]);
    return all;
}

static void right_groups_are_quiet(void **state)
{
    static const char *const paths[] = {PTX("groups"), PTX("groups_made")};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const struct ref_verdict verdict = check_groups(NULL, paths[i]).verdict;
        assert_int_equal(verdict.checked, elements());
        assert_int_equal(verdict.violations, 0);
        assert_int_equal(verdict.refused, 0);
        assert_true(verdict.max_ratio > 0.4);
        assert_int_equal(verdict.measured, sizes[0][0] * sizes[0][2] * 2); /* the longest row */
    }
}

static void narrow_sums_are_found(void **state)
{
    static const char *const paths[] = {PTX("groups_narrow"), PTX("groups_made_narrow")};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const struct ref_verdict verdict = check_groups(NULL, paths[i]).verdict;
        assert_int_equal(verdict.checked, elements());
        assert_int_equal(verdict.refused, 0);
        assert_in_range(verdict.violations, elements() / 4, elements());
    }
}

/* The launched kernel is another one: from the second group on it leaves out the end of a sum, or
 * it writes to another group's memory. */
static void another_kernel_is_found(void **state)
{
    static const char *const subjects[] = {PTX("groups_short"), PTX("groups_swapped")};
    (void)state;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        const struct ref_verdict verdict = check_groups(subjects[i], PTX("groups")).verdict;
        assert_int_equal(verdict.checked, elements());
        assert_int_equal(verdict.refused, 0);
        assert_in_range(verdict.violations, elements() / 4, elements());
        const uint64_t row = verdict.first_index / (MATRIX / 2);
        assert_int_equal(row, i ? 0 : 1);
    }
}

static void what_a_row_has_not_is_refused(void **state)
{
    (void)state;
    bench_cut = GROUPS * (MATRIX - 4096);
    assert_true(check_groups(NULL, PTX("groups")).verdict.refused > 0);
    assert_true(check_groups(NULL, PTX("groups_made")).verdict.refused > 0);
    bench_cut = 0;
}

/* A copy that is no whole number of rows, or of rows that are not aligned. */
static void odd_rows_are_refused(void **state)
{
    enum { HALF = GROUPS * MATRIX / 2 }; /* more than the kernel reaches */
    static const uint64_t cuts[] = {HALF + 1, HALF + 8 * GROUPS};
    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        bench_cut = cuts[i];
        const struct ref_verdict verdict = check_groups(NULL, PTX("groups")).verdict;
        bench_cut = 0;
        assert_true(verdict.refused > 0);
        assert_int_equal(verdict.violations, 0);
    }
}

/* What checks reach is kept as a power of two, which only grows. */
static void what_was_reached_is_noted(void **state)
{
    struct error err = {{0}};
    struct lift *lift;
    size_t bytes;
    char *text = read_file(PTX("groups"), &bytes);
    (void)state;
    assert_int_equal(lift_make(&lift, text, bytes, "groups", 0, &err), LIFT_OK);
    assert_true(lift_has_tables(lift));
    assert_int_equal(lift_reached(lift), 0);
    assert_false(lift_note_reached(lift, 0));
    assert_true(lift_note_reached(lift, 16385));
    assert_int_equal(lift_reached(lift), 32768);
    assert_false(lift_note_reached(lift, 32768));
    assert_false(lift_note_reached(lift, 100));
    assert_true(lift_note_reached(lift, 32769));
    assert_int_equal(lift_reached(lift), 65536);
    lift_free(lift);
    free(text);
}

/* ---- by hand ---- */

#define HEAD                                                                                       \
    ".version 7.0\n.target sm_80\n.address_size 64\n"                                              \
    ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n"           \
    ".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<19>; .reg .pred %p<4>;\n"                      \
    "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [c]; ld.param.u32 %r1, "      \
    "[n];\n"                                                                                       \
    "mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mul.wide.u32 %d4, %r2, 4;\n"                      \
    "mul.wide.u32 %d5, %r3, 8; add.s64 %d6, %d1, %d5; add.s64 %d7, %d2, %d5;\n"
#define TAIL      "ret;\n}\n"
#define FROM(at)  "ld.global.u64 %d8, [" at "]; add.s64 %d9, %d8, %d4; ld.global.f32 %f1, [%d9];\n"
#define TO(at)    "ld.global.u64 %d10, [" at "]; add.s64 %d11, %d10, %d4;\n"
#define STORE(at) "add.f32 %f2, %f1, %f1; st.global.f32 [" at "], %f2;\n"
#define LOOP(counted)                                                                              \
    "mov.b32 %r4, 0; AGAIN: mul.wide.u32 %d12, %r4, 8; add.s64 %d13, %d1, %d12;\n" counted
#define TURNED(left)                                                                               \
    "setp.eq.u32 %p2, %r1, 7; mov.b32 %r4, 0; mov.b32 %r5, 0; OVER: add.u32 %r4, %r4, 1;\n" left   \
    "setp.lt.u32 %p1, %r4, %r2; @%p1 bra OVER; mov.b32 %r5, 1; FAR: mad.wide.u32 %d12, %r5, 4, "   \
    "%d3; ld.global.u32 %r6, [%d12]; mad.wide.u32 %d11, %r6, 4, %d11;\n"
#define TURNS "add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %r1; @%p1 bra AGAIN;\n"

static const struct refusal_row rows[] = {
    {HEAD FROM("%d6") "add.s64 %d11, %d3, %d4;\n" STORE("%d11") TAIL, LIFT_OK},
    {HEAD FROM("%d6") TO("%d7") STORE("%d11") TAIL, LIFT_OK},
    {HEAD LOOP(FROM("%d13") "add.s64 %d11, %d3, %d4;\n" STORE("%d11")) TURNS TAIL, LIFT_OK},
    /* Nothing bounds the loop. */
    {HEAD LOOP(FROM("%d13") "add.s64 %d11, %d3, %d4;\n" STORE(
         "%d11")) "add.u32 %r4, %r4, 1;\n"
                  "setp.ne.f32 %p1, %f1, %f2; @%p1 bra AGAIN;\n" TAIL,
     LIFT_TABLE},
    /* Numbers of another size in the table, or the kernel writes there. */
    {HEAD FROM("%d6") "ld.global.u32 %r5, [%d6]; st.global.u32 [%d3], %r5;\n" TO("%d7")
         STORE("%d11") TAIL,
     LIFT_TABLE},
    {HEAD FROM("%d6") "st.global.u64 [%d6], %d4; add.s64 %d11, %d3, %d4;\n" STORE("%d11") TAIL,
     LIFT_TABLE},
    /* An address behind an address, and one of two tables. */
    {HEAD "ld.global.u64 %d12, [%d6];\n" FROM("%d12") "add.s64 %d11, %d3, %d4;\n" STORE("%d11")
         TAIL,
     LIFT_ADDRESS},
    {HEAD FROM("%d6") TO("%d7") "add.s64 %d11, %d11, %d8;\n" STORE("%d11") TAIL, LIFT_ADDRESS},
    /* A place in what an address leads to: by a number that all blocks have, by each thread's. */
    {HEAD FROM("%d6") TO(
         "%d7") "ld.global.u32 %r5, [%d3]; mad.wide.u32 %d11, %r5, 4, %d11;\n" STORE("%d11") TAIL,
     LIFT_OK},
    {HEAD FROM("%d6") TO("%d7") "add.s64 %d12, %d3, %d4; ld.global.u32 %r5, [%d12];\n"
                                "mad.wide.u32 %d11, %r5, 4, %d11;\n" STORE("%d11") TAIL,
     LIFT_SCATTER},
    /* The same behind a loop that ends for each thread by itself: at its end, or anywhere. */
    {HEAD FROM("%d6") TO("%d7") TURNED("") STORE("%d11") TAIL, LIFT_OK},
    {HEAD FROM("%d6") TO("%d7") TURNED("@%p2 bra FAR;\n") STORE("%d11") TAIL, LIFT_SCATTER},
    {HEAD FROM("%d6") TO("%d7") "@%p3 bra WITHIN;\n" TURNED("WITHIN:\n") STORE("%d11") TAIL,
     LIFT_SCATTER},
    /* The same in an array of the launch's, and that number is no parameter. */
    {HEAD FROM("%d6") "ld.global.u32 %r5, [%d2]; mad.wide.u32 %d11, %r5, 4, %d3;\n" STORE("%d11")
         TAIL,
     LIFT_SCATTER},
};

static void tables_are_lifted_or_refused(void **state)
{
    (void)state;
    check_refusals(rows, sizeof rows / sizeof *rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_groups_are_quiet),
        cmocka_unit_test(narrow_sums_are_found),
        cmocka_unit_test(another_kernel_is_found),
        cmocka_unit_test(what_a_row_has_not_is_refused),
        cmocka_unit_test(odd_rows_are_refused),
        cmocka_unit_test(what_was_reached_is_noted),
        cmocka_unit_test(tables_are_lifted_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
