/*
 * What a program sets on cuDNN's descriptors, and what a plan is recognised as. The graphs are set
 * as a program sets them; the scenarios dnn_* run the same through wrappers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "hook/calls/descriptors.h"

enum { IS_TYPE = 1 };

/* Descriptors are known by their addresses alone. */
static char room[300];
static int used;

static void *made(int type)
{
    void *handle = &room[used++];
    descriptors_made(handle, type);
    return handle;
}

static void set_descriptor(const void *d, int name, const void *value)
{
    descriptors_set(d, name, DNN_IS_DESCRIPTOR, 1, &value);
}

static void set_integers(const void *d, int name, int64_t count, const int64_t *values)
{
    descriptors_set(d, name, DNN_IS_INT64, count, values);
}

static void *tensor(int64_t uid, int64_t rank, const int64_t *dims)
{
    static const int type = DNN_F32;
    int64_t strides[5], stride = 1;
    void *t = made(17);
    for (int64_t i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= dims[i];
    }
    descriptors_set(t, DNN_TENSOR_TYPE, IS_TYPE, 1, &type);
    set_integers(t, DNN_TENSOR_DIMS, rank, dims);
    set_integers(t, DNN_TENSOR_STRIDES, rank, strides);
    set_integers(t, DNN_TENSOR_UID, 1, &uid);
    return t;
}

struct conv {
    int64_t rank;
    double beta;
    int mode;
    bool ragged;
    int64_t gap; /* elements between the frames of x */
};

/* A convolution of 2 images of 4 channels, 7 long in each dim, with 6 filters of 3. */
static void *conv_graph(const struct conv *conv)
{
    static const int64_t x_dims[] = {2, 4, 7, 7, 7}, w_dims[] = {6, 4, 3, 3, 3};
    static const int64_t y_dims[] = {2, 6, 5, 5, 5}, ones[] = {1, 1, 1}, zeros[3];
    static const int compute = DNN_F32;
    const double alpha = 2;
    void *x = tensor('x', conv->rank, x_dims), *w = tensor('w', conv->rank, w_dims);
    void *y = tensor('y', conv->rank, y_dims), *window = made(DNN_CONVOLUTION_DESCRIPTOR);
    void *op = made(DNN_OP_CONV), *graph = made(DNN_GRAPH_DESCRIPTOR);
    const int64_t apart[] = {4 * (343 + 3 * conv->gap), 343 + 3 * conv->gap, 49 + conv->gap, 7, 1};
    if (conv->gap)
        set_integers(x, DNN_TENSOR_STRIDES, conv->rank, apart);
    if (conv->ragged)
        set_descriptor(x, DNN_TENSOR_RAGGED, w);
    set_integers(window, DNN_CONV_STRIDES, conv->rank - 2, ones);
    set_integers(window, DNN_CONV_DILATIONS, conv->rank - 2, ones);
    set_integers(window, DNN_CONV_PADDINGS, conv->rank - 2, zeros);
    descriptors_set(window, DNN_CONV_COMPUTE, IS_TYPE, 1, &compute);
    descriptors_set(window, DNN_CONV_MODE, 7, 1, &conv->mode);
    descriptors_set(op, DNN_CONV_FIRST, DNN_IS_DOUBLE, 1, &alpha);
    descriptors_set(op, DNN_CONV_FIRST + 1, DNN_IS_DOUBLE, 1, &conv->beta);
    set_descriptor(op, DNN_CONV_FIRST + 2, window);
    set_descriptor(op, DNN_CONV_FIRST + 3, w);
    set_descriptor(op, DNN_CONV_FIRST + 4, x);
    set_descriptor(op, DNN_CONV_FIRST + 5, y);
    set_descriptor(graph, DNN_GRAPH_OPS, op);
    descriptors_gone(x); /* the operation keeps what it was given */
    descriptors_gone(w);
    descriptors_gone(y);
    return graph;
}

