#include "tools/xla/draft.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "text/textbuf.h"
#include "tools/xla/buffers.h"
#include "tools/xla/fused.h"

enum { TEXT_REFERENCES = 8 }; /* a text compiles in some ten seconds */

struct kernel {
    struct xla_kernel is;
    unsigned number; /* of its reference */
    bool repeats;    /* an earlier kernel has the same reference */
    struct kernel *next;
};

struct xla_draft {
    struct arena arena;
    const char *verb;
    struct kernel *first, **end;
};

/* One parameter of the kernel. */
struct argument {
    const struct buffer *at;
    const struct hlo_shape *shape;
    bool read, written;
};

enum status xla_draft_create(struct xla_draft **out, const char *verb)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return STATUS_NO_MEMORY;
    (*out)->verb = verb;
    (*out)->end = &(*out)->first;
    return STATUS_OK;
}

void xla_draft_destroy(struct xla_draft *draft)
{
    if (draft)
        arena_release(&draft->arena);
    free(draft);
}

struct arena *xla_draft_arena(struct xla_draft *draft)
{
    return &draft->arena;
}

static bool same_memory(const struct buffer *a, const struct buffer *b)
{
    return a && b && a->allocation == b->allocation && a->offset == b->offset && a->size == b->size;
}

/* The number of the argument in that memory, a new one where there is none. -1: the memory has two
 * types. */
static int argument_in(struct argument *args, unsigned *count, const struct buffer *at,
                       const struct hlo_shape *shape, bool written)
{
    unsigned i = 0;
    while (i < *count && !same_memory(args[i].at, at))
        i++;
    if (i == *count)
        args[(*count)++] = (struct argument){.at = at, .shape = shape};
    if (args[i].shape->dtype != shape->dtype || args[i].shape->count != shape->count)
        return -1;
    *(written ? &args[i].written : &args[i].read) = true;
    return (int)i;
}

static void write_signature(struct textbuf *out, const struct argument *args, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        textbuf_printf(out, "%s%s%s a%u[%lld][1]", i ? ", " : "",
                       !args[i].written ? "const "
                       : args[i].read   ? "inout "
                                        : "",
                       dtype_text(args[i].shape->dtype), i, (long long)args[i].shape->count);
}

/* Operands, then results. */
static enum status parameters(struct xla_kernel *kernel, const struct hlo_op *fusion,
                              const struct fused *fused, const struct hlo_computation *in,
                              const struct buffer *buffers, struct arena *arena)
{
    struct argument args[2 * FUSED_ARRAYS];
    struct textbuf signature, bind;
    textbuf_init(&signature);
    textbuf_init(&bind);
    for (unsigned i = 0; i < fused->ins + fused->outs; i++) {
        bool written = i >= fused->ins;
        unsigned k = written ? i - fused->ins : i;
        const char *name = written ? fusion->name : fusion->operand[k];
        int part = written && fused->outs > 1 ? (int)k : -1;
        int at = argument_in(args, &kernel->arguments, buffer_of(buffers, in, name, part),
                             written ? fused->out[k] : fused->in[k], written);
        if (at < 0)
            kernel->why = "memory that is read as one type and written as another";
        textbuf_printf(&bind, "%s%c%u: a%d", i ? ", " : "", written ? 'y' : 'p', k, at);
    }
    if (!kernel->why)
        write_signature(&signature, args, kernel->arguments);
    kernel->signature = arena_text(arena, signature.data ? signature.data : "", signature.length);
    kernel->bind = arena_text(arena, bind.data ? bind.data : "", bind.length);
    bool failed = signature.failed || bind.failed || !kernel->signature || !kernel->bind;
    textbuf_release(&signature);
    textbuf_release(&bind);
    return failed ? STATUS_NO_MEMORY : STATUS_OK;
}

