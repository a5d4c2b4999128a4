/* Bindings: sizes and strides of a launch, ranks adapted to formals, and every way to refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/binding_fixture.h"
#include "bind/binding.h"

static uint64_t P = 0x10000, Q = 0x20000, R = 0x30000, zero_pointer = 0;
static int32_t four = 4, six = 6, minus = -2, zero = 0;
static int64_t eight = 8, huge = (int64_t)1 << 62;
static float eps = 0.5f;

static void a_row_kernel_is_bound(void **state)
{
    (void)state;
    expect_bound(bind_launch("signature: const bf16 x[rows:pitch][cols], const f32 w[cols],"
                             " f32 y[rows][cols], i64 pitch, i32 cols, f32 eps\n"
                             "  let: {rows: grid.x}\n  reference: rmsnorm\n",
                             SIZES(8, 8, 8, 8, 4, 4), PARAMS(&P, &Q, &R, &eight, &six, &eps)));
    assert_int_equal(b.arrays, 3);
    assert_int_equal(b.tensors, 4);
    assert_int_equal(b.tensor_array[0], 0);
    assert_int_equal(b.tensor_array[3], -1); /* rstd */
    assert_int_equal(b.array[0].address, 0x10000);
    assert_int_equal(b.array[0].ndim, 2);
    assert_int_equal(b.array[0].dim[0], 3);
    assert_int_equal(b.array[0].stride[0], 8);
    assert_int_equal(b.array[0].stride[1], 1);
    assert_int_equal(b.array[0].bytes, 2 * (2 * 8 + 6));
    assert_int_equal(b.array[2].ndim, 1); /* dense: folded */
    assert_int_equal(b.array[2].dim[0], 18);
    const struct ref_call *call = &b.call;
    assert_int_equal(call->size[0], 3);
    assert_int_equal(call->size[1], 6);
    assert_true(call->scalar[0] == 0.5);
    assert_int_equal(call->tensor[0].stride[0], 8);
    assert_int_equal(call->tensor[0].dtype, DTYPE_BF16);
    assert_int_equal(call->tensor[2].ndim, 2);
    assert_int_equal(call->tensor[2].id, 2);
    assert_int_equal(call->tensor[2].rule, RULE_BOUND);
    assert_int_equal(call->tensor[3].dim[0], 3); /* absent, but its shape is known */
    assert_null(call->tensor[0].in);
    assert_true(call->unit_roundoff == 0x1p-24 && call->lambda == 8);
    assert_true(call->input_roundoff == 0 && call->underflow == 0x1p-126);
    assert_int_equal(call->pieces, 1);
}

/* An argument of a formal's name may hold something else. */
static void a_formal_may_be_unbound(void **state)
{
    (void)state;
#define OTHERS                                                                                     \
    "signature: const f32 x[n], f32 y[n], const i32 w[n], i32 n, f32 scale\n  reference: "         \
    "softmax\n"
    const unsigned *sizes = SIZES(8, 8, 8, 4, 4);
    expect_bound(bind_launch(OTHERS, sizes, PARAMS(&P, &Q, &R, &four, &eps)));
    assert_true(b.call.scalar[0] == 0.5);
    expect_bound(
        bind_launch(OTHERS "  bind: {scale: none}\n", sizes, PARAMS(&P, &Q, &R, &four, &eps)));
    assert_true(b.call.scalar[0] == 1);
    expect_bound(bind_launch("signature: const f32 x[n], f32 y[n], const f32 w[n], i32 n\n"
                             "  reference: rmsnorm\n  bind: {eps: 0, w: none}\n",
                             SIZES(8, 8, 8, 4), PARAMS(&P, &Q, &R, &four)));
    assert_int_equal(b.arrays, 2);
}

#define GUARDED                                                                                    \
    "signature: const f32 x[rows][cols], const f32 w?[cols], f32 y[rows][cols], i32 n, i32 "       \
    "parts\n"                                                                                      \
    "  reference: rmsnorm\n  bind: {eps: 0}\n  let: {cols: n / parts, rows: 2, odd: parts % 2}\n"

