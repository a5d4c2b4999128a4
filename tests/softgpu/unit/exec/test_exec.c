/* test_exec.c - the flow of control: lanes that part and meet, calls, barriers, exchanges between
 * lanes, blocks that wait for each other, and how a launch ends. */
#include "exec_bench.h"
#include <pthread.h>

static const uint64_t seeds[] = {0, 1, 2, 77, 123456789};
#define EACH_SEED for (unsigned s = 0; s < sizeof seeds / sizeof *seeds; s++)

static void loops_of_different_length_meet_again(void **state)
{
    (void)state;
    /* sum of i < tid % 7 of (odd: i, even: tid % 3), then a shuffle of the full warp. */
    bench_open(HEADER BEGIN "rem.u32 %r10, %r2, 7;\nrem.u32 %r11, %r2, 3;\nmov.u32 %r12, 0;\n"
                            "mov.u32 %r13, 0;\n"
                            "LOOP:\nsetp.ge.u32 %p1, %r12, %r10;\n@%p1 bra DONE;\n"
                            "and.b32 %r14, %r12, 1;\nsetp.eq.u32 %p2, %r14, 0;\n@%p2 bra EVEN;\n"
                            "add.u32 %r13, %r13, %r12;\nbra.uni NEXT;\n"
                            "EVEN:\nadd.u32 %r13, %r13, %r11;\n"
                            "NEXT:\nadd.u32 %r12, %r12, 1;\nbra LOOP;\n"
                            "DONE:\nactivemask.b32 %r20;\n"
                            "shfl.sync.bfly.b32 %r15, %r13, 1, 31, -1;\n"
                            "add.u32 %r9, %r13, %r15;\nadd.u32 %r9, %r9, %r20;\n" END);
    EACH_SEED
    {
        bench.launch.seed = seeds[s];
        uint32_t *got = bench_results(2, 64, 0), sum[64];
        for (unsigned t = 0; t < 64; t++) {
            sum[t] = 0;
            for (unsigned i = 0; i < t % 7; i++)
                sum[t] += i & 1 ? i : t % 3;
        }
        for (unsigned t = 0; t < 128 && !s; t++) /* all lanes met: the mask is full */
            assert_int_equal(got[t], sum[t % 64] + sum[t % 64 ^ 1] + ~0u);
    }
}

static void lanes_that_exit_early_are_not_waited_for(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN "setp.lt.u32 %p1, %r2, 5;\nmov.u32 %r9, 1000;\n"
                            "@%p1 st.global.u32 [%rd4], %r9;\n@%p1 exit;\n"
                            "bar.sync 0;\n"
                            "vote.sync.ballot.b32 %r10, !%p1, -1;\n"
                            "shfl.sync.idx.b32 %r11|%p2, %r2, 7, 31, -1;\n"
                            "add.u32 %r9, %r10, %r11;\n" END);
    uint32_t *got = bench_results(1, 40, 0);
    assert_int_equal(got[4], 1000);
    assert_int_equal(got[5], 0xffffffe0u + 7);
    assert_int_equal(got[39], 0xff + 39); /* of the second warp only 8 lanes: no source lane 39 */
}

static void calls_from_parted_lanes(void **state)
{
    (void)state;
    bench_open(HEADER
               ".func (.param .b32 r) fact(.param .b32 x)\n{\n.reg .b32 %r<8>; .reg .pred %p;\n"
               "ld.param.u32 %r1, [x];\nsetp.gt.u32 %p, %r1, 1;\n@%p bra MORE;\n"
               "mov.u32 %r2, 1;\nst.param.b32 [r], %r2;\nret;\n"
               "MORE:\nsub.u32 %r3, %r1, 1;\n"
               "{ .param .b32 a; .param .b32 b;\nst.param.b32 [a], %r3;\n"
               "call.uni (b), fact, (a);\nld.param.b32 %r4, [b]; }\n"
               "mul.lo.u32 %r5, %r4, %r1;\nst.param.b32 [r], %r5;\nret;\n}\n" BEGIN
               "rem.u32 %r10, %r2, 9;\nmov.u32 %r9, 7;\nsetp.eq.u32 %p1, %r10, 8;\n"
               "@%p1 bra END;\n"
               "{ .param .b32 a; .param .b32 b;\nst.param.b32 [a], %r10;\n"
               "call.uni (b), fact, (a);\nld.param.b32 %r9, [b]; }\nEND:\n" END);
    static const uint32_t factorial[] = {1, 1, 2, 6, 24, 120, 720, 5040, 7};
    EACH_SEED
    {
        bench.launch.seed = seeds[s];
        uint32_t *got = bench_results(1, 64, 0);
        for (unsigned t = 0; t < 64; t++)
            assert_int_equal(got[t], factorial[t % 9]);
    }
}

