#include "hook/calls/cudnn_plan.h"

#include <math.h>

#include "hook/calls/cudnn_conv.h"
#include "hook/calls/descriptors.h"
#include "text/textbuf.h"

static void add_plan_tensor(struct dnn_plan *plan, const struct descriptor *tensor, size_t argument,
                            enum dnn_plan_value kind, int64_t more)
{
    if (plan->arrays == DNN_PLAN_ARRAYS || descriptor_count(tensor, DNN_TENSOR_UID) != 1) {
        plan->call.words |= DNN_WORD_OTHER;
        return;
    }
    plan->array[plan->arrays++] = (struct dnn_plan_array){
        .uid = descriptor_integer(tensor, DNN_TENSOR_UID, 0, -1),
        .argument = (int)argument,
        .kind = (uint8_t)kind,
        .more = more,
    };
}

static bool is_by_value(const struct descriptor *tensor)
{
    return descriptor_integer(tensor, DNN_TENSOR_BY_VALUE, 0, 0) != 0;
}

void dnn_plan_array(struct dnn_plan *plan, const struct descriptor *tensor, size_t argument)
{
    add_plan_tensor(plan, tensor, argument, is_by_value(tensor) ? DNN_PLAN_REAL : DNN_PLAN_ADDRESS,
                    0);
}

void dnn_plan_whole(struct dnn_plan *plan, const struct descriptor *tensor, size_t argument,
                    int64_t more)
{
    int64_t type = descriptor_integer(tensor, DNN_TENSOR_TYPE, 0, -1);
    if (!is_by_value(tensor) || (type != DNN_F32 && type != DNN_I32))
        plan->call.words |= DNN_WORD_OTHER;
    else
        add_plan_tensor(plan, tensor, argument,
                        type == DNN_F32 ? DNN_PLAN_WHOLE_F32 : DNN_PLAN_WHOLE_I32, more);
}

void dnn_plan_tensor(const struct descriptor *tensor, struct dnn_tensor *out)
{
    int64_t rank = descriptor_count(tensor, DNN_TENSOR_DIMS);
    bool strided = descriptor_count(tensor, DNN_TENSOR_STRIDES) == rank && rank <= DNN_RANK_MAX;
    *out =
        (struct dnn_tensor){.type = dnn_dtype(descriptor_integer(tensor, DNN_TENSOR_TYPE, 0, -1)),
                            .rank = strided ? (int)rank : 0,
                            .ragged = descriptor_count(tensor, DNN_TENSOR_RAGGED) > 0};
    for (int i = 0; i < out->rank; i++) {
        out->dim[i] = descriptor_integer(tensor, DNN_TENSOR_DIMS, i, 0);
        out->stride[i] = descriptor_integer(tensor, DNN_TENSOR_STRIDES, i, 0);
    }
}

/* The attributes of a convolution follow each other in the same order for all three kinds. */
enum { CONV_ALPHA, CONV_BETA, CONV_DESCRIPTOR, CONV_W, CONV_X, CONV_Y };

static void read_plan_window(struct dnn_convolution *conv, const struct descriptor *window)
{
    conv->spatial = (int)descriptor_count(window, DNN_CONV_STRIDES);
    conv->spatial = conv->spatial <= DNN_RANK_MAX ? conv->spatial : 0;
    for (int i = 0; i < conv->spatial; i++) {
        conv->step[i] = descriptor_integer(window, DNN_CONV_STRIDES, i, 1);
        conv->pad[i] = descriptor_integer(window, DNN_CONV_PADDINGS, i, 0);
        conv->dilation[i] = descriptor_integer(window, DNN_CONV_DILATIONS, i, 1);
    }
    conv->mode = descriptor_integer(window, DNN_CONV_MODE, 0, -1);
    conv->compute = descriptor_integer(window, DNN_CONV_COMPUTE, 0, -1);
}

/* What follows a convolution forward, read operation by operation. */
struct epilogue {
    struct dnn_convolution *conv;
    const struct descriptor *y, *bias, *added; /* what is written so far; what is added, or NULL */
};

static bool is_for_each_filter(const struct dnn_tensor *t, const struct dnn_tensor *y)
{
    for (int i = 0; i < t->rank; i++) {
        if (t->rank != y->rank || t->dim[i] != (i == 1 ? y->dim[1] : 1))
            return false;
    }
    return t->rank > 0;
}

/* A bias for each filter, or another tensor, once each. The factor of what there is so far joins
 * alpha, which only a convolution that nothing was added to can bear. */