static void a_guard_excludes_launches(void **state)
{
    (void)state;
    const unsigned *sizes = SIZES(8, 8, 8, 4, 4);
    expect_bound(
        bind_launch(GUARDED "  when: odd == 0\n", sizes, PARAMS(&P, &Q, &R, &eight, &four)));
    assert_int_equal(
        bind_launch(GUARDED "  when: n > 100\n", sizes, PARAMS(&P, &Q, &R, &eight, &four)),
        SKIP_WHEN);
    assert_int_equal(why.text[0], 0);
    /* A let that fails without the guard is not evaluated behind it, whatever its place in the
     * file. */
    assert_int_equal(
        bind_launch(GUARDED "  when: parts > 0\n", sizes, PARAMS(&P, &Q, &R, &eight, &zero)),
        SKIP_WHEN);
    assert_int_equal(
        bind_launch(GUARDED "  when: n > 0\n", sizes, PARAMS(&P, &Q, &R, &eight, &zero)),
        SKIP_SHAPE);
}

static void guards_of_entry_and_arrays_go_together(void **state)
{
    (void)state;
    const unsigned *sizes = SIZES(8, 8, 8, 4, 4);
    expect_bound(bind_launch(GUARDED "  when: [parts > 0, {w: parts > 4}]\n", sizes,
                             PARAMS(&P, &Q, &R, &eight, &four)));
    assert_int_equal(b.arrays, 2);
    assert_int_equal(bind_launch(GUARDED "  when: [parts > 0, {w: parts > 4}]\n", sizes,
                                 PARAMS(&P, &Q, &R, &eight, &zero)),
                     SKIP_WHEN);
}

/* A kernel may make an f32 of an f64 before it makes an f16 of that. */
static void wide_inputs_of_narrow_outputs_may_be_rounded(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double roundoff;
    } rows[] = {
        {"signature: const f64 a[n], f16 y[n], i32 n\n  formula: y = a\n", 0x1p-24},
        {"signature: const f32 a[n], f16 y[n], i32 n\n  formula: y = a\n", 0},
        {"signature: const f64 a[n], f32 y[n], i32 n\n  formula: y = a\n", 0},
        {"signature: const f64 a[n], f16 y[n], i32 n\n  formula: y = a\n"
         "  tolerance: {accumulate: f64}\n",
         0},
        {"signature: const f64 a[n], bool y[n], i32 n\n  formula: y = a > 1\n", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_bound(bind_launch(rows[i].text, SIZES(8, 8, 4), PARAMS(&P, &Q, &four)));
        assert_true(b.call.input_roundoff == rows[i].roundoff);
    }
}

static void parameters_may_come_packed(void **state)
{
    (void)state;
    struct resolved r =
        resolve_entry("kernel: k\n  signature: const f32 x[n], f32 y[n], i16 pad, i32 n\n"
                      "  reference: gelu\n",
                      SIZES(8, 8, 2, 4));
    uint8_t packed[24] = {0};
    int32_t n = 2000;
    memcpy(packed, &P, 8);
    memcpy(packed + 8, &Q, 8);
    memcpy(packed + 20, &n, 4);
    struct launch launch = {.packed = packed, .packed_bytes = sizeof packed};
    assert_int_equal(binding_make(r.spec, &launch, &b, NULL), SKIP_NONE);
    assert_int_equal(b.call.size[1], 2000);
    assert_int_equal(b.call.size[0], 1); /* a dim of 1 before the only one */
    launch.packed_bytes = 20;
    why = (struct error){0};
    expect_refusal(binding_make(r.spec, &launch, &b, &why), SKIP_LAYOUT,
                   "the launch does not carry the parameter 'n'");
    registry_destroy(r.registry);
}

#define GELU(signature) "signature: " signature "\n  reference: gelu\n"

static void outer_dims_fold_where_they_nest(void **state)
{
    (void)state;
    expect_bound(bind_launch(GELU("const f32 x[2][3:m][m], f32 y[6][m], i32 m"), SIZES(8, 8, 4),
                             PARAMS(&P, &Q, &four)));
    assert_int_equal(b.call.size[0], 6);
    assert_int_equal(b.call.tensor[0].stride[0], 4);
    expect_bound(bind_launch(GELU("const f32 x[2:3 * 8][3:8][m], f32 y[2][1][3][m], i32 m"),
                             SIZES(8, 8, 4), PARAMS(&P, &Q, &four)));
    assert_int_equal(b.call.tensor[0].dim[0], 6);
    assert_int_equal(b.call.tensor[0].stride[0], 8);
    expect_refusal(bind_launch(GELU("const f32 x[2:100][3:8][m], f32 y[6][m], i32 m"),
                               SIZES(8, 8, 4), PARAMS(&P, &Q, &four)),
                   SKIP_SHAPE, "'x' has 3 dims, formal 'x' takes 2, and the strides");
}

