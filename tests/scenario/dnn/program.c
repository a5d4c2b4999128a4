/*
 * program.c - operations of the stand-in of cuDNN, `program FATBIN WORD ...`: conv, half,
 * relu, added, conv_data, conv_weight, sparse (conv_weight of a gradient that is nearly all zero),
 * the same of volumes with a 3 behind, or attention, plain, causal, bias, padded, backward,
 * padded_backward, dropout, ragged as graphs, or classic, classic_relu, inference, training,
 * gradient by the functions that take an operation whole; found: attention by a function that is
 * found by dlsym, other: a graph that is none of them, late: conv with two further packs of
 * addresses made before each execution. Each REPEAT times; behind the word captured, in a CUDA
 * graph that is launched REPEAT times. Graphs of operations are those that cuDNN's front end
 * builds.
 */
#include "common/program.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../softgpu/dnn/dnn.h"

enum { REPEAT = 3, F32 = 0, F16 = 2, I32 = 4, BOOLEAN = 11, ROOM = 1 << 14 };
enum {
    IS_TYPE = 1,
    IS_BOOLEAN = 2,
    IS_INT64 = 3,
    IS_FLOAT = 4,
    IS_POINTER = 6,
    IS_DESCRIPTOR = 15
};

static struct {
    void *dnn;
    CUstream stream;
    CUdeviceptr array[16], lengths;
    void *how;       /* the descriptor of the last pointwise operation */
    int64_t strange; /* numbers of tensors that no graph has */
    const char *word;
} job;

static bool is(const char *name)
{
    return strcmp(job.word, name) == 0;
}

static void expect(int status, const char *what)
{
    if (status)
        check(CUDA_ERROR_UNKNOWN, what, __FILE__, status);
}

/* ---- descriptors ---- */

static void *make(int type)
{
    void *descriptor;
    expect(cudnnBackendCreateDescriptor(type, &descriptor), "create");
    return descriptor;
}

static void set(void *descriptor, int name, int type, int64_t count, const void *values)
{
    expect(cudnnBackendSetAttribute(descriptor, name, type, count, values), "set");
}

static void set_number(void *descriptor, int name, int type, int value)
{
    set(descriptor, name, type, 1, &value);
}

static void *done(void *descriptor)
{
    expect(cudnnBackendFinalize(descriptor), "finalize");
    return descriptor;
}

/* A tensor without gaps, or by columns: its last two dims change places. */
static void *tensor(int64_t uid, int type, const int64_t dims[4], bool by_columns)
{
    int64_t strides[4] = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
    void *t = make(17);
    if (by_columns) {
        strides[2] = 1;
        strides[3] = dims[2];
    }
    set_number(t, 901, IS_TYPE, type);
    set(t, 902, IS_INT64, 4, dims);
    set(t, 903, IS_INT64, 4, strides);
    set(t, 906, IS_INT64, 1, &uid);
    return t;
}

/* One that the graph keeps to itself. */
static void *inner(int type, const int64_t dims[4])
{
    const char yes = 1;
    void *t = tensor(job.strange++, type, dims, false);
    set(t, 907, IS_BOOLEAN, 1, &yes);
    return done(t);
}

/* A number in the program's memory. */
static void *number(int64_t uid)
{
    static const int64_t one[4] = {1, 1, 1, 1};
    const char yes = 1;
    void *t = tensor(uid, F32, one, false);
    set(t, 908, IS_BOOLEAN, 1, &yes);
    return done(t);
}

/* ---- operations ---- */

struct list {
    int count;
    void *op[40];
};

static void add(struct list *list, void *op)
{
    list->op[list->count++] = done(op);
}

static void *pointwise(struct list *list, int mode, int axis, void *x, void *b, void *t, void *y)
{
    void *op = make(13), *how = make(0);
    const int64_t at = axis;
    set_number(how, 0, 14, mode);
    if (axis >= 0)
        set(how, 9, IS_INT64, 1, &at);
    job.how = done(how);
    set(op, 750, IS_DESCRIPTOR, 1, &how);
    set(op, 751, IS_DESCRIPTOR, 1, &x);
    if (b)
        set(op, 752, IS_DESCRIPTOR, 1, &b);
    set(op, 753, IS_DESCRIPTOR, 1, &y);
    if (t)
        set(op, 758, IS_DESCRIPTOR, 1, &t);
    add(list, op);
    return y;
}

