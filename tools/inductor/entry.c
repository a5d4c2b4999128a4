/*
 * entry.c - parameters to values.
 *
 * The fragment lists the arrays that are read in the order in which the body reads them first, and
 * those that are written in the order in which it writes them, with some that never leave the
 * kernel. Parameters are numbered in that order, too: in_ptr0, in_ptr1; out_ptr2 is the third that
 * is written. An in_out_ptr0 may be any: it is the one array that fits, or there is no entry.
 */
#include "tools/inductor/entry.h"

#include <stdlib.h>
#include <string.h>
#include "text/textbuf.h"
#include "tools/inductor/graph.h"
#include "tools/xla/fused.h"

enum { MOST_TRIED = 100000 };

struct match {
    const struct source_kernel *kernel;
    struct graph graph;
    const struct hlo_op *read[SOURCE_ARGUMENTS];    /* by parameter */
    const struct hlo_op *written[SOURCE_ARGUMENTS]; /* by parameter */
    unsigned place[SOURCE_ARGUMENTS]; /* of what is written, among what the fragment returns */
    unsigned found;                   /* ways to place them */
    unsigned tried;                   /* places, in the search for these */
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Whether the call passes an input of the graph, which has its name in the fragment, too, for
 * another. */
static bool is_another(const struct match *m, const char *given, const struct hlo_op *op)
{
    for (unsigned i = 0; i < m->graph.ins; i++)
        if (strcmp(m->graph.in[i]->name, given) == 0)
            return m->graph.in[i] != op;
    return false;
}

static bool fits(const struct match *m, const struct source_argument *a, const struct hlo_op *op)
{
    struct hlo_shape shape;
    bool known = source_layout(m->kernel, a->given, &shape);
    return op->shape[0].dtype == a->dtype && (!known || shape.count == op->shape[0].count);
}

/* Where the body reads it first. */
static size_t first_load(const struct match *m, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = m->kernel->body; (at = strstr(at, "tl.load(")); at += 8)
        if (strncmp(at + 8, name, length) == 0 && (at[8 + length] == ' ' || at[8 + length] == ','))
            return (size_t)(at - m->kernel->body);
    return 0;
}

/* The parameters that are read, in the order of the fragment: in_ptr by number, in_out_ptr where
 * the body reads it. False: the body reads the others in another order, and its place is not known.
 */
