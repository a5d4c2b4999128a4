/* test_lift.c - shadows of numbers: routes that carry them, routes that lose them, bounds, origins,
 * and computations over finite fields. */
#include "unit/exec/exec_bench.h"

#include <math.h>
#include "tools/lift/shadow.h"

static struct shadow shadow;

static void attach(const char *text, const struct algebra *algebra)
{
    struct error err = {{0}};
    shadow_release(&shadow);
    bench_open(text);
    shadow = (struct shadow){.algebra = algebra, .unit = 0x1p-24, .tiny = 0x1p-126};
    struct exec_function *kernel = exec_find_kernel(bench.module, "k");
    assert_int_equal(shadow_attach(&shadow, kernel, &err), STATUS_OK);
    bench.launch.watch = &shadow;
}

/* Runs one block of 32 threads; `in` holds 1 + 1 / 4096 * (i + 1) in f32. */
static void run(const char *text, const struct algebra *algebra)
{
    attach(text, algebra);
    float *in = bench_at(bench.in);
    for (int i = 0; i < 64; i++)
        in[i] = 1 + (float)(i + 1) / 4096;
    if (bench_run(0) != EXEC_DONE)
        fail_msg("%s", bench.fault.text);
}

/* The number at element `i` of the output; false where it has no cell. */
static bool output(enum format format, unsigned i, struct value *value)
{
    const uint8_t *host = (const uint8_t *)bench_at(bench.out) + (size_t)i * format_bytes(format);
    return shadow_at(&shadow, host, format, value);
}

/* %f1 is a number of the input, %h1 it in bf16: its digits are lost there. */
#define LOST                                                                                       \
    "mul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd5, %rd2, %rd6;\nld.global.f32 %f1, [%rd5];\n"          \
    "cvt.rn.bf16.f32 %h1, %f1;\n"
#define STORED "st.global.f32 [%rd4], %f9;\nret;\n}\n"