static void *reduction(struct list *list, int operator, void * x, void *y)
{
    void *op = make(22), *how = make(21);
    set_number(how, 1600, 18, operator);
    done(how);
    set(op, 1610, IS_DESCRIPTOR, 1, &x);
    set(op, 1611, IS_DESCRIPTOR, 1, &y);
    set(op, 1612, IS_DESCRIPTOR, 1, &how);
    add(list, op);
    return y;
}

static void *product(struct list *list, void *a, void *b, void *c)
{
    void *op = make(19);
    set(op, 1520, IS_DESCRIPTOR, 1, &a);
    set(op, 1521, IS_DESCRIPTOR, 1, &b);
    set(op, 1522, IS_DESCRIPTOR, 1, &c);
    add(list, op);
    return c;
}

static void *turned(struct list *list, void *x, void *y)
{
    void *op = make(31);
    set(op, 2200, IS_DESCRIPTOR, 1, &x);
    set(op, 2201, IS_DESCRIPTOR, 1, &y);
    add(list, op);
    return y;
}

/* ---- plans ---- */

/* By heuristics, as a front end finds it. */
static void *plan_of(const struct list *list)
{
    void *graph = make(15), *heuristics = make(4), *config = make(3), *plan = make(5);
    int64_t count;
    set(graph, 801, IS_DESCRIPTOR, list->count, list->op);
    done(graph);
    set(heuristics, 201, IS_DESCRIPTOR, 1, &graph);
    done(heuristics);
    expect(cudnnBackendGetAttribute(heuristics, 202, IS_DESCRIPTOR, 1, &count, &config), "results");
    set(plan, 401, IS_DESCRIPTOR, 1, &config);
    done(plan);
    cudnnBackendDestroyDescriptor(heuristics);
    cudnnBackendDestroyDescriptor(graph);
    for (int i = 0; i < list->count; i++)
        cudnnBackendDestroyDescriptor(list->op[i]);
    return plan;
}

/* As the program is linked, or by its name. */
static int run_plan(void *plan, void *pack)
{
    __typeof__(cudnnBackendExecute) *function = cudnnBackendExecute;
    if (is("found")) {
        void *library = dlopen("libcudnn.so.9", RTLD_LAZY | RTLD_LOCAL);
        void *address = library ? dlsym(library, "cudnnBackendExecute") : NULL;
        expect(address ? 0 : 1, "dlsym of cudnnBackendExecute");
        memcpy(&function, &address, sizeof function);
    }
    return function(job.dnn, plan, pack);
}

static void execute(void *plan, int count, const int64_t *uids, void *const *pointers)
{
    void *pack = make(16);
    set(pack, 1001, IS_POINTER, count, pointers);
    set(pack, 1000, IS_INT64, count, uids);
    done(pack);
    void *newer[] = {is("late") ? make(16) : NULL, is("late") ? make(16) : NULL};
    expect(run_plan(plan, pack), "cudnnBackendExecute");
    for (int i = 0; i < 2 && newer[i]; i++)
        cudnnBackendDestroyDescriptor(newer[i]);
    cudnnBackendDestroyDescriptor(pack);
}

static bool is_padded(void)
{
    return is("padded") || is("padded_backward");
}

static bool is_backward(void)
{
    return is("backward") || is("padded_backward");
}

/* ---- convolutions: 2 images, 2 groups, channels last ---- */

static void *last(int64_t uid, const int64_t dims[4])
{
    const int64_t strides[4] = {dims[1] * dims[2] * dims[3], 1, dims[3] * dims[1], dims[1]};
    void *t = make(17);
    set_number(t, 901, IS_TYPE, is("half") ? F16 : F32);
    set(t, 902, IS_INT64, 4, dims);
    set(t, 903, IS_INT64, 4, strides);
    set(t, 906, IS_INT64, 1, &uid);
    return done(t);
}

/* A convolution of x with w along `axes` dims, which writes y. */
static void conv_op(struct list *list, int type, int axes, void *x, void *w, void *y)
{
    static const int64_t step[] = {2, 1, 1}, pad[] = {1, 1, 0}, dilation[] = {1, 1, 2};
    const int first = type == 10 ? 700 : type == 11 ? 712 : 706;
    const double one = 1, zero = 0;
    void *window = make(1), *op = make(type);
    set_number(window, 100, IS_TYPE, F32);
    set_number(window, 101, 7, 1);
    set(window, 102, IS_INT64, axes, dilation);
    set(window, 103, IS_INT64, axes, step);
    set(window, 105, IS_INT64, axes, pad);
    done(window);
    set(op, first, 5, 1, &one);
    set(op, first + 1, 5, 1, &zero);
    set(op, first + 2, IS_DESCRIPTOR, 1, &window);
    set(op, first + 3, IS_DESCRIPTOR, 1, &w);
    set(op, first + 4, IS_DESCRIPTOR, 1, &x);
    set(op, first + 5, IS_DESCRIPTOR, 1, &y);
    add(list, op);
}

