/*
 * cudnn_attention.c - scaled dot product attention in a graph of cuDNN's operations.
 *
 * cuDNN's front end spells attention out: two products of matrices, or five of its gradient, and
 * what lies between them, in a fixed order. A letter stands for each operation, and a graph whose
 * letters are those of a row below is attention; any other is not recognised.
 */
#include <string.h>

#include "hook/calls/cudnn_conv.h"
#include "hook/calls/cudnn_plan.h"
#include "hook/calls/descriptors.h"

enum { LETTERS = 48 };

struct letters {
    const struct descriptor *graph;
    char text[LETTERS + 1];
};

/* Of a pointwise operation or a reduction; '#': one that attention does not have. */
static char letter_by_mode(int64_t mode)
{
    static const struct {
        int mode;
        char letter;
    } rows[] = {{0, '+'},  {1, '*'},  {6, '/'},   {9, '-'},   {13, 'e'},
                {15, 'l'}, {21, 'i'}, {303, '>'}, {501, 'g'}, {601, '?'}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].mode == mode)
            return rows[i].letter;
    }
    return '#';
}

static char letter_of(const struct descriptor *op)
{
    const struct descriptor *how;
    int64_t mode;
    switch (descriptor_type(op)) {
    case DNN_OP_MATMUL:
        return 'M';
    case DNN_OP_RESHAPE:
        return 'T';
    case DNN_OP_POINTWISE:
        how = descriptor_child(op, DNN_POINTWISE_DESCRIPTOR, 0);
        return letter_by_mode(descriptor_integer(how, DNN_POINTWISE_MODE, 0, -1));
    case DNN_OP_REDUCTION:
        how = descriptor_child(op, DNN_REDUCTION_DESCRIPTOR, 0);
        mode = descriptor_integer(how, DNN_REDUCTION_OPERATOR, 0, -1);
        return mode == 0 ? 's' : mode == 3 ? 'm' : '#';
    default:
        return '#';
    }
}

static const struct descriptor *op_at(const struct letters *letters, int at)
{
    return at < 0 ? NULL : descriptor_child(letters->graph, DNN_GRAPH_OPS, at);
}

/* Where occurrence `nth`, from 0, of the letter is; -1: there is none. */
static int place_of(const struct letters *letters, char letter, int nth)
{
    for (int i = 0; letters->text[i]; i++) {
        if (letters->text[i] == letter && nth-- == 0)
            return i;
    }
    return -1;
}

static bool read_letters(struct letters *letters, const struct descriptor *graph)
{
    int64_t count = descriptor_count(graph, DNN_GRAPH_OPS);
    *letters = (struct letters){.graph = graph};
    for (int i = 0; i < count && i < LETTERS; i++)
        letters->text[i] = letter_of(op_at(letters, i));
    return count <= LETTERS;
}

/* ---- arguments ---- */

/* A tensor of the call: where its strides begin among the arguments, and how its dims lie. */
static void set_tensor(struct dnn_plan *plan, const struct descriptor *tensor, size_t argument,
                       int64_t stride[4], bool transposed)
{
    struct dnn_tensor t;
    dnn_plan_tensor(tensor, &t);
    if (t.rank != 4 || (plan->call.type[0] && t.type != plan->call.type[0]))
        plan->call.words |= DNN_WORD_OTHER;
    if (!plan->call.type[0])
        plan->call.type[0] = t.type;
    stride[0] = t.stride[0];
    stride[1] = t.stride[1];
    stride[2] = t.stride[transposed ? 3 : 2];
    stride[3] = t.stride[transposed ? 2 : 3];
    dnn_plan_array(plan, tensor, argument);
}

/* The logarithms of the sums, [batch][heads][queries][1] in f32. */
static void set_lse(struct dnn_plan *plan, const struct descriptor *tensor)
{
    struct dnn_attention *to = &plan->call.attention;
    struct dnn_tensor t;
    dnn_plan_tensor(tensor, &t);
    if (t.rank != 4 || t.type != DTYPE_F32 || t.dim[3] != 1)
        plan->call.words |= DNN_WORD_OTHER;
    to->lse_batch = t.stride[0];
    to->lse_head = t.stride[1];
    to->lse_row = t.stride[2];
    plan->call.words |= DNN_WORD_LSE;
    dnn_plan_array(plan, tensor, DNN_ARGUMENT(attention, lse));
}

/* What is added to the scores; the same for all items of a dim that it has one of. */
static void set_bias(struct dnn_plan *plan, const struct descriptor *tensor)
{
    int64_t *stride = DNN_FROM(&plan->call, attention, bias_batch);
    struct dnn_tensor t;
    dnn_plan_tensor(tensor, &t);
    if (t.rank != 4)
        plan->call.words |= DNN_WORD_OTHER;
    for (int i = 0; i < 4; i++)
        stride[i] = t.dim[i] == 1 ? 0 : t.stride[i];
    plan->call.type[2] = t.type;
    plan->call.words |= DNN_WORD_BIAS;
    dnn_plan_array(plan, tensor, DNN_ARGUMENT(attention, bias));
}

