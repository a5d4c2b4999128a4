/* test_exec_tensor.c - mma, ldmatrix and stmatrix: whole matrices, spread over lanes by the tables
 * of the PTX ISA, against their product. */
#include "exec_bench.h"
#include "tensor_numbers.h"

enum { ROWS = 16, COLUMNS = 8, DEPTH = 32 };

static double a[ROWS][DEPTH], b[DEPTH][COLUMNS], c[ROWS][COLUMNS];

static void fill(bool integers)
{
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < DEPTH; k++)
            a[i][k] = draw(integers);
    for (int k = 0; k < DEPTH; k++)
        for (int j = 0; j < COLUMNS; j++)
            b[k][j] = draw(integers);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            c[i][j] = draw(integers);
}

/* A shape with its types, and where the ISA puts number i of a lane: of a (row, k), of b (k). */
struct shape {
    const char *name;
    int depth, numbers_a, numbers_b, in_word;
    uint32_t (*bits)(double);
    bool half, integers;
};

/* Of m8 a lane has as many numbers of a as of b. */
static int sums_of(const struct shape *s)
{
    return s->numbers_a == s->numbers_b ? 2 : 4;
}

static void place_a(const struct shape *s, int lane, int i, int *row, int *k)
{
    const int group = lane >> 2, in_group = lane % 4;
    if (s->in_word == 1) { /* .tf32 */
        *row = i == 0 || i == 2 ? group : group + 8;
        *k = i < 2 ? in_group : in_group + 4;
    } else if (s->in_word == 2) { /* .f16 and .bf16 */
        *row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
        *k = in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    } else { /* 8 bits */
        *row = i < 4 || (i >= 8 && i < 12) ? group : group + 8;
        *k = in_group * 4 + (i & 3) + (i >= 8 ? 16 : 0);
    }
}

static int place_b(const struct shape *s, int lane, int i)
{
    const int in_group = lane % 4;
    if (s->in_word == 1)
        return i ? in_group + 4 : in_group;
    if (s->in_word == 2)
        return in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0);
    return in_group * 4 + (i & 3) + (i >= 4 ? 16 : 0);
}

/* Words of registers: of a, b and c in turn, 32 lanes each. */
static void spread(const struct shape *s, uint32_t *words)
{
    const int regs_a = s->numbers_a / s->in_word, regs_b = s->numbers_b / s->in_word;
    memset(words, 0, 12 * 32 * 4);
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < s->numbers_a; i++) {
            int row, k;
            place_a(s, lane, i, &row, &k);
            words[i / s->in_word * 32 + lane] |= s->bits(a[row][k])
                                                 << 32 / s->in_word * (i % s->in_word);
        }
        for (int i = 0; i < s->numbers_b; i++)
            words[(regs_a + i / s->in_word) * 32 + lane] |=
                s->bits(b[place_b(s, lane, i)][lane >> 2]) << 32 / s->in_word * (i % s->in_word);
        for (int i = 0; i < sums_of(s); i++) {
            const double x = c[(lane >> 2) + (i < 2 ? 0 : 8)][lane % 4 * 2 + (i & 1)];
            uint32_t *word = words + (regs_a + regs_b + (s->half ? i / 2 : i)) * 32 + lane;
            *word |= s->half       ? f16_bits(x) << 16 * (i & 1)
                     : s->integers ? (uint32_t)(int32_t)x
                                   : bits32(x);
        }
    }
}

static void list(char *text, int first, int count)
{
    strcat(text, "{");
    for (int i = 0; i < count; i++)
        sprintf(text + strlen(text), "%%r%d%s", first + i, i + 1 < count ? "," : "}");
}