static void execute_conv(const struct list *list, int count)
{
    static const int64_t uids[] = {'x', 'y', 'w', 'b', 'z'};
    void *plan = plan_of(list);
    void *pointers[] = {(void *)job.array[0], (void *)job.array[2], (void *)job.array[1],
                        (void *)job.array[3], (void *)job.array[4]};
    for (int i = 0; i < REPEAT; i++)
        execute(plan, count, uids, pointers);
}

/* Behind the convolution a bias and a relu; of `added` half of z first, and a relu up to 0.75. */
static void run_conv(int type)
{
    static const int64_t x_dims[] = {2, 4, 7, 6}, w_dims[] = {6, 2, 3, 3}, y_dims[] = {2, 6, 4, 6};
    static const int64_t b_dims[] = {1, 6, 1, 1};
    const double half = 0.5, most = 0.75;
    void *x = last('x', x_dims), *w = last('w', w_dims), *y = last('y', y_dims);
    struct list list = {0};
    bool more = is("relu") || is("added");
    void *sum = more ? inner(F32, y_dims) : y;
    conv_op(&list, type, 2, x, w, sum);
    if (is("added")) {
        sum = pointwise(&list, 0, -1, sum, last('z', y_dims), NULL, inner(F32, y_dims));
        set(list.op[1], 755, 5, 1, &half);
    }
    if (more) {
        sum = pointwise(&list, 0, -1, sum, done(tensor('b', F32, b_dims, false)), NULL,
                        inner(F32, y_dims));
        pointwise(&list, 100, -1, sum, NULL, NULL, y);
    }
    if (is("added"))
        set(job.how, 4, 5, 1, &most);
    execute_conv(&list, is("added") ? 5 : more ? 4 : 3);
}

/* ---- the same of volumes of 3 frames, by frames or by channels ---- */

static void *volume(int64_t uid, const int64_t dims[5], bool by_channels)
{
    int64_t step = by_channels ? dims[1] : 1, size = dims[2] * dims[3] * dims[4];
    const int64_t strides[5] = {dims[1] * size, by_channels ? 1 : size, step * dims[3] * dims[4],
                                step * dims[4], step};
    void *t = make(17);
    set_number(t, 901, IS_TYPE, F32);
    set(t, 902, IS_INT64, 5, dims);
    set(t, 903, IS_INT64, 5, strides);
    set(t, 906, IS_INT64, 1, &uid);
    return done(t);
}

static void run_volume(int type)
{
    static const int64_t x_dims[] = {2, 4, 3, 5, 6}, w_dims[] = {6, 2, 2, 3, 2};
    static const int64_t y_dims[] = {2, 6, 2, 5, 4};
    struct list list = {0};
    conv_op(&list, type, 3, volume('x', x_dims, true), volume('w', w_dims, false),
            volume('y', y_dims, true));
    execute_conv(&list, 3);
}

/* ---- attention: 2 of a batch, 4 heads on 2, 5 queries, 7 keys, width 6 ---- */

static const int64_t q_dims[] = {2, 4, 5, 6}, k_dims[] = {2, 2, 6, 7}, v_dims[] = {2, 2, 7, 6};
static const int64_t s_dims[] = {2, 4, 5, 7}, t_dims[] = {2, 4, 7, 5}, one_dims[] = {2, 4, 5, 1};
static const int64_t kv_dims[] = {2, 2, 7, 6}, wide_dims[] = {2, 4, 7, 6}, b_dims[] = {2, 1, 5, 7};

/* Scores of the queries: the product, the scale, the bias. */
static void *scores(struct list *list, void *q, void *k)
{
    void *s = product(list, q, k, inner(F32, s_dims));
    s = pointwise(list, 1, -1, s, number(UID_SCALE), NULL, inner(F32, s_dims));
    if (is("bias"))
        s = pointwise(list, 0, -1, s, done(tensor(UID_BIAS, F32, b_dims, false)), NULL,
                      inner(F32, s_dims));
    return s;
}

/* How many queries or keys each sequence has. */
static void *lengths(int64_t uid)
{
    static const int64_t dims[4] = {2, 1, 1, 1};
    return done(tensor(uid, I32, dims, false));
}