/* From %h1 to %f9, through what leaves a number as it is. */
static const char *const routes[] = {
    "mov.b32 %f9, {0, %h1};\n",
    "cvt.f32.bf16 %f9, %h1;\n",
    "cvt.u32.u16 %r10, %h1;\nshl.b32 %r11, %r10, 16;\nmov.b32 %f9, %r11;\n",
    "mov.b32 %r10, {%h1, %h1};\nand.b32 %r11, %r10, 0xffff0000;\nmov.b32 %f9, %r11;\n",
    "mov.b32 %r10, {%h1, %h1};\nprmt.b32 %r11, %r10, 0, 0x1044;\nmov.b32 %f9, %r11;\n",
    "mov.b32 %r10, {%h1, %h1};\nshr.u32 %r10, %r10, 16;\nshl.b32 %r11, %r10, 16;\nmov.b32 %f9, "
    "%r11;\n",
    "mov.b32 %f8, {0, %h1};\nsetp.eq.u32 %p1, %r1, 0;\nselp.f32 %f9, %f8, 0f00000000, %p1;\n",
    "mov.b32 %f8, {0, %h1};\nneg.f32 %f7, %f8;\nabs.f32 %f9, %f7;\n",
    "mov.b32 %f8, {0, %h1};\nmov.b32 %r10, %f8;\nxor.b32 %r10, %r10, 0x80000000;\n"
    "and.b32 %r10, %r10, 0x7fffffff;\nmov.b32 %f9, %r10;\n",
    "mov.b32 %r10, {0, %h1};\nshfl.sync.bfly.b32 %r11, %r10, 0, 31, -1;\nmov.b32 %f9, %r11;\n",
    "mov.b32 %r10, {0, %h1};\nmov.b64 %rd8, {%r10, %r10};\nmov.b64 {%r11, %r12}, %rd8;\n"
    "mov.b32 %f9, %r12;\n",
    ".shared .align 4 .b8 s[128];\nmov.u32 %r12, s;\nmad.lo.u32 %r12, %r2, 4, %r12;\n"
    "mov.b32 %r10, {0, %h1};\nst.shared.u32 [%r12], %r10;\nbar.sync 0;\n"
    "ld.shared.f32 %f9, [%r12];\n",
    ".local .align 8 .b8 l[64];\nmov.u64 %rd8, l;\nmov.b32 %f8, {0, %h1};\n"
    "st.local.f32 [%rd8+12], %f8;\nld.local.f32 %f9, [%rd8+12];\n",
    "mov.b32 %f8, {0, %h1};\nmul.wide.u32 %rd8, %r2, 8;\nadd.s64 %rd8, %rd1, %rd8;\n"
    "st.global.f32 [%rd8+4100], %f8;\nld.global.v2.f32 {%f7, %f9}, [%rd8+4096];\n",
    "mov.b32 %f8, {0, %h1};\natom.global.exch.b32 %r10, [%rd4+4096], %r11;\n"
    "mov.b32 %r12, %f8;\natom.global.exch.b32 %r10, [%rd4+4096], %r12;\n"
    "ld.global.f32 %f9, [%rd4+4096];\n",
    ".shared .align 16 .b8 s[128];\nmov.u32 %r12, s;\nmad.lo.u32 %r12, %r2, 4, %r12;\n"
    "mov.b32 %r10, {0, %h1};\nst.global.u32 [%rd4+4096], %r10;\nmov.u32 %r11, 4;\n"
    "cp.async.ca.shared.global [%r12], [%rd4+4096], 4, %r11;\ncp.async.wait_all;\n"
    "ld.shared.f32 %f9, [%r12];\n",
    ".shared .align 128 .b8 s[512];\nmov.u32 %r12, s;\nmad.lo.u32 %r13, %r2, 4, %r12;\n"
    "mov.b32 %r10, {0, %h1};\nst.shared.u32 [%r13], %r10;\nbar.sync 0;\n"
    "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra W;\nmbarrier.init.shared.b64 [%r12+256], 1;\n"
    "mbarrier.arrive.expect_tx.shared.b64 _, [%r12+256], 128;\n"
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r12+128], [%r12], "
    "128, [%r12+256];\nW:\nbar.sync 0;\nld.shared.f32 %f9, [%r13+128];\n",
    "mov.b32 %f8, {0, %h1};\n{ .param .b32 a; .param .b32 b;\nst.param.f32 [a], %f8;\n"
    "call.uni (b), same, (a);\nld.param.f32 %f9, [b]; }\n",
};

#define SAME                                                                                       \
    ".func (.param .b32 r) same(.param .b32 x) { .reg .f32 %f<4>; ld.param.f32 %f1, [x]; "         \
    "st.param.f32 [r], %f1; ret; }\n"

static void numbers_keep_their_shadows(void **state)
{
    (void)state;
    static char text[8192];
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        struct value value;
        snprintf(text, sizeof text, "%s%s%s%s%s", HEADER SAME, BEGIN, LOST, routes[i], STORED);
        run(text, &algebra_real);
        for (unsigned lane = 1; lane < 32; lane += 4) {
            const double y = 1 + (double)(lane + 1) / 4096;
            if (!output(FORMAT_F32, lane, &value) || value.a.real != y)
                fail_msg("route %zu, lane %u: shadow %.9g, expected %.9g", i, lane, value.a.real,
                         y);
            assert_true(value.got != y);
            const struct ptx_instruction *ins = shadow_instruction(&shadow, value.origin);
            assert_non_null(ins);
            assert_string_equal(ins->text, "cvt.rn.bf16.f32");
        }
    }
}

/* What makes other numbers of the bits: they are read as they are, without an error. */
static const char *const losses[] = {
    "mov.b32 %f8, {0, %h1};\nmov.b32 %r10, %f8;\nand.b32 %r10, %r10, 0x007fffff;\n"
    "or.b32 %r10, %r10, 0x40000000;\nmov.b32 %f9, %r10;\n",
    "mov.b32 %r10, {0, %h1};\nbrev.b32 %r11, %r10;\nbrev.b32 %r11, %r11;\nmov.b32 %f9, %r11;\n",
    "mov.b32 %r10, {0, %h1};\ncvt.rn.f32.u32 %f9, %r10;\n",
    "mov.b32 %f9, {%h1, %h1};\n",
    ".shared .align 16 .b8 s[128];\nmov.u32 %r12, s;\nmad.lo.u32 %r12, %r2, 4, %r12;\n"
    "mov.b32 %r10, {0, %h1};\nst.shared.u32 [%r12], %r10;\nmov.u32 %r11, 0;\n"
    "cp.async.ca.shared.global [%r12], [4], 4, %r11;\ncp.async.wait_all;\n"
    "ld.shared.f32 %f9, [%r12];\n",
};