static void vectors_melt_into_the_last_dim(void **state)
{
    (void)state;
    expect_bound(bind_launch(GELU("const float4 x[2:10][n], f32 y[2][4 * n], i32 n"),
                             SIZES(8, 8, 4), PARAMS(&P, &Q, &six)));
    assert_int_equal(b.call.size[1], 24);
    assert_int_equal(b.call.tensor[0].stride[0], 40); /* strides count vectors */
    assert_int_equal(b.array[0].bytes, 4 * (40 + 24));
    expect_bound(
        bind_launch(GELU("const float4 x[6:2], f32 y[6][4]"), SIZES(8, 8), PARAMS(&P, &Q)));
    assert_int_equal(b.call.tensor[0].dim[1], 4);
    assert_int_equal(b.call.tensor[0].stride[0], 8);
}

#define BLOCKS(signature) "signature: " signature "\n  reference: dequantise_blocks\n"

/* Blocks are bytes to the copy; the reference counts elements along the last dim, and bytes between
 * rows and blocks. */
static void blocks_are_copied_as_bytes(void **state)
{
    (void)state;
    static int32_t wide = 512, pitch = 3, odd = 300;
    expect_bound(bind_launch(BLOCKS("const q4_K w[3][n], f32 y[3][n], i32 n"), SIZES(8, 8, 4),
                             PARAMS(&P, &Q, &wide)));
    assert_int_equal(b.array[0].dtype, DTYPE_U8);
    assert_int_equal(b.array[0].blocks, DTYPE_Q4_K);
    assert_int_equal(b.array[1].blocks, DTYPE_NONE);
    assert_int_equal(b.array[0].ndim, 1);
    assert_int_equal(b.array[0].dim[0], 3 * 2 * 144);
    assert_int_equal(b.array[0].bytes, 3 * 2 * 144);
    const struct ref_tensor *w = &b.call.tensor[0];
    assert_int_equal(w->dtype, DTYPE_Q4_K);
    assert_int_equal(b.call.size[0], 3);
    assert_int_equal(b.call.size[1], 512);
    assert_int_equal(w->dim[1], 512);
    assert_int_equal(w->stride[0], 2 * 144);
    assert_int_equal(w->stride[1], 144);

    expect_bound(bind_launch(BLOCKS("const q8_0 w[3:p][64], f32 y[3][64], i32 p"), SIZES(8, 8, 4),
                             PARAMS(&P, &Q, &pitch)));
    assert_int_equal(b.array[0].ndim, 2);
    assert_int_equal(b.array[0].dim[1], 2 * 34);
    assert_int_equal(b.array[0].stride[0], 3 * 34);
    assert_int_equal(b.array[0].stride[1], 1);
    assert_int_equal(b.array[0].bytes, 2 * 3 * 34 + 2 * 34);
    assert_int_equal(b.call.tensor[0].stride[0], 3 * 34);

    expect_bound(bind_launch(BLOCKS("const q8_0 w[3:77 bytes][64:38 bytes], f32 y[3][64], i32 p"),
                             SIZES(8, 8, 4), PARAMS(&P, &Q, &pitch)));
    assert_int_equal(b.call.tensor[0].stride[0], 77);
    assert_int_equal(b.call.tensor[0].stride[1], 38);
    assert_int_equal(b.array[0].bytes, 2 * 77 + 38 + 34);

    expect_bound(bind_launch(BLOCKS("const q4_0 w[2][3][n], f32 y[6][n], i32 n"), SIZES(8, 8, 4),
                             PARAMS(&P, &Q, &wide)));
    assert_int_equal(b.call.size[0], 6);
    assert_int_equal(b.call.size[1], 512);
    assert_int_equal(b.call.tensor[0].stride[0], 16 * 18);

    expect_refusal(bind_launch(BLOCKS("const q4_K w[3][n], f32 y[3][n], i32 n"), SIZES(8, 8, 4),
                               PARAMS(&P, &Q, &odd)),
                   SKIP_SHAPE, "'w' has 300 columns, no whole blocks of q4_K, which have 256");
    expect_refusal(bind_launch(BLOCKS("const q4_0 w[3][512], f32 y[3][n], i32 n"), SIZES(8, 8, 4),
                               PARAMS(&P, &Q, &odd)),
                   SKIP_SHAPE, "cols is 512 by 'w' and 300 by 'y'");
}