#define TWO_FUNCTIONS                                                                              \
    ".func (.param .b32 r) twice(.param .b32 x)\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [x];\n"    \
    "add.u32 %r1, %r1, %r1;\nst.param.b32 [r], %r1;\nret;\n}\n"                                    \
    ".func (.param .b32 r) square(.param .b32 x)\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [x];\n"   \
    "mul.lo.u32 %r1, %r1, %r1;\nst.param.b32 [r], %r1;\nret;\n}\n"                                 \
    ".global .align 8 .u64 table[2] = {twice, square};\n"
#define CALL_BY_TABLE                                                                              \
    "{ .param .b32 a; .param .b32 b;\nst.param.b32 [a], %r2;\n"                                    \
    "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"                                       \
    "call (b), %rd12, (a), P;\nld.param.b32 %r9, [b]; }\n"

static void calls_through_pointers(void **state)
{
    (void)state;
    bench_open(HEADER TWO_FUNCTIONS BEGIN
               "and.b32 %r10, %r2, 1;\nmul.wide.u32 %rd10, %r10, 8;\nmov.u64 %rd11, table;\n"
               "add.u64 %rd11, %rd11, %rd10;\nld.global.u64 %rd12, [%rd11];\n" CALL_BY_TABLE END);
    uint32_t *got = bench_results(1, 64, 0);
    for (unsigned t = 0; t < 64; t++)
        assert_int_equal(got[t], t & 1 ? t * t : 2 * t);
}

static void a_call_to_no_function_is_an_illegal_instruction(void **state)
{
    (void)state;
    bench_open(HEADER TWO_FUNCTIONS BEGIN "mov.u64 %rd12, 4096;\n" CALL_BY_TABLE END);
    expect_fault(EXEC_ILLEGAL_INSTRUCTION, "no function");
    bench_open(HEADER
               ".extern .func missing;\n" BEGIN "setp.eq.u32 %p1, %r1, 1;\n"
               "@%p1 bra GO;\nmov.u32 %r9, 3;\nbra END;\nGO:\ncall.uni missing;\nEND:\n" END);
    assert_int_equal(bench_results(1, 32, 0)[3], 3); /* not called: no fault */
    assert_int_equal(bench_run(1), EXEC_ILLEGAL_INSTRUCTION);
    assert_non_null(strstr(bench.fault.text, "missing"));
}

static void a_branch_by_index(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN "and.b32 %r10, %r2, 3;\n"
                            "T: .branchtargets A, B, C, D;\nbrx.idx %r10, T;\n"
                            "A:\nmov.u32 %r9, 10;\nbra END;\nB:\nmov.u32 %r9, 20;\nbra END;\n"
                            "C:\nmov.u32 %r9, 30;\nD:\nadd.u32 %r9, %r2, 5;\nEND:\n" END);
    uint32_t *got = bench_results(1, 32, 0);
    for (unsigned t = 0; t < 32; t++)
        assert_int_equal(got[t], t % 4 == 0 ? 10 : t % 4 == 1 ? 20 : t + 5);
}

static void endless_recursion_overflows_the_stack(void **state)
{
    (void)state;
    bench_open(HEADER ".func f()\n{\n.local .b8 room[64];\ncall.uni f, ();\nret;\n}\n" BEGIN
                      "call.uni f, ();\n" END);
    expect_fault(EXEC_STACK_OVERFLOW, "stack overflow");
}