static void other_numbers_have_none(void **state)
{
    (void)state;
    static char text[8192];
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        struct value value;
        snprintf(text, sizeof text, "%s%s%s%s", HEADER BEGIN, LOST, losses[i], STORED);
        run(text, &algebra_real);
        output(FORMAT_F32, 1, &value);
        if (value.a.real != value.got || value.origin)
            fail_msg("loss %zu: %.9g for %.9g", i, value.got, value.a.real);
    }
}

/* A scaling by a power of two in integers, as logarithms have it. */
static void exponents_are_added_to(void **state)
{
    (void)state;
    struct value value;
    run(HEADER BEGIN LOST
        "mov.b32 %r10, {0, %h1};\nsub.s32 %r11, %r10, 8388608;\nmov.b32 %f9, %r11;\n" STORED,
        &algebra_real);
    assert_true(output(FORMAT_F32, 1, &value));
    assert_true(value.a.real == (1 + 2.0 / 4096) / 2);
    assert_true(value.origin != 0);
}

/* Sums in f32 are within n / 2^24 of their terms; the same sums in bf16 are not. */
#define SUM(rounding)                                                                              \
    HEADER BEGIN "mov.f32 %f9, 0f00000000;\nmov.u32 %r10, 0;\nmul.wide.u32 %rd6, %r2, 4;\n"        \
                 "add.s64 %rd5, %rd2, %rd6;\n"                                                     \
                 "L:\nld.global.f32 %f1, [%rd5];\nadd.f32 %f9, %f9, %f1;\n" rounding               \
                 "add.s64 %rd5, %rd5, 4;\nadd.u32 %r10, %r10, 1;\nsetp.lt.u32 %p1, %r10, 30;\n"    \
                 "@%p1 bra L;\n" STORED

static void accumulators(void **state)
{
    (void)state;
    struct value value;
    run(SUM(""), &algebra_real);
    for (unsigned lane = 0; lane < 32; lane++) {
        assert_true(output(FORMAT_F32, lane, &value));
        assert_int_equal(value.origin, 0);
        assert_true(value.b.real < 30 * 31 * 0x1p-24);
        assert_true(fabs(value.got - value.a.real) <= value.b.real);
    }
    run(SUM("cvt.rn.bf16.f32 %h1, %f9;\nmov.b32 %f9, {0, %h1};\n"), &algebra_real);
    assert_true(output(FORMAT_F32, 3, &value));
    assert_string_equal(shadow_instruction(&shadow, value.origin)->text, "cvt.rn.bf16.f32");
    assert_true(fabs(value.got - value.a.real) > 100 * value.b.real);
    double y = 0;
    for (int i = 3; i < 33; i++)
        y += 1 + (double)(i + 1) / 4096;
    assert_true(value.a.real == y);
    /* The same with the accumulator declared. */
    attach(SUM("cvt.rn.bf16.f32 %h1, %f9;\nmov.b32 %f9, {0, %h1};\n"), &algebra_real);
    shadow.unit = 0x1p-8;
    memset(bench_at(bench.in), 0x3f, 4096);
    assert_int_equal(bench_run(0), EXEC_DONE);
    assert_true(output(FORMAT_F32, 3, &value));
    assert_int_equal(value.origin, 0);
}

