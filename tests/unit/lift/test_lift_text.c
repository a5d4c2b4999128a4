/* test_lift_text.c - kernels written by hand: which are refused, how far their accesses reach, and
 * the text that they are rewritten to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/lift/refusals.h"

#define MODULE ".version 8.0\n.target sm_80\n.address_size 64\n"
#define ENTRY                                                                                      \
    ".visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n"                          \
    ".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>; .reg .b16 %h<3>; .reg .pred %p<4>;\n"      \
    "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n"  \
    "mul.wide.u32 %d3, %r2, 4; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;\n"
#define HEAD MODULE ENTRY
#define TAIL "ret;\n}\n"
/* Rows of 64 elements in place; the store lies `ahead` bytes before the load. */
#define TURN(ahead)                                                                                \
    "mov.b32 %r3, 0; AGAIN: add.s32 %r4, %r2, %r3; mad.wide.s32 %d6, %r4, 4, %d1;\n"               \
    "ld.global.f32 %f1, [%d6]; add.f32 %f1, %f1, %f1; cvt.s64.s32 %d7, %r3; shl.b64 %d8, %d7, "    \
    "2;\nadd.s64 %d0, %d8, %d4; st.global.f32 [%d0+" #ahead                                        \
    "], %f1; add.s32 %r3, %r3, 64;\nsetp.lt.s32 %p1, %r3, %r1; @%p1 bra AGAIN;\n"

/* Arrays in shared memory, which take a number along. */
#define SHARED_ARRAY(name, bytes) ".shared .align 4 .b8 " name "[" bytes "];\n"
#define UNUSED                    ".shared .align 4 .b8 unused[32];\n.extern .shared .align 4 .b8 launched[];\n"
#define KEPT(name)                                                                                 \
    "ld.global.f32 %f1, [%d4]; add.f32 %f1, %f1, %f1; st.shared.f32 [" name "+4], %f1;\n"          \
    "ld.shared.f32 %f2, [" name "+4]; mov.u32 %r3, " name "; st.shared.f32 [%r3+-4], %f2;\n"       \
    "st.global.f32 [%d5], %f2;\n"
#define NARROW "ld.global.f32 %f1, [%d4]; add.f32 %f2, %f1, %f1; cvt.rn.bf16.f32 %h1, %f2;\n"

static enum lift_refusal make(struct lift **lift, const char *text)
{
    struct error err = {{0}};
    return lift_make(lift, text, strlen(text), "k", 0, &err);
}