/* Scores of places behind a sequence's last query or key are cleared. */
static void *padded(struct list *list, void *s, void *queries, void *keys)
{
    void *row = pointwise(list, 501, 2, s, NULL, NULL, inner(I32, s_dims));
    void *column = pointwise(list, 501, 3, s, NULL, NULL, inner(I32, s_dims));
    row = pointwise(list, 304, -1, row, queries, NULL, inner(BOOLEAN, s_dims));
    column = pointwise(list, 304, -1, column, keys, NULL, inner(BOOLEAN, s_dims));
    void *kept = pointwise(list, 400, -1, row, column, NULL, inner(BOOLEAN, s_dims));
    return pointwise(list, 601, -1, s, number(job.strange++), kept, inner(F32, s_dims));
}

/* Causal; of padded sequences from their last query and key on. */
static void *masked(struct list *list, void *s, void *queries, void *keys)
{
    if (!is("causal") && !is_backward() && !is_padded())
        return s;
    void *row = pointwise(list, 501, 2, s, NULL, NULL, inner(I32, s_dims));
    void *column = pointwise(list, 501, 3, s, NULL, NULL, inner(I32, s_dims));
    if (is_padded()) {
        row = pointwise(list, 0, -1, row, keys, NULL, inner(I32, s_dims));
        row = pointwise(list, 9, -1, row, queries, NULL, inner(I32, s_dims));
    }
    void *kept = pointwise(list, 303, -1, row, column, NULL, inner(BOOLEAN, s_dims));
    return pointwise(list, 601, -1, s, number(job.strange++), kept, inner(F32, s_dims));
}

/* A tensor of the queries; of `ragged` its sequences begin where another tensor has it. */
static void *queries_tensor(int64_t uid)
{
    static const int64_t dims[4] = {3, 1, 1, 1};
    void *t = tensor(uid, F32, q_dims, false);
    if (is("ragged")) {
        void *starts = done(tensor(job.strange++, I32, dims, false));
        set(t, 913, IS_DESCRIPTOR, 1, &starts);
    }
    return done(t);
}

/* Some weights are cleared, the others become larger. */
static void *dropped(struct list *list, void *s)
{
    void *op = make(33), *kept = inner(F32, s_dims);
    set(op, 2310, IS_DESCRIPTOR, 1, &kept);
    add(list, op);
    s = pointwise(list, 1, -1, s, kept, NULL, inner(F32, s_dims));
    return pointwise(list, 1, -1, s, number(job.strange++), NULL, inner(F32, s_dims));
}

static void run_attention(void)
{
    static const int64_t uids[] = {UID_Q,    UID_K,     UID_V,       UID_Y,          UID_LSE,
                                   UID_BIAS, UID_SCALE, UID_LENGTHS, UID_KEY_LENGTHS};
    struct list list = {0};
    float scale = 0.4f;
    void *s = scores(&list, queries_tensor(UID_Q), done(tensor(UID_K, F32, k_dims, true)));
    void *queries = lengths(UID_LENGTHS), *keys = lengths(UID_KEY_LENGTHS);
    s = is_padded() ? padded(&list, s, queries, keys) : s;
    s = masked(&list, s, queries, keys);
    void *most = reduction(&list, 3, s, inner(F32, one_dims));
    s = pointwise(&list, 9, -1, s, most, NULL, inner(F32, s_dims));
    s = pointwise(&list, 13, -1, s, NULL, NULL, inner(F32, s_dims));
    void *sum = reduction(&list, 0, s, inner(F32, one_dims));
    if (!is("plain")) {
        void *log = pointwise(&list, 15, -1, sum, NULL, NULL, inner(F32, one_dims));
        void *lse = done(tensor(UID_LSE, F32, one_dims, false));
        pointwise(&list, is("other") ? 1 : 0, -1, most, log, NULL, lse);
    }
    s = pointwise(&list, 6, -1, s, sum, NULL, inner(F32, s_dims));
    s = is("dropout") ? dropped(&list, s) : s;
    product(&list, s, done(tensor(UID_V, F32, v_dims, false)), queries_tensor(UID_Y));
    void *plan = plan_of(&list);
    void *pointers[] = {(void *)job.array[0],
                        (void *)job.array[1],
                        (void *)job.array[2],
                        (void *)job.array[3],
                        (void *)job.array[4],
                        (void *)job.array[5],
                        &scale,
                        (void *)job.lengths,
                        (void *)(job.lengths + 2 * sizeof(int))};
    for (int i = 0; i < REPEAT; i++)
        execute(plan, is_padded() ? 9 : 7, uids, pointers);
}

