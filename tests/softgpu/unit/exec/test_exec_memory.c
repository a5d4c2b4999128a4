/* test_exec_memory.c - the memory of kernels: spaces and windows, vectors, atomics, initial values,
 * faults and where they are found, printf and the heap. */
#include "exec_bench.h"
#include <unistd.h>

static uint32_t *in_words(void)
{
    return bench_at(bench.in);
}

static void loads_extend_and_stores_cut(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN "ld.global.s8 %r10, [%rd2];\nld.global.u8 %r11, [%rd2+1];\n"
                            "ld.global.s16 %r12, [%rd2+2];\nld.global.s32 %rd10, [%rd2+4];\n"
                            "ld.global.nc.L1::no_allocate.u8 %h1, [%rd2+8];\n"
                            "st.global.u32 [%rd1], %r10;\nst.global.u32 [%rd1+4], %r11;\n"
                            "st.global.u32 [%rd1+8], %r12;\nst.global.u64 [%rd1+16], %rd10;\n"
                            "st.global.u16 [%rd1+24], %h1;\nst.global.u8 [%rd1+26], %r12;\n"
                            "st.global.u8 [%rd1+27], 255;\nret;\n}\n");
    memcpy(in_words(), "\x80\x81\x00\x80\xfe\xff\xff\xff\xf0", 9);
    uint32_t *got = bench_results(1, 1, 0);
    assert_int_equal(got[0], 0xffffff80);
    assert_int_equal(got[1], 0x81);
    assert_int_equal(got[2], 0xffff8000);
    assert_int_equal(((uint64_t *)got)[2], (uint64_t)-2);
    assert_int_equal(got[6], 0xff0000f0);
}

static void vectors_of_all_lengths(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN "mul.wide.u32 %rd5, %r2, 16;\nadd.u64 %rd6, %rd2, %rd5;\n"
                            "add.u64 %rd7, %rd1, %rd5;\n"
                            "ld.global.nc.v4.u32 {%r10, %r11, %r12, %r13}, [%rd6];\n"
                            "ld.global.v2.u64 {%rd10, _}, [%rd6];\n"
                            "ld.volatile.global.v4.u8 {%h1, %h2, %h3, %h4}, [%rd6];\n"
                            "cvt.u32.u64 %r14, %rd10;\ncvt.u32.u16 %r15, %h2;\n"
                            "sub.u32 %r14, %r14, %r10;\nadd.u32 %r12, %r12, %r15;\n"
                            "st.global.v4.u32 [%rd7], {%r13, %r12, 7, %r14};\nret;\n}\n");
    for (unsigned i = 0; i < 256; i++)
        in_words()[i] = i * 256;
    uint32_t *got = bench_results(1, 64, 0);
    for (unsigned t = 0; t < 64; t++) {
        assert_int_equal(got[4 * t], (4 * t + 3) * 256);
        assert_int_equal(got[4 * t + 1], (4 * t + 2) * 256 + (4 * t & 255));
        assert_int_equal(got[4 * t + 2], 7);
        assert_int_equal(got[4 * t + 3], 0);
    }
}

static void each_thread_has_its_own_local_memory(void **state)
{
    (void)state;
    /* An array of words and one of bytes, written by index, read back through generic addresses. */
    bench_open(HEADER BEGIN ".local .align 16 .b8 depot[64];\n"
                            "mov.u64 %rd10, depot;\ncvta.local.u64 %rd11, %rd10;\n"
                            "and.b32 %r10, %r2, 7;\nmul.wide.u32 %rd12, %r10, 4;\n"
                            "add.u64 %rd13, %rd10, %rd12;\nst.local.u32 [%rd13], %r2;\n"
                            "cvt.u64.u32 %rd14, %r10;\nadd.u64 %rd15, %rd10, %rd14;\n"
                            "st.local.u8 [%rd15+40], %r2;\n"
                            "bar.sync 0;\n"
                            "add.u64 %rd16, %rd11, %rd12;\nld.u32 %r11, [%rd16];\n"
                            "add.u64 %rd17, %rd11, %rd14;\nld.u8 %r12, [%rd17+40];\n"
                            "cvta.to.local.u64 %rd18, %rd16;\nld.local.u32 %r13, [%rd18];\n"
                            "st.local.v4.u32 [depot+16], {%r11, %r12, %r13, %r2};\n"
                            "ld.local.v2.u64 {%rd19, %rd20}, [depot+16];\n"
                            "shr.u64 %rd20, %rd20, 32;\ncvt.u32.u64 %r14, %rd20;\n"
                            "isspacep.local %p1, %rd16;\nisspacep.global %p2, %rd16;\n"
                            "selp.u32 %r15, 1000, 0, %p1;\nselp.u32 %r16, 9, 0, %p2;\n"
                            "add.u32 %r9, %r11, %r12;\nadd.u32 %r9, %r9, %r13;\n"
                            "add.u32 %r9, %r9, %r14;\nadd.u32 %r9, %r9, %r15;\n"
                            "add.u32 %r9, %r9, %r16;\n" END);
    uint32_t *got = bench_results(2, 96, 0);
    for (unsigned t = 0; t < 192; t++)
        assert_int_equal(got[t], 4 * (t % 96) + 1000);
}