static void set_scale(struct dnn_plan *plan, const struct descriptor *tensor)
{
    struct dnn_tensor t;
    dnn_plan_tensor(tensor, &t);
    if (!descriptor_integer(tensor, DNN_TENSOR_BY_VALUE, 0, 0) || t.type != DTYPE_F32)
        plan->call.words |= DNN_WORD_OTHER;
    dnn_plan_array(plan, tensor, DNN_ARGUMENT(attention, scale));
}

/* The sizes, by q[batch][heads][queries][dim], and by keys and values as they lie in the call. */
static void set_sizes(struct dnn_plan *plan, const struct descriptor *q, const struct descriptor *k,
                      const struct descriptor *v, bool k_transposed, bool v_transposed)
{
    struct dnn_attention *to = &plan->call.attention;
    struct dnn_tensor tq, tk, tv;
    dnn_plan_tensor(q, &tq);
    dnn_plan_tensor(k, &tk);
    dnn_plan_tensor(v, &tv);
    to->batch = tq.dim[0];
    to->heads = tq.dim[1];
    to->queries = tq.dim[2];
    to->dim = tq.dim[3];
    to->kv_heads = tk.dim[1];
    to->keys = tk.dim[k_transposed ? 3 : 2];
    to->vdim = tv.dim[v_transposed ? 2 : 3];
    if (tv.dim[1] != tk.dim[1] || to->kv_heads < 1 || to->heads % to->kv_heads)
        plan->call.words |= DNN_WORD_OTHER;
}

/* ---- graphs ---- */

/* gg>? keeps the scores of keys up to the query's own place: row index (axis 2) >= column's. */
static bool is_causal_mask(const struct letters *letters)
{
    int first = place_of(letters, 'g', 0);
    for (int i = 0; i < 2; i++) {
        const struct descriptor *how =
            descriptor_child(op_at(letters, first + i), DNN_POINTWISE_DESCRIPTOR, 0);
        if (descriptor_integer(how, DNN_POINTWISE_AXIS, 0, -1) != 2 + i)
            return false;
    }
    const struct descriptor *compared = op_at(letters, first + 2);
    return descriptor_child(compared, DNN_POINTWISE_X, 0) ==
               descriptor_child(op_at(letters, first), DNN_POINTWISE_Y, 0) &&
           descriptor_child(compared, DNN_POINTWISE_B, 0) ==
               descriptor_child(op_at(letters, first + 1), DNN_POINTWISE_Y, 0);
}

static void set_mask(struct dnn_plan *plan, const struct letters *letters)
{
    struct dnn_attention *to = &plan->call.attention;
    bool masked = place_of(letters, 'g', 0) >= 0;
    to->left = -1;
    to->right = masked ? 0 : -1;
    if (masked && !is_causal_mask(letters))
        plan->call.words |= DNN_WORD_OTHER;
}

