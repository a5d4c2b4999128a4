/* test_exec_wgmma.c - wgmma: matrices laid out in shared memory row by row of each swizzling
 * pattern, against their product. */
#include "exec_bench.h"
#include "tensor_numbers.h"

enum { ROWS = 64, COLUMNS = 256, DEPTH = 32, THREADS = 128 };
enum { SHARED_BYTES = 32768, SUMS_AT = 32768, A_AT = SHARED_BYTES / 2 };

static double a[ROWS][DEPTH], b[COLUMNS][DEPTH], c[ROWS][COLUMNS];

/* How a matrix lies: bytes of a pattern's row (16: no swizzling), and what is contiguous. */
struct layout {
    unsigned span;
    bool transposed;
    unsigned skip; /* bytes along a pattern's row before the matrix begins */
};

struct shape {
    const char *types;
    unsigned columns, depth, bytes;
    uint32_t (*bits)(double);
    bool half, integers;
};

/* ---- matrices in shared memory ---- */

/* Distances between 8 x 8 blocks of 16-byte chunks, which the descriptor has. */
struct strides {
    unsigned lead, stride;
};

/*
 * Patterns of 8 rows of `span` bytes lie behind each other. Row r has its 16-byte chunks exchanged
 * by r, r / 2 or r / 4, so that 8 rows of one chunk lie in as many banks.
 */
static unsigned place(const struct layout *l, const struct strides *s, unsigned line, unsigned k,
                      unsigned bytes)
{
    const unsigned along = (l->transposed ? line : k) * bytes, across = l->transposed ? k : line;
    const unsigned within = l->skip + along % l->span, row = across % 8;
    const unsigned turn = l->span == 128  ? row
                          : l->span == 64 ? row / 2
                          : l->span == 32 ? row / 4
                                          : 0;
    const unsigned chunk = within / 16 ^ turn;
    const bool plain = l->span == 16;
    const unsigned next_along = plain && l->transposed ? s->stride : s->lead;
    const unsigned next_across = plain && l->transposed ? s->lead : s->stride;
    return row * l->span + chunk * 16 + within % 16 + along / l->span * next_along +
           across / 8 * next_across;
}

static void lay(const struct layout *l, const struct strides *s, const struct shape *shape,
                double matrix[][DEPTH], unsigned lines, uint8_t *to)
{
    for (unsigned i = 0; i < lines; i++)
        for (unsigned k = 0; k < shape->depth; k++) {
            const uint32_t bits = shape->bits(matrix[i][k]);
            memcpy(to + place(l, s, i, k, shape->bytes), &bits, shape->bytes);
        }
}

static uint64_t descriptor(const struct layout *l, const struct strides *s, unsigned start)
{
    const uint64_t mode = l->span == 128 ? 1 : l->span == 64 ? 2 : l->span == 32 ? 3 : 0;
    return (start + l->skip) / 16 | (uint64_t)(s->lead / 16) << 16 |
           (uint64_t)(s->stride / 16) << 32 | mode << 62;
}

/* ---- kernels ---- */

static char text[65536];

static void add_list(unsigned count)
{
    strcat(text, "{");
    for (unsigned i = 0; i < count; i++)
        sprintf(text + strlen(text), "%%s%u%s", i, i + 1 < count ? "," : "}");
}

/* Shared memory is filled from `in`, and so are d and, at its end, a's registers. */
static void begin(unsigned registers)
{
    strcpy(text, HEADER ".extern .shared .align 1024 .b8 s[];\n" BEGIN
                        ".reg .b32 %s<128>; .reg .b32 %a<4>;\n"
                        "mov.u32 %r10, s;\nmul.lo.u32 %r11, %r2, 16;\nadd.u32 %r12, %r10, %r11;\n"
                        "mul.wide.u32 %rd6, %r2, 16;\nadd.s64 %rd7, %rd2, %rd6;\nmov.u32 %r13, 0;\n"
                        "F:\nld.global.v4.u32 {%r20,%r21,%r22,%r23}, [%rd7];\n"
                        "st.shared.v4.u32 [%r12], {%r20,%r21,%r22,%r23};\n"
                        "add.u32 %r12, %r12, 2048;\nadd.s64 %rd7, %rd7, 2048;\n"
                        "add.u32 %r13, %r13, 1;\nsetp.lt.u32 %p1, %r13, 16;\n@%p1 bra F;\n"
                        "bar.sync 0;\nfence.proxy.async.shared::cta;\n"
                        "mul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd5, %rd2, %rd6;\n"
                        "setp.eq.u32 %p2, %r1, 0;\n");
    for (unsigned i = 0; i < registers; i++)
        sprintf(text + strlen(text), "ld.global.u32 %%s%u, [%%rd5+%u];\n", i, SUMS_AT + 512 * i);
    for (unsigned i = 0; i < 4; i++)
        sprintf(text + strlen(text), "ld.global.u32 %%a%u, [%%rd5+%u];\n", i,
                AREA_BYTES - 2048 + 512 * i);
    strcat(text, "wgmma.fence.sync.aligned;\n");
}