static void one_access_to_several_windows(void **state)
{
    (void)state;
    /* Lane by lane the same generic store and load go to device, shared and local memory. */
    bench_open(HEADER
               ".shared .align 4 .b32 cell[32];\n" BEGIN ".local .align 4 .b32 own;\n"
               "mov.u64 %rd10, cell;\ncvta.shared.u64 %rd10, %rd10;\n"
               "mul.wide.u32 %rd11, %r2, 4;\nadd.u64 %rd10, %rd10, %rd11;\n"
               "mov.u64 %rd12, own;\ncvta.local.u64 %rd12, %rd12;\n"
               "cvta.global.u64 %rd13, %rd2;\nadd.u64 %rd13, %rd13, %rd11;\n"
               "rem.u32 %r10, %r2, 3;\nsetp.eq.u32 %p1, %r10, 0;\nsetp.eq.u32 %p2, %r10, 1;\n"
               "selp.b64 %rd14, %rd10, %rd12, %p1;\nselp.b64 %rd14, %rd13, %rd14, %p2;\n"
               "add.u32 %r11, %r2, 500;\nst.u32 [%rd14], %r11;\n"
               "atom.add.u32 %r12, [%rd14], 1;\nld.u32 %r13, [%rd14];\n"
               "add.u32 %r9, %r12, %r13;\n" END);
    uint32_t *got = bench_results(1, 32, 0);
    for (unsigned t = 0; t < 32; t++)
        assert_int_equal(got[t], 2 * (t + 500) + 1);
    assert_int_equal(in_words()[4], 505);
    assert_int_equal(in_words()[3], 0);
}

static void shared_memory_static_and_dynamic(void **state)
{
    (void)state;
    bench_open(HEADER
               ".shared .align 8 .b8 head[12];\n.extern .shared .align 16 .b8 rest[];\n" BEGIN
               "mov.u32 %r10, rest;\nmov.u32 %r11, head;\nmov.u32 %r12, %dynamic_smem_size;\n"
               "shl.b32 %r13, %r2, 2;\nadd.u32 %r14, %r10, %r13;\n"
               "st.shared.u32 [%r14], %r2;\nbar.sync 0;\n"
               "ld.shared.u32 %r15, [rest+8];\nsub.u32 %r16, %r10, %r11;\n"
               "add.u32 %r9, %r12, %r15;\nmad.lo.u32 %r9, %r16, 1000, %r9;\n" END);
    assert_int_equal(exec_describe(bench.launch.kernel)->static_shared, 16);
    bench.launch.dynamic_shared = 256;
    assert_int_equal(bench_results(1, 64, 0)[0], 16000 + 256 + 2);
    bench.launch.dynamic_shared = 252;
    expect_fault(EXEC_ILLEGAL_ADDRESS, "past the end of the block's shared memory");
    assert_int_equal(bench.fault.thread[0], 63);
    assert_int_equal(bench.fault.address, EXEC_SHARED_BASE + 16 + 252);
}

