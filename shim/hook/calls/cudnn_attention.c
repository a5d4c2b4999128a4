/*
 * cudnn_attention.c - scaled dot product attention in a graph of cuDNN's operations.
 *
 * cuDNN's front end spells attention out: two products of matrices, or five of its gradient, and
 * what lies between them, in a fixed order, or as one operation. A letter stands for each
 * operation; a graph whose letters follow the order is attention, any other is not recognised.
 */
#include <string.h>

#include "hook/calls/cudnn_conv.h"
#include "hook/calls/cudnn_plan.h"
#include "hook/calls/descriptors.h"

enum { LETTERS = 64, AXIS_QUERIES = 2 };

struct letters {
    const struct descriptor *graph;
    char text[LETTERS + 1];
    int at; /* of the next one */
};

/* Of a pointwise operation; '#': one that attention does not have. */
static char letter_by_mode(int64_t mode)
{
    static const struct {
        int mode;
        char letter;
    } rows[] = {{0, '+'},   {1, '*'},   {6, '/'},   {9, '-'},   {13, 'e'},  {15, 'l'}, {21, 'i'},
                {301, 'G'}, {303, '>'}, {304, '<'}, {400, '&'}, {501, 'g'}, {601, '?'}};
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
    case DNN_OP_RANDOM:
        return 'r';
    case DNN_OP_PAGES:
        return 'P';
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

static bool read_letters(struct letters *letters, const struct descriptor *graph)
{
    int64_t count = descriptor_count(graph, DNN_GRAPH_OPS);
    *letters = (struct letters){.graph = graph};
    for (int i = 0; i < count && i < LETTERS; i++)
        letters->text[i] = letter_of(op_at(letters, i));
    return count <= LETTERS;
}

/* The place of the next letters where they are these, which are then behind; -1: they are not. */
static int take_letter(struct letters *letters, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(letters->text + letters->at, text, length) != 0)
        return -1;
    letters->at += (int)length;
    return letters->at - (int)length;
}

static bool took(struct letters *letters, const char *text)
{
    return take_letter(letters, text) >= 0;
}

/* Where the parts of a graph begin; -1: it has none. */
struct parts {
    int scores; /* the product, with the scale behind it */
    int bias, padding, left;
    int right, bottom, shift; /* the mask; its correction for lengths; its distance */
    int lse, values, dv, dp, dk, dq;
    bool paged, dropout;
};

/* ---- the order of the operations ---- */

/* The product of queries and keys times the scale, and what may be added. */
static bool take_scores(struct letters *letters, struct parts *parts)
{
    parts->scores = take_letter(letters, "M*");
    parts->bias = take_letter(letters, "+");
    parts->padding = take_letter(letters, "gg<<&?"); /* row < queries and column < keys */
    return parts->scores >= 0;
}

/* Keys up to the query's own place are kept, row >= column, where the row may be moved by the
 * difference of the lengths and by a number; and keys from some places before, column + number >
 * row. */
static bool take_masks(struct letters *letters, struct parts *parts)
{
    int first = letters->at;
    parts->right = parts->bottom = parts->shift = -1;
    if (took(letters, "gg")) {
        parts->bottom = take_letter(letters, "+-");
        parts->shift = take_letter(letters, "+");
        if (took(letters, ">?"))
            parts->right = first;
        else
            letters->at = first;
    }
    if (parts->right < 0)
        parts->bottom = parts->shift = -1;
    parts->left = take_letter(letters, "gg+G?");
    return true;
}

/* Softmax, with the logarithms of its sums or without. */
static bool take_forward(struct letters *letters, struct parts *parts)
{
    parts->paged = took(letters, "P");
    if (!take_scores(letters, parts) || !take_masks(letters, parts) || !took(letters, "m-es"))
        return false;
    parts->lse = take_letter(letters, "l+");
    if (!took(letters, "/"))
        return false;
    parts->dropout = took(letters, "r**") || took(letters, "**");
    parts->paged = took(letters, "P") || parts->paged;
    parts->values = take_letter(letters, "M");
    return parts->values >= 0 && !letters->text[letters->at];
}

/* Sums of dy y, the same scores, exp(score - lse), products with dy and v, and T for what is
 * transposed. Sums behind products: over the heads that share keys. */