static void end(unsigned registers)
{
    strcat(text, "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    for (unsigned i = 0; i < registers; i++)
        sprintf(text + strlen(text), "st.global.u32 [%%rd4+%u], %%s%u;\n", 512 * i, i);
    strcat(text, "ret;\n}\n");
}

static void open_kernel(void)
{
    bench_open(text);
    bench.launch.block[0] = THREADS;
    bench.launch.dynamic_shared = SHARED_BYTES;
}

/* Number i of a thread's part of d. */
static void place_sum(unsigned thread, unsigned i, unsigned *row, unsigned *column)
{
    const unsigned lane = thread % 32;
    *row = thread / 32 * 16 + lane / 4 + (i & 2 ? 8 : 0);
    *column = i / 4 * 8 + lane % 4 * 2 + (i & 1);
}

static uint32_t sum_bits(const struct shape *s, double x)
{
    return s->half ? f16_bits(x) : s->integers ? (uint32_t)(int32_t)x : bits32(x);
}

static void fill(const struct shape *s)
{
    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned k = 0; k < DEPTH; k++)
            a[i][k] = draw(s->integers);
    for (unsigned i = 0; i < COLUMNS; i++)
        for (unsigned k = 0; k < DEPTH; k++)
            b[i][k] = draw(s->integers);
    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned j = 0; j < COLUMNS; j++)
            c[i][j] = draw(s->integers);
}

static void fill_sums(const struct shape *s)
{
    uint32_t *words = (uint32_t *)((uint8_t *)bench_at(bench.in) + SUMS_AT);
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < s->columns / 2; i++) {
            unsigned row, column;
            place_sum(thread, i, &row, &column);
            uint32_t *word = words + (s->half ? i / 2 : i) * THREADS + thread;
            if (!s->half || i % 2 == 0)
                *word = 0;
            *word |= sum_bits(s, c[row][column]) << (s->half && i % 2 ? 16 : 0);
        }
}

/* d = sign * a . b + c, or without c. */
static void check(const struct shape *s, double sign, bool adds)
{
    const uint32_t *got = bench_at(bench.out);
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < s->columns / 2; i++) {
            unsigned row, column;
            place_sum(thread, i, &row, &column);
            double sum = adds ? c[row][column] : 0;
            for (unsigned k = 0; k < s->depth; k++)
                sum += sign * a[row][k] * b[column][k];
            uint32_t word = got[(s->half ? i / 2 : i) * THREADS + thread];
            if (s->half)
                word = word >> (i % 2 ? 16 : 0) & 0xffff;
            if (word != sum_bits(s, sum))
                fail_msg("%s: row %u, column %u: %08x, expected %08x", s->types, row, column, word,
                         sum_bits(s, sum));
        }
}

static const char *tail_of(const struct shape *s, const struct layout *la, const struct layout *lb)
{
    static char tail[64];
    if (s->integers)
        return "";
    if (s->bytes != 2)
        return ", 1, 1";
    snprintf(tail, sizeof tail, ", 1, 1, %d, %d", la->transposed, lb->transposed);
    return tail;
}

static void product(const struct shape *s, const struct layout *la, const struct layout *lb)
{
    const unsigned registers = s->columns / (s->half ? 4 : 2);
    const struct strides sa = {la->transposed && la->span != 16 ? 2048 : 8192, 1024};
    const struct strides sb = {lb->transposed && lb->span != 16 ? 2048 : 8192, 1024};
    fill(s);
    begin(registers);
    sprintf(text + strlen(text), "wgmma.mma_async.sync.aligned.m64n%uk%u.%s ", s->columns, s->depth,
            s->types);
    add_list(registers);
    sprintf(text + strlen(text), ", %llu, %llu, %%p2%s;\n",
            (unsigned long long)descriptor(la, &sa, A_AT),
            (unsigned long long)descriptor(lb, &sb, 0), tail_of(s, la, lb));
    end(registers);
    open_kernel();
    lay(la, &sa, s, a, ROWS, (uint8_t *)bench_at(bench.in) + A_AT);
    lay(lb, &sb, s, b, s->columns, bench_at(bench.in));
    fill_sums(s);
    if (bench_run(0) != EXEC_DONE)
        fail_msg("%s: %s", s->types, bench.fault.text);
    check(s, 1, true);
}

static const struct shape halves = {"f32.f16.f16", 16, 16, 2, f16_bits, false, false};
static const struct layout wide = {128, false, 0};

