/* test_lift_maps.c - bulk copies and tensor maps in kernels written by hand: which are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/lift/refusals.h"

#define HEAD                                                                                       \
    ".version 8.3\n.target sm_90a\n.address_size 64\n"                                             \
    ".visible .entry k(.param .align 64 .b8 m[128], .param .u64 a, .param .u64 b, .param .u32 n,"  \
    " .param .u64 t)\n{\n.shared .align 128 .b8 s[4096];\n.shared .align 8 .b8 w[8];\n"            \
    ".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>; .reg .b16 %h<3>; .reg .pred %p<4>;\n"      \
    "mov.b64 %d1, m; cvta.param.u64 %d2, %d1; ld.param.u64 %d3, [a]; ld.param.u32 %r1, [n];\n"     \
    "ld.param.u64 %d4, [t]; mov.u32 %r2, %tid.x; mov.b32 %r3, s; mov.b32 %r5, w;\n"                \
    "mov.b32 %r6, 0; cvt.u64.u32 %d5, %r3; mul.wide.u32 %d6, %r2, 4; add.s64 %d7, %d3, %d6;\n"
#define TAIL_AT(label) "ret;\n" label "ret;\n}\n"
#define TAIL           TAIL_AT("")
#define BITS           "st.shared.u32 [%r3], %r2;\n"
#define STORE(map)                                                                                 \
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [" map ", {%r6, %r1}], [%r3];\n"
#define LOAD(map, words)                                                                           \
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes" words            \
    " [%r3], [" map ", {%r6, %r1}], [%r5]"
#define WAIT "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], %r6; @!%p2 bra WAIT;\n"

/* A number from memory, and a predicate of it. */
#define PICKED "ld.global.u32 %r7, [%d7]; setp.ne.u32 %p1, %r7, 0;\n"
/* The predicate made anew, of a number that has been in local memory. */
#define LOCAL                                                                                      \
    ".local .b32 l;\nst.local.u32 [l], %r7; ld.local.u32 %r8, [l]; setp.ne.u32 %p3, %r8, 0;\n"

/* An address from memory, and what is there. */
#define TABLE                                                                                      \
    "ld.param.u64 %d8, [b]; ld.global.u64 %d6, [%d8]; ld.global.f32 %f1, [%d6];\n"                 \
    "add.f32 %f1, %f1, %f1; st.shared.f32 [%r3+64], %f1;\n"
/* A loop whose end is a number, %r4. */
#define COUNTED(number)                                                                            \
    number "AGAIN: add.u32 %r6, %r6, 1; setp.eq.u32 %p1, %r6, %r4; @%p1 bra OUT; bra AGAIN;\n"     \
           "OUT: mov.b32 %r6, 0;\n"

/* A map in shared memory, copied to the launch's: f16, in rows of 64. */
#define FIELD(name, value) "tensormap.replace.tile." name "[%d5], " value ";\n"
#define MADE_OF(type, size, modes)                                                                 \
    FIELD("global_address.shared::cta.b1024.b64 ", "%d3")                                          \
    FIELD("rank.shared::cta.b1024.b32 ", "1")                                                      \
    "mov.b32 %r7, 64; mov.b32 %r8, 1; mov.b64 %d8, 128;\n" FIELD("box_dim.shared::cta.b1024.b32 ", \
                                                                 "0, %r7")                         \
        FIELD("box_dim.shared::cta.b1024.b32 ", "1, 8")                                            \
            FIELD("global_dim.shared::cta.b1024.b32 ", "0, 64")                                    \
                FIELD("global_dim.shared::cta.b1024.b32 ", "1, " size)                             \
                    FIELD("global_stride.shared::cta.b1024.b64 ", "0, %d8")                        \
                        FIELD("element_stride.shared::cta.b1024.b32 ", "0, %r8")                   \
                            FIELD("elemtype.shared::cta.b1024.b32 ", type) modes FIELD(            \
                                "fill_mode.shared::cta.b1024.b32 ",                                \
                                "0") "tensormap.cp_fenceproxy.global.shared::cta.tensormap::"      \
                                     "generic.release.gpu.sync.aligned"                            \
                                     " [%d4], [%d5], 128;\n"                                       \
                                     "fence.proxy.tensormap::generic.acquire.gpu [%d4], 128;\n"