static void coded_formals_take_blocks(void **state)
{
    (void)state;
    struct complaints complaints;
    struct registry *registry =
        registry_of("version: 1\nkernels:\n- kernel: k\n"
                    "  signature: const q8_0 x[3][64], f32 y[3][64]\n  reference: cast\n",
                    &complaints);
    registry_destroy(registry);
    assert_int_equal(complaints.count, 1);
    if (!strstr(complaints.text[0], "formal 'x' of 'cast' takes no block formats, and 'x' is q8_0"))
        fail_msg("%s", complaints.text[0]);
}

static void geometry_keeps_no_order(void **state)
{
    (void)state;
    expect_bound(
        bind_launch(GELU("const f32 x[4:1][6:4], f32 y[4][6:10]"), SIZES(8, 8), PARAMS(&P, &Q)));
    assert_int_equal(b.array[0].ndim, 1); /* transposed, yet contiguous */
    assert_int_equal(b.array[0].dim[0], 24);
    assert_int_equal(b.call.tensor[0].stride[1], 4);
    assert_int_equal(b.array[1].ndim, 2); /* single elements, far apart */
    assert_int_equal(b.array[1].dim[0], 24);
    assert_int_equal(b.array[1].stride[0], 10);
    assert_int_equal(b.array[1].dim[1], 1);
    assert_int_equal(b.array[1].stride[1], 1);
}

static void reads_may_overlap_and_writes_may_not(void **state)
{
    (void)state;
    expect_bound(
        bind_launch(GELU("const f32 x[4:1][3:1], f32 y[4][3]"), SIZES(8, 8), PARAMS(&P, &Q)));
    assert_int_equal(b.array[0].ndim, 1);
    assert_int_equal(b.array[0].dim[0], 6);
    expect_bound(
        bind_launch(GELU("const f32 x[4:0][3], f32 y[4][3]"), SIZES(8, 8), PARAMS(&P, &Q)));
    assert_int_equal(b.array[0].dim[0], 3);
    assert_int_equal(b.call.tensor[0].stride[0], 0);
    expect_refusal(
        bind_launch(GELU("const f32 x[4][3], f32 y[4:1][3:1]"), SIZES(8, 8), PARAMS(&P, &Q)),
        SKIP_SHAPE, "'y' is written, but its strides let elements overlap");
    expect_refusal(
        bind_launch(GELU("const f32 x[4][3], f32 y[4:0][3]"), SIZES(8, 8), PARAMS(&P, &Q)),
        SKIP_SHAPE, "'y' is written");
}

static void sizes_that_disagree_name_both(void **state)
{
    (void)state;
    expect_refusal(bind_launch(GELU("const f32 x[n], f32 y[m], i32 n, i32 m"), SIZES(8, 8, 4, 4),
                               PARAMS(&P, &Q, &four, &six)),
                   SKIP_SHAPE, "cols is 4 by 'x' and 6 by 'y'");
    expect_refusal(bind_launch("signature: const f32 x[n], f32 y[n], i32 n, i32 m\n"
                               "  reference: gelu\n  bind: {cols: m}\n",
                               SIZES(8, 8, 4, 4), PARAMS(&P, &Q, &four, &six)),
                   SKIP_SHAPE, "cols is 4 by 'x' and 6 by 'm'");
    expect_refusal(bind_launch("signature: const f32 x[2][n][4], f32 y[2][4], i32 n\n"
                               "  reference: silu_and_mul\n",
                               SIZES(8, 8, 4), PARAMS(&P, &Q, &four)),
                   SKIP_SHAPE, "dim 1 of 'x' is 4; formal 'x' takes 2");
}

static void bad_sizes_are_refused(void **state)
{
    (void)state;
    const char *entry = GELU("const f32 x[n], f32 y[n], i32 n");
    expect_refusal(bind_launch(entry, SIZES(8, 8, 4), PARAMS(&P, &Q, &zero)), SKIP_EMPTY,
                   "'x': extent n is 0");
    expect_refusal(bind_launch(entry, SIZES(8, 8, 4), PARAMS(&P, &Q, &minus)), SKIP_SHAPE,
                   "'x': extent n is -2");
    const char *wide = GELU("const f32 x[n][n], f32 y[1][n], i64 n");
    expect_refusal(bind_launch(wide, SIZES(8, 8, 8), PARAMS(&P, &Q, &huge)), SKIP_SHAPE,
                   "'x' would span more than 2^48 bytes");
    const char *pitched = GELU("const f32 x[2:n bytes][1], f32 y[2][1], i32 n");
    expect_bound(bind_launch(pitched, SIZES(8, 8, 4), PARAMS(&P, &Q, &four)));
    assert_int_equal(b.call.tensor[0].stride[0], 1);
    expect_refusal(bind_launch(pitched, SIZES(8, 8, 4), PARAMS(&P, &Q, &six)), SKIP_SHAPE,
                   "'x': stride n is 6 bytes, no multiple of 4");
    expect_refusal(bind_launch(pitched, SIZES(8, 8, 4), PARAMS(&P, &Q, &minus)), SKIP_SHAPE,
                   "'x': stride n is -2");
}

