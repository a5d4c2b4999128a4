/* test_exec_refs.c - the references' kernels as nvcc translates them, run on the interpreter. */
#include "real_bench.h"
#include <math.h>
#include "refs/abi/ref_abi.h"
#include "refs/abi/ref_batch.h"
#include "tests/common/ref_codes.h"

/* A reference with one call, on all blocks of the launch. */
static void run_call(const struct ref_call *call)
{
    struct ref_batch batch = {0};
    ref_batch_alone(&batch, call, bench.launch.grid[0]);
    run_with(&batch);
}

enum { REF_ROWS = 12, REF_COLS = 1021, REF_STRIDE = 1024 };

/* y = x / rms(x), in f32; some elements are spoilt. */
static void set_rows(float *x, float *y, unsigned spoilt)
{
    for (unsigned r = 0; r < REF_ROWS; r++) {
        double sum = 0;
        for (unsigned c = 0; c < REF_COLS; c++) {
            float v = (float)((r * 31 + c * 17) % 97) / 29.0f - 1.5f;
            x[r * REF_STRIDE + c] = v;
            sum += (double)v * v;
        }
        double inv = 1 / sqrt(sum / REF_COLS + 1e-6);
        for (unsigned c = 0; c < REF_COLS; c++)
            y[r * REF_STRIDE + c] = (float)((double)x[r * REF_STRIDE + c] * inv);
    }
    for (unsigned i = 0; i < spoilt; i++)
        y[(i + 1) * REF_STRIDE + 100] += 0.25f;
}

/* A call of a kernel in f32 over rows x cols; what the GPU writes goes to `answers`. */
static struct ref_call call_over(int64_t rows, int64_t cols, uint64_t answers)
{
    return (struct ref_call){.size = {rows, cols},
                             .lambda = 8,
                             .unit_roundoff = 0x1p-24,
                             .underflow = 0x1p-126,
                             .pieces = 1,
                             .group = 32,
                             .partial = (void *)(uintptr_t)(answers + 4096),
                             .answer = (void *)(uintptr_t)answers,
                             .ticket = (void *)(uintptr_t)(answers + 2048)};
}

/* rmsnorm of those rows. */
static struct ref_call rows_call(uint64_t x, uint64_t y, uint64_t answers)
{
    struct ref_call call = call_over(REF_ROWS, REF_COLS, answers);
    call.scalar[0] = 1e-6;
    struct ref_tensor t = {.bytes = REF_ROWS * REF_STRIDE * 4,
                           .dim = {REF_ROWS, REF_COLS},
                           .stride = {REF_STRIDE, 1},
                           .dtype = DTYPE_F32,
                           .ndim = 2};
    call.tensor[0] = call.tensor[2] = t;
    call.tensor[0].in = (void *)(uintptr_t)x;
    call.tensor[1].absent = 1;
    call.tensor[2].got = (void *)(uintptr_t)y;
    return call;
}

static void a_reference_finds_the_wrong_elements(void **state)
{
    (void)state;
    static const char *const kernels[] = {"cuvet_ref_rmsnorm", "cuvet_ref_rmsnorm_wide",
                                          "cuvet_ref_rmsnorm_f32"};
    for (unsigned i = 0; i < 9; i++) {
        if (!open_file(i % 3 == 1 ? "refs_wide.ptx" : "refs.ptx"))
            skip();
        open_kernel(kernels[i % 3]);
        uint64_t x = bench_area(65536), y = bench_area(65536), answers = bench_area(65536);
        struct ref_call call = rows_call(x, y, answers);
        call.sequence = 77 + i;
        call.group = i & 1 ? REF_THREADS : 32;
        set_rows(bench_at(x), bench_at(y), i);
        bench.launch.grid[0] = 3;
        bench.launch.seed = i / 3;
        run_call(&call);
        const struct ref_verdict *v = bench_at(answers);
        assert_int_equal(v->sequence, 77 + i);
        assert_int_equal(v->checked, REF_ROWS * REF_COLS);
        assert_int_equal(v->violations, i);
        assert_int_equal(v->refused, 0);
        if (i)
            assert_int_equal(v->first_index, REF_COLS + 100);
    }
}

