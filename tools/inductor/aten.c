/* aten.c - operations of ATen as those of HLO. Broadcasts and numbers become operations of their
 * own. */
#include <stdlib.h>
#include <string.h>
#include "tools/inductor/graph.h"
#include "tools/inductor/source.h"

/* ---- pieces ---- */

static struct hlo_shape in_order(const struct hlo_shape *shape)
{
    return graph_shape(shape->dtype, shape->rank, shape->dim);
}

/* "{1,0}" and so on, as an attribute. */
static const char *dims_text(struct graph *g, const char *name, const int64_t *dim, unsigned count)
{
    const char *out = arena_format(g->arena, "%s={", name);
    for (unsigned i = 0; out && i < count; i++)
        out = arena_format(g->arena, "%s%s%lld", out, i ? "," : "", (long long)dim[i]);
    return out ? arena_format(g->arena, "%s}", out) : NULL;
}

static bool same_dims(const struct hlo_shape *a, const struct hlo_shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim[0] * a->rank) == 0;
}

/* The value with the dims of `shape`, repeated along those that it lacks. */
static struct hlo_op *fit(struct graph *g, struct hlo_op *from, const struct hlo_shape *shape)
{
    if (!from || same_dims(&from->shape[0], shape))
        return from;
    struct hlo_shape to = graph_shape(from->shape[0].dtype, shape->rank, shape->dim);
    int64_t dims[HLO_RANK];
    unsigned rank = from->shape[0].rank, lacking = shape->rank - rank;
    if (rank > shape->rank)
        return graph_refuse(g, "dims that do not fit", "");
    for (unsigned d = 0; d < rank; d++) {
        dims[d] = d + lacking;
        if (from->shape[0].dim[d] != 1 && from->shape[0].dim[d] != shape->dim[d + lacking])
            return graph_refuse(g, "dims that do not fit", "");
    }
    const char *text = dims_text(g, "dimensions", dims, rank);
    return text ? graph_add(g, "broadcast", &to, text, from, NULL) : NULL;
}

/* The value in row-major order. */
static struct hlo_op *ordered(struct graph *g, struct hlo_op *from)
{
    struct hlo_shape to = from ? in_order(&from->shape[0]) : (struct hlo_shape){.rank = 0};
    return from ? graph_add(g, "copy", &to, NULL, from, NULL) : NULL;
}

static struct hlo_op *reshaped(struct graph *g, struct hlo_op *from, const struct hlo_shape *shape)
{
    struct hlo_shape to = in_order(shape);
    if (from && from->shape[0].count != to.count)
        return graph_refuse(g, "dims that do not fit", "");
    from = ordered(g, from);
    to.dtype = from ? from->shape[0].dtype : to.dtype;
    return from ? graph_add(g, "reshape", &to, NULL, from, NULL) : NULL;
}

static bool has(const struct graph_node *node, const char *word)
{
    return strstr(node->kwargs, word) != NULL;
}

/* A number from 0 to rank - 1, of an argument that may count from the end; -1: it is none. */
static int64_t dim_of(const struct graph_node *node, unsigned i, unsigned rank)
{
    char *end = NULL;
    long long value = i < node->arguments ? strtoll(node->argument[i], &end, 10) : 0;
    value += value < 0 ? rank : 0;
    return end && end != node->argument[i] && value >= 0 && value < rank ? value : -1;
}

/* ---- elements at one place ---- */

static struct hlo_op *pointwise(struct graph *g, const struct graph_node *node, const char *opcode)
{
    struct hlo_shape to = in_order(&node->shape);
    bool two = node->arguments == 2;
    if (has(node, "alpha") || has(node, "rounding_mode") || node->arguments > 2)
        return graph_refuse(g, "further arguments of %s", node->target);
    struct hlo_op *a = fit(g, graph_argument(g, node, 0), &to);
    struct hlo_op *b = a && two ? fit(g, graph_argument(g, node, 1), &to) : NULL;
    return a && (b || !two) ? graph_add(g, opcode, &to, NULL, a, b) : NULL;
}

