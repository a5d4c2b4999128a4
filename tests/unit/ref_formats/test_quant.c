/*
 * test_quant.c - formats of 8 bits and fewer, on the host: every code of f8, every block format and
 * the faults that its decoders have, rounding and saturation of quantised outputs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "refs/abi/ref_host.h"
#include "tests/common/ref_codes.h"

enum { CODES = 256 };

static struct ref_verdict answer;
static struct ref_call call;

static void start(void)
{
    call = (struct ref_call){.lambda = 8,
                             .unit_roundoff = 0x1p-24,
                             .underflow = 0x1p-126,
                             .pieces = 1,
                             .group = 1,
                             .answer = &answer};
}

/* Tensor `slot` of `call`: rows x cols, dense. */
static struct ref_tensor *put(int slot, enum dtype dtype, const void *memory, int64_t rows,
                              int64_t cols)
{
    static const uint8_t bytes[] = {
        [DTYPE_F64] = 8,    [DTYPE_F32] = 4, [DTYPE_F16] = 2, [DTYPE_F8E4M3] = 1,
        [DTYPE_F8E5M2] = 1, [DTYPE_I8] = 1,  [DTYPE_I64] = 8, [DTYPE_U8] = 1};
    struct ref_tensor *t = &call.tensor[slot];
    bool block = code_is_block((int)dtype);
    int64_t size = block ? block_bytes((int)dtype) : bytes[dtype];
    int64_t steps = block ? cols / block_elements((int)dtype) : cols;
    *t = (struct ref_tensor){.in = memory,
                             .dtype = (uint8_t)dtype,
                             .ndim = 2,
                             .dim = {rows, cols},
                             .stride = {block ? steps * size : steps, block ? size : 1},
                             .bytes = rows * steps * size,
                             .id = (uint32_t)slot};
    return t;
}

static void put_output(int slot, enum dtype dtype, const void *memory, int64_t rows, int64_t cols)
{
    struct ref_tensor *t = put(slot, dtype, memory, rows, cols);
    t->got = t->in;
    t->in = NULL;
}

static void run(const char *name)
{
    memset(&answer, 0, sizeof answer);
    assert_int_equal(ref_host_run(name, &call, 0), 0);
}

/* ---- f8 ---- */

/* The numbers that the formats' definitions name. */
static void the_tests_own_f8_is_the_standards(void **state)
{
    (void)state;
    static const struct {
        enum dtype dtype;
        int byte;
        double value;
    } rows[] = {{DTYPE_F8E4M3, 0x7e, 448},       {DTYPE_F8E4M3, 0x08, 0x1p-6},
                {DTYPE_F8E4M3, 0x07, 0x1.cp-7},  {DTYPE_F8E4M3, 0x01, 0x1p-9},
                {DTYPE_F8E4M3, 0x38, 1},         {DTYPE_F8E4M3, 0xb9, -1.125},
                {DTYPE_F8E5M2, 0x7b, 57344},     {DTYPE_F8E5M2, 0x04, 0x1p-14},
                {DTYPE_F8E5M2, 0x03, 0x1.8p-15}, {DTYPE_F8E5M2, 0x01, 0x1p-16},
                {DTYPE_F8E5M2, 0x3c, 1},         {DTYPE_F8E5M2, 0x7c, INFINITY}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(f8_value(rows[i].dtype, rows[i].byte) == rows[i].value);
        if (isfinite(rows[i].value))
            assert_int_equal(f8_byte(rows[i].dtype, rows[i].value), rows[i].byte);
    }
    assert_true(isnan(f8_value(DTYPE_F8E4M3, 0x7f)) && isnan(f8_value(DTYPE_F8E4M3, 0xff)));
    assert_true(isnan(f8_value(DTYPE_F8E5M2, 0x7d)) && isnan(f8_value(DTYPE_F8E5M2, 0xff)));
}

static const enum dtype f8[] = {DTYPE_F8E4M3, DTYPE_F8E5M2};