static void packed_halves(void **state)
{
    (void)state;
    struct value value;
    run(HEADER BEGIN
        "mul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd5, %rd2, %rd6;\nld.global.f32 %f1, [%rd5];\n"
        "cvt.rn.f16x2.f32 %r10, %f1, %f1;\nfma.rn.f16x2 %r11, %r10, %r10, %r10;\n"
        "mov.b32 {%h1, %h2}, %r11;\ncvt.f32.f16 %f9, %h2;\n" STORED,
        &algebra_real);
    assert_true(output(FORMAT_F32, 0, &value));
    const double x = 1 + 1.0 / 4096;
    assert_true(fabs(value.a.real - (x * x + x)) < 1e-15);
    assert_string_equal(shadow_instruction(&shadow, value.origin)->text, "cvt.rn.f16x2.f32");
}

/* e^x as libraries compute it: the rounding to an integer is the kernel's. */
static void exponentials(void **state)
{
    (void)state;
    struct value value;
    run(HEADER BEGIN
        "mul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd5, %rd2, %rd6;\nld.global.f32 %f1, [%rd5];\n"
        "fma.rn.f32 %f2, %f1, 0f3BBB989D, 0f3F000000;\ncvt.sat.f32.f32 %f2, %f2;\n"
        "mov.f32 %f3, 0f4B400001;\nmov.f32 %f4, 0f437C0000;\n"
        "fma.rm.f32 %f2, %f2, %f4, %f3;\nadd.f32 %f5, %f2, 0fCB40007F;\n"
        "neg.f32 %f5, %f5;\nfma.rn.f32 %f6, %f1, 0f3FB8AA3B, %f5;\n"
        "fma.rn.f32 %f6, %f1, 0f32A57060, %f6;\nmov.b32 %r10, %f2;\n"
        "shl.b32 %r10, %r10, 23;\nmov.b32 %f7, %r10;\nex2.approx.ftz.f32 %f6, %f6;\n"
        "mul.f32 %f9, %f6, %f7;\n" STORED,
        &algebra_real);
    assert_true(output(FORMAT_F32, 7, &value));
    const double y = exp(1 + 8.0 / 4096);
    assert_true(fabs(value.a.real - y) < 1e-7 * y);
    assert_true(value.b.real < 20 * 0x1p-24 * y);
    assert_int_equal(value.origin, 0);
}

static const struct {
    const char *text; /* from %f1, a number of the input, to %f9 */
    uint64_t cancellations, overflows;
} noted[] = {
    {"mul.f32 %f2, %f1, 0f3DCCCCCD;\nmul.f32 %f3, %f1, 0f3DCCCCCE;\nsub.f32 %f9, %f2, %f3;\n", 32,
     0},
    {"mul.f32 %f2, %f1, 0f3DCCCCCD;\nfma.rn.f32 %f9, %f1, 0fBDCCCCCE, %f2;\n", 32, 0},
    {"mul.f32 %f2, %f1, 0f3DCCCCCD;\nfma.rn.f32 %f9, %f1, 0f3DCCCCCE, %f2;\n", 0, 0},
    {"mul.f32 %f2, %f1, 0f7F000000;\nmul.f32 %f2, %f2, 0f40800000;\n"
     "mul.f32 %f9, %f2, 0f3E800000;\n",
     0, 32},
    {"mul.f32 %f2, %f1, 0f45000000;\nex2.approx.f32 %f9, %f2;\n", 0, 32}, /* of fp64, too */
    {"mul.f32 %f2, %f1, 0f42000000;\nex2.approx.f32 %f9, %f2;\n", 0, 0},
};

static void notes_on_the_way(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof noted / sizeof *noted; n++) {
        static char text[8192];
        uint64_t cancellations = 0, overflows = 0;
        snprintf(text, sizeof text, "%s%s%s",
                 HEADER BEGIN "mul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd5, %rd2, %rd6;\n"
                              "ld.global.f32 %f1, [%rd5];\n",
                 noted[n].text, STORED);
        run(text, &algebra_real);
        for (size_t i = 0; i < shadow.ops; i++) {
            cancellations += shadow.tallies[i].cancellations;
            overflows += shadow.tallies[i].overflows;
        }
        if (cancellations != noted[n].cancellations || overflows != noted[n].overflows)
            fail_msg("%zu: %ju cancellations, %ju overflows", n, (uintmax_t)cancellations,
                     (uintmax_t)overflows);
    }
}