static bool read_add(struct epilogue *to, const struct descriptor *op)
{
    const struct descriptor *b = descriptor_child(op, DNN_POINTWISE_B, 0);
    double before = descriptor_real(op, DNN_POINTWISE_ALPHA, 1);
    double factor = descriptor_real(op, DNN_POINTWISE_BETA, 1);
    struct dnn_tensor t, y;
    dnn_plan_tensor(b, &t);
    dnn_plan_tensor(to->y, &y);
    if (before != 1 && (to->bias || to->added))
        return false;
    to->conv->alpha *= before;
    if (!to->bias && factor == 1 && is_for_each_filter(&t, &y)) {
        to->bias = b;
        return true;
    }
    if (to->added)
        return false;
    to->added = factor == 0 ? NULL : b;
    to->conv->added = t;
    to->conv->added_scale = factor;
    return true;
}

/* A relu, with or without an upper end. */
static bool read_relu(struct epilogue *to, const struct descriptor *how)
{
    to->conv->low = descriptor_real(how, DNN_POINTWISE_LEAST, 0);
    to->conv->high = descriptor_real(how, DNN_POINTWISE_MOST, HUGE_VAL);
    return descriptor_real(how, DNN_POINTWISE_SLOPE, 0) == 0 && to->conv->low < to->conv->high;
}

static bool read_plan_epilogue(const struct descriptor *graph, struct epilogue *to)
{
    int64_t ops = descriptor_count(graph, DNN_GRAPH_OPS);
    bool held = false;
    for (int64_t at = 1; at < ops; at++) {
        const struct descriptor *op = descriptor_child(graph, DNN_GRAPH_OPS, at);
        const struct descriptor *how = descriptor_child(op, DNN_POINTWISE_DESCRIPTOR, 0);
        int64_t mode = descriptor_integer(how, DNN_POINTWISE_MODE, 0, -1);
        bool fits = descriptor_type(op) == DNN_OP_POINTWISE && !held &&
                    descriptor_child(op, DNN_POINTWISE_X, 0) == to->y;
        held = mode == DNN_MODE_RELU;
        if (!fits || (!held && mode != DNN_MODE_ADD) ||
            !(held ? read_relu(to, how) : read_add(to, op)))
            return false;
        to->y = descriptor_child(op, DNN_POINTWISE_Y, 0);
    }
    return true;
}

bool dnn_plan_conv(struct dnn_plan *plan, const struct descriptor *graph)
{
    static const struct {
        int type, first;
        enum dnn_kind kind;
    } rows[] = {{DNN_OP_CONV, DNN_CONV_FIRST, DNN_CONV},
                {DNN_OP_CONV_DATA, DNN_CONV_DATA_FIRST, DNN_CONV_DATA},
                {DNN_OP_CONV_WEIGHT, DNN_CONV_WEIGHT_FIRST, DNN_CONV_WEIGHT}};
    const struct descriptor *op = descriptor_child(graph, DNN_GRAPH_OPS, 0);
    struct dnn_convolution conv = {.alpha = 1, .low = -HUGE_VAL, .high = HUGE_VAL};
    size_t row = 0;
    while (row < 3 && rows[row].type != descriptor_type(op))
        row++;
    if (row == 3)
        return false;
    const int first = rows[row].first;
    const struct descriptor *x = descriptor_child(op, first + CONV_X, 0);
    const struct descriptor *w = descriptor_child(op, first + CONV_W, 0);
    struct epilogue then = {.conv = &conv, .y = descriptor_child(op, first + CONV_Y, 0)};
    conv.alpha = descriptor_real(op, first + CONV_ALPHA, 1);
    if (descriptor_count(graph, DNN_GRAPH_OPS) != 1 &&
        (row != 0 || !read_plan_epilogue(graph, &then)))
        return false;
    dnn_plan_tensor(x, &conv.x);
    dnn_plan_tensor(w, &conv.w);
    dnn_plan_tensor(then.y, &conv.y);
    read_plan_window(&conv, descriptor_child(op, first + CONV_DESCRIPTOR, 0));
    conv.adds = descriptor_real(op, first + CONV_BETA, 0) != 0;
    conv.biased = then.bias;
    conv.bias_type = dnn_dtype(descriptor_integer(then.bias, DNN_TENSOR_TYPE, 0, -1));
    dnn_set_conv(&plan->call, rows[row].kind, &conv);
    /* The first arguments of images and volumes are the same. */
    if (then.bias)
        dnn_plan_array(plan, then.bias, DNN_ARGUMENT(conv, bias));
    if (plan->call.words & DNN_WORD_ADDED)
        dnn_plan_array(plan, then.added, DNN_ARGUMENT(conv, added));
    dnn_plan_array(plan, x, DNN_ARGUMENT(conv, x));
    dnn_plan_array(plan, w, DNN_ARGUMENT(conv, w));
    dnn_plan_array(plan, then.y, DNN_ARGUMENT(conv, y));
    return true;
}

