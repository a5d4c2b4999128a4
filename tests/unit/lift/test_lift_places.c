/* test_lift_places.c - kernels written by hand that store at places from memory: which array names
 * the places, of which arrays rows are copied, and which kernels are refused. */
#include "lift_bench.h"
#include "text/textbuf.h"

/* %d5: the number that names a row, from where %d4 leads; %d7: a row's first byte, %d8: a place in
 * it; %p1: whether it lies there. */
#define HEAD                                                                                       \
    ".version 8.0\n.target sm_80\n.address_size 64\n"                                              \
    ".visible .entry k(.param .u64 x, .param .u64 rows, .param .u64 y, .param .u32 width)\n{\n"    \
    ".reg .b32 %r<12>; .reg .f32 %f<3>; .reg .b64 %d<20>; .reg .pred %p<4>;\n"                     \
    "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [rows]; ld.param.u64 %d3, [y];\n"                    \
    "ld.param.u32 %r3, [width]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r4, "         \
    "%ctaid.y;\n"                                                                                  \
    "cvt.u64.u32 %d6, %r3; mul.wide.u32 %d8, %r1, 4; setp.lt.u32 %p1, %r1, %r3;\n"                 \
    "mul.wide.u32 %d16, %r2, 8; add.s64 %d4, %d2, %d16; cvt.u64.u32 %d10, %r4;\n"                  \
    "add.s64 %d11, %d1, %d8; ld.global.f32 %f1, [%d11]; add.f32 %f1, %f1, %f1;\n"
#define FROM(at) "ld.global.u64 %d5, [" at "];\n"
#define INDEX    FROM("%d4")
#define PLACE_OF(row, array)                                                                       \
    "mul.lo.s64 %d7, " row ", %d6; shl.b64 %d19, %d7, 2; add.s64 %d9, " array ", %d19;\n"
#define PLACE(array) PLACE_OF("%d5", array)
#define STORE        "add.s64 %d13, %d9, %d8; @%p1 st.global.f32 [%d13], %f1;\n"
#define TAIL         "ret;\n}\n"

enum { X, ROWS, Y };

static const struct {
    const char *text;
    int index; /* of the places in y: a parameter; -1: none */
} places[] = {
    {HEAD INDEX PLACE("%d3") STORE TAIL, ROWS},
    /* The next rows in a loop, or the rows behind the first: others' indices name these, too. */
    {HEAD INDEX "AGAIN:" PLACE("%d3") STORE "add.s64 %d5, %d5, 1; add.u32 %r5, %r5, 1;\n"
                                            "setp.lt.u32 %p2, %r5, 4; @%p2 bra AGAIN;\n" TAIL,
     -1},
    {HEAD INDEX "add.s64 %d17, %d5, %d10;\n" PLACE_OF("%d17", "%d3") STORE TAIL, -1},
    {HEAD INDEX "shl.b64 %d7, %d5, 9; add.s64 %d12, %d3, %d7;\n"
                "mul.wide.u32 %d14, %r4, 512; add.s64 %d9, %d12, %d14;\n" STORE TAIL,
     -1},
    /* Half rows. */
    {HEAD INDEX "shl.b64 %d7, %d5, 9; add.s64 %d12, %d3, %d7;\n"
                "and.b32 %r5, %r4, 1; mul.wide.u32 %d14, %r5, 256; add.s64 %d9, %d12, %d14;\n"
                "and.b32 %r6, %r1, 63; mul.wide.u32 %d15, %r6, 4; add.s64 %d13, %d9, %d15;\n"
                "st.global.f32 [%d13], %f1;\n" TAIL,
     ROWS},
    /* An index may be taken several times, where memory decides on its place ... */
    {HEAD "ld.global.u32 %r5, [%d1]; and.b32 %r5, %r5, 15; mul.wide.u32 %d17, %r5, 8;\n"
          "add.s64 %d18, %d2, %d17;\n" FROM("%d18") PLACE("%d3") STORE TAIL,
     -1},
    /* ... and the end of the array is not known here. */
    {HEAD "shl.b32 %r5, %r2, %r1; mul.wide.u32 %d17, %r5, 8; add.s64 %d18, %d2, %d17;\n" FROM(
         "%d18") PLACE("%d3") STORE TAIL,
     -1},
    /* The array has numbers of another size. */
    {HEAD INDEX PLACE("%d3") STORE "ld.global.u32 %r5, [%d4]; st.global.u32 [%d9], %r5;\n" TAIL,
     -1},
    /* Other stores, at places that no memory decides on. */
    {HEAD INDEX PLACE("%d3") STORE "add.s64 %d14, %d3, %d8; @%p1 st.global.f32 [%d14], %f1;\n" TAIL,
     -1},
    {HEAD "add.s64 %d14, %d3, %d8; @%p1 st.global.f32 [%d14], %f1;\n" INDEX PLACE("%d3") STORE TAIL,
     -1},
};