/* By an engine, or by heuristics. */
static void *plan_of(const void *graph, bool heuristics)
{
    void *plan = made(DNN_PLAN), *config = made(DNN_ENGINE_CONFIG), *engine = made(DNN_ENGINE);
    void *proposer = made(DNN_HEURISTICS);
    const void *const configs[] = {config};
    if (heuristics) {
        set_descriptor(proposer, DNN_HEURISTICS_GRAPH, graph);
        descriptors_listed(proposer, 1, configs);
    } else {
        set_descriptor(engine, DNN_ENGINE_GRAPH, graph);
        set_descriptor(config, DNN_CONFIG_ENGINE, engine);
    }
    set_descriptor(plan, DNN_PLAN_CONFIG, config);
    descriptors_finalized(plan);
    descriptors_gone(graph);
    descriptors_gone(proposer);
    descriptors_gone(config);
    return plan;
}

static void *pack_of(int64_t count)
{
    static const int64_t uids[] = {'x', 'y', 'w'};
    static const uint64_t pointers[] = {0x1000, 0x2000, 0x3000};
    void *pack = made(DNN_PACK);
    descriptors_set(pack, DNN_PACK_POINTERS, DNN_IS_POINTER, count, pointers);
    set_integers(pack, DNN_PACK_UIDS, count, uids);
    return pack;
}

static struct dnn call_of(const struct conv *conv, int64_t arrays)
{
    struct dnn out;
    memset(&out, 0xff, sizeof out);
    assert_true(descriptors_execution(plan_of(conv_graph(conv), true), pack_of(arrays), &out));
    return out;
}

static int forget_all(void **state)
{
    (void)state;
    for (int i = 0; i < used; i++)
        descriptors_gone(&room[i]);
    used = 0;
    return 0;
}

/* ---- tests ---- */

static void a_convolution_is_recognised(void **state)
{
    const struct conv conv = {.rank = 4, .mode = DNN_CROSS_CORRELATION};
    (void)state;
    for (int heuristics = 0; heuristics < 2; heuristics++) {
        struct dnn out;
        void *plan = plan_of(conv_graph(&conv), heuristics);
        assert_true(descriptors_execution(plan, pack_of(3), &out));
        assert_string_equal(dnn_name(&out), "cudnnConvolutionForward<f32, f32, f32, tf32>");
        assert_int_equal(out.conv.x, 0x1000);
        assert_int_equal(out.conv.y, 0x2000);
        assert_int_equal(out.conv.w, 0x3000);
        assert_int_equal(out.conv.filters, 6);
        assert_int_equal(out.conv.window_h, 3);
        assert_int_equal(out.conv.x_channel, 49);
        assert_int_equal(out.conv.out_w, 5);
        assert_true(out.conv.alpha == 2);
    }
}

static void a_line_is_an_image_of_height_1(void **state)
{
    const struct conv conv = {.rank = 3, .mode = DNN_CROSS_CORRELATION};
    (void)state;
    struct dnn out = call_of(&conv, 3);
    assert_int_equal(out.words, 0);
    assert_int_equal(out.conv.height, 1);
    assert_int_equal(out.conv.width, 7);
    assert_int_equal(out.conv.window_h, 1);
    assert_int_equal(out.conv.window_w, 3);
    assert_int_equal(out.conv.stride_h, 1);
}

static void a_volume_has_one_distance_for_its_pixels(void **state)
{
    const struct conv conv = {.rank = 5, .mode = DNN_CROSS_CORRELATION};
    (void)state;
    struct dnn out = call_of(&conv, 3);
    assert_string_equal(dnn_name(&out), "cudnnConvolutionForward<f32, f32, f32, tf32, 3d>");
    assert_int_equal(out.conv3.pixels, 343);
    assert_int_equal(out.conv3.taps, 27);
    assert_int_equal(out.conv3.places, 125);
    assert_int_equal(out.conv3.x_pixel, 1);
    assert_int_equal(out.conv3.stride, 0x100010001);
    assert_int_equal(out.conv3.pad, 0);
    assert_int_equal(out.conv3.y, 0x2000);
}

static void *pointwise(int mode, const void *x, const void *b, const void *y)
{
    void *op = made(DNN_OP_POINTWISE), *how = made(0);
    descriptors_set(how, DNN_POINTWISE_MODE, 14, 1, &mode);
    set_descriptor(op, DNN_POINTWISE_DESCRIPTOR, how);
    set_descriptor(op, DNN_POINTWISE_X, x);
    set_descriptor(op, DNN_POINTWISE_B, b);
    set_descriptor(op, DNN_POINTWISE_Y, y);
    return op;
}