static void run(const struct shape *s)
{
    static char text[8192];
    const int regs_a = s->numbers_a / s->in_word, regs_b = s->numbers_b / s->in_word;
    const int sums = s->half ? 2 : sums_of(s), all = regs_a + regs_b + sums;
    strcpy(text, HEADER BEGIN "mul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd5, %rd2, %rd6;\n");
    for (int i = 0; i < all; i++)
        sprintf(text + strlen(text), "ld.global.u32 %%r%d, [%%rd5+%d];\n", 20 + i, 128 * i);
    sprintf(text + strlen(text), "mma.sync.aligned.%s ", s->name);
    list(text, 40, sums);
    strcat(text, ", ");
    list(text, 20, regs_a);
    strcat(text, ", ");
    list(text, 20 + regs_a, regs_b);
    strcat(text, ", ");
    list(text, 20 + regs_a + regs_b, sums);
    strcat(text, ";\n");
    for (int i = 0; i < sums; i++)
        sprintf(text + strlen(text), "st.global.u32 [%%rd4+%d], %%r%d;\n", 128 * i, 40 + i);
    strcat(text, "ret;\n}\n");
    bench_open(text);
    spread(s, bench_at(bench.in));
    assert_int_equal(bench_run(0), EXEC_DONE);
}

static void check(const struct shape *s)
{
    const uint32_t *got = bench_at(bench.out);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < sums_of(s); i++) {
            const int row = (lane >> 2) + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
            double sum = c[row][column];
            for (int k = 0; k < s->depth; k++)
                sum += a[row][k] * b[k][column];
            const uint32_t word = got[(s->half ? i / 2 : i) * 32 + lane];
            const uint32_t want = s->half       ? f16_bits(sum)
                                  : s->integers ? (uint32_t)(int32_t)sum
                                                : bits32(sum);
            if ((s->half ? word >> 16 * (i & 1) & 0xffff : word) != want)
                fail_msg("%s: row %d, column %d: %08x, expected %08x", s->name, row, column, word,
                         want);
        }
}

static const struct shape shapes[] = {
    {"m16n8k16.row.col.f32.f16.f16.f32", 16, 8, 4, 2, f16_bits, false, false},
    {"m16n8k16.row.col.f16.f16.f16.f16", 16, 8, 4, 2, f16_bits, true, false},
    {"m16n8k8.row.col.f32.f16.f16.f32", 8, 4, 2, 2, f16_bits, false, false},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 8, 4, 2, bf16_bits, false, false},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", 8, 4, 2, 2, bf16_bits, false, false},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", 8, 4, 2, 1, bits32, false, false},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", 4, 2, 1, 1, bits32, false, false},
    {"m16n8k32.row.col.s32.s8.s8.s32", 32, 16, 8, 4, s8_bits, false, true},
    {"m16n8k16.row.col.s32.s8.s8.s32", 16, 8, 4, 4, s8_bits, false, true},
    {"m8n8k16.row.col.s32.s8.s8.s32", 16, 4, 4, 4, s8_bits, false, true},
    {"m16n8k16.row.col.f32.e4m3.e4m3.f32", 16, 8, 4, 4, e4m3_bits, false, false},
    {"m16n8k32.row.col.f32.e4m3.e4m3.f32", 32, 16, 8, 4, e4m3_bits, false, false},
    {"m16n8k32.row.col.f32.e5m2.e5m2.f32", 32, 16, 8, 4, e5m2_bits, false, false},
};

static void products_of_matrices(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        fill(shapes[i].integers);
        run(&shapes[i]);
        check(&shapes[i]);
    }
}

/* ---- m8n8k4: four products, each of 8 lanes ---- */

static double quad_a[4][8][4], quad_b[4][4][8], quad_c[4][8][8];

static void fill_quads(void)
{
    for (int i = 0; i < 4 * 8 * 4; i++) {
        (&quad_a[0][0][0])[i] = draw(false);
        (&quad_b[0][0][0])[i] = draw(false);
    }
    for (int i = 0; i < 4 * 8 * 8; i++)
        (&quad_c[0][0][0])[i] = draw(false);
}

