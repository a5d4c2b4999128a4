#include "lifted/lift_params.h"

#include "bind/tensor_maps.h"

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
    return dtype == DTYPE_F32 ? 4 : dtype == DTYPE_F16 || dtype == DTYPE_BF16 ? 2 : 0;
}

static enum skip read_described(struct lift_map *map, const struct lift_view *view,
                                const void *param, struct error *why)
{
    const unsigned bytes = role_writes(view->role) ? bytes_of(view->dtype) : 0;
    if (!tensor_maps_find(param, map))
        error_set(
            why, STATUS_INVALID,
            "argument 'p%u' is a tensor map that is not known: cuTensorMapEncodeTiled has not "
            "made it since cuvet began, not one of the last %d, or not for plain tiles",
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
