#include "verify/shape.h"

void shape_open_lanes(struct shape *shape, int64_t lanes)
{
    int last = shape->ndim - 1;
    if (lanes > 1 && shape->stride[last] == lanes) {
        shape->dim[last] *= lanes;
        shape->stride[last] = 1;
    } else if (lanes > 1) {
        shape->dim[shape->ndim] = lanes;
        shape->stride[shape->ndim++] = 1;
    }
}

bool shape_last(const struct shape *shape, int64_t limit, int64_t *out)
{
    int64_t last = 0;
    for (int i = 0; i < shape->ndim; i++) {
        int64_t reach;
        if (__builtin_mul_overflow(shape->dim[i] - 1, shape->stride[i], &reach) ||
            __builtin_add_overflow(last, reach, &last) || last >= limit)
            return false;
    }
    *out = last;
    return true;
}

void shape_sort(const struct shape *shape, struct shape *out)
{
    out->ndim = 0;
    for (int i = 0; i < shape->ndim; i++) {
        if (shape->dim[i] == 1 || shape->stride[i] == 0)
            continue;
        int at = out->ndim++;
        for (; at > 0 && out->stride[at - 1] < shape->stride[i]; at--) {
            out->dim[at] = out->dim[at - 1];
            out->stride[at] = out->stride[at - 1];
        }
        out->dim[at] = shape->dim[i];
        out->stride[at] = shape->stride[i];
    }
}

bool shape_overlaps(const struct shape *sorted)
{
    int64_t inside = 0;
    for (int i = sorted->ndim - 1; i >= 0; i--) {
        if (sorted->stride[i] <= inside)
            return true;
        inside += (sorted->dim[i] - 1) * sorted->stride[i];
    }
    return false;
}

bool shape_fold_outer(struct shape *shape)
{
    int gone =
        0; /* the dim that disappears: one of 1 if there is, else the outermost into the next */
    if (shape->dim[0] != 1 && shape->ndim > 1) {
        if (shape->dim[1] == 1)
            gone = 1;
        else if (shape->stride[0] != shape->dim[1] * shape->stride[1])
            return false;
        else if (__builtin_mul_overflow(shape->dim[0], shape->dim[1], &shape->dim[1]))
            return false; /* broadcast dims have no memory that would bound them */
    } else if (shape->dim[0] != 1) {
        return false;
    }
    shape->ndim--;
    for (int i = gone; i < shape->ndim; i++) {
        shape->dim[i] = shape->dim[i + 1];
        shape->stride[i] = shape->stride[i + 1];
    }
    return true;
}
