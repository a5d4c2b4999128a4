/* test_lift_ends.c - kernels written by hand that round numbers to 8 bits or to integers: what is
 * followed to the store, and how far apart the ends are. */
#include "drawn.h"

/* Four numbers of a thread, times 3 or as they are, become the bytes of %r5. */
#define HEAD                                                                                       \
    ".version 8.3\n.target sm_90\n.address_size 64\n"                                              \
    ".visible .entry k(.param .u64 x, .param .u64 y, .param .u64 p, .param .u64 q)\n{\n"           \
    ".reg .f32 %f<9>; .reg .b32 %r<20>; .reg .b64 %d<9>; .reg .b16 %h<6>; .reg .pred %p<2>;\n"     \
    ".shared .align 16 .b8 s[512];\n"                                                              \
    "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; mov.u32 %r1, %tid.x; mov.b32 %r2, s;\n"         \
    "mul.wide.u32 %d3, %r1, 16; add.s64 %d4, %d1, %d3; mul.wide.u32 %d3, %r1, 4;\n"                \
    "add.s64 %d5, %d2, %d3; shl.b32 %r3, %r1, 2; add.s32 %r4, %r2, %r3;\n"                         \
    "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d4];\n"
#define TIMES                                                                                      \
    "mul.f32 %f1, %f1, 0f40400000; mul.f32 %f2, %f2, 0f40400000;\n"                                \
    "mul.f32 %f3, %f3, 0f40400000; mul.f32 %f4, %f4, 0f40400000;\n"
#define ROUND(type)                                                                                \
    "cvt.rn.satfinite." type ".f32 %h1, %f2, %f1; cvt.rn.satfinite." type ".f32 %h2, %f4, %f3;\n"
#define TAIL "st.global.b32 [%d5], %r5;\nret;\n}\n"

enum { THREADS = 32, NUMBERS = 4 * THREADS };

/* The middle of two numbers of e4m3 from 1 to 2, or a third of it. */
static unsigned part;
static void fill_ties(unsigned param, void *array, uint64_t bytes)
{
    for (uint64_t i = 0; param == 0 && i < bytes / 4; i++)
        ((float *)array)[i] = (1 + (float)(2 * (i % 8) + 1) / 16) / (float)part;
}

/* Each is rounded to the odd one of them. */
static void round_to_odd(unsigned param, void *array, uint64_t bytes)
{
    for (uint64_t i = 0; param == 1 && i < bytes; i++)
        ((uint8_t *)array)[i] = (uint8_t)(0x38 + i % 8 + (i % 2 == 0));
}

static void fill_numbers(unsigned param, void *array, uint64_t bytes)
{
    if (param == 0)
        fill_f32(param, array, bytes);
}

static uint8_t step;
static void step_all(unsigned param, void *array, uint64_t bytes)
{
    for (uint64_t i = 0; param == 1 && i < bytes; i++)
        ((uint8_t *)array)[i] ^= step;
}

static struct bench_result check_text(const char *text, bench_fill_fn fill, bench_fill_fn damage)
{
    const struct bench_launch launch = {"k", 1, THREADS, 0, {ARRAY(NUMBERS, 4), ARRAY(NUMBERS, 1)}};
    const struct bench_result r = bench_check_text(&launch, text, strlen(text), fill, damage);
    assert_string_equal(r.refused, "");
    assert_int_equal(r.verdict.checked, NUMBERS);
    assert_int_equal(r.verdict.refused, 0);
    return r;
}

/* Arithmetic in front of a tie may end on either side; a number that is only converted has one
 * rounding, to the even one. */
static void a_tie_has_two_ends_behind_arithmetic(void **state)
{
    (void)state;
    static const char pack[] = "mov.b32 %r5, {%h1, %h2};\n" TAIL;
    for (part = 1; part <= 3; part += 2) {
        char text[4096];
        snprintf(text, sizeof text, "%s%s%s%s", HEAD, part == 3 ? TIMES : "", ROUND("e4m3x2"),
                 pack);
        assert_int_equal(check_text(text, fill_ties, NULL).verdict.violations, 0);
        const struct bench_result r = check_text(text, fill_ties, round_to_odd);
        assert_int_equal(r.verdict.violations, part == 3 ? 0 : NUMBERS);
    }
}