static struct hlo_op *compared(struct graph *g, const struct graph_node *node,
                               const char *direction)
{
    struct hlo_op *op = pointwise(g, node, "compare");
    if (op)
        op->attributes = direction;
    return op;
}

/* With a number in front: 1 / x, max(0, x). */
static struct hlo_op *with_number(struct graph *g, const struct graph_node *node,
                                  const char *opcode)
{
    struct hlo_shape to = in_order(&node->shape);
    struct hlo_op *x = fit(g, graph_argument(g, node, 0), &to);
    struct hlo_op *n = x ? graph_constant(g, strcmp(opcode, "divide") == 0 ? "1" : "0") : NULL;
    n = fit(g, n, &to);
    return n ? graph_add(g, opcode, &to, NULL, n, x) : NULL;
}

static struct hlo_op *clamped(struct graph *g, const struct graph_node *node, const char *opcode)
{
    static const char *const by[] = {"maximum", "minimum"};
    struct hlo_shape to = in_order(&node->shape);
    struct hlo_op *x = fit(g, graph_argument(g, node, 0), &to);
    (void)opcode;
    for (unsigned i = 1; x && i < node->arguments && i < 3; i++) {
        if (strcmp(node->argument[i], "None") == 0)
            continue;
        struct hlo_op *edge = fit(g, graph_argument(g, node, i), &to);
        x = edge ? graph_add(g, by[i - 1], &to, NULL, x, edge) : NULL;
    }
    return x;
}

static struct hlo_op *chosen(struct graph *g, const struct graph_node *node, const char *opcode)
{
    struct hlo_shape to = in_order(&node->shape);
    struct hlo_op *part[3] = {NULL, NULL, NULL};
    for (unsigned i = 0; i < 3; i++)
        if (!(part[i] = fit(g, graph_argument(g, node, i), &to)))
            return NULL;
    struct hlo_op *op = graph_add(g, opcode, &to, NULL, part[0], part[1]);
    const char **operand = arena_alloc(g->arena, 3 * sizeof *operand);
    if (!op || !operand)
        return NULL;
    for (unsigned i = 0; i < 3; i++)
        operand[i] = part[i]->name;
    op->operand = operand;
    op->operands = 3;
    return op;
}

static struct hlo_op *converted(struct graph *g, const struct graph_node *node, const char *opcode)
{
    struct hlo_op *x = fit(g, graph_argument(g, node, 0), &node->shape);
    struct hlo_shape to = in_order(&node->shape);
    return x ? graph_add(g, opcode, &to, NULL, x, NULL) : NULL;
}

/* Of copy_ the value is the second argument. */
static struct hlo_op *copied(struct graph *g, const struct graph_node *node, const char *opcode)
{
    bool over = strncmp(node->target, "aten.copy_", 10) == 0;
    if (over && g->copies < GRAPH_ARRAYS && node->arguments && node->argument[0][0] == '%') {
        g->into[g->copies] = node->argument[0] + 1;
        g->with[g->copies++] = node->name;
    }
    struct hlo_shape to = in_order(&node->shape);
    struct hlo_op *x = fit(g, graph_argument(g, node, over ? 1 : 0), &to);
    return x ? graph_add(g, opcode, &to, NULL, x, NULL) : NULL;
}

static struct hlo_op *filled(struct graph *g, const struct graph_node *node, const char *opcode)
{
    (void)opcode;
    struct hlo_op *n = graph_argument(g, node, 1);
    if (n && strcmp(n->opcode, "constant") == 0)
        n->shape[0].dtype = node->shape.dtype;
    struct hlo_op *x = fit(g, n, &node->shape);
    return x && !node->shape.rank ? ordered(g, x) : x;
}

/* ---- elements that move ---- */