/* Two tensors are added behind a convolution, the second one times `factor`; the first of `dims`.
 */
static struct dnn added(const int64_t *dims, double before, double factor)
{
    static const int64_t y_dims[] = {2, 6, 5, 5}, uids[] = {'x', 'y', 'w', 'b', 'z'};
    static const uint64_t pointers[] = {0x1000, 0x2000, 0x3000, 0x4000, 0x5000};
    const struct conv conv = {.rank = 4, .mode = DNN_CROSS_CORRELATION};
    void *graph = conv_graph(&conv), *inner = tensor('i', 4, y_dims), *op = NULL;
    void *sum = tensor('s', 4, y_dims), *y = tensor('y', 4, y_dims), *pack = made(DNN_PACK);
    void *first = pointwise(DNN_MODE_ADD, inner, tensor('b', 4, dims), sum);
    void *second = pointwise(DNN_MODE_ADD, sum, tensor('z', 4, y_dims), y);
    struct dnn out;
    descriptors_set(second, DNN_POINTWISE_ALPHA, DNN_IS_DOUBLE, 1, &before);
    descriptors_set(second, DNN_POINTWISE_BETA, DNN_IS_DOUBLE, 1, &factor);
    op = &room[used - 1];
    while (op != graph) /* the convolution's was made right before the graph's */
        op = (char *)op - 1;
    op = (char *)op - 1;
    set_descriptor(op, DNN_CONV_FIRST + 5, inner);
    const void *const ops[] = {op, first, second};
    descriptors_set(graph, DNN_GRAPH_OPS, DNN_IS_DESCRIPTOR, 3, ops);
    descriptors_set(pack, DNN_PACK_POINTERS, DNN_IS_POINTER, 5, pointers);
    set_integers(pack, DNN_PACK_UIDS, 5, uids);
    assert_true(descriptors_execution(plan_of(graph, true), pack, &out));
    return out;
}

static void a_bias_and_another_tensor_are_added(void **state)
{
    static const int64_t channels[] = {1, 6, 1, 1}, columns[] = {1, 1, 1, 5};
    (void)state;
    struct dnn out = added(channels, 1, 0.5);
    assert_string_equal(dnn_name(&out),
                        "cudnnConvolutionForward<f32, f32, f32, tf32, bias, added>");
    assert_int_equal(out.conv.bias, 0x4000);
    assert_int_equal(out.conv.added, 0x5000);
    assert_int_equal(out.conv.added_channel, 25);
    assert_true(out.conv.added_scale == 0.5);
    forget_all(NULL);
    assert_int_equal(added(columns, 1, 1).kind, DNN_GRAPH); /* two that are no bias */
    forget_all(NULL);
    assert_int_equal(added(channels, 2, 1).kind, DNN_GRAPH); /* the bias would be doubled */
}