/* The kernel for rows of bf16 judges the rows' f32 numbers as such: by a thousandth, of which bf16
 * has no value, some are wrong. */
static void a_number_of_a_row_may_be_finer_than_the_row(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        if (!open_file("refs.ptx"))
            skip();
        open_kernel("cuvet_ref_row_max_bf16");
        uint64_t x = bench_area(65536), y = bench_area(65536), answers = bench_area(65536);
        uint16_t *rows = bench_at(x);
        float *most = bench_at(y);
        for (unsigned r = 0; r < REF_ROWS; r++) {
            most[r] = 0;
            for (unsigned c = 0; c < REF_COLS; c++) {
                float v = (float)((r * 31 + c * 17) % 97 + r);
                uint32_t bits;
                memcpy(&bits, &v, sizeof(bits));
                rows[r * REF_STRIDE + c] = (uint16_t)(bits >> 16);
                most[r] = v > most[r] ? v : most[r];
            }
            most[r] *= r < i ? 1.001f : 1.0f;
        }
        struct ref_call call = rows_call(x, y, answers);
        call.tensor[0].dtype = DTYPE_BF16;
        call.tensor[0].bytes = REF_ROWS * REF_STRIDE * 2;
        call.tensor[1] = (struct ref_tensor){.got = (void *)(uintptr_t)y,
                                             .bytes = REF_ROWS * 4,
                                             .dim = {REF_ROWS},
                                             .stride = {1},
                                             .dtype = DTYPE_F32,
                                             .ndim = 1};
        call.group = i & 1 ? REF_THREADS : 32;
        bench.launch.grid[0] = 3;
        run_call(&call);
        const struct ref_verdict *v = bench_at(answers);
        assert_int_equal(v->checked, REF_ROWS);
        assert_int_equal(v->violations, i);
        assert_int_equal(v->refused, 0);
    }
}

/* ---- packs of bf16, which are judged by their values first ---- */