static struct hlo_op *transposed(struct graph *g, const struct graph_node *node, const char *opcode)
{
    struct hlo_op *x = graph_argument(g, node, 0);
    struct hlo_shape to = in_order(&node->shape);
    int64_t dims[HLO_RANK];
    const char *end;
    int count = source_numbers(node->arguments > 1 ? node->argument[1] : "", dims, HLO_RANK, &end);
    if (!x || count != (int)to.rank || x->shape[0].rank != to.rank)
        return g->why || !x ? NULL : graph_refuse(g, "the dims of %s", node->target);
    for (int d = 0; d < count; d++)
        dims[d] += dims[d] < 0 ? count : 0;
    const char *text = dims_text(g, "dimensions", dims, (unsigned)count);
    return text ? graph_add(g, opcode, &to, text, x, NULL) : NULL;
}

static struct hlo_op *viewed(struct graph *g, const struct graph_node *node, const char *opcode)
{
    (void)opcode;
    return reshaped(g, graph_argument(g, node, 0), &node->shape);
}

static struct hlo_op *expanded(struct graph *g, const struct graph_node *node, const char *opcode)
{
    (void)opcode;
    struct hlo_op *x = fit(g, graph_argument(g, node, 0), &node->shape);
    return x ? ordered(g, x) : NULL;
}

/* Part of one dim; `select` drops it behind. */
static struct hlo_op *cut(struct graph *g, const struct graph_node *node, const char *opcode)
{
    struct hlo_op *x = graph_argument(g, node, 0);
    if (!x)
        return NULL;
    struct hlo_shape to = graph_shape(x->shape[0].dtype, x->shape[0].rank, x->shape[0].dim);
    bool one = strncmp(node->target, "aten.select.", 12) == 0;
    int64_t dim = node->arguments > 1 ? dim_of(node, 1, to.rank) : to.rank ? 0 : -1;
    if (dim < 0)
        return graph_refuse(g, "the dim of %s", node->target);
    long long size = to.dim[dim], step = node->arguments > 4 ? atoll(node->argument[4]) : 1;
    long long first = node->arguments > 2 ? atoll(node->argument[2]) : 0;
    first += first < 0 ? size : 0;
    to.dim[dim] = one ? 1 : node->shape.rank == to.rank ? node->shape.dim[dim] : -1;
    bool inside = first >= 0 && step >= 1 && to.dim[dim] >= 0;
    if (!inside || (to.dim[dim] && (first >= size || to.dim[dim] - 1 > (size - first - 1) / step)))
        return graph_refuse(g, "the bounds of %s", node->target);
    const char *text = "slice={";
    for (unsigned d = 0; text && d < to.rank; d++) {
        long long from = d == (unsigned)dim ? first : 0, by = d == (unsigned)dim ? step : 1;
        text = arena_format(g->arena, "%s%s[%lld:%lld:%lld]", text, d ? ", " : "", from,
                            from + (long long)to.dim[d] * by, by);
    }
    to = graph_shape(to.dtype, to.rank, to.dim);
    x = text ? graph_add(g, opcode, &to, arena_format(g->arena, "%s}", text), x, NULL) : NULL;
    return one ? reshaped(g, x, &node->shape) : x;
}

static struct hlo_op *joined(struct graph *g, const struct graph_node *node, const char *opcode)
{
    struct hlo_shape to = in_order(&node->shape);
    const char *at = node->arguments ? node->argument[0] : "";
    const char **operand = arena_alloc(g->arena, GRAPH_OPERANDS * sizeof *operand);
    int64_t dim = node->arguments > 1 ? dim_of(node, 1, to.rank) : 0;
    unsigned count = 0;
    for (; operand && (at = strchr(at, '%')) && count < GRAPH_OPERANDS; at++) {
        const char *name = arena_text(g->arena, at + 1, strcspn(at + 1, ", ]"));
        struct hlo_op *x = name ? graph_find(g, name) : NULL;
        if (!x)
            return graph_refuse(g, "a value from outside its fragment, %s", name ? name : "");
        operand[count++] = x->name;
    }
    const char *text = dim < 0 ? NULL : dims_text(g, "dimensions", &dim, 1);
    struct hlo_op *op = text ? graph_add(g, opcode, &to, text, NULL, NULL) : NULL;
    if (!op || !count || at)
        return graph_refuse(g, "the arguments of %s", node->target);
    op->operand = operand;
    op->operands = count;
    return op;
}