#define SET(name, tensor, transposed)                                                              \
    set_tensor(plan, tensor, DNN_ARGUMENT(attention, name),                                        \
               DNN_FROM(&plan->call, attention, name##_batch), transposed)

static void set_forward(struct dnn_plan *plan, const struct letters *letters)
{
    const struct descriptor *scores = op_at(letters, place_of(letters, 'M', 0));
    const struct descriptor *mixed = op_at(letters, place_of(letters, 'M', 1));
    const struct descriptor *q = descriptor_child(scores, DNN_MATMUL_A, 0);
    const struct descriptor *k = descriptor_child(scores, DNN_MATMUL_B, 0);
    const struct descriptor *v = descriptor_child(mixed, DNN_MATMUL_B, 0);
    const struct descriptor *stats =
        descriptor_child(op_at(letters, place_of(letters, 'l', 0) + 1), DNN_POINTWISE_Y, 0);
    plan->call.kind = DNN_ATTENTION;
    SET(q, q, false);
    SET(k, k, true);
    SET(v, v, false);
    SET(y, descriptor_child(mixed, DNN_MATMUL_C, 0), false);
    set_sizes(plan, q, k, v, true, false);
    set_scale(plan, descriptor_child(op_at(letters, 1), DNN_POINTWISE_B, 0));
    if (letters->text[2] == '+')
        set_bias(plan, descriptor_child(op_at(letters, 2), DNN_POINTWISE_B, 0));
    if (!descriptor_integer(stats, DNN_TENSOR_VIRTUAL, 0, 0))
        set_lse(plan, stats);
}

/* What a product writes, or the sum over the heads that share keys behind it. */
static const struct descriptor *gradient_of(const struct letters *letters, int at)
{
    return letters->text[at + 1] == 's'
               ? descriptor_child(op_at(letters, at + 1), DNN_REDUCTION_Y, 0)
               : descriptor_child(op_at(letters, at), DNN_MATMUL_C, 0);
}

static void set_backward(struct dnn_plan *plan, const struct letters *letters)
{
    const int scores_at = place_of(letters, 'M', 0);
    const struct descriptor *scores = op_at(letters, scores_at), *first = op_at(letters, 0);
    const struct descriptor *q = descriptor_child(scores, DNN_MATMUL_A, 0);
    const struct descriptor *k = descriptor_child(scores, DNN_MATMUL_B, 0);
    const struct descriptor *v =
        descriptor_child(op_at(letters, place_of(letters, 'M', 2)), DNN_MATMUL_B, 0);
    const struct descriptor *last = op_at(letters, place_of(letters, 'i', 0));
    plan->call.kind = DNN_ATTENTION_BACKWARD;
    SET(q, q, false);
    SET(k, k, true);
    SET(v, v, true);
    SET(y, descriptor_child(first, DNN_POINTWISE_B, 0), false);
    SET(dy, descriptor_child(first, DNN_POINTWISE_X, 0), false);
    SET(dq, descriptor_child(last, DNN_POINTWISE_Y, 0), false);
    SET(dk, gradient_of(letters, place_of(letters, 'M', 3)), false);
    SET(dv, gradient_of(letters, place_of(letters, 'M', 1)), false);
    set_sizes(plan, q, k, v, true, true);
    if (plan->call.attention.heads != plan->call.attention.kv_heads)
        plan->call.words |= DNN_WORD_GROUPED;
    set_scale(plan, descriptor_child(op_at(letters, scores_at + 1), DNN_POINTWISE_B, 0));
    if (letters->text[scores_at + 2] == '+')
        set_bias(plan, descriptor_child(op_at(letters, scores_at + 2), DNN_POINTWISE_B, 0));
    set_lse(plan, descriptor_child(op_at(letters, place_of(letters, '-', 0)), DNN_POINTWISE_B, 0));
}

/* Without a bias the call's name has the one type three times. */
static void name_types(struct dnn_plan *plan)
{
    plan->call.type[1] = plan->call.type[0];
    if (!plan->call.type[2])
        plan->call.type[2] = plan->call.type[0];
}

/* One operation that is all of it, without bias and mask. */
static bool set_whole(struct dnn_plan *plan, const struct descriptor *op)
{
    struct dnn_attention *to = &plan->call.attention;
    const struct descriptor *q = descriptor_child(op, DNN_SDPA_Q, 0);
    const struct descriptor *k = descriptor_child(op, DNN_SDPA_K, 0);
    const struct descriptor *v = descriptor_child(op, DNN_SDPA_V, 0);
    if (descriptor_type(op) != DNN_OP_SDPA)
        return false;
    plan->call.kind = DNN_ATTENTION;
    SET(q, q, false);
    SET(k, k, false);
    SET(v, v, false);
    SET(y, descriptor_child(op, DNN_SDPA_Y, 0), false);
    set_sizes(plan, q, k, v, false, false);
    set_scale(plan, descriptor_child(op, DNN_SDPA_SCALE, 0));
    if (descriptor_count(op, DNN_SDPA_STATS))
        set_lse(plan, descriptor_child(op, DNN_SDPA_STATS, 0));
    for (int name = DNN_SDPA_SCALE + 1; name < DNN_SDPA_END; name++)
        plan->call.words |= descriptor_count(op, name) ? DNN_WORD_OTHER : 0u;
    to->left = to->right = -1;
    name_types(plan);
    return true;
}

bool dnn_plan_attention(struct dnn_plan *plan, const struct descriptor *graph)
{
    /* Scores times the scale, plus a bias, masked; softmax with its sums; values. Of the gradient:
     * sums of dy y, the same scores, exp(score - lse), products with dy and v, and T for what is
     * transposed. Sums behind products: over the heads that share keys. */
    static const char *const forward[] = {"M*m-esl+/M", "M*+m-esl+/M", "M*gg>?m-esl+/M",
                                          "M*+gg>?m-esl+/M"};
    static const char *const backward[] = {
        "*s*M*-eTMM-**TMTMi",      "*s*M*-eTMsM-**TMsTMi",      "*s*M*+-eTMM-**TMTMi",
        "*s*M*+-eTMsM-**TMsTMi",   "*s*M*-gg>?eTMM-**TMTMi",    "*s*M*-gg>?eTMsM-**TMsTMi",
        "*s*M*+-gg>?eTMM-**TMTMi", "*s*M*+-gg>?eTMsM-**TMsTMi",
    };
    struct letters letters;
    plan->call.accumulation = ACCUMULATION_F32;
    if (descriptor_count(graph, DNN_GRAPH_OPS) == 1)
        return set_whole(plan, descriptor_child(graph, DNN_GRAPH_OPS, 0));
    if (!read_letters(&letters, graph))
        return false;
    bool ahead = false, back = false;
    for (size_t i = 0; i < sizeof forward / sizeof *forward; i++)
        ahead = ahead || strcmp(letters.text, forward[i]) == 0;
    for (size_t i = 0; i < sizeof backward / sizeof *backward; i++)
        back = back || strcmp(letters.text, backward[i]) == 0;
    if (ahead)
        set_forward(plan, &letters);
    else if (back)
        set_backward(plan, &letters);
    else
        return false;
    set_mask(plan, &letters);
    name_types(plan);
    return true;
}