static void faults_of_expressions_are_shown(void **state)
{
    (void)state;
    expect_refusal(bind_launch(GELU("const f32 x[24 / n], f32 y[4], i32 n"), SIZES(8, 8, 4),
                               PARAMS(&P, &Q, &zero)),
                   SKIP_SHAPE, "x: 24 / n: division by zero (n = 0)");
    expect_refusal(bind_launch(GELU("const f32 x[n * n], f32 y[4], i64 n"), SIZES(8, 8, 8),
                               PARAMS(&P, &Q, &huge)),
                   SKIP_SHAPE, "x: n * n: more than 64 bits (n = 4611686018427387904)");
    uint64_t most = UINT64_MAX;
    expect_refusal(
        bind_launch(GELU("const f32 x[n], f32 y[n], u64 n"), SIZES(8, 8, 8), PARAMS(&P, &Q, &most)),
        SKIP_SHAPE, "'n' is 18446744073709551615, too large");
    expect_bound(bind_launch("signature: const f32 x[4], f32 y[4], i32 n\n"
                             "  let: {unused: 1 / n}\n  reference: gelu\n",
                             SIZES(8, 8, 4), PARAMS(&P, &Q, &zero)));
}

static void null_pointers_need_leave(void **state)
{
    (void)state;
#define NORM(w)                                                                                    \
    "signature: const f32 x[2][4], const f32 " w "[4], f32 y[2][4]\n"                              \
    "  reference: rmsnorm\n  bind: {eps: 1e-6}\n"
    expect_refusal(bind_launch(NORM("w"), SIZES(8, 8, 8), PARAMS(&P, &zero_pointer, &R)),
                   SKIP_NULL_POINTER, "'w' is null; the signature has no 'w?'");
    expect_bound(bind_launch(NORM("w?"), SIZES(8, 8, 8), PARAMS(&P, &zero_pointer, &R)));
    assert_int_equal(b.arrays, 2);
    assert_int_equal(b.tensor_array[1], -1);
    assert_true(b.call.tensor[1].absent == 1);
    assert_true(b.call.scalar[0] == 1e-6);
    expect_refusal(
        bind_launch(GELU("const f32 x?[4], f32 y[4]"), SIZES(8, 8), PARAMS(&zero_pointer, &Q)),
        SKIP_NULL_POINTER, "'x' is absent, and the reference needs it for 'x'");
}

static void when_excludes_arguments(void **state)
{
    (void)state;
    const char *entry = "signature: const f32 x[2][4], const f32 w[4 / n], f32 y[2][4],"
                        " i32 n\n  when: {w: n != 0}\n  reference: rmsnorm\n  bind: {eps: 0}\n";
    expect_bound(bind_launch(entry, SIZES(8, 8, 8, 4), PARAMS(&P, &Q, &R, &zero)));
    assert_int_equal(b.arrays, 2);
    int32_t one = 1;
    expect_bound(bind_launch(entry, SIZES(8, 8, 8, 4), PARAMS(&P, &Q, &R, &one)));
    assert_int_equal(b.arrays, 3);
}

static void inout_is_one_array_behind_two_formals(void **state)
{
    (void)state;
    expect_bound(bind_launch("signature: inout f32 y[4]\n  reference: gelu\n  bind: {x: y}\n",
                             SIZES(8), PARAMS(&P)));
    assert_int_equal(b.arrays, 1);
    assert_int_equal(b.tensor_array[0], 0);
    assert_int_equal(b.tensor_array[1], 0);
    assert_int_equal(b.array[0].role, ROLE_INOUT);
    assert_int_equal(b.call.tensor[1].accumulates, 0);
    expect_bound(bind_launch(GELU("const f32 x[4], acc f32 y[4]"), SIZES(8, 8), PARAMS(&P, &Q)));
    assert_int_equal(b.call.tensor[1].accumulates, 1);
    assert_int_equal(b.call.tensor[0].accumulates, 0);
}