/* Elements first to first + count - 1 of one dim. */
static struct hlo_op *piece(struct graph *g, struct hlo_op *from, int64_t dim, long long first,
                            long long count)
{
    struct hlo_shape to = from->shape[0];
    const char *text = "slice={";
    to.dim[dim] = count;
    to = graph_shape(to.dtype, to.rank, to.dim);
    for (unsigned d = 0; text && d < to.rank; d++)
        text = arena_format(g->arena, "%s%s[%lld:%lld]", text, d ? ", " : "",
                            d == (unsigned)dim ? first : 0,
                            (d == (unsigned)dim ? first : 0) + (long long)to.dim[d]);
    text = text ? arena_format(g->arena, "%s}", text) : NULL;
    return text ? graph_add(g, "slice", &to, text, from, NULL) : NULL;
}

/* slice_scatter(base, x, dim, first): what is in front of x, x, and what is behind it, joined. */
static struct hlo_op *inserted(struct graph *g, const struct graph_node *node, const char *opcode)
{
    struct hlo_op *base = graph_argument(g, node, 0), *x = base ? graph_argument(g, node, 1) : NULL;
    struct hlo_shape to = in_order(&node->shape);
    int64_t dim = node->arguments > 2 ? dim_of(node, 2, to.rank) : 0;
    const char **operand = arena_alloc(g->arena, 3 * sizeof *operand);
    if (!x || !operand)
        return NULL;
    if (dim < 0 || !to.rank || x->shape[0].rank != to.rank || node->arguments > 5)
        return graph_refuse(g, "the arguments of %s", node->target);
    long long size = to.dim[dim], count = x->shape[0].dim[dim];
    long long first = node->arguments > 3 ? atoll(node->argument[3]) : 0;
    first += first < 0 ? size : 0;
    if (first < 0 || first > size - count)
        return graph_refuse(g, "the bounds of %s", node->target);
    struct hlo_op *before = first ? piece(g, base, dim, 0, first) : NULL;
    struct hlo_op *behind =
        first + count < size ? piece(g, base, dim, first + count, size - first - count) : NULL;
    const char *text = dims_text(g, "dimensions", &dim, 1);
    struct hlo_op *op = text ? graph_add(g, opcode, &to, text, NULL, NULL) : NULL;
    if (!op)
        return NULL;
    op->operand = operand;
    if (before)
        operand[op->operands++] = before->name;
    operand[op->operands++] = x->name;
    if (behind)
        operand[op->operands++] = behind->name;
    return op;
}

/* constant_pad_nd(x, [low, high, ..], value): the last dim comes first. */
static struct hlo_op *padded(struct graph *g, const struct graph_node *node, const char *opcode)
{
    struct hlo_op *x = graph_argument(g, node, 0);
    struct hlo_shape to = in_order(&node->shape);
    int64_t edge[2 * HLO_RANK] = {0};
    const char *end, *text = "padding=";
    int count =
        source_numbers(node->arguments > 1 ? node->argument[1] : "", edge, 2 * HLO_RANK, &end);
    if (!x)
        return NULL;
    for (unsigned d = 0; text && d < to.rank; d++) {
        unsigned k = 2 * (to.rank - 1 - d);
        if (count < 0 || edge[k] < 0 || edge[k + 1] < 0)
            return graph_refuse(g, "the edges of %s", node->target);
        text = arena_format(g->arena, "%s%s%lld_%lld", text, d ? "x" : "", (long long)edge[k],
                            (long long)edge[k + 1]);
    }
    struct hlo_op *with = node->arguments > 2 ? graph_argument(g, node, 2) : graph_constant(g, "0");
    return with && text ? graph_add(g, opcode, &to, text, x, with) : NULL;
}