static void barriers_of_a_block(void **state)
{
    (void)state;
    /* Each thread reads what the thread 33 further wrote; the last warp leaves at once. */
    bench_open(HEADER ".shared .align 4 .b32 cell[96];\n" BEGIN
                      "setp.ge.u32 %p1, %r2, 96;\n@%p1 ret;\n"
                      "mov.u32 %r10, cell;\nshl.b32 %r11, %r2, 2;\nadd.u32 %r12, %r10, %r11;\n"
                      "st.shared.u32 [%r12], %r2;\nbar.sync 0;\n"
                      "add.u32 %r13, %r2, 33;\nrem.u32 %r13, %r13, 96;\nshl.b32 %r13, %r13, 2;\n"
                      "add.u32 %r13, %r10, %r13;\nld.shared.u32 %r9, [%r13];\n" END);
    EACH_SEED
    {
        bench.launch.seed = seeds[s];
        uint32_t *got = bench_results(1, 128, 0);
        for (unsigned t = 0; t < 96; t++)
            assert_int_equal(got[t], (t + 33) % 96);
    }
}

static void barriers_that_reduce_and_count(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN "setp.lt.u32 %p1, %r2, 70;\n"
                            "bar.red.popc.u32 %r10, 1, %p1;\n"
                            "barrier.cta.red.or.aligned.pred %p2, 2, !%p1;\n"
                            "bar.red.and.pred %p3, 0, 96, %p1;\n"
                            "selp.u32 %r11, 1000, 0, %p2;\nselp.u32 %r12, 10000, 0, %p3;\n"
                            "add.u32 %r9, %r10, %r11;\nadd.u32 %r9, %r9, %r12;\n" END);
    assert_int_equal(bench_results(1, 96, 0)[95], 70 + 1000);
    bench.launch.block[0] = 64; /* 64 of 96: never complete */
    assert_int_equal(bench_run(0), EXEC_STOPPED);
    assert_non_null(strstr(bench.fault.text, "barriers"));
}

static void warps_that_are_held_come_late(void **state)
{
    (void)state;
    /* Warp 0 writes at once, warp 1 reads after a long loop, without a barrier between them. */
    bench_open(HEADER ".shared .b32 cell;\n" BEGIN
                      "mov.u32 %r9, 7;\nsetp.ge.u32 %p1, %r2, 32;\n@%p1 bra WAIT;\n"
                      "st.shared.u32 [cell], %r9;\nbra END;\nWAIT:\nmov.u32 %r10, 0;\n"
                      "AGAIN:\nadd.u32 %r10, %r10, 1;\nsetp.lt.u32 %p2, %r10, 9000;\n"
                      "@%p2 bra AGAIN;\nld.shared.u32 %r9, [cell];\nEND:\n" END);
    EACH_SEED
    {
        bench.launch.seed = seeds[s];
        assert_int_equal(bench_results(1, 64, 0)[40], 7);
    }
    unsigned late = 0;
    for (bench.launch.holds = 1; bench.launch.holds <= 4; bench.launch.holds++)
        late += bench_results(1, 64, 0)[40] == 0;
    assert_int_equal(late, 2);
}

static void producers_arrive_and_consumers_wait(void **state)
{
    (void)state;
    bench_open(HEADER ".shared .b32 cell;\n" BEGIN "setp.ge.u32 %p1, %r2, 32;\nmov.u32 %r9, 1;\n"
                      "@%p1 bra WAIT;\nmov.u32 %r10, 42;\nst.shared.u32 [cell], %r10;\n"
                      "bar.arrive 3, 64;\nbra END;\n"
                      "WAIT:\nbar.sync 3, 64;\nld.shared.u32 %r9, [cell];\nEND:\n" END);
    EACH_SEED
    {
        bench.launch.seed = seeds[s];
        assert_int_equal(bench_results(1, 64, 0)[40], 42);
    }
}