static void parameters_by_value_and_by_address(void **state)
{
    (void)state;
    bench_open(HEADER ".visible .entry k(.param .align 8 .b8 all[24])\n{\n.reg .b32 %r<9>;\n"
                      ".reg .b64 %rd<9>;\nmov.b64 %rd1, all;\nld.param.u64 %rd2, [all];\n"
                      "ld.param.u32 %r1, [%rd1+16];\nld.param.u8 %r2, [all+16];\n"
                      "cvta.param.u64 %rd3, %rd1;\nld.u32 %r3, [%rd3+16];\n"
                      "add.u32 %r1, %r1, %r2;\nadd.u32 %r1, %r1, %r3;\n"
                      "st.global.u32 [%rd2], %r1;\nret;\n}\n");
    const struct exec_info *info = exec_describe(bench.launch.kernel);
    assert_int_equal(info->param_bytes, 24);
    assert_int_equal(info->param_count, 1);
    assert_int_equal(bench_results(1, 1, 0x305)[0], 0x305 + 5 + 0x305);
    bench_open(HEADER
               ".visible .entry k(.param .u8 a, .param .u64 b, .param .v2 .f32 c, .param .u16 d)"
               "\n.reqntid 8, 4\n.minnctapersm 2\n{\nret;\n}\n");
    info = exec_describe(bench.launch.kernel);
    assert_int_equal(info->params[1].offset, 8);
    assert_int_equal(info->params[2].offset, 16);
    assert_int_equal(info->params[3].offset, 24);
    assert_int_equal(info->param_bytes, 26);
    assert_int_equal(info->max_threads, 32);
    assert_int_equal(info->reqntid[1], 4);
}

static void variables_have_their_initial_values(void **state)
{
    (void)state;
    bench_open(HEADER
               ".const .align 4 .u32 c[3] = {5, 6, 7};\n.global .align 8 .u64 p = c+4;\n"
               ".global .align 8 .u64 q = generic(z);\n.global .u32 z;\n" BEGIN
               "ld.const.u32 %r10, [c+8];\nld.global.u64 %rd10, [p];\nld.u32 %r11, [%rd10];\n"
               "ld.global.u64 %rd11, [q];\nst.u32 [%rd11], 9;\nld.global.u32 %r12, [z];\n"
               "mad.lo.u32 %r9, %r10, 100, %r12;\nmad.lo.u32 %r9, %r11, 10, %r9;\n" END);
    assert_int_equal(bench_results(1, 1, 0)[0], 700 + 60 + 9);
    uint64_t address, bytes;
    assert_true(exec_find_variable(bench.module, "c", &address, &bytes));
    assert_int_equal(bytes, 12);
    assert_int_equal(*(uint32_t *)bench_at(address + 4), 6);
    assert_false(exec_find_variable(bench.module, "nothing", &address, &bytes));
}

static void atomics_of_integers(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN
               "atom.global.add.u32 %r10, [%rd2], 1;\nred.global.max.s32 [%rd2+4], %r2;\n"
               "neg.s32 %r11, %r2;\nred.global.min.s32 [%rd2+8], %r11;\n"
               "red.global.max.u32 [%rd2+12], %r11;\natom.global.inc.u32 %r12, [%rd2+16], 4;\n"
               "atom.global.dec.u32 %r13, [%rd2+20], 4;\nshl.b32 %r14, 1, %r2;\n"
               "red.global.or.b32 [%rd2+24], %r14;\nred.global.xor.b32 [%rd2+28], %r14;\n"
               "cvt.u64.u32 %rd10, %r2;\natom.relaxed.gpu.global.add.u64 %rd11, [%rd2+32], %rd10;\n"
               "cvt.u16.u32 %h1, %r2;\nadd.u16 %h2, %h1, 1;\n"
               "atom.global.cas.b16 %h3, [%rd2+40], %h1, %h2;\nmov.u32 %r9, %r10;\n" END);
    uint32_t *in = in_words(), *got = bench_results(1, 32, 0), seen = 0;
    for (unsigned t = 0; t < 32; t++)
        seen |= 1u << (got[t] & 31);
    assert_int_equal(seen, ~0u);
    const uint32_t expected[] = {32, 31, -31u, -1u, 32 % 5, 3, ~0u, ~0u, 496, 0, 32};
    for (unsigned i = 0; i < sizeof expected / sizeof *expected; i++)
        if (in[i] != expected[i])
            fail_msg("word %u: %u, expected %u", i, in[i], expected[i]);
}

