/*
 * What attention a graph of cuDNN's operations is, by its masks. The scenarios dnn_* run such
 * graphs through wrappers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "hook/calls/descriptors.h"

enum { IS_TYPE = 1, QUERIES = 5, KEYS = 7, WIDTH = 6 };

static char room[600];
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

static void *tensor(int64_t uid, int type, int64_t rows, int64_t cols, bool by_value)
{
    const int64_t dims[] = {2, 1, rows, cols}, strides[] = {rows * cols, rows * cols, cols, 1};
    const char yes = by_value;
    void *t = made(17);
    descriptors_set(t, DNN_TENSOR_TYPE, IS_TYPE, 1, &type);
    descriptors_set(t, DNN_TENSOR_DIMS, DNN_IS_INT64, 4, dims);
    descriptors_set(t, DNN_TENSOR_STRIDES, DNN_IS_INT64, 4, strides);
    descriptors_set(t, DNN_TENSOR_UID, DNN_IS_INT64, 1, &uid);
    descriptors_set(t, DNN_TENSOR_BY_VALUE, DNN_IS_BOOLEAN, 1, &yes);
    return t;
}

/* Tensors by their numbers in a pack. */
enum { Q = 1, K, SCALE, LENGTHS, KEY_LENGTHS, NUMBER, V, Y, PACKED = Y };

enum mask { FULL, CAUSAL, REVERSED, SHIFTED, BOTTOM, WINDOW, BOTTOM_WINDOW };

struct attention {
    enum mask mask;
    bool lengths;       /* each sequence has its own */
    bool logarithms;    /* of the sums are written to a tensor that the graph keeps */
    const void *number; /* SHIFTED and WINDOWs: in the program's memory, of this type */
    int number_type;
};

static struct {
    void *op[64];
    int64_t uid;
    int ops;
} graph;

static const void *pointwise(int mode, int64_t axis, const void *x, const void *b)
{
    void *op = made(DNN_OP_POINTWISE), *how = made(0);
    const void *y = tensor(graph.uid++, DNN_F32, QUERIES, KEYS, false);
    descriptors_set(how, DNN_POINTWISE_MODE, 14, 1, &mode);
    descriptors_set(how, DNN_POINTWISE_AXIS, DNN_IS_INT64, 1, &axis);
    set_descriptor(op, DNN_POINTWISE_DESCRIPTOR, how);
    set_descriptor(op, DNN_POINTWISE_X, x);
    set_descriptor(op, DNN_POINTWISE_B, b);
    set_descriptor(op, DNN_POINTWISE_Y, y);
    graph.op[graph.ops++] = op;
    return y;
}

static const void *product(const void *a, const void *b, const void *c)
{
    void *op = made(DNN_OP_MATMUL);
    set_descriptor(op, DNN_MATMUL_A, a);
    set_descriptor(op, DNN_MATMUL_B, b);
    set_descriptor(op, DNN_MATMUL_C, c);
    graph.op[graph.ops++] = op;
    return c;
}

static const void *reduction(int operator, const void * x)
{
    void *op = made(DNN_OP_REDUCTION), *how = made(21);
    const void *y = tensor(graph.uid++, DNN_F32, QUERIES, 1, false);
    descriptors_set(how, DNN_REDUCTION_OPERATOR, 18, 1, &operator);
    set_descriptor(op, DNN_REDUCTION_X, x);
    set_descriptor(op, DNN_REDUCTION_Y, y);
    set_descriptor(op, DNN_REDUCTION_DESCRIPTOR, how);
    graph.op[graph.ops++] = op;
    return y;
}

static const void *masked(const struct attention *of, const void *s, const void *queries,
                          const void *keys)
{
    if (of->mask == FULL)
        return s;
    const void *number = tensor(NUMBER, of->number_type, 1, 1, true);
    const void *row = pointwise(501, 2, s, NULL), *column = pointwise(501, 3, s, NULL), *kept;
    if (of->mask == BOTTOM || of->mask == BOTTOM_WINDOW)
        row = pointwise(9, -1, pointwise(0, -1, row, keys), queries);
    if (of->mask == SHIFTED)
        row = pointwise(0, -1, row, number);
    if (of->mask == WINDOW)
        kept = pointwise(301, -1, pointwise(0, -1, column, number), row);
    else
        kept = of->mask == REVERSED ? pointwise(303, -1, column, row)
                                    : pointwise(303, -1, row, column);
    s = pointwise(601, -1, s, kept);
    if (of->mask == BOTTOM_WINDOW) {
        row = pointwise(501, 2, s, NULL);
        column = pointwise(501, 3, s, NULL);
        kept = pointwise(301, -1, pointwise(0, -1, column, number), row);
        s = pointwise(601, -1, s, kept);
    }
    return s;
}

static const void *padded(const void *s, const void *queries, const void *keys)
{
    const void *row = pointwise(501, 2, s, NULL), *column = pointwise(501, 3, s, NULL);
    row = pointwise(304, -1, row, queries);
    column = pointwise(304, -1, column, keys);
    return pointwise(601, -1, s, pointwise(400, -1, row, column));
}