static void votes_matches_and_reductions(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN "setp.lt.u32 %p1, %r2, 9;\nshr.u32 %r10, %r2, 3;\n"
                            "vote.sync.any.pred %p2, %p1, -1;\nvote.sync.all.pred %p3, %p1, -1;\n"
                            "vote.sync.uni.pred %p4, %p2, -1;\n"
                            "match.any.sync.b32 %r11, %r10, -1;\n"
                            "match.all.sync.b32 %r12|%p5, %r10, -1;\n"
                            "redux.sync.add.s32 %r13, %r2, -1;\n"
                            "redux.sync.max.s32 %r14, %r2, -1;\n"
                            "selp.u32 %r15, 1, 0, %p2;\nselp.u32 %r16, 2, 0, %p3;\n"
                            "selp.u32 %r17, 4, 0, %p4;\nselp.u32 %r18, 8, 0, %p5;\n"
                            "add.u32 %r9, %r15, %r16;\nadd.u32 %r9, %r9, %r17;\n"
                            "add.u32 %r9, %r9, %r18;\nadd.u32 %r9, %r9, %r12;\n"
                            "add.u32 %r9, %r9, %r11;\nadd.u32 %r9, %r9, %r13;\n"
                            "add.u32 %r9, %r9, %r14;\n" END);
    uint32_t *got = bench_results(1, 32, 0);
    for (unsigned t = 0; t < 32; t++)
        assert_int_equal(got[t], (0xffu << (t / 8 * 8)) + 5 + 496 + 31);
}

static void shuffles_clamp_at_their_segments(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN "shfl.sync.up.b32 %r10|%p1, %r2, 1, 0x1800, -1;\n" /* width 8 */
                            "shfl.sync.down.b32 %r11|%p2, %r2, 2, 0x181f, -1;\n"
                            "selp.u32 %r12, 100, 0, %p1;\nselp.u32 %r13, 10000, 0, %p2;\n"
                            "mad.lo.u32 %r9, %r11, 100000, %r10;\nadd.u32 %r9, %r9, %r12;\n"
                            "add.u32 %r9, %r9, %r13;\n" END);
    uint32_t *got = bench_results(1, 32, 0);
    for (unsigned t = 0; t < 32; t++) {
        unsigned up = t % 8 ? t - 1 : t, down = t % 8 < 6 ? t + 2 : t;
        assert_int_equal(got[t], down * 100000 + up + (t % 8 ? 100 : 0) + (t % 8 < 6 ? 10000 : 0));
    }
}

static void exchanges_at_different_places_of_the_code(void **state)
{
    (void)state;
    /* Both branches shuffle with the full mask: the lanes meet though they never share a pc. */
    bench_open(HEADER BEGIN "and.b32 %r10, %r2, 1;\nsetp.eq.u32 %p1, %r10, 0;\n@%p1 bra EVEN;\n"
                            "shfl.sync.bfly.b32 %r9, %r2, 1, 31, -1;\nbra END;\n"
                            "EVEN:\nadd.u32 %r11, %r2, 100;\n"
                            "shfl.sync.bfly.b32 %r9, %r11, 1, 31, -1;\nEND:\n" END);
    EACH_SEED
    {
        bench.launch.seed = seeds[s];
        uint32_t *got = bench_results(1, 32, 0);
        for (unsigned t = 0; t < 32; t++)
            assert_int_equal(got[t], (t ^ 1) + (t & 1 ? 100 : 0));
    }
}

static void groups_of_lanes_exchange_by_themselves(void **state)
{
    (void)state;
    /* Each quarter of the warp has its own mask, in a register. */
    bench_open(HEADER BEGIN
               "shr.u32 %r10, %r2, 3;\nshl.b32 %r11, %r10, 3;\nshl.b32 %r12, 255, %r11;\n"
               "redux.sync.add.u32 %r13, %r2, %r12;\nbar.warp.sync %r12;\n"
               "elect.sync %r14|%p1, %r12;\nadd.u32 %r9, %r13, %r14;\n" END);
    uint32_t *got = bench_results(1, 32, 0);
    for (unsigned t = 0; t < 32; t++)
        assert_int_equal(got[t], t / 8 * 64 + 28 + t / 8 * 8);
    bench_open(HEADER BEGIN "bar.warp.sync 15;\n" END);
    expect_fault(EXEC_ILLEGAL_INSTRUCTION, "member mask");
    assert_int_equal(bench.fault.thread[0], 4);
}