static bool take_backward(struct letters *letters, struct parts *parts)
{
    parts->dropout = took(letters, "r");
    if (!took(letters, "*s*") || !take_scores(letters, parts))
        return false;
    parts->lse = take_letter(letters, "-");
    take_letter(letters, "gg<<&?"); /* the padding again */
    if (!take_masks(letters, parts) || !took(letters, "e"))
        return false;
    parts->dropout = took(letters, "**") || took(letters, "*") || parts->dropout;
    parts->dv = take_letter(letters, "TM") + 1;
    take_letter(letters, "s");
    parts->dp = take_letter(letters, "M");
    parts->dropout = took(letters, "*") || parts->dropout;
    bool scored = took(letters, "-*") && (!parts->dropout || took(letters, "*"));
    scored = scored && took(letters, "*");
    parts->dk = take_letter(letters, "TM") + 1;
    take_letter(letters, "s");
    parts->dq = take_letter(letters, "TM") + 1;
    take_letter(letters, "i");
    return scored && parts->lse >= 0 && parts->dv > 0 && parts->dp >= 0 && parts->dk > 0 &&
           parts->dq > 0 && !letters->text[letters->at];
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
    plan->call.words |= t.ragged ? DNN_WORD_RAGGED : 0u;
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
    plan->call.words |= t.ragged ? DNN_WORD_RAGGED : 0u;
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

/* How many queries and keys each sequence has, i32 in the GPU's memory. */
static void set_lengths(struct dnn_plan *plan, const struct descriptor *queries,
                        const struct descriptor *keys)
{
    const struct descriptor *const both[] = {queries, keys};
    for (int i = 0; i < 2; i++) {
        if (descriptor_integer(both[i], DNN_TENSOR_TYPE, 0, -1) != DNN_I32 ||
            descriptor_integer(both[i], DNN_TENSOR_BY_VALUE, 0, 0))
            plan->call.words |= DNN_WORD_OTHER;
    }
    plan->call.words |= DNN_WORD_LENGTHS;
    dnn_plan_array(plan, queries, DNN_ARGUMENT(attention, lengths));
    dnn_plan_array(plan, keys, DNN_ARGUMENT(attention, key_lengths));
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

/* An operand of a pointwise operation, and what it writes. */
static const struct descriptor *operand(const struct letters *letters, int at, int name)
{
    return descriptor_child(op_at(letters, at), name, 0);
}

/* gg at `first` are the row's number and the column's. */
static bool are_indices(const struct letters *letters, int first)
{
    for (int i = 0; i < 2; i++) {
        const struct descriptor *how = operand(letters, first + i, DNN_POINTWISE_DESCRIPTOR);
        if (descriptor_integer(how, DNN_POINTWISE_AXIS, 0, -1) != AXIS_QUERIES + i)
            return false;
    }
    return true;
}

/* The comparison at `at` is of what `left` writes with what `right` writes. */
static bool compares(const struct letters *letters, int at, int left, int right)
{
    return operand(letters, at, DNN_POINTWISE_X) == operand(letters, left, DNN_POINTWISE_Y) &&
           operand(letters, at, DNN_POINTWISE_B) == operand(letters, right, DNN_POINTWISE_Y);
}

/* Rows are moved by the lengths of the sequences, or by the sizes where all are as long. */
static bool is_bottom(const struct letters *letters, const struct parts *parts)
{
    bool padded = parts->padding >= 0;
    for (int i = 0; i < 2; i++) {
        const struct descriptor *b = operand(letters, parts->bottom + i, DNN_POINTWISE_B);
        if (padded == (descriptor_integer(b, DNN_TENSOR_BY_VALUE, 0, 0) != 0))
            return false;
        if (padded && b != operand(letters, parts->padding + 3 - i, DNN_POINTWISE_B))
            return false;
    }
    return true;
}

static void set_right(struct dnn_plan *plan, const struct letters *letters,
                      const struct parts *parts)
{
    struct dnn_attention *to = &plan->call.attention;
    int last = parts->right;
    to->right = parts->right < 0 ? -1 : 0;
    to->bottom = parts->bottom >= 0;
    if (parts->right < 0)
        return;
    if (parts->bottom >= 0)
        last = parts->bottom + 1;
    if (parts->shift >= 0) {
        last = parts->shift;
        dnn_plan_whole(plan, operand(letters, parts->shift, DNN_POINTWISE_B),
                       DNN_ARGUMENT(attention, right), 0);
    }
    int compared = (last == parts->right ? parts->right + 1 : last) + 1;
    if (!are_indices(letters, parts->right) ||
        !compares(letters, compared, last, parts->right + 1) ||
        (parts->bottom >= 0 && !is_bottom(letters, parts)))
        plan->call.words |= DNN_WORD_OTHER;
}

static void set_left(struct dnn_plan *plan, const struct letters *letters,
                     const struct parts *parts)
{
    struct dnn_attention *to = &plan->call.attention;
    int first = parts->left;
    to->left = -1;
    if (first < 0)
        return;
    if (!are_indices(letters, first) || !compares(letters, first + 3, first + 2, first) ||
        (to->bottom && parts->padding >= 0))
        plan->call.words |= DNN_WORD_OTHER;
    dnn_plan_whole(plan, operand(letters, first + 2, DNN_POINTWISE_B),
                   DNN_ARGUMENT(attention, left), (to->bottom ? to->keys - to->queries : 0) - 1);
}

#define SET(name, tensor, transposed)                                                              \
    set_tensor(plan, tensor, DNN_ARGUMENT(attention, name),                                        \
               DNN_FROM(&plan->call, attention, name##_batch), transposed)

/* What lies between the products, the same forward and backward. */
static void set_between(struct dnn_plan *plan, const struct letters *letters,
                        const struct parts *parts)
{
    set_scale(plan, operand(letters, parts->scores + 1, DNN_POINTWISE_B));
    if (parts->bias >= 0)
        set_bias(plan, operand(letters, parts->bias, DNN_POINTWISE_B));
    if (parts->padding >= 0) {
        if (!are_indices(letters, parts->padding))
            plan->call.words |= DNN_WORD_OTHER;
        set_lengths(plan, operand(letters, parts->padding + 2, DNN_POINTWISE_B),
                    operand(letters, parts->padding + 3, DNN_POINTWISE_B));
    }
    set_right(plan, letters, parts);
    set_left(plan, letters, parts);
    plan->call.words |= (parts->paged ? DNN_WORD_PAGED : 0u) | /* */
                        (parts->dropout ? DNN_WORD_DROPOUT : 0u);
}

static void set_forward(struct dnn_plan *plan, const struct letters *letters,
                        const struct parts *parts)
{
    const struct descriptor *scores = op_at(letters, parts->scores);
    const struct descriptor *mixed = op_at(letters, parts->values);
    const struct descriptor *q = descriptor_child(scores, DNN_MATMUL_A, 0);
    const struct descriptor *k = descriptor_child(scores, DNN_MATMUL_B, 0);
    const struct descriptor *v = descriptor_child(mixed, DNN_MATMUL_B, 0);
    const struct descriptor *stats =
        parts->lse < 0 ? NULL : operand(letters, parts->lse + 1, DNN_POINTWISE_Y);
    plan->call.kind = DNN_ATTENTION;
    SET(q, q, false);
    SET(k, k, true);
    SET(v, v, false);
    SET(y, descriptor_child(mixed, DNN_MATMUL_C, 0), false);
    set_sizes(plan, q, k, v, true, false);
    set_between(plan, letters, parts);
    if (stats && !descriptor_integer(stats, DNN_TENSOR_VIRTUAL, 0, 0))
        set_lse(plan, stats);
}

/* What a product writes, or the sum or the conversion behind it. */
static const struct descriptor *gradient_of(const struct letters *letters, int at)
{
    switch (letters->text[at + 1]) {
    case 's':
        return operand(letters, at + 1, DNN_REDUCTION_Y);
    case 'i':
        return operand(letters, at + 1, DNN_POINTWISE_Y);
    default:
        return operand(letters, at, DNN_MATMUL_C);
    }
}

static void set_backward(struct dnn_plan *plan, const struct letters *letters,
                         const struct parts *parts)
{
    const struct descriptor *scores = op_at(letters, parts->scores);
    const struct descriptor *q = descriptor_child(scores, DNN_MATMUL_A, 0);
    const struct descriptor *k = descriptor_child(scores, DNN_MATMUL_B, 0);
    const struct descriptor *v = operand(letters, parts->dp, DNN_MATMUL_B);
    int first = letters->text[0] == 'r';
    plan->call.kind = DNN_ATTENTION_BACKWARD;
    SET(q, q, false);
    SET(k, k, true);
    SET(v, v, true);
    SET(y, operand(letters, first, DNN_POINTWISE_B), false);
    SET(dy, operand(letters, first, DNN_POINTWISE_X), false);
    SET(dq, gradient_of(letters, parts->dq), false);
    SET(dk, gradient_of(letters, parts->dk), false);
    SET(dv, gradient_of(letters, parts->dv), false);
    set_sizes(plan, q, k, v, true, true);
    if (plan->call.attention.heads != plan->call.attention.kv_heads)
        plan->call.words |= DNN_WORD_GROUPED;
    set_between(plan, letters, parts);
    set_lse(plan, operand(letters, parts->lse, DNN_POINTWISE_B));
}

/* Without a bias the call's name has the one type three times. */
static void name_types(struct dnn_plan *plan)
{
    plan->call.type[1] = plan->call.type[0];
    if (!plan->call.type[2])
        plan->call.type[2] = plan->call.type[0];
}

/* ---- one operation that is all of it, without bias and mask ---- */

/* Its lengths; attributes between `first` and `end` but these are not known. */
static void set_rest(struct dnn_plan *plan, const struct descriptor *op, int lengths, int first,
                     int end)
{
    for (int name = first; name < end; name++) {
        if (descriptor_count(op, name) && name != lengths && name != lengths + 1)
            plan->call.words |= DNN_WORD_OTHER;
    }
    if (descriptor_count(op, lengths) || descriptor_count(op, lengths + 1))
        set_lengths(plan, descriptor_child(op, lengths, 0), descriptor_child(op, lengths + 1, 0));
    plan->call.attention.left = plan->call.attention.right = -1;
    name_types(plan);
}

static void set_whole(struct dnn_plan *plan, const struct descriptor *op)
{
    const struct descriptor *q = descriptor_child(op, DNN_SDPA_Q, 0);
    const struct descriptor *k = descriptor_child(op, DNN_SDPA_K, 0);
    const struct descriptor *v = descriptor_child(op, DNN_SDPA_V, 0);
    plan->call.kind = DNN_ATTENTION;
    SET(q, q, false);
    SET(k, k, false);
    SET(v, v, false);
    SET(y, descriptor_child(op, DNN_SDPA_Y, 0), false);
    set_sizes(plan, q, k, v, false, false);
    set_scale(plan, descriptor_child(op, DNN_SDPA_SCALE, 0));
    if (descriptor_count(op, DNN_SDPA_STATS))
        set_lse(plan, descriptor_child(op, DNN_SDPA_STATS, 0));
    set_rest(plan, op, DNN_SDPA_LENGTHS, DNN_SDPA_SCALE + 1, DNN_SDPA_END);
}

static void set_whole_backward(struct dnn_plan *plan, const struct descriptor *op)
{
    const struct descriptor *q = descriptor_child(op, DNN_SDPA_BACKWARD_Q, 0);
    const struct descriptor *k = descriptor_child(op, DNN_SDPA_BACKWARD_K, 0);
    const struct descriptor *v = descriptor_child(op, DNN_SDPA_BACKWARD_V, 0);
    plan->call.kind = DNN_ATTENTION_BACKWARD;
    SET(q, q, false);
    SET(k, k, false);
    SET(v, v, false);
    SET(y, descriptor_child(op, DNN_SDPA_BACKWARD_Y, 0), false);
    SET(dy, descriptor_child(op, DNN_SDPA_BACKWARD_DY, 0), false);
    SET(dq, descriptor_child(op, DNN_SDPA_BACKWARD_DQ, 0), false);
    SET(dk, descriptor_child(op, DNN_SDPA_BACKWARD_DK, 0), false);
    SET(dv, descriptor_child(op, DNN_SDPA_BACKWARD_DV, 0), false);
    set_sizes(plan, q, k, v, false, false);
    if (plan->call.attention.heads != plan->call.attention.kv_heads)
        plan->call.words |= DNN_WORD_GROUPED;
    set_scale(plan, descriptor_child(op, DNN_SDPA_BACKWARD_SCALE, 0));
    set_lse(plan, descriptor_child(op, DNN_SDPA_BACKWARD_STATS, 0));
    set_rest(plan, op, DNN_SDPA_BACKWARD_LENGTHS, DNN_SDPA_BACKWARD_DY + 1, DNN_SDPA_BACKWARD_END);
}

bool dnn_plan_attention(struct dnn_plan *plan, const struct descriptor *graph)
{
    const struct descriptor *op = descriptor_child(graph, DNN_GRAPH_OPS, 0);
    bool alone = descriptor_count(graph, DNN_GRAPH_OPS) == 1;
    struct parts ahead = {0}, back = {0};
    struct letters letters, again;
    plan->call.accumulation = ACCUMULATION_F32;
    if (alone && descriptor_type(op) == DNN_OP_SDPA)
        set_whole(plan, op);
    else if (alone && descriptor_type(op) == DNN_OP_SDPA_BACKWARD)
        set_whole_backward(plan, op);
    else if (!read_letters(&letters, graph))
        return false;
    else if (again = letters, take_forward(&again, &ahead))
        set_forward(plan, &letters, &ahead);
    else if (again = letters, take_backward(&again, &back))
        set_backward(plan, &letters, &back);
    else
        return false;
    name_types(plan);
    return true;
}