static void atomics_of_numbers(void **state)
{
    (void)state;
    bench_open(
        HEADER
        ".shared .f32 small;\n" BEGIN
        "red.global.add.f32 [%rd2], 0f3F000000;\nred.global.add.f64 [%rd2+8], 0d3FE0000000000000;\n"
        "mov.b32 %r10, 0x3C003800;\nred.global.add.noftz.f16x2 [%rd2+16], %r10;\n"
        "mov.b32 %r11, 0x3F803F00;\natom.global.add.noftz.bf16x2 %r12, [%rd2+20], %r11;\n"
        "st.shared.u32 [small], 0;\nbar.warp.sync -1;\n"
        "red.shared.add.f32 [small], 0f00000001;\nred.global.add.f32 [%rd2+24], 0f00000001;\n"
        "bar.warp.sync -1;\nld.shared.u32 %r9, [small];\n" END);
    float *in = bench_at(bench.in);
    assert_int_equal(bench_results(1, 32, 0)[0], 32); /* shared memory adds subnormals */
    assert_true(in[0] == 16.0f);
    assert_true(*(double *)(in + 2) == 16.0);
    assert_int_equal(in_words()[4], 0x50004c00); /* 32 and 16 */
    assert_int_equal(in_words()[5], 0x42004180);
    assert_int_equal(in_words()[6], 0); /* device memory flushes them */
}

/* Every thread adds itself to both halves of one value, which no other may come between. */
static void atomics_of_128_bits(void **state)
{
    (void)state;
    bench_open(HEADER ".shared .align 16 .b8 cell[16];\n" BEGIN
                      ".reg .b128 %q<8>;\nmov.u64 %rd10, cell;\nmov.u64 %rd11, 0;\n"
                      "mov.b128 %q1, {%rd11, %rd11};\nsetp.ne.u32 %p1, %r2, 0;\n"
                      "@%p1 bra READY;\natom.shared.exch.b128 %q2, [%rd10], %q1;\nREADY:\n"
                      "bar.sync 0;\ncvt.u64.u32 %rd12, %r2;\nAGAIN:\n"
                      "mov.b128 {%rd13, %rd14}, %q1;\nadd.u64 %rd15, %rd13, %rd12;\n"
                      "add.u64 %rd16, %rd14, 1;\nmov.b128 %q3, {%rd15, %rd16};\n"
                      "atom.acq_rel.cta.shared::cta.cas.b128 %q4, [%rd10], %q1, %q3;\n"
                      "mov.b128 {%rd17, %rd18}, %q4;\nsetp.ne.u64 %p2, %rd18, %rd14;\n"
                      "setp.ne.u64 %p3, %rd17, %rd13;\nor.pred %p2, %p2, %p3;\n"
                      "mov.b128 %q1, %q4;\n@%p2 bra AGAIN;\nbar.sync 0;\n"
                      "ld.shared.v2.u64 {%rd13, %rd14}, [%rd10];\nshl.b64 %rd14, %rd14, 16;\n"
                      "add.u64 %rd13, %rd13, %rd14;\ncvt.u32.u64 %r9, %rd13;\n" END);
    uint32_t *got = bench_results(1, 96, 0);
    for (unsigned t = 0; t < 96; t++)
        assert_int_equal(got[t], 96 << 16 | 95 * 96 / 2);
}

#define MBARRIER_BEGIN                                                                             \
    HEADER ".shared .align 8 .b64 bar;\n.shared .align 4 .b32 cell[64];\n" BEGIN                   \
           "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra READY;\nmbarrier.init.shared.b64 [bar], 64;\n"      \
           "READY:\nbar.sync 0;\nmov.u32 %r20, cell;\nmad.lo.u32 %r21, %r2, 4, %r20;\n"

