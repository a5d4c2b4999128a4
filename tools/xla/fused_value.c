#include "tools/xla/fused_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A value that has a name already: the same operation at the same place. */
struct fused_known {
    const struct hlo_op *op;
    const char *at, *name;
    struct textbuf *body;
    struct fused_known *next;
};

const char *fused_refuse(struct fused_writer *w, const char *what, const char *name)
{
    if (!w->why)
        w->why = arena_format(w->arena, what, name);
    return NULL;
}

struct fused_place fused_place(struct fused_writer *w)
{
    (void)w;
    return (struct fused_place){.linear = "i"};
}

/* The index along dim `d` of an array of that shape. */
const char *fused_index(struct fused_writer *w, const struct fused_place *place,
                        const struct hlo_shape *shape, unsigned d)
{
    long long stride = shape->stride[d], dim = shape->dim[d];
    if (d >= shape->rank || shape->dim[d] == 1)
        return "0";
    if (place->index[d])
        return place->index[d];
    if (!place->linear)
        return fused_refuse(w, "dims that do not fit%s", "");
    if (stride * dim == shape->count)
        return stride == 1 ? place->linear : TEXT(w, "(%s / %lld)", place->linear, stride);
    return stride == 1 ? TEXT(w, "(%s %% %lld)", place->linear, dim)
                       : TEXT(w, "(%s / %lld %% %lld)", place->linear, stride, dim);
}

const char *fused_linear(struct fused_writer *w, const struct fused_place *place,
                         const struct hlo_shape *shape)
{
    const char *sum = NULL;
    if (shape->count == 1)
        return "0";
    if (place->linear)
        return place->linear;
    for (unsigned d = 0; d < shape->rank; d++) {
        const char *index = fused_index(w, place, shape, d);
        if (!index || strcmp(index, "0") == 0)
            continue;
        const char *part = shape->stride[d] == 1
                               ? index
                               : TEXT(w, "%s * %lld", index, (long long)shape->stride[d]);
        sum = sum ? TEXT(w, "%s + %s", sum, part) : part;
    }
    return sum ? TEXT(w, "(%s)", sum) : "0";
}

struct hlo_op *fused_operand(const struct fused_writer *w, const struct hlo_op *op, unsigned i)
{
    struct hlo_op *at = i < op->operands ? w->in->first : NULL;
    while (at && at != op && strcmp(at->name, op->operand[i]) != 0)
        at = at->next;
    return at != op ? at : NULL;
}

static bool same_layout(const struct hlo_shape *a, const struct hlo_shape *b)
{
    for (unsigned d = 0; d < a->rank; d++)
        if (a->dim[d] != b->dim[d] || (a->dim[d] > 1 && a->stride[d] != b->stride[d]))
            return false;
    return a->rank == b->rank;
}

/* Operand `i` at the same indices; of a scalar, that. */
static const char *same(struct fused_writer *w, const struct hlo_op *op, unsigned i,
                        const struct fused_place *place)
{
    const struct hlo_op *from = fused_operand(w, op, i);
    struct fused_place there = *place;
    if (!from || from->parts != 1)
        return fused_refuse(w, "an operand of %s", op->name);
    if (from->shape[0].count > 1 && from->shape[0].rank != op->shape[0].rank)
        return fused_refuse(w, "operands of other dims in %s", op->opcode);
    if (!same_layout(&from->shape[0], &op->shape[0])) {
        for (unsigned d = 0; d < from->shape[0].rank; d++)
            there.index[d] = fused_index(w, place, &op->shape[0], d);
        there.linear = NULL;
    }
    return fused_value(w, from, there);
}

/* ---- arithmetic ---- */