static void products_of_each_type(void **state)
{
    static const struct shape shapes[] = {
        {"f32.f16.f16", 24, 16, 2, f16_bits, false, false},
        {"f16.f16.f16", 32, 16, 2, f16_bits, true, false},
        {"f32.bf16.bf16", 8, 16, 2, bf16_bits, false, false},
        {"f32.tf32.tf32", 16, 8, 4, bits32, false, false},
        {"f32.e4m3.e4m3", 16, 32, 1, e4m3_bits, false, false},
        {"f16.e4m3.e4m3", 16, 32, 1, e4m3_bits, true, false},
        {"f32.e5m2.e5m2", 16, 32, 1, e5m2_bits, false, false},
        {"s32.s8.s8", 32, 32, 1, s8_bits, false, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        product(&shapes[i], &wide, &wide);
}

static void matrices_in_each_layout(void **state)
{
    static const struct layout layouts[] = {
        {16, false, 0},   {32, false, 0}, {64, false, 0}, {64, false, 32}, {128, false, 32},
        {128, false, 96}, {16, true, 0},  {32, true, 0},  {64, true, 0},   {128, true, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        product(&halves, &layouts[i], &wide);
        product(&halves, &wide, &layouts[i]);
    }
}

/* The registers of a are those of mma in each warp, 16 rows of them. */
static void a_from_registers(void **state)
{
    (void)state;
    const struct strides s = {4096, 1024};
    fill(&halves);
    begin(8);
    strcat(text, "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 ");
    add_list(8);
    sprintf(text + strlen(text), ", {%%a0,%%a1,%%a2,%%a3}, %llu, %%p2, -1, 1, 0;\n",
            (unsigned long long)descriptor(&wide, &s, 0));
    end(8);
    open_kernel();
    lay(&wide, &s, &halves, b, 16, bench_at(bench.in));
    fill_sums(&halves);
    uint32_t *words = (uint32_t *)((uint8_t *)bench_at(bench.in) + AREA_BYTES - 2048);
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned r = 0; r < 4; r++) {
            const unsigned row = thread / 32 * 16 + thread % 32 / 4 + (r & 1 ? 8 : 0);
            const unsigned k = thread % 4 * 2 + (r & 2 ? 8 : 0);
            words[r * THREADS + thread] = f16_bits(a[row][k]) | f16_bits(a[row][k + 1]) << 16;
        }
    if (bench_run(0) != EXEC_DONE)
        fail_msg("%s", bench.fault.text);
    check(&halves, -1, true);
    assert_int_equal(bench_run(1), EXEC_DONE); /* %p2 is false: d does not count */
    check(&halves, -1, false);
}

/* ---- what is no product ---- */

#define PRODUCT "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%s0,%s1,%s2,%s3}, "

static void faulty(const char *product, unsigned threads, enum exec_outcome outcome,
                   const char *words)
{
    begin(4);
    strcat(text, product);
    end(4);
    open_kernel();
    bench.launch.block[0] = threads;
    expect_fault(outcome, words);
}

static void faults(void **state)
{
    (void)state;
    faulty(PRODUCT "0, 0, %p2, 1, 1, 0, 0;\n", 96, EXEC_ILLEGAL_INSTRUCTION, "fewer");
    faulty(PRODUCT "2047, 0, %p2, 1, 1, 0, 0;\n", 128, EXEC_ILLEGAL_ADDRESS, "shared memory");
    faulty(PRODUCT "0, 562949953421312, %p2, 1, 1, 0, 0;\n", 128, EXEC_ILLEGAL_INSTRUCTION,
           "base offset");
    faulty("setp.lt.u32 %p3, %r2, 16;\n@%p3 " PRODUCT "0, 0, %p2, 1, 1, 0, 0;\n", 128,
           EXEC_ILLEGAL_INSTRUCTION, "parted");
}

static void what_is_not_known_is_refused(void **state)
{
    static const char *const texts[] = {
        "wgmma.mma_async.sync.aligned.m64n8k8.f32.f16.f16 {%s0,%s1,%s2,%s3}, 0, 0, %p2, 1, 1, 0, "
        "0;\n",
        "wgmma.mma_async.sync.aligned.m64n8k16.f16.bf16.bf16 {%s0,%s1}, 0, 0, %p2, 1, 1, 0, 0;\n",
        "wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%s0,%s1,%s2,%s3,%s4,%s5}, 0, 0, %p2, "
        "1, 1, 0, 0;\n",
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%s0,%s1,%s2,%s3}, 0, 0, %p2, 1, 1, 0, "
        "0;\n",
        "wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 {%s0,%s1,%s2,%s3,%s4,%s5,%s6,%s7,%s8,"
        "%s9,%s10,%s11,%s12,%s13,%s14,%s15,%s16,%s17,%s18,%s19}, 0, 0, %p2;\n",
        "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%s0,%s1,%s2,%s3}, 0, 0, 0, 0, %p2, "
        "1, 1, 0, 0;\n",
        PRODUCT "0, 0, %p2, 1, 1, 0;\n",
        PRODUCT "0, 0, %p2, 2, 1, 0, 0;\n",
        PRODUCT "0, %r1, %p2, 1, 1, 0, 0;\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct error err = {{0}};
        begin(4);
        strcat(text, texts[i]);
        end(4);
        if (bench_try(text, &err) != STATUS_UNSUPPORTED || !strstr(err.text, "wgmma.mma_async"))
            fail_msg("text %zu: \"%s\"", i, err.text);
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
        cmocka_unit_test(products_of_each_type),
        cmocka_unit_test(matrices_in_each_layout),
        cmocka_unit_test(a_from_registers),
        cmocka_unit_test(faults),
        cmocka_unit_test(what_is_not_known_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, close_bench);
}