static void scalars_come_in_all_types(void **state)
{
    (void)state;
    uint16_t half = 0x3e00, bf16 = 0x4040;
    double wide = -2.25;
#define SCALE(type)                                                                                \
    "signature: const f32 x[4], f32 y[4], " type " alpha\n"                                        \
    "  reference: scale\n"
    expect_bound(bind_launch(SCALE("f16"), SIZES(8, 8, 2), PARAMS(&P, &Q, &half)));
    assert_true(b.call.scalar[0] == 1.5);
    expect_bound(bind_launch(SCALE("bf16"), SIZES(8, 8, 2), PARAMS(&P, &Q, &bf16)));
    assert_true(b.call.scalar[0] == 3);
    expect_bound(bind_launch(SCALE("double"), SIZES(8, 8, 8), PARAMS(&P, &Q, &wide)));
    assert_true(b.call.scalar[0] == -2.25);
    expect_bound(bind_launch(SCALE("int"), SIZES(8, 8, 4), PARAMS(&P, &Q, &minus)));
    assert_true(b.call.scalar[0] == -2);
    expect_bound(bind_launch("signature: const f32 x[4], f32 y[4]\n  reference: scale\n"
                             "  bind: {alpha: grid.x * grid.y}\n",
                             SIZES(8, 8), PARAMS(&P, &Q)));
    assert_true(b.call.scalar[0] == 15);
}

/* One sum of all rows is the only block of partial sums. */
static void weights_gradients_come_whole_or_by_block(void **state)
{
    (void)state;
    int32_t r = 12, c = 4, parts = 3;
#define BACKWARD(dw)                                                                               \
    "signature: const f32 dy[r][c], const f32 x[r][c], const f32 rstd[r], f32 " dw ","             \
    " i32 r, i32 c, i32 parts\n  reference: rmsnorm_backward\n"
    const unsigned *sizes = SIZES(8, 8, 8, 8, 4, 4, 4);
    void *const *params = PARAMS(&P, &Q, &P, &Q, &r, &c, &parts);
    expect_bound(bind_launch(BACKWARD("dw[c]"), sizes, params));
    const struct ref_tensor *dw = &b.call.tensor[5];
    assert_true(dw->ndim == 2 && dw->dim[0] == 1 && dw->dim[1] == 4 && dw->stride[1] == 1);
    expect_bound(bind_launch(BACKWARD("dw[parts][c]"), sizes, params));
    assert_true(dw->ndim == 2 && dw->dim[0] == 3 && dw->dim[1] == 4 && dw->stride[0] == 4);
    expect_refusal(bind_launch(BACKWARD("dw[parts]"), sizes, params), SKIP_SHAPE, "cols is 4 by");
}

static void real_formals_take_real_expressions(void **state)
{
    (void)state;
    uint16_t s = 0x3400; /* 0.25 */
    struct {
        double eps[2];
        int32_t d;
    } by_value = {{1, 0.125}, 16};
#define EXPRESSION(text)                                                                           \
    "signature: const f32 x[4], f32 y[4], f16 s,"                                                  \
    " struct 24 {f64 eps @0[which], i32 d @16} p, i32 which\n"                                     \
    "  reference: scale\n  bind: {alpha: \"" text "\"}\n"
    int32_t one = 1;
    const unsigned *sizes = SIZES(8, 8, 2, 24, 4);
    void *const *params = PARAMS(&P, &Q, &s, &by_value, &one);
    expect_bound(bind_launch(EXPRESSION("1 - s"), sizes, params));
    assert_true(b.call.scalar[0] == 0.75);
    expect_bound(bind_launch(EXPRESSION("s / sqrt(d) + grid.y / 2"), sizes, params));
    assert_true(b.call.scalar[0] == 0.0625 + 2.5);
    expect_bound(bind_launch(EXPRESSION("2 * eps"), sizes, params));
    assert_true(b.call.scalar[0] == 0.25);
    s = 0;
    expect_refusal(bind_launch(EXPRESSION("1 / s"), sizes, params), SKIP_SHAPE,
                   "1 / s: division by zero (s = 0)");
}

static void structs_by_value_are_read(void **state)
{
    (void)state;
    struct {
        uint64_t x, y;
        uint16_t pad, n;
    } by_value = {0x1000, 0x2000, 1, 7};
    expect_bound(bind_launch("signature: i32 first, struct 24 {const f32 x[n] @0, f32 y[n] @8,"
                             " u16 n @18} s\n  reference: gelu\n",
                             SIZES(4, 24), PARAMS(&four, &by_value)));
    assert_int_equal(b.array[1].address, 0x2000);
    assert_int_equal(b.call.size[1], 7);
}