/* By the tables of the ISA: the four numbers of a and b, and the eight of c. */
static double number_of_a(int lane, int i, bool rows)
{
    const int part = lane < 16 ? 0 : 4;
    return quad_a[lane % 16 / 4][rows ? lane % 4 + part : i + part][rows ? i : lane % 4];
}

static double number_of_b(int lane, int i, bool rows)
{
    const int part = lane < 16 ? 0 : 4;
    return quad_b[lane % 16 / 4][rows ? lane % 4 : i][rows ? i + part : lane % 4 + part];
}

static void place_quad_sum(int lane, int i, bool half, int *row, int *column)
{
    const int part = lane < 16 ? 0 : 4;
    *row = (half ? lane % 4 : (lane & 1) + (i & 2)) + part;
    *column = half ? i : (i & 4) + (lane & 2) + (i & 1);
}

static void spread_quads(uint32_t *words, bool a_rows, bool b_rows, bool half)
{
    memset(words, 0, 12 * 32 * 4);
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < 4; i++) {
            words[i / 2 * 32 + lane] |= f16_bits(number_of_a(lane, i, a_rows)) << 16 * (i % 2);
            words[(2 + i / 2) * 32 + lane] |= f16_bits(number_of_b(lane, i, b_rows))
                                              << 16 * (i % 2);
        }
        for (int i = 0; i < 8; i++) {
            int row, column;
            place_quad_sum(lane, i, half, &row, &column);
            const double x = quad_c[lane % 16 / 4][row][column];
            words[(4 + (half ? i / 2 : i)) * 32 + lane] |=
                half ? f16_bits(x) << 16 * (i % 2) : bits32(x);
        }
    }
}

static void check_quads(const uint32_t *got, bool half)
{
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 8; i++) {
            const int quad = lane % 16 / 4;
            int row, column;
            place_quad_sum(lane, i, half, &row, &column);
            double sum = quad_c[quad][row][column];
            for (int k = 0; k < 4; k++)
                sum += quad_a[quad][row][k] * quad_b[quad][k][column];
            const uint32_t word = got[(half ? i / 2 : i) * 32 + lane];
            assert_int_equal(half ? word >> 16 * (i % 2) & 0xffff : word,
                             half ? f16_bits(sum) : bits32(sum));
        }
}

static void run_quads(bool a_rows, bool b_rows, bool half)
{
    static char text[8192];
    const int sums = half ? 4 : 8;
    strcpy(text, HEADER BEGIN "mul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd5, %rd2, %rd6;\n");
    for (int i = 0; i < 4 + sums; i++)
        sprintf(text + strlen(text), "ld.global.u32 %%r%d, [%%rd5+%d];\n", 20 + i, 128 * i);
    sprintf(text + strlen(text), "mma.sync.aligned.m8n8k4.%s.%s.%s ", a_rows ? "row" : "col",
            b_rows ? "row" : "col", half ? "f16.f16.f16.f16" : "f32.f16.f16.f32");
    list(text, 40, sums);
    strcat(text, ", {%r20,%r21}, {%r22,%r23}, ");
    list(text, 24, sums);
    strcat(text, ";\n");
    for (int i = 0; i < sums; i++)
        sprintf(text + strlen(text), "st.global.u32 [%%rd4+%d], %%r%d;\n", 128 * i, 40 + i);
    strcat(text, "ret;\n}\n");
    bench_open(text);
    spread_quads(bench_at(bench.in), a_rows, b_rows, half);
    assert_int_equal(bench_run(0), EXEC_DONE);
}

static void products_of_quad_pairs(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        fill_quads();
        run_quads(i & 1, i & 2, i & 4);
        check_quads(bench_at(bench.out), i & 4);
    }
}