/* Two warps hand values over, in two phases, and wait by token and by parity. */
static void an_mbarrier_counts_arrivals(void **state)
{
    (void)state;
    bench_open(
        MBARRIER_BEGIN
        "st.shared.u32 [%r21], %r2;\nmbarrier.arrive.shared.b64 %rd10, [bar];\n"
        "WAIT:\nmbarrier.test_wait.shared.b64 %p2, [bar], %rd10;\n@!%p2 bra WAIT;\n"
        "sub.u32 %r22, 63, %r2;\nmad.lo.u32 %r22, %r22, 4, %r20;\nld.shared.u32 %r10, [%r22];\n"
        "mbarrier.arrive.shared.b64 _, [bar];\n"
        "AGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 1, 1000;\n"
        "@!%p3 bra AGAIN;\nst.shared.u32 [%r21], %r10;\n"
        "mov.u64 %rd11, bar;\ncvta.shared.u64 %rd11, %rd11;\n"
        "mbarrier.arrive.release.cta.b64 %rd12, [%rd11], 1;\n"
        "LAST:\nmbarrier.try_wait.acquire.cta.b64 %p4, [%rd11], %rd12;\n@!%p4 bra LAST;\n"
        "ld.shared.u32 %r11, [%r22];\nmad.lo.u32 %r9, %r11, 1000, %r10;\n" END);
    uint32_t *got = bench_results(1, 64, 0);
    for (unsigned t = 0; t < 64; t++)
        assert_int_equal(got[t], t * 1000 + 63 - t);
}

/* The next bit of the result: is the phase of parity r11 complete? */
#define LOOK                                                                                       \
    "mbarrier.test_wait.parity.shared.b64 %p2, [bar], %r11;\nselp.u32 %r12, %r14, 0, %p2;\n"       \
    "or.b32 %r9, %r9, %r12;\nshl.b32 %r14, %r14, 1;\n"

/* Thread 0 alone. Of the first two phases each takes 3 arrivals, the third 2. */
static void an_mbarrier_counts_bytes_and_drops(void **state)
{
    (void)state;
    static const char *const steps[] = {
        "mbarrier.init.shared.b64 [bar], 3;\n"
        "mbarrier.arrive.noComplete.shared.b64 %rd10, [bar], 2;\n",
        "mbarrier.arrive.expect_tx.shared.b64 %rd11, [bar], 64;\n",
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 48;\n",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 4;\n"
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 20;\n",
        "mov.u32 %r11, 1;\nmbarrier.arrive_drop.shared.b64 %rd12, [bar];\n"
        "cp.async.mbarrier.arrive.shared.b64 [bar];\n"
        "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n",
        "mbarrier.arrive.shared.b64 %rd13, [bar];\n",
        "mov.u32 %r11, 0;\nmbarrier.arrive.shared.b64 %rd14, [bar], 2;\n",
    };
    char text[8192] = "mov.u32 %r9, 0;\n@%p1 bra DONE;\nmov.u32 %r11, 0;\nmov.u32 %r14, 1;\n";
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
        strcat(text, steps[i]);
        strcat(text, LOOK);
    }
    strcat(text, "mbarrier.pending_count.b64 %r13, %rd11;\nshl.b32 %r13, %r13, 8;\n"
                 "or.b32 %r9, %r9, %r13;\nmbarrier.pending_count.b64 %r13, %rd14;\n"
                 "shl.b32 %r13, %r13, 12;\nor.b32 %r9, %r9, %r13;\n"
                 "mbarrier.inval.shared.b64 [bar];\nDONE:\n");
    char whole[16384];
    snprintf(whole, sizeof whole, "%s%s%s", MBARRIER_BEGIN, text, END);
    bench_open(whole);
    uint32_t *got = bench_results(1, 64, 0);
    assert_int_equal(got[0], 8 | 32 | 64 | 1 << 8 | 2 << 12);
}

static void asynchronous_copies_fill_with_zeros(void **state)
{
    (void)state;
    bench_open(HEADER
               ".shared .align 16 .b8 room[512];\n" BEGIN
               "mov.u32 %r10, room;\nshl.b32 %r11, %r2, 4;\nadd.u32 %r12, %r10, %r11;\n"
               "mul.wide.u32 %rd10, %r2, 16;\nadd.u64 %rd11, %rd2, %rd10;\nand.b32 %r13, %r2, 12;\n"
               "cp.async.cg.shared.global [%r12], [%rd11], 16, %r13;\n"
               "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n"
               "ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r12];\n"
               "add.u32 %r9, %r20, %r21;\nadd.u32 %r9, %r9, %r22;\nadd.u32 %r9, %r9, %r23;\n" END);
    for (unsigned i = 0; i < 128; i++)
        in_words()[i] = 1;
    uint32_t *got = bench_results(1, 32, 0);
    for (unsigned t = 0; t < 32; t++)
        assert_int_equal(got[t], (t & 12) / 4);
}

