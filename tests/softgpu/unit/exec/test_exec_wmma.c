/* test_exec_wmma.c - what nvcc makes of nvcuda::wmma, against the products of matrices; and forms
 * that are refused or fault. */
#include "real_bench.h"
#include "tensor_numbers.h"

enum { MOST = 32, PITCH = 40 };

static uint32_t whole_bits(double x)
{
    return (uint32_t)(int32_t)x;
}

static uint32_t byte_bits(double x)
{
    return (uint8_t)(int)x;
}

/* Kernels of wmma.cu: sizes, bytes of a number, and which matrices lie by columns. */
struct kernel {
    const char *name;
    unsigned m, n, k, bytes, sum_bytes;
    uint32_t (*bits)(double);
    uint32_t (*sum_bits)(double);
    bool integers, column_a, column_b, column_c;
};

static const struct kernel kernels[] = {
    {"square_f16", 16, 16, 16, 2, 4, f16_bits, bits32, false, false, true, false},
    {"square_f16_half", 16, 16, 16, 2, 2, f16_bits, f16_bits, false, true, false, true},
    {"tall_f16", 32, 8, 16, 2, 4, f16_bits, bits32, false, false, false, true},
    {"wide_f16_half", 8, 32, 16, 2, 2, f16_bits, f16_bits, false, false, true, false},
    {"square_bf16", 16, 16, 16, 2, 4, bf16_bits, bits32, false, false, false, false},
    {"tall_bf16", 32, 8, 16, 2, 4, bf16_bits, bits32, false, true, true, false},
    {"square_tf32", 16, 16, 8, 4, 4, bits32, bits32, false, false, true, true},
    {"square_s8", 16, 16, 16, 1, 4, byte_bits, whole_bits, true, false, true, false},
    {"wide_s8", 8, 32, 16, 1, 4, byte_bits, whole_bits, true, true, false, true},
    {"tall_u8", 32, 8, 16, 1, 4, byte_bits, whole_bits, true, false, true, false},
};

/* Row i, column j of a matrix whose rows, or columns, are PITCH numbers apart. */
static uint8_t *number_at(void *matrix, bool column, unsigned bytes, unsigned i, unsigned j)
{
    return (uint8_t *)matrix + (size_t)bytes * (column ? j * PITCH + i : i * PITCH + j);
}

struct matrix {
    double x[MOST][MOST];
    uint64_t address;
};

static void fill(struct matrix *m, const struct kernel *k, unsigned rows, unsigned columns,
                 unsigned bytes, bool column, uint32_t (*bits)(double))
{
    m->address = bench_area(MOST * PITCH * 4);
    for (unsigned i = 0; i < rows; i++)
        for (unsigned j = 0; j < columns; j++) {
            double x = draw(k->integers);
            x = strcmp(k->name, "tall_u8") || bytes == 4 ? x : x + 200; /* beyond a signed byte */
            const uint32_t word = bits(x);
            m->x[i][j] = x;
            memcpy(number_at(bench_at(m->address), column, bytes, i, j), &word, bytes);
        }
}

static void run_kernel(const struct kernel *k)
{
    struct matrix a, b, c;
    open_kernel(k->name);
    bench.launch.block[0] = 32;
    fill(&a, k, k->m, k->k, k->bytes, k->column_a, k->bits);
    fill(&b, k, k->k, k->n, k->bytes, k->column_b, k->bits);
    fill(&c, k, k->m, k->n, k->sum_bytes, k->column_c, k->sum_bits);
    struct {
        uint64_t a, b, c, d;
        uint32_t stride[3];
    } args = {a.address, b.address, c.address, bench_area(MOST * PITCH * 4), {PITCH, PITCH, PITCH}};
    run_with(&args);
    for (unsigned i = 0; i < k->m; i++)
        for (unsigned j = 0; j < k->n; j++) {
            double sum = c.x[i][j];
            uint32_t got = 0;
            for (unsigned n = 0; n < k->k; n++)
                sum += a.x[i][n] * b.x[n][j];
            memcpy(&got, number_at(bench_at(args.d), k->column_c, k->sum_bytes, i, j),
                   k->sum_bytes);
            if (got != k->sum_bits(sum))
                fail_msg("%s: row %u, column %u: %08x, expected %08x", k->name, i, j, got,
                         k->sum_bits(sum));
        }
}

static void products_of_each_shape_and_type(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (!open_file("wmma.ptx"))
            skip();
        run_kernel(kernels + i);
    }
}