static void tolerances_reach_the_call(void **state)
{
    (void)state;
#define MATMUL(row)                                                                                \
    "signature: const f32 a[2][3], const f32 b[3][4], f32 c[2][4]\n"                               \
    "  reference: matmul\n  tolerance: " row "\n"
    expect_bound(bind_launch(MATMUL("{inputs: tf32, accumulate: f64, lambda: 3}"), SIZES(8, 8, 8),
                             PARAMS(&P, &Q, &R)));
    assert_true(b.call.input_roundoff == 0x1p-10 && b.call.unit_roundoff == 0x1p-53);
    assert_true(b.call.lambda == 3 && b.call.underflow == 0x1p-1022);
    assert_true(b.call.scalar[0] == 1);
    expect_bound(bind_launch(MATMUL("{rule: close, rtol: 0.5, atol: 0.25}"), SIZES(8, 8, 8),
                             PARAMS(&P, &Q, &R)));
    const struct ref_tensor *c = &b.call.tensor[3];
    assert_int_equal(c->rule, RULE_CLOSE);
    assert_true(c->rtol == 0.5 && c->atol == 0.25);
    assert_true(b.call.unit_roundoff == 0x1p-24 && b.call.inner_roundoff == 0);
    expect_bound(bind_launch("signature: const bf16 x[2][4][5][5], const bf16 dy[2][6][3][3], bf16 "
                             "dw[6][4][3][3]\n  reference: conv_backward_weight\n",
                             SIZES(8, 8, 8), PARAMS(&P, &Q, &R)));
    assert_true(b.call.tensor[2].rtol == 2 * 3 * 3 * 0x1p-25);
}

/* Of the fixture's grid and block; not where atomics may add, nor where the tolerance has it. */
static void lanes_reach_the_call(void **state)
{
    (void)state;
#define SUMS(role, more)                                                                           \
    "signature: const f32 x[4][6], " role "f32 y[4]\n  reference: row_sum\n" more
    expect_bound(bind_launch(SUMS("", ""), SIZES(8, 8), PARAMS(&P, &Q)));
    assert_int_equal(b.call.launch_blocks, 15);
    assert_int_equal(b.call.launch_warps, 2);
    assert_true(b.call.lanes == 0 && b.call.part == 0 && b.call.whole == 0);
    expect_bound(bind_launch(SUMS("acc ", ""), SIZES(8, 8), PARAMS(&P, &Q)));
    assert_int_equal(b.call.launch_blocks, 0);
    expect_bound(
        bind_launch(SUMS("acc ", "  tolerance: {lanes: 64}\n"), SIZES(8, 8), PARAMS(&P, &Q)));
    assert_int_equal(b.call.lanes, 64);
}

static void contracts_reach_the_call(void **state)
{
    (void)state;
    expect_bound(
        bind_launch(MATMUL("{accumulate: fp8_tensor}"), SIZES(8, 8, 8), PARAMS(&P, &Q, &R)));
    assert_true(b.call.unit_roundoff == 0x1p-24 && b.call.underflow == 0x1p-126);
    assert_true(b.call.chain_roundoff == 0x1.1p-13 && b.call.chain == 128);
    expect_bound(bind_launch(MATMUL("{accumulate: fp8_fast}"), SIZES(8, 8, 8), PARAMS(&P, &Q, &R)));
    assert_true(b.call.chain_roundoff == 0x1.1p-13 && b.call.chain == 0);
    expect_bound(bind_launch(MATMUL("{false_alarm: 1e-6}"), SIZES(8, 8, 8), PARAMS(&P, &Q, &R)));
    assert_float_equal(b.call.lambda, 5.76, 0.01); /* sqrt(2 ln(2 * 8 / 1e-6)) */
    assert_true(b.call.chain_roundoff == 0);
    expect_bound(bind_launch(MATMUL("{rule: stochastic}"), SIZES(8, 8, 8), PARAMS(&P, &Q, &R)));
    assert_int_equal(b.call.tensor[3].rule, RULE_STOCHASTIC);
    assert_true(b.call.lambda == 8);
    expect_bound(bind_launch("signature: const f32 x[2][4], f32 y[2][4]\n  reference: softmax\n"
                             "  tolerance: {masked_rows: any}\n",
                             SIZES(8, 8), PARAMS(&P, &Q)));
    assert_int_equal(b.call.masked_rows, MASKED_ANY);
}