/* ---- sums ---- */

/* The dims that are reduced: argument 1, all where there is none. Their number; 0: refused. */
static unsigned reduced_dims(struct graph *g, const struct graph_node *node, unsigned rank,
                             int64_t *dims)
{
    const char *end, *text = node->arguments > 1 ? node->argument[1] : "[]";
    int count = text[0] == '[' ? source_numbers(text, dims, HLO_RANK, &end) : 1;
    if (text[0] != '[')
        dims[0] = strtoll(text, NULL, 10);
    for (int d = 0; d < count; d++) {
        dims[d] += dims[d] < 0 ? rank : 0;
        count = dims[d] < 0 || dims[d] >= rank ? -1 : count;
    }
    for (; count == 0 && dims[0] != rank && rank; count = (int)rank)
        for (unsigned d = 0; d < rank; d++)
            dims[d] = d;
    if (count <= 0)
        graph_refuse(g, "the dims of %s", node->target);
    return count > 0 ? (unsigned)count : 0;
}

static bool contains(const int64_t *dims, unsigned count, unsigned d)
{
    for (unsigned i = 0; i < count; i++)
        if (dims[i] == d)
            return true;
    return false;
}

/* The reduction of `x` with the reduced dims kept as 1. */
static struct hlo_op *fold(struct graph *g, struct hlo_op *x, const int64_t *dims, unsigned count,
                           const char *by)
{
    int64_t rest[HLO_RANK], kept[HLO_RANK];
    unsigned rank = 0;
    const struct hlo_shape *from = &x->shape[0];
    for (unsigned d = 0; d < from->rank; d++) {
        kept[d] = contains(dims, count, d) ? 1 : from->dim[d];
        if (!contains(dims, count, d))
            rest[rank++] = from->dim[d];
    }
    struct hlo_shape flat = graph_shape(from->dtype, rank, rest);
    struct hlo_shape out = graph_shape(from->dtype, from->rank, kept);
    const char *text = dims_text(g, "dimensions", dims, count);
    text = text ? arena_format(g->arena, "%s, to_apply=%%%s", text, by) : NULL;
    struct hlo_op *none = graph_constant(g, strcmp(by, "add") == 0 ? "0" : "inf");
    x = text && none ? graph_add(g, "reduce", &flat, text, x, none) : NULL;
    return x ? graph_add(g, "reshape", &out, NULL, x, NULL) : NULL;
}

static int64_t terms(const struct hlo_op *x, const int64_t *dims, unsigned count)
{
    int64_t out = 1;
    for (unsigned i = 0; i < count; i++)
        out *= x->shape[0].dim[dims[i]];
    return out;
}

static struct hlo_op *over(struct graph *g, struct hlo_op *x, int64_t by)
{
    struct hlo_op *n = x ? graph_constant(g, arena_format(g->arena, "%lld", (long long)by)) : NULL;
    n = n ? fit(g, n, &x->shape[0]) : NULL;
    return n ? graph_add(g, "divide", &x->shape[0], NULL, x, n) : NULL;
}

static struct hlo_op *folded(struct graph *g, const struct graph_node *node, const char *by)
{
    struct hlo_op *x = graph_argument(g, node, 0);
    int64_t dims[HLO_RANK] = {0};
    unsigned count = x ? reduced_dims(g, node, x->shape[0].rank, dims) : 0;
    if (!count)
        return NULL;
    struct hlo_op *sum = fold(g, x, dims, count, by);
    if (sum && strncmp(node->target, "aten.mean.", 10) == 0)
        sum = over(g, sum, terms(x, dims, count));
    return sum ? reshaped(g, sum, &node->shape) : NULL;
}