/* Sums in f32 over a depth of 48 become halves, number by number. */
static void sums_go_on_from_tile_to_tile(void **state)
{
    (void)state;
    enum { SIDE = 16, DEPTH = 48 };
    double a[SIDE][DEPTH], b[DEPTH][SIDE];
    if (!open_file("wmma.ptx"))
        skip();
    open_kernel("tiles_f16");
    bench.launch.block[0] = 32;
    struct {
        uint64_t a, b, d;
        uint32_t depth;
    } args = {bench_area(SIDE * DEPTH * 2), bench_area(SIDE * DEPTH * 2),
              bench_area(SIDE * SIDE * 2), DEPTH};
    uint16_t *to_a = bench_at(args.a), *to_b = bench_at(args.b), *got = bench_at(args.d);
    for (unsigned i = 0; i < SIDE * DEPTH; i++) {
        to_a[i] = (uint16_t)f16_bits(a[i / DEPTH][i % DEPTH] = draw(false));
        to_b[i] = (uint16_t)f16_bits(b[i / SIDE][i % SIDE] = draw(false));
    }
    run_with(&args);
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        double sum = 0;
        for (unsigned k = 0; k < DEPTH; k++)
            sum += a[i / SIDE][k] * b[k][i % SIDE];
        assert_int_equal(got[i], f16_bits(2 * sum));
    }
}

/* ---- PTX by hand ---- */

#define EIGHT(a, b, c, d, e, f, g, h)                                                              \
    "{%r" #a ",%r" #b ",%r" #c ",%r" #d ",%r" #e ",%r" #f ",%r" #g ",%r" #h "}"
#define FIRST  EIGHT(10, 11, 12, 13, 14, 15, 16, 17)
#define SECOND EIGHT(20, 21, 22, 23, 24, 25, 26, 27)

/* Without a stride rows lie behind each other. */
static void a_stride_may_be_left_out(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN "wmma.load.c.sync.aligned.row.m16n16k16.f32 " FIRST ", [%rd2];\n"
                            "wmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%rd1], " FIRST
                            ", 16;\nret;\n}\n");
    uint32_t *in = bench_at(bench.in);
    for (uint32_t i = 0; i < 256; i++)
        in[i] = i;
    const uint32_t *out = bench_results(1, 32, 0);
    for (uint32_t i = 0; i < 256; i++)
        assert_int_equal(out[i], i % 16 * 16 + i / 16);
}

static void a_fragment_outside_of_memory_faults(void **state)
{
    (void)state;
    bench_open(HEADER BEGIN "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " FIRST
                            ", [%rd2], 65536;\nret;\n}\n");
    expect_fault(EXEC_ILLEGAL_ADDRESS, "wmma.load");
    bench_open(HEADER BEGIN "setp.lt.u32 %p1, %r2, 16;\n@%p1 wmma.load.a.sync.aligned.row.m16n16k16"
                            ".global.f16 " FIRST ", [%rd2], 16;\nret;\n}\n");
    expect_fault(EXEC_ILLEGAL_INSTRUCTION, "parted");
}

static void forms_that_are_not_known_are_refused(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "wmma.load.a.sync.aligned.row.m16n16k8.global.f16 " FIRST ", [%rd2], 16;\n",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r10,%r11}, [%rd2], 16;\n",
        "wmma.load.d.sync.aligned.row.m16n16k16.global.f32 " FIRST ", [%rd2], 16;\n",
        "wmma.load.a.sync.aligned.row.m8n8k32.global.s4 {%r10}, [%rd2], 32;\n",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16.bf16.f32 " FIRST ", " FIRST ", " SECOND
        ", " FIRST ";\n",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32 {%r10,%r11,%r12,%r13}, " FIRST ", " SECOND
        ", " FIRST ";\n",
    };
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
        char form[2048];
        struct error err = {{0}};
        snprintf(form, sizeof form, "%s%s%s", HEADER BEGIN, forms[i], END);
        if (bench_try(form, &err) != STATUS_UNSUPPORTED || !strstr(err.text, "wmma"))
            fail_msg("%s: \"%s\"", forms[i], err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_each_shape_and_type),
        cmocka_unit_test(sums_go_on_from_tile_to_tile),
        cmocka_unit_test(a_stride_may_be_left_out),
        cmocka_unit_test(a_fragment_outside_of_memory_faults),
        cmocka_unit_test(forms_that_are_not_known_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, close_bench);
}
