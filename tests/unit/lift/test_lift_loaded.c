/* test_lift_loaded.c - kernels written by hand whose warps have roles, which lie in shared memory:
 * whether these come from memory, around barriers of some threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/unit/lift/refusals.h"

/* %r3: the warp; %r4: shared memory; %r8 and %p4: a number from memory, and a predicate of it; %r9:
 * where a box goes. */
#define HEAD                                                                                       \
    ".version 8.3\n.target sm_90a\n.address_size 64\n"                                             \
    ".visible .entry k(.param .align 64 .b8 m[128], .param .u64 a)\n.reqntid 96\n{\n"              \
    ".shared .align 128 .b8 s[4096];\n.shared .align 8 .b8 w[8];\n.reg .b32 %r<20>;\n"             \
    ".reg .b16 %h<3>; .reg .b64 %d<9>; .reg .pred %p<9>;\n"                                        \
    "mov.b64 %d1, m; cvta.param.u64 %d2, %d1; ld.param.u64 %d3, [a]; mov.u32 %r1, %tid.x;\n"       \
    "shr.u32 %r2, %r1, 5; shfl.sync.idx.b32 %r3, %r2, 0, 31, -1; mov.b32 %r4, s;\n"                \
    "mov.b32 %r5, w; mov.b32 %r6, 0; setp.eq.u32 %p1, %r1, 0;\n"                                   \
    "mul.wide.u32 %d4, %r1, 4; add.s64 %d5, %d3, %d4; ld.global.u32 %r8, [%d5];\n"                 \
    "setp.ne.u32 %p4, %r8, 0; ld.param.u32 %r9, [a];\n"
/* Warp 0 stores the roles of warps 1 and 2, and has a box copied. */
#define ROLES "st.shared.v2.b8 [s+1024], {0, 1};\n"
#define FIRST(roles)                                                                               \
    "FIRST:\n" roles "barrier.sync 1;\n"                                                           \
    "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], "     \
    "[%d2, {%r6, %r6}], [%r5];\nret;\n}\n"
#define IN_WARP_0 "setp.lt.u32 %p2, %r3, 1; @%p2 bra FIRST;\n"
#define LOOK      "barrier.sync 1; add.s32 %r7, %r4, %r3; ld.shared.b8 %h1, [%r7+1023];\n"
#define WORK                                                                                       \
    "setp.eq.b16 %p3, %h1, 0; @%p3 bra WAIT; ret;\n"                                               \
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r5], %r6; @!%p5 bra WAIT;\n"            \
    "st.global.u32 [%d5], %r1; ret;\n"
#define KERNEL(roles)  HEAD IN_WARP_0 LOOK WORK FIRST(roles)
#define PLACE(address) "add.s32 %r11, %r4, %r10; " address

static const struct refusal_row kernels[] = {
    {KERNEL(ROLES), LIFT_OK},
    /* A role from memory. */
    {KERNEL("st.shared.b8 [s+1024], 0; st.shared.b8 [s+1025], %r8;\n"), LIFT_WAITS},
    /* Some bytes have no role that the kernel stores: the box may lie there. */
    {KERNEL("st.shared.b8 [s+1024], 0;\n"), LIFT_WAITS},
    {HEAD "setp.lt.u32 %p2, %r1, 32; @%p2 bra FIRST;\n" LOOK WORK FIRST(ROLES), LIFT_WAITS},
    {HEAD IN_WARP_0
     "barrier.sync 1; add.s32 %r7, %r4, %r2; ld.shared.b8 %h1, [%r7+1023];\n" WORK FIRST(ROLES),
     LIFT_WAITS},
    {HEAD "@%p4 bra OVER;\n" IN_WARP_0 "OVER:" LOOK WORK FIRST(ROLES), LIFT_WAITS},
    /* What comes from memory goes to another place, or may go there. */
    {KERNEL(ROLES "shl.b32 %r10, %r1, 3;\n" PLACE("st.shared.u32 [%r11], %r8;\n")), LIFT_OK},
    {KERNEL(ROLES "shl.b32 %r10, %r1, 4;\n" PLACE("st.shared.u32 [%r11], %r8;\n")), LIFT_WAITS},
    {KERNEL(ROLES "shl.b32 %r10, %r1, 4; and.b32 %r10, %r10, 960;\n" PLACE(
         "st.shared.u32 [%r11], %r8;\n")),
     LIFT_WAITS}, /* of a register that is written twice nothing is known */
    {KERNEL(ROLES "shl.b32 %r12, %r1, 4; and.b32 %r10, %r12, 960;\n" PLACE(
         "st.shared.u32 [%r11], %r8;\n")),
     LIFT_OK},
    {KERNEL(ROLES "cp.async.ca.shared.global [s+1020], [%d5], 4;\n"), LIFT_OK},
    {KERNEL(ROLES "cp.async.ca.shared.global [s+1024], [%d5], 4;\n"), LIFT_WAITS},
    /* The same number everywhere, at a place from memory. */
    {KERNEL(ROLES "and.b32 %r10, %r8, 15;\n" PLACE("st.shared.b8 [%r11], 0;\n")), LIFT_OK},
    {KERNEL(ROLES "add.s32 %r11, %r4, %r8; st.shared.b8 [%r11], 0;\n"), LIFT_WAITS},
    /* Memory decides whether it is stored. */
    {KERNEL(ROLES "@%p4 st.shared.b8 [s+1024], 1;\n"), LIFT_WAITS},
    {KERNEL(ROLES "@%p4 bra OVER; st.shared.b8 [s+1024], 1;\nOVER:"), LIFT_WAITS},
    /* A branch over few instructions, to where both ways go on, or one of them. */
    {KERNEL(ROLES "bra BEGIN;\nJOIN: bra GO;\nBEGIN: @%p4 bra JOIN; mov.b32 %r12, 5; bra JOIN;\n"
                  "GO:"),
     LIFT_OK},
    {KERNEL(ROLES "bra BEGIN;\nJOIN: bra GO;\nBEGIN: @%p4 bra JOIN; mov.b32 %r12, 5; bra GO;\n"
                  "GO:"),
     LIFT_WAITS},
};

static void roles_come_from_memory_or_not(void **state)
{
    (void)state;
    check_refusals(kernels, sizeof kernels / sizeof *kernels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_come_from_memory_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