static void expect_place(unsigned block, unsigned thread, uint64_t address, const char *line)
{
    assert_int_equal(bench.fault.block[0], block);
    assert_int_equal(bench.fault.thread[0], thread);
    assert_int_equal(bench.fault.address, address);
    if (!strstr(bench.fault.text, line))
        fail_msg("\"%s\" lacks \"%s\"", bench.fault.text, line);
}

static void faults_name_thread_line_and_address(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN "setp.ne.u32 %p1, %r5, 37;\n@%p1 bra END;\n"
                            "st.global.u32 [%rd2+65536], %r5;\nEND:\nmov.u32 %r9, 1;\n" END);
    bench.launch.grid[0] = 3;
    expect_fault(EXEC_ILLEGAL_ADDRESS, "outside every allocation");
    expect_place(1, 5, bench.in + 65536, "st.global.u32 (PTX line 19)");
    bench_open(HEADER BEGIN "mad.lo.u32 %r10, %r2, 3, 4;\ncvt.u64.u32 %rd10, %r10;\n"
                            "add.u64 %rd10, %rd10, %rd2;\nld.global.u32 %r9, [%rd10];\n" END);
    expect_fault(EXEC_MISALIGNED, "misaligned address");
    expect_place(0, 1, bench.in + 7, "(PTX line 20)");
    bench_open(HEADER BEGIN "ld.global.v2.u32 {%r9, %r10}, [%rd2+4];\n" END);
    expect_fault(EXEC_MISALIGNED, "misaligned address");
    bench_open(HEADER BEGIN "ld.global.v2.u32 {%r9, %r10}, [%rd2+65528];\n" END);
    assert_int_equal(bench_run(0), EXEC_DONE); /* the last bytes may be read */
    bench_open(HEADER BEGIN "atom.global.add.u32 %r9, [%rd2], 1;\n" END);
    bench.area[1].writable = false;
    expect_fault(EXEC_ILLEGAL_ADDRESS, "read-only");
    bench_open(HEADER BEGIN "mov.u64 %rd10, 0;\nld.u8 %r9, [%rd10];\n" END);
    expect_fault(EXEC_ILLEGAL_ADDRESS, "0x0");
    bench_open(HEADER BEGIN "mov.u64 %rd10, 281474976710656;\nld.global.u8 %r9, [%rd10];\n" END);
    expect_fault(EXEC_ILLEGAL_ADDRESS, "outside every allocation"); /* a window, but .global */
    bench_open(HEADER BEGIN ".local .b32 own;\nmov.u64 %rd10, own;\n"
                            "ld.local.u32 %r9, [%rd10+1048576];\n" END);
    expect_fault(EXEC_ILLEGAL_ADDRESS, "local memory");
}

#define VPRINTF ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"

