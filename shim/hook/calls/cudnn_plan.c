#include "hook/calls/cudnn_plan.h"

#include "hook/calls/cudnn_conv.h"
#include "hook/calls/descriptors.h"
#include "text/textbuf.h"

void dnn_plan_array(struct dnn_plan *plan, const struct descriptor *tensor, size_t argument)
{
    if (plan->arrays == DNN_PLAN_ARRAYS || descriptor_count(tensor, DNN_TENSOR_UID) != 1) {
        plan->call.words |= DNN_WORD_OTHER;
        return;
    }
    plan->array[plan->arrays++] = (struct dnn_plan_array){
        .uid = descriptor_integer(tensor, DNN_TENSOR_UID, 0, -1),
        .argument = (int)argument,
        .host_float = descriptor_integer(tensor, DNN_TENSOR_BY_VALUE, 0, 0) != 0,
    };
}

void dnn_plan_tensor(const struct descriptor *tensor, struct dnn_tensor *out)
{
    int64_t rank = descriptor_count(tensor, DNN_TENSOR_DIMS);
    bool strided = descriptor_count(tensor, DNN_TENSOR_STRIDES) == rank && rank <= DNN_RANK_MAX;
    *out = (struct dnn_tensor){
        .type = dnn_dtype(descriptor_integer(tensor, DNN_TENSOR_TYPE, 0, -1)),
        .rank = strided && !descriptor_count(tensor, DNN_TENSOR_RAGGED) ? (int)rank : 0};
    for (int i = 0; i < out->rank; i++) {
        out->dim[i] = descriptor_integer(tensor, DNN_TENSOR_DIMS, i, 0);
        out->stride[i] = descriptor_integer(tensor, DNN_TENSOR_STRIDES, i, 0);
    }
}

/* The attributes of a convolution follow each other in the same order for all three kinds. */
enum { CONV_ALPHA, CONV_BETA, CONV_DESCRIPTOR, CONV_W, CONV_X, CONV_Y };

static void read_window(struct dnn_convolution *conv, const struct descriptor *window)
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

/* A pointwise operation of that mode on `x`, with factors of 1; NULL: it is another. */
static const struct descriptor *pointwise_of(const struct descriptor *op, int64_t mode,
                                             const struct descriptor *x)
{
    const struct descriptor *how = descriptor_child(op, DNN_POINTWISE_DESCRIPTOR, 0);
    bool fits = descriptor_type(op) == DNN_OP_POINTWISE &&
                descriptor_integer(how, DNN_POINTWISE_MODE, 0, -1) == mode &&
                descriptor_child(op, DNN_POINTWISE_X, 0) == x &&
                descriptor_real(op, DNN_POINTWISE_ALPHA, 1) == 1 &&
                descriptor_real(op, DNN_POINTWISE_BETA, 1) == 1;
    return fits ? how : NULL;
}

/* What follows a convolution forward: a bias for each filter, a relu, both or nothing. Leads *y to
 * what is written; NULL in *bias: none. */
static bool read_epilogue(const struct descriptor *graph, const struct descriptor **y,
                          const struct descriptor **bias, bool *relu)
{
    int64_t ops = descriptor_count(graph, DNN_GRAPH_OPS), at = 1;
    const struct descriptor *op = descriptor_child(graph, DNN_GRAPH_OPS, at);
    struct dnn_tensor added, out;
    if (at < ops && pointwise_of(op, DNN_MODE_ADD, *y)) {
        *bias = descriptor_child(op, DNN_POINTWISE_B, 0);
        dnn_plan_tensor(*bias, &added);
        dnn_plan_tensor(*y, &out);
        for (int i = 0; i < added.rank; i++) {
            if (added.rank != out.rank || added.dim[i] != (i == 1 ? out.dim[1] : 1))
                return false;
        }
        *y = descriptor_child(op, DNN_POINTWISE_Y, 0);
        op = descriptor_child(graph, DNN_GRAPH_OPS, ++at);
    }
    const struct descriptor *how = at < ops ? pointwise_of(op, DNN_MODE_RELU, *y) : NULL;
    if (how && descriptor_real(how, DNN_POINTWISE_LEAST, 0) == 0 &&
        descriptor_real(how, DNN_POINTWISE_SLOPE, 0) == 0 &&
        !descriptor_count(how, DNN_POINTWISE_MOST)) {
        *relu = true;
        *y = descriptor_child(op, DNN_POINTWISE_Y, 0);
        at++;
    }
    return at == ops;
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
    struct dnn_convolution conv = {.alpha = 1};
    size_t row = 0;
    while (row < 3 && rows[row].type != descriptor_type(op))
        row++;
    if (row == 3)
        return false;
    const int first = rows[row].first;
    const struct descriptor *x = descriptor_child(op, first + CONV_X, 0);
    const struct descriptor *w = descriptor_child(op, first + CONV_W, 0);
    const struct descriptor *y = descriptor_child(op, first + CONV_Y, 0), *bias = NULL;
    if (descriptor_count(graph, DNN_GRAPH_OPS) != 1 &&
        (row != 0 || !read_epilogue(graph, &y, &bias, &conv.relu)))
        return false;
    dnn_plan_tensor(x, &conv.x);
    dnn_plan_tensor(w, &conv.w);
    dnn_plan_tensor(y, &conv.y);
    read_window(&conv, descriptor_child(op, first + CONV_DESCRIPTOR, 0));
    conv.alpha = descriptor_real(op, first + CONV_ALPHA, 1);
    conv.adds = descriptor_real(op, first + CONV_BETA, 0) != 0;
    conv.biased = bias;
    conv.bias_type = dnn_dtype(descriptor_integer(bias, DNN_TENSOR_TYPE, 0, -1));
    dnn_set_conv(&plan->call, rows[row].kind, &conv);
    if (bias)
        dnn_plan_array(plan, bias, DNN_ARGUMENT(conv, bias));
    dnn_plan_array(plan, x, DNN_ARGUMENT(conv, x));
    dnn_plan_array(plan, w, DNN_ARGUMENT(conv, w));
    dnn_plan_array(plan, y, DNN_ARGUMENT(conv, y));
    return true;
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