static void what_the_formula_does_not_say_is_other(void **state)
{
    static const struct conv rows[] = {
        {.rank = 5, .mode = DNN_CROSS_CORRELATION, .gap = 1},  /* frames that lie apart */
        {.rank = 4, .mode = DNN_CROSS_CORRELATION, .beta = 1}, /* added to what y held */
        {.rank = 4, .mode = 0},                                /* the window turned round */
        {.rank = 4, .mode = DNN_CROSS_CORRELATION, .ragged = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(call_of(&rows[i], 3).words & DNN_WORD_OTHER);
        forget_all(NULL);
    }
}

static void an_array_that_is_missing_is_other(void **state)
{
    const struct conv conv = {.rank = 4, .mode = DNN_CROSS_CORRELATION};
    (void)state;
    assert_true(call_of(&conv, 2).words & DNN_WORD_OTHER);
}

/* Shapes that the pack overrides are not those of the graph. */
static void a_pack_that_says_more_is_other(void **state)
{
    static const int64_t uid = 'x';
    const struct conv conv = {.rank = 4, .mode = DNN_CROSS_CORRELATION};
    struct dnn out;
    (void)state;
    void *plan = plan_of(conv_graph(&conv), true), *pack = pack_of(3);
    set_integers(pack, DNN_PACK_OVERRIDES, 1, &uid);
    assert_true(descriptors_execution(plan, pack, &out));
    assert_true(out.words & DNN_WORD_OTHER);
}

static void a_plan_of_f32_does_not_reduce(void **state)
{
    const struct conv conv = {.rank = 4, .mode = DNN_CROSS_CORRELATION};
    struct dnn_plan plan = {.call = call_of(&conv, 3)};
    (void)state;
    assert_false(dnn_plan_may_reduce(&plan));
    plan.call.accumulation = ACCUMULATION_F32;
    plan.call.type[2] = DTYPE_BF16;
    assert_true(dnn_plan_may_reduce(&plan));
    plan.call.kind = DNN_CONV_WEIGHT; /* whose result is w */
    assert_false(dnn_plan_may_reduce(&plan));
    plan.call.type[1] = DTYPE_F16;
    assert_true(dnn_plan_may_reduce(&plan));
    plan.call.kind = DNN_CONV3_DATA; /* whose result is x */
    assert_false(dnn_plan_may_reduce(&plan));
    plan.call.type[0] = DTYPE_F16;
    assert_true(dnn_plan_may_reduce(&plan));
    plan.call.accumulation = ACCUMULATION_F16;
    assert_false(dnn_plan_may_reduce(&plan));
    plan.call.accumulation = ACCUMULATION_F32;
    plan.call.kind = DNN_ATTENTION;
    assert_false(dnn_plan_may_reduce(&plan));
}

static void two_operations_are_another_graph(void **state)
{
    const struct conv conv = {.rank = 4, .mode = DNN_CROSS_CORRELATION};
    struct dnn out;
    (void)state;
    void *graph = conv_graph(&conv), *extra = made(DNN_OP_POINTWISE), *op = made(DNN_OP_CONV);
    const void *const ops[] = {op, extra};
    descriptors_set(graph, DNN_GRAPH_OPS, DNN_IS_DESCRIPTOR, 2, ops);
    assert_true(descriptors_execution(plan_of(graph, true), pack_of(3), &out));
    assert_int_equal(out.kind, DNN_GRAPH);
    assert_true(out.words & DNN_WORD_OTHER);
}

static void what_is_gone_is_not_known(void **state)
{
    const struct conv conv = {.rank = 4, .mode = DNN_CROSS_CORRELATION};
    struct dnn out;
    (void)state;
    void *plan = plan_of(conv_graph(&conv), true), *pack = pack_of(3);
    assert_true(descriptors_execution(plan, plan, &out)); /* no pack: named, not checked */
    assert_true(out.words & DNN_WORD_OTHER);
    assert_true(descriptors_execution(plan, pack, &out));
    assert_false(out.words & DNN_WORD_OTHER);
    descriptors_gone(pack);
    assert_true(descriptors_execution(plan, pack, &out));
    assert_true(out.words & DNN_WORD_OTHER);
    pack = pack_of(3);
    descriptors_gone(plan);
    assert_false(descriptors_execution(plan, pack, &out));
    descriptors_made(plan, DNN_PLAN); /* another one at the same address */
    assert_false(descriptors_execution(plan, pack, &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_convolution_is_recognised, forget_all),
        cmocka_unit_test_teardown(a_line_is_an_image_of_height_1, forget_all),
        cmocka_unit_test_teardown(a_volume_has_one_distance_for_its_pixels, forget_all),
        cmocka_unit_test_teardown(a_bias_and_another_tensor_are_added, forget_all),
        cmocka_unit_test_teardown(what_the_formula_does_not_say_is_other, forget_all),
        cmocka_unit_test_teardown(an_array_that_is_missing_is_other, forget_all),
        cmocka_unit_test_teardown(a_pack_that_says_more_is_other, forget_all),
        cmocka_unit_test_teardown(a_plan_of_f32_does_not_reduce, forget_all),
        cmocka_unit_test_teardown(two_operations_are_another_graph, forget_all),
        cmocka_unit_test_teardown(what_is_gone_is_not_known, forget_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