static void sums_in_memory(void **state)
{
    (void)state;
    struct value value;
    run(HEADER BEGIN LOST "mov.b32 %f8, {0, %h1};\nred.global.add.f32 [%rd1+8192], %f8;\nret;\n}\n",
        &algebra_real);
    double y = 0;
    for (int i = 0; i < 32; i++)
        y += 1 + (double)(i + 1) / 4096;
    assert_true(output(FORMAT_F32, 2048, &value));
    assert_true(value.a.real == y);
    assert_string_equal(shadow_instruction(&shadow, value.origin)->text, "cvt.rn.bf16.f32");
}

/* Sixteen products a number, of which the accumulator keeps f16 or f32. */
#define PRODUCT(type, sums)                                                                        \
    HEADER BEGIN "ld.global.b16 %h1, [%rd2];\nmov.b32 %r10, {%h1, %h1};\n"                         \
                 "mma.sync.aligned.m16n8k16.row.col." type " {%r20" sums "}, "                     \
                 "{%r10,%r10,%r10,%r10}, {%r10,%r10}, {%r40" sums "};\n"                           \
                 "st.global.u32 [%rd4], %r20;\nret;\n}\n"

static void product(const char *text)
{
    attach(text, &algebra_real);
    *(uint16_t *)bench_at(bench.in) = 0x3c01; /* 1 + 2^-10 */
    assert_int_equal(bench_run(0), EXEC_DONE);
}

