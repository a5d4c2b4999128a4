/*
 * plan_value.c - numbers that a kernel reads from memory: "lr[0]", "starts[batch]".
 *
 * The program's thread cannot read them, and the GPU may not have written them yet when the launch
 * is enqueued. They are copied with the launch's arrays, an array of one element each, and known
 * when the copy is sealed; so only what a reference is given can depend on them, and not how large
 * an array is.
 */
#include "plan/plan_builder.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "text/nearest.h"

static int refuse_value(struct plan_builder *b, const char *name, const char *index,
                        const char *sentence)
{
    error_set(b->err, STATUS_INVALID, "'%.60s[%.60s]': %s", name, index, sentence);
    return -1;
}

static const struct signature_item *find_plan_array(struct plan_builder *b, const char *name,
                                                    const char *index)
{
    const struct signature_item *item = signature_find(b->plan->signature, name);
    if (item && item->array)
        return item;
    struct nearest nearest = {.word = name};
    char question[96], sentence[200];
    for (unsigned i = 0; i < b->plan->signature->items; i++) {
        if (b->plan->signature->item[i].array)
            nearest_offer(&nearest, b->plan->signature->item[i].name);
    }
    snprintf(sentence, sizeof sentence, "no array is called '%.60s'%s", name,
             nearest_text(&nearest, question, sizeof question));
    refuse_value(b, name, index, sentence);
    return NULL;
}

/* Why elements of the array cannot be read; NULL where they can. */
static const char *objection(const struct signature_item *item, bool real)
{
    enum dtype dtype = item->type.dtype;
    if (!role_reads(item->role))
        return "the kernel does not read that array; expected one that is const, inout or acc";
    if (item->earlier && item->role != ROLE_READ)
        return "what it held before the kernel of 'after' is gone; expected a const array";
    if (item->rows)
        return "of that array only rows are copied that another one names";
    if (signature_listed(item))
        return "its elements lie behind addresses in device memory; expected an array whose own "
               "address the kernel is given";
    if (item->type.lanes > 1 || dtype_block(dtype))
        return "elements of vectors and blocks are not read one by one";
    if (!real && dtype_is_real(dtype))
        return "it is no integer; only a real formal's expression may use it";
    return NULL;
}

/* Without its spaces, so that an element has one name. */
static const char *make_name(struct plan_builder *b, const char *name, const char *index)
{
    char *text = arena_format(b->arena, "%s[%s]", name, index), *to = text;
    for (const char *at = text; at && *at; at++) {
        if (!isspace((unsigned char)*at))
            *to++ = *at;
    }
    if (text)
        *to = '\0';
    return text;
}

/* Whether it is all that the array has. */
static bool value_is_whole(const struct plan_builder *b, const struct plan_value *value)
{
    const struct plan_array *array = &b->plan->array[value->array];
    int64_t at, extent;
    return array->item->ndim == 1 && array->dim[0].extent &&
           expr_constant(array->dim[0].extent, &extent) && extent == 1 &&
           expr_constant(value->index, &at) && at == 0;
}

static int plan_new_value(struct plan_builder *b, const struct signature_item *item,
                          const char *name, const char *index)
{
    if (b->plan->values == PLAN_VALUES)
        return refuse_value(b, item->name, index, "more than 6 elements are read from memory");
    struct plan_value *value = &b->plan->value[b->plan->values];
    *value = (struct plan_value){.array = (int)item->number, .name = name, .slot = -1};
    b->may_read = false; /* what the index is must be known at the launch */
    enum status status = plan_expr(b, NULL, NULL, NULL, index, &value->index);
    b->may_read = true;
    if (status)
        return -1;
    int64_t at;
    if (expr_constant(value->index, &at) && at < 0)
        return refuse_value(b, item->name, index, "the index is negative");
    b->plan->array[item->number].read_from = true;
    b->plan->array[item->number].read |= value_is_whole(b, value);
    b->plan->needs_before |= item->role == ROLE_INOUT || item->role == ROLE_ACC;
    return (int)b->plan->values++;
}

int plan_value(struct plan_builder *b, const char *name, const char *index, bool real)
{
    if (!b->may_read)
        return refuse_value(
            b, name, index,
            "what memory holds is known only when the launch has run, so only 'bind' may "
            "use it; of an array, write the size that is allocated");
    const struct signature_item *item = find_plan_array(b, name, index);
    const char *sentence = item ? objection(item, real) : NULL;
    if (!item || sentence)
        return item ? refuse_value(b, name, index, sentence) : -1;
    const char *full = make_name(b, item->name, index);
    if (!full) {
        error_set(b->err, STATUS_NO_MEMORY, "no memory");
        return -1;
    }
    int found = -1;
    for (unsigned i = 0; i < b->plan->values; i++)
        found = strcmp(b->plan->value[i].name, full) == 0 ? (int)i : found;
    if (found < 0)
        found = plan_new_value(b, item, full, index);
    if (found < 0 || real || b->plan->value[found].slot >= 0)
        return found;
    b->plan->value[found].slot = plan_slot(b, full);
    return b->plan->value[found].slot < 0 ? -1 : found;
}

bool plan_is_element(struct plan_builder *b, const char *text, const char **name,
                     const char **index)
{
    const char *open = strchr(text, '['), *close = open;
    for (int depth = 0; close && *close; close++) {
        depth += (*close == '[') - (*close == ']');
        if (depth == 0)
            break;
    }
    if (!open || !*close || close[1 + strspn(close + 1, " ")])
        return false;
    size_t length = strcspn(text, " [");
    if (text[length + strspn(text + length, " ")] != '[')
        return false;
    *name = arena_text(b->arena, text, length);
    *index = arena_text(b->arena, open + 1, (size_t)(close - open - 1));
    return *name && *index;
}

struct reader {
    const struct plan_builder *b;
    unsigned reads;
};

static void note_read(void *user, int slot)
{
    struct reader *reader = user;
    for (unsigned i = 0; i < reader->b->plan->values; i++) {
        if (reader->b->plan->value[i].slot == slot)
            reader->reads |= 1u << i;
    }
}

unsigned plan_reads(const struct plan_builder *b, const struct expr *expr)
{
    struct reader reader = {b, 0};
    if (expr)
        expr_slots(expr, note_read, &reader);
    return reader.reads;
}