static const struct {
    const char *opcode, *text; /* @ and $ are the operands */
    unsigned operands;
    bool whole; /* of integers, too */
} arithmetic[] = {
    {"add", "(@ + $)", 2, true},
    {"subtract", "(@ - $)", 2, true},
    {"multiply", "(@ * $)", 2, true},
    {"divide", "(@ / $)", 2, false},
    {"maximum", "max(@, $)", 2, true},
    {"minimum", "min(@, $)", 2, true},
    {"and", "min(@, $)", 2, false},
    {"or", "max(@, $)", 2, false},
    {"not", "(1.0 - @)", 1, false},
    {"negate", "(-@)", 1, true},
    {"abs", "abs(@)", 1, true},
    {"exponential", "exp(@)", 1, false},
    {"exponential-minus-one", "(exp(@) - 1.0)", 1, false},
    {"log", "log(@)", 1, false},
    {"log-plus-one", "log(1.0 + @)", 1, false},
    {"sqrt", "sqrt(@)", 1, false},
    {"rsqrt", "rsqrt(@)", 1, false},
    {"tanh", "tanh(@)", 1, false},
    {"logistic", "sigmoid(@)", 1, false},
    {"erf", "erf(@)", 1, false},
    {"copy", "@", 1, true},
};

static bool is_float(enum dtype dtype)
{
    return dtype == DTYPE_F64 || dtype == DTYPE_F32 || dtype == DTYPE_F16 || dtype == DTYPE_BF16 ||
           dtype == DTYPE_F8E4M3 || dtype == DTYPE_F8E5M2;
}

const char *fused_put(struct fused_writer *w, const char *text, const char *a, const char *b)
{
    struct textbuf out;
    textbuf_init(&out);
    for (; *text; text++)
        if (*text == '@' || *text == '$')
            textbuf_printf(&out, "%s", *text == '@' ? a : b);
        else
            textbuf_add(&out, text, 1);
    const char *done = out.failed ? NULL : arena_text(w->arena, out.data, out.length);
    textbuf_release(&out);
    return done;
}

static bool is_unsigned(enum dtype dtype)
{
    return dtype == DTYPE_U8 || dtype == DTYPE_U16 || dtype == DTYPE_U32 || dtype == DTYPE_U64;
}

/* Whether the operation fits the type. Bits of integers, quotients that are cut, and unsigned
 * numbers, which programs let wrap around, have no formula. */
static bool fits(const char *opcode, enum dtype dtype, bool whole)
{
    bool logic =
        strcmp(opcode, "and") == 0 || strcmp(opcode, "or") == 0 || strcmp(opcode, "not") == 0;
    bool moves = opcode[0] == 'm' && opcode[1] != 'u';
    if (logic)
        return dtype == DTYPE_BOOL;
    return is_float(dtype) ||
           (whole && (!is_unsigned(dtype) || moves || strcmp(opcode, "copy") == 0));
}

/* *known: the opcode is one of the table's. */
static const char *pointwise(struct fused_writer *w, const struct hlo_op *op,
                             const struct fused_place *place, bool *known)
{
    for (size_t i = 0; i < sizeof arithmetic / sizeof arithmetic[0]; i++) {
        if (strcmp(arithmetic[i].opcode, op->opcode) != 0)
            continue;
        *known = true;
        if (!fits(op->opcode, op->shape[0].dtype, arithmetic[i].whole))
            return fused_refuse(w, "%s of integers", op->opcode);
        const char *a = same(w, op, 0, place);
        const char *b = arithmetic[i].operands == 2 && a ? same(w, op, 1, place) : "";
        return a && b ? fused_put(w, arithmetic[i].text, a, b) : NULL;
    }
    *known = false;
    return NULL;
}

static const struct {
    const char *direction, *text;
} comparisons[] = {
    {"LT", "NUMBER(@ < $)"},
    {"GT", "NUMBER(@ > $)"},
    {"EQ", "NUMBER(equals(@, $))"},
    {"NE", "(1.0 - NUMBER(equals(@, $)))"},
    {"LE", "(NUMBER(@ < $) + NUMBER(equals(@, $)))"},
    {"GE", "(NUMBER(@ > $) + NUMBER(equals(@, $)))"},
};

