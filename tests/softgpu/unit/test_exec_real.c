/*
 * test_exec_real.c - our own device code as nvcc translates it, run on the interpreter.
 *
 * $SOFTGPU_PTX names the folder with snapshot.ptx, refs.ptx and refs_wide.ptx; without it there is
 * nothing to test.
 */
#include "exec_bench.h"
#include <math.h>
#include "device/snapshot_abi.h"
#include "refs/ref_abi.h"
#include "refs/ref_batch.h"
#include "tests/ref_codes.h"

static char *text;

static bool open_file(const char *name)
{
    char path[4096];
    const char *folder = getenv("SOFTGPU_PTX");
    if (!folder)
        return false;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s cannot be read", path);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    free(text);
    text = malloc(size);
    assert_int_equal(fread(text, 1, size, file), size);
    fclose(file);
    bench_close();
    const struct exec_host host = {&bench, bench_find, bench_place};
    struct error err = {{0}};
    if (ptx_read(text, size, name, &bench.ptx, &err) ||
        exec_module_create(bench.ptx, &host, &bench.module, &err))
        fail_msg("%s", err.text);
    return true;
}

static void open_kernel(const char *name)
{
    struct error err = {{0}};
    struct exec_function *kernel = exec_find_kernel(bench.module, name);
    assert_non_null(kernel);
    if (exec_prepare(kernel, &err))
        fail_msg("%s", err.text);
    bench.launch = (struct exec_launch){.kernel = kernel, .grid = {1, 1, 1}, .block = {256, 1, 1}};
}

static void run_with(const void *params)
{
    bench.launch.params = params;
    if (exec_run(&bench.launch, &bench.fault))
        fail_msg("%s", bench.fault.text);
}

/* A reference with one call, on all blocks of the launch. */
static void run_call(const struct ref_call *call)
{
    struct ref_batch batch = {0};
    ref_batch_add(&batch, call, bench.launch.grid[0]);
    run_with(&batch);
}

static void every_kernel_can_be_prepared(void **state)
{
    (void)state;
    static const char *const names[] = {"snapshot.ptx", "refs.ptx", "refs_wide.ptx"};
    for (unsigned f = 0; f < 3; f++) {
        if (!open_file(names[f]))
            skip();
        unsigned kernels = 0;
        for (unsigned i = 0; i < bench.ptx->function_count; i++) {
            if (!bench.ptx->functions[i].is_entry)
                continue;
            open_kernel(bench.ptx->functions[i].name);
            kernels++;
        }
        assert_true(kernels >= 2);
    }
}

enum { ROWS = 24, ROW = 200, PITCH = 256, LONG = 3 * SNAPSHOT_CHUNK + 77, SKEW = 5 };

/* One long row at an odd address, and short rows with a pitch. */
static void set_segments(struct snapshot_call *call, uint64_t source)
{
    call->segment[0] = (struct snapshot_segment){.source = source + SKEW,
                                                 .target = SKEW,
                                                 .row_bytes = LONG,
                                                 .rows = 1,
                                                 .rows_per_chunk = 1,
                                                 .chunks_per_row = 4};
    call->segment[1] = (struct snapshot_segment){.source = source + 65536,
                                                 .target = 65536,
                                                 .row_bytes = ROW,
                                                 .rows = ROWS,
                                                 .source_pitch = PITCH,
                                                 .target_pitch = PITCH,
                                                 .first_chunk = 4,
                                                 .rows_per_chunk = 8,
                                                 .chunks_per_row = 1};
    call->header.segments = 2;
}

static bool is_copied(unsigned i)
{
    return (i >= SKEW && i < SKEW + LONG) ||
           (i >= 65536 && i < 65536 + ROWS * PITCH && (i - 65536) % PITCH < ROW);
}