static void sums_of_integers_stop_or_wrap(void **state)
{
    (void)state;
    const struct shape wraps = shapes[7];
    static const struct shape stops = {
        "m16n8k32.row.col.satfinite.s32.s8.s8.s32", 32, 16, 8, 4, s8_bits, false, true};
    for (int k = 0; k < DEPTH; k++)
        for (int i = 0; i < ROWS; i++)
            a[i][k] = b[k][i % COLUMNS] = 100;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            c[i][j] = INT32_MAX - 5;
    run(&wraps);
    assert_int_equal(((uint32_t *)bench_at(bench.out))[0], (uint32_t)INT32_MAX - 5 + 320000);
    run(&stops);
    assert_int_equal(((uint32_t *)bench_at(bench.out))[0], INT32_MAX);
}

/* What a tf32 has below its 10 digits does not count. */
static void the_last_digits_of_tf32_do_not_count(void **state)
{
    (void)state;
    fill(false);
    a[0][0] = 1 + 0x1p-11;
    run(&shapes[5]);
    a[0][0] = 1;
    check(&shapes[5]);
}

/* Matrix m has 256 m + 8 row + column in it; row r of m lies 16 (8 m + r) bytes from the start. */
#define SHARED                                                                                     \
    ".shared .align 16 .b8 s[1024];\nmov.u32 %r10, s;\nmul.lo.u32 %r11, %r2, 16;\n"                \
    "add.u32 %r12, %r10, %r11;\n"
#define FILL                                                                                       \
    "mul.wide.u32 %rd6, %r11, 1;\nadd.s64 %rd7, %rd2, %rd6;\n"                                     \
    "ld.global.v4.u32 {%r20,%r21,%r22,%r23}, [%rd7];\n"                                            \
    "st.shared.v4.u32 [%r12], {%r20,%r21,%r22,%r23};\nbar.sync 0;\n"
#define STORE_FOUR                                                                                 \
    "st.global.u32 [%rd4], %r30;\nst.global.u32 [%rd4+128], %r31;\n"                               \
    "st.global.u32 [%rd4+256], %r32;\nst.global.u32 [%rd4+384], %r33;\nret;\n}\n"

static void fill_halves(void)
{
    uint16_t *in = bench_at(bench.in);
    for (int i = 0; i < 256; i++)
        in[i] = (uint16_t)(256 * (i / 64) + i % 64);
}

static void expect_matrices(int count, bool transposed)
{
    const uint32_t *got = bench_at(bench.out);
    for (int m = 0; m < count; m++)
        for (int lane = 0; lane < 32; lane++)
            for (int e = 0; e < 2; e++) {
                int row = lane / 4, column = lane % 4 * 2 + e;
                int want = 256 * m + (transposed ? 8 * column + row : 8 * row + column);
                assert_int_equal(got[32 * m + lane] >> 16 * e & 0xffff, want);
            }
}

static void matrices_from_shared_memory(void **state)
{
    (void)state;
    bench_open(
        HEADER BEGIN SHARED FILL
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r30,%r31,%r32,%r33}, [%r12];\n" STORE_FOUR);
    fill_halves();
    bench_results(1, 32, 0);
    expect_matrices(4, false);
    bench_open(HEADER BEGIN SHARED FILL "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 "
                                        "{%r30,%r31,%r32,%r33}, [%r12];\n" STORE_FOUR);
    fill_halves();
    bench_results(1, 32, 0);
    expect_matrices(4, true);
    /* Only the first 16 lanes have addresses. */
    bench_open(HEADER BEGIN SHARED FILL
               "setp.ge.u32 %p1, %r2, 16;\n@%p1 mov.u32 %r12, -16;\n"
               "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r30,%r31}, [%r12];\n" STORE_FOUR);
    fill_halves();
    bench_results(1, 32, 0);
    expect_matrices(2, false);
}