/* cast of all codes to f64, under rule bitwise: each must read as its value, and as no other. */
static void every_code_reads_as_its_value(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        uint8_t codes[CODES];
        double values[CODES];
        for (int i = 0; i < CODES; i++) {
            codes[i] = (uint8_t)i;
            values[i] = f8_value((int)f8[k], i);
        }
        start();
        call.unit_roundoff = 0x1p-53;
        call.size[0] = 1, call.size[1] = CODES;
        put(0, f8[k], codes, 1, CODES);
        put_output(1, DTYPE_F64, values, 1, CODES);
        call.tensor[1].rule = RULE_BITWISE;
        run("cast");
        assert_int_equal(answer.checked, CODES);
        assert_int_equal(answer.violations, 0);
        for (int i = 0; i < CODES; i++) {
            double right = values[i];
            values[i] = isfinite(right) ? right + 0x1p-20 : 1;
            run("cast");
            values[i] = right;
            assert_int_equal(answer.violations, 1);
        }
    }
}

/* One element by `cast`: how many violations if the kernel wrote `byte` for x? */
static uint64_t cast_to(enum dtype dtype, float x, int byte)
{
    uint8_t code = (uint8_t)byte;
    start();
    call.size[0] = call.size[1] = 1;
    put(0, DTYPE_F32, &x, 1, 1);
    put_output(1, dtype, &code, 1, 1);
    run("cast");
    assert_int_equal(answer.checked, 1);
    return answer.violations;
}

/* Numbers between all neighbours: the nearer one is right and the other wrong; at a tie both are
 * right. A power of two is held to the wider step above it. */
static void f8_outputs_are_rounded_to_nearest(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        int most = f8_byte((int)f8[k], 1e9);
        for (int i = 0; i < most; i++) {
            double low = f8_value((int)f8[k], i), high = f8_value((int)f8[k], i + 1);
            for (int sign = 0; sign < 256; sign += 128) {
                float unit = sign ? -1 : 1;
                float below = (float)(low + (high - low) * 0.4375) * unit;
                float above = (float)(low + (high - low) * 0.5625) * unit;
                float tie = (float)((low + high) / 2) * unit;
                int fraction = k == 0 ? 7 : 3;
                bool wider = ((i + 1) & fraction) == 0 && i > fraction;
                assert_int_equal(f8_byte((int)f8[k], below), i | sign);
                assert_int_equal(f8_byte((int)f8[k], tie) & 1, 0);
                assert_int_equal(cast_to(f8[k], below, i | sign), 0);
                assert_int_equal(cast_to(f8[k], below, (i + 1) | sign), wider ? 0 : 1);
                assert_int_equal(cast_to(f8[k], above, (i + 1) | sign), 0);
                assert_int_equal(cast_to(f8[k], above, i | sign), 1);
                assert_int_equal(cast_to(f8[k], tie, i | sign), 0);
                assert_int_equal(cast_to(f8[k], tie, (i + 1) | sign), 0);
            }
        }
    }
}

static void f8_outputs_saturate_or_overflow(void **state)
{
    (void)state;
    assert_int_equal(cast_to(DTYPE_F8E4M3, 460, 0x7e), 0); /* 448 is the nearest */
    assert_int_equal(cast_to(DTYPE_F8E4M3, 460, 0x7f), 1);
    assert_int_equal(cast_to(DTYPE_F8E4M3, 5000, 0x7e), 0);
    assert_int_equal(cast_to(DTYPE_F8E4M3, 5000, 0x7f), 0);
    assert_int_equal(cast_to(DTYPE_F8E4M3, 5000, 0xfe), 1);
    assert_int_equal(cast_to(DTYPE_F8E4M3, 5000, 0x7d), 1);
    assert_int_equal(cast_to(DTYPE_F8E5M2, 1e5f, 0x7b), 0);
    assert_int_equal(cast_to(DTYPE_F8E5M2, 1e5f, 0x7c), 0);
    assert_int_equal(cast_to(DTYPE_F8E5M2, 1e5f, 0xfc), 1);
    assert_int_equal(cast_to(DTYPE_F8E5M2, 1e5f, 0x7a), 1);
    assert_int_equal(cast_to(DTYPE_F8E4M3, NAN, 0xff), 0);
    assert_int_equal(cast_to(DTYPE_F8E4M3, NAN, 0x7e), 1);
}

/* ---- blocks ---- */