static void tensor_cores(void **state)
{
    (void)state;
    struct value value;
    const double x = 1 + 0x1p-10;
    product(PRODUCT("f32.f16.f16.f32", ",%r21,%r22,%r23"));
    assert_true(output(FORMAT_F32, 5, &value));
    assert_int_equal(value.origin, 0);
    assert_true(value.a.real == 16 * x * x);
    product(PRODUCT("f16.f16.f16.f16", ",%r21"));
    assert_true(output(FORMAT_F16, 10, &value));
    assert_true(value.a.real == 16 * x * x && value.got != value.a.real);
    assert_string_equal(shadow_instruction(&shadow, value.origin)->text,
                        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16");
}

/* Four products a number, in each of four quad pairs. */
#define QUADS(type, sums)                                                                          \
    HEADER BEGIN "ld.global.b16 %h1, [%rd2];\nmov.b32 %r10, {%h1, %h1};\n"                         \
                 "mma.sync.aligned.m8n8k4.row.col." type " {%r20" sums "}, {%r10,%r10}, "          \
                 "{%r10,%r10}, {%r40" sums "};\nst.global.u32 [%rd4], %r23;\nret;\n}\n"

static void quad_pairs(void **state)
{
    (void)state;
    struct value value;
    const double x = 1 + 0x1p-10;
    product(QUADS("f32.f16.f16.f32", ",%r21,%r22,%r23,%r24,%r25,%r26,%r27"));
    assert_true(output(FORMAT_F32, 17, &value));
    assert_int_equal(value.origin, 0);
    assert_true(value.a.real == 4 * x * x);
    product(QUADS("f16.f16.f16.f16", ",%r21,%r22,%r23"));
    assert_true(output(FORMAT_F16, 34, &value));
    assert_true(value.a.real == 4 * x * x && value.got != value.a.real);
    assert_string_equal(shadow_instruction(&shadow, value.origin)->text,
                        "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16");
}

/* Sixteen products of a warpgroup, a from registers and b negated. */
#define WARPGROUP(type, sums)                                                                      \
    HEADER BEGIN ".shared .align 1024 .b8 s[1024];\nld.global.b16 %h1, [%rd2];\n"                  \
                 "mov.b32 %r10, {%h1, %h1};\nmov.u32 %r12, s;\nmad.lo.u32 %r12, %r2, 8, %r12;\n"   \
                 "st.shared.v2.u32 [%r12], {%r10, %r10};\nbar.sync 0;\nsetp.ne.u32 %p1, %r1, 0;\n" \
                 "wgmma.mma_async.sync.aligned.m64n8k16." type " {%r20" sums "}, "                 \
                 "{%r10,%r10,%r10,%r10}, 524288, %p1, 1, -1, 0;\n"                                 \
                 "st.global.u32 [%rd4], %r20;\nret;\n}\n"

static void warpgroup_product(const char *text, const struct algebra *algebra)
{
    attach(text, algebra);
    bench.launch.block[0] = 128;
    *(uint16_t *)bench_at(bench.in) = 0x3c01; /* 1 + 2^-10 */
    if (bench_run(0) != EXEC_DONE)
        fail_msg("%s", bench.fault.text);
}

static void warpgroups(void **state)
{
    (void)state;
    struct value value, sum;
    const double x = 1 + 0x1p-10;
    warpgroup_product(WARPGROUP("f32.f16.f16", ",%r21,%r22,%r23"), &algebra_real);
    assert_true(output(FORMAT_F32, 77, &value));
    assert_int_equal(value.origin, 0);
    assert_true(value.a.real == -16 * x * x);
    warpgroup_product(WARPGROUP("f16.f16.f16", ",%r21"), &algebra_real);
    assert_true(output(FORMAT_F16, 2 * 77 + 1, &value));
    assert_true(value.a.real == -16 * x * x && value.got != value.a.real);
    assert_string_equal(shadow_instruction(&shadow, value.origin)->text,
                        "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16");
    /* Over finite fields it is the same product in either accumulator. */
    warpgroup_product(WARPGROUP("f16.f16.f16", ",%r21"), &algebra_residue);
    assert_true(output(FORMAT_F16, 77, &value));
    warpgroup_product(WARPGROUP("f32.f16.f16", ",%r21,%r22,%r23"), &algebra_residue);
    assert_true(output(FORMAT_F32, 77, &sum));
    assert_true(value.a.residue == sum.a.residue && value.b.residue == sum.b.residue);
}

/* ---- over finite fields ---- */

#define LOAD                                                                                       \
    "mul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd5, %rd2, %rd6;\nld.global.f32 %f1, [%rd5];\n"          \
    "ld.global.f32 %f2, [%rd5+4];\nld.global.f32 %f3, [%rd5+8];\n"

static uint64_t residue(const char *body)
{
    static char text[8192];
    struct value value;
    snprintf(text, sizeof text, "%s%s%s%s", HEADER BEGIN, LOAD, body, STORED);
    run(text, &algebra_residue);
    output(FORMAT_F32, 11, &value);
    return value.a.residue;
}

static void the_same_computation_is_equal(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"add.f32 %f4, %f1, %f2;\nadd.f32 %f9, %f4, %f3;\n",
         "add.f32 %f4, %f3, %f2;\nadd.f32 %f9, %f1, %f4;\n"},
        {"add.f32 %f4, %f1, %f2;\nmul.f32 %f9, %f4, %f3;\n",
         "mul.f32 %f4, %f1, %f3;\nfma.rn.f32 %f9, %f2, %f3, %f4;\n"},
        {"div.rn.f32 %f9, %f1, %f2;\n", "rcp.rn.f32 %f4, %f2;\nmul.f32 %f9, %f1, %f4;\n"},
        {"sqrt.rn.f32 %f4, %f1;\ndiv.rn.f32 %f9, %f2, %f4;\n",
         "rsqrt.approx.f32 %f4, %f1;\nmul.f32 %f9, %f4, %f2;\n"},
        {"add.f32 %f9, %f1, %f1;\n", "mul.f32 %f9, %f1, 0f40000000;\n"},
        {"sub.f32 %f4, %f1, %f2;\nneg.f32 %f9, %f4;\n", "sub.f32 %f9, %f2, %f1;\n"},
        {"ex2.approx.f32 %f4, %f1;\nex2.approx.f32 %f5, %f2;\nmul.f32 %f9, %f4, %f5;\n",
         "add.f32 %f4, %f1, %f2;\nex2.approx.f32 %f9, %f4;\n"},
        {"cvt.rn.bf16.f32 %h1, %f1;\nmov.b32 %f4, {0, %h1};\nadd.f32 %f9, %f4, %f2;\n",
         "add.f32 %f9, %f1, %f2;\n"},
        {"max.f32 %f9, %f1, %f2;\n", "setp.gt.f32 %p1, %f1, %f2;\nselp.f32 %f9, %f1, %f2, %p1;\n"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (residue(pairs[i][0]) != residue(pairs[i][1]))
            fail_msg("pair %zu differs", i);
}

static void another_computation_is_not(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"add.f32 %f9, %f1, %f2;\n", "sub.f32 %f9, %f1, %f2;\n"},
        {"add.f32 %f9, %f1, %f2;\n", "add.f32 %f9, %f1, %f3;\n"},
        {"mul.f32 %f9, %f1, 0f40000000;\n", "mul.f32 %f9, %f1, 0f40000001;\n"},
        {"sqrt.rn.f32 %f9, %f1;\n", "rsqrt.approx.f32 %f9, %f1;\n"},
        {"ex2.approx.f32 %f9, %f1;\n", "ex2.approx.f32 %f9, %f2;\n"},
        {"ex2.approx.f32 %f9, %f1;\n", "lg2.approx.f32 %f9, %f1;\n"},
        {"max.f32 %f9, %f1, %f2;\n", "min.f32 %f9, %f1, %f2;\n"},
        {"sin.approx.f32 %f9, %f1;\n", "cos.approx.f32 %f9, %f1;\n"},
        {"fma.rn.f32 %f9, %f1, %f2, %f3;\n", "fma.rn.f32 %f9, %f1, %f3, %f2;\n"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (residue(pairs[i][0]) == residue(pairs[i][1]))
            fail_msg("pair %zu is equal", i);
}

/* ---- formats ---- */

static void formats(void **state)
{
    (void)state;
    assert_true(number_of_bits(FORMAT_F16, 0x3c01) == 1 + 0x1p-10);
    assert_true(number_of_bits(FORMAT_F16, 0x8001) == -0x1p-24);
    assert_true(number_of_bits(FORMAT_F16, 0x7bff) == 65504);
    assert_true(number_of_bits(FORMAT_F16, 0xfc00) == -(double)INFINITY);
    assert_true(isnan(number_of_bits(FORMAT_F16, 0x7e00)));
    assert_true(number_of_bits(FORMAT_BF16, 0xbf80) == -1);
    assert_true(number_of_bits(FORMAT_E4M3, 0x7e) == 448);
    assert_true(isnan(number_of_bits(FORMAT_E4M3, 0xff)));
    assert_true(number_of_bits(FORMAT_E4M3, 0x01) == 0x1p-9);
    assert_true(number_of_bits(FORMAT_E5M2, 0x3d) == 1.25);
    assert_true(number_of_bits(FORMAT_TF32, 0x3f801fff) == 1);
    assert_true(number_half_ulp(FORMAT_F32, 1) == 0x1p-24);
    assert_true(number_half_ulp(FORMAT_BF16, 1.99) == 0x1p-8);
    assert_true(number_half_ulp(FORMAT_BF16, 2) == 0x1p-7);
    assert_true(number_half_ulp(FORMAT_F16, 0x1p-24) == 0x1p-25);
    assert_true(number_half_ulp(FORMAT_F16, 0) == 0x1p-25);
}

static int close_all(void **state)
{
    (void)state;
    shadow_release(&shadow);
    bench_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),
        cmocka_unit_test(numbers_keep_their_shadows),
        cmocka_unit_test(other_numbers_have_none),
        cmocka_unit_test(exponents_are_added_to),
        cmocka_unit_test(accumulators),
        cmocka_unit_test(packed_halves),
        cmocka_unit_test(exponentials),
        cmocka_unit_test(notes_on_the_way),
        cmocka_unit_test(sums_in_memory),
        cmocka_unit_test(tensor_cores),
        cmocka_unit_test(quad_pairs),
        cmocka_unit_test(warpgroups),
        cmocka_unit_test(the_same_computation_is_equal),
        cmocka_unit_test(another_computation_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, close_all);
}