static const struct refusal_row refusals[] = {
    {HEAD "ld.global.f32 %f1, [%d4]; add.f32 %f2, %f1, %f1; st.global.f32 [%d4], %f2;\n"
          "ld.global.f32 %f3, [%d4]; add.f32 %f3, %f3, %f1; st.global.f32 [%d5], %f3;\n" TAIL,
     LIFT_READS_BACK},
    {HEAD "ld.global.f32 %f1, [%d4]; add.f32 %f2, %f1, %f1; st.global.f32 [%d4], %f2;\n" TAIL,
     LIFT_OK},
    {HEAD "ld.global.u32 %r3, [%d4]; st.global.u32 [%d5], %r3;\n" TAIL, LIFT_OK},
    {HEAD "ld.global.f32 %f1, [%d4]; setp.lt.f32 %p1, %f1, 0f00000000; selp.u32 %r3, 1, 0, %p1;\n"
          "st.global.u32 [%d5], %r3;\n" TAIL,
     LIFT_OK},
    {HEAD "ld.global.f32 %f1, [%d4]; add.f32 %f1, %f1, %f1; cvt.rzi.s32.f32 %r3, %f1;\n"
          "st.global.u32 [%d5], %r3;\n" TAIL,
     LIFT_OK},
    {HEAD "ld.global.f32 %f1, [%d4]; add.f32 %f1, %f1, %f1; cvt.rzi.s32.f32 %r3, %f1;\n"
          "mul.lo.s32 %r3, %r3, %r3; st.global.u32 [%d5], %r3;\n" TAIL,
     LIFT_NO_OUTPUT},
    {HEAD "ld.global.f32 %f1, [%d4]; add.f32 %f1, %f1, %f1;\n"
          "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f1; st.global.b16 [%d5], %h1;\n" TAIL,
     LIFT_OK},
    {HEAD "ld.global.b16 %h1, [%d4]; cvt.rn.f16x2.e4m3x2 %r3, %h1; st.global.b32 [%d5], "
          "%r3;\n" TAIL,
     LIFT_OK},
    {HEAD "ld.global.f32 %f1, [%d4]; add.f32 %f2, %f1, %f1; min.f32 %f3, %f1, %f2, %f1;\n"
          "st.global.f32 [%d5], %f3;\n" TAIL,
     LIFT_INSTRUCTION},
    {HEAD "ld.global.f32 %f1, [%d4]; cvt.rna.tf32.f32 %r3, %f1; st.global.b32 [%d5], "
          "%r3;\n" TAIL,
     LIFT_FORMAT},
    {HEAD "ld.global.u64 %d6, [%d4]; ld.global.u64 %d7, [%d6]; ld.global.f32 %f1, [%d7];\n"
          "add.f32 %f1, %f1, %f1; st.global.f32 [%d5], %f1;\n" TAIL,
     LIFT_ADDRESS},
    {HEAD "ld.volatile.global.f32 %f1, [%d4]; add.f32 %f1, %f1, %f1;\n"
          "st.global.f32 [%d5], %f1;\n" TAIL,
     LIFT_ORDERED},
    {HEAD "ld.f32 %f1, [%d4]; add.f32 %f1, %f1, %f1; st.global.f32 [%d5], %f1;\n" TAIL, LIFT_SPACE},
    {HEAD "ld.global.u32 %r3, [%d4]; mad.wide.u32 %d6, %r3, 4, %d2; ld.global.f32 %f1, [%d4];\n"
          "add.f32 %f1, %f1, %f1; st.global.f32 [%d6], %f1;\n" TAIL,
     LIFT_OK},
    {HEAD "AGAIN: ld.global.u32 %r3, [%d4]; bar.sync 1, 64; setp.ne.u32 %p1, %r3, 0;\n"
          "@%p1 bra AGAIN; ld.global.f32 %f1, [%d4]; add.f32 %f1, %f1, %f1;\n"
          "st.global.f32 [%d5], %f1;\n" TAIL,
     LIFT_WAITS},
    /* Each turn reads what none has stored; the second reads what the first one has. */
    {HEAD TURN(0) TAIL, LIFT_OK},
    {HEAD TURN(256) TAIL, LIFT_READS_BACK},
    {HEAD TURN(512) TAIL, LIFT_READS_BACK},
    {HEAD TURN(-256) TAIL, LIFT_OK},
    {HEAD "OUTER: " TURN(0) "sub.s32 %r1, %r1, 1; setp.gt.s32 %p2, %r1, 0; @%p2 bra OUTER;\n" TAIL,
     LIFT_READS_BACK},
    {HEAD SHARED_ARRAY("one", "64") KEPT("one") TAIL, LIFT_OK},
    {HEAD SHARED_ARRAY("one", "64") SHARED_ARRAY("two", "128") KEPT("one") KEPT("two") TAIL,
     LIFT_OK},
    {MODULE UNUSED ENTRY SHARED_ARRAY("one", "64") KEPT("one") TAIL, LIFT_OK},
    {MODULE UNUSED ENTRY SHARED_ARRAY("one", "64") KEPT("one") KEPT("launched") TAIL, LIFT_SHARED},
    /* A bf16 becomes an f32, and is one of a pair. */
    {HEAD NARROW "mov.b32 %f3, {0, %h1}; add.f32 %f3, %f3, %f1; st.global.f32 [%d5], %f3;\n" TAIL,
     LIFT_OK},
    {HEAD NARROW "mov.b32 %r3, {0, %h1}; st.global.b32 [%d5], %r3;\n" TAIL, LIFT_OK},
    {HEAD NARROW "mov.b32 %f3, {%h1, %h1}; add.f32 %f3, %f3, %f1; st.global.f32 [%d5], %f3;\n" TAIL,
     LIFT_MIXED},
    {HEAD "add.f32 %f1, %f1;\n" TAIL, LIFT_INSTRUCTION},
    {HEAD "selp.f32 %f1, %f1, 0f00000000;\n" TAIL, LIFT_INSTRUCTION},
    {HEAD "no such instruction;\n" TAIL, LIFT_PTX},
};