enum { ROWS = 3, COLS = 768 };

static uint8_t memory[ROWS * COLS * 2], activations[COLS * 2];
static struct block_values decoded;

static void draw(enum dtype dtype, uint8_t *out, int64_t elements, uint64_t seed)
{
    int bytes = block_bytes((int)dtype);
    for (int64_t b = 0; b < elements / block_elements((int)dtype); b++) {
        for (int i = 0; i < bytes; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            out[b * bytes + i] = (uint8_t)(seed >> 56);
        }
        block_settle((int)dtype, out + b * bytes);
    }
}

/* What a kernel's decoder makes of `memory`, with a fault or without. */
static void dequantise(enum dtype dtype, int fault, float y[ROWS * COLS])
{
    int per_block = block_elements((int)dtype);
    for (int i = 0; i < ROWS * COLS; i++) {
        if (i % per_block == 0)
            block_decode((int)dtype, memory + i / per_block * block_bytes((int)dtype), fault,
                         &decoded);
        y[i] = (float)decoded.step[i % per_block] + (float)decoded.low[i % per_block];
    }
}

static void judge_dequantised(enum dtype dtype, int fault)
{
    static float y[ROWS * COLS];
    dequantise(dtype, fault, y);
    start();
    call.size[0] = ROWS, call.size[1] = COLS;
    put(0, dtype, memory, ROWS, COLS);
    put_output(1, DTYPE_F32, y, ROWS, COLS);
    run("dequantise_blocks");
    assert_int_equal(answer.refused, 0);
    assert_int_equal(answer.checked, ROWS * COLS);
}

/* mul_mat_vec_q on one row of activations in q8_1, block by block in f32. */
static void judge_product(enum dtype dtype, int fault)
{
    static struct block_values x[COLS / 32];
    int per_block = block_elements((int)dtype), bytes = block_bytes((int)dtype);
    bool small = per_block == 32;
    float y[ROWS] = {0};
    for (int b = 0; b < COLS / 32; b++)
        block_decode(DTYPE_Q8_1, activations + 36 * b, BLOCK_RIGHT, &x[b]);
    for (int i = 0; i < ROWS * COLS; i++) {
        int j = i % COLS;
        if (i % per_block == 0)
            block_decode((int)dtype, memory + i / per_block * bytes, fault, &decoded);
        float value = (float)x[j / 32].step[j % 32];
        float common = small ? (float)x[j / 32].share[j % 32] : value;
        y[i / COLS] += (float)decoded.step[i % per_block] * value;
        y[i / COLS] += (float)decoded.low[i % per_block] * common;
    }
    start();
    call.size[0] = 1, call.size[1] = COLS, call.size[2] = ROWS;
    put(0, DTYPE_Q8_1, activations, 1, COLS);
    put(1, dtype, memory, ROWS, COLS);
    put_output(3, DTYPE_F32, y, 1, ROWS);
    run("linear_blocks");
    assert_int_equal(answer.refused, 0);
    assert_int_equal(answer.checked, ROWS);
    assert_int_equal(answer.wide, 0);
}

static void right_decoders_are_quiet(void **state)
{
    (void)state;
    for (int dtype = DTYPE_Q4_0; dtype <= DTYPE_LAST_BLOCK; dtype++) {
        for (uint64_t seed = 1; seed < 20; seed++) {
            draw((enum dtype)dtype, memory, ROWS * COLS, seed);
            draw(DTYPE_Q8_1, activations, COLS, seed + 100);
            judge_dequantised((enum dtype)dtype, BLOCK_RIGHT);
            assert_int_equal(answer.violations, 0);
            judge_product((enum dtype)dtype, BLOCK_RIGHT);
            assert_int_equal(answer.violations, 0);
        }
    }
}

