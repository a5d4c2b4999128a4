/* graph.c - the lines of a fragment; aten.c has the operations. */
#include "tools/inductor/graph.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "tools/inductor/source.h"

struct hlo_op *graph_refuse(struct graph *g, const char *format, const char *word)
{
    if (!g->why) {
        const char *at = strstr(format, "%s");
        int before = (int)(at ? at - format : (long)strlen(format));
        g->why =
            arena_format(g->arena, "%.*s%s%s", before, format, at ? word : "", at ? at + 2 : "");
    }
    return NULL;
}

struct hlo_shape graph_shape(enum dtype dtype, unsigned rank, const int64_t *dim)
{
    struct hlo_shape out = {.dtype = dtype, .rank = rank, .count = 1};
    for (unsigned d = rank; d-- > 0; out.count *= dim[d]) {
        out.dim[d] = dim[d];
        out.stride[d] = out.count;
    }
    return out;
}

struct hlo_op *graph_add(struct graph *g, const char *opcode, const struct hlo_shape *shape,
                         const char *attributes, const struct hlo_op *a, const struct hlo_op *b)
{
    struct hlo_op *op = arena_alloc(g->arena, sizeof *op);
    const char **operand = arena_alloc(g->arena, 2 * sizeof *operand);
    if (!op || !operand || !(op->name = arena_format(g->arena, ".%u", g->names++)))
        return NULL;
    op->opcode = opcode;
    op->inside = "";
    op->attributes = attributes ? attributes : "";
    op->shape[0] = *shape;
    op->parts = 1;
    op->operand = operand;
    op->operands = b ? 2 : a ? 1 : 0;
    operand[0] = a ? a->name : NULL;
    operand[1] = b ? b->name : NULL;
    *(g->last ? &g->last->next : &g->of->first) = op;
    g->last = op;
    return op;
}

struct hlo_op *graph_find(struct graph *g, const char *name)
{
    struct hlo_op *found = NULL;
    for (struct hlo_op *op = g->of->first; op; op = op->next)
        found = strcmp(op->name, name) == 0 ? op : found;
    for (unsigned i = 0; i < g->ins && !found; i++)
        found = strcmp(g->in[i]->name, name) == 0 ? g->in[i] : NULL;
    return found;
}

struct hlo_op *graph_named(struct graph *g, const char *name, struct hlo_op *op)
{
    /* One that is not the newest may be the operand of another. */
    if (op && op != g->last)
        op = graph_add(g, "copy", &op->shape[0], NULL, op, NULL);
    if (op)
        op->name = name;
    return op;
}

struct hlo_op *graph_constant(struct graph *g, const char *text)
{
    static const struct hlo_shape number = {.dtype = DTYPE_F32, .count = 1};
    struct hlo_op *op = graph_add(g, "constant", &number, NULL, NULL, NULL);
    if (op)
        op->inside = strcmp(text, "True") == 0    ? "true"
                     : strcmp(text, "False") == 0 ? "false"
                                                  : text;
    return op;
}

struct hlo_op *graph_argument(struct graph *g, const struct graph_node *node, unsigned i)
{
    const char *text = i < node->arguments ? node->argument[i] : "";
    if (text[0] == '%') {
        struct hlo_op *op = graph_find(g, text + 1);
        return op ? op : graph_refuse(g, "a value from outside its fragment, %s", text + 1);
    }
    bool number = isdigit((unsigned char)text[0]) || text[0] == '-' || text[0] == '.' ||
                  strcmp(text, "inf") == 0 || strcmp(text, "True") == 0 ||
                  strcmp(text, "False") == 0;
    return number ? graph_constant(g, text) : graph_refuse(g, "an argument of %s", node->target);
}

/* ---- lines ---- */

/* "f32[8, 128][128, 1]cuda:0"; false: sizes with names, or another type. */
static bool read_shape(const char *at, struct hlo_shape *out)
{
    size_t length = strcspn(at, "[");
    out->dtype = source_dtype(at, length);
    int rank = source_numbers(at + length, out->dim, HLO_RANK, &at);
    if (rank < 0 || source_numbers(at, out->stride, HLO_RANK, &at) != rank)
        return false;
    out->rank = (unsigned)rank;
    out->count = hlo_elements(out->dim, out->rank);
    return out->count >= 0;
}

/* The arguments of "(args = (%x, [1, 2], 3), kwargs = {..})"; false: too many, or no end. */
static bool read_arguments(char *at, struct graph_node *node)
{
    int depth = 0;
    char *from = at;
    for (; *at; at++) {
        bool ends = depth == 0 && (*at == ',' || *at == ')');
        if (ends) {
            bool last = *at == ')';
            *at = '\0';
            while (*from == ' ')
                from++;
            if (*from && node->arguments == GRAPH_OPERANDS)
                return false;
            if (*from)
                node->argument[node->arguments++] = from;
            from = at + 1;
            if (last)
                break;
            continue;
        }
        depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
    }
    const char *kwargs = strstr(from, "kwargs = {");
    node->kwargs = kwargs ? kwargs + strlen("kwargs = {") : "";
    return kwargs && strchr(kwargs, '}');
}

static enum status add_input(struct graph *g, const struct graph_node *node)
{
    struct hlo_op *op = arena_alloc(g->arena, sizeof *op);
    if (!op)
        return STATUS_NO_MEMORY;
    *op =
        (struct hlo_op){.name = node->name, .opcode = "parameter", .inside = "", .attributes = ""};
    op->parts = 1;
    op->shape[0] = node->shape;
    if (!node->typed)
        graph_refuse(g, "sizes that are not in its fragment", "");
    else if (g->ins == GRAPH_ARRAYS)
        graph_refuse(g, "too many arrays", "");
    else
        g->in[g->ins++] = op;
    return STATUS_OK;
}

