/* tensor_map.c - tensormap: maps that a kernel makes, field by field. */
#include "exec/ops/ops.h"

_Static_assert(sizeof(struct exec_tensor_map) <= EXEC_TENSOR_MAP_BYTES, "a map has 128 bytes");

static void set_field(struct exec_tensor_map *map, enum tensor_field field, unsigned dim,
                      uint64_t value)
{
    map->kind = EXEC_TENSOR_MAP;
    switch (field) {
    case FIELD_ADDRESS:
        map->address = value;
        break;
    case FIELD_LAST:
        map->last = (uint8_t)value;
        break;
    case FIELD_BOX:
        map->box[dim] = (uint16_t)value;
        break;
    case FIELD_SIZE:
        map->size[dim] = (uint32_t)value;
        break;
    case FIELD_STRIDE:
        map->stride[dim] = value;
        break;
    case FIELD_STEP:
        map->step[dim] = (uint8_t)value;
        break;
    case FIELD_TYPE:
        map->type = (uint8_t)value;
        break;
    case FIELD_INTERLEAVE:
        map->interleave = (uint8_t)value;
        break;
    case FIELD_SWIZZLE:
        map->swizzle = (uint8_t)value;
        break;
    case FIELD_FILL:
        map->fill = (uint8_t)value;
        break;
    }
}

static bool replace(struct warp *w, const struct op *op, const struct access *a, struct pointers *p)
{
    (void)a;
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        const unsigned lane = first_lane(rest);
        struct exec_tensor_map map;
        memcpy(&map, p->p[lane], sizeof map);
        set_field(&map, op->mode, (unsigned)op->imm, lane_value(w, op->s[0], op->source, lane));
        memcpy(p->p[lane], &map, sizeof map);
    }
    return true;
}

enum step op_tensor_field(struct warp *w, const struct op *op)
{
    return each_space(w, op, op->more, true, replace);
}

enum step op_tensor_copy(struct warp *w, const struct op *op)
{
    const struct async_copy *c = op->more;
    uint64_t to[LANES], from[LANES];
    struct pointers to_at, from_at;
    const unsigned lane = first_lane(w->active);
    addresses(w, &c->to, to);
    addresses(w, &c->from, from);
    if (!resolve(w, IN_GLOBAL, to, EXEC_TENSOR_MAP_BYTES, EXEC_TENSOR_MAP_BYTES, true, &to_at) ||
        !resolve(w, IN_SHARED, from, EXEC_TENSOR_MAP_BYTES, EXEC_TENSOR_MAP_BYTES, false, &from_at))
        return STEP_FAULT;
    memcpy(to_at.p[lane], from_at.p[lane], EXEC_TENSOR_MAP_BYTES);
    return STEP_NEXT;
}
