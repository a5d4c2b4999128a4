/* fused.c - outputs, formals, and the statements around a formula (fused_value.h). */
#include "tools/xla/fused.h"

#include <stdlib.h>
#include <string.h>
#include "tools/xla/fused_value.h"

/* A sum over many elements is taken for a part of the outputs. */
enum { ADDITIONS = 1 << 26 };

static const struct hlo_op *output_of(const struct hlo_computation *of, unsigned i)
{
    if (strcmp(of->root->opcode, "tuple") != 0)
        return of->root;
    return i < of->root->operands ? hlo_find(of, of->root->operand[i]) : NULL;
}

/* Parameters by their numbers; false: one is missing or beyond the limit. */
static bool find_arrays(struct fused *out, const struct hlo_computation *of)
{
    for (struct hlo_op *op = of->first; op; op = op->next) {
        unsigned number = (unsigned)strtoul(op->inside ? op->inside : "", NULL, 10);
        if (!op->opcode || strcmp(op->opcode, "parameter") != 0)
            continue;
        if (number >= FUSED_ARRAYS || op->parts != 1)
            return false;
        out->in[number] = &op->shape[0];
        out->ins += number >= out->ins ? number - out->ins + 1 : 0;
    }
    out->outs = strcmp(of->root->opcode, "tuple") == 0 ? of->root->operands : 1;
    if (out->ins + out->outs > FUSED_ARRAYS)
        return false;
    for (unsigned i = 0; i < out->outs; i++) {
        const struct hlo_op *op = output_of(of, i);
        if (!op || op->parts != 1)
            return false;
        out->out[i] = &op->shape[0];
    }
    for (unsigned i = 0; i < out->ins; i++)
        if (!out->in[i])
            return false;
    return true;
}

/* The statements of output `i`. */
static enum status write_output(struct textbuf *body, struct fused_writer *w,
                                const struct hlo_op *op, unsigned i)
{
    struct textbuf statements;
    int64_t reduced = fused_reduced(w);
    w->body = &statements;
    w->known = NULL;
    w->output = op;
    w->column = reduced ? "0" : "c";
    w->n = op->shape[0].count;
    textbuf_init(&statements);
    const char *value = fused_value(w, op, fused_place(w));
    if (value) {
        if (!reduced)
            textbuf_printf(body, "    ELEMENT(i, n%u, c, 1)", i);
        else if (op->shape[0].count > ADDITIONS / reduced)
            textbuf_printf(body, "    SAMPLE(i, n%u, %lld)", i,
                           (long long)(reduced > ADDITIONS / 64 ? 64 : ADDITIONS / reduced));
        else
            textbuf_printf(body, "    ROW(i, n%u)", i);
        textbuf_printf(body, "\n    {\n%.*s        y%u(i, %s) = %s;\n    }\n",
                       (int)statements.length, statements.length ? statements.data : "", i,
                       w->column, value);
    }
    bool failed = statements.failed;
    textbuf_release(&statements);
    w->body = NULL;
    return failed || (!value && !w->why) ? STATUS_NO_MEMORY : STATUS_OK;
}

static bool same_counts(const struct fused *out)
{
    for (unsigned i = 1; i < out->outs; i++)
        if (out->out[i]->count != out->out[0]->count)
            return false;
    return true;
}

/* Each item depends on those at its own place, and on single numbers. */
static bool independent(const struct fused *out, const struct fused_writer *w)
{
    for (unsigned i = 0; i < out->ins; i++)
        if (w->used[i] == FUSED_ELSEWHERE && out->in[i]->count > 1)
            return false;
    return !w->places && same_counts(out);
}

static void write_formals(struct textbuf *text, const struct fused *out,
                          const struct fused_writer *w)
{
    bool free_of = independent(out, w);
    for (unsigned i = 0; i < out->ins; i++)
        if (free_of && w->used[i] == FUSED_HERE && out->in[i]->count == out->out[0]->count)
            textbuf_printf(text, "in p%u[n0][1], ", i);
        else
            textbuf_printf(text, "in p%u[m%u][1], ", i, i);
    for (unsigned i = 0; i < out->outs; i++)
        textbuf_printf(text, "%sout y%u[n%u][1]", i ? ", " : "", i, free_of ? 0 : i);
    textbuf_printf(text, "%s", free_of ? ", each n0" : "");
}

static enum status write_all(struct fused *out, struct fused_writer *w,
                             const struct hlo_computation *of)
{
    struct textbuf body, text;
    enum status status = STATUS_OK;
    textbuf_init(&body);
    textbuf_init(&text);
    for (unsigned i = 0; i < out->outs && !status && !w->why; i++)
        status = write_output(&body, w, output_of(of, i), i);
    out->why = w->why;
    out->rounds = w->rounds;
    out->tf32 = w->tf32;
    if (!status && !w->why) {
        bool one = independent(out, w);
        textbuf_printf(&text, ", \"");
        write_formals(&text, out, w);
        textbuf_printf(&text, "\")\n{\n");
        /* Outputs that share a dim are as large as its first. */
        for (unsigned i = 1; i < out->outs && one; i++)
            textbuf_printf(&text, "    const long long n%u = n0;\n", i);
        textbuf_printf(&text, "%.*s}\n", (int)body.length, body.length ? body.data : "");
        out->text =
            text.failed || body.failed ? NULL : arena_text(w->arena, text.data, text.length);
        status = out->text ? STATUS_OK : STATUS_NO_MEMORY;
    }
    textbuf_release(&body);
    textbuf_release(&text);
    return status;
}

enum status fused_reference(struct fused *out, struct hlo_computation *all,
                            struct hlo_computation *of, struct arena *arena)
{
    struct fused_writer w = {.arena = arena, .all = all, .in = of};
    *out = (struct fused){.why = NULL};
    if (!of->root || !find_arrays(out, of)) {
        out->why = "more than 12 arrays, or a tuple of tuples";
        return STATUS_OK;
    }
    for (unsigned i = 0; i < out->ins + out->outs; i++)
        if ((i < out->ins ? out->in[i] : out->out[i - out->ins])->dtype == DTYPE_NONE) {
            out->why = "a type that the registry does not have";
            return STATUS_OK;
        }
    return write_all(out, &w, of);
}