/* A result of several, under the name that later lines use. */
static struct hlo_op *result(struct graph *g, struct hlo_op *x, unsigned part,
                             const struct graph_node *node, const int64_t *dims, unsigned count)
{
    bool kept = strncmp(node->target, "prims.", 6) == 0 || has(node, "keepdim: True");
    int64_t rest[HLO_RANK] = {0};
    unsigned rank = 0;
    for (unsigned d = 0; x && d < x->shape[0].rank; d++)
        if (kept || !contains(dims, count, d))
            rest[rank++] = x->shape[0].dim[d];
    struct hlo_shape to = graph_shape(DTYPE_F32, rank, rest);
    x = x ? reshaped(g, x, &to) : NULL;
    return x ? graph_named(g, g->part[part], x) : NULL;
}

static struct hlo_op *variance(struct graph *g, const struct graph_node *node, struct hlo_op *x,
                               const int64_t *dims, unsigned count)
{
    const char *given = strstr(node->kwargs, "correction: ");
    int64_t n = terms(x, dims, count), less = given ? strtoll(given + 12, NULL, 10) : 1;
    struct hlo_op *mean = over(g, fold(g, x, dims, count, "add"), n);
    struct hlo_op *wide = mean ? fit(g, mean, &x->shape[0]) : NULL;
    struct hlo_shape to = in_order(&x->shape[0]);
    struct hlo_op *off = wide ? graph_add(g, "subtract", &to, NULL, x, wide) : NULL;
    struct hlo_op *square = off ? graph_add(g, "multiply", &to, NULL, off, off) : NULL;
    struct hlo_op *sum = square ? fold(g, square, dims, count, "add") : NULL;
    if (less < 0 || n <= less)
        return graph_refuse(g, "a variance of one number", "");
    return result(g, over(g, sum, n - less), 0, node, dims, count)
               ? result(g, mean, 1, node, dims, count)
               : NULL;
}

static struct hlo_op *softmax_parts(struct graph *g, const struct graph_node *node,
                                    struct hlo_op *x, const int64_t *dims, unsigned count)
{
    struct hlo_shape to = in_order(&x->shape[0]);
    struct hlo_op *most = fold(g, x, dims, count, "maximum");
    struct hlo_op *wide = most ? fit(g, most, &to) : NULL;
    struct hlo_op *off = wide ? graph_add(g, "subtract", &to, NULL, x, wide) : NULL;
    struct hlo_op *e = off ? graph_add(g, "exponential", &to, NULL, off, NULL) : NULL;
    struct hlo_op *sum = e ? fold(g, e, dims, count, "add") : NULL;
    return result(g, most, 0, node, dims, count) ? result(g, sum, 1, node, dims, count) : NULL;
}

/* One such operation in a fragment, whose two results both have a name. */
static struct hlo_op *several(struct graph *g, const struct graph_node *node, const char *opcode)
{
    struct hlo_op *x = graph_argument(g, node, 0);
    int64_t dims[HLO_RANK] = {0};
    if (!x)
        return NULL;
    if (g->several++ || g->parts != 2)
        return graph_refuse(g, "results of %s whose names are not known", node->target);
    unsigned count = reduced_dims(g, node, x->shape[0].rank, dims);
    if (!count)
        return NULL;
    return opcode ? softmax_parts(g, node, x, dims, count) : variance(g, node, x, dims, count);
}

/* A result has its name already, from `several`. */
static struct hlo_op *picked(struct graph *g, const struct graph_node *node, const char *opcode)
{
    (void)opcode;
    struct hlo_op *op = graph_find(g, node->name);
    return op ? op : graph_refuse(g, "a result of an operation without a formula, %s", node->name);
}

/* ---- the table ---- */