static void a_snapshot_copies_just_its_rows(void **state)
{
    (void)state;
    enum { BYTES = 1 << 17 };
    if (!open_file("snapshot.ptx"))
        skip();
    open_kernel("cuvet_snapshot");
    uint64_t source = bench_area(BYTES), room = bench_area(BYTES * 4), words = bench_area(4096);
    struct snapshot_call call = {0};
    set_segments(&call, source);
    for (unsigned i = 0; i < BYTES; i++)
        ((uint8_t *)bench_at(source))[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
    struct snapshot_arena *arena = bench_at(words + 1024);
    *arena = (struct snapshot_arena){
        .bytes = BYTES * 4, .lap = BYTES * 4, .tail = (void *)(uintptr_t)(words + 2048)};
    call.header.seal = (void *)(uintptr_t)words;
    call.header.ticket = (void *)(uintptr_t)(words + 512);
    call.header.arena = (void *)(uintptr_t)(words + 1024);
    call.header.base = room;
    call.header.place = (void *)(uintptr_t)(words + 3072);
    call.header.bytes = BYTES;
    call.header.seals = 1;
    bench.launch.grid[0] = 4 + ROWS / 8;
    bench.launch.block[0] = SNAPSHOT_THREADS + SNAPSHOT_CLERKS;
    for (unsigned turn = 1; turn <= 3; turn++) {
        call.header.sequence = turn;
        bench.launch.seed = turn == 1 ? 0 : turn;
        memset(bench_at(room), 0xee, BYTES * 4);
        run_with(&call);
        const struct snapshot_seal *seal = bench_at(words);
        assert_int_equal(seal->sequence, turn);
        uint64_t begin = (turn - 1) * BYTES, word = (uint64_t)turn << SEAL_BITS;
        assert_int_equal(seal->begin, word | begin / SNAPSHOT_ALIGN);
        assert_int_equal(seal->end, word | (begin + BYTES) / SNAPSHOT_ALIGN);
        assert_int_equal(seal->started >> SEAL_BITS, turn);
        assert_int_equal(seal->stopped >> SEAL_BITS, turn);
        const uint8_t *from = bench_at(source), *to = bench_at(room + begin);
        for (unsigned i = 0; i < BYTES; i++)
            if (to[i] != (is_copied(i) ? from[i] : 0xee))
                fail_msg("byte %u of turn %u", i, turn);
    }
}

/* Whole chunks and others, into room that is free or is not. */
static void a_short_copy_waits_for_nobody_and_overwrites_nothing(void **state)
{
    (void)state;
    enum { BYTES = 1 << 17, PIECES = 4, VALUE = SKEW + 1000 };
    if (!open_file("snapshot.ptx"))
        skip();
    open_kernel("cuvet_snapshot_short");
    uint64_t source = bench_area(BYTES), room = bench_area(BYTES), words = bench_area(4096);
    struct snapshot_call_short call = {
        .piece = {{source + SKEW, SKEW, SNAPSHOT_CHUNK - SKEW},
                  {source + SNAPSHOT_CHUNK, SNAPSHOT_CHUNK, SNAPSHOT_CHUNK},
                  {source + 2 * SNAPSHOT_CHUNK, 2 * SNAPSHOT_CHUNK, SNAPSHOT_CHUNK - 77},
                  {source + 65536 + 3, 65536 + 3, 1}}};
    for (unsigned i = 0; i < BYTES; i++)
        ((uint8_t *)bench_at(source))[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
    const uint64_t copied = 3 * SNAPSHOT_CHUNK - 77;
    struct snapshot_reserve *reserve = bench_at(words + 1024);
    reserve->tail = (void *)(uintptr_t)(words + 2048);
    call.reserve = (void *)(uintptr_t)(words + 1024);
    call.header.seal = (void *)(uintptr_t)words;
    call.header.ticket = (void *)(uintptr_t)(words + 512);
    call.header.base = room;
    call.header.seals = call.header.values = 1;
    call.header.value[0] = VALUE << 4 | 1;
    bench.launch.grid[0] = PIECES;
    bench.launch.block[0] = SNAPSHOT_THREADS;
    /* The room is free; not yet; since then, as the host says; as a kernel before has seen. */
    static const struct {
        uint64_t needs, tail;
        bool fits;
    } turns[] = {
        {0, 0, true}, {500, 499, false}, {500, 600, true}, {600, 0, true}, {601, 0, false}};
    for (unsigned turn = 0; turn < sizeof turns / sizeof *turns; turn++) {
        const uint64_t sequence = turn + 1, word = sequence << SEAL_BITS;
        call.header.sequence = sequence;
        call.needs = turns[turn].needs;
        *(uint64_t *)bench_at(words + 2048) = turns[turn].tail;
        bench.launch.seed = turn;
        memset(bench_at(room), 0xee, BYTES);
        run_with(&call);
        const struct snapshot_seal *seal = bench_at(words);
        const bool fits = turns[turn].fits;
        assert_int_equal(seal->sequence, sequence);
        assert_int_equal(seal->begin, word);
        assert_int_equal(seal->end, word | fits);
        assert_int_equal(seal->started >> SEAL_BITS, sequence);
        assert_int_equal(seal->stopped >> SEAL_BITS, sequence);
        assert_int_equal(*(uint32_t *)bench_at(words + 512), 0);
        const uint8_t *from = bench_at(source), *to = bench_at(room);
        if (fits)
            assert_int_equal(seal->value[0], from[VALUE]);
        for (unsigned i = 0; i < BYTES; i++) {
            bool is = (i >= SKEW && i < copied) || i == 65536 + 3;
            if (to[i] != (fits && is ? from[i] : 0xee))
                fail_msg("byte %u of turn %u", i, turn);
        }
    }
}

/* A copy before a launch and the one behind it, in the same room, which may not be free for the
 * first and free for the second. */
static void half_a_short_snapshot_is_not_sealed(void **state)
{
    (void)state;
    enum { BYTES = 1 << 16, PIECES = 3, EARLIER = 2 * SNAPSHOT_CHUNK };
    if (!open_file("snapshot.ptx"))
        skip();
    open_kernel("cuvet_snapshot_short");
    uint64_t source = bench_area(BYTES), room = bench_area(BYTES), words = bench_area(4096);
    struct snapshot_reserve *reserve = bench_at(words + 1024);
    struct snapshot_place *place = bench_at(words + 3072);
    reserve->tail = (void *)(uintptr_t)(words + 2048);
    struct snapshot_call_short call = {.reserve = (void *)(uintptr_t)(words + 1024), .needs = 500};
    call.header.seal = (void *)(uintptr_t)words;
    call.header.ticket = (void *)(uintptr_t)(words + 512);
    call.header.place = (void *)(uintptr_t)(words + 3072);
    call.header.base = room;
    bench.launch.block[0] = SNAPSHOT_THREADS;
    static const struct {
        uint64_t first, second; /* the host's tail */
    } turns[] = {{500, 500}, {499, 500}, {499, 499}, {600, 600}};
    for (unsigned turn = 0; turn < sizeof turns / sizeof *turns; turn++) {
        const uint64_t sequence = turn + 1, word = sequence << SEAL_BITS;
        const bool first = turns[turn].first >= 500, second = turns[turn].second >= 500;
        const uint8_t *at = bench_at(room);
        call.header.sequence = sequence;
        reserve->tail_seen = 0;
        bench.launch.seed = turn;
        bench.launch.grid[0] = PIECES;
        memset(bench_at(source), (int)(2 * turn), BYTES);
        memset(bench_at(room), 0xee, BYTES);
        call.header.seals = 0;
        for (unsigned i = 0; i < PIECES; i++)
            call.piece[i] = (struct snapshot_piece){source + 256 * i, EARLIER + 256 * i, 100};
        *(uint64_t *)bench_at(words + 2048) = turns[turn].first;
        run_with(&call);
        const struct snapshot_seal *seal = bench_at(words);
        assert_int_equal(seal->sequence, sequence - 1);
        assert_int_equal(at[EARLIER + 512], first ? 2 * turn : 0xee);
        uint64_t busy = place->busy;
        memset(bench_at(source), (int)(2 * turn + 1), BYTES);
        call.header.seals = 1;
        for (unsigned i = 0; i < PIECES; i++)
            call.piece[i].target = 256 * i;
        *(uint64_t *)bench_at(words + 2048) = turns[turn].second;
        run_with(&call);
        assert_int_equal(seal->sequence, sequence);
        assert_int_equal(seal->begin, word);
        assert_int_equal(seal->end, word | (first && second));
        assert_true(seal->stopped - seal->started >= busy);
        assert_int_equal(at[512], second ? 2 * turn + 1 : 0xee);
        assert_int_equal(at[EARLIER + 512], first ? 2 * turn : 0xee);
        assert_int_equal(place->busy, 0);
        assert_int_equal(*(uint32_t *)bench_at(words + 512), 0);
    }
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

/* rmsnorm of those rows; what the GPU writes goes to `answers`. */
static struct ref_call rows_call(uint64_t x, uint64_t y, uint64_t answers)
{
    struct ref_call call = {.scalar = {1e-6},
                            .size = {REF_ROWS, REF_COLS},
                            .lambda = 8,
                            .unit_roundoff = 0x1p-24,
                            .underflow = 0x1p-126,
                            .pieces = 1,
                            .group = 32,
                            .partial = (void *)(uintptr_t)(answers + 4096),
                            .answer = (void *)(uintptr_t)answers,
                            .ticket = (void *)(uintptr_t)(answers + 2048)};
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
 * knows nothing, some are wrong. */
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

enum poke { RIGHT, NEXT, ZERO, SMALL, BAD };

/* One element of an input, and what the kernel makes of it: all is right, the next number, 0, a
 * small number, NaN. */
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
    {"silu", silu_row, -3, RIGHT, 0},
    {"silu", silu_row, -3, NEXT, 1},
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
    {"gelu", gelu_row, INFINITY, RIGHT, 0},
    {"gelu", gelu_row, -INFINITY, RIGHT, 0},
    {"gelu", gelu_row, -INFINITY, ZERO, 1},
    {"gelu", gelu_row, -NAN, ZERO, 1},
    {"gelu", gelu_row, 1e30, RIGHT, 0},
    {"gelu", gelu_row, 2, NEXT, 1},
};

/* Rows of bf16 with the case's element in the second one. */
static void set_special(uint16_t *x, uint16_t *y, const struct special_case *a)
{
    static double in[REF_COLS], out[REF_COLS];
    const unsigned at = REF_STRIDE + 100;
    for (unsigned r = 0; r < REF_ROWS; r++) {
        for (unsigned c = 0; c < REF_COLS; c++) {
            uint16_t code = bf16_of((double)((r * 31 + c * 17) % 97) / 16 - 3);
            if (r * REF_STRIDE + c == at)
                code = isnan(a->x) && signbit(a->x) ? 0xffff : bf16_of(a->x);
            x[r * REF_STRIDE + c] = code;
            in[c] = of_bf16(code);
        }
        a->row(out, in, REF_COLS);
        for (unsigned c = 0; c < REF_COLS; c++)
            y[r * REF_STRIDE + c] = bf16_of(out[c]);
    }
    const uint16_t poke[] = {
        [RIGHT] = y[at], [NEXT] = y[at] + 1, [ZERO] = 0, [SMALL] = bf16_of(1e-20), [BAD] = 0x7fff};
    y[at] = poke[a->poke];
}

static void a_pack_that_is_surely_right_is(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(special_cases) / sizeof(special_cases[0]); i++) {
        const struct special_case *a = &special_cases[i];
        char name[64];
        if (!open_file("refs.ptx"))
            skip();
        snprintf(name, sizeof(name), "cuvet_ref_%s_bf16", a->kernel);
        open_kernel(name);
        uint64_t x = bench_area(65536), y = bench_area(65536), answers = bench_area(65536);
        set_special(bench_at(x), bench_at(y), a);
        struct ref_call call = rows_call(x, y, answers);
        call.scalar[0] = 1;
        call.tensor[1] = call.tensor[2];
        call.tensor[2] = (struct ref_tensor){0};
        for (unsigned t = 0; t < 2; t++) {
            call.tensor[t].dtype = DTYPE_BF16;
            call.tensor[t].bytes = REF_ROWS * REF_STRIDE * 2;
        }
        bench.launch.grid[0] = 3;
        run_call(&call);
        const struct ref_verdict *v = bench_at(answers);
        assert_int_equal(v->checked, REF_ROWS * REF_COLS);
        assert_int_equal(v->refused, 0);
        if (v->violations != a->violations)
            fail_msg("%s of %g, case %u: %llu violations", a->kernel, a->x, i,
                     (unsigned long long)v->violations);
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
        for (unsigned c = 0; c < REF_BATCH; c++) {
            uint64_t x = inputs + c * ROOM, y = outputs + c * ROOM;
            set_rows(bench_at(x), bench_at(y), c % 3);
            struct ref_call call = rows_call(x, y, answers + c * ROOM);
            call.sequence = 100 + c;
            call.size[0] = REF_ROWS - c % 8; /* the answer tells one call from another */
            call.group = c & 1 ? REF_THREADS : 32;
            ref_batch_add(&batch, &call, 1 + (c * 5 + i) % 4);
        }
        bench.launch.grid[0] = ref_batch_blocks(&batch);
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
    return (struct ref_call){.size = {CODE_ROWS, CODE_COLS},
                             .sequence = 5,
                             .lambda = 8,
                             .unit_roundoff = 0x1p-24,
                             .underflow = 0x1p-126,
                             .pieces = 1,
                             .group = 32,
                             .partial = (void *)(uintptr_t)(answers + 4096),
                             .answer = (void *)(uintptr_t)answers,
                             .ticket = (void *)(uintptr_t)(answers + 2048)};
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
    for (int dtype = DTYPE_Q4_0; dtype <= DTYPE_Q6_K; dtype++) {
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

static int close_bench(void **state)
{
    (void)state;
    bench_close();
    free(text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_can_be_prepared),
        cmocka_unit_test(a_snapshot_copies_just_its_rows),
        cmocka_unit_test(a_short_copy_waits_for_nobody_and_overwrites_nothing),
        cmocka_unit_test(half_a_short_snapshot_is_not_sealed),
        cmocka_unit_test(a_reference_finds_the_wrong_elements),
        cmocka_unit_test(a_number_of_a_row_may_be_finer_than_the_row),
        cmocka_unit_test(a_pack_that_is_surely_right_is),
        cmocka_unit_test(calls_of_one_launch_are_judged_apart),
        cmocka_unit_test(blocks_are_decoded),
        cmocka_unit_test(groups_have_their_scales),
    };
    return cmocka_run_group_tests_name("exec, our device code", tests, NULL, close_bench);
}