static void *graph_of(const struct attention *of)
{
    void *whole = made(DNN_GRAPH_DESCRIPTOR);
    memset(&graph, 0, sizeof graph);
    graph.uid = 100;
    const void *queries = tensor(LENGTHS, DNN_I32, 1, 1, !of->lengths);
    const void *keys = tensor(KEY_LENGTHS, DNN_I32, 1, 1, !of->lengths);
    const void *s =
        product(tensor(Q, DNN_F32, QUERIES, WIDTH, false), tensor(K, DNN_F32, WIDTH, KEYS, false),
                tensor(graph.uid++, DNN_F32, QUERIES, KEYS, false));
    s = pointwise(1, -1, s, tensor(SCALE, DNN_F32, 1, 1, true));
    s = of->lengths ? padded(s, queries, keys) : s;
    s = masked(of, s, queries, keys);
    const void *most = reduction(3, s);
    s = pointwise(13, -1, pointwise(9, -1, s, most), NULL);
    const void *sum = reduction(0, s);
    if (of->logarithms) {
        char yes = 1;
        const void *lse = pointwise(0, -1, most, pointwise(15, -1, sum, NULL));
        descriptors_set(lse, DNN_TENSOR_VIRTUAL, DNN_IS_BOOLEAN, 1, &yes);
    }
    product(pointwise(6, -1, s, sum), tensor(V, DNN_F32, KEYS, WIDTH, false),
            tensor(Y, DNN_F32, QUERIES, WIDTH, false));
    descriptors_set(whole, DNN_GRAPH_OPS, DNN_IS_DESCRIPTOR, graph.ops, graph.op);
    return whole;
}

static struct dnn call_of(const struct attention *of)
{
    static const int64_t uids[PACKED] = {Q, K, SCALE, LENGTHS, KEY_LENGTHS, NUMBER, V, Y};
    static const float scale = 0.5f, none = 0;
    const void *const pointers[PACKED] = {(void *)0x1000, (void *)0x2000,
                                          &scale,         (void *)0x4000,
                                          (void *)0x5000, of->number ? of->number : &none,
                                          (void *)0x7000, (void *)0x8000};
    struct dnn out;
    void *whole = graph_of(of), *plan = made(DNN_PLAN), *config = made(DNN_ENGINE_CONFIG);
    void *engine = made(DNN_ENGINE), *pack = made(DNN_PACK);
    set_descriptor(engine, DNN_ENGINE_GRAPH, whole);
    set_descriptor(config, DNN_CONFIG_ENGINE, engine);
    set_descriptor(plan, DNN_PLAN_CONFIG, config);
    descriptors_finalized(plan);
    descriptors_set(pack, DNN_PACK_POINTERS, DNN_IS_POINTER, PACKED, pointers);
    descriptors_set(pack, DNN_PACK_UIDS, DNN_IS_INT64, PACKED, uids);
    assert_true(descriptors_execution(plan, pack, &out));
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

static void a_window_is_read_from_the_masks(void **state)
{
    static const float four = 4, four_less = 4 - (KEYS - QUERIES);
    static const int two = 2;
    static const struct {
        struct attention of;
        int64_t left, right, bottom;
    } rows[] = {
        {{.mask = FULL}, -1, -1, 0},
        {{.mask = FULL, .logarithms = true}, -1, -1, 0},
        {{.mask = CAUSAL}, -1, 0, 0},
        {{.mask = SHIFTED, .number = &two, .number_type = DNN_I32}, -1, 2, 0},
        {{.mask = BOTTOM}, -1, 0, 1},
        {{.mask = BOTTOM, .lengths = true}, -1, 0, 1},
        {{.mask = WINDOW, .number = &four}, 3, -1, 0},
        {{.mask = BOTTOM_WINDOW, .number = &four_less}, 3, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dnn out = call_of(&rows[i].of);
        assert_int_equal(out.kind, DNN_ATTENTION);
        assert_int_equal(out.words, rows[i].of.lengths ? DNN_WORD_LENGTHS : 0);
        assert_int_equal(out.attention.left, rows[i].left);
        assert_int_equal(out.attention.right, rows[i].right);
        assert_int_equal(out.attention.bottom, rows[i].bottom);
        assert_int_equal(out.attention.keys, KEYS);
        assert_int_equal(out.attention.y, 0x8000);
        assert_true(out.attention.scale == 0.5);
        forget_all(NULL);
    }
}

static void lengths_are_addresses(void **state)
{
    const struct attention of = {.mask = FULL, .lengths = true};
    (void)state;
    struct dnn out = call_of(&of);
    assert_string_equal(dnn_name(&out), "cudnnAttentionForward<f32, f32, f32, f32, lengths>");
    assert_int_equal(out.attention.lengths, 0x4000);
    assert_int_equal(out.attention.key_lengths, 0x5000);
}

static void masks_of_another_kind_are_other(void **state)
{
    static const float four = 4;
    static const struct attention rows[] = {
        {.mask = REVERSED},
        {.mask = SHIFTED, .number = &four, .number_type = DNN_F64},
        {.mask = BOTTOM_WINDOW, .lengths = true, .number = &four},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(call_of(&rows[i]).words & DNN_WORD_OTHER);
        forget_all(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_window_is_read_from_the_masks, forget_all),
        cmocka_unit_test_teardown(lengths_are_addresses, forget_all),
        cmocka_unit_test_teardown(masks_of_another_kind_are_other, forget_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