/* ---- integers ---- */

/* %f1 to the word %r5, integers of so many bytes; others of 1, 2 or 4 bytes are steps apart. */
static const struct {
    const char *body;
    unsigned bytes;
} to_integers[] = {
    {"cvt.rni.s32.f32 %r5, %f1;\n", 4},
    {"cvt.rzi.u32.f32 %r5, %f1;\n", 4},
    {"cvt.rmi.s16.f32 %h1, %f1; cvt.rpi.s16.f32 %h2, %f2; mov.b32 %r5, {%h1, %h2};\n", 2},
    {"cvt.rni.f32.f32 %f5, %f1; max.f32 %f6, %f5, 0fC2C80000; min.f32 %f7, %f6, 0f42C80000;\n"
     "cvt.rzi.s32.f32 %r5, %f7;\n",
     4},
    {"cvt.rpi.f32.f32 %f5, %f1; sub.f32 %f6, 0f42C80000, %f5; add.f32 %f7, %f6, 0f3F800000;\n"
     "cvt.rni.s32.f32 %r5, %f7;\n",
     4},
    {"cvt.rni.s32.f32 %r6, %f1; sub.s32 %r7, 7, %r6; min.s32 %r8, %r7, 100;\n"
     "max.s32 %r9, %r8, -100; add.s32 %r5, %r9, %r1;\n",
     4},
    {"cvt.rni.s32.f32 %r6, %f1; cvt.rni.s32.f32 %r7, %f2; cvt.u16.u32 %h1, %r6;\n"
     "cvt.u16.u32 %h2, %r7; mov.b32 %r5, {%h1, %h2};\n",
     2},
    {"cvt.rni.sat.s8.f32 %h1, %f1; cvt.rni.sat.s8.f32 %h2, %f2; cvt.rni.sat.u8.f32 %h3, %f3;\n"
     "cvt.rni.sat.u8.f32 %h4, %f4; cvt.u32.u16 %r6, %h1; cvt.u32.u16 %r7, %h2;\n"
     "prmt.b32 %r8, %r6, %r7, 0x3340U; cvt.u32.u16 %r6, %h3; cvt.u32.u16 %r7, %h4;\n"
     "prmt.b32 %r9, %r6, %r7, 0x3340U; prmt.b32 %r5, %r8, %r9, 0x5410U;\n",
     1},
    {"cvt.rni.s32.f32 %r6, %f1; cvt.rni.s32.f32 %r7, %f2; and.b32 %r6, %r6, 255;\n"
     "and.b32 %r7, %r7, 255; shl.b32 %r7, %r7, 8; or.b32 %r6, %r6, %r7;\n"
     "cvt.rni.s32.f32 %r7, %f3; bfi.b32 %r6, %r7, %r6, 16, 8; cvt.rni.s32.f32 %r7, %f4;\n"
     "bfi.b32 %r5, %r7, %r6, 24, 8;\n",
     1},
    {"cvt.rni.s32.f32 %r6, %f1; st.shared.b8 [%r4], %r6; cvt.rni.s32.f32 %r6, %f2;\n"
     "st.shared.b8 [%r4+1], %r6; cvt.rni.s32.f32 %r6, %f3; st.shared.b8 [%r4+2], %r6;\n"
     "cvt.rni.s32.f32 %r6, %f4; st.shared.b8 [%r4+3], %r6; ld.shared.b32 %r5, [%r4];\n",
     1},
};

static unsigned each;
static void step_integers(unsigned param, void *array, uint64_t bytes)
{
    for (uint64_t i = 0; param == 1 && i < bytes; i += each)
        ((uint8_t *)array)[i] += 2;
}

/* From -60 to 60; not those whose multiples are near a tie. */
static void fill_middling(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = 1;
    for (uint64_t i = 0; param == 0 && i < bytes / 4; i++)
        ((float *)array)[i] = (float)((int)(draw(&state) % 480) - 240) / 12 + 1.0f / 32;
}

