#include "lifted/lift_params.h"

#include <string.h>
#include "bind/tensor_maps.h"
#include "lift/bulk/bundled_map.h"

_Static_assert(sizeof(struct bundled_map) <= TENSOR_MAP_BYTES, "it takes a map's place");

static enum skip list_params(struct lift_params *out, const struct launch *launch,
                             const struct param_layout *layout, struct error *why)
{
    for (unsigned i = 0; i < layout->count && i < LAYOUT_MAX; i++) {
        const size_t offset = layout->param[i].offset, size = layout->param[i].size;
        if (launch->params)
            out->param[i] = launch->params[i];
        else if (launch->packed && offset + size <= launch->packed_bytes)
            out->param[i] = (void *)(uintptr_t)(launch->packed + offset);
        else {
            error_set(why, STATUS_INVALID, "the launch carries no parameter %u", i);
            return SKIP_LAYOUT;
        }
    }
    return SKIP_NONE;
}

static unsigned bytes_of(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F32:
        return 4;
    case DTYPE_F16:
    case DTYPE_BF16:
        return 2;
    case DTYPE_F8E4M3:
    case DTYPE_F8E5M2:
    case DTYPE_I8:
        return 1;
    default: /* bits, of any size */
        return 0;
    }
}

static enum skip read_described(struct lift_map *map, const struct lift_view *view,
                                const void *param, struct error *why)
{
    const unsigned bytes = role_writes(view->role) ? bytes_of(view->dtype) : 0;
    if (!tensor_maps_find(param, map))
        error_set(
            why, STATUS_INVALID,
            "argument 'p%u' is a tensor map that is not known: cuTensorMapEncodeTiled has not "
            "made it since cuvet began, it is older than some %d others, or not of plain tiles",
            view->param, TENSOR_MAPS);
    else if (map->rank != view->dims)
        error_set(why, STATUS_INVALID,
                  "argument 'p%u' is a tensor map of %u dims, the kernel takes %u", view->param,
                  map->rank, view->dims);
    else if (bytes && map->element != bytes)
        error_set(why, STATUS_INVALID,
                  "argument 'p%u' is a tensor map of elements of %u bytes, the kernel writes some "
                  "of %u",
                  view->param, map->element, bytes);
    else
        return SKIP_NONE;
    return SKIP_SHAPE;
}

enum skip lift_params_make(struct lift_params *out, const struct lift *lift,
                           const struct launch *launch, const struct param_layout *layout,
                           struct error *why)
{
    const struct lift_view *view;
    const unsigned views = lift_views(lift, &view);
    enum skip skip = list_params(out, launch, layout, why);
    for (unsigned i = 0; !skip && i < views; i++) {
        const unsigned param = view[i].param;
        if (!view[i].dims)
            continue;
        if (param >= layout->count || param >= LAYOUT_MAX ||
            layout->param[param].size != sizeof(struct lift_map))
            return SKIP_LAYOUT;
        skip = read_described(&out->map[i], &view[i], out->param[param], why);
        out->param[param] = &out->map[i];
    }
    return skip;
}

static void describe_map(struct bundled_map *out, const struct lift_map *map)
{
    static const uint8_t types[] = {[1] = 0, [2] = 1, [4] = 2, [8] = 4};
    *out = (struct bundled_map){.kind = BUNDLED_MAP,
                                .address = map->address,
                                .last = (uint8_t)(map->rank - 1),
                                .type = types[map->element],
                                .swizzle = (uint8_t)map->swizzle};
    for (unsigned i = 0; i < map->rank; i++) {
        out->size[i] = map->size[i];
        out->box[i] = (uint16_t)map->box[i];
        out->step[i] = 1;
        if (i)
            out->stride[i - 1] = map->stride[i - 1];
    }
}

void lift_params_bundle(uint8_t *out, const struct lift *lift, const uint8_t *packed, size_t bytes,
                        const struct param_layout *layout)
{
    const struct lift_view *view;
    const unsigned views = lift_views(lift, &view);
    memcpy(out, packed, bytes);
    for (unsigned i = 0; i < views; i++) {
        struct bundled_map described;
        struct lift_map map;
        if (!view[i].dims || view[i].param >= layout->count || view[i].param >= LAYOUT_MAX)
            continue;
        const size_t at = layout->param[view[i].param].offset;
        if (at + TENSOR_MAP_BYTES > bytes || !tensor_maps_find(packed + at, &map))
            continue;
        describe_map(&described, &map);
        memset(out + at, 0, TENSOR_MAP_BYTES);
        memcpy(out + at, &described, sizeof described);
    }
}