static void printf_writes_when_the_launch_ends(void **state)
{
    (void)state;
    bench_open(
        HEADER VPRINTF
        ".global .align 1 .b8 format[24] = {37, 100, 32, 37, 46, 50, 102, 32, 37, 115, 32, 37, "
        "108, 120, 32, 37, 99, 37, 37, 10, 0};\n"
        ".global .align 1 .b8 word[3] = {104, 105, 0};\n" BEGIN
        ".local .align 8 .b8 depot[40];\nmov.u64 %rd10, depot;\ncvta.local.u64 %rd11, %rd10;\n"
        "st.local.u32 [%rd10], %r2;\nst.local.f64 [%rd10+8], 0d3FF8000000000000;\n"
        "mov.u64 %rd12, word;\ncvta.global.u64 %rd12, %rd12;\nst.local.u64 [%rd10+16], %rd12;\n"
        "st.local.u64 [%rd10+24], 0x123456789a;\nst.local.u32 [%rd10+32], 88;\n"
        "mov.u64 %rd13, format;\ncvta.global.u64 %rd13, %rd13;\n"
        "{ .param .b64 a; .param .b64 b; .param .b32 c;\nst.param.b64 [a], %rd13;\n"
        "st.param.b64 [b], %rd11;\ncall.uni (c), vprintf, (a, b);\nld.param.b32 %r9, [c]; }\n" END);
    char text[200] = {0};
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    int saved = dup(1);
    dup2(fileno(file), 1);
    bench.launch.block[0] = 2;
    enum exec_outcome outcome = bench_run(0);
    dup2(saved, 1);
    close(saved);
    rewind(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_int_equal(outcome, EXEC_DONE);
    assert_int_equal(((uint32_t *)bench_at(bench.out))[1], 5);
    text[length] = 0;
    assert_string_equal(text, "0 1.50 hi 123456789a X%\n1 1.50 hi 123456789a X%\n");
}

static void a_failed_assertion_is_a_fault(void **state)
{
    (void)state;
    bench_open(
        HEADER
        ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, "
        ".param .b64 g, .param .b64 s);\n.global .b8 text[6] = {120, 32, 62, 32, 48, 0};\n" BEGIN
        "setp.eq.u32 %p1, %r2, 3;\n@!%p1 bra END;\nmov.u64 %rd10, text;\n"
        "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
        "st.param.b64 [a], %rd10;\nst.param.b64 [b], %rd10;\nst.param.b32 [c], 12;\n"
        "st.param.b64 [d], %rd10;\nst.param.b64 [e], 1;\n"
        "call.uni __assertfail, (a, b, c, d, e); }\nEND:\nmov.u32 %r9, 0;\n" END);
    expect_fault(EXEC_ASSERT, "x > 0");
    assert_int_equal(bench.fault.thread[0], 3);
}

static void the_heap_gives_and_takes(void **state)
{
    (void)state;
    bench_open(HEADER
               ".extern .func (.param .b64 r) malloc(.param .b64 s);\n"
               ".extern .func free(.param .b64 p);\n" BEGIN
               "mov.u32 %r20, 0;\nmov.u32 %r9, 0;\nL:\n"
               "{ .param .b64 a; .param .b64 b;\nst.param.b64 [a], 5000;\n"
               "call.uni (b), malloc, (a);\nld.param.b64 %rd10, [b]; }\n"
               "st.u32 [%rd10+4996], %r2;\nld.u32 %r21, [%rd10+4996];\nadd.u32 %r9, %r9, %r21;\n"
               "{ .param .b64 a;\nst.param.b64 [a], %rd10;\ncall.uni free, (a); }\n"
               "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p1, %r20, %r1;\n@%p1 bra L;\n" END);
    uint32_t *got = bench_results(2, 64, 60); /* 38 MB in all, through 8 */
    assert_int_equal(got[63], 63 * 60);
}

static void the_stack_can_grow(void **state)
{
    (void)state;
    bench_open(HEADER
               ".func (.param .b32 r) f(.param .b64 p)\n{\n.local .b32 own;\n.reg .b32 %r<5>;\n"
               ".reg .b64 %rd<5>;\nld.param.u64 %rd1, [p];\nst.local.u32 [own], 77;\n"
               "ld.u32 %r1, [%rd1];\nld.local.u32 %r2, [own];\nadd.u32 %r1, %r1, %r2;\n"
               "st.param.b32 [r], %r1;\nret;\n}\n" BEGIN
               "stacksave.u64 %rd20;\nadd.u32 %r10, %r2, 4;\nand.b32 %r10, %r10, -4;\n"
               "cvt.u64.u32 %rd10, %r10;\nalloca.u64 %rd11, %rd10, 8;\n"
               "st.local.u32 [%rd11], %r2;\ncvta.local.u64 %rd12, %rd11;\n"
               "{ .param .b64 a; .param .b32 b;\nst.param.b64 [a], %rd12;\n"
               "call.uni (b), f, (a);\nld.param.b32 %r9, [b]; }\nstackrestore.u64 %rd20;\n" END);
    uint32_t *got = bench_results(1, 32, 0);
    for (unsigned t = 0; t < 32; t++)
        assert_int_equal(got[t], 77 + t);
}

static void packed_registers_and_wide_ones(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN "mov.b32 {%h1, %h2}, %r5;\nmov.b32 %r10, {%h2, %h1};\n"
                            "mov.b64 %rd10, {%r10, %r2};\nmov.b64 {%r11, %r12}, %rd10;\n"
                            "mov.b64 {%h3, _, %h5, _}, %rd10;\ncvt.u32.u16 %r13, %h5;\n"
                            "mov.u32 %r14, %lanemask_lt;\npopc.b32 %r14, %r14;\n"
                            "add.u32 %r9, %r11, %r12;\nadd.u32 %r9, %r9, %r13;\n"
                            "add.u32 %r9, %r9, %r14;\n" END);
    uint32_t *got = bench_results(1, 64, 0);
    for (unsigned t = 0; t < 64; t++)
        assert_int_equal(got[t], (t << 16) + 2 * t + t % 32);
}