static struct bench_result check_integers(const char *text, unsigned bytes, bench_fill_fn fill,
                                          bench_fill_fn damage)
{
    const struct bench_launch launch = {
        "k", 1, THREADS, 0, {ARRAY(NUMBERS, 4), ARRAY(THREADS * 4, 1)}};
    const struct bench_result r = bench_check_text(&launch, text, strlen(text), fill, damage);
    assert_string_equal(r.refused, "");
    assert_int_equal(r.verdict.checked, THREADS * 4 / bytes);
    assert_int_equal(r.verdict.refused, 0);
    return r;
}

static void integers_are_followed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof to_integers / sizeof *to_integers; i++) {
        char text[4096];
        each = to_integers[i].bytes;
        snprintf(text, sizeof text, "%s%s%s%s", HEAD, TIMES, to_integers[i].body, TAIL);
        struct bench_result r = check_integers(text, each, fill_middling, NULL);
        if (r.verdict.violations + r.verdict.wide)
            fail_msg("%s: %llu", to_integers[i].body, (unsigned long long)r.verdict.violations);
        r = check_integers(text, each, fill_middling, step_integers);
        if (r.verdict.violations != THREADS * 4 / each)
            fail_msg("%s: %llu found", to_integers[i].body,
                     (unsigned long long)r.verdict.violations);
    }
}

/* The middle of two integers, or a third of it; rounded to the odd one. */
static void fill_halves(unsigned param, void *array, uint64_t bytes)
{
    for (uint64_t i = 0; param == 0 && i < bytes / 4; i++)
        ((float *)array)[i] = ((float)(i / 4) + 0.5f) / (float)part;
}

static void round_halves_to_odd(unsigned param, void *array, uint64_t bytes)
{
    for (uint64_t i = 0; param == 1 && i < bytes / 4; i++)
        ((uint32_t *)array)[i] = (uint32_t)(i + (i % 2 == 0));
}

static void a_half_has_two_ends_behind_arithmetic(void **state)
{
    (void)state;
    static const char *const ways[] = {
        "cvt.rni.s32.f32 %r5, %f1;\n",
        "cvt.rni.f32.f32 %f5, %f1; min.f32 %f6, %f5, 0f42FE0000; cvt.rzi.s32.f32 %r5, %f6;\n"};
    for (unsigned i = 0; i < 4; i++) {
        char text[4096];
        part = i < 2 ? 1 : 3;
        snprintf(text, sizeof text, "%s%s%s%s", HEAD, part == 3 ? TIMES : "", ways[i % 2], TAIL);
        assert_int_equal(check_integers(text, 4, fill_halves, NULL).verdict.violations, 0);
        const struct bench_result r = check_integers(text, 4, fill_halves, round_halves_to_odd);
        assert_int_equal(r.verdict.violations, part == 3 ? 0 : THREADS);
    }
}

/* A whole number may be another one near a tie, and so may all that is made of it. */
static const char *const stepped[] = {
    "cvt.rni.f32.f32 %f5, %f1; mul.f32 %f6, %f5, 0f3F000000; cvt.rni.s32.f32 %r5, %f6;\n",
    "cvt.rni.s32.f32 %r6, %f1; cvt.rn.f32.s32 %f5, %r6; cvt.rni.s32.f32 %r5, %f5;\n",
    "add.f32 %f5, %f1, 0f4B400000; sub.f32 %f6, %f5, 0f4B400000; cvt.rni.s32.f32 %r5, %f6;\n",
    "cvt.rni.f32.f32 %f5, %f1; st.shared.f32 [%r4], %f5; ld.shared.f32 %f6, [%r4];\n"
    "add.f32 %f7, %f6, %f3; cvt.rni.s32.f32 %r5, %f7;\n",
    "cvt.rni.s32.f32 %r6, %f1; mul.lo.s32 %r5, %r6, 3;\n",
    "cvt.rni.s32.f32 %r6, %f1; shl.b32 %r5, %r6, 4;\n",
};