static uint16_t bf16_of(double value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    if (isnan(value))
        return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double of_bf16(uint16_t code)
{
    uint32_t bits = (uint32_t)code << 16;
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

static void softmax_row(double *y, const double *x, unsigned count)
{
    double most = -INFINITY, sum = 0;
    for (unsigned c = 0; c < count; c++)
        most = isnan(x[c]) || x[c] > most ? x[c] : most;
    for (unsigned c = 0; c < count; c++)
        sum += y[c] = exp(x[c] - most);
    for (unsigned c = 0; c < count; c++)
        y[c] /= sum;
}

static void log_softmax_row(double *y, const double *x, unsigned count)
{
    double most = -INFINITY, sum = 0;
    for (unsigned c = 0; c < count; c++)
        most = isnan(x[c]) || x[c] > most ? x[c] : most;
    for (unsigned c = 0; c < count; c++)
        sum += exp(x[c] - most);
    for (unsigned c = 0; c < count; c++)
        y[c] = x[c] - most - log(sum);
}

static void silu_row(double *y, const double *x, unsigned count)
{
    for (unsigned c = 0; c < count; c++)
        y[c] = x[c] * (1 / (1 + exp(-x[c])));
}

static void gelu_row(double *y, const double *x, unsigned count)
{
    for (unsigned c = 0; c < count; c++)
        y[c] = x[c] * 0.5 * (1 + erf(x[c] * sqrt(0.5)));
}

static void twice_row(double *y, const double *x, unsigned count)
{
    for (unsigned c = 0; c < count; c++)
        y[c] = 2 * x[c];
}

enum poke { RIGHT, NEXT, BEFORE, ZERO, MINUS, SMALL, TINY, BAD, BEYOND };

/* One element of an input, and what the kernel makes of it: what is right, the number beyond or
 * before that, 0, -0, a small number, the smallest one, NaN, Inf. */
static const struct special_case {
    const char *kernel;
    void (*row)(double *, const double *, unsigned);
    double x;
    enum poke poke;
    unsigned violations;
} special_cases[] = {
    {"softmax", softmax_row, 1.5, RIGHT, 0},
    {"softmax", softmax_row, 1.5, NEXT, 1},
    {"softmax", softmax_row, -INFINITY, RIGHT, 0},
    {"softmax", softmax_row, -INFINITY, SMALL, 1},
    {"softmax", softmax_row, -1000, RIGHT, 0},
    {"softmax", softmax_row, -1000, SMALL, 1},
    {"softmax", softmax_row, -3e38, RIGHT, 0},
    {"softmax", softmax_row, 3e38, RIGHT, 0},
    {"softmax", softmax_row, NAN, RIGHT, 0},
    {"softmax", softmax_row, NAN, ZERO, 1},
    {"softmax", softmax_row, -INFINITY, BAD, 1},
    {"softmax", softmax_row, -INFINITY, MINUS, 0},
    {"softmax", softmax_row, -INFINITY, TINY, 0},
    {"softmax", softmax_row, NAN, MINUS, 1},
    {"softmax", softmax_row, INFINITY, RIGHT, 0},
    {"softmax", softmax_row, INFINITY, ZERO, 1},
    {"softmax", softmax_row, 1e6, RIGHT, 0},
    {"softmax", softmax_row, 1e6, NEXT, 1},
    {"log_softmax", log_softmax_row, 1.5, RIGHT, 0},
    {"log_softmax", log_softmax_row, 1.5, NEXT, 1},
    {"log_softmax", log_softmax_row, 1.5, BEFORE, 1},
    {"log_softmax", log_softmax_row, 1000, RIGHT, 0},
    {"log_softmax", log_softmax_row, 1000, SMALL, 0},
    {"log_softmax", log_softmax_row, -1e6, NEXT, 1},
    {"log_softmax", log_softmax_row, -INFINITY, RIGHT, 0},
    {"log_softmax", log_softmax_row, -INFINITY, ZERO, 1},
    {"log_softmax", log_softmax_row, INFINITY, RIGHT, 0},
    {"log_softmax", log_softmax_row, INFINITY, ZERO, 1},
    {"log_softmax", log_softmax_row, NAN, RIGHT, 0},
    {"log_softmax", log_softmax_row, NAN, ZERO, 1},
    {"silu", silu_row, -3, RIGHT, 0},
    {"silu", silu_row, -3, NEXT, 1},
    {"silu", silu_row, -3, BEFORE, 1},
    {"silu", silu_row, 1.0078125, BEFORE, 1},
    {"silu", silu_row, -800, RIGHT, 0},
    {"silu", silu_row, -800, SMALL, 1},
    {"silu", silu_row, 800, RIGHT, 0},
    {"silu", silu_row, 3e38, NEXT, 1},
    {"silu", silu_row, INFINITY, RIGHT, 0},
    {"silu", silu_row, INFINITY, ZERO, 1},
    {"silu", silu_row, NAN, RIGHT, 0},
    {"silu", silu_row, NAN, ZERO, 1},
    {"silu", silu_row, -NAN, RIGHT, 0},
    {"silu", silu_row, -NAN, ZERO, 1},
    {"silu", silu_row, 0, RIGHT, 0},
    {"silu", silu_row, 0, SMALL, 1},
    {"silu", silu_row, 0, MINUS, 0},
    {"silu", silu_row, 0, TINY, 0},
    {"silu", silu_row, 0, BAD, 1},
    {"silu", silu_row, -800, BAD, 1},
    {"silu", silu_row, NAN, MINUS, 1},
    {"silu", silu_row, -NAN, MINUS, 1},
    {"silu", silu_row, 3.3895e38, RIGHT, 0},
    {"silu", silu_row, 3.3895e38, BEYOND, 1},
    {"silu", silu_row, 2, BEYOND, 1},
    {"scale", twice_row, 1.5, RIGHT, 0},
    {"scale", twice_row, 1.5, NEXT, 1},
    {"scale", twice_row, 3e38, BEYOND, 0},
    {"scale", twice_row, 1.68e38, BEYOND, 1},
    {"scale", twice_row, -1.68e38, BEYOND, 1},
    {"scale", twice_row, -NAN, MINUS, 1},
    {"gelu", gelu_row, INFINITY, RIGHT, 0},
    {"gelu", gelu_row, -INFINITY, RIGHT, 0},
    {"gelu", gelu_row, -INFINITY, ZERO, 1},
    {"gelu", gelu_row, -NAN, ZERO, 1},
    {"gelu", gelu_row, 1e30, RIGHT, 0},
    {"gelu", gelu_row, 2, NEXT, 1},
};

/* Rows of bf16 with the case's element in the second one. */
static void set_special(uint16_t *x, uint16_t *y, const struct special_case *a, unsigned cols)
{
    static double in[REF_STRIDE], out[REF_STRIDE];
    const unsigned at = REF_STRIDE + 100;
    for (unsigned r = 0; r < REF_ROWS; r++) {
        for (unsigned c = 0; c < cols; c++) {
            uint16_t code = bf16_of((double)((r * 31 + c * 17) % 97) / 16 - 3);
            if (r * REF_STRIDE + c == at)
                code = isnan(a->x) && signbit(a->x) ? 0xffff : bf16_of(a->x);
            x[r * REF_STRIDE + c] = code;
            in[c] = of_bf16(code);
        }
        a->row(out, in, cols);
        for (unsigned c = 0; c < cols; c++)
            y[r * REF_STRIDE + c] = bf16_of(out[c]);
    }
    const uint16_t poke[] = {[RIGHT] = y[at],
                             [NEXT] = (uint16_t)(y[at] + 1),
                             [BEFORE] = (uint16_t)(y[at] - 1),
                             [ZERO] = 0,
                             [MINUS] = 0x8000,
                             [SMALL] = bf16_of(1e-20),
                             [TINY] = 1,
                             [BAD] = 0x7fff,
                             [BEYOND] = 0x7f80};
    y[at] = poke[a->poke];
}

/* (y - what is right) in ulps that bf16 has there, 0 for what is no number. */
static void set_errors(double *error, const uint16_t *x, const uint16_t *y,
                       const struct special_case *a, unsigned cols)
{
    static double in[REF_STRIDE], out[REF_STRIDE];
    for (unsigned r = 0; r < REF_ROWS; r++) {
        for (unsigned c = 0; c < cols; c++)
            in[c] = of_bf16(x[r * REF_STRIDE + c]);
        a->row(out, in, cols);
        for (unsigned c = 0; c < cols; c++) {
            double got = of_bf16(y[r * REF_STRIDE + c]);
            double ulps = out[c] == got ? 0 : ldexp(got - out[c], 7 - ilogb(out[c]));
            error[r * cols + c] = isfinite(got) ? ulps : 0;
        }
    }
}

/* Rows of bf16, judged by a kernel; `answers` has room for the parts of all blocks. */
static const struct ref_verdict *judge_rows(uint64_t x, uint64_t y, unsigned cols, uint32_t group,
                                            double scalar)
{
    uint64_t answers = bench_area(1 << 18);
    struct ref_call call = rows_call(x, y, answers);
    call.size[1] = cols;
    call.group = group;
    call.scalar[0] = scalar;
    call.tensor[1] = call.tensor[2];
    call.tensor[2] = (struct ref_tensor){0};
    for (unsigned t = 0; t < 2; t++) {
        call.tensor[t].dtype = DTYPE_BF16;
        call.tensor[t].bytes = REF_ROWS * REF_STRIDE * 2;
        call.tensor[t].dim[1] = cols;
    }
    run_call(&call);
    const struct ref_verdict *v = bench_at(answers);
    assert_int_equal(v->checked, REF_ROWS * cols);
    assert_int_equal(v->refused, 0);
    return v;
}

/* The case's rows, judged by the kernel for bf16. */
static const struct ref_verdict *judge_special(const struct special_case *a, unsigned cols,
                                               uint32_t group, unsigned blocks, double *out)
{
    char name[64];
    snprintf(name, sizeof(name), "cuvet_ref_%s_bf16", a->kernel);
    open_kernel(name);
    uint64_t x = bench_area(65536), y = bench_area(65536);
    set_special(bench_at(x), bench_at(y), a, cols);
    bench.launch.grid[0] = blocks;
    const struct ref_verdict *v = judge_rows(x, y, cols, group, a->row == twice_row ? 2 : 1);
    if (out)
        set_errors(out, bench_at(x), bench_at(y), a, cols);
    return v;
}

/* A kernel whose last lanes have no element counts them as zeros: their e^x is added up too. */
static void what_lies_behind_a_row_is_no_part_of_it(void **state)
{
    (void)state;
    static double in[REF_STRIDE], out[REF_STRIDE];
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        if (!open_file("refs.ptx"))
            skip();
        open_kernel("cuvet_ref_softmax_bf16");
        uint64_t x = bench_area(65536), y = bench_area(65536);
        uint16_t *from = bench_at(x), *to = bench_at(y);
        for (unsigned r = 0; r < REF_ROWS; r++) {
            for (unsigned c = 0; c < REF_STRIDE; c++) {
                in[c] = c < REF_COLS ? (r * 31 + c * 17) % 97 / 16.0 - 3 : 0;
                from[r * REF_STRIDE + c] = bf16_of(in[c]);
                in[c] = of_bf16(from[r * REF_STRIDE + c]);
            }
            softmax_row(out, in, wrong ? REF_STRIDE : REF_COLS);
            for (unsigned c = 0; c < REF_COLS; c++)
                to[r * REF_STRIDE + c] = bf16_of(out[c]);
        }
        bench.launch.grid[0] = 3;
        const struct ref_verdict *v = judge_rows(x, y, REF_COLS, 32, 1);
        assert_true(wrong ? v->violations > v->checked / 20 : v->violations == 0);
    }
}

/* Rows of whole packs and others: of the first, sums are near ones at first. */
static const unsigned special_cols[] = {REF_COLS, REF_STRIDE};

static void a_pack_that_is_surely_right_is(void **state)
{
    (void)state;
    const unsigned cases = sizeof(special_cases) / sizeof(special_cases[0]);
    for (unsigned i = 0; i < 2 * cases; i++) {
        const struct special_case *a = &special_cases[i / 2];
        if (!open_file("refs.ptx"))
            skip();
        const struct ref_verdict *v =
            judge_special(a, special_cols[i % 2], i / 2 % 2 ? REF_THREADS : 32, 3, NULL);
        if (v->violations != a->violations)
            fail_msg("%s of %g, case %u: %llu violations", a->kernel, a->x, i / 2,
                     (unsigned long long)v->violations);
    }
}

/* The figures of packs that are right by the quick test are those of their errors, whichever block
 * has judged them: of one, of some, of more than a block has threads. */
static void figures_are_those_of_the_errors(void **state)
{
    (void)state;
    static const struct special_case cases[] = {{"silu", silu_row, 1, RIGHT, 0},
                                                {"silu", silu_row, 1, BEYOND, 1},
                                                {"softmax", softmax_row, 1, RIGHT, 0},
                                                {"softmax", softmax_row, 1, BEYOND, 1},
                                                {"scale", twice_row, 1, RIGHT, 0}};
    static const unsigned blocks[] = {1, 7, 520};
    for (unsigned i = 0; i < 5 * 3 * 2; i++) {
        if (!open_file("refs.ptx"))
            skip();
        double error[REF_ROWS * REF_STRIDE], square = 0, sum = 0;
        const struct special_case *a = &cases[i / 6];
        const unsigned cols = special_cols[i % 2];
        const struct ref_verdict *v = judge_special(a, cols, 32, blocks[i / 2 % 3], error);
        for (unsigned k = 0; k < REF_ROWS * cols; k++) {
            square += error[k] * error[k];
            sum += error[k];
        }
        assert_int_equal(v->violations, a->violations);
        assert_int_equal(v->measured, REF_ROWS * cols - a->violations);
        if (fabs(v->sum_square - square) > 0.002 * square + 1e-9 || fabs(v->sum_signed - sum) > 0.5)
            fail_msg("%s, %u blocks: %g and %g, expected %g and %g", a->kernel, blocks[i / 2 % 3],
                     v->sum_square, v->sum_signed, square, sum);
    }
}

/* Each call of a launch has its blocks, its rows and its answer, whatever the others find. */
static void calls_of_one_launch_are_judged_apart(void **state)
{
    (void)state;
    enum { ROOM = 65536 };
    static const char *const kernels[] = {"cuvet_ref_rmsnorm", "cuvet_ref_rmsnorm_wide",
                                          "cuvet_ref_rmsnorm_f32"};
    for (unsigned i = 0; i < 3; i++) {
        if (!open_file(i == 1 ? "refs_wide.ptx" : "refs.ptx"))
            skip();
        open_kernel(kernels[i]);
        struct ref_batch batch = {0};
        uint64_t inputs = bench_area(REF_BATCH * ROOM), outputs = bench_area(REF_BATCH * ROOM);
        uint64_t answers = bench_area(REF_BATCH * ROOM);
        uint64_t calls = bench_area(REF_BATCH * sizeof(struct ref_call));
        for (unsigned c = 0; c < REF_BATCH; c++) {
            uint64_t x = inputs + c * ROOM, y = outputs + c * ROOM;
            set_rows(bench_at(x), bench_at(y), c % 3);
            struct ref_call call = rows_call(x, y, answers + c * ROOM);
            call.sequence = 100 + c;
            call.size[0] = REF_ROWS - c % 8; /* the answer distinguishes the calls */
            call.group = c & 1 ? REF_THREADS : 32;
            ref_batch_add(&batch, bench_at(calls), &call, 1 + (c * 5 + i) % 4);
        }
        assert_int_equal(ref_batch_close(&batch, bench_at(calls), calls),
                         REF_BATCH * sizeof(struct ref_call));
        bench.launch.grid[0] = batch.blocks;
        bench.launch.seed = i;
        run_with(&batch);
        for (unsigned c = 0; c < REF_BATCH; c++) {
            const struct ref_verdict *v = bench_at(answers + c * ROOM);
            assert_int_equal(v->sequence, 100 + c);
            assert_int_equal(v->checked, (REF_ROWS - c % 8) * REF_COLS);
            assert_int_equal(v->violations, c % 3);
            assert_int_equal(v->refused, 0);
        }
    }
}

enum { CODE_ROWS = 2, CODE_COLS = 512, CODE_GROUP = 32 };

/* A call over two rows whose answer goes to `answers`. */
static struct ref_call codes_call(uint64_t answers)
{
    struct ref_call call = call_over(CODE_ROWS, CODE_COLS, answers);
    call.sequence = 5;
    return call;
}

static struct ref_tensor codes_tensor(enum dtype dtype, int64_t cols, int64_t size)
{
    bool block = code_is_block((int)dtype);
    int64_t steps = block ? cols / block_elements((int)dtype) : cols;
    return (struct ref_tensor){.dim = {CODE_ROWS, cols},
                               .stride = {block ? steps * size : steps, block ? size : 1},
                               .bytes = CODE_ROWS * steps * size,
                               .dtype = (uint8_t)dtype,
                               .ndim = 2};
}

static void expect_codes(uint64_t answers, unsigned violations)
{
    const struct ref_verdict *v = bench_at(answers);
    assert_int_equal(v->sequence, 5);
    assert_int_equal(v->checked, CODE_ROWS * CODE_COLS);
    assert_int_equal(v->refused, 0);
    assert_int_equal(v->violations, violations);
}

static void blocks_are_decoded(void **state)
{
    (void)state;
    for (int dtype = DTYPE_Q4_0; dtype <= DTYPE_LAST_BLOCK; dtype++) {
        if (!open_file("refs_wide.ptx"))
            skip();
        open_kernel("cuvet_ref_dequantise_blocks_wide");
        uint64_t w = bench_area(8192), y = bench_area(8192), answers = bench_area(65536);
        int size = block_bytes(dtype), per_block = block_elements(dtype);
        uint8_t *block = bench_at(w);
        float *out = bench_at(y);
        static struct block_values values;
        for (int b = 0; b < CODE_ROWS * CODE_COLS / per_block; b++, block += size) {
            for (int i = 0; i < size; i++)
                block[i] = (uint8_t)(b * 89 + i * 151 + i * i * 7 + dtype);
            block_settle(dtype, block);
            block_decode(dtype, block, BLOCK_RIGHT, &values);
            for (int i = 0; i < per_block; i++)
                out[b * per_block + i] = (float)(values.step[i] + values.low[i]);
        }
        struct ref_call call = codes_call(answers);
        call.tensor[0] = codes_tensor((enum dtype)dtype, CODE_COLS, size);
        call.tensor[0].in = (void *)(uintptr_t)w;
        call.tensor[1] = codes_tensor(DTYPE_F32, CODE_COLS, 4);
        call.tensor[1].got = (void *)(uintptr_t)y;
        run_call(&call);
        expect_codes(answers, 0);
        out[CODE_COLS + 33] += 0.01f;
        run_call(&call);
        expect_codes(answers, 1);
    }
}

/* f8 with a scale for each 32 columns: a pack of the GPU divided by a number. */
static void groups_have_their_scales(void **state)
{
    (void)state;
    if (!open_file("refs_wide.ptx"))
        skip();
    open_kernel("cuvet_ref_dequantise_wide");
    enum { SCALES = CODE_COLS / CODE_GROUP };
    uint64_t q = bench_area(8192), s = bench_area(8192), y = bench_area(8192);
    uint64_t answers = bench_area(65536);
    uint8_t *codes = bench_at(q);
    float *scale = bench_at(s), *out = bench_at(y);
    for (int i = 0; i < CODE_ROWS * SCALES; i++)
        scale[i] = 0.5f + (float)i;
    for (int i = 0; i < CODE_ROWS * CODE_COLS; i++) {
        codes[i] = (uint8_t)(i % 2 << 7 | (i * 5 + 1) % 127);
        out[i] = (float)f8_value(DTYPE_F8E4M3, codes[i]) * scale[i / CODE_GROUP];
    }
    struct ref_call call = codes_call(answers);
    call.size[2] = CODE_ROWS, call.size[3] = SCALES;
    call.tensor[0] = codes_tensor(DTYPE_F8E4M3, CODE_COLS, 1);
    call.tensor[0].in = (void *)(uintptr_t)q;
    call.tensor[1] = codes_tensor(DTYPE_F32, SCALES, 4);
    call.tensor[1].dim[1] = SCALES;
    call.tensor[1].in = (void *)(uintptr_t)s;
    call.tensor[3] = codes_tensor(DTYPE_F32, CODE_COLS, 4);
    call.tensor[3].got = (void *)(uintptr_t)y;
    run_call(&call);
    expect_codes(answers, 0);
    float kept = out[3 * CODE_GROUP - 1]; /* the last of a group, by the next one's scale */
    out[3 * CODE_GROUP - 1] = kept / scale[2] * scale[3];
    run_call(&call);
    expect_codes(answers, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reference_finds_the_wrong_elements),
        cmocka_unit_test(a_number_of_a_row_may_be_finer_than_the_row),
        cmocka_unit_test(a_pack_that_is_surely_right_is),
        cmocka_unit_test(figures_are_those_of_the_errors),
        cmocka_unit_test(what_lies_behind_a_row_is_no_part_of_it),
        cmocka_unit_test(calls_of_one_launch_are_judged_apart),
        cmocka_unit_test(blocks_are_decoded),
        cmocka_unit_test(groups_have_their_scales),
    };
    return cmocka_run_group_tests_name("exec, references", tests, NULL, close_bench);
}