/* What few compilers write: a result that is only a predicate, windows and fences of clusters. */
static void rare_forms(void **state)
{
    (void)state;
    bench_open(HEADER
               ".shared .align 4 .b32 cell[32];\n" BEGIN "setp.eq.u32 %p1, %r2, 3;\n"
               "lop3.or.b32 _|%p2, %r2, 6, 0, 0xc0, %p1;\n" /* r2 & 6, or p1 */
               "mov.u64 %rd10, cell;\ncvta.shared.u64 %rd10, %rd10;\n"
               "isspacep.shared::cluster %p3, %rd10;\nisspacep.shared::cluster %p4, %rd1;\n"
               "fence.mbarrier_init.release.cluster;\nmembar.proxy.alias;\n"
               "fence.acquire.sync_restrict::shared::cluster.cluster;\n"
               "createpolicy.cvt.L2.b64 %rd11, 0x14f0000000000000;\n"
               "selp.u32 %r9, 1, 0, %p2;\nselp.u32 %r10, 2, 0, %p3;\nselp.u32 %r11, 4, 0, %p4;\n"
               "add.u32 %r9, %r9, %r10;\nadd.u32 %r9, %r9, %r11;\n" END);
    uint32_t *got = bench_results(1, 40, 0);
    for (unsigned t = 0; t < 40; t++)
        assert_int_equal(got[t], ((t & 6) || t == 3) + 2);
}

struct found {
    const char *words;
    unsigned count;
};

static void look_for(void *user, const char *line)
{
    struct found *found = user;
    found->count += strcmp(line, found->words) == 0;
}

static void expect_report(const char *line)
{
    struct found found = {line, 0};
    exec_report(look_for, &found);
    if (found.count != 1)
        fail_msg("the report has \"%s\" %u times", line, found.count);
}

static void the_report_counts_what_ran(void **state)
{
    (void)state;
    bench_open(HEADER
               ".file 1 \"a/b.cu\"\n" BEGIN ".loc 1 7 3\nbfind.u32 %r10, %r2;\n"
               "setp.gt.u32 %p1, %r2, 100;\n@!%p1 bra END;\n.loc 1 9 3\nbrev.b32 %r10, %r10;\n"
               "END:\n.loc 1 10 1\nmov.u32 %r9, 1;\n" END);
    expect_report("line a/b.cu 9 0"); /* prepared, not run */
    bench_results(5, 64, 0);
    expect_report("op bfind.u32 10");
    expect_report("line a/b.cu 9 0");
    expect_report("line a/b.cu 7 30");
    expect_report("function k 60");
    bench_close();
    expect_report("op bfind.u32 10"); /* modules leave their counts */
    expect_report("line a/b.cu 9 0");
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
        cmocka_unit_test(loads_extend_and_stores_cut),
        cmocka_unit_test(vectors_of_all_lengths),
        cmocka_unit_test(each_thread_has_its_own_local_memory),
        cmocka_unit_test(one_access_to_several_windows),
        cmocka_unit_test(shared_memory_static_and_dynamic),
        cmocka_unit_test(parameters_by_value_and_by_address),
        cmocka_unit_test(variables_have_their_initial_values),
        cmocka_unit_test(atomics_of_integers),
        cmocka_unit_test(atomics_of_numbers),
        cmocka_unit_test(atomics_of_128_bits),
        cmocka_unit_test(an_mbarrier_counts_arrivals),
        cmocka_unit_test(an_mbarrier_counts_bytes_and_drops),
        cmocka_unit_test(asynchronous_copies_fill_with_zeros),
        cmocka_unit_test(faults_name_thread_line_and_address),
        cmocka_unit_test(printf_writes_when_the_launch_ends),
        cmocka_unit_test(a_failed_assertion_is_a_fault),
        cmocka_unit_test(the_heap_gives_and_takes),
        cmocka_unit_test(the_stack_can_grow),
        cmocka_unit_test(packed_registers_and_wide_ones),
        cmocka_unit_test(rare_forms),
        cmocka_unit_test(the_report_counts_what_ran),
    };
    return cmocka_run_group_tests_name("exec memory", tests, NULL, close_bench);
}