static void integers_of_whole_numbers_are_not_compared(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stepped / sizeof *stepped; i++) {
        char text[4096];
        struct lift *lift;
        struct error err = {{0}};
        snprintf(text, sizeof text, "%s%s%s%s", HEAD, TIMES, stepped[i], TAIL);
        if (lift_make(&lift, text, strlen(text), "k", 0, &err) != LIFT_NO_OUTPUT)
            fail_msg("%s is compared", stepped[i]);
        lift_free(lift);
    }
}

/* ---- movements ---- */

/* What compilers move bytes by, from %h1 and %h2 to %r5. */
static const char *const movements[] = {
    "mov.b32 %r5, {%h1, %h2};\n",
    "cvt.u32.u16 %r6, %h1; cvt.u32.u16 %r7, %h2; shl.b32 %r7, %r7, 16; or.b32 %r5, %r6, %r7;\n",
    "cvt.u32.u16 %r6, %h1; cvt.u32.u16 %r7, %h2; prmt.b32 %r5, %r6, %r7, 0x5410U;\n",
    "cvt.u32.u16 %r6, %h1; cvt.u32.u16 %r7, %h2; mov.b32 %r8, 21520; prmt.b32 %r5, %r6, %r7, "
    "%r8;\n",
    "cvt.u32.u16 %r6, %h1; cvt.u32.u16 %r7, %h2; bfi.b32 %r5, %r7, %r6, 16, 16;\n",
    "mov.b32 %r6, {%h1, %h2}; bfe.u32 %r7, %r6, 8, 8; shl.b32 %r7, %r7, 8;\n"
    "and.b32 %r6, %r6, -65281; or.b32 %r5, %r6, %r7;\n",
    "mov.b32 %r6, {%h1, %h2}; mov.b32 {%h3, %h4}, %r6; and.b16 %h5, %h3, 255;\n"
    "shr.u16 %h3, %h3, 8; shl.b16 %h3, %h3, 8; or.b16 %h3, %h3, %h5; mov.b32 %r5, {%h3, %h4};\n",
    "mov.b32 %r6, {%h1, %h2}; shfl.sync.bfly.b32 %r7, %r6, 3, 31, -1;\n"
    "shfl.sync.bfly.b32 %r5|%p1, %r7, 3, 31, -1;\n",
    "mov.b32 %r6, {%h1, %h2}; setp.eq.u32 %p1, %r1, 5; selp.b32 %r5, %r6, %r6, %p1;\n",
    "st.shared.b16 [%r4], %h1; st.shared.b16 [%r4+2], %h2; ld.shared.b32 %r5, [%r4];\n",
    "mov.b32 %r6, {%h1, %h2}; prmt.b32 %r7, %r6, 0, 0x7771U; shr.u16 %h3, %h2, 8;\n"
    "st.shared.b8 [%r4], %h1; st.shared.b8 [%r4+1], %r7; st.shared.b8 [%r4+2], %h2;\n"
    "st.shared.b8 [%r4+3], %h3; ld.shared.u32 %r5, [%r4];\n",
    "mov.b32 %r6, {%h1, %h2}; and.b32 %r7, %r1, 7; shl.b32 %r7, %r7, 4; add.s32 %r7, %r2, %r7;\n"
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r7], {%r6}; ld.shared.b32 %r5, [%r4];\n",
    "mov.b32 %r6, {%h1, %h2}; and.b32 %r7, %r1, 7; shl.b32 %r7, %r7, 4; add.s32 %r7, %r2, %r7;\n"
    "st.shared.b8 [%r4], %r6; shr.u32 %r8, %r6, 8; st.shared.b8 [%r4+1], %r8;\n"
    "st.shared.b16 [%r4+2], %h2; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r7];\n",
    "mov.b32 %r6, {%h1, %h2}; st.shared.b32 [%r4], %r6; ld.shared.u8 %r7, [%r4];\n"
    "ld.shared.u8 %h3, [%r4+1]; ld.shared.b16 %h4, [%r4+2]; cvt.u32.u16 %r8, %h3;\n"
    "shl.b32 %r8, %r8, 8; or.b32 %r7, %r7, %r8; cvt.u32.u16 %r8, %h4; shl.b32 %r8, %r8, 16;\n"
    "or.b32 %r5, %r7, %r8;\n",
};