static const struct lift_view *view_of(const struct lift *lift, unsigned param)
{
    const struct lift_view *view;
    const unsigned views = lift_views(lift, &view);
    for (unsigned i = 0; i < views; i++) {
        if (view[i].param == param)
            return &view[i];
    }
    fail_msg("parameter %u is no array", param);
    return NULL;
}

static struct lift *make(const char *text)
{
    struct error err = {{0}};
    struct lift *lift;
    if (lift_make(&lift, text, strlen(text), "k", 1 << 20, &err))
        fail_msg("%s", err.text);
    return lift;
}

static void places_are_named_or_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const struct lift_view *all;
        struct lift *lift = make(places[i].text);
        const struct lift_view *y = view_of(lift, Y);
        lift_views(lift, &all);
        assert_true(y->scattered);
        const int index = y->index < 0 ? -1 : (int)all[y->index].param;
        if (index != places[i].index)
            fail_msg("kernel %zu: its places are named by %d, expected %d", i, index,
                     places[i].index);
        lift_free(lift);
    }
}

#define READ "add.s64 %d13, %d9, %d8; @%p1 ld.global.f32 %f2, [%d13]; add.f32 %f1, %f1, %f2;\n"
#define PUT  "add.s64 %d14, %d3, %d8; @%p1 st.global.f32 [%d14], %f1;\n"
/* As HEAD, but nothing is read of `x`. */
#define ROWS_HEAD                                                                                  \
    ".version 8.0\n.target sm_80\n.address_size 64\n"                                              \
    ".visible .entry k(.param .u64 x, .param .u64 rows, .param .u64 y, .param .u32 width)\n{\n"    \
    ".reg .b32 %r<12>; .reg .f32 %f<3>; .reg .b64 %d<20>; .reg .pred %p<4>;\n"                     \
    "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [rows]; ld.param.u64 %d3, [y];\n"                    \
    "ld.param.u32 %r3, [width]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.f32 %f1, "         \
    "0f00000000;\n"                                                                                \
    "cvt.u64.u32 %d6, %r3; mul.wide.u32 %d8, %r1, 4; setp.lt.u32 %p1, %r1, %r3;\n"                 \
    "mul.wide.u32 %d16, %r2, 8; add.s64 %d4, %d2, %d16;\n"