static const char *compare(struct fused_writer *w, const struct hlo_op *op,
                           const struct fused_place *place)
{
    const char *direction = hlo_word(op, "direction", w->arena);
    for (size_t i = 0; direction && i < sizeof comparisons / sizeof comparisons[0]; i++) {
        if (strcmp(comparisons[i].direction, direction) != 0)
            continue;
        const char *a = same(w, op, 0, place), *b = a ? same(w, op, 1, place) : NULL;
        return b ? fused_put(w, comparisons[i].text, a, b) : NULL;
    }
    return fused_refuse(w, "comparison %s", op->name);
}

static const char *choose(struct fused_writer *w, const struct hlo_op *op,
                          const struct fused_place *place)
{
    const char *given = same(w, op, 0, place), *a = given ? same(w, op, 1, place) : NULL;
    const char *b = a ? same(w, op, 2, place) : NULL;
    return b ? TEXT(w, "where(%s > 0.5, %s, %s)", given, a, b) : NULL;
}

static const char *clamp(struct fused_writer *w, const struct hlo_op *op,
                         const struct fused_place *place)
{
    const char *low = same(w, op, 0, place), *x = low ? same(w, op, 1, place) : NULL;
    const char *high = x ? same(w, op, 2, place) : NULL;
    return high ? TEXT(w, "min(max(%s, %s), %s)", x, low, high) : NULL;
}

/* The operand's value where it is one constant, repeated or not; NaN: it is none. */
static double constant_of(const struct fused_writer *w, const struct hlo_op *op, unsigned i)
{
    const struct hlo_op *from = fused_operand(w, op, i);
    while (from && strcmp(from->opcode, "broadcast") == 0)
        from = fused_operand(w, from, 0);
    bool known = from && strcmp(from->opcode, "constant") == 0 && from->shape[0].count == 1;
    if (!known)
        return (double)NAN;
    return from->shape[0].dtype == DTYPE_F32 ? (double)strtof(from->inside, NULL)
                                             : strtod(from->inside, NULL);
}

/* x^2 and x^3, roots, and powers of a positive constant, which are exp(n log x). */
static const char *power(struct fused_writer *w, const struct hlo_op *op,
                         const struct fused_place *place)
{
    double base = constant_of(w, op, 0), n = constant_of(w, op, 1);
    bool whole = n == floor(n);
    const char *value = base > 0 ? same(w, op, 1, place) : NULL;
    if (value)
        return TEXT(w, "exp(%s * double(%.17g))", value, log(base));
    value = n == 2 || n == 3 || (!isnan(n) && !whole) ? same(w, op, 0, place) : NULL;
    if (!value)
        return fused_refuse(w, "%s by another number than 2, 3 or a fraction", "power");
    if (!whole)
        return n == 0.5 ? TEXT(w, "sqrt(%s)", value)
                        : TEXT(w, "exp(log(%s) * double(%.17g))", value, n);
    return n == 2 ? TEXT(w, "square(%s)", value) : TEXT(w, "(square(%s) * %s)", value, value);
}

static const char *convert(struct fused_writer *w, const struct hlo_op *op,
                           const struct fused_place *place)
{
    const struct hlo_op *from = fused_operand(w, op, 0);
    enum dtype to = op->shape[0].dtype;
    if (from && from->parts == 1 && !is_float(to) &&
        (is_float(from->shape[0].dtype) || to == DTYPE_BOOL))
        return fused_refuse(w, "%s to integers", "convert");
    return same(w, op, 0, place);
}