static void refusals_by_hand(void **state)
{
    (void)state;
    check_refusals(refusals, sizeof refusals / sizeof *refusals);
}

/* What ptxas takes: an offset after a plus, arrays as parts of one, and compute capability 8.0. */
static void the_text_is_that_of_ptxas(void **state)
{
    static const char text[] =
        ".version 7.0\n.target sm_75\n.address_size 64\n" UNUSED ENTRY SHARED_ARRAY("one", "72")
            SHARED_ARRAY("two", "128") KEPT("one") KEPT("two") TAIL;
    static const char *const there[] = {"+-4]",         "cuvet_shared[208]",  "[cuvet_shared+84]",
                                        "mov.u32 %r",   ", cuvet_shared+80;", "launched[]",
                                        ".target sm_80"};
    struct lift *lift;
    struct textbuf out;
    struct error err = {{0}};
    (void)state;
    textbuf_init(&out);
    assert_int_equal(make(&lift, text), LIFT_OK);
    assert_int_equal(lift_write(lift, &out, &err), STATUS_OK);
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
        bool wanted = strcmp(there[i], "launched[]") != 0;
        if (!strstr(out.data, there[i]) == wanted)
            fail_msg("%s %s the text", there[i], wanted ? "is not in" : "is in");
    }
    assert_null(strstr(out.data, ".pragma"));
    textbuf_release(&out);
    lift_free(lift);
}

/* An array keeps its alignment among others: a tensor map swizzles by the address. */
static void shared_arrays_keep_their_alignment(void **state)
{
    static const char text[] =
        ".version 7.0\n.target sm_75\n.address_size 64\n" UNUSED ENTRY SHARED_ARRAY(
            "one", "8") ".shared .align 1024 .b8 two[2048];\n" KEPT("one") KEPT("two") TAIL;
    struct lift *lift;
    struct textbuf out;
    struct error err = {{0}};
    (void)state;
    textbuf_init(&out);
    assert_int_equal(make(&lift, text), LIFT_OK);
    assert_int_equal(lift_write(lift, &out, &err), STATUS_OK);
    assert_non_null(strstr(out.data, ", cuvet_shared+1024;"));
    textbuf_release(&out);
    lift_free(lift);
}

/* Half a step of f16 below its least normal number, which a number that is rounded to f16 and
 * calculated with may lose; not one that is widened, nor an output, whose step the comparison
 * allows for. */