static void indices_have_the_size_of_their_array(void **state)
{
    static const struct {
        const char *text;
        unsigned rows;
    } row[] = {
        {ROWS_HEAD INDEX PLACE("%d1") READ PUT TAIL, 1},
        {ROWS_HEAD INDEX PLACE("%d1") READ "ld.global.u32 %r5, [%d4]; cvt.rn.f32.u32 %f2, %r5;\n"
                                           "add.f32 %f1, %f1, %f2;\n" PUT TAIL,
         0},
        {ROWS_HEAD "ld.global.u32 %r5, [%d4]; cvt.u64.u32 %d5, %r5;\n" PLACE("%d1") READ PUT TAIL,
         1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct lift *lift = make(row[i].text);
        if ((view_of(lift, X)->rows > 0) != row[i].rows)
            fail_msg("kernel %zu: rows %u, expected %u", i, view_of(lift, X)->rows, row[i].rows);
        lift_free(lift);
    }
}

/* How far stores to y reach, at a number from memory, %r5, below p3, or in a loop of p3 turns. */
static const struct {
    const char *text, *y;
} limits[] = {
    {"cvt.s64.s32 %d5, %r5; cvt.u32.u64 %r6, %d5; setp.lt.s32 %p2, %r6, %r3;\n"
     "shl.b64 %d7, %d5, 2; add.s64 %d9, %d3, %d7; @%p2 st.global.f32 [%d9], %f1;\n",
     "f32 p2?[(((p3 * 4 - 4) / 4 + 1) * 4) / 4]"},
    {"cvt.s64.s32 %d5, %r5; setp.lt.s64 %p2, %d5, %d6; mul.wide.s32 %d7, %r5, 4;\n"
     "add.s64 %d9, %d3, %d7; @%p2 st.global.f32 [%d9], %f1;\n",
     "f32 p2?[(((p3 * 4 - 4) / 4 + 1) * 4) / 4]"},
    /* The lower half of a larger number. */
    {"ld.global.u64 %d5, [%d4]; cvt.u32.u64 %r6, %d5; setp.lt.u32 %p2, %r6, %r3;\n"
     "shl.b64 %d7, %d5, 2; add.s64 %d9, %d3, %d7; @%p2 st.global.f32 [%d9], %f1;\n",
     "f32 p2?[*]"},
    {"mov.u64 %d5, 0;\n"
     "AGAIN: shl.b64 %d7, %d5, 2; add.s64 %d9, %d3, %d7; st.global.f32 [%d9], %f1;\n"
     "add.s64 %d5, %d5, 8; cvt.u32.u64 %r6, %d5; setp.lt.u32 %p2, %r6, %r3; @%p2 bra AGAIN;\n",
     "f32 p2?[(((((p3) / 8) * 32 + 32) / 4 + 1) * 4) / 4]"},
    /* Counted down to 0, or to another number. */
    {"shr.u32 %r7, %r3, 3; mov.u64 %d9, %d3;\n"
     "AGAIN: st.global.f32 [%d9], %f1; add.s64 %d9, %d9, 32; add.s32 %r7, %r7, -1;\n"
     "setp.ne.b32 %p2, %r7, 0; @%p2 bra AGAIN;\n",
     "f32 p2?[(((((p3) / 8) * 32 + 32) / 4 + 1) * 4) / 4]"},
    {"shr.u32 %r7, %r3, 3; mov.u64 %d9, %d3;\n"
     "AGAIN: st.global.f32 [%d9], %f1; add.s64 %d9, %d9, 32; add.s32 %r7, %r7, -1;\n"
     "setp.ne.b32 %p2, %r7, -5; @%p2 bra AGAIN;\n",
     "f32 p2?[*]"},
    /* Counted up to 0. */
    {"neg.s32 %r7, %r3; mov.u64 %d9, %d3;\n"
     "AGAIN: st.global.f32 [%d9], %f1; add.s64 %d9, %d9, 32; add.s32 %r7, %r7, 1;\n"
     "setp.ne.b32 %p2, %r7, 0; @%p2 bra AGAIN;\n",
     "f32 p2?[*]"},
    /* From the last place to the first, by a pointer, and by the counter. */
    {"mov.u32 %r7, %r3; add.s32 %r8, %r3, -1; mul.wide.s32 %d7, %r8, 32; add.s64 %d9, %d3, "
     "%d7;\n"
     "AGAIN: st.global.f32 [%d9], %f1; add.s64 %d9, %d9, -32; add.s32 %r7, %r7, -1;\n"
     "setp.ne.b32 %p2, %r7, 0; @%p2 bra AGAIN;\n",
     "f32 p2?[(((p3 * 32 - 32) / 4 + 1) * 4) / 4]"},
    {"mov.u32 %r7, %r3;\n"
     "AGAIN: mul.wide.s32 %d7, %r7, 4; add.s64 %d9, %d3, %d7; st.global.f32 [%d9], %f1;\n"
     "add.s32 %r7, %r7, -1; setp.ne.b32 %p2, %r7, 0; @%p2 bra AGAIN;\n",
     "f32 p2?[(((p3 * 4) / 4 + 1) * 4) / 4]"},
    /* The pointer gets another value behind the loop. */
    {"mov.u32 %r7, %r3; mov.u64 %d9, %d3;\n"
     "AGAIN: st.global.f32 [%d9], %f1; add.s64 %d9, %d9, 32; add.s32 %r7, %r7, -1;\n"
     "setp.ne.b32 %p2, %r7, 0; @%p2 bra AGAIN;\n"
     "add.s64 %d9, %d3, 4096; st.global.f32 [%d9], %f1;\n",
     "f32 p2?[*]"},
    /* Bytes and words of a number are not the number. */
    {"cvt.s64.s32 %d5, %r5; cvt.u32.u8 %r6, %r5; setp.lt.u32 %p2, %r6, %r3;\n"
     "shl.b64 %d7, %d5, 2; add.s64 %d9, %d3, %d7; @%p2 st.global.f32 [%d9], %f1;\n",
     "f32 p2?[@p1: (4)"},
    {"ld.global.u64 %d5, [%d2]; cvt.s64.s32 %d17, %d5; setp.lt.s64 %p2, %d17, %d6;\n"
     "shl.b64 %d7, %d5, 2; add.s64 %d9, %d3, %d7; @%p2 st.global.f32 [%d9], %f1;\n",
     "f32 p2?[*]"},
    /* A register that only converts itself. */
    {"cvt.s32.s32 %r8, %r8; mul.lo.s32 %r6, %r5, %r3; add.s32 %r7, %r6, %r8;\n"
     "mul.wide.s32 %d7, %r7, 4; add.s64 %d9, %d3, %d7; st.global.f32 [%d9], %f1;\n",
     "f32 p2?[*]"},
};

static void limits_and_loops_bound_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char text[4096];
        snprintf(text, sizeof text, "%s%s%s%s", HEAD, "ld.global.u32 %r5, [%d4];\n", limits[i].text,
                 TAIL);
        struct lift *lift = make(text);
        if (!strstr(lift_signature(lift), limits[i].y))
            fail_msg("kernel %zu: %s; expected %s", i, lift_signature(lift), limits[i].y);
        lift_free(lift);
    }
}