static void run_backward(void)
{
    static const int64_t uids[] = {UID_Q,  UID_K,  UID_V,  UID_Y,     UID_LSE,     UID_DY,
                                   UID_DQ, UID_DK, UID_DV, UID_SCALE, UID_LENGTHS, UID_KEY_LENGTHS};
    struct list list = {0};
    float scale = 0.4f;
    run_attention(); /* y and the sums' logarithms */
    void *q = done(tensor(UID_Q, F32, q_dims, false)), *k = done(tensor(UID_K, F32, k_dims, true));
    void *dy = done(tensor(UID_DY, F32, q_dims, false));
    void *y = done(tensor(UID_Y, F32, q_dims, false));
    void *queries = lengths(UID_LENGTHS), *keys = lengths(UID_KEY_LENGTHS);
    void *own = pointwise(&list, 1, -1, dy, y, NULL, inner(F32, q_dims));
    own = reduction(&list, 0, own, inner(F32, one_dims));
    own = pointwise(&list, 1, -1, own, number(job.strange++), NULL, inner(F32, one_dims));
    void *s = scores(&list, q, k);
    s = is_padded() ? padded(&list, s, queries, keys) : s;
    s = pointwise(&list, 9, -1, s, done(tensor(UID_LSE, F32, one_dims, false)), NULL,
                  inner(F32, s_dims));
    s = is_padded() ? padded(&list, s, queries, keys) : s;
    s = masked(&list, s, queries, keys);
    void *p = pointwise(&list, 13, -1, s, NULL, NULL, inner(F32, s_dims));
    void *wide = product(&list, turned(&list, p, inner(F32, t_dims)), dy, inner(F32, wide_dims));
    reduction(&list, 0, wide, done(tensor(UID_DV, F32, kv_dims, false)));
    s = product(&list, dy, done(tensor(UID_V, F32, k_dims, true)), inner(F32, s_dims));
    s = pointwise(&list, 9, -1, s, own, NULL, inner(F32, s_dims));
    s = pointwise(&list, 1, -1, s, p, NULL, inner(F32, s_dims));
    s = pointwise(&list, 1, -1, s, number(UID_SCALE), NULL, inner(F32, s_dims));
    wide = product(&list, turned(&list, s, inner(F32, t_dims)), q, inner(F32, wide_dims));
    reduction(&list, 0, wide, done(tensor(UID_DK, F32, kv_dims, false)));
    void *dq = product(&list, s, turned(&list, k, inner(F32, kv_dims)), inner(F32, q_dims));
    pointwise(&list, 21, -1, dq, NULL, NULL, done(tensor(UID_DQ, F32, q_dims, false)));
    void *plan = plan_of(&list);
    void *pointers[12] = {
        [9] = &scale, (void *)job.lengths, (void *)(job.lengths + 2 * sizeof(int))};
    for (int i = 0; i < 9; i++)
        pointers[i] = (void *)job.array[i];
    for (int i = 0; i < REPEAT; i++)
        execute(plan, is_padded() ? 12 : 10, uids, pointers);
}

/* ---- operations as a whole ---- */

static void run_classic(void)
{
    static const int x_dims[] = {2, 4, 7, 6}, w_dims[] = {6, 4, 3, 3}, y_dims[] = {2, 6, 4, 6};
    static const int step[] = {2, 1}, pad[] = {1, 1};
    const float one = 1, zero = 0;
    static const int bias_dims[] = {1, 6, 1, 1};
    void *x, *w, *y, *bias, *window;
    softdnn_tensor(&x, F32, 1, x_dims);
    softdnn_tensor(&w, F32, 1, w_dims);
    softdnn_tensor(&y, F32, 0, y_dims);
    softdnn_tensor(&bias, F32, 0, bias_dims);
    softdnn_window(&window, step, pad);
    for (int i = 0; is("classic_relu") && i < REPEAT; i++)
        expect(cudnnConvolutionBiasActivationForward(
                   job.dnn, &one, x, (void *)job.array[0], w, (void *)job.array[1], window, 0, NULL,
                   0, &zero, y, (void *)job.array[2], bias, (void *)job.array[3], NULL, y,
                   (void *)job.array[2]),
               "cudnnConvolutionBiasActivationForward");
    for (int i = 0; is("classic") && i < REPEAT; i++)
        expect(cudnnConvolutionForward(job.dnn, &one, x, (void *)job.array[0], w,
                                       (void *)job.array[1], window, 0, NULL, 0, &zero, y,
                                       (void *)job.array[2]),
               "cudnnConvolutionForward");
}