static void a_rounded_half_may_lose_half_a_step(void **state)
{
    static const struct {
        const char *text;
        bool loses;
    } rows[] = {
        {HEAD "ld.global.f32 %f1, [%d4]; add.f32 %f2, %f1, %f1; cvt.rn.f16.f32 %h1, %f2;\n"
              "cvt.f32.f16 %f3, %h1; mul.f32 %f3, %f3, %f1; st.global.f32 [%d5], %f3;\n" TAIL,
         true},
        {HEAD "ld.global.b16 %h1, [%d4]; cvt.f32.f16 %f1, %h1; add.f32 %f2, %f1, %f1;\n"
              "st.global.f32 [%d5], %f2;\n" TAIL,
         false},
        {HEAD "ld.global.f32 %f1, [%d4]; add.f32 %f2, %f1, %f1; cvt.rn.f16.f32 %h1, %f2;\n"
              "st.global.b16 [%d5], %h1;\n" TAIL,
         false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lift *lift;
        struct textbuf out;
        struct error err = {{0}};
        textbuf_init(&out);
        assert_int_equal(make(&lift, rows[i].text), LIFT_OK);
        assert_int_equal(lift_write(lift, &out, &err), STATUS_OK);
        const char *kernel = strstr(out.data, ".entry");
        assert_non_null(kernel);
        assert_int_equal(strstr(kernel, "3E60000000000000") != NULL, rows[i].loses);
        textbuf_release(&out);
        lift_free(lift);
    }
}

/* {0, h} is one f32, not a pair, where it is stored or loaded as one, or lies beside others in
 * shared memory; a pair has shadows of two lanes. */
static void a_widened_number_is_one(void **state)
{
    static const struct {
        const char *body;
        bool pair;
    } rows[] = {
        {"mov.b32 %f3, {0, %h1}; st.global.f32 [%d5], %f3;\n", false},
        {"mov.b32 %f3, {0, %h1}; st.shared.f32 [one], %f3; ld.shared.b32 %r3, [one+4];\n"
         "st.global.b32 [%d5], %r3;\n",
         false},
        {"mov.b32 %r3, {0, %h1}; st.shared.b32 [one], %r3; ld.shared.b32 %r4, [one+4];\n"
         "mov.b32 %f3, %r4; add.f32 %f3, %f3, %f1; st.global.f32 [%d5], %f3;\n",
         false},
        {"mov.b32 %r3, {0, %h1}; st.global.b32 [%d5], %r3;\n", true},
        {"mov.b32 %r3, {%h1, %h1}; st.shared.b32 [one], %r3; ld.shared.b32 %r4, [one+4];\n"
         "st.global.b32 [%d5], %r4;\n",
         true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[4096];
        struct lift *lift;
        struct textbuf out;
        struct error err = {{0}};
        textbuf_init(&out);
        snprintf(text, sizeof text, "%s%s%s%s%s", HEAD, SHARED_ARRAY("one", "64"), NARROW,
                 rows[i].body, TAIL);
        assert_int_equal(make(&lift, text), LIFT_OK);
        assert_int_equal(lift_write(lift, &out, &err), STATUS_OK);
        if ((strstr(out.data, "b, %e") != NULL) != rows[i].pair)
            fail_msg("row %zu: expected %s", i, rows[i].pair ? "a pair" : "one number");
        textbuf_release(&out);
        lift_free(lift);
    }
}

static const struct {
    const char *body, *extent; /* of the array that is written */
} extents[] = {
    {"st.global.f32 [%d5], %f2;\n", "(((block.x * 4 - 4) / 4 + 1) * 4) / 4"},
    {"setp.lt.s32 %p1, %r2, %r1;\n@%p1 st.global.f32 [%d5+4], %f2;\n",
     "(((p2 * 4) / 4 + 1) * 4) / 4"},
    {"setp.ge.u32 %p1, %r2, %r1;\n@%p1 bra DONE;\nst.global.f32 [%d5], %f2;\nDONE:\n",
     "(((p2 * 4 - 4) / 4 + 1) * 4) / 4"},
    {"mov.u32 %r4, 0;\nAGAIN:\nadd.s32 %r5, %r4, %r2;\nmad.wide.u32 %d6, %r5, 4, %d2;\n"
     "st.global.f32 [%d6], %f2;\nadd.s32 %r4, %r4, 64;\nsetp.lt.s32 %p1, %r4, %r1;\n"
     "@%p1 bra AGAIN;\n",
     "(((((p2) / 64) * 256 + block.x * 4 + 252) / 4 + 1) * 4) / 4"},
    {"mov.u32 %r4, %ctaid.y;\nand.b32 %r5, %r4, 65534;\nmad.wide.u32 %d6, %r5, 4, %d2;\n"
     "st.global.f32 [%d6], %f2;\n",
     "(((min(grid.y - 1, 65534) * 4) / 4 + 1) * 4) / 4"},
    /* A loop that ends where both differ no more, in either order. */
    {"mov.u32 %r4, 0;\nAGAIN:\nadd.s32 %r5, %r4, %r2;\nmad.wide.u32 %d6, %r5, 4, %d2;\n"
     "st.global.f32 [%d6], %f2;\nadd.s32 %r4, %r4, 64;\nsetp.ne.s32 %p1, %r1, %r4;\n"
     "@%p1 bra AGAIN;\n",
     "(((((p2) / 64) * 256 + block.x * 4 + 252) / 4 + 1) * 4) / 4"},
    {"mov.u32 %r4, 0;\nAGAIN:\nadd.s32 %r5, %r4, %r2;\nmad.wide.u32 %d6, %r5, 4, %d2;\n"
     "st.global.f32 [%d6], %f2;\nadd.s32 %r4, %r4, 64;\nsetp.gt.s32 %p1, %r1, %r4;\n"
     "@%p1 bra AGAIN;\n",
     "(((((p2) / 64) * 256 + block.x * 4 + 252) / 4 + 1) * 4) / 4"},
    /* What bounds a sum bounds its parts. */
    {"add.s32 %r5, %r2, 32;\nsetp.lt.s32 %p1, %r5, %r1;\n@%p1 st.global.f32 [%d5], %f2;\n",
     "(((p2 * 4 - 4) / 4 + 1) * 4) / 4"},
    {"add.s32 %r5, %r2, -32;\nsetp.lt.s32 %p1, %r5, %r1;\n@%p1 st.global.f32 [%d5], %f2;\n",
     "(((block.x * 4 - 4) / 4 + 1) * 4) / 4"},
    {"sub.s32 %r4, %r1, %r3;\nsetp.lt.s32 %p1, %r2, %r4;\n@%p1 st.global.f32 [%d5], %f2;\n",
     "(((p2 * 4 - 4) / 4 + 1) * 4) / 4"},
    /* What is selected is bounded by the predicate. */
    {"setp.lt.s32 %p1, %r2, %r1;\nselp.b32 %r5, %r2, 0, %p1;\nmad.wide.u32 %d6, %r5, 4, %d2;\n"
     "st.global.f32 [%d6+4], %f2;\n",
     "(((max(p2 - 1, 0) * 4 + 4) / 4 + 1) * 4) / 4"},
    {"setp.lt.s32 %p1, %r2, %r1;\nselp.b32 %r5, 0, %r2, %p1;\nmad.wide.u32 %d6, %r5, 4, %d2;\n"
     "st.global.f32 [%d6], %f2;\n",
     "(((max(0, block.x - 1) * 4) / 4 + 1) * 4) / 4"},
    /* One bound for both accesses. */
    {"mad.wide.u32 %d6, %r1, 4, %d2;\nst.global.f32 [%d6+8], %f2;\nst.global.f32 [%d5+16], "
     "%f2;\n",
     "(((p2 * 4 + block.x * 4 + 12) / 4 + 1) * 4) / 4"},
    /* (x + sign bits) / 4, as a compiler divides a signed number. */
    {"shr.s32 %r4, %r1, 31;\nshr.u32 %r5, %r4, 30;\nadd.s32 %r6, %r1, %r5;\nshr.s32 %r7, %r6, "
     "2;\n"
     "mad.wide.u32 %d6, %r7, 4, %d2;\nst.global.f32 [%d6], %f2;\n",
     "(((((p2) / 4) * 4) / 4 + 1) * 4) / 4"},
    {"and.b32 %r5, %r2, 31;\nmad.wide.u32 %d6, %r5, 4, %d2;\nst.global.f32 [%d6], %f2;\n",
     "(((124) / 4 + 1) * 4) / 4"},
    {"mul.hi.u32 %r5, %r2, -1431655765;\nmad.wide.u32 %d6, %r5, 4, %d2;\n"
     "st.global.f32 [%d6], %f2;\n",
     "(((((block.x * 2863311531 - 2863311531) / 4294967296) * 4) / 4 + 1) * 4) / 4"},
    {"mul.hi.s32 %r5, %r2, -1431655765;\nmad.wide.u32 %d6, %r5, 4, %d2;\n"
     "st.global.f32 [%d6], %f2;\n",
     "(((0) / 4 + 1) * 4) / 4"},
    {"cvt.u64.u32 %d7, %r2;\nmul.hi.u64 %d8, %d7, 2951479051793528259;\nshl.b64 %d0, %d8, 2;\n"
     "add.s64 %d6, %d2, %d0;\nst.global.f32 [%d6], %f2;\n",
     "(((((block.x * 687194768 - 687194768) / 4294967296) * 4) / 4 + 1) * 4) / 4"},
    {"cvt.u16.u32 %h1, %r2;\nmul.hi.u16 %h2, %h1, -21845;\ncvt.u32.u16 %r5, %h2;\n"
     "mad.wide.u32 %d6, %r5, 4, %d2;\nst.global.f32 [%d6], %f2;\n",
     "(((((block.x * 43691 - 43691) / 65536) * 4) / 4 + 1) * 4) / 4"},
    {"cvt.rn.f32.s32 %f3, %r2;\nmul.f32 %f4, %f3, %f3;\ncvt.rzi.s32.f32 %r5, %f4;\n"
     "mad.wide.u32 %d6, %r5, 4, %d2;\nst.global.f32 [%d6], %f2;\n",
     NULL},
    {"shl.b32 %r4, %r2, %r1;\nmad.wide.u32 %d6, %r4, 4, %d2;\nst.global.f32 [%d6], %f2;\n", NULL},
};

static void extents_follow_guards(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
        char text[4096], expected[256];
        const struct lift_view *view;
        struct lift *lift;
        snprintf(text, sizeof text,
                 "%sld.global.f32 %%f1, [%%d4];\nadd.f32 %%f2, %%f1, %%f1;\n%s%s", HEAD,
                 extents[i].body, TAIL);
        assert_int_equal(make(&lift, text), LIFT_OK);
        assert_int_equal(lift_views(lift, &view), 2);
        snprintf(expected, sizeof expected, "f32 p1?[%s]",
                 extents[i].extent ? extents[i].extent : "*");
        if (!strstr(lift_signature(lift), expected))
            fail_msg("%s lacks %s", lift_signature(lift), expected);
        lift_free(lift);
    }
}

/* A row a block: its part of the array begins where the row does. Of an array that all blocks read
 * whole there are no parts. */
static void windows_follow_blocks(void **state)
{
    static const char text[] =
        HEAD "mov.u32 %r3, %ctaid.x; mul.lo.s32 %r4, %r3, %r1; mul.wide.u32 %d6, %r4, 4;\n"
             "add.s64 %d7, %d5, %d6; ld.global.f32 %f1, [%d4]; add.f32 %f2, %f1, %f1;\n"
             "st.global.f32 [%d7], %f2;\n" TAIL;
    static const char *const expected[][2] = {
        {"first1", "((first_block * p2) * 4)) / 16 * 16 / 4"},
        {"bytes1", "((block.x * 4 + grid.x * p2 * 4 - p2 * 4 - 4) / 4 + 1) * 4"},
        {"windows", "max(1, min(grid.x, (bytes1) / 65536))"},
        {"first_block", "window * grid.x / windows"},
        {"last_block", "(window + 1) * grid.x / windows - 1"}};
    struct error err = {{0}};
    struct lift *lift;
    (void)state;
    assert_int_equal(lift_make(&lift, text, strlen(text), "k", 65536, &err), LIFT_OK);
    const struct lift_windows *windows = lift_windows(lift);
    assert_non_null(windows);
    assert_int_equal(windows->lets, 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_string_equal(windows->let[i].name, expected[i][0]);
        if (!strstr(windows->let[i].text, expected[i][1]))
            fail_msg("%s: %s lacks %s", expected[i][0], windows->let[i].text, expected[i][1]);
    }
    assert_non_null(strstr(lift_signature(lift), " - first1 from first1]"));
    assert_null(strstr(lift_signature(lift), "first0"));
    lift_free(lift);
    assert_int_equal(make(&lift, text), LIFT_OK);
    assert_null(lift_windows(lift));
    lift_free(lift);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_by_hand),
        cmocka_unit_test(the_text_is_that_of_ptxas),
        cmocka_unit_test(shared_arrays_keep_their_alignment),
        cmocka_unit_test(a_rounded_half_may_lose_half_a_step),
        cmocka_unit_test(a_widened_number_is_one),
        cmocka_unit_test(extents_follow_guards),
        cmocka_unit_test(windows_follow_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