bool dnn_plan_may_reduce(const struct dnn_plan *plan)
{
    static const uint8_t result[DNN_KINDS] = {
        [DNN_CONV] = 2,       [DNN_CONV3] = 2,       [DNN_CONV_DATA] = 0,
        [DNN_CONV3_DATA] = 0, [DNN_CONV_WEIGHT] = 1, [DNN_CONV3_WEIGHT] = 1};
    const struct dnn *call = &plan->call;
    bool conv = call->kind <= DNN_CONV_WEIGHT ||
                (call->kind >= DNN_CONV3 && call->kind <= DNN_CONV3_WEIGHT);
    uint8_t type = call->type[result[call->kind]];
    return conv && call->accumulation == ACCUMULATION_F32 &&
           (type == DTYPE_F16 || type == DTYPE_BF16);
}

/* ---- graphs that are not recognised ---- */

static const struct named {
    int64_t number;
    const char *name;
} operations[] = {{DNN_OP_CONV, "conv"},
                  {DNN_OP_CONV_WEIGHT, "conv_weight"},
                  {DNN_OP_CONV_DATA, "conv_data"},
                  {14, "gen_stats"},
                  {DNN_OP_MATMUL, "matmul"},
                  {20, "bn_finalize"},
                  {DNN_OP_REDUCTION, "reduction"},
                  {23, "bn_backward_weights"},
                  {25, "resample"},
                  {26, "resample_backward"},
                  {27, "concat"},
                  {28, "signal"},
                  {29, "norm"},
                  {30, "norm_backward"},
                  {DNN_OP_RESHAPE, "reshape"},
                  {33, "random"},
                  {DNN_OP_PAGES, "pages"},
                  {36, "quantise_blocks"},
                  {37, "dequantise_blocks"},
                  {42, "grouped_matmul"},
                  {DNN_OP_SDPA_BACKWARD, "attention_backward"},
                  {DNN_OP_SDPA, "attention"}},
  pointwise[] = {
      {DNN_MODE_ADD, "add"}, {1, "mul"},       {2, "min"},         {3, "max"},
      {4, "sqrt"},           {6, "div"},       {9, "sub"},         {10, "abs"},
      {13, "exp"},           {15, "log"},      {16, "neg"},        {17, "rsqrt"},
      {20, "erf"},           {21, "identity"}, {22, "reciprocal"}, {DNN_MODE_RELU, "relu"},
      {101, "tanh"},         {102, "sigmoid"}, {104, "gelu"},      {106, "swish"},
      {107, "gelu_tanh"}};

static void put_name(struct textbuf *text, const struct named *rows, size_t count, int64_t number,
                     const char *other)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].number == number) {
            textbuf_printf(text, "%s", rows[i].name);
            return;
        }
    }
    textbuf_printf(text, "%s %lld", other, (long long)number);
}

/* Its operations in their order; of long graphs the first ones. */
static const char *name_graph(const struct descriptor *graph)
{
    enum { MOST_NAMED = 24 };
    struct textbuf text;
    const char *name = NULL;
    int64_t count = descriptor_count(graph, DNN_GRAPH_OPS);
    textbuf_init(&text);
    for (int64_t i = 0; i < count && i < MOST_NAMED; i++) {
        const struct descriptor *op = descriptor_child(graph, DNN_GRAPH_OPS, i);
        const struct descriptor *how = descriptor_child(op, DNN_POINTWISE_DESCRIPTOR, 0);
        if (i)
            textbuf_printf(&text, ", ");
        if (descriptor_type(op) == DNN_OP_POINTWISE)
            put_name(&text, pointwise, sizeof pointwise / sizeof *pointwise,
                     descriptor_integer(how, DNN_POINTWISE_MODE, 0, -1), "pointwise");
        else
            put_name(&text, operations, sizeof operations / sizeof *operations, descriptor_type(op),
                     "operation");
    }
    if (count > MOST_NAMED)
        textbuf_printf(&text, ", ...");
    if (!text.failed && count > 0)
        name = dnn_graph_name(text.data);
    textbuf_release(&text);
    return name;
}

void dnn_plan_make(struct dnn_plan *plan, const struct descriptor *graph)
{
    *plan = (struct dnn_plan){0};
    if (dnn_plan_conv(plan, graph) || dnn_plan_attention(plan, graph))
        return;
    *plan = (struct dnn_plan){.call = {.kind = DNN_GRAPH,
                                       .accumulation = ACCUMULATION_OTHER,
                                       .words = DNN_WORD_OTHER,
                                       .graph = name_graph(graph)}};
}