/* Every thread takes the lock n times, as one writes it for threads that go on by themselves. */
#define SPIN_LOCK                                                                                  \
    HEADER ".global .u32 lock;\n.global .u32 count;\n" BEGIN                                       \
           "mov.u32 %r20, 0;\nmov.u64 %rd10, lock;\nmov.u64 %rd11, count;\n"                       \
           "AGAIN:\natom.global.cas.b32 %r21, [%rd10], 0, 1;\nsetp.ne.u32 %p1, %r21, 0;\n"         \
           "@%p1 bra AGAIN;\n"                                                                     \
           "ld.volatile.global.u32 %r22, [%rd11];\nadd.u32 %r22, %r22, 1;\n"                       \
           "st.volatile.global.u32 [%rd11], %r22;\nmembar.gl;\n"                                   \
           "atom.global.exch.b32 %r23, [%rd10], 0;\n"                                              \
           "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p2, %r20, %r1;\n@%p2 bra AGAIN;\n"                \
           "mov.u32 %r9, %r20;\n" END

static uint32_t lock_count(void)
{
    uint64_t address, bytes;
    assert_true(exec_find_variable(bench.module, "count", &address, &bytes));
    return *(uint32_t *)bench_at(address);
}

static void lanes_take_a_lock_in_turn(void **state)
{
    (void)state;
    EACH_SEED
    {
        bench_open(SPIN_LOCK);
        bench.launch.seed = seeds[s];
        bench_results(3, 96, 5);
        assert_int_equal(lock_count(), 3 * 96 * 5);
    }
}

static void held_warps_take_a_lock_in_turn(void **state)
{
    (void)state;
    for (uint64_t holds = 1; holds <= 12; holds++) {
        bench_open(SPIN_LOCK);
        bench.launch.holds = holds;
        bench_results(3, 96, 5);
        assert_int_equal(lock_count(), 3 * 96 * 5);
    }
}

static void *run_beside(void *argument)
{
    struct exec_fault fault;
    return (void *)(uintptr_t)exec_run(argument, &fault);
}

static void launches_on_two_threads_share_memory(void **state)
{
    (void)state;
    bench_open(SPIN_LOCK);
    struct bench_args args = {bench.out, bench.in, 20};
    bench.launch.params = &args;
    bench.launch.step_limit = 0;
    pthread_t threads[3];
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(pthread_create(threads + i, NULL, run_beside, &bench.launch), 0);
    for (unsigned i = 0; i < 3; i++) {
        void *outcome;
        pthread_join(threads[i], &outcome);
        assert_int_equal((uintptr_t)outcome, EXEC_DONE);
    }
    assert_int_equal(lock_count(), 3 * 32 * 20);
}

/* Block 0 waits until all n blocks have come. */
#define GRID_BARRIER(load)                                                                         \
    HEADER ".global .u32 came;\n" BEGIN "mov.u64 %rd10, came;\nsetp.ne.u32 %p1, %r2, 0;\n"         \
           "@%p1 bra PAST;\nred.global.add.u32 [%rd10], 1;\nAGAIN:\n" load " %r20, [%rd10];\n"     \
           "setp.lt.u32 %p2, %r20, %r1;\n@%p2 bra AGAIN;\nPAST:\nbar.sync 0;\n"                    \
           "ld.global.u32 %r9, [%rd10];\n" END

static void blocks_wait_for_each_other(void **state)
{
    (void)state;
    static const char *const loads[] = {GRID_BARRIER("ld.volatile.global.u32"),
                                        GRID_BARRIER("ld.acquire.gpu.global.u32"),
                                        GRID_BARRIER("nanosleep.u32 20;\nld.relaxed.sys.u32"),
                                        GRID_BARRIER("membar.gl;\nld.global.u32")};
    for (unsigned i = 0; i < 8; i++) {
        bench_open(loads[i / 2]);
        bench.launch.cooperative = i & 1;
        bench.launch.seed = i / 2;
        assert_int_equal(bench_results(50, 64, 50)[50 * 64 - 1], 50);
    }
}

static void clusters_of_one_block(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN "mov.u32 %r10, %cluster_ctarank;\nmov.u32 %r11, %cluster_nctarank;\n"
                            "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
                            "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n"
                            "mov.u32 %r12, %nctaid.x;\nmov.u32 %r13, %warpid;\n"
                            "mad.lo.u32 %r9, %r11, 10, %r10;\nmad.lo.u32 %r9, %r12, 100, %r9;\n"
                            "mad.lo.u32 %r9, %r13, 1000, %r9;\n" END);
    uint32_t *got = bench_results(3, 64, 0);
    assert_int_equal(got[0], 310);
    assert_int_equal(got[64 * 3 - 1], 1310);
}

