/* fused_sum.c - reductions and products: a name for each, in front of the output's statement. */
#include <stdlib.h>
#include <string.h>
#include "tools/xla/fused_value.h"

static const struct {
    const char *opcode, *text, *inner; /* @: index and count; inner: inside another, by each lane */
    const char *two;                   /* the result and what it begins with */
} folds[] = {
    {"add", "SUM_IF(@, true, $)", "SUM(@, $)", "(@ + $)"},
    {"maximum", "MAX_IF(@, true, $)", "MAX(@, $)", "max(@, $)"},
    {"minimum", "-MAX_IF(@, true, -$)", "MIN(@, $)", "min(@, $)"},
};

/* What the terms of the next sum are numbered by: j, and inside another j1, j2. */
static const char *next_index(struct fused_writer *w, bool inner)
{
    return inner ? TEXT(w, "j%u", ++w->names) : "j";
}

/* The terms over `index` < count. The value gets a name in front of the output's statement, but
 * that of a sum inside another. `first`: what it begins with, or NULL. */
static const char *folded(struct fused_writer *w, const char *fold, const char *index,
                          long long count, const char *term, const char *first)
{
    bool inner = index && index[1] != '\0';
    if (!term || !index)
        return NULL;
    if (strlen(term) > TERM_MOST)
        return fused_refuse(w, "a long %s", "sum");
    for (size_t i = 0; i < sizeof folds / sizeof folds[0]; i++)
        if (strcmp(folds[i].opcode, fold) == 0) {
            const char *over = TEXT(w, "%s, %lld", index, count);
            const char *text = fused_put(w, inner ? folds[i].inner : folds[i].text, over, term);
            if (inner)
                return !text || !first ? text : fused_put(w, folds[i].two, text, first);
            const char *name = TEXT(w, "s%u", w->names++);
            textbuf_printf(w->body, "        const real %s = %s;\n", name, text ? text : "");
            return !text || !first ? name : fused_put(w, folds[i].two, name, first);
        }
    return fused_refuse(w, "reduction by %s", fold);
}

static bool varies(const struct fused_place *place, unsigned rank)
{
    bool found = place->linear && strchr(place->linear, 'j');
    for (unsigned d = 0; d < rank; d++)
        found |= place->index[d] && strchr(place->index[d], 'j');
    return found;
}

static bool starts_neutral(struct fused_writer *w, const struct hlo_op *op, const char *fold)
{
    const struct hlo_op *from = fused_operand(w, op, 1);
    if (!from || strcmp(from->opcode, "constant") != 0)
        return false;
    double value = strtod(from->inside, NULL);
    return strcmp(fold, "add") == 0 ? value == 0 : strstr(from->inside, "inf") != NULL;
}

const char *fused_reduce(struct fused_writer *w, const struct hlo_op *op,
                         const struct fused_place *place)
{
    const char *by = hlo_word(op, "to_apply", w->arena);
    const struct hlo_computation *region = by ? hlo_computation_of(w->all, by) : NULL;
    const struct hlo_op *from = fused_operand(w, op, 0);
    struct fused_place there = {.linear = NULL};
    int64_t dims[HLO_RANK], count = 1;
    int reduced = hlo_numbers(op, "dimensions", dims, HLO_RANK);
    if (!region || !region->root || op->operands != 2 || reduced < 1 || !from || from->parts != 1 ||
        !fused_operand(w, op, 1))
        return fused_refuse(w, "a %s of several arrays", op->opcode);
    const char *j = next_index(w, w->term && varies(place, op->shape[0].rank));
    for (int d = reduced; d-- > 0; count *= from->shape[0].dim[dims[d]])
        there.index[dims[d]] = reduced == 1 ? j
                                            : TEXT(w, "(%s / %lld %% %lld)", j, (long long)count,
                                                   (long long)from->shape[0].dim[dims[d]]);
    for (unsigned d = 0, kept = 0; d < from->shape[0].rank; d++)
        if (!there.index[d])
            there.index[d] = fused_index(w, place, &op->shape[0], kept++);
    bool outer = w->term;
    w->term = true;
    const char *term = fused_value(w, from, there);
    w->term = outer;
    const char *first = NULL;
    if (term && !starts_neutral(w, op, region->root->opcode)) {
        first = fused_value(w, fused_operand(w, op, 1), (struct fused_place){.linear = "0"});
        term = first ? term : NULL;
    }
    return folded(w, region->root->opcode, j, count, term, first);
}

/* A product of matrices. Of f32 its factors may be rounded to tf32. */
const char *fused_dot(struct fused_writer *w, const struct hlo_op *op,
                      const struct fused_place *place)
{
    static const char *const names[2][2] = {{"lhs_batch_dims", "lhs_contracting_dims"},
                                            {"rhs_batch_dims", "rhs_contracting_dims"}};
    const struct hlo_op *from[2] = {fused_operand(w, op, 0), fused_operand(w, op, 1)};
    struct fused_place there[2] = {{.linear = NULL}, {.linear = NULL}};
    const char *terms[2] = {NULL, NULL};
    int64_t batch[HLO_RANK], sum[HLO_RANK], count = 1;
    unsigned next = 0;
    if (!from[0] || !from[1])
        return fused_refuse(w, "an operand of %s", op->name);
    const char *j = next_index(w, w->term && varies(place, op->shape[0].rank));
    for (unsigned side = 0; side < 2; side++) {
        int batches = hlo_numbers(op, names[side][0], batch, HLO_RANK);
        int sums = hlo_numbers(op, names[side][1], sum, HLO_RANK);
        enum dtype dtype = from[side]->shape[0].dtype;
        if (sums != 1 || (dtype != DTYPE_BF16 && dtype != DTYPE_F16 && dtype != DTYPE_F32))
            return fused_refuse(w, "%s of other types, or over several dims", op->opcode);
        w->tf32 |= dtype == DTYPE_F32;
        count = from[side]->shape[0].dim[sum[0]];
        there[side].index[sum[0]] = j;
        for (int b = 0; b < batches; b++)
            there[side].index[batch[b]] = fused_index(w, place, &op->shape[0], (unsigned)b);
        next = side ? next : (unsigned)(batches < 0 ? 0 : batches);
        for (unsigned d = 0; d < from[side]->shape[0].rank; d++)
            if (!there[side].index[d])
                there[side].index[d] = fused_index(w, place, &op->shape[0], next++);
    }
    bool outer = w->term;
    w->term = true;
    for (unsigned side = 0; side < 2; side++)
        terms[side] = fused_value(w, from[side], there[side]);
    w->term = outer;
    return terms[0] && terms[1]
               ? folded(w, "add", j, count, TEXT(w, "%s * %s", terms[0], terms[1]), NULL)
               : NULL;
}

int64_t fused_reduced(const struct fused_writer *w)
{
    int64_t most = 0, count = 0;
    for (const struct hlo_op *op = w->in->first; op; op = op->next) {
        const struct hlo_op *from = fused_operand(w, op, 0);
        if (!op->opcode || !from || !from->shape[0].rank || !op->shape[0].count)
            continue;
        if (strcmp(op->opcode, "reduce") == 0)
            count = from->shape[0].count / op->shape[0].count;
        else if (strcmp(op->opcode, "dot") == 0)
            count = from->shape[0].dim[from->shape[0].rank - 1];
        most = count > most ? count : most;
    }
    return most;
}