#define MADE_BY(size, modes) MADE_OF("6", size, modes)
#define SWIZZLE(value)       FIELD("swizzle_mode.shared::cta.b1024.b32 ", value)
#define INTERLEAVE           FIELD("interleave_layout.shared::cta.b1024.b32 ", "0")
#define STEP                 FIELD("element_stride.shared::cta.b1024.b32 ", "1, %r8")
#define MADE(size, swizzle)  MADE_BY(size, STEP INTERLEAVE SWIZZLE(swizzle))

static const struct refusal_row kernels[] = {
    {HEAD BITS STORE("%d2") TAIL, LIFT_OK},
    /* A map that lies in another parameter. */
    {HEAD BITS "add.s64 %d2, %d2, 64;\n" STORE("%d2") TAIL, LIFT_MAP},
    {HEAD BITS STORE("%d3") TAIL, LIFT_MAP},
    {HEAD BITS "ld.param.u64 %d8, [m+8]; st.global.u64 [%d3], %d8;\n" STORE("%d2") TAIL, LIFT_MAP},
    /* Copies of other kinds. */
    {HEAD BITS "cp.async.bulk.global.shared::cta.bulk_group [%d3], [%r3], 256;\n" TAIL, LIFT_BULK},
    {HEAD LOAD("%d2", ".multicast::cluster") ", %h1;\n" BITS STORE("%d2") TAIL, LIFT_BULK},
    /* What arithmetic is behind is stored with a shadow, or without one. */
    {HEAD "ld.global.f32 %f1, [%d7]; add.f32 %f1, %f1, %f1;\n"
          "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f1; st.shared.b16 [%r3], %h1;\n" STORE("%d2")
              TAIL,
     LIFT_OK},
    {HEAD "ld.global.f32 %f1, [%d7]; add.f32 %f1, %f1, %f1;\n"
          "cvt.rzi.u32.f32 %r7, %f1; st.shared.b32 [%r3], %r7;\n" STORE("%d2") TAIL,
     LIFT_OK},
    {HEAD "ld.global.f32 %f1, [%d7]; add.f32 %f1, %f1, %f1;\n"
          "cvt.rzi.u32.f32 %r7, %f1; mul.lo.u32 %r7, %r7, 3; st.shared.b32 [%r3], %r7;\n" STORE(
              "%d2") TAIL,
     LIFT_NO_OUTPUT},
    /* The snapshot has what was there before. */
    {HEAD BITS STORE("%d2") LOAD("%d2", "") ";\n" WAIT TAIL, LIFT_READS_BACK},
    {HEAD LOAD("%d2", "") ";\n" WAIT BITS STORE("%d2") TAIL, LIFT_OK},
    /* A place that memory decides on. */
    {HEAD BITS "ld.global.u32 %r6, [%d7];\n" STORE("%d2") TAIL, LIFT_OK},
    /* Maps that the kernel makes. */
    {HEAD MADE("%r1", "3") BITS STORE("%d4") TAIL, LIFT_OK},
    {HEAD MADE("%r2", "3") BITS STORE("%d4") TAIL, LIFT_MAP}, /* each thread another one */
    {HEAD MADE("%r1", "4") BITS STORE("%d4") TAIL, LIFT_MAP},
    /* A field that is not written has what lay in the buffer before. */
    {HEAD MADE_BY("%r1", STEP INTERLEAVE) BITS STORE("%d4") TAIL, LIFT_MAP},
    {HEAD MADE_BY("%r1", STEP SWIZZLE("3")) BITS STORE("%d4") TAIL, LIFT_MAP},
    {HEAD MADE_BY("%r1", INTERLEAVE SWIZZLE("3")) BITS STORE("%d4") TAIL, LIFT_MAP},
    /* The address of another map by then. */
    {HEAD MADE("%r1", "3") "add.s64 %d4, %d4, 128;\n" BITS STORE("%d4") TAIL, LIFT_MAP},
    {HEAD "setp.eq.u32 %p1, %r2, 0; @%p1 bra OVER;\n" MADE("%r1", "3") "OVER:" BITS STORE("%d4")
         TAIL,
     LIFT_MAP},
    /* Some threads make a map, and use it; or a number that it has, or its place, may be another.
     */
    {HEAD "setp.eq.u32 %p1, %r2, 0; @%p1 bra OVER;\n" MADE("%r1", "3") BITS STORE("%d4")
         TAIL_AT("OVER:"),
     LIFT_OK},
    {HEAD "setp.eq.u32 %p1, %r2, 0; @%p1 bra OVER; add.u32 %r1, %r1, 1;\nOVER:" MADE("%r1", "3")
         BITS STORE("%d4") TAIL,
     LIFT_MAP},
    {HEAD "setp.eq.u32 %p1, %r1, 0; @%p1 bra OVER; add.u32 %r1, %r1, 1;\nOVER:" MADE("%r1", "3")
         BITS STORE("%d4") TAIL,
     LIFT_OK},
    {HEAD "ld.param.u64 %d8, [b]; ld.global.u32 %r4, [%d8];\n" MADE("%r4", "3") BITS STORE("%d4")
         TAIL,
     LIFT_OK},
    {HEAD "ld.global.u32 %r4, [%d7];\n" MADE("%r4", "3") BITS STORE("%d4") TAIL, LIFT_MAP},
    /* Its address is a place that memory decides on. */
    {HEAD
     "ld.param.u64 %d8, [b]; ld.global.u32 %r4, [%d8]; mad.wide.u32 %d3, %r4, 128, %d3;\n" MADE(
         "%r1", "3") BITS STORE("%d4") TAIL,
     LIFT_SCATTER},
    {HEAD "add.u32 %r1, %r1, 1;\n" MADE("%r1", "3") BITS STORE("%d4") TAIL, LIFT_OK},
    {HEAD MADE("%r1", "3") "setp.eq.u32 %p1, %r1, 0; @%p1 bra OVER;\n" MADE(
         "%r1", "2") "OVER:" BITS STORE("%d4") TAIL,
     LIFT_MAP},
    /* Numbers of another size are copied as bytes. */
    {HEAD "ld.param.u64 %d6, [b]; ld.global.f32 %f1, [%d6];\n"
          "add.f32 %f1, %f1, %f1; st.shared.f32 [%r3], %f1;\n" MADE_OF(
              "0", "%r1", STEP INTERLEAVE SWIZZLE("2")) STORE("%d4") TAIL,
     LIFT_OK},
    /* A thread that ends is missing where others wait: memory decides about the loop, or not. */
    {HEAD "AGAIN: ld.global.u32 %r7, [%d7]; setp.eq.u32 %p1, %r7, 0; @%p1 bra OUT; bra AGAIN;\n"
          "OUT:" LOAD("%d2", "") ";\n" WAIT BITS STORE("%d2") TAIL,
     LIFT_WAITS},
    {HEAD LOAD("%d2", "") ";\n" WAIT BITS STORE("%d2") "ld.global.u32 %r7, [%d7];\n"
                                                       "setp.eq.u32 %p1, %r7, 0; @%p1 trap;\n" TAIL,
     LIFT_WAITS},
    /* A branch over a few instructions, whose results depend on memory then. */
    {HEAD "ld.global.u32 %r7, [%d7]; setp.eq.u32 %p1, %r7, 0; @%p1 bra OVER; mov.b32 %r2, "
          "5;\nOVER:" LOAD("%d2", "") ";\n" WAIT BITS STORE("%d2") TAIL,
     LIFT_OK},
    /* The same, of the place where it stores to what it also reads. */
    {HEAD "ld.global.u32 %r7, [%d7]; setp.eq.u32 %p1, %r7, 0; @%p1 bra OVER; mov.b32 %r1, "
          "5;\nOVER:" LOAD("%d2", "") ";\n" WAIT BITS STORE("%d2") TAIL,
     LIFT_SCATTER},
    {HEAD "AGAIN: add.u32 %r6, %r6, 1; setp.eq.u32 %p1, %r6, %r1; @%p1 bra OUT; bra AGAIN;\n"
          "OUT:" LOAD("%d2", "") ";\n" WAIT BITS STORE("%d2") TAIL,
     LIFT_OK},
    /* A kernel that reads addresses: what all threads read alike is as good as a parameter. */
    {HEAD TABLE COUNTED("ld.global.u32 %r4, [%d3];\n") WAIT BITS STORE("%d2") TAIL, LIFT_OK},
    {HEAD COUNTED("ld.global.u32 %r4, [%d3];\n") WAIT BITS STORE("%d2") TAIL, LIFT_WAITS},
    {HEAD TABLE COUNTED("ld.global.u32 %r4, [%d7];\n") WAIT BITS STORE("%d2") TAIL, LIFT_WAITS},
    {HEAD TABLE COUNTED("setp.eq.u32 %p3, %r2, 0; @%p3 bra OVER;\n"
                        "ld.global.u32 %r4, [%d3];\nOVER:") WAIT BITS STORE("%d2") TAIL,
     LIFT_WAITS},
    /* Memory decides what an mbarrier counts. */
    {HEAD PICKED "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r5];\n" WAIT BITS STORE("%d2") TAIL,
     LIFT_WAITS},
    {HEAD PICKED
     "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 64;\n" WAIT BITS STORE("%d2") TAIL,
     LIFT_WAITS},
    {HEAD PICKED "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], %r7;\n" WAIT BITS STORE("%d2")
         TAIL,
     LIFT_WAITS},
    {HEAD PICKED "@%p1 " LOAD("%d2", "") ";\n" WAIT BITS STORE("%d2") TAIL, LIFT_WAITS},
    {HEAD PICKED "mov.b32 %r6, %r7;\n" WAIT BITS "mov.b32 %r6, 0;\n" STORE("%d2") TAIL, LIFT_WAITS},
    {HEAD PICKED "mbarrier.arrive.shared::cta.b64 _, [%r5];\n" WAIT BITS STORE("%d2") TAIL,
     LIFT_OK},
    /* The same through local memory. */
    {HEAD PICKED LOCAL "@%p3 bra OVER;\n"
                       "mbarrier.arrive.shared::cta.b64 _, [%r5];\n"
                       "OVER:" WAIT BITS STORE("%d2") TAIL,
     LIFT_WAITS},
    /* Threads of the warp that wait for others. */
    {HEAD PICKED "@%p1 bra OVER; vote.sync.any.pred %p3, %p1, -1;\nOVER:" WAIT BITS STORE("%d2")
         TAIL,
     LIFT_WAITS},
};

static void bulk_copies_are_lifted_or_refused(void **state)
{
    (void)state;
    check_refusals(kernels, sizeof kernels / sizeof *kernels);
}

static void an_array_ends_with_the_tensor_of_a_map(void **state)
{
    static const char text[] = HEAD MADE("%r1", "3") BITS STORE("%d4") TAIL;
    struct error err = {{0}};
    struct lift *lift;
    (void)state;
    assert_int_equal(lift_make(&lift, text, strlen(text), "k", 0, &err), LIFT_OK);
    assert_non_null(strstr(lift_signature(lift), "u8 p1?[(((p3 * 128 - 1) / 1 + 1) * 1) / 1]"));
    lift_free(lift);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bulk_copies_are_lifted_or_refused),
        cmocka_unit_test(an_array_ends_with_the_tensor_of_a_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