static void faults_of_decoders_are_caught(void **state)
{
    (void)state;
    int combinations = 0;
    for (int dtype = DTYPE_Q4_0; dtype <= DTYPE_LAST_BLOCK; dtype++) {
        draw((enum dtype)dtype, memory, ROWS * COLS, 7);
        draw(DTYPE_Q8_1, activations, COLS, 8);
        for (int fault = BLOCK_RIGHT + 1; fault < BLOCK_FAULTS; fault++) {
            if (!block_can_fail(dtype, fault))
                continue;
            combinations++;
            judge_dequantised((enum dtype)dtype, fault);
            if (answer.violations == 0)
                fail_msg("dtype %d, fault %d: numbers pass", dtype, fault);
            judge_product((enum dtype)dtype, fault);
            if (answer.violations != ROWS)
                fail_msg("dtype %d, fault %d: %d products pass", dtype, fault,
                         ROWS - (int)answer.violations);
        }
    }
    assert_int_equal(combinations, 42);
}

/* Where a kernel took the sum of the rounded activations instead of the one that it was given. */
static void the_sum_of_a_block_is_the_one_given(void **state)
{
    (void)state;
    draw(DTYPE_Q4_0, memory, ROWS * COLS, 3);
    draw(DTYPE_Q8_1, activations, COLS, 4);
    judge_product(DTYPE_Q4_0, BLOCK_RIGHT);
    assert_int_equal(answer.violations, 0);
    uint8_t kept = activations[2];
    activations[2] = (uint8_t)(kept ^ 0x40);
    float right[ROWS];
    memcpy(right, call.tensor[3].got, sizeof right);
    call.tensor[3].got = right;
    run("linear_blocks");
    activations[2] = kept;
    assert_int_equal(answer.violations, ROWS);
}

/* A kernel that decodes weights drawn by the seed and multiplies them by x. y: zeros. */
static void judge_plain(enum dtype dtype, uint64_t seed, const float x[COLS], float y[ROWS])
{
    static float w[ROWS * COLS];
    draw(dtype, memory, ROWS * COLS, seed);
    dequantise(dtype, BLOCK_RIGHT, w);
    for (int i = 0; i < ROWS * COLS; i++)
        y[i / COLS] += w[i] * x[i % COLS];
    start();
    call.size[0] = 1, call.size[1] = COLS, call.size[2] = ROWS;
    put(0, DTYPE_F32, x, 1, COLS);
    put(1, dtype, memory, ROWS, COLS);
    put_output(3, DTYPE_F32, y, 1, ROWS);
    run("linear_blocks");
    assert_int_equal(answer.refused, 0);
}

/* Kernels that decode and multiply by activations in f32; a reference without a coded formal
 * refuses them, which only a broken call has. */
static void activations_may_be_plain_numbers(void **state)
{
    (void)state;
    static float x[COLS];
    for (int i = 0; i < COLS; i++)
        x[i] = (float)(i % 17) - 8.25f;
    for (int dtype = DTYPE_Q4_0; dtype <= DTYPE_LAST_BLOCK; dtype++) {
        float y[ROWS] = {0};
        judge_plain((enum dtype)dtype, 5, x, y);
        assert_int_equal(answer.checked, ROWS);
        assert_int_equal(answer.violations, 0);
        y[1] += 20;
        run("linear_blocks");
        assert_int_equal(answer.violations, 1);
        run("linear");
        assert_true(answer.refused > 0);
    }
}

/* A kernel that decodes first has an infinity where step and low apart have inf - inf. */
static void an_infinite_activation_is_no_finding(void **state)
{
    (void)state;
    static float x[COLS];
    for (int i = 0; i < COLS; i++)
        x[i] = i == 37 ? INFINITY : 0.5f;
    for (int dtype = DTYPE_Q4_0; dtype <= DTYPE_LAST_BLOCK; dtype++) {
        float y[ROWS] = {0};
        judge_plain((enum dtype)dtype, 6, x, y);
        assert_int_equal(answer.violations, 0);
        y[1] = 1;
        run("linear_blocks");
        assert_int_equal(answer.violations, 1);
    }
}

/* mul_mat_q on one row of codes with a scale for each 32, whose products of two scales of q4_K are
 * numbers of f16, or with `rounds` false of f32; weights and codes as `memory` and `activations`.
 */