static const char *const roundings[] = {
    ROUND("e5m2x2"),
    ROUND("e4m3x2"),
    "cvt.rn.satfinite.relu.e5m2x2.f32 %h1, %f2, %f1; cvt.rn.satfinite.relu.e5m2x2.f32 %h2, %f4, "
    "%f3;\n",
    "cvt.rn.f16x2.f32 %r6, %f2, %f1; cvt.rn.f16x2.f32 %r7, %f4, %f3;\n"
    "cvt.rn.satfinite.e4m3x2.f16x2 %h1, %r6; cvt.rn.satfinite.e4m3x2.f16x2 %h2, %r7;\n",
};

static void check_steps(const char *rounding, const char *movement)
{
    char text[4096];
    snprintf(text, sizeof text, "%s%s%s%s%s", HEAD, TIMES, rounding, movement, TAIL);
    struct bench_result r = check_text(text, fill_numbers, NULL);
    assert_int_equal(r.verdict.violations + r.verdict.wide, 0);
    step = 4;
    r = check_text(text, fill_numbers, step_all);
    if (r.verdict.violations < NUMBERS)
        fail_msg("%s%s: %llu of %d found", rounding, movement,
                 (unsigned long long)r.verdict.violations, NUMBERS);
}

/* Bytes that one turn of a loop leaves for the next, where they meet others. */
static const char carried[] =
    "mov.b32 %r6, 0; mov.b32 %r7, 0; mov.b32 %r9, {%h1, %h2};\n"
    "AGAIN: prmt.b32 %r5, %r6, %r9, 0x7610U;\n"
    "mov.b32 %r6, %r9; add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 2; @%p1 bra AGAIN;\n";

static void bytes_are_followed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof movements / sizeof *movements; i++)
        check_steps(roundings[i % 2], movements[i]);
    for (size_t i = 0; i < sizeof roundings / sizeof *roundings; i++)
        check_steps(roundings[i], movements[0]);
    check_steps(roundings[0], carried);
}

/* Bytes that are no longer those numbers, or some of which are not. */
static const char *const others[] = {
    "xor.b32 %r5, %r6, 0x80808080;\n",
    "and.b32 %r5, %r6, 0x7f7f7f7f;\n",
    "shr.u32 %r5, %r6, 4;\n",
    "shr.s32 %r5, %r6, 8;\n",
    "add.u32 %r5, %r6, 1;\n",
    "cvt.rzi.s32.f32 %r7, %f1; or.b32 %r5, %r6, %r7;\n",
    "cvt.rzi.s32.f32 %r7, %f1; mov.b32 %r5, %r6; setp.eq.u32 %p1, %r1, 0; @%p1 mov.b32 %r5, %r7;\n",
    "cvt.rn.satfinite.e5m2x2.f32 %h3, %f1, %f2; mov.b32 %r5, {%h1, %h3};\n",
};

static void other_bytes_are_not_compared(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[4096];
        struct lift *lift;
        struct error err = {{0}};
        snprintf(text, sizeof text, "%s%s%s%s%s%s", HEAD, TIMES, ROUND("e4m3x2"),
                 "mov.b32 %r6, {%h1, %h2};\n", others[i], TAIL);
        if (lift_make(&lift, text, strlen(text), "k", 0, &err) != LIFT_NO_OUTPUT)
            fail_msg("%s is compared", others[i]);
        lift_free(lift);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tie_has_two_ends_behind_arithmetic),
        cmocka_unit_test(integers_are_followed),
        cmocka_unit_test(a_half_has_two_ends_behind_arithmetic),
        cmocka_unit_test(integers_of_whole_numbers_are_not_compared),
        cmocka_unit_test(bytes_are_followed),
        cmocka_unit_test(other_bytes_are_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