static const char *constant(struct fused_writer *w, const struct hlo_op *op)
{
    const char *text = op->inside;
    if (op->shape[0].count != 1)
        return fused_refuse(w, "an array as %s", "constant");
    while (*text == '{' || *text == ' ')
        text++;
    if (strncmp(text, "true", 4) == 0 || strncmp(text, "false", 5) == 0)
        return text[0] == 't' ? "1.0" : "0.0";
    if (strstr(text, "nan"))
        return fused_refuse(w, "%s NaN", "constant");
    if (strstr(text, "inf"))
        return text[0] == '-' ? "(-__builtin_huge_val())" : "__builtin_huge_val()";
    double value = op->shape[0].dtype == DTYPE_F32 ? strtof(text, NULL) : strtod(text, NULL);
    return TEXT(w, "double(%.17g)", value);
}

/* ---- an operation ---- */

static const struct {
    const char *opcode;
    const char *(*value)(struct fused_writer *, const struct hlo_op *, const struct fused_place *);
    bool computes; /* and may round */
} operations[] = {
    {"parameter", fused_parameter, false},
    {"broadcast", fused_broadcast, false},
    {"transpose", fused_transpose, false},
    {"reshape", fused_reshape, false},
    {"bitcast", fused_reshape, false},
    {"slice", fused_slice, false},
    {"concatenate", fused_concatenate, false},
    {"pad", fused_pad, false},
    {"iota", fused_iota, false},
    {"select", choose, false},
    {"compare", compare, false},
    {"clamp", clamp, false},
    {"power", power, true},
    {"convert", convert, true},
    {"reduce", fused_reduce, true},
    {"dot", fused_dot, true},
};

static const char *compute(struct fused_writer *w, const struct hlo_op *op,
                           const struct fused_place *place)
{
    bool known = false;
    const char *value = pointwise(w, op, place, &known);
    if (known)
        return value;
    if (strcmp(op->opcode, "constant") == 0)
        return constant(w, op);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (strcmp(operations[i].opcode, op->opcode) == 0)
            return operations[i].value(w, op, place);
    return fused_refuse(w, "operation %s", op->opcode);
}

/* Whether a value of 16 bits inside is the result of arithmetic, which rounded it. */
static bool rounded(const struct hlo_op *op)
{
    enum dtype dtype = op->shape[0].dtype;
    if (dtype != DTYPE_BF16 && dtype != DTYPE_F16)
        return false;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (strcmp(operations[i].opcode, op->opcode) == 0)
            return operations[i].computes;
    return strcmp(op->opcode, "constant") != 0 && strcmp(op->opcode, "copy") != 0;
}

const char *fused_value(struct fused_writer *w, const struct hlo_op *op, struct fused_place place)
{
    static const char *const leaves[] = {"parameter", "constant", "broadcast",
                                         "bitcast",   "reduce",   "dot"};
    bool leaf = false;
    if (w->why)
        return NULL;
    if (op->parts != 1 || !op->opcode)
        return fused_refuse(w, "a tuple in %s", op->name);
    const char *at = fused_linear(w, &place, &op->shape[0]);
    for (struct fused_known *k = w->known; at && k && !w->term; k = k->next)
        if (k->op == op && k->body == w->body && strcmp(k->at, at) == 0)
            return k->name;
    w->rounds |= rounded(op) && op != w->output;
    if (w->depth == DEPTH_MOST)
        return fused_refuse(w, "more operations in a row than are followed, at %s", op->name);
    w->depth++;
    const char *value = compute(w, op, &place);
    w->depth--;
    for (size_t i = 0; i < sizeof leaves / sizeof leaves[0]; i++)
        leaf |= strcmp(leaves[i], op->opcode) == 0;
    if (!value || !at || leaf || w->term)
        return value && strlen(value) > TERM_MOST ? fused_refuse(w, "a long %s", "term") : value;
    struct fused_known *known = arena_alloc(w->arena, sizeof *known);
    const char *name = TEXT(w, "t%u", w->names++);
    if (!known || !name)
        return NULL;
    *known = (struct fused_known){op, at, name, w->body, w->known};
    w->known = known;
    textbuf_printf(w->body, "        const auto %s = %s;\n", name, value);
    return name;
}