static void judge_scaled(bool rounds, enum dtype declared)
{
    static float scales[COLS / 32];
    float y[ROWS] = {0};
    int a[8], m[8];
    for (int i = 0; i < COLS / 32; i++)
        scales[i] = 0.01F * (float)(i + 3);
    for (int i = 0; i < ROWS * COLS; i++) {
        int j = i % COLS, g = i % 256 / 32;
        const uint8_t *block = memory + i / 256 * 144;
        if (i % 256 == 0) {
            block_decode(DTYPE_Q4_K, block, BLOCK_RIGHT, &decoded);
            block_scales(block + 4, a, m);
        }
        double scale = block_half(block) * a[g], low = decoded.low[i % 256];
        double code = a[g] ? decoded.step[i % 256] / scale : 0;
        float x = (float)(int8_t)activations[j] * scales[j / 32];
        y[i / COLS] += (rounds ? (float)(_Float16)scale : (float)scale) * (float)code * x;
        y[i / COLS] += (rounds ? (float)(_Float16)low : (float)low) * x;
    }
    start();
    const int64_t sizes[] = {1, COLS / 128, 4, 0, ROWS, COLS, 32};
    memcpy(call.size, sizes, sizeof sizes);
    call.point[0] = (uint8_t)declared;
    struct ref_tensor *x = put(0, DTYPE_I8, activations, COLS / 128, 128);
    struct ref_tensor *scale = put(1, DTYPE_F32, scales, COLS / 128, 4);
    for (struct ref_tensor *t = x; t; t = t == x ? scale : NULL) {
        t->ndim = 3;
        t->dim[0] = 1, t->dim[1] = COLS / 128, t->dim[2] = t == x ? 128 : 4;
        t->stride[0] = t->dim[1] * t->dim[2], t->stride[1] = t->dim[2], t->stride[2] = 1;
    }
    put(3, DTYPE_Q4_K, memory, ROWS, COLS);
    put_output(5, DTYPE_F32, y, 1, ROWS);
    run("linear_blocks_scaled");
    assert_int_equal(answer.refused, 0);
    assert_int_equal(answer.checked, ROWS);
}

static void scales_are_rounded_where_that_is_declared(void **state)
{
    (void)state;
    draw(DTYPE_Q4_K, memory, ROWS * COLS, 21);
    draw(DTYPE_Q8_1, activations, COLS, 22);
    judge_scaled(true, DTYPE_F16);
    assert_int_equal(answer.violations, 0);
    judge_scaled(false, DTYPE_F16);
    assert_true(answer.violations > 0);
    judge_scaled(false, DTYPE_NONE);
    assert_int_equal(answer.violations, 0);
    judge_scaled(true, DTYPE_NONE);
    assert_true(answer.violations > 0);
}

/* Rows of blocks with bytes between them, and a base that is not aligned. */
static void blocks_may_lie_apart(void **state)
{
    (void)state;
    static float y[ROWS * COLS];
    static uint8_t spread[1 + ROWS * (COLS / 256 * 150 + 7)];
    const int pitch = COLS / 256 * 150 + 7;
    draw(DTYPE_Q4_K, memory, ROWS * COLS, 9);
    dequantise(DTYPE_Q4_K, BLOCK_RIGHT, y);
    memset(spread, 0xff, sizeof spread);
    for (int b = 0; b < ROWS * 3; b++)
        memcpy(spread + 1 + b / 3 * pitch + b % 3 * 150, memory + 144 * b, 144);
    start();
    call.size[0] = ROWS, call.size[1] = COLS;
    struct ref_tensor *t = put(0, DTYPE_Q4_K, spread + 1, ROWS, COLS);
    t->stride[0] = pitch;
    t->stride[1] = 150;
    t->bytes = (ROWS - 1) * pitch + 2 * 150 + 144;
    put_output(1, DTYPE_F32, y, ROWS, COLS);
    run("dequantise_blocks");
    assert_int_equal(answer.refused, 0);
    assert_int_equal(answer.violations, 0);
    t->bytes--; /* the last block does not fit: step and low of its 256 elements */
    run("dequantise_blocks");
    assert_int_equal(answer.refused, 512);
}

/* ---- quantised outputs ---- */