static void matrices_to_shared_memory(void **state)
{
    (void)state;
    for (int trans = 0; trans < 2; trans++) {
        bench_open(
            trans ? HEADER BEGIN SHARED FILL
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r20,%r21,%r22,%r23}, [%r12];\n"
                "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r12], {%r20,%r21,%r22,%r23};\n"
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r30,%r31,%r32,%r33}, "
                "[%r12];\n" STORE_FOUR
                  : HEADER BEGIN SHARED FILL
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r20,%r21,%r22,%r23}, [%r12];\n"
                "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r12], {%r20,%r21,%r22,%r23};\n"
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r30,%r31,%r32,%r33}, "
                "[%r12];\n" STORE_FOUR);
        fill_halves();
        bench_results(1, 32, 0);
        expect_matrices(4, !trans);
    }
}

static void faults(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN SHARED
               "add.u32 %r12, %r12, 8;\n"
               "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r30}, [%r12];\n" STORE_FOUR);
    expect_fault(EXEC_MISALIGNED, "ldmatrix");
    bench_open(HEADER BEGIN SHARED
               "add.u32 %r12, %r12, 1024;\n"
               "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r30}, [%r12];\n" STORE_FOUR);
    expect_fault(EXEC_ILLEGAL_ADDRESS, "ldmatrix");
    bench_open(HEADER BEGIN SHARED
               "setp.ge.u32 %p1, %r2, 16;\n"
               "@%p1 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r30}, [%r12];\n" STORE_FOUR);
    expect_fault(EXEC_ILLEGAL_INSTRUCTION, "parted");
}

/* Lanes that parted, some of which are cut off behind the others, wait for each other. */
static void parted_lanes_meet_at_a_matrix(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN SHARED
               "mov.u32 %r20, %r2;\nMORE:\nsetp.eq.u32 %p2, %r20, 0;\n@%p2 bra MEET;\n"
               "sub.u32 %r20, %r20, 1;\nbra MORE;\nMEET:\n"
               "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r30}, [%r12];\n" STORE_FOUR);
    for (unsigned seed = 0; seed < 40; seed++) {
        bench.launch.seed = seed;
        assert_int_equal(bench_run(0), EXEC_DONE);
    }
}

static void what_is_not_known_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, "
        "{%r1,%r2}, {%r1,%r2,%r3,%r4};\n",
        "mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, "
        "{%r1,%r2}, {%r1,%r2,%r3,%r4};\n",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1,%r2,%r3}, {%r1,%r2,%r3,%r4}, "
        "{%r1,%r2}, {%r1,%r2,%r3,%r4};\n",
        "mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16 {%r1,%r2}, {%r1,%r2,%r3,%r4}, "
        "{%r1,%r2}, {%r1,%r2};\n",
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, "
        "{%r1,%r2}, {%r1,%r2,%r3,%r4};\n",
        "mma.sync.aligned.m8n8k4.row.col.f32.bf16.bf16.f32 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, "
        "{%r1,%r2}, {%r1,%r2}, {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8};\n",
        "mma.sync.aligned.m8n8k16.row.col.f32.e4m3.e4m3.f32 {%r1,%r2}, {%r1}, {%r1}, {%r1,%r2};\n",
        "ldmatrix.sync.aligned.m16n16.x1.shared.b16 {%r1}, [%r2];\n",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r2];\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        static char text[4096];
        struct error err = {{0}};
        snprintf(text, sizeof text, "%s%s%s", HEADER BEGIN, texts[i], END);
        assert_int_equal(bench_try(text, &err), STATUS_UNSUPPORTED);
        assert_non_null(strstr(err.text, "test.ptx:17: "));
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
        cmocka_unit_test(products_of_matrices),
        cmocka_unit_test(products_of_quad_pairs),
        cmocka_unit_test(sums_of_integers_stop_or_wrap),
        cmocka_unit_test(the_last_digits_of_tf32_do_not_count),
        cmocka_unit_test(matrices_from_shared_memory),
        cmocka_unit_test(matrices_to_shared_memory),
        cmocka_unit_test(faults),
        cmocka_unit_test(parted_lanes_meet_at_a_matrix),
        cmocka_unit_test(what_is_not_known_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, close_bench);
}