static bool order_reads(const struct match *m, unsigned *order, unsigned *count)
{
    bool moved = false, both = false;
    *count = 0;
    for (unsigned i = 0; i < m->kernel->arguments; i++) {
        const struct source_argument *a = &m->kernel->argument[i];
        if (a->read && begins(a->name, "in_ptr"))
            order[(*count)++] = i;
        both |= a->read && !begins(a->name, "in_ptr");
    }
    for (unsigned k = 1; k < *count; k++)
        moved |= first_load(m, m->kernel->argument[order[k - 1]].name) >
                 first_load(m, m->kernel->argument[order[k]].name);
    for (unsigned i = 0; i < m->kernel->arguments; i++) {
        const struct source_argument *a = &m->kernel->argument[i];
        if (!a->read || begins(a->name, "in_ptr"))
            continue;
        unsigned k = (*count)++;
        for (; k && first_load(m, m->kernel->argument[order[k - 1]].name) > first_load(m, a->name);
             k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    return !(moved && both);
}

static const char *match_reads(struct match *m)
{
    unsigned order[SOURCE_ARGUMENTS], count;
    if (!order_reads(m, order, &count))
        return "an array that is read and written, and arrays that are read in another order";
    if (count != m->graph.ins)
        return "other arrays than its fragment has";
    for (unsigned k = 0; k < count; k++) {
        const struct source_argument *a = &m->kernel->argument[order[k]];
        const struct hlo_op *op = m->graph.in[k];
        if (!fits(m, a, op) || is_another(m, a->given, op))
            return "arrays in another order than in its fragment";
        m->read[order[k]] = op;
    }
    return NULL;
}

static bool is_taken(const struct match *m, unsigned i, unsigned place)
{
    for (unsigned k = 0; k < i; k++)
        if (m->kernel->argument[k].written && m->place[k] == place)
            return true;
    return false;
}

/* What the fragment returns at that place, for a parameter. An input that is written over has a
 * name of its own there. */
static const struct hlo_op *returned(struct match *m, const struct source_argument *a,
                                     unsigned place)
{
    const char *name = m->graph.returned[place];
    const struct hlo_op *op = graph_find(&m->graph, name);
    for (unsigned i = 0; i < m->graph.copies && !op && begins(name, "buf"); i++)
        if (strcmp(m->graph.into[i], a->given) == 0)
            op = graph_find(&m->graph, m->graph.with[i]);
    return op;
}

/* Places for the parameters from `i` on. `last`: of the out_ptr before. */
static void place_writes(struct match *m, unsigned i, int last)
{
    while (i < m->kernel->arguments && !m->kernel->argument[i].written)
        i++;
    if (m->found > 1 || m->tried > MOST_TRIED)
        return;
    if (i == m->kernel->arguments) {
        for (unsigned k = 0; k < i && !m->found; k++)
            if (m->kernel->argument[k].written)
                m->written[k] = returned(m, &m->kernel->argument[k], m->place[k]);
        m->found++;
        return;
    }
    const struct source_argument *a = &m->kernel->argument[i];
    bool out = begins(a->name, "out_ptr");
    bool exact = out && !begins(m->kernel->argument[0].name, "in_out_ptr");
    int number = out ? atoi(a->name + 7) : 0, from = number > last + 1 ? number : last + 1;
    /* One that is written alone took the place of a result before it that never leaves. */
    unsigned first = out ? (unsigned)from : a->read ? 0 : 1;
    for (unsigned p = first; p < m->graph.returns; p++) {
        const struct hlo_op *op = returned(m, a, p);
        if (!op || !fits(m, a, op) || is_taken(m, i, p) || (exact && (int)p != number))
            continue;
        m->place[i] = p;
        m->tried++;
        place_writes(m, i + 1, out ? (int)p : last);
    }
}

static const char *match_writes(struct match *m)
{
    place_writes(m, 0, -1);
    return m->tried > MOST_TRIED ? "results in more orders than are tried"
           : m->found == 1       ? NULL
           : m->found > 1        ? "results that may be in each other's place"
           : m->graph.lost       ? m->graph.lost
                                 : "a result that its fragment does not compute";
}

/* ---- the computation ---- */

/* Dims of more than one element lie without gaps, in some order. */
static bool is_dense(const struct hlo_shape *shape)
{
    int64_t next = 1;
    for (unsigned step = 0; step < shape->rank; step++) {
        unsigned d = 0;
        while (d < shape->rank && (shape->dim[d] == 1 || shape->stride[d] != next))
            d++;
        next *= d < shape->rank ? shape->dim[d] : 1;
    }
    return next == shape->count;
}

static const char *take_inputs(struct match *m)
{
    struct hlo_op *first = m->graph.of->first;
    for (unsigned i = 0; i < m->graph.ins; i++) {
        struct hlo_op *op = m->graph.in[i];
        op->inside = arena_format(m->graph.arena, "%u", i);
        op->next = first;
        first = op;
        if (!is_dense(&op->shape[0]))
            return "an array with gaps, or one that repeats itself";
        if (op->shape[0].count == 0)
            return "an array without elements";
    }
    m->graph.of->first = first;
    return NULL;
}

/* The result in the layout that the file gives to the array. */
static struct hlo_op *output(struct match *m, unsigned i, const char **why)
{
    const struct hlo_op *op = m->written[i];
    struct hlo_shape to = op->shape[0], at;
    bool known = source_layout(m->kernel, m->kernel->argument[i].given, &at);
    bool same =
        known && at.rank == to.rank && memcmp(at.dim, to.dim, sizeof to.dim[0] * to.rank) == 0;
    struct hlo_shape flat = known ? graph_shape(to.dtype, at.rank, at.dim) : to;
    bool ordered = known && memcmp(flat.stride, at.stride, sizeof at.stride[0] * at.rank) == 0;
    if (same)
        memcpy(to.stride, at.stride, sizeof to.stride);
    if ((!same && !ordered) || !is_dense(&to)) {
        *why = "an array whose layout is not in its file";
        return NULL;
    }
    return graph_add(&m->graph, "copy", &to, NULL, op, NULL);
}

static enum status take_outputs(struct match *m, const char **why)
{
    struct arena *arena = m->graph.arena;
    struct hlo_op *root = arena_alloc(arena, sizeof *root);
    const char **operand = arena_alloc(arena, SOURCE_ARGUMENTS * sizeof *operand);
    if (!root || !operand)
        return STATUS_NO_MEMORY;
    *root = (struct hlo_op){.name = "", .opcode = "tuple", .inside = "", .attributes = ""};
    root->operand = operand;
    for (unsigned i = 0; i < m->kernel->arguments && !*why; i++) {
        struct hlo_op *op = m->written[i] ? output(m, i, why) : NULL;
        if (op)
            operand[root->operands++] = op->name;
        if (m->written[i] && !op && !*why)
            return STATUS_NO_MEMORY;
        m->graph.of->root = op ? op : m->graph.of->root;
    }
    if (root->operands > 1)
        m->graph.of->root = root;
    if (!root->operands && !*why)
        *why = "nothing is written";
    return STATUS_OK;
}

/* ---- the entry ---- */

static const char *taken(struct arena *arena, struct textbuf *text)
{
    const char *out =
        text->failed ? NULL : arena_text(arena, text->data ? text->data : "", text->length);
    textbuf_release(text);
    return out;
}

/* A parameter of the signature, and what it binds. */
static void write_argument(const struct match *m, unsigned i, unsigned *outs,
                           struct textbuf *signature, struct textbuf *bind)
{
    const struct source_argument *a = &m->kernel->argument[i];
    const struct hlo_op *op = m->written[i] ? m->written[i] : m->read[i];
    const char *role = !m->written[i] ? "const " : m->read[i] ? "inout " : "";
    if (a->constant)
        return;
    if (!a->pointer || !op) {
        textbuf_printf(signature, "%s%s, ", a->pointer ? "_" : dtype_text(a->dtype),
                       a->pointer ? "" : arena_format(m->graph.arena, " %s", a->name));
        return;
    }
    textbuf_printf(signature, "%s%s %s[%lld][1], ", role, dtype_text(a->dtype), a->name,
                   (long long)op->shape[0].count);
    for (unsigned k = 0; k < m->graph.ins; k++)
        if (m->read[i] == m->graph.in[k])
            textbuf_printf(bind, "p%u: %s, ", k, a->name);
    if (m->written[i])
        textbuf_printf(bind, "y%u: %s, ", (*outs)++, a->name);
}

/* The sizes of the first call: another graph may have a kernel of this name. */
static const char *condition(const struct match *m)
{
    struct textbuf out;
    textbuf_init(&out);
    for (unsigned i = 0; i < m->kernel->arguments; i++) {
        const struct source_argument *a = &m->kernel->argument[i];
        if (!a->pointer && !a->constant && dtype_is_integer(a->dtype) &&
            strspn(a->given, "0123456789") == strlen(a->given))
            textbuf_printf(&out, "%s%s == %s", out.length ? " && " : "", a->name, a->given);
    }
    const char *text = taken(m->graph.arena, &out);
    return text && *text ? text : NULL;
}

static enum status describe(struct match *m, struct xla_kernel *made)
{
    struct textbuf signature, bind;
    unsigned outs = 0;
    textbuf_init(&signature);
    textbuf_init(&bind);
    for (unsigned i = 0; i < m->kernel->arguments; i++)
        write_argument(m, i, &outs, &signature, &bind);
    textbuf_printf(&signature, "...");
    if (bind.length > 2)
        bind.length -= 2;
    made->signature = taken(m->graph.arena, &signature);
    made->bind = taken(m->graph.arena, &bind);
    made->when = condition(m);
    return made->signature && made->bind ? STATUS_OK : STATUS_NO_MEMORY;
}

/* What the body does that a formula in f64 does not: roundings to 16 bits, fast functions. */
static void allow(const char *body, struct xla_kernel *made)
{
    static const char *const fast[] = {"tl_math.", "tl.exp", "tl.sigmoid(", "tl.log"};
    made->rounds = strstr(body, ".to(tl.bfloat16)") || strstr(body, ".to(tl.float16)");
    for (size_t i = 0; i < sizeof fast / sizeof fast[0]; i++)
        made->approx |= strstr(body, fast[i]) != NULL;
}

static enum status compute(struct match *m, struct xla_kernel *made)
{
    struct fused fused = {.text = NULL};
    const char *why = match_reads(m);
    enum status status = STATUS_OK;
    why = why ? why : match_writes(m);
    why = why ? why : take_inputs(m);
    if (!why)
        status = take_outputs(m, &why);
    if (!why && !status)
        status = fused_reference(&fused, m->graph.of, m->graph.of, m->graph.arena);
    made->why = why ? why : fused.why;
    made->text = fused.text;
    made->tf32 = fused.tf32;
    return made->why || status ? status : describe(m, made);
}

enum status entry_add(const struct source_kernel *kernel, struct xla_draft *draft)
{
    struct match match = {.kernel = kernel};
    struct xla_kernel made = {
        .name = kernel->name, .why = kernel->why, .arguments = kernel->arguments};
    enum status status = STATUS_OK;
    if (!made.why)
        status = graph_read(kernel->fragment, xla_draft_arena(draft), &match.graph);
    made.why = made.why ? made.why : match.graph.why;
    if (!made.why && !status)
        status = compute(&match, &made);
    allow(kernel->body, &made);
    return status ? status : xla_draft_put(draft, &made);
}