static void read_returns(struct graph *g, char *at)
{
    for (char *end; *at == '%' && g->returns < GRAPH_ARRAYS; at = end) {
        end = at + strcspn(at, ",\n");
        g->returned[g->returns++] = at + 1;
        if (*end)
            *end++ = '\0';
    }
}

static enum status add_call(struct graph *g, struct graph_node *node, char *target)
{
    static const char open[] = "](args = (";
    char *arguments = strstr(target, open);
    if (!arguments || !read_arguments(arguments + sizeof open - 1, node)) {
        graph_refuse(g, "a line that cannot be read, %s", node->name);
        return STATUS_OK;
    }
    *arguments = '\0';
    node->target = strncmp(target, "torch.ops.", 10) == 0 ? target + 10 : target;
    struct hlo_op *made = graph_operation(g, node);
    if (!made && !g->why)
        return STATUS_NO_MEMORY;
    /* Only what comes from this line has no formula. */
    g->lost = g->lost ? g->lost : g->why;
    g->why = NULL;
    return STATUS_OK;
}

/* A line behind its "#   ". */
static enum status read_line(struct graph *g, char *line)
{
    static const char call[] = " = call_function[target=", placed[] = " = PlaceHolder[target=";
    struct graph_node node = {.name = NULL};
    if (strncmp(line, "return ", 7) == 0) {
        read_returns(g, line + 7);
        return STATUS_OK;
    }
    char *colon = line[0] == '%' ? strstr(line, " : ") : NULL;
    char *target = colon ? strstr(colon, call) : NULL;
    char *place = colon && !target ? strstr(colon, placed) : NULL;
    if (!target && !place) {
        graph_refuse(g, "a line that is no operation", "");
        return STATUS_OK;
    }
    if (!(node.name = arena_text(g->arena, line + 1, (size_t)(colon - line - 1))))
        return STATUS_NO_MEMORY;
    bool typed = strncmp(colon, " : Tensor \"", 11) == 0;
    node.typed = typed && read_shape(colon + 11, &node.shape);
    if (typed && !node.typed)
        graph_refuse(g, "sizes that are no numbers", "");
    return place ? add_input(g, &node) : add_call(g, &node, target + sizeof call - 1);
}

/* ---- what is computed inside ---- */

/* What is computed inside, or never leaves, is no array from outside, although it has a place. */
static bool is_inside(struct graph *g, const char *name)
{
    for (struct hlo_op *op = g->of->first; op; op = op->next)
        if (strcmp(op->name, name) == 0)
            return true;
    for (unsigned i = 0; i < g->returns; i++)
        if (strcmp(g->returned[i], name) == 0)
            return true;
    return false;
}

static void drop_inside(struct graph *g)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < g->ins; i++)
        if (!is_inside(g, g->in[i]->name))
            g->in[kept++] = g->in[i];
    g->ins = kept;
}

/* Whether `name` stands in the text behind `before`, whole. */
static bool stands(const char *text, const char *before, const char *name)
{
    size_t length = strlen(name);
    for (text = text ? strstr(text, before) : NULL; text; text = strstr(text + 1, before))
        if (strncmp(text + strlen(before), name, length) == 0 &&
            strchr(" ,)]\n", text[strlen(before) + length]))
            return true;
    return false;
}

static bool is_lower(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b);
    return m < n || (m == n && strcmp(a, b) < 0);
}

/* The results of an operation with two have names, getitem_4 and getitem_5, and no line of their
 * own; the lower number is the first. One that is placed and not returned comes from outside. */
static void find_parts(struct graph *g, const char *fragment)
{
    static const char mark[] = "%getitem";
    const char *returns = strstr(fragment, "#   return ");
    for (const char *at = fragment; (at = strstr(at, mark)); at++) {
        const char *name = arena_text(g->arena, at + 1, strcspn(at + 1, " ,)]\n"));
        bool known = false;
        for (unsigned i = 0; name && i < g->parts && i < 2; i++)
            known |= strcmp(g->part[i], name) == 0;
        if (!name || known ||
            (stands(fragment, "PlaceHolder[target=", name) && !stands(returns, "%", name)))
            continue;
        if (g->parts < 2)
            g->part[g->parts] = name;
        g->parts++;
    }
    if (g->parts == 2 && is_lower(g->part[1], g->part[0])) {
        const char *first = g->part[0];
        g->part[0] = g->part[1];
        g->part[1] = first;
    }
}

static enum status begin(struct graph *g)
{
    static const char *const folds[] = {"", "add", "maximum", "minimum"};
    struct hlo_computation **end = &g->of;
    for (size_t i = 0; i < sizeof folds / sizeof folds[0]; i++) {
        struct hlo_computation *of = arena_alloc(g->arena, sizeof *of);
        struct hlo_op *root = arena_alloc(g->arena, sizeof *root);
        if (!of || !root)
            return STATUS_NO_MEMORY;
        root->opcode = root->name = of->name = folds[i];
        of->root = i ? root : NULL;
        *end = of;
        end = &of->next;
    }
    return STATUS_OK;
}

enum status graph_read(char *fragment, struct arena *arena, struct graph *out)
{
    *out = (struct graph){.arena = arena};
    enum status status = begin(out);
    find_parts(out, fragment);
    for (char *line = fragment, *next; line && *line && !status && !out->why; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (strncmp(line, "#   ", 4) == 0)
            status = read_line(out, line + 4);
    }
    drop_inside(out);
    return status;
}
