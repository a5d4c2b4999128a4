/*
 * signature_join.c - the parameter lists of two kernels as one: that of the kernel itself, and,
 * with names that begin with "after.", that of the kernel that ran before it.
 */
#include "lang/signature.h"

#include <string.h>

static enum status no_join_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no memory");
}

static enum status join_item(struct signature *out, struct arena *arena,
                             const struct signature *earlier, const struct signature_item *from,
                             struct error *err)
{
    struct signature_item *item = &out->item[out->items++];
    *item = *from;
    item->earlier = true;
    item->guard += from->guard ? out->items - 1 - (unsigned)(from - earlier->item) : 0;
    item->name = arena_format(arena, SIGNATURE_AFTER "%s", from->name);
    if (from->rows && signature_find(earlier, from->rows))
        item->rows =
            arena_format(arena, SIGNATURE_AFTER "%s", signature_find(earlier, from->rows)->name);
    if (!item->name || (from->rows && !item->rows))
        return no_join_memory(err);
    if (item->array)
        item->number = out->arrays++;
    for (unsigned i = 0; i + 1 < out->items; i++) {
        if (strcmp(out->item[i].name, item->name) == 0)
            return error_set(err, STATUS_INVALID, "signature: the name '%s' appears twice",
                             item->name);
    }
    return STATUS_OK;
}

enum status signature_join(const struct signature **out, struct arena *arena,
                           const struct signature *own, const struct signature *earlier,
                           struct error *err)
{
    struct signature *joined = arena_alloc(arena, sizeof *joined);
    if (own->items + earlier->items > SIGNATURE_ITEMS)
        return error_set(err, STATUS_INVALID,
                         "signature: more than 64 arrays and scalars, those of 'after' counted");
    if (!joined)
        return no_join_memory(err);
    *joined = *own;
    joined->earlier = earlier;
    joined->item = arena_alloc(arena, (own->items + earlier->items) * sizeof *joined->item);
    if (!joined->item)
        return no_join_memory(err);
    memcpy(joined->item, own->item, own->items * sizeof *own->item);
    enum status status = STATUS_OK;
    for (unsigned i = 0; !status && i < earlier->items; i++)
        status = join_item(joined, arena, earlier, &earlier->item[i], err);
    *out = joined;
    return status;
}
