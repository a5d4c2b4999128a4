/*
 * plan_touch.c - arrays of which only some rows are touched, compared with the reference's `touch`
 * clauses (formals.h).
 *
 * A check has those rows alone, numbered anew, and the indices are rewritten to the new numbers. So
 * a reference may use the indices for nothing but these rows, and must reach the rows through them
 * alone: any other use would read the new numbers, which the kernel did not have.
 */
#include "plan/plan_builder.h"

#include <stdio.h>

static enum status refuse_touch(const struct plan_builder *b, const char *sentence,
                                const char *array, const char *ids)
{
    const struct plan_source *source = b->source;
    return yaml_error(b->err, source->reference ? source->reference : source->signature,
                      "'%s' has rows that '%s' names, but %s", array, ids, sentence);
}

/* The formal that stands for the array of indices; NULL where there is none, or another too. */
static const struct formal *only_formal(const struct plan_builder *b, int array)
{
    const struct formal *found = NULL;
    for (int i = 0; i < b->plan->formals->count; i++) {
        const struct formal *formal = &b->plan->formals->formal[i];
        if (!formal_is_array(formal) || b->plan->tensor[formal->slot].array != array)
            continue;
        if (found)
            return NULL;
        found = formal;
    }
    return found;
}

/* One index is one row, or one place of one: a dim cannot be folded into these. */
static bool dims_fit(const struct signature_item *item, const struct formal *formal,
                     const struct formal_touch *touch)
{
    int ndim = (int)item->ndim;
    if (touch->size[1] < 0)
        return item->dim[0].kind == DIM_ROWS && ndim == formal->ndim;
    if (item->dim[0].kind == DIM_ROWS) /* no pages: the formal gets one, of all places */
        return ndim + 1 == formal->ndim;
    return item->dim[1].kind == DIM_PLACE && ndim == formal->ndim;
}

/* Whether the number of valid items of the dim is read from memory. */
static bool is_lowered(const struct plan_builder *b, int size)
{
    for (unsigned i = 0; i < b->plan->sizes; i++) {
        if (b->plan->size[i].size == size && b->plan->size[i].reads)
            return true;
    }
    return false;
}

static enum status check_touched_array(const struct plan_builder *b, const struct plan_array *array,
                                       const struct formal *formal, const struct formal *ids)
{
    const char *name = array->item->name, *by = array->item->rows;
    const struct formal_touch *touch = formals_touch(b->plan->formals, formal, ids->slot);
    char sentence[200];
    if (!touch) {
        snprintf(sentence, sizeof sentence,
                 "the reference does not promise to reach rows of its formal '%s' through '%s' "
                 "alone; 'touch' in its REFERENCE line would",
                 formal->name, ids->name);
        return refuse_touch(b, sentence, name, by);
    }
    if (is_lowered(b, touch->size[0]) || is_lowered(b, touch->size[1]))
        return refuse_touch(b, "'bind' reads from memory how many rows there are; leave that out",
                            name, by);
    if (dims_fit(array->item, formal, touch))
        return STATUS_OK;
    const char *size = b->plan->formals->size_name[touch->size[0]];
    if (touch->size[1] < 0)
        snprintf(sentence, sizeof sentence,
                 "its dims are not those of formal '%s', which are %d, the first the rows [@%s]",
                 formal->name, formal->ndim, by);
    else
        snprintf(sentence, sizeof sentence,
                 "its dims are not those of formal '%s': expected [@%s / n][@%s %% n] and %d more "
                 "for its places in %s, or [@%s] and these",
                 formal->name, by, by, formal->ndim - 2, size, by);
    return refuse_touch(b, sentence, name, by);
}

/* The indices are rewritten: whatever else they index must be touched through them, too. */
static enum status check_others(const struct plan_builder *b, const struct plan_array *array,
                                const struct formal *ids)
{
    for (int i = 0; i < b->plan->formals->count; i++) {
        const struct formal *formal = &b->plan->formals->formal[i];
        if (!formals_touch(b->plan->formals, formal, ids->slot))
            continue;
        int other = b->plan->tensor[formal->slot].array;
        if (other < 0 || b->plan->array[other].rows == array->rows)
            continue;
        char sentence[160];
        snprintf(
            sentence, sizeof sentence,
            "all rows of '%.60s', which the reference reaches through them, too; expected [@%s]",
            b->plan->array[other].item->name, array->item->rows);
        return refuse_touch(b, sentence, array->item->name, array->item->rows);
    }
    return STATUS_OK;
}

enum status plan_touch(const struct plan_builder *b)
{
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < b->plan->formals->count; i++) {
        const struct formal *formal = &b->plan->formals->formal[i];
        int index = formal_is_array(formal) ? b->plan->tensor[formal->slot].array : -1;
        if (index < 0 || b->plan->array[index].rows < 0)
            continue;
        const struct plan_array *array = &b->plan->array[index];
        const struct formal *ids = only_formal(b, array->rows);
        if (!ids)
            return refuse_touch(b, "these do not stand for one formal of the reference alone",
                                array->item->name, array->item->rows);
        status = check_touched_array(b, array, formal, ids);
        if (!status)
            status = check_others(b, array, ids);
    }
    return status;
}