/* One element by `quantise` with scale 0.25. */
static void quantise(enum dtype dtype, float x, double limit, int byte)
{
    static const float scale = 0.25f;
    static uint8_t code;
    static float number;
    code = (uint8_t)byte;
    number = x;
    start();
    call.scalar[0] = limit;
    call.size[0] = call.size[1] = call.size[2] = call.size[3] = 1;
    put(0, DTYPE_F32, &number, 1, 1);
    put(1, DTYPE_F32, &scale, 1, 1);
    put(2, DTYPE_F32, NULL, 1, 1);
    put_output(3, dtype, &code, 1, 1);
    run("quantise");
    assert_int_equal(answer.refused, 0);
}

static void expect(enum dtype dtype, float x, double limit, int byte, bool right)
{
    quantise(dtype, x, limit, byte);
    if (answer.violations != (right ? 0 : 1) || answer.wide)
        fail_msg("%a as %d: %s, it says", (double)x, byte, right ? "wrong" : "right");
}

static void integers_are_rounded_to_nearest(void **state)
{
    (void)state;
    expect(DTYPE_I8, 0.6f, 0, 2, true);
    expect(DTYPE_I8, 0.6f, 0, 3, false);
    expect(DTYPE_I8, 0.625f, 0, 2, true); /* a tie: x times 1 / scale may lie on either side */
    expect(DTYPE_I8, 0.625f, 0, 3, true);
    expect(DTYPE_I8, 0.6251f, 0, 2, false);
    expect(DTYPE_I8, 0.6251f, 0, 3, true);
    expect(DTYPE_I8, -0.6251f, 0, 253, true);
    expect(DTYPE_I8, -0.6251f, 0, 254, false);
}

static void integers_saturate(void **state)
{
    (void)state;
    expect(DTYPE_I8, 1000, 0, 127, true);
    expect(DTYPE_I8, 1000, 0, 126, false);
    expect(DTYPE_I8, 1000, 0, 4000 & 255, false); /* wrapped */
    expect(DTYPE_I8, -1000, 0, 128, true);
    expect(DTYPE_I8, -1000, 0, 129, false);
    expect(DTYPE_I8, -1000, 127, 129, true);
    expect(DTYPE_I8, -1000, 127, 128, false);
    expect(DTYPE_U8, -3, 0, 0, true);
    expect(DTYPE_U8, 1000, 0, 255, true);
    expect(DTYPE_U8, 1000, 0, 127, false);
    quantise(DTYPE_I8, NAN, 0, 0); /* no integer is right, none wrong */
    assert_int_equal(answer.violations, 0);
    assert_int_equal(answer.wide, 1);
}

static void f8_saturates(void **state)
{
    (void)state;
    expect(DTYPE_F8E4M3, 1000, 0, 0x7e, true);
    expect(DTYPE_F8E4M3, 1000, 0, 0x7f, false); /* clamped first: it cannot overflow */
    expect(DTYPE_F8E4M3, -1000, 0, 0xfe, true);
    expect(DTYPE_F8E4M3, 1000, 240, 0x77, true);
    expect(DTYPE_F8E4M3, 1000, 240, 0x7e, false);
    expect(DTYPE_F8E5M2, 1e9f, 0, 0x7b, true);
    expect(DTYPE_F8E5M2, 1e9f, 0, 0x7c, false);
    quantise(DTYPE_F8E4M3, NAN, 0, 0x7f);
    assert_int_equal(answer.violations, 0);
    quantise(DTYPE_F8E4M3, NAN, 0, 0x7e); /* NaN lost */
    assert_int_equal(answer.violations, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tests_own_f8_is_the_standards),
        cmocka_unit_test(every_code_reads_as_its_value),
        cmocka_unit_test(f8_outputs_are_rounded_to_nearest),
        cmocka_unit_test(f8_outputs_saturate_or_overflow),
        cmocka_unit_test(right_decoders_are_quiet),
        cmocka_unit_test(faults_of_decoders_are_caught),
        cmocka_unit_test(the_sum_of_a_block_is_the_one_given),
        cmocka_unit_test(activations_may_be_plain_numbers),
        cmocka_unit_test(an_infinite_activation_is_no_finding),
        cmocka_unit_test(scales_are_rounded_where_that_is_declared),
        cmocka_unit_test(blocks_may_lie_apart),
        cmocka_unit_test(integers_are_rounded_to_nearest),
        cmocka_unit_test(integers_saturate),
        cmocka_unit_test(f8_saturates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