/* The place of a store is `deep` additions away from the parameter. */
static void check_deep(unsigned deep, const char *y)
{
    struct textbuf text;
    textbuf_init(&text);
    textbuf_printf(&text, "%s.reg .b64 %%q<%u>; mov.u64 %%q0, %%d3;\n", HEAD, deep + 1);
    for (unsigned i = 0; i < deep; i++)
        textbuf_printf(&text, "add.s64 %%q%u, %%q%u, 4;\n", i + 1, i);
    textbuf_printf(&text, "st.global.f32 [%%q%u], %%f1;\n%s", deep, TAIL);
    struct lift *lift = make(text.data);
    if (!strstr(lift_signature(lift), y))
        fail_msg("%s; expected %s", lift_signature(lift), y);
    lift_free(lift);
    textbuf_release(&text);
}

static void long_ways_are_followed(void **state)
{
    (void)state;
    check_deep(50, "f32 p2?[(((200) / 4 + 1) * 4) / 4]");
    check_deep(100, "f32 p2?[*]");
}

/* The store's guard limits a sum that the block's number is a part of. */
static void guarded_places_have_windows(void **state)
{
    struct error err = {{0}};
    struct lift *lift;
    size_t bytes;
    char *text = read_file("tests/unit/lift/ptx/gelu.ptx", &bytes);
    (void)state;
    assert_int_equal(lift_make(&lift, text, bytes, "gelu", 1 << 20, &err), LIFT_OK);
    assert_non_null(lift_windows(lift));
    assert_non_null(strstr(lift_signature(lift), "- first1 from first1]"));
    lift_free(lift);
    free(text);
}

/* What is read depends on which of two stores to one row came first. */
static void scattered_arrays_are_not_read(void **state)
{
    static const char *const text[] = {
        HEAD INDEX PLACE("%d3") "add.s64 %d9, %d9, %d8; @%p1 ld.global.f32 %f2, [%d9];\n"
                                "add.f32 %f1, %f1, %f2; @%p1 st.global.f32 [%d9], %f1;\n" TAIL,
        HEAD INDEX "add.s64 %d12, %d3, %d8; ld.global.f32 %f2, [%d12];\n"
                   "add.f32 %f1, %f1, %f2;\n" PLACE("%d3") STORE TAIL};
    (void)state;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        struct error err = {{0}};
        struct lift *lift;
        assert_int_equal(lift_make(&lift, text[i], strlen(text[i]), "k", 0, &err), LIFT_SCATTER);
        assert_non_null(strstr(err.text, "or to what it reads"));
    }
}

enum { THREADS = 128, WIDTH = 100 };

static void fill_again(unsigned param, void *array, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes / 4; i++) {
        if (param == ROWS)
            ((uint32_t *)array)[i] = 2;
        else if (param == X)
            ((float *)array)[i] = (float)i / 7;
    }
}

static void a_load_that_is_passed_over_leaves_its_row(void **state)
{
    const struct bench_launch launch = {
        .kernel = "again",
        .grid = 1,
        .block = THREADS,
        .param = {
            [X] = {4 * WIDTH * 4, 0}, [ROWS] = {4, 0}, [Y] = {2 * THREADS * 4, 0}, {0, WIDTH}}};
    (void)state;
    struct bench_result r = bench_check(&launch, "tests/unit/lift/ptx/again.ptx", fill_again, NULL);
    assert_string_equal(r.refused, "");
    assert_int_equal(r.verdict.checked, 2 * WIDTH);
    assert_int_equal(r.verdict.refused, 0);
    assert_int_equal(r.verdict.violations, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_named_or_not),
        cmocka_unit_test(indices_have_the_size_of_their_array),
        cmocka_unit_test(limits_and_loops_bound_places),
        cmocka_unit_test(long_ways_are_followed),
        cmocka_unit_test(guarded_places_have_windows),
        cmocka_unit_test(scattered_arrays_are_not_read),
        cmocka_unit_test(a_load_that_is_passed_over_leaves_its_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