static int run_norm(void)
{
    static const int x_dims[] = {3, 5, 4, 6}, w_dims[] = {1, 5, 1, 1};
    const float one = 1, zero = 0;
    void *x, *w, *at[12];
    for (int i = 0; i < 12; i++)
        at[i] = (void *)job.array[i];
    softdnn_tensor(&x, F32, 1, x_dims);
    softdnn_tensor(&w, F32, 0, w_dims);
    if (is("inference"))
        return cudnnBatchNormalizationForwardInference(job.dnn, 1, &one, &zero, x, at[0], x, at[1],
                                                       w, at[2], at[3], at[4], at[5], 1e-3);
    if (is("training"))
        return cudnnBatchNormalizationForwardTrainingEx(
            job.dnn, 2, 0, &one, &zero, x, at[0], NULL, NULL, x, at[1], w, at[2], at[3], 0.1, at[6],
            at[7], 1e-3, at[4], at[5], NULL, NULL, 0, NULL, 0);
    return cudnnBatchNormalizationBackwardEx(
        job.dnn, 2, 0, &one, &zero, &one, &zero, x, at[0], NULL, NULL, x, at[8], NULL, NULL, x,
        at[9], w, at[2], NULL, at[10], at[11], 1e-3, at[4], at[5], NULL, NULL, 0, NULL, 0);
}

/* A variance, or 1 / deviation, is positive. */
static void fill_positive(CUdeviceptr array)
{
    float numbers[64];
    for (int i = 0; i < 64; i++)
        numbers[i] = 0.5f + (float)(i * 37 % 64) / 64;
    CHECK(cuMemcpyHtoD(array, numbers, sizeof numbers));
}

static void run(void)
{
    if (is("conv") || is("half") || is("late") || is("relu") || is("added"))
        run_conv(10);
    else if (is("sparse")) { /* y is the gradient: no pixels but the first have one */
        CHECK(cuMemsetD8(job.array[2] + 64, 0, ROOM * sizeof(float) - 64));
        run_conv(11);
    } else if (is("conv_weight"))
        run_conv(11);
    else if (is("conv_data"))
        run_conv(12);
    else if (strncmp(job.word, "conv3", 5) == 0)
        run_volume(is("conv3") ? 10 : is("conv3_weight") ? 11 : 12);
    else if (is("classic") || is("classic_relu"))
        run_classic();
    else if (is_backward())
        run_backward();
    else if (is("inference") || is("training") || is("gradient"))
        for (int i = 0; i < REPEAT; i++)
            expect(run_norm(), job.word);
    else
        run_attention();
}

/* The word's operations in a CUDA graph, which is launched REPEAT times. */
static void run_captured(void)
{
    CUgraph graph;
    CUgraphExec ready;
    CHECK(cuStreamBeginCapture(job.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    run();
    CHECK(cuStreamEndCapture(job.stream, &graph));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    CHECK(cuGraphDestroy(graph));
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuGraphLaunch(ready, job.stream));
    CHECK(cuStreamSynchronize(job.stream));
    CHECK(cuGraphExecDestroy(ready));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    CHECK(cuStreamCreate(&job.stream, CU_STREAM_NON_BLOCKING));
    expect(cudnnCreate(&job.dnn), "cudnnCreate");
    expect(cudnnSetStream(job.dnn, job.stream), "cudnnSetStream");
    job.strange = 1000;
    for (unsigned i = 0; i < 16; i++)
        job.array[i] = upload(ROOM, i + 1);
    fill_positive(job.array[5]);
    fill_positive(job.array[7]);
    static const int numbers[] = {3, 5, 4, 7}; /* queries and keys of two sequences */
    CHECK(cuMemAlloc(&job.lengths, sizeof numbers));
    CHECK(cuMemcpyHtoD(job.lengths, numbers, sizeof numbers));
    CHECK(cuCtxSynchronize());
    bool captured = false;
    for (int i = 0; *word(i); i++) {
        job.word = word(i);
        if (is("captured"))
            captured = true;
        else if (captured)
            run_captured();
        else
            run();
        CHECK(cuStreamSynchronize(job.stream));
    }
    for (int i = 0; i < 12; i++)
        print_sum("array", job.array[i], ROOM * sizeof(float));
    cudnnDestroy(job.dnn);
    finish();
    return 0;
}