static void rounding_points_reach_the_call(void **state)
{
    (void)state;
#define POINTED(type, row)                                                                         \
    "signature: const " type " x[4][8], " type " y[4][8]\n  reference: rmsnorm\n"                  \
    "  bind: {eps: 0}\n  tolerance: " row "\n"
    expect_bound(
        bind_launch(POINTED("bf16", "{rounding: {xhat: output}}"), SIZES(8, 8), PARAMS(&P, &Q)));
    assert_int_equal(b.call.point[0], DTYPE_BF16);
    expect_bound(
        bind_launch(POINTED("f16", "{rounding: {xhat: output?}}"), SIZES(8, 8), PARAMS(&P, &Q)));
    assert_int_equal(b.call.point[0], DTYPE_F16 | REF_POINT_MAY);
    expect_bound(
        bind_launch(POINTED("f16", "{rounding: {xhat: bf16}}"), SIZES(8, 8), PARAMS(&P, &Q)));
    assert_int_equal(b.call.point[0], DTYPE_BF16);
    expect_bound(bind_launch(POINTED("f16", "{}"), SIZES(8, 8), PARAMS(&P, &Q)));
    assert_int_equal(b.call.point[0], DTYPE_NONE);
}

/* Ten sizes, and arrays as torch has them: heads outside of time. */
static void attention_is_bound_in_either_layout(void **state)
{
    (void)state;
    expect_bound(bind_launch("signature: const bf16 q[2:4 * T * 8][T:8][4:T * 8][8],"
                             " const bf16 k[2:2 * S * 8][S:8][2:S * 8][8],"
                             " const bf16 v[2:2 * S * 8][S:8][2:S * 8][8],"
                             " bf16 y[2:4 * T * 8][T:8][4:T * 8][8], i32 T, i32 S, f32 scale\n"
                             "  reference: attention\n  bind: {right: 0, bottom: 0}\n",
                             SIZES(8, 8, 8, 8, 4, 4, 4),
                             PARAMS(&P, &Q, &Q, &R, &four, &six, &eps)));
    const struct ref_call *call = &b.call;
    static const int64_t sizes[] = {2, 4, 4, 6, 8, 2, 8, -1, 0, 0};
    assert_memory_equal(call->size, sizes, sizeof sizes);
    static const int64_t strides[] = {2 * 6 * 8, 8, 6 * 8, 1};
    assert_memory_equal(call->tensor[2].stride, strides, sizeof strides);
    assert_null(call->tensor[0].in); /* no bias, whose dims are those of its neighbours */
    assert_int_equal(call->tensor[0].dim[3], 6);
    assert_true(call->inner_roundoff == 0x1p-8 && isinf(call->scalar[2]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_kernel_is_bound),
        cmocka_unit_test(a_formal_may_be_unbound),
        cmocka_unit_test(a_guard_excludes_launches),
        cmocka_unit_test(guards_of_entry_and_arrays_go_together),
        cmocka_unit_test(wide_inputs_of_narrow_outputs_may_be_rounded),
        cmocka_unit_test(parameters_may_come_packed),
        cmocka_unit_test(blocks_are_copied_as_bytes),
        cmocka_unit_test(coded_formals_take_blocks),
        cmocka_unit_test(outer_dims_fold_where_they_nest),
        cmocka_unit_test(vectors_melt_into_the_last_dim),
        cmocka_unit_test(geometry_keeps_no_order),
        cmocka_unit_test(reads_may_overlap_and_writes_may_not),
        cmocka_unit_test(sizes_that_disagree_name_both),
        cmocka_unit_test(bad_sizes_are_refused),
        cmocka_unit_test(faults_of_expressions_are_shown),
        cmocka_unit_test(null_pointers_need_leave),
        cmocka_unit_test(when_excludes_arguments),
        cmocka_unit_test(inout_is_one_array_behind_two_formals),
        cmocka_unit_test(scalars_come_in_all_types),
        cmocka_unit_test(weights_gradients_come_whole_or_by_block),
        cmocka_unit_test(real_formals_take_real_expressions),
        cmocka_unit_test(structs_by_value_are_read),
        cmocka_unit_test(attention_is_bound_in_either_layout),
        cmocka_unit_test(tolerances_reach_the_call),
        cmocka_unit_test(lanes_reach_the_call),
        cmocka_unit_test(contracts_reach_the_call),
        cmocka_unit_test(rounding_points_reach_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