static void a_launch_that_never_ends_is_stopped(void **state)
{
    (void)state;
    static atomic_bool stop = true;
    bench_open(HEADER BEGIN "L:\nld.volatile.global.u32 %r9, [%rd2];\nsetp.eq.u32 %p1, %r9, 0;\n"
                            "@%p1 bra L;\n" END);
    bench.launch.step_limit = 10000;
    expect_fault(EXEC_STOPPED, "stopped");
    bench.launch.step_limit = 0;
    bench.launch.stop = &stop;
    expect_fault(EXEC_STOPPED, "stopped");
    *(uint32_t *)bench_at(bench.in) = 5; /* but not one that ends */
    assert_int_equal(bench_results(1, 32, 0)[0], 5);
    bench_open(HEADER BEGIN "L:\nadd.u32 %r9, %r9, 1;\nbra L;\n" END);
    bench.launch.step_limit = 0;
    bench.launch.stop = &stop;
    expect_fault(EXEC_STOPPED, "stopped");
    bench_open(HEADER BEGIN "trap;\n" END);
    expect_fault(EXEC_TRAP, "trap");
}

static void instructions_that_are_not_known_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {HEADER BEGIN "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1,%d2}, {%d3}, {%d4}, "
                      "{%d1,%d2};\n" END,
         "test.ptx:17: mma"},
        {HEADER BEGIN "add.wrong.u32 %r9, %r9, 1;\n" END, "test.ptx:17: add.wrong.u32"},
        {HEADER BEGIN "ld.global.strange.u32 %r9, [%rd2];\n" END, "strange"},
        {HEADER BEGIN "mov.u32 %r9, %nothing;\n" END, "nothing"},
        {HEADER ".extern .global .b32 far;\n" BEGIN "ld.global.u32 %r9, [far];\n" END, "far"},
        {HEADER BEGIN "atom.global.and.f32 %f1, [%rd2], %f2;\n" END, "f32"},
        {HEADER BEGIN "bar.sync 0;\nld.global.u64 %r9, [%rd2];\n" END, "32 bits"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {{0}};
        assert_int_not_equal(bench_try(cases[i].text, &err), STATUS_OK);
        if (!strstr(err.text, cases[i].words))
            fail_msg("\"%s\" lacks \"%s\"", err.text, cases[i].words);
    }
}

static int close_bench(void **state)
{
    (void)state;
    bench_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_of_different_length_meet_again),
        cmocka_unit_test(lanes_that_exit_early_are_not_waited_for),
        cmocka_unit_test(calls_from_parted_lanes),
        cmocka_unit_test(calls_through_pointers),
        cmocka_unit_test(a_call_to_no_function_is_an_illegal_instruction),
        cmocka_unit_test(a_branch_by_index),
        cmocka_unit_test(endless_recursion_overflows_the_stack),
        cmocka_unit_test(barriers_of_a_block),
        cmocka_unit_test(warps_that_are_held_come_late),
        cmocka_unit_test(held_warps_take_a_lock_in_turn),
        cmocka_unit_test(barriers_that_reduce_and_count),
        cmocka_unit_test(producers_arrive_and_consumers_wait),
        cmocka_unit_test(votes_matches_and_reductions),
        cmocka_unit_test(shuffles_clamp_at_their_segments),
        cmocka_unit_test(exchanges_at_different_places_of_the_code),
        cmocka_unit_test(groups_of_lanes_exchange_by_themselves),
        cmocka_unit_test(lanes_take_a_lock_in_turn),
        cmocka_unit_test(launches_on_two_threads_share_memory),
        cmocka_unit_test(blocks_wait_for_each_other),
        cmocka_unit_test(clusters_of_one_block),
        cmocka_unit_test(a_launch_that_never_ends_is_stopped),
        cmocka_unit_test(instructions_that_are_not_known_are_refused),
    };
    return cmocka_run_group_tests_name("exec", tests, NULL, close_bench);
}