/* The symbol of a fusion's kernel. */
static const char *symbol_of(const char *name, struct arena *arena)
{
    char *out = arena_text(arena, name, strlen(name));
    for (char *at = out; at && *at; at++)
        *at = isalnum((unsigned char)*at) ? *at : '_';
    return out;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_entry(const struct xla_kernel *a, const struct xla_kernel *b)
{
    return a->text && same_text(a->text, b->text) && same_text(a->signature, b->signature) &&
           same_text(a->bind, b->bind) && same_text(a->when, b->when);
}

/* False: the kernel is known already. */
static bool settle(struct xla_draft *draft, const struct xla_kernel *made)
{
    for (struct kernel *k = draft->first; k; k = k->next) {
        if (strcmp(k->is.name, made->name) != 0 || k->is.arguments != made->arguments)
            continue;
        if (!same_entry(&k->is, made))
            k->is.why = k->is.why && made->why ? k->is.why
                                               : "two modules have different kernels of this name";
        return false;
    }
    return true;
}

enum status xla_draft_put(struct xla_draft *draft, const struct xla_kernel *kernel)
{
    if (!settle(draft, kernel))
        return STATUS_OK;
    struct kernel *made = arena_alloc(&draft->arena, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    made->is = *kernel;
    *draft->end = made;
    draft->end = &made->next;
    return STATUS_OK;
}

/* The fusion's kernel, with a parameter for each piece of memory in `buffers`; NULL: for each
 * array. */
static enum status add_kernel(struct xla_draft *draft, const struct hlo_op *fusion,
                              const struct fused *fused, const struct hlo_computation *in,
                              const struct buffer *buffers)
{
    struct xla_kernel made = {.name = symbol_of(fusion->name, &draft->arena),
                              .text = fused->text,
                              .why = fused->why,
                              .rounds = fused->rounds,
                              .tf32 = fused->tf32};
    enum status status = STATUS_OK;
    if (!made.name)
        return STATUS_NO_MEMORY;
    if (fused->text && fused->ins != fusion->operands)
        made.why = "operands that its computation does not have";
    if (!made.why)
        status = parameters(&made, fusion, fused, in, buffers, &draft->arena);
    return status ? status : xla_draft_put(draft, &made);
}

/* Some versions of XLA give a kernel each piece of memory once, others each operand and result.
 * Where that differs both have an entry; a launch fits the one with its number of parameters. */
static enum status add_fusion(struct xla_draft *draft, struct hlo_computation *all,
                              const struct hlo_computation *in, const struct hlo_op *fusion,
                              const struct buffer *buffers)
{
    const char *calls = hlo_word(fusion, "calls", &draft->arena);
    struct hlo_computation *of = calls ? hlo_computation_of(all, calls) : NULL;
    struct fused fused;
    if (!of)
        return STATUS_OK;
    enum status status = fused_reference(&fused, all, of, &draft->arena);
    if (!status)
        status = add_kernel(draft, fusion, &fused, in, buffers);
    if (!status && buffers && !fused.why)
        status = add_kernel(draft, fusion, &fused, in, NULL);
    return status;
}

enum status xla_draft_add(struct xla_draft *draft, char *module, char *buffers, struct error *err)
{
    struct hlo_computation *all;
    struct buffer *values = NULL;
    enum status status = hlo_read(module, &draft->arena, &all, err);
    if (!status && buffers)
        status = buffers_read(buffers, &draft->arena, &values);
    for (struct hlo_computation *in = all; in && !status; in = in->next)
        for (struct hlo_op *op = in->first; op && !status; op = op->next)
            if (op->opcode && strcmp(op->opcode, "fusion") == 0)
                status = add_fusion(draft, all, in, op, values);
    return status == STATUS_NO_MEMORY ? error_set(err, status, "out of memory") : status;
}

/* Numbers the references; kernels with one text share one. */
struct xla_counts xla_draft_count(struct xla_draft *draft)
{
    struct xla_counts out = {0};
    unsigned references = 0;
    for (struct kernel *k = draft->first; k; k = k->next) {
        out.refused += k->is.why != NULL;
        if (k->is.why)
            continue;
        out.entries++;
        k->repeats = false;
        for (struct kernel *before = draft->first; before != k && !k->repeats;
             before = before->next)
            if (!before->is.why && strcmp(before->is.text, k->is.text) == 0) {
                k->repeats = true;
                k->number = before->number;
            }
        if (!k->repeats)
            k->number = references++;
    }
    out.texts = (references + TEXT_REFERENCES - 1) / TEXT_REFERENCES;
    return out;
}

/* A row of tolerances, for what the kernel may do. */
static void write_tolerance(const struct xla_kernel *k, FILE *out)
{
    const char *parts[] = {k->rounds ? "accumulate: bf16" : NULL, k->tf32 ? "inputs: tf32" : NULL,
                           k->approx ? "functions: approx" : NULL};
    const char *before = "    tolerance: {";
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i]) {
            fprintf(out, "%s%s", before, parts[i]);
            before = ", ";
        }
    if (before[0] == ',')
        fprintf(out, "}\n");
}

void xla_draft_registry(const struct xla_draft *draft, FILE *out, const char *stem)
{
    fprintf(out, "# Written by `cuvet %s`.\nversion: 1\nkernels:\n", draft->verb);
    for (const struct kernel *k = draft->first; k; k = k->next) {
        if (k->is.why) {
            fprintf(out, "  # %s has no entry: %s\n", k->is.name, k->is.why);
            continue;
        }
        fprintf(out, "  - kernel: %s\n    signature: >\n      %s\n", k->is.name, k->is.signature);
        fprintf(out, "    reference: {source: \"%s_%u.cu\", name: %s_%u}\n    bind: {%s}\n", stem,
                k->number / TEXT_REFERENCES, draft->verb, k->number, k->is.bind);
        if (k->is.when)
            fprintf(out, "    when: %s\n", k->is.when);
        write_tolerance(&k->is, out);
    }
    if (!draft->first)
        fprintf(out, "  []\n");
}

void xla_draft_text(const struct xla_draft *draft, FILE *out, unsigned number)
{
    fprintf(out, "// Written by `cuvet %s`: the formulas of the fusions.\n", draft->verb);
    for (const struct kernel *k = draft->first; k; k = k->next)
        if (!k->is.why && !k->repeats && k->number / TEXT_REFERENCES == number)
            fprintf(out, "\nREFERENCE_ONCE(%s_%u%s", draft->verb, k->number, k->is.text);
}
