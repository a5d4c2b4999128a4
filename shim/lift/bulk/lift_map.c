/*
 * lift_map.c - arrays behind tensor maps, as texts of the registry's language: a parameter is a
 * struct lift_map, and of a tensor of two dims a window of blocks reaches some lines.
 *
 * Of other tensors it is not known which dim is the outermost one in memory.
 */
#include <stddef.h>
#include "lift/lift_abi.h"
#include "lift/lift_parts.h"

bool lift_map_has_lines(const struct lift *lift, unsigned array)
{
    return lift->view[array].dims == 2;
}

const struct ptx_operand *lift_map_line(const struct ptx_instruction *ins)
{
    const struct ptx_operand *corner = &lift_bulk_box(ins)->items[1];
    return &corner->items[corner->count - 1];
}

const char *lift_map_reach(struct lift *lift, unsigned array)
{
    return arena_format(&lift->arena, "reach%u", lift->view[array].param);
}

const char *lift_map_end(struct lift *lift, unsigned array, const char *line)
{
    const unsigned param = lift->view[array].param;
    return arena_format(&lift->arena, "min(reach%u, min(lines%u, %s + box%u) * pitch%u)", param,
                        param, line, param, param);
}

/* A box may begin before the tensor. */
const char *lift_map_first(struct lift *lift, unsigned array, const char *line)
{
    return arena_format(&lift->arena, "(max(0, %s) * pitch%u)", line, lift->view[array].param);
}

void lift_put_map(struct textbuf *out, const struct lift_view *view, const char *array)
{
    const size_t size = offsetof(struct lift_map, size), box = offsetof(struct lift_map, box);
    const unsigned param = view->param;
    textbuf_printf(out, "struct %zu { %s @%zu, i64 reach%u @%zu", sizeof(struct lift_map), array,
                   offsetof(struct lift_map, address), param, offsetof(struct lift_map, bytes));
    if (view->dims == 2)
        textbuf_printf(out, ", i64 pitch%u @%zu, i32 lines%u @%zu, i32 box%u @%zu", param,
                       offsetof(struct lift_map, stride), param, size + sizeof(uint32_t), param,
                       box + sizeof(uint32_t));
    textbuf_printf(out, " }");
}