static const struct {
    const char *target; /* without its overload */
    struct hlo_op *(*make)(struct graph *, const struct graph_node *, const char *);
    const char *opcode;
} operations[] = {
    {"aten.add", pointwise, "add"},
    {"aten.sub", pointwise, "subtract"},
    {"aten.mul", pointwise, "multiply"},
    {"aten.div", pointwise, "divide"},
    {"aten.maximum", pointwise, "maximum"},
    {"aten.minimum", pointwise, "minimum"},
    {"aten.pow", pointwise, "power"},
    {"aten.neg", pointwise, "negate"},
    {"aten.abs", pointwise, "abs"},
    {"aten.exp", pointwise, "exponential"},
    {"aten.expm1", pointwise, "exponential-minus-one"},
    {"aten.log", pointwise, "log"},
    {"aten.log1p", pointwise, "log-plus-one"},
    {"aten.sqrt", pointwise, "sqrt"},
    {"aten.rsqrt", pointwise, "rsqrt"},
    {"aten.tanh", pointwise, "tanh"},
    {"aten.sigmoid", pointwise, "logistic"},
    {"aten.erf", pointwise, "erf"},
    {"aten.logical_and", pointwise, "and"},
    {"aten.logical_or", pointwise, "or"},
    {"aten.logical_not", pointwise, "not"},
    {"aten.bitwise_and", pointwise, "and"},
    {"aten.bitwise_or", pointwise, "or"},
    {"aten.bitwise_not", pointwise, "not"},
    {"aten.eq", compared, "direction=EQ"},
    {"aten.ne", compared, "direction=NE"},
    {"aten.lt", compared, "direction=LT"},
    {"aten.gt", compared, "direction=GT"},
    {"aten.le", compared, "direction=LE"},
    {"aten.ge", compared, "direction=GE"},
    {"aten.reciprocal", with_number, "divide"},
    {"aten.relu", with_number, "maximum"},
    {"aten.clamp", clamped, ""},
    {"aten.clamp_min", pointwise, "maximum"},
    {"aten.clamp_max", pointwise, "minimum"},
    {"aten.where", chosen, "select"},
    {"prims.convert_element_type", converted, "convert"},
    {"aten.clone", copied, "copy"},
    {"aten.copy", copied, "copy"},
    {"aten.copy_", copied, "copy"},
    {"aten.alias", copied, "copy"},
    {"aten.full", filled, ""},
    {"aten.permute", transposed, "transpose"},
    {"aten.view", viewed, ""},
    {"aten.reshape", viewed, ""},
    {"aten._unsafe_view", viewed, ""},
    {"aten.unsqueeze", viewed, ""},
    {"aten.squeeze", viewed, ""},
    {"aten.expand", expanded, ""},
    {"aten.slice", cut, "slice"},
    {"aten.select", cut, "slice"},
    {"aten.cat", joined, "concatenate"},
    {"aten.slice_scatter", inserted, "concatenate"},
    {"aten.constant_pad_nd", padded, "pad"},
    {"aten.sum", folded, "add"},
    {"aten.mean", folded, "add"},
    {"aten.amax", folded, "maximum"},
    {"aten.amin", folded, "minimum"},
    {"aten.var_mean", several, NULL},
    {"prims.prepare_softmax_online", several, ""},
    {"operator.getitem", picked, ""},
};

struct hlo_op *graph_operation(struct graph *g, const struct graph_node *node)
{
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        size_t length = strlen(operations[i].target);
        if (strncmp(operations[i].target, node->target, length) != 0 ||
            (node->target[length] != '.' && node->target[length] != '\0'))
            continue;
        bool single = operations[i].make != several && operations[i].make != picked;
        if (single && !node->typed)
            return graph_refuse(g, "sizes that are not in its fragment", "");
        struct hlo_op *op = operations[i].make(g, node, operations[i].opcode);
        /* A sum or a constant may have another type than what it is made of. */
        bool other = single && op && op->shape[0].dtype != node->shape.dtype;
        if (other && !dtype_is_real(node->shape.dtype))
            return graph_refuse(g, "the type of %s", node->target);
        struct hlo_shape to = in_order(&node->shape);
        if (other)
            op = graph_add(g, "convert", &to, NULL, op, NULL);
        return single ? graph_named(g, node->name, op) : op;
    }
    return graph_refuse(g, "operation %s", node->target);
}
